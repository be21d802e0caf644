//! What hosts wait for before they send, as programs say it.

use forebay_scenario::program::{Op, Step};
use forebay_scenario::workload::Table;
use forebay_units::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Steps of each program.
fn steps(table: &Table) -> Vec<Vec<Step>> {
    let of = |program: &forebay_scenario::program::Program| {
        let mut ops = program.ops.copy();
        std::iter::from_fn(|| ops.next()).collect()
    };
    table.programs.iter().map(of).collect()
}

/// Flows that programs start, each with those whose deliveries it waits for.
pub fn waits(table: &Table) -> BTreeMap<u32, BTreeSet<u32>> {
    let all = steps(table);
    let mut found = BTreeMap::new();
    let each = (0..all.len()).flat_map(|p| (0..all[p].len()).map(move |nth| (p, nth)));
    for start in each.clone() {
        let Op::Send { on, .. } = all[start.0][start.1].op else { continue };
        let (mut open, mut seen, mut of) = (vec![start], BTreeSet::new(), BTreeSet::new());
        while let Some((p, nth)) = open.pop() {
            if !seen.insert((p, nth)) {
                continue;
            }
            if let Op::Recv { on, .. } = all[p][nth].op {
                of.insert(on);
            }
            let (after, own) = (all[p][nth].after, &table.programs[p]);
            let back = after.back.iter().filter(|back| **back > 0);
            open.extend(back.map(|back| (p, nth - *back as usize)));
            let notifies = |(p, nth): &(usize, usize)| match all[*p][*nth].op {
                Op::Signal(one) => {
                    after.count > 0
                        && (one.to, one.traffic, one.tag) == (own.host, own.traffic, after.tag)
                }
                _ => false,
            };
            open.extend(each.clone().filter(notifies));
        }
        found.insert(on, of);
    }
    found
}

/// Times that hosts compute right before they send, by flow.
pub fn computes(table: &Table) -> BTreeMap<u32, Span> {
    let mut all = BTreeMap::new();
    for steps in steps(table) {
        for pair in steps.windows(2) {
            if let (Op::Compute(span), Op::Send { on, .. }) = (pair[0].op, pair[1].op) {
                all.insert(on, span);
            }
        }
    }
    all
}

/// Signals of all programs.
pub fn signals(table: &Table) -> Vec<forebay_scenario::program::Signal> {
    let signal = |step: Step| match step.op {
        Op::Signal(signal) => Some(signal),
        _ => None,
    };
    steps(table).into_iter().flatten().filter_map(signal).collect()
}
