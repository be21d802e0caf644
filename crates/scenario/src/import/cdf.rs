//! CDF files: a scenario that draws its flow sizes from one.

use super::{CdfForm, Fate, Import, Note, Source, draft};
use crate::Error;
use crate::cdf::{self, CLOSE, Cdf};
use forebay_units::human;

/// The fabric that stands in: hosts, their rate in bit/s, and its load.
const STAR: (f64, f64, f64) = (16.0, 100e9, 0.5);
/// More flows than this in one run are no place to begin.
const MANY: f64 = 5e6;
/// Lengths of the run, the first of which is the usual one.
const RUNS: [(&str, f64); 5] =
    [("10ms", 10e-3), ("1ms", 1e-3), ("100us", 100e-6), ("10us", 10e-6), ("1us", 1e-6)];

/// Payloads of packets, in bytes, that a mean may be counted in.
const PAYLOADS: [f64; 8] = [1000.0, 1024.0, 1440.0, 1442.0, 1448.0, 1460.0, 1500.0, 9000.0];
/// Sizes of packets, in bytes, by which a published file is known to have been divided.
const PACKETS: [f64; 2] = [500.0, 9500.0];
/// If the least size is below this and none is beyond [`SMALL`], sizes may be packets: it is the least Ethernet frame.
const FRAME: f64 = 64.0;
/// The largest size of files in packets that are known, with room.
const SMALL: f64 = 1e5;

/// How the points of a file are meant, and why.
struct PointMeaning {
    lines: bool,
    /// Bytes of one unit of the file.
    unit: f64,
    why: Vec<(Fate, String)>,
}

/// What is meant: as the user says, else as the mean in the first line says, else straight lines and bytes.
fn meant(points: &Cdf, header: Option<f64>, form: CdfForm) -> PointMeaning {
    let mut why = Vec::new();
    let means = [true, false].map(|lines| Cdf { interpolate: lines, ..points.clone() }.mean());
    let of = |lines: bool| means[usize::from(!lines)];
    let off = |mean: f64, header: f64| (mean - header).abs() / header;
    let known = published(points);
    let header = header.filter(|header| *header > 0.0 && *header != points.points.len() as f64);
    let mut lines = form.lines.unwrap_or(true);
    // A mean in bytes over sizes in packets.
    let packets = header.filter(|_| form.packet.is_none()).and_then(|header| {
        let fits = |lines: bool, unit: f64| off(of(lines) * unit, header);
        let all = [false, true].into_iter().flat_map(|lines| PAYLOADS.map(|unit| (lines, unit)));
        let best = all.min_by(|a, b| fits(a.0, a.1).total_cmp(&fits(b.0, b.1)))?;
        (fits(best.0, best.1) < CLOSE / 10.0).then_some(best)
    });
    if let Some((straight, unit)) = packets {
        let lines = form.lines.unwrap_or(straight);
        let text = format!(
            "sizes are packets of {unit} B, since the mean in the first line is {unit} times that of {} between the points; --packet 1B takes them for bytes",
            if straight { "straight lines" } else { "steps" }
        );
        return PointMeaning { lines, unit, why: vec![(Fate::Changed, text)] };
    }
    if let Some(header) = header {
        match (form.lines, points.steps_by_mean(header)) {
            (None, Some([steps, straight])) => {
                lines = false;
                let text = format!(
                    "steps, since the mean {header} in the first line is that of steps ({steps:.6}) and not of straight lines ({straight:.6}): mode = \"step\""
                );
                why.push((Fate::Carried, text));
            }
            _ if off(of(lines), header) < CLOSE => {
                why.push((Fate::Carried, format!("the mean {header} in the first line is met")));
            }
            _ => {
                let text = format!(
                    "the first line says {header}, perhaps the mean: straight lines between the points have {:.6}, steps {:.6}; here mode = \"{}\"",
                    of(true),
                    of(false),
                    if lines { "lin" } else { "step" }
                );
                why.push((Fate::Changed, text));
            }
        }
    } else if let Some(known) = known.filter(|_| form.lines.is_none()) {
        lines = known.lines;
    }
    let unit = match (form.packet, known) {
        (Some(packet), _) => {
            let text = format!("sizes are packets of {packet}");
            why.push((Fate::Carried, text));
            packet.get() as f64
        }
        (None, Some(PublishedMatch { name, unit, .. })) => {
            let text = format!(
                "sizes are packets of {unit} B: the points are those of {name}, which counts packets; --packet 1B takes them for bytes"
            );
            why.push((Fate::Changed, text));
            unit
        }
        (None, None) => {
            let least = points.points.iter().find(|(_, p)| *p > 0.0).map_or(0.0, |point| point.0);
            let whole = points.points.iter().all(|(size, _)| size.fract() == 0.0);
            let largest = points.points.last().map_or(0.0, |point| point.0);
            if whole && least < FRAME && largest <= SMALL {
                let text = format!(
                    "sizes are taken for bytes, {} to {}; if they are packets, write --packet 1460B",
                    human::bytes_f(least),
                    human::bytes_f(largest)
                );
                why.push((Fate::Changed, text));
            }
            1.0
        }
    };
    PointMeaning { lines, unit, why }
}

