//! The fabric as a picture: switches in rows by their distance from hosts, every link in the colour of what it did, over the whole run or,
//! by a slider, in each of its intervals. Of a large fabric the picture is one of groups ([`crate::bundles`]).

mod over_time;

use super::beside::picks;
use super::links::{mean_use, ramp, shade, shorten};
use super::{Figure, WIDE, micro};
use crate::bundles::Bundles;
use crate::human::{bytes, count, percent};
use crate::rows::PortRow;
use crate::rows::RunRecord;
use crate::svg::{Canvas, esc, px};
use std::collections::BTreeMap;

pub(super) const SCRIPT: &str = include_str!("fabric/fabric.js");

/// Height between two rows of switches, and of a switch.
const ROW: f64 = 96.0;
const SWITCH: f64 = 22.0;
/// Side of the cell of a host at most, and what it shrinks to before hosts take one more row.
const HOST: f64 = 15.0;
const LEAST_HOST: f64 = 9.5;
/// Width of a letter in a switch.
const LETTER: f64 = 6.4;
/// Half the width of a link in one direction, and how far it is from the middle of its cable.
const HALF: f64 = 1.3;
const APART: f64 = 1.7;

/// What colours a link.
struct Measure {
    name: &'static str,
    /// Of each bundle; `None`: the links were dead all the time.
    values: Vec<Option<f64>>,
    /// What the darkest shade stands for.
    full: f64,
    text: fn(f64) -> String,
    /// The measure in each interval.
    over_time: over_time::RowContent,
}

impl Measure {
    /// What a bundle's value is of the darkest shade.
    fn part(&self, bundle: usize) -> f64 {
        self.values[bundle].map_or(0.0, |value| value / self.full)
    }
}

/// The picture, once for each measure of which there is anything; none of a fabric that has hosts without a switch or is too large even in groups.
pub(super) fn picture(runs: &[RunRecord]) -> Option<Figure> {
    let run = runs.first()?;
    let bundles = bundles(run)?;
    let plan = Plan::of(&bundles, run.hosts.len());
    let measures = measures(runs, &bundles);
    let drawn = |measure: &Measure| {
        let ends = format!("{} at most", (measure.text)(measure.full));
        let ramp = if measure.full == 1.0 { ramp(OF_RATE) } else { ramp(&ends) };
        let svg = plan.draw(&bundles, measure);
        (measure.name.to_string(), format!("{ramp}<div class=\"plot\">{svg}</div>"))
    };
    let parts: Vec<(String, String)> = measures.iter().map(drawn).collect();
    let times = over_time::controls(runs, &plan, &bundles, &measures);
    let mut caption = String::from(
        "Rows of switches by distance from hosts. Each cable is two lines: upwards on the left, downwards on the \
         right. A host is a cell below its switch: the upper half is the link to the host, the lower half the link \
         from the host. ",
    );
    if bundles.all.iter().any(|bundle| bundle.links > 1) {
        caption += "Links between two groups of nodes are merged: mean utilisation, longest queue, sums of the other values. ";
    }
    caption += "Values are for the whole run, warm-up included: mean utilisation over seeds, largest queue of any \
                seed, sums of counts and times. Point at a link for its name and numbers. ports.csv has all of them.";
    if let Some((_, about)) = &times {
        caption += about;
    }
    Some(Figure {
        id: "fabric".into(),
        title: "The fabric".into(),
        plot: times.map_or(String::new(), |(html, _)| html) + &picks("fabric", "Colour", &parts, 0),
        caption,
    })
}

const OF_RATE: &str = "100 % of the link's rate";

fn bundles(run: &RunRecord) -> Option<Bundles> {
    let mut names: Vec<&str> = run.hosts.iter().map(String::as_str).collect();
    let mut index: BTreeMap<&str, u32> = (0..).zip(&names).map(|(at, name)| (*name, at)).collect();
    for port in &run.ports {
        index.entry(&port.node).or_insert_with(|| {
            names.push(&port.node);
            names.len() as u32 - 1
        });
    }
    let ends =
        |port: &PortRow| Some((*index.get(port.node.as_str())?, *index.get(port.peer.as_str())?));
    let ports: Vec<(u32, u32)> = run.ports.iter().map(ends).collect::<Option<_>>()?;
    Bundles::of(&names, run.hosts.len(), &ports)
}

