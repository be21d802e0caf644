//! The fabric as a picture: switches in rows by their distance from hosts, every link in the colour of what it did.

use super::beside::picks;
use super::links::{mean_use, ramp, shade, shorten};
use super::{Figure, WIDE, micro};
use crate::columns::PortRow;
use crate::human::{bytes, count, percent};
use crate::rows::RunRecord;
use crate::svg::{Canvas, esc, px};
use std::collections::{BTreeMap, VecDeque};

/// Switches and links between switches in a picture at most; the map of utilisation has those of larger fabrics.
const MAX_SWITCHES: usize = 160;
const MAX_CABLES: usize = 1_700;
const MAX_HOSTS: usize = 10_000;

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
    /// Of each port; `None`: the link was dead all the time.
    values: Vec<Option<f64>>,
    /// What the darkest shade stands for.
    full: f64,
    text: fn(f64) -> String,
}

/// The picture, once for each measure of which there is anything; none of a fabric that is too large or has hosts without a switch.
pub(super) fn picture(runs: &[RunRecord]) -> Option<Figure> {
    let plan = Plan::of(runs.first()?)?;
    let measures = measures(runs);
    let drawn = |measure: &Measure| {
        let ends = format!("{} at most", (measure.text)(measure.full));
        let ramp = if measure.full == 1.0 { ramp("100 % of the link's rate") } else { ramp(&ends) };
        let svg = plan.draw(&runs[0], measure);
        (measure.name.to_string(), format!("{ramp}<div class=\"plot\">{svg}</div>"))
    };
    let parts: Vec<(String, String)> = measures.iter().map(drawn).collect();
    Some(Figure {
        id: "fabric".into(),
        title: "The fabric".into(),
        plot: picks("fabric", "Colour", &parts, 0),
        caption: "Each switch in a row by its distance from hosts; each cable is two lines, one for each direction, upwards on the \
                  left. A host is a cell below its switch: upper half, the link to it; lower half, the link from it. Utilisation \
                  is the mean over seeds, queues are the largest of any seed, counts and times are sums. Whole simulation, \
                  warm-up included; names and numbers under the pointer, and in ports.csv."
            .into(),
    })
}

/// Utilisation, and what else happened anywhere.
fn measures(runs: &[RunRecord]) -> Vec<Measure> {
    let over_runs = |of: fn(&PortRow) -> f64, join: fn(f64, f64) -> f64| -> Vec<Option<f64>> {
        (0..runs[0].ports.len())
            .map(|at| runs.iter().filter_map(|run| run.ports.get(at)).map(of).reduce(join))
            .collect()
    };
    let add = |a: f64, b: f64| a + b;
    let whole: fn(f64) -> String = |n| count(n as u64);
    let others = [
        Measure {
            name: "Largest queue",
            values: over_runs(|port| port.max_queue.get() as f64, f64::max),
            full: 0.0,
            text: |n| bytes(n as u64),
        },
        Measure {
            name: "Packets dropped or lost",
            values: over_runs(|port| (port.dropped_packets + port.lost_packets) as f64, add),
            full: 0.0,
            text: whole,
        },
        Measure {
            name: "Packets marked",
            values: over_runs(|port| port.marked_packets as f64, add),
            full: 0.0,
            text: whole,
        },
        Measure {
            name: "Packets trimmed",
            values: over_runs(|port| port.trimmed_packets as f64, add),
            full: 0.0,
            text: whole,
        },
        Measure {
            name: "Credits dropped",
            values: over_runs(|port| port.dropped_credits as f64, add),
            full: 0.0,
            text: whole,
        },
        Measure {
            name: "Time paused",
            values: over_runs(|port| port.paused.as_secs_f64() * 1e6, add),
            full: 0.0,
            text: micro,
        },
    ];
    let mut all =
        vec![Measure { name: "Utilisation", values: mean_use(runs), full: 1.0, text: percent }];
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
    /// Of switches and hosts, by name.
    spots: BTreeMap<String, Spot>,
    /// Switches from the top down, in canonical order.
    switches: Vec<String>,
    hosts: usize,
    height: f64,
}

impl Plan {
    fn of(run: &RunRecord) -> Option<Self> {
        let mut distance: BTreeMap<&str, usize> =
            run.hosts.iter().map(|host| (host.as_str(), 0)).collect();
        let hosts = distance.len();
        let mut peers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for port in &run.ports {
            peers.entry(&port.node).or_default().push(&port.peer);
        }
        let mut next: VecDeque<&str> = run.hosts.iter().map(String::as_str).collect();
        while let Some(node) = next.pop_front() {
            let far = distance[node] + 1;
            for peer in peers.get(node).into_iter().flatten() {
                if !distance.contains_key(peer) {
                    distance.insert(peer, far);
                    next.push_back(peer);
                }
            }
        }
        // Rows from the bottom up, each in the order in which ports name its switches.
        let mut rows: Vec<Vec<&str>> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for name in run.ports.iter().map(|port| port.node.as_str()) {
            let far = *distance.get(name)?;
            if far == 0 || !seen.insert(name) {
                continue;
            }
            rows.resize(rows.len().max(far), Vec::new());
            rows[far - 1].push(name);
        }
        let cables = run
            .ports
            .iter()
            .filter(|port| distance[port.node.as_str()] > 0 && distance[port.peer.as_str()] > 0);
        if rows.is_empty()
            || rows.iter().any(Vec::is_empty)
            || seen.len() > MAX_SWITCHES
            || hosts > MAX_HOSTS
            || cables.count() > MAX_CABLES
        {
            return None;
        }
        let mut plan = Self { spots: BTreeMap::new(), switches: Vec::new(), hosts, height: 0.0 };
        let bottom = rows.len() as f64 * ROW - ROW + SWITCH + 1.0;
        for (up, row) in rows.iter().enumerate().rev() {
            let each = WIDE / row.len() as f64;
            for (at, name) in row.iter().enumerate() {
                let spot = Spot {
                    x: (at as f64 + 0.5) * each,
                    y: bottom - up as f64 * ROW - SWITCH / 2.0,
                    width: (each * 0.8).min(130.0),
                    height: SWITCH,
                };
                plan.spots.insert((*name).into(), spot);
                plan.switches.push((*name).into());
            }
        }
        plan.place_hosts(run, &distance, WIDE / rows[0].len() as f64, bottom)?;
        Some(plan)
    }

