//! `forebay export`: results as files with typed columns or a Perfetto trace, and scenarios and results in the formats of the public HPCC simulator.

use crate::args::{Completion, Export, Exported, Ideal};
use crate::failure::Failure;
use crate::source::recorded;
use crate::{itself, say};
use forebay_record::columnar::{self, Format};
use forebay_record::{FlowRow, RunDir, RunRecord, RunStart, perfetto, write_whole};
use forebay_scenario::export;
use forebay_scenario::identity::{address, numbers};
use forebay_scenario::import::Paths;
use forebay_scenario::model::Scenario;
use forebay_scenario::plan::Plan;
use forebay_scenario::workload::{self, Hosts, Table};
use forebay_units::Time;
use std::fmt::Write;

/// The verb.
pub fn export(args: &Export) -> Result<(), Failure> {
    let text = match args.what {
        Exported::Topology => export::topology(&scenario(args)?).text(),
        Exported::Flows => {
            let scenario = scenario(args)?;
            let table = table(&scenario, seed(args, &scenario))?;
            let flows = export::flows(&scenario, &table);
            let others = table.flows.len() - flows.0.len();
            if others > 0 {
                say::warning(&format!(
                    "{others} flows that wait for others or have no end are left out: the format has none"
                ));
            }
            flows.text()
        }
        Exported::Paths => paths(args)?,
        Exported::Fct => fct(args)?,
        Exported::Perfetto => return perfetto(args),
        Exported::Parquet => return columns(args, Format::Parquet),
        Exported::Arrow => return columns(args, Format::Arrow),
    };
    match &args.out {
        None => say::data(&text),
        Some(path) => Ok(write_whole(path, text)?),
    }
}

/// A scenario file, or the one that a results directory was made from.
fn scenario(args: &Export) -> Result<Scenario, Failure> {
    let resolved = args.from.join("resolved.toml");
    let file = if resolved.exists() { &resolved } else { &args.from };
    Ok(itself::loader().load::<&str>(file, &[])?.scenario)
}

fn seed(args: &Export, scenario: &Scenario) -> u64 {
    args.seed.or(scenario.seeds.first().copied()).unwrap_or(1)
}

fn table(scenario: &Scenario, seed: u64) -> Result<Table, Failure> {
    let hosts = Hosts::of(scenario);
    workload::flows(scenario, &hosts, seed).map_err(|error| Failure::Input(error.to_string()))
}

fn paths(args: &Export) -> Result<String, Failure> {
    let scenario = scenario(args)?;
    let paths = forebay_sim::paths(&scenario, seed(args, &scenario))
        .map_err(|error| Failure::Input(error.to_string()))?;
    let plan = Plan::of(&scenario.fabric);
    let numbers = numbers(&plan);
    let names: std::collections::BTreeMap<&str, u32> =
        plan.names.iter().map(String::as_str).zip(numbers).collect();
    let switches = |path: &[String]| -> String {
        let word = |name: &String| match args.numbers {
            true => names[name.as_str()].to_string(),
            false => name.clone(),
        };
        path.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    let all: Vec<u32> = match args.numbers {
        true => export::order(&table(&scenario, seed(args, &scenario))?),
        false => (0..paths.len() as u32).collect(),
    };
    let mut text = String::from("flow,data,ack\n");
    for (number, flow) in all.iter().enumerate() {
        let path = &paths[*flow as usize];
        let _ = writeln!(text, "{number},{},{}", switches(&path.data), switches(&path.ack));
    }
    Ok(text)
}

/// What a results directory holds.
fn results(args: &Export) -> Result<(RunStart, Vec<RunRecord>), Failure> {
    if !args.from.join("manifest.json").exists() {
        return Err(Failure::Input(format!(
            "{} is not a results directory; run the scenario first",
            args.from.display()
        )));
    }
    Ok(RunDir::load(&args.from)?)
}

/// The run of one seed in a results directory.
fn of_seed<'a>(runs: &'a [RunRecord], seed: u64, args: &Export) -> Result<&'a RunRecord, Failure> {
    runs.iter().find(|run| run.seed == seed).ok_or_else(|| {
        let seeds: Vec<String> = runs.iter().map(|run| run.seed.to_string()).collect();
        Failure::Input(format!(
            "{} has no results of that seed; it has seeds {}",
            args.from.display(),
            seeds.join(", ")
        ))
    })
}

/// A trace of all seeds, or of one.
fn perfetto(args: &Export) -> Result<(), Failure> {
    let (about, runs) = results(args)?;
    let trace = match args.seed {
        None => perfetto::trace(&about, &runs),
        Some(seed) => perfetto::trace(&about, std::slice::from_ref(of_seed(&runs, seed, args)?)),
    };
    let out = args.out.clone().unwrap_or_else(|| args.from.join(perfetto::FILE));
    write_whole(&out, trace)?;
    say::line(&format!("{}: open it at https://ui.perfetto.dev", out.display()));
    Ok(())
}

/// A file for each table of all seeds, or of one.
fn columns(args: &Export, format: Format) -> Result<(), Failure> {
    let (about, mut runs) = results(args)?;
    if let Some(seed) = args.seed {
        runs = vec![of_seed(&runs, seed, args)?.clone()];
    }
    let folder = args.out.as_deref().unwrap_or(&args.from);
    for file in columnar::export(folder, format, &runs, about.warmup)? {
        say::line(&file.display().to_string());
    }
    Ok(())
}

/// One line for each flow that was over, in the order in which they were.
fn fct(args: &Export) -> Result<String, Failure> {
    let (about, runs) = results(args)?;
    let scenario = recorded(&args.from, &about)?;
    let run = of_seed(&runs, args.seed.or(runs.first().map(|run| run.seed)).unwrap_or(1), args)?;
    let table = table(&scenario, run.seed)?;
    let numbers = numbers(&Plan::of(&scenario.fabric));
    let topology = export::topology(&scenario);
    let mss = |entry| scenario.transport_of(entry).mss.get();
    let paths = |entry| Paths::of(&topology, mss(entry));
    let mut ideals: Vec<Paths> = scenario.traffic.iter().map(paths).collect();
    let over = |row: &FlowRow| match args.fct {
        Completion::Acked => row.acked,
        Completion::Delivered => row.delivered,
    };
    let mut rows: Vec<(Time, &FlowRow)> = run
        .flows
        .iter()
        .filter(|row| !row.is_endless())
        .filter_map(|row| Some((over(row)?, row)))
        .collect();
    rows.sort_by_key(|(at, row)| (*at, row.flow));
    let mut text = String::new();
    for (at, row) in rows {
        let flow = &table.flows[row.flow as usize];
        let [src, dst] = [row.src, row.dst].map(|host| numbers[host as usize]);
        let size = row.size.get();
        let ideal = match args.ideal {
            Ideal::Hpcc => ideals[usize::from(row.traffic)].standalone(src, dst, size).unwrap_or(0),
            Ideal::Forebay => row.ideal.as_ps() / 1000,
        };
        let (start, fct) = (row.start.as_ps() / 1000, at.since(row.start).as_ps() / 1000);
        let (sip, dip) = (address(src), address(dst));
        let (sport, dport) = (flow.sport, flow.dport);
        let _ = writeln!(text, "{sip:08x} {dip:08x} {sport} {dport} {size} {start} {fct} {ideal}");
    }
    Ok(text)
}
