//! Flow-size distributions: published ones, and files in the common two-column forms.
//!
//! A `lin` distribution runs in straight lines between its points (inverse-transform sampling, as the public
//! ExpressPass scripts and the HPCC traffic generator do); a `step` one takes only the sizes of its points.
//! Sources: `workloads/README.md`.

mod sizes;

pub(crate) use sizes::Sizes;

use forebay_units::Bytes;
use serde::{Deserialize, Serialize};

/// A checked cumulative distribution of flow sizes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(from = "Sizes", into = "Sizes")]
pub struct Cdf {
    /// What stands in the file, until it has been checked.
    pub(crate) written: Option<Box<Sizes>>,
    /// Name for people, `websearch`.
    pub name: String,
    /// `(bytes, cumulative probability)`, both non-decreasing, the last probability 1.
    pub points: Vec<(f64, f64)>,
    /// Straight lines between points (`lin`), or a step function (`step`).
    pub interpolate: bool,
}

/// A mean in the first line of a file is met if it is off by less than this.
pub(crate) const CLOSE: f64 = 0.01;
/// Larger flows than this (1 PB) are taken for a mistake in the unit.
const LARGEST: f64 = 1e15;

impl Cdf {
    /// A distribution through these points. The error is the end of a sentence.
    pub fn new(name: &str, points: Vec<(f64, f64)>, interpolate: bool) -> Result<Self, String> {
        let Some(&(_, last)) = points.last() else {
            return Err("has no points; write pairs of bytes and cumulative probability".into());
        };
        for (i, &(bytes, p)) in points.iter().enumerate() {
            if !(0.0..=LARGEST).contains(&bytes) {
                return Err(format!("point {}: {bytes} is not a size from 0 to 1e15 bytes", i + 1));
            }
            if !(0.0..=1.0).contains(&p) {
                return Err(format!("point {}: {p} is not a probability from 0 to 1", i + 1));
            }
        }
        for (i, pair) in points.windows(2).enumerate() {
            let ((a, p), (b, q)) = (pair[0], pair[1]);
            if b < a || q < p {
                let what = if b < a { "size" } else { "probability" };
                let (from, to) = if b < a { (a, b) } else { (p, q) };
                return Err(format!(
                    "is not monotone: at point {} the {what} falls from {from} to {to}; sort the points",
                    i + 2
                ));
            }
        }
        if last != 1.0 {
            return Err(format!(
                "ends at probability {last}; the last point must have 1 (or 100 per cent)"
            ));
        }
        Ok(Self { written: None, name: name.into(), points, interpolate })
    }

    /// One size for all flows.
    pub fn fixed(size: Bytes) -> Self {
        let points = vec![(size.get() as f64, 1.0)];
        Self { written: None, name: size.to_string(), points, interpolate: false }
    }

    /// Every whole size from `low`, at least 1, to `high` as likely as the next. The error is the end of a sentence.
    pub fn uniform(low: Bytes, high: Bytes) -> Result<Self, String> {
        // A sample is rounded up, so the line begins one byte below the least size.
        let points = vec![(low.get() as f64 - 1.0, 0.0), (high.get() as f64, 1.0)];
        Self::new(&format!("{low}..{high}"), points, true)
    }

    /// The size of a flow from a uniform `u` in (0, 1]: never below 1 byte, never a fraction of one.
    pub fn sample(&self, u: f64) -> Bytes {
        let i = self.points.partition_point(|(_, p)| *p < u).min(self.points.len() - 1);
        let (b, q) = self.points[i];
        let bytes = if self.interpolate && i > 0 {
            let (a, p) = self.points[i - 1];
            a + (b - a) * ((u - p) / (q - p))
        } else {
            b
        };
        Bytes::new((bytes.min(b).ceil() as u64).max(1))
    }

    /// Mean of [`Cdf::sample`] in bytes, its rounding up included.
    pub fn mean(&self) -> f64 {
        let mut mean = 0.0;
        let (mut a, mut p) = (self.points[0].0, 0.0);
        for (i, &(b, q)) in self.points.iter().enumerate() {
            let straight = self.interpolate && i > 0;
            mean += (q - p) * if straight { mean_of_ceil(a, b) } else { b.ceil().max(1.0) };
            (a, p) = (b, q);
        }
        mean
    }

