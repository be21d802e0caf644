//! The distributed sort, reduced to its shuffle: each of 38 hosts sends as much to each other at once.

use super::rack::{HOST, JITTER};
use super::settings::{Law, Settings, Stack};
use crate::bench::run;
use crate::measured::MeasuredRows;

/// Time in seconds, retransmissions, timeouts.
type Job = [f64; 3];

pub(super) fn measure(settings: &Settings, quick: bool, all: &mut MeasuredRows) {
    let cubic = shuffle("law = \"cubic\"\n", settings, quick);
    let over = |job: Job| -> Job { std::array::from_fn(|i| job[i] / cubic[i]) };
    for law in Law::BOTH {
        let job = over(shuffle(&law.keys(settings, ""), settings, quick));
        for (what, value) in ["time", "retransmits", "timeouts"].iter().zip(job) {
            all.insert(format!("sort-{}-{what}", law.id()), value);
        }
        if law == Law::Nv {
            all.insert("sort-order-time", job[0]);
            all.insert("sort-order-retransmits", job[1]);
            all.insert("sort-order-timeouts", job[2]);
        }
    }
}

fn shuffle(law: &str, settings: &Settings, quick: bool) -> Job {
    let stack = Stack { host: HOST, jitter: JITTER, ..Stack::new(Law::Nv, settings) }.text_of(law);
    let size = if quick { "1MB" } else { "4MB" };
    let text = format!(
        "[fabric]\nkind = \"star\"\nhosts = 38\nwire_overhead = \"24B\"\nhost_link = {{ rate = \"1Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\nbuffer = \"none\"\nport_limit = \"256KB\"\necn = \"off\"\nrelease = \"start\"\n\
         {stack}[[traffic]]\nkind = \"all-to-all\"\nsize = \"{size}\"\n"
    );
    let seen = run("tcp-nv-sort", &text, 0.0, 30.0);
    let flows = &seen.record.flows;
    let last = flows.iter().map(|f| f.delivered.unwrap_or(seen.record.end)).max();
    let sum =
        |of: fn(&forebay_record::FlowRow) -> u32| flows.iter().map(|f| f64::from(of(f))).sum();
    [last.map_or(0.0, |at| at.as_ps() as f64 / 1e12), sum(|f| f.retransmits), sum(|f| f.timeouts)]
}
