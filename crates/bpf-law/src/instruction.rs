//! Instructions as the machine runs them: decoded once, sixteen bytes each.
//!
//! Source: `Documentation/bpf/standardization/instruction-set.rst`.

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub op: Op,
    pub dst: u8,
    pub src: u8,
    /// Offset of memory; or the place in the code that a jump or call leads to.
    pub off: i32,
    pub imm: i64,
}

/// What an instruction does. `K` takes the immediate, `X` the source register.
#[allow(missing_docs, reason = "the names are those of the instruction set")]
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Op {
    Add64K, Add64X, Sub64K, Sub64X, Mul64K, Mul64X, Div64K, Div64X, Or64K, Or64X, And64K, And64X,
    Lsh64K, Lsh64X, Rsh64K, Rsh64X, Mod64K, Mod64X, Xor64K, Xor64X, Mov64K, Mov64X, Arsh64K, Arsh64X,
    Sdiv64K, Sdiv64X, Smod64K, Smod64X, Neg64, Movsx64From8, Movsx64From16, Movsx64From32,
    Add32K, Add32X, Sub32K, Sub32X, Mul32K, Mul32X, Div32K, Div32X, Or32K, Or32X, And32K, And32X,
    Lsh32K, Lsh32X, Rsh32K, Rsh32X, Mod32K, Mod32X, Xor32K, Xor32X, Mov32K, Mov32X, Arsh32K, Arsh32X,
    Sdiv32K, Sdiv32X, Smod32K, Smod32X, Neg32, Movsx32From8, Movsx32From16,
    Low16, Low32, Low64, Swap16, Swap32, Swap64,
    Ja,
    Jeq64K, Jeq64X, Jgt64K, Jgt64X, Jge64K, Jge64X, Jset64K, Jset64X, Jne64K, Jne64X, Jsgt64K, Jsgt64X,
    Jsge64K, Jsge64X, Jlt64K, Jlt64X, Jle64K, Jle64X, Jslt64K, Jslt64X, Jsle64K, Jsle64X,
    Jeq32K, Jeq32X, Jgt32K, Jgt32X, Jge32K, Jge32X, Jset32K, Jset32X, Jne32K, Jne32X, Jsgt32K, Jsgt32X,
    Jsge32K, Jsge32X, Jlt32K, Jlt32X, Jle32K, Jle32X, Jslt32K, Jslt32X, Jsle32K, Jsle32X,
    Ldx1, Ldx2, Ldx4, Ldx8, Ldsx1, Ldsx2, Ldsx4,
    /// A byte, shifted left by the immediate: a bit field that the object has at another bit.
    LdxBits,
    St1, St2, St4, St8, Stx1, Stx2, Stx4, Stx8,
    /// The immediate says which operation.
    Atomic4, Atomic8,
    /// A number of 64 bits; the next instruction is its second half.
    Imm64,
    Helper, Kfunc, Local,
    /// A function of a module of ours, whose arguments are behind a pointer.
    Module,
    Exit,
    /// A field that is not here: place in the list of missing fields.
    Missing,
    /// What is not supported: place in the list of refusals.
    Refused,
    /// The second half of a number of 64 bits.
    Middle,
    /// Only as a step: r0 becomes the kernel's clock.
    Clock,
    /// Only as a step: an instruction and the next one, which has its own step, too.
    Mov32KExit, Mov64XAdd64X, Lsh64KRsh64K, Mov32XMov32X,
    Ldx4Ldx4, Ldx8Ldx4, Ldx4Stx4,
    Ldx4Jeq32X, Ldx4Jlt32X, Ldx4Jge32X, Ldx4Jeq32K, Ldx1Jeq32K, Ldx8Jeq64K,
    Jeq32KMov32X, Jlt32XMov32X,
}

/// Ranges in the order above.
impl Op {
    pub(crate) fn is_arithmetic(self) -> bool {
        (self as u8) < Op::Ja as u8
    }

    pub(crate) fn is_jump(self) -> bool {
        (Op::Ja as u8..=Op::Jsle32X as u8).contains(&(self as u8))
    }

    pub(crate) fn is_load(self) -> bool {
        (Op::Ldx1 as u8..=Op::LdxBits as u8).contains(&(self as u8))
    }

    pub(crate) fn is_store(self) -> bool {
        (Op::St1 as u8..=Op::Atomic8 as u8).contains(&(self as u8))
    }
}

