//! Where a scenario comes from: a file, standard input, or one that comes with the product.

use crate::args::{Input, Run, SeedArgs};
use crate::failure::Failure;
use crate::itself::loader;
use forebay_record::RunStart;
use forebay_scenario::model::Scenario;
use forebay_scenario::{Error, LoadedScenario, Problem, around, nearest, presets};
use forebay_study::about::changed_object;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

impl Input {
    /// Reads and checks a point of its sweep, with its settings [`around`] which are those of the command line. The sweep itself is left out, so
    /// that many points are not read once for each of them.
    pub fn load_point(&self, point: &[(String, String)]) -> Result<LoadedScenario, Failure> {
        let alone = [("sweep".to_string(), "{}".to_string())];
        let loaded = self.judge(point, if point.is_empty() { &[] } else { &alone })?;
        Ok(loaded.map_err(|mut error| {
            for problem in &mut error.problems {
                for (key, value) in point {
                    let set = format!("--set {key}={value}");
                    if problem.place == set && !self.set.contains(&(key.clone(), value.clone())) {
                        problem.place = format!("{}: [sweep] with {key} = {value}", self.name());
                    }
                }
            }
            error
        })?)
    }

    /// Reads and checks it with the settings of a point among those of the command line, and others after them. What is wrong
    /// with the scenario itself is the inner error.
    fn judge(
        &self,
        point: &[(String, String)],
        after: &[(String, String)],
    ) -> Result<Result<LoadedScenario, Error>, Failure> {
        let sets = [around(&self.set, point).as_slice(), after].concat();
        if let Some(name) = &self.preset {
            return Ok(loader().text(&format!("preset {name}"), preset_text(name)?, &sets));
        }
        match &self.file {
            Some(file) if file == Path::new("-") => Ok(loader().text("stdin", stdin()?, &sets)),
            Some(file) => Ok(loader().load(file, &sets)),
            None => unreachable!("the command line demands a file or a preset"),
        }
    }

    /// Reads and checks it.
    pub fn load(&self) -> Result<LoadedScenario, Failure> {
        self.load_point(&[])
    }

    /// Folder in which the files that it names are sought.
    pub fn folder(&self) -> &Path {
        let parent = self.file.as_deref().and_then(Path::parent);
        parent.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Name for sentences.
    pub fn name(&self) -> String {
        match (&self.preset, &self.file) {
            (Some(preset), _) => format!("--preset {preset}"),
            (None, Some(file)) => file.display().to_string(),
            (None, None) => String::new(),
        }
    }
}

/// The scenario of a run directory. Object files that it names are sought there.
pub fn recorded(dir: &Path, about: &RunStart) -> Result<Scenario, Failure> {
    let name = dir.join("resolved.toml");
    let loaded = loader().text::<&str>(&name.to_string_lossy(), &about.resolved_toml, &[])?;
    match changed_object(about, &loaded.scenario) {
        Some(why) => Err(Failure::Input(format!("{}: {why}", dir.display()))),
        None => Ok(loaded.scenario),
    }
}

/// The key that `--capture` sets.
const CAPTURES: &str = "output.capture";

impl Run {
    /// Reads and checks its scenario, with `--capture` as the setting that it stands for.
    pub fn load(&self) -> Result<LoadedScenario, Failure> {
        if self.capture.is_empty() {
            return self.input.load();
        }
        let item =
            |place: &String| format!("{{ where = {} }}", serde_json::Value::from(place.as_str()));
        let list = self.capture.iter().map(item).collect::<Vec<_>>().join(", ");
        let loaded = self.input.judge(&[(CAPTURES.into(), format!("[{list}]"))], &[])?;
        Ok(loaded.map_err(|mut error| {
            error.problems.iter_mut().for_each(|problem| self.as_typed(problem));
            error
        })?)
    }

    /// Has a sentence about a captured place begin with `--capture PLACE` rather than with the setting.
    fn as_typed(&self, problem: &mut Problem) {
        let replaced = self.input.set.iter().any(|(key, _)| key == CAPTURES);
        if replaced || !problem.place.starts_with(&format!("--set {CAPTURES}=")) {
            return;
        }
        for (i, place) in self.capture.iter().enumerate() {
            let typed = format!("--capture {place}");
            if problem.key == format!("{CAPTURES}[{i}].where") {
                (problem.place, problem.key) = (typed, String::new());
            } else {
                problem.text = problem.text.replace(&format!("{CAPTURES}[{i}]"), &typed);
            }
        }
    }
}

/// All of standard input, which can be read once, for as many readings as a sweep needs.
fn stdin() -> Result<&'static str, Failure> {
    static TEXT: OnceLock<String> = OnceLock::new();
    if let Some(text) = TEXT.get() {
        return Ok(text);
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().take(16 << 20).read_to_string(&mut text);
    read.map_err(|error| Failure::io("read the scenario from standard input", &error))?;
    Ok(TEXT.get_or_init(|| text))
}

/// The text of a preset.
pub fn preset_text(name: &str) -> Result<&'static str, Failure> {
    if let Some(preset) = presets::preset(name) {
        return Ok(preset.text);
    }
    if presets::samples().any(|sample| sample.name == name) {
        return Err(Failure::Input(format!(
            "{name} is several files; write them with \"forebay new {name} --out DIR\""
        )));
    }
    let known = presets::all().map(|preset| preset.name);
    let known: Vec<&str> = known.chain(presets::samples().map(|sample| sample.name)).collect();
    let same = known.iter().copied().find(|known| same_letters(known, name));
    let meant = same.or_else(|| nearest(&name.to_lowercase(), known.iter().copied()));
    let more = match meant {
        Some(preset) => format!("did you mean \"{preset}\"? (forebay list presets)"),
        None => "see \"forebay list presets\"".into(),
    };
    Err(Failure::Input(format!("there is no preset \"{name}\"; {more}")))
}

/// Whether two names differ in hyphens, underscores, spaces and capitals alone.
pub fn same_letters(a: &str, b: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    letters(a) == letters(b)
}

impl SeedArgs {
    /// The seeds asked for, in the order given; `None`: those of the scenario.
    pub fn chosen(&self) -> Result<Option<Vec<u64>>, Failure> {
        let all: Vec<u64> = self.seed.iter().chain(&self.seeds).copied().collect();
        let twice = all.iter().enumerate().find(|(i, s)| all[..*i].contains(s));
        if let Some((_, twice)) = twice {
            return Err(Failure::Input(format!(
                "--seed {twice} is given twice; give each seed once"
            )));
        }
        if let Some(large) = all.iter().find(|s| **s > i64::MAX as u64) {
            return Err(Failure::Input(format!("--seed {large} is above {}", i64::MAX)));
        }
        Ok((!all.is_empty()).then_some(all))
    }
}
