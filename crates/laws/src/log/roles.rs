//! What the roles put into a log.

use super::{
    Code, Compared, Reader, ReplayError, Role, compare_of, fields, get_changes, number,
    put_changes, variants,
};
use crate::Start;
use crate::credit::{Credit, CreditAct, CreditEvent, CreditSeen, CreditStart, CreditTotals};
use crate::flow::{
    AckSample, CaState, DelaySplit, Flow, FlowAct, FlowEvent, FlowSeen, IntHop, SwitchMessage,
    Totals, Window,
};
use crate::grant::{
    Grant, GrantAct, GrantEvent, GrantSeen, GrantStart, IncomingMessage, MessageId,
};
use crate::group::{Group, GroupAct, GroupEvent, GroupSeen, GroupStart, GroupTotals};
use crate::host::{self, Counters, Host, HostAct, HostEvent, HostSeen, HostStart, Reading};
use crate::pool::{Pool, PoolAct, PoolEvent, PoolSeen, PoolStart, PoolTotals};
use alloc::string::String;
use alloc::vec::Vec;
use forebay_units::{Bytes, Span};

/// The role of this byte.
pub(super) fn compare(
    role: u8,
    from: Reader<'_>,
    set: &[(String, String)],
) -> Result<Compared, ReplayError> {
    match role {
        Flow::CODE => compare_of::<Flow>(from, set, <Flow as Role>::params),
        Host::CODE => compare_of::<Host>(from, set, <Host as Role>::params),
        Group::CODE => compare_of::<Group>(from, set, <Group as Role>::params),
        Grant::CODE => compare_of::<Grant>(from, set, <Grant as Role>::params),
        Credit::CODE => compare_of::<Credit>(from, set, <Credit as Role>::params),
        Pool::CODE => compare_of::<Pool>(from, set, <Pool as Role>::params),
        other => Err(ReplayError::Role(other)),
    }
}

number! {
    Window: |it| it.raw(), Window::from_raw;
}

fields! {
    Start { mss, initial_window, line_rate, base_rtt, seed }
    DelaySplit { forward, backward, remote_host, local_host, hops }
    HostStart { write, read, max_level, period, seed }
    Counters { clock_hz, occupancy_bits, insert_bits, insert_bytes }
    Reading { at, raw }
    HostSeen { event }
    GroupStart { line_rate, hop_rtt, seed }
    GrantStart { mss, packet, line_rate, rtt_bytes, priorities, seed }
    IncomingMessage { message, sender, size, received, trimmed, credited, unscheduled, since, last_arrival }
    CreditStart { most, size, packets, seed }
    PoolStart { llc, line, connections, base_rtt, seed }
}

variants! {
    CaState { 0 Open, 1 Disorder, 2 Cwr, 3 Recovery, 4 Loss, }
    SwitchMessage { 0 Rate(rate), 1 Pause, 2 Resume(rate), }
    FlowAct {
        0 Window(window), 1 Ssthresh(bytes), 2 Rate(rate), 3 Hold, 4 Gap(span), 5 WakeAt(time),
    }
    host::Echo { 0 Off, 1 Capable, 2 All, }
    HostEvent {
        0 WriteOccupancy(reading), 1 WriteInserts(reading), 2 ReadOccupancy(reading), 3 ReadInserts(reading),
        4 LevelWritten(level), 5 LevelFailed, 6 Target(rate), 7 Disable, 8 Wake, 9 NicDrops(reading), 10 SlowCpu(reading),
        11 MemoryBytes(reading),
    }
    HostAct { 0 Level(level), 1 Echo(echo), 2 WakeAt(time), }
    GroupEvent { 0 Traffic, 1 Above, 2 Below, 3 Wake, }
    GrantEvent {
        0 Opened { message }, 1 Data { message, bytes }, 2 Trimmed { message, bytes }, 3 Silent { message },
        4 Closed { message }, 5 More, 6 Wake,
    }
    GrantAct { 0 Grant { message, credit, priority }, 1 Resend { message, from, upto }, 2 WakeAt(time), }
    CreditEvent { 0 Credit, 1 Wake, 2 Request { packets }, }
    CreditAct { 0 Rate(rate), 1 WakeAt(time), }
    PoolEvent { 0 Connections(n), 1 Completed { bytes, latency }, 2 Wake, }
    PoolAct { 0 Limit(lines), 1 WakeAt(time), }
    GroupAct { 0 Rate(rate), 1 Pause, 2 Resume(rate), 3 Watch { low, high }, 4 WakeAt(time), }
}

