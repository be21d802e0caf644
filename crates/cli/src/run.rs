//! `forebay run`: a scenario in, a results directory out.

use crate::agent::{AgentLoss, Lockstep};
use crate::args::Run;
use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::machine::cores;
use crate::progress::{Meter, Notice};
use crate::surroundings::RunSurroundings;
use crate::{about, clock, expect, human, interrupt, itself, machine, place, say};
use forebay_record::{RunDir, RunRecord, Volatile, WrittenRun};
use forebay_scenario::model::Scenario;
use forebay_scenario::pitfalls::pitfalls;
use forebay_scenario::plan::Plan;
use forebay_scenario::presets::{self, Preset};
use forebay_sim::Options;
use forebay_study::estimate::Needs;
use forebay_study::progress::State;
use forebay_study::seeds::{End, SeedOutput, View, Work, side_by_side};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// The verb.
pub fn run(args: &Run) -> Result<(), Failure> {
    let mut loaded = args.load()?;
    loaded.notes.iter().for_each(|note| say::note(note));
    if let Some(seeds) = args.seeds.chosen()? {
        loaded.scenario.seeds = seeds;
    }
    if let Some(flow) = args.law_log {
        let logged = loaded.scenario.output.law_log.get_or_insert_default();
        logged.flows.retain(|other| *other != flow);
        logged.flows.push(flow);
    }
    let bands = expect::bands(&args.input.name(), &loaded.expect)?;
    let scenario = &loaded.scenario;
    let about = about::about(scenario, &loaded.expect);
    let plan = Plan::of(&scenario.fabric);
    let estimate = Estimate::of(scenario, &plan);
    let near = args.out.as_deref().unwrap_or(Path::new("results"));
    let here = machine::here(near);
    if let Some(why) = here.hopeless(scenario, &estimate) {
        return Err(Failure::Input(format!("{}: {why}", args.input.name())));
    }
    let estimate = here.measured(scenario, &plan, estimate);
    let meter = Meter::new(args.show); // its clock begins with the run
    let threads = threads(args.threads);
    let jobs = args.jobs.unwrap_or_else(|| cores() / threads).clamp(1, scenario.seeds.len());
    let needs = Needs::of_run(&estimate, scenario.seeds.len(), jobs);
    let too_small = here
        .gate(&needs, args.over_budget, "--over-budget")
        .map_err(|why| Failure::Input(format!("{}: {why}", args.input.name())))?;
    let pairs: Vec<String> = pitfalls(scenario, &plan).into_iter().map(|one| one.text).collect();
    too_small.iter().chain(&pairs).for_each(|warning| say::warning(warning));
    interrupt::listen(); // before there is an agent or a folder to leave behind
    let agent = args.agent.then(|| lockstep(scenario)).transpose()?.flatten();
    let (dir, place) = place::begin(args.out.as_deref(), args.force, &scenario.name, &about)?;
    let at = dir.path().to_path_buf();

    if !loaded.sweep.is_empty() {
        let points: usize = loaded.sweep.iter().map(|(_, values)| values.len()).product();
        say::note(&format!(
            "the [sweep] of {} is left out here; \"forebay sweep\" runs its {points} points",
            args.input.name()
        ));
    }
    if let Some(note) =
        args.input.preset.as_deref().and_then(presets::preset).and_then(Preset::note)
    {
        say::note(note);
    }
    let options = Options { threads, ..Options::default() };
    let facts = json!({
        "scenario": scenario.name, "seeds": scenario.seeds, "jobs": jobs, "threads": threads,
        "out": place,
    });
    meter.event("start", &facts);
    meter.sentence(&format!(
        "{}: {}, {jobs} at a time, into {}; about {} of one core",
        scenario.name,
        human::counted(scenario.seeds.len(), "seed"),
        place.display(),
        human::duration(estimate.cpu_s * scenario.seeds.len() as f64)
    ));
    let mut recorder = Recorder {
        dir: Some(dir),
        runs: Vec::new(),
        said: pairs,
        stalled: Vec::new(),
        threads,
        failure: None,
    };
    let (mut meter, state) = (meter, State::of(scenario, &estimate));
    let mut here = RunSurroundings::new(&at, &scenario.name, Some(&about));
    here.agent = agent.clone();
    let work = Work { scenario, options, jobs, around: &here };
    let mut notice = Notice::new(at.clone(), scenario);
    let tick = |view: &View<'_>| {
        let state = State { stopping: interrupt::requested(), ..state.at(view) };
        meter.tick(&state);
        notice.tick(&state, view);
    };
    let end = side_by_side(&work, tick, |left| recorder.take(left));
    meter.clear();
    if let Some(lost) = agent.and_then(|agent| agent.lost()) {
        recorder.abandon();
        return Err(match lost {
            AgentLoss::Gone => Failure::Run(
                "the agent ended before the simulation did; no results are kept".into(),
            ),
            AgentLoss::Silent => Failure::Interrupted(
                "interrupted while the agent did not answer; no results are kept".into(),
            ),
        });
    }

    // An interrupt may come while the last rows are written.
    let cut = recorder.runs.iter().any(|run| run.interrupted);
    let end = if matches!(end, End::All) && cut { End::Interrupted } else { end };
    match end {
        End::Undeliverable => Err(recorder.failure.unwrap_or(Failure::NobodyReads)),
        End::Refused(refusal) => {
            recorder.abandon();
            Err(Failure::Input(format!("{}: {refusal}", args.input.name())))
        }
        End::Bug if recorder.runs.is_empty() => {
            recorder.abandon();
            Err(Failure::Run("no results were written".into()))
        }
        End::Interrupted if recorder.runs.is_empty() => {
            recorder.abandon();
            let text = "interrupted before the first event, while flows were laid out; nothing was written";
            Err(Failure::Interrupted(text.into()))
        }
        End::All | End::Interrupted | End::Bug => {
            let stalled = std::mem::take(&mut recorder.stalled);
            let left_out = recorder.dir.as_ref().map_or_else(Vec::new, RunDir::left_out);
            for (table, rows) in left_out {
                say::note(&format!(
                    "{table}: {} after the interrupt were left out",
                    human::counted(rows as usize, "row")
                ));
            }
            let (finished, runs) = recorder.finish(&meter, jobs * threads)?;
            print(args, &place, &finished, &meter)?;
            match end {
                End::Interrupted => Err(Failure::Interrupted(interrupted(&place, &runs, scenario))),
                End::Bug => Err(Failure::Run(format!(
                    "the run is not complete; {} has the {} before the failure",
                    place.display(),
                    human::counted(runs.len(), "seed")
                ))),
                _ => {
                    let misses = expect::misses(&bands, &about, &finished.summary, &runs);
                    let missed = missed(&misses, bands.len());
                    if stalled.is_empty() {
                        return missed;
                    }
                    if let Err(missed) = missed {
                        say::failure(&missed);
                    }
                    Err(Failure::Run(stopped_short(&place, &stalled, scenario)))
                }
            }
        }
    }
}

