//! Each instruction does what `Documentation/bpf/standardization/instruction-set.rst` says.

use super::*;
use crate::image::{Function, Image};
use crate::instruction::{Instruction, Raw, decode};
use crate::step::{PAIRS, Step, single, steps};
use forebay_laws::kernel::OwnSock;

/// An instruction: code, destination, source, offset, immediate.
type Coded = (u8, u8, u8, i16, i32);

const EXIT: Coded = (0x95, 0, 0, 0, 0);

fn run(code: &[Coded]) -> Result<u64, StopReason> {
    run_steps(code, steps).0.map_err(|stop| stop.why)
}

/// What a program gives as steps that are made like this, and how many instructions are left of a hundred.
fn run_steps(code: &[Coded], made: fn(&[Instruction]) -> Vec<Step>) -> (Result<u64, Stop>, u32) {
    let image = image(code, made);
    call(&image, &mut HostMemory::new(&image))
}

/// A program of one function, as steps that are made like this.
fn image(code: &[Coded], made: fn(&[Instruction]) -> Vec<Step>) -> Image {
    let mut image = Image { hz: 1000, ..Image::default() };
    for (at, &(code, dst, src, off, imm)) in code.iter().chain([&EXIT]).enumerate() {
        image.code.push(decode(Raw { code, dst, src, off, imm }, at).expect("it is known"));
    }
    image.steps = made(&image.code);
    let end = image.code.len();
    image.functions.push(Function { name: "f".into(), start: 0, end });
    image
}

/// Calls it once, for a flow of this host.
fn call(image: &Image, host: &mut HostMemory) -> (Result<u64, Stop>, u32) {
    let mut machine = Machine {
        image,
        host,
        flow: &mut Flow::new(image, 1),
        sk: &mut OwnSock::default(),
        sample: &[],
        arguments: [0; 5],
        module_arguments: [0; 5],
        left: 100,
        depth: 0,
    };
    let done = machine.run(0, [region::address(region::ARGUMENTS, 0), 0, 0, 0, 0]);
    (done, machine.left)
}

/// `r0 = a`, `r1 = b`, then one instruction.
fn with(a: i32, b: i32, of: Coded) -> u64 {
    run(&[(0xb7, 0, 0, 0, a), (0xb7, 1, 0, 0, b), of]).expect("it runs")
}

#[test]
fn arithmetic_is_that_of_the_standard() {
    let low = u64::from(u32::MAX);
    let known: [(&str, i32, i32, Coded, u64); 30] = [
        ("add64", -1, 2, (0x0f, 0, 1, 0, 0), 1),
        ("add32 ends at 32 bits", -1, 2, (0x0c, 0, 1, 0, 0), 1),
        ("sub32 is zero-extended", 1, 2, (0x1c, 0, 1, 0, 0), low),
        ("mul64 k", 7, 0, (0x27, 0, 0, 0, -3), -21i64 as u64),
        ("div is unsigned", -4, 2, (0x3f, 0, 1, 0, 0), 0x7fff_ffff_ffff_fffe),
        ("div32 is unsigned", -4, 2, (0x3c, 0, 1, 0, 0), 0x7fff_fffe),
        ("a division by zero gives 0", 9, 0, (0x3f, 0, 1, 0, 0), 0),
        ("a remainder by zero gives the number", 9, 0, (0x9f, 0, 1, 0, 0), 9),
        ("of 32 bits, its low half", -1, 0, (0x9c, 0, 1, 0, 0), low),
        ("sdiv64 rounds to zero", -7, 2, (0x3f, 0, 1, 1, 0), -3i64 as u64),
        ("sdiv32", -7, 2, (0x3c, 0, 1, 1, 0), u64::from(-3i32 as u32)),
        ("smod64 has the sign of the dividend", -7, 2, (0x9f, 0, 1, 1, 0), -1i64 as u64),
        ("smod32 by zero", -7, 0, (0x9c, 0, 1, 1, 0), u64::from(-7i32 as u32)),
        ("lsh64 takes 6 bits", 1, 65, (0x6f, 0, 1, 0, 0), 2),
        ("lsh32 takes 5 bits", 1, 33, (0x6c, 0, 1, 0, 0), 2),
        ("rsh64", -1, 60, (0x7f, 0, 1, 0, 0), 15),
        ("arsh64", -16, 2, (0xcf, 0, 1, 0, 0), -4i64 as u64),
        ("arsh32", i32::MIN, 4, (0xcc, 0, 1, 0, 0), 0xf800_0000),
        ("neg64", 5, 0, (0x87, 0, 0, 0, 0), -5i64 as u64),
        ("neg32", 5, 0, (0x84, 0, 0, 0, 0), u64::from(-5i32 as u32)),
        ("mov32 k", 0, 0, (0xb4, 0, 0, 0, -1), low),
        ("movsx 8 to 64", 0, 0x80, (0xbf, 0, 1, 8, 0), -128i64 as u64),
        ("movsx 16 to 64", 0, 0x8000, (0xbf, 0, 1, 16, 0), -32_768i64 as u64),
        ("movsx 32 to 64", 0, i32::MIN, (0xbf, 0, 1, 32, 0), i32::MIN as u64),
        ("movsx 8 to 32", 0, 0x80, (0xbc, 0, 1, 8, 0), 0xffff_ff80),
        ("le16 cuts", 0x0001_0203, 0, (0xd4, 0, 0, 0, 16), 0x0203),
        ("be16 swaps and cuts", 0x0001_0203, 0, (0xdc, 0, 0, 0, 16), 0x0302),
        ("be32", 0x0102_0304, 0, (0xdc, 0, 0, 0, 32), 0x0403_0201),
        ("bswap64", 1, 0, (0xd7, 0, 0, 0, 64), 1 << 56),
        ("bswap16", 0x0102, 0, (0xd7, 0, 0, 0, 16), 0x0201),
    ];
    for (what, a, b, of, result) in known {
        assert_eq!(with(a, b, of), result, "{what}");
    }
}

