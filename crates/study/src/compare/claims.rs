//! Sentences of a comparison: the strongest difference, what got worse, and how many seeds would be enough where these are too few.
//!
//! No sentence says that runs are alike unless every seed gave the same number.

use super::measures::Direction;
use super::numbers::{change, interval, value};
use super::{Comparison, MetricValues, PairedDifference, Word};
use crate::pairs::MOST_SEEDS;
use forebay_units::human;
use forebay_units::math::ln;

/// Differences of a kind that a sentence names at most.
const NAMED: usize = 3;

/// Longest name of a run in a sentence.
const LONGEST: usize = 36;

/// Metrics that matter to users. Other metrics explain them, and lead only where none of these differs.
const OUTCOMES: [&str; 8] = [
    "collective.completion_us.",
    "flows.slowdown.",
    "flows.not_finished_share",
    "incast.completion_us.",
    "rpc.latency_us.",
    "rpc.rpcs_per_s",
    "goodput_per_receiver_gbps",
    "memory.goodput_gbps",
];

/// A metric of one run that the seeds tell from that of the first run.
#[derive(Clone, Copy)]
pub(super) struct DistinctMetric<'a> {
    pub measured: &'a MetricValues,
    /// Which run.
    pub side: usize,
    pub against: &'a PairedDifference,
}

impl DistinctMetric<'_> {
    /// How far apart, as the logarithm of a ratio. Something against nothing is as much as a factor of a hundred, and no more is needed.
    pub fn strength(&self) -> f64 {
        let most = ln(100.0);
        let ratio = self.against.share.map_or(f64::INFINITY, |share| share + 1.0);
        if ratio > 0.0 && ratio.is_finite() { ln(ratio).abs().min(most) } else { most }
    }

    fn is_outcome(&self) -> bool {
        OUTCOMES.iter().any(|name| self.measured.name.starts_with(name))
    }
}

/// Whether a metric is large enough in some run for its changes to matter: one packet in a million is not.
fn matters(measured: &MetricValues) -> bool {
    let most = measured.cells.iter().filter_map(|cell| cell.estimate.mean).fold(0.0, f64::max);
    let share = (measured.write)(0.5).ends_with('%');
    most >= if share { 1e-3 } else { f64::MIN_POSITIVE }
}

/// All that seeds tell to be better or worse than the first run, the strongest first, outcomes before causes.
pub(super) fn told(of: &Comparison) -> Vec<DistinctMetric<'_>> {
    let mut all = Vec::new();
    for measured in of.measured.iter().filter(|one| matters(one)) {
        for (side, cell) in measured.cells.iter().enumerate() {
            let Some(against) = &cell.against else { continue };
            if matches!(against.word, Word::Better | Word::Worse) {
                all.push(DistinctMetric { measured, side, against });
            }
        }
    }
    all.sort_by(|a, b| {
        b.is_outcome().cmp(&a.is_outcome()).then(b.strength().total_cmp(&a.strength()))
    });
    all
}

/// A name that leaves room for the sentence.
pub(super) fn short(name: &str) -> String {
    human::clipped(name, LONGEST)
}

/// Names in a list: `a, b and c`.
pub(super) fn list(names: &[String]) -> String {
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

fn all_names(of: &Comparison) -> String {
    match of.sides.len() {
        0..=4 => list(&of.sides.iter().map(|side| short(&side.name)).collect::<Vec<_>>()),
        n => format!("{n} runs"),
    }
}

/// A title within a sentence: `p99 slowdown of 10-100 KB`.
fn titled(measured: &MetricValues) -> String {
    let title = measured.title.replace("<=", "≤");
    // Other titles have a unit or a place behind a comma.
    if measured.name.contains('[') { title.replacen(", ", " of ", 1) } else { title }
}

/// Metrics whose titles are plural.
fn verb(title: &str) -> &'static str {
    let first = title.split([' ', ',']).next().unwrap_or_default();
    if first.ends_with('s') && first != "fairness" { "are" } else { "is" }
}

/// `With reno, p99 slowdown is 158 % higher than with dctcp`.
pub(super) fn strongest(of: &Comparison, one: &DistinctMetric<'_>) -> String {
    let (first, other) = (short(&of.sides[0].name), short(&of.sides[one.side].name));
    let title = titled(one.measured);
    let is = verb(&title);
    let (base, now) = (&one.measured.cells[0], &one.measured.cells[one.side]);
    match one.against.share {
        Some(share) if share >= 9.995 => format!(
            "With {other}, {title} {is} {} times as high as with {first}",
            human::sig3(share + 1.0)
        ),
        Some(share) if share > -0.9995 => format!(
            "With {other}, {title} {is} {} {} than with {first}",
            change(share).trim_start_matches(['+', '-']),
            if share < 0.0 { "lower" } else { "higher" }
        ),
        _ => format!(
            "{}: {} with {first}, {} with {other}",
            human::capitalised(&title),
            value(one.measured, base),
            value(one.measured, now)
        ),
    }
}

/// `+30 % (-5.4 to +65 %)`.
fn with_interval(one: &MetricValues, against: &PairedDifference) -> String {
    let interval = interval(one, against).map_or(String::new(), |text| format!(" ({text})"));
    let change = against.share.map_or(String::new(), change);
    format!("{change}{interval}").trim_start().to_string()
}

