//! `nv.h`, compiled by `cc`, beside the law `nv` of the crate `laws`: the same events, and after each the same window and threshold.
//!
//! What the kernel does around every congestion control (the window of an episode, undo, idle restart) is handed to the C side as the
//! Rust side has it, and the decisions of NV are compared.

use forebay_laws::flow::{
    AckSample, CaState, Flow, FlowAct, FlowEvent, FlowParams, FlowSeen, Totals,
};
use forebay_laws::{Acts, Start};
use forebay_units::random::Stream;
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const NO_SSTHRESH: u64 = 0x7fff_ffff;

/// A flow under the Rust law, and what the C side gets to see of it.
struct Pair {
    law: Flow,
    totals: Totals,
    mss: u64,
    now: u64,      // ns
    cwnd: u64,     // packets, as is
    ssthresh: u64, // packets
    last_delivered: u64,
    episode: CaState,
    events: Vec<u64>,
    expected: Vec<[u64; 2]>,
    draw: (u64, u64), // key and how many
}

impl Pair {
    fn new(seed: u64, mss: u64, segments: u64) -> Self {
        let law = FlowParams::new("nv").expect("it is there");
        let mut acts = Acts::default();
        let at = Start {
            mss: Bytes::new(mss),
            initial_window: Bytes::new(segments * mss),
            line_rate: BitsPerSec::from_gbps(100),
            base_rtt: None,
            seed,
        };
        let law = law.start(at, &mut acts);
        let totals = Totals { cwnd_limited: true, only_full_grows: true, ..Totals::default() };
        let mut events = vec![segments, mss];
        events.extend((0..1024).map(|nth| Stream::at(seed, nth)));
        Self {
            law,
            totals,
            mss,
            now: 0,
            cwnd: segments,
            ssthresh: NO_SSTHRESH,
            last_delivered: 0,
            episode: CaState::Open,
            events,
            expected: Vec::new(),
            draw: (seed ^ 0x5eed, 0),
        }
    }

    /// A random number below this.
    fn below(&mut self, most: u64) -> u64 {
        self.draw.1 += 1;
        (Stream::at(self.draw.0, self.draw.1) >> 11) % most
    }

    fn step(&mut self, event: FlowEvent<'_>) {
        let mut acts = Acts::default();
        let now = Time::ZERO + Span::from_ns(self.now);
        self.law.step(now, FlowSeen { totals: &self.totals, event }, &mut acts);
        for act in acts.iter() {
            match act {
                FlowAct::Window(window) => self.cwnd = window.bytes().get() / self.mss,
                FlowAct::Ssthresh(Bytes::MAX) => self.ssthresh = NO_SSTHRESH,
                FlowAct::Ssthresh(of) => self.ssthresh = (of.get() / self.mss).min(NO_SSTHRESH),
                other => panic!("NV neither paces nor waits: {other:?}"),
            }
        }
    }

    fn note(&mut self, kind: u64, rtt: Option<u64>, in_flight: u64, delivered: u64, fresh: bool) {
        let state = self.totals.state as u64;
        self.events.extend([kind, self.now, rtt.unwrap_or(u64::MAX), in_flight]);
        self.events.extend([self.totals.una, self.totals.nxt, delivered, state, fresh.into()]);
        self.events.extend([self.cwnd, self.ssthresh]);
        self.expected.push([self.cwnd, self.ssthresh]);
    }

    /// An ACK of so many packets: the RTT is that of a bottleneck with room for `bdp` packets, and some noise.
    fn ack(&mut self, packets: u64, bdp: u64) {
        let queued = self.cwnd.saturating_sub(bdp);
        let rtt = 100 + 100 * queued / bdp + self.below(6);
        let rtt = (self.below(50) > 0).then_some(rtt);
        self.now += 1000 * rtt.unwrap_or(100) * packets / self.cwnd.max(1);
        if self.below(8) == 0 {
            self.now += 1_000_000 * self.below(60); // so that references are renewed now and then
        }
        let in_flight = self.mss * (self.cwnd.min(bdp + queued) + self.below(3)).saturating_sub(1);
        self.totals.una += packets * self.mss;
        self.totals.delivered += packets * self.mss;
        self.totals.nxt = self.totals.una + self.cwnd * self.mss;
        self.totals.inflight = Bytes::new(self.cwnd * self.mss);
        self.totals.cwnd_limited = self.below(20) > 0;
        let in_flight = in_flight.min(self.totals.delivered);
        let sample = AckSample {
            rtt: rtt.map(Span::from_us),
            delivered_at_send: self.totals.delivered - in_flight,
            state: self.totals.state,
            ..AckSample::default()
        };
        let newly = (self.totals.delivered - self.last_delivered) / self.mss;
        self.last_delivered = self.totals.delivered;
        let reducing = matches!(self.totals.state, CaState::Cwr | CaState::Recovery);
        let grows = if reducing || !self.totals.cwnd_limited { 0 } else { newly };
        let acked = Bytes::new(packets * self.mss);
        self.step(FlowEvent::Ack { acked, ece: false, sample: &sample, delay: None, hops: &[] });
        self.note(0, rtt, in_flight, grows, false);
    }

