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
}

impl Settings {
    /// What they set in a scenario of the table.
    pub fn sets(&self, law: Law) -> Vec<(String, String)> {
        let delay = (f64::from(self.rtt_us) - 2.5) / 4.0 * 1e6;
        let mut all = vec![
            ("seeds", format!("[{}]", self.seed)),
            ("fabric.host_link.delay", format!("\"{delay:.0}ps\"")),
            ("fabric.switch.port_limit", format!("\"{}KB\"", self.buffer_kb)),
            ("transport.rto_min", format!("\"{}ms\"", self.rto_ms)),
        ];
        if law == Law::Nv {
            let Self { samples, share, pad, .. } = self;
            let params = format!(
                "{{ variant = \"2010\", decision_samples = {samples}, cong_dec_mult = {share}, pad = {pad} }}"
            );
            all.push(("transport.params", params));
        }
        all.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::tests::scenario;
    use crate::folder::Folder;

    /// The sets of settings that the candidates are compared with are those of the readings of `rows.toml`.
    #[test]
    fn chosen_settings_are_those_of_the_readings() {
        let folder = Folder::of(super::super::SUITE);
        for (case, chosen) in [("nv-pad2-200us", PAD2), ("nv-pad6-100us", CHOSEN)] {
            let plain = scenario(folder, "table-8", case, &[]);
            assert_eq!(scenario(folder, "table-8", case, &chosen.sets(Law::Nv)), plain, "{case}");
            let other = Settings { pad: 5, ..chosen };
            assert_ne!(scenario(folder, "table-8", case, &other.sets(Law::Nv)), plain, "{case}");
        }
    }
}
