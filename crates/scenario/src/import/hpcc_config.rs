//! `config.txt` of the public HPCC simulator: which key becomes what.
//!
//! Source: `simulation/scratch/third.cc` (keys and what they set), `mix/config_doc.txt` (their meaning), `switch-mmu.cc`,
//! `rdma-hw.cc`, `custom-header.cc` (sizes and defaults); for keys of forks, the same files of conweave-project/conweave-ns3,
//! kaist-ina/ns3-tlt-rdma-public, aliyun/SimAI, netiken/m3 and bobzhuyb/ns3-rdma.
//!
//! To carry over another key, change its row in [`KEYS`], or add one to [`PARAMS`] where it is a parameter of a law.

use super::draft::Draft;
use super::hpcc_forks::{FlowForm, Header};
use super::words::{LONGEST, Words, microseconds, rate, seconds};
use super::{Fate, Note, Source, Topology};
use crate::Error;
use crate::quantity::Measure;
use forebay_laws::flow::FlowParams;
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// What follows a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// So many words.
    Words(usize),
    /// A count, then so many pairs of rate and value.
    Map,
}

/// What becomes of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyTarget {
    /// A key that is read where settings are made. No other key is.
    Read,
    /// A parameter of laws ([`PARAMS`]).
    Law,
    /// A key that says where the source writes what forebay writes anyway.
    Output,
    /// The source reads it and uses it nowhere.
    Unused,
    /// A key without a counterpart: behaviour here is fixed, and is that of one of its values ([`FIXED`]).
    Fixed,
}

use KeyTarget::{Fixed, Law, Output, Read, Unused};
use Shape::{Map, Words as W};

#[rustfmt::skip]
const KEYS: &[(&str, Shape, KeyTarget)] = &[
    ("ENABLE_QCN", W(1), Read),
    ("USE_DYNAMIC_PFC_THRESHOLD", W(1), Unused),
    ("CLAMP_TARGET_RATE", W(1), Fixed),
    ("PAUSE_TIME", W(1), Unused),
    ("DATA_RATE", W(1), Unused),
    ("LINK_DELAY", W(1), Unused),
    ("PACKET_PAYLOAD_SIZE", W(1), Read),
    ("L2_CHUNK_SIZE", W(1), Fixed),
    ("L2_ACK_INTERVAL", W(1), Read),
    ("L2_BACK_TO_ZERO", W(1), Read),
    ("TOPOLOGY_FILE", W(1), Read),
    ("FLOW_FILE", W(1), Read),
    ("TRACE_FILE", W(1), Output),
    ("TRACE_OUTPUT_FILE", W(1), Output),
    ("FCT_OUTPUT_FILE", W(1), Output),
    ("PFC_OUTPUT_FILE", W(1), Output),
    ("QLEN_MON_FILE", W(1), Output),
    ("QLEN_MON_START", W(1), Output),
    ("QLEN_MON_END", W(1), Output),
    ("ENABLE_TRACE", W(1), Output),
    ("SIMULATOR_STOP_TIME", W(1), Read),
    ("CC_MODE", W(1), Read),
    ("ALPHA_RESUME_INTERVAL", W(1), Law),
    ("RATE_DECREASE_INTERVAL", W(1), Law),
    ("RP_TIMER", W(1), Law),
    ("EWMA_GAIN", W(1), Law),
    ("FAST_RECOVERY_TIMES", W(1), Law),
    ("RATE_AI", W(1), Law),
    ("RATE_HAI", W(1), Law),
    ("MIN_RATE", W(1), Law),
    ("DCTCP_RATE_AI", W(1), Law),
    ("ERROR_RATE_PER_LINK", W(1), Read),
    ("HAS_WIN", W(1), Read),
    ("GLOBAL_T", W(1), Read),
    ("VAR_WIN", W(1), Read),
    ("FAST_REACT", W(1), Fixed),
    ("U_TARGET", W(1), Law),
    ("MI_THRESH", W(1), Law),
    ("INT_MULTI", W(1), Read),
    ("MULTI_RATE", W(1), Fixed),
    ("SAMPLE_FEEDBACK", W(1), Fixed),
    ("PINT_LOG_BASE", W(1), Fixed),
    ("PINT_PROB", W(1), Fixed),
    ("RATE_BOUND", W(1), Fixed),
    ("ACK_HIGH_PRIO", W(1), Read),
    ("LINK_DOWN", W(3), Read),
    ("KMAX_MAP", Map, Read),
    ("KMIN_MAP", Map, Read),
    ("PMAX_MAP", Map, Read),
    ("BUFFER_SIZE", W(1), Read),
    // ConWeave, ns3-tlt-rdma, m3 and others
    ("ENABLE_PFC", W(1), Read),
    ("ENABLE_IRN", W(1), Read),
    ("IRN_NO_BDPFC", W(1), Read),
    ("LB_MODE", W(1), Read),
    ("CONWEAVE_TX_EXPIRY_TIME", W(1), Fixed),
    ("CONWEAVE_REPLY_TIMEOUT_EXTRA", W(1), Fixed),
    ("CONWEAVE_PATH_PAUSE_TIME", W(1), Fixed),
    ("CONWEAVE_EXTRA_VOQ_FLUSH_TIME", W(1), Fixed),
    ("CONWEAVE_DEFAULT_VOQ_WAITING_TIME", W(1), Fixed),
    ("FLOWGEN_START_TIME", W(1), Unused),
    ("FLOWGEN_STOP_TIME", W(1), Read),
    ("LOAD", W(1), Unused),
    ("RANDOM_SEED", W(1), Fixed),
    ("FLOW_INPUT_FILE", W(1), Output),
    ("CNP_OUTPUT_FILE", W(1), Output),
    ("VOQ_MON_FILE", W(1), Output),
    ("VOQ_MON_DETAIL_FILE", W(1), Output),
    ("UPLINK_MON_FILE", W(1), Output),
    ("CONN_MON_FILE", W(1), Output),
    ("EST_ERROR_MON_FILE", W(1), Output),
    ("SW_MONITORING_INTERVAL", W(1), Output),
    ("ENABLE_TLT", W(1), Fixed),
    ("TLT_MAXBYTES_UIP", W(1), Fixed),
    ("HPCC_WORKLOAD", W(1), Fixed),
    ("FOREGROUND_RATIO", W(1), Fixed),
    ("INCAST_FLOW_SIZE", W(1), Fixed),
    ("DCTCP_INCAST_SIZE", W(1), Fixed),
    ("NUM_BG_FLOWS", W(1), Fixed),
    ("TCP_FLOW_TOTAL", W(1), Fixed),
    ("FOREGROUND_INCAST_FLOW_PER_HOST", W(1), Fixed),
    // SimAI and astra-sim
    ("NIC_TOTAL_PAUSE_TIME", W(1), Unused),
    ("BW_MON_FILE", W(1), Output),
    ("RATE_MON_FILE", W(1), Output),
    ("CNP_MON_FILE", W(1), Output),
    ("MON_START", W(1), Output),
    ("MON_END", W(1), Output),
    ("QP_MON_INTERVAL", W(1), Output),
    ("QLEN_MON_INTERVAL", W(1), Output),
    ("BW_MON_INTERVAL", W(1), Output),
    // m3 and Parsimon
    ("TIMELY_T_HIGH", W(1), Law),
    ("TIMELY_T_LOW", W(1), Law),
    ("TIMELY_BETA", W(1), Law),
    ("FIXED_WIN", W(1), Read),
    ("BASE_RTT", W(1), Read),
    ("MAX_RATE", W(1), Read),
    ("MAX_INFLIGHT_FLOWS", W(1), Fixed),
    ("N_CLIENTS_PER_RACK_FOR_CLOSED_LOOP", W(1), Unused),
    ("FLOW_ON_PATH_FILE", W(1), Unused),
    ("FLOW_PATH_MAP_FILE", W(1), Unused),
    // ns3-rdma
    ("KMIN", W(1), Read),
    ("KMAX", W(1), Read),
    ("PMAX", W(1), Read),
    ("CNP_INTERVAL", W(1), Read),
    ("PACKET_LEVEL_ECMP", W(1), Read),
    ("FLOW_LEVEL_ECMP", W(1), Read),
    ("DCTCP_GAIN", W(1), Law),
    ("BYTE_COUNTER", W(1), Law),
    ("NP_SAMPLING_INTERVAL", W(1), Fixed),
    ("CLAMP_TARGET_RATE_AFTER_TIMER", W(1), Fixed),
    ("L2_WAIT_FOR_ACK", W(1), Fixed),
    ("L2_TEST_READ", W(1), Fixed),
    ("SEND_IN_CHUNKS", W(1), Fixed),
    ("TCP_FLOW_FILE", W(1), Fixed),
    ("APP_START_TIME", W(1), Fixed),
    ("APP_STOP_TIME", W(1), Fixed),
];

