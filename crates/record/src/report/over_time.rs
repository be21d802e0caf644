//! Figures over time: one for each unit, the busiest series by name, the others as one envelope; of one seed at a time, which the
//! reader picks without any script.

use super::{Figure, WIDE, micro, pretty};
use crate::about::RunStart;
use crate::human::{bytes_f, gbps, percent, sig3, trim};
use crate::rows::{Quantity, RunRecord, Series};
use crate::svg::{Axis, Chart, Margins, Plot, esc, plain, round_up, text_width, time_unit};
use forebay_units::Time;

/// Series drawn by name in one figure.
const NAMED: usize = 4;

/// A series whose peak is this small a part of the highest one is among the others.
const SMALL: f64 = 100.0;

/// Ports whose queues by class have a figure each, of all classes: the busiest, which come first in the record.
const BY_CLASS: usize = 2;

/// Seeds to pick from; `report.css` has a rule for each.
const PICKED: usize = 6;

/// Pixels of one column; a column shows the least, mean and largest sample in it.
const COLUMN: f64 = 2.0;

/// What to set for figures of queues.
pub(super) const SAMPLE_QUEUES: &str = "Set output.queues = { every = \"10us\" }.";

/// Whether a run has samples of one of these quantities.
pub(super) fn is_sampled(run: &RunRecord, of: &[Quantity]) -> bool {
    run.series.iter().any(|series| of.contains(&series.quantity) && !series.values.is_empty())
}

/// Sentences about figures over time that have no samples: what to set for each.
pub(super) fn absent(runs: &[RunRecord]) -> Vec<String> {
    let mut all = Vec::new();
    if !runs.iter().any(|run| is_sampled(run, &[Quantity::Queue])) {
        all.push(format!("Queues over time: not sampled. {SAMPLE_QUEUES}"));
    }
    // Who samples something knows that flows can be sampled too.
    if !runs.iter().any(|run| is_sampled(run, &Quantity::ALL)) {
        let set = "Set output.flows = { every = \"10us\" }.";
        all.push(format!("Windows and rates of flows over time: not sampled. {set}"));
    }
    all
}

/// What a column of a series came to.
#[derive(Clone, Copy)]
struct Column {
    at_us: f64,
    low: f64,
    mean: f64,
    high: f64,
}

/// What all seeds have in common, so that their figures can be compared.
struct Frame<'a> {
    quantity: Quantity,
    /// The port, of queues by class.
    port: Option<&'a str>,
    unit: &'static str,
    /// The longest run, us.
    end_us: f64,
    low: f64,
    least: f64,
    top: f64,
    /// Seeds with series.
    seeds: usize,
}

/// Sections with one figure for each quantity and unit, in order of first appearance, for each of the first seeds that have series, and what
/// picks one of them; `None` if no seed has any.
pub(super) fn sections(about: &RunStart, runs: &[RunRecord]) -> Option<String> {
    let sampled: Vec<&RunRecord> =
        runs.iter().filter(|run| run.series.iter().any(|s| !s.values.is_empty())).collect();
    let (frames, flat): (Vec<Frame>, Vec<Frame>) =
        frames(&sampled).into_iter().partition(|frame| !frame.is_flat());
    let mut nth = 0;
    let mut of_seed = |run: &RunRecord| {
        let (mut html, mut first) = (String::new(), true);
        for frame in &frames {
            let id = if nth == 0 { "over-time".into() } else { format!("over-time-{nth}") };
            let drawn = match frame.is_strip(run) {
                true => strips(about, run, frame, (id, first)),
                false => figure(about, run, frame, (id, first)),
            };
            if let Some(figure) = drawn {
                html += &figure.html();
                nth += 1;
                first = false;
            }
        }
        html + &flat_ones(&flat)
    };
    let picked = &sampled[..sampled.len().min(PICKED)];
    if let [only] = picked {
        return Some(of_seed(only));
    }
    let (mut inputs, mut labels, mut parts) = (String::new(), String::new(), String::new());
    for (i, run) in picked.iter().enumerate() {
        let checked = if i == 0 { " checked" } else { "" };
        inputs += &format!(
            "<input type=\"radio\" class=\"pick p{i}\" name=\"seed\" id=\"seed-{i}\" aria-label=\"seed {}\"{checked}>",
            run.seed
        );
        labels += &format!("<label class=\"l{i}\" for=\"seed-{i}\">{}</label>", run.seed);
        parts += &format!("<div class=\"picked v{i}\">{}</div>", of_seed(run));
    }
    let seeds = format!("<p class=\"picks\">Over time, of seed {labels}</p>");
    (!picked.is_empty()).then(|| format!("<div class=\"by-seed\">{inputs}{seeds}{parts}</div>"))
}

