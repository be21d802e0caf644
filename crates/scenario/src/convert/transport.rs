//! The transport: its settings, and whether it has what its law needs.

use super::Judge;
use crate::model::{BaseRtt, InflightCap, QueueLength, Rdma, Recovery, Transport};
use crate::problem::or_list;
use crate::quantity::{Length, Qty};
use crate::raw;
use forebay_laws::flow::{Echo, FlowParams, LAWS, Needs};
use forebay_units::{Bytes, Span};

/// Where an autotuned window begins: half of the default `tcp_rmem` of Linux, the other half being for headers.
const RECEIVE_WINDOW: Bytes = Bytes::new(64 << 10);
/// 1500 B Ethernet less [`HEADER`].
const MSS: Bytes = Bytes::new(1448);
/// IPv4 20 B, TCP 20 B, timestamps 12 B.
const HEADER: Bytes = Bytes::new(52);
/// The least Ethernet frame.
const ACK_SIZE: Bytes = Bytes::new(64);
/// RFC 6928, section 2.
const INITIAL_WINDOW: u64 = 10;
/// `TCP_RTO_MIN` of Linux.
const RTO_MIN: Span = Span::from_ms(200);
/// `TCP_MAX_QUICKACKS` of Linux.
const MOST_QUICK_ACKS: u64 = 16;
/// Payload of the packets that public RDMA simulators use.
const RDMA_MSS: Bytes = Bytes::new(1000);
/// IPv4 20 B, UDP 8 B, base transport header 12 B, ICRC 4 B.
const RDMA_HEADER: Bytes = Bytes::new(44);
/// Five hops of 8 B and a count of 2 B (HPCC, SIGCOMM 2019).
const TELEMETRY: Bytes = Bytes::new(42);
/// Lossless-fabric sheet section 5: the public HPCC simulator's NACK timer.
const NACK_INTERVAL: Span = Span::from_us(500);
/// The class of ACK timeouts of RoCE NICs (sheet section 5).
const TIMEOUT: Span = Span::from_ms(4);
/// IRN, SIGCOMM 2018: RTO_high, RTO_low, and the packets under way up to which the latter holds.
const IRN_TIMEOUTS: (Span, Span, i64) = (Span::from_us(320), Span::from_us(100), 3);
/// SIGCOMM 2015 (DCQCN).
const CNP_INTERVAL: Span = Span::from_us(50);

/// Keys of `[transport]` that only TCP has.
const TCP_ONLY: &[&str] = &[
    "rto_min",
    "delayed_ack",
    "quick_acks",
    "receive_window",
    "receive_window_max",
    "idle_restart",
    "gentle_growth",
    "sack",
    "rack",
    "tail_loss_probe",
    "prr",
    "frto",
];
/// Keys of `[transport]` that only RDMA has.
const RDMA_ONLY: &[&str] = &[
    "recovery",
    "ack_every",
    "max_inflight",
    "nack_interval",
    "timeout",
    "timeout_few",
    "few",
    "cnp_interval",
    "cnp_class",
    "base_rtt",
    "telemetry",
];

/// What a law needs that transport.kind = "tcp" does not do, as the end of "needs ...".
fn tcp_lacks(needs: Needs) -> Option<&'static str> {
    match needs {
        Needs { echo: Echo::Cnp, .. } => Some(
            "congestion notification packets (CNPs), which receivers of kind \"tcp\" do not send",
        ),
        Needs { int: true, .. } => {
            Some("telemetry of each hop (INT), which packets of kind \"tcp\" do not carry")
        }
        Needs { asks: Some(_), .. } => {
            Some("a rate from the switch, for which senders of kind \"tcp\" do not ask")
        }
        _ => None,
    }
}

/// The one parameter with which TCP can serve a law after all.
fn served_form(law: &FlowParams) -> Option<String> {
    for param in law.info().params {
        for word in param.range.split('"').skip(1).step_by(2) {
            let mut other = law.clone();
            if other.set(param.name, word).is_ok() && tcp_lacks(other.needs()).is_none() {
                return Some(format!("params = {{ {} = {word:?} }}", param.name));
            }
        }
    }
    None
}

/// Where the transport of this name stands.
pub(super) fn path(name: &str) -> String {
    let mut path = String::from("transports");
    crate::tree::push_key(&mut path, name);
    path
}

