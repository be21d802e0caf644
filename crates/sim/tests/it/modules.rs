//! Congestion controls with the kernel's callbacks against the built-in laws: the same digest of a run.
//!
//! The modules below are written from the pages of the laws, in packets, as a program for a kernel would be.

use crate::common::{run, scenario};
use forebay_laws::Laws;
use forebay_laws::kernel::{
    AckSample, Event, Fault, HostProgram, Module, Ops, Program, Sock, ca_state, reno,
};
use forebay_laws::params::LawInfo;
use forebay_record::PortRow;
use forebay_scenario::Loader;
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, SimError, Watch, simulate, twin};
use forebay_units::math::cube_root;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A module whose state begins as its default.
trait FreshModule: Module + Default + Clone + 'static {
    const OPS: Ops;
}

/// A program whose modules begin as copies of one.
#[derive(Clone, Debug)]
struct TestProgram<M> {
    info: LawInfo,
    first: M,
}

impl<M: FreshModule> TestProgram<M> {
    fn laws(name: &str) -> Laws {
        let info = LawInfo::of_program(name.into(), "A module.".into());
        let program = Self { info, first: M::default() };
        Laws::built_in().with_module(Box::new(program)).expect("the name is free")
    }
}

impl<M: FreshModule> Program for TestProgram<M> {
    fn info(&self) -> &LawInfo {
        &self.info
    }

    fn ops(&self) -> Ops {
        M::OPS
    }

    fn on_host(&self) -> Arc<dyn HostProgram> {
        Arc::new(self.clone())
    }

    fn copy(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }
}

impl<M: FreshModule> HostProgram for TestProgram<M> {
    fn flow(&self, _: u64) -> Box<dyn Module> {
        Box::new(self.first.clone())
    }
}

#[derive(Clone, Debug, Default)]
struct Reno;

impl FreshModule for Reno {
    const OPS: Ops = Ops { cong_avoid: true, ..NONE };
}

const NONE: Ops = Ops {
    init: false,
    release: false,
    cong_avoid: false,
    cong_control: false,
    set_state: false,
    cwnd_event: false,
    in_ack_event: false,
    pkts_acked: false,
    min_tso_segs: false,
    needs_ecn: false,
};

impl Module for Reno {
    fn ssthresh(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        Ok(reno::reno_ssthresh(sk))
    }

    fn cong_avoid(&mut self, sk: &mut Sock, _: u32, acked: u32) -> Result<(), Fault> {
        reno::reno_cong_avoid(sk, acked)
    }

    fn undo_cwnd(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        Ok(reno::reno_undo_cwnd(sk))
    }

    fn copy(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}

/// DCTCP with the kernel's arithmetic: alpha in 1/1024, whole packets.
#[derive(Clone, Debug)]
struct Dctcp {
    alpha: u32,
    next_seq: u32,
    old: (u32, u32), // delivered, and of those marked
    loss_cwnd: u32,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self { alpha: 1024, next_seq: 0, old: (0, 0), loss_cwnd: 0 }
    }
}

impl FreshModule for Dctcp {
    const OPS: Ops = Ops {
        init: true,
        cong_avoid: true,
        set_state: true,
        in_ack_event: true,
        needs_ecn: true,
        ..NONE
    };
}

impl Dctcp {
    fn begin(&mut self, sk: &Sock) {
        self.next_seq = sk.snd_nxt();
        self.old = (sk.delivered(), sk.delivered_ce());
    }

    fn half(&mut self, sk: &mut Sock) {
        self.loss_cwnd = sk.snd_cwnd();
        sk.set_snd_ssthresh(reno::reno_ssthresh(sk));
    }
}

impl Module for Dctcp {
    fn init(&mut self, sk: &mut Sock) -> Result<(), Fault> {
        self.begin(sk);
        Ok(())
    }

    fn in_ack_event(&mut self, sk: &mut Sock, _: u32) -> Result<(), Fault> {
        if (sk.snd_una().wrapping_sub(self.next_seq) as i32) < 0 {
            return Ok(());
        }
        let delivered = sk.delivered().wrapping_sub(self.old.0);
        let marked = sk.delivered_ce().wrapping_sub(self.old.1);
        if let Some(rise) = (marked << 6).checked_div(delivered) {
            let decay = if self.alpha >> 4 > 0 { self.alpha >> 4 } else { self.alpha };
            self.alpha = (self.alpha - decay + rise).min(1024);
        }
        self.begin(sk);
        Ok(())
    }

    fn ssthresh(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        self.loss_cwnd = sk.snd_cwnd();
        Ok((sk.snd_cwnd() - ((sk.snd_cwnd() * self.alpha) >> 11)).max(2))
    }