/// Keys that only ns3-rdma has, the oldest of the family: the sender of the DCQCN paper, marks in packets, fixed buffers.
const OLDEST: &[&str] = &["KMIN", "KMAX", "PMAX", "CNP_INTERVAL", "DCTCP_GAIN", "BYTE_COUNTER"];
/// Bytes of a packet in `KMIN` and `KMAX` (`broadcom-node.cc`).
const OLDEST_PACKET: f64 = 1030.0;
/// Buffer of a switch of ns3-rdma (`broadcom-node.cc`).
const OLDEST_BUFFER: &str = "9MB";
/// Buffer for each port where `BUFFER_SIZE` is 0 (`switch-mmu.cc` of ConWeave and ns3-tlt-rdma).
const BUFFER_PER_PORT: u64 = 375_000;
/// A run of ConWeave goes on so long after `FLOWGEN_STOP_TIME`.
const AFTER_FLOWS: Span = Span::from_secs(10);
/// `LB_MODE`s of ConWeave.
const BALANCERS: &[(u64, &str)] =
    &[(0, "ECMP by flow"), (2, "DRILL"), (3, "CONGA"), (6, "LetFlow"), (9, "ConWeave")];

/// Key of [`KeyTarget::Fixed`]; the modes in which the source uses it; the value that does there what is done here, if one does; and
/// what is done here.
///
/// Source: `rdma-hw.cc` (`cnp_received_mlx`, `HandleAckHp`, `UpdateRateHp`, `ReceiverCheckSeq`, `ChangeRate`), `int-header.h`.
#[rustfmt::skip]
const FIXED: &[(&str, &[u32], Option<&str>, &str)] = &[
    ("CLAMP_TARGET_RATE", &[1], Some("0"), "dcqcn with vendor timers takes the rate for its target once its timer has run since the last CNP"),
    ("L2_CHUNK_SIZE", ANY, None, "repairs begin with the first packet that is missing, and ACKs follow ack_every alone"),
    ("FAST_REACT", &[3], Some("1"), "hpcc reacts to every ACK"),
    ("MULTI_RATE", &[3], Some("0"), "hpcc has one rate, by the most loaded hop"),
    ("SAMPLE_FEEDBACK", &[3], Some("0"), "telemetry of every ACK counts"),
    ("PINT_LOG_BASE", &[10], None, "Forebay has no PINT"),
    ("PINT_PROB", &[10], None, "Forebay has no PINT"),
    ("RATE_BOUND", ANY, Some("1"), "packets leave at the rate of the law"),
    ("CONWEAVE_TX_EXPIRY_TIME", ANY, None, NO_CONWEAVE),
    ("CONWEAVE_REPLY_TIMEOUT_EXTRA", ANY, None, NO_CONWEAVE),
    ("CONWEAVE_PATH_PAUSE_TIME", ANY, None, NO_CONWEAVE),
    ("CONWEAVE_EXTRA_VOQ_FLUSH_TIME", ANY, None, NO_CONWEAVE),
    ("CONWEAVE_DEFAULT_VOQ_WAITING_TIME", ANY, None, NO_CONWEAVE),
    ("RANDOM_SEED", ANY, None, "random numbers are others; choose seeds with forebay run --seeds"),
    ("ENABLE_TLT", ANY, Some("0"), "Forebay has no TLT"),
    ("TLT_MAXBYTES_UIP", ANY, None, "Forebay has no TLT"),
    ("HPCC_WORKLOAD", ANY, None, OWN_FLOWS),
    ("FOREGROUND_RATIO", ANY, None, OWN_FLOWS),
    ("INCAST_FLOW_SIZE", ANY, None, OWN_FLOWS),
    ("DCTCP_INCAST_SIZE", ANY, None, OWN_FLOWS),
    ("NUM_BG_FLOWS", ANY, None, OWN_FLOWS),
    ("TCP_FLOW_TOTAL", ANY, None, OWN_FLOWS),
    ("FOREGROUND_INCAST_FLOW_PER_HOST", ANY, None, OWN_FLOWS),
    ("MAX_INFLIGHT_FLOWS", ANY, Some("0"), "every flow starts when it says, however many there are"),
    ("NP_SAMPLING_INTERVAL", ANY, Some("0"), "every marked packet may cause a CNP"),
    ("CLAMP_TARGET_RATE_AFTER_TIMER", ANY, None, "every cut takes the rate for its target"),
    ("L2_WAIT_FOR_ACK", ANY, Some("0"), "senders do not wait for the ACK of a chunk"),
    ("L2_TEST_READ", ANY, Some("0"), "Forebay has no RDMA reads"),
    ("SEND_IN_CHUNKS", ANY, Some("0"), "a flow is one message"),
    ("TCP_FLOW_FILE", ANY, None, "flows of TCP are not read"),
    ("APP_START_TIME", ANY, None, "flows start when they say"),
    ("APP_STOP_TIME", ANY, None, "flows go on until they are done or the run ends"),
];

const NO_CONWEAVE: &str = "Forebay has no ConWeave";
const OWN_FLOWS: &str = "the source draws flows of its own by this; here flows are those of the flow file (forebay import cdf reads sizes)";

/// Every `CC_MODE`.
const ANY: &[u32] = &[1, 3, 7, 8, 10];

/// Key of [`KeyTarget::Law`] and the modes in which the source uses it.
const USED: &[(&str, &[u32])] = &[
    ("ALPHA_RESUME_INTERVAL", &[1]),
    ("RATE_DECREASE_INTERVAL", &[1]),
    ("RP_TIMER", &[1]),
    ("EWMA_GAIN", &[1, 8]),
    ("FAST_RECOVERY_TIMES", &[1]),
    ("RATE_AI", &[1, 3, 7, 10]),
    ("RATE_HAI", &[1, 7]),
    ("MIN_RATE", &[1, 3, 7, 8, 10]),
    ("DCTCP_RATE_AI", &[8]),
    ("U_TARGET", &[3, 10]),
    ("MI_THRESH", &[3, 10]),
    ("TIMELY_T_HIGH", &[7]),
    ("TIMELY_T_LOW", &[7]),
    ("TIMELY_BETA", &[7]),
    ("DCTCP_GAIN", &[1]),
    ("BYTE_COUNTER", &[1]),
];

