//! Panels over one time axis: what the path to memory did, from its antagonists to the application.

use super::bins::{Bins, packed};
use super::windows::{Window, windows};
use crate::human::sig3;
use crate::memory_series::{CacheSample, CreditsSample, MemorySample, MemorySeries};
use crate::rows::MemoryRow;
use crate::svg::{Axis, Canvas, Frame, Plot, esc, plain, quarters, time_unit};
use forebay_units::Span;
use std::fmt::Write;

/// Bins that a page keeps of a whole run: two for each pixel at an eighth of it.
const MOST_BINS: usize = 16_384;

const WIDTH: f64 = 1048.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 1034.0;
const PANEL: f64 = 74.0;
const TITLE: f64 = 34.0;
const BELOW: f64 = 46.0;

/// Pixels of a column of the picture that is there without the script.
const COLUMN: f64 = 2.0;

/// Goodput is smoothed over this, since applications read whole deliveries.
const SMOOTH_US: f64 = 20.0;

struct Trace {
    name: String,
    class: &'static str,
    values: Vec<f32>,
    look: TraceStyle,
}

/// How a trace is drawn where it is no layer of a pile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TraceStyle {
    /// A line, and its range shaded.
    Ranged,
    /// A line.
    Bare,
    /// A layer of the ground behind the lines, as high as the panel where it alone holds.
    Ground,
}

impl TraceStyle {
    /// Number of the layer in the page's data.
    const fn code(self) -> u8 {
        match self {
            Self::Ranged => 0,
            Self::Bare => 1,
            Self::Ground => 2,
        }
    }
}

/// A level worth comparing with, and its name.
struct Rule {
    at: f64,
    name: &'static str,
}

struct Panel {
    title: &'static str,
    unit: &'static str,
    traces: Vec<Trace>,
    rules: Vec<Rule>,
    stacked: bool,
}

/// Name of what a control's law has made of its readings.
const LAW: &str = "as the law sees it";

/// Bytes of a line of the cache.
const LINE: f64 = 64.0;

/// Colours of antagonists in a pile, over that of the network.
const PILE: [&str; 4] = ["s3", "s5", "s4", "s6"];

fn panels(series: &MemorySeries, row: &MemoryRow) -> Vec<Panel> {
    let every_us = series.every.as_ps() as f64 * 1e-6;
    let all = |value: &dyn Fn(&MemorySample) -> f32| series.samples.iter().map(value).collect();
    let one = |name: &str, class, values| {
        vec![Trace { name: name.into(), class, values, look: TraceStyle::Ranged }]
    };
    let target = |i: usize, name| row.targets.map(|targets| Rule { at: targets[i], name });
    let seen = |i: usize, name: &str| {
        let known = series.samples.iter().any(|sample| sample.seen.is_some());
        let values = all(&|s| s.seen.map_or(0.0, |seen| seen[i]));
        known.then(|| Trace { name: name.into(), class: "s1", values, look: TraceStyle::Bare })
    };
    let per_us = |count: u32| (f64::from(count) / every_us) as f32;
    let owner = |i: usize| Trace {
        name: if series.antagonists > 1 { format!("antagonist {i}") } else { "antagonist".into() },
        class: PILE[i % PILE.len()],
        values: series.antagonist(i).collect(),
        look: TraceStyle::Ranged,
    };
    let mut owners = one("network", "s0", all(&|s| s.network));
    if series.samples.iter().any(|s| s.other_nics.is_some()) {
        owners.extend(one("other NICs", "s2", all(&|s| s.other_nics.unwrap_or(0.0))));
    }
    owners.extend((0..series.antagonists).map(owner));
    let mut occupancy: Vec<Trace> = seen(0, LAW).into_iter().collect();
    occupancy.extend(one("IIO occupancy", "s0", all(&|s| s.occupancy)));
    let mut pcie: Vec<Trace> = seen(1, LAW).into_iter().collect();
    pcie.extend(one("PCIe", "s0", all(&|s| s.pcie_gbps)));
    let goodput: Vec<f32> = all(&|s| s.goodput_gbps);
    let smooth = ((SMOOTH_US / every_us).round() as usize).max(1);
    let panel = |title, unit, traces, rules: Vec<Option<Rule>>| Panel {
        title,
        unit,
        traces,
        rules: rules.into_iter().flatten().collect(),
        stacked: false,
    };
    let rule = |at: f64, name| Some(Rule { at, name });
    let mut panels = vec![
        Panel {
            stacked: true,
            ..panel(
                "Memory bandwidth by owner",
                "GB/s",
                owners,
                vec![rule(row.memory_limit_gigabytes, "capacity")],
            )
        },
        panel(
            "IIO occupancy",
            "lines",
            occupancy,
            vec![rule(f64::from(row.iio_slots), "slots"), target(0, "I_T")],
        ),
        panel("PCIe bandwidth", "Gb/s", pcie, vec![target(1, "B_T")]),
        panel(
            "NIC buffer",
            "KB",
            one("NIC buffer", "s0", all(&|s| s.buffered as f32 * 1e-3)),
            vec![rule(row.nic_buffer.get() as f64 * 1e-3, "size")],
        ),
        panel("NIC drops", "packets/µs", one("drops", "s7", all(&|s| per_us(s.dropped))), vec![]),
    ];
    if row.targets.is_some() || series.samples.iter().any(|s| s.marked > 0 || s.level > 0) {
        let marks = one("marks", "s5", all(&|s| per_us(s.marked)));
        panels.push(panel("Congestion marks at the host", "packets/µs", marks, vec![]));
        let level = one("level", "s3", all(&|s| f32::from(s.level)));
        panels.push(panel("Throttle level", "", level, vec![]));
    }
    panels.extend(cache(series, row));
    panels.extend(credits(series));
    let goodput = one("goodput", "s2", smoothed(&goodput, smooth));
    panels.push(panel("Application throughput", "Gb/s", goodput, vec![]));
    panels
}