/// Bit of atomic operations that return the value before.
pub(crate) const FETCH: i64 = 1;
pub(crate) const XCHG: i64 = 0xe0 | FETCH;
pub(crate) const CMPXCHG: i64 = 0xf0 | FETCH;

/// An instruction as it is in the object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw {
    pub code: u8,
    pub dst: u8,
    pub src: u8,
    pub off: i16,
    pub imm: i32,
}

impl Raw {
    pub(crate) fn of(bytes: [u8; 8]) -> Self {
        Self {
            code: bytes[0],
            dst: bytes[1] & 15,
            src: bytes[1] >> 4,
            off: i16::from_le_bytes([bytes[2], bytes[3]]),
            imm: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        }
    }

    /// Class: the low three bits.
    pub(crate) fn class(self) -> u8 {
        self.code & 7
    }

    pub(crate) fn is_imm64(self) -> bool {
        self.code == 0x18
    }

    pub(crate) fn is_call(self) -> bool {
        self.code == 0x85
    }
}

pub(crate) const LDX: u8 = 1;
pub(crate) const ST: u8 = 2;
pub(crate) const STX: u8 = 3;
pub(crate) const ALU: u8 = 4;
pub(crate) const JMP: u8 = 5;
pub(crate) const JMP32: u8 = 6;
pub(crate) const ALU64: u8 = 7;

/// Decodes an instruction at a place in the code; jumps get the place that they lead to. Numbers of 64 bits and calls of functions are the
/// loader's.
///
/// # Errors
/// If it is not supported: what it is.
pub(crate) fn decode(raw: Raw, at: usize) -> Result<Instruction, &'static str> {
    if raw.dst > 10 || raw.src > 10 {
        return Err("a register beyond r10");
    }
    let op = match raw.class() {
        LDX => load(raw)?,
        ST | STX => store(raw)?,
        ALU | ALU64 => alu(raw)?,
        JMP | JMP32 => jump(raw)?,
        _ if raw.is_imm64() => Op::Imm64,
        _ => return Err("a packet load"),
    };
    let writes = matches!(raw.class(), LDX | ALU | ALU64) || op == Op::Imm64;
    // An atomic operation that fetches writes to its source, but for a compare-and-exchange, whose old value goes to r0.
    let atomic = matches!(op, Op::Atomic4 | Op::Atomic8);
    let fetches = atomic && i64::from(raw.imm) & FETCH != 0 && i64::from(raw.imm) != CMPXCHG;
    if writes && raw.dst == 10 || fetches && raw.src == 10 {
        return Err("a write to the frame pointer r10");
    }
    let off = match raw.class() {
        JMP | JMP32 if op == Op::Ja && raw.class() == JMP32 => target(at, raw.imm),
        JMP | JMP32 => target(at, raw.off.into()),
        _ => raw.off.into(),
    };
    Ok(Instruction { op, dst: raw.dst, src: raw.src, off, imm: raw.imm.into() })
}

fn target(at: usize, off: i32) -> i32 {
    (at as i32 + 1).wrapping_add(off)
}

fn load(raw: Raw) -> Result<Op, &'static str> {
    Ok(match raw.code & !7 {
        0x60 => Op::Ldx4,
        0x68 => Op::Ldx2,
        0x70 => Op::Ldx1,
        0x78 => Op::Ldx8,
        0x80 => Op::Ldsx4,
        0x88 => Op::Ldsx2,
        0x90 => Op::Ldsx1,
        _ => return Err("an unknown load"),
    })
}

fn store(raw: Raw) -> Result<Op, &'static str> {
    let immediate = raw.class() == ST;
    Ok(match (raw.code & !7, immediate) {
        (0x60, true) => Op::St4,
        (0x68, true) => Op::St2,
        (0x70, true) => Op::St1,
        (0x78, true) => Op::St8,
        (0x60, false) => Op::Stx4,
        (0x68, false) => Op::Stx2,
        (0x70, false) => Op::Stx1,
        (0x78, false) => Op::Stx8,
        (0xc0, false) | (0xd8, false) => {
            let known =
                [0x00, 0x40, 0x50, 0xa0].iter().any(|of| i64::from(raw.imm) & !FETCH == *of);
            if !known && ![XCHG, CMPXCHG].contains(&raw.imm.into()) {
                return Err("an unknown atomic operation");
            }
            if raw.code & !7 == 0xc0 { Op::Atomic4 } else { Op::Atomic8 }
        }
        _ => return Err("an unknown store"),
    })
}