/// How the value of a key is written as a parameter.
#[derive(Clone, Copy)]
enum ValueForm {
    /// As it is.
    Plain,
    /// A number of microseconds.
    Us,
    /// A number of nanoseconds.
    Ns,
    /// A number of bytes.
    Size,
    /// A rate.
    Rate,
    /// A rate, as a whole number of times `RATE_AI`.
    TimesRateAi,
}

/// Key, law, its parameter, and how the value is written.
const PARAMS: &[(&str, &str, &str, ValueForm)] = &[
    ("ALPHA_RESUME_INTERVAL", "dcqcn", "alpha_timer", ValueForm::Us),
    ("RATE_DECREASE_INTERVAL", "dcqcn", "cut_interval", ValueForm::Us),
    ("RP_TIMER", "dcqcn", "increase_timer", ValueForm::Us),
    ("EWMA_GAIN", "dcqcn", "g", ValueForm::Plain),
    ("FAST_RECOVERY_TIMES", "dcqcn", "recovery_steps", ValueForm::Plain),
    ("RATE_AI", "dcqcn", "r_ai", ValueForm::Rate),
    ("RATE_HAI", "dcqcn", "r_hai", ValueForm::Rate),
    ("MIN_RATE", "dcqcn", "r_min", ValueForm::Rate),
    ("EWMA_GAIN", "dctcp-rate", "g", ValueForm::Plain),
    ("DCTCP_RATE_AI", "dctcp-rate", "r_ai", ValueForm::Rate),
    ("MIN_RATE", "dctcp-rate", "r_min", ValueForm::Rate),
    ("U_TARGET", "hpcc", "eta", ValueForm::Plain),
    ("MI_THRESH", "hpcc", "max_stage", ValueForm::Plain),
    ("MIN_RATE", "hpcc", "r_min", ValueForm::Rate),
    ("RATE_AI", "hpcc", "w_ai", ValueForm::Rate),
    ("MIN_RATE", "timely", "r_min", ValueForm::Rate),
    ("RATE_HAI", "timely", "hai_factor", ValueForm::TimesRateAi),
    ("RATE_AI", "timely", "delta", ValueForm::Rate),
    ("TIMELY_T_HIGH", "timely", "t_high", ValueForm::Ns),
    ("TIMELY_T_LOW", "timely", "t_low", ValueForm::Ns),
    ("TIMELY_BETA", "timely", "beta", ValueForm::Plain),
    ("DCTCP_GAIN", "dcqcn", "g", ValueForm::Plain),
    ("BYTE_COUNTER", "dcqcn", "byte_counter", ValueForm::Size),
];

/// `CC_MODE`, the law, and the bytes of telemetry that a data packet and its ACK carry (`IntHeader`: five hops of 8 B and a
/// count of 2 B, or a stamp of 8 B).
const MODES: &[(u32, &str, u64)] =
    &[(1, "dcqcn", 0), (3, "hpcc", 42), (7, "timely", 8), (8, "dctcp-rate", 0)];
/// HPCC with PINT, for which HPCC with all of its telemetry stands in.
const PINT: u32 = 10;

/// PPP 14 B, IPv4 20 B, UDP 8 B, sequence 4 B, priority group 2 B.
const HEADER: u64 = 48;
/// ACKs are padded to this (`rdma-hw.cc`), telemetry included.
const ACK: u64 = 60;
/// PPP, IPv4, and the 12 B of an ACK's own fields.
const ACK_FIELDS: u64 = 46;
/// Links go down so long after the time that `LINK_DOWN` says.
const LINK_DOWN_FROM: Span = Span::from_secs(2);

