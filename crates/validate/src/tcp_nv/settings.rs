//! What the deck leaves open, and what it settles by naming its kernel. `validation/tcp-nv/rows.toml` says why.

/// The open settings: one set for all rows of a reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settings {
    /// Round trip of the empty path in the 10 Gb/s table.
    pub rtt_us: u32,
    /// Buffer of its router.
    pub buffer_kb: u32,
    /// Floor of the retransmission timeout.
    pub rto_ms: u32,
    /// Whether each RPC has a connection of its own, which begins in slow start, or a host's share one that lasts.
    pub fresh: bool,
    /// RTT samples between two decisions of NV.
    pub samples: u32,
    /// Share of the excess that NV gives up, in 128ths.
    pub share: u32,
    /// NV's pad in packets.
    pub pad: u32,
    /// Seed of the table's runs.
    pub seed: u64,
}

/// The set that the BIC columns chose among [`Settings::candidates`].
pub(super) const CHOSEN: Settings = Settings {
    rtt_us: 100,
    buffer_kb: 400,
    rto_ms: 20,
    fresh: false,
    samples: 20,
    share: 38,
    pad: 6,
    seed: 1,
};

/// The set of reading `-pad2`: NV's numbers with few flows chose it among [`Settings::pad2_candidates`].
pub(super) const PAD2: Settings = Settings { rtt_us: 200, samples: 8, share: 90, pad: 2, ..CHOSEN };

/// Readings by the ends of their ids, the one that the verdict names first.
pub(super) const READINGS: [(&str, Settings); 2] = [("-pad2", PAD2), ("-pad6", CHOSEN)];

impl Settings {
    /// Every set that NV's columns with few flows may choose for reading `-pad2`.
    pub fn pad2_candidates() -> Vec<Self> {
        let mut all = Vec::new();
        for pad in [2, 3] {
            for samples in [3, 5, 8] {
                for share in [38, 50, 64, 90] {
                    for buffer_kb in [400, 512, 600, 640] {
                        all.push(Self { pad, samples, share, buffer_kb, ..PAD2 });
                    }
                }
            }
        }
        all
    }

    /// Every set that the BIC columns may choose.
    pub fn candidates() -> Vec<Self> {
        let mut all = Vec::new();
        for rtt_us in [100, 200] {
            // 600 KB are 400 packets: all that queue there are whole ones.
            for buffer_kb in [400, 512, 600, 640] {
                for rto_ms in [5, 10, 20] {
                    all.push(Self { rtt_us, buffer_kb, rto_ms, ..CHOSEN });
                }
            }
        }
        all
    }
}

/// A law of the deck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    Bic,
    Nv,
}

impl Law {
    pub const BOTH: [Self; 2] = [Self::Bic, Self::Nv];

    /// As it stands in the ids of rows.
    pub fn id(self) -> &'static str {
        match self {
            Self::Bic => "bic",
            Self::Nv => "nv",
        }
    }

    /// Keys of the law in a table of a scenario, with more parameters behind.
    pub fn keys(self, settings: &Settings, more: &str) -> String {
        match self {
            Self::Bic => format!("law = \"bic\"\nparams = {{ delack_comp = \"legacy\"{more} }}\n"),
            Self::Nv => format!(
                "law = \"nv\"\nparams = {{ variant = \"2010\", decision_samples = {}, cong_dec_mult = {}, pad = {}{more} }}\n",
                settings.samples, settings.share, settings.pad
            ),
        }
    }
}

/// Hosts and transport of Linux 2.6.34 with a law, and what an experiment adds.
pub(super) struct Stack<'a> {
    pub law: Law,
    pub settings: &'a Settings,
    /// Keys of `[host]`.
    pub host: &'a str,
    /// Most that chance adds to a receive interrupt: one packet time of the bottleneck, as in ns-2.
    pub jitter: &'a str,
    /// Keys of `[transport]`.
    pub keys: &'a str,
    /// Parameters of the law, each after a comma.
    pub params: &'a str,
}

impl<'a> Stack<'a> {
    pub fn new(law: Law, settings: &'a Settings) -> Self {
        Self { law, settings, host: "", jitter: "1200ns", keys: "", params: "" }
    }

    /// The two tables, of which `[transport]` is the last.
    pub fn text(&self) -> String {
        self.text_of(&self.law.keys(self.settings, self.params))
    }

    /// The two tables for a law that is none of the deck's two.
    pub fn text_of(&self, law: &str) -> String {
        format!(
            "[host]\nnic = \"push\"\nsack_compression = false\npsh = false\nrx_jitter = \"{}\"\n{}[transport]\nkind = \"tcp\"\n{law}initial_window = \"3 packets\"\ndelayed_ack = true\n\
             gentle_growth = false\nrack = false\ntail_loss_probe = false\nprr = false\nrto_min = \"{}ms\"\n{}",
            self.jitter, self.host, self.settings.rto_ms, self.keys
        )
    }
}
