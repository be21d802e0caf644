//! ACKs.
//!
//! Source: tcp-baseline section 4.

use super::TcpSender;
use crate::TcpConfig;
use forebay_laws::Acts;
use forebay_laws::flow::{AckSample, CaState, FlowEvent, FlowSeen};
use forebay_units::{Bytes, Time};
use forebay_wire::{Flags, Packet};

impl TcpSender {
    /// Takes an ACK.
    #[inline]
    pub fn on_ack(&mut self, cfg: &TcpConfig, now: Time, packet: &Packet) {
        let ack = packet.seq;
        let (una, nxt) = (self.totals.una, self.totals.nxt);
        if ack > nxt {
            return; // of data never sent
        }
        let edge = ack.saturating_add(TcpConfig::window_of(packet.window));
        self.rwnd_end = self.rwnd_end.max(edge);
        if ack <= una {
            return;
        }
        self.advance(cfg, now, ack, packet.flags.has(Flags::ECE));
    }

    /// The short way: an ACK for new data while nothing is amiss.
    #[inline]
    fn advance(&mut self, cfg: &TcpConfig, now: Time, ack: u64, ece: bool) {
        let una = self.totals.una;
        let covered = (ack - una) as u32;
        let mut last = None;
        while let Some(front) = self.board.front() {
            if front.end.wrapping_sub(una as u32) > covered {
                break;
            }
            last = Some(*front);
            self.board.pop();
        }
        let Some(last) = last else { return };
        let acked = last.end.wrapping_sub(una as u32);
        let t = &mut self.totals;
        t.una += u64::from(acked);
        t.delivered += u64::from(acked);
        if ece {
            t.delivered_ce += u64::from(acked);
        }
        t.inflight = t.inflight.saturating_sub(Bytes::new(u64::from(acked)));
        let rtt = now.since(last.sent);
        self.rtt.sample(cfg, &mut self.totals, now, rtt);
        self.rack.advance(&self.totals, now, &last);
        let t = &self.totals;
        let (send_lag, delivery_lag) = last.lags();
        let sample = AckSample {
            rtt: Some(rtt),
            inflight_at_send: Bytes::new(u64::from(last.inflight)),
            delivered_at_send: t.delivered
                - u64::from((t.delivered as u32).wrapping_sub(last.delivered)),
            cwnd_at_send: last.cwnd_at_send(),
            interval: send_lag.max(rtt + delivery_lag),
            app_limited: last.app_limited,
        };
        self.delivered_at = now;
        self.first_sent = last.sent;
        self.backoff = 0;
        let mut acts = Acts::default();
        let event = FlowEvent::Ack {
            acked: Bytes::new(u64::from(acked)),
            ece,
            sample: &sample,
            delay: None,
            hops: &[],
        };
        self.law.step(now, FlowSeen { totals: &self.totals, event }, &mut acts);
        self.apply(&acts);
        if ece && self.totals.state == CaState::Open {
            self.send_cwr = true;
        }
        self.arm(cfg, now);
    }
}
