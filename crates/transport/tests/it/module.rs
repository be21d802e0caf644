//! Congestion controls with the kernel's callbacks: which calls come, in which order.
//!
//! The lists are those of a kernel (6.15 and later): `tcp_ack`, `tcp_fastretrans_alert`, `tcp_enter_loss`, `tcp_cwnd_restart`.

use crate::common::{Fate, MSS, Pipe};
use forebay_laws::Laws;
use forebay_laws::flow::FlowParams;
use forebay_laws::kernel::{
    AckSample, Event, Fault, HostProgram, Module, Ops, Program, RateSample, Sock, reno,
};
use forebay_laws::params::LawInfo;
use forebay_transport::TcpConfig;
use forebay_units::{Bytes, Span, Time};
use std::sync::{Arc, Mutex};

/// Reno that writes down how it is called.
#[derive(Clone, Debug)]
struct Recorder {
    ops: Ops,
    calls: Arc<Mutex<Vec<String>>>,
    fails: Option<&'static str>,             // in this callback
    windows: &'static [(&'static str, u32)], // that callbacks set, by the beginnings of their calls
}

impl Recorder {
    /// Notes the call, after it set the window that it is to set.
    fn set(&self, sk: &mut Sock, call: String) -> Result<(), Fault> {
        if let Some((_, cwnd)) = self.windows.iter().find(|(name, _)| call.starts_with(name)) {
            sk.set_snd_cwnd(*cwnd);
        }
        self.note(call)
    }

    fn note(&self, call: String) -> Result<(), Fault> {
        let fails = self.fails.is_some_and(|name| call.starts_with(name));
        self.calls.lock().expect("no test panics in it").push(call);
        if fails { Err(Fault::new("cc.bpf.c:7: refused")) } else { Ok(()) }
    }
}

impl Module for Recorder {
    fn init(&mut self, sk: &mut Sock) -> Result<(), Fault> {
        let cwnd = sk.snd_cwnd();
        self.set(sk, format!("init {cwnd}"))
    }

    fn release(&mut self, _: &mut Sock) -> Result<(), Fault> {
        self.note("release".into())
    }

    fn ssthresh(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        assert_eq!(sk.prior_cwnd(), sk.snd_cwnd());
        let threshold = reno::reno_ssthresh(sk);
        let state = sk.icsk_ca_state();
        self.set(sk, format!("ssthresh in {state}"))?;
        Ok(threshold)
    }

    fn cong_avoid(&mut self, sk: &mut Sock, _: u32, acked: u32) -> Result<(), Fault> {
        self.set(sk, format!("cong_avoid {acked}"))?;
        if sk.snd_cwnd() == 0 {
            return Ok(());
        }
        reno::reno_cong_avoid(sk, acked)
    }

    fn cong_control(
        &mut self,
        sk: &mut Sock,
        _: u32,
        _: u32,
        rs: &RateSample,
    ) -> Result<(), Fault> {
        let (acked, losses) = (rs.acked_sacked, rs.losses);
        self.note(format!("cong_control {acked} lost {losses} in {}", sk.icsk_ca_state()))
    }

    fn set_state(&mut self, sk: &mut Sock, new: u8) -> Result<(), Fault> {
        let old = sk.icsk_ca_state();
        self.set(sk, format!("set_state {old} to {new}"))
    }

    fn cwnd_event(&mut self, sk: &mut Sock, event: Event) -> Result<(), Fault> {
        self.set(sk, format!("event {event:?}"))
    }

    fn in_ack_event(&mut self, _: &mut Sock, flags: u32) -> Result<(), Fault> {
        self.note(format!("in_ack_event {flags}"))
    }

    fn undo_cwnd(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        self.note("undo_cwnd".into())?;
        Ok(reno::reno_undo_cwnd(sk))
    }

    fn pkts_acked(&mut self, sk: &mut Sock, sample: &AckSample) -> Result<(), Fault> {
        assert!(sample.rtt_us != 0 && sk.packets_out() >= sk.sacked_out());
        self.set(sk, format!("pkts_acked {}", sample.pkts_acked))
    }

