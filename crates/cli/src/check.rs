//! `forebay check`: what is wrong with a scenario, what it will do, and what it will cost.
//!
//! The simulation is laid out, so everything that could refuse the scenario has its say, and is not run. What it will cost is
//! forecast first, from the scenario alone, and huge fabrics are not laid out.

use crate::about::{shape, source};
use crate::args::Check;
use crate::estimate::{Estimate, overflow};
use crate::failure::Failure;
use crate::machine::cores;
use crate::{expect, human, machine, say};
use forebay_scenario::model::TrafficKind;
use forebay_scenario::pitfalls::pitfalls;
use forebay_scenario::plan::Plan;
use forebay_scenario::resolved_with;
use forebay_scenario::workload::{Hosts, forecast};
use forebay_sim::{Options, Simulation};
use forebay_study::estimate::Needs;
use serde_json::json;
use std::path::Path;

/// Larger fabrics are not laid out only to be looked at.
const LAID_OUT: usize = 200_000;

/// The verb.
pub fn check(args: &Check) -> Result<(), Failure> {
    let loaded = args.input.load()?;
    loaded.notes.iter().for_each(|note| say::note(note));
    let name = args.input.name();
    expect::bands(&name, &loaded.expect)?;
    let scenario = &loaded.scenario;
    if args.resolved {
        return say::data(&resolved_with(scenario, &loaded.expect));
    }
    let plan = Plan::of(&scenario.fabric);
    let mut pairs: Vec<String> =
        pitfalls(scenario, &plan).into_iter().map(|one| one.text).collect();
    let points = loaded.points();
    for point in points.iter().filter(|point| !point.is_empty()) {
        // A value may keep to the grammar and still not fit the rest.
        let scenario = args.input.load_point(point)?.scenario;
        let values: Vec<String> =
            point.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        for one in pitfalls(&scenario, &Plan::of(&scenario.fabric)) {
            if !pairs.iter().any(|text| text.starts_with(&one.text)) {
                pairs.push(format!("{} (with {})", one.text, values.join(", ")));
            }
        }
    }
    let estimate = Estimate::of(scenario, &plan);
    let seeds = scenario.seeds.len();
    let runs = points.len() * scenario.seeds.len();
    let here = machine::here(Path::new("results"));
    if let Some(why) = here.hopeless(scenario, &estimate) {
        return Err(Failure::Input(format!("{name}: {why}")));
    }
    let estimate = here.measured(scenario, &plan, estimate);
    let (one, all) = (estimate.memory(1, 1), estimate.memory(seeds, cores()));
    let disk = estimate.disk * runs as f64;
    // Before anything is laid out, which may itself take what there is not.
    let warnings = here.too_small(&Needs { memory: all, process: all, disk });
    if !args.json {
        warnings.iter().for_each(|warning| say::warning(warning));
    }
    let outcome = match plan.hosts <= LAID_OUT && here.memory.is_none_or(|free| one < free) {
        false => None,
        true => {
            let seed = scenario.seeds.first().copied().unwrap_or(1);
            let layout = Simulation::new(scenario, seed, Options::default())
                .map_err(|refusal| Failure::Input(format!("{name}: {refusal}")))?;
            Some(layout.finish())
        }
    };
    let laid = outcome.iter().flat_map(|laid| &laid.warnings);
    let others = laid.filter(|text| !pairs.contains(text)).cloned();
    let said: Vec<String> = others.chain(pairs.iter().cloned()).collect();
    let warnings: Vec<String> = said.iter().cloned().chain(warnings).collect();

    if args.json {
        return say::json(&json!({
            "name": scenario.name,
            "hosts": plan.hosts,
            "switches": plan.names.len() - plan.hosts,
            "cables": plan.cables.len(),
            "points": points.len(),
            "seeds": scenario.seeds,
            "flows": estimate.flows.round(),
            "endless_flows": estimate.endless,
            "rpcs": estimate.rpcs.round(),
            "payload_bytes": estimate.payload.round(),
            "packet_hops": estimate.packet_hops.round(),
            "assumed_ns_per_packet_hop": estimate.ns_per_hop,
            "packet_hops_are_exact": estimate.exact,
            "cpu_seconds": estimate.cpu_s,
            "cpu_seconds_of_packet_hops": estimate.hops_s,
            "end_us": estimate.end_s * 1e6,
            "memory_bytes_one_seed": one.round(),
            "memory_bytes": all.round(),
            "samples": estimate.samples.round(),
            "rows": estimate.rows.round(),
            "rows_at_most": estimate.rows_most.round(),
            "disk_bytes_one_seed": estimate.disk.round(),
            "disk_bytes_one_seed_at_most": estimate.disk_most.round(),
            "disk_bytes": disk.round(),
            "free_memory_bytes": here.memory,
            "free_disk_bytes": here.disk,
            "processes": outcome.as_ref().map(|laid| laid.execution.processes),
            "window_ns": outcome.as_ref().map(|laid| laid.execution.window.as_ps() as f64 / 1e3),
            "warnings": warnings,
        }));
    }
    said.iter().for_each(|warning| say::warning(warning));
    let mut text = String::new();
    let mut row = |label: &str, value: String| text.push_str(&format!("{label:<10}{value}\n"));
    let verdict = match said.len() {
        0 => "no problems".into(),
        n => format!("no errors, {}", human::counted(n, "warning")),
    };
    row("scenario", format!("{}: {verdict}", scenario.name));
    row(
        "fabric",
        format!(
            "{}: {}, {}, {}, {:.1} links per path",
            shape(&scenario.fabric),
            human::counted(plan.hosts, "host"),
            human::counted(plan.names.len() - plan.hosts, "switch"),
            human::counted(plan.cables.len(), "cable"),
            estimate.hops
        ),
    );
    let flows = forecast(scenario, &Hosts::of_plan(&plan, &scenario.fabric.topology));
    for (i, (entry, flows)) in scenario.traffic.iter().zip(flows).enumerate() {
        let flows = human::count(u64::try_from(flows).unwrap_or(u64::MAX));
        let label = if i == 0 { "traffic" } else { "" };
        let about = if entry.kind.is_random() { "about " } else { "" };
        row(
            label,
            match entry.kind {
                TrafficKind::Rpc(_) | TrafficKind::Collective(_) => source(scenario, entry),
                _ => format!("{}: {about}{flows} flows per seed", source(scenario, entry)),
            },
        );
    }
    if estimate.rpcs > 0.0 {
        row("rpcs", format!("about {} per seed", human::si(estimate.rpcs)));
    }
    row(
        "engine",
        match &outcome {
            Some(laid) => format!(
                "{} in windows of up to {}",
                human::counted(laid.execution.processes, "logical process"),
                human::micros(laid.execution.window.as_ps() as f64 / 1e6)
            ),
            None if plan.hosts > LAID_OUT => format!(
                "not laid out by check: that takes minutes above {} hosts",
                human::count(LAID_OUT as u64)
            ),
            None => "not laid out by check: too little memory is free".into(),
        },
    );
    row(
        "work",
        format!(
            "about {} packet-hops per seed, {} of one core at {:.0} ns each{}",
            human::si(estimate.packet_hops),
            human::duration(estimate.hops_s),
            estimate.ns_per_hop,
            rest_of_work(&estimate)
        ),
    );
    for sentence in overflow(scenario) {
        row("timeouts", sentence);
    }
    let rest = match seeds {
        1 => String::new(),
        _ => format!(", {} for all {seeds}, {} at a time", human::bytes_f(all), cores().min(seeds)),
    };
    row("memory", format!("about {} for one seed{rest}", human::bytes_f(one)));
    row(
        "files",
        format!(
            "about {} for one seed: {} rows, {} of them samples; at most {} and {} rows",
            human::bytes_f(estimate.disk),
            human::si(estimate.rows),
            human::si(estimate.samples),
            human::bytes_f(estimate.disk_most),
            human::si(estimate.rows_most)
        ),
    );
    if let (Some(memory), Some(disk)) = (here.memory, here.disk) {
        row(
            "machine",
            format!(
                "{}, {} of memory free, {} of disk free",
                human::counted(cores(), "core"),
                human::bytes_f(memory),
                human::bytes_f(disk)
            ),
        );
    }
    let combinations = if points.len() > 1 {
        format!("{} x ", human::counted(points.len(), "point"))
    } else {
        String::new()
    };
    row(
        "runs",
        format!(
            "{combinations}{}: {} of one core in all",
            human::counted(scenario.seeds.len(), "seed"),
            human::duration(estimate.cpu_s * runs as f64)
        ),
    );
    say::data(&text)
}

/// What a seed costs beside its packet-hops, where that shows.
fn rest_of_work(estimate: &Estimate) -> String {
    let rest = estimate.cpu_s - estimate.hops_s;
    match rest > 0.05 * estimate.cpu_s && rest > 0.05 {
        true => format!(
            ", and {} for flows, samples and output.why: {} in all",
            human::duration(rest),
            human::duration(estimate.cpu_s)
        ),
        false => String::new(),
    }
}
