//! Objects of ours linked for kernels that are made here, whose fields are where no kernel has them.

use super::*;
use crate::btf::Kind;

/// A kernel under construction: its types, and those that all structures use.
struct Made {
    types: Btf<'static>,
    word: u32,
    long: u32,
    bytes: u32,
}

impl Made {
    fn new() -> Self {
        let mut types = Btf::empty();
        let word = types.add("unsigned int", Kind::Int { size: 4, signed: false });
        let long = types.add("unsigned long", Kind::Int { size: 8, signed: false });
        let byte = types.add("unsigned char", Kind::Int { size: 1, signed: false });
        let bytes = types.add("", Kind::Array { element: byte, count: 104 });
        Self { types, word, long, bytes }
    }

    /// A structure of members: name, type, first bit, bits of a bit field.
    fn structure(&mut self, name: &str, size: u32, members: &[(&str, u32, u32, u32)]) -> u32 {
        let members =
            members.iter().map(|(name, of, bit, bits)| self.types.member(name, *of, *bit, *bits));
        let members = members.collect();
        self.types.add(name, Kind::Record { union: false, size, members })
    }

    /// With `struct tcp_sock`, whose window is a number of this type at byte 1000.
    fn socket(&mut self, window: u32) {
        let (word, bytes) = (self.word, self.bytes);
        let byte = self.types.add("u8", Kind::Int { size: 1, signed: false });
        let connection =
            self.structure("inet_connection_sock", 400, &[("icsk_ca_priv", bytes, 8 * 200, 0)]);
        let words = ["snd_una", "snd_nxt", "mss_cache", "snd_cwnd_cnt", "snd_cwnd_clamp"];
        let others = ["snd_ssthresh", "prior_cwnd", "max_packets_out"];
        let mut members = vec![
            ("inet_conn", connection, 0, 0),
            ("snd_cwnd", window, 8 * 1000, 0),
            ("is_cwnd_limited", byte, 8 * 1201 + 3, 1),
        ];
        let places = (0..).map(|nth| 8 * (1020 + 4 * nth));
        members.extend(words.iter().chain(&others).zip(places).map(|(of, at)| (*of, word, at, 0)));
        self.structure("tcp_sock", 2000, &members);
        let sample = ["pkts_acked", "rtt_us", "in_flight"];
        let sample: Vec<_> =
            sample.iter().zip(1..).map(|(of, nth)| (*of, word, 32 * nth, 0)).collect();
        self.structure("ack_sample", 64, &sample);
    }

    /// With `struct tcp_congestion_ops` of these callbacks, `cong_control` with so many arguments.
    fn operations(&mut self, callbacks: &[&str], control: usize) {
        let (word, bytes) = (self.word, self.bytes);
        let mut members = vec![("name", bytes, 64, 0), ("flags", word, 0, 0)];
        for (nth, name) in (16..).zip(callbacks) {
            let arguments = if *name == "cong_control" { control } else { 1 };
            let function = self.types.add("", Kind::Prototype { returns: word, arguments });
            let pointer = self.types.add("", Kind::Pointer(function));
            members.push((*name, pointer, 64 * nth, 0));
        }
        let of = self.structure(OPERATIONS, 512, &members);
        self.structure(VALUE, 576, &[("data", of, 512, 0)]);
    }

    fn functions(&mut self, names: &[&str]) {
        names.iter().for_each(|name| {
            self.types.add(name, Kind::Function(0));
        });
    }

    fn kernel(self) -> Kernel<'static> {
        Kernel { types: self.types, hz: 250, version: (6, 18) }
    }
}

const CALLBACKS: [&str; 6] =
    ["init", "ssthresh", "undo_cwnd", "set_state", "pkts_acked", "cong_avoid"];
const FUNCTIONS: [&str; 2] = ["tcp_slow_start", "tcp_cong_avoid_ai"];

fn whole() -> Kernel<'static> {
    let mut made = Made::new();
    made.socket(made.word);
    made.operations(&CALLBACKS, 4);
    made.functions(&FUNCTIONS);
    made.kernel()
}

fn halve() -> Candidate<'static> {
    Candidate::read(forebay_bpf::HALVE).expect("it is an object")
}

fn program<'a>(of: &'a Deployment, callback: &str) -> &'a DeployedProgram {
    of.programs.iter().find(|of| of.callback == callback).expect("it has this callback")
}

/// Loads from memory: opcode and offset.
fn loads(of: &DeployedProgram) -> Vec<(u8, i16)> {
    let all = of.code.iter().map(|word| raw(*word)).filter(|of| of.class() == LDX);
    all.map(|of| (of.code, of.off)).collect()
}

