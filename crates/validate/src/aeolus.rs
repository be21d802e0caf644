//! Aeolus (SIGCOMM 2020): what it does to the completion times of ExpressPass, Homa and NDP.
//!
//! The readings stand at the top of `validation/aeolus/rows.toml`.

use crate::bench::{BenchRun, Times, mean, run_looking};
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::order::{Samples, beyond};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;

/// What Aeolus is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scheme {
    ExpressPass,
    Homa,
    Ndp,
}

/// A scheme by itself, or with Aeolus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Variant {
    scheme: Scheme,
    protects: bool,
}

/// Workloads by name, each with its arrivals in a whole run, s.
const WORKLOADS: [(&str, f64); 4] =
    [("webserver", 2e-3), ("cachefollower", 5e-3), ("websearch", 10e-3), ("datamining", 20e-3)];

/// The one under which NDP runs.
const NDP_UNDER: &str = "websearch";

/// Seeds of a whole run.
const SEEDS: u64 = 3;

/// Sizes of the testbed's messages, KB.
const MESSAGES: [u64; 4] = [20, 30, 40, 50];

/// Hosts of the testbed, and messages that each sends at once.
const HOSTS: u64 = 8;
const AT_ONCE: u64 = 16;

/// A run, by what is to be known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Case {
    Simulated { workload: usize, variant: Variant },
    Testbed { kb: u64, to_one: bool, protects: bool },
}

/// What the seeds of a case showed together.
#[derive(Debug, Default)]
struct CaseResult {
    /// Seconds that messages took, or have taken.
    took: Vec<f64>,
    unfinished: usize,
    /// Packets lost that were not unscheduled.
    scheduled_lost: f64,
}

/// Runs all rows; a tenth of the time and one seed if `quick`.
pub(crate) fn measure(cores: &Cores<'_>, quick: bool) -> MeasuredRows {
    let found: Mutex<BTreeMap<Case, CaseResult>> = Mutex::default();
    let seeds = if quick { 1 } else { SEEDS };
    let (found_by, runs) =
        (&found, cases().flat_map(|case| (1..=case.seeds(seeds)).map(move |seed| (case, seed))));
    let calls = runs.map(|(case, seed)| {
        move || {
            let (took, unfinished, scheduled_lost) = case.run(seed, if quick { 0.1 } else { 1.0 });
            let mut all = found_by.lock().expect("entering does not panic");
            let of = all.entry(case).or_default();
            of.took.extend(took);
            of.unfinished += unfinished;
            of.scheduled_lost += scheduled_lost;
        }
    });
    cores.call(calls.collect());
    enter(&found.into_inner().expect("every worker has ended"))
}

/// All cases, the longest first.
fn cases() -> impl Iterator<Item = Case> {
    let variants = |scheme| [false, true].map(|protects| Variant { scheme, protects });
    let simulated = (0..WORKLOADS.len()).rev().flat_map(move |workload| {
        let of = |scheme| variants(scheme).map(|variant| Case::Simulated { workload, variant });
        let ndp = (WORKLOADS[workload].0 == NDP_UNDER).then(|| of(Scheme::Ndp));
        of(Scheme::Homa).into_iter().chain(of(Scheme::ExpressPass)).chain(ndp.into_iter().flatten())
    });
    let testbed = MESSAGES.into_iter().flat_map(|kb| {
        [true, false].into_iter().flat_map(move |to_one| {
            [false, true].map(|protects| Case::Testbed { kb, to_one, protects })
        })
    });
    simulated.chain(testbed)
}

