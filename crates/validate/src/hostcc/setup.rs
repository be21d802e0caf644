//! One experiment of the paper's testbed as a scenario text.

/// What a run of the testbed varies. Two runs with the same setup are one run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setup {
    pub ddio: bool,
    /// Cores of MApp.
    pub cores: u32,
    pub antagonist: Antagonist,
    /// Microseconds that it works and then rests, in turn; both zero: it never rests.
    pub rests: (u32, u32),
    pub control: Control,
    /// Long flows, dealt to senders in turn.
    pub flows: u32,
    pub senders: u32,
    /// Bytes of a full IP packet.
    pub mtu: u32,
    /// NetApp-L: bytes of a request and of its response.
    pub rpc: Option<u32>,
    /// Measured milliseconds, after 30 that are not.
    pub measured_ms: u32,
    /// Whether signals are traced.
    pub traced: bool,
    pub seed: u64,
    /// Keys of the path to memory, and of its antagonist, that differ from their defaults.
    pub changed: (&'static str, &'static str),
    /// What else is not as the paper has it.
    pub variant: Variant,
}

/// A claim of the text that needs more than other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variant {
    /// None.
    Usual,
    /// MApp and hostCC are on the host that sends.
    Sender,
    /// The switch has a megabyte for each port, and drops instead of marking.
    Unmarked,
    /// Queue pairs under DCQCN in place of TCP.
    Rdma,
    /// The last cable is a microsecond shorter.
    Near,
    /// Swift in place of DCTCP, with a target for hosts that the NIC's buffer exceeds.
    Swift,
}

/// What competes for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Antagonist {
    /// MApp: one core on each of three remote sockets, as many lines read as written, prefetching.
    Remote,
    /// The second set's: beside the NIC, no prefetching; reads and writes.
    LocalReadWrite,
    /// The second set's: beside the NIC, no prefetching; reads alone.
    LocalRead,
}

/// What holds antagonists back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Control {
    /// Nothing: plain DCTCP.
    None,
    /// A level held by hand.
    Level(u8),
    /// hostCC.
    HostCc(HostCc),
}

/// hostCC's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HostCc {
    /// B_T as goodput, Gb/s.
    pub target: u32,
    /// I_T, lines.
    pub threshold: u32,
    pub echo: bool,
    pub local: bool,
    /// Readings of I_S that its average is over.
    pub smoothed: u32,
}

impl HostCc {
    /// As the paper has it.
    pub fn of(ddio: bool) -> Self {
        Self {
            target: 80,
            threshold: if ddio { 50 } else { 70 },
            echo: true,
            local: true,
            smoothed: 8,
        }
    }
}

/// What the testbed has other than the defaults. Lines that a copy reads at once: within the 10 to 12 line-fill buffers that the paper has
/// for a core, with the cost of copying that lets four cores just reach 100 Gb/s.
const TESTBED: [(&str, &str); 2] = [("copy_lines", "12"), ("per_kilobyte", "\"159ns\"")];

/// Seconds of start-up that no number counts.
pub(super) const WARM: f64 = 0.03;

/// Lines in flight of a core without prefetching: the modelling note's, from what such a core drew alone.
const LOCAL_LINES: f64 = 6.5;

/// The host that receives, whose path to memory is modelled.
pub(super) const HOST: usize = 0;

impl Setup {
    /// 4 long DCTCP flows beside `cores` of MApp.
    pub fn new(ddio: bool, cores: u32, quick: bool) -> Self {
        Self {
            ddio,
            cores,
            antagonist: Antagonist::Remote,
            rests: (0, 0),
            control: Control::None,
            flows: 4,
            senders: 1,
            mtu: 4000,
            rpc: None,
            measured_ms: if quick { 50 } else { 300 },
            traced: false,
            seed: 1,
            changed: ("", ""),
            variant: Variant::Usual,
        }
    }

    /// With hostCC as the paper has it.
    pub fn with_hostcc(self) -> Self {
        Self { control: Control::HostCc(HostCc::of(self.ddio)), ..self }
    }

    /// End of the run in seconds.
    pub fn end(&self) -> f64 {
        WARM + f64::from(self.measured_ms) * 1e-3
    }

    /// Bytes of payload in a full packet: IPv4, TCP and timestamps take 52.
    pub fn payload(&self) -> u32 {
        self.mtu - 52
    }

    /// Lines that a core of the antagonist reads at once.
    pub fn lines_in_flight(&self) -> f64 {
        match self.antagonist {
            Antagonist::Remote => 18.7,
            Antagonist::LocalReadWrite | Antagonist::LocalRead => LOCAL_LINES,
        }
    }

    /// Lines that it moves for each that it reads.
    pub fn traffic_per_read(&self) -> f64 {
        if self.antagonist == Antagonist::LocalRead { 1.0 } else { 2.0 }
    }