/// Degrees of congestion, and their colours.
const STATES: [(&str, &str); 4] = [
    ("S1: U up to D", "s2"),
    ("S2: up to S", "s5"),
    ("S3: above S", "s7"),
    ("S4: no buffer left", "s3"),
];

/// Unread data against what holds it, over the state that it is in; reads that missed by cause; frames without a receive buffer. Where receive
/// buffers are followed.
fn cache(series: &MemorySeries, row: &MemoryRow) -> Vec<Panel> {
    let samples: Option<Vec<_>> = series.samples.iter().map(|sample| sample.cache).collect();
    let Some(samples) = samples.filter(|samples| !samples.is_empty()) else { return Vec::new() };
    let trace = |name: &str, class, values| Trace {
        name: name.into(),
        class,
        values,
        look: TraceStyle::Ranged,
    };
    let all = |value: &dyn Fn(&CacheSample) -> f32| samples.iter().map(value).collect();
    let unread: Vec<f32> = all(&|cache| cache.unread as f32 * 1e-6);
    let most = unread.iter().copied().fold(0.0, f32::max);
    // A queue far above all that ever waited would flatten the rest.
    let names = ["D: NIC's ways", "S: cache", "Q: queue"];
    let rules =
        row.cache_bounds.iter().zip(names).map(|(bytes, name)| Rule { at: bytes * 1e-6, name });
    let near = |rule: &Rule| !rule.name.starts_with('Q') || rule.at <= 2.0 * f64::from(most);
    let missed = ["evicted by the NIC", "evicted by a core", "never cached"];
    let missed =
        missed.into_iter().zip(["s1", "s4", "s6"]).enumerate().map(|(i, (name, class))| {
            trace(name, class, all(&|cache: &CacheSample| 100.0 * cache.missed(i)))
        });
    let mut missed: Vec<Trace> = missed.collect();
    let mut first = true;
    missed.retain(|trace| std::mem::take(&mut first) || trace.values.iter().any(|v| *v > 0.0));
    let mut filled = Panel {
        title: "Unread data in receive buffers (U)",
        unit: "MB",
        traces: vec![trace("unread", "s0", unread)],
        rules: rules.filter(near).collect(),
        stacked: false,
    };
    let top = filled.top() as f32;
    let states: Vec<usize> = samples.iter().map(|cache| state(cache.unread, row)).collect();
    for (i, (name, class)) in STATES.into_iter().enumerate().filter(|(i, _)| states.contains(i)) {
        let values = states.iter().map(|state| if *state == i { top } else { 0.0 }).collect();
        filled.traces.push(Trace { name: name.into(), class, values, look: TraceStyle::Ground });
    }
    // What lies behind is drawn first.
    filled.traces.rotate_left(1);
    let missing = Panel {
        title: "Reads that miss the cache",
        unit: "%",
        traces: missed,
        rules: Vec::new(),
        stacked: true,
    };
    let every_us = series.every.as_ps() as f64 * 1e-6;
    let per_us = |count: u32| (f64::from(count) / every_us) as f32;
    let none = [
        trace("waited in the NIC", "q1", all(&|cache| per_us(cache.waited))),
        trace("refused (RNR)", "q3", all(&|cache| per_us(cache.refused))),
    ];
    let none: Vec<Trace> =
        none.into_iter().filter(|trace| trace.values.iter().any(|v| *v > 0.0)).collect();
    let not_ready = (!none.is_empty()).then_some(Panel {
        title: "Frames without a receive buffer",
        unit: "packets/µs",
        traces: none,
        rules: Vec::new(),
        stacked: true,
    });
    [filled, missing].into_iter().chain(not_ready).collect()
}

