//! The flow's congestion control as a module with the kernel's callbacks: its socket, and the calls in the kernel's order.
//!
//! A flow with a module takes the long way through the sender, at sends and at ACKs. There each step that Linux has in `tcp_input.c` and
//! `tcp_output.c` keeps the socket's fields and calls the module. Windows of such a flow are packets, whatever is in them.
//!
//! Source: Linux 6.12 `tcp_ack`, `tcp_fastretrans_alert`, `tcp_enter_loss`, `tcp_cong_control`, `tcp_rate.c`, `tcp_cwnd_restart`,
//! `tcp_event_data_sent`; `in_ack_event` as since 6.15.
//! Deviation: `snd_wnd` and the like are those of a receiver without limits where none is set. Round-trip times are rounded down once; a
//! kernel subtracts two stamps, each rounded down.
//! Deviation: without `cong_control` the stack paces by the window at the moment of sending ([`TcpSender::stack_gap`]), not by `sk_pacing_rate`.
//!
//! Invariant: `TcpSender::cwnd` and `ssthresh` are the socket's, times a full segment, after each call.

use super::repair::Repair;
use super::slow_path::Work;
use super::{FlowSpec, TcpSender};
use crate::TcpConfig;
use crate::config::MOST_WINDOW;
use crate::marks::Mark;
use crate::prr::{Delivery, Prr, halved};
use crate::scoreboard::Segment;
use forebay_laws::flow::CaState;
use forebay_laws::kernel::{
    self, AckSample, Event, FIRST_SEQ, Fault, INFINITE_SSTHRESH, Module, OwnSock, RateSample,
    RunningModule, Sock, ack_flag, clock_ns, jiffies,
};
use forebay_units::{Span, Time};
use forebay_wire::{Flags, Packet};

/// A module with its socket.
#[derive(Clone, Debug)]
pub(super) struct Control {
    running: RunningModule,
    pub(super) sk: OwnSock,
    fault: Option<(Time, Fault)>,
    pub(super) calm: bool, // what `TcpSender::calm` would be without a module
    min_tso: u32,
    released: bool,
}

/// `sk_gso_max_size` of a host without segmentation offload. Source: `GSO_LEGACY_MAX_SIZE`.
const GSO_MAX: u64 = 65_536;

/// Segments that may overtake one (`net.ipv4.tcp_reordering`).
const REORDERING: u32 = 3;

/// Bits of the `flag` of `cong_control`. Source: `net/ipv4/tcp_input.c`.
mod flag {
    pub(super) const WIN_UPDATE: u32 = 0x2;
    pub(super) const DATA_ACKED: u32 = 0x4;
    pub(super) const RETRANS_DATA_ACKED: u32 = 0x8;
    pub(super) const DATA_SACKED: u32 = 0x20;
    pub(super) const ECE: u32 = 0x40;
    pub(super) const LOST_RETRANS: u32 = 0x80;
    pub(super) const SLOWPATH: u32 = 0x100;
    pub(super) const ORIG_SACK_ACKED: u32 = 0x200;
    pub(super) const SND_UNA_ADVANCED: u32 = 0x400;
    pub(super) const DSACKING_ACK: u32 = 0x800;
}

fn seq(byte: u64) -> u32 {
    (byte as u32).wrapping_add(FIRST_SEQ)
}

fn us(span: Span) -> u32 {
    u32::try_from(span.as_us()).unwrap_or(u32::MAX)
}

fn number(state: CaState) -> u8 {
    match state {
        CaState::Open => kernel::ca_state::OPEN,
        CaState::Disorder => kernel::ca_state::DISORDER,
        CaState::Cwr => kernel::ca_state::CWR,
        CaState::Recovery => kernel::ca_state::RECOVERY,
        CaState::Loss => kernel::ca_state::LOSS,
    }
}

/// Whether PRR sets the window in this state.
fn reducing(state: CaState) -> bool {
    matches!(state, CaState::Cwr | CaState::Recovery)
}

/// The initial window in packets, at least one.
fn initial_packets(cfg: &TcpConfig) -> u32 {
    u32::try_from((cfg.initial_window().get() / cfg.mss()).max(1)).unwrap_or(u32::MAX)
}