/// Settings of a config.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    header: Header,
    form: FlowForm,
    marks: bool,
    pause: bool,
    /// IRN, and whether without its bound on what is under way.
    irn: bool,
    irn_free: bool,
    balancer: u64,
    /// Bytes, and nanoseconds.
    fixed_window: Option<u64>,
    base_rtt: Option<u64>,
    max_rate: Option<BitsPerSec>,
    cnp_interval: Option<Span>,
    /// Whether each packet, or each flow, draws its path.
    ecmp: [Option<bool>; 2],
    /// KMIN, KMAX and PMAX of all ports.
    thresholds: [Option<f64>; 3],
    /// What `SIMULATOR_STOP_TIME` says, where a run cannot be so long.
    beyond: bool,
    /// The end of the run where that key is missing.
    flows_stop: Option<Time>,
    /// How many keys were known.
    known: usize,
    payload: u64,
    ack_interval: u64,
    stop: Option<Time>,
    mode: u32,
    error_rate: f64,
    window: bool,
    variable: bool,
    one_round_trip: bool,
    chunks: bool,
    ack_first: bool,
    down: Option<(Time, u32, u32, usize)>,
    buffer: u64,
    int_multi: u16,
    /// Values of keys of [`KeyTarget::Law`], with their lines.
    law: Vec<(&'static str, String, usize)>,
    /// Values of keys of [`KeyTarget::Fixed`], with their lines.
    fixed: Vec<(&'static str, String, usize)>,
    /// Keys that are there and that the source uses nowhere, or that name its output.
    unused: Vec<&'static str>,
    output: Vec<&'static str>,
    /// kmin and kmax in KB, and pmax, by rate.
    maps: [BTreeMap<u64, f64>; 3],
    files: [Option<String>; 2],
    file: String,
    /// Lines of the keys that were read.
    lines: BTreeMap<&'static str, usize>,
}

impl Settings {
    /// Whether the file is one of ns3-rdma.
    fn is_oldest(&self) -> bool {
        let has =
            |key: &&str| self.lines.contains_key(*key) || self.law.iter().any(|one| one.0 == *key);
        self.form == FlowForm::Dcqcn || OLDEST.iter().any(has)
    }

    /// Whether buffers are in KB and sizes have 64 bits, as in m3.
    fn is_m3(&self) -> bool {
        self.form == FlowForm::Numbered || self.lines.contains_key("FIXED_WIN")
    }

    /// Routing that is not that of the HPCC simulator, and why.
    pub fn routing(&self) -> Option<(&'static str, Fate, String)> {
        if !self.is_oldest() && self.ecmp == [None, None] {
            return None;
        }
        Some(match self.ecmp {
            [Some(true), _] => {
                ("spray", Fate::Carried, "PACKET_LEVEL_ECMP 1: routing = \"spray\"".into())
            }
            [_, Some(true)] => {
                let text = "FLOW_LEVEL_ECMP 1: routing = \"ecmp\"; the hash is another";
                ("ecmp", Fate::Changed, text.into())
            }
            _ => {
                let text = "no ECMP there, each flow takes the first path that was found; here routing = \"ecmp\"";
                ("ecmp", Fate::Changed, text.into())
            }
        })
    }

    /// Where a key stands; the file alone if it does not.
    fn at(&self, key: &str) -> String {
        match self.lines.get(key) {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        }
    }
}

/// A `config.txt`, read once.
#[derive(Clone, Debug)]
pub struct HpccConfig {
    settings: Settings,
    /// Keys that are not known, with their lines.
    notes: Vec<Note>,
}

impl HpccConfig {
    /// Reads one.
    ///
    /// # Errors
    /// One sentence with file and line.
    pub fn parse(source: Source<'_>) -> Result<Self, Error> {
        let mut notes = Vec::new();
        let settings = parse(&mut notes, source)?;
        Ok(Self { settings, notes })
    }

    /// Names of the files that it names: topology and flows.
    pub fn files(&self) -> [Option<&str>; 2] {
        self.settings.files.each_ref().map(Option::as_deref)
    }

    /// Name of the config itself.
    pub(super) fn name(&self) -> &str {
        &self.settings.file
    }

    /// Payload of a packet, if the config says it.
    pub(super) fn payload(&self) -> Option<u64> {
        let settings = &self.settings;
        settings.lines.contains_key("PACKET_PAYLOAD_SIZE").then_some(settings.payload)
    }
}

/// The settings for files of these forms: those of the config, or the defaults of the source.
pub(super) fn settings(
    draft: &mut Draft,
    config: Option<&HpccConfig>,
    (header, form): (Header, FlowForm),
) -> Settings {
    let settings = match config {
        None => Settings::of_source("config.txt"),
        Some(config) => {
            draft.notes.extend(config.notes.iter().cloned());
            config.settings.clone()
        }
    };
    Settings { header, form, ..settings }
}

impl Settings {
    /// The defaults of the source (`third.cc`), for a config of this name.
    fn of_source(file: &str) -> Self {
        Self {
            header: Header::Original,
            form: FlowForm::Hpcc,
            pause: true,
            irn: false,
            irn_free: false,
            balancer: 0,
            fixed_window: None,
            base_rtt: None,
            max_rate: None,
            cnp_interval: None,
            ecmp: [None; 2],
            thresholds: [None; 3],
            beyond: false,
            flows_stop: None,
            known: 0,
            marks: true,
            payload: 1000,
            ack_interval: 1,
            stop: None,
            mode: 1,
            error_rate: 0.0,
            window: true,
            variable: false,
            one_round_trip: true,
            chunks: false,
            ack_first: false,
            down: None,
            buffer: 16,
            int_multi: 1,
            law: Vec::new(),
            fixed: Vec::new(),
            unused: Vec::new(),
            output: Vec::new(),
            maps: Default::default(),
            files: [None, None],
            file: file.into(),
            lines: BTreeMap::new(),
        }
    }
}

fn parse(notes: &mut Vec<Note>, source: Source<'_>) -> Result<Settings, Error> {
    let mut s = Settings::of_source(source.name);
    let mut words = Words::of(source);
    let mut last_map = None;
    while let Some(word) = words.maybe() {
        let Some((key, shape, to)) = KEYS.iter().find(|(key, ..)| *key == word.text) else {
            // The source skips what it does not know, word by word; a line of it is noted once.
            let mut rest = String::from(word.text);
            while words.line() == Some(word.line) {
                rest.push(' ');
                rest.push_str(words.next("a value")?.text);
            }
            let rest = crate::tree::shorten(&rest);
            let text = match last_map {
                Some((map, line)) if line == word.line => {
                    format!(
                        "{map} promises fewer entries than follow; {rest:?} is not read, as there"
                    )
                }
                _ => format!("{rest:?} begins with an unknown key; it is not read, as there"),
            };
            notes.push(words.note(word.line, Fate::Left, text));
            continue;
        };
        let line = word.line;
        s.known += 1;
        let values = match shape {
            W(n) => {
                let value = |words: &mut Words<'_>| {
                    words.next(&format!("the value of {key}")).map(|word| word.text.to_string())
                };
                (0..*n).map(|_| value(&mut words)).collect::<Result<Vec<_>, _>>()?
            }
            Map => {
                map(&mut s, &mut words, key)?;
                s.lines.insert(key, line);
                last_map = Some((*key, line));
                continue;
            }
        };
        let said = format!("{key} {}", values.join(" "));
        match to {
            Read => {
                s.lines.insert(key, line);
                let wrong = |what: &str| words.wrong(line, format!("{said}: {what}"));
                s.set(key, &values, line).map_err(|what| wrong(&what))?;
            }
            Law => {
                s.law.retain(|(other, ..)| other != key); // the last one wins, as there
                s.law.push((key, values[0].clone(), line));
            }
            Fixed => {
                s.fixed.retain(|(other, ..)| other != key);
                s.fixed.push((key, values[0].clone(), line));
            }
            Output => s.output.push(key),
            Unused => s.unused.push(key),
        }
    }
    if s.known == 0 && !source.text.trim().is_empty() {
        return Err(words.wrong(
            1,
            "the file has no key of a config file (config.txt); name another file with --config",
        ));
    }
    Ok(s)
}

/// An end of the run in seconds, and whether it is beyond the longest run. The error is the end of a sentence.
fn end(text: &str) -> Result<(Time, bool), String> {
    let longest = Time::ZERO.saturating_add(LONGEST);
    match seconds(text) {
        Some(stop) if stop > Time::ZERO && stop <= longest => Ok((stop, false)),
        _ if text.parse::<f64>().is_ok_and(|value| value > 0.0) => Ok((longest, true)),
        _ => Err("write seconds above 0".into()),
    }
}

/// A number from 0 to `most`. The error is the end of a sentence.
fn number(text: &str, most: f64, of: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=most).contains(value));
    value.ok_or_else(|| format!("write {of}, a number from 0 to {most}"))
}

fn map(s: &mut Settings, words: &mut Words<'_>, key: &str) -> Result<(), Error> {
    let (count, line) = words.number::<u64>(&format!("the number of entries of {key}"))?;
    let which = ["KMIN_MAP", "KMAX_MAP", "PMAX_MAP"].iter().position(|k| *k == key);
    for i in 0..count {
        let what = |of: &str| format!("{of} in {key} ({i} of {count} are there)");
        let (rate, _) = words.number::<u64>(&what("a rate in bit/s"))?;
        let (value, _) = words.number::<f64>(&what("a value"))?;
        let most = if key == "PMAX_MAP" { 1.0 } else { 1e9 };
        if !(0.0..=most).contains(&value) {
            return Err(words.wrong(
                line,
                format!("{key}: {value} is out of range; write a number from 0 to {most}"),
            ));
        }
        s.maps[which.unwrap_or(0)].insert(rate, value);
    }
    Ok(())
}