/// What the next event of a flow is written as a difference to.
#[derive(Clone, Debug, Default)]
pub struct FlowLast {
    totals: [u64; 9],
    sample: [u64; 6],
}

pub(crate) fn put_flow(seen: FlowSeen<'_>, last: &mut FlowLast, out: &mut Vec<u8>) {
    put_changes(&mut last.totals, words(seen.totals), out);
    match seen.event {
        FlowEvent::Ack { acked, ece, sample, delay, hops } => {
            out.push(0);
            acked.put(out);
            ece.put(out);
            put_changes(&mut last.sample, sample_words(sample), out);
            delay.copied().put(out);
            (hops.len() as u64).put(out);
            for hop in hops {
                (hop.passed, hop.sent, hop.rate).put(out);
                hop.queue.iter().for_each(|queue| queue.put(out));
            }
        }
        FlowEvent::Enter(state) => {
            out.push(1);
            state.put(out);
        }
        FlowEvent::Leave(state) => {
            out.push(2);
            state.put(out);
        }
        FlowEvent::Undo => out.push(3),
        FlowEvent::TxStart { idle, rto } => {
            out.push(4);
            (idle, rto).put(out);
        }
        FlowEvent::Sent { bytes } => {
            out.push(5);
            bytes.put(out);
        }
        FlowEvent::Cnp => out.push(6),
        FlowEvent::Nack => out.push(7),
        FlowEvent::Switch(message) => {
            out.push(8);
            message.put(out);
        }
        FlowEvent::Wake => out.push(9),
    }
}

pub(crate) fn get_flow<R>(
    from: &mut Reader<'_>,
    last: &mut FlowLast,
    with: impl FnOnce(FlowSeen<'_>) -> R,
) -> Option<R> {
    let totals = totals(get_changes(&mut last.totals, from)?)?;
    let totals = &totals;
    let event = match u8::read(from)? {
        0 => {
            let (acked, ece) = (Bytes::read(from)?, bool::read(from)?);
            let sample = sample(get_changes(&mut last.sample, from)?)?;
            let delay = Option::<DelaySplit>::read(from)?;
            let mut hops = Vec::new();
            for _ in 0..u64::read(from)? {
                let (passed, sent, rate) = Code::read(from)?;
                let queue = [Bytes::read(from)?, Bytes::read(from)?];
                hops.push(IntHop { passed, sent, queue, rate });
            }
            let (sample, delay, hops) = (&sample, delay.as_ref(), hops.as_slice());
            let event = FlowEvent::Ack { acked, ece, sample, delay, hops };
            return Some(with(FlowSeen { totals, event }));
        }
        1 => FlowEvent::Enter(CaState::read(from)?),
        2 => FlowEvent::Leave(CaState::read(from)?),
        3 => FlowEvent::Undo,
        4 => FlowEvent::TxStart { idle: Span::read(from)?, rto: Span::read(from)? },
        5 => FlowEvent::Sent { bytes: Bytes::read(from)? },
        6 => FlowEvent::Cnp,
        7 => FlowEvent::Nack,
        8 => FlowEvent::Switch(SwitchMessage::read(from)?),
        9 => FlowEvent::Wake,
        _ => return None,
    };
    Some(with(FlowSeen { totals, event }))
}

fn words(of: &Totals) -> [u64; 9] {
    let mut state = Vec::with_capacity(1);
    of.state.put(&mut state);
    let flags = u64::from(state[0])
        | u64::from(of.cwnd_limited) << 3
        | u64::from(of.only_full_grows) << 4
        | u64::from(of.most_out) << 32;
    [
        of.una,
        of.nxt,
        of.sent,
        of.delivered,
        of.delivered_ce,
        of.inflight.get(),
        of.srtt.as_ps(),
        of.min_rtt.as_ps(),
        flags,
    ]
}

fn totals(words: [u64; 9]) -> Option<Totals> {
    let [una, nxt, sent, delivered, delivered_ce, inflight, srtt, min_rtt, flags] = words;
    Some(Totals {
        una,
        nxt,
        sent,
        delivered,
        delivered_ce,
        inflight: Bytes::new(inflight),
        srtt: Span::from_ps(srtt),
        min_rtt: Span::from_ps(min_rtt),
        state: CaState::read(&mut Reader::new(&[(flags & 7) as u8]))?,
        cwnd_limited: flags >> 3 & 1 == 1,
        only_full_grows: flags >> 4 & 1 == 1,
        most_out: (flags >> 32) as u32,
    })
}

fn sample_words(of: &AckSample) -> [u64; 6] {
    let mut state = Vec::with_capacity(1);
    of.state.put(&mut state);
    let flags =
        u64::from(of.rtt.is_some()) | u64::from(of.app_limited) << 1 | u64::from(state[0]) << 2;
    [
        of.rtt.map_or(0, Span::as_ps),
        of.inflight_at_send.get(),
        of.delivered_at_send,
        of.cwnd_at_send.get(),
        of.interval.as_ps(),
        flags,
    ]
}

fn sample(words: [u64; 6]) -> Option<AckSample> {
    let [rtt, inflight, delivered_at_send, cwnd, interval, flags] = words;
    let state = CaState::read(&mut Reader::new(&[u8::try_from(flags >> 2).ok()?]))?;
    Some(AckSample {
        rtt: (flags & 1 == 1).then(|| Span::from_ps(rtt)),
        inflight_at_send: Bytes::new(inflight),
        delivered_at_send,
        cwnd_at_send: Bytes::new(cwnd),
        interval: Span::from_ps(interval),
        app_limited: flags >> 1 & 1 == 1,
        state,
    })
}

impl<A: Code, B: Code> Code for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some((A::read(from)?, B::read(from)?))
    }
}

