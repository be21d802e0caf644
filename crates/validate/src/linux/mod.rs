//! The scenarios of `validation/linux/scenarios.toml`, each run as the kernel ran it.
//!
//! A row is `SCENARIO-QUANTITY`: goodput, rtt, queue, retransmits, start-retransmits, marks, share or cwnd.

mod path;

use crate::MeasuredRows;
use crate::jobs::{Cores, Job};
use crate::plot::{Line, Panel, plot};
use path::Path;
use serde::Deserialize;

/// Runs all of them. `quick` takes two repeats of each.
pub(crate) fn measure(cores: &Cores<'_>, quick: bool) -> MeasuredRows {
    let job = |path: Path| -> Job {
        let repeats = if quick { 2 } else { path.repeats };
        Box::new(move |all| compare(&path, repeats, all))
    };
    cores.run(paths().into_iter().map(job).collect())
}

/// The window of the flow whose object runs in both: simulated, and recorded in a kernel.
pub(crate) fn pictures() -> Vec<(String, String)> {
    #[derive(Deserialize)]
    struct Recording {
        repeats: Vec<ObjectRecord>,
    }
    #[derive(Deserialize)]
    struct ObjectRecord {
        course: Course,
    }
    #[derive(Deserialize)]
    struct Course {
        every_s: f64,
        cwnd: Vec<Vec<f64>>,
    }
    let text = include_str!("../../../../validation/linux/recordings/halve-one.json");
    let recording: Recording = serde_json::from_str(text).expect("it is part of the program");
    let of = &recording.repeats[0].course;
    let at = (0..).map(|nth| f64::from(nth) * of.every_s);
    let measured: Vec<(f64, f64)> = at.zip(of.cwnd[0].iter().copied()).collect();
    let path = paths().into_iter().find(|path| path.id == "halve-one").expect("it is in the file");
    let simulated = path.windows(0);
    let line = |name, points: Vec<(f64, f64)>| Line { name, points, steps: false };
    let panel = Panel {
        label: "window (packets)",
        range: (0.0, 160.0),
        lines: vec![line("simulated", simulated), line("measured", measured)],
        rules: Vec::new(),
    };
    let title = "halve.bpf.o: window of one flow, 10 Mb/s, buffer of 80 packets";
    let picture = plot(title, "time (s)", (0.0, 30.0), &[panel]);
    vec![("idea-to-server.svg".into(), picture)]
}

/// The mean of every quantity over the repeats of one path.
fn compare(path: &Path, repeats: u64, all: &mut MeasuredRows) {
    let repeats: Vec<Repeat> = (0..repeats).map(|nth| path.run(nth)).collect();
    let mut put = |quantity: &str, of: fn(&Repeat) -> f64| {
        let mean = repeats.iter().map(of).sum::<f64>() / repeats.len() as f64;
        all.insert(format!("{}-{quantity}", path.id), mean);
    };
    put("goodput", Repeat::goodput);
    put("rtt", |r| r.rtt_ms);
    put("queue", |r| r.queue);
    put("retransmits", |r| r.retransmits);
    put("start-retransmits", |r| r.start_retransmits);
    put("marks", |r| r.marks);
    put("cwnd", |r| r.cwnd);
    put("share", |r| 100.0 * r.goodput_mbps[0] / r.goodput());
}

/// What one repeat measured. Means and sums begin at `from_s`.
#[derive(Clone, Debug)]
struct Repeat {
    goodput_mbps: Vec<f64>, // of each flow
    rtt_ms: f64,            // mean of `srtt`, over time and flows
    queue: f64,             // packets, mean over time
    cwnd: f64,              // likewise, of the first flow
    retransmits: f64,
    start_retransmits: f64, // before `from_s`
    marks: f64,
}

impl Repeat {
    fn goodput(&self) -> f64 {
        self.goodput_mbps.iter().sum()
    }
}

/// The paths of the file, in its order.
fn paths() -> Vec<Path> {
    #[derive(Deserialize)]
    struct File {
        defaults: toml::Table,
        scenario: Vec<toml::Table>,
    }
    let text = include_str!("../../../../validation/linux/scenarios.toml");
    let file: File = toml::from_str(text).expect("it is part of the program");
    let path = |own: toml::Table| {
        let mut whole = file.defaults.clone();
        whole.extend(own);
        whole.try_into().expect("it is part of the program")
    };
    file.scenario.into_iter().map(path).collect()
}
