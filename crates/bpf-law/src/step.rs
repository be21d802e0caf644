//! Steps: instructions as the machine runs them, made once from the code that the loader has judged.
//!
//! A step has the place of its instruction, so that jumps and messages mean the same in both forms.

use crate::address::region;
use crate::instruction::{Instruction, Op};

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The immediate; of loads and stores of registers, the offset less the address of the socket.
    pub imm: i64,
    /// Offset of memory; or the place in the code that a jump or call leads to.
    pub off: i32,
    pub op: Op,
    pub dst: Register,
    pub src: Register,
}

/// A register. The compiler knows how many there are, so that reading one needs no check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
#[repr(u8)]
pub(crate) enum Register { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 }

/// How many registers there are.
pub(crate) const REGISTERS: usize = ALL.len();

#[rustfmt::skip]
const ALL: [Register; 11] = {
    use Register::*;
    [R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10]
};

/// The address of the socket.
pub(crate) const SOCKET: u64 = region::address(region::SOCKET, 0);

/// Steps of the code of an object. Registers of the code exist: the decoder refuses others.
pub(crate) fn steps(code: &[Instruction]) -> Vec<Step> {
    let mut steps = single(code);
    for at in 1..steps.len() {
        let (first, second) = (steps[at - 1].op, steps[at].op);
        let pair = PAIRS.iter().find(|(a, b, _)| (*a, *b) == (first, second));
        steps[at - 1].op = pair.map_or(first, |(.., both)| *both);
    }
    steps
}

/// The same without pairs.
pub(crate) fn single(code: &[Instruction]) -> Vec<Step> {
    code.iter().map(step).collect()
}

/// Two operations, and one that does both. A pair saves the way from one step to the next; these are frequent in what clang makes of a law.
/// The second step stays, for jumps to it.
#[rustfmt::skip]
pub(crate) const PAIRS: [(Op, Op, Op); 15] = {
    use Op::*;
    [
        (Mov32K, Exit, Mov32KExit),
        (Mov64X, Add64X, Mov64XAdd64X),
        (Lsh64K, Rsh64K, Lsh64KRsh64K),
        (Mov32X, Mov32X, Mov32XMov32X),
        (Ldx4, Ldx4, Ldx4Ldx4),
        (Ldx8, Ldx4, Ldx8Ldx4),
        (Ldx4, Stx4, Ldx4Stx4),
        (Ldx4, Jeq32X, Ldx4Jeq32X),
        (Ldx4, Jlt32X, Ldx4Jlt32X),
        (Ldx4, Jge32X, Ldx4Jge32X),
        (Ldx4, Jeq32K, Ldx4Jeq32K),
        (Ldx1, Jeq32K, Ldx1Jeq32K),
        (Ldx8, Jeq64K, Ldx8Jeq64K),
        (Jeq32K, Mov32X, Jeq32KMov32X),
        (Jlt32X, Mov32X, Jlt32XMov32X),
    ]
};

fn step(of: &Instruction) -> Step {
    let &Instruction { op, dst, src, off, imm } = of;
    let from_register = matches!(op, Op::Stx1 | Op::Stx2 | Op::Stx4 | Op::Stx8);
    let imm = match op {
        Op::LdxBits => imm,
        _ if op.is_load() || from_register => i64::from(off).wrapping_sub(SOCKET as i64),
        _ => imm,
    };
    let op = match (op, imm) {
        // `bpf_ktime_get_ns` and `bpf_ktime_get_boot_ns`, which most callbacks of most laws call.
        (Op::Helper, 5 | 125) => Op::Clock,
        _ => op,
    };
    Step { imm, off, op, dst: ALL[usize::from(dst)], src: ALL[usize::from(src)] }
}
