//! Whose marks cut the rate of a sender that waits for its pacing gate.
//!
//! A rate law slows down on marks. Marks come from the port of a switch, or from the law of the receiving host (hostCC). The last mark
//! before a wait counts as its cause: rates recover between marks.

use super::index::Index;
use super::log::{FollowedFlow, Log, PacketId, Role};
use forebay_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// What marks packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Marker {
    /// A port, by its link, and the class of the packets.
    Port(u32, u8),
    /// The receiving host.
    Host(u32),
}

/// What went to pacing because of one marker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RateCut {
    /// Name of the port, `tor->host[7]`, or of the host.
    pub by: String,
    /// Pacing on the path after its marks.
    pub span: Span,
    /// How long the port was paused meanwhile, from the begin of the path to its end; `None` of a host.
    pub paused: Option<Span>,
}

/// Marks of the packets of one flow, by time.
pub(super) struct Marks(Vec<(Time, Marker)>);

impl Marks {
    /// Of a flow that is no stream of messages.
    pub fn of(log: &Log, index: &Index<'_>, flow: &FollowedFlow) -> Self {
        let mut all = Vec::new();
        for seen in log.nodes.iter().filter_map(|node| node.packets.get((flow.flow, 0))) {
            let marked = seen.arrived.iter().filter(|one| one.ce && one.role == Role::Data);
            let before: BTreeSet<PacketId> = marked.map(|one| one.id).collect();
            let left = seen.left.values().flatten().filter(|one| one.ce && one.role == Role::Data);
            let own = left.filter(|one| !before.contains(&one.id));
            all.extend(own.map(|one| (one.end, Marker::Port(one.link, one.class))));
        }
        all.extend(at_host(log, index, flow));
        all.sort_unstable();
        Self(all)
    }

    /// The last mark by `at`.
    pub fn last(&self, at: Time) -> Option<Marker> {
        let came = self.0.partition_point(|one| one.0 <= at);
        Some(self.0[..came].last()?.1)
    }
}

/// Congestion notifications for which no marked packet had come since the one before: the host marked.
fn at_host(log: &Log, index: &Index<'_>, flow: &FollowedFlow) -> Vec<(Time, Marker)> {
    let Some(seen) = log.nodes[flow.dst as usize].packets.get((flow.flow, 0)) else {
        return Vec::new();
    };
    let told = seen.left.values().flatten().filter(|one| one.role == Role::Other);
    let mut told: Vec<Time> = told.map(|one| one.start()).collect();
    told.sort_unstable();
    // A packet is looked at when it has crossed the path to memory.
    let seen_at = |came: Time| {
        index.landing(flow.flow, flow.dst, came).map_or(came, |landing| landing.landed.max(came))
    };
    let marked = seen.arrived.iter().filter(|one| one.ce && one.role == Role::Data);
    let marked: BTreeSet<Time> = marked.map(|one| seen_at(one.at)).collect();
    let since = [Time::ZERO].into_iter().chain(told.iter().copied());
    let own = since.zip(&told).filter(|(since, at)| marked.range(*since..=**at).next().is_none());
    own.map(|(_, at)| (*at, Marker::Host(flow.dst))).collect()
}

/// Names and pauses of markers, the one that cost most first.
pub(super) fn cuts(
    log: &Log,
    index: &Index<'_>,
    spans: BTreeMap<Marker, Span>,
    (from, to): (Time, Time),
) -> Vec<RateCut> {
    let one = |(marker, span): (Marker, Span)| match marker {
        Marker::Port(link, class) => {
            let paused = index.paused(link, class, from, to);
            let paused = paused.into_iter().map(|(begin, end)| end.since(begin)).sum();
            RateCut { by: log.port(link), span, paused: Some(paused) }
        }
        Marker::Host(host) => RateCut { by: log.names[host as usize].clone(), span, paused: None },
    };
    let mut all: Vec<RateCut> = spans.into_iter().map(one).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.span)); // stable
    all
}