/// A sentence about quantities that have one value at all times, in all series and seeds: no picture tells more.
fn flat_ones(flat: &[Frame<'_>]) -> String {
    let one = |frame: &Frame<'_>| {
        let (title, _) = titles(frame.quantity, frame.unit);
        format!("{title}: {} at all times", value_label(frame.top, frame.unit))
    };
    let all: Vec<String> = flat.iter().map(one).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("<p class=\"caption steady\">Not drawn: {}.</p>", esc(&all.join("; "))),
    }
}

impl Frame<'_> {
    /// Whether all values are one, of a rate that laws set: a law that never acted.
    fn is_flat(&self) -> bool {
        self.quantity == Quantity::LawRate && self.least == self.top
    }

    /// Whether lines would hide one another: shares and rates that go up and down all the time.
    fn is_strip(&self, run: &RunRecord) -> bool {
        let of = |s: &&Series| s.quantity == self.quantity && s.unit == self.unit;
        let several = run.series.iter().filter(of).nth(1).is_some();
        let paused = run.series.iter().any(|s| s.quantity == Quantity::Paused);
        match self.quantity {
            Quantity::Paused => several,
            Quantity::FlowRate => several && paused,
            _ => false,
        }
    }
}

fn frames<'a>(runs: &[&'a RunRecord]) -> Vec<Frame<'a>> {
    let mut frames: Vec<Frame> = Vec::new();
    let end_us = runs.iter().map(|run| us(run.end)).fold(1e-6, f64::max);
    for series in runs.iter().flat_map(|run| drawn(run)) {
        let (quantity, unit, port) = (series.quantity, series.unit, port_of(series));
        let finite = series.values.iter().copied().filter(|v| v.is_finite());
        let [least, top] =
            [finite.clone().fold(f64::MAX, f64::min), finite.fold(f64::MIN, f64::max)];
        let low = least.min(0.0);
        let same = |f: &&mut Frame| (f.quantity, f.unit, f.port) == (quantity, unit, port);
        match frames.iter_mut().find(same) {
            Some(frame) => {
                frame.low = frame.low.min(low);
                frame.top = frame.top.max(top);
                frame.least = frame.least.min(least);
            }
            None => {
                let seeds = runs.len();
                frames.push(Frame { quantity, port, unit, end_us, low, least, top, seeds });
            }
        }
    }
    // All figures of a quantity together, where the first of them is.
    let order: Vec<Quantity> = frames.iter().map(|frame| frame.quantity).collect();
    frames.sort_by_key(|frame| order.iter().position(|other| *other == frame.quantity)); // stable
    // Seeds may have other busiest ports: the first ones stand for all.
    let mut ports = 0;
    frames.retain(|frame| {
        ports += usize::from(frame.port.is_some());
        frame.port.is_none() || ports <= BY_CLASS
    });
    frames
}

/// Series of a run that have samples, of queues by class only those of its first ports.
fn drawn(run: &RunRecord) -> impl Iterator<Item = &Series> {
    let mut ports: Vec<&str> = run.series.iter().filter_map(port_of).collect();
    ports.dedup();
    ports.truncate(BY_CLASS);
    let shown = move |series: &&Series| port_of(series).is_none_or(|port| ports.contains(&port));
    run.series.iter().filter(|series| !series.values.is_empty()).filter(shown)
}

/// Of queues by class: the port, `leaf[0]->leaf[0].host[1]`.
fn port_of(series: &Series) -> Option<&str> {
    let by_class = series.quantity == Quantity::ClassQueue;
    by_class.then(|| series.name.split(" class ").next().unwrap_or_default())
}

/// Of a line in its figure: the name of its series, or the class at the port that the figure is of.
fn label(series: &Series) -> &str {
    let class = port_of(series).and_then(|port| series.name.get(port.len() + 1..));
    class.map_or(&series.name, |class| class.trim_end_matches(" queue"))
}

/// Of a line: a class has the same colour at all ports, another series that of its `place`.
fn colour(series: &Series, place: usize) -> usize {
    let class = port_of(series).and_then(|_| label(series).strip_prefix("class ")?.parse().ok());
    class.unwrap_or(place)
}

