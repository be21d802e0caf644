//! ACKs, the short way: new data is covered and nothing is amiss.
//!
//! Source: Linux `net/ipv4/tcp_input.c` (`tcp_ack`).

use super::TcpSender;
use crate::TcpConfig;
use crate::acts::ControlledSender;
use crate::config::MOST_WINDOW;
use crate::prr::Delivery;
use crate::scoreboard::Segment;
use forebay_laws::Acts;
use forebay_laws::flow::{AckSample, CaState, DelaySplit, FlowEvent, FlowSeen};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, Packet};

impl TcpSender {
    /// Takes an ACK at the moment of its arrival. One for data never sent is ignored.
    #[inline]
    pub fn on_ack(&mut self, cfg: &TcpConfig, now: Time, packet: &Packet) {
        self.on_held_ack(cfg, now, now, packet);
    }

    /// Takes an ACK that the host held since it `arrived`.
    #[inline]
    pub fn on_held_ack(&mut self, cfg: &TcpConfig, now: Time, arrived: Time, packet: &Packet) {
        match packet.window() {
            None => self.take_ack(cfg, now, arrived, packet, MOST_WINDOW),
            Some(window) => {
                self.take_limited_ack(cfg, now, arrived, &packet.without_window(), window);
            }
        }
    }

    /// Apart, so that ACKs without a window pay nothing for it.
    #[inline(never)]
    fn take_limited_ack(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        arrived: Time,
        packet: &Packet,
        window: u64,
    ) {
        self.take_ack(cfg, now, arrived, packet, cfg.usable(window));
    }

    #[inline]
    fn take_ack(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        arrived: Time,
        packet: &Packet,
        window: u64,
    ) {
        let ack = packet.seq;
        if ack > self.totals.nxt {
            return;
        }
        if !cfg.gentle_growth {
            self.note_usage_at_ack(cfg);
        }
        self.rwnd_end = self.rwnd_end.max(ack.saturating_add(window));
        if self.calm && packet.sacks == 0 && ack > self.totals.una {
            self.advance(cfg, now, arrived, packet);
        } else {
            self.on_ack_slow(cfg, now, arrived, packet);
        }
        if cfg.host.tso {
            self.settle_deferral(cfg, now);
        }
    }

    #[inline]
    fn advance(&mut self, cfg: &TcpConfig, now: Time, arrived: Time, packet: &Packet) {
        let una = self.totals.una;
        let covered = (packet.seq - una) as u32;
        let ece = packet.flags.has(Flags::ECE);
        let Some(covered) = self.board.pop_through(una as u32, covered) else { return };
        let last = covered.newest;
        let acked = u64::from(last.end.wrapping_sub(una as u32));
        let t = &mut self.totals;
        t.una += acked;
        let newly = t.una.saturating_sub(t.delivered); // without SACK, some may have been guessed before
        t.delivered += newly;
        t.delivered_ce += if ece { newly } else { 0 };
        t.inflight = Bytes::new(t.inflight.get() - acked);
        let mut rtt = None;
        if !covered.retransmitted {
            let (oldest, newest) = (now.since(covered.oldest_sent), now.since(last.sent));
            self.rtt.sample(cfg, &mut self.totals, now, oldest, newest);
            rtt = Some(newest);
        }
        self.rack.advance(&self.totals, now, &last);
        self.rack.advanced = false; // nothing older is outstanding
        self.backoff = 0;
        let delay = delay_split(now, arrived, packet, rtt);
        let during = self.totals.state;
        if during == CaState::Cwr {
            self.end_cwr(cfg, now);
        }
        self.tell_ack(now, (acked, ece, during), (Some(&last), rtt), delay);
        if ece {
            self.on_mark(cfg, now, newly);
        }
        self.arm_on_ack(cfg, now, true);
    }

    /// `delivered` when `segment` left.
    #[inline]
    pub(super) fn delivered_at_send(&self, segment: &Segment) -> u64 {
        let now = self.totals.delivered;
        now - u64::from((now as u32).wrapping_sub(segment.delivered))
    }

    /// Tells the law of an ACK that delivered something, up to `newest`, or echoed a mark, and came in the state `during`.
    #[inline]
    pub(super) fn tell_ack(
        &mut self,
        now: Time,
        (acked, ece, during): (u64, bool, CaState),
        (newest, rtt): (Option<&Segment>, Option<Span>),
        delay: Option<DelaySplit>,
    ) {
        let mut sample = match newest {
            Some(segment) => self.sample(now, segment, rtt),
            None => AckSample::default(),
        };
        sample.state = during;
        let acked = Bytes::new(acked);
        let delay = delay.as_ref();
        let event = FlowEvent::Ack { acked, ece, sample: &sample, delay, hops: &[] };
        let mut acts = Acts::default();
        self.law.step_here(now, FlowSeen { totals: &self.totals, event }, &mut acts);
        if !acts.is_empty() {
            self.apply(now, &acts);
        }
    }

    /// What the delivery of `segment` measured.
    #[inline]
    pub(super) fn sample(&mut self, now: Time, segment: &Segment, rtt: Option<Span>) -> AckSample {
        let (send, ack) = segment.lags();
        self.first_sent = segment.sent;
        self.delivered_at = now;
        AckSample {
            rtt,
            inflight_at_send: Bytes::new(u64::from(segment.inflight)),
            delivered_at_send: self.delivered_at_send(segment),
            cwnd_at_send: segment.cwnd_at_send(),
            interval: send.max(now.since(segment.sent) + ack),
            app_limited: segment.app_limited,
            state: self.totals.state,
        }
    }

    /// A reduction after a mark ends, if the ACK goes beyond it.
    #[cold]
    #[inline(never)]
    fn end_cwr(&mut self, cfg: &TcpConfig, now: Time) {
        if self.repair.as_ref().is_some_and(|r| self.totals.una > r.high_seq) {
            self.leave(cfg, now);
        }
    }

    /// A mark was echoed.
    #[cold]
    #[inline(never)]
    fn on_mark(&mut self, cfg: &TcpConfig, now: Time, newly: u64) {
        let mut r = self.take_repair();
        if self.totals.state == CaState::Open {
            self.enter_cwr(&mut r, cfg, now);
            if self.held {
                self.reduce(&mut r, cfg, now, Delivery { newly, clean_advance: true });
            }
        }
        self.put_repair(r);
    }
}

/// Where the round trip that an ACK measured was spent, if its receiver says so.
#[inline]
pub(crate) fn delay_split(
    now: Time,
    arrived: Time,
    packet: &Packet,
    rtt: Option<Span>,
) -> Option<DelaySplit> {
    let stamps = packet.stamps()?;
    let forward = Span::from_ns(u64::from(stamps.forward));
    let remote_host = Span::from_ns(u64::from(stamps.held));
    let local_host = now.since(arrived);
    let backward = rtt?.saturating_sub(forward + remote_host + local_host);
    Some(DelaySplit { forward, backward, remote_host, local_host, hops: 0 })
}