impl Settings {
    /// A key of [`KeyTarget::Read`]. The error is the end of a sentence.
    fn set(&mut self, key: &str, values: &[String], line: usize) -> Result<(), String> {
        let text = values[0].as_str();
        // A stream reads a whole number up to its point.
        let digits = text.split('.').next().unwrap_or_default();
        let whole = || digits.parse::<u64>().map_err(|_| "write a whole number".to_string());
        let flag = || whole().map(|n| n != 0);
        match key {
            "ENABLE_QCN" => self.marks = flag()?,
            "PACKET_PAYLOAD_SIZE" => {
                self.payload = whole()?;
                if !(1..=65_000).contains(&self.payload) {
                    return Err("write a payload from 1 to 65000".into());
                }
            }
            "L2_ACK_INTERVAL" => self.ack_interval = whole()?,
            "TOPOLOGY_FILE" => self.files[0] = Some(text.into()),
            "FLOW_FILE" => self.files[1] = Some(text.into()),
            "SIMULATOR_STOP_TIME" => {
                (self.stop, self.beyond) = end(text).map(|(stop, beyond)| (Some(stop), beyond))?;
            }
            "FLOWGEN_STOP_TIME" => {
                let longest = Time::ZERO.saturating_add(LONGEST);
                self.flows_stop = Some(end(text)?.0.saturating_add(AFTER_FLOWS).min(longest));
            }
            "ENABLE_PFC" => self.pause = flag()?,
            "ENABLE_IRN" => self.irn = flag()?,
            "IRN_NO_BDPFC" => self.irn_free = flag()?,
            "LB_MODE" => self.balancer = whole()?,
            "FIXED_WIN" => self.fixed_window = Some(number(text, 1e15, "bytes")? as u64),
            "BASE_RTT" => self.base_rtt = Some(number(text, 1e9, "nanoseconds")? as u64),
            "MAX_RATE" => self.max_rate = Some(rate(text).ok_or("write a rate")?),
            "CNP_INTERVAL" => {
                let time = microseconds(text).ok_or("write microseconds")?;
                self.cnp_interval = Some(time.since(Time::ZERO));
            }
            "PACKET_LEVEL_ECMP" => self.ecmp[0] = Some(flag()?),
            "FLOW_LEVEL_ECMP" => self.ecmp[1] = Some(flag()?),
            "KMIN" => self.thresholds[0] = Some(number(text, 1e9, "packets")?),
            "KMAX" => self.thresholds[1] = Some(number(text, 1e9, "packets")?),
            "PMAX" => self.thresholds[2] = Some(number(text, 1.0, "a probability")?),
            "CC_MODE" => self.mode = whole()?.min(u64::from(u32::MAX)) as u32,
            "ERROR_RATE_PER_LINK" => {
                let rate = text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
                self.error_rate = rate.ok_or("write a number from 0 to 1")?;
            }
            "HAS_WIN" => self.window = flag()?,
            "VAR_WIN" => self.variable = flag()?,
            "GLOBAL_T" => self.one_round_trip = flag()?,
            "L2_BACK_TO_ZERO" => self.chunks = flag()?,
            "ACK_HIGH_PRIO" => self.ack_first = flag()?,
            "BUFFER_SIZE" => self.buffer = whole()?.min(1 << 20),
            "INT_MULTI" => {
                let multi = whole()?;
                let fits = u16::try_from(multi).ok().filter(|m| (1..=1_000).contains(m));
                self.int_multi = fits.ok_or("write a whole number from 1 to 1000")?;
            }
            "LINK_DOWN" => {
                let at = microseconds(text).ok_or("write microseconds and two nodes")?;
                let node = |i: usize| {
                    values[i].parse::<u32>().map_err(|_| "write two nodes after the time")
                };
                let (a, b) = (node(1)?, node(2)?);
                self.down = (at > Time::ZERO).then_some((at, a, b, line));
            }
            _ => unreachable!("every key that is read has its line here"),
        }
        Ok(())
    }
}

/// Writes switch, transport, faults. Gives the same without pause, for buffers that cannot hold its headroom.
pub(super) fn apply(
    draft: &mut Draft,
    (config, s): (Option<&HpccConfig>, &Settings),
    topology: &Topology,
    class: Option<u8>,
    earlier: Span,
) -> Result<Option<Draft>, Error> {
    let place = s.file.clone();
    if config.is_none() {
        draft.note(
            &place,
            Fate::Left,
            "no config file was given: the defaults of the source hold where it has any",
        );
    }
    let (stop, key) = match (s.stop, s.flows_stop) {
        (None, Some(stop)) => (Some(stop), "FLOWGEN_STOP_TIME"),
        (stop, _) => (stop, "SIMULATOR_STOP_TIME"),
    };
    if let Some(stop) = stop {
        let last = draft.lists.iter().flat_map(|list| &list.flows).map(|f| f.at).max();
        if last.is_some_and(|last| last.saturating_add(earlier) >= stop) {
            let text = format!("{key}: flows start after {stop}, so the run lasts longer");
            draft.note(s.at(key), Fate::Changed, text);
        } else {
            let (fate, why) = if s.beyond {
                (
                    Fate::Changed,
                    ", the longest run; stop.flows = \"all\" ends it when all flows are done",
                )
            } else {
                (Fate::Carried, "")
            };
            let stop = Time::ZERO + stop.since(Time::ZERO + earlier);
            draft.stop = Some(stop);
            draft.note(s.at(key), fate, format!("{key}: stop.time = \"{stop}\"{why}"));
        }
    }
    if s.error_rate > 0.0 {
        draft.cables.iter_mut().filter(|c| c.loss == 0.0).for_each(|c| c.loss = s.error_rate);
        let text = format!(
            "ERROR_RATE_PER_LINK {}: loss of every link without a rate of its own",
            s.error_rate
        );
        draft.note(s.at("ERROR_RATE_PER_LINK"), Fate::Carried, text);
    }
    transport(draft, &place, s, topology);
    let top = class.unwrap_or(0);
    let groups: Vec<u8> = draft.lists.iter().map(|list| list.class.unwrap_or(0)).collect();
    marking(draft, s, topology, (class.is_some()).then_some(&groups[..]));
    let ack_class = groups.first().copied().unwrap_or(0);
    let classes = top + 1;
    if classes > 1 {
        draft.switch.push(format!("classes = {classes}"));
        draft.transport.push(format!("ack_class = {ack_class}"));
    }
    let in_turn: Vec<String> = groups
        .iter()
        .filter(|group| **group > 0)
        .map(|group| format!("{{ class = {group}, weight = 1 }}"))
        .collect();
    if in_turn.len() > 1 {
        draft.switch.push(format!("weights = [{}]", in_turn.join(", ")));
    }
    // The key chooses the pause that holds ACKs up at hosts; switches have one of their own, which nothing sets.
    if s.ack_first {
        let text = "ACK_HIGH_PRIO 1: ACKs ride in the class of data, as at switches there; there they leave hosts even while that class is paused";
        draft.note(s.at("ACK_HIGH_PRIO"), Fate::Changed, text);
    }
    if groups.len() > 1 {
        let text =
            format!("all ACKs ride in class {ack_class}; there each in the class of its data");
        draft.note(&place, Fate::Changed, text);
    }
    buffer(draft, s, topology);
    if let Some((at, a, b, line)) = s.down {
        down(draft, &place, topology, (at, a, b, line), earlier);
    }
    if !s.pause {
        draft.switch.push("pause = \"off\"".into());
        let text = "ENABLE_PFC 0: fabric.switch.pause = \"off\"";
        draft.note(s.at("ENABLE_PFC"), Fate::Carried, text);
        return Ok(None);
    }
    let mut without = draft.clone();
    let by_class = if classes > 1 {
        let groups: Vec<String> = groups.iter().map(u8::to_string).collect();
        format!("classes = [{}], ", groups.join(", "))
    } else {
        String::new()
    };
    let pause = |draft: &mut Draft, headroom: &str| {
        draft.switch.push(format!(
            "pause = {{ {by_class}xoff = \"dynamic\", reserved = \"4KiB\", resume_offset = \"3KiB\"{headroom} }}"
        ));
    };
    pause(draft, ", headroom = \"three-delays\", short_headroom = \"warn\"");
    let at = s.at("ENABLE_PFC");
    let said = if s.lines.contains_key("ENABLE_PFC") { "ENABLE_PFC 1" } else { "PFC" };
    let own = s.is_oldest() || s.is_m3() || s.form == FlowForm::ConWeave;
    let (fate, whose) = match own {
        true => (Fate::Changed, "of the HPCC simulator, where this fork has its own"),
        false => (Fate::Carried, "as there"),
    };
    let text = format!(
        "{said}: fabric.switch.pause with thresholds and headroom (three times rate times delay) {whose}"
    );
    draft.note(at, fate, text);
    without.note(&place, Fate::Left, "PFC: the buffer cannot hold the headroom that every port needs, so fabric.switch.pause is off and packets are dropped; give more in fabric.switch.buffer.size and write pause = \"on\"");
    Ok(Some(without))
}