fn figure(
    about: &RunStart,
    run: &RunRecord,
    frame: &Frame,
    (id, first): (String, bool),
) -> Option<Figure> {
    let Frame { quantity, port, unit, end_us, low, top, seeds, .. } = *frame;
    let mut all: Vec<(&Series, f64)> = run
        .series
        .iter()
        .filter(|one| (one.quantity, one.unit, port_of(one)) == (quantity, unit, port))
        .filter_map(|series| Some((series, peak(series)?)))
        .collect();
    // The highest peaks; stable, so equal ones stay in the order of the record. One port that lost packets to a fault is among them.
    let lost = ports_with_losses(run);
    let failed = |series: &Series| lost.iter().any(|port| series.name.starts_with(port));
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.first()?;
    let first_failed = all.iter().position(|(series, _)| failed(series));
    if let Some(at) = first_failed.filter(|at| *at >= NAMED) {
        let one = all.remove(at);
        all.insert(NAMED - 1, one);
    }
    // Those with names in the order of the record, so that a flow has one colour in all its figures.
    let place = |series: &Series| run.series.iter().position(|s| s.name == series.name);
    let most = if port.is_some() { usize::MAX } else { NAMED };
    // What is next to nothing beside the highest peak needs no name.
    let highest = all.iter().map(|(_, peak)| *peak).fold(0.0, f64::max);
    let shows = |one: &&(&Series, f64)| port.is_some() || failed(one.0) || one.1 * SMALL >= highest;
    let named = all.iter().take(most).take_while(shows).count();
    all[..named].sort_by_key(|(series, _)| place(series));
    let tall = if top > 0.0 { round_up_scaled(top, unit) } else { 1.0 };
    let (x, y) = (Axis::linear(0.0, end_us), Axis::linear(low, tall));
    let mut chart = Chart::new((WIDE, 260.0), Margins(66.0, 14.0, 30.0, 46.0), x, y);
    let axis = |v: f64| axis_label(v, unit);
    let time_unit = time_unit(end_us);
    let x_ticks = x.ticks(8, |v| plain(v / time_unit.0));
    // There are no parts of flows.
    let wanted = if unit == "flows" { (tall as usize).min(5) } else { 5 };
    let y_ticks = y.ticks(wanted, axis);
    let (title, y_title) = titles(quantity, unit);
    chart.plot.axes(&x_ticks, &y_ticks, &format!("Virtual time ({})", time_unit.1), &y_title);

    let columns = (chart.plot.frame.width() / COLUMN) as usize;
    let (named, others) = all.split_at(named);
    let drawn: Vec<Vec<Option<Column>>> =
        named.iter().map(|(series, _)| downsample(series, end_us, columns)).collect();
    let rest = envelope(others, end_us, columns);
    chart.over_time(end_us, |plot| {
        shade_faults(plot, about, end_us);
        if !others.is_empty() {
            let area: Vec<(f64, f64, f64)> =
                rest.iter().flatten().map(|c| (c.at_us, low, c.high)).collect();
            plot.band(&area, "band rest");
        }
        for (i, columns) in drawn.iter().enumerate().rev() {
            let class = format!("s{}", colour(named[i].0, i));
            let present: Vec<Column> = columns.iter().flatten().copied().collect();
            if present.iter().any(|c| c.high > c.low) {
                let band: Vec<_> = present.iter().map(|c| (c.at_us, c.low, c.high)).collect();
                plot.band(&band, &format!("band {class}"));
            }
            // A gap between samples is not a gap in the quantity: the line goes straight across.
            let line: Vec<_> = present.iter().map(|c| Some((c.at_us, c.mean))).collect();
            plot.line(&line, &format!("line thin {class}"));
        }
    });
    hover(&mut chart, named, &drawn, (!others.is_empty()).then_some(&rest), unit);

    let mut plot = String::from("<div class=\"legend\">");
    for (i, (series, peak)) in named.iter().enumerate() {
        plot.push_str(&format!(
            "<span><i class=\"key s{}\"></i>{} <small>peak {}</small></span>",
            colour(series, i),
            esc(&pretty(label(series))),
            esc(&value_label(*peak, unit))
        ));
    }
    if !others.is_empty() {
        plot.push_str(&format!(
            "<span><i class=\"key rest\"></i>largest of {} others</span>",
            others.len()
        ));
    }
    for class in ["fault", "fault part"] {
        if let Some(faults) = named_faults(about, class) {
            plot.push_str(&format!("<span><i class=\"key {class}\"></i>{}</span>", esc(&faults)));
        }
    }
    plot.push_str("</div>");
    plot.push_str(&chart.finish(&format!("{title} over time")));
    let (seed, of) = match seeds {
        1 => (String::new(), String::new()),
        _ => (
            format!(" Seed {}; all seeds have equal axes.", run.seed),
            format!(", seed {}", run.seed),
        ),
    };
    let at = port.map_or(String::new(), |port| format!(", {}", pretty(port)));
    Some(Figure {
        id,
        title: format!("{title} over time{at}{of}"),
        plot,
        caption: format!(
            "{}.{seed}{}{}{}",
            match others.len() {
                0 => format!("{} series", all.len()),
                _ if first_failed.is_some_and(|at| at >= NAMED) => format!(
                    "{} of {} series, those with the highest peaks and one of a port that lost packets to a fault",
                    named.len(),
                    all.len()
                ),
                _ => format!("{} of {} series, with the highest peaks", named.len(), all.len()),
            },
            meaning(quantity),
            elsewhere(run, frame),
            if first { HOW } else { "" }
        ),
    })
}