/// Utilisation, and what else happened anywhere.
fn measures(runs: &[RunRecord], bundles: &Bundles) -> Vec<Measure> {
    use over_time::RowContent;
    let over_runs = |of: fn(&PortRow) -> f64, join: fn(f64, f64) -> f64| -> Vec<Option<f64>> {
        let mut all = vec![None; bundles.all.len()];
        for run in runs {
            for (port, bundle) in run.ports.iter().zip(&bundles.of_port) {
                let one: &mut Option<f64> = &mut all[*bundle as usize];
                *one = Some(one.map_or(of(port), |other| join(other, of(port))));
            }
        }
        all
    };
    let add = |a: f64, b: f64| a + b;
    let whole: fn(f64) -> String = |n| count(n as u64);
    let others = [
        Measure {
            name: "Largest queue",
            values: over_runs(|port| port.max_queue.get() as f64, f64::max),
            full: 0.0,
            text: |n| bytes(n as u64),
            over_time: RowContent::Queue,
        },
        Measure {
            name: "Packets dropped or lost",
            values: over_runs(|port| (port.dropped_packets + port.lost_packets) as f64, add),
            full: 0.0,
            text: whole,
            over_time: RowContent::Dropped,
        },
        Measure {
            name: "Packets marked",
            values: over_runs(|port| port.marked_packets as f64, add),
            full: 0.0,
            text: whole,
            over_time: RowContent::Marked,
        },
        Measure {
            name: "Packets trimmed",
            values: over_runs(|port| port.trimmed_packets as f64, add),
            full: 0.0,
            text: whole,
            over_time: RowContent::Trimmed,
        },
        Measure {
            name: "Credits dropped",
            values: over_runs(|port| port.dropped_credits as f64, add),
            full: 0.0,
            text: whole,
            over_time: RowContent::Credits,
        },
        Measure {
            name: "Time paused",
            values: over_runs(|port| port.paused.as_secs_f64() * 1e6, add),
            full: 0.0,
            text: micro,
            over_time: RowContent::Paused,
        },
    ];
    let mut sums = vec![(0.0, 0_u32); bundles.all.len()];
    for (used, bundle) in mean_use(runs).into_iter().zip(&bundles.of_port) {
        if let Some(used) = used {
            let (sum, links) = &mut sums[*bundle as usize];
            (*sum, *links) = (*sum + used, *links + 1);
        }
    }
    let mean = |(sum, links): (f64, u32)| (links > 0).then(|| sum / f64::from(links));
    let mut all = vec![Measure {
        name: "Utilisation",
        values: sums.into_iter().map(mean).collect(),
        full: 1.0,
        text: percent,
        over_time: RowContent::Busy,
    }];
    all.extend(others.into_iter().filter_map(|measure| {
        let full = measure.values.iter().flatten().copied().fold(0.0, f64::max);
        (full > 0.0).then_some(Measure { full, ..measure })
    }));
    all
}

/// A box: its middle, and its size.
#[derive(Clone, Copy)]
struct Spot {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// Where everything is.
struct Plan {
    /// Of each group.
    spots: Vec<Spot>,
    /// Groups of switches from the top down, in canonical order.
    switches: Vec<usize>,
    hosts: usize,
    height: f64,
}

impl Plan {
    fn of(bundles: &Bundles, hosts: usize) -> Self {
        let groups = &bundles.groups;
        let up = groups.iter().map(|group| group.row).max().unwrap_or(1);
        let none = Spot { x: 0.0, y: 0.0, width: 0.0, height: 0.0 };
        let mut plan =
            Self { spots: vec![none; groups.len()], switches: Vec::new(), hosts, height: 0.0 };
        let bottom = up as f64 * ROW - ROW + SWITCH + 1.0;
        for row in (1..=up).rev() {
            let here: Vec<usize> = (0..groups.len()).filter(|at| groups[*at].row == row).collect();
            let each = WIDE / here.len() as f64;
            for (at, group) in here.iter().enumerate() {
                plan.spots[*group] = Spot {
                    x: (at as f64 + 0.5) * each,
                    y: bottom - (row - 1) as f64 * ROW - SWITCH / 2.0,
                    width: (each * 0.8).min(130.0),
                    height: SWITCH,
                };
            }
            plan.switches.extend(here);
        }
        let lowest = groups.iter().filter(|group| group.row == 1).count();
        plan.place_hosts(bundles, WIDE / lowest as f64, bottom);
        plan
    }