#[test]
fn the_least_number_divided_by_minus_one_is_itself() {
    let least = [(0xb7, 0, 0, 0, 1), (0x67, 0, 0, 0, 63), (0x37, 0, 0, 1, -1)];
    assert_eq!(run(&least), Ok(1 << 63));
    assert_eq!(with(i32::MIN, -1, (0x3c, 0, 1, 1, 0)), 1 << 31);
    assert_eq!(with(i32::MIN, -1, (0x9c, 0, 1, 1, 0)), 0);
}

#[test]
fn jumps_compare_as_the_standard_says() {
    // 1 if the jump is taken.
    let taken = |a: i32, b: i32, code: u8| {
        let of = [(0xb7, 2, 0, 0, a), (0xb7, 1, 0, 0, b), (0xb7, 0, 0, 0, 1)];
        run(&[of[0], of[1], of[2], (code, 2, 1, 1, 0), (0xb7, 0, 0, 0, 0)]) == Ok(1)
    };
    let known = [
        (0x1d, [false, true, false]), // ==
        (0x2d, [true, false, false]), // >
        (0x3d, [true, true, false]),  // >=
        (0x5d, [true, false, true]),  // !=
        (0x6d, [false, false, true]), // > with signs
        (0x7d, [false, true, true]),  // >= with signs
        (0xad, [false, false, true]), // <
        (0xbd, [false, true, true]),  // <=
        (0xcd, [true, false, false]), // < with signs
        (0xdd, [true, true, false]),  // <= with signs
    ];
    for (code, results) in known {
        for wide in [code, code & !7 | 6] {
            let all = [taken(-1, 1, wide), taken(3, 3, wide), taken(1, -1, wide)];
            assert_eq!(all, results, "{wide:#x}");
        }
    }
    assert!(taken(6, 4, 0x4d) && !taken(6, 1, 0x4d), "set bits");
    // gotol: 32 bits of distance, in the immediate.
    assert_eq!(run(&[(0xb7, 0, 0, 0, 4), (0x06, 0, 0, 0, 1), (0xb7, 0, 0, 0, 5)]), Ok(4));
}

#[test]
fn loads_extend_by_zeros_or_by_the_sign() {
    let stored = |size: u8, load: u8| {
        run(&[(0x62 | size, 10, 0, -8, -5), (load | size, 0, 10, -8, 0)]).expect("the stack")
    };
    let (word, half, byte, double) = (0x00, 0x08, 0x10, 0x18);
    assert_eq!(stored(word, 0x61), u64::from(-5i32 as u32));
    assert_eq!(stored(half, 0x61), 0xfffb);
    assert_eq!(stored(byte, 0x61), 0xfb);
    assert_eq!(stored(double, 0x61), -5i64 as u64);
    for size in [word, half, byte] {
        assert_eq!(stored(size, 0x81), -5i64 as u64, "{size:#x}");
    }
}

#[test]
fn an_access_outside_a_region_ends_the_call() {
    let top = region::address(region::STACK, FRAME as u64);
    let store = |off: i16| run(&[(0x7b, 10, 1, off, 0)]);
    assert_eq!(store(-8), Ok(0));
    assert_eq!(store(-512), Ok(0));
    for off in [-520, -4, 0, 8] {
        let address = top.wrapping_add(i64::from(off) as u64);
        assert_eq!(store(off), Err(StopReason::Store { address, bytes: 8 }), "{off}");
    }
    // The arguments are 40 bytes, to read only.
    assert_eq!(run(&[(0x79, 0, 1, 32, 0)]), Ok(0));
    let beyond = region::address(region::ARGUMENTS, 40);
    assert_eq!(run(&[(0x79, 0, 1, 40, 0)]), Err(StopReason::Load { address: beyond, bytes: 8 }));
    let first = region::address(region::ARGUMENTS, 0);
    assert_eq!(run(&[(0x7b, 1, 1, 0, 0)]), Err(StopReason::Store { address: first, bytes: 8 }));
    assert_eq!(run(&[(0x05, 0, 0, -1, 0)]), Err(StopReason::Steps), "an endless loop");
}