impl Control {
    /// A module with the socket of a new connection.
    pub(super) fn new(running: RunningModule, cfg: &TcpConfig, spec: &FlowSpec, now: Time) -> Self {
        let mut sk = OwnSock::default();
        sk.set_snd_una(FIRST_SEQ);
        sk.set_snd_nxt(FIRST_SEQ);
        sk.set_write_seq(FIRST_SEQ);
        sk.set_rcv_nxt(FIRST_SEQ);
        sk.set_cwnd_usage_seq(FIRST_SEQ);
        sk.set_mss_cache(cfg.mss() as u32);
        sk.set_snd_cwnd(initial_packets(cfg));
        sk.set_snd_ssthresh(INFINITE_SSTHRESH);
        sk.set_snd_cwnd_clamp(u32::MAX);
        sk.set_delivered(1);
        sk.set_rtt_min(u32::MAX);
        sk.set_reordering(REORDERING);
        sk.set_ecn_flags(u8::from(cfg.ecn()));
        sk.set_sk_pacing_rate(u64::MAX);
        sk.set_sk_max_pacing_rate(u64::MAX);
        sk.set_sk_pacing_status(u32::from(cfg.host.paces()));
        sk.set_sk_gso_max_size(cfg.host.super_packet().map_or(GSO_MAX, |most| most.get()) as u32);
        sk.set_sk_pacing_shift(10);
        sk.set_skc_num(spec.flow.0 as u16);
        sk.set_skc_dport(((spec.flow.0 >> 16) as u16).to_be());
        sk.set_skc_family(2);
        sk.set_skc_state(1);
        let window = cfg.first_window().min(u64::from(u32::MAX)) as u32;
        sk.set_snd_wnd(window);
        sk.set_rcv_wnd(window);
        sk.set_window_clamp(window);
        let mut control =
            Self { running, sk, fault: None, calm: true, min_tso: 2, released: false };
        control.clock(now);
        control.sk.set_lsndtime(jiffies(now, control.running.hz));
        control.sk.set_delivered_mstamp(control.sk.tcp_mstamp());
        control.sk.set_first_tx_mstamp(control.sk.tcp_mstamp());
        control
    }

    fn clock(&mut self, now: Time) {
        let ns = clock_ns(now);
        self.sk.set_tcp_clock_cache(ns);
        self.sk.set_tcp_mstamp(ns / 1_000);
    }

    /// Calls the module, unless it has ended the run.
    fn call<T>(
        &mut self,
        now: Time,
        call: impl FnOnce(&mut dyn Module, &mut Sock) -> Result<T, Fault>,
    ) -> Option<T> {
        if self.fault.is_some() {
            return None;
        }
        let done = call(&mut *self.running.module, &mut self.sk);
        done.map_err(|fault| self.fault = Some((now, fault))).ok()
    }

    /// A window of 0 that no later callback of the event raised ends the run, where nothing would open it again.
    fn judge_window(&mut self, now: Time) {
        if self.fault.is_none() && self.sk.snd_cwnd() == 0 {
            let why = "snd_cwnd is 0 after the event, and no ACK is on its way: Linux would wait for a timer before it sends again; keep at least one packet";
            self.fault = Some((now, Fault::new(why)));
        }
    }

    /// Whether the module has ended the run.
    pub(super) fn is_dead(&self) -> bool {
        self.fault.is_some()
    }

    /// When the module ended the run, and why.
    pub(super) fn fault(&self) -> Option<(Time, &Fault)> {
        self.fault.as_ref().map(|(at, fault)| (*at, fault))
    }

    /// Whether the module sets window and pacing rate altogether.
    pub(super) fn has_control(&self) -> bool {
        self.running.ops.cong_control
    }

    /// Least segments of a super-packet, as the module said when it was asked last.
    pub(super) fn min_tso(&self) -> u64 {
        u64::from(self.min_tso)
    }

    /// Counts of packets after the scoreboard changed.
    pub(super) fn count(&mut self, out: usize, r: &Repair) {
        let resent = r.marks.count(Mark::Resent);
        self.sk.set_packets_out(out as u32);
        self.sk.set_sacked_out(r.marks.count(Mark::Sacked) + r.dup_acks);
        self.sk.set_lost_out(r.marks.count(Mark::Lost) + resent);
        self.sk.set_retrans_out(resent);
        self.sk.set_lost(r.lost_segments);
    }

    /// Packets that the window leaves room for.
    fn room(&self) -> u64 {
        u64::from(self.sk.snd_cwnd().saturating_sub(self.sk.packets_in_flight()))
    }

