//! What differs between the scenarios of runs, and which of that makes their numbers incomparable.

use super::Side;
use crate::sweep::{differing, words};
use forebay_record::{FlowRow, RunStart};
use forebay_units::human;
use std::collections::{BTreeMap, BTreeSet};

/// What a key is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Bytes beside the payload, which make ideal FCTs longer.
    Headers,
    /// FCT on the empty path, which slowdowns are relative to.
    Ideal,
    /// How time is counted.
    Clock,
    /// Which flows count, and when the run ends.
    Window,
    /// Hosts, switches and cables.
    Topology,
    /// Flows.
    Traffic,
    /// What runs may differ in and be compared.
    Setting,
}

impl Kind {
    /// In a sentence.
    pub fn word(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::Ideal => "ideal FCT",
            Self::Clock => "clock",
            Self::Window => "measured window",
            Self::Topology => "topology",
            Self::Traffic => "traffic",
            Self::Setting => "setting",
        }
    }

    /// Kind of a key of a scenario; `None`: the key is not compared.
    fn of(key: &str) -> Option<Self> {
        let last = key.rsplit('.').next().unwrap_or(key);
        let transport = key.starts_with("transport");
        let is = |names: &[&str]| names.contains(&last);
        Some(match key {
            "name" | "seeds" | "version" => return None,
            "output.warmup" => Self::Window,
            _ if key.starts_with("output.") || key.starts_with("expect[") => return None,
            _ if key == "stop" || key.starts_with("stop.") => Self::Window,
            "fabric.clock" => Self::Clock,
            "fabric.wire_overhead" => Self::Headers,
            _ if transport && is(&["mss", "header", "ack_size", "telemetry"]) => Self::Headers,
            _ if transport => Self::Setting,
            _ if key.starts_with("traffic[") && last == "transport" => Self::Setting,
            _ if key.starts_with("traffic[") => Self::Traffic,
            _ if key.starts_with("fabric.switch") || key.starts_with("fabric.override") => {
                Self::Setting
            }
            "fabric.routing" | "fabric.paths" | "fabric.next_hops" | "fabric.hash_seed" => {
                Self::Setting
            }
            _ if key.starts_with("fabric.") => Self::Topology,
            _ => Self::Setting,
        })
    }
}

/// A key that not all runs have the same value for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `transport.law`.
    pub key: String,
    /// What it is about.
    pub kind: Kind,
    /// Value of the key in each run, as TOML text; empty where a run does not have it.
    pub values: Vec<String>,
}

/// All that differs, definitions first.
pub fn differences(sides: &[Side]) -> Vec<Difference> {
    let all: Vec<_> = sides.iter().map(|side| keys(&side.about.resolved_toml)).collect();
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let mut found: Vec<Difference> = Vec::new();
    for key in names {
        let values: Vec<String> =
            all.iter().map(|of| of.get(key).cloned().unwrap_or_default()).collect();
        let Some(kind) = Kind::of(key) else { continue };
        if values.iter().any(|value| *value != values[0]) {
            found.push(Difference { key: key.clone(), kind, values });
        }
    }
    // Files may say the same and flows differ all the same, as over versions.
    for kind in [Kind::Traffic, Kind::Ideal] {
        let Some((first, others)) = sides.split_first() else { break };
        if found.iter().any(|one| one.kind == kind) {
            continue;
        }
        // Who has the same flows as the first run has its text, so that no run differs by what nobody looked at.
        let mut rows: Vec<Difference> = Vec::new();
        for (at, side) in (1..).zip(others) {
            let Some((key, [ours, theirs])) = flow(first, side, kind) else { continue };
            let row = match rows.iter_mut().find(|row| row.key == key) {
                Some(row) => row,
                None => {
                    rows.push(Difference { key, kind, values: vec![ours; sides.len()] });
                    rows.last_mut().expect("it was pushed")
                }
            };
            row.values[at] = theirs;
        }
        found.extend(rows);
    }
    found.sort_by_key(|one| one.kind);
    found
}

