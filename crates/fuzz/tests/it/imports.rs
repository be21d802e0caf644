//! Files of other simulators: what is taken makes a scenario that loads, what is not is refused with a sentence.

use forebay_fuzz::{Edits, each, is_a_sentence};
use forebay_scenario::Error;
use forebay_scenario::import::{self, Hpcc, HpccConfig, Htsim, Import, Source};
use std::path::PathBuf;

const TOPOLOGY: &str = include_str!("../../../scenario/tests/data/hpcc-topology.txt");
const FLOWS: &str = include_str!("../../../scenario/tests/data/hpcc-flows.txt");
const CONFIG: &str = include_str!("../../../scenario/tests/data/hpcc-config.txt");
const PATHS: &str = include_str!("../../../scenario/tests/data/hpcc-paths.csv");
const MATRIX: &str = include_str!("../../../scenario/tests/data/htsim.cm");
const TOPO: &str = include_str!("../../../scenario/tests/data/htsim.topo");

fn source<'a>(name: &'a str, text: &'a str) -> Source<'a> {
    Source { name, text }
}

/// A folder of this test alone.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("forebay-fuzz-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// What was made loads as a user would load it; what was refused has a sentence.
    fn judge(&self, made: Result<Import, Error>) {
        match made {
            Err(error) => {
                for problem in &error.problems {
                    assert!(is_a_sentence(&problem.to_string()), "{problem}");
                }
            }
            Ok(made) => {
                for (name, text) in &made.files {
                    std::fs::write(self.0.join(name), text).unwrap();
                }
                let loaded = forebay_scenario::load(&self.0.join("scenario.toml"));
                loaded.unwrap_or_else(|error| panic!("{error}\n{}", made.files[0].1));
                made.notes
                    .iter()
                    .for_each(|note| assert!(is_a_sentence(&note.to_string()), "{note}"));
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn ns3_hpcc() {
    let folder = Folder::new("hpcc");
    each!(400, (u8, Edits), |(which, edits)| {
        let mut files = [TOPOLOGY, FLOWS, CONFIG, PATHS].map(String::from);
        let edited = &mut files[usize::from(*which) % 4];
        *edited = edits.of(edited);
        let [topology, flows, config, paths] = &files;
        folder.judge(HpccConfig::parse(source("config.txt", config)).and_then(|config| {
            let files = Hpcc {
                topology: source("topology.txt", topology),
                flows: source("flow.txt", flows),
                config: Some(&config),
                paths: Some(source("paths.csv", paths)),
                start_at: None,
                flow_form: None,
            };
            import::hpcc("made", &files)
        }));
    });
}

#[test]
fn htsim() {
    let folder = Folder::new("htsim");
    each!(400, (bool, Edits), |(matrix, edits)| {
        let (mut matrix_text, mut topology) = (MATRIX.to_owned(), TOPO.to_owned());
        let edited = if *matrix { &mut matrix_text } else { &mut topology };
        *edited = edits.of(edited);
        let topology = Some(source("a.topo", &topology));
        let files = Htsim {
            matrix: source("a.cm", &matrix_text),
            topology,
            command: import::Command::default(),
        };
        folder.judge(import::htsim("made", &files));
    });
}
