//! `[host.memory]`: the path between NIC and memory, stage by stage. The stages' keys are the fields of [`MemorySettings`].

use super::trace;
use crate::judge::Judge;
use crate::problem::or_list;
use forebay_host::memory::MemorySettings;
use forebay_host::memory::settings::{
    AntagonistSettings, CacheModel, DdioSettings, LINE, ThrottleSettings,
};
use forebay_laws::RoleName;
use forebay_settings::params::{self, Param};
use forebay_units::{BitsPerSec, Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A host's path to memory: NIC buffer, PCIe, IIO slots, cache, memory controller, cores that copy, antagonists, and the law that
/// throttles them. Defaults are the testbed of hostCC (SIGCOMM 2023): Cascade Lake, two memory channels, 100 Gb/s on PCIe 3.0 x16.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct Memory {
    /// Stages of the path, and antagonists.
    #[serde(flatten)]
    pub settings: MemorySettings,
    /// Most bytes of a flow that are unread or on their way: its receive window, 64KiB or more. Default: 1MB (2 MB of tcp_rmem, half
    /// of it for headers).
    pub socket_buffer: Bytes,
    /// Throttle level for the whole run, at most throttle.slowing + throttle.pausing. Not with a control. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 255))]
    pub level: Option<u8>,
    /// Law that sets the throttle level and marks packets. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<HostControl>,
    /// Bytes in the NIC buffer above which the NIC pauses its switch, for the lossless classes of fabric.switch.pause. At half of these
    /// bytes the NIC lets the switch resume. Default: the NIC never pauses, and drops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_above: Option<Bytes>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            settings: MemorySettings::default(),
            socket_buffer: Bytes::new(1_000_000),
            level: None,
            control: None,
            pause_above: None,
        }
    }
}

/// A host law, and how it sees and acts.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "Control")]
pub struct HostControl {
    /// Name of a law in `forebay laws` of role host.
    pub law: String,
    /// Whether the law acts; with false the host runs as without this table, so that a sweep can compare both. Default: true.
    #[serde(default = "params::yes")]
    pub enabled: bool,
    /// Parameters of the law, by their names in `forebay laws`. Default: as published.
    #[serde(default, with = "params", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, Param>>")]
    pub params: Vec<(String, String)>,
    /// Time that reading a counter takes, 100ns to 1ms; two loops, one for each counter, do nothing else. Default: 650ns (hostCC,
    /// section 4.1: 0.6 to 0.7 us).
    #[serde(default = "read")]
    pub read: Span,
}

fn read() -> Span {
    Span::from_ns(650)
}

/// The largest frame there is, 64 KiB, must fit in whatever holds frames.
const LEAST_BUFFER: Bytes = Bytes::new(1 << 16);

/// Pages that machines have.
const LEAST_PAGE: Bytes = Bytes::new(1 << 12);
const MOST_PAGE: Bytes = Bytes::new(1 << 30);

/// Below this a packet takes more than a second.
const LEAST_RATE: BitsPerSec = BitsPerSec::new(1_000_000);

/// Above this a step's arithmetic would not fit: a thousand times today's hosts.
const MOST_RATE: BitsPerSec = BitsPerSec::new(100_000_000_000_000);

/// Longest latency of a stage.
const LONGEST: Span = Span::from_ms(1);

impl Memory {
    /// The control that acts.
    pub fn acting_control(&self) -> Option<&HostControl> {
        self.control.as_ref().filter(|control| control.enabled)
    }

    /// The table at `path`; keys that were not written, and those of its throttle, are those of `base`.
    pub(super) fn over(judge: &Judge<'_>, path: &str, base: &Self) -> Self {
        let mut memory: Self = judge.over(path, base);
        let throttle = format!("{path}.throttle");
        memory.settings.throttle = judge.over(&throttle, &base.settings.throttle);
        memory
    }