/// Names for runs: their laws where these tell them apart, else the one setting in which they differ, else the last part of where they
/// are, else all of that.
pub fn names(runs: &[(&RunStart, String)]) -> Vec<String> {
    let apart = |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let laws = || runs.iter().map(|(about, _)| about.laws.join("+")).collect::<Vec<_>>();
    let setting = || {
        let all: Vec<_> = runs.iter().map(|(about, _)| keys(&about.resolved_toml)).collect();
        let differs = |key: &&String| all.iter().any(|of| of.get(*key) != all[0].get(*key));
        let settings = |key: &&String| Kind::of(key) == Some(Kind::Setting);
        let every: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
        let [key] = every.into_iter().filter(settings).filter(differs).collect::<Vec<_>>()[..]
        else {
            return Vec::new();
        };
        let last = key.rsplit('.').next().unwrap_or(key);
        let value = |of: &BTreeMap<String, String>| match of.get(key) {
            Some(value) => format!("{last} {}", words(value)),
            None => format!("no {last}"),
        };
        all.iter().map(value).filter(|name| name.chars().count() < 32).collect()
    };
    let last = |place: &String| place.trim_end_matches('/').rsplit('/').next().map(String::from);
    let places = || runs.iter().filter_map(|(_, place)| last(place)).collect::<Vec<_>>();
    let whole = || runs.iter().map(|(_, place)| place.clone()).collect::<Vec<_>>();
    let ways: [&dyn Fn() -> Vec<String>; 4] = [&laws, &setting, &places, &whole];
    let good = |names: &Vec<String>| apart(names) && names.len() == runs.len();
    ways.iter().map(|way| way()).find(good).unwrap_or_else(whole)
}

/// The first flow that two runs have and that differs: which, and how it is in each.
fn flow(first: &Side, other: &Side, kind: Kind) -> Option<(String, [String; 2])> {
    for run in &other.runs {
        let Some(same) = first.runs.iter().find(|one| one.seed == run.seed) else { continue };
        let flows: BTreeMap<u32, &FlowRow> = same.flows.iter().map(|f| (f.flow, f)).collect();
        for b in &run.flows {
            let Some(a) = flows.get(&b.flow) else { continue };
            let ends = |f: &FlowRow| (f.traffic, f.src, f.dst, f.size);
            let text = |f: &FlowRow| match kind {
                Kind::Ideal => human::micros(f.ideal.as_ps() as f64 / 1e6),
                _ => format!("{} from host {} to host {}", f.size, f.src, f.dst),
            };
            let differs = match kind {
                Kind::Ideal => a.ideal != b.ideal && ends(a) == ends(b),
                _ => ends(a) != ends(b),
            };
            if differs {
                return Some((format!("flow {} of seed {}", b.flow, run.seed), [text(a), text(b)]));
            }
        }
    }
    None
}

/// Why runs cannot be compared, in one sentence; `None` if they can.
pub fn refusal(sides: &[Side], differences: &[Difference]) -> Option<String> {
    let first = sides.first()?;
    for (at, side) in sides.iter().enumerate().skip(1) {
        let mut kinds: Vec<(Kind, Vec<String>)> = Vec::new();
        for one in differences.iter().filter(|one| one.kind != Kind::Setting) {
            let (theirs, ours) = (&one.values[at], &one.values[0]);
            if theirs == ours {
                continue;
            }
            let text = format!("{} is {}, not {}", one.key, short(theirs), short(ours));
            match kinds.iter_mut().find(|(kind, _)| *kind == one.kind) {
                Some((_, texts)) => texts.push(text),
                None => kinds.push((one.kind, vec![text])),
            }
        }
        if !kinds.is_empty() {
            let parts: Vec<String> = kinds
                .into_iter()
                .map(|(kind, texts)| {
                    let more = texts.len().saturating_sub(2);
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    let texts = texts.into_iter().take(2).collect::<Vec<_>>().join(", ");
                    format!("{} ({texts}{more})", kind.word())
                })
                .collect();
            return Some(format!(
                "{} and {} are not defined alike, so their numbers cannot be compared; different: {}",
                first.place,
                side.place,
                parts.join("; ")
            ));
        }
        let seeds = |side: &Side| {
            let all: Vec<String> = side.by_seed.iter().map(|one| one.seed.to_string()).collect();
            all.join(", ")
        };
        let there = |seed: u64| first.by_seed.iter().any(|one| one.seed == seed);
        let common = side.by_seed.iter().any(|one| there(one.seed));
        if !common {
            return Some(format!(
                "{} and {} have no seed in common ({}; {}), so nothing can be paired",
                first.place,
                side.place,
                seeds(first),
                seeds(side)
            ));
        }
    }
    None
}

/// A value that fits into a sentence.
pub(super) fn short(value: &str) -> String {
    const LONGEST: usize = 48;
    match value {
        "" => "absent".into(),
        _ if value.chars().count() > LONGEST => {
            value.chars().take(LONGEST - 3).chain("...".chars()).collect()
        }
        _ => crate::sweep::plain(value).into(),
    }
}