/// A published distribution of which a file is so many bytes' part.
#[derive(Clone, Copy)]
struct PublishedMatch {
    name: &'static str,
    lines: bool,
    unit: f64,
}

/// The published distribution, if the points are its points in packets.
fn published(points: &Cdf) -> Option<PublishedMatch> {
    let of = |cdf: &Cdf| -> Vec<(f64, f64)> {
        cdf.points.iter().copied().filter(|(_, p)| *p > 0.0).collect()
    };
    let mine = of(points);
    cdf::names().find_map(|(name, step)| {
        let theirs = of(&cdf::by_name(name)?);
        let unit = theirs.last()?.0 / mine.last()?.0.max(1.0);
        let same = theirs.len() == mine.len()
            && (PACKETS[0]..=PACKETS[1]).contains(&unit)
            && theirs.iter().zip(&mine).all(|((a, p), (b, q))| {
                (a - b * unit).abs() <= 0.5 * unit.min(1.0) + 1e-6 * a && (p - q).abs() < 1e-6
            });
        same.then_some(PublishedMatch { name, lines: !step, unit })
    })
}

/// A star of 16 hosts, loaded by half.
pub(super) fn import(name: &str, source: Source<'_>, form: CdfForm) -> Result<Import, Error> {
    let read = Cdf::parse(name, source.text, true).map_err(|why| match line_of(&why) {
        Some((line, why)) => Error::one(format!("{}:{line}", source.name), why),
        None => Error::one(source.name, why),
    })?;
    let PointMeaning { lines, unit, why } = meant(&read, Cdf::header_number(source.text), form);
    let points = read.points.iter().map(|(size, p)| (size * unit, *p)).collect();
    let cdf = Cdf::new(name, points, lines).map_err(|why| Error::one(source.name, why))?;
    let mode = if lines { "lin" } else { "step" };
    let mut csv = String::from("bytes,probability\n");
    cdf.points.iter().for_each(|(bytes, p)| csv.push_str(&format!("{bytes},{p}\n")));
    let (hosts, rate, load) = STAR;
    let flows = |seconds: f64| hosts * rate * load * seconds / 8.0 / cdf.mean().max(1.0);
    let (time, _) = RUNS.into_iter().find(|(_, s)| flows(*s) <= MANY).unwrap_or(RUNS[4]);
    let scenario = format!(
        "# Flow sizes imported from {}. The fabric is only a place to begin.\nversion = 1\nname = {}\nseeds = 3\nstop = {{ time = \"{time}\" }}\n\n\
         [fabric]\nkind = \"star\"\nhosts = 16\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\n\
         [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\n\
         [[traffic]]\nkind = \"poisson\"\nsizes = {{ file = \"sizes.csv\", mode = \"{mode}\" }}\nload = 0.5\n",
        source.name.replace(['\n', '\r'], " "),
        serde_json::Value::from(name)
    );
    let files = vec![("scenario.toml".to_string(), scenario), ("sizes.csv".to_string(), csv)];
    draft::read_back(&files).map_err(|error| {
        let why: Vec<&str> = error.problems.iter().map(|one| one.text.as_str()).collect();
        let why = why.join("; ");
        Error::one(source.name, format!("these sizes do not make a scenario: {why}"))
    })?;
    let place = format!("{}:1", source.name);
    let carried = format!(
        "{} points, {}, mean {:.0} B, largest {}",
        cdf.points.len(),
        if lines { "straight lines between them" } else { "a step at each" },
        cdf.mean(),
        cdf.largest()
    );
    let mut notes = vec![Note { place: place.clone(), fate: Fate::Carried, text: carried }];
    for (fate, text) in why {
        notes.push(Note { place: place.clone(), fate, text });
    }
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
