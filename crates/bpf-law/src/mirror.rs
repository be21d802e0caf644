//! The kernel that programs find here: one table of structures, which gives the type information, the layout and the table of the docs.
//!
//! A socket's fields are the words of [`Sock`], in the order of [`FIELDS`]. So a field begins at eight times its place, in whatever
//! structure the kernel has it, and an access needs no copy.
//!
//! Source: Linux `include/net/sock.h`, `inet_connection_sock.h`, `include/linux/tcp.h`, `include/net/tcp.h` for names and types.

use crate::btf::{Btf, Kind};
use forebay_laws::kernel::{AckSample, CA_PRIV_WORDS, FIELDS, RateSample, WORDS};

/// Structures of a socket, each with the one that begins it, and the fields that are its own.
const SOCKET: [(&str, &str, &[&str]); 5] = [
    ("sock_common", "", &["skc_num", "skc_dport", "skc_family", "skc_state"]),
    (
        "sock",
        "__sk_common",
        &[
            "sk_pacing_rate",
            "sk_max_pacing_rate",
            "sk_pacing_status",
            "sk_gso_max_size",
            "sk_pacing_shift",
        ],
    ),
    ("inet_sock", "sk", &[]),
    (
        "inet_connection_sock",
        "icsk_inet",
        &["icsk_ca_state", "icsk_retransmits", "icsk_rto", "pending"],
    ),
    ("tcp_sock", "inet_conn", &[]), // all others
];

/// Fields that are part of a byte in the kernel, and their bits.
const BIT_FIELDS: [(&str, u32); 3] =
    [("is_cwnd_limited", 1), ("icsk_ca_state", 5), ("rate_app_limited", 1)];

/// A field of a sample: name, bytes, sign.
type SampleField = (&'static str, u32, bool);

/// Fields of `struct ack_sample`, in the order of [`ack_words`].
const ACK_SAMPLE: [SampleField; 3] =
    [("pkts_acked", 4, false), ("rtt_us", 4, true), ("in_flight", 4, false)];

/// Fields of `struct rate_sample`, in the order of [`rate_words`].
const RATE_SAMPLE: [SampleField; 16] = [
    ("prior_mstamp", 8, false),
    ("prior_delivered", 4, false),
    ("prior_delivered_ce", 4, false),
    ("delivered", 4, true),
    ("delivered_ce", 4, true),
    ("interval_us", 8, true),
    ("snd_interval_us", 4, false),
    ("rcv_interval_us", 4, false),
    ("rtt_us", 8, true),
    ("losses", 4, true),
    ("acked_sacked", 4, false),
    ("prior_in_flight", 4, false),
    ("last_end_seq", 4, false),
    ("is_app_limited", 1, false),
    ("is_retrans", 1, false),
    ("is_ack_delayed", 1, false),
];

/// Words of the longest sample.
pub(crate) const SAMPLE_WORDS: usize = RATE_SAMPLE.len();

/// Words of an `ack_sample`.
pub(crate) fn ack_words(of: &AckSample) -> [u64; ACK_SAMPLE.len()] {
    [of.pkts_acked.into(), of.rtt_us as u32 as u64, of.in_flight.into()]
}

/// Words of a `rate_sample`.
pub(crate) fn rate_words(of: &RateSample) -> [u64; SAMPLE_WORDS] {
    [
        of.prior_mstamp,
        of.prior_delivered.into(),
        of.prior_delivered_ce.into(),
        of.delivered as u32 as u64,
        of.delivered_ce as u32 as u64,
        of.interval_us as u64,
        of.snd_interval_us.into(),
        of.rcv_interval_us.into(),
        of.rtt_us as u64,
        of.losses as u32 as u64,
        of.acked_sacked.into(),
        of.prior_in_flight.into(),
        of.last_end_seq.into(),
        of.is_app_limited.into(),
        of.is_retrans.into(),
        of.is_ack_delayed.into(),
    ]
}

/// Enumerations that programs name values of.
const ENUMS: [(&str, &[(&str, u64)]); 4] = [
    (
        "tcp_ca_state",
        &[
            ("TCP_CA_Open", 0),
            ("TCP_CA_Disorder", 1),
            ("TCP_CA_CWR", 2),
            ("TCP_CA_Recovery", 3),
            ("TCP_CA_Loss", 4),
        ],
    ),
    (
        "tcp_ca_event",
        &[
            ("CA_EVENT_TX_START", 0),
            ("CA_EVENT_CWND_RESTART", 1),
            ("CA_EVENT_COMPLETE_CWR", 2),
            ("CA_EVENT_LOSS", 3),
            ("CA_EVENT_ECN_NO_CE", 4),
            ("CA_EVENT_ECN_IS_CE", 5),
        ],
    ),
    (
        "tcp_ca_ack_event_flags",
        &[("CA_ACK_SLOWPATH", 1), ("CA_ACK_WIN_UPDATE", 2), ("CA_ACK_ECE", 4)],
    ),
    ("sk_pacing", &[("SK_PACING_NONE", 0), ("SK_PACING_NEEDED", 1), ("SK_PACING_FQ", 2)]),
];

/// Which structure has a field of the socket.
fn owner(field: &str) -> usize {
    let named = |(_, _, fields): &(_, _, &[&str])| fields.contains(&field);
    SOCKET.iter().position(named).unwrap_or(SOCKET.len() - 1)
}

/// The field of a socket that these bytes belong to, if they are in one word: its name, whether it may be written, and its bytes.
pub(crate) fn field_at(at: u64) -> (&'static str, bool, u64) {
    match FIELDS.get((at / 8) as usize) {
        Some(of) => (of.name, of.writable, of.bytes.into()),
        None => ("icsk_ca_priv", true, 8 * CA_PRIV_WORDS as u64),
    }
}

/// A row of the table of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Structure in the kernel.
    pub of: &'static str,
    /// Name there.
    pub name: String,
    /// Whether a program may write it.
    pub writable: bool,
    /// Unit, and when it changes.
    pub about: &'static str,
}