    fn copy(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}

/// The program of a recorder.
#[derive(Clone, Debug)]
struct Recording {
    info: LawInfo,
    module: Recorder,
}

impl Program for Recording {
    fn info(&self) -> &LawInfo {
        &self.info
    }

    fn ops(&self) -> Ops {
        self.module.ops
    }

    fn on_host(&self) -> Arc<dyn HostProgram> {
        Arc::new(self.clone())
    }

    fn copy(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }
}

impl HostProgram for Recording {
    fn flow(&self, _: u64) -> Box<dyn Module> {
        self.module.copy()
    }
}

const ALL: Ops = Ops {
    init: true,
    release: true,
    cong_avoid: true,
    cong_control: false,
    set_state: true,
    cwnd_event: true,
    in_ack_event: true,
    pkts_acked: true,
    min_tso_segs: false,
    needs_ecn: false,
};

const RTT: Span = Span::from_us(100);

struct Recorded {
    law: FlowParams,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Recorded {
    fn new(ops: Ops, fails: Option<&'static str>) -> Self {
        Self::with_windows(ops, fails, &[])
    }

    fn with_windows(
        ops: Ops,
        fails: Option<&'static str>,
        windows: &'static [(&'static str, u32)],
    ) -> Self {
        let calls = Arc::<Mutex<Vec<String>>>::default();
        let module = Recorder { ops, calls: calls.clone(), fails, windows };
        let program =
            Recording { info: LawInfo::of_program("recorder".into(), "Records.".into()), module };
        let laws = Laws::built_in().with_module(Box::new(program)).expect("the name is free");
        Self { law: laws.flow("recorder").expect("it was added"), calls }
    }

    fn config(&self) -> TcpConfig {
        TcpConfig { needs: self.law.needs(), ..TcpConfig::default() }
    }

    /// A closed flow of so many segments.
    fn pipe(&self, cfg: TcpConfig, segments: u64) -> Pipe {
        Pipe::with_spec(cfg, &self.law, Bytes::new(segments * MSS), false, RTT)
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().expect("no test panics in it"))
    }
}

/// So many ACKs of one segment each, which grow the window.
fn clean(acks: usize) -> Vec<&'static str> {
    ["pkts_acked 1", "in_ack_event 2", "cong_avoid 1"].repeat(acks)
}

#[test]
fn a_flow_begins_with_init_and_ends_with_release() {
    let recorded = Recorded::new(ALL, None);
    recorded.pipe(recorded.config(), 3).finish();
    let expected = [vec!["init 10", "event TxStart"], clean(3), vec!["release"]].concat();
    assert_eq!(recorded.calls(), expected);
}

#[test]
fn a_mark_reduces_once_and_the_reduction_ends_above_its_window() {
    let recorded = Recorded::new(Ops { needs_ecn: true, ..ALL }, None);
    let mut pipe = recorded.pipe(recorded.config(), 12);
    pipe.data_fate = Box::new(|_, n| if n == 0 { Fate::Mark } else { Fate::Pass });
    pipe.finish();
    let expected = [
        vec!["init 10", "event TxStart"],
        vec!["pkts_acked 1", "in_ack_event 7", "ssthresh in 0", "set_state 0 to 2"],
        ["pkts_acked 1", "in_ack_event 2"].repeat(9),
        vec!["pkts_acked 1", "in_ack_event 2"],
        vec!["event CompleteCwr", "set_state 2 to 0", "cong_avoid 1"],
        clean(1),
        vec!["release"],
    ];
    // The window shrinks below what is in flight, so that the eleventh segment leaves during the reduction, which it ends.
    assert_eq!(recorded.calls(), expected.concat());
}

