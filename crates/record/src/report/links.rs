//! Figures of links: tiers with drops and marks, a map of utilisation, and the worst ports.

use super::{Figure, micro, pretty};
use crate::human::{bytes, count, gbps, percent};
use crate::rows::PortRow;
use crate::rows::RunRecord;
use crate::summary::{Summary, Tier};
use crate::svg::{Canvas, esc, px};
use crate::tiers::{Tiers, utilisation};
use std::fmt::Write;

/// Cells of one map that get a read-out of their own; larger maps are drawn as bare paths.
const NAMED_CELLS: usize = 800;

/// Cells of one map at most; beyond it a cell stands for several neighbours.
const MAX_CELLS: usize = 6_000;

/// Shades of a map.
const SHADES: usize = 10;

/// Characters of a switch's name beside its row.
const LONGEST_NAME: usize = 18;

/// Ports in the table of the worst.
const WORST: usize = 10;

/// A bar inside a table cell, `share` of the cell's width.
pub(super) fn bar(share: f64, class: &str, text: &str) -> String {
    let width = (share.clamp(0.0, 1.0) * 100.0).max(if share > 0.0 { 1.0 } else { 0.0 });
    format!(
        "<td class=\"num bar\"><span class=\"track\"><i class=\"{class}\" style=\"width:{}%\"></i></span>\
         <b>{}</b></td>",
        px(width),
        esc(text)
    )
}

/// A counter of tiers and its heading.
type Counter = (&'static str, fn(&Tier) -> u64);

/// Totals by tier: utilisation against 1, drops and marks against the worst tier.
pub(super) fn tiers(summary: &Summary) -> Option<Figure> {
    if summary.tiers.is_empty() {
        return None;
    }
    let most =
        |value: fn(&Tier) -> f64| summary.tiers.iter().map(value).fold(0.0, f64::max).max(1e-300);
    let (worst_drop, worst_mark) = (most(|t| t.drop_fraction), most(|t| t.mark_fraction));
    let lost = summary.tiers.iter().any(|tier| tier.lost_packets > 0);
    let mut plot = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>Tier<th class=\"num\">Links<th class=\"num\">Packets sent\
         <th class=\"num\">Utilisation, mean<th class=\"num\">Busiest link<th class=\"num\">Dropped\
         <th class=\"num\">Marked",
    );
    plot.push_str(if lost { "<th class=\"num\">Lost to faults" } else { "" });
    // What receiver-driven transports have beside drops.
    let others: [Counter; 2] = [
        ("Trimmed", |tier| tier.trimmed_packets),
        ("Credits dropped", |tier| tier.dropped_credits),
    ];
    let others: Vec<_> = others
        .into_iter()
        .filter(|(_, of)| summary.tiers.iter().any(|tier| of(tier) > 0))
        .collect();
    for (heading, _) in &others {
        let _ = write!(plot, "<th class=\"num\">{heading}");
    }
    plot.push_str("<th class=\"num\">Largest queue</tr></thead><tbody>");
    for tier in &summary.tiers {
        let _ = write!(
            plot,
            "<tr><th>{}<td class=\"num\">{}<td class=\"num\">{}",
            esc(&pretty(&tier.name)),
            count(tier.links),
            count(tier.tx_packets)
        );
        plot.push_str(&bar(tier.utilisation_mean, "use", &percent(tier.utilisation_mean)));
        plot.push_str(&bar(tier.utilisation_max, "use", &percent(tier.utilisation_max)));
        let share = |n: u64, fraction: f64| match n {
            0 => "0".to_string(),
            _ => format!("{} ({})", count(n), percent(fraction)),
        };
        let dropped = share(tier.dropped_packets, tier.drop_fraction);
        let marked = share(tier.marked_packets, tier.mark_fraction);
        plot.push_str(&bar(tier.drop_fraction / worst_drop, "drop", &dropped));
        plot.push_str(&bar(tier.mark_fraction / worst_mark, "mark", &marked));
        if lost {
            let _ = write!(plot, "<td class=\"num\">{}", count(tier.lost_packets));
        }
        for (_, of) in &others {
            let worst = summary.tiers.iter().map(of).max().unwrap_or(0).max(1);
            plot.push_str(&bar(of(tier) as f64 / worst as f64, "drop", &count(of(tier))));
        }
        let _ = write!(plot, "<td class=\"num\">{}</tr>", bytes(tier.max_queue_bytes));
    }
    plot.push_str("</tbody></table></div>");
    Some(Figure {
        id: "tiers".into(),
        title: "Drops, marks and load by tier".into(),
        plot,
        caption: "All ports from one kind of node to another, all seeds, warm-up included. Bars of utilisation run \
                  from 0 to 100 %. Bars of drops and marks are relative to the worst tier: shares of offered and of \
                  sent packets."
            .into(),
    })
}

/// A name of at most `longest` characters; its end tells one switch from another.
pub(super) fn shorten(name: &str, longest: usize) -> String {
    let length = name.chars().count();
    if length <= longest {
        return name.into();
    }
    "…".chars().chain(name.chars().skip(length + 1 - longest)).collect()
}