/// What a switch's buffer is: MiB in most forks.
fn buffer(draft: &mut Draft, s: &Settings, topology: &Topology) {
    let at = s.at("BUFFER_SIZE");
    let (size, fate, why) = if s.is_oldest() && !s.lines.contains_key("BUFFER_SIZE") {
        (OLDEST_BUFFER.to_string(), Fate::Carried, "buffer of a switch, fixed there".to_string())
    } else if s.buffer == 0 {
        let most = topology.switches.iter().map(|switch| {
            topology.links.iter().filter(|link| link.a == *switch || link.b == *switch).count()
        });
        let ports = most.max().unwrap_or(1).max(1) as u64;
        let size = Bytes::new(ports * BUFFER_PER_PORT).text();
        let why = format!(
            "BUFFER_SIZE 0: 375 KB for each port in the forks that know 0; here for {ports} ports, the most of any switch"
        );
        (size, Fate::Changed, why)
    } else if s.is_m3() {
        (
            format!("{}KiB", s.buffer),
            Fate::Carried,
            format!("BUFFER_SIZE {}, in KiB in m3", s.buffer),
        )
    } else {
        (format!("{}MiB", s.buffer), Fate::Carried, format!("BUFFER_SIZE {}", s.buffer))
    };
    draft.switch.push(format!("buffer = {{ size = \"{size}\" }}\nrelease = \"start\""));
    draft.note(at, fate, format!("{why}: fabric.switch.buffer.size = \"{size}\""));
}

/// The law and what stands in for it: [`MODES`], and whether nothing reacts.
fn law_of(s: &Settings) -> (&'static (u32, &'static str, u64), bool) {
    match MODES.iter().find(|(mode, ..)| *mode == s.mode) {
        Some(known) => (known, false),
        None if s.mode == PINT => (&MODES[1], false),
        None => (&MODES[0], true),
    }
}

fn transport(draft: &mut Draft, place: &str, s: &Settings, topology: &Topology) {
    let (_, law, telemetry) = law_of(s).0;
    draft.transport.push(format!("kind = \"rdma\"\nlaw = \"{law}\""));
    let at = s.at("CC_MODE");
    match (law_of(s).1, s.mode) {
        (true, mode) => draft.note(at, Fate::Changed, format!(
            "CC_MODE {mode} does not name a law of the original. There such senders keep the rate of their link, and so they do here: law = \"{law}\", fabric.switch.ecn = \"off\". If your fork has a law under this number, write it in transport.law"
        )),
        (_, PINT) => draft.note(at, Fate::Changed, "CC_MODE 10: law = \"hpcc\", with all telemetry in every packet, where HPCC-PINT has a digest of it"),
        (_, mode) => draft.note(at, Fate::Carried, format!("CC_MODE {mode}: kind = \"rdma\", law = \"{law}\"")),
    }
    if matches!(s.header, Header::Tors | Header::Rates) {
        let text = "CC_MODE: the command line of PowerTCP and Reverie (--algorithm, --wien, --delayWien) may choose another; for PowerTCP write transport.law = \"powertcp\"";
        draft.note(s.at("CC_MODE"), Fate::Changed, text);
    }
    let params = FlowParams::new(law).expect("every law of the table is known");
    let (header, ack) = match params.needs().int {
        true => (HEADER, ACK_FIELDS.max(ACK.saturating_sub(*telemetry))),
        false => (HEADER + telemetry, ACK.max(ACK_FIELDS + telemetry)),
    };
    draft
        .transport
        .push(format!("mss = \"{}B\"\nheader = \"{header}B\"\nack_size = \"{ack}B\"", s.payload));
    let with = if params.needs().int {
        draft.transport.push(format!("telemetry = \"{telemetry}B\""));
        format!(", and {telemetry} B of telemetry on both")
    } else {
        String::new()
    };
    let text = format!(
        "PACKET_PAYLOAD_SIZE {}: mss; headers of {header} B and ACKs of {ack} B{with}, as there",
        s.payload
    );
    draft.note(s.at("PACKET_PAYLOAD_SIZE"), Fate::Carried, text);
    // The interval counts bytes there, whatever its notes say: an ACK once so many have come.
    let every = s.ack_interval.div_ceil(s.payload).clamp(1, 65_535);
    draft.transport.push(format!("ack_every = {every}"));
    recovery(draft, s);
    draft.note(
        s.at("L2_ACK_INTERVAL"),
        Fate::Carried,
        format!("L2_ACK_INTERVAL {}: ack_every = {every}", s.ack_interval),
    );
    if s.chunks && !s.irn {
        draft.note(s.at("L2_BACK_TO_ZERO"), Fate::Left, "L2_BACK_TO_ZERO 1: recovery = \"go-back-n\" begins with the first packet that is missing, not with its chunk");
    }
    draft.note(place, Fate::Changed, "a packet that is lost with all after it is sent again after transport.timeout; there it is never");
    let round_trip = super::hpcc_ideal::Paths::of(topology, s.payload).longest_round_trip();
    if let Some(base) = s.base_rtt.filter(|ns| *ns > 0) {
        draft.transport.push(format!("base_rtt = \"{base}ns\""));
        draft.note(
            s.at("BASE_RTT"),
            Fate::Carried,
            format!("BASE_RTT {base}: base_rtt = \"{base}ns\""),
        );
    } else if s.one_round_trip {
        let base = Span::from_ns(round_trip.max(1)).text();
        draft.transport.push(format!("base_rtt = \"{base}\""));
        let text = format!("GLOBAL_T 1: base_rtt = \"{base}\", the longest as it is counted there");
        draft.note(s.at("GLOBAL_T"), Fate::Carried, text);
    } else {
        draft.transport.push("base_rtt = \"path\"".into());
        let text =
            "GLOBAL_T 0: base_rtt = \"path\", which counts headers and the ACK's way back too";
        draft.note(s.at("GLOBAL_T"), Fate::Changed, text);
    }
    let mut chosen = Vec::new();
    window(draft, s, law, &mut chosen);
    let mut trial = params;
    if *law == "dcqcn" && s.is_oldest() {
        chosen.push("timers = \"paper\"".into());
        let interval = s.cnp_interval.unwrap_or(Span::from_us(50)).max(Span::from_ns(1)).text();
        draft.transport.push(format!("cnp_interval = \"{interval}\""));
        let text = format!(
            "the sender of the DCQCN paper, as in ns3-rdma: timers = \"paper\", cnp_interval = \"{interval}\""
        );
        draft.note(s.at("CNP_INTERVAL"), Fate::Carried, text);
    } else if *law == "dcqcn" {
        chosen.push("timers = \"vendor\"".into());
        draft.transport.push("cnp_interval = \"1ns\"".into());
        draft.note(
            place,
            Fate::Changed,
            "CNPs are packets of their own, one for every marked packet; there ACKs carry them",
        );
    }
    let mut unused = s.unused.clone();
    if *law == "timely" {
        // `UpdateRateTimely`: a sample per round trip, larger steps from the sixth on, below t_low too.
        chosen.push("per = \"rtt\", hai_after = 6, hai_below = true".into());
    }
    if *law == "dctcp-rate" && !s.law.iter().any(|(key, ..)| *key == "DCTCP_RATE_AI") {
        chosen.push("r_ai = \"1Gbps\"".into()); // the default of third.cc
    }
    let stands_in = law_of(s).1;
    for (key, value, line) in &s.law {
        let at = format!("{place}:{line}");
        let unread =
            ANY.contains(&s.mode) && USED.iter().any(|(k, m)| k == key && !m.contains(&s.mode));
        if unread || stands_in {
            unused.push(key);
            continue;
        }
        let row = PARAMS.iter().find(|(k, l, ..)| k == key && l == law);
        let ai = s.law.iter().find(|(key, ..)| *key == "RATE_AI").and_then(|one| rate(&one.1));
        let written = row.and_then(|(.., param, how)| Some((*param, how.write(value, ai)?)));
        match written {
            Some((param, text)) if trial.set(param, &text).is_ok() => {
                draft.note(
                    at,
                    Fate::Carried,
                    format!("{key} {value}: transport.params.{param} = {text}"),
                );
                let bare = text.parse::<f64>().is_ok();
                chosen.push(if bare {
                    format!("{param} = {text}")
                } else {
                    format!("{param} = \"{text}\"")
                });
            }
            Some((param, text)) => {
                draft.note(
                    at,
                    Fate::Left,
                    format!("{key} {value}: {law} does not take {param} = {text}"),
                );
            }
            None => {
                draft.note(at, Fate::Left, format!("{key} {value}: {law} has no such parameter"))
            }
        }
    }
    let said = s.lines.contains_key("INT_MULTI");
    if trial.needs().int {
        let multi = s.int_multi;
        draft.switch.push(format!("int_multi = {multi}"));
        let usual = if said { "" } else { ", the default of the source" };
        let text = format!("INT_MULTI {multi}{usual}: fabric.switch.int_multi = {multi}");
        draft.note(s.at("INT_MULTI"), Fate::Carried, text);
    } else if said {
        unused.push("INT_MULTI");
    }
    balancer(draft, s, topology, &mut unused);
    fixed(draft, place, s, &mut unused);
    if !chosen.is_empty() {
        draft.transport.push(format!("params = {{ {} }}", chosen.join(", ")));
    }
}