    /// Fills in the defaults that depend on other keys, and says what is wrong with the table at `path`.
    pub(super) fn check(&mut self, judge: &mut Judge<'_>, path: &str) {
        let at = |key: &str| format!("{path}.{key}");
        self.check_ddio(judge, path);
        self.check_iommu(judge, path);
        let readers = &self.settings.readers;
        if readers.smt == 2 && readers.cores % 2 == 1 {
            let (even, key) = (readers.cores + 1, at("cores"));
            judge.wrong(&key, format!("counts threads, two to a core with smt = 2; write {even}"));
        }
        if readers.smt != 2 && judge.given(&at("smt_order")) {
            let text = "has no effect where each core has one thread; write smt = 2 as well";
            judge.say(&at("smt_order"), text);
        }
        judge.throttle(&at("throttle"), &self.settings.throttle);
        let by_buffer = self.settings.ddio.is_some_and(|ddio| ddio.model == CacheModel::Buffers);
        for (i, one) in self.settings.antagonists.iter_mut().enumerate() {
            let path = format!("{path}.antagonist[{i}]");
            judge.antagonist(&path, one, by_buffer);
            if let Some(trace) = &mut one.trace {
                trace::check(trace, judge, &format!("{path}.trace"));
            }
        }
        if let Some(control) = &self.control {
            control.check(judge, &at("control"));
        }
        let (acts, most) = (self.acting_control().is_some(), self.settings.throttle.max_level());
        if judge.given(&at("level")) {
            if self.level.is_some_and(|level| level > most) {
                let text = format!("is above the strongest level, which is {most}");
                judge.wrong(&at("level"), text);
            }
            if acts {
                judge.say(&at("level"), "is set by the control; leave out one of them");
            }
        }
        self.level = (!acts).then(|| self.level.unwrap_or(0));
        self.check_stages(judge, path);
    }

    fn check_ddio(&self, judge: &mut Judge<'_>, path: &str) {
        let at = |key: &str| format!("{path}.{key}");
        let Some(ddio) = &self.settings.ddio else {
            for key in [
                "ddio_hit",
                "ddio_eviction",
                "ddio_ways",
                "cache",
                "cache_ways",
                "cache_latency",
                "cache_model",
                "rq",
            ] {
                if judge.given(&at(key)) {
                    judge.say(&at(key), "has no effect without DDIO; write ddio = true as well");
                }
            }
            return;
        };
        let (ways, cache_ways) = (ddio.ways, ddio.cache_ways);
        if ways > cache_ways {
            let key = at(if judge.given(&at("ddio_ways")) { "ddio_ways" } else { "cache_ways" });
            let text =
                format!("gives the NIC {ways} of {cache_ways} ways; write at most {cache_ways}");
            judge.say(&key, text);
        }
        judge.latency(&at("ddio_hit"), ddio.hit);
        judge.latency(&at("cache_latency"), ddio.cache_latency);
        if ddio.eviction > LONGEST {
            judge.latency(&at("ddio_eviction"), ddio.eviction);
        }
        self.check_queue(judge, path, ddio);
    }

    fn check_iommu(&self, judge: &mut Judge<'_>, path: &str) {
        let at = |key: &str| format!("{path}.{key}");
        let iommu = &self.settings.iommu;
        if iommu.walk > LONGEST {
            let text = format!("is too long; write at most \"{LONGEST}\"");
            judge.wrong(&at("iommu_walk"), text);
        }
        if !(LEAST_PAGE..=MOST_PAGE).contains(&iommu.page) {
            let text = format!("is not a page; write from \"{LEAST_PAGE}\" to \"{MOST_PAGE}\"");
            judge.wrong(&at("iommu_page"), text);
        }
        if iommu.walk == Span::ZERO {
            for key in ["iommu_entries", "iommu_page"] {
                if judge.given(&at(key)) {
                    let text = "has no effect without an IOMMU; write iommu_walk as well, for instance \"300ns\"";
                    judge.say(&at(key), text);
                }
            }
        }
    }