#[test]
fn fields_are_where_the_kernel_has_them() {
    let of = halve().deploy(&whole()).expect("this kernel has all");
    assert_eq!((of.name.as_str(), of.license.as_str()), ("forebay_halve", "Dual MIT/GPL"));
    assert_eq!(of.lacks, Vec::<String>::new());
    // The argument's first word is the socket; then 4 bytes at 1000, which is `snd_cwnd`.
    assert!(loads(program(&of, "ssthresh")).starts_with(&[(0x79, 0), (0x61, 1000)]));
    assert!(loads(program(&of, "undo_cwnd")).contains(&(0x61, 1020 + 4 * 6)), "prior_cwnd");
    assert!(loads(program(&of, "cong_avoid")).contains(&(0x71, 1201)), "the byte of a bit field");
}

#[test]
fn a_field_of_another_size_is_loaded_in_that_size() {
    let mut made = Made::new();
    made.socket(made.long);
    made.operations(&CALLBACKS, 4);
    made.functions(&FUNCTIONS);
    let of = halve().deploy(&made.kernel()).expect("this kernel has all");
    assert!(loads(program(&of, "ssthresh")).starts_with(&[(0x79, 0), (0x79, 1000)]));
}

/// Byte 72: behind 64 bytes of the kernel's, and the structure's own.
#[test]
fn name_flags_and_members_are_where_the_kernel_has_them() {
    let of = halve().deploy(&whole()).expect("this kernel has all");
    assert_eq!(of.value.len(), 576);
    assert_eq!(of.value[64..68], [2, 0, 0, 0], "TCP_CONG_NEEDS_ECN");
    assert_eq!(of.value[72..86], *b"forebay_halve\0");
    let places: Vec<_> = of.programs.iter().map(|of| (of.callback, of.member, of.at)).collect();
    let at = |nth: usize| 64 + 8 * (16 + nth);
    let wanted = [("ssthresh", 3, at(1)), ("cong_avoid", 7, at(5)), ("undo_cwnd", 4, at(2))];
    assert_eq!(places, wanted);
}

#[test]
fn kernel_functions_are_called_by_their_number() {
    let kernel = whole();
    let of = halve().deploy(&kernel).expect("this kernel has all");
    let calls = program(&of, "cong_avoid").code.iter().map(|word| raw(*word));
    let calls: Vec<_> = calls.filter(|of| of.is_call()).map(|of| (of.src, of.imm)).collect();
    let number = |name: &str| kernel.types.function(name).expect("it is there").cast_signed();
    assert_eq!(calls, FUNCTIONS.map(|name| (2, number(name))));
}

#[test]
fn parameters_are_in_the_map_of_constants() {
    let mut candidate = halve();
    candidate.set("keep", " 700 ").expect("it is a number");
    let of = candidate.deploy(&whole()).expect("this kernel has all");
    let [map] = &of.maps[..] else { panic!("one map: {:?}", of.maps) };
    assert_eq!((map.name.as_str(), map.kind, map.entries), (".rodata", 2, 1));
    assert!(map.constant && map.flags == 128, "programs may only read it");
    assert_eq!(map.contents.as_deref(), Some(&700u32.to_le_bytes()[..]));
    let ssthresh = program(&of, "ssthresh");
    let [(at, 0)] = ssthresh.maps[..] else { panic!("named once: {:?}", ssthresh.maps) };
    assert_eq!((raw(ssthresh.code[at]).src, raw(ssthresh.code[at + 1]).imm), (2, 0));
}

#[test]
fn each_wrong_parameter_has_a_sentence() {
    let mut candidate = halve();
    let mut said =
        |name: &str, text: &str| candidate.set(name, text).expect_err("it is wrong").to_string();
    assert_eq!(said("keep", "-1"), "keep: \"-1\" is not a whole number of 32 bits");
    assert_eq!(said("hz", "100"), "hz: the object has no such parameter; it has ops, keep");
    assert_eq!(
        said("ops", "dctcp"),
        "ops: \"dctcp\" is no congestion control of the object; write \"halve\""
    );
}