/// Keys without a counterpart, and those that nothing depends on.
fn fixed(draft: &mut Draft, place: &str, s: &Settings, unused: &mut Vec<&'static str>) {
    for (key, value, line) in &s.fixed {
        let (_, modes, same, text) =
            FIXED.iter().find(|row| row.0 == *key).expect("every such key has its row");
        let fate = match same {
            _ if modes.len() < ANY.len() && !modes.contains(&s.mode) => {
                unused.push(key);
                continue;
            }
            Some(same) if value == same => Fate::Carried,
            _ if *key == "CLAMP_TARGET_RATE" && s.is_oldest() && value == "1" => {
                draft.note(
                    format!("{place}:{line}"),
                    Fate::Carried,
                    "CLAMP_TARGET_RATE 1: every cut takes the rate for its target",
                );
                continue;
            }
            _ if key.starts_with("CONWEAVE_") && s.balancer != 9 => {
                unused.push(key);
                continue;
            }
            _ if *key == "L2_CHUNK_SIZE" && !s.chunks && s.ack_interval <= s.payload => {
                unused.push(key);
                continue;
            }
            _ => Fate::Left,
        };
        draft.note(format!("{place}:{line}"), fate, format!("{key} {value}: {text}"));
    }
    if !unused.is_empty() {
        let text = format!("{}: change nothing in this file, there or here", unused.join(", "));
        draft.note(place, Fate::Carried, text);
    }
    if !s.output.is_empty() {
        let text = format!("{}: forebay writes its own tables", s.output.join(", "));
        draft.note(place, Fate::Left, text);
    }
}

/// What is sent again.
fn recovery(draft: &mut Draft, s: &Settings) {
    let at = s.at("ENABLE_IRN");
    if s.irn {
        // `IrnRtoHigh` and `IrnRtoLow` (`rdma-hw.cc` of the forks).
        draft
            .transport
            .push("recovery = \"selective\"\ntimeout = \"1350us\"\nrto_low = \"454us\"".into());
        let text =
            "ENABLE_IRN 1: recovery = \"selective\", with timeouts of 1350 us and 454 us as there";
        draft.note(&at, Fate::Carried, text);
    } else {
        draft.transport.push("recovery = \"go-back-n\"\nnack_interval = \"500us\"".into());
        if s.lines.contains_key("ENABLE_IRN") {
            draft.note(&at, Fate::Carried, "ENABLE_IRN 0: recovery = \"go-back-n\"");
        }
    }
}

/// Load balancing and the rate of NICs.
fn balancer(draft: &mut Draft, s: &Settings, topology: &Topology, unused: &mut Vec<&'static str>) {
    if s.lines.contains_key("LB_MODE") {
        let name = BALANCERS.iter().find(|(mode, _)| *mode == s.balancer);
        let name = name.map_or("unknown", |(_, name)| name);
        let (fate, text) = match s.balancer {
            0 => (Fate::Carried, "each flow keeps its path"),
            _ => (Fate::Left, "forebay has none such; each flow keeps its path, as with LB_MODE 0"),
        };
        draft.note(s.at("LB_MODE"), fate, format!("LB_MODE {} ({name}): {text}", s.balancer));
    }
    if let Some(most) = s.max_rate {
        let fastest = topology
            .links
            .iter()
            .filter(|link| !topology.is_switch(link.a) || !topology.is_switch(link.b));
        if fastest.map(|link| link.rate).max().is_some_and(|rate| rate <= most) {
            unused.push("MAX_RATE");
        } else {
            let text = format!("MAX_RATE {most}: a sender's rate is bounded by its link alone");
            draft.note(s.at("MAX_RATE"), Fate::Left, text);
        }
    }
    if s.lines.contains_key("IRN_NO_BDPFC") && !s.irn {
        unused.push("IRN_NO_BDPFC");
    }
}

/// What bounds the bytes under way.
fn window(draft: &mut Draft, s: &Settings, law: &str, params: &mut Vec<String>) {
    if s.irn {
        let (key, said, bound) = match s.irn_free {
            true => ("IRN_NO_BDPFC", "IRN_NO_BDPFC 1", "none"),
            false => ("ENABLE_IRN", "IRN", "bdp"),
        };
        draft.transport.push(format!("max_inflight = \"{bound}\""));
        draft.note(s.at(key), Fate::Carried, format!("{said}: max_inflight = \"{bound}\""));
    }
    if let Some(bytes) =
        s.fixed_window.filter(|bytes| *bytes > 0 && s.window && !s.irn && law != "hpcc")
    {
        // A sender has a packet under way at least.
        let bytes = bytes.max(s.payload);
        draft.transport.push(format!("max_inflight = \"{bytes}B\""));
        if law == "dctcp-rate" {
            params.push("window = \"none\"".into());
        }
        let (fate, rest) = match s.variable {
            true => (Fate::Changed, ", which does not follow the rate as VAR_WIN 1 has it"),
            false => (Fate::Carried, ""),
        };
        return draft.note(
            s.at("FIXED_WIN"),
            fate,
            format!("FIXED_WIN {bytes}: max_inflight = \"{bytes}B\"{rest}"),
        );
    }
    if s.fixed_window.is_some() && law == "hpcc" {
        let text = "FIXED_WIN: the window of hpcc is the rate of the link times base_rtt";
        draft.note(s.at("FIXED_WIN"), Fate::Changed, text);
    }
    let said = format!("HAS_WIN {}, VAR_WIN {}", u8::from(s.window), u8::from(s.variable));
    let (fate, text) = match (law, s.window) {
        ("hpcc", true) => (Fate::Carried, "the window is the law's".to_string()),
        ("hpcc", false) => (Fate::Left, "hpcc has a window".into()),
        ("dctcp-rate", false) => {
            params.push("window = \"none\"".into());
            (Fate::Carried, "transport.params.window = none".into())
        }
        (_, false) if s.irn => return,
        (_, false) => (Fate::Carried, "no bound on what is under way".into()),
        ("dcqcn" | "dctcp-rate", true) => {
            let window = if s.variable { "variable" } else { "fixed" };
            params.push(format!("window = \"{window}\""));
            (Fate::Carried, format!("transport.params.window = {window}"))
        }
        (_, true) => {
            if s.irn {
                return;
            }
            draft.transport.push("max_inflight = \"bdp\"".into());
            let fate = if s.variable { Fate::Changed } else { Fate::Carried };
            (fate, "max_inflight = \"bdp\", which stays the same".into())
        }
    };
    draft.note(s.at("HAS_WIN"), fate, format!("{said}: {text}"));
}

