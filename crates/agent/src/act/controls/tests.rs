//! Objects in this machine's kernel, and on machines that have none.

use super::*;
use std::fs;

/// An object of ours whose congestion control has another name of the same length.
fn named(object: &[u8], from: &str, to: &str) -> Control {
    assert_eq!(from.len(), to.len());
    let mut bytes = object.to_vec();
    while let Some(at) = bytes.windows(from.len()).position(|of| of == from.as_bytes()) {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    Control { key: "tcp_object: t.bpf.o".into(), bytes: Cow::Owned(bytes), params: Vec::new() }
}

/// The sentence, where this machine's kernel takes no such programs.
fn skipped(why: &str) {
    let required = std::env::var("FOREBAY_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|of| of == "bpf"), "{why}");
    println!("skipped: {why}");
}

/// Every object of ours, NV with functions that it calls, CUBIC with CONFIG_HZ, DCTCP with ECN.
#[test]
fn objects_are_registered_as_long_as_they_are_held() {
    let root = Root::machine();
    let mut takes = false; // whether this kernel has taken one; then it takes all
    for (object, from) in [
        (forebay_bpf::HALVE, "forebay_halve"),
        (forebay_bpf::NV, "forebay_nv"),
        (forebay_bpf::RENO, "forebay_reno"),
        (forebay_bpf::CUBIC, "forebay_cubic"),
        (forebay_bpf::DCTCP, "forebay_dctcp"),
    ] {
        let to = &format!("t{:0width$}", std::process::id(), width = from.len() - 1);
        let control = [named(object, from, to)];
        let held = match register(&root, &control, false) {
            Ok(held) => held,
            Err(why) if takes => panic!("{why}"),
            Err(why) => return skipped(&why),
        };
        takes = true;
        assert!(is_in_use(&root, to));
        let again = register(&root, &control, false).expect_err("a name is there once");
        let wanted = format!("this kernel has a congestion control {to} already; ");
        assert!(again.contains(&wanted), "{again}");
        drop(held);
        // The kernel lets go of it after a grace period, which a busy machine makes long.
        let gone = || {
            std::thread::sleep(Duration::from_millis(1));
            !is_in_use(&root, to)
        };
        assert!((0..120_000).any(|_| gone()), "{to} stays");
    }
}

/// Words of the verifier with the line of the source that they are about.
#[test]
fn a_program_that_the_kernel_refuses_is_named_by_its_line() {
    let root = Root::machine();
    let probe = named(forebay_bpf::RENO, "forebay_reno", "ren2_of_test");
    if let Err(why) = register(&root, &[probe], false) {
        return skipped(&why);
    }
    let mut control = named(forebay_bpf::HALVE, "forebay_halve", "wrong_of_test");
    let elf = forebay_bpf_law::elf::Elf::read(&control.bytes).expect("an object");
    let code = elf.section("struct_ops").expect("it has programs").data;
    let helper = [0x85, 0, 0, 0, 0xff, 0xff, 0, 0]; // a call of helper 65535, which no kernel has
    let at = control.bytes.windows(code.len()).position(|of| of == code).expect("it is there");
    control.bytes.to_mut()[at + 48..at + 56].copy_from_slice(&helper); // the division
    let why = register(&root, &[control], false).expect_err("the verifier refuses it");
    let wanted = "tcp_object: t.bpf.o: cannot register wrong_of_test: halve.bpf.c:12: ";
    assert!(why.starts_with(wanted) && why.contains("65535"), "{why}");
}

#[test]
fn an_old_kernel_and_one_without_types_are_named() {
    let folder = std::env::temp_dir().join(format!("forebay-controls-{}", std::process::id()));
    fs::create_dir_all(folder.join("proc/sys/kernel")).expect("a folder");
    let root = Root::at(&folder);
    for (release, wanted) in [
        ("6.1.0\n", "tcp_object: t.bpf.o: needs Linux 6.4, this is 6.1.0"),
        ("6.12.5\n", "tcp_object: t.bpf.o: /sys/kernel/btf/vmlinux cannot be read: "),
    ] {
        fs::write(folder.join("proc/sys/kernel/osrelease"), release).expect("written");
        let control = named(forebay_bpf::HALVE, "forebay_halve", "halve_of_test");
        let why = judge(&root, &[control]).expect_err(release);
        assert!(why.starts_with(wanted), "{why}");
    }
    fs::remove_dir_all(folder).expect("removed");
}