    /// Largest size that can occur.
    pub fn largest(&self) -> Bytes {
        self.sample(1.0)
    }

    /// The mean in the first line of a file, if it is that of steps between these points and not of straight lines; with both of
    /// these. A mean is met if it is off by less than [`CLOSE`].
    pub(crate) fn steps_by_mean(&self, header: f64) -> Option<[f64; 2]> {
        let means = [false, true].map(|interpolate| Self { interpolate, ..self.clone() }.mean());
        let [steps, lines] = means.map(|mean| (mean - header).abs() / header);
        (header > 0.0 && steps < CLOSE && steps < lines).then_some(means)
    }

    /// The single number that some files have in their first line, often the mean.
    pub fn header_number(text: &str) -> Option<f64> {
        let mut lines = text.lines().map(|line| line.trim().trim_start_matches('\u{feff}'));
        let first = lines.find(|line| !is_skipped(line))?;
        first.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Reads two columns, bytes and cumulative probability, separated by commas, semicolons or white space, in either order:
    /// the probability is the column that ends at 1 or 100, the second if both do. Per cent are taken where it ends at 100.
    /// Skipped: empty lines, lines that start with `#`, `%` or `//`, and one header line of words or of a single number. Of
    /// three columns the middle one is skipped, as in the tables of the ExpressPass scripts.
    ///
    /// # Errors
    /// The end of a sentence; `line N:` first where one line is to blame.
    pub fn parse(name: &str, text: &str, interpolate: bool) -> Result<Self, String> {
        let mut points = Vec::new();
        let mut header = true;
        for (i, line) in text.lines().enumerate() {
            let line = line.trim().trim_start_matches('\u{feff}');
            if is_skipped(line) {
                continue;
            }
            let columns: Vec<&str> = line
                .split(|c: char| c == ',' || c == ';' || c.is_whitespace())
                .filter(|c| !c.is_empty())
                .collect();
            let numbers: Option<Vec<f64>> = columns.iter().map(|c| c.parse().ok()).collect();
            match numbers.as_deref() {
                Some([bytes, p] | [bytes, _, p]) => points.push((*bytes, *p)),
                None | Some([_]) if header && points.is_empty() => {}
                _ => {
                    let line = crate::tree::shorten(line);
                    return Err(format!(
                        "line {}: {line:?} is not two numbers, bytes and cumulative probability",
                        i + 1
                    ));
                }
            }
            header = false;
        }
        let ends = |last: f64| last == 1.0 || last == 100.0;
        if points.last().is_some_and(|(first, second)| ends(*first) && !ends(*second)) {
            points.iter_mut().for_each(|(a, b)| std::mem::swap(a, b));
        }
        if points.last().is_some_and(|(_, p)| *p == 100.0) {
            for point in &mut points {
                point.1 /= 100.0;
            }
        }
        Self::new(name, points, interpolate)
    }
}

/// Whether a line is empty or a comment.
fn is_skipped(line: &str) -> bool {
    line.is_empty() || ["#", "%", "//"].iter().any(|mark| line.starts_with(mark))
}

/// Mean of `max(1, ceil(x))` for x uniform between `a` and `b`.
fn mean_of_ceil(a: f64, b: f64) -> f64 {
    if b - a < 1e-9 {
        return b.ceil().max(1.0);
    }
    // From 0 to t: whole steps 1 + 2 + ... + n, and a part of the next. Exact enough: sizes stay below 1e15,
    // but squares lose whole bytes above 1e8, where half a byte is nothing.
    if b > 1e8 {
        return (a + b) / 2.0 + 0.5;
    }
    let up_to = |t: f64| {
        let n = t.floor();
        n * (n + 1.0) / 2.0 + (t - n) * (n + 1.0)
    };
    (up_to(b) - up_to(a)) / (b - a)
}

struct PublishedCdf {
    name: &'static str,
    step: bool,
    text: &'static str,
}

/// The published distribution of this name.
pub fn by_name(name: &str) -> Option<Cdf> {
    let published = PUBLISHED.iter().find(|p| p.name == name)?;
    let cdf = Cdf::parse(name, published.text, !published.step);
    Some(cdf.expect("a test reads every packaged distribution"))
}

/// Names of the published distributions, each with whether it is a step function.
pub fn names() -> impl Iterator<Item = (&'static str, bool)> {
    PUBLISHED.iter().map(|p| (p.name, p.step))
}

#[rustfmt::skip]
const PUBLISHED: &[PublishedCdf] = &[
    PublishedCdf { name: "alistorage2019", step: false, text: include_str!("../workloads/alistorage2019.csv") },
    PublishedCdf { name: "cachefollower", step: false, text: include_str!("../workloads/cachefollower.csv") },
    PublishedCdf { name: "datamining", step: false, text: include_str!("../workloads/datamining.csv") },
    PublishedCdf { name: "datamining_abm", step: false, text: include_str!("../workloads/datamining_abm.csv") },
    PublishedCdf { name: "datamining_pfabric_packets", step: false, text: include_str!("../workloads/datamining_pfabric_packets.csv") },
    PublishedCdf { name: "datamining_vl2_trafficgen", step: false, text: include_str!("../workloads/datamining_vl2_trafficgen.csv") },
    PublishedCdf { name: "fb_cachefollower_intracluster", step: true, text: include_str!("../workloads/fb_cachefollower_intracluster.csv") },
    PublishedCdf { name: "fb_trafficgen", step: false, text: include_str!("../workloads/fb_trafficgen.csv") },
    PublishedCdf { name: "fb_webserver_intracluster", step: true, text: include_str!("../workloads/fb_webserver_intracluster.csv") },
    PublishedCdf { name: "fbhadoop2015_conweave", step: true, text: include_str!("../workloads/fbhadoop2015_conweave.csv") },
    PublishedCdf { name: "fbhadoop_hpcc", step: false, text: include_str!("../workloads/fbhadoop_hpcc.csv") },
    PublishedCdf { name: "googlerpc2008_hpcc", step: true, text: include_str!("../workloads/googlerpc2008_hpcc.csv") },
    PublishedCdf { name: "hadoop_abm", step: false, text: include_str!("../workloads/hadoop_abm.csv") },
    PublishedCdf { name: "homa_w1_fb_keyvalue", step: true, text: include_str!("../workloads/homa_w1_fb_keyvalue.csv") },
    PublishedCdf { name: "homa_w2_google_search", step: true, text: include_str!("../workloads/homa_w2_google_search.csv") },
    PublishedCdf { name: "homa_w3_google_all", step: true, text: include_str!("../workloads/homa_w3_google_all.csv") },
    PublishedCdf { name: "homa_w4_fb_hadoop", step: true, text: include_str!("../workloads/homa_w4_fb_hadoop.csv") },
    PublishedCdf { name: "homa_w5_websearch_dctcp", step: true, text: include_str!("../workloads/homa_w5_websearch_dctcp.csv") },
    PublishedCdf { name: "imc10_packets", step: false, text: include_str!("../workloads/imc10_packets.csv") },
    PublishedCdf { name: "solar2022", step: false, text: include_str!("../workloads/solar2022.csv") },
    PublishedCdf { name: "websearch", step: false, text: include_str!("../workloads/websearch.csv") },
    PublishedCdf { name: "websearch_abm", step: false, text: include_str!("../workloads/websearch_abm.csv") },
    PublishedCdf { name: "websearch_dctcp_packets", step: false, text: include_str!("../workloads/websearch_dctcp_packets.csv") },
    PublishedCdf { name: "websearch_hpcc", step: false, text: include_str!("../workloads/websearch_hpcc.csv") },
    PublishedCdf { name: "websearch_trafficgen", step: false, text: include_str!("../workloads/websearch_trafficgen.csv") },
    PublishedCdf { name: "webserver", step: false, text: include_str!("../workloads/webserver.csv") },
];