    fn touch_cwnd(&mut self, now: Time, cwnd: u32) {
        self.sk.set_snd_cwnd(cwnd.max(1));
        self.sk.set_snd_cwnd_stamp(jiffies(now, self.running.hz));
    }

    /// The threshold that an undo or an idle period keeps. Source: `tcp_current_ssthresh`.
    fn current_ssthresh(&self, state: CaState) -> u32 {
        let (cwnd, ssthresh) = (self.sk.snd_cwnd(), self.sk.snd_ssthresh());
        if reducing(state) { ssthresh } else { ssthresh.max((cwnd >> 1) + (cwnd >> 2)) }
    }

    /// The stack's pacing rate. Source: `tcp_update_pacing_rate`.
    fn update_pacing_rate(&mut self) {
        let sk = &mut self.sk;
        let tenths = if sk.snd_cwnd() < sk.snd_ssthresh() / 2 { 20 } else { 12 };
        let window = sk.snd_cwnd().max(sk.packets_out());
        let each = u64::from(sk.mss_cache()) * 8 * 100_000 * tenths;
        let rate = each.saturating_mul(window.into());
        let rate = rate.checked_div(sk.srtt_us().into()).unwrap_or(rate);
        sk.set_sk_pacing_rate(rate);
    }

    /// What a transmission notes of the packets delivered by then.
    pub(super) fn noted(&self) -> (u32, u32) {
        (self.sk.delivered(), self.sk.delivered_ce())
    }
}

/// Calls of the module, each after its fields were set, and then what the module changed.
impl TcpSender {
    /// The module starts.
    pub(super) fn init_module(&mut self, cfg: &TcpConfig, now: Time) {
        self.refresh(cfg, now);
        let Some(m) = &mut self.module else { return };
        if m.sk.srtt_us() > 0 && !m.has_control() {
            m.update_pacing_rate();
        }
        if m.running.ops.init {
            m.call(now, |module, sk| module.init(sk));
        }
        m.judge_window(now);
        self.heed(cfg);
    }

    /// When the module of the flow ended the run, and why. The flow does nothing from then on.
    pub fn fault(&self) -> Option<(Time, &Fault)> {
        self.module.as_ref()?.fault()
    }

    /// Takes over what the module wrote.
    fn heed(&mut self, cfg: &TcpConfig) {
        let Some(m) = &self.module else { return };
        let ssthresh = m.sk.snd_ssthresh();
        self.cwnd = u64::from(m.sk.snd_cwnd()) * cfg.mss();
        self.ssthresh = match ssthresh {
            INFINITE_SSTHRESH.. => u64::MAX,
            some => u64::from(some) * cfg.mss(),
        };
        self.app_limited = m.sk.app_limited() > 0;
        if m.sk.sk_pacing_status() > 0 && self.pace.is_none() {
            self.pace_mut();
        }
    }

    /// The fields that ACKs and time move.
    fn refresh(&mut self, cfg: &TcpConfig, now: Time) {
        let Some(m) = &mut self.module else { return };
        let t = &self.totals;
        m.clock(now);
        let sk = &mut m.sk;
        sk.set_snd_una(seq(t.una));
        sk.set_snd_nxt(seq(t.nxt));
        sk.set_write_seq(seq(self.written.min(t.nxt.saturating_add(MOST_WINDOW))));
        sk.set_bytes_acked(t.una);
        sk.set_bytes_sent(t.sent);
        sk.set_bytes_retrans(t.sent - t.nxt);
        sk.set_snd_wnd(self.rwnd_end.saturating_sub(t.una).min(u64::from(u32::MAX)) as u32);
        sk.set_is_cwnd_limited(u8::from(t.cwnd_limited));
        sk.set_max_packets_out(t.most_out);
        sk.set_cwnd_usage_seq(self.usage_end.wrapping_add(FIRST_SEQ));
        if t.srtt > Span::ZERO {
            let (mdev, rttvar) = self.rtt.deviations();
            sk.set_srtt_us(
                (t.srtt.as_ps().saturating_mul(8) / 1_000_000).clamp(1, u32::MAX.into()) as u32,
            );
            sk.set_mdev_us(mdev.saturating_mul(4) / 1_000);
            sk.set_rttvar_us(rttvar / 1_000);
            sk.set_rtt_min(us(t.min_rtt).max(1));
        }
        let rto = self.rtt.rto(cfg, t.srtt, self.backoff).as_ps() / 1_000_000;
        sk.set_icsk_rto((rto * u64::from(m.running.hz) / 1_000_000) as u32);
        if let Some(pace) = &self.pace {
            sk.set_tcp_wstamp_ns(clock_ns(pace.next.max(now)));
        }
    }