/// Two instructions that the machine takes together, between r2 = a, r3 = b and what adds up all that they may change.
fn around(a: i32, b: i32, pair: [Coded; 2]) -> Vec<Coded> {
    let before = [
        (0xb7, 2, 0, 0, a),
        (0xb7, 3, 0, 0, b),
        (0xb7, 0, 0, 0, 0),
        (0x7b, 10, 2, -8, 0),
        (0x7b, 10, 3, -16, 0),
    ];
    // A jump in the pair leaves out the first of these.
    let after = [
        (0x07, 0, 0, 0, 1000),
        (0x0f, 0, 2, 0, 0),
        (0x27, 0, 0, 0, 31),
        (0x0f, 0, 3, 0, 0),
        (0x79, 4, 10, -16, 0),
        (0x0f, 0, 4, 0, 0),
    ];
    before.into_iter().chain(pair).chain(after).collect()
}

#[test]
fn a_pair_does_what_its_two_instructions_do() {
    let load = |code, off| (code, 2, 10, off, 0);
    let pairs: [[Coded; 2]; 15] = [
        [(0xb4, 0, 0, 0, -7), EXIT],
        [(0xbf, 2, 3, 0, 0), (0x0f, 3, 2, 0, 0)],
        [(0x67, 2, 0, 0, 63), (0x77, 2, 0, 0, 60)],
        [(0xbc, 0, 2, 0, 0), (0xbc, 3, 0, 0, 0)],
        [load(0x61, -16), (0x61, 3, 10, -8, 0)],
        [load(0x79, -16), (0x61, 3, 10, -8, 0)],
        [load(0x61, -8), (0x63, 10, 2, -16, 0)],
        [load(0x61, -16), (0x1e, 2, 3, 1, 0)],
        [load(0x61, -8), (0xae, 2, 3, 1, 0)],
        [load(0x61, -8), (0x3e, 2, 3, 1, 0)],
        [load(0x61, -8), (0x16, 2, 0, 1, 5)],
        [load(0x71, -8), (0x16, 2, 0, 1, 5)],
        [load(0x79, -8), (0x15, 2, 0, 1, 5)],
        [(0x16, 2, 0, 2, 5), (0xbc, 3, 2, 0, 0)],
        [(0xae, 2, 3, 1, 0), (0xbc, 2, 3, 0, 0)],
    ];
    let mut seen = Vec::new();
    for pair in pairs {
        for (a, b) in [(5, 7), (7, 5), (5, 5), (-1, 5), (0x105, -1), (0, i32::MIN)] {
            let code = around(a, b, pair);
            let plain = run_steps(&code, single);
            assert_eq!(run_steps(&code, steps), plain, "{pair:x?} of {a} and {b}");
            // A jump to the second instruction leaves out the first one.
            let mut to_second = code.clone();
            to_second.insert(5, (0x05, 0, 0, 1, 0));
            assert_eq!(run_steps(&to_second, steps), run_steps(&to_second, single), "{pair:x?}");
        }
        let coded = pair.map(|(code, dst, src, off, imm)| Raw { code, dst, src, off, imm });
        let decoded = coded.map(|raw| decode(raw, 0).expect("it is known"));
        seen.push((decoded[0].op, decoded[1].op));
    }
    assert_eq!(seen, PAIRS.map(|(first, second, _)| (first, second)));
}

#[test]
fn a_fault_in_a_pair_is_that_of_the_instruction() {
    let at = |pair| run_steps(&around(1, 2, pair), steps).0.map_err(|stop| stop.at);
    assert_eq!(at([(0x61, 2, 10, 0, 0), (0x61, 3, 10, -8, 0)]), Err(5));
    assert_eq!(at([(0x61, 2, 10, -8, 0), (0x61, 3, 10, 0, 0)]), Err(6));
    assert_eq!(at([(0x61, 2, 10, -8, 0), (0x63, 10, 2, 0, 0)]), Err(6));
}

#[test]
fn a_frame_is_zero_at_first_whatever_was_in_it() {
    // Twice on one host: the first call writes to its frame.
    let image = image(&[(0x79, 0, 10, -8, 0), (0x7a, 10, 0, -8, 9)], steps);
    let mut host = HostMemory::new(&image);
    for _ in 0..2 {
        assert_eq!(call(&image, &mut host).0, Ok(0));
    }
}
