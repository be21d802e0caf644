//! Answers that are known without this code.

use crate::clock::{Network, completion};
use forebay_jobs::{Algorithm, Collective, DataUse, Group, Op, Operation, Ratio, Schedule, Step};
use forebay_units::{BitsPerSec, Bytes, Span};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn collective(operation: Operation, algorithm: Algorithm, ranks: u32, bytes: u64) -> Schedule {
    let collective = Collective::new(operation, algorithm, ranks, Bytes::new(bytes));
    collective.schedule().expect("a collective")
}

/// Ranks, bytes, ps of ring, halving-doubling and direct, and busbw of the ring in MB/s.
///
/// Source: 2 (n - 1)(alpha + S/(nB)), 2 log2 n alpha + 2 (n - 1)/n S/B, 2 alpha + 2 (n - 1)/n S/B at alpha = 2 us and 80 ps per byte, by hand.
const ALL_REDUCE: [(u32, u64, [u64; 3], u64); 7] = [
    (2, MIB, [87_886_080, 87_886_080, 87_886_080], 11_931),
    (8, MIB, [174_800_640, 158_800_640, 150_800_640], 10_498),
    (16, MIB, [217_286_400, 173_286_400, 161_286_400], 9_048),
    (128, MIB, [674_461_440, 194_461_440, 170_461_440], 3_085),
    (16, GIB, [161_121_273_600, 161_077_273_600, 161_065_273_600], 12_495),
    (128, GIB, [170_964_514_560, 170_484_514_560, 170_460_514_560], 12_463),
    (1_024, GIB, [175_722_919_680, 171_670_919_680, 171_634_919_680], 12_209),
];

const ALGORITHMS: [Algorithm; 3] = [Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::Direct];

/// Bus bandwidth in GB/s.
fn busbw_of(schedule: &Schedule, time: Span) -> f64 {
    let Ratio { over, under } = schedule.bus_factor();
    schedule.size().get() as f64 * 1_000.0 / time.as_ps() as f64 * over as f64 / under as f64
}

#[test]
fn closed_forms_of_all_reduce_are_those_of_the_literature() {
    let (alpha, rate) = (Span::from_us(2), BitsPerSec::from_gbps(100));
    for (ranks, bytes, times, busbw) in ALL_REDUCE {
        for (algorithm, time) in ALGORITHMS.into_iter().zip(times) {
            let schedule = collective(Operation::AllReduce, algorithm, ranks, bytes);
            assert_eq!(
                schedule.ideal_time(alpha, rate),
                Span::from_ps(time),
                "{algorithm:?} {ranks}"
            );
        }
        let ring = collective(Operation::AllReduce, Algorithm::Ring, ranks, bytes);
        assert_eq!(
            (busbw_of(&ring, Span::from_ps(times[0])) * 1_000.0).round() as u64,
            busbw,
            "{ranks}"
        );
    }
}

#[test]
fn schedules_take_the_time_of_their_closed_forms() {
    for (ranks, bytes, times, _) in ALL_REDUCE {
        for (algorithm, time) in ALGORITHMS.into_iter().zip(times) {
            let schedule = collective(Operation::AllReduce, algorithm, ranks, bytes);
            if ranks <= 128 || algorithm == Algorithm::HalvingDoubling {
                let network = Network::even(ranks, 80, 2_000_000);
                assert_eq!(completion(&schedule, &network, 1), time, "{algorithm:?} {ranks}");
            }
        }
    }
}

type Known = (Operation, Algorithm, u32, u64, u64, u64, u64, u64);

/// Operation, algorithm, ranks, bytes, steps in turn, time at alpha = 1 us and 80 ps per byte, bytes of all ranks, least time; by hand.
const OTHERS: [Known; 13] = [
    (Operation::ReduceScatter, Algorithm::Ring, 5, 5_000, 4, 4_320_000, 20_000, 320_000),
    (Operation::AllGather, Algorithm::Ring, 5, 5_000, 4, 4_320_000, 20_000, 320_000),
    (Operation::ReduceScatter, Algorithm::Direct, 5, 5_000, 1, 1_320_000, 20_000, 320_000),
    (Operation::AllGather, Algorithm::Direct, 5, 5_000, 1, 1_320_000, 20_000, 320_000),
    (Operation::ReduceScatter, Algorithm::HalvingDoubling, 8, 8_000, 3, 3_560_000, 56_000, 560_000),
    (Operation::AllGather, Algorithm::HalvingDoubling, 8, 8_000, 3, 3_560_000, 56_000, 560_000),
    (Operation::AllToAll, Algorithm::Ring, 5, 5_000, 4, 4_320_000, 20_000, 320_000),
    (Operation::AllToAll, Algorithm::Direct, 5, 5_000, 1, 1_320_000, 20_000, 320_000),
    (Operation::Broadcast, Algorithm::Ring, 5, 5_000, 4, 5_600_000, 20_000, 400_000),
    (Operation::Broadcast, Algorithm::Direct, 5, 5_000, 1, 2_600_000, 20_000, 400_000),
    // Two ranks above 4: their 6,000 B go to a partner and come back.
    (Operation::AllReduce, Algorithm::HalvingDoubling, 6, 6_000, 6, 7_680_000, 60_000, 800_000),
    (Operation::AllReduce, Algorithm::Ring, 1, 6_000, 0, 0, 0, 0),
    (Operation::Broadcast, Algorithm::Direct, 1, 6_000, 0, 0, 0, 0),
];