    fn refresh_repair(&mut self, r: &Repair) {
        let Some(m) = &mut self.module else { return };
        m.sk.set_undo_marker(r.undo_marker.map_or(0, seq));
        m.sk.set_icsk_retransmits(r.rto_sends.min(u8::MAX.into()) as u8);
        m.sk.set_reordering(r.reordering);
        m.sk.set_total_retrans(r.retransmits as u32);
        m.sk.set_high_seq(seq(r.high_seq));
    }

    /// An event for the module, if there is one that takes it.
    pub(super) fn cwnd_event(&mut self, cfg: &TcpConfig, now: Time, event: Event) {
        let Some(m) = &mut self.module else { return };
        if m.running.ops.cwnd_event {
            m.call(now, |module, sk| module.cwnd_event(sk, event));
            self.heed(cfg);
        }
    }

    /// The state becomes this one. Source: `tcp_set_ca_state`.
    pub(super) fn set_state(&mut self, cfg: &TcpConfig, now: Time, state: CaState) {
        self.totals.state = state;
        let Some(m) = &mut self.module else { return };
        self.held = reducing(state) && !m.has_control();
        if m.running.ops.set_state {
            m.call(now, |module, sk| module.set_state(sk, number(state)));
        }
        m.sk.set_icsk_ca_state(number(state));
        self.heed(cfg);
    }

    /// First half of an ACK: what it removed and measured, then that it came.
    pub(super) fn tell_module(&mut self, r: &Repair, cfg: &TcpConfig, now: Time, w: &mut Work) {
        self.refresh(cfg, now);
        self.refresh_repair(r);
        let Some(m) = &mut self.module else { return };
        let sk = &mut m.sk;
        w.prior_lost = sk.lost();
        sk.set_delivered(sk.delivered().wrapping_add(w.delivered));
        if w.ece {
            sk.set_delivered_ce(sk.delivered_ce().wrapping_add(w.delivered));
        }
        if let Some(newest) = &w.newest {
            sk.set_first_tx_mstamp(clock_ns(newest.sent) / 1_000);
        }
        if w.stale {
            return;
        }
        if m.running.ops.pkts_acked && w.outstanding {
            let prior = w.newest.as_ref().map_or(0, |newest| newest.inflight);
            let since = m.sk.delivered().wrapping_sub(prior);
            let sample = AckSample {
                pkts_acked: w.segments,
                rtt_us: w.rtt.map_or(-1, |rtt| us(rtt).clamp(1, i32::MAX as u32) as i32),
                in_flight: m.sk.mss_cache().wrapping_mul(since),
            };
            m.call(now, |module, sk| module.pkts_acked(sk, &sample));
        }
        if m.running.ops.in_ack_event {
            let mut flags = if w.advanced { ack_flag::WIN_UPDATE } else { 0 };
            if w.is_rough() {
                flags |= ack_flag::SLOWPATH | if w.ece { ack_flag::ECE } else { 0 };
            }
            m.call(now, |module, sk| module.in_ack_event(sk, flags));
        }
        self.heed(cfg);
    }

    /// Second half of an ACK, behind the state machine: the rate sample, then `cong_control`, or PRR or growth, and the pacing rate.
    pub(super) fn control(
        &mut self,
        r: &mut Repair,
        cfg: &TcpConfig,
        now: Time,
        packet: &Packet,
        w: &Work,
    ) {
        let Some(m) = &mut self.module else { return };
        let sk = &mut m.sk;
        let losses = sk.lost().wrapping_sub(w.prior_lost);
        if sk.app_limited() > 0 && sk.delivered().wrapping_sub(sk.app_limited()) as i32 > 0 {
            sk.set_app_limited(0);
        }
        if w.delivered > 0 {
            sk.set_delivered_mstamp(sk.tcp_mstamp());
        }
        let rs = sample(sk, w, losses);
        self.app_limited = sk.app_limited() > 0;
        if let Some(newest) = &w.newest {
            (self.first_sent, self.delivered_at) = (newest.sent, now);
        }
        if w.stale || !w.outstanding {
            return self.end_event(now);
        }
        let ack = seq(packet.seq);
        if m.has_control() {
            let flag = w.kernel_flag(packet);
            m.call(now, |module, sk| module.cong_control(sk, ack, flag, &rs));
        } else if reducing(self.totals.state) {
            let newly = u64::from(w.delivered);
            let clean_advance = w.advanced && losses == 0;
            self.reduce_packets(r, cfg, now, Delivery { newly, clean_advance });
        } else {
            let reordered = m.sk.reordering() > REORDERING && w.sacked;
            if m.running.ops.cong_avoid && (w.advanced || reordered) {
                m.call(now, |module, sk| module.cong_avoid(sk, ack, w.delivered));
                m.sk.set_snd_cwnd_stamp(jiffies(now, m.running.hz));
            }
        }
        let Some(m) = &mut self.module else { return };
        if !m.has_control() {
            m.update_pacing_rate();
        }
        self.end_event(now);
        self.heed(cfg);
    }

