//! Runs over time: a small picture of each where they would hide one another, else all as lines in one.

use super::{NARROW, Side, legend, mark, short};
use crate::human::{bytes_f, gbps, percent, sig3, trim};
use crate::memory_series::{MemorySample, MemorySeries};
use crate::report::over_time::{SAMPLE_QUEUES, is_sampled};
use crate::report::{Figure, WIDE};
use crate::rows::{Quantity, RunRecord};
use crate::svg::{Axis, Chart, Margins, Tick, esc, plain, quarters, time_unit};
use forebay_units::Time;

/// Samples of one quantity: microseconds, and a value.
type Samples = Vec<(f64, f64)>;

/// A quantity over time in several runs.
struct Traces<'a> {
    sides: &'a [Side<'a>],
    /// One for each run; empty where nothing was sampled.
    of: Vec<Samples>,
    /// `Largest queue`.
    title: &'static str,
    /// How a value is written, on the axis and under the pointer.
    write: fn(f64) -> String,
}

/// Figures over time of the first seed that all runs have.
pub(super) fn figures(sides: &[Side<'_>]) -> Vec<Figure> {
    let Some((seed, runs)) = common(sides) else { return Vec::new() };
    let mut figures = Vec::new();
    figures.extend(queues(sides, seed, &runs));
    figures.extend(goodput(sides, seed, &runs));
    figures.extend(hosts(sides, seed, &runs));
    figures
}

/// A section that says what to set, if some run has no samples of its queues.
pub(super) fn absent(sides: &[Side<'_>], tag: &str) -> String {
    let of = |side: &&Side<'_>| !side.runs.iter().any(|run| is_sampled(run, &[Quantity::Queue]));
    let without: Vec<&str> = sides.iter().filter(of).map(|side| side.name).collect();
    let who = match without.len() {
        0 => return String::new(),
        all if all == sides.len() => "no run has samples".to_string(),
        _ => format!("{} has no samples", without.join(", ")),
    };
    format!(
        "<section id=\"not-drawn{tag}\"><h2>Not drawn</h2><ul class=\"notes\"><li>Queues over time: {}. {}</li></ul></section>",
        esc(&who),
        esc(SAMPLE_QUEUES)
    )
}

fn common<'a>(sides: &[Side<'a>]) -> Option<(u64, Vec<&'a RunRecord>)> {
    let of = |side: &Side<'a>, seed: u64| side.runs.iter().find(|run| run.seed == seed);
    let seeds = sides.first()?.runs.iter().map(|run| run.seed);
    seeds.into_iter().find_map(|seed| {
        let runs: Option<Vec<&RunRecord>> = sides.iter().map(|side| of(side, seed)).collect();
        Some((seed, runs?))
    })
}

fn us(time: Time) -> f64 {
    time.as_ps() as f64 / 1e6
}

/// The largest value of any series of a quantity at each sampling instant.
fn largest(run: &RunRecord, quantity: Quantity, unit: &str) -> Samples {
    let mut all: std::collections::BTreeMap<Time, f64> = Default::default();
    for series in run.series.iter().filter(|s| s.quantity == quantity && s.unit == unit) {
        for (at, value) in series.at.iter().zip(&series.values).filter(|(_, v)| v.is_finite()) {
            let most = all.entry(*at).or_insert(*value);
            *most = most.max(*value);
        }
    }
    all.into_iter().map(|(at, value)| (us(at), value)).collect()
}