#[test]
fn closed_forms_of_the_others() {
    let (alpha, rate) = (Span::from_us(1), BitsPerSec::from_gbps(100));
    for (operation, algorithm, ranks, bytes, steps, time, sent, least) in OTHERS {
        let schedule = collective(operation, algorithm, ranks, bytes);
        let name = format!("{operation:?} {algorithm:?}");
        assert_eq!(schedule.steps_in_turn(), steps, "{name}");
        assert_eq!(schedule.ideal_time(alpha, rate).as_ps(), time, "{name}");
        assert_eq!(
            completion(&schedule, &Network::even(ranks, 80, 1_000_000), 1),
            time,
            "{name}, executed"
        );
        assert_eq!(schedule.sent_by_all().get(), sent, "{name}");
        assert_eq!(schedule.least_time(rate).as_ps(), least, "{name}");
    }
}

#[test]
fn a_chain_of_messages_takes_a_message_for_each_rank_between() {
    // (n - 2 + c)(alpha + S/(cB)) = (3 + 4)(1 us + 80 ns).
    let mut chain = Collective::new(Operation::Broadcast, Algorithm::Ring, 5, Bytes::new(4_000));
    (chain.message, chain.root) = (Some(Bytes::new(1_000)), 3);
    let schedule = chain.schedule().expect("a collective");
    assert_eq!(
        schedule.ideal_time(Span::from_us(1), BitsPerSec::from_gbps(100)).as_ps(),
        7_560_000
    );
    // The network here has alpha between messages of a link only once.
    assert_eq!(completion(&schedule, &Network::even(5, 80, 1_000_000), 1), 4_000_000 + 7 * 80_000);
}

#[test]
fn a_delay_is_added_between_each_arrival_and_the_send_that_waits_for_it() {
    // 2 (n - 1) steps with a delay between each two; 2 log2 n; 1 barrier; n - 2 ranks between the root and the last; n - 2 rounds.
    let cases = [
        (Operation::AllReduce, Algorithm::Ring, 13),
        (Operation::AllReduce, Algorithm::HalvingDoubling, 5),
        (Operation::AllReduce, Algorithm::Direct, 1),
        (Operation::AllGather, Algorithm::Direct, 0),
        (Operation::Broadcast, Algorithm::Ring, 6),
        (Operation::AllToAll, Algorithm::Ring, 6),
    ];
    for (operation, algorithm, delays) in cases {
        let mut delayed = Collective::new(operation, algorithm, 8, Bytes::new(8_000));
        let network = Network::even(8, 80, 1_000_000);
        let plain = completion(&delayed.schedule().expect("a collective"), &network, 1);
        delayed.step_delay = Span::from_us(14);
        let schedule = delayed.schedule().expect("a collective");
        let late = completion(&schedule, &network, schedule.ahead());
        assert_eq!(late - plain, delays * 14_000_000, "{operation:?} {algorithm:?}");
    }
}

#[test]
fn busbw_is_algbw_times_the_factor_of_nccl_tests() {
    // 8 ranks, 800 MB in 100 ms: 8 GB/s.
    let cases = [
        (Operation::AllReduce, 14.0),
        (Operation::ReduceScatter, 7.0),
        (Operation::AllGather, 7.0),
        (Operation::AllToAll, 7.0),
        (Operation::Broadcast, 8.0),
    ];
    for (operation, busbw) in cases {
        let schedule = collective(operation, Algorithm::Direct, 8, 800_000_000);
        assert_eq!(busbw_of(&schedule, Span::from_ms(100)), busbw, "{operation:?}");
    }
}

#[test]
fn parts_that_do_not_divide_are_larger_by_one_byte_from_the_first_on() {
    // 10 B over 4 ranks: 3, 3, 2, 2. Over 2 channels: 2+1, 2+1, 1+1, 1+1.
    let mut ring = Collective::new(Operation::AllReduce, Algorithm::Ring, 4, Bytes::new(10));
    ring.channels = 2;
    let schedule = ring.schedule().expect("a collective");
    let parts = schedule.parts();
    assert_eq!([0, 1, 2, 3].map(|part| parts.part(part).get()), [3, 3, 2, 2]);
    assert_eq!([0, 1, 2, 3, 4].map(|part| parts.start(part, 0)), [0, 2, 4, 5, 6]);
    assert_eq!([0, 1, 2, 3, 4].map(|part| parts.start(part, 1)), [0, 1, 2, 3, 4]);
    // Each sends 2 S less two parts: its own and the next.
    assert_eq!([0, 1, 2, 3].map(|rank| schedule.sent(rank).get()), [14, 15, 16, 15]);
    // Three bytes for four ranks: rank 3 has nothing of its own to send.
    let short = collective(Operation::AllGather, Algorithm::Ring, 4, 3);
    let sends = |rank| short.steps(rank, 0).filter(|step| step.op.is_send()).count();
    assert_eq!([0, 1, 2, 3].map(sends), [2, 2, 3, 2]);
}