    /// The flow is over: the module hears of it, once.
    pub(super) fn release_module(&mut self, cfg: &TcpConfig, now: Time) {
        let finished = self.finished();
        let Some(m) = &mut self.module else { return };
        if finished && !m.released {
            m.released = true;
            if m.running.ops.release {
                m.call(now, |module, sk| module.release(sk));
            }
            self.open |= m.is_dead(); // a flow that ended the run is never finished
            self.heed(cfg);
        }
    }

    /// The window after an ACK of a reduction, by packets. Source: `tcp_cwnd_reduction`.
    pub(super) fn reduce_packets(
        &mut self,
        r: &mut Repair,
        cfg: &TcpConfig,
        now: Time,
        ack: Delivery,
    ) {
        let Some(m) = &mut self.module else { return };
        if m.has_control() || ack.newly == 0 {
            return;
        }
        let (ssthresh, inflight) = (m.sk.snd_ssthresh().into(), m.sk.packets_in_flight().into());
        let cwnd = if cfg.prr {
            r.prr.window(1, ssthresh, inflight, ack)
        } else {
            r.halving += 1;
            halved(m.sk.snd_cwnd().into(), r.halving - 1, 1, ssthresh, inflight)
        };
        m.touch_cwnd(now, u32::try_from(cwnd).unwrap_or(u32::MAX));
        m.sk.set_prr_delivered(r.prr.delivered() as u32);
        self.heed(cfg);
    }

    /// A reduction begins; the state stays as it is. Source: `tcp_init_cwnd_reduction`.
    fn init_reduction(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time) {
        r.high_seq = self.totals.nxt;
        r.tlp = None;
        r.halving = 0;
        self.settle_inflight(r);
        let Some(m) = &mut self.module else { return };
        let cwnd = m.sk.snd_cwnd();
        r.prr = Prr::new(cwnd.into());
        m.sk.set_high_seq(seq(r.high_seq));
        m.sk.set_undo_marker(r.undo_marker.map_or(0, seq));
        m.sk.set_snd_cwnd_cnt(0);
        m.sk.set_prior_cwnd(cwnd);
        m.sk.set_prr_delivered(0);
        m.sk.set_prr_out(0);
        if let Some(ssthresh) = m.call(now, |module, sk| module.ssthresh(sk)) {
            m.sk.set_snd_ssthresh(ssthresh);
        }
        self.send_cwr = cfg.ecn();
        self.heed(cfg);
    }

    /// A reduction is over. `settles`: the window takes the threshold. Source: `tcp_end_cwnd_reduction`.
    fn end_reduction(&mut self, cfg: &TcpConfig, now: Time, settles: bool) {
        let Some(m) = &mut self.module else { return };
        if m.has_control() {
            return;
        }
        let ssthresh = m.sk.snd_ssthresh();
        if settles && ssthresh < INFINITE_SSTHRESH {
            m.touch_cwnd(now, ssthresh);
        }
        self.cwnd_event(cfg, now, Event::CompleteCwr);
        self.heed(cfg);
    }

    /// A mark was echoed. Source: `tcp_enter_cwr`.
    pub(super) fn module_enters_cwr(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time) {
        self.set_prior_ssthresh(0);
        r.undo_marker = None;
        self.init_reduction(r, cfg, now);
        self.set_state(cfg, now, CaState::Cwr);
    }

    /// A tail loss probe repaired a loss. Source: `tcp_process_tlp_ack`.
    pub(super) fn module_had_tail_loss(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time) {
        self.init_reduction(r, cfg, now);
        self.set_state(cfg, now, CaState::Cwr);
        self.end_reduction(cfg, now, true);
        self.keep_open(r, cfg, now);
    }