/// How to read figures over time, once for all of them.
const HOW: &str = " Each 2-pixel column shows the mean (line) and the range (shaded) of its samples. Peaks between two samples are not seen. \
                   series.csv has all samples. Drag or use two fingers to zoom, double-click for the whole run. Keys: + and -, Shift and \
                   arrows, 0.";

/// Where the largest queue was, if that port was not sampled.
fn elsewhere(run: &RunRecord, frame: &Frame<'_>) -> String {
    if frame.quantity != Quantity::Queue {
        return String::new();
    }
    let of_switch = run.ports.iter().filter(|port| !run.hosts.contains(&port.node));
    let Some(port) = of_switch.max_by_key(|port| port.max_queue) else { return String::new() };
    let name = format!("{}->{}", port.node, port.peer);
    let sampled = run
        .series
        .iter()
        .any(|s| s.quantity == Quantity::Queue && s.name.split(' ').next() == Some(name.as_str()));
    match sampled {
        true => String::new(),
        false => format!(
            " The largest queue of this seed, {}, was at {}, which was not sampled.",
            bytes_f(port.max_queue.get() as f64),
            pretty(&name)
        ),
    }
}

/// Rows of a figure of strips at most.
const STRIPS: usize = 16;

/// Pixels of a column, and of a row, of strips.
const CELL: (f64, f64) = (4.0, 18.0);