    fn enter(&mut self, state: CaState) {
        let begins = matches!(self.episode, CaState::Open | CaState::Disorder);
        self.totals.state = state;
        if state == CaState::Loss {
            self.totals.inflight = Bytes::ZERO;
        }
        let before = self.cwnd;
        self.step(FlowEvent::Enter(state));
        self.episode = state;
        self.note(1, None, 0, 0, begins || state == CaState::Loss);
        // Of an episode that turns graver the threshold stays, which is the kernel's doing around the law.
        if !begins {
            self.expected.last_mut().expect("just noted")[1] = (before * 819 / 1024).max(2);
        }
    }

    fn around(&mut self, event: FlowEvent<'_>) {
        if matches!(event, FlowEvent::Leave(_) | FlowEvent::Undo) {
            self.totals.state = CaState::Open;
            self.episode = CaState::Open;
        }
        self.step(event);
        // An idle restart settles nothing; only its window is handed on.
        self.note(2, None, 0, 0, false);
    }

    /// So many ACKs, and now and then a loss, a mark, a timeout, an undo, idleness.
    fn run(&mut self, acks: usize) {
        let mut bdp = 20;
        for _ in 0..acks {
            match self.below(600) {
                0 => bdp = 5 + self.below(300),
                1 => {
                    let state =
                        [CaState::Cwr, CaState::Recovery, CaState::Loss][self.below(3) as usize];
                    self.enter(state);
                    for _ in 0..self.below(40) {
                        self.ack(1, bdp);
                    }
                    if state == CaState::Cwr && self.below(3) == 0 {
                        self.enter(CaState::Recovery);
                        self.ack(2, bdp);
                    }
                    let last = self.totals.state;
                    let undo = self.below(3) == 0;
                    self.around(if undo { FlowEvent::Undo } else { FlowEvent::Leave(last) });
                }
                2 => {
                    let (idle, rto) = (Span::from_us(700), Span::from_us(200));
                    self.around(FlowEvent::TxStart { idle, rto });
                }
                3 => {
                    for _ in 0..self.below(120) {
                        self.ack(self.cwnd, bdp); // one sample a round trip, as merging leaves
                        if self.cwnd > 10_000 {
                            self.enter(CaState::Recovery); // more than any buffer holds
                            self.around(FlowEvent::Leave(CaState::Recovery));
                        }
                    }
                }
                _ => {
                    let packets = 1 + self.below(if self.mss > 8000 { 40 } else { 4 });
                    self.ack(packets.min(self.cwnd), bdp);
                }
            }
        }
    }
}

/// The C side, compiled once for this test.
fn compiled() -> Option<std::path::PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nv_twin");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-Wall", "-Wextra", "-Werror", "-I"]).arg(own.join("c"));
    let out = cc.arg(own.join("tests/nv_twin.c")).arg("-o").arg(&to).output().ok()?;
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(to)
}

#[test]
fn the_kernels_side_decides_as_the_law() {
    let Some(program) = compiled() else {
        println!("skipped: there is no cc");
        return;
    };
    let (mut cuts, mut events) = (0, 0);
    let long = [(1, 1448, 10), (2, 1448, 1), (3, 8948, 10), (4, 536, 300)];
    let short = (5..65).map(|seed| (seed, 1448, 10 + 3 * seed));
    for (seed, mss, segments) in long.into_iter().chain(short) {
        let mut pair = Pair::new(seed, mss, segments);
        pair.run(if seed < 5 { 25_000 } else { 300 });
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let bytes: Vec<u8> = pair.events.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut to = child.stdin.take().expect("piped");
        let writer = std::thread::spawn(move || to.write_all(&bytes).map(|()| drop(to)));
        let mut answers = Vec::new();
        child.stdout.take().expect("piped").read_to_end(&mut answers).expect("it answers");
        writer.join().expect("no panic").expect("it reads");
        assert!(child.wait().expect("it ends").success(), "a sample is not bounded");
        assert_eq!(answers.len(), 16 * pair.expected.len(), "an answer for each event");
        events += pair.expected.len();
        let mut last = segments;
        for (nth, (of, wanted)) in answers.chunks_exact(16).zip(&pair.expected).enumerate() {
            let word = |at: usize| u64::from_ne_bytes(of[at..at + 8].try_into().expect("eight"));
            let found = [word(0), word(8)];
            let event = &pair.events[1026 + 11 * nth..][..11];
            assert_eq!(&found, wanted, "seed {seed}, event {nth}: {event:?}");
            cuts += u32::from(event[0] == 0 && wanted[0] < last);
            last = wanted[0];
        }
    }
    println!("{events} events, {cuts} decreases by NV's own judgement");
    assert!(cuts > 100, "only {cuts} decreases by NV's own judgement were compared");
}
