//! ACKs, NACKs and CNPs at the requester.

use super::QpSender;
use crate::rdma::RdmaConfig;
use crate::rtt::smooth;
use crate::scoreboard::Segment;
use crate::sender::{delay_split, stamp};
use forebay_laws::flow::{AckSample, CaState, FlowEvent, IntHop, SwitchMessage};
use forebay_settings::Recovery;
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, Kind, Packet};

impl QpSender {
    /// Takes an answer that had `arrived` at the NIC; `hops` is the telemetry that it brought.
    pub fn on_answer(
        &mut self,
        cfg: &RdmaConfig,
        now: Time,
        arrived: Time,
        packet: &Packet,
        hops: &[IntHop],
    ) {
        if packet.kind == Kind::Cnp {
            self.notify(now, FlowEvent::Cnp);
            return self.settle_deadline();
        }
        if packet.flags.has(Flags::NOT_READY) {
            return self.on_not_ready(cfg, now);
        }
        let moved;
        let packet = match self.before() {
            0 => packet,
            anew => {
                moved = Packet { seq: packet.seq.saturating_add(anew), ..*packet };
                &moved
            }
        };
        if packet.seq > self.most {
            // A message that began anew may be there already from before.
            let anew = self.messages.as_ref().is_some_and(|messages| messages.again > 0);
            if !anew || packet.seq > self.written {
                return;
            }
            self.most = packet.seq;
        }
        self.cover(cfg, now, arrived, packet, hops);
        let anew =
            cfg.recovery == Recovery::GoBackZero && packet.seq == self.before() && !self.idle();
        if packet.kind == Kind::Nack && (packet.seq == self.totals.una || anew) {
            self.on_nack(cfg, now, packet);
        }
        self.end_episode(now);
        if packet.flags.has(Flags::ECE) && self.totals.state == CaState::Open {
            self.enter(now, CaState::Cwr);
        }
        self.settle_deadline();
    }

    /// The other end has no receive buffer: nothing leaves for a while.
    fn on_not_ready(&mut self, cfg: &RdmaConfig, now: Time) {
        if self.not_ready || self.idle() {
            return;
        }
        let until = now.saturating_add(cfg.rnr_timer);
        self.next_at = if self.shut { self.next_at.max(until) } else { until };
        (self.shut, self.not_ready) = (true, true);
        self.timeout_at = until.saturating_add(self.timeout(cfg));
        self.settle_deadline();
    }

    /// The gate is open: if it was shut by an RNR NAK, all that is not acknowledged leaves again.
    pub(super) fn end_not_ready(&mut self, cfg: &RdmaConfig) {
        if !std::mem::take(&mut self.not_ready) {
            return;
        }
        match cfg.recovery {
            Recovery::GoBackN | Recovery::GoBackZero => self.rewind(),
            Recovery::Selective => self.repeat_all(),
        }
    }

    /// Takes a message of the host's switch.
    pub fn on_switch_message(&mut self, now: Time, message: SwitchMessage) {
        self.notify(now, FlowEvent::Switch(message));
        self.settle_deadline();
    }

    /// Everything below the answer's `seq` has arrived.
    fn cover(
        &mut self,
        cfg: &RdmaConfig,
        now: Time,
        arrived: Time,
        packet: &Packet,
        hops: &[IntHop],
    ) {
        let ece = packet.flags.has(Flags::ECE);
        let una = self.totals.una;
        let acked = packet.seq.saturating_sub(una);
        if acked == 0 && !ece {
            return;
        }
        let limited = self.window_binds(cfg);
        let before = self.totals.inflight;
        let newest = self.take_covered(cfg, now, packet.seq);
        let newly = self.totals.una.saturating_sub(una);
        let t = &mut self.totals;
        t.cwnd_limited = limited;
        let at_send = newest.map_or(0, |segment| u64::from(segment.inflight));
        t.most_out = before.get().max(at_send).div_ceil(cfg.mtu.get()) as u32;
        if ece {
            t.delivered_ce = (t.delivered_ce + newly).min(t.delivered);
        }
        // The answer's stamp says which transmission of a packet it is to.
        let timed = |s: &Segment| !s.retransmitted() || packet.stamp == stamp(s.sent);
        let rtt = newest.filter(timed).map(|s| now.since(s.sent));
        if let Some(rtt) = rtt {
            t.srtt = smooth(t.srtt, rtt);
            t.min_rtt = t.min_rtt.min(rtt);
        }
        let sample = newest.map(|segment| self.sample(now, &segment, rtt));
        let sample =
            sample.unwrap_or(AckSample { state: self.totals.state, ..AckSample::default() });
        let delay = delay_split(now, arrived, packet, rtt);
        let (acked, sample, delay) = (Bytes::new(newly), &sample, delay.as_ref());
        self.notify(now, FlowEvent::Ack { acked, ece, sample, delay, hops });
    }