#[test]
fn what_the_kernel_lacks_is_named_with_its_line() {
    let mut made = Made::new();
    made.socket(made.word);
    made.operations(&["ssthresh", "undo_cwnd"], 4);
    made.functions(&["tcp_slow_start"]);
    let why = halve().deploy(&made.kernel()).expect_err("it lacks two things");
    assert_eq!(why.to_string(), "this kernel lacks the callback cong_avoid");
    let mut made = Made::new();
    made.socket(made.word);
    made.operations(&CALLBACKS, 4);
    let why = halve().deploy(&made.kernel()).expect_err("it lacks both functions");
    let wanted = "this kernel lacks the function tcp_cong_avoid_ai (halve.bpf.c:30), the function tcp_slow_start (halve.bpf.c:28)";
    assert_eq!(why.to_string(), wanted);
    let why = halve().deploy(&Made::new().kernel()).expect_err("it has no operations");
    assert!(why.to_string().ends_with("its types have no struct tcp_congestion_ops"), "{why}");
}

#[test]
fn a_missing_field_becomes_an_instruction_that_the_verifier_refuses() {
    let mut made = Made::new();
    made.structure("tcp_sock", 100, &[]);
    made.operations(&CALLBACKS, 4);
    made.functions(&FUNCTIONS);
    let of = halve().deploy(&made.kernel()).expect("the verifier judges");
    assert!(of.lacks.contains(&"tcp_sock.snd_cwnd (halve.bpf.c:12)".into()), "{:?}", of.lacks);
    let code = &program(&of, "ssthresh").code;
    let at = code.iter().position(|word| raw(*word).imm == POISON).expect("one is poisoned");
    assert!(raw(code[at]).is_call() && raw(code[at]).src == 0);
    let source = program(&of, "ssthresh").source(at).expect("it has a line");
    assert!(source.starts_with("halve.bpf.c:12: return most("), "{source}");
}

/// The kernel refuses variables, sections and functions of other objects among types.
#[test]
fn types_for_the_kernel_have_no_variables_and_keep_their_numbers() {
    let of = halve().deploy(&whole()).expect("this kernel has all");
    let own = Elf::read(forebay_bpf::HALVE).expect("an object");
    let own = Btf::read(own.section(".BTF").expect("it has types").data).expect("whole");
    let types = Btf::read(&of.types).expect("whole");
    assert_eq!(types.types().count(), own.types().count());
    let refused = |kind: &Kind| matches!(kind, Kind::Variable(_) | Kind::Section(_));
    assert!(own.types().any(|(_, of)| refused(&of.kind)));
    assert!(!types.types().any(|(_, of)| refused(&of.kind)));
    assert_eq!(
        (own.function("tcp_slow_start").is_some(), types.function("tcp_slow_start")),
        (true, None)
    );
    assert_eq!(types.structure("tcp_sock"), own.structure("tcp_sock"));
    for program in &of.programs {
        let [[0, function]] = program.functions[..] else { panic!("{:?}", program.functions) };
        assert_eq!(types.name(function), program.name);
    }
}

/// Functions that a callback calls are behind it, and each call leads to its first instruction.
#[test]
fn called_functions_are_linked_behind_their_callers() {
    let kernel = whole();
    for bytes in [forebay_bpf::NV, forebay_bpf::CUBIC, forebay_bpf::DCTCP, forebay_bpf::RENO] {
        let candidate = Candidate::read(bytes).expect("an object of ours");
        let Ok(of) = candidate.deploy(&kernel) else { continue };
        for program in &of.programs {
            let starts: Vec<_> = program.functions.iter().map(|[at, _]| *at as usize).collect();
            let mut called = vec![0];
            for (at, word) in program.code.iter().enumerate() {
                let of = raw(*word);
                if of.is_call() && of.src == 1 {
                    called.push((at as i64 + 1 + i64::from(of.imm)) as usize);
                }
            }
            called.sort_unstable();
            called.dedup();
            assert_eq!(called, starts, "{}", program.name);
        }
    }
}

/// Objects with wrong bytes, and cut ones, give a sentence or a deployment.
#[test]
fn a_damaged_object_is_refused_or_deployed_without_harm() {
    let kernel = whole();
    let (mut state, mut deployed) = (1u64, 0);
    for bytes in [forebay_bpf::HALVE, forebay_bpf::NV] {
        for nth in 0..2_000 {
            let mut of = bytes.to_vec();
            for _ in 0..1 + nth % 3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (state >> 33) as usize % of.len();
                of[at] = (state >> 25) as u8;
            }
            if nth % 50 == 0 {
                of.truncate(nth * of.len() / 2_000);
            }
            let Ok(candidate) = Candidate::read(&of) else { continue };
            deployed += usize::from(candidate.deploy(&kernel).is_ok());
        }
    }
    assert!(deployed > 1_000, "most wrong bytes are in code and names: {deployed}");
}
