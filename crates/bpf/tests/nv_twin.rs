//! `nv.h`, compiled by `cc`, beside the law `nv` of the crate `laws`: the same events, and after each the same window and threshold.
//!
//! What the kernel does around every congestion control (the window of an episode, undo, idle restart) is handed to the C side as the
//! Rust side has it, and the decisions of NV are compared. Events are drawn, or those of a simulation, by its law log.

use forebay_laws::flow::{
    AckSample, CaState, Flow, FlowAct, FlowEvent, FlowParams, FlowSeen, Totals,
};
use forebay_laws::log::Log;
use forebay_laws::{Acts, Start};
use forebay_record::law_logs::LawLogsInMemory;
use forebay_sim::{Options, Outputs, Watch, simulate_into};
use forebay_units::random::Stream;
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const NO_SSTHRESH: u64 = 0x7fff_ffff;

/// What the C side gets to see of a flow, and what it has to answer.
struct Trace {
    start: u64, // packets
    mss: u64,
    now: u64,      // ns
    cwnd: u64,     // packets, as is
    ssthresh: u64, // packets
    events: Vec<u64>,
    expected: Vec<[u64; 2]>,
}

impl Trace {
    fn new(seed: u64, mss: u64, segments: u64) -> Self {
        let mut events = vec![segments, mss];
        events.extend((0..1024).map(|nth| Stream::at(seed, nth)));
        let (cwnd, ssthresh) = (segments, NO_SSTHRESH);
        Self { start: segments, mss, now: 0, cwnd, ssthresh, events, expected: Vec::new() }
    }

    fn follow(&mut self, acts: &Acts<FlowAct>) {
        for act in acts.iter() {
            match act {
                FlowAct::Window(window) => self.cwnd = window.bytes().get() / self.mss,
                FlowAct::Ssthresh(Bytes::MAX) => self.ssthresh = NO_SSTHRESH,
                FlowAct::Ssthresh(of) => self.ssthresh = (of.get() / self.mss).min(NO_SSTHRESH),
                other => panic!("NV neither paces nor waits: {other:?}"),
            }
        }
    }

    /// `states`: now, and when the ACK came.
    fn note(
        &mut self,
        kind: u64,
        sample: (Option<u64>, u64),
        totals: &Totals,
        (delivered, came): (u64, CaState),
        fresh: bool,
    ) {
        let (rtt, in_flight) = (sample.0.unwrap_or(u64::MAX), sample.1);
        let calm = matches!(came, CaState::Open | CaState::Disorder);
        self.events.extend([kind, self.now, rtt, in_flight, totals.una, totals.nxt, delivered]);
        self.events.extend([totals.state as u64, calm.into(), fresh.into()]);
        self.events.extend([self.cwnd, self.ssthresh]);
        self.expected.push([self.cwnd, self.ssthresh]);
    }

    /// An episode is entered; `before`: the window until then.
    fn note_enter(&mut self, state: CaState, totals: &Totals, before: u64, begins: bool) {
        self.note(1, (None, 0), totals, (0, state), begins || state == CaState::Loss);
        // Of an episode that turns graver the threshold stays, which is the kernel's doing around the law.
        if !begins {
            self.expected.last_mut().expect("just noted")[1] = (before * 819 / 1024).max(2);
        }
    }

    /// Has the C side answer, and gives how often NV's own judgement made the window smaller.
    fn compare(&self, program: &Path, name: &str) -> u32 {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let bytes: Vec<u8> = self.events.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut to = child.stdin.take().expect("piped");
        let writer = std::thread::spawn(move || to.write_all(&bytes).map(|()| drop(to)));
        let mut answers = Vec::new();
        child.stdout.take().expect("piped").read_to_end(&mut answers).expect("it answers");
        writer.join().expect("no panic").expect("it reads");
        assert!(child.wait().expect("it ends").success(), "a sample is not bounded");
        assert_eq!(answers.len(), 16 * self.expected.len(), "an answer for each event");
        let (mut last, mut cuts) = (self.start, 0);
        for (nth, (of, wanted)) in answers.chunks_exact(16).zip(&self.expected).enumerate() {
            let word = |at: usize| u64::from_ne_bytes(of[at..at + 8].try_into().expect("eight"));
            let found = [word(0), word(8)];
            let event = &self.events[1026 + 12 * nth..][..12];
            assert_eq!(&found, wanted, "{name}, event {nth}: {event:?}");
            cuts += u32::from(event[0] == 0 && wanted[0] < last);
            last = wanted[0];
        }
        cuts
    }
}