/// Values of one key so that what differs is to be seen: of tables their leaves that not all have.
pub(super) fn shortened(values: &[String]) -> Vec<String> {
    const LONGEST: usize = 160;
    let there: Vec<&str> = values.iter().map(String::as_str).collect();
    let text = |(value, own): (&String, String)| match (value.is_empty(), own.is_empty()) {
        (true, _) => "absent".into(),
        (_, true) => "-".into(),
        _ if own.chars().count() > LONGEST => {
            own.chars().take(LONGEST - 3).chain("...".chars()).collect()
        }
        _ => own,
    };
    values.iter().zip(differing(&there)).map(text).collect()
}

/// Keys of a resolved scenario with their values: headings, and a value on each line but for lists, whose further lines begin with
/// a space or end the list.
fn keys(resolved: &str) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut lists: BTreeMap<String, usize> = BTreeMap::new();
    let (mut heading, mut last) = (String::new(), String::new());
    for line in resolved.lines() {
        if let Some(list) = line.strip_prefix("[[").and_then(|l| l.strip_suffix("]]")) {
            let n = lists.entry(list.into()).or_default();
            heading = format!("{list}[{n}].");
            *n += 1;
        } else if let Some(table) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            heading = format!("{table}.");
        } else if line.starts_with([' ', ']']) {
            if let Some(value) = found.get_mut(&last) {
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(" = ") {
            last = format!("{heading}{key}");
            found.insert(last.clone(), value.into());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_record::RunRecord;
    use forebay_units::{Bytes, Span, Time};

    #[test]
    fn keys_have_the_names_that_settings_have() {
        let text = "version = 1\nstop = { time = \"1s\" }\n\n[fabric]\nkind = \"star\"\n\n[[traffic]]\nkind = \"long\"\n\n[[traffic]]\n\
                    flows = [\n    [1, 2],\n    [3, 4],\n]\nuntil = \"1ms\"\n";
        let found: Vec<(String, String)> = keys(text).into_iter().collect();
        let pairs = [
            ("fabric.kind", "\"star\""),
            ("stop", "{ time = \"1s\" }"),
            ("traffic[0].kind", "\"long\""),
            ("traffic[1].flows", "[[1, 2],[3, 4],]"),
            ("traffic[1].until", "\"1ms\""),
            ("version", "1"),
        ];
        assert_eq!(found, pairs.map(|(k, v)| (k.to_string(), v.to_string())));
    }

    #[test]
    fn long_values_show_where_they_differ() {
        let values = [
            "{ antagonist = [{ cores = 3 }], control = 1 }",
            "{ antagonist = [{ cores = 3 }], other = 1 }",
        ];
        assert_eq!(shortened(&values.map(String::from)), ["control = 1", "other = 1"]);
        assert_eq!(shortened(&["\"dctcp\"".into(), "\"reno\"".into()]), ["dctcp", "reno"]);
        assert_eq!(shortened(&["".into(), "{ k = 1 }".into()]), ["absent", "k = 1"]);
    }

    fn side(name: &str, ideal_us: u64) -> Side {
        let flow = FlowRow {
            flow: 0,
            traffic: 0,
            src: 0,
            dst: 1,
            size: Bytes::new(1000),
            start: Time::ZERO,
            delivered: None,
            acked: None,
            gave_up: None,
            ideal: Span::from_us(ideal_us),
            retransmits: 0,
            timeouts: 0,
        };
        let run = RunRecord { seed: 1, flows: vec![flow], ..RunRecord::default() };
        let about = RunStart { seeds: vec![1], ..RunStart::default() };
        Side::new(name.into(), name.into(), about, vec![run])
    }

    #[test]
    fn a_run_is_refused_for_its_own_difference_and_for_no_other() {
        let sides = [side("dctcp", 15), side("swift", 15), side("hpcc", 16), side("dcqcn", 15)];
        let found = differences(&sides);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].values, ["15.0 us", "15.0 us", "16.0 us", "15.0 us"]);
        assert_eq!(refusal(&sides[..2], &differences(&sides[..2])), None);
        assert_eq!(
            refusal(&sides, &found).unwrap(),
            "dctcp and hpcc are not defined alike, so their numbers cannot be compared; different: ideal FCT (flow 0 of seed 1 is \
             16.0 us, not 15.0 us)"
        );
    }
}
