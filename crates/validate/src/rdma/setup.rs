//! The star of all micro scenarios, and the laws with their settings.

/// Laws that queue pairs run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    Dcqcn,
    Timely,
    Hpcc,
    Swift,
    PowerTcp,
    Dctcp,
}

/// The port that all flows share.
pub(super) const PORT: &str = "tor->host[0]";

/// Bits per second of every link.
pub(super) const LINE: f64 = 100e9;

impl Law {
    pub const ALL: [Self; 6] =
        [Self::Dcqcn, Self::Timely, Self::Hpcc, Self::Swift, Self::PowerTcp, Self::Dctcp];

    /// As in scenarios and in the ids of rows.
    pub fn name(self) -> &'static str {
        match self {
            Law::Dcqcn => "dcqcn",
            Law::Timely => "timely",
            Law::Hpcc => "hpcc",
            Law::Swift => "swift",
            Law::PowerTcp => "powertcp",
            Law::Dctcp => "dctcp",
        }
    }

    /// Parameters, and keys of the transport.
    fn settings(self) -> &'static str {
        match self {
            Law::Dcqcn => "params = { timers = \"paper\" }\n",
            Law::Timely => "params = { form = \"patched\", delta = \"100Mbps\" }\n",
            Law::Hpcc => "params = { eta = 0.95, max_stage = 5, w_ai = \"80B\" }\n",
            Law::Swift => {
                "params = { base_target = \"20us\", hop_scale = \"0us\", fs_range = \"0us\" }\n\
                 initial_window = \"52KB\"\n"
            }
            Law::PowerTcp => "params = { form = \"int\", gamma = 0.9, flows = 10 }\n",
            Law::Dctcp => "params = { g = \"1/16\" }\ninitial_window = \"52KB\"\n",
        }
    }

    fn marks(self) -> &'static str {
        match self {
            Law::Dcqcn => {
                "ecn = { kmin = \"5KB\", kmax = \"200KB\", pmax = 0.01, at = \"enqueue\" }\n"
            }
            Law::Dctcp => "ecn = { k = \"300KB\" }\n",
            Law::Timely | Law::Hpcc | Law::Swift | Law::PowerTcp => "ecn = \"off\"\n",
        }
    }
}

/// A scenario in the making.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub law: Law,
    /// Hosts that send; the receiver is host 0.
    pub senders: u32,
    pub buffer: &'static str,
    /// Sampling interval of queues and flows, if any.
    pub every: Option<&'static str>,
    /// Parameters that replace those of the law.
    pub params: Option<&'static str>,
    /// `[[traffic]]`.
    pub traffic: String,
}

impl Setup {
    pub fn new(law: Law, senders: u32, traffic: String) -> Self {
        Self { law, senders, buffer: "32MB", every: None, params: None, traffic }
    }

    /// Scenario text, without version, seed and end.
    pub fn text(&self) -> String {
        let hosts = self.senders + 1;
        let law = self.law.name();
        let settings = self.params.unwrap_or(self.law.settings());
        let output = self.every.map_or(String::new(), |every| {
            format!(
                "[output]\nqueues = {{ every = \"{every}\", where = \"tor\" }}\n\
                 flows = {{ every = \"{every}\", where = \"host[*]\", most = 32 }}\n"
            )
        });
        format!(
            "[fabric]\nkind = \"star\"\nhosts = {hosts}\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             wire_overhead = \"0B\"\n\
             [fabric.switch]\nclasses = 2\nbuffer = {{ size = \"{}\" }}\npause = {{ classes = [0] }}\n{}\
             [transport]\nkind = \"rdma\"\nlaw = \"{law}\"\nheader = \"48B\"\ntelemetry = \"0B\"\n\
             base_rtt = \"4.2us\"\ncnp_class = 1\n{settings}{}{output}",
            self.buffer,
            self.law.marks(),
            self.traffic
        )
    }
}

/// An endless flow from each sender to host 0, each so many ms after the one before.
pub(super) fn long(senders: u32, stagger_ms: u32) -> String {
    let from: Vec<String> = (1..=senders).map(|i| format!("\"host[{i}]\"")).collect();
    let stagger = match stagger_ms {
        0 => String::new(),
        ms => format!("stagger = \"{ms}ms\"\n"),
    };
    format!(
        "[[traffic]]\nkind = \"long\"\nfrom = [{}]\nto = \"host[0]\"\n{stagger}",
        from.join(", ")
    )
}

/// A message from each sender to host 0 at time 0.
pub(super) fn messages(senders: u32, size: &str) -> String {
    let flow = |i| format!("{{ from = \"host[{i}]\", to = \"host[0]\", size = \"{size}\" }}");
    let flows: Vec<String> = (1..=senders).map(flow).collect();
    format!("[[traffic]]\nkind = \"list\"\nflows = [{}]\n", flows.join(", "))
}
