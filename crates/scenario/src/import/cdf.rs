//! CDF files: a scenario that draws its flow sizes from one.

use super::{Fate, Import, Note, Source, draft};
use crate::Error;
use crate::cdf::Cdf;

/// A star of 16 hosts, loaded by half.
pub(super) fn import(name: &str, source: Source<'_>) -> Result<Import, Error> {
    let cdf = Cdf::parse(name, source.text, true).map_err(|why| match line_of(&why) {
        Some((line, why)) => Error::one(format!("{}:{line}", source.name), why),
        None => Error::one(source.name, why),
    })?;
    let mut csv = String::from("bytes,probability\n");
    cdf.points.iter().for_each(|(bytes, p)| csv.push_str(&format!("{bytes},{p}\n")));
    let scenario = format!(
        "# Flow sizes imported from {}. The fabric is only a place to begin.\nversion = 1\nname = {}\nseeds = 3\nstop = {{ time = \"10ms\" }}\n\n\
         [fabric]\nkind = \"star\"\nhosts = 16\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\n\
         [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\n\
         [[traffic]]\nkind = \"poisson\"\nsizes = {{ file = \"sizes.csv\", mode = \"lin\" }}\nload = 0.5\n",
        source.name.replace(['\n', '\r'], " "),
        serde_json::Value::from(name)
    );
    let files = vec![("scenario.toml".to_string(), scenario), ("sizes.csv".to_string(), csv)];
    draft::read_back(&files)?;
    let place = format!("{}:1", source.name);
    let carried = format!(
        "{} points, straight lines between them, mean {:.0} B, largest {}",
        cdf.points.len(),
        cdf.mean(),
        cdf.largest()
    );
    let notes = vec![
        Note { place: place.clone(), fate: Fate::Carried, text: carried },
        Note {
            place,
            fate: Fate::Left,
            text: "fabric, load and law are not in a CDF file: 16 hosts on one switch at load 0.5 stand in".into(),
        },
    ];
    Ok(Import { files, notes })
}

/// `line 7: ...` as 7 and the rest.
fn line_of(why: &str) -> Option<(usize, &str)> {
    let (line, rest) = why.strip_prefix("line ")?.split_once(": ")?;
    Some((line.parse().ok()?, rest))
}