#[test]
fn a_loss_is_disorder_first_then_recovery_and_ends_before_the_window_takes_the_threshold() {
    let recorded = Recorded::new(ALL, None);
    recorded.pipe(recorded.config(), 10).drop_data(&[2]).finish();
    let expected = [
        vec!["init 10", "event TxStart"],
        clean(2),
        vec!["pkts_acked 0", "in_ack_event 1", "set_state 0 to 1"],
        vec!["pkts_acked 0", "in_ack_event 1"],
        vec!["pkts_acked 0", "in_ack_event 1", "ssthresh in 1", "set_state 1 to 3"],
        ["pkts_acked 0", "in_ack_event 1"].repeat(4),
        vec!["pkts_acked 8", "in_ack_event 2", "set_state 3 to 0", "event CompleteCwr"],
        vec!["cong_avoid 1", "release"],
    ];
    assert_eq!(recorded.calls(), expected.concat());
}

#[test]
fn a_timeout_asks_for_the_threshold_before_the_event_and_the_state() {
    let recorded = Recorded::new(ALL, None);
    let cfg = recorded.config().with(|of| of.tail_loss_probe = false);
    let mut pipe = recorded.pipe(cfg, 3).drop_data(&[0, 1, 2]);
    pipe.finish();
    assert_eq!(pipe.sender.timeouts(), 1);
    let expected = [
        vec!["init 10", "event TxStart"],
        vec!["ssthresh in 0", "event Loss", "set_state 0 to 4", "event TxStart"],
        clean(1),
        vec!["event TxStart"],
        clean(1),
        vec!["pkts_acked 1", "in_ack_event 2", "set_state 4 to 0", "cong_avoid 1", "release"],
    ];
    assert_eq!(recorded.calls(), expected.concat());
}

#[test]
fn a_needless_timeout_is_undone_before_the_state_opens() {
    let recorded = Recorded::new(ALL, None);
    let cfg = recorded.config().with(|of| of.tail_loss_probe = false);
    let late = |_: &forebay_wire::Packet, n: u64| {
        if n < 3 { Fate::Late(Span::from_ms(1500)) } else { Fate::Pass }
    };
    let mut pipe = recorded.pipe(cfg, 3).data(|_, n| if n == 3 { Fate::Drop } else { Fate::Pass });
    pipe.ack_fate = Box::new(late);
    pipe.finish();
    assert_eq!((pipe.sender.timeouts(), pipe.sender.undos()), (1, 1));
    assert_eq!((pipe.sender.cwnd(), pipe.sender.ssthresh()), (Bytes::new(10 * MSS), Bytes::MAX));
    let expected = [
        vec!["init 10", "event TxStart"],
        vec!["ssthresh in 0", "event Loss", "set_state 0 to 4", "event TxStart"],
        vec!["pkts_acked 1", "in_ack_event 2", "undo_cwnd", "set_state 4 to 0", "cong_avoid 1"],
        clean(2),
        vec!["release"],
    ];
    assert_eq!(recorded.calls(), expected.concat());
}

#[test]
fn idleness_restarts_the_window_before_transmission_starts() {
    let recorded = Recorded::new(ALL, None);
    let size = Bytes::new(10 * MSS);
    let mut pipe = Pipe::with_spec(recorded.config(), &recorded.law, size, true, RTT);
    pipe.run_until(Time::ZERO + Span::from_secs(2));
    assert_eq!(pipe.sender.cwnd(), Bytes::new(20 * MSS));
    recorded.calls();
    pipe.sender.app_write(Bytes::new(MSS), true);
    pipe.pump();
    assert_eq!(recorded.calls(), ["event CwndRestart", "event TxStart"]);
    assert_eq!(pipe.sender.cwnd(), Bytes::new(10 * MSS), "no less than the initial window");
}