    /// Loss is evident. Source: `tcp_enter_recovery`.
    pub(super) fn module_enters_recovery(
        &mut self,
        r: &mut Repair,
        cfg: &TcpConfig,
        now: Time,
        marked: bool,
    ) {
        self.settle_inflight(r);
        self.refresh(cfg, now);
        self.set_prior_ssthresh(0);
        r.frto = false;
        let state = self.totals.state;
        if !reducing(state) {
            if let Some(m) = &self.module
                && !marked
            {
                self.set_prior_ssthresh(m.current_ssthresh(state));
            }
            self.init_reduction(r, cfg, now);
        }
        self.refresh_repair(r);
        self.set_state(cfg, now, CaState::Recovery);
    }

    /// A timeout: everything old enough is marked lost. `afresh`: it begins an episode. Source: `tcp_enter_loss`.
    pub(super) fn module_enters_loss(
        &mut self,
        r: &mut Repair,
        cfg: &TcpConfig,
        now: Time,
        afresh: bool,
    ) {
        self.refresh(cfg, now);
        self.refresh_repair(r);
        let state = self.totals.state;
        let Some(m) = &mut self.module else { return };
        if afresh {
            let (cwnd, prior) = (m.sk.snd_cwnd(), m.current_ssthresh(state));
            m.sk.set_prior_ssthresh(prior);
            m.sk.set_prior_cwnd(cwnd);
            if let Some(ssthresh) = m.call(now, |module, sk| module.ssthresh(sk)) {
                m.sk.set_snd_ssthresh(ssthresh);
            }
            self.cwnd_event(cfg, now, Event::Loss);
            r.begin_undo(self.totals.una);
        }
        let Some(m) = &mut self.module else { return };
        m.sk.set_undo_marker(r.undo_marker.map_or(0, seq));
        m.touch_cwnd(now, m.sk.packets_in_flight() + 1);
        m.sk.set_snd_cwnd_cnt(0);
        self.set_state(cfg, now, CaState::Loss);
        if let Some(m) = &mut self.module {
            m.judge_window(now); // or the timer would expire again and again
        }
    }

    /// An event is over. While something is outstanding, a window of 0 waits for an ACK or the retransmission timer, as in Linux.
    pub(super) fn end_event(&mut self, now: Time) {
        let is_stuck = self.board.is_empty() && !self.finished();
        if let Some(m) = self.module.as_mut().filter(|_| is_stuck) {
            m.judge_window(now);
        }
    }

    /// `Cwr` has come to its end.
    pub(super) fn module_leaves_cwr(&mut self, cfg: &TcpConfig, now: Time) {
        self.end_reduction(cfg, now, true);
        self.set_state(cfg, now, CaState::Open);
    }

    /// `Recovery` has come to its end; `undone`: needlessly begun.
    pub(super) fn module_leaves_recovery(&mut self, cfg: &TcpConfig, now: Time, undone: bool) {
        self.set_state(cfg, now, CaState::Open);
        self.end_reduction(cfg, now, !undone);
    }

    /// The window before a reduction that was needless. The state stays. Source: `tcp_undo_cwnd_reduction`.
    pub(super) fn module_undoes(&mut self, cfg: &TcpConfig, now: Time) {
        let Some(m) = &mut self.module else { return };
        if m.sk.prior_ssthresh() > 0 {
            if let Some(cwnd) = m.call(now, |module, sk| module.undo_cwnd(sk)) {
                m.sk.set_snd_cwnd(cwnd.max(1));
            }
            if m.sk.prior_ssthresh() > m.sk.snd_ssthresh() {
                let prior = m.sk.prior_ssthresh();
                m.sk.set_snd_ssthresh(prior);
                self.send_cwr = false;
            }
        }
        m.sk.set_snd_cwnd_stamp(jiffies(now, m.running.hz));
        m.sk.set_undo_marker(0);
        self.heed(cfg);
    }

    fn set_prior_ssthresh(&mut self, packets: u32) {
        if let Some(m) = &mut self.module {
            m.sk.set_prior_ssthresh(packets);
        }
    }

    /// The ACK echoes a mark: what it reduces is not undone.
    pub(super) fn forbid_undo(&mut self, r: &mut Repair) {
        r.prior_ssthresh = 0;
        self.set_prior_ssthresh(0);
    }

