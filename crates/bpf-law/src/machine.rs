//! The machine: runs decoded instructions over virtual memory.
//!
//! Source: `Documentation/bpf/standardization/instruction-set.rst`; `kernel/bpf/core.c` for division by zero and shifts.
//!
//! An address has a region in its upper 32 bits and an offset in its lower ones. No host address reaches a program, so what it does never
//! depends on the layout of memory.
//!
//! Invariant: every access is looked up and checked. One call runs at most [`MAX_STEPS`] instructions, plus those since its last jump, which
//! the next jump counts. The good path makes no error value.

use crate::address::{FRAME, FRAMES, region};
use crate::image::{Caller, Flow, HostMemory, Image};
use crate::instruction::{CMPXCHG, FETCH, Op, XCHG};
use crate::step::{REGISTERS, SOCKET};
use crate::stop::{Stop, StopReason};
use forebay_laws::kernel::{FIELDS, Sock, WORDS};

/// Most instructions of one call, callbacks of `bpf_loop` included.
pub const MAX_STEPS: u32 = 1_000_000;
/// The address of the first frame.
const STACK: u64 = region::address(region::STACK, 0);
/// Registers r1 to r5 after a call: no address, and the same on every host.
const DEAD: u64 = 0xdead_0000_0000;

/// One call of a program.
pub(crate) struct Machine<'a> {
    pub image: &'a Image,
    pub host: &'a mut HostMemory,
    pub flow: &'a mut Flow,
    pub sk: &'a mut Sock,
    pub sample: &'a [u64],
    pub arguments: [u64; 5],
    pub module_arguments: [u64; 5],
    pub left: u32,
    pub depth: usize,
}

/// For each word of a socket, how many bytes of it a program may write.
const WRITABLE: [u8; WORDS] = {
    let mut all = [8; WORDS];
    let mut nth = 0;
    while nth < FIELDS.len() {
        all[nth] = if FIELDS[nth].writable { FIELDS[nth].bytes } else { 0 };
        nth += 1;
    }
    all
};

