//! What programs may use, by an object whose callbacks give known numbers.

use crate::common::Rig;
use forebay_bpf_law::Object;
use forebay_laws::kernel::Program;
use forebay_units::Span;

const PARTS: &[u8] = include_bytes!("../../../bpf/obj/parts.bpf.o");

fn rig(ops: &str) -> Rig {
    let mut rig = Rig::new(PARTS, &[("ops", ops), ("hz", "250")], 17);
    rig.pass(Span::from_us(6_001));
    rig
}

#[test]
fn each_part_gives_what_the_kernel_would() {
    let known = [
        ("hash", 63),
        ("lru", 5),
        ("atomic", 198),
        ("loop_", 1045),
        ("deep", 6),
        ("clock", 31),
        ("probe", 17),
        ("data", 6_197),
        ("signed_", 63),
        ("trace", 1),
    ];
    for (ops, value) in known {
        assert_eq!(rig(ops).ssthresh(), value, "{ops}");
    }
}

#[test]
fn maps_and_variables_are_shared_by_the_flows_of_a_host_and_by_no_other() {
    for (ops, values) in [("array", [3, 4, 5]), ("data", [6_197, 7_197, 8_197])] {
        let mut first = rig(ops);
        let mut second = first.host.flow(2);
        assert_eq!(first.ssthresh(), values[0], "{ops}");
        assert_eq!(second.ssthresh(&mut first.sk), Ok(values[1]));
        assert_eq!(first.ssthresh(), values[2]);
        assert_eq!(rig(ops).ssthresh(), values[0], "another host");
    }
}

#[test]
fn a_host_keeps_the_lines_that_its_programs_print() {
    let mut rig = rig("trace");
    assert_eq!(rig.host.trace().map(|of| of.lines), Some(String::new()));
    assert_eq!(rig.ssthresh(), 1);
    let printed = rig.host.trace().expect("programs can print");
    assert_eq!(printed.lines, "6001.000 us, flow 0: cwnd 17 of parts, ffffffffffffffff\n");
    (0..2_000).for_each(|_| assert_eq!(rig.ssthresh(), 1));
    let printed = rig.host.trace().expect("programs can print");
    assert!(printed.lines.len() <= 65_536 + 40, "{}", printed.lines.len());
    assert_eq!(printed.lines.lines().count() as u64 + printed.left_out, 2_001);
}

#[test]
fn storage_is_each_flow_s_own() {
    let mut first = rig("storage");
    let mut second = first.host.flow(2);
    let seen: Vec<_> = (0..4).map(|_| first.ssthresh()).collect();
    assert_eq!(seen, [1, 2, 3, 1], "the third call removes it");
    assert_eq!(second.ssthresh(&mut first.sk), Ok(1));
}

#[test]
fn several_operations_need_a_choice() {
    let mut rig = Rig::new(PARTS, &[], 10);
    let fault = rig.module.init(&mut rig.sk).expect_err("nothing was chosen").to_string();
    assert!(fault.contains("set params.ops to array or hash or lru"), "{fault}");
    let mut law = Object::read(PARTS).expect("it loads").law("bpf:x").expect("a law");
    assert_eq!(law.set("ops", "nobody"), Some(false));
    assert_eq!(law.set("hz", "200"), Some(false));
    assert_eq!(law.set("small", "256"), Some(false));
    assert_eq!(law.set("sign", "-2147483649"), Some(false));
    assert_eq!(law.set("shared", "1"), None, "not const volatile");
}

#[test]
fn parameters_are_the_object_s_constants() {
    let set = [("ops", "data"), ("small", "255"), ("sign", "-5")];
    assert_eq!(Rig::new(PARTS, &set, 10).ssthresh(), 6_250);
}