/// A flow under the Rust law, through events that are drawn.
struct Pair {
    law: Flow,
    totals: Totals,
    last_delivered: u64,
    episode: CaState,
    trace: Trace,
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
        Self {
            law,
            totals,
            last_delivered: 0,
            episode: CaState::Open,
            trace: Trace::new(seed, mss, segments),
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
        let now = Time::ZERO + Span::from_ns(self.trace.now);
        self.law.step(now, FlowSeen { totals: &self.totals, event }, &mut acts);
        self.trace.follow(&acts);
    }

    /// An ACK of so many packets: the RTT is that of a bottleneck with room for `bdp` packets, and some noise.
    fn ack(&mut self, packets: u64, bdp: u64) {
        let queued = self.trace.cwnd.saturating_sub(bdp);
        let rtt = 100 + 100 * queued / bdp + self.below(6);
        let rtt = (self.below(50) > 0).then_some(rtt);
        self.trace.now += 1000 * rtt.unwrap_or(100) * packets / self.trace.cwnd.max(1);
        if self.below(8) == 0 {
            self.trace.now += 1_000_000 * self.below(60); // so that references are renewed now and then
        }
        let in_flight =
            self.trace.mss * (self.trace.cwnd.min(bdp + queued) + self.below(3)).saturating_sub(1);
        self.totals.una += packets * self.trace.mss;
        self.totals.delivered += packets * self.trace.mss;
        self.totals.nxt = self.totals.una + self.trace.cwnd * self.trace.mss;
        self.totals.inflight = Bytes::new(self.trace.cwnd * self.trace.mss);
        self.totals.cwnd_limited = self.below(20) > 0;
        let in_flight = in_flight.min(self.totals.delivered);
        let sample = AckSample {
            rtt: rtt.map(Span::from_us),
            delivered_at_send: self.totals.delivered - in_flight,
            state: self.totals.state,
            ..AckSample::default()
        };
        let newly = (self.totals.delivered - self.last_delivered) / self.trace.mss;
        self.last_delivered = self.totals.delivered;
        let reducing = matches!(self.totals.state, CaState::Cwr | CaState::Recovery);
        let grows = if reducing || !self.totals.cwnd_limited { 0 } else { newly };
        let acked = Bytes::new(packets * self.trace.mss);
        self.step(FlowEvent::Ack { acked, ece: false, sample: &sample, delay: None, hops: &[] });
        let state = self.totals.state;
        self.trace.note(0, (rtt, in_flight), &self.totals, (grows, state), false);
    }

    fn enter(&mut self, state: CaState) {
        let begins = matches!(self.episode, CaState::Open | CaState::Disorder);
        self.totals.state = state;
        if state == CaState::Loss {
            self.totals.inflight = Bytes::ZERO;
        }
        let before = self.trace.cwnd;
        self.step(FlowEvent::Enter(state));
        self.episode = state;
        self.trace.note_enter(state, &self.totals, before, begins);
    }

    fn around(&mut self, event: FlowEvent<'_>) {
        if matches!(event, FlowEvent::Leave(_) | FlowEvent::Undo) {
            self.totals.state = CaState::Open;
            self.episode = CaState::Open;
        }
        self.step(event);
        // An idle restart settles nothing; only its window is handed on.
        self.trace.note(2, (None, 0), &self.totals, (0, self.totals.state), false);
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
                        self.ack(self.trace.cwnd, bdp); // one sample a round trip, as merging leaves
                        if self.trace.cwnd > 10_000 {
                            self.enter(CaState::Recovery); // more than any buffer holds
                            self.around(FlowEvent::Leave(CaState::Recovery));
                        }
                    }
                }
                _ => {
                    let packets = 1 + self.below(if self.trace.mss > 8000 { 40 } else { 4 });
                    self.ack(packets.min(self.trace.cwnd), bdp);
                }
            }
        }
    }
}

/// The C side, compiled once for both tests.
fn compiled() -> Option<std::path::PathBuf> {
    static COMPILED: OnceLock<Option<std::path::PathBuf>> = OnceLock::new();
    COMPILED.get_or_init(compile).clone()
}

fn compile() -> Option<std::path::PathBuf> {
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
        events += pair.trace.expected.len();
        cuts += pair.trace.compare(&program, &format!("seed {seed}"));
    }
    println!("{events} events, {cuts} decreases by NV's own judgement");
    assert!(cuts > 100, "only {cuts} decreases by NV's own judgement were compared");
}