    /// New data is about to leave, and nothing was outstanding for `idle`. Source: `tcp_slow_start_after_idle_check`, `tcp_cwnd_restart`.
    pub(super) fn module_resumes(&mut self, cfg: &TcpConfig, now: Time, idle: Span) {
        self.refresh(cfg, now);
        let rto = self.rtt.rto(cfg, self.totals.srtt, 0);
        let state = self.totals.state;
        let Some(m) = &mut self.module else { return };
        let mut left = idle.saturating_sub(rto);
        let restarts = cfg.slow_start_after_idle && self.totals.sent > 0 && !m.has_control();
        if !restarts || left == Span::ZERO || rto == Span::ZERO {
            return;
        }
        let mut cwnd = m.sk.snd_cwnd(); // before the event, as in Linux
        self.cwnd_event(cfg, now, Event::CwndRestart);
        let Some(m) = &mut self.module else { return };
        let ssthresh = m.current_ssthresh(state);
        m.sk.set_snd_ssthresh(ssthresh);
        let least = initial_packets(cfg).min(cwnd);
        while left > Span::ZERO && cwnd > least {
            cwnd = (cwnd >> 1).max(least);
            left = left.saturating_sub(rto);
        }
        m.touch_cwnd(now, cwnd);
        self.heed(cfg);
    }

    /// Data is about to leave, new or again. Source: `tcp_event_data_sent`, then `tcp_rate_skb_sent`.
    pub(super) fn before_data(&mut self, cfg: &TcpConfig, now: Time) {
        let Some(m) = &mut self.module else { return };
        m.clock(now);
        if m.sk.packets_in_flight() == 0 {
            self.cwnd_event(cfg, now, Event::TxStart);
        }
        let first = self.board.is_empty();
        let Some(m) = &mut self.module else { return };
        m.sk.set_lsndtime(jiffies(now, m.running.hz));
        if first {
            m.sk.set_delivered_mstamp(m.sk.tcp_mstamp());
            m.sk.set_first_tx_mstamp(m.sk.tcp_mstamp());
        }
    }

    /// Whether the window or the application limits sending, by packets. See [`TcpSender::note_usage`].
    pub(super) fn note_packets(&mut self, cfg: &TcpConfig, now: Time) {
        let Some(m) = &mut self.module else { return };
        let out = self.board.len() as u32;
        let t = &mut self.totals;
        m.sk.set_packets_out(out);
        m.sk.set_snd_nxt(seq(t.nxt));
        let inflight = m.sk.packets_in_flight();
        let full = inflight >= m.sk.snd_cwnd();
        let over = (t.una as u32).wrapping_sub(self.usage_end) as i32 >= 0;
        if cfg.gentle_growth && (over || full || (!t.cwnd_limited && out > t.most_out)) {
            t.cwnd_limited = full;
            t.most_out = out;
            self.usage_end = t.nxt as u32;
        }
        m.sk.set_is_cwnd_limited(u8::from(t.cwnd_limited));
        m.sk.set_max_packets_out(t.most_out);
        m.sk.set_cwnd_usage_seq(self.usage_end.wrapping_add(FIRST_SEQ));
        if t.nxt == self.written && !full {
            let until = m.sk.delivered().wrapping_add(inflight).max(1);
            m.sk.set_app_limited(until);
            self.app_limited = true;
        }
        if m.sk.cwnd_limited() {
            m.sk.set_snd_cwnd_stamp(jiffies(now, m.running.hz));
        }
    }

    /// Packets of PRR that left.
    pub(super) fn count_prr(&mut self, r: &Repair) {
        if let Some(m) = &mut self.module {
            m.sk.set_prr_out(r.prr.out() as u32);
        }
    }

    /// Asks for the least segments of a super-packet.
    pub(super) fn ask_min_tso(&mut self, cfg: &TcpConfig, now: Time) {
        let Some(m) = &mut self.module else { return };
        if m.running.ops.min_tso_segs {
            m.clock(now);
            if let Some(least) = m.call(now, |module, sk| module.min_tso_segs(sk)) {
                m.min_tso = least;
            }
            self.heed(cfg);
        }
    }

    /// Bytes that the window leaves room for: packets of full size, where there is a module.
    pub(super) fn window_room(&self, cfg: &TcpConfig) -> u64 {
        match &self.module {
            Some(m) => m.room() * cfg.mss(),
            None => self.cwnd.saturating_sub(self.totals.inflight.get()),
        }
    }