    fn set_state(&mut self, sk: &mut Sock, new: u8) -> Result<(), Fault> {
        if new == ca_state::RECOVERY && sk.icsk_ca_state() != new {
            self.half(sk);
        }
        Ok(())
    }

    fn cong_avoid(&mut self, sk: &mut Sock, _: u32, acked: u32) -> Result<(), Fault> {
        reno::reno_cong_avoid(sk, acked)
    }

    fn undo_cwnd(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        Ok(sk.snd_cwnd().max(self.loss_cwnd))
    }

    fn copy(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}

/// CUBIC with the kernel's arithmetic at 1000 ticks per second, and HyStart.
#[derive(Clone, Debug, Default)]
struct Cubic {
    cnt: u32,
    last_max: u32,
    last_cwnd: u32,
    last_time: u32,
    epoch: Option<Epoch>,
    delay_min: u32, // us; 0: none
    round_start: u64,
    last_ack: u64,
    end_seq: u32,
    least: u32, // us
    samples: u8,
    found: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    start: u32,
    acked: u32,
    reno_cwnd: u32,
    origin: u32,
    k: u64,
}

impl FreshModule for Cubic {
    const OPS: Ops = Ops {
        init: true,
        cong_avoid: true,
        set_state: true,
        cwnd_event: true,
        pkts_acked: true,
        ..NONE
    };
}

fn ticks(sk: &Sock) -> u32 {
    (sk.tcp_clock_cache() / 1_000_000) as u32
}

impl Cubic {
    fn round(&mut self, sk: &Sock) {
        (self.round_start, self.last_ack) = (sk.tcp_mstamp(), sk.tcp_mstamp());
        self.end_seq = sk.snd_nxt();
        (self.least, self.samples) = (u32::MAX, 0);
    }

    fn hystart(&mut self, sk: &mut Sock, delay: u32) {
        if sk.snd_una().wrapping_sub(self.end_seq) as i32 > 0 {
            self.round(sk);
        }
        if sk.snd_cwnd() < 16 {
            return;
        }
        let now = sk.tcp_mstamp();
        if now - self.last_ack <= 2_000 {
            self.last_ack = now;
            let burst =
                u64::from(sk.sk_gso_max_size()) * 4 * 1_000_000 / sk.sk_pacing_rate().max(1);
            let longest = u64::from(self.delay_min) + burst.min(1_000);
            let longest = if sk.sk_pacing_status() == 0 { longest >> 1 } else { longest };
            self.found = now - self.round_start > longest;
        }
        self.least = self.least.min(delay);
        if self.samples < 8 {
            self.samples += 1;
        } else {
            let rise = (self.delay_min >> 3).clamp(4_000, 16_000);
            self.found |= self.least > self.delay_min + rise;
        }
        if self.found {
            sk.set_snd_ssthresh(sk.snd_cwnd());
        }
    }

    fn update(&mut self, sk: &Sock, acked: u32) {
        let (now, cwnd) = (ticks(sk), sk.snd_cwnd());
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
        }
        let since = now.wrapping_sub(self.last_time) as i32;
        if self.last_cwnd == cwnd && since <= 1000 / 32 {
            return;
        }
        if self.epoch.is_none() || since != 0 {
            (self.last_cwnd, self.last_time) = (cwnd, now);
            let epoch = *self.epoch.get_or_insert_with(|| {
                let short = self.last_max.saturating_sub(cwnd);
                let k = cube_root((1 << 40) / 410 * u64::from(short)).into();
                let origin = self.last_max.max(cwnd);
                Epoch { start: now, acked, reno_cwnd: cwnd, origin, k }
            });
            let ahead = u64::from(now.wrapping_sub(epoch.start))
                + u64::from(self.delay_min.div_ceil(1_000));
            let t = (ahead << 10) / 1000;
            let off = t.abs_diff(epoch.k);
            let delta = ((410 * u128::from(off).pow(3)) >> 40) as u32;
            let target =
                if t < epoch.k { epoch.origin.saturating_sub(delta) } else { epoch.origin + delta };
            self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
            if self.last_max == 0 {
                self.cnt = self.cnt.min(20);
            }
        }
        if let Some(epoch) = &mut self.epoch {
            let delta = (cwnd * 15 / 8).max(1);
            if epoch.acked > delta {
                let more = (epoch.acked - 1) / delta;
                epoch.acked -= more * delta;
                epoch.reno_cwnd += more;
            }
            if epoch.reno_cwnd > cwnd {
                self.cnt = self.cnt.min(cwnd / (epoch.reno_cwnd - cwnd));
            }
        }
        self.cnt = self.cnt.max(2);
    }
}