/// Number of the shade for a share of what the last one stands for.
fn step(share: f64) -> usize {
    ((share * SHADES as f64) as usize).min(SHADES - 1)
}

/// Class of the shade for a share of what the darkest one stands for.
pub(super) fn shade(share: f64) -> &'static str {
    const CLASSES: [&str; SHADES] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9"];
    CLASSES[step(share)]
}

struct Cell {
    label: String,
    value: f64,
}

/// One row of cells, under the name of a switch.
struct Strip {
    name: String,
    cells: Vec<Cell>,
}

/// Mean over seeds of a port's utilisation, for the ports of the first run.
pub(super) fn mean_use(runs: &[RunRecord]) -> Vec<Option<f64>> {
    let ports = runs.first().map_or(0, |run| run.ports.len());
    (0..ports)
        .map(|at| {
            let values: Vec<f64> = runs
                .iter()
                .filter_map(|run| run.ports.get(at).and_then(|port| utilisation(port, run.end)))
                .collect();
            crate::stats::mean(&values)
        })
        .collect()
}

/// A map of utilisation: a block for each tier, a row for each switch, a cell for each link.
pub(super) fn utilisation_map(runs: &[RunRecord]) -> Option<Figure> {
    let run = runs.first().filter(|run| !run.ports.is_empty())?;
    let tiers = Tiers::of(run);
    let values = mean_use(runs);
    let mut plot = ramp("100 % of the link's rate");
    plot.push_str("<div class=\"maps\">");
    let mut merged = false;
    for (tier, name) in tiers.names.iter().enumerate() {
        let mut strips: Vec<Strip> = Vec::new();
        for (at, port) in run.ports.iter().enumerate().filter(|(at, _)| tiers.of_port[*at] == tier)
        {
            let Some(value) = values[at] else { continue };
            let (from_host, _) = tiers.host_ends[at];
            let switch = if from_host { &port.peer } else { &port.node };
            let label = format!("{} → {}: {}", port.node, port.peer, percent(value));
            let cell = Cell { label, value };
            match strips.iter_mut().rev().find(|strip| strip.name == *switch) {
                Some(strip) => strip.cells.push(cell),
                None => strips.push(Strip { name: switch.clone(), cells: vec![cell] }),
            }
        }
        if strips.is_empty() {
            continue;
        }
        let (svg, merges) = draw(&strips);
        merged |= merges;
        let _ = write!(plot, "<div><h3>{}</h3>{svg}</div>", esc(&pretty(name)));
    }
    plot.push_str("</div>");
    let merged = if merged {
        " Neighbouring links are merged where there are too many: a cell shows the busiest."
    } else {
        ""
    };
    Some(Figure {
        id: "utilisation".into(),
        title: "Utilisation of every link".into(),
        plot,
        caption: format!(
            "Blocks are tiers, rows are switches, cells are links in one direction; mean over seeds. Even rows mean \
             balanced load. A dark cell means a hot receiver, or flows hashed onto one path.{merged} ports.csv has the \
             numbers."
        ),
    })
}

/// All shades in a line, from nothing to `full`.
pub(super) fn ramp(full: &str) -> String {
    let mut legend =
        String::from("<div class=\"legend ramp\"><span>0</span><span class=\"steps\">");
    for shade in 0..SHADES {
        let _ = write!(legend, "<i class=\"h{shade}\"></i>");
    }
    let _ = write!(legend, "</span><span>{}</span></div>", esc(full));
    legend
}

fn draw(strips: &[Strip]) -> (String, bool) {
    let columns = strips.iter().map(|strip| strip.cells.len()).max().unwrap_or(1);
    let cells: usize = strips.iter().map(|strip| strip.cells.len()).sum();
    // With too many cells, neighbours within a row are joined first, then rows.
    let across = columns.div_ceil(128).max(if cells > MAX_CELLS { 2 } else { 1 });
    let down = cells.div_ceil(across).div_ceil(MAX_CELLS).max(1);
    let (rows, wide) = (strips.len().div_ceil(down), columns.div_ceil(across));
    let longest = strips.iter().map(|strip| strip.name.chars().count()).max().unwrap_or(0);
    let names = match down == 1 && rows <= 40 {
        true => longest.min(LONGEST_NAME) as f64 * 8.0 + 8.0,
        false => 0.0,
    };
    let width = 516.0;
    let cell = ((width - names) / wide as f64).min(24.0);
    let tall = if rows <= 16 { 16.0 } else { (320.0 / rows as f64).clamp(3.0, 16.0) };
    let gap = if cell >= 6.0 && tall >= 6.0 { 1.5 } else { 0.0 };
    let mut shades = vec![String::new(); SHADES];
    let mut canvas = Canvas::default();
    for (row, group) in strips.chunks(down).enumerate() {
        let y = row as f64 * tall;
        if names > 0.0 && (tall >= 10.0 || row % 4 == 0) {
            let at = (names - 8.0, y + tall * 0.5 + 4.0);
            canvas.text(at, "tick end", &shorten(&group[0].name, LONGEST_NAME));
        }
        for column in 0..wide {
            let range = column * across..((column + 1) * across).min(columns);
            let in_cell =
                group.iter().flat_map(|strip| strip.cells.iter().take(range.end).skip(range.start));
            let Some(busiest) = in_cell.reduce(|a, b| if b.value > a.value { b } else { a }) else {
                continue;
            };
            let shade = step(busiest.value);
            let at = (names + column as f64 * cell, y);
            let size = (cell - gap, tall - gap);
            if cells <= NAMED_CELLS {
                canvas.rect(at, size, &format!("h{shade}"), &busiest.label);
            } else {
                let ([x, y], [w, h]) = ([at.0, at.1].map(px), [size.0, size.1].map(px));
                let _ = write!(shades[shade], "M{x} {y}h{w}v{h}h-{w}z");
            }
        }
    }
    for (shade, path) in shades.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        canvas.shape(path, &format!("h{shade}"), "");
    }
    let height = rows as f64 * tall;
    let svg = canvas.inline(width, height, &format!("{cells} links"));
    (svg, across > 1 || down > 1)
}

