//! What ends a run, by an object whose callbacks do it: each sentence says where and what.

use crate::common::{Rig, sentence};
use forebay_bpf_law::{MAX_STEPS, Object};

const WRONG: &[u8] = include_bytes!("../../../bpf/obj/wrong.bpf.o");

fn said(ops: &str) -> String {
    let mut rig = Rig::new(WRONG, &[("ops", ops)], 10);
    sentence(rig.module.ssthresh(&mut rig.sk))
}

#[test]
fn a_fault_names_file_line_source_and_what_is_wrong() {
    let known = [
        ("beyond", "p[200] = 1: a store of 8 bytes at offset ", "of the socket ("),
        ("readonly", "tp->mss_cache = 9000:", "into mss_cache, which programs may not write"),
        ("constant", "limit = 8:", "into .rodata, which is read-only"),
        ("null", "*value", "a load of 8 bytes at address 0x0: the pointer is null"),
        ("endless", "for (;;)", "a million instructions"),
        ("zero", "tcp_cong_avoid_ai", "with a window of 0 divides by zero"),
        ("other", "setsockopt", "bpf_setsockopt is not possible here"),
        ("socket", "tcp_slow_start", "argument 1 of tcp_slow_start is not the socket"),
        ("deep", "deeper", "deeper than 8 functions"),
        ("callback", "sum[nth * 100] = nth", "a store of 8 bytes at offset "),
    ];
    assert_eq!(MAX_STEPS, 1_000_000);
    for (ops, source, what) in known {
        let said = said(ops);
        let line = said.strip_prefix("wrong.bpf.c:").and_then(|rest| rest.split_once(": "));
        assert!(line.is_some_and(|(line, _)| line.parse::<u32>().is_ok()), "{said}");
        assert!(said.contains(source) && said.contains(what), "{ops}: {said}");
        assert!(said.contains(", instruction "), "{said}");
        assert!(said.len() < 300 && !said.contains('\n'), "{said}");
    }
}

#[test]
fn a_missing_field_ends_the_run_where_it_is_reached_and_not_before() {
    let mut rig = Rig::new(WRONG, &[("ops", "missing")], 10);
    assert_eq!(rig.ssthresh(), 5, "the program looks whether the field exists");
    let said = sentence(rig.module.cong_avoid(&mut rig.sk, 0, 1));
    assert!(said.contains("count = tp->srtt_of_mars"), "{said}");
    assert!(said.contains("tcp_sock.srtt_of_mars is not in the simulator's kernel"), "{said}");
    let report = Object::read(WRONG).expect("it loads").report();
    assert!(report.missing.iter().any(|of| of.starts_with("tcp_sock.srtt_of_mars (wrong.bpf.c:")));
}

#[test]
fn a_fault_leaves_the_socket_as_it_was() {
    let mut rig = Rig::new(WRONG, &[("ops", "readonly")], 10);
    let before = rig.sk.clone();
    sentence(rig.module.ssthresh(&mut rig.sk));
    assert_eq!(rig.sk, before);
}
