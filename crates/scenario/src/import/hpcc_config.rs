//! `config.txt` of the public HPCC simulator: which key becomes what.
//!
//! Source: `simulation/scratch/third.cc` (keys and what they set), `mix/config_doc.txt` (their meaning), `switch-mmu.cc`,
//! `rdma-hw.cc`, `custom-header.cc` (sizes and defaults).
//!
//! To carry over another key, change its row in [`KEYS`], or add one to [`PARAMS`] where it is a parameter of a law.

use super::draft::Draft;
use super::words::{Words, microseconds, rate, seconds};
use super::{Fate, Source, Topology};
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
enum To {
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

use Shape::{Map, Words as W};
use To::{Fixed, Law, Output, Read, Unused};

#[rustfmt::skip]
const KEYS: &[(&str, Shape, To)] = &[
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
];

/// Key of [`To::Fixed`]; the modes in which the source uses it; the value that does there what is done here, if one does; and
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
    ("PINT_LOG_BASE", &[10], None, "there is no PINT"),
    ("PINT_PROB", &[10], None, "there is no PINT"),
    ("RATE_BOUND", ANY, Some("1"), "packets leave at the rate of the law"),
];

/// Every `CC_MODE`.
const ANY: &[u32] = &[1, 3, 7, 8, 10];

/// Key of [`To::Law`] and the modes in which the source uses it.
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
];

/// How the value of a key is written as a parameter.
#[derive(Clone, Copy)]
enum As {
    /// As it is.
    Plain,
    /// A number of microseconds.
    Us,
    /// A rate.
    Rate,
    /// A rate, as a whole number of times `RATE_AI`.
    TimesRateAi,
}

/// Key, law, its parameter, and how the value is written.
const PARAMS: &[(&str, &str, &str, As)] = &[
    ("ALPHA_RESUME_INTERVAL", "dcqcn", "alpha_timer", As::Us),
    ("RATE_DECREASE_INTERVAL", "dcqcn", "cut_interval", As::Us),
    ("RP_TIMER", "dcqcn", "increase_timer", As::Us),
    ("EWMA_GAIN", "dcqcn", "g", As::Plain),
    ("FAST_RECOVERY_TIMES", "dcqcn", "recovery_steps", As::Plain),
    ("RATE_AI", "dcqcn", "r_ai", As::Rate),
    ("RATE_HAI", "dcqcn", "r_hai", As::Rate),
    ("MIN_RATE", "dcqcn", "r_min", As::Rate),
    ("EWMA_GAIN", "dctcp-rate", "g", As::Plain),
    ("DCTCP_RATE_AI", "dctcp-rate", "r_ai", As::Rate),
    ("MIN_RATE", "dctcp-rate", "r_min", As::Rate),
    ("U_TARGET", "hpcc", "eta", As::Plain),
    ("MI_THRESH", "hpcc", "max_stage", As::Plain),
    ("MIN_RATE", "hpcc", "r_min", As::Rate),
    ("RATE_AI", "hpcc", "w_ai", As::Rate),
    ("MIN_RATE", "timely", "r_min", As::Rate),
    ("RATE_HAI", "timely", "hai_factor", As::TimesRateAi),
    ("RATE_AI", "timely", "delta", As::Rate),
];

/// `CC_MODE`, the law, and the bytes of telemetry that a data packet and its ACK carry (`IntHeader`: five hops of 8 B and a
/// count of 2 B, or a stamp of 8 B).
const MODES: &[(u32, &str, u64)] =
    &[(1, "dcqcn", 0), (3, "hpcc", 42), (7, "timely", 8), (8, "dctcp-rate", 0)];

/// PPP 14 B, IPv4 20 B, UDP 8 B, sequence 4 B, priority group 2 B.
const HEADER: u64 = 48;
/// ACKs are padded to this (`rdma-hw.cc`), telemetry included.
const ACK: u64 = 60;
/// PPP, IPv4, and the 12 B of an ACK's own fields.
const ACK_FIELDS: u64 = 46;
/// Links go down so long after the time that `LINK_DOWN` says.
const LINK_DOWN_FROM: Span = Span::from_secs(2);