    fn check_queue(&self, judge: &mut Judge<'_>, path: &str, ddio: &DdioSettings) {
        let at = |key: &str| format!("{path}.{key}");
        let queue = match (ddio.model, &ddio.queue) {
            (CacheModel::Buffers, Some(queue)) => queue,
            (CacheModel::Buffers, None) => {
                let text = "needs a receive queue; write for instance rq = { depth = 8192, buffer = \"2KiB\" }";
                return judge.wrong(&at("cache_model"), text);
            }
            (CacheModel::Share, None) => return,
            (CacheModel::Share, Some(_)) => {
                let text = "has no effect without cache_model = \"buffers\"; write that as well";
                return judge.say(&at("rq"), text);
            }
        };
        let buffer = queue.buffer;
        if !(Bytes::new(LINE)..=LEAST_BUFFER).contains(&buffer) {
            let text =
                format!("is not a buffer of a frame; write from \"64B\" to \"{LEAST_BUFFER}\"");
            judge.wrong(&at("rq.buffer"), text);
        } else if u64::from(queue.depth) * buffer.get() < LEAST_BUFFER.get() {
            let least = LEAST_BUFFER.get().div_ceil(buffer.get());
            let text = format!("holds less than the largest frame; write at least {least}");
            judge.wrong(&at("rq.depth"), text);
        } else if ddio.ways <= ddio.cache_ways && ddio.share() < LINE {
            let least = Bytes::new(u64::from(ddio.cache_ways) * LINE.div_ceil(ddio.ways.into()));
            let text = format!(
                "leaves the NIC's ways less than a line of 64B; write at least \"{least}\""
            );
            judge.wrong(&at("cache"), text);
        } else if ddio.ways <= ddio.cache_ways && queue.capacity(ddio).ddio == 0 {
            let text = format!(
                "is more than the NIC's ways hold; write at most \"{}\"",
                Bytes::new(ddio.share())
            );
            judge.wrong(&at("rq.buffer"), text);
        }
        if queue.assemble.is_some_and(|copies| copies < buffer) {
            let text = format!(
                "holds no buffer of {buffer}; write at least \"{buffer}\", or leave it out where cores copy nothing"
            );
            judge.wrong(&at("rq.assemble"), text);
        }
    }

    /// What no host can be built with.
    fn check_stages(&self, judge: &mut Judge<'_>, path: &str) {
        let settings = &self.settings;
        if settings.nic.buffer < LEAST_BUFFER {
            let text =
                format!("holds less than the largest frame; write at least \"{LEAST_BUFFER}\"");
            judge.wrong(&format!("{path}.nic_buffer"), text);
        }
        if settings.nic.refuse_below > settings.nic.buffer {
            let text = format!(
                "is more than the NIC buffer, so that it takes nothing; write at most \"{}\"",
                settings.nic.buffer
            );
            judge.wrong(&format!("{path}.nic_refuse_below"), text);
        }
        if self.socket_buffer < LEAST_BUFFER {
            let text =
                format!("holds less than one large segment; write at least \"{LEAST_BUFFER}\"");
            judge.wrong(&format!("{path}.socket_buffer"), text);
        }
        for (key, slots) in
            [("iio_slots", settings.iio.slots), ("send_slots", settings.transmit.slots)]
        {
            if slots == 0 {
                let text = "lets nothing through: no PCIe credit, no packet; write at least 1";
                judge.wrong(&format!("{path}.{key}"), text);
            }
        }
        let bandwidth = BitsPerSec::new(settings.controller.bytes_per_sec.saturating_mul(8));
        for (key, rate) in [("pcie_rate", settings.pcie.rate), ("bandwidth", bandwidth)] {
            if rate < LEAST_RATE {
                let text =
                    format!("is slower than a packet per second; write at least \"{LEAST_RATE}\"");
                judge.wrong(&format!("{path}.{key}"), text);
            } else if rate > MOST_RATE {
                judge.wrong(
                    &format!("{path}.{key}"),
                    format!("is too fast; write at most \"{MOST_RATE}\""),
                );
            }
        }
        let posts = |of: &AntagonistSettings| of.cores > 0 && of.writes_permille > 0;
        let controller = &settings.controller;
        if controller.read_share_permille == 0
            && controller.posted_limit.is_none()
            && settings.antagonists.iter().any(posts)
        {
            let key = if judge.given(&format!("{path}.read_share")) {
                "read_share"
            } else {
                "antagonist"
            };
            let text = "leaves nothing that holds back writes beyond what memory can serve; write read_share = 0.001 or more, or posted_limit = 64";
            judge.wrong(&format!("{path}.{key}"), text);
        }
        if !(LINE..=4096).contains(&u64::from(settings.pcie.tlp_payload)) {
            let text = "is not a payload of a PCIe packet; write from \"64B\" to \"4096B\"";
            judge.wrong(&format!("{path}.pcie_payload"), text);
        }
        let latencies = [
            ("iio_latency", settings.iio.latency),
            ("local_read", settings.controller.local_read),
            ("remote_read", settings.controller.remote_read),
            ("send_latency", settings.transmit.latency),
        ];
        for (key, latency) in latencies {
            judge.latency(&format!("{path}.{key}"), latency);
        }
        let longest = [
            ("read_queueing", settings.controller.read_queueing),
            ("per_packet", settings.readers.per_packet),
            ("per_kilobyte", settings.readers.per_kilobyte),
        ];
        for (key, span) in longest {
            if span > LONGEST {
                judge.wrong(
                    &format!("{path}.{key}"),
                    format!("is too long; write at most \"{LONGEST}\""),
                );
            }
        }
    }
}