    /// Hosts in a block below the first switch that each is connected to.
    fn place_hosts(&mut self, bundles: &Bundles, room: f64, bottom: f64) {
        let mut below: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut placed = vec![false; bundles.groups.len()];
        for bundle in bundles.all.iter().filter(|bundle| bundles.groups[bundle.from].row == 0) {
            if !std::mem::replace(&mut placed[bundle.from], true) {
                below.entry(bundle.to).or_default().push(bundle.from);
            }
        }
        let most = below.values().map(Vec::len).max().unwrap_or(1);
        let wide = room * 0.88;
        let rows = most.div_ceil(((wide / LEAST_HOST) as usize).max(1));
        let columns = most.div_ceil(rows);
        let side = (wide / columns as f64).min(HOST);
        let top = bottom + 14.0;
        for (switch, hosts) in &below {
            let columns = columns.min(hosts.len());
            let left = self.spots[*switch].x - columns as f64 * side / 2.0;
            for (at, host) in hosts.iter().enumerate() {
                let (row, column) = (at / columns, at % columns);
                self.spots[*host] = Spot {
                    x: left + (column as f64 + 0.5) * side,
                    y: top + (row as f64 + 0.5) * side,
                    width: side,
                    height: side,
                };
            }
        }
        self.height = top + most.div_ceil(columns) as f64 * side + 4.0;
    }

    /// Bundles in the order in which they are drawn: cables, what stands out on top, then cells of hosts. Those within one group have no place.
    fn order(&self, bundles: &Bundles, measure: &Measure) -> Vec<usize> {
        let drawn = |at: &usize| bundles.all[*at].from != bundles.all[*at].to;
        let of_host = |at: &usize| {
            let bundle = &bundles.all[*at];
            bundles.groups[bundle.from].row == 0 || bundles.groups[bundle.to].row == 0
        };
        let (cells, mut cables): (Vec<usize>, Vec<usize>) =
            (0..bundles.all.len()).filter(drawn).partition(of_host);
        cables.sort_by(|a, b| measure.part(*a).total_cmp(&measure.part(*b)));
        cables.into_iter().chain(cells).collect()
    }

