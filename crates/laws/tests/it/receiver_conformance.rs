//! What every registered law of the roles `grant`, `credit` and `pool` must do, by iterating over the registries: a new row is tested
//! by being a row. Each law runs with its defaults and with every other value its parameters name.

use crate::common::{registered, replays};
use forebay_laws::Acts;
use forebay_laws::credit::{
    self, CreditAct, CreditEvent, CreditParams, CreditSeen, CreditStart, CreditTotals,
};
use forebay_laws::grant::{
    self, GrantAct, GrantEvent, GrantParams, GrantSeen, GrantStart, IncomingMessage, MessageId,
    Order,
};
use forebay_laws::params::LawInfo;
use forebay_laws::pool::{self, PoolAct, PoolEvent, PoolParams, PoolSeen, PoolStart, PoolTotals};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use proptest::prelude::*;

/// Every law of a role with its defaults, and with each word of each parameter's range that it takes.
macro_rules! variants {
    ($laws:expr, $params:ty) => {{
        let mut all: Vec<$params> = Vec::new();
        for law in $laws {
            let law: &LawInfo = law;
            let default = <$params>::new(law.name()).expect("a registered law has a name");
            for param in law.params() {
                for word in param.range.split([' ', '"', ',']).filter(|word| !word.is_empty()) {
                    let mut other = default.clone();
                    if other.set(param.name, word).is_ok() {
                        all.push(other);
                    }
                }
            }
            all.push(default);
        }
        all
    }};
}

/// Small numbers and round ones more often than not.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..200_000, 1 => 0u64..1 << 40, 1 => any::<u64>(), 1 => Just(0), 1 => Just(u64::MAX)]
}

fn at(gap: u64, now: &mut Time) -> Time {
    *now += Span::from_ps(gap);
    *now
}

// Grants.

type GrantStep = (Time, Vec<IncomingMessage>, GrantEvent);

fn grant_start() -> GrantStart {
    GrantStart {
        mss: Bytes::new(1460),
        packet: Bytes::new(1538),
        line_rate: BitsPerSec::from_gbps(100),
        rtt_bytes: Bytes::new(125_000),
        priorities: 4,
        seed: 7,
    }
}

fn incoming() -> impl Strategy<Value = IncomingMessage> {
    (0u32..20, prop::array::uniform5(number()), any::<u32>()).prop_map(|(id, n, since)| {
        IncomingMessage {
            message: MessageId(id),
            sender: id % 5,
            size: Bytes::new(n[0]),
            received: Bytes::new(n[1]),
            trimmed: Bytes::new(n[2]),
            credited: Bytes::new(n[3]),
            unscheduled: Bytes::new(n[4]),
            since: Time::from_ps(u64::from(since)),
            last_arrival: Time::from_ps(u64::from(since)),
        }
    })
}

fn grant_steps() -> impl Strategy<Value = Vec<GrantStep>> {
    let message = || (0u32..20).prop_map(MessageId);
    let event = prop_oneof![
        message().prop_map(|message| GrantEvent::Opened { message }),
        (message(), number())
            .prop_map(|(message, n)| GrantEvent::Data { message, bytes: Bytes::new(n) }),
        (message(), number())
            .prop_map(|(message, n)| GrantEvent::Trimmed { message, bytes: Bytes::new(n) }),
        message().prop_map(|message| GrantEvent::Silent { message }),
        message().prop_map(|message| GrantEvent::Closed { message }),
        Just(GrantEvent::More),
        Just(GrantEvent::Wake),
    ];
    let step = (0u64..3_000_000, prop::collection::vec(incoming(), 0..6), event);
    prop::collection::vec(step, 1..60).prop_map(|steps| {
        let mut now = Time::ZERO;
        steps.into_iter().map(|(gap, open, event)| (at(gap, &mut now), open, event)).collect()
    })
}

/// Grants name messages of the list, never take back credit, never give more than the message needs, and priorities that there are.
fn granted(now: Time, open: &[IncomingMessage], acts: &Acts<GrantAct>) -> Result<(), String> {
    for act in acts.iter() {
        let fits = match act {
            GrantAct::Grant { message, credit, priority } => open.iter().any(|open| {
                let needs = open.credited.saturating_add(open.uncredited());
                open.message == message
                    && credit >= open.credited
                    && credit <= needs
                    && priority < grant_start().priorities
            }),
            GrantAct::Resend { message, from, upto } => {
                open.iter().any(|open| open.message == message && from < upto && upto <= open.size)
            }
            GrantAct::WakeAt(at) => at >= now,
            _ => false,
        };
        if !fits {
            return Err(format!("{act:?} for {open:?}"));
        }
    }
    Ok(())
}