impl Module for Cubic {
    fn init(&mut self, sk: &mut Sock) -> Result<(), Fault> {
        self.round(sk);
        Ok(())
    }

    fn pkts_acked(&mut self, sk: &mut Sock, sample: &AckSample) -> Result<(), Fault> {
        let young = |epoch: Epoch| (ticks(sk).wrapping_sub(epoch.start) as i32) < 1000;
        if sample.rtt_us < 0 || self.epoch.is_some_and(young) {
            return Ok(());
        }
        let delay = (sample.rtt_us as u32).max(1);
        if self.delay_min == 0 || delay < self.delay_min {
            self.delay_min = delay;
        }
        if !self.found && sk.in_slow_start() {
            self.hystart(sk, delay);
        }
        Ok(())
    }

    fn cong_avoid(&mut self, sk: &mut Sock, _: u32, acked: u32) -> Result<(), Fault> {
        if !sk.cwnd_limited() {
            return Ok(());
        }
        let left = if sk.in_slow_start() { reno::slow_start(sk, acked) } else { acked };
        if left == 0 {
            return Ok(());
        }
        self.update(sk, left);
        reno::cong_avoid_ai(sk, self.cnt, left)
    }

    fn ssthresh(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        let cwnd = sk.snd_cwnd();
        self.epoch = None;
        self.last_max = if cwnd < self.last_max { cwnd * (1024 + 717) / 2048 } else { cwnd };
        Ok((cwnd * 717 / 1024).max(2))
    }

    fn set_state(&mut self, sk: &mut Sock, new: u8) -> Result<(), Fault> {
        if new == ca_state::LOSS {
            *self = Self::default();
            self.round(sk);
        }
        Ok(())
    }

    fn cwnd_event(&mut self, sk: &mut Sock, event: Event) -> Result<(), Fault> {
        if let (Event::TxStart, Some(epoch)) = (event, &mut self.epoch) {
            let now = ticks(sk);
            let idle = now.wrapping_sub(sk.lsndtime()) as i32;
            if idle > 0 {
                let start = epoch.start.wrapping_add(idle as u32);
                epoch.start = if start.wrapping_sub(now) as i32 > 0 { now } else { start };
            }
        }
        Ok(())
    }

    fn undo_cwnd(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        Ok(reno::reno_undo_cwnd(sk))
    }

    fn copy(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}

/// A dumbbell of 100 Mb/s and 10 ms with flows of one pair of hosts each.
fn dumbbell(law: &str, params: &str, pairs: u32) -> String {
    format!(
        "version = 1\nseeds = [1]\nstop = {{ time = \"20s\" }}\n\
         [fabric]\nkind = \"dumbbell\"\nleft = {pairs}\nright = {pairs}\n\
         host_link = {{ rate = \"1Gbps\", delay = \"10us\" }}\n\
         bottleneck = {{ rate = \"100Mbps\", delay = \"5ms\" }}\n\
         [fabric.switch]\nbuffer = \"none\"\nport_limit = \"100 packets\"\necn = {{ k = \"40 packets\" }}\n\
         [transport]\nkind = \"tcp\"\nlaw = \"{law}\"\nparams = {params}\ndelayed_ack = true\n\
         [[traffic]]\nkind = \"long\"\nfrom = \"left.host[*]\"\nto = \"right.host[*]\"\n"
    )
}

fn read(laws: Laws, text: &str) -> Scenario {
    let loaded = Loader::new(laws).text::<&str>("t.toml", text, &[]);
    loaded.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario
}

/// Digest, packets dropped and packets marked.
fn outcome(scenario: &Scenario) -> (u64, u64, u64) {
    let record = run(scenario, 1, Options::default()).record;
    let sum = |of: fn(&PortRow) -> u64| record.ports.iter().map(of).sum();
    (record.digest, sum(|port| port.dropped_packets), sum(|port| port.marked_packets))
}

#[test]
fn a_module_gives_the_digest_of_the_law_that_it_is_written_after() {
    let linux = "{ alpha = \"linux\", cut = \"packets\", prr_on_ce = \"true\" }";
    for (law, params, ours, laws) in [
        ("reno", "{}", "my-reno", TestProgram::<Reno>::laws("my-reno")),
        ("cubic", "{}", "my-cubic", TestProgram::<Cubic>::laws("my-cubic")),
        ("dctcp", linux, "my-dctcp", TestProgram::<Dctcp>::laws("my-dctcp")),
    ] {
        let theirs = outcome(&scenario(&dumbbell(law, params, 1)));
        assert!(theirs.1 + theirs.2 > 5, "{law}: something has to happen: {theirs:?}");
        assert_eq!(outcome(&read(laws, &dumbbell(ours, "{}", 1))), theirs, "{law}");
    }
}

#[test]
fn a_run_with_modules_is_the_same_on_every_engine() {
    let scenario = read(TestProgram::<Cubic>::laws("mine"), &dumbbell("mine", "{}", 3));
    let digest = run(&scenario, 1, Options::default()).record.digest;
    let threads = Options { threads: 2, ..Options::default() };
    assert_eq!(run(&scenario, 1, threads).record.digest, digest);
    assert_eq!(twin::reference(&scenario, 1, true).expect("it runs").digest, digest);
}

/// Counts the flows of its host, and refuses the third.
#[derive(Clone, Debug, Default)]
struct Counting {
    flows: Arc<AtomicU32>,
}

impl Module for Counting {
    fn init(&mut self, _: &mut Sock) -> Result<(), Fault> {
        let third = self.flows.fetch_add(1, Ordering::Relaxed) == 2;
        if third { Err(Fault::new("cc.bpf.c:3: the third flow of this host")) } else { Ok(()) }
    }