/// A strip for each series, its colour the share of the largest value: what would be saw-teeth over one another as lines.
fn strips(
    about: &RunStart,
    run: &RunRecord,
    frame: &Frame,
    (id, first): (String, bool),
) -> Option<Figure> {
    let Frame { quantity, unit, end_us, top, seeds, .. } = *frame;
    let mut all: Vec<(&Series, f64)> = run
        .series
        .iter()
        .filter(|one| (one.quantity, one.unit) == (quantity, unit) && !one.values.is_empty())
        .map(|series| (series, series.values.iter().sum::<f64>() / series.values.len() as f64))
        .collect();
    let count = all.len();
    all.sort_by(|a, b| b.1.total_cmp(&a.1)); // stable
    all.truncate(STRIPS);
    all.first()?;
    let full = if unit == "fraction" { 1.0 } else { top.max(f64::MIN_POSITIVE) };
    let name = |series: &Series| {
        let bare = series.name.trim_end_matches(" paused").trim_end_matches(" rate");
        super::links::shorten(&pretty(bare), 42)
    };
    let left = all.iter().map(|(s, _)| text_width(&name(s))).fold(60.0, f64::max) + 14.0;
    let tall = CELL.1 * all.len() as f64;
    let (x, y) = (Axis::linear(0.0, end_us), Axis::linear(0.0, all.len() as f64));
    let mut chart = Chart::new((WIDE, tall + 66.0), Margins(left, 14.0, 20.0, 46.0), x, y);
    let time_unit = time_unit(end_us);
    let x_ticks = x.ticks(8, |v| plain(v / time_unit.0));
    chart.plot.axes(&x_ticks, &[], &format!("Virtual time ({})", time_unit.1), "");
    let frame_of = chart.plot.frame;
    let columns = (frame_of.width() / CELL.0) as usize;
    let drawn: Vec<Vec<Option<Column>>> =
        all.iter().map(|(series, _)| downsample(series, end_us, columns)).collect();
    for (row, (series, _)) in all.iter().enumerate() {
        let at = frame_of.top + CELL.1 * (row as f64 + 0.5) + 4.0;
        chart.plot.canvas.text((frame_of.left - 8.0, at), "tick end", &name(series));
    }
    chart.over_time(end_us, |plot| {
        for (row, columns) in drawn.iter().enumerate() {
            let y = frame_of.top + CELL.1 * row as f64;
            let mut begun: Option<(usize, &str)> = None;
            let mut draw = |from: usize, to: usize, shade: &str| {
                let at = frame_of.left + from as f64 * CELL.0;
                let wide = (to - from) as f64 * CELL.0;
                plot.canvas.rect((at, y + 1.0), (wide, CELL.1 - 2.0), shade, "");
            };
            // A column without a sample has what the one before it had.
            for (i, column) in columns.iter().enumerate() {
                let Some(column) = column else { continue };
                let shade = super::links::shade(column.mean / full);
                match begun {
                    Some((_, before)) if before == shade => {}
                    Some((from, before)) => {
                        draw(from, i, before);
                        begun = Some((i, shade));
                    }
                    None => begun = Some((i, shade)),
                }
            }
            if let Some((from, shade)) = begun {
                draw(from, columns.len(), shade);
            }
        }
        shade_faults(plot, about, end_us);
    });
    let some = drawn.iter().max_by_key(|of| of.iter().flatten().count())?;
    let kept: Vec<usize> = (0..some.len()).filter(|i| some[*i].is_some()).collect();
    chart.hover_over_time(kept.iter().filter_map(|i| some[*i]).map(|column| column.at_us));
    for (row, ((series, _), columns)) in all.iter().zip(&drawn).enumerate() {
        let at = frame_of.top + CELL.1 * (row as f64 + 0.5);
        let read = |i: &usize| columns[*i].map(|c| (at, value_label(c.mean, unit)));
        let values: Vec<_> = kept.iter().map(read).collect();
        chart.hover_row(&name(series), "rest", values);
    }
    let (title, _) = titles(quantity, unit);
    let plot = format!(
        "{}{}",
        super::links::ramp(&value_label(full, unit)),
        chart.finish(&format!("{title} over time, a strip for each"))
    );
    let (seed, of) = match seeds {
        1 => (String::new(), String::new()),
        _ => (format!(" Seed {}.", run.seed), format!(", seed {}", run.seed)),
    };
    let which = match count > all.len() {
        true => format!("The {STRIPS} of {count} series with the largest mean"),
        false => format!("{count} series, the largest mean first"),
    };
    let how = if first {
        " series.csv has all samples. Drag or use two fingers to zoom, double-click for the whole run."
    } else {
        ""
    };
    Some(Figure {
        id,
        title: format!("{title} over time{of}"),
        plot,
        caption: format!("{which}; the darker, the larger.{seed}{}{how}", meaning(quantity)),
    })
}

/// Shades the time of each fault.
fn shade_faults(plot: &mut Plot, about: &RunStart, end_us: f64) {
    let (top, bottom) = (plot.frame.top, plot.frame.bottom);
    for fault in about.faults.iter().filter(|fault| us(fault.from) < end_us) {
        let from = plot.x.px(us(fault.from));
        let width = plot.x.px(fault.to.map_or(end_us, us)) - from;
        plot.canvas.rect(
            (from, top),
            (width.max(1.0), bottom - top),
            fault_class(&fault.what),
            &fault.what,
        );
    }
}

/// A cable that is down has another colour than one that is slow or loses packets.
fn fault_class(what: &str) -> &'static str {
    if what.ends_with(" down") { "fault" } else { "fault part" }
}

/// The first faults of a colour by name, for the legend.
fn named_faults(about: &RunStart, class: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for fault in about.faults.iter().filter(|fault| fault_class(&fault.what) == class) {
        if !names.contains(&fault.what.as_str()) {
            names.push(&fault.what);
        }
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("fault: {}{more}", names.join(", ")))
}

/// Names of the ports that lost packets to a fault, as series begin with them.
fn ports_with_losses(run: &RunRecord) -> Vec<String> {
    let lost = run.ports.iter().filter(|port| port.lost_packets > 0);
    lost.map(|port| format!("{}->{} ", port.node, port.peer)).collect()
}

