//! What the tests of several roles share.

use forebay_laws::log::{ReplayError, ReplayedLog, Sink, Tap, replay};
use std::sync::{Arc, Mutex};

/// A log in memory.
#[derive(Debug, Default)]
struct Memory(Mutex<Vec<u8>>);

impl Sink for Memory {
    fn write(&self, bytes: &[u8]) {
        self.0.lock().expect("one writer").extend_from_slice(bytes);
    }
}

/// What `run` logs through the tap that it is given: the log replays with so many events, a log cut anywhere says so or
/// is shorter, and no damage panics.
pub fn replays(
    role: &str,
    law: &str,
    events: usize,
    damage: &[(usize, u8)],
    run: impl FnOnce(Tap),
) {
    let memory = Arc::new(Memory::default());
    run(Tap::new(memory.clone()));
    let log = memory.0.lock().expect("no writer").clone();
    let ReplayedLog { role: of, law: name, events: seen, .. } =
        replay(&log).unwrap_or_else(|error| panic!("{law}: {error}"));
    assert_eq!((of, name.as_str(), seen), (role, law, events as u64));
    for (at, xor) in damage {
        let mut log = log.clone();
        let at = at % log.len();
        log[at] ^= xor;
        let _ = replay(&log);
        match replay(&log[..at]) {
            Ok(shorter) => assert!(shorter.events < seen),
            Err(error) => assert!(
                matches!(
                    error,
                    ReplayError::Cut { .. }
                        | ReplayError::NoLog
                        | ReplayError::Differs(_)
                        | ReplayError::Params { .. }
                        | ReplayError::Version(_)
                ),
                "{error}"
            ),
        }
    }
}

/// Every law's file in the folder of the role `role` has its row in the role's registry, whose text is given. Returns how
/// many there are.
pub fn registered(role: &str, registry: &str) -> usize {
    let folder = format!("{}/src/{role}", env!("CARGO_MANIFEST_DIR"));
    let (_, rows) = registry.rsplit_once("registry! {").expect("the rows end the file");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of the role") {
        let name = entry.expect("readable").file_name().into_string().expect("ASCII");
        let law = name.trim_end_matches(".rs");
        if ["mod", "own", "registry"].contains(&law) || !name.ends_with(".rs") {
            continue;
        }
        files += 1;
        assert!(
            rows.contains(&format!("\n    {law}::")),
            "{role}/{name} has no row in registry.rs"
        );
    }
    files
}

/// Help pages and parameter lists of a role are complete, and a printed value reads back. Each law's name and parameters, for
/// what only its role can say.
#[macro_export]
macro_rules! listed_and_set {
    ($laws:expr, $params:ty, |$law:ident, $of:ident| $more:expr) => {
        for $law in $laws {
            let help: Vec<_> = $law.help().collect();
            assert!(
                help.len() > 3,
                "{}: a charter says what, source, needs, deviations",
                $law.name()
            );
            let source = help.iter().any(|line| line.starts_with("Source:"));
            assert!(source, "{} has no source", $law.name());
            assert!(
                !$law.summary().is_empty() && !$law.summary().contains("//"),
                "{}",
                $law.name()
            );
            let $of = <$params>::new($law.name()).expect("listed");
            assert_eq!($of.name(), $law.name());
            let mut again = $of.clone();
            for (param, value) in $of.values() {
                assert!(
                    !param.doc.is_empty() && !param.range.is_empty() && !param.source.is_empty()
                );
                assert!(!param.doc.contains('\n'), "{}.{}: one line", $law.name(), param.name);
                assert_eq!(again.set(param.name, &value.to_string()), Ok(()), "{}", param.name);
                assert!(again.set(param.name, "no such value").is_err(), "{}", param.name);
            }
            assert_eq!(again, $of);
            $more;
        }
    };
}
