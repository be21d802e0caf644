//! The two fabrics of the paper, the schemes it compares, and the three bundles of readings.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Bits per second of a host's link.
pub(super) const LINE: f64 = 25e9;

/// Bytes of a whole packet, without what the switches of racks tie to it.
pub(super) const PACKET: f64 = 1048.0;

/// What HPCC fills of a link.
pub(super) const ETA: f64 = 0.95;

/// Host 0, to which all flows go but those of figure 5.
pub(super) const RECEIVER: &str = "pod[0].edge[0].host[0]";

/// The port to it.
pub(super) const DOWN: &str = "pod[0].edge[0]->pod[0].edge[0].host[0]";

/// The readings of one bundle, as `validation/hiercc/rows.toml` has them.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Bundle {
    s_mode: String,
    n_estimate: String,
    resume: String,
    after_resume: String,
    empty: String,
    c0: String,
    credit: String,
    q0: String,
    beta: f64,
    window: String,
    v_high: String,
    v_low: String,
    mark_every: String,
    r_min: String,
    /// What only reading 19 has.
    credit_for: Option<String>,
    credit_pace: Option<f64>,
}

/// The names of the bundles, as ids of rows end.
pub(super) const BUNDLES: [&str; 3] = ["literal", "recommended", "recommended-count"];

/// Another, of fewer rows: reading 19.
pub(super) const PACED: &str = "paced";

/// The bundle that the verdict names.
pub(super) const NAMED: &str = BUNDLES[2];

/// What C0 of all bundles is, bytes.
pub(super) const C0: f64 = 10e3;

/// What C0 lets go of whole packets in a bundle, bytes.
pub(super) fn advance(bundle: &str) -> f64 {
    if bundle == PACED { C0 / 1000.0 * PACKET } else { C0 }
}

/// What `v_high` of all bundles is, bytes.
pub(super) const V_HIGH: f64 = 70e3;

/// The bundle of this name, with one of its keys changed.
fn bundle(name: &str, changed: Option<(&str, &str)>) -> Bundle {
    #[derive(Deserialize)]
    struct File {
        bundle: BTreeMap<String, toml::Table>,
    }
    let text = include_str!("../../../../validation/hiercc/rows.toml");
    let mut file: File = toml::from_str(text).expect("a test reads it");
    let mut bundle = file.bundle.remove(name).expect("the file has every bundle");
    if let Some((key, value)) = changed {
        let value = value.parse().map_or_else(|_| value.into(), toml::Value::Float);
        let before = bundle.insert(key.into(), value);
        assert!(before.is_some(), "bundles have no {key}");
    }
    bundle.try_into().expect("a test reads it")
}

/// What gives flows their rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Under the bundle of this name.
    HierCc(&'static str),
    Hpcc,
    Dcqcn,
    Timely,
    /// With the credit meter of its own paper and code: reading 20.
    ExpressPass,
    /// With a meter for the frames of these runs: reading 16.
    ExpressPassFrames,
    /// HPCC, DCQCN and TIMELY as their own papers have them: reading 17. HPCC also in reading 18, with T as printed.
    HpccOwn,
    DcqcnOwn,
    TimelyOwn,
}

impl Scheme {
    /// As ids of rows have it.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::HierCc(bundle) => bundle,
            Scheme::Hpcc => "hpcc",
            Scheme::Dcqcn => "dcqcn",
            Scheme::Timely => "timely",
            Scheme::ExpressPass => "expresspass",
            Scheme::ExpressPassFrames => "expresspass-frames",
            Scheme::HpccOwn => "hpcc-own",
            Scheme::DcqcnOwn => "dcqcn-own",
            Scheme::TimelyOwn => "timely-own",
        }
    }
}

/// How the switches and hosts are wired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wiring {
    /// 2 pods of 2 racks.
    Four,
    /// 5 pods of 4 racks.
    Twenty,
}

/// Buffers of switches: what holds packets back, and how many fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Buffers {
    /// Unlimited buffers; nothing holds packets back.
    Unbounded,
    /// 32 MB per switch, lossless but under HierCC.
    Shared,
}