    fn draw(&self, bundles: &Bundles, measure: &Measure) -> String {
        let mut canvas = Canvas::default();
        let groups = &bundles.groups;
        for at in self.order(bundles, measure) {
            let bundle = &bundles.all[at];
            let said = measure.values[at].map_or("dead".into(), measure.text);
            let title = format!("{}: {said}", named(bundles, at));
            let (from, to) = (self.spots[bundle.from], self.spots[bundle.to]);
            match (groups[bundle.from].row, groups[bundle.to].row) {
                (0, _) => cell(&mut canvas, from, true, measure.part(at), &title),
                (_, 0) => cell(&mut canvas, to, false, measure.part(at), &title),
                _ => cable(&mut canvas, from, to, measure.part(at), &title),
            }
        }
        for group in &self.switches {
            let (spot, name) = (self.spots[*group], &groups[*group].name);
            let corner = (spot.x - spot.width / 2.0, spot.y - spot.height / 2.0);
            canvas.rect(corner, (spot.width, spot.height), "surface", name);
            canvas.text((spot.x, spot.y + 4.0), "mid cell", &fitting(name, spot.width));
        }
        let kind = if groups.iter().any(|group| group.name.contains("..")) {
            "groups of switches"
        } else {
            "switches"
        };
        let about =
            format!("{} {kind}, {} hosts: {}", self.switches.len(), self.hosts, esc(measure.name));
        canvas.inline(WIDE, self.height, &about)
    }
}

/// `leaf[0] → spine[1]`, and how many links that is if there are several.
fn named(bundles: &Bundles, at: usize) -> String {
    let bundle = &bundles.all[at];
    let [from, to] = [bundle.from, bundle.to].map(|group| &bundles.groups[group].name);
    let links = if bundle.links > 1 { format!(" ({} links)", bundle.links) } else { String::new() };
    format!("{from} → {to}{links}")
}

/// One half of a host's cell.
fn cell(canvas: &mut Canvas, at: Spot, from_host: bool, part: f64, title: &str) {
    let gap = if at.width >= 6.0 { 1.0 } else { 0.2 };
    let tall = (at.height - gap) / 2.0;
    let top = at.y - at.height / 2.0 + if from_host { tall } else { 0.0 };
    canvas.rect((at.x - at.width / 2.0, top), (at.width - gap, tall), shade(part), title);
}

/// A switch's name, or its indices alone where the name finds no room: `pod[1].edge[2]` is `1.2`, and `pod[1].edge[0..7]` is `1`.
fn fitting(name: &str, width: f64) -> String {
    let room = (width / LETTER) as usize;
    if name.chars().count() <= room {
        return name.into();
    }
    let index = |c: char| !c.is_ascii_digit() && c != '.';
    let mut indices: Vec<&str> = name
        .split(index)
        .map(|part| part.trim_matches('.'))
        .filter(|part| !part.is_empty())
        .collect();
    if indices.len() > 1 {
        indices.pop_if(|last| last.contains(".."));
    }
    let indices = indices.join(".");
    if indices.is_empty() {
        shorten(name, room)
    } else {
        shorten(&indices.replace("..", "-"), room)
    }
}

/// One direction of a cable: a thin area beside its middle, on the left of who goes upwards. Between switches of one row it hangs below them.
fn cable(canvas: &mut Canvas, from: Spot, to: Spot, part: f64, title: &str) {
    let up = to.y < from.y || (to.y == from.y && to.x > from.x);
    let shape = if from.y == to.y {
        let (inner, middle) = (if up { 40.0 } else { 46.0 }, (from.x + to.x) / 2.0);
        let low = |more: f64| px(from.y + inner + more);
        let [x, y, to_x, middle] = [from.x, from.y, to.x, middle].map(px);
        format!("M{x} {y}Q{middle} {} {to_x} {y}Q{middle} {} {x} {y}Z", low(0.0), low(4.0))
    } else {
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        let length = dx.hypot(dy);
        // Across the cable, towards the left of the picture if it goes upwards.
        let across = (dy / length, -dx / length);
        let across = if up == (across.0 < 0.0) { across } else { (-across.0, -across.1) };
        let corner = |spot: Spot, by: f64| {
            format!("{} {}", px2(spot.x + across.0 * by), px2(spot.y + across.1 * by))
        };
        let [a, b] = [APART - HALF, APART + HALF];
        format!("M{}L{}L{}L{}Z", corner(from, a), corner(to, a), corner(to, b), corner(from, b))
    };
    canvas.shape(&shape, shade(part), title);
}

/// A length in pixels with two decimals: one would bend lines that are two pixels wide.
fn px2(value: f64) -> String {
    format!("{value:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::{BitsPerSec, Bytes, Span, Time};

    fn run(hosts: &[&str], cables: &[(&str, &str)]) -> RunRecord {
        let port = |node: &str, peer: &str| PortRow {
            node: node.into(),
            peer: peer.into(),
            rate: BitsPerSec::new(100_000_000_000),
            busy: Some(Span::from_ps(500)),
            ..PortRow::default()
        };
        RunRecord {
            hosts: hosts.iter().map(|host| (*host).into()).collect(),
            ports: cables.iter().flat_map(|(a, b)| [port(a, b), port(b, a)]).collect(),
            end: Time::from_ps(1000),
            ..RunRecord::default()
        }
    }

    #[test]
    fn every_direction_of_every_link_is_drawn_once() {
        let mut run = run(
            &["h0", "h1", "h2"],
            &[("h0", "l0"), ("h1", "l0"), ("h2", "l1"), ("l0", "s0"), ("l1", "s0"), ("l0", "l1")],
        );
        run.ports[6].max_queue = Bytes::new(77_000);
        let plot = picture(std::slice::from_ref(&run)).unwrap().plot;
        for port in &run.ports {
            let title = format!("<title>{} → {}: {}</title>", port.node, port.peer, percent(0.5));
            assert_eq!(plot.matches(&title).count(), 1, "{title}");
        }
        assert!(plot.contains("l0 → s0: 77 KB") && plot.contains("77 KB at most"));
        assert!(!plot.contains("Time paused"), "nothing was paused");
    }

    #[test]
    fn hosts_without_a_switch_and_fabrics_too_deep_have_none() {
        assert!(picture(&[run(&["a", "b"], &[("a", "b")])]).is_none());
        assert!(picture(&[RunRecord::default()]).is_none());
        let names: Vec<String> = (0..=160).map(|n| format!("s{n}")).collect();
        let cables: Vec<_> =
            names.windows(2).map(|two| (two[0].as_str(), two[1].as_str())).collect();
        let mut all = vec![("h", "s0")];
        all.extend(cables);
        assert!(picture(&[run(&["h"], &all)]).is_none());
    }

    #[test]
    fn names_that_find_no_room_are_indices() {
        let names = ["leaf[7]", "pod[1].edge[2]", "pod[3].edge[0..7]", "core[4..7]", "spine"];
        let fit = names.map(|name| fitting(name, 30.0));
        assert_eq!(fit, ["7", "1.2", "3", "4-7", "…ine"]);
    }
}