/// Index of the state with so many bytes unread.
fn state(unread: u64, row: &MemoryRow) -> usize {
    let bounds = row.cache_bounds.get(..3).unwrap_or_default();
    let [ddio, cache, queue] = bounds else { return 0 };
    let unread = unread as f64;
    if unread >= *queue { 3 } else { usize::from(unread > *ddio) + usize::from(unread > *cache) }
}

/// Credits of the host's cache, and how many requests wait for some and how long, where pools hold requests to them.
fn credits(series: &MemorySeries) -> Vec<Panel> {
    let samples: Option<Vec<_>> = series.samples.iter().map(|sample| sample.credits).collect();
    let Some(samples) = samples.filter(|samples| !samples.is_empty()) else { return Vec::new() };
    let all = |value: &dyn Fn(&CreditsSample) -> f32| samples.iter().map(value).collect();
    let trace = |name: &str, class, values, look| Trace { name: name.into(), class, values, look };
    let megabytes = |lines: f64| (lines * LINE * 1e-6) as f32;
    let us = |span: Span| (span.as_ps() as f64 * 1e-6) as f32;
    let panel =
        |title, unit, traces| Panel { title, unit, traces, rules: Vec::new(), stacked: false };
    let (out, limit, shares) = (
        all(&|credits| megabytes(credits.outstanding as f64)),
        all(&|credits| megabytes(credits.limit as f64)),
        all(&|credits| megabytes(credits.limit as f64 - credits.delta as f64)),
    );
    vec![
        panel(
            "Credits of the cache",
            "MB",
            vec![
                trace("shares of the cache", "s5", shares, TraceStyle::Bare),
                trace("limit: shares and delta", "s2", limit, TraceStyle::Bare),
                trace("outstanding", "s0", out, TraceStyle::Ranged),
            ],
        ),
        panel(
            "Requests that wait for credits",
            "",
            vec![trace(
                "blocked",
                "s1",
                all(&|credits| credits.blocked as f32),
                TraceStyle::Ranged,
            )],
        ),
        panel(
            "Longest of their waits so far",
            "µs",
            vec![trace(
                "longest wait",
                "s1",
                all(&|credits| us(credits.longest)),
                TraceStyle::Ranged,
            )],
        ),
    ]
}

/// The mean over the `over` values up to each.
fn smoothed(values: &[f32], over: usize) -> Vec<f32> {
    let mut sum = 0.0_f64;
    let mut means = Vec::with_capacity(values.len());
    for (i, value) in values.iter().enumerate() {
        sum += f64::from(*value);
        if i >= over {
            sum -= f64::from(values[i - over]);
        }
        means.push((sum.max(0.0) / over.min(i + 1) as f64) as f32);
    }
    means
}

impl Panel {
    /// Top of its axis.
    fn top(&self) -> f64 {
        if self.unit == "%" {
            return 100.0;
        }
        let n = self.traces.first().map_or(0, |trace| trace.values.len());
        // The ground is as high as what stands on it.
        let values = |i: usize| {
            let traces = self.traces.iter().filter(|trace| trace.look != TraceStyle::Ground);
            traces.map(move |trace| f64::from(trace.values[i]))
        };
        let sum = |i: usize| values(i).sum::<f64>();
        let largest = |i: usize| values(i).fold(0.0, f64::max);
        let at = |i: usize| if self.stacked { sum(i) } else { largest(i) };
        let rules = self.rules.iter().map(|rule| rule.at);
        let top = (0..n).map(at).chain(rules).fold(0.0, f64::max);
        if top > 0.0 { quarters(top * 1.02) } else { 1.0 }
    }
}