/// Enters all rows.
fn enter(found: &BTreeMap<Case, CaseResult>) -> MeasuredRows {
    let mut measured = MeasuredRows::new();
    let of = |workload, scheme, protects| {
        &found[&Case::Simulated { workload, variant: Variant { scheme, protects } }]
    };
    let pair = |workload, scheme| [of(workload, scheme, false), of(workload, scheme, true)];
    let each = |value: &dyn Fn(usize) -> f64| -> (f64, String) {
        let values: Vec<f64> = (0..WORKLOADS.len()).map(value).collect();
        let words =
            WORKLOADS.iter().zip(&values).map(|((name, _), value)| format!("{name} {value:.3}"));
        (values.iter().copied().fold(f64::MIN, f64::max), words.collect::<Vec<_>>().join(", "))
    };
    let lower = |workload| {
        let [alone, with] = pair(workload, Scheme::ExpressPass).map(|found| mean(&found.took));
        100.0 * (1.0 - with / alone)
    };
    let (most, words) = each(&lower);
    measured.insert_saying("expresspass-mean", most, words);
    let tails = |workload| {
        let tail = |found: &CaseResult| Samples::new(found.took.clone()).percentile(9_900).value;
        let [alone, with] = pair(workload, Scheme::Homa).map(tail);
        alone / with
    };
    let (most, words) = each(&tails);
    let fewest = (0..WORKLOADS.len()).map(|workload| of(workload, Scheme::Homa, true).took.len());
    let fewest = beyond(fewest.min().unwrap_or(0), 9_900);
    measured.insert_tail("homa-tail", most, fewest, words);
    let websearch = WORKLOADS.iter().position(|(name, _)| *name == NDP_UNDER).expect("it is one");
    let ndp = pair(websearch, Scheme::Ndp);
    let [alone, with] = ndp.map(|found| mean(&found.took));
    measured.insert_saying("ndp-mean", with / alone, unfinished(ndp));
    for (id, scheme) in [("expresspass", Scheme::ExpressPass), ("homa", Scheme::Homa)] {
        let lost = (0..WORKLOADS.len()).map(|workload| of(workload, scheme, true).scheduled_lost);
        measured.insert(format!("drops-{id}"), lost.sum());
    }
    for kb in MESSAGES {
        for (id, to_one) in [("one", true), ("many", false)] {
            let both =
                [false, true].map(|protects| &found[&Case::Testbed { kb, to_one, protects }]);
            let [alone, with] = both.map(|found| mean(&found.took));
            let remark = format!("{:.2} ms over {:.2} ms", alone * 1e3, with * 1e3);
            measured.insert_saying(format!("testbed-{id}-{kb}"), alone / with, remark);
        }
    }
    measured
}

fn unfinished(of: [&CaseResult; 2]) -> String {
    let [alone, with] = of.map(|found| found.unfinished);
    format!("{alone} messages not done, with Aeolus {with}")
}

impl Case {
    /// Seeds, of so many; the testbed draws nothing that matters.
    fn seeds(self, most: u64) -> u64 {
        if matches!(self, Self::Simulated { .. }) { most } else { 1 }
    }

    /// Runs it for `part` of its arrivals. Returns times of messages, how many are not done, and what is lost but for unscheduled packets.
    fn run(self, seed: u64, part: f64) -> (Vec<f64>, usize, f64) {
        let (text, arrivals) = match self {
            Self::Simulated { workload, variant } => {
                let (name, arrivals) = WORKLOADS[workload];
                (simulated(name, variant, arrivals * part), arrivals * part)
            }
            Self::Testbed { kb, to_one, protects } => (testbed(kb, to_one, protects), 0.3),
        };
        let warm = if matches!(self, Self::Simulated { .. }) { 0.1 * arrivals } else { 0.0 };
        let seen =
            run_looking("aeolus", &text, seed, Times::by_flows(warm, 3.0 * arrivals), [], |_| {});
        let lost = seen.lost() - seen.lost_unscheduled();
        (took(&seen, warm), unfinished_in(&seen), lost)
    }
}

/// Seconds that messages took that began after the warm-up, or that they have taken.
fn took(seen: &BenchRun, warm: f64) -> Vec<f64> {
    let begun = seen.record.flows.iter().filter(|flow| flow.start.as_secs_f64() >= warm);
    let age = |flow: &forebay_record::FlowRow| seen.record.end.since(flow.start);
    begun.map(|flow| flow.fct().unwrap_or_else(|| age(flow)).as_secs_f64()).collect()
}

fn unfinished_in(seen: &BenchRun) -> usize {
    seen.record.flows.iter().filter(|flow| flow.delivered.is_none()).count()
}

