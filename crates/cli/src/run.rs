//! `forebay run`: a scenario in, a results directory out.

use crate::args::Run;
use crate::failure::Failure;
use crate::progress::{Meter, State};
use crate::seeds::{End, View, Work, side_by_side};
use crate::{about, clock, expect, human, interrupt, say};
use forebay_record::{Finished, IfExists, RunDir, RunRecord, Volatile};
use forebay_scenario::model::Scenario;
use forebay_scenario::workload::{Hosts, forecast};
use forebay_sim::{Options, Outcome};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The verb.
pub fn run(args: &Run) -> Result<(), Failure> {
    let mut loaded = args.input.load()?;
    if let Some(seeds) = args.seeds.chosen()? {
        loaded.scenario.seeds = seeds;
    }
    let bands = expect::bands(&args.input.name(), &loaded.expect)?;
    let scenario = &loaded.scenario;
    let about = about::about(scenario, &loaded.expect);
    let place = Place::choose(args, &scenario.name)?;
    let dir = RunDir::create(&place.path, &about, place.if_exists)?;
    interrupt::listen();

    let meter = Meter::new(args.show);
    if !loaded.sweep.is_empty() {
        let points: usize = loaded.sweep.iter().map(|(_, values)| values.len()).product();
        say::note(&format!(
            "the [sweep] of {} is left out here; \"forebay sweep\" runs its {points} points",
            args.input.name()
        ));
    }
    let options = Options { threads: args.threads, ..Options::default() };
    let jobs = args.jobs.unwrap_or_else(|| cores() / args.threads).clamp(1, scenario.seeds.len());
    let facts = json!({
        "scenario": scenario.name, "seeds": scenario.seeds, "jobs": jobs, "threads": args.threads,
        "out": place.path,
    });
    meter.event("start", &facts);
    let mut recorder =
        Recorder { dir: Some(dir), runs: Vec::new(), said: Vec::new(), failure: None };
    let mut progress = Forecast::of(scenario).progress(scenario, meter);
    let work = Work { scenario, options, jobs };
    let end = side_by_side(&work, |view| progress.tick(view), |outcome| recorder.take(outcome));
    progress.meter.clear();

    match end {
        End::Undeliverable => Err(recorder.failure.unwrap_or(Failure::NobodyReads)),
        End::Refused(refusal) => {
            place.undo(recorder);
            Err(Failure::Input(format!("{}: {refusal}", args.input.name())))
        }
        End::Bug if recorder.runs.is_empty() => {
            place.undo(recorder);
            Err(Failure::Run("no results were written".into()))
        }
        End::All | End::Interrupted | End::Bug => {
            let (finished, runs) = recorder.finish(args, &progress.meter, jobs)?;
            tell(args, &place, &finished, &progress.meter)?;
            match end {
                End::Interrupted => Err(Failure::Interrupted(interrupted(&place, &runs, scenario))),
                End::Bug => Err(Failure::Run(format!(
                    "the run is not complete; {} has the {} before the failure",
                    place.path.display(),
                    human::counted(runs.len(), "seed")
                ))),
                _ => {
                    let misses = expect::misses(&bands, &about, &finished.summary, &runs);
                    missed(&misses, bands.len())
                }
            }
        }
    }
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Exit code 3, after a sentence for each miss.
pub fn missed(misses: &[String], bands: usize) -> Result<(), Failure> {
    for miss in misses.iter().take(misses.len().saturating_sub(1)) {
        say::error(miss);
    }
    match misses.last() {
        None => Ok(()),
        Some(last) if misses.len() == 1 && bands == 1 => Err(Failure::Missed(last.clone())),
        Some(last) => {
            say::error(last);
            Err(Failure::Missed(format!("{} of {bands} expected bands missed", misses.len())))
        }
    }
}

fn interrupted(place: &Place, runs: &[RunRecord], scenario: &Scenario) -> String {
    let whole = runs.iter().filter(|run| !run.interrupted).count();
    let cut: Vec<String> = runs
        .iter()
        .filter(|run| run.interrupted)
        .map(|run| format!("seed {} until {}", run.seed, human::virtual_time(run.end.as_ps())))
        .collect();
    let cut = if cut.is_empty() { String::new() } else { format!(", {}", cut.join(", ")) };
    format!(
        "interrupted: {whole} of {} complete{cut}; what is in {} is valid and partial",
        human::counted(scenario.seeds.len(), "seed"),
        place.path.display()
    )
}

/// Prints what came out, the path of the report last.
fn tell(args: &Run, place: &Place, finished: &Finished, meter: &Meter) -> Result<(), Failure> {
    let summary = &finished.summary;
    if !args.show.quiet {
        for empty in &finished.empty {
            say::note(&empty.to_string());
        }
    }
    meter.event("end", &json!({ "status": summary.status, "out": place.path }));
    if args.json {
        return say::json(summary);
    }
    if args.show.quiet {
        return Ok(());
    }
    let mut text = summary.render(say::stdout_width(), say::stdout_colour());
    text.push_str(&format!("{:<10}{}\n", "report", finished.report.display()));
    say::data(&text)
}

/// Where results go.
struct Place {
    path: PathBuf,
    if_exists: IfExists,
    /// Whether the directory is new, so that it may go again if nothing comes of the run.
    fresh: bool,
}

impl Place {
    /// `--out` as it is; else `results/NAME`, or the first of `results/NAME-2` and so on that is free. Nothing is
    /// ever replaced without `--force`.
    fn choose(args: &Run, name: &str) -> Result<Self, Failure> {
        let if_exists = if args.force { IfExists::Replace } else { IfExists::Refuse };
        if let Some(out) = &args.out {
            if !args.force && out.join("manifest.json").exists() {
                return Err(Failure::Input(format!(
                    "{} holds a run already; name another directory, or add --force to replace it",
                    out.display()
                )));
            }
            return Ok(Self { path: out.clone(), if_exists, fresh: !out.exists() });
        }
        let base = Path::new("results").join(file_name(name));
        if args.force {
            let fresh = !base.exists();
            return Ok(Self { path: base, if_exists, fresh });
        }
        std::fs::create_dir_all("results")
            .map_err(|error| Failure::io("create the folder results here", &error))?;
        for n in 1..10_000 {
            let path = if n == 1 {
                base.clone()
            } else {
                Path::new("results").join(format!("{}-{n}", file_name(name)))
            };
            // Making it is what claims it, so two runs that begin together get two directories.
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, if_exists, fresh: true }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(Failure::io(format!("create {}", path.display()), &error));
                }
            }
        }
        Err(Failure::Input(format!("{} is taken many times over; use --out", base.display())))
    }

    /// Removes a directory that is ours and holds no results.
    fn undo(&self, recorder: Recorder) {
        drop(recorder);
        if self.fresh {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// A title as the name of a folder.
pub fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    let name: String = name.trim().chars().take(80).map(safe).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "run".into() } else { name.into() }
}

