//! Object files: what is loaded, what is refused, and with which sentence.

use forebay_bpf_law::Object;
use forebay_laws::kernel::Program;

const ALL: [(&str, &[u8]); 5] = [
    ("nv", forebay_bpf::NV),
    ("reno", forebay_bpf::RENO),
    ("cubic", forebay_bpf::CUBIC),
    ("dctcp", forebay_bpf::DCTCP),
    ("halve", forebay_bpf::HALVE),
];

/// The object with one text instead of another of the same length.
fn edited(object: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = object.to_vec();
    let places: Vec<_> = (0..bytes.len() - from.len())
        .filter(|at| &bytes[*at..*at + from.len()] == from.as_bytes())
        .collect();
    assert!(!places.is_empty(), "{from} is in the object");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

fn refusal(object: &[u8]) -> String {
    let law = Object::read(object).and_then(|object| object.law("bpf:x.bpf.o"));
    law.expect_err("it is refused").to_string()
}

#[test]
fn our_own_objects_load_under_their_names() {
    for (name, bytes) in ALL {
        let object = Object::read(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let law = object.law("bpf:x.bpf.o").expect("the kernel takes it");
        assert_eq!(law.kernel_name(), format!("forebay_{name}"));
        assert!(object.report().missing.is_empty(), "{name}");
        assert_eq!(object.sha256().len(), 64);
        assert!(law.info().text().contains(object.sha256()));
    }
}

#[test]
fn a_report_has_fields_helpers_and_functions() {
    let report = Object::read(forebay_bpf::DCTCP).expect("it loads").report();
    let how = |name: &str| {
        let of = report.fields.iter().find(|(_, of, ..)| of == name);
        of.map(|(of, _, read, written)| (*of, *read, *written))
    };
    assert_eq!(how("snd_cwnd"), Some(("tcp_sock", true, false)));
    assert_eq!(how("snd_ssthresh"), Some(("tcp_sock", true, true)));
    assert_eq!(how("icsk_ca_state"), Some(("inet_connection_sock", true, false)));
    assert_eq!(how("icsk_ack.pending"), Some(("inet_connection_sock", true, true)));
    assert_eq!(how("srtt_us"), None);
    assert_eq!(report.helpers, ["bpf_tcp_send_ack"]);
    assert_eq!(report.kfuncs, ["tcp_cong_avoid_ai", "tcp_slow_start"]);
    let of = &report.operations[0];
    assert_eq!((of.name.as_str(), of.flags, of.link), ("forebay_dctcp", 2, true));
    assert_eq!(
        of.callbacks,
        ["ssthresh", "cong_avoid", "set_state", "cwnd_event", "in_ack_event", "undo_cwnd", "init"]
    );
    let cubic = Object::read(forebay_bpf::CUBIC).expect("it loads").report();
    let rtt =
        cubic.fields.iter().find(|(of, name, ..)| (*of, name.as_str()) == ("ack_sample", "rtt_us"));
    assert!(rtt.is_some(), "{:?}", cubic.fields);
}

#[test]
fn what_the_kernel_refuses_is_refused_with_a_sentence() {
    let license = edited(forebay_bpf::RENO, "Dual MIT/GPL", "Proprietary!");
    assert!(
        refusal(&license).contains("is not compatible with the GPL, so Linux refuses it (-22)")
    );
    let name = edited(forebay_bpf::RENO, "forebay_reno\0", "cubic\0\0\0\0\0\0\0\0");
    assert!(refusal(&name).contains("the name cubic is in use"), "{}", refusal(&name));
    let name = edited(forebay_bpf::RENO, "forebay_reno\0", "fore bay/ren\0");
    assert!(refusal(&name).contains("letters, digits"), "{}", refusal(&name));
    let kfunc = edited(forebay_bpf::RENO, "tcp_slow_start", "bbr_slow_start");
    let said = refusal(&kfunc);
    assert!(said.contains("the kernel function bbr_slow_start is not here"), "{said}");
    assert!(said.starts_with("reno.bpf.c:"), "{said}");
    let callback = edited(forebay_bpf::RENO, "undo_cwnd", "undo_bwnd");
    assert!(refusal(&callback).contains("it has undo_bwnd"), "{}", refusal(&callback));
    let other = edited(forebay_bpf::RENO, "tcp_congestion_ops", "tcp_congestion_opt");
    assert!(refusal(&other).contains("it is a struct tcp_congestion_opt"), "{}", refusal(&other));
}

#[test]
fn no_name_of_an_object_commands_a_terminal() {
    let kfunc = edited(forebay_bpf::RENO, "tcp_slow_start", "\x1b[2J_slow_stat");
    assert_eq!(refusal(&kfunc), "the object is cut or damaged");
    let name = edited(forebay_bpf::RENO, "forebay_reno\0", "\x1b[2Jbay_ren\n\0");
    assert!(!refusal(&name).contains(char::is_control), "{}", refusal(&name));
    let report = Object::read(&name).expect("it loads").report().to_string();
    assert!(!report.replace('\n', "").contains(char::is_control), "{report}");
}

#[test]
fn a_variable_with_the_name_of_a_parameter_is_refused() {
    let keep = edited(forebay_bpf::HALVE, "\0keep\0", "\0ops\0\0");
    let said = refusal(&keep);
    assert_eq!(said, "the variable ops has the name of a parameter here; rename it");
}

#[test]
fn what_is_no_object_gets_one_sentence() {
    let echo = refusal(forebay_bpf::ECHO);
    assert!(echo.contains("license") || echo.contains("type information"), "{echo}");
    assert!(refusal(b"").contains("this is no object file"));
    assert!(refusal(b"\x7fELF").contains("not for BPF"));
    let mut cut = forebay_bpf::RENO.to_vec();
    cut.truncate(cut.len() / 2);
    assert!(refusal(&cut).contains("cut or damaged"), "{}", refusal(&cut));
}