impl Machine<'_> {
    /// Runs a function with these arguments; gives r0.
    pub(crate) fn run(&mut self, entry: usize, arguments: [u64; 5]) -> Result<u64, Stop> {
        let image = self.image;
        let steps = &image.steps[..];
        let bottom = self.depth;
        let mut r = [0u64; REGISTERS];
        r[1..6].copy_from_slice(&arguments);
        let mut pc = entry;
        // Place in the code up to which the call may run until it jumps: the instructions that are left, from here on.
        let mut end = entry + self.left as usize;
        if bottom >= FRAMES {
            return Err(Stop { at: pc as u32, why: StopReason::Frames });
        }
        r[10] = self.frame();
        loop {
            // Each operation reads only the parts of its step that it needs.
            let mut step = &steps[pc];
            macro_rules! d {
                () => {
                    step.dst as usize
                };
            }
            macro_rules! s {
                () => {
                    step.src as usize
                };
            }
            macro_rules! stop {
                ($why:expr) => {
                    return Err(Stop { at: pc as u32, why: $why })
                };
            }
            // Instructions that are left behind this one.
            macro_rules! left {
                () => {
                    match end.checked_sub(pc + 1) {
                        Some(left) => left,
                        None => stop!(StopReason::Steps),
                    }
                };
            }
            // Goes on at `$to`.
            macro_rules! go {
                ($to:expr) => {{
                    let (left, to) = (left!(), $to);
                    end = left + to;
                    pc = to;
                    continue;
                }};
            }
            macro_rules! src {
                () => {
                    r[s!()]
                };
            }
            macro_rules! dst {
                () => {
                    r[d!()]
                };
            }
            macro_rules! imm {
                () => {
                    step.imm as u64
                };
            }
            macro_rules! set {
                ($value:expr) => {
                    r[d!()] = $value
                };
            }
            macro_rules! alu {
                ($as:ty, $b:expr, |$x:ident, $y:ident| $of:expr) => {{
                    let ($x, $y) = (r[d!()] as $as, $b as $as);
                    ($of) as u64
                }};
            }
            macro_rules! jump {
                ($as:ty, $b:expr, |$x:ident, $y:ident| $of:expr) => {{
                    let ($x, $y) = (r[d!()] as $as, $b as $as);
                    if $of {
                        go!(step.off as usize);
                    }
                }};
            }
            // `$at`: an address less that of the socket.
            macro_rules! load {
                ($bytes:literal) => {
                    load!($bytes, r[s!()].wrapping_add(imm!()))
                };
                ($bytes:literal, $at:expr) => {{
                    let at = $at;
                    if let Some(value) = self.load_field::<$bytes>(at) {
                        value
                    } else if let Some(value) = self.load_stack::<$bytes>(at) {
                        value
                    } else if let Some(value) = self.load_elsewhere::<$bytes>(at) {
                        value
                    } else {
                        let address = at.wrapping_add(SOCKET);
                        stop!(StopReason::Load { address, bytes: $bytes })
                    }
                }};
            }
            macro_rules! store {
                ($bytes:literal, $at:expr, $value:expr) => {{
                    let at = $at;
                    if self.store_from_socket::<$bytes>(at, $value).is_none() {
                        let address = at.wrapping_add(SOCKET);
                        stop!(StopReason::Store { address, bytes: $bytes });
                    }
                }};
            }
            // A pair goes on with its second step.
            macro_rules! second {
                () => {
                    pc += 1;
                    step = &steps[pc];
                };
            }
            macro_rules! atomic {
                ($bytes:literal, $low:expr) => {{
                    let (low, imm): (u64, i64) = ($low, step.imm);
                    let address = dst!().wrapping_add(step.off as u64);
                    let Some(before) = self.atomic(address, $bytes, imm, src!(), r[0]) else {
                        stop!(StopReason::Store { address, bytes: $bytes })
                    };
                    if imm == CMPXCHG {
                        r[0] = before & low;
                    } else if imm & FETCH != 0 {
                        r[s!()] = before & low;
                    }
                }};
            }
            macro_rules! call {
                ($of:expr) => {{
                    self.left = left!() as u32;
                    match $of {
                        Ok(value) => r[0] = value,
                        // What happened in a callback has its own place.
                        Err(Called::Stop(stop)) => return Err(stop),
                        Err(Called::Why(why)) => stop!(why),
                    }
                    r[1..6].fill(DEAD);
                    end = pc + 1 + self.left as usize;
                }};
            }
            macro_rules! enter {
                () => {{
                    if self.depth + 1 >= FRAMES {
                        stop!(StopReason::Frames);
                    }
                    self.host.callers[self.depth] =
                        Caller { at: pc + 1, saved: [r[6], r[7], r[8], r[9]] };
                    self.depth += 1;
                    r[10] = self.frame();
                    go!(step.off as usize);
                }};
            }
            macro_rules! exit {
                () => {{
                    if self.depth == bottom {
                        self.left = left!() as u32;
                        return Ok(r[0]);
                    }
                    self.depth -= 1;
                    let Caller { at, saved } = self.host.callers[self.depth];
                    r[6..10].copy_from_slice(&saved);
                    r[1..6].fill(DEAD);
                    r[10] = region::address(region::STACK + self.depth as u32, FRAME as u64);
                    go!(at);
                }};
            }
            macro_rules! st {
                ($bytes:literal) => {
                    store!(
                        $bytes,
                        r[d!()].wrapping_add(step.off as u64).wrapping_sub(SOCKET),
                        imm!()
                    )
                };
            }
            macro_rules! stx {
                ($bytes:literal) => {
                    store!($bytes, r[d!()].wrapping_add(imm!()), r[s!()])
                };
            }
            match step.op {
                Op::Add64K => set!(alu!(u64, imm!(), |a, b| a.wrapping_add(b))),
                Op::Add64X => set!(alu!(u64, src!(), |a, b| a.wrapping_add(b))),
                Op::Sub64K => set!(alu!(u64, imm!(), |a, b| a.wrapping_sub(b))),
                Op::Sub64X => set!(alu!(u64, src!(), |a, b| a.wrapping_sub(b))),
                Op::Mul64K => set!(alu!(u64, imm!(), |a, b| a.wrapping_mul(b))),
                Op::Mul64X => set!(alu!(u64, src!(), |a, b| a.wrapping_mul(b))),
                Op::Div64K => set!(alu!(u64, imm!(), |a, b| a.checked_div(b).unwrap_or(0))),
                Op::Div64X => set!(alu!(u64, src!(), |a, b| a.checked_div(b).unwrap_or(0))),
                Op::Or64K => set!(alu!(u64, imm!(), |a, b| a | b)),
                Op::Or64X => set!(alu!(u64, src!(), |a, b| a | b)),
                Op::And64K => set!(alu!(u64, imm!(), |a, b| a & b)),
                Op::And64X => set!(alu!(u64, src!(), |a, b| a & b)),
                Op::Lsh64K => set!(alu!(u64, imm!(), |a, b| a.wrapping_shl(b as u32))),
                Op::Lsh64X => set!(alu!(u64, src!(), |a, b| a.wrapping_shl(b as u32))),
                Op::Rsh64K => set!(alu!(u64, imm!(), |a, b| a.wrapping_shr(b as u32))),
                Op::Rsh64X => set!(alu!(u64, src!(), |a, b| a.wrapping_shr(b as u32))),
                Op::Mod64K => set!(alu!(u64, imm!(), |a, b| a.checked_rem(b).unwrap_or(a))),
                Op::Mod64X => set!(alu!(u64, src!(), |a, b| a.checked_rem(b).unwrap_or(a))),
                Op::Xor64K => set!(alu!(u64, imm!(), |a, b| a ^ b)),
                Op::Xor64X => set!(alu!(u64, src!(), |a, b| a ^ b)),
                Op::Mov64K => set!(imm!()),
                Op::Mov64X => set!(src!()),
                Op::Arsh64K => {
                    set!(alu!(u64, imm!(), |a, b| (a as i64).wrapping_shr(b as u32) as u64))
                }
                Op::Arsh64X => {
                    set!(alu!(u64, src!(), |a, b| (a as i64).wrapping_shr(b as u32) as u64))
                }
                Op::Sdiv64K => set!(alu!(u64, imm!(), |a, b| if b == 0 {
                    0
                } else {
                    (a as i64).wrapping_div(b as i64) as u64
                })),
                Op::Sdiv64X => set!(alu!(u64, src!(), |a, b| if b == 0 {
                    0
                } else {
                    (a as i64).wrapping_div(b as i64) as u64
                })),
                Op::Smod64K => set!(alu!(u64, imm!(), |a, b| if b == 0 {
                    a
                } else {
                    (a as i64).wrapping_rem(b as i64) as u64
                })),
                Op::Smod64X => set!(alu!(u64, src!(), |a, b| if b == 0 {
                    a
                } else {
                    (a as i64).wrapping_rem(b as i64) as u64
                })),
                Op::Neg64 => set!(dst!().wrapping_neg()),
                Op::Movsx64From8 => set!(src!() as i8 as u64),
                Op::Movsx64From16 => set!(src!() as i16 as u64),
                Op::Movsx64From32 => set!(src!() as i32 as u64),
                Op::Add32K => set!(alu!(u32, imm!(), |a, b| a.wrapping_add(b))),
                Op::Add32X => set!(alu!(u32, src!(), |a, b| a.wrapping_add(b))),
                Op::Sub32K => set!(alu!(u32, imm!(), |a, b| a.wrapping_sub(b))),
                Op::Sub32X => set!(alu!(u32, src!(), |a, b| a.wrapping_sub(b))),
                Op::Mul32K => set!(alu!(u32, imm!(), |a, b| a.wrapping_mul(b))),
                Op::Mul32X => set!(alu!(u32, src!(), |a, b| a.wrapping_mul(b))),
                Op::Div32K => set!(alu!(u32, imm!(), |a, b| a.checked_div(b).unwrap_or(0))),
                Op::Div32X => set!(alu!(u32, src!(), |a, b| a.checked_div(b).unwrap_or(0))),
                Op::Or32K => set!(alu!(u32, imm!(), |a, b| a | b)),
                Op::Or32X => set!(alu!(u32, src!(), |a, b| a | b)),
                Op::And32K => set!(alu!(u32, imm!(), |a, b| a & b)),
                Op::And32X => set!(alu!(u32, src!(), |a, b| a & b)),
                Op::Lsh32K => set!(alu!(u32, imm!(), |a, b| a.wrapping_shl(b as u32))),
                Op::Lsh32X => set!(alu!(u32, src!(), |a, b| a.wrapping_shl(b as u32))),
                Op::Rsh32K => set!(alu!(u32, imm!(), |a, b| a.wrapping_shr(b as u32))),
                Op::Rsh32X => set!(alu!(u32, src!(), |a, b| a.wrapping_shr(b as u32))),
                Op::Mod32K => set!(alu!(u32, imm!(), |a, b| a.checked_rem(b).unwrap_or(a))),
                Op::Mod32X => set!(alu!(u32, src!(), |a, b| a.checked_rem(b).unwrap_or(a))),
                Op::Xor32K => set!(alu!(u32, imm!(), |a, b| a ^ b)),
                Op::Xor32X => set!(alu!(u32, src!(), |a, b| a ^ b)),
                Op::Mov32K => set!(imm!() as u32 as u64),
                Op::Mov32X => set!(src!() as u32 as u64),
                Op::Arsh32K => {
                    set!(alu!(u32, imm!(), |a, b| (a as i32).wrapping_shr(b as u32) as u32))
                }
                Op::Arsh32X => {
                    set!(alu!(u32, src!(), |a, b| (a as i32).wrapping_shr(b as u32) as u32))
                }
                Op::Sdiv32K => set!(alu!(u32, imm!(), |a, b| if b == 0 {
                    0
                } else {
                    (a as i32).wrapping_div(b as i32) as u32
                })),
                Op::Sdiv32X => set!(alu!(u32, src!(), |a, b| if b == 0 {
                    0
                } else {
                    (a as i32).wrapping_div(b as i32) as u32
                })),
                Op::Smod32K => set!(alu!(u32, imm!(), |a, b| if b == 0 {
                    a
                } else {
                    (a as i32).wrapping_rem(b as i32) as u32
                })),
                Op::Smod32X => set!(alu!(u32, src!(), |a, b| if b == 0 {
                    a
                } else {
                    (a as i32).wrapping_rem(b as i32) as u32
                })),
                Op::Neg32 => set!((dst!() as u32).wrapping_neg() as u64),
                Op::Movsx32From8 => set!(src!() as i8 as i32 as u32 as u64),
                Op::Movsx32From16 => set!(src!() as i16 as i32 as u32 as u64),
                Op::Jeq64K => jump!(u64, imm!(), |a, b| a == b),
                Op::Jeq64X => jump!(u64, src!(), |a, b| a == b),
                Op::Jgt64K => jump!(u64, imm!(), |a, b| a > b),
                Op::Jgt64X => jump!(u64, src!(), |a, b| a > b),
                Op::Jge64K => jump!(u64, imm!(), |a, b| a >= b),
                Op::Jge64X => jump!(u64, src!(), |a, b| a >= b),
                Op::Jset64K => jump!(u64, imm!(), |a, b| a & b != 0),
                Op::Jset64X => jump!(u64, src!(), |a, b| a & b != 0),
                Op::Jne64K => jump!(u64, imm!(), |a, b| a != b),
                Op::Jne64X => jump!(u64, src!(), |a, b| a != b),
                Op::Jsgt64K => jump!(i64, imm!(), |a, b| a > b),
                Op::Jsgt64X => jump!(i64, src!(), |a, b| a > b),
                Op::Jsge64K => jump!(i64, imm!(), |a, b| a >= b),
                Op::Jsge64X => jump!(i64, src!(), |a, b| a >= b),
                Op::Jlt64K => jump!(u64, imm!(), |a, b| a < b),
                Op::Jlt64X => jump!(u64, src!(), |a, b| a < b),
                Op::Jle64K => jump!(u64, imm!(), |a, b| a <= b),
                Op::Jle64X => jump!(u64, src!(), |a, b| a <= b),
                Op::Jslt64K => jump!(i64, imm!(), |a, b| a < b),
                Op::Jslt64X => jump!(i64, src!(), |a, b| a < b),
                Op::Jsle64K => jump!(i64, imm!(), |a, b| a <= b),
                Op::Jsle64X => jump!(i64, src!(), |a, b| a <= b),
                Op::Jeq32K => jump!(u32, imm!(), |a, b| a == b),
                Op::Jeq32X => jump!(u32, src!(), |a, b| a == b),
                Op::Jgt32K => jump!(u32, imm!(), |a, b| a > b),
                Op::Jgt32X => jump!(u32, src!(), |a, b| a > b),
                Op::Jge32K => jump!(u32, imm!(), |a, b| a >= b),
                Op::Jge32X => jump!(u32, src!(), |a, b| a >= b),
                Op::Jset32K => jump!(u32, imm!(), |a, b| a & b != 0),
                Op::Jset32X => jump!(u32, src!(), |a, b| a & b != 0),
                Op::Jne32K => jump!(u32, imm!(), |a, b| a != b),
                Op::Jne32X => jump!(u32, src!(), |a, b| a != b),
                Op::Jsgt32K => jump!(i32, imm!(), |a, b| a > b),
                Op::Jsgt32X => jump!(i32, src!(), |a, b| a > b),
                Op::Jsge32K => jump!(i32, imm!(), |a, b| a >= b),
                Op::Jsge32X => jump!(i32, src!(), |a, b| a >= b),
                Op::Jlt32K => jump!(u32, imm!(), |a, b| a < b),
                Op::Jlt32X => jump!(u32, src!(), |a, b| a < b),
                Op::Jle32K => jump!(u32, imm!(), |a, b| a <= b),
                Op::Jle32X => jump!(u32, src!(), |a, b| a <= b),
                Op::Jslt32K => jump!(i32, imm!(), |a, b| a < b),
                Op::Jslt32X => jump!(i32, src!(), |a, b| a < b),
                Op::Jsle32K => jump!(i32, imm!(), |a, b| a <= b),
                Op::Jsle32X => jump!(i32, src!(), |a, b| a <= b),
                Op::Low16 => set!(u64::from(dst!() as u16)),
                Op::Low32 => set!(u64::from(dst!() as u32)),
                Op::Low64 => {}
                Op::Swap16 => set!(u64::from((dst!() as u16).swap_bytes())),
                Op::Swap32 => set!(u64::from((dst!() as u32).swap_bytes())),
                Op::Swap64 => set!(dst!().swap_bytes()),
                Op::Ja => go!(step.off as usize),
                Op::Ldx1 => set!(load!(1)),
                Op::Ldx2 => set!(load!(2)),
                Op::Ldx4 => set!(load!(4)),
                Op::Ldx8 => set!(load!(8)),
                Op::Ldsx1 => set!(load!(1) as i8 as u64),
                Op::Ldsx2 => set!(load!(2) as i16 as u64),
                Op::Ldsx4 => set!(load!(4) as i32 as u64),
                Op::LdxBits => {
                    let at = r[s!()].wrapping_add(step.off as u64).wrapping_sub(SOCKET);
                    set!(load!(1, at) << (step.imm & 63))
                }
                Op::St1 => st!(1),
                Op::St2 => st!(2),
                Op::St4 => st!(4),
                Op::St8 => st!(8),
                Op::Stx1 => stx!(1),
                Op::Stx2 => stx!(2),
                Op::Stx4 => stx!(4),
                Op::Stx8 => stx!(8),
                Op::Atomic4 => atomic!(4, u64::from(u32::MAX)),
                Op::Atomic8 => atomic!(8, !0),
                Op::Imm64 => {
                    set!(imm!());
                    pc += 2;
                    continue;
                }
                Op::Clock => {
                    r[0] = self.sk.tcp_clock_cache();
                    r[1..6].fill(DEAD);
                }
                Op::Helper => call!(self.helper(step.imm as u32, [r[1], r[2], r[3], r[4], r[5]])),
                Op::Kfunc => call!(self.kfunc(step.imm as u32, [r[1], r[2], r[3], r[4], r[5]])),
                Op::Local => enter!(),
                Op::Module => {
                    self.module_arguments = [r[1], r[2], r[3], r[4], r[5]];
                    r[1] = region::address(region::MODULE_ARGUMENTS, 0);
                    enter!()
                }
                Op::Exit => exit!(),
                Op::Mov32KExit => {
                    set!(imm!() as u32 as u64);
                    pc += 1;
                    exit!()
                }
                Op::Mov64XAdd64X => {
                    set!(src!());
                    second!();
                    set!(dst!().wrapping_add(src!()));
                }
                Op::Lsh64KRsh64K => {
                    set!(dst!().wrapping_shl(imm!() as u32));
                    second!();
                    set!(dst!().wrapping_shr(imm!() as u32));
                }
                Op::Mov32XMov32X => {
                    set!(src!() as u32 as u64);
                    second!();
                    set!(src!() as u32 as u64);
                }
                Op::Ldx4Ldx4 => {
                    set!(load!(4));
                    second!();
                    set!(load!(4));
                }
                Op::Ldx4Stx4 => {
                    set!(load!(4));
                    second!();
                    stx!(4);
                }
                Op::Ldx8Ldx4 => {
                    set!(load!(8));
                    second!();
                    set!(load!(4));
                }
                Op::Ldx4Jeq32X => {
                    set!(load!(4));
                    second!();
                    jump!(u32, src!(), |a, b| a == b);
                }
                Op::Ldx4Jlt32X => {
                    set!(load!(4));
                    second!();
                    jump!(u32, src!(), |a, b| a < b);
                }
                Op::Ldx4Jge32X => {
                    set!(load!(4));
                    second!();
                    jump!(u32, src!(), |a, b| a >= b);
                }
                Op::Ldx4Jeq32K => {
                    set!(load!(4));
                    second!();
                    jump!(u32, imm!(), |a, b| a == b);
                }
                Op::Ldx1Jeq32K => {
                    set!(load!(1));
                    second!();
                    jump!(u32, imm!(), |a, b| a == b);
                }
                Op::Ldx8Jeq64K => {
                    set!(load!(8));
                    second!();
                    jump!(u64, imm!(), |a, b| a == b);
                }
                Op::Jeq32KMov32X => {
                    jump!(u32, imm!(), |a, b| a == b);
                    second!();
                    set!(src!() as u32 as u64);
                }
                Op::Jlt32XMov32X => {
                    jump!(u32, src!(), |a, b| a < b);
                    second!();
                    set!(src!() as u32 as u64);
                }
                Op::Missing => stop!(StopReason::Missing(step.imm as u32)),
                Op::Refused | Op::Middle => stop!(StopReason::Refused(step.imm as u32)),
            }
            pc += 1;
        }
    }

    /// Zeroes the frame of the function at this depth, and gives the end of it.
    fn frame(&mut self) -> u64 {
        if std::mem::take(&mut self.host.stack_used[self.depth]) {
            self.host.stack[self.depth].fill(0);
        }
        region::address(region::STACK + self.depth as u32, FRAME as u64)
    }

    /// A number of so many bytes. `None`: it is not in a region.
    pub(crate) fn load<const N: usize>(&self, address: u64) -> Option<u64> {
        let at = address.wrapping_sub(SOCKET);
        self.load_field::<N>(at)
            .or_else(|| self.load_stack::<N>(at))
            .or_else(|| self.load_elsewhere::<N>(at))
    }

    /// A number in one word of the socket, from where most loads of a law are. `at`: its address less that of the socket.
    #[inline(always)]
    fn load_field<const N: usize>(&self, at: u64) -> Option<u64> {
        let word =
            if at < 8 * WORDS as u64 { self.sk.word(at as usize / 8)? } else { return None };
        (at as usize % 8 + N <= 8).then(|| part::<N>(word, at as usize))
    }

    /// A number in a frame.
    #[inline(always)]
    fn load_stack<const N: usize>(&self, at: u64) -> Option<u64> {
        let of = at.wrapping_add(SOCKET - STACK);
        number::<N>(self.host.stack.get((of >> 32) as usize)?.get(of as u32 as usize..)?)
    }

    /// A number in another region, or across two words of the private area.
    #[inline(never)]
    fn load_elsewhere<const N: usize>(&self, at: u64) -> Option<u64> {
        let address = at.wrapping_add(SOCKET);
        let at = address as u32 as usize;
        match (address >> 32) as u32 {
            region::ARGUMENTS => word::<N>(&self.arguments, at),
            region::SAMPLE => word::<N>(self.sample, at),
            region::MODULE_ARGUMENTS => word::<N>(&self.module_arguments, at),
            region::SOCKET => self.load_across(at, N),
            of => number::<N>(self.far(of)?.get(at..)?),
        }
    }

    /// Writes a number of so many bytes. `None`: the program may not, and nothing changed.
    fn store<const N: usize>(&mut self, address: u64, value: u64) -> Option<()> {
        self.store_from_socket::<N>(address.wrapping_sub(SOCKET), value)
    }

    /// The same, at an address less that of the socket.
    #[inline(always)]
    fn store_from_socket<const N: usize>(&mut self, at: u64, value: u64) -> Option<()> {
        if at < 8 * WORDS as u64 {
            let at = at as usize;
            if at % 8 + N > usize::from(WRITABLE[at / 8]) {
                return self.store_across(at, value, N);
            }
            let word = self.sk.word_mut(at / 8)?;
            let shift = 8 * (at % 8);
            *word = *word & !(mask::<N>() << shift) | (value & mask::<N>()) << shift;
            return Some(());
        }
        let address = at.wrapping_add(SOCKET);
        let (of, at) = (address.wrapping_sub(STACK), address as u32 as usize);
        let nth = (of >> 32) as usize;
        if let Some(frame) = self.host.stack.get_mut(nth) {
            self.host.stack_used[nth] = true;
            return put::<N>(frame.get_mut(at..)?, value);
        }
        self.store_afar::<N>(address, value)
    }

    /// Into the other regions.
    #[inline(never)]
    fn store_afar<const N: usize>(&mut self, address: u64, value: u64) -> Option<()> {
        let at = address as u32 as usize;
        put::<N>(self.far_mut((address >> 32) as u32)?.get_mut(at..)?, value)
    }

    /// Regions of bytes beyond the stack.
    fn far(&self, of: u32) -> Option<&[u8]> {
        let nth = (of & 0xfff) as usize;
        match of & !0xfff {
            region::DATA => self.host.data(self.image, nth),
            region::VALUES => self.host.maps.get(nth).map(|map| map.values()),
            region::STORAGE => self.flow.storage.get(nth)?.as_deref(),
            _ => None,
        }
    }

    fn far_mut(&mut self, of: u32) -> Option<&mut [u8]> {
        let nth = (of & 0xfff) as usize;
        match of & !0xfff {
            region::DATA => self.host.data_mut(self.image, nth),
            region::VALUES => self.host.maps.get_mut(nth)?.values_mut(),
            region::STORAGE => self.flow.storage.get_mut(nth)?.as_deref_mut(),
            _ => None,
        }
    }

    /// A number that lies in two words of the private area.
    #[cold]
    fn load_across(&self, at: usize, bytes: usize) -> Option<u64> {
        let first = FIELDS.len() * 8;
        (at >= first && at + bytes <= 8 * WORDS).then_some(())?;
        let byte =
            |nth: usize| Some(part::<1>(self.sk.word((at + nth) / 8)?, at + nth) << (8 * nth));
        (0..bytes).try_fold(0, |number, nth| Some(number | byte(nth)?))
    }

    #[cold]
    fn store_across(&mut self, at: usize, value: u64, bytes: usize) -> Option<()> {
        let first = FIELDS.len() * 8;
        (at >= first && at + bytes <= 8 * WORDS).then_some(())?;
        let byte = |nth| (SOCKET + (at + nth) as u64, value >> (8 * nth));
        (0..bytes).map(byte).try_for_each(|(address, byte)| self.store::<1>(address, byte))
    }

    /// An atomic operation; gives the value before.
    fn atomic(
        &mut self,
        address: u64,
        bytes: u8,
        kind: i64,
        with: u64,
        expected: u64,
    ) -> Option<u64> {
        let low = if bytes == 4 { u64::from(u32::MAX) } else { !0 };
        let before = if bytes == 4 { self.load::<4>(address)? } else { self.load::<8>(address)? };
        let after = match kind {
            XCHG => with,
            CMPXCHG if before == expected & low => with,
            CMPXCHG => before,
            _ => match kind & !FETCH {
                0x00 => before.wrapping_add(with),
                0x40 => before | with,
                0x50 => before & with,
                _ => before ^ with,
            },
        };
        if bytes == 4 {
            self.store::<4>(address, after)?
        } else {
            self.store::<8>(address, after)?
        }
        Some(before)
    }

    /// Bytes at an address, for helpers.
    pub(crate) fn bytes(&mut self, address: u64, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.copy(address, &mut bytes)?;
        Some(bytes)
    }

    /// Copies bytes at an address, for helpers. Eight bytes take an instruction's time.
    pub(crate) fn copy(&mut self, address: u64, to: &mut [u8]) -> Option<()> {
        self.left = self.left.saturating_sub(to.len() as u32 / 8);
        let at = address as u32 as usize;
        let whole = match (address >> 32) as u32 {
            of @ region::STACK..region::STACK_END => {
                Some(&self.host.stack[(of - region::STACK) as usize][..])
            }
            of => self.far(of),
        };
        if let Some(whole) = whole {
            to.copy_from_slice(whole.get(at..)?.get(..to.len())?);
            return Some(());
        }
        for (nth, byte) in (0..).zip(to) {
            *byte = self.load::<1>(address.checked_add(nth)?)? as u8;
        }
        Some(())
    }

    /// Writes bytes at an address, for helpers.
    pub(crate) fn put(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        let mut at = address;
        bytes.iter().try_for_each(|byte| {
            self.store::<1>(at, (*byte).into())?;
            at = at.checked_add(1)?;
            Some(())
        })
    }
}

