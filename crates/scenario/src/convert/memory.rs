//! `[host.memory]`: the path between NIC and memory, stage by stage.

use crate::judge::Judge;
use crate::model::{HostControl, Memory};
use crate::problem::or_list;
use crate::raw;
use crate::tree::{did_you_mean, shorten};
use forebay_host::memory::MemorySettings;
use forebay_host::memory::settings::{
    Actuator, AntagonistSettings, Copying, DdioSettings, LINE, ThrottleSettings,
};
use forebay_laws::host::{HostParams, LAWS};
use forebay_units::{BitsPerSec, Bytes, Span};

/// Most bytes of a flow that are unread or on their way. Linux with 2 MB of `tcp_rmem`, half of it for headers.
const SOCKET_BUFFER: Bytes = Bytes::new(1_000_000);

/// How long an MSR read takes (hostCC, section 4.1, and the authors' loops: 0.6 to 0.7 us).
const READ: Span = Span::from_ns(650);

/// The largest frame there is, 64 KiB, must fit in whatever holds frames.
const LEAST_BUFFER: Bytes = Bytes::new(1 << 16);

/// Below this a packet takes more than a second.
const LEAST_RATE: BitsPerSec = BitsPerSec::new(1_000_000);

/// Above this a step's arithmetic would not fit: a thousand times today's hosts.
const MOST_RATE: BitsPerSec = BitsPerSec::new(100_000_000_000_000);

/// Longest latency of a stage.
const LONGEST: Span = Span::from_ms(1);

impl Default for Memory {
    fn default() -> Self {
        Self {
            settings: MemorySettings::default(),
            socket_buffer: SOCKET_BUFFER,
            level: 0,
            control: None,
            pause_above: None,
        }
    }
}

/// Puts the value of a key where it belongs, if it was written.
fn put<T, U>(to: &mut T, key: Option<U>, as_: impl FnOnce(U) -> T) {
    if let Some(value) = key {
        *to = as_(value);
    }
}

/// A fraction in thousandths.
fn permille(value: f64) -> u32 {
    (value * 1e3).round() as u32
}