#[test]
fn no_bytes_are_a_barrier_of_one_byte_for_each_part() {
    let barrier = collective(Operation::AllReduce, Algorithm::Ring, 4, 0);
    assert_eq!(barrier.sent(2).get(), 6);
    assert_eq!(barrier.size(), Bytes::ZERO);
    assert_eq!(completion(&barrier, &Network::even(4, 80, 1_000_000), 1), 6 * 1_000_080);
}

#[test]
fn the_size_of_a_part_makes_a_whole_of_as_many_as_there_are_ranks() {
    let mut gather = Collective::new(Operation::AllGather, Algorithm::Ring, 4, Bytes::new(1_000));
    gather.meaning = forebay_jobs::Meaning::Part;
    let schedule = gather.schedule().expect("a collective");
    assert_eq!(schedule.size().get(), 4_000);
    assert_eq!(schedule.sent(1).get(), 3_000);
}

#[test]
fn a_ring_of_three_ranks_operation_by_operation() {
    // Rank 1 sends parts 0, 2, 1, 0 and receives parts 2, 1, 0, 2.
    let schedule = collective(Operation::AllReduce, Algorithm::Ring, 3, 30);
    let recv = |part, take| {
        let op = Op::Recv {
            from: 0,
            channel: 0,
            part,
            at: u64::from(part) * 10,
            bytes: Bytes::new(10),
            take,
        };
        Step { op, after: [0, 0] }
    };
    let send = |part, after| {
        let op =
            Op::Send { to: 2, channel: 0, part, at: u64::from(part) * 10, bytes: Bytes::new(10) };
        Step { op, after: [after, 0] }
    };
    let wanted = [
        recv(2, DataUse::Reduce),
        send(0, 0),
        recv(1, DataUse::Reduce),
        send(2, 3), // what the first receipt brought
        recv(0, DataUse::Store),
        send(1, 3),
        recv(2, DataUse::Store),
        send(0, 3),
    ];
    assert_eq!(schedule.steps(1, 0).collect::<Vec<_>>(), wanted);
}

#[test]
fn messages_of_a_part_are_forwarded_one_by_one() {
    let mut ring = Collective::new(Operation::AllReduce, Algorithm::Ring, 2, Bytes::new(5_000));
    ring.message = Some(Bytes::new(1_000));
    let schedule = ring.schedule().expect("a collective");
    let sends = |rank| schedule.steps(rank, 0).filter(|step| step.op.is_send());
    assert_eq!(sends(0).count(), 6, "2,500 B are 1,000, 1,000 and 500 B, twice");
    // All of the link's time is used: 5,000 B and one delay, where whole parts have two.
    assert_eq!(completion(&schedule, &Network::even(2, 80, 20_000), 1), 5_000 * 80 + 20_000);
}

#[test]
fn halving_doubling_exchanges_with_the_farthest_rank_first() {
    let schedule = collective(Operation::AllReduce, Algorithm::HalvingDoubling, 8, 8_000_000);
    let sends: Vec<(u32, u64)> = schedule
        .steps(5, 0)
        .filter_map(|step| match step.op {
            Op::Send { to, bytes, .. } => Some((to, bytes.get())),
            _ => None,
        })
        .collect();
    let wanted = [
        (1, 4_000_000),
        (7, 2_000_000),
        (4, 1_000_000),
        (4, 1_000_000),
        (7, 2_000_000),
        (1, 4_000_000),
    ];
    assert_eq!(sends, wanted);
}

#[test]
fn a_large_job_is_listed_without_memory_for_it() {
    // 1,024 ranks, 64 channels, messages of 1 MiB of 1 TiB: 2,046 steps of 16 messages for each rank and channel.
    let mut ring =
        Collective::new(Operation::AllReduce, Algorithm::Ring, 1_024, Bytes::new(1 << 40));
    (ring.channels, ring.message) = (64, Some(Bytes::new(MIB)));
    let schedule = ring.schedule().expect("a collective");
    assert_eq!(schedule.steps(1_023, 63).filter(|step| step.op.is_send()).count(), 2_046 * 16);
    assert!(size_of::<forebay_jobs::Steps>() <= 400, "{}", size_of::<forebay_jobs::Steps>());
    assert!(size_of::<Step>() <= 64);
    assert_eq!(schedule.ahead(), 1);
}

#[test]
fn hosts_have_ranks_in_the_order_of_their_names_in_the_group() {
    let group = Group::new(vec!["c", "a", "b"], 16).expect("a group");
    assert_eq!(["c", "a", "b"].map(|host| group.rank(&host)), [Ok(0), Ok(1), Ok(2)]);
    assert_eq!(group.hosts(), ["c", "a", "b"]);
}