/// The ports that dropped, lost, marked or queued most, all seeds together.
pub(super) fn worst_ports(runs: &[RunRecord]) -> Option<Figure> {
    let run = runs.first().filter(|run| !run.ports.is_empty())?;
    let tiers = Tiers::of(run);
    let mut ports: Vec<PortRow> = Vec::new();
    for at in (0..run.ports.len()).filter(|at| !tiers.host_ends[*at].0) {
        let mut sum = run.ports[at].clone();
        for port in runs.iter().skip(1).filter_map(|run| run.ports.get(at)) {
            sum.add(port);
        }
        ports.push(sum);
    }
    let badness = |p: &PortRow| {
        let cut_off = p.trimmed_packets + p.dropped_credits;
        (p.dropped_packets + p.lost_packets, cut_off, p.max_queue, p.marked_packets)
    };
    ports.sort_by_key(|port| std::cmp::Reverse(badness(port)));
    ports.truncate(WORST);
    // A port with next to no queue and nothing lost is none to look at.
    let longest = ports.iter().map(|port| port.max_queue.get()).max().unwrap_or(0);
    let quiet = |p: &PortRow| {
        let lost = p.dropped_packets + p.lost_packets + p.trimmed_packets + p.dropped_credits;
        lost == 0 && p.max_queue.get() * 20 < longest
    };
    while ports.len() > 1 && ports.last().is_some_and(quiet) {
        ports.pop();
    }
    let uses = mean_use(runs);
    let use_of = |port: &PortRow| {
        let at = run.ports.iter().position(|p| p.node == port.node && p.peer == port.peer)?;
        uses[at]
    };
    let tallest = ports.iter().map(|port| port.max_queue.get()).max().unwrap_or(0).max(1) as f64;
    // Counters that have a heading and that some port has counted.
    let others: Vec<&str> =
        ports.iter().flat_map(PortRow::shown).fold(Vec::new(), |mut all, (heading, n)| {
            if n > 0 && !all.contains(&heading) {
                all.push(heading);
            }
            all
        });
    let headings: String =
        others.iter().map(|heading| format!("<th class=\"num\">{heading}")).collect();
    let pauses = run.ports.iter().any(|port| port.pause_frames_sent > 0);
    let paused = if pauses { "<th class=\"num\">Paused" } else { "" };
    let mut plot = format!(
        "<div class=\"scroll\"><table><thead><tr><th>Port<th class=\"num\">Rate<th class=\"num\">Utilisation\
         <th class=\"num\">Largest queue<th class=\"num\">Dropped<th class=\"num\">Lost<th class=\"num\">Marked\
         {headings}{paused}</tr></thead><tbody>",
    );
    for port in &ports {
        let _ = write!(
            plot,
            "<tr><th>{} → {}<td class=\"num\">{}",
            esc(&port.node),
            esc(&port.peer),
            gbps(port.rate.get() as f64 / 1e9)
        );
        let used = use_of(port);
        plot.push_str(&bar(used.unwrap_or(0.0), "use", &used.map_or("-".into(), percent)));
        plot.push_str(&bar(
            port.max_queue.get() as f64 / tallest,
            "queue",
            &bytes(port.max_queue.get()),
        ));
        let _ = write!(
            plot,
            "<td class=\"num\">{}<td class=\"num\">{}<td class=\"num\">{}",
            count(port.dropped_packets),
            count(port.lost_packets),
            count(port.marked_packets)
        );
        for (_, n) in port.shown().filter(|(heading, _)| others.contains(heading)) {
            let _ = write!(plot, "<td class=\"num\">{}", count(n));
        }
        if pauses {
            let _ = write!(plot, "<td class=\"num\">{}", micro(port.paused.as_secs_f64() * 1e6));
        }
        plot.push_str("</tr>");
    }
    plot.push_str("</tbody></table></div>");
    Some(Figure {
        id: "worst-ports".into(),
        title: "Ports to look at first".into(),
        plot,
        caption: "Switch ports with the most drops and losses, then the most trims and dropped credits, then the \
                  largest queue. Counts are sums over seeds. The queue is the largest of any seed. Utilisation is the \
                  mean."
            .into(),
    })
}
