//! A host law on a live machine: its parameters, where they differ from the published ones.
//!
//! Weights of hostCC's averages are per sample of 0.65 us. A reading here is an exact mean over a period, so "auto" takes the
//! published time constants, 5 us for the lines and 166 us for the rate (hostCC section 4.1): from a period of that length on, weight 1.
//! Levels lapse: `stale_after` is 50 ms or 20 periods, whichever is longer, and `lease` 1 s.

use crate::config::Law;
use forebay_laws::host::HostParams;
use forebay_laws::params::ParamError;
use forebay_units::Span;

/// Weights and their time constants.
const WEIGHTS: [(&str, Span); 2] =
    [("occupancy_weight", Span::from_us(5)), ("bandwidth_weight", Span::from_us(166))];

/// A law with these parameters on top of the defaults for a period.
///
/// # Errors
/// If there is no such law, or it has no such parameter, or the parameter no such value.
pub fn params<'a>(
    law: &str,
    set: impl IntoIterator<Item = (&'a str, &'a str)>,
    period: Span,
) -> Result<HostParams, ParamError> {
    let mut params = HostParams::new(law)?;
    let stale = (period * 20).max(Span::from_ms(50));
    let defaults = [("stale_after", format!("{}us", stale.as_us())), ("lease", "1s".into())];
    let weights = WEIGHTS.map(|(name, constant)| (name, weight(period, constant)));
    for (name, value) in weights.iter().chain(&defaults) {
        if params.info().params.iter().any(|param| param.name == *name) {
            params.set(name, value)?;
        }
    }
    for (name, value) in set {
        let auto = WEIGHTS.iter().any(|(weight, _)| *weight == name) && value.trim() == "auto";
        if !auto {
            params.set(name, value)?;
        }
    }
    Ok(params)
}

/// The weight of a sample so that an average over samples of this length has this time constant: a power of one half, rounded
/// towards the newest sample.
fn weight(period: Span, constant: Span) -> String {
    let samples = (constant / period.max(Span::from_ns(1))).clamp(1, 1024);
    format!("1/{}", 1u64 << samples.ilog2())
}

/// Keys and sentences of what is wrong with the table `law`.
pub fn problems(law: &Law, period: Span) -> Vec<(String, String)> {
    let Ok(_) = HostParams::new(&law.name) else {
        let known = HostParams::new(&law.name).err().map(|why| why.to_string()).unwrap_or_default();
        return vec![("law.name".into(), format!("{:?}: {known}", law.name))];
    };
    let mut found = Vec::new();
    for (name, value) in &law.params {
        if let Err(why) = params(&law.name, [(name.as_str(), value.as_str())], period) {
            found.push((format!("law.params.{name}"), format!("{value:?}: {why}")));
        } else if name == "mark_all" && value.trim() == "true" {
            let text =
                "true would mark packets that are not ECN-capable, against RFC 3168; leave it out";
            found.push((format!("law.params.{name}"), text.into()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_keeps_the_published_time_constants() {
        let of = |us| WEIGHTS.map(|(_, constant)| weight(Span::from_us(us), constant));
        assert_eq!(of(1), ["1/4", "1/128"]);
        assert_eq!(of(10), ["1/1", "1/16"]);
        assert_eq!(
            (of(166), of(1000)),
            (["1/1", "1/1"].map(String::from), ["1/1", "1/1"].map(String::from))
        );
    }

    #[test]
    fn what_is_set_goes_before_the_defaults() {
        let shown = |set: &[(&str, &str)], name: &str| {
            let params = params("hostcc", set.iter().copied(), Span::from_ms(10)).expect("hostcc");
            let value = params.values().find(|(info, _)| info.name == name);
            value.map(|(_, value)| value.to_string()).expect("it has this parameter")
        };
        assert_eq!((shown(&[], "stale_after"), shown(&[], "lease")), ("200ms".into(), "1s".into()));
        assert_eq!(shown(&[("occupancy_weight", "1/8")], "occupancy_weight"), "1/8");
        assert_eq!(shown(&[("occupancy_weight", "auto")], "occupancy_weight"), "1/1");
    }
}
