//! Scenario files, distributions of flow sizes and lists of flows: read, or refused with sentences.

use forebay_fuzz::{Edits, each, is_a_sentence};
use forebay_scenario::cdf::Cdf;
use forebay_scenario::presets;
use forebay_scenario::{resolved, text};
use forebay_units::Bytes;

#[test]
fn scenario() {
    each!(400, (u8, Edits), |(which, edits)| {
        let all = presets::all().count();
        let preset = presets::all().nth(usize::from(*which) % all).expect("there are some");
        match text("x.toml", &edits.of(preset.text)) {
            Err(error) => {
                assert!(!error.problems.is_empty());
                for problem in &error.problems {
                    assert!(is_a_sentence(&problem.to_string()), "{problem}");
                }
            }
            Ok(loaded) => {
                let full = resolved(&loaded.scenario);
                let back = text("resolved.toml", &full).unwrap_or_else(|e| panic!("{e}\n{full}"));
                assert_eq!(back.scenario, loaded.scenario);
            }
        }
    });
}

const SIZES: &str = "# bytes, share\n0 0\n1460 0.15\n10000,0.5\n1e6 0.9\n30000000\t1.0\n";

#[test]
fn distribution() {
    each!(2_000, (bool, Edits), |(interpolate, edits)| match Cdf::parse(
        "sizes.txt",
        &edits.of(SIZES),
        *interpolate
    ) {
        Err(why) => assert!(is_a_sentence(&why), "{why:?}"),
        Ok(cdf) => {
            let drawn = [0.0, 0.3, 0.999_999].map(|u| cdf.sample(u));
            assert!(drawn.is_sorted(), "{drawn:?}");
            assert!(drawn[0] >= Bytes::new(1) && drawn[2] <= cdf.largest(), "{drawn:?}");
            assert!(cdf.mean() > 0.0 && cdf.mean() <= cdf.largest().get() as f64);
        }
    },);
}
