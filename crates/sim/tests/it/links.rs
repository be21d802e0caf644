//! Links over time: they add up to what ports counted at the end, on any number of threads, and change no result.

use crate::common::{run, scenario};
use forebay_record::{LinksRow, PortRow, RunRecord};
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Outputs, Watch, simulate_into};

const FABRIC: &str = r#"
version = 1
name = "t"
seeds = [1]
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = { rate = "100Gbps", delay = "1us" }
spine_link = { rate = "100Gbps", delay = "1us" }
[transport]
kind = "tcp"
law = "dctcp"
mss = "1460B"
rto_min = "1ms"
"#;

/// Seven hosts send to one. Its port drops and marks.
const INCAST: &str = r#"
[fabric.switch]
buffer = { size = "200KB" }
ecn = { k = "60KB" }
[[traffic]]
kind = "incast"
to = "leaf[0].host[0]"
fan_in = 7
size = "1MB"
"#;

/// NDP trims what does not fit; ExpressPass drops credits that do not.
const TRIMS: &str = include_str!("../../../../scenarios/ndp.toml");
const CREDITS: &str = include_str!("../../../../scenarios/expresspass-parking-lot.toml");

fn with_links(scenario: &Scenario, threads: usize) -> RunRecord {
    let outputs = Outputs { links: true, ..Outputs::default() };
    let options = Options { threads, ..Options::default() };
    simulate_into(scenario, 1, options, &Watch::default(), outputs).unwrap().record
}

fn of<'a>(record: &'a RunRecord, port: &PortRow) -> &'a LinksRow {
    let is = |row: &&LinksRow| (&row.node, &row.peer) == (&port.node, &port.peer);
    record.links.iter().find(is).expect("each link has a row")
}

#[test]
fn they_add_up_and_change_nothing() {
    for stop in [r#"{ time = "1s", flows = "all" }"#, r#"{ time = "700us", flows = "ignore" }"#] {
        let scenario = scenario(&format!("stop = {stop}\n{FABRIC}{INCAST}"));
        let record = with_links(&scenario, 1);
        assert_eq!(record.links, with_links(&scenario, 2).links, "{stop}");
        let bare = run(&scenario, 1, Options::default()).record;
        assert_eq!((bare.digest, bare.end, bare.links.len()), (record.digest, record.end, 0));
        let end = record.end.as_ps() as f64;
        let mut dropped = 0.0;
        for port in &record.ports {
            let row = of(&record, port);
            let every = row.every.as_ps() as f64;
            let length = |i: usize| every.min(end - every * i as f64);
            let busy: f64 =
                row.busy.iter().enumerate().map(|(i, share)| f64::from(*share) * length(i)).sum();
            let expected = port.busy.unwrap().as_ps() as f64;
            let rounding = 0.0006 * end;
            assert!((busy - expected).abs() < rounding, "{row:?} and {port:?}");
            let sum = |list: &[f32]| list.iter().sum::<f32>();
            assert_eq!(sum(&row.dropped) as u64, port.dropped_packets + port.lost_packets);
            assert_eq!(sum(&row.marked) as u64, port.marked_packets);
            let longest = row.queue.iter().copied().fold(0.0, f32::max);
            assert!(longest <= port.max_queue.get() as f32);
            dropped += sum(&row.dropped);
            let intervals = (end / every).ceil() as usize;
            assert!((20..=200).contains(&intervals), "{intervals}");
            assert!(row.busy.is_empty() || row.busy.len() == intervals);
        }
        assert!(dropped > 0.0 && record.links.iter().any(|row| !row.marked.is_empty()));
    }
}

#[test]
fn trims_and_dropped_credits_add_up() {
    for (text, trims) in [(TRIMS, true), (CREDITS, false)] {
        let record = with_links(&scenario(text), 1);
        let mut all = 0;
        for port in &record.ports {
            let row = of(&record, port);
            let sum = |list: &[f32]| list.iter().sum::<f32>() as u64;
            assert_eq!(sum(&row.trimmed), port.trimmed_packets);
            assert_eq!(sum(&row.refused_credits), port.dropped_credits);
            all += if trims { port.trimmed_packets } else { port.dropped_credits };
        }
        assert!(all > 100, "{all}: {text}");
    }
}
