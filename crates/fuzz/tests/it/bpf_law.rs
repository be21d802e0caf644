//! Object files after edits: no panic, one sentence each, and what loads runs within its limits.
//!
//! `FOREBAY_OBJECTS=100000 cargo test --release -p forebay-fuzz changed_objects` tries so many.

use bolero::TypeGenerator;
use forebay_bpf_law::Object;
use forebay_bpf_law::elf::{Elf, Section};
use forebay_fuzz::{each, is_a_sentence};
use forebay_laws::kernel::{AckSample, Event, Module, OwnSock, Program, RateSample};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const OBJECTS: [&[u8]; 6] = [
    forebay_bpf::NV,
    forebay_bpf::RENO,
    forebay_bpf::CUBIC,
    forebay_bpf::DCTCP,
    include_bytes!("../../../bpf/obj/parts.bpf.o"),
    include_bytes!("../../../bpf/obj/wrong.bpf.o"),
];

/// Where an object is changed.
#[derive(Clone, Copy, Debug, TypeGenerator)]
enum Place {
    /// An instruction: most such objects load.
    Code { at: u16, bits: u8 },
    /// A byte anywhere.
    Anywhere { at: u32, to: u8 },
    /// A number of four bytes anywhere, which limits are about.
    Number { at: u32, to: Number },
    /// A number of the types, by which fields are placed and maps are made.
    Types { at: u16, to: Number },
    /// The end of the file, in one of eight cases.
    End { at: u32, eighth: u8 },
}

#[derive(Clone, Copy, Debug, TypeGenerator)]
enum Number {
    Zero,
    All,
    Half,
    Many,
    Any(u32),
}

#[derive(Clone, Copy, Debug, TypeGenerator)]
struct Changed {
    object: u8,
    first: Place,
    others: [Option<Place>; 2],
}

/// Bytes of a section: from, length.
fn extent(bytes: &[u8], section: &Section<'_>) -> (usize, usize) {
    (section.data.as_ptr().addr() - bytes.as_ptr().addr(), section.data.len())
}

/// Bytes of the largest section of code, and of the types.
fn extents(bytes: &[u8]) -> [(usize, usize); 2] {
    let elf = Elf::read(bytes).expect("an object of ours");
    let code = elf.sections.iter().filter(|of| of.code).max_by_key(|of| of.data.len());
    let types = elf.section(".BTF").expect("it has types");
    [code.expect("it has code"), types].map(|of| extent(bytes, of))
}

impl Number {
    fn get(self) -> u32 {
        match self {
            Self::Zero => 0,
            Self::All => u32::MAX,
            Self::Half => 0x7fff_ffff,
            Self::Many => 1 << 20,
            Self::Any(to) => to,
        }
    }
}

impl Changed {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = OBJECTS[usize::from(self.object) % OBJECTS.len()].to_vec();
        let [(from, len), types] = extents(&bytes);
        let mut end = None;
        for place in std::iter::once(&self.first).chain(self.others.iter().flatten()) {
            match *place {
                // Registers, offsets and immediates: operations stay, so that much of it can be run.
                Place::Code { at, bits } => {
                    let at = usize::from(at) % (len / 8) * 8;
                    bytes[from + at + 1 + usize::from(bits % 7)] ^= 1 << (bits % 3);
                }
                Place::Anywhere { at, to } => {
                    let at = at as usize % bytes.len();
                    bytes[at] = to;
                }
                Place::Number { at, to } => {
                    let at = at as usize % (bytes.len() - 4);
                    bytes[at..at + 4].copy_from_slice(&to.get().to_le_bytes());
                }
                Place::Types { at, to } => {
                    let at = types.0 + usize::from(at) % (types.1 / 4) * 4;
                    bytes[at..at + 4].copy_from_slice(&to.get().to_le_bytes());
                }
                Place::End { at, eighth } if eighth < 32 => end = Some(at),
                Place::End { .. } => {}
            }
        }
        if let Some(end) = end {
            bytes.truncate(end as usize % bytes.len());
        }
        bytes
    }
}