/// How a call of a helper ends the run: here, or in a callback.
pub(crate) enum Called {
    Why(StopReason),
    Stop(Stop),
}

impl From<StopReason> for Called {
    fn from(why: StopReason) -> Self {
        Self::Why(why)
    }
}

const fn mask<const N: usize>() -> u64 {
    if N >= 8 { !0 } else { (1 << (8 * N)) - 1 }
}

/// Bytes of a word, from the byte at this offset.
#[inline(always)]
fn part<const N: usize>(word: u64, at: usize) -> u64 {
    word >> (8 * (at % 8)) & mask::<N>()
}

#[inline(always)]
fn word<const N: usize>(words: &[u64], at: usize) -> Option<u64> {
    let word = *words.get(at / 8)?;
    (at % 8 + N <= 8).then(|| part::<N>(word, at))
}

/// Writes the low bytes of a value to the first ones.
#[inline(always)]
fn put<const N: usize>(bytes: &mut [u8], value: u64) -> Option<()> {
    bytes.first_chunk_mut::<N>()?.copy_from_slice(value.to_le_bytes().first_chunk::<N>()?);
    Some(())
}

#[inline(always)]
fn number<const N: usize>(bytes: &[u8]) -> Option<u64> {
    let mut all = [0; 8];
    *all.first_chunk_mut::<N>()? = *bytes.first_chunk::<N>()?;
    Some(u64::from_le_bytes(all))
}

#[cfg(test)]
mod tests;
