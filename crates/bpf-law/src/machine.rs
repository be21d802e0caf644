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
use crate::instruction::{CMPXCHG, FETCH, Instruction, Op, XCHG};
use crate::stop::{Stop, StopReason};
use forebay_laws::kernel::{FIELDS, Sock, WORDS};

/// Most instructions of one call, callbacks of `bpf_loop` included.
pub const MAX_STEPS: u32 = 1_000_000;
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
        let code = &image.code[..];
        let bottom = self.depth;
        let mut r = [0u64; 16];
        r[1..6].copy_from_slice(&arguments);
        let mut pc = entry;
        let mut from = entry; // first instruction that is not counted yet; a jump, a call or an exit counts all up to itself
        if bottom >= FRAMES {
            return Err(Stop { at: pc as u32, why: StopReason::Frames });
        }
        r[10] = self.frame();
        loop {
            // Each operation reads only the parts of its instruction that it needs.
            let Instruction { op, dst, src, off, imm } = &code[pc];
            let op = *op;
            macro_rules! d {
                () => {
                    usize::from(*dst & 15)
                };
            }
            macro_rules! s {
                () => {
                    usize::from(*src & 15)
                };
            }
            macro_rules! stop {
                ($why:expr) => {
                    return Err(Stop { at: pc as u32, why: $why })
                };
            }
            // Counts the instructions from `from` up to this one.
            macro_rules! charge {
                () => {
                    match self.left.checked_sub((pc + 1 - from) as u32) {
                        Some(left) => self.left = left,
                        None => stop!(StopReason::Steps),
                    }
                };
            }
            // The same, before going on at `$to`.
            macro_rules! count {
                ($to:expr) => {{
                    charge!();
                    from = $to;
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
                    *imm as u64
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
                        count!(*off as usize);
                        pc = *off as usize;
                        continue;
                    }
                }};
            }
            macro_rules! load {
                ($bytes:literal) => {{
                    let address = r[s!()].wrapping_add(*off as i64 as u64);
                    match self.load::<$bytes>(address) {
                        Some(value) => value,
                        None => stop!(StopReason::Load { address, bytes: $bytes }),
                    }
                }};
            }
            macro_rules! store {
                ($bytes:literal, $value:expr) => {{
                    let address = r[d!()].wrapping_add(*off as i64 as u64);
                    if self.store::<$bytes>(address, $value).is_none() {
                        stop!(StopReason::Store { address, bytes: $bytes });
                    }
                }};
            }
            match op {
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
                Op::Ja => {
                    count!(*off as usize);
                    pc = *off as usize;
                    continue;
                }
                Op::Ldx1 => set!(load!(1)),
                Op::Ldx2 => set!(load!(2)),
                Op::Ldx4 => set!(load!(4)),
                Op::Ldx8 => set!(load!(8)),
                Op::Ldsx1 => set!(load!(1) as i8 as u64),
                Op::Ldsx2 => set!(load!(2) as i16 as u64),
                Op::Ldsx4 => set!(load!(4) as i32 as u64),
                Op::LdxBits => set!(load!(1) << (*imm & 63)),
                Op::St1 => store!(1, imm!()),
                Op::St2 => store!(2, imm!()),
                Op::St4 => store!(4, imm!()),
                Op::St8 => store!(8, imm!()),
                Op::Stx1 => store!(1, src!()),
                Op::Stx2 => store!(2, src!()),
                Op::Stx4 => store!(4, src!()),
                Op::Stx8 => store!(8, src!()),
                Op::Atomic4 | Op::Atomic8 => {
                    let address = r[d!()].wrapping_add(*off as i64 as u64);
                    let (bytes, low) =
                        if op == Op::Atomic4 { (4, u64::from(u32::MAX)) } else { (8, !0) };
                    let Some(before) = self.atomic(address, bytes, *imm, r[s!()], r[0]) else {
                        stop!(StopReason::Store { address, bytes })
                    };
                    if *imm == CMPXCHG {
                        r[0] = before & low;
                    } else if *imm & FETCH != 0 {
                        r[s!()] = before & low;
                    }
                }
                Op::Imm64 => {
                    set!(imm!());
                    pc += 2;
                    continue;
                }
                Op::Helper | Op::Kfunc => {
                    count!(pc + 1);
                    let arguments = [r[1], r[2], r[3], r[4], r[5]];
                    let called = if op == Op::Helper {
                        self.helper(*imm as u32, arguments)
                    } else {
                        self.kfunc(*imm as u32, arguments)
                    };
                    match called {
                        Ok(value) => r[0] = value,
                        // What happened in a callback has its own place.
                        Err(Called::Stop(stop)) => return Err(stop),
                        Err(Called::Why(why)) => stop!(why),
                    }
                    r[1..6].fill(DEAD);
                }
                Op::Local | Op::Module => {
                    if self.depth + 1 >= FRAMES {
                        stop!(StopReason::Frames);
                    }
                    count!(*off as usize);
                    self.host.callers[self.depth] =
                        Caller { at: pc + 1, saved: [r[6], r[7], r[8], r[9]] };
                    self.depth += 1;
                    r[10] = self.frame();
                    if op == Op::Module {
                        self.module_arguments = [r[1], r[2], r[3], r[4], r[5]];
                        r[1] = region::address(region::MODULE_ARGUMENTS, 0);
                    }
                    pc = *off as usize;
                    continue;
                }
                Op::Exit => {
                    if self.depth == bottom {
                        charge!();
                        return Ok(r[0]);
                    }
                    self.depth -= 1;
                    let Caller { at, saved } = self.host.callers[self.depth];
                    count!(at);
                    r[6..10].copy_from_slice(&saved);
                    r[1..6].fill(DEAD);
                    r[10] = region::address(region::STACK + self.depth as u32, FRAME as u64);
                    pc = at;
                    continue;
                }
                Op::Missing => stop!(StopReason::Missing(*imm as u32)),
                Op::Refused | Op::Middle => stop!(StopReason::Refused(*imm as u32)),
            }
            pc += 1;
        }
    }

    /// Zeroes the frame of the function at this depth, and gives the end of it.
    fn frame(&mut self) -> u64 {
        self.host.stack[self.depth * FRAME..][..FRAME].fill(0);
        region::address(region::STACK + self.depth as u32, FRAME as u64)
    }

    /// A number of so many bytes. `None`: it is not in a region.
    #[inline(always)]
    pub(crate) fn load<const N: usize>(&self, address: u64) -> Option<u64> {
        let at = address as u32 as usize;
        match (address >> 32) as u32 {
            region::SOCKET => match self.sk.word(at / 8) {
                Some(word) if at % 8 + N <= 8 => Some(part::<N>(word, at)),
                _ => self.load_across(address, N),
            },
            region::ARGUMENTS => word::<N>(&self.arguments, at),
            region::MODULE_ARGUMENTS => word::<N>(&self.module_arguments, at),
            region::SAMPLE => word::<N>(self.sample, at),
            of @ region::STACK..region::STACK_END => {
                let frame = &self.host.stack[FRAME * (of - region::STACK) as usize..][..FRAME];
                number::<N>(frame.get(at..)?)
            }
            of => number::<N>(self.far(of)?.get(at..)?),
        }
    }

    /// Writes a number of so many bytes. `None`: the program may not, and nothing changed.
    #[inline(always)]
    pub(crate) fn store<const N: usize>(&mut self, address: u64, value: u64) -> Option<()> {
        let at = address as u32 as usize;
        let bytes = value.to_le_bytes();
        let bytes = bytes.first_chunk::<N>()?;
        match (address >> 32) as u32 {
            region::SOCKET => {
                if at % 8 + N > usize::from(*WRITABLE.get(at / 8)?) {
                    return self.store_across(address, value, N);
                }
                let word = self.sk.word_mut(at / 8)?;
                let shift = 8 * (at % 8);
                *word = *word & !(mask::<N>() << shift) | (value & mask::<N>()) << shift;
            }
            of @ region::STACK..region::STACK_END => {
                let depth = (of - region::STACK) as usize;
                let frame = &mut self.host.stack[FRAME * depth..][..FRAME];
                frame.get_mut(at..)?.first_chunk_mut::<N>()?.copy_from_slice(bytes);
            }
            of => {
                self.far_mut(of)?.get_mut(at..)?.first_chunk_mut::<N>()?.copy_from_slice(bytes);
            }
        }
        Some(())
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
    fn load_across(&self, address: u64, bytes: usize) -> Option<u64> {
        let first = FIELDS.len() * 8;
        let at = address as u32 as usize;
        (at >= first && at + bytes <= 8 * WORDS).then_some(())?;
        let byte =
            |nth: usize| Some(part::<1>(self.sk.word((at + nth) / 8)?, at + nth) << (8 * nth));
        (0..bytes).try_fold(0, |number, nth| Some(number | byte(nth)?))
    }

    #[cold]
    fn store_across(&mut self, address: u64, value: u64, bytes: usize) -> Option<()> {
        let first = FIELDS.len() * 8;
        let at = address as u32 as usize;
        (at >= first && at + bytes <= 8 * WORDS).then_some(())?;
        (0..bytes).try_for_each(|nth| self.store::<1>(address + nth as u64, value >> (8 * nth)))
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
                Some(&self.host.stack[FRAME * (of - region::STACK) as usize..][..FRAME])
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

#[inline(always)]
fn number<const N: usize>(bytes: &[u8]) -> Option<u64> {
    let mut all = [0; 8];
    *all.first_chunk_mut::<N>()? = *bytes.first_chunk::<N>()?;
    Some(u64::from_le_bytes(all))
}

#[cfg(test)]
mod tests;