impl HostControl {
    fn check(&self, judge: &mut Judge<'_>, path: &str) {
        let at = |key: &str| format!("{path}.{key}");
        match judge.laws.host(&self.law) {
            Ok(mut law) => judge.set_params(&at("params"), &mut law, &self.params),
            Err(_) if judge.laws.flow(&self.law).is_ok() => {
                let (law, names) = (&self.law, or_list(judge.laws.names(RoleName::Host)));
                let text = format!("{law:?} is a law for transport.law; write {names} for a host");
                judge.say(&at("law"), text);
            }
            Err(_) => judge.no_such_law(&at("law"), RoleName::Host, &self.law),
        }
        if self.read < Span::from_ns(100) || self.read > LONGEST {
            let text = format!(
                "is not a time that reading a counter takes; write from \"100ns\" to \"{LONGEST}\""
            );
            judge.wrong(&at("read"), text);
        }
    }
}

impl Judge<'_> {
    /// A latency, where one was written, is above zero and below any that hardware has.
    fn latency(&mut self, path: &str, latency: Span) {
        if self.given(path) && (latency < Span::from_ns(1) || latency > LONGEST) {
            let text = format!("is not a latency of hardware; write from \"1ns\" to \"{LONGEST}\"");
            self.wrong(path, text);
        }
    }

    fn throttle(&mut self, path: &str, throttle: &ThrottleSettings) {
        if throttle.pause_period < Span::from_us(1) {
            let text = "is shorter than stopping a process takes; write at least \"1us\"";
            self.wrong(&format!("{path}.pause_period"), text);
        }
        for (key, span) in [("delay", throttle.delay), ("write", throttle.write)] {
            if span > LONGEST {
                let text = format!("is too long; write at most \"{LONGEST}\"");
                self.wrong(&format!("{path}.{key}"), text);
            }
        }
    }

    fn antagonist(&mut self, path: &str, antagonist: &AntagonistSettings, by_buffer: bool) {
        let cached = format!("{path}.cached");
        if antagonist.cached_permille > 1000 {
            self.wrong(&cached, "is a share of what is read; write from 0 to 1");
        } else if antagonist.cached_permille > 0 && !by_buffer {
            let text = "takes place in a cache of buffers; write ddio = true, cache_model = \"buffers\" and rq as well";
            self.say(&cached, text);
        }
        if antagonist.trace.is_some() && antagonist.rests.is_some() {
            let text = "says when the cores rest; leave out on and off";
            self.say(&format!("{path}.trace"), text);
        }
        let [on, off] = ["on", "off"].map(|key| format!("{path}.{key}"));
        match (self.given(&on), self.given(&off)) {
            (true, false) => self.say(&on, "needs a rest; write off as well"),
            (false, true) => self.say(&off, "needs work; write on as well"),
            _ => {}
        }
        for (path, span) in
            [on, off].iter().zip(antagonist.rests.into_iter().flat_map(<[Span; 2]>::from))
        {
            if span < Span::from_ns(100) {
                self.wrong(path, "is shorter than memory can resolve; write at least \"100ns\"");
            }
        }
    }
}