fn us(time: Time) -> f64 {
    time.as_ps() as f64 / 1e6
}

fn peak(series: &Series) -> Option<f64> {
    series.values.iter().copied().filter(|v| v.is_finite()).reduce(f64::max)
}

fn column_of(at_us: f64, end_us: f64, columns: usize) -> usize {
    ((at_us / end_us * columns as f64) as usize).min(columns - 1)
}

fn downsample(series: &Series, end_us: f64, columns: usize) -> Vec<Option<Column>> {
    let mut found: Vec<Option<(Column, f64)>> = vec![None; columns];
    for (at, value) in series.at.iter().zip(&series.values).filter(|(_, v)| v.is_finite()) {
        let slot = &mut found[column_of(us(*at), end_us, columns)];
        let (column, n) = slot
            .get_or_insert((Column { at_us: us(*at), low: *value, mean: 0.0, high: *value }, 0.0));
        column.low = column.low.min(*value);
        column.high = column.high.max(*value);
        column.mean += *value;
        *n += 1.0;
    }
    let settle = |(column, n): (Column, f64)| Column { mean: column.mean / n, ..column };
    found.into_iter().map(|slot| slot.map(settle)).collect()
}

/// The largest value of any of them in each column.
fn envelope(others: &[(&Series, f64)], end_us: f64, columns: usize) -> Vec<Option<Column>> {
    let mut all: Vec<Option<Column>> = vec![None; columns];
    for (series, _) in others {
        for (slot, column) in all.iter_mut().zip(downsample(series, end_us, columns)) {
            *slot = match (*slot, column) {
                (Some(a), Some(b)) => Some(Column { high: a.high.max(b.high), ..a }),
                (a, b) => a.or(b),
            };
        }
    }
    all
}

fn hover(
    chart: &mut Chart,
    named: &[(&Series, f64)],
    drawn: &[Vec<Option<Column>>],
    rest: Option<&Vec<Option<Column>>>,
    unit: &str,
) {
    // Every second column is enough for a pointer and halves the page.
    let Some(first) = drawn.first() else { return };
    let kept: Vec<usize> = (0..first.len()).filter(|i| i % 2 == 0 && first[*i].is_some()).collect();
    chart.hover_over_time(kept.iter().filter_map(|i| first[*i]).map(|column| column.at_us));
    for (s, ((series, _), columns)) in named.iter().zip(drawn).enumerate() {
        let read = |i: &usize| {
            columns[*i].map(|c| {
                let text = if c.high > c.low {
                    format!("{} to {}", value_label(c.low, unit), value_label(c.high, unit))
                } else {
                    value_label(c.mean, unit)
                };
                (chart.plot.y.px(c.mean), text)
            })
        };
        let values: Vec<_> = kept.iter().map(read).collect();
        let class = format!("s{}", colour(series, s));
        chart.hover_row(&pretty(label(series)), &class, values);
    }
    if let Some(rest) = rest {
        let read =
            |i: &usize| rest[*i].map(|c| (chart.plot.y.px(c.high), value_label(c.high, unit)));
        let values: Vec<_> = kept.iter().map(read).collect();
        chart.hover_row("largest of others", "rest", values);
    }
}

/// What a quantity of receivers that give credit is, in a sentence after a space; others are known.
fn meaning(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::ClassQueue => {
            " The packet in transmission counts for the highest class of the port. Ports with the largest mean queue \
             are shown; series.csv has up to four."
        }
        Quantity::Goodput => {
            " Payload counts when it is delivered in order. Data behind a gap counts when the gap closes, so peaks may \
             exceed the link rate."
        }
        Quantity::FlowRate => {
            " Acknowledged payload. For homa and expresspass, which acknowledge whole messages: sent payload."
        }
        Quantity::Credited => {
            " Flows to a host with outstanding grants or pulls (homa, ndp), or with credits being sent (expresspass). \
             Unscheduled data does not count. Hosts with the largest mean are shown."
        }
        Quantity::AwaitsCredit => {
            " Payload that waits for credit of a host: data that is not granted yet (homa), or data within the windows \
             that is not pulled yet (ndp, the pull queue). Hosts with the largest mean are shown."
        }
        Quantity::BeyondGaps => {
            " Payload that a host keeps behind a gap. When the gap closes, all of it is delivered at once. Hosts with \
             the largest mean are shown."
        }
        Quantity::CreditRate => {
            " Credits sent by receivers, and credits that released data at senders. The difference was dropped, came \
             late, is in flight, or found nothing to send."
        }
        _ => "",
    }
}

