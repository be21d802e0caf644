//! A law as the scenario names it.

use crate::options::SimError;
use forebay_laws::params::{NamedLaw, ParamError};

/// The law of this name with these parameters; `find` knows the laws of its role.
///
/// # Errors
/// If the role has no such law, or the law no such parameter or value: the loader refuses that, but scenarios are also made by hand.
pub(crate) fn law<'a, P: NamedLaw>(
    name: &str,
    params: impl IntoIterator<Item = &'a (String, String)>,
    find: impl FnOnce(&str) -> Result<P, ParamError>,
) -> Result<P, SimError> {
    let mut law = find(name).map_err(|e| SimError::Law(format!("law \"{name}\" {e}")))?;
    for (key, text) in params {
        law.set(key, text).map_err(|e| SimError::Law(format!("params.{key}: {e}")))?;
    }
    Ok(law)
}

#[cfg(feature = "reference")]
#[doc(hidden)]
pub mod tests {
    use super::*;
    use forebay_laws::host::HostParams;

    pub fn what_no_law_takes_is_said_with_its_name() {
        let said = |name, params: &[(&str, &str)]| {
            let params: Vec<_> =
                params.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect();
            law(name, &params, HostParams::new).map_err(|e| e.to_string())
        };
        assert!(said("reno", &[]).is_err_and(|e| e.starts_with("law \"reno\" ")));
        let known = said("hostcc", &[]).expect("a law of hosts");
        let (param, value) = known.values().next().expect("it has parameters");
        let (key, text) = (param.name, value.to_string());
        assert_eq!(said("hostcc", &[(key, &text)]), Ok(known.clone()));
        for wrong in [(key, "no such value"), ("no-such-key", "1")] {
            let e = said("hostcc", &[(key, &text), wrong]).expect_err("refused");
            assert!(e.starts_with(&format!("params.{}: ", wrong.0)), "{e}");
        }
    }
}
