//! Parameters of laws by which a law does as a kernel's module.

use super::BPF;
use forebay_settings::TcpSettings;
use forebay_units::Span;

/// Adds the parameters by which a law does as the module of the kernel that a transport names, where they were not written.
pub(crate) fn fill_params(tcp: &TcpSettings, law: &str, params: &mut Vec<(String, String)>) {
    if tcp.kernel.is_none() {
        return;
    }
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