// Credits.

type CreditStep = (Time, CreditTotals, CreditEvent);

fn credit_steps() -> impl Strategy<Value = Vec<CreditStep>> {
    let event = prop_oneof![
        9 => Just(CreditEvent::Credit),
        1 => Just(CreditEvent::Wake),
        1 => (0..100u64).prop_map(|packets| CreditEvent::Request { packets }),
    ];
    let step = (0u64..30_000_000, 0u64..200, 0u64..200, number(), event);
    prop::collection::vec(step, 1..100).prop_map(|steps| {
        let (mut now, mut totals) = (Time::ZERO, CreditTotals::default());
        let one = |(gap, answered, lost, rtt, event): (u64, u64, u64, u64, CreditEvent)| {
            totals.answered += answered;
            totals.lost = (totals.lost + lost).min(totals.answered);
            totals.rtt = Span::from_ps(rtt);
            (at(gap, &mut now), totals, event)
        };
        steps.into_iter().map(one).collect()
    })
}

// Pools.

type PoolStep = (Time, PoolTotals, PoolEvent);

fn pool_start() -> PoolStart {
    PoolStart {
        llc: Bytes::new(12 << 20),
        line: Bytes::new(64),
        connections: 4,
        base_rtt: None,
        seed: 7,
    }
}