/// Calls every callback once; what ends the run says so in a sentence.
fn run(law: &dyn Program) {
    let mut module = law.on_host().flow(7);
    let mut sk = OwnSock::default();
    sk.set_snd_cwnd(10);
    sk.set_snd_cwnd_clamp(u32::MAX);
    sk.set_snd_ssthresh(20);
    sk.set_mss_cache(1000);
    sk.set_is_cwnd_limited(1);
    sk.set_tcp_clock_cache(100_000_000_000);
    let sample = AckSample { pkts_acked: 2, rtt_us: 100, in_flight: 5_000 };
    let ops = law.ops();
    type Call =
        fn(&mut dyn Module, &mut OwnSock, &AckSample) -> Result<(), forebay_laws::kernel::Fault>;
    let calls: [(bool, Call); 9] = [
        (ops.init, |m, sk, _| m.init(sk)),
        (ops.pkts_acked, |m, sk, sample| m.pkts_acked(sk, sample)),
        (ops.in_ack_event, |m, sk, _| m.in_ack_event(sk, 4)),
        (ops.cong_avoid, |m, sk, _| m.cong_avoid(sk, 1, 3)),
        (true, |m, sk, _| m.ssthresh(sk).map(drop)),
        (ops.cwnd_event, |m, sk, _| m.cwnd_event(sk, Event::Loss)),
        (ops.set_state, |m, sk, _| m.set_state(sk, 4)),
        (true, |m, sk, _| m.undo_cwnd(sk).map(drop)),
        (ops.cong_control, |m, sk, _| m.cong_control(sk, 1, 0, &RateSample::default())),
    ];
    for (_, call) in calls.into_iter().filter(|(there, _)| *there) {
        if let Err(fault) = call(&mut *module, &mut sk, &sample) {
            assert!(is_a_sentence(&fault.to_string()), "{fault}");
        }
    }
}

#[test]
fn changed_objects_load_or_are_refused_with_a_sentence() {
    let cases = std::env::var("FOREBAY_OBJECTS").map_or(600, |of| of.parse().expect("a number"));
    let (tried, loaded) = (AtomicUsize::new(0), AtomicUsize::new(0));
    each!(cases, Changed, |changed| {
        tried.fetch_add(1, Relaxed);
        let read = Object::read(&changed.bytes()).and_then(|object| {
            assert!(object.report().to_string().len() < 1 << 20);
            object.law("bpf:x.bpf.o")
        });
        match read {
            Ok(law) => {
                loaded.fetch_add(1, Relaxed);
                run(&law);
            }
            Err(error) => assert!(is_a_sentence(&error.to_string()), "{error}"),
        }
    });
    let (tried, loaded) = (tried.into_inner(), loaded.into_inner());
    println!("{loaded} of {tried} get past the loader");
    assert!(tried < 100 || 3 * loaded >= tried, "{loaded} of {tried} get past the loader");
}

/// An object with tables that a person would not write, of up to 8 MB.
struct Bomb {
    bytes: Vec<u8>,
    headers: Vec<[u8; 64]>,
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("four bytes")) as usize
}

impl Bomb {
    fn of(object: &[u8]) -> Self {
        let (at, count) = (word(object, 40), word(object, 60) & 0xffff);
        let headers = object[at..at + 64 * count].as_chunks().0.to_vec();
        Self { bytes: object.to_vec(), headers }
    }

    /// The first section of this type, 1 to 11; its place.
    fn find(&self, kind: usize, bytes: impl Fn(&[u8]) -> bool) -> usize {
        let found = |of: &[u8; 64]| word(of, 4) == kind && bytes(self.data(of));
        self.headers.iter().position(found).expect("there is one")
    }

    fn data(&self, header: &[u8; 64]) -> &[u8] {
        &self.bytes[word(header, 24)..][..word(header, 32)]
    }

    /// Other contents of a section.
    fn put(&mut self, nth: usize, data: &[u8]) {
        let at = self.bytes.len() as u64;
        self.headers[nth][24..32].copy_from_slice(&at.to_le_bytes());
        self.headers[nth][32..40].copy_from_slice(&(data.len() as u64).to_le_bytes());
        self.bytes.extend(data);
    }

    fn bytes(mut self) -> Vec<u8> {
        let at = self.bytes.len() as u64;
        self.bytes[40..48].copy_from_slice(&at.to_le_bytes());
        self.bytes[60..62].copy_from_slice(&(self.headers.len() as u16).to_le_bytes());
        self.bytes.extend(self.headers.as_flattened());
        assert!(self.bytes.len() <= 8 << 20);
        self.bytes
    }
}