/// Sentence about a difference that the seeds do not tell: `too few seeds to tell: +30 % (-5.4 to +65 %) over 5 seeds; about 14 would tell`.
pub(super) fn unknown(one: &MetricValues, against: &PairedDifference) -> Option<String> {
    let known = with_interval(one, against);
    Some(match against.word {
        Word::TooFew(needed) => {
            let enough = match needed {
                Some(n) => format!("about {n} would tell"),
                None => format!("over {} would be needed", human::count(MOST_SEEDS as u64)),
            };
            format!("too few seeds to tell: {known} over {} seeds; {enough}", against.pairs)
        }
        Word::NoInterval(0) => {
            format!("no seed in common, so nothing is paired: {known}")
        }
        Word::NoInterval(n) => {
            let seeds = human::counted(n, "seed");
            format!("too few seeds to tell: {known} over {seeds}; an interval takes three")
        }
        Word::Unfinished => format!("{known}, of flows that finished; too many did not"),
        _ => return None,
    })
}

/// Words of all differences from the first run.
fn words(of: &Comparison) -> Vec<Word> {
    let all = of.measured.iter().flat_map(|one| &one.cells).filter_map(|c| c.against.as_ref());
    all.map(|against| against.word).collect()
}

/// Whether every seed of every run gave the same numbers.
pub(super) fn is_same(of: &Comparison) -> bool {
    let words = words(of);
    !words.is_empty() && words.iter().all(|word| *word == Word::Same)
}

/// The answer in one line.
pub fn headline(of: &Comparison) -> String {
    let all = told(of);
    let main = of.headline();
    let best = main.map(|measured| of.best_of(measured)).unwrap_or_default();
    // Of several runs the best one answers, unless what the seeds tell is about something else.
    if let (Some(measured), [only], true) = (main, &best[..], of.sides.len() > 2) {
        let word = if measured.better == Direction::Lower { "lowest" } else { "highest" };
        return format!("{} has the {word} {}", short(only), measured.title);
    }
    if let Some(one) = all.first() {
        return strongest(of, one);
    }
    let names = all_names(of);
    let words = words(of);
    let by = main.map_or(String::new(), |measured| format!(" by {}", measured.title));
    if words.is_empty() {
        format!("{names} have no metric in common")
    } else if is_same(of) {
        format!("{names} gave the same numbers in every seed")
    } else if words.contains(&Word::NoInterval(0)) {
        format!("{names} have no seed in common")
    } else if words.contains(&Word::Unfinished) {
        format!("Too many flows are unfinished to tell {names} apart")
    } else {
        format!("Too few seeds to tell {names} apart{by}")
    }
}

/// Sentences after the headline: what got worse, what got better, the first metric in numbers, and what is not known.
pub fn verdict(of: &Comparison) -> String {
    let mut said: Vec<String> = Vec::new();
    let all = told(of);
    let several = of.sides.len() > 2;
    // Of several runs the order comes first.
    let main = of.headline().map(|measured| main_metric(of, measured));
    said.extend(main.clone().filter(|_| several));
    for (word, title) in [(Word::Worse, "Worse"), (Word::Better, "Better")] {
        let mut these: Vec<&DistinctMetric<'_>> =
            all.iter().filter(|one| one.against.word == word).collect();
        if these.is_empty() {
            continue;
        }
        // Of several runs the one that differs most stands for a metric.
        let mut named: Vec<&str> = Vec::new();
        let count = these.len();
        these.retain(|one| {
            let new = !named.contains(&one.measured.name.as_str());
            named.push(&one.measured.name);
            new
        });
        let same = count - these.len();
        let named = if several { NAMED - 1 } else { NAMED };
        let more = these.len().saturating_sub(named) + same;
        these.truncate(named);
        let one = |one: &&DistinctMetric<'_>| {
            let side = short(&of.sides[one.side].name);
            let side = if several { format!("{side}: ") } else { String::new() };
            let title = titled(one.measured);
            let change = match one.against.share {
                Some(share) => change(share),
                None => format!("0 to {}", value(one.measured, &one.measured.cells[one.side])),
            };
            format!("{side}{title} {change}")
        };
        let texts: Vec<String> = these.iter().map(one).collect();
        let more = if more > 0 { format!("; {more} more in the table") } else { String::new() };
        said.push(format!("{title}: {}{more}.", texts.join("; ")));
    }
    said.extend(main.filter(|_| !several));
    if said.is_empty() {
        said.push("No metric has a value in all runs.".into());
    }
    said.join(" ")
}

/// The first metric in all runs, best first, and what is not known of it.
fn main_metric(of: &Comparison, measured: &MetricValues) -> String {
    let ranked = measured.ranked();
    let shown = ranked
        .iter()
        .take(4)
        .map(|i| format!("{} {}", short(&of.sides[*i].name), value(measured, &measured.cells[*i])));
    let more = match ranked.len().saturating_sub(4) {
        0 => String::new(),
        n => format!(", {n} more"),
    };
    let mut text = format!(
        "{}{}: {}{more}.",
        human::capitalised(&measured.title),
        if of.sides.len() > 2 { ", best first" } else { "" },
        shown.collect::<Vec<_>>().join("; ")
    );
    let open = ranked.iter().filter_map(|i| {
        let cell = &measured.cells[*i];
        Some((*i, unknown(measured, cell.against.as_ref()?)?))
    });
    if let Some((side, what)) = open.into_iter().next() {
        let (first, other) = (short(&of.sides[0].name), short(&of.sides[side].name));
        let what = match of.sides.len() {
            2 => human::capitalised(&what),
            _ => format!("{other} against {first}: {what}"),
        };
        text.push_str(&format!(" {what}."));
    }
    text
}