    fn ssthresh(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        Ok(reno::reno_ssthresh(sk))
    }

    fn cong_avoid(&mut self, sk: &mut Sock, _: u32, acked: u32) -> Result<(), Fault> {
        reno::reno_cong_avoid(sk, acked)
    }

    fn undo_cwnd(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        Ok(reno::reno_undo_cwnd(sk))
    }

    fn copy(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}

/// A program that counts flows of each host.
#[derive(Clone, Debug)]
struct CountingProgram(LawInfo);

impl Program for CountingProgram {
    fn info(&self) -> &LawInfo {
        &self.0
    }

    fn ops(&self) -> Ops {
        Ops { init: true, ..Reno::OPS }
    }

    fn on_host(&self) -> Arc<dyn HostProgram> {
        Arc::new(Counting::default())
    }

    fn copy(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }
}

impl HostProgram for Counting {
    fn flow(&self, _: u64) -> Box<dyn Module> {
        self.copy()
    }
}

/// Flows between hosts of a star, two by two at the times of `flows` in us.
fn flows(law: &str, flows: &[(u32, u32)]) -> String {
    let rows = flows.iter().map(|(host, at)| {
        format!("{{ from = \"host[{host}]\", to = \"host[3]\", size = \"10KB\", at = \"{at}us\" }}")
    });
    let rows = rows.collect::<Vec<_>>().join(", ");
    let entry = |rows: &str| format!("[[traffic]]\nkind = \"list\"\nflows = [{rows}]\n");
    format!(
        "version = 1\nseeds = [1]\nstop = {{ time = \"50ms\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = 4\nhost_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n\
         [transport]\nkind = \"tcp\"\nlaw = \"{law}\"\n{}",
        entry(&rows)
    )
}

fn counting() -> Laws {
    let info = LawInfo::of_program("counting".into(), "A module.".into());
    Laws::built_in().with_module(Box::new(CountingProgram(info))).expect("the name is free")
}

#[test]
fn what_a_program_has_once_is_there_once_for_each_host() {
    let two_each = flows("counting", &[(0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2)]);
    let record = run(&read(counting(), &two_each), 1, Options::default()).record;
    assert!(record.flows.iter().all(|flow| flow.fct().is_some()), "{:?}", record.flows);
}

#[test]
fn a_fault_ends_the_run_with_the_first_flow_its_time_and_a_sentence() {
    let text = flows("counting", &[(1, 1), (1, 2), (0, 10), (0, 20), (0, 40), (1, 30)]);
    let scenario = read(counting(), &text);
    for threads in [1, 2] {
        let options = Options { threads, ..Options::default() };
        let failed = simulate(&scenario, 1, options, &Watch::default());
        let Err(SimError::Fault(why)) = failed else { panic!("it ran") };
        assert_eq!(
            why,
            "flow 4 from host[1] to host[3] at 0.030 ms, law \"counting\": cc.bpf.c:3: the third flow of this host"
        );
    }
}

#[test]
fn only_tcp_calls_modules() {
    let text = flows("counting", &[(0, 1)]).replace("kind = \"tcp\"", "kind = \"rdma\"");
    let refused = Loader::new(counting()).text::<&str>("t.toml", &text, &[]);
    let why = refused.expect_err("only TCP calls modules").to_string();
    assert!(
        why.contains("\"counting\"") && why.contains("write transport.kind = \"tcp\""),
        "{why}"
    );
}