impl<A: Code, B: Code, C: Code> Code for (A, B, C) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
        self.2.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some((A::read(from)?, B::read(from)?, C::read(from)?))
    }
}

pub(crate) fn put_host(seen: HostSeen, (): &mut (), out: &mut Vec<u8>) {
    seen.put(out);
}

pub(crate) fn get_host<R>(
    from: &mut Reader<'_>,
    (): &mut (),
    with: impl FnOnce(HostSeen) -> R,
) -> Option<R> {
    HostSeen::read(from).map(with)
}

pub(crate) fn put_group(seen: GroupSeen<'_>, last: &mut [u64; 5], out: &mut Vec<u8>) {
    let GroupTotals { credited, arrived, sent, queue, flows } = *seen.totals;
    put_changes(last, [credited, arrived, sent, queue.get(), u64::from(flows)], out);
    seen.event.put(out);
}

pub(crate) fn get_group<R>(
    from: &mut Reader<'_>,
    last: &mut [u64; 5],
    with: impl FnOnce(GroupSeen<'_>) -> R,
) -> Option<R> {
    let [credited, arrived, sent, queue, flows] = get_changes(last, from)?;
    let (queue, flows) = (Bytes::new(queue), u32::try_from(flows).ok()?);
    let totals = &GroupTotals { credited, arrived, sent, queue, flows };
    Some(with(GroupSeen { totals, event: GroupEvent::read(from)? }))
}

impl Code for MessageId {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        u32::read(from).map(MessageId)
    }
}

/// The list is written whole: it is short, and a law keeps no copy either.
pub(crate) fn put_grant(seen: GrantSeen<'_>, (): &mut (), out: &mut Vec<u8>) {
    (seen.open.len() as u64).put(out);
    seen.open.iter().for_each(|open| open.put(out));
    seen.oldest.put(out);
    seen.event.put(out);
}