    /// Time that `len` bytes take at the module's pacing rate; none where the stack derives the rate from the window. The first ten segments are
    /// not paced.
    pub(super) fn module_gap(&self, cfg: &TcpConfig, len: u64) -> Option<Span> {
        let m = self.module.as_ref()?;
        if m.sk.sk_pacing_status() == 0 {
            return Some(Span::ZERO);
        }
        if !m.has_control() {
            return None;
        }
        let rate = m.sk.sk_pacing_rate();
        if rate == u64::MAX || rate == 0 || self.is_unpaced(cfg) {
            return Some(Span::ZERO);
        }
        let ps = u128::from(len) * 1_000_000_000_000 / u128::from(rate);
        Some(Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)))
    }

    /// The module's pacing rate in bytes per s, where it sets one.
    pub(super) fn module_rate(&self) -> Option<u64> {
        let m = self.module.as_ref().filter(|m| m.has_control())?;
        Some(m.sk.sk_pacing_rate()).filter(|rate| *rate < u64::MAX)
    }
}

impl Work {
    /// Whether the ACK is more than a plain advance.
    fn is_rough(&self) -> bool {
        self.ece || self.sacked || self.dsack || !self.advanced
    }

    fn kernel_flag(&self, packet: &Packet) -> u32 {
        let bit = |on, bit| if on { bit } else { 0 };
        bit(self.advanced, flag::SND_UNA_ADVANCED | flag::WIN_UPDATE)
            | bit(self.segments > 0, flag::DATA_ACKED)
            | bit(self.resent_acked, flag::RETRANS_DATA_ACKED)
            | bit(self.sacked, flag::DATA_SACKED)
            | bit(self.ece, flag::ECE)
            | bit(self.resent_lost, flag::LOST_RETRANS)
            | bit(self.is_rough(), flag::SLOWPATH)
            | bit(self.original, flag::ORIG_SACK_ACKED)
            | bit(packet.flags.has(Flags::DSACK), flag::DSACKING_ACK)
    }
}

/// The rate sample of an ACK, and what the socket keeps of it. Source: `tcp_rate_skb_delivered`, `tcp_rate_gen`.
fn sample(sk: &mut OwnSock, w: &Work, losses: u32) -> RateSample {
    let mut rs = RateSample {
        delivered: -1,
        interval_us: -1,
        rtt_us: w.rtt.map_or(-1, |rtt| i64::from(us(rtt).max(1))),
        losses: losses as i32,
        acked_sacked: w.delivered,
        prior_in_flight: w.prior_in_flight,
        ..RateSample::default()
    };
    let Some(newest) = &w.newest else { return rs };
    let Segment { inflight: delivered, cwnd: delivered_ce, .. } = *newest;
    let (send, ack) = newest.lags();
    let prior_mstamp = (clock_ns(newest.sent) / 1_000).saturating_sub(ack.as_us());
    rs.prior_mstamp = prior_mstamp;
    rs.prior_delivered = delivered;
    rs.prior_delivered_ce = delivered_ce;
    rs.last_end_seq = newest.end.wrapping_add(FIRST_SEQ);
    rs.is_app_limited = newest.app_limited;
    rs.is_retrans = newest.retransmitted();
    rs.delivered = sk.delivered().wrapping_sub(delivered) as i32;
    rs.delivered_ce = sk.delivered_ce().wrapping_sub(delivered_ce) as i32;
    rs.snd_interval_us = us(send);
    rs.rcv_interval_us = sk.tcp_mstamp().saturating_sub(prior_mstamp).min(u32::MAX.into()) as u32;
    let runt = w.segments == 1 && w.acked < u64::from(sk.mss_cache());
    rs.is_ack_delayed = runt && rs.delivered == 1 && !w.is_rough();
    let interval = rs.snd_interval_us.max(rs.rcv_interval_us);
    if interval < sk.rtt_min() {
        return rs;
    }
    rs.interval_us = interval.into();
    let best = u64::from(sk.rate_delivered()) * u64::from(interval);
    let this = u64::from(rs.delivered.unsigned_abs()) * u64::from(sk.rate_interval_us());
    if !rs.is_app_limited || this >= best {
        sk.set_rate_delivered(rs.delivered.unsigned_abs());
        sk.set_rate_interval_us(interval);
        sk.set_rate_app_limited(rs.is_app_limited.into());
    }
    rs
}