#[test]
fn cong_control_comes_last_and_nothing_else_moves_the_window() {
    let recorded = Recorded::new(Ops { cong_control: true, cong_avoid: false, ..ALL }, None);
    let mut pipe = recorded.pipe(recorded.config(), 10).drop_data(&[2]);
    pipe.finish();
    let clean = ["pkts_acked 1", "in_ack_event 2", "cong_control 1 lost 0 in 0"].repeat(2);
    let sacked = "cong_control 1 lost 0 in 3";
    let expected = [
        vec!["init 10", "event TxStart"],
        clean,
        vec!["pkts_acked 0", "in_ack_event 1", "set_state 0 to 1", "cong_control 1 lost 0 in 1"],
        vec!["pkts_acked 0", "in_ack_event 1", "cong_control 1 lost 0 in 1"],
        vec!["pkts_acked 0", "in_ack_event 1", "ssthresh in 1", "set_state 1 to 3"],
        vec!["cong_control 1 lost 1 in 3"],
        ["pkts_acked 0", "in_ack_event 1", sacked].repeat(4),
        vec!["pkts_acked 8", "in_ack_event 2", "set_state 3 to 0", "cong_control 1 lost 0 in 0"],
        vec!["release"],
    ];
    assert_eq!(recorded.calls(), expected.concat());
    assert_eq!(pipe.sender.cwnd(), Bytes::new(10 * MSS), "neither PRR nor the threshold");
}

#[test]
fn a_fault_stops_the_flow_at_once() {
    let recorded = Recorded::new(ALL, Some("cong_avoid"));
    let mut pipe = recorded.pipe(recorded.config(), 40);
    while pipe.step() {}
    let (at, why) = pipe.sender.fault().expect("it failed");
    assert_eq!((at, why.to_string().as_str()), (Time::ZERO + RTT, "cc.bpf.c:7: refused"));
    assert_eq!(recorded.calls().last().map(String::as_str), Some("cong_avoid 1"));
    assert_eq!((pipe.sent.len(), pipe.sender.deadline()), (10, Time::MAX));
    assert!(!pipe.sender.finished() && !pipe.sender.ready(&pipe.cfg));
}

#[test]
fn a_fault_on_the_last_ack_of_a_module_without_release_leaves_the_flow_unfinished() {
    let recorded = Recorded::new(Ops { release: false, ..ALL }, Some("pkts_acked"));
    let mut pipe = recorded.pipe(recorded.config(), 1);
    while pipe.step() {}
    let (at, why) = pipe.sender.fault().expect("it failed");
    assert_eq!((at, why.to_string().as_str()), (Time::ZERO + RTT, "cc.bpf.c:7: refused"));
    assert!(!pipe.sender.finished(), "a run with a fault does not end well");
}

/// Ends with the sentence about a window of 0; the calls up to there.
fn ends_at_zero(recorded: &Recorded, mut pipe: Pipe) -> Vec<String> {
    while pipe.step() {}
    let (_, why) = pipe.sender.fault().expect("Linux would wait for a timer");
    assert!(why.to_string().starts_with("snd_cwnd is 0 after the event, "), "{why}");
    recorded.calls()
}

#[test]
fn a_window_of_0_that_a_later_callback_of_the_event_raises_is_no_fault() {
    let recorded = Recorded::with_windows(ALL, None, &[("pkts_acked", 0), ("cong_avoid", 7)]);
    recorded.pipe(recorded.config(), 40).finish();
    // On a timeout Linux sets the window after the threshold and the event.
    for call in ["ssthresh", "event Loss"] {
        let windows: &'static [(&str, u32)] = match call {
            "ssthresh" => &[("ssthresh", 0)],
            _ => &[("event Loss", 0)],
        };
        let recorded = Recorded::with_windows(ALL, None, windows);
        let cfg = recorded.config().with(|of| of.tail_loss_probe = false);
        let mut pipe = recorded.pipe(cfg, 3).drop_data(&[0, 1, 2]);
        pipe.finish();
        assert_eq!(pipe.sender.timeouts(), 1, "{call}");
    }
}

#[test]
fn a_window_of_0_at_the_end_of_an_event_ends_the_run() {
    let calls = |windows: &'static [(&'static str, u32)], segments, drops: &[u64]| {
        let recorded = Recorded::with_windows(ALL, None, windows);
        let cfg = recorded.config().with(|of| of.tail_loss_probe = false);
        let pipe = recorded.pipe(cfg, segments).drop_data(drops);
        ends_at_zero(&recorded, pipe)
    };
    assert_eq!(calls(&[("init", 0)], 3, &[]), ["init 10"]);
    let lost = calls(&[("set_state 0 to 4", 0)], 3, &[0, 1, 2]);
    assert_eq!(lost.last().map(String::as_str), Some("set_state 0 to 4"));
    // The first window of ten is acknowledged before nothing is outstanding any more.
    let grown = calls(&[("cong_avoid", 0)], 40, &[]);
    assert_eq!(grown.iter().filter(|of| of.starts_with("cong_avoid")).count(), 10);
}