/// Settings with the defaults of the source (`third.cc`).
struct Settings {
    marks: bool,
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
    /// Values of keys of [`To::Law`], with their lines.
    law: Vec<(&'static str, String, usize)>,
    /// Values of keys of [`To::Fixed`], with their lines.
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
    /// Where a key stands; the file alone if it does not.
    fn at(&self, key: &str) -> String {
        match self.lines.get(key) {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        }
    }
}

fn parse(draft: &mut Draft, source: Option<Source<'_>>) -> Result<Settings, Error> {
    let mut s = Settings {
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
        file: source.map_or("config.txt", |source| source.name).into(),
        lines: BTreeMap::new(),
    };
    let Some(source) = source else { return Ok(s) };
    let mut words = Words::of(source);
    while let Some(word) = words.maybe() {
        let Some((key, shape, to)) = KEYS.iter().find(|(key, ..)| *key == word.text) else {
            // The source skips what it does not know, word by word; a line of it is noted once.
            let mut rest = String::from(word.text);
            while words.line() == Some(word.line) {
                rest.push(' ');
                rest.push_str(words.next("a value")?.text);
            }
            let text = format!("{:?} is no key that is known here", crate::tree::shorten(&rest));
            draft.notes.push(words.note(word.line, Fate::Left, text));
            continue;
        };
        let line = word.line;
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
    Ok(s)
}

/// The files that a configuration names.
pub(super) fn named_files(source: Source<'_>) -> Result<[Option<String>; 2], Error> {
    Ok(parse(&mut Draft::default(), Some(source))?.files)
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
            return Err(words.wrong(line, format!("{key}: {value} is not from 0 to {most}")));
        }
        s.maps[which.unwrap_or(0)].insert(rate, value);
    }
    Ok(())
}

