//! The benches by name: which scenario each is, for how long, and why.
//!
//! All run on a three-tier fat tree of k-port switches with 100 Gb/s links of 1 us, hosts' and fabric's alike, ECMP
//! unless said. N is the number of hosts, k^3/4. Marks are a DCTCP step at 300 KB (30 KB for each 10 Gb/s, as in
//! the public HPCC simulator); a port holds 4 MB, which none of them reaches by much, so losses are rare.
//!
//! `hpcc-websearch-320` and `dcqcn-websearch-320` have the fabric of the HPCC paper's simulations: 320 hosts of 100 Gb/s under 56 switches
//! with 400 Gb/s between them, lossless by class, payload of 1,000 B, and web-search flows for 2 ms.
//!
//! `ndp-perm`, `xpass-perm` and `homa-websearch-160` are the receiver-driven ones, each with the switches that its transport is made for; see
//! [`granted`].
//!
//! `allreduce-rails-128` and `allreduce-ring-1024` are collectives over queue pairs, see [`collective`].
//!
//! `host-3x` is no fabric at all: one congested receiver, of which a simulated second is to be cheap. So is `carc-8x8`, whose receive buffers are
//! followed one by one.

mod collective;
mod granted;

use crate::failure::Failure;
use forebay_units::{Span, Time};

/// A family of benches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Long flows, one from and one to each host.
    DctcpPerm,
    /// Poisson arrivals of web-search flows at half load.
    DctcpWebsearch,
    /// Flows of 2 MB, one from and one to each host, every packet on a path of its own, until all are done.
    SprayPerm,
    /// Messages of 2 MB under NDP, one from and one to each host, through switches that trim, until all are done.
    NdpPerm,
    /// Messages of 2 MB, as in `NdpPerm`, under ExpressPass through switches that meter credits.
    XpassPerm,
    /// Web-search messages under Homa, at 80 % of uplinks that are a quarter of what hosts could send.
    HomaWebsearch,
    /// Web-search flows over queue pairs under HPCC, lossless, with telemetry.
    HpccWebsearch,
    /// Web-search flows over queue pairs under DCQCN.
    DcqcnWebsearch,
    /// Ring all-reduces of 16 hosts each on eight rails, under DCQCN, until all are done.
    AllReduceRails,
    /// A ring all-reduce of 1,024 hosts, 2 MB each, under DCQCN, until it is done.
    AllReduceRing,
    /// Four DCTCP flows into a host whose memory is busy: the scenario host-congestion without a control.
    Host3x,
    /// Four DCTCP flows into a host whose memory is busy, under hostCC.
    Host3xHostcc,
    /// Eight connections with eight requests each under way into a host whose receive buffers are followed, under CARC.
    Carc8x8,
}

impl Family {
    /// Families that come in sizes.
    pub const SIZED: [Self; 5] =
        [Self::DctcpPerm, Self::DctcpWebsearch, Self::SprayPerm, Self::NdpPerm, Self::XpassPerm];

    /// Families of one bench.
    pub const SINGLE: [Self; 8] = [
        Self::HpccWebsearch,
        Self::DcqcnWebsearch,
        Self::HomaWebsearch,
        Self::AllReduceRails,
        Self::AllReduceRing,
        Self::Host3x,
        Self::Host3xHostcc,
        Self::Carc8x8,
    ];

    /// Whether it is about one host's memory.
    pub fn is_host(self) -> bool {
        matches!(self, Self::Host3x | Self::Host3xHostcc | Self::Carc8x8)
    }

    /// Whether it is about queue pairs on a lossless fabric.
    pub fn is_rdma(self) -> bool {
        matches!(self, Self::HpccWebsearch | Self::DcqcnWebsearch)
    }

    /// Whether it ends when all flows have; the others end at a time.
    pub fn is_to_completion(self) -> bool {
        matches!(self, Self::SprayPerm | Self::NdpPerm | Self::XpassPerm) || self.is_collective()
    }

