//! Cables that are dead from the start, and routes that come too late.

use super::around::CheckedScenario;
use crate::faults::Change;
use crate::plan::{Place, PlannedCable};
use crate::quantity::Measure;
use forebay_units::Time;

/// A cable that carries nothing from the start to the end: its index, and the key that says so.
fn dead(around: &CheckedScenario<'_>) -> Vec<(usize, String)> {
    let (scenario, plan) = (around.scenario, around.plan);
    let first = scenario.traffic.iter().map(|traffic| traffic.start).min().unwrap_or(Time::ZERO);
    let index =
        |cable: PlannedCable| plan.cables.iter().position(|c| (c.a, c.b) == (cable.a, cable.b));
    let lossy = (0..plan.cables.len()).filter(|i| plan.cables[*i].loss >= 1.0).map(|i| {
        let covers = |o: &crate::fabric::Override| {
            o.loss.is_some() && Place::parse(&o.place).covers(plan, plan.cables[i])
        };
        let by = scenario.fabric.overrides.iter().rposition(covers).unwrap_or(0);
        (i, format!("fabric.override[{by}].loss = 1"))
    });
    let failed = (0..).zip(&scenario.faults).filter_map(|(n, fault): (usize, _)| {
        let kills = match fault.change()? {
            Change::Down => "change = \"down\"".to_string(),
            Change::Loss(loss) if loss >= 1.0 => "loss = 1".into(),
            _ => return None,
        };
        let (cable, from) = plan.link(&fault.link)?;
        let same = |other: &crate::faults::Fault| {
            plan.link(&other.link).is_some_and(|(c, _)| (c.a, c.b) == (cable.a, cable.b))
        };
        let revives = |other: &&crate::faults::Fault| {
            matches!(other.change(), Some(Change::Up | Change::Loss(_))) && other.at > fault.at
        };
        let undone = scenario.faults.iter().filter(revives).any(same);
        let from_the_start = fault.at <= first && from.is_none() && !undone;
        let at = index(cable).filter(|_| from_the_start)?;
        Some((at, format!("fault[{n}] with {kills}")))
    });
    lossy.chain(failed).collect()
}

/// Hosts that each node reaches without the dead cables: a number for each island.
fn islands(around: &CheckedScenario<'_>, dead: &[(usize, String)]) -> Vec<u32> {
    let mut island = vec![u32::MAX; around.plan.names.len()];
    let mut count = 0;
    for start in 0..around.plan.names.len() {
        if island[start] != u32::MAX {
            continue;
        }
        let mut todo = vec![start as u32];
        island[start] = count;
        while let Some(node) = todo.pop() {
            for (next, cable) in around.trips.near(node) {
                let alive = dead.iter().all(|(i, _)| *i != *cable as usize);
                if alive && island[*next as usize] == u32::MAX {
                    island[*next as usize] = count;
                    todo.push(*next);
                }
            }
        }
        count += 1;
    }
    island
}

/// A cable that flows are still sent to.
pub(super) fn dead_from_the_start(around: &CheckedScenario<'_>) -> Option<String> {
    let dead = dead(around);
    let (cable, key) = dead.first()?;
    if cut(around, &dead).is_some() {
        return None; // said as that
    }
    let fabric = &around.scenario.fabric;
    let by_loss = key.contains("loss");
    (fabric.reroute_after.is_none() || by_loss).then(|| {
        let remedy = match by_loss {
            true => "write change = \"down\" with fabric.reroute_after, or leave the cable out",
            false => "write fabric.reroute_after, for instance \"100us\", or leave the cable out",
        };
        format!(
            "{key} kills {} before the first flow starts and for good, and routes never change ({}), so what is sent that way is lost; {remedy}",
            around.plan.cable_name(around.plan.cables[*cable]),
            if by_loss { "a lossy cable counts as alive" } else { "no fabric.reroute_after" },
        )
    })
}

/// Two hosts between which flows are to go and no path leads.
fn cut(around: &CheckedScenario<'_>, dead: &[(usize, String)]) -> Option<(u32, u32, String)> {
    if dead.is_empty() {
        return None;
    }
    let island = islands(around, dead);
    around.entries.iter().find_map(|entry| {
        let apart = |(a, b): &(u32, u32)| island[*a as usize] != island[*b as usize];
        let (a, b) = match &entry.ends {
            Some(ends) => *ends.iter().find(|pair| apart(pair))?,
            None => {
                let others = 1..around.plan.hosts as u32;
                others.map(|b| (0, b)).find(apart)?
            }
        };
        Some((a, b, entry.at.clone()))
    })
}

/// Hosts that no path leads to.
pub(super) fn cut_off(around: &CheckedScenario<'_>) -> Option<String> {
    let dead = dead(around);
    let (a, b, entry) = cut(around, &dead)?;
    let names = &around.plan.names;
    let (cable, key) = dead.first()?;
    Some(format!(
        "{key} kills {} before the first flow starts and for good, and no other path leads from {} to {}, so flows of {entry} between them never end; add a path, or end the fault (for)",
        around.plan.cable_name(around.plan.cables[*cable]),
        names[a as usize],
        names[b as usize]
    ))
}

/// New routes after the end of the run, or after the cable is back.
pub(super) fn routes_too_late(around: &CheckedScenario<'_>) -> Option<String> {
    let scenario = around.scenario;
    let after = scenario.fabric.reroute_after?;
    let downs = (0..)
        .zip(&scenario.faults)
        .filter(|(_, fault): &(usize, _)| matches!(fault.change(), Some(Change::Down)));
    let mut late = downs.map(|(n, fault)| (n, fault, fault.at.saturating_add(after)));
    let all: Vec<_> = late.by_ref().collect();
    let (n, fault, routes) = all.first().copied()?;
    let stop = scenario.stop.time;
    all.iter().all(|(_, _, routes)| *routes >= stop).then(|| {
        format!(
            "fabric.reroute_after = \"{}\" brings new routes for fault[{n}] at \"{}\" at {routes}, not before the end of the run, stop.time = \"{stop}\"; write less, or a longer run",
            after.text(),
            fault.at
        )
    })
}

/// Changes of the cable of a host that nothing is sent to or from.
pub(super) fn cable_without_traffic(around: &CheckedScenario<'_>) -> Option<String> {
    let busy = super::recording::busy(around)?;
    let example = around.hosts.names.get(*busy.first()? as usize)?;
    (0..).zip(&around.scenario.faults).find_map(|(i, fault): (usize, _)| {
        let (cable, _) = around.plan.link(&fault.link)?;
        let idle = (cable.a as usize) < around.plan.hosts && !busy.contains(&cable.a);
        idle.then(|| {
            format!(
                "fault[{i}].link = {:?} is the cable of a host that no traffic (from, to) names, so the fault changes nothing; write a cable that carries something, for instance that of {example}",
                fault.link
            )
        })
    })
}