impl Settings {
    /// A key of [`To::Read`]. The error is the end of a sentence.
    fn set(&mut self, key: &str, values: &[String], line: usize) -> Result<(), String> {
        let text = values[0].as_str();
        let whole = || text.parse::<u64>().map_err(|_| "write a whole number".to_string());
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
                let stop = seconds(text).filter(|t| *t > Time::ZERO);
                self.stop = Some(stop.ok_or("write seconds above 0")?);
            }
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
    source: Option<Source<'_>>,
    topology: &Topology,
    class: Option<u8>,
    earlier: Span,
) -> Result<Option<Draft>, Error> {
    let place = source.map_or("config.txt", |source| source.name).to_string();
    let s = parse(draft, source)?;
    if source.is_none() {
        draft.note(
            &place,
            Fate::Left,
            "no config file was given: the defaults of the source hold where it has any",
        );
    }
    if let Some(stop) = s.stop {
        let last = draft.lists.iter().flat_map(|list| &list.flows).map(|f| f.at).max();
        if last.is_some_and(|last| last.saturating_add(earlier) >= stop) {
            let text =
                format!("SIMULATOR_STOP_TIME: flows start after {stop}, so the run lasts longer");
            draft.note(s.at("SIMULATOR_STOP_TIME"), Fate::Changed, text);
        } else {
            let stop = Time::ZERO + stop.since(Time::ZERO + earlier);
            draft.stop = Some(stop);
            draft.note(
                s.at("SIMULATOR_STOP_TIME"),
                Fate::Carried,
                format!("SIMULATOR_STOP_TIME: stop.time = \"{stop}\""),
            );
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
    transport(draft, &place, &s, topology);
    let top = class.unwrap_or(0);
    let groups: Vec<u8> = draft.lists.iter().map(|list| list.class.unwrap_or(0)).collect();
    marking(draft, &s, topology, (class.is_some()).then_some(&groups[..]));
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
    draft
        .switch
        .push(format!("buffer = {{ size = \"{}MiB\" }}\nrelease = \"start\"", s.buffer.max(1)));
    draft.note(
        s.at("BUFFER_SIZE"),
        Fate::Carried,
        format!("BUFFER_SIZE {}: fabric.switch.buffer.size = \"{0}MiB\"", s.buffer),
    );
    if let Some((at, a, b, line)) = s.down {
        down(draft, &place, topology, (at, a, b, line), earlier);
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
    draft.note(&place, Fate::Carried, "PFC: fabric.switch.pause with thresholds and headroom (three times rate times delay) as there");
    without.note(&place, Fate::Left, "PFC: the buffer cannot hold the headroom that every port needs, so fabric.switch.pause is off and packets are dropped; give more in fabric.switch.buffer.size and write pause = \"on\"");
    Ok(Some(without))
}

fn transport(draft: &mut Draft, place: &str, s: &Settings, topology: &Topology) {
    let mode = MODES.iter().find(|(mode, ..)| *mode == s.mode);
    let (_, law, telemetry) = mode.unwrap_or(&MODES[0]);
    draft.transport.push(format!("kind = \"rdma\"\nlaw = \"{law}\""));
    match mode {
        None => {
            let text = format!(
                "CC_MODE {} is no law that is known here; law = \"{law}\" stands in",
                s.mode
            );
            draft.note(s.at("CC_MODE"), Fate::Left, text);
        }
        Some(_) => draft.note(
            s.at("CC_MODE"),
            Fate::Carried,
            format!("CC_MODE {}: kind = \"rdma\", law = \"{law}\"", s.mode),
        ),
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
    draft
        .transport
        .push(format!("ack_every = {every}\nrecovery = \"go-back-n\"\nnack_interval = \"500us\""));
    draft.note(
        s.at("L2_ACK_INTERVAL"),
        Fate::Carried,
        format!("L2_ACK_INTERVAL {}: ack_every = {every}", s.ack_interval),
    );
    if s.chunks {
        draft.note(s.at("L2_BACK_TO_ZERO"), Fate::Left, "L2_BACK_TO_ZERO 1: recovery = \"go-back-n\" begins with the first packet that is missing, not with its chunk");
    }
    draft.note(place, Fate::Changed, "a packet that is lost with all after it is sent again after transport.timeout; there it is never");
    let round_trip = super::hpcc_ideal::Paths::of(topology, s.payload).longest_round_trip();
    if s.one_round_trip {
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
    if *law == "dcqcn" {
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
    for (key, value, line) in &s.law {
        let at = format!("{place}:{line}");
        if USED
            .iter()
            .any(|(k, modes)| k == key && ANY.contains(&s.mode) && !modes.contains(&s.mode))
        {
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
            _ if ANY.contains(&s.mode) && !modes.contains(&s.mode) => {
                unused.push(key);
                continue;
            }
            Some(same) if value == same => Fate::Carried,
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

/// What bounds the bytes under way.
fn window(draft: &mut Draft, s: &Settings, law: &str, params: &mut Vec<String>) {
    let said = format!("HAS_WIN {}, VAR_WIN {}", u8::from(s.window), u8::from(s.variable));
    let (fate, text) = match (law, s.window) {
        ("hpcc", true) => (Fate::Carried, "the window is the law's".to_string()),
        ("hpcc", false) => (Fate::Left, "hpcc has a window".into()),
        ("dctcp-rate", false) => {
            params.push("window = \"none\"".into());
            (Fate::Carried, "transport.params.window = none".into())
        }
        (_, false) => (Fate::Carried, "no bound on what is under way".into()),
        ("dcqcn" | "dctcp-rate", true) => {
            let window = if s.variable { "variable" } else { "fixed" };
            params.push(format!("window = \"{window}\""));
            (Fate::Carried, format!("transport.params.window = {window}"))
        }
        (_, true) => {
            draft.transport.push("max_inflight = \"bdp\"".into());
            let fate = if s.variable { Fate::Changed } else { Fate::Carried };
            (fate, "max_inflight = \"bdp\", which stays the same".into())
        }
    };
    draft.note(s.at("HAS_WIN"), fate, format!("{said}: {text}"));
}

impl As {
    fn write(self, value: &str, ai: Option<BitsPerSec>) -> Option<String> {
        match self {
            Self::Plain => value.parse::<f64>().ok().map(|_| value.into()),
            Self::TimesRateAi => {
                let (large, small) = (rate(value)?.get(), ai?.get());
                let times = large.checked_div(small)?;
                (times * small == large).then(|| times.to_string())
            }
            Self::Us => microseconds(value).map(|t| t.text()),
            Self::Rate => rate(value).map(|rate| rate.to_string()),
        }
    }
}

/// Marks by the queue of the port, or by those of some classes alone.
fn marking(draft: &mut Draft, s: &Settings, topology: &Topology, groups: Option<&[u8]>) {
    let at = s.at("KMIN_MAP");
    if !s.marks {
        draft.switch.push("ecn = \"off\"".into());
        return draft.note(
            s.at("ENABLE_QCN"),
            Fate::Carried,
            "ENABLE_QCN 0: fabric.switch.ecn = \"off\"",
        );
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