    /// Whether it is about collectives.
    pub fn is_collective(self) -> bool {
        matches!(self, Self::AllReduceRails | Self::AllReduceRing)
    }

    /// Whether the receiver decides who sends.
    fn is_granted(self) -> bool {
        matches!(self, Self::NdpPerm | Self::XpassPerm | Self::HomaWebsearch)
    }

    /// Bytes of a full data packet, header included; `None` where there is a choice.
    pub fn fixed_mtu(self) -> Option<u32> {
        match self {
            Self::DctcpPerm | Self::DctcpWebsearch => None,
            Self::SprayPerm => Some(SPRAY_PAYLOAD + SPRAY_HEADER),
            Self::NdpPerm | Self::XpassPerm | Self::HomaWebsearch => Some(granted::mtu(self)),
            Self::HpccWebsearch
            | Self::DcqcnWebsearch
            | Self::AllReduceRails
            | Self::AllReduceRing => Some(RDMA_PAYLOAD + RDMA_HEADER),
            Self::Host3x | Self::Host3xHostcc => Some(HOST_MTU),
            Self::Carc8x8 => Some(CARC_MTU),
        }
    }

    /// The name before `-N`.
    pub fn name(self) -> &'static str {
        match self {
            Self::DctcpPerm => "dctcp-perm",
            Self::DctcpWebsearch => "dctcp-websearch",
            Self::SprayPerm => "spray-perm",
            Self::NdpPerm => "ndp-perm",
            Self::XpassPerm => "xpass-perm",
            Self::HomaWebsearch => "homa-websearch-160",
            Self::HpccWebsearch => "hpcc-websearch-320",
            Self::DcqcnWebsearch => "dcqcn-websearch-320",
            Self::AllReduceRails => "allreduce-rails-128",
            Self::AllReduceRing => "allreduce-ring-1024",
            Self::Host3x => "host-3x",
            Self::Host3xHostcc => "host-3x-hostcc",
            Self::Carc8x8 => "carc-8x8",
        }
    }

    /// What it is, for `forebay list benches`.
    pub fn about(self) -> &'static str {
        match self {
            Self::DctcpPerm => {
                "permutation of long DCTCP flows; queues stay at the marking threshold"
            }
            Self::DctcpWebsearch => "Poisson web-search flows at 50 % of the hosts' links, DCTCP",
            Self::SprayPerm => {
                "permutation of 2 MB flows, each packet on a random path, one 64 B ACK per packet, to completion; \
                 DCTCP with a first window that covers the flow"
            }
            Self::NdpPerm => {
                "permutation of 2 MB messages under NDP, trimming switches, each packet on a random path, an ACK and a \
                 pull per packet, to completion"
            }
            Self::XpassPerm => {
                "permutation of 2 MB messages under ExpressPass, a credit per packet, symmetric paths, to completion"
            }
            Self::HomaWebsearch => {
                "Poisson web-search messages under Homa on 160 hosts, 4:1, at 80 % of the uplinks, 8 classes, shared buffer"
            }
            Self::HpccWebsearch => {
                "Poisson web-search flows at 50 % over RDMA on 320 hosts, lossless: HPCC with its telemetry"
            }
            Self::DcqcnWebsearch => {
                "Poisson web-search flows at 50 % over RDMA on 320 hosts, lossless: DCQCN with marks and CNPs"
            }
            Self::AllReduceRails => {
                "ring all-reduces of 16 MB over RDMA, one on each of eight rails of 16 hosts with 400 Gb/s: DCQCN, to completion"
            }
            Self::AllReduceRing => {
                "a ring all-reduce of 2 MB over RDMA and 1,024 hosts, 2,046 steps: DCQCN, to completion"
            }
            Self::Host3x => {
                "one simulated second of four DCTCP flows into a 100 Gb/s host whose memory three antagonist cores keep busy"
            }
            Self::Host3xHostcc => "one simulated second of the scenario of host-3x, under hostCC",
            Self::Carc8x8 => {
                "a tenth of a second of 200 Gb/s over RDMA, eight requests of 1 MB under way on each of eight connections, held to \
                 credits of the server's cache (CARC); its receive buffers of 1,500 B are followed one by one"
            }
        }
    }
}