impl Judge<'_> {
    /// The transport whose table is at `place`.
    pub(super) fn transport(
        &mut self,
        place: &str,
        t: &raw::Transport,
        delayed_ack: bool,
    ) -> Transport {
        let rdma = t.kind == raw::TransportKind::Rdma;
        let at = |key: &str| format!("{place}.{key}");
        self.of_other_kind(place, rdma);
        let mut law = self.law(&at("law"), &t.law);
        let header = t.header.map_or(if rdma { RDMA_HEADER } else { HEADER }, |h| h.0);
        let mss = self.mss(place, t, header);
        let ack_size = t.ack_size.map_or(ACK_SIZE, |a| a.0);
        if ack_size == Bytes::ZERO || ack_size.get() > 65_535 {
            self.wrong(&at("ack_size"), "is no size of a packet; write for instance \"64B\"");
        }
        let rto_min = t.rto_min.map_or(RTO_MIN, |r| r.0);
        self.span(&at("rto_min"), rto_min);
        let receive_window_max = t.receive_window_max.map(|w| w.0);
        let receive_window =
            t.receive_window.map(|w| w.0).or(receive_window_max.map(|_| RECEIVE_WINDOW));
        if let (Some(begin), Some(most)) = (receive_window, receive_window_max)
            && most < begin
        {
            self.wrong(
                &at("receive_window_max"),
                format!("is less than the window begins with, {begin}; write more"),
            );
        }
        if receive_window.is_some_and(|w| w < mss) {
            self.wrong(
                &at("receive_window"),
                format!("is less than one segment; write at least \"{mss}\""),
            );
        }
        let params = self.params(&at("params"), law.as_mut(), t.params.as_ref());
        if let Some(law) = law.filter(|_| !rdma) {
            self.served(&at("law"), place, &law);
        }
        Transport {
            rdma: rdma.then(|| self.rdma(place, t, mss)),
            law: t.law.clone(),
            params,
            mss,
            header,
            ack_size,
            initial_window: self.initial_window(place, t.initial_window, mss),
            rto_min,
            delayed_ack: t.delayed_ack.unwrap_or(delayed_ack),
            quick_acks: t.quick_acks.map_or_else(|| quick_acks(receive_window, mss), |n| n as u16),
            receive_window,
            receive_window_max,
            idle_restart: t.idle_restart.unwrap_or(true),
            gentle_growth: t.gentle_growth.unwrap_or(true),
            sack: t.sack.unwrap_or(true),
            rack: t.rack.unwrap_or(true),
            tail_loss_probe: t.tail_loss_probe.unwrap_or(true),
            prr: t.prr.unwrap_or(true),
            frto: t.frto.unwrap_or(true),
            class: t.class.unwrap_or(0) as u8,
            ack_class: t.ack_class.unwrap_or(0) as u8,
        }
    }

    fn mss(&mut self, place: &str, t: &raw::Transport, header: Bytes) -> Bytes {
        if let (Some(_), Some(mtu)) = (t.mss, t.mtu) {
            self.say(
                &format!("{place}.mtu"),
                format!("{} and mss say the same thing twice; write one of them", mtu.0),
            );
        }
        if header.get() > 65_534 {
            self.wrong(&format!("{place}.header"), "does not fit a packet of at most 65535B");
        }
        let key = &format!("{place}.{}", if t.mtu.is_some() { "mtu" } else { "mss" });
        let mss = match (t.mss, t.mtu) {
            (Some(Qty(mss)), _) => mss,
            (_, Some(Qty(mtu))) => mtu.saturating_sub(header),
            _ if t.kind == raw::TransportKind::Rdma => RDMA_MSS,
            _ => MSS,
        };
        if mss == Bytes::ZERO {
            self.wrong(
                key,
                format!(
                    "leaves no payload beside the header of {header}; write for instance \"1500B\""
                ),
            );
        } else if mss.saturating_add(header).get() > 65_535 {
            let packet = mss.saturating_add(header).get();
            self.wrong(
                key,
                format!("makes packets of {packet}B; at most 65535B fit, header included"),
            );
        }
        mss
    }

    fn initial_window(&mut self, place: &str, window: Option<Length>, mss: Bytes) -> Bytes {
        let path = &format!("{place}.initial_window");
        let window = match window {
            None => mss.get().saturating_mul(INITIAL_WINDOW),
            Some(Length(QueueLength::Packets(n))) => mss.get().saturating_mul(u64::from(n)),
            Some(Length(QueueLength::Bytes(bytes))) => bytes.get(),
        };
        if window < mss.get() {
            self.wrong(
                path,
                format!("is less than one segment of {mss}; write for instance \"10 packets\""),
            );
        } else if window > 1 << 32 {
            self.wrong(path, "is more than 4GiB; write for instance \"10 packets\"");
        }
        Bytes::new(window)
    }

    /// The classes of the transport at `place` have to be among those of the switches.
    pub(super) fn classes(&mut self, place: &str, transport: &Transport, classes: u8) {
        let cnp = transport.rdma.as_ref().map_or(0, |rdma| rdma.cnp_class);
        let used =
            [("class", transport.class), ("ack_class", transport.ack_class), ("cnp_class", cnp)];
        for (key, class) in used {
            self.class_exists(&format!("{place}.{key}"), class, classes);
        }
    }

    pub(super) fn class_exists(&mut self, path: &str, class: u8, classes: u8) {
        if class >= classes {
            let text = format!(
                "{class} needs {} classes; write fabric.switch.classes = {}",
                class + 1,
                class + 1
            );
            self.say(path, text);
        }
    }

    /// Keys that say nothing about a transport of this kind.
    fn of_other_kind(&mut self, place: &str, rdma: bool) {
        let (keys, kind) = if rdma { (TCP_ONLY, "tcp") } else { (RDMA_ONLY, "rdma") };
        for key in keys {
            let path = format!("{place}.{key}");
            if self.document.shown(&path).is_some() {
                self.wrong(&path, format!("means nothing here; it belongs to kind = {kind:?}"));
            }
        }
    }

    fn rdma(&mut self, place: &str, t: &raw::Transport, mss: Bytes) -> Rdma {
        let at = |key: &str| format!("{place}.{key}");
        let selective = matches!(t.recovery, Some(raw::Recovery::Selective));
        let (high, low, few) = if selective { IRN_TIMEOUTS } else { (TIMEOUT, TIMEOUT, 0) };
        let cap = match &t.max_inflight {
            None if selective => InflightCap::Bdp,
            None | Some(raw::InflightCap::Word(raw::InflightWord::None)) => InflightCap::None,
            Some(raw::InflightCap::Word(raw::InflightWord::Bdp)) => InflightCap::Bdp,
            Some(raw::InflightCap::Fixed(Qty(bytes))) => InflightCap::Fixed(*bytes),
        };
        if matches!(cap, InflightCap::Fixed(bytes) if bytes < mss) {
            let text = format!("is less than one packet of {mss}; write \"bdp\", \"none\" or more");
            self.wrong(&at("max_inflight"), text);
        }
        let base_rtt = match &t.base_rtt {
            None | Some(raw::BaseRtt::Word(raw::BaseRttWord::Longest)) => BaseRtt::Longest,
            Some(raw::BaseRtt::Word(raw::BaseRttWord::Path)) => BaseRtt::Path,
            Some(raw::BaseRtt::Fixed(Qty(span))) => BaseRtt::Fixed(*span),
        };
        let timeout = t.timeout.map_or(high, |at| at.0);
        let rdma = Rdma {
            recovery: match t.recovery {
                None | Some(raw::Recovery::GoBackN) => Recovery::GoBackN,
                Some(raw::Recovery::GoBackZero) => Recovery::GoBackZero,
                Some(raw::Recovery::Selective) => Recovery::Selective,
            },
            ack_every: t.ack_every.unwrap_or(1) as u32,
            cap,
            nack_interval: t.nack_interval.map_or(NACK_INTERVAL, |at| at.0),
            timeout,
            timeout_few: t.timeout_few.map_or_else(|| low.min(timeout), |at| at.0),
            few: t.few.unwrap_or(few) as u32,
            cnp_interval: t.cnp_interval.map_or(CNP_INTERVAL, |at| at.0),
            cnp_class: t.cnp_class.or(t.ack_class).unwrap_or(0) as u8,
            base_rtt,
            telemetry: t.telemetry.map_or(TELEMETRY, |bytes| bytes.0),
            initial_window: t
                .initial_window
                .map(|_| self.initial_window(place, t.initial_window, mss)),
        };
        self.span(&at("timeout"), rdma.timeout);
        if t.timeout_few.is_some() {
            self.span(&at("timeout_few"), rdma.timeout_few);
        }
        self.span(&at("nack_interval"), rdma.nack_interval);
        self.short(&at("cnp_interval"), rdma.cnp_interval);
        if let BaseRtt::Fixed(span) = base_rtt {
            self.span(&at("base_rtt"), span);
        }
        if rdma.telemetry.get() > 255 {
            self.wrong(&at("telemetry"), "is no size of a header; write for instance \"42B\"");
        }
        rdma
    }

    /// A law, with its parameters set, must not need what TCP, the kind of the transport at `place`, does not do.
    pub(super) fn served(&mut self, path: &str, place: &str, law: &FlowParams) {
        let Some(lacks) = tcp_lacks(law.needs()) else { return };
        let names = LAWS.iter().map(|law| law.name);
        let names = names
            .filter(|name| FlowParams::new(name).is_ok_and(|law| tcp_lacks(law.needs()).is_none()));
        let params = served_form(law).map(|form| format!("{form}, ")).unwrap_or_default();
        let names = or_list(names);
        let text = format!(
            "{:?} needs {lacks}; write {place}.kind = \"rdma\", {params}or law = {names}",
            law.name()
        );
        self.say(path, text);
    }
}

/// ACKs at once at the start of a flow, where nothing says how many. Source: `tcp_incr_quickack` of Linux.
fn quick_acks(receive_window: Option<Bytes>, mss: Bytes) -> u16 {
    let half = |window: Bytes| window.get() / (2 * mss.get().max(1));
    receive_window.map_or(MOST_QUICK_ACKS, half).clamp(2, MOST_QUICK_ACKS) as u16
}