/// The log of a flow under NV in a simulation: two of them on one link, and a CUBIC flow that comes and fills its buffer.
fn logged() -> Vec<u8> {
    let text = "version = 1\nseeds = [1]\nstop = { time = \"60ms\" }\n\
        [fabric]\nkind = \"dumbbell\"\nleft = 3\nright = 3\nhost_link = { rate = \"100Gbps\", delay = \"1us\" }\n\
        bottleneck = { rate = \"10Gbps\", delay = \"47us\" }\n\
        [fabric.switch]\nbuffer = \"none\"\nport_limit = \"60 packets\"\necn = \"off\"\n\
        [transport]\nkind = \"tcp\"\nlaw = \"nv\"\nrto_min = \"5ms\"\n\
        [[traffic]]\nkind = \"long\"\nfrom = \"left.host[0]\"\nto = \"right.host[0]\"\n\
        [[traffic]]\nkind = \"long\"\nfrom = \"left.host[1]\"\nto = \"right.host[1]\"\nstart = \"5ms\"\n\
        [[traffic]]\nkind = \"long\"\nlaw = \"cubic\"\nfrom = \"left.host[2]\"\nto = \"right.host[2]\"\nstart = \"30ms\"\n\
        [output]\nlaw_log = { flows = [0] }\n";
    let loaded = forebay_scenario::text("nv.toml", text).expect("a scenario");
    let kept = LawLogsInMemory::default();
    let outputs = Outputs { law_logs: Some(&kept), ..Outputs::default() };
    simulate_into(&loaded.scenario, 1, Options::default(), &Watch::default(), outputs)
        .expect("it runs");
    kept.finish().remove("0").expect("the log of the first flow")
}

/// What the C side gets to see of the events of a log, and the windows that the law had.
fn traced(bytes: &[u8]) -> Trace {
    let mut log = Log::<Flow>::open(bytes).expect("a log of a flow");
    assert_eq!(log.law, "nv");
    let mss = log.at.mss.get();
    let mut trace = Trace::new(log.at.seed, mss, log.at.initial_window.get() / mss);
    trace.follow(&log.acts);
    let (mut delivered, mut episode) = (0, CaState::Open);
    while !log.is_empty() {
        let next = log.next(|now, seen| {
            trace.now = now.as_ps() / 1000;
            let totals = *seen.totals;
            let note = match seen.event {
                FlowEvent::Ack { acked, ece, sample, .. } => {
                    let newly = (totals.delivered - delivered) / mss;
                    delivered = totals.delivered;
                    let reducing = matches!(totals.state, CaState::Cwr | CaState::Recovery);
                    let most_out = u64::from(totals.most_out);
                    let room = trace.cwnd < trace.ssthresh && trace.cwnd < 2 * most_out;
                    let grows = !reducing && !ece && acked != Bytes::ZERO;
                    let grows = if grows && (totals.cwnd_limited || room) { newly } else { 0 };
                    let in_flight = totals.delivered - sample.delivered_at_send;
                    Some((0, (sample.rtt.map(Span::as_us), in_flight), (grows, sample.state)))
                }
                FlowEvent::Enter(state)
                    if matches!(state, CaState::Cwr | CaState::Recovery | CaState::Loss) =>
                {
                    Some((1, (None, 0), (0, state)))
                }
                FlowEvent::Sent { .. } => None,
                _ => Some((2, (None, 0), (0, totals.state))),
            };
            (totals, note)
        });
        let ((totals, note), acts) = next.expect("the log is whole");
        let before = trace.cwnd;
        trace.follow(&acts);
        match note {
            Some((1, _, (_, state))) => {
                let begins = matches!(episode, CaState::Open | CaState::Disorder);
                trace.note_enter(state, &totals, before, begins);
            }
            Some((kind, sample, grows)) => trace.note(kind, sample, &totals, grows, false),
            None => {}
        }
        episode = totals.state;
    }
    trace
}

#[test]
fn the_kernels_side_decides_as_the_law_of_a_simulation() {
    let Some(program) = compiled() else {
        println!("skipped: there is no cc");
        return;
    };
    let trace = traced(&logged());
    let cuts = trace.compare(&program, "a simulation");
    let entered = trace.events[1026..].chunks_exact(12).filter(|event| event[0] == 1).count();
    let events = trace.expected.len();
    println!(
        "{events} events of a simulation, {entered} episodes, {cuts} decreases by NV's own judgement"
    );
    assert!(events > 5000 && entered > 0 && cuts > 3, "{events}, {entered}, {cuts}");
}