impl Family {
    /// Bytes of a full data packet of the bench `name`, where `chosen` are wanted.
    fn mtu(self, name: &str, chosen: Option<u32>) -> Result<u32, Failure> {
        match (self.fixed_mtu(), chosen) {
            (Some(fixed), None) => Ok(fixed),
            (Some(fixed), Some(_)) => Err(Failure::Input(format!(
                "{name} has a fixed packet size, {fixed} B with the header; leave --mtu out"
            ))),
            (None, Some(mtu @ (1500 | 4096))) => Ok(mtu),
            (None, None) => Ok(4096),
            (None, Some(mtu)) => Err(Failure::Input(format!("--mtu {mtu}: write 4096 or 1500"))),
        }
    }
}

/// One bench.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub name: String,
    pub family: Family,
    pub hosts: u32,
    /// Ports of a switch.
    pub k: u32,
    /// Bytes of a full data packet.
    pub mtu: u32,
    /// Virtual time before the clock is read, and while it runs.
    pub warmup: Span,
    pub measured: Span,
    /// Whether a short measured part is repeated: where it ends by itself.
    pub repeats: bool,
}

/// Virtual time by hosts: up to so many, warm-up and measured part in microseconds. Warm-up is tens of round trips
/// (one is 12 us of propagation), so slow start is over; the measured part is 30 to 100 million packet-hops at
/// 4 KB, seconds of CPU. Web-search flows come at half the rate, and take longer to fill the fabric.
const TIMES: [(u32, [u64; 2], [u64; 2]); 3] = [
    (128, [1_000, 10_000], [2_000, 20_000]),
    (1024, [500, 2_000], [1_000, 4_000]),
    (u32::MAX, [300, 400], [400, 800]),
];

/// Packets of `spray-perm`: fixed, since it is there to be compared with simulators that send these.
const SPRAY_PAYLOAD: u32 = 4000;
const SPRAY_HEADER: u32 = 64;

/// Packets of the RDMA benches, telemetry aside.
const RDMA_PAYLOAD: u32 = 1000;
const RDMA_HEADER: u32 = 48;

/// Packets of `host-3x`, as in the experiments of the hostCC paper.
const HOST_MTU: u32 = 4000;

/// Packets of `carc-8x8`, which fill the receive buffers of the CARC paper's footnote 4.
const CARC_MTU: u32 = 1500;

impl Case {
    /// The bench of this name.
    pub fn new(name: &str, mtu: Option<u32>, time: Option<Span>) -> Result<Self, Failure> {
        if let Some(family) = Family::SINGLE.into_iter().find(|family| family.name() == name) {
            return Self::single(family, mtu, time);
        }
        let family = Family::SIZED.into_iter().find_map(|family| {
            let hosts = name.strip_prefix(family.name())?.strip_prefix('-')?;
            Some((family, hosts))
        });
        let (family, hosts) = family.ok_or_else(|| {
            let sized = Family::SIZED.iter().map(|f| format!("{}-N", f.name()));
            let single = Family::SINGLE.iter().map(|f| f.name().to_string());
            let names: Vec<String> = sized.chain(single).collect();
            Failure::Input(format!("there is no bench \"{name}\"; use one of {}", names.join(", ")))
        })?;
        let k = hosts.parse::<u32>().ok().and_then(ports).ok_or_else(|| {
            let sizes: Vec<String> =
                (4..=32).step_by(2).map(|k| (k * k * k / 4).to_string()).collect();
            Failure::Input(format!(
                "{name}: a fat tree of k-port switches has k^3/4 hosts; use one of {} or more",
                sizes.join(", ")
            ))
        })?;
        let hosts = k * k * k / 4;
        let mtu = family.mtu(name, mtu)?;
        let (_, perm, websearch) =
            TIMES.iter().find(|(most, ..)| hosts <= *most).expect("the last row takes all");
        let [warmup, measured] = match family {
            Family::DctcpPerm => *perm,
            Family::DctcpWebsearch => *websearch,
            _ => [0, 100_000], // a bound: it ends when all flows have
        };
        let repeats = family.is_to_completion() && time.is_none();
        let measured = time.unwrap_or(Span::from_us(measured));
        if measured == Span::ZERO {
            return Err(Failure::Input(
                "--time 0s measures nothing; write for instance 2ms".into(),
            ));
        }
        let warmup = Span::from_us(warmup);
        Ok(Self { name: name.into(), family, hosts, k, mtu, warmup, measured, repeats })
    }