fn queues(sides: &[Side<'_>], seed: u64, runs: &[&RunRecord]) -> Option<Figure> {
    let row = |title, quantity, unit, write| Traces {
        sides,
        of: runs.iter().map(|run| largest(run, quantity, unit)).collect(),
        title,
        write,
    };
    let bytes = |v: f64| trim(&bytes_f(v)).to_string();
    let queue = row("Largest queue", Quantity::Queue, "bytes", bytes);
    let paused = row("Port paused most, share of time", Quantity::Paused, "fraction", percent);
    let rows: Vec<&Traces<'_>> =
        [&queue, &paused].into_iter().filter(|row| row.top() > 0.0).collect();
    if rows.is_empty() {
        return None;
    }
    let end_us = rows.iter().map(|row| row.end()).fold(1e-6, f64::max);
    let plot: String = rows.iter().map(|row| row.multiples(end_us)).collect();
    Some(Figure {
        id: "queues".into(),
        title: "Queues over time".into(),
        plot,
        caption: format!(
            "Seed {seed}. Largest queue of all sampled ports; a column shows its largest sample. Pictures of a row \
             share their axes, which end when all queues are empty. The largest queue in the table includes peaks \
             between samples."
        ),
    })
}

fn goodput(sides: &[Side<'_>], seed: u64, runs: &[&RunRecord]) -> Option<Figure> {
    let traces = Traces {
        sides,
        of: runs.iter().map(|run| largest(run, Quantity::Goodput, "gbps")).collect(),
        title: "Payload delivered to all hosts",
        write: gbps,
    };
    let end_us = traces.end();
    (traces.top() > 0.0).then(|| Figure {
        id: "throughput".into(),
        title: "Throughput over time".into(),
        plot: format!(
            "{}<div class=\"wide\">{}</div><div class=\"narrow\">{}</div>",
            legend(sides),
            traces.lines(end_us, WIDE),
            traces.lines(end_us, NARROW)
        ),
        caption: format!(
            "Seed {seed}. Each column is the mean of its samples. The axis ends when the last line is back at zero."
        ),
    })
}

/// What one receiving host went through, the one that dropped most in any run.
fn hosts(sides: &[Side<'_>], seed: u64, runs: &[&RunRecord]) -> Option<Figure> {
    let rows = || runs.iter().flat_map(|run| &run.memory);
    let sampled = |host: &str| {
        let of = |run: &&RunRecord| run.memory_series.iter().any(|s| s.host == host);
        runs.iter().all(of)
    };
    // Of those that dropped as much the first.
    let host = rows()
        .filter(|row| sampled(&row.host))
        .rev()
        .max_by_key(|row| row.dropped_in_all)
        .map(|row| row.host.as_str())?;
    let series = |run: &RunRecord| run.memory_series.iter().find(|s| s.host == host).cloned();
    let series: Vec<MemorySeries> = runs.iter().filter_map(|run| series(run)).collect();
    let of = |read: &dyn Fn(&MemorySample) -> f64| -> Vec<Samples> {
        let one = |s: &MemorySeries| s.samples.iter().map(|m| (us(m.at), read(m))).collect();
        series.iter().map(one).collect()
    };
    let antagonists = |s: &MemorySeries| -> Samples {
        let sums = (0..s.samples.len()).map(|i| {
            s.by_antagonist[i * s.antagonists..(i + 1) * s.antagonists].iter().sum::<f32>()
        });
        s.samples.iter().zip(sums).map(|(m, sum)| (us(m.at), f64::from(sum))).collect()
    };
    let bytes = |v: f64| trim(&bytes_f(v)).to_string();
    let gigabytes = |v: f64| format!("{} GB/s", sig3(v));
    let packets =
        |v: f64| if v == 1.0 { "1 packet".into() } else { format!("{} packets", sig3(v)) };
    let traces = |title, write, of| Traces { sides, of, title, write };
    let all = [
        traces("Goodput to applications", gbps, of(&|m| f64::from(m.goodput_gbps))),
        traces("In the NIC buffer", bytes, of(&|m| f64::from(m.buffered))),
        traces("Dropped by the NIC, per sample", packets, of(&|m| f64::from(m.dropped))),
        traces("Lines in IIO slots", sig3, of(&|m| f64::from(m.occupancy))),
        traces("Memory traffic of the network", gigabytes, of(&|m| f64::from(m.network))),
        traces(
            "Memory traffic of antagonists",
            gigabytes,
            series.iter().map(antagonists).collect(),
        ),
        traces("Throttle level", sig3, of(&|m| f64::from(m.level))),
    ];
    let end_us = runs.iter().map(|run| us(run.end)).fold(1e-6, f64::max);
    let drawn: String =
        all.iter().filter(|t| t.top() > 0.0).map(|t| t.lines(end_us, NARROW)).collect();
    (!drawn.is_empty()).then(|| Figure {
        id: "host-over-time".into(),
        title: format!("Inside {host} over time"),
        plot: format!("{}<div class=\"pair\">{drawn}</div>", legend(sides)),
        caption: format!(
            "Seed {seed}. The host whose NIC dropped most in any run. Each column is the mean of its samples."
        ),
    })
}

impl Traces<'_> {
    fn top(&self) -> f64 {
        self.of.iter().flatten().map(|(_, value)| *value).fold(0.0, f64::max)
    }

    /// Until when anything is to be seen: the last sample above a hundredth of the largest, and a little more.
    fn end(&self) -> f64 {
        let seen = self.of.iter().flatten().filter(|(_, value)| *value > 0.01 * self.top());
        let last = self.of.iter().filter_map(|samples| samples.last()).map(|(at, _)| *at);
        let (seen, last) = (seen.map(|(at, _)| *at).fold(0.0, f64::max), last.fold(1e-6, f64::max));
        last.min(seen * 1.05)
    }

    fn label(&self, value: f64) -> String {
        let text = (self.write)(value);
        match text.split_once(' ') {
            _ if value == 0.0 => "0".into(),
            Some((number, unit)) => format!("{} {unit}", trim(number)),
            None => trim(&text).into(),
        }
    }

    /// A small picture for each run, side by side, with the largest value in each column filled.
    fn multiples(&self, end_us: f64) -> String {
        let n = self.of.len();
        let (across, width) = match n {
            1 | 2 => (2, NARROW),
            3 | 6 => (3, 338.0),
            5 => (5, 196.0),
            _ => (4, 250.0),
        };
        let mut html = format!("<h3>{}</h3><div class=\"many across{across}\">", esc(self.title));
        for (i, samples) in self.of.iter().enumerate() {
            let (x, x_ticks, unit) = time_axis(end_us, if across < 3 { 6 } else { 3 });
            let y = Axis::linear(0.0, quarters(self.top()));
            let mut chart = Chart::new((width, 176.0), Margins(50.0, 8.0, 22.0, 46.0), x, y);
            let y_ticks = y.ticks(3, |v| self.label(v));
            chart.plot.axes(&x_ticks, &y_ticks, &format!("Virtual time ({unit})"), "");
            let peak = samples.iter().map(|(_, value)| *value).fold(0.0, f64::max);
            let columns =
                columns(samples, end_us, (chart.plot.frame.width() / 1.5) as usize, f64::max);
            let area: Vec<(f64, f64, f64)> = columns.iter().map(|(at, v)| (*at, 0.0, *v)).collect();
            chart.plot.band(&area, &format!("pile s{i}"));
            let said = match samples.is_empty() {
                true => "not sampled".into(),
                false if peak == 0.0 => "none".into(),
                false => format!("peak {}", (self.write)(peak)),
            };
            let at = (chart.plot.frame.right, chart.plot.frame.top - 8.0);
            chart.plot.canvas.text(at, "tick end", &said);
            let name = esc(self.sides[i].name);
            let drawn = chart.finish(&format!("{} over time: {name}", self.title));
            html += &format!("<div><p class=\"of\">{}{name}</p>{drawn}</div>", mark(i));
        }
        html + "</div>"
    }

    /// All runs as lines.
    fn lines(&self, end_us: f64, width: f64) -> String {
        let wide = width > NARROW;
        let (x, x_ticks, unit) = time_axis(end_us, if wide { 10 } else { 6 });
        let n = (width / 3.0) as usize;
        let drawn: Vec<Samples> = self.of.iter().map(|s| means(s, end_us, n)).collect();
        let top = drawn.iter().flatten().map(|(_, value)| *value).fold(0.0, f64::max);
        let y = Axis::linear(0.0, quarters(top));
        let height = if wide { 260.0 } else { 240.0 };
        let mut chart = Chart::new((width, height), Margins(72.0, 14.0, 30.0, 46.0), x, y);
        let y_ticks = y.ticks(4, |v| self.label(v));
        chart.plot.axes(&x_ticks, &y_ticks, &format!("Virtual time ({unit})"), self.title);
        chart.over_time(end_us, |plot| {
            for (i, samples) in drawn.iter().enumerate() {
                let points: Vec<_> = samples.iter().map(|point| Some(*point)).collect();
                plot.line(&points, &format!("line thin s{i}"));
            }
        });
        let grid: Vec<f64> = (0..60).map(|i| (f64::from(i) + 0.5) / 60.0 * end_us).collect();
        chart.hover_over_time(grid.iter().copied());
        for (i, samples) in drawn.iter().enumerate() {
            let read = |at: &f64| {
                let next = samples.iter().find(|(t, _)| t >= at)?;
                Some((chart.plot.y.px(next.1), (self.write)(next.1)))
            };
            let values: Vec<_> = grid.iter().map(read).collect();
            chart.hover_row(&short(self.sides[i].name), &format!("s{i}"), values);
        }
        chart.finish(&format!("{} over time, a line for each run", self.title))
    }
}

/// The axis of time, its ticks, and its unit.
fn time_axis(end_us: f64, ticks: usize) -> (Axis, Vec<Tick>, &'static str) {
    let x = Axis::linear(0.0, end_us);
    let (divisor, unit) = time_unit(end_us);
    (x, x.ticks(ticks, |v| plain(v / divisor)), unit)
}

/// Samples in so many columns, those of one column put together two by two.
fn columns(samples: &[(f64, f64)], end_us: f64, n: usize, join: fn(f64, f64) -> f64) -> Samples {
    let mut all: Vec<Option<f64>> = vec![None; n.max(1)];
    for (at, value) in samples {
        let slot = &mut all[((at / end_us * n as f64) as usize).min(n.max(1) - 1)];
        *slot = Some(slot.map_or(*value, |old| join(old, *value)));
    }
    let middle = |i: usize| (i as f64 + 0.5) / n as f64 * end_us;
    all.into_iter().enumerate().filter_map(|(i, v)| Some((middle(i), v?))).collect()
}

/// The mean of the samples in each column.
fn means(samples: &[(f64, f64)], end_us: f64, n: usize) -> Samples {
    let ones: Samples = samples.iter().map(|(at, _)| (*at, 1.0)).collect();
    let (sums, counts) =
        (columns(samples, end_us, n, |a, b| a + b), columns(&ones, end_us, n, |a, b| a + b));
    sums.into_iter().zip(counts).map(|((at, sum), (_, count))| (at, sum / count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_keep_peaks_and_means_are_means() {
        let samples: Samples =
            (0..1000).map(|i| (f64::from(i), if i == 777 { 50.0 } else { 1.0 })).collect();
        let most = columns(&samples, 1000.0, 10, f64::max);
        assert_eq!(most.iter().map(|(_, v)| *v).fold(0.0, f64::max), 50.0);
        assert_eq!((most.len(), most[0]), (10, (50.0, 1.0)));
        let mean = means(&samples, 1000.0, 10);
        assert!((mean[7].1 - 1.49).abs() < 1e-12 && mean[6].1 == 1.0);
    }
}