    /// The scenario. A client thinks for 10 us in the mean: without chance an RPC meets the same moment of the long flows
    /// again and again, and all seeds are one. Senders are host[1] and up, around one switch. Four cables of 9 us and interrupts of 4 us make a
    /// round trip of 44 us; 38 bytes are Ethernet's header, FCS, preamble and gap.
    pub fn text(&self) -> String {
        let switch = match self.variant {
            Variant::Unmarked => {
                "[fabric.switch]\nbuffer = \"none\"\nport_limit = \"1MB\"\necn = \"off\"\n"
            }
            Variant::Near => "[[fabric.override]]\nwhere = \"host[0]-tor\"\ndelay = \"8us\"\n",
            _ => "",
        };
        let transport = match self.variant {
            Variant::Rdma => "kind = \"rdma\"\nlaw = \"dcqcn\"\nparams = { timers = \"paper\" }\n",
            Variant::Swift => {
                "kind = \"tcp\"\nlaw = \"swift\"\nparams = { base_target = \"60us\", endpoint_target = \"100us\" }\n"
            }
            _ => {
                "kind = \"tcp\"\nlaw = \"dctcp\"\nparams = { alpha = \"linux\", cut = \"packets\", prr_on_ce = true }\n"
            }
        };
        let mut text = format!(
            "[fabric]\nkind = \"star\"\nhosts = {}\nwire_overhead = \"38B\"\nhost_link = {{ rate = \"100Gbps\", delay = \"9us\" }}\n{switch}\
             [host]\nprofile = \"linux\"\nrx_usecs = \"4us\"\n{}\
             [transport]\n{transport}mtu = \"{}B\"\n",
            self.senders + 1,
            self.memory(),
            self.mtu,
        );
        if self.flows > 0 {
            let from = (0..self.flows).map(|flow| format!("\"host[{}]\"", flow % self.senders + 1));
            let from = from.collect::<Vec<_>>().join(", ");
            text +=
                &format!("[[traffic]]\nkind = \"long\"\nfrom = [{from}]\nto = \"host[{HOST}]\"\n");
        }
        if let Some(size) = self.rpc {
            text += &format!(
                "[[traffic]]\nkind = \"rpc\"\nfrom = \"host[1]\"\nto = \"host[{HOST}]\"\nrequest = \"{size}B\"\nresponse = \"{size}B\"\n\
                 think = {{ exponential = \"10us\" }}\n"
            );
        }
        text + &format!("[output]\nwarmup = \"{}ms\"\n", WARM * 1e3)
    }

    /// Index of the entry of NetApp-L among `[[traffic]]`.
    pub fn rpc_entry(&self) -> u16 {
        u16::from(self.flows > 0)
    }

    /// The host that MApp runs on, whose path to memory is modelled.
    fn congested(&self) -> usize {
        if self.variant == Variant::Sender { 1 } else { HOST }
    }

    fn memory(&self) -> String {
        let level = match self.control {
            Control::Level(level) => format!("level = {level}\n"),
            Control::None | Control::HostCc(_) => String::new(),
        };
        let mut text = format!(
            "[[host.override]]\nwhere = \"host[{}]\"\n[host.override.memory]\nddio = {}\nsocket_buffer = \"1MB\"\n{level}{}",
            self.congested(),
            self.ddio,
            self.changed.0
        );
        for (key, value) in TESTBED {
            if !self.changed.0.contains(key) {
                text += &format!("{key} = {value}\n");
            }
        }
        if self.cores > 0 {
            text += &format!(
                "[[host.override.memory.antagonist]]\ncores = {}\n{}",
                self.cores, self.changed.1
            );
            text += &match self.antagonist {
                Antagonist::Remote => String::new(),
                Antagonist::LocalReadWrite => format!("local = true\nlines = {LOCAL_LINES}\n"),
                Antagonist::LocalRead => {
                    format!("local = true\nlines = {LOCAL_LINES}\nwrites = 0.0\n")
                }
            };
        }
        if self.cores > 0 && self.rests != (0, 0) {
            text += &format!("on = \"{}us\"\noff = \"{}us\"\n", self.rests.0, self.rests.1);
        }
        if let Control::HostCc(HostCc { target, threshold, echo, local, smoothed }) = self.control {
            let side = match self.variant {
                Variant::Sender => "side = \"send\"".into(),
                _ => format!("iio_threshold = {threshold}"),
            };
            let weight = match smoothed {
                8 => String::new(),
                _ => format!(", occupancy_weight = {}", 1.0 / f64::from(smoothed)),
            };
            text += &format!(
                "[host.override.memory.control]\nlaw = \"hostcc\"\nparams = {{ {side}, target = \"{}Mbps\", \
                 local_response = {local}, network_response = {echo}{weight} }}\n",
                target * 1050
            );
        }
        text
    }
}