    /// A bench that comes in one size.
    fn single(family: Family, mtu: Option<u32>, time: Option<Span>) -> Result<Self, Failure> {
        let mtu = family.mtu(family.name(), mtu)?;
        let (hosts, k, warmup, measured) = match family {
            Family::AllReduceRails => (128, 16, Span::ZERO, collective::LONGEST),
            Family::AllReduceRing => (1024, 1024, Span::ZERO, collective::LONGEST),
            Family::HomaWebsearch => (160, 20, Span::ZERO, granted::WEBSEARCH),
            Family::Host3x | Family::Host3xHostcc => (2, 2, Span::from_ms(10), Span::from_secs(1)),
            Family::Carc8x8 => (2, 2, Span::from_ms(5), Span::from_ms(100)),
            _ => (320, 20, Span::ZERO, Span::from_ms(2)),
        };
        let name = family.name().into();
        let repeats = family == Family::AllReduceRails && time.is_none();
        let measured = time.unwrap_or(measured);
        Ok(Self { name, family, hosts, k, mtu, warmup, measured, repeats })
    }

    fn rdma_scenario(&self) -> String {
        let stop = self.stop();
        let (law, params, marks) = match self.family {
            Family::HpccWebsearch => ("hpcc", "", "\"off\""),
            _ => (
                "dcqcn",
                "params = { timers = \"paper\" }\n",
                "{ kmin = \"400KB\", kmax = \"1600KB\", pmax = 0.2, for_rate = \"100Gbps\", at = \"dequeue\" }",
            ),
        };
        format!(
            "version = 1\nname = \"{}\"\nseeds = [1]\nstop = {{ time = \"{stop}\" }}\n\n\
             [fabric]\nkind = \"clos\"\npods = 5\nedges_per_pod = 4\naggs_per_pod = 4\ncores = 16\nhosts_per_edge = 16\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"400Gbps\", delay = \"1us\" }}\n\n\
             [fabric.switch]\nclasses = 2\nbuffer = {{ size = \"32MB\" }}\npause = {{ classes = [0] }}\necn = {marks}\n\n\
             [transport]\nkind = \"rdma\"\nlaw = \"{law}\"\n{params}mss = \"{RDMA_PAYLOAD}B\"\nheader = \"{RDMA_HEADER}B\"\n\
             cnp_class = 1\n\n\
             [[traffic]]\nkind = \"poisson\"\nsizes = \"websearch\"\nload = 0.5\n",
            self.name
        )
    }

    /// Eight connections of 200 Gb/s onto a core each, which keep up, and credits of a cache of 12 MiB.
    fn carc_scenario(&self) -> String {
        format!(
            "version = 1\nname = \"{}\"\nseeds = [1]\nstop = {{ time = \"{}\" }}\n\n\
             [fabric]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"200Gbps\", delay = \"500ns\" }}\n\
             [fabric.switch]\npause = \"on\"\n\n\
             [[host.override]]\nwhere = \"host[1]\"\n[host.override.memory]\nread_placed = true\ncores = 8\n\
             bandwidth = \"1013Gbps\"\npcie_rate = \"252.06Gbps\"\niio_slots = 186\n\
             pause_above = \"256KB\"\nddio = true\ncache = \"12MiB\"\ncache_ways = 12\nddio_ways = 2\n\
             cache_model = \"buffers\"\nrq = {{ depth = 65536, buffer = \"1500B\", reuse = \"lifo\", rnr = \"nak\" }}\n\n\
             [transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nparams = {{ timers = \"paper\" }}\nmtu = \"{CARC_MTU}B\"\n\n\
             [[traffic]]\nkind = \"rpc\"\nfrom = \"host[0]\"\nto = \"host[1]\"\nconnections = 8\noutstanding = 8\n\
             request = \"1MB\"\npool = {{ law = \"carc\", fragment = \"1452B\" }}\n\n[output]\nwarmup = \"{}\"\n",
            self.name,
            self.stop(),
            self.warmup
        )
    }