/// Switches and hosts of a variant, up to the sizes of packets. `classes`, `limit`, `window` and the rest are those of the fabric.
fn stages(variant: Variant, levels: u32, limit: &str, window: &str, resend: &str) -> String {
    let Variant { scheme, protects } = variant;
    let every: Vec<u32> = (0..levels).collect();
    let drops = |classes: &[u32]| match protects {
        true => format!(
            "ecn = [{{ classes = {classes:?}, k = \"6KB\", not_ect = \"drop\", ect = \"pass\" }}]\n"
        ),
        false => "ecn = \"off\"\n".into(),
    };
    let protect =
        if protects { format!("protect = true\nwindow = \"{window}\"\n") } else { String::new() };
    match scheme {
        Scheme::ExpressPass => format!(
            "routing = \"ecmp-symmetric\"\n[fabric.switch]\nclasses = 2\nport_limit = \"384500B\"\nbuffer = \"none\"\n{}\
             credits = {{ class = 1, share = \"84/1622\", burst = \"168B\", limit = \"672B\" }}\n\
             [transport]\nkind = \"receiver-driven\"\nlaw = \"expresspass\"\n{protect}",
            drops(&[0])
        ),
        Scheme::Homa => format!(
            "routing = \"spray\"\n[fabric.switch]\nclasses = 8\nport_limit = \"{limit}\"\nbuffer = \"none\"\n{}[host]\nnic = \"srpt\"\n\
             [transport]\nkind = \"receiver-driven\"\nlaw = \"homa\"\nlevels = {levels}\nack_class = 7\nresend_after = \"{resend}\"\n\
             window = \"{window}\"\n{}",
            drops(&every),
            if protects { "protect = true\n" } else { "" }
        ),
        Scheme::Ndp => {
            let queues = match protects {
                true => format!("port_limit = \"{limit}\"\n"),
                false => "turns = { high = 10, low = 1 }\nlimits = [{ class = 0, size = \"8 packets\", over = { trim_to = \"46B\", class = 1 } }, \
                          { class = 1, size = \"12304B\" }]\n"
                    .into(),
            };
            format!(
                "routing = \"spray\"\n[fabric.switch]\nclasses = 2\nbuffer = \"none\"\n{queues}{}\
                 [transport]\nkind = \"receiver-driven\"\nlaw = \"ndp\"\nack_class = 1\nwindow = \"{window}\"\n{}",
                drops(&[0]),
                if protects { "protect = true\n" } else { "" }
            )
        }
    }
}

const PACKETS: &str = "mss = \"1460B\"\nheader = \"40B\"\nack_size = \"46B\"\n";

/// A simulated run under a workload.
fn simulated(workload: &str, variant: Variant, arrivals: f64) -> String {
    format!(
        "[fabric]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 8\nhosts_per_leaf = 8\nwire_overhead = \"38B\"\n\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n{}{PACKETS}\
         [[traffic]]\nkind = \"poisson\"\nsizes = \"{workload}\"\nload = 0.4\nload_ref = \"host\"\nuntil = \"{}us\"\n",
        stages(variant, 8, "200000B", "107500B", "2ms"),
        arrivals * 1e6
    )
}

/// Messages on the testbed, all at once: of seven hosts to one, or of each to the seven others in turn.
fn testbed(kb: u64, to_one: bool, protects: bool) -> String {
    let mut flows = String::new();
    for from in u64::from(to_one)..HOSTS {
        for nth in 0..AT_ONCE {
            let to = if to_one { 0 } else { (from + 1 + nth % (HOSTS - 1)) % HOSTS };
            let _ = writeln!(
                flows,
                "  {{ from = \"host[{from}]\", to = \"host[{to}]\", size = \"{kb}KB\", at = \"0s\" }},"
            );
        }
    }
    let variant = Variant { scheme: Scheme::Homa, protects };
    format!(
        "[fabric]\nkind = \"star\"\nhosts = {HOSTS}\nwire_overhead = \"38B\"\nhost_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n{}{PACKETS}\
         [[traffic]]\nkind = \"list\"\nflows = [\n{flows}]\n",
        stages(variant, 2, "200000B", "50000B", "10ms")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_a_scenario_and_comes_once() {
        let all: Vec<Case> = cases().collect();
        assert_eq!(all.len(), 4 * 4 + 2 + 2 * 2 * 4);
        for case in &all {
            let text = match *case {
                Case::Simulated { workload, variant } => {
                    simulated(WORKLOADS[workload].0, variant, 1e-3)
                }
                Case::Testbed { kb, to_one, protects } => testbed(kb, to_one, protects),
            };
            let text = format!("version = 1\nstop = {{ time = \"1ms\" }}\n{text}");
            forebay_scenario::text("x", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(all.iter().filter(|other| *other == case).count(), 1);
        }
    }
}