/// Takes simulations in seed order and writes them down.
struct Recorder {
    dir: Option<RunDir>,
    runs: Vec<RunRecord>,
    said: Vec<String>,
    failure: Option<Failure>,
}

impl Recorder {
    fn take(&mut self, outcome: Outcome) -> bool {
        let seed = outcome.record.seed;
        for warning in &outcome.warnings {
            if !self.said.contains(warning) {
                say::warning(warning);
                self.said.push(warning.clone());
            }
        }
        if let Some(stall) = &outcome.stall {
            say::warning(&format!("seed {seed} stalled: {stall}"));
        }
        let Some(dir) = &mut self.dir else { return false };
        match dir.add(&outcome.record) {
            Ok(()) => {
                self.runs.push(outcome.record);
                true
            }
            Err(error) => {
                self.failure = Some(error.into());
                false
            }
        }
    }

    fn finish(
        self,
        args: &Run,
        meter: &Meter,
        jobs: usize,
    ) -> Result<(Finished, Vec<RunRecord>), Failure> {
        let volatile = volatile(meter.elapsed().as_secs_f64(), jobs * args.threads);
        let dir = self.dir.expect("the directory is there until the run is finished");
        Ok((dir.finish(&self.runs, volatile)?, self.runs))
    }
}

/// What may differ between two runs that computed the same.
pub fn volatile(wall_s: f64, threads: usize) -> Volatile {
    let started = clock::utc_before(wall_s);
    let command: Vec<String> =
        std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    Volatile {
        wall_s,
        cpu_s: clock::user_cpu().map(|cpu| cpu.as_secs_f64()),
        packet_hops_per_s: None,
        host: std::fs::read_to_string("/proc/sys/kernel/hostname")
            .unwrap_or_default()
            .trim()
            .into(),
        threads: threads as u32,
        started_utc: started,
        command: command.join(" "),
    }
}

/// How many flows a seed will have.
pub struct Forecast {
    pub flows: u64,
    /// Whether some of them never end.
    pub endless: bool,
    /// Whether the number is an expectation.
    pub expected: bool,
}

impl Forecast {
    pub fn of(scenario: &Scenario) -> Self {
        use forebay_scenario::model::TrafficKind;
        let each = forecast(scenario, &Hosts::of(scenario));
        let endless = |kind: &TrafficKind| matches!(kind, TrafficKind::Long { .. });
        let finite = each.iter().zip(&scenario.traffic).filter(|(_, t)| !endless(&t.kind));
        Self {
            flows: finite.map(|(n, _)| u64::try_from(*n).unwrap_or(u64::MAX)).sum(),
            endless: scenario.traffic.iter().any(|t| endless(&t.kind)),
            expected: scenario
                .traffic
                .iter()
                .any(|t| matches!(t.kind, TrafficKind::Poisson { .. })),
        }
    }

    fn progress(self, scenario: &Scenario, meter: Meter) -> SeedProgress {
        let seeds = scenario.seeds.len();
        let state = State {
            name: scenario.name.clone(),
            parts: "seeds",
            parts_all: seeds,
            to_simulate_ps: u128::from(scenario.stop.time.as_ps()) * seeds as u128,
            flows_all: (self.flows > 0).then(|| self.flows.saturating_mul(seeds as u64)),
            flows_expected: self.expected,
            flows_end_it: scenario.stop.flows && !self.endless,
            ..State::default()
        };
        SeedProgress { meter, state, each_ps: scenario.stop.time.as_ps() }
    }
}

/// Progress of seeds side by side.
struct SeedProgress {
    meter: Meter,
    state: State,
    /// Virtual time of one seed.
    each_ps: u64,
}

impl SeedProgress {
    fn tick(&mut self, view: &View<'_>) {
        let mut state = self.state.clone();
        for (watch, ended) in view.watches.iter().zip(view.ended) {
            let now = if *ended { self.each_ps } else { watch.now_ps.load(Ordering::Relaxed) };
            state.simulated_ps += u128::from(now.min(self.each_ps));
            state.flows_done += watch.done.load(Ordering::Relaxed);
            state.packet_hops += watch.pushed.load(Ordering::Relaxed);
            state.parts_done += usize::from(*ended);
        }
        state.stopping = interrupt::asked();
        self.meter.tick(&state);
    }
}