    /// Hosts in a block below the first switch that each is connected to.
    fn place_hosts(
        &mut self,
        run: &RunRecord,
        distance: &BTreeMap<&str, usize>,
        room: f64,
        bottom: f64,
    ) -> Option<()> {
        let mut below: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut placed = std::collections::BTreeSet::new();
        for port in run.ports.iter().filter(|port| distance[port.node.as_str()] == 0) {
            if placed.insert(port.node.as_str()) {
                // A host whose first cable leads to a host has no place in rows of switches.
                (*distance.get(port.peer.as_str())? > 0).then_some(())?;
                below.entry(&port.peer).or_default().push(&port.node);
            }
        }
        let most = below.values().map(Vec::len).max()?;
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
                let spot = Spot {
                    x: left + (column as f64 + 0.5) * side,
                    y: top + (row as f64 + 0.5) * side,
                    width: side,
                    height: side,
                };
                self.spots.insert((*host).into(), spot);
            }
        }
        self.height = top + most.div_ceil(columns) as f64 * side + 4.0;
        Some(())
    }

    fn draw(&self, run: &RunRecord, measure: &Measure) -> String {
        let mut canvas = Canvas::default();
        let (mut cells, mut cables) = (Canvas::default(), Vec::new());
        let hosts: std::collections::BTreeSet<&str> =
            run.hosts.iter().map(String::as_str).collect();
        for (port, value) in run.ports.iter().zip(&measure.values) {
            let (from, to) = (self.spots[&port.node], self.spots[&port.peer]);
            let part = value.map_or(0.0, |value| value / measure.full);
            let said = value.map_or("dead".into(), measure.text);
            let title = format!("{} → {}: {said}", port.node, port.peer);
            let ends = (hosts.contains(port.node.as_str()), hosts.contains(port.peer.as_str()));
            match ends {
                (false, false) => cables.push((part, from, to, title)),
                (from_host, _) => {
                    cell(&mut cells, if from_host { from } else { to }, from_host, part, &title)
                }
            }
        }
        // What stands out lies on top.
        cables.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (part, from, to, title) in cables {
            cable(&mut canvas, from, to, part, &title);
        }
        canvas.add(&cells);
        for name in &self.switches {
            let spot = self.spots[name];
            let corner = (spot.x - spot.width / 2.0, spot.y - spot.height / 2.0);
            canvas.rect(corner, (spot.width, spot.height), "surface", name);
            canvas.text((spot.x, spot.y + 4.0), "mid cell", &fitting(name, spot.width));
        }
        let about = format!(
            "{} switches, {} hosts: {}",
            self.switches.len(),
            self.hosts,
            esc(measure.name)
        );
        canvas.inline(WIDE, self.height, &about)
    }
}

/// One half of a host's cell.
fn cell(canvas: &mut Canvas, at: Spot, from_host: bool, part: f64, title: &str) {
    let gap = if at.width >= 6.0 { 1.0 } else { 0.2 };
    let tall = (at.height - gap) / 2.0;
    let top = at.y - at.height / 2.0 + if from_host { tall } else { 0.0 };
    canvas.rect((at.x - at.width / 2.0, top), (at.width - gap, tall), shade(part), title);
}

/// A switch's name, or its indices alone where the name finds no room: `pod[1].edge[2]` is `1.2`.
fn fitting(name: &str, width: f64) -> String {
    let room = (width / LETTER) as usize;
    if name.chars().count() <= room {
        return name.into();
    }
    let parts = name.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let indices = parts.collect::<Vec<_>>().join(".");
    if indices.is_empty() { shorten(name, room) } else { shorten(&indices, room) }
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
    fn hosts_without_a_switch_and_fabrics_too_large_have_none() {
        assert!(picture(&[run(&["a", "b"], &[("a", "b")])]).is_none());
        assert!(picture(&[RunRecord::default()]).is_none());
        let names: Vec<String> = (0..=MAX_SWITCHES).map(|n| format!("s{n}")).collect();
        let cables: Vec<_> =
            names.windows(2).map(|two| (two[0].as_str(), two[1].as_str())).collect();
        let mut all = vec![("h", "s0")];
        all.extend(cables);
        assert!(picture(&[run(&["h"], &all)]).is_none());
    }
}