/// A scenario in the making.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub scheme: Scheme,
    pub wiring: Wiring,
    /// Delay of every link.
    pub delay: &'static str,
    pub buffers: Buffers,
    /// C0 in place of that of the bundle.
    pub c0: Option<&'static str>,
    /// A key of the bundle, and its value here.
    pub changed: Option<(&'static str, &'static str)>,
    /// `[[traffic]]`, and `[output]` if any.
    pub rest: String,
}

impl Setup {
    pub fn new(scheme: Scheme, wiring: Wiring, rest: String) -> Self {
        Self {
            scheme,
            wiring,
            delay: "1us",
            buffers: Buffers::Shared,
            c0: None,
            changed: None,
            rest,
        }
    }

    /// Scenario text, without version, seed and end.
    pub fn text(&self) -> String {
        let shape = match self.wiring {
            Wiring::Four => "pods = 2\nedges_per_pod = 2\naggs_per_pod = 2\ncores = 2\n",
            Wiring::Twenty => "pods = 5\nedges_per_pod = 4\naggs_per_pod = 4\ncores = 16\n",
        };
        let delay = self.delay;
        format!(
            "[fabric]\nkind = \"clos\"\n{shape}hosts_per_edge = 16\n\
             host_link = {{ rate = \"25Gbps\", delay = \"{delay}\" }}\n\
             fabric_link = {{ rate = \"100Gbps\", delay = \"{delay}\" }}\nwire_overhead = \"0B\"\n\
             {}[fabric.switch]\n{}{}\
             [transport]\n{}mss = \"1000B\"\nheader = \"48B\"\n{}{}",
            self.routing(),
            self.switch(),
            self.holding(),
            self.kind(),
            self.law(),
            self.rest
        )
    }