/// Of a figure, and of its vertical axis.
fn titles(quantity: Quantity, unit: &str) -> (&'static str, String) {
    let (title, axis) = match quantity {
        Quantity::Queue => ("Queues", "Queue"),
        Quantity::ClassQueue => ("Queues by class", "Queue"),
        Quantity::Goodput => ("Throughput", "Throughput"),
        Quantity::Window => ("Windows", "Congestion window"),
        Quantity::InFlight => ("Bytes in flight", "In flight"),
        Quantity::RoundTrip => ("Round trips", "Smoothed RTT"),
        Quantity::FlowRate => ("Rates of flows", "Payload"),
        Quantity::LawRate => ("Rates that laws set", "Allowed"),
        Quantity::Paused => ("Ports paused", "Share of time paused"),
        Quantity::Credited => ("Over-commitment", "Flows with credit"),
        Quantity::AwaitsCredit => ("Waiting for credit", "Payload"),
        Quantity::BeyondGaps => ("Reorder memory", "Beyond gaps"),
        Quantity::CreditRate => ("Credits, grants and pulls", "All hosts"),
        Quantity::Other => return ("Samples", unit.into()),
    };
    match unit {
        "gbps" => (title, format!("{axis}, Gb/s")),
        // Labels have their units with them.
        "us" | "fraction" => (title, axis.into()),
        "flows" => (title, axis.into()),
        "per_us" => (title, format!("{axis}, per µs")),
        other => (title, format!("{axis}, {other}")),
    }
}

/// The top of an axis: round in the unit that its labels use.
fn round_up_scaled(top: f64, unit: &str) -> f64 {
    let nice = round_up(top);
    // 1.2, 1.5, 3 and 4 of a decade leave less air than 1, 2, 5.
    let decade = [5.0, 2.0, 1.0].into_iter().find_map(|d| {
        let step = nice / d;
        let power = round_up(step);
        ((power / step - 1.0).abs() < 1e-9).then_some(step)
    });
    let step = decade.unwrap_or(nice) * if unit == "fraction" { 1.0 } else { 0.5 };
    let steps = (top / step).ceil().max(1.0);
    (steps * step).min(nice)
}

fn axis_label(value: f64, unit: &str) -> String {
    match unit {
        "bytes" => trim(&bytes_f(value)).to_string(),
        "us" if value == 0.0 => "0".into(),
        "us" => {
            let (divisor, unit) = time_unit(value);
            format!("{} {unit}", plain(value / divisor))
        }
        "fraction" => format!("{} %", plain(value * 100.0)),
        _ => plain(value),
    }
}

fn value_label(value: f64, unit: &str) -> String {
    match unit {
        "bytes" => bytes_f(value),
        "gbps" => gbps(value),
        "us" => micro(value),
        "per_us" => format!("{} per µs", sig3(value)),
        "fraction" => percent(value),
        "flows" if value == 1.0 => "1 flow".into(),
        "flows" => format!("{} flows", plain(value)),
        other => format!("{} {other}", sig3(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_peak_is_lost_and_none_is_made_up() {
        let at: Vec<Time> = (0..10_000).map(|i| Time::from_ps(i * 1_000_000)).collect();
        let values: Vec<f64> = (0..10_000).map(|i| if i == 7_777 { 99.0 } else { 1.0 }).collect();
        let series =
            Series { name: "q".into(), quantity: Quantity::Queue, unit: "bytes", at, values };
        let columns = downsample(&series, 10_000.0, 300);
        let highs: Vec<f64> =
            columns.iter().flatten().map(|c| c.high).filter(|h| *h > 1.0).collect();
        assert_eq!(highs, [99.0]);
        assert!(columns.iter().flatten().all(|c| c.low == 1.0 && c.mean < 99.0));
    }

    #[test]
    fn an_axis_holds_its_peak() {
        for i in 1..3_000 {
            let top = f64::from(i) * 1.7;
            let tall = round_up_scaled(top, "bytes");
            assert!(tall >= top * (1.0 - 1e-9) && tall <= top * 2.5 + 1e-9, "{top} {tall}");
        }
    }
}