/// All panels of a host as one picture, with what the page's script needs to zoom it.
pub(super) fn draw(series: &MemorySeries, row: &MemoryRow) -> String {
    let panels = panels(series, row);
    let samples = series.samples.len();
    let per = samples.div_ceil(MOST_BINS).max(1);
    let found = if per > 1 { windows(&series.samples) } else { Vec::new() };
    let height = TITLE + panels.len() as f64 * (PANEL + TITLE) - TITLE + BELOW;
    let every_us = series.every.as_ps() as f64 * 1e-6;
    let mut canvas = Canvas::default();
    let mut data: Vec<String> = Vec::new();
    for (i, panel) in panels.iter().enumerate() {
        let y1 = TITLE + i as f64 * (PANEL + TITLE);
        data.push(one(&mut canvas, panel, y1, per));
    }
    let (top, bottom) = (TITLE, height - BELOW);
    times(&mut canvas, samples as f64 * every_us, bottom);
    let kept = found.iter().map(|window| kept(window, &panels));
    let json = format!(
        "{{\"w\":{WIDTH},\"l\":{LEFT},\"r\":{RIGHT},\"top\":{top},\"bottom\":{bottom},\"samples\":{samples},\"per\":{per},\
         \"dt\":{every_us},\"p\":[{}],\"win\":[{}]}}",
        data.join(","),
        kept.collect::<Vec<_>>().join(",")
    );
    let mut html = buttons(&found);
    let _ = write!(
        html,
        "{}<div class=\"plot panels\">{}<script type=\"application/json\">{}</script></div>",
        legend(&panels),
        canvas.inline(WIDTH, height, &format!("Path to memory of {} over time", series.host)),
        json.replace('<', "\\u003c")
    );
    html
}

fn buttons(windows: &[Window]) -> String {
    let mut html = String::from(
        "<div class=\"zoom\" hidden><button data-zoom=\"in\">Zoom in</button><button data-zoom=\"out\">Zoom out</button>\
         <button data-zoom=\"left\">Earlier</button><button data-zoom=\"right\">Later</button>\
         <button data-zoom=\"all\">Whole run</button>",
    );
    for (i, window) in windows.iter().enumerate() {
        let _ = write!(html, "<button data-window=\"{i}\">{}</button>", esc(&window.why));
    }
    html.push_str("<output>whole run</output></div>");
    html
}

/// Keys of each panel in a row of its own, so that colours need to differ within one only.
fn legend(panels: &[Panel]) -> String {
    let mut html = String::new();
    for panel in panels.iter().filter(|panel| panel.stacked || panel.traces.len() > 1) {
        let named =
            panel.traces.iter().filter(|trace| panel.stacked || trace.look != TraceStyle::Ranged);
        let keys = named.map(|trace| {
            format!("<span><i class=\"key {}\"></i>{}</span>", trace.class, esc(&trace.name))
        });
        let keys: String = keys.collect();
        if !keys.is_empty() {
            let _ =
                write!(html, "<div class=\"legend\"><small>{}</small>{keys}</div>", panel.title);
        }
    }
    html
}

/// Draws one panel with its top at `y1`. Returns its data.
fn one(canvas: &mut Canvas, panel: &Panel, y1: f64, per: usize) -> String {
    let y0 = y1 + PANEL;
    let top = panel.top();
    let frame = Frame { left: LEFT, top: y1, right: RIGHT, bottom: y0 };
    let mut plot = Plot::new(frame, WIDTH, Axis::linear(0.0, 1.0), Axis::linear(0.0, top));
    let unit = if panel.unit.is_empty() { String::new() } else { format!(", {}", panel.unit) };
    plot.canvas.text((LEFT, y1 - 9.0), "title", &format!("{}{unit}", panel.title));
    plot.upright(&plot.y.ticks(3, plain), "");
    let bins: Vec<Bins> = panel.traces.iter().map(|trace| Bins::of(&trace.values, per)).collect();
    plot.canvas.raw("<g class=\"traces\">");
    let mut under: Vec<f32> = Vec::new();
    for (trace, bins) in panel.traces.iter().zip(&bins) {
        let layer = match trace.look {
            TraceStyle::Ground => Some("ground"),
            _ => panel.stacked.then_some("pile"),
        };
        under = drawn(&mut plot, trace, bins, layer, &under);
    }
    plot.canvas.raw("</g>");
    // The names of rules stand at the right, above the panel, so that no trace runs through them.
    let mut names: Vec<String> = Vec::new();
    for rule in &panel.rules {
        plot.level(rule.at, "rule");
        names.push(format!("{} {}", rule.name, sig3(rule.at)));
    }
    plot.canvas.text((RIGHT, y1 - 9.0), "tick end", &names.join(", "));
    plot.level(0.0, "axis");
    canvas.add(&plot.canvas);
    let traces = panel.traces.iter().zip(&bins).map(|(trace, bins)| {
        let pack = |values: &[f32]| packed(values, top as f32);
        let spread = match per {
            1 => String::new(),
            _ => format!(",\"lo\":\"{}\",\"hi\":\"{}\"", pack(&bins.low), pack(&bins.high)),
        };
        let (name, mean) = (serde_json::Value::from(trace.name.as_str()), pack(&bins.mean));
        format!(
            "{{\"n\":{name},\"c\":\"{}\",\"look\":{},\"me\":\"{mean}\"{spread}}}",
            trace.class,
            trace.look.code()
        )
    });
    format!(
        "{{\"y0\":{y0},\"y1\":{y1},\"max\":{top},\"unit\":\"{}\",\"stack\":{},\"t\":[{}]}}",
        panel.unit,
        panel.stacked,
        traces.collect::<Vec<_>>().join(",")
    )
}