/// The form of an operation: of 64 or 32 bits, with the immediate (`K`) or a register (`X`).
fn pick(wide: bool, register: bool) -> impl Fn(Op, Op, Op, Op) -> Op {
    move |k64, x64, k32, x32| match (wide, register) {
        (true, false) => k64,
        (true, true) => x64,
        (false, false) => k32,
        (false, true) => x32,
    }
}

#[rustfmt::skip]
fn alu(raw: Raw) -> Result<Op, &'static str> {
    let (wide, register) = (raw.class() == ALU64, raw.code & 8 != 0);
    let pick = pick(wide, register);
    use Op::*;
    let op = match (raw.code >> 4, raw.off) {
        (0x0, 0) => pick(Add64K, Add64X, Add32K, Add32X),
        (0x1, 0) => pick(Sub64K, Sub64X, Sub32K, Sub32X),
        (0x2, 0) => pick(Mul64K, Mul64X, Mul32K, Mul32X),
        (0x3, 0) => pick(Div64K, Div64X, Div32K, Div32X),
        (0x3, 1) => pick(Sdiv64K, Sdiv64X, Sdiv32K, Sdiv32X),
        (0x4, 0) => pick(Or64K, Or64X, Or32K, Or32X),
        (0x5, 0) => pick(And64K, And64X, And32K, And32X),
        (0x6, 0) => pick(Lsh64K, Lsh64X, Lsh32K, Lsh32X),
        (0x7, 0) => pick(Rsh64K, Rsh64X, Rsh32K, Rsh32X),
        (0x8, 0) => if wide { Neg64 } else { Neg32 },
        (0x9, 0) => pick(Mod64K, Mod64X, Mod32K, Mod32X),
        (0x9, 1) => pick(Smod64K, Smod64X, Smod32K, Smod32X),
        (0xa, 0) => pick(Xor64K, Xor64X, Xor32K, Xor32X),
        (0xb, 0) => pick(Mov64K, Mov64X, Mov32K, Mov32X),
        (0xb, 8) if register => if wide { Movsx64From8 } else { Movsx32From8 },
        (0xb, 16) if register => if wide { Movsx64From16 } else { Movsx32From16 },
        (0xb, 32) if register && wide => Movsx64From32,
        (0xc, 0) => pick(Arsh64K, Arsh64X, Arsh32K, Arsh32X),
        (0xd, 0) => match (raw.imm, register || wide) {
            (16, false) => Low16,
            (32, false) => Low32,
            (64, false) => Low64,
            (16, true) => Swap16,
            (32, true) => Swap32,
            (64, true) => Swap64,
            _ => return Err("an unknown change of the order of bytes"),
        },
        (0xb, 1) => return Err("a cast of an arena's address"),
        _ => return Err("an unknown operation"),
    };
    Ok(op)
}

#[rustfmt::skip]
fn jump(raw: Raw) -> Result<Op, &'static str> {
    let (wide, register) = (raw.class() == JMP, raw.code & 8 != 0);
    let pick = pick(wide, register);
    use Op::*;
    Ok(match raw.code >> 4 {
        0x0 if !register => Ja,
        0x1 => pick(Jeq64K, Jeq64X, Jeq32K, Jeq32X),
        0x2 => pick(Jgt64K, Jgt64X, Jgt32K, Jgt32X),
        0x3 => pick(Jge64K, Jge64X, Jge32K, Jge32X),
        0x4 => pick(Jset64K, Jset64X, Jset32K, Jset32X),
        0x5 => pick(Jne64K, Jne64X, Jne32K, Jne32X),
        0x6 => pick(Jsgt64K, Jsgt64X, Jsgt32K, Jsgt32X),
        0x7 => pick(Jsge64K, Jsge64X, Jsge32K, Jsge32X),
        0x8 if raw.is_call() => Helper,
        0x8 => return Err("a call through a register"),
        0x9 if raw.code == 0x95 => Exit,
        0xa => pick(Jlt64K, Jlt64X, Jlt32K, Jlt32X),
        0xb => pick(Jle64K, Jle64X, Jle32K, Jle32X),
        0xc => pick(Jslt64K, Jslt64X, Jslt32K, Jslt32X),
        0xd => pick(Jsle64K, Jsle64X, Jsle32K, Jsle32X),
        0xe => return Err("may_goto"),
        _ => return Err("an unknown jump"),
    })
}