    /// What differs from ECMP by flow.
    fn routing(&self) -> &'static str {
        match self.scheme {
            Scheme::ExpressPass | Scheme::ExpressPassFrames => "routing = \"ecmp-symmetric\"\n",
            _ => "",
        }
    }

    fn kind(&self) -> &'static str {
        match self.scheme {
            Scheme::ExpressPass | Scheme::ExpressPassFrames => "kind = \"receiver-driven\"\n",
            _ => "kind = \"rdma\"\nrecovery = \"go-back-n\"\n",
        }
    }

    /// Marks, credits, and what the switches of racks do.
    fn switch(&self) -> String {
        match self.scheme {
            Scheme::HierCc(name) => {
                let b = bundle(name, self.changed);
                let credit_for = b.credit_for.map(|what| format!("credit_for = \"{what}\", "));
                let credit_pace = b.credit_pace.map(|pace| format!("credit_pace = {pace}, "));
                format!(
                    "ecn = \"off\"\nhierarchical = {{ law = \"hiercc\", {}{}requests = \"{}\", advance = \"{}\", credit = \"{}\", \
                     params = {{ n_estimate = \"{}\", resume = \"{}\", after_resume = \"{}\", empty = \"{}\", q0 = \"{}\", \
                     beta = {}, window = \"{}\", v_high = \"{}\", v_low = \"{}\", r_min = \"{}\" }} }}\n",
                    credit_for.unwrap_or_default(),
                    credit_pace.unwrap_or_default(),
                    b.s_mode,
                    self.c0.unwrap_or(&b.c0),
                    b.credit,
                    b.n_estimate,
                    b.resume,
                    b.after_resume,
                    b.empty,
                    b.q0,
                    b.beta,
                    b.window,
                    b.v_high,
                    b.v_low,
                    b.r_min
                )
            }
            Scheme::Dcqcn => "ecn = { kmin = \"400KB\", kmax = \"1600KB\", pmax = 0.2, \
                              for_rate = \"100Gbps\", at = \"dequeue\" }\n"
                .into(),
            Scheme::DcqcnOwn => "ecn = { kmin = \"5KB\", kmax = \"200KB\", pmax = 0.01, \
                                 for_rate = \"40Gbps\" }\n"
                .into(),
            Scheme::Hpcc | Scheme::Timely | Scheme::HpccOwn | Scheme::TimelyOwn => {
                "ecn = \"off\"\n".into()
            }
            Scheme::ExpressPass => {
                "ecn = \"off\"\ncredits = { class = 1, share = \"84/1622\" }\n".into()
            }
            Scheme::ExpressPassFrames => {
                "ecn = \"off\"\ncredits = { class = 1, share = \"84/1132\" }\n".into()
            }
        }
    }

    /// Buffers, classes and pauses.
    fn holding(&self) -> &'static str {
        match (self.buffers, self.scheme) {
            (Buffers::Shared, Scheme::HierCc(_)) => "classes = 8\nbuffer = { size = \"32MB\" }\n",
            (Buffers::Unbounded, Scheme::HierCc(_)) => "classes = 8\nbuffer = \"none\"\n",
            (Buffers::Shared, Scheme::ExpressPass | Scheme::ExpressPassFrames) => {
                "classes = 2\nbuffer = { size = \"32MB\" }\n"
            }
            (Buffers::Shared, _) => {
                "classes = 2\nbuffer = { size = \"32MB\" }\npause = { classes = [0] }\n"
            }
            (Buffers::Unbounded, _) => "classes = 2\nbuffer = \"none\"\n",
        }
    }

    /// Law of the flows with its parameters.
    fn law(&self) -> String {
        match self.scheme {
            Scheme::HierCc(name) => {
                let every = bundle(name, self.changed).mark_every;
                format!("law = \"explicit\"\nparams = {{ request_interval = \"{every}\" }}\n")
            }
            Scheme::Hpcc => {
                "law = \"hpcc\"\nparams = { eta = 0.95, max_stage = 5, w_ai = \"80B\" }\n".into()
            }
            Scheme::Dcqcn => {
                "law = \"dcqcn\"\ncnp_class = 1\nparams = { timers = \"vendor\" }\n".into()
            }
            Scheme::Timely => {
                "law = \"timely\"\nparams = { form = \"plain\", delta = \"25Mbps\" }\n".into()
            }
            Scheme::HpccOwn => {
                let printed = if self.delay == "1us" { "12us" } else { "6us" };
                format!(
                    "law = \"hpcc\"\nbase_rtt = \"{printed}\"\n\
                     params = {{ eta = {ETA}, max_stage = 5, w_ai = \"80B\" }}\n"
                )
            }
            Scheme::DcqcnOwn => {
                "law = \"dcqcn\"\ncnp_class = 1\nparams = { timers = \"paper\" }\n".into()
            }
            Scheme::TimelyOwn => "law = \"timely\"\n\
                                  params = { form = \"plain\", delta = \"25Mbps\", segment = \"1KB\" }\n"
                .into(),
            Scheme::ExpressPass | Scheme::ExpressPassFrames => "law = \"expresspass\"\nack_size = \"64B\"\n".into(),
        }
    }
}

/// Host `i` of all of [`Wiring::Twenty`], in order.
pub(super) fn host(i: u32) -> String {
    format!("pod[{}].edge[{}].host[{}]", i / 64, i / 16 % 4, i % 16)
}

/// Sender `i` of figures 1 and 2: dealt over the racks of all pods but the first.
pub(super) fn dealt(i: u32) -> String {
    host(64 + i % 16 * 16 + i / 16)
}

/// Endless flows to [`RECEIVER`], all from the beginning.
pub(super) fn long(from: impl IntoIterator<Item = String>) -> String {
    let from: Vec<String> = from.into_iter().map(|name| format!("\"{name}\"")).collect();
    format!("[[traffic]]\nkind = \"long\"\nfrom = [{}]\nto = \"{RECEIVER}\"\n", from.join(", "))
}

/// A flow of one size from each sender to [`RECEIVER`], at each of some times.
pub(super) fn bursts(from: &[String], size: &str, at: &[&str]) -> String {
    let flow = |at: &str, name: &String| {
        format!("{{ from = \"{name}\", to = \"{RECEIVER}\", size = \"{size}\", at = \"{at}\" }}")
    };
    let flows: Vec<String> =
        at.iter().flat_map(|at| from.iter().map(move |name| flow(at, name))).collect();
    format!("[[traffic]]\nkind = \"list\"\nflows = [{}]\n", flows.join(", "))
}
