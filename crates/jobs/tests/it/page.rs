//! The drawings of the page are the schedules.

use forebay_jobs::{Algorithm, Collective, DataUse, Op, Operation, Schedule, Step};
use forebay_units::Bytes;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Steps down and ranks across. `2 -> 3`: part 2 goes to rank 3; `2 +> 3`: and is added there.
///
/// A message belongs to the step after the last one that it waits for.
fn drawn(schedule: &Schedule) -> String {
    let ranks = schedule.ranks();
    let programs: Vec<Vec<Step>> =
        (0..ranks).map(|rank| schedule.steps(rank, 0).collect()).collect();
    let mut messages: BTreeMap<(u32, u32, usize), (usize, bool)> = BTreeMap::new(); // step, whether it is added
    let mut rows: Vec<Vec<Vec<String>>> = Vec::new();
    loop {
        let before = messages.clone();
        rows.clear();
        for (rank, steps) in (0..).zip(&programs) {
            let mut levels: Vec<usize> = Vec::new();
            let (mut sent, mut received) = (BTreeMap::new(), BTreeMap::new());
            for (place, step) in steps.iter().enumerate() {
                let waits = step.after.into_iter().filter(|back| *back > 0);
                let level = waits.map(|back| levels[place - back as usize]).max().unwrap_or(0);
                levels.push(match step.op {
                    Op::Compute(_) => level,
                    Op::Recv { from, take, .. } => {
                        let nth: &mut usize = received.entry(from).or_default();
                        let message = messages.entry((from, rank, *nth)).or_default();
                        *nth += 1;
                        message.1 = take == DataUse::Reduce;
                        message.0
                    }
                    Op::Send { to, at, bytes, .. } => {
                        let nth: &mut usize = sent.entry(to).or_default();
                        let message = messages.entry((rank, to, *nth)).or_default();
                        *nth += 1;
                        message.0 = level + 1;
                        rows.resize(rows.len().max(level + 1), vec![Vec::new(); ranks as usize]);
                        let last = at + bytes.get() - 1;
                        let parts =
                            if at == last { at.to_string() } else { format!("{at}-{last}") };
                        let arrow = if message.1 { "+>" } else { "->" };
                        rows[level][rank as usize].push(format!("{parts} {arrow} {to}"));
                        level + 1
                    }
                });
            }
        }
        if messages == before {
            break;
        }
    }
    let mut text = String::from("step  ");
    (0..ranks).for_each(|rank| write!(text, "{:<10}", format!("rank {rank}")).expect("a string"));
    text = text.trim_end().to_string();
    for (step, cells) in rows.iter().enumerate() {
        let lines = cells.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..lines {
            let name = if line == 0 { (step + 1).to_string() } else { String::new() };
            let mut row = format!("{name:<6}");
            for cell in cells {
                let what = cell.get(line).map_or(".", String::as_str);
                write!(row, "{what:<10}").expect("a string");
            }
            text = text + "\n" + row.trim_end();
        }
    }
    text
}

#[test]
fn the_page_draws_the_schedules_as_they_are() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/collectives.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let drawings = [
        (Operation::AllReduce, Algorithm::Ring, 4),
        (Operation::ReduceScatter, Algorithm::Ring, 4),
        (Operation::AllGather, Algorithm::Ring, 4),
        (Operation::Broadcast, Algorithm::Ring, 4),
        (Operation::AllToAll, Algorithm::Ring, 4),
        (Operation::AllReduce, Algorithm::Direct, 4),
        (Operation::AllToAll, Algorithm::Direct, 4),
        (Operation::AllReduce, Algorithm::HalvingDoubling, 4),
        (Operation::AllReduce, Algorithm::HalvingDoubling, 6),
    ];
    let mut blocks = page
        .split("```text\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("\n```"))
        .map(|(block, _)| block);
    for (operation, algorithm, ranks) in drawings {
        // Parts of one byte, so that bytes are parts.
        let parts = if operation == Operation::Broadcast { 1 } else { ranks };
        let parts = if algorithm == Algorithm::HalvingDoubling { 4 } else { parts };
        let one = Collective::new(operation, algorithm, ranks, Bytes::new(parts.into()));
        let wanted = drawn(&one.schedule().expect("a collective"));
        let found = blocks.find(|block| block.starts_with("step ")).unwrap_or_default();
        assert!(
            found == wanted,
            "{operation:?} {algorithm:?}: the page has\n{found}\nand the schedule is\n{wanted}"
        );
    }
}