/// Linux waits for ACKs and for the retransmission timer, which sets a window of a packet.
#[test]
fn a_window_of_0_with_data_outstanding_waits() {
    let recorded = Recorded::with_windows(ALL, None, &[("cong_avoid", 0)]);
    let cfg = recorded.config().with(|of| of.tail_loss_probe = false);
    let mut pipe = recorded.pipe(cfg, 10).drop_data(&[9]);
    pipe.finish();
    assert_eq!(pipe.sender.timeouts(), 1);
}

/// Linux reads the window before the event: `tcp_cwnd_restart`.
#[test]
fn what_the_event_of_idleness_does_to_the_window_is_overwritten() {
    let recorded = Recorded::with_windows(ALL, None, &[("event CwndRestart", 3)]);
    let size = Bytes::new(10 * MSS);
    let mut pipe = Pipe::with_spec(recorded.config(), &recorded.law, size, true, RTT);
    pipe.run_until(Time::ZERO + Span::from_secs(2));
    pipe.sender.app_write(Bytes::new(MSS), true);
    pipe.pump();
    assert_eq!(pipe.sender.cwnd(), Bytes::new(10 * MSS), "of 20 packets, not of 3");
}

/// What left, and when, over a path with losses, late packets and timeouts.
fn trace(cfg: TcpConfig, law: &FlowParams) -> Vec<(Time, u64, bool)> {
    let size = Bytes::new(3_000 * MSS + 77);
    let mut pipe = Pipe::with_spec(cfg, law, size, false, Span::from_us(300)).nic(10).link(1);
    pipe.data_fate = Box::new(|_, n| match n {
        40 | 300 | 301 | 900 | 1_500..1_560 => Fate::Drop,
        700 | 1_200 => Fate::Late(Span::from_us(30)),
        _ => Fate::Pass,
    });
    pipe.finish();
    pipe.sent.iter().map(|sent| (sent.at, sent.seq, sent.retransmission)).collect()
}

#[test]
fn reno_as_a_module_sends_the_packets_of_the_law() {
    let law = FlowParams::new("reno").expect("a law");
    for recovery in [TcpConfig::default(), TcpConfig::default().with(|of| of.sack = false)] {
        for delayed_ack in [false, true] {
            let recorded = Recorded::new(ALL, None);
            let cfg = recovery.clone().with(|of| of.delayed_ack = delayed_ack);
            let (theirs, ours) = (trace(cfg.clone(), &law), trace(cfg, &recorded.law));
            let differs = theirs.iter().zip(&ours).position(|(a, b)| a != b);
            let said = format!("sack {}, delayed {delayed_ack}", recovery.sack);
            assert_eq!((differs, ours.len()), (None, theirs.len()), "{said}");
        }
    }
}

/// Where the kernel differs from the laws, which grow only on ACKs that advance. Source: `tcp_may_raise_cwnd`.
#[test]
fn behind_reordering_an_ack_that_only_sacks_grows_the_window() {
    for (late, grows) in [(30, false), (90, true)] {
        let recorded = Recorded::new(ALL, None);
        let mut pipe = recorded.pipe(recorded.config(), 300).nic(10).link(1);
        pipe.data_fate = Box::new(move |_, n| match n {
            60 => Fate::Late(Span::from_us(late)),
            200 => Fate::Drop,
            _ => Fate::Pass,
        });
        pipe.finish();
        let only_sacks = ["pkts_acked 0", "in_ack_event 1", "cong_avoid 1"];
        let calls = recorded.calls();
        assert_eq!(calls.windows(3).any(|three| three == only_sacks), grows, "late by {late} us");
    }
}