    /// Forgets the segments below `seq`, of which an answer speaks that may be of an earlier round of repetitions. Returns
    /// the newest.
    fn take_covered(&mut self, cfg: &RdmaConfig, now: Time, seq: u64) -> Option<Segment> {
        let una = self.totals.una;
        if seq <= una {
            return None;
        }
        let upto = seq.min(self.totals.nxt);
        let sacked = self.forget_marks(upto);
        let covered = self.board.pop_through(una as u32, (upto - una) as u32);
        let t = &mut self.totals;
        t.una = seq;
        t.inflight = Bytes::new(t.inflight.get() - (upto - una - sacked));
        t.delivered += seq - una - sacked;
        if seq > t.nxt {
            t.nxt = seq; // a late answer: what would be repeated next is there already
            self.settle_message();
        }
        let idle = self.board.is_empty();
        self.timeout_at = if idle { Time::MAX } else { now.saturating_add(self.timeout(cfg)) };
        covered.map(|covered| covered.newest)
    }

    /// What the delivery of `segment` measured.
    fn sample(&mut self, now: Time, segment: &Segment, rtt: Option<Span>) -> AckSample {
        let (send, ack) = segment.lags();
        let delivered = self.totals.delivered;
        let since = u64::from((delivered as u32).wrapping_sub(segment.delivered));
        self.first_sent = segment.sent;
        self.delivered_at = now;
        AckSample {
            rtt,
            inflight_at_send: Bytes::new(u64::from(segment.inflight)),
            delivered_at_send: delivered - since,
            cwnd_at_send: segment.cwnd_at_send(),
            interval: send.max(now.since(segment.sent) + ack),
            app_limited: segment.app_limited,
            state: self.totals.state,
        }
    }

    fn on_nack(&mut self, cfg: &RdmaConfig, now: Time, packet: &Packet) {
        self.notify(now, FlowEvent::Nack);
        match cfg.recovery {
            Recovery::GoBackN => {
                let high = self.totals.nxt;
                self.rewind();
                self.enter_repair(now, CaState::Recovery, high);
            }
            Recovery::GoBackZero => {
                let high = self.totals.nxt;
                self.begin_anew();
                self.enter_repair(now, CaState::Recovery, high);
            }
            Recovery::Selective => self.on_gap(cfg, now, packet),
        }
    }

    /// The whole message is to be sent again: as many more bytes as were acknowledged of it, which stay so.
    fn begin_anew(&mut self) {
        self.rewind();
        let una = self.totals.una;
        let messages = self.messages.get_or_insert_default();
        messages.again = messages.again.max(self.most - messages.before);
        self.written = self.written.saturating_add(una - messages.before);
        messages.before = una;
        self.most = una;
        self.settle_message();
    }

    /// Everything that is not acknowledged is to be sent again.
    fn rewind(&mut self) {
        let t = &mut self.totals;
        t.nxt = t.una;
        t.inflight = Bytes::ZERO;
        self.board.clear();
        self.timeout_at = Time::MAX;
        self.settle_message();
    }

    /// An episode of repair that ends with the acknowledgement of `high`, unless one runs.
    pub(super) fn enter_repair(&mut self, now: Time, state: CaState, high: u64) {
        let running = matches!(self.totals.state, CaState::Recovery | CaState::Loss);
        if running && state == CaState::Recovery {
            return;
        }
        self.high_seq = high.max(self.totals.una + 1);
        self.totals.state = state;
        self.notify(now, FlowEvent::Enter(state));
    }

    /// An episode for everything under way.
    fn enter(&mut self, now: Time, state: CaState) {
        self.high_seq = self.totals.nxt;
        self.totals.state = state;
        self.notify(now, FlowEvent::Enter(state));
    }

    fn end_episode(&mut self, now: Time) {
        let (state, una) = (self.totals.state, self.totals.una);
        let over = match state {
            CaState::Open | CaState::Disorder => false,
            CaState::Cwr => una > self.high_seq,
            CaState::Recovery | CaState::Loss => una >= self.high_seq,
        };
        if over {
            self.totals.state = CaState::Open;
            self.notify(now, FlowEvent::Leave(state));
        }
    }

    /// The oldest packet has had no answer for too long.
    pub(super) fn on_timeout(&mut self, cfg: &RdmaConfig, now: Time) {
        self.timeouts += 1;
        let high = self.totals.nxt;
        match cfg.recovery {
            Recovery::GoBackN | Recovery::GoBackZero => self.rewind(),
            Recovery::Selective => {
                self.repeat_all();
                self.timeout_at = now.saturating_add(self.timeout(cfg));
            }
        }
        self.enter_repair(now, CaState::Loss, high);
    }
}
