//! Both variants, from single samples to flows that share a queue. Numbers are worked out beside each test.

use super::*;
use crate::flow::{CaState, DelaySplit, FlowEvent, FlowParams};
use crate::kernel_clock::micros;
use crate::params::ParamTable;
use crate::testing::bottleneck::Bottleneck;
use crate::testing::{MSS, Rig, at};
use forebay_units::Bytes;
use proptest::prelude::*;
use std::vec::Vec;

extern crate std;

mod mainline;
mod shared_queue;
mod slides;

fn params(pairs: &[(&str, &str)]) -> NvParams {
    let mut params = NvParams::default();
    for (name, text) in pairs {
        assert_eq!(params.set(name, text), Some(true), "{name} = {text}");
    }
    params
}

/// In avoidance at so many segments, with a window that the application does not fill: it cannot grow.
fn nv(pairs: &[(&str, &str)], segments: u64) -> Rig<Nv> {
    let mut rig: Rig<Nv> = Rig::new(&params(pairs), segments);
    rig.law.window.set_threshold(segments * MSS, &mut Acts::default());
    rig.totals.cwnd_limited = false;
    rig.fill();
    rig
}

/// An ACK of one segment that ends a round trip, and found `packets` in flight for `rtt` us.
fn sample(rig: &mut Rig<Nv>, rtt: u64, packets: u64) {
    sample_of(rig, rtt, packets, 1);
}

/// An ACK of `k` segments that ends a round trip.
fn sample_of(rig: &mut Rig<Nv>, rtt: u64, packets: u64, k: u64) {
    let delivered = rig.totals.delivered + k * MSS;
    rig.totals.nxt = rig.totals.una + k * MSS;
    rig.sample.rtt = Some(Span::from_us(rtt));
    rig.sample.inflight_at_send = Bytes::new(packets * MSS);
    rig.sample.delivered_at_send = delivered.saturating_sub(packets * MSS);
    rig.ack(k * MSS, false);
}

/// The middle of a transfer, so that a flight that began before its start does not matter.
fn under_way(rig: &mut Rig<Nv>) {
    rig.totals.una += 1 << 33;
    rig.totals.nxt += 1 << 33;
    rig.totals.delivered += 1 << 33;
    rig.law.window.growth(&rig.totals, Bytes::ZERO, false);
    if let Form::Mainline(nv) = &mut rig.law.form {
        nv.begin(&rig.totals);
    }
}

/// So many such samples until the window changes; `None` if it never does.
fn samples_until_change(rig: &mut Rig<Nv>, rtt: u64, packets: u64) -> Option<usize> {
    let before = rig.cwnd;
    (1..=300).find(|_| {
        sample(rig, rtt, packets);
        rig.cwnd != before
    })
}