    fn host_scenario(&self) -> String {
        let stop = self.stop();
        let control = match self.family {
            Family::Host3xHostcc => "[host.override.memory.control]\nlaw = \"hostcc\"\n",
            _ => "",
        };
        format!(
            "version = 1\nname = \"{}\"\nseeds = [1]\nstop = {{ time = \"{stop}\" }}\n\n\
             [fabric]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"100Gbps\", delay = \"9us\" }}\n\
             wire_overhead = \"24B\"\n\n[host]\nprofile = \"linux\"\nrx_usecs = \"4us\"\n\n\
             [[host.override]]\nwhere = \"host[1]\"\n[host.override.memory]\n\
             [[host.override.memory.antagonist]]\ncores = 3\n{control}\n\
             [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\nmtu = \"{HOST_MTU}B\"\n\n\
             [[traffic]]\nkind = \"long\"\nfrom = [\"host[0]\", \"host[0]\", \"host[0]\", \"host[0]\"]\n\
             to = \"host[1]\"\n\n[output]\nwarmup = \"{}\"\n",
            self.name, self.warmup
        )
    }

    /// Virtual time at which it stops.
    fn stop(&self) -> Time {
        Time::ZERO.saturating_add(self.warmup).saturating_add(self.measured)
    }

    /// Scenario file of the case.
    pub fn scenario(&self) -> String {
        if self.family == Family::Carc8x8 {
            return self.carc_scenario();
        }
        if self.family.is_host() {
            return self.host_scenario();
        }
        if self.family.is_collective() {
            return collective::scenario(self);
        }
        if self.family.is_rdma() {
            return self.rdma_scenario();
        }
        if self.family.is_granted() {
            return granted::scenario(self);
        }
        let Self { name, k, .. } = self;
        let stop = self.stop();
        let spray = self.family == Family::SprayPerm;
        let (flows, routing) = if spray { ("all", "spray") } else { ("ignore", "ecmp") };
        let packets = if spray {
            format!(
                "mss = \"{SPRAY_PAYLOAD}B\"\nheader = \"{SPRAY_HEADER}B\"\nack_size = \"64B\"\n\
                 initial_window = \"2MB\"            # all of a flow"
            )
        } else {
            format!("mtu = \"{}B\"", self.mtu)
        };
        let traffic = match self.family {
            Family::DctcpPerm => {
                "kind = \"permutation\"\nsize = \"1TB\"                        # longer than any run"
            }
            Family::DctcpWebsearch => "kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.5",
            _ => "kind = \"permutation\"\nsize = \"2MB\"",
        };
        format!(
            "version = 1\nname = \"{name}\"\nseeds = [1]\nstop = {{ time = \"{stop}\", flows = \"{flows}\" }}\n\n\
             [fabric]\nkind = \"fat-tree\"\ntiers = 3\nk = {k}\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             fabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nrouting = \"{routing}\"\n\n\
             [fabric.switch]\nbuffer = \"none\"\nport_limit = \"4MB\"\necn = {{ k = \"300KB\" }}\n\n\
             [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\nrto_min = \"1ms\"\ndelayed_ack = false\n{packets}\n\n\
             [[traffic]]\n{traffic}\n"
        )
    }
}