/// The refusal, or nothing. A bomb that goes off takes hours.
fn defused(bytes: &[u8]) -> String {
    let read = Object::read(bytes).and_then(|object| object.law("bpf:x.bpf.o"));
    read.err().map_or(String::new(), |error| error.to_string())
}

const REL: usize = 9;

#[test]
fn large_objects_that_repeat_themselves_are_refused() {
    let reno = || Bomb::of(forebay_bpf::RENO);
    assert_eq!(defused(&reno().bytes()), "", "the tool itself breaks nothing");
    // Relocations of code (a call is of type 10), 400,000 times the same one.
    let calls = |data: &[u8]| data.len() >= 16 && word(data, 8) == 10;
    let mut bomb = reno();
    let nth = bomb.find(REL, calls);
    let row = bomb.data(&bomb.headers[nth])[..16].to_vec();
    bomb.put(nth, &row.repeat(400_000));
    assert_eq!(defused(&bomb.bytes()), "the object has two relocations of one instruction");
    // The same table in many sections.
    let mut bomb = reno();
    let nth = bomb.find(REL, calls);
    bomb.put(nth, &row.repeat(60_000));
    let table = bomb.headers[nth];
    bomb.headers.extend(vec![table; 100]);
    assert_eq!(defused(&bomb.bytes()), "the object is cut or damaged");
    // Functions of a congestion control, 400,000 times the same one.
    let functions = |data: &[u8]| data.len() >= 16 && word(data, 8) == 2;
    let mut bomb = reno();
    let nth = bomb.find(REL, functions);
    let row = bomb.data(&bomb.headers[nth])[..16].to_vec();
    bomb.put(nth, &row.repeat(400_000));
    assert_eq!(defused(&bomb.bytes()), ".struct_ops.link has more than 16384 functions");
    // Variables of 512 bytes, 200,000 times the same name.
    let mut bomb = reno();
    let nth =
        bomb.find(1, |data| data.len() >= 24 && data[..2] == [0x9f, 0xeb] && word(data, 4) == 24);
    let variable = [1, 14 << 24, 1, 0].map(u32::to_le_bytes).as_flattened().repeat(200_000);
    let header = [0x1_eb9f, 24, 0, variable.len() as u32, variable.len() as u32, 600];
    let mut types = header.map(u32::to_le_bytes).as_flattened().to_vec();
    types.extend(variable);
    types.extend([0].into_iter().chain(std::iter::repeat_n(b'v', 510)).chain([0; 89]));
    bomb.put(nth, &types);
    assert_eq!(defused(&bomb.bytes()), "the type information has more than 65536 variables");
    // Lines of other code, and records about nothing.
    let extra = |data: &[u8]| data.len() >= 32 && data[..2] == [0x9f, 0xeb] && word(data, 4) == 32;
    for (record, refusal) in [
        (vec![0; 8], "the type information (.BTF.ext) is cut or damaged"),
        ([0, 1, 0, 0, 0, 0].map(u32::to_le_bytes).as_flattened().to_vec(), ""),
    ] {
        let mut bomb = reno();
        let nth = bomb.find(1, extra);
        let records = record.repeat(7_000_000 / record.len());
        let mut data = bomb.data(&bomb.headers[nth])[..32].to_vec();
        let size = 4 + records.len() as u32;
        data[8..16].fill(0); // no functions
        data[16..24].copy_from_slice([0, size].map(u32::to_le_bytes).as_flattened());
        data[24..32].copy_from_slice([size, 0].map(u32::to_le_bytes).as_flattened());
        data.extend(16u32.to_le_bytes());
        data.extend(records);
        bomb.put(nth, &data);
        assert_eq!(defused(&bomb.bytes()), refusal);
    }
}

#[test]
fn a_cut_object_is_read_without_harm() {
    for object in OBJECTS {
        for cut in (0..object.len()).step_by(61) {
            if let Err(error) = Object::read(&object[..cut]) {
                assert!(is_a_sentence(&error.to_string()), "{error}");
            }
        }
    }
}