fn pool_steps() -> impl Strategy<Value = Vec<PoolStep>> {
    let event = prop_oneof![
        1 => any::<u32>().prop_map(PoolEvent::Connections),
        4 => (number(), number()).prop_map(|(bytes, latency)| PoolEvent::Completed {
            bytes: Bytes::new(bytes),
            latency: Span::from_ps(latency),
        }),
        4 => Just(PoolEvent::Wake),
    ];
    let step = (0u64..300_000_000, prop::array::uniform2(number()), any::<u32>(), event);
    prop::collection::vec(step, 1..100).prop_map(|steps| {
        let mut now = Time::ZERO;
        let one =
            |(gap, [outstanding, completed], blocked, event): (u64, [u64; 2], u32, PoolEvent)| {
                (at(gap, &mut now), PoolTotals { outstanding, completed, blocked }, event)
            };
        steps.into_iter().map(one).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn grants_keep_their_side_of_the_bargain(
        steps in grant_steps(), damage in prop::collection::vec(any::<(usize, u8)>(), 8),
    ) {
        for params in variants!(grant::LAWS, GrantParams) {
            replays("grant", params.name(), steps.len(), &damage, |tap| {
                let (mut first, mut again) = (Acts::default(), Acts::default());
                let mut law = params.start(Time::ZERO, grant_start(), &mut first);
                let mut logged = params.clone().with_log(tap).start(Time::ZERO, grant_start(), &mut again);
                assert_eq!((first, law.name()), (again, logged.name()));
                let mut spared = law.clone(); // the steps before `waits_until`
                for (now, open, event) in &steps {
                    let until = law.waits_until();
                    let mut acts = Acts::default();
                    law.step(*now, GrantSeen { open, oldest: open.last().copied(), event: *event }, &mut acts);
                    if *now < until {
                        assert!(acts.iter().all(|act| act == GrantAct::WakeAt(until)), "{acts:?}");
                    } else {
                        let mut same = Acts::default();
                        spared.step(*now, GrantSeen { open, oldest: open.last().copied(), event: *event }, &mut same);
                        assert_eq!(acts, same);
                    }
                    assert_eq!(granted(*now, open, &acts), Ok(()), "{params:?} {event:?}");
                    let mut same = Acts::default();
                    logged.step(*now, GrantSeen { open, oldest: open.last().copied(), event: *event }, &mut same);
                    assert_eq!(acts, same);
                }
            });
        }
    }

    /// Rates are above zero and at most the most there is.
    #[test]
    fn credits_keep_their_side_of_the_bargain(
        mbps in 1u64..100_000, size in 1u64..2_000, steps in credit_steps(),
        damage in prop::collection::vec(any::<(usize, u8)>(), 8),
    ) {
        let most = BitsPerSec::new(mbps * 1_000_000);
        let start = CreditStart { most, size: Bytes::new(size), packets: 1_000, seed: 7 };
        let fits = |acts: &Acts<CreditAct>| acts.iter().all(|act| match act {
            CreditAct::Rate(rate) => rate.get() > 0 && rate <= most,
            CreditAct::WakeAt(_) => true,
            _ => false,
        });
        for params in variants!(credit::LAWS, CreditParams) {
            replays("credit", params.name(), steps.len(), &damage, |tap| {
                let (mut first, mut again) = (Acts::default(), Acts::default());
                let mut law = params.start(Time::ZERO, start, &mut first);
                let mut logged = params.clone().with_log(tap).start(Time::ZERO, start, &mut again);
                assert!(first == again && fits(&first) && !first.is_empty(), "a first rate");
                assert_eq!(law.name(), logged.name());
                for (now, totals, event) in &steps {
                    let (mut acts, mut same) = (Acts::default(), Acts::default());
                    law.step(*now, CreditSeen { totals, event: *event }, &mut acts);
                    assert!(fits(&acts), "{params:?} {acts:?}");
                    logged.step(*now, CreditSeen { totals, event: *event }, &mut same);
                    assert_eq!(acts, same);
                }
            });
        }
    }

    /// A first limit, none that is zero, and no wake in the past. A wake before its time changes nothing.
    #[test]
    fn pools_keep_their_side_of_the_bargain(
        steps in pool_steps(), damage in prop::collection::vec(any::<(usize, u8)>(), 8),
    ) {
        let fits = |now: Time, acts: &Acts<PoolAct>| acts.iter().all(|act| match act {
            PoolAct::Limit(limit) => limit > 0,
            PoolAct::WakeAt(at) => at >= now,
            _ => false,
        });
        for params in variants!(pool::LAWS, PoolParams) {
            replays("pool", params.name(), steps.len(), &damage, |tap| {
                let (mut first, mut again) = (Acts::default(), Acts::default());
                let mut law = params.start(Time::ZERO, pool_start(), &mut first);
                let mut logged = params.clone().with_log(tap).start(Time::ZERO, pool_start(), &mut again);
                assert!(first == again && first.iter().any(|act| matches!(act, PoolAct::Limit(_))));
                assert_eq!(law.name(), logged.name());
                let mut due = wake_at(&first);
                for (now, totals, event) in &steps {
                    if *now < due {
                        let mut none = Acts::default();
                        law.step(*now, PoolSeen { totals, event: PoolEvent::Wake }, &mut none);
                        assert!(none.is_empty(), "{params:?} {none:?}");
                    }
                    let (mut acts, mut same) = (Acts::default(), Acts::default());
                    law.step(*now, PoolSeen { totals, event: *event }, &mut acts);
                    assert!(fits(*now, &acts), "{params:?} {acts:?}");
                    logged.step(*now, PoolSeen { totals, event: *event }, &mut same);
                    assert_eq!(acts, same);
                    due = if wake_at(&acts) < Time::MAX { wake_at(&acts) } else { due };
                }
            });
        }
    }
}

fn wake_at(acts: &Acts<PoolAct>) -> Time {
    acts.iter().fold(Time::MAX, |due, act| match act {
        PoolAct::WakeAt(at) => due.min(at),
        _ => due,
    })
}

/// Help pages and parameter lists are complete, and a printed value reads back.
#[test]
fn can_be_listed_and_set() {
    listed_and_set!(grant::LAWS, GrantParams, |law, params| {
        let of = params.start(Time::ZERO, grant_start(), &mut Acts::default());
        let (order, needs) = of.wants();
        assert_eq!(of.name(), law.name());
        assert!(
            needs.classes > 0 && matches!(order, Order::Shortest | Order::Oldest | Order::Turns)
        );
    });
    listed_and_set!(credit::LAWS, CreditParams, |law, params| assert_eq!(
        params.name(),
        law.name()
    ));
    listed_and_set!(pool::LAWS, PoolParams, |law, params| assert_eq!(params.name(), law.name()));
}

/// A file in the folder of a role is a law in its registry.
#[test]
fn every_file_is_registered() {
    assert_eq!(registered("grant", include_str!("../../src/grant/registry.rs")), grant::LAWS.len());
    assert_eq!(
        registered("credit", include_str!("../../src/credit/registry.rs")),
        credit::LAWS.len()
    );
    assert_eq!(registered("pool", include_str!("../../src/pool/registry.rs")), pool::LAWS.len());
}