pub(crate) fn get_grant<R>(
    from: &mut Reader<'_>,
    (): &mut (),
    with: impl FnOnce(GrantSeen<'_>) -> R,
) -> Option<R> {
    let mut open = Vec::new();
    for _ in 0..u64::read(from)? {
        open.push(IncomingMessage::read(from)?);
    }
    let (oldest, event) = (Option::read(from)?, GrantEvent::read(from)?);
    Some(with(GrantSeen { open: &open, oldest, event }))
}

pub(crate) fn put_credit(seen: CreditSeen<'_>, last: &mut [u64; 3], out: &mut Vec<u8>) {
    let CreditTotals { answered, lost, rtt } = *seen.totals;
    put_changes(last, [answered, lost, rtt.as_ps()], out);
    seen.event.put(out);
}

pub(crate) fn get_credit<R>(
    from: &mut Reader<'_>,
    last: &mut [u64; 3],
    with: impl FnOnce(CreditSeen<'_>) -> R,
) -> Option<R> {
    let [answered, lost, rtt] = get_changes(last, from)?;
    let totals = &CreditTotals { answered, lost, rtt: Span::from_ps(rtt) };
    Some(with(CreditSeen { totals, event: CreditEvent::read(from)? }))
}

pub(crate) fn put_pool(seen: PoolSeen<'_>, last: &mut [u64; 3], out: &mut Vec<u8>) {
    let PoolTotals { outstanding, completed, blocked } = *seen.totals;
    put_changes(last, [outstanding, completed, u64::from(blocked)], out);
    seen.event.put(out);
}

pub(crate) fn get_pool<R>(
    from: &mut Reader<'_>,
    last: &mut [u64; 3],
    with: impl FnOnce(PoolSeen<'_>) -> R,
) -> Option<R> {
    let [outstanding, completed, blocked] = get_changes(last, from)?;
    let totals = &PoolTotals { outstanding, completed, blocked: u32::try_from(blocked).ok()? };
    Some(with(PoolSeen { totals, event: PoolEvent::read(from)? }))
}

/// A role's enum of laws as the log knows it.
macro_rules! role {
    ($a:lifetime, $law:ty, $params:ty, $code:literal, $name:literal, $start:ty, $act:ty, $seen:ty, $last:ty, $put:path, $get:path,
     |$at:ident| $may_start:expr) => {
        impl $crate::log::Role for $law {
            const CODE: u8 = $code;
            const NAME: &'static str = $name;
            type Params = $params;
            type Start = $start;
            type Act = $act;
            type Seen<$a> = $seen;
            type Last = $last;

            fn may_start($at: &$start) -> bool {
                $may_start
            }

            fn params(name: &str) -> Result<$params, $crate::params::ParamError> {
                <$params>::new(name)
            }

            fn set(
                params: &mut $params,
                name: &str,
                text: &str,
            ) -> Result<(), $crate::params::ParamError> {
                params.set(name, text)
            }

            fn texts(
                params: &$params,
            ) -> (
                alloc::string::String,
                alloc::vec::Vec<(alloc::string::String, alloc::string::String)>,
            ) {
                use alloc::string::ToString;
                let texts =
                    params.values().map(|(p, value)| (p.name.to_string(), value.to_string()));
                (params.name().to_string(), texts.collect())
            }

            fn start(
                params: &$params,
                now: forebay_units::Time,
                at: $start,
                acts: &mut $crate::Acts<$act>,
            ) -> Self {
                params.start_alone(now, at, acts)
            }

            fn step(
                &mut self,
                now: forebay_units::Time,
                seen: Self::Seen<'_>,
                acts: &mut $crate::Acts<$act>,
            ) {
                <$law>::step(self, now, seen, acts);
            }

            fn put(seen: Self::Seen<'_>, last: &mut $last, out: &mut alloc::vec::Vec<u8>) {
                $put(seen, last, out);
            }

            fn read<R>(
                from: &mut $crate::log::Reader<'_>,
                last: &mut $last,
                with: impl FnOnce(Self::Seen<'_>) -> R,
            ) -> Option<R> {
                $get(from, last, with)
            }
        }
    };
}

use crate::credit::CreditParams;
use crate::flow::FlowParams;
use crate::grant::GrantParams;
use crate::group::GroupParams;
use crate::host::HostParams;
use crate::pool::PoolParams;

role!('a, Flow, FlowParams, 1, "flow", Start, FlowAct, FlowSeen<'a>, FlowLast, put_flow, get_flow,
    |at| (1..=1 << 32).contains(&at.mss.get()));
role!('a, Host, HostParams, 2, "host", HostStart, HostAct, HostSeen, (), put_host, get_host, |_at| true);
role!(
    'a,
    Group,
    GroupParams,
    3,
    "group",
    GroupStart,
    GroupAct,
    GroupSeen<'a>,
    [u64; 5],
    put_group,
    get_group,
    |at| at.line_rate.get() > 0
);
role!(
    'a, Grant, GrantParams, 4, "grant", GrantStart, GrantAct, GrantSeen<'a>, (), put_grant, get_grant,
    |at| at.mss.get() > 0
);
role!(
    'a, Credit, CreditParams, 5, "credit", CreditStart, CreditAct, CreditSeen<'a>, [u64; 3], put_credit, get_credit,
    |at| at.most.get() > 0 && at.size.get() > 0
);
role!(
    'a, Pool, PoolParams, 6, "pool", PoolStart, PoolAct, PoolSeen<'a>, [u64; 3], put_pool, get_pool,
    |at| at.connections > 0 && at.line.get() > 0
);