/// Ports of the switches of a fat tree with so many hosts.
fn ports(hosts: u32) -> Option<u32> {
    (4..=1024).step_by(2).find(|k: &u32| k.pow(3) / 4 == hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bench_is_a_valid_scenario_of_its_size() {
        for family in Family::SIZED {
            for hosts in [16, 54, 128, 1024] {
                let name = format!("{}-{hosts}", family.name());
                let case = Case::new(&name, None, None).unwrap();
                let loaded = forebay_scenario::text("bench.toml", &case.scenario())
                    .unwrap_or_else(|e| panic!("{name}: {e}"));
                let plan = forebay_scenario::plan::Plan::of(&loaded.scenario.fabric);
                assert_eq!(plan.hosts, hosts, "{name}");
                let transport = &loaded.scenario.transport;
                assert_eq!(transport.mss.get() + transport.header.get(), u64::from(case.mtu));
                let acks = transport.tcp().is_some_and(|tcp| !tcp.delayed_ack)
                    && transport.ack_size.get() == 64;
                assert!(family.is_granted() || acks, "{name}");
            }
        }
    }

    #[test]
    fn a_bench_of_a_host_models_its_memory() {
        for family in Family::SINGLE.into_iter().filter(|family| family.is_host()) {
            let case = Case::new(family.name(), None, None).unwrap();
            let loaded = forebay_scenario::text("bench.toml", &case.scenario())
                .unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let memory = loaded.scenario.host.memory_at("host[1]").expect("it is the point");
            assert_eq!(memory.control.is_some(), family == Family::Host3xHostcc);
            assert!(Case::new(family.name(), Some(1500), None).is_err());
        }
    }

    #[test]
    fn a_bench_of_queue_pairs_is_lossless_on_320_hosts() {
        for family in Family::SINGLE.into_iter().filter(|family| family.is_rdma()) {
            let case = Case::new(family.name(), None, None).unwrap();
            let loaded = forebay_scenario::text("bench.toml", &case.scenario())
                .unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let fabric = &loaded.scenario.fabric;
            assert_eq!(forebay_scenario::plan::Plan::of(fabric).hosts, 320);
            assert!(
                fabric.switch.pause.on().is_some() && loaded.scenario.transport.rdma().is_some()
            );
            assert!(Case::new(family.name(), Some(1500), None).is_err());
        }
    }

    #[test]
    fn a_bench_of_collectives_has_a_rank_on_each_of_its_hosts() {
        for family in Family::SINGLE.into_iter().filter(|family| family.is_collective()) {
            let case = Case::new(family.name(), None, None).unwrap();
            let loaded = forebay_scenario::text("bench.toml", &case.scenario())
                .unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let hosts = forebay_scenario::workload::Hosts::of(&loaded.scenario);
            let connections = forebay_scenario::workload::forecast(&loaded.scenario, &hosts);
            assert_eq!(connections, [u128::from(case.hosts)], "{}", case.name);
        }
    }

    #[test]
    fn a_bench_of_priorities_is_four_to_one_with_a_shared_buffer() {
        let case = Case::new("homa-websearch-160", None, None).unwrap();
        let loaded = forebay_scenario::text("bench.toml", &case.scenario())
            .unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let plan = forebay_scenario::plan::Plan::of(&loaded.scenario.fabric);
        assert_eq!((plan.hosts, loaded.scenario.fabric.switch.classes), (160, 8));
    }

    #[test]
    fn a_size_that_no_fat_tree_has_is_refused_with_those_that_exist() {
        for name in ["dctcp-perm-100", "dctcp-perm-0", "dctcp-perm-x", "dctcp-perm--128"] {
            let Err(Failure::Input(text)) = Case::new(name, None, None) else { panic!("{name}") };
            assert!(text.contains("16, 54, 128") && text.contains("8192"), "{text}");
        }
        assert!(Case::new("perm-128", None, None).is_err());
        assert!(Case::new("dctcp-perm-128", Some(9000), None).is_err());
        assert!(Case::new("spray-perm-128", Some(1500), None).is_err());
        assert_eq!(Case::new("dctcp-perm-8192", Some(1500), None).unwrap().k, 32);
    }
}
