//! A host law on a live machine: its parameters, where they differ from the published ones.
//!
//! Weights of hostCC's averages are per sample of 0.65 us. A reading here is an exact mean over a period, so "auto" takes the
//! published time constants, 5 us for the lines and 166 us for the rate (hostCC section 4.1): from a period of that length on, weight 1.
//! Levels lapse: `stale_after` is 50 ms or 20 periods, whichever is longer, and `lease` 1 s.

use forebay_laws::host::HostParams;
use forebay_laws::params::ParamError;
use forebay_units::Span;
use std::collections::BTreeMap;

/// Weights, which the law then takes by the period.
const WEIGHTS: [&str; 2] = ["occupancy_weight", "bandwidth_weight"];

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
    let weights = WEIGHTS.map(|name| (name, "auto".into()));
    for (name, value) in weights.iter().chain(&defaults) {
        if params.info().params().iter().any(|param| param.name == *name) {
            params.set(name, value)?;
        }
    }
    set.into_iter().try_for_each(|(name, value)| params.set(name, value))?;
    Ok(params)
}

/// Keys and sentences of what is wrong with the table `law`.
pub fn problems(law: &str, set: &BTreeMap<String, String>, period: Span) -> Vec<(String, String)> {
    let Ok(_) = HostParams::new(law) else {
        let known = HostParams::new(law).err().map(|why| why.to_string()).unwrap_or_default();
        return vec![("law.name".into(), format!("{law:?}: {known}"))];
    };
    let mut found = Vec::new();
    for (name, value) in set {
        if let Err(why) = params(law, [(name.as_str(), value.as_str())], period) {
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
    fn what_is_set_goes_before_the_defaults() {
        let shown = |set: &[(&str, &str)], name: &str| {
            let params = params("hostcc", set.iter().copied(), Span::from_ms(10)).expect("hostcc");
            let value = params.values().find(|(info, _)| info.name == name);
            value.map(|(_, value)| value.to_string()).expect("it has this parameter")
        };
        assert_eq!((shown(&[], "stale_after"), shown(&[], "lease")), ("200ms".into(), "1s".into()));
        assert_eq!(shown(&[("occupancy_weight", "1/8")], "occupancy_weight"), "1/8");
        assert_eq!(shown(&[], "occupancy_weight"), "auto");
        let ladder = params("nicdrop", [], Span::from_ms(1)).expect("nicdrop");
        let texts: Vec<_> =
            ladder.values().map(|(of, value)| format!("{}={value}", of.name)).collect();
        assert!(texts.contains(&"lease=1s".into()) && texts.contains(&"stale_after=50ms".into()));
    }
}