/// Every field of the socket and of the samples.
pub fn rows() -> Vec<Row> {
    let socket = FIELDS.iter().map(|of| Row {
        of: SOCKET[owner(of.name)].0,
        name: match of.name {
            "pending" => "icsk_ack.pending".into(),
            "rtt_min" => "rtt_min.s[0].v".into(),
            name => name.into(),
        },
        writable: of.writable,
        about: of.about,
    });
    let private = Row {
        of: "inet_connection_sock",
        name: "icsk_ca_priv".into(),
        writable: true,
        about: "Private area of the module, 104 bytes; zero at the start.",
    };
    let sample = |of, fields: &'static [SampleField]| {
        let row = move |(name, ..): &SampleField| Row {
            of,
            name: (*name).into(),
            writable: false,
            about: "Of the ACK that the callback is about.",
        };
        fields.iter().map(row)
    };
    let samples = sample("ack_sample", &ACK_SAMPLE).chain(sample("rate_sample", &RATE_SAMPLE));
    socket.chain([private]).chain(samples).collect()
}

/// The types of the simulator's kernel.
pub(crate) fn types() -> Btf<'static> {
    let mut btf = Btf::empty();
    let mut int = |name: &str, size, signed| btf.add(name, Kind::Int { size, signed });
    let (u8, u16, u32, u64) = (
        int("unsigned char", 1, false),
        int("unsigned short", 2, false),
        int("unsigned int", 4, false),
        int("unsigned long", 8, false),
    );
    let (i32, i64) = (int("int", 4, true), int("long", 8, true));
    let number = |bytes: u32, signed| match (bytes, signed) {
        (1, _) => u8,
        (2, _) => u16,
        (4, false) => u32,
        (4, true) => i32,
        (_, false) => u64,
        (_, true) => i64,
    };
    let size = 8 * WORDS as u32;
    let v = btf.member("v", u32, 0, 0);
    let record = |size, members| Kind::Record { union: false, size, members };
    let sample = btf.add("minmax_sample", record(8, vec![v]));
    let samples = btf.add("", Kind::Array { element: sample, count: 1 });
    let s = btf.member("s", samples, 0, 0);
    let minmax = btf.add("minmax", record(8, vec![s]));
    let pending = btf.member("pending", u8, 0, 0);
    let ack = btf.add("", record(8, vec![pending]));
    let private = btf.add("", Kind::Array { element: u64, count: CA_PRIV_WORDS as u32 });
    let mut before = 0;
    for (nth, (name, first, _)) in SOCKET.iter().enumerate() {
        let mut members = Vec::new();
        if !first.is_empty() {
            members.push(btf.member(first, before, 0, 0));
        }
        for (place, of) in FIELDS.iter().enumerate().filter(|(_, of)| owner(of.name) == nth) {
            let bit = 64 * place as u32;
            let bits = BIT_FIELDS.iter().find(|(name, _)| *name == of.name).map_or(0, |of| of.1);
            members.push(match of.name {
                "pending" => btf.member("icsk_ack", ack, bit, 0),
                "rtt_min" => btf.member("rtt_min", minmax, bit, 0),
                name => btf.member(name, number(of.bytes.into(), false), bit, bits),
            });
        }
        if *name == "inet_connection_sock" {
            members.push(btf.member("icsk_ca_priv", private, 64 * FIELDS.len() as u32, 0));
        }
        before = btf.add(name, record(size, members));
    }
    for (name, fields) in [("ack_sample", &ACK_SAMPLE[..]), ("rate_sample", &RATE_SAMPLE)] {
        let member = |(nth, (name, bytes, signed)): (usize, &SampleField)| {
            btf.member(name, number(*bytes, *signed), 64 * nth as u32, 0)
        };
        let members = fields.iter().enumerate().map(member).collect();
        btf.add(name, record(8 * fields.len() as u32, members));
    }
    for (name, values) in ENUMS {
        let values = values.iter().map(|(name, value)| (btf.add_name(name), *value)).collect();
        btf.add(name, Kind::Enum { size: 4, values });
    }
    btf
}
