//! Kernels as profiles: what a transport of kind "tcp" takes for granted where the table says nothing else.

use super::{BPF, Tcp};
use crate::judge::Judge;
use forebay_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kernel whose settings are the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Kernel {
    /// Linux 6.1, the long-term release of Debian 12, at 250 Hz.
    #[serde(rename = "linux-6.1")]
    Linux61,
}

/// ACKs at once while the receive window opens from 64 KiB to the half of `tcp_rmem` that is payload, 3 MiB: one for each two segments of 1460 B
/// (`tcp_grow_window`), and the 16 that are always quick.
const QUICK_ACKS: u16 = ((3 * 1024 * 1024 - 65_535) / (2 * 1_460) + 16) as u16;

impl Kernel {
    /// Fills in the keys of the table at `place` that were not written.
    pub(crate) fn fill(self, judge: &Judge<'_>, place: &str, tcp: &mut Tcp) {
        let at = |key: &str| format!("{place}.{key}");
        judge.usual(&at("delayed_ack"), &mut tcp.delayed_ack, true);
        judge.usual(&at("adaptive_delayed_ack"), &mut tcp.adaptive_delayed_ack, true);
        judge.usual(&at("timer_tick"), &mut tcp.timer_tick, Span::from_ms(4));
        let limited = tcp.receive_window.is_some() && tcp.receive_window_max.is_none();
        if !limited {
            judge.usual(&at("quick_acks"), &mut tcp.quick_acks, QUICK_ACKS);
        }
    }

    /// Adds the parameters by which a law does as this kernel's module, where they were not written.
    pub(crate) fn fill_params(self, tcp: &Tcp, law: &str, params: &mut Vec<(String, String)>) {
        let hz = Span::from_secs(1).as_ps() / tcp.timer_tick.as_ps().max(1);
        let usual: &[(&str, &str)] = match law {
            // The kernel's clock, where the law knows one so fast.
            law if law == "cubic" || law == "bic" || law.starts_with(BPF) => match hz {
                100 => &[("hz", "100")],
                250 => &[("hz", "250")],
                300 => &[("hz", "300")],
                _ => &[],
            },
            "dctcp" => &[("alpha", "linux"), ("cut", "packets"), ("prr_on_ce", "true")],
            _ => &[],
        };
        for (key, text) in usual {
            if !params.iter().any(|(other, _)| other == key) {
                params.push((key.to_string(), text.to_string()));
            }
        }
        params.sort();
    }
}