/// The agent for a scenario's host laws; none where there is no such law.
fn lockstep(scenario: &Scenario) -> Result<Option<Arc<Lockstep>>, Failure> {
    if !scenario.host.has_control() {
        say::note(
            "--agent: no host of this scenario has a law (host.memory.control); no agent is started",
        );
        return Ok(None);
    }
    if scenario.output.law_log.as_ref().is_some_and(|logged| !logged.hosts.is_empty()) {
        return Err(Failure::Input(
            "--agent: the laws of hosts run in another process, which writes no output.law_log; leave out one of them"
                .into(),
        ));
    }
    Lockstep::start().map(|agent| Some(Arc::new(agent)))
}

/// Threads for one simulation: more than there are cores only wait for each other.
pub fn threads(wanted: usize) -> usize {
    let cores = cores();
    if wanted > cores {
        say::note(&format!(
            "--threads {wanted}: this machine has {}, so {cores} are used",
            human::counted(cores, "core")
        ));
    }
    wanted.min(cores)
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

fn stopped_short(place: &Path, stalled: &[u64], scenario: &Scenario) -> String {
    let seeds: Vec<String> = stalled.iter().map(u64::to_string).collect();
    format!(
        "{} of {} stalled ({}); results in {} end there",
        stalled.len(),
        human::counted(scenario.seeds.len(), "seed"),
        seeds.join(", "),
        place.display()
    )
}

fn interrupted(place: &Path, runs: &[RunRecord], scenario: &Scenario) -> String {
    let whole = runs.iter().filter(|run| !run.interrupted).count();
    let cut: Vec<String> = runs
        .iter()
        .filter(|run| run.interrupted)
        .map(|run| {
            format!("seed {} until {}", run.seed, human::micros(run.end.as_ps() as f64 / 1e6))
        })
        .collect();
    let cut = if cut.is_empty() { String::new() } else { format!(", {}", cut.join(", ")) };
    format!(
        "interrupted: {whole} of {} complete{cut}; results in {} are valid and partial",
        human::counted(scenario.seeds.len(), "seed"),
        place.display()
    )
}

/// Prints what came out, the path of the report last.
fn print(args: &Run, place: &Path, finished: &WrittenRun, meter: &Meter) -> Result<(), Failure> {
    let summary = &finished.summary;
    if !args.show.quiet {
        for empty in &finished.empty {
            say::note(&empty.to_string());
        }
    }
    meter.event("end", &json!({ "status": summary.status, "out": place }));
    meter.sentence(&format!(
        "{}: ended after {}",
        summary.scenario,
        human::duration(meter.elapsed().as_secs_f64())
    ));
    if args.json {
        return say::json(summary);
    }
    if args.show.quiet {
        return Ok(());
    }
    let mut text = summary.render(say::stdout_width(), say::stdout_colour());
    if !finished.captures.is_empty() {
        let frames = finished.captures.iter().map(|c| c.frames).sum::<u64>();
        let files = human::counted(finished.captures.len(), "file");
        let folder = place.join(forebay_record::capture::FOLDER);
        text.push_str(&format!(
            "{:<10}{} ({files}, {frames} frames)\n",
            "captures",
            folder.display()
        ));
    }
    text.push_str(&format!("{:<10}{}\n", "report", finished.report.display()));
    say::data(&text)
}

/// Takes simulations in seed order and writes them down.
struct Recorder {
    dir: Option<RunDir>,
    runs: Vec<RunRecord>,
    said: Vec<String>,
    stalled: Vec<u64>, // seeds
    threads: usize,    // of each simulation
    failure: Option<Failure>,
}

impl Recorder {
    /// Nothing has come of the run.
    fn abandon(self) {
        if let Some(dir) = self.dir {
            dir.abandon();
        }
    }

    fn take(&mut self, left: SeedOutput) -> bool {
        let SeedOutput { mut outcome, captures } = left;
        let seed = outcome.record.seed;
        for warning in &outcome.warnings {
            if !self.said.contains(warning) {
                say::warning(warning);
                self.said.push(warning.clone());
            }
        }
        let processes = outcome.execution.processes;
        if self.threads > processes {
            let word = format!(
                "--threads {}: this fabric is {}, so no more threads than that work",
                self.threads,
                human::counted(processes, "logical process")
            );
            if !self.said.contains(&word) {
                say::note(&word);
                self.said.push(word);
            }
        }
        if let Some(stall) = &outcome.stall {
            say::warning(&format!("seed {seed} stalled: {stall}"));
            self.stalled.push(seed);
        }
        let Some(dir) = &mut self.dir else { return false };
        let added = dir.add_until(&mut outcome.record, &interrupt::requested);
        match added.and_then(|()| dir.captured(captures)) {
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
        meter: &Meter,
        threads: usize,
    ) -> Result<(WrittenRun, Vec<RunRecord>), Failure> {
        let volatile = volatile(meter.elapsed().as_secs_f64(), threads);
        let dir = self.dir.expect("the directory is there until the run is finished");
        Ok((dir.finish(&self.runs, volatile)?, self.runs))
    }
}

/// What may differ between two runs that computed the same.
pub fn volatile(wall_s: f64, threads: usize) -> Volatile {
    let started = clock::utc_before(wall_s);
    let command: Vec<String> = itself::typed().collect();
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
