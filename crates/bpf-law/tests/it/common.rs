//! A socket and the module of a flow, without a transport.

use forebay_bpf_law::Object;
use forebay_laws::kernel::{Fault, HostProgram, Module, OwnSock, Program, clock_ns};
use forebay_units::{Span, Time};
use std::sync::Arc;

/// A flow under a law from an object.
pub struct Rig {
    pub sk: OwnSock,
    pub module: Box<dyn Module>,
    pub host: Arc<dyn HostProgram>,
    now: Time,
}

impl Rig {
    /// A flow with a window of so many packets, nothing sent yet.
    pub fn new(object: &[u8], set: &[(&str, &str)], cwnd: u32) -> Self {
        let object = Object::read(object).expect("it loads");
        let mut law = object.law("bpf:cc.bpf.o").expect("the kernel takes it");
        for (name, value) in set {
            assert_eq!(law.set(name, value), Some(true), "{name} = {value}");
        }
        let host = law.on_host();
        let module = host.flow(1);
        let mut sk = OwnSock::default();
        sk.set_snd_cwnd(cwnd);
        sk.set_snd_cwnd_clamp(u32::MAX);
        sk.set_snd_ssthresh(0x7fff_ffff);
        sk.set_mss_cache(1000);
        sk.set_delivered(1);
        sk.set_is_cwnd_limited(1);
        let mut rig = Self { sk, module, host, now: Time::ZERO };
        rig.pass(Span::ZERO);
        rig
    }

    /// Time passes.
    pub fn pass(&mut self, span: Span) {
        self.now += span;
        let ns = clock_ns(self.now);
        self.sk.set_tcp_clock_cache(ns);
        self.sk.set_tcp_mstamp(ns / 1000);
    }

    pub fn init(&mut self) {
        self.module.init(&mut self.sk).expect("it starts");
    }

    pub fn ssthresh(&mut self) -> u32 {
        self.module.ssthresh(&mut self.sk).expect("a threshold")
    }

    /// Growth by so many packets; the window and the count behind it.
    pub fn grow(&mut self, acked: u32) -> (u32, u32) {
        let una = self.sk.snd_una();
        self.module.cong_avoid(&mut self.sk, una, acked).expect("it grows");
        (self.sk.snd_cwnd(), self.sk.snd_cwnd_cnt())
    }

    /// Half a word of the private area.
    pub fn private(&self, nth: usize) -> u32 {
        (self.sk.ca_priv()[nth / 2] >> (32 * (nth % 2))) as u32
    }
}

/// The sentence of a fault.
pub fn sentence<T: std::fmt::Debug>(of: Result<T, Fault>) -> String {
    of.expect_err("it ends the run").to_string()
}
