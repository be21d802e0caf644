//! CDF files: a scenario that draws its flow sizes from one.

use super::{Fate, Import, Note, Source, draft};
use crate::Error;
use crate::cdf::Cdf;

/// The fabric that stands in: hosts, their rate in bit/s, and its load.
const STAR: (f64, f64, f64) = (16.0, 100e9, 0.5);
/// More flows than this in one run are no place to begin.
const MANY: f64 = 5e6;
/// Lengths of the run, the first of which is the usual one.
const RUNS: [(&str, f64); 5] =
    [("10ms", 10e-3), ("1ms", 1e-3), ("100us", 100e-6), ("10us", 10e-6), ("1us", 1e-6)];

/// A star of 16 hosts, loaded by half.
pub(super) fn import(name: &str, source: Source<'_>) -> Result<Import, Error> {
    let cdf = Cdf::parse(name, source.text, true).map_err(|why| match line_of(&why) {
        Some((line, why)) => Error::one(format!("{}:{line}", source.name), why),
        None => Error::one(source.name, why),
    })?;
    let mut csv = String::from("bytes,probability\n");
    cdf.points.iter().for_each(|(bytes, p)| csv.push_str(&format!("{bytes},{p}\n")));
    let (hosts, rate, load) = STAR;
    let flows = |seconds: f64| hosts * rate * load * seconds / 8.0 / cdf.mean().max(1.0);
    let (time, _) = RUNS.into_iter().find(|(_, s)| flows(*s) <= MANY).unwrap_or(RUNS[4]);
    let scenario = format!(
        "# Flow sizes imported from {}. The fabric is only a place to begin.\nversion = 1\nname = {}\nseeds = 3\nstop = {{ time = \"{time}\" }}\n\n\
         [fabric]\nkind = \"star\"\nhosts = 16\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\n\
         [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\n\
         [[traffic]]\nkind = \"poisson\"\nsizes = {{ file = \"sizes.csv\", mode = \"lin\" }}\nload = 0.5\n",
        source.name.replace(['\n', '\r'], " "),
        serde_json::Value::from(name)
    );
    let files = vec![("scenario.toml".to_string(), scenario), ("sizes.csv".to_string(), csv)];
    draft::read_back(&files).map_err(|error| {
        let why: Vec<&str> = error.problems.iter().map(|one| one.text.as_str()).collect();
        let why = why.join("; ");
        Error::one(source.name, format!("no scenario can be made of these sizes: {why}"))
    })?;
    let place = format!("{}:1", source.name);
    let carried = format!(
        "{} points, straight lines between them, mean {:.0} B, largest {}",
        cdf.points.len(),
        cdf.mean(),
        cdf.largest()
    );
    let mut notes = vec![Note { place: place.clone(), fate: Fate::Carried, text: carried }];
    if time != RUNS[0].0 {
        let text = format!(
            "the run is {time} and not {} long, which would be {:.0} million flows of this size",
            RUNS[0].0,
            flows(RUNS[0].1) / 1e6
        );
        notes.push(Note { place: place.clone(), fate: Fate::Changed, text });
    }
    notes.push(
        Note {
            place,
            fate: Fate::Left,
            text: "fabric, load and law are not in a CDF file: 16 hosts on one switch at load 0.5 stand in".into(),
        },
    );
    Ok(Import { files, notes })
}

/// `line 7: ...` as 7 and the rest.
fn line_of(why: &str) -> Option<(usize, &str)> {
    let (line, rest) = why.strip_prefix("line ")?.split_once(": ")?;
    Some((line.parse().ok()?, rest))
}
