//! The checker finds faults that are put into schedules.

use forebay_jobs::{
    Algorithm, Collective, DataUse, Event, Fault, Op, Operation, Schedule, Step, check_steps,
};
use forebay_units::Bytes;

/// Numbers from a seed, for the order of events.
pub fn random(seed: u64) -> impl FnMut(&[Event]) -> usize {
    let mut state = seed;
    move |events| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % events.len()
    }
}

fn collective(operation: Operation, algorithm: Algorithm, ranks: u32, bytes: u64) -> Schedule {
    let collective = Collective::new(operation, algorithm, ranks, Bytes::new(bytes));
    collective.schedule().expect("a collective")
}

/// The first fault in a few orders of a schedule in which one rank does something else.
fn fault(schedule: &Schedule, rank: u32, change: impl Fn(&mut Vec<Step>)) -> Option<Fault> {
    let steps = |of, channel| {
        let mut steps: Vec<Step> = schedule.steps(of, channel).collect();
        if of == rank {
            change(&mut steps);
        }
        steps
    };
    // Each connection in turn delivers only when nothing else can happen.
    let ranks = schedule.ranks();
    let mut pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
    let starved = pairs.find_map(|pair| {
        let other = |event: &Event| !matches!(event, Event::Deliver { from, to, .. } if (*from, *to) == pair);
        let order = |events: &[Event]| events.iter().position(other).unwrap_or(0);
        check_steps(schedule, steps, order).err()
    });
    starved.or_else(|| (0..20).find_map(|seed| check_steps(schedule, steps, random(seed)).err()))
}

#[test]
fn each_wait_of_each_schedule_is_needed() {
    let (mut tried, mut needless) = (0, Vec::new());
    for operation in Operation::ALL {
        for algorithm in Algorithm::ALL {
            for ranks in 2..=6 {
                let all = Collective::new(operation, algorithm, ranks, Bytes::new(60)).schedule();
                let Ok(schedule) = all else { continue };
                if operation == Operation::AllToAll {
                    continue; // its rounds wait for the sake of the network
                }
                assert_eq!(fault(&schedule, 0, |_| ()), None);
                for rank in 0..ranks {
                    let steps: Vec<Step> = schedule.steps(rank, 0).collect();
                    for (place, step) in steps.iter().enumerate() {
                        for wait in (0..2).filter(|wait| step.after[*wait] > 0) {
                            tried += 1;
                            let found =
                                fault(&schedule, rank, |steps| steps[place].after[wait] = 0);
                            if found.is_none() {
                                needless.push((operation, algorithm, ranks, rank, wait));
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 400, "{tried}");
    // Halving ends and doubling begins with the same partner, whose second message answers all that came before: this one join waits for
    // more than it has to. Ranks 0 of 3, and 0 to 3 of 4, 5 and 6, go on after it.
    let known = [(3, 0), (4, 0), (4, 1), (4, 2), (4, 3), (5, 0), (5, 1), (5, 2), (5, 3)]
        .into_iter()
        .chain([(6, 0), (6, 1), (6, 2), (6, 3)]);
    let answered =
        |(ranks, rank)| (Operation::AllReduce, Algorithm::HalvingDoubling, ranks, rank, 1);
    assert_eq!(needless, known.map(answered).collect::<Vec<_>>());
}

#[test]
fn a_wrong_part_is_found() {
    let schedule = collective(Operation::AllReduce, Algorithm::Ring, 4, 40);
    // Both ends agree on the wrong part: the times are right, and the sums are not.
    let steps = |rank, channel| {
        schedule.steps(rank, channel).map(|mut step| {
            if let Op::Send { at, part, .. } | Op::Recv { at, part, .. } = &mut step.op {
                let wrong = (*part + u32::from(*part > 0)) % 4;
                (*part, *at) = (wrong, u64::from(wrong) * 10);
            }
            step
        })
    };
    assert!(check_steps(&schedule, steps, random(1)).is_err());
    let one = fault(&schedule, 2, |steps| {
        if let Op::Send { at, part, .. } = &mut steps[1].op {
            (*part, *at) = ((*part + 1) % 4, (*at + 10) % 40);
        }
    });
    assert!(matches!(one, Some(Fault::Differs { .. })), "{one:?}");
}

#[test]
fn a_contribution_that_comes_twice_is_found() {
    let schedule = collective(Operation::ReduceScatter, Algorithm::Direct, 3, 30);
    let recv = schedule.steps(0, 0).next().expect("an operation");
    let send = schedule
        .steps(2, 0)
        .find(|step| matches!(step.op, Op::Send { to: 0, .. }))
        .expect("a send");
    let steps = |rank, channel| {
        let more = [recv, send].into_iter().filter(move |step| {
            (rank == 0 && step.op.is_recv()) || (rank == 2 && step.op.is_send())
        });
        schedule.steps(rank, channel).chain(more).collect::<Vec<_>>()
    };
    let found = check_steps(&schedule, steps, random(1));
    assert_eq!(found, Err(Fault::Twice { rank: 0, of: 2, at: (0, 0) }));
    assert_eq!(
        found.expect_err("a fault").to_string(),
        "rank 0 gets byte 0 of rank 2 twice on channel 0"
    );
}

#[test]
fn data_that_nobody_reduces_is_found() {
    let schedule = collective(Operation::AllReduce, Algorithm::HalvingDoubling, 4, 40);
    let found = fault(&schedule, 1, |steps| {
        if let Op::Recv { take, .. } = &mut steps[0].op {
            *take = DataUse::Store;
        }
    });
    assert!(matches!(found, Some(Fault::Lost { rank: 1, .. })), "{found:?}");
}

#[test]
fn who_waits_for_ever_is_named() {
    let schedule = collective(Operation::AllReduce, Algorithm::Ring, 4, 40);
    let found = fault(&schedule, 3, |steps| steps.clear()).expect("a fault");
    let text = "rank 0 waits for ever: a receipt from rank 3 of 10B from byte 20 of channel 0, part 2; 27 operations never end";
    assert_eq!(found.to_string(), text);
}

#[test]
fn what_is_left_out_or_left_over_is_found() {
    let schedule = collective(Operation::AllGather, Algorithm::Direct, 3, 30);
    let no_receipt = fault(&schedule, 1, |steps| {
        steps.remove(0);
    });
    assert_eq!(no_receipt, Some(Fault::Left { connection: (0, 1, 0), messages: 1 }));
    let neither = |rank, channel| {
        schedule
            .steps(rank, channel)
            .filter(|step| !matches!(step.op, Op::Send { to: 1, .. } | Op::Recv { from: 0, .. }))
            .collect::<Vec<_>>()
    };
    let neither = |rank, channel| {
        if rank == 2 { schedule.steps(2, channel).collect() } else { neither(rank, channel) }
    };
    assert!(check_steps(&schedule, neither, random(1)).is_err());
    let early = fault(&schedule, 0, |steps| {
        if let Op::Send { at, part, .. } = &mut steps[2].op {
            (*part, *at) = (1, 10);
        }
    });
    assert_eq!(early, Some(Fault::Nothing { rank: 0, to: 1, at: (10, 0) }));
}

#[test]
fn a_wait_before_the_first_operation_is_found() {
    let schedule = collective(Operation::Broadcast, Algorithm::Ring, 3, 30);
    let found = fault(&schedule, 1, |steps| steps[0].after = [1, 0]);
    assert_eq!(found, Some(Fault::Before { rank: 1, place: 0 }));
}