/// A trace over the whole run: least to largest shaded, the mean as a line; or a layer over those `under` it, whose top is returned.
fn drawn(
    plot: &mut Plot,
    trace: &Trace,
    bins: &Bins,
    layer: Option<&str>,
    under: &[f32],
) -> Vec<f32> {
    let n = bins.mean.len();
    let columns = (((RIGHT - LEFT) / COLUMN) as usize).min(n);
    let scale = plot.y;
    let mut top = Vec::with_capacity(columns);
    let (mut high, mut low, mut middle) = (Vec::new(), Vec::new(), Vec::new());
    for c in 0..columns {
        let range = c * n / columns..(c + 1) * n / columns;
        let x = LEFT + (c as f64 + 0.5) / columns as f64 * (RIGHT - LEFT);
        let mean = bins.mean[range.clone()].iter().sum::<f32>() / range.len() as f32;
        let point = |v: f32| (x, scale.px(f64::from(v)));
        if layer.is_some() {
            let base = under.get(c).copied().unwrap_or(0.0);
            top.push(base + mean);
            high.push(point(base + mean));
            low.push(point(base));
        } else {
            high.push(point(bins.high[range.clone()].iter().copied().fold(0.0, f32::max)));
            low.push(point(bins.low[range].iter().copied().fold(f32::INFINITY, f32::min)));
            middle.push(point(mean));
        }
    }
    let class = trace.class;
    if trace.look != TraceStyle::Bare {
        let layer = layer.unwrap_or("band");
        plot.canvas
            .path(high.into_iter().chain(low.into_iter().rev()), &format!("{layer} {class}"));
    }
    plot.canvas.path(middle, &format!("line thin {class}"));
    top
}

/// Draws the time axis under the last panel.
fn times(canvas: &mut Canvas, end_us: f64, bottom: f64) {
    let axis = Axis::linear(0.0, end_us);
    let scale = axis.over(LEFT, RIGHT);
    let (divisor, unit) = time_unit(end_us);
    canvas.raw("<g class=\"times\">");
    for tick in axis.ticks(8, |v| plain(v / divisor)) {
        let x = scale.px(tick.value);
        canvas.rule((x, bottom), (x, bottom + 6.0), "axis");
        canvas.text((x, bottom + 19.0), "tick mid", tick.label.as_deref().unwrap_or_default());
    }
    canvas.raw("</g>");
    let title = format!("Virtual time ({unit})");
    canvas.text(((LEFT + RIGHT) / 2.0, bottom + BELOW - 6.0), "title mid time-title", &title);
}

/// A window's samples, trace by trace over all panels.
fn kept(window: &Window, panels: &[Panel]) -> String {
    let traces = panels.iter().flat_map(|panel| {
        let top = panel.top() as f32;
        panel
            .traces
            .iter()
            .map(move |trace| format!("\"{}\"", packed(&trace.values[window.from..window.to], top)))
    });
    format!(
        "{{\"from\":{},\"to\":{},\"v\":[{}]}}",
        window.from,
        window.to,
        traces.collect::<Vec<_>>().join(",")
    )
}