impl Judge<'_> {
    /// What the keys at `path` say, over `base`.
    pub(super) fn memory(&mut self, path: &str, keys: &raw::Memory, base: &Memory) -> Memory {
        let mut memory = base.clone();
        put(&mut memory.pause_above, keys.pause_above, |v| Some(v.0));
        let settings = &mut memory.settings;
        put(&mut settings.nic.buffer, keys.nic_buffer, |v| v.0);
        put(&mut settings.nic.descriptors, keys.descriptors, |v| v as u32);
        put(&mut settings.pcie.rate, keys.pcie_rate, |v| v.0);
        put(&mut settings.pcie.tlp_payload, keys.pcie_payload, |v| v.0.get().min(1 << 20) as u32);
        put(&mut settings.iio.slots, keys.iio_slots, |v| v as u32);
        put(&mut settings.iio.latency, keys.iio_latency, |v| v.0);
        put(&mut settings.controller.bytes_per_sec, keys.bandwidth, |v| v.0.get() / 8);
        put(&mut settings.controller.local_read, keys.local_read, |v| v.0);
        put(&mut settings.controller.remote_read, keys.remote_read, |v| v.0);
        put(&mut settings.controller.read_queueing, keys.read_queueing, |v| v.0);
        put(&mut settings.controller.read_share_permille, keys.read_share, permille);
        put(&mut settings.controller.posted_limit, keys.posted_limit, |v| Some(v as u32));
        put(&mut settings.readers.cores, keys.cores, |v| v as u32);
        put(&mut settings.readers.per_packet, keys.per_packet, |v| v.0);
        put(&mut settings.readers.per_kilobyte, keys.per_kilobyte, |v| v.0);
        put(&mut settings.readers.lines_in_flight, keys.copy_lines, |v| v as u32);
        put(&mut settings.readers.reads_permille, keys.copy_reads, permille);
        put(&mut settings.readers.copying, keys.copying, |v| match v {
            raw::Copying::Evenly => Copying::Evenly,
            raw::Copying::InBunches => Copying::InBunches,
        });
        put(&mut settings.transmit.slots, keys.send_slots, |v| v as u32);
        put(&mut settings.transmit.latency, keys.send_latency, |v| v.0);
        put(&mut memory.socket_buffer, keys.socket_buffer, |v| v.0);
        self.ddio(path, keys, &mut memory.settings);
        if let Some(keys) = &keys.throttle {
            self.throttle(&format!("{path}.throttle"), keys, &mut memory.settings.throttle);
        }
        if !keys.antagonist.is_empty() {
            let each = keys.antagonist.iter().enumerate();
            let made =
                each.map(|(i, one)| self.antagonist(&format!("{path}.antagonist[{i}]"), one));
            memory.settings.antagonists = made.collect();
        }
        if let Some(control) = &keys.control {
            memory.control = self.control(&format!("{path}.control"), control);
            // A level that all hosts are pinned to is not this one's.
            if memory.acting_control().is_some() {
                memory.level = 0;
            }
        }
        let most = memory.settings.throttle.max_level();
        put(&mut memory.level, keys.level, |v| v as u8);
        if keys.level.is_some() && memory.level > most {
            let text = format!("is above the strongest level, which is {most}");
            self.wrong(&format!("{path}.level"), text);
        }
        if keys.level.is_some() && memory.acting_control().is_some() {
            let text = "is set by the control; leave out one of them";
            self.say(&format!("{path}.level"), text);
        }
        self.memory_keys(path, keys, &memory);
        memory
    }

    fn ddio(&mut self, path: &str, keys: &raw::Memory, settings: &mut MemorySettings) {
        match keys.ddio {
            Some(true) => settings.ddio = Some(settings.ddio.unwrap_or_default()),
            Some(false) => settings.ddio = None,
            None => {}
        }
        let named = [
            ("ddio_hit", keys.ddio_hit.is_some()),
            ("ddio_eviction", keys.ddio_eviction.is_some()),
            ("ddio_ways", keys.ddio_ways.is_some()),
            ("cache", keys.cache.is_some()),
            ("cache_ways", keys.cache_ways.is_some()),
        ];
        let Some(ddio) = &mut settings.ddio else {
            for (key, _) in named.iter().filter(|(_, written)| *written) {
                let text = "has no effect without DDIO; write ddio = true as well";
                self.say(&format!("{path}.{key}"), text);
            }
            return;
        };
        put(&mut ddio.hit, keys.ddio_hit, |v| v.0);
        put(&mut ddio.eviction, keys.ddio_eviction, |v| v.0);
        put(&mut ddio.cache, keys.cache, |v| v.0);
        put(&mut ddio.cache_ways, keys.cache_ways, |v| v as u32);
        put(&mut ddio.ways, keys.ddio_ways, |v| v as u32);
        let DdioSettings { ways, cache_ways, .. } = *ddio;
        if ways > cache_ways {
            let key = if keys.ddio_ways.is_some() { "ddio_ways" } else { "cache_ways" };
            let text =
                format!("gives the NIC {ways} of {cache_ways} ways; write at most {cache_ways}");
            self.say(&format!("{path}.{key}"), text);
        }
        self.within(&format!("{path}.ddio_hit"), ddio.hit, keys.ddio_hit.is_some());
        let eviction = ddio.eviction;
        if eviction > LONGEST {
            self.within(&format!("{path}.ddio_eviction"), eviction, true);
        }
    }

    /// A latency above zero and below any that hardware has.
    fn within(&mut self, path: &str, latency: Span, written: bool) {
        if written && (latency < Span::from_ns(1) || latency > LONGEST) {
            self.wrong(
                path,
                format!("is no latency of hardware; write from \"1ns\" to \"{LONGEST}\""),
            );
        }
    }

    fn throttle(&mut self, path: &str, keys: &raw::Throttle, throttle: &mut ThrottleSettings) {
        put(&mut throttle.actuator, keys.actuator, |actuator| match actuator {
            raw::Actuator::Sockets => Actuator::Sockets,
            raw::Actuator::Delay => Actuator::Delay,
            raw::Actuator::Cap => Actuator::Cap,
        });
        put(&mut throttle.slowing, keys.slowing, |v| v as u8);
        put(&mut throttle.pausing, keys.pausing, |v| v as u8);
        put(&mut throttle.pause_period, keys.pause_period, |v| v.0);
        put(&mut throttle.delay, keys.delay, |v| v.0);
        put(&mut throttle.write, keys.write, |v| v.0);
        if throttle.pause_period < Span::from_us(1) {
            let text = "is shorter than stopping a process takes; write at least \"1us\"";
            self.wrong(&format!("{path}.pause_period"), text);
        }
        for (key, span) in [("delay", throttle.delay), ("write", throttle.write)] {
            if span > LONGEST {
                self.wrong(
                    &format!("{path}.{key}"),
                    format!("is too long; write at most \"{LONGEST}\""),
                );
            }
        }
    }

    fn antagonist(&mut self, path: &str, keys: &raw::Antagonist) -> AntagonistSettings {
        let mut antagonist = AntagonistSettings { cores: keys.cores as u32, ..Default::default() };
        put(&mut antagonist.lines_in_flight_milli, keys.lines, permille);
        put(&mut antagonist.writes_permille, keys.writes, permille);
        put(&mut antagonist.local, keys.local, |v| v);
        put(&mut antagonist.start, keys.start, |v| v.0);
        match (keys.on, keys.off) {
            (Some(on), Some(off)) => antagonist.rests = Some((on.0, off.0)),
            (Some(_), None) => self.say(&format!("{path}.on"), "needs a rest; write off as well"),
            (None, Some(_)) => self.say(&format!("{path}.off"), "needs work; write on as well"),
            (None, None) => {}
        }
        for (key, span) in [("on", keys.on), ("off", keys.off)] {
            if span.is_some_and(|span| span.0 < Span::from_ns(100)) {
                let text = "is shorter than memory can tell; write at least \"100ns\"";
                self.wrong(&format!("{path}.{key}"), text);
            }
        }
        antagonist
    }

    fn control(&mut self, path: &str, keys: &raw::Control) -> Option<HostControl> {
        let Ok(mut law) = HostParams::new(&keys.law) else {
            let names = || LAWS.iter().map(|law| law.name);
            let close = did_you_mean(&keys.law, names());
            let (law, names) = (shorten(&keys.law), or_list(names()));
            let text = if forebay_laws::flow::LAWS.iter().any(|flow| flow.name == law) {
                format!("{law:?} is a law for transport.law; write {names} for a host")
            } else {
                format!("no law of role host is called {law:?}; write {names}{close}")
            };
            self.say(&format!("{path}.law"), text);
            return None;
        };
        let info = law.info();
        let set = |key: &str, text: &str| law.set(key, text);
        self.set_params(&format!("{path}.params"), info, &keys.params, set);
        let params = keys.params.clone();
        let read = keys.read.map_or(READ, |read| read.0);
        if read < Span::from_ns(100) || read > LONGEST {
            let text = format!(
                "is no time that reading a counter takes; write from \"100ns\" to \"{LONGEST}\""
            );
            self.wrong(&format!("{path}.read"), text);
        }
        let enabled = keys.enabled.unwrap_or(true);
        Some(HostControl { law: keys.law.clone(), enabled, params, read })
    }

    /// What no host can be built with.
    fn memory_keys(&mut self, path: &str, keys: &raw::Memory, memory: &Memory) {
        let settings = &memory.settings;
        if settings.nic.buffer < LEAST_BUFFER {
            let text =
                format!("holds less than the largest frame; write at least \"{LEAST_BUFFER}\"");
            self.wrong(&format!("{path}.nic_buffer"), text);
        }
        if memory.socket_buffer < LEAST_BUFFER {
            let text =
                format!("holds less than one large segment; write at least \"{LEAST_BUFFER}\"");
            self.wrong(&format!("{path}.socket_buffer"), text);
        }
        for (key, slots) in
            [("iio_slots", settings.iio.slots), ("send_slots", settings.transmit.slots)]
        {
            if slots == 0 {
                let text = "lets nothing through: no PCIe credit, no packet; write at least 1";
                self.wrong(&format!("{path}.{key}"), text);
            }
        }
        let bandwidth = BitsPerSec::new(settings.controller.bytes_per_sec.saturating_mul(8));
        for (key, rate) in [("pcie_rate", settings.pcie.rate), ("bandwidth", bandwidth)] {
            if rate < LEAST_RATE {
                let text =
                    format!("is slower than a packet per second; write at least \"{LEAST_RATE}\"");
                self.wrong(&format!("{path}.{key}"), text);
            } else if rate > MOST_RATE {
                self.wrong(
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
            let key = if keys.read_share.is_some() { "read_share" } else { "antagonist" };
            let text = "leaves nothing that holds back writes beyond what memory can serve; write read_share = 0.001 or more, or posted_limit = 64";
            self.wrong(&format!("{path}.{key}"), text);
        }
        if !(LINE..=4096).contains(&u64::from(settings.pcie.tlp_payload)) {
            let text = "is no payload of a PCIe packet; write from \"64B\" to \"4096B\"";
            self.wrong(&format!("{path}.pcie_payload"), text);
        }
        let latencies = [
            ("iio_latency", settings.iio.latency, keys.iio_latency.is_some()),
            ("local_read", settings.controller.local_read, keys.local_read.is_some()),
            ("remote_read", settings.controller.remote_read, keys.remote_read.is_some()),
            ("send_latency", settings.transmit.latency, keys.send_latency.is_some()),
        ];
        for (key, latency, written) in latencies {
            self.within(&format!("{path}.{key}"), latency, written);
        }
        let longest = [
            ("read_queueing", settings.controller.read_queueing),
            ("per_packet", settings.readers.per_packet),
            ("per_kilobyte", settings.readers.per_kilobyte),
        ];
        for (key, span) in longest {
            if span > LONGEST {
                self.wrong(
                    &format!("{path}.{key}"),
                    format!("is too long; write at most \"{LONGEST}\""),
                );
            }
        }
    }
}