impl ValueForm {
    fn write(self, value: &str, ai: Option<BitsPerSec>) -> Option<String> {
        match self {
            Self::Plain => value.parse::<f64>().ok().map(|_| value.into()),
            Self::TimesRateAi => {
                let (large, small) = (rate(value)?.get(), ai?.get());
                let times = large.checked_div(small)?;
                (times * small == large).then(|| times.to_string())
            }
            Self::Us => microseconds(value).map(|t| t.text()),
            Self::Ns => microseconds(value).map(|t| Span::from_ps(t.as_ps() / 1000).text()),
            Self::Size => value.parse::<u64>().ok().map(|bytes| Bytes::new(bytes).text()),
            Self::Rate => rate(value).map(|rate| rate.to_string()),
        }
    }
}

/// Marks by the queue of the port, or by those of some classes alone.
fn marking(draft: &mut Draft, s: &Settings, topology: &Topology, groups: Option<&[u8]>) {
    let at = s.at("KMIN_MAP");
    if law_of(s).1 {
        draft.switch.push("ecn = \"off\"".into());
        return draft.note(
            at,
            Fate::Left,
            "KMIN_MAP, KMAX_MAP, PMAX_MAP: marks, to which no sender of this CC_MODE reacts",
        );
    }
    if !s.marks {
        draft.switch.push("ecn = \"off\"".into());
        return draft.note(
            s.at("ENABLE_QCN"),
            Fate::Carried,
            "ENABLE_QCN 0: fabric.switch.ecn = \"off\"",
        );
    }
    if s.is_oldest() && s.maps.iter().all(BTreeMap::is_empty) {
        return marks_in_packets(draft, s);
    }
    let rates: BTreeSet<u64> = topology.links.iter().map(|link| link.rate.get()).collect();
    let [kmin, kmax, pmax] = &s.maps;
    let of = |rate: &u64| Some((*kmin.get(rate)?, *kmax.get(rate)?, *pmax.get(rate)?));
    let Some((base, (low, high, p))) = rates.iter().find_map(|rate| Some((*rate, of(rate)?)))
    else {
        let text = "KMIN_MAP, KMAX_MAP and PMAX_MAP say nothing of the links' rates; fabric.switch.ecn is as forebay has it";
        return draft.note(at, Fate::Left, text);
    };
    // The source looks as a packet leaves, at the queue without it, and marks beyond kmax; sizes are in 1000 B.
    let same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
    let scale = |rate: u64| rate as f64 / base as f64;
    let scaled = rates.len() > 1
        && rates.iter().all(|rate| {
            of(rate).is_some_and(|(l, h, _)| {
                same(l, low * scale(*rate)) && same(h, high * scale(*rate))
            })
        });
    let size = |kb: f64| Bytes::new((kb * 1000.0) as u64).text();
    let for_rate =
        if scaled { format!(", for_rate = \"{}\"", BitsPerSec::new(base)) } else { String::new() };
    let ramp = if low < high {
        format!("kmin = \"{}\", kmax = \"{}\", pmax = {p:?}", size(low), size(high))
    } else {
        format!("k = \"{}\"", size(low.max(0.001)))
    };
    let rule = format!("{ramp}{for_rate}, at = \"dequeue\"");
    draft.switch.push(match groups {
        None => format!("ecn = {{ {rule} }}"),
        Some(groups) => {
            let groups: Vec<String> = groups.iter().map(u8::to_string).collect();
            format!("ecn = [{{ classes = [{}], {rule} }}]", groups.join(", "))
        }
    });
    draft.note(at.clone(), Fate::Carried, format!("KMIN_MAP, KMAX_MAP, PMAX_MAP: fabric.switch.ecn = {{ {ramp}{for_rate} }}, looked at as packets leave"));
    for rate in rates.iter().filter(|rate| **rate != base && !scaled) {
        let gbps = BitsPerSec::new(*rate);
        let text = match of(rate) {
            Some(other) if other == (low, high, p) => continue,
            Some((l, h, p)) => format!(
                "ports of {gbps} have {l} and {h} KB and {p} there; here all ports are as those of {}",
                BitsPerSec::new(base)
            ),
            None => format!(
                "the maps say nothing of ports of {gbps}, where the source stops; here they are as those of {}",
                BitsPerSec::new(base)
            ),
        };
        draft.note(at.clone(), Fate::Changed, text);
    }
    if rates.iter().any(|rate| of(rate).is_some_and(|(.., other)| other != p)) {
        draft.note(at, Fate::Changed, format!("PMAX_MAP: all ports have {p}"));
    }
}

/// Thresholds of ns3-rdma: packets, the same for all ports.
fn marks_in_packets(draft: &mut Draft, s: &Settings) {
    let [low, high, most] = s.thresholds;
    let at = s.at("KMIN");
    // The defaults of its third.cc.
    let bytes = |packets: Option<f64>| Bytes::new((packets.unwrap_or(60.0) * OLDEST_PACKET) as u64);
    let (low, high, most) = (bytes(low), bytes(high), most.unwrap_or(1.0));
    let ramp = if low < high {
        format!("kmin = \"{}\", kmax = \"{}\", pmax = {most:?}", low.text(), high.text())
    } else {
        format!("k = \"{}\"", low.max(Bytes::new(1)).text())
    };
    draft.switch.push(format!("ecn = {{ {ramp} }}"));
    let text = format!("KMIN, KMAX, PMAX, in packets of 1030 B: fabric.switch.ecn = {{ {ramp} }}");
    draft.note(at, Fate::Carried, text);
}

fn down(
    draft: &mut Draft,
    place: &str,
    topology: &Topology,
    (at, a, b, line): (Time, u32, u32, usize),
    earlier: Span,
) {
    let at_place = format!("{place}:{line}");
    let link = topology.links.iter().find(|l| (l.a, l.b) == (a, b) || (l.a, l.b) == (b, a));
    let index = link.and_then(|link| topology.links.iter().position(|l| l == link));
    let Some(cable) = index.map(|i| draft.cables[i].clone()) else {
        return draft.note(at_place, Fate::Left, format!("LINK_DOWN: no link joins {a} and {b}"));
    };
    let when =
        Time::ZERO + at.saturating_add(LINK_DOWN_FROM).since(Time::ZERO).saturating_sub(earlier);
    if draft.stop.is_some_and(|stop| when >= stop) {
        return draft.note(
            at_place,
            Fate::Left,
            format!("LINK_DOWN: {when} is not before the end of the run"),
        );
    }
    draft.fabric.push("reroute_after = \"0s\"".into());
    draft.tables.push(format!(
        "[[fault]]\nat = \"{}\"\nlink = \"{}-{}\"\n",
        when.text(),
        cable.a,
        cable.b
    ));
    let text = format!(
        "LINK_DOWN: {}-{} goes down at {when}, and routes are made anew at once",
        cable.a, cable.b
    );
    draft.note(at_place, Fate::Carried, text);
}
