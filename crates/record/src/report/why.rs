//! Where completion times went, of flows that somebody asked about: bars of parts by size class, flow by flow, ports that cost most, and
//! flows that stood ahead.
//!
//! Each bar opens to the table of its parts, without a script.

use super::{micro, pretty};
use crate::about::About;
use crate::human::{bytes, count, counted, percent, sig3};
use crate::rows::{FlowRow, RunRecord};
use crate::summary::{class_bounds, class_name, in_class, measured};
use crate::svg::{esc, px};
use crate::tiers::kind;
use crate::why::{By, Family, Line, Part, Repair, WhyRow, is_explained, lines, sentence};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Flows one by one.
const FLOWS: usize = 12;

/// Ports, and flows that stood ahead.
const WORST: usize = 8;

/// With so many explained flows of a class that are all of it, the slowest 1 % have a bar beside them.
const MANY: usize = 100;

/// Percent of a row below which a segment has no text.
const TOLD: f64 = 11.0;

/// A flow that is explained.
#[derive(Clone, Copy)]
struct Of<'a> {
    run: &'a RunRecord,
    flow: &'a FlowRow,
    rows: &'a [WhyRow],
}

impl Of<'_> {
    fn slowdown(&self) -> f64 {
        self.flow.slowdown().unwrap_or(0.0)
    }
}

/// The section; none where nobody asked.
pub(super) fn section(about: &About, runs: &[RunRecord]) -> Option<String> {
    let explained = explained(runs);
    if explained.is_empty() {
        return None;
    }
    let classes = classes(about, runs, &explained);
    let worst = classes.iter().map(|class| class.stretch()).fold(1.0, f64::max);
    let bars = Bars::of(explained[0].run);
    let mut html = String::from("<section id=\"why\"><h2>Where completion times went</h2>");
    let headline = classes.iter().max_by(|a, b| a.stretch().total_cmp(&b.stretch()));
    if let Some(class) = headline {
        let rows: Vec<&WhyRow> = class.flows.iter().flat_map(|of| of.rows).collect();
        let name = pretty(&class.name);
        let who = match (class.slowest, &class.flows[..]) {
            (true, [of]) => format!("Flow {}, the slowest of {name}", of.flow.flow),
            (true, _) => format!("Slowest of {name}"),
            (false, _) => name,
        };
        let _ = write!(
            html,
            "<p class=\"answer\">{}</p>",
            esc(&pretty(&sentence(&who, &rows, class.flows[0].run)).replace(" us", " µs"))
        );
    }
    html.push_str(&bars.legend(&explained));
    html.push_str("<h3>By flow size: mean FCT, as a multiple of the ideal</h3>");
    for class in &classes {
        let open = headline.is_some_and(|of| std::ptr::eq(of, class));
        html.push_str(&bars.class(class, class.stretch() / worst, open));
    }
    html.push_str("<h3>Slowest flows: share of the FCT</h3>");
    let mut slowest = explained.clone();
    slowest.sort_by(|a, b| b.slowdown().total_cmp(&a.slowdown()));
    for of in slowest.iter().take(FLOWS) {
        html.push_str(&bars.flow(of, runs.len() > 1));
    }
    html.push_str("<div class=\"pair\">");
    html.push_str(&bars.ports(&explained));
    html.push_str(&ahead(&explained));
    html.push_str("</div>");
    let complete: usize =
        runs.iter().flat_map(|run| &run.flows).filter(|flow| is_explained(flow)).count();
    let _ = write!(
        html,
        "<p class=\"caption\">{} of {} complete flows are explained. The parts of a flow lie on the chain of packets and answers that ended last, and \
         add up to its FCT to the picosecond. Click a bar for its parts. Queueing behind a flow is the time in which the port sent that flow's packets \
         while one of the chain waited. Rows of all explained flows are in why.csv; what each part means: docs/why.md.</p></section>",
        count(explained.len() as u64),
        count(complete as u64)
    );
    Some(html)
}

fn explained(runs: &[RunRecord]) -> Vec<Of<'_>> {
    let all = runs
        .iter()
        .flat_map(|run| run.why.chunk_by(|a, b| a.flow == b.flow).map(move |rows| (run, rows)));
    let of = |(run, rows): (&'_ RunRecord, &'_ [WhyRow])| {
        run.flows.binary_search_by_key(&rows[0].flow, |flow| flow.flow).ok()
    };
    all.filter_map(|(run, rows)| of((run, rows)).map(|at| Of { run, flow: &run.flows[at], rows }))
        .collect()
}

/// Flows of one bar.
struct Class<'a> {
    name: String,
    which: String,
    slowest: bool, // and there are others
    flows: Vec<Of<'a>>,
}

impl Class<'_> {
    /// FCT in units of the ideal, of all flows together.
    fn stretch(&self) -> f64 {
        let sum = |ps: fn(&FlowRow) -> u64| {
            self.flows.iter().map(|of| u128::from(ps(of.flow))).sum::<u128>()
        };
        sum(|flow| flow.fct().map_or(0, |fct| fct.as_ps())) as f64
            / sum(|flow| flow.ideal.as_ps()).max(1) as f64
    }
}

/// Size classes with explained flows; of those that are explained as a whole the slowest 1 % too.
fn classes<'a>(about: &About, runs: &[RunRecord], explained: &[Of<'a>]) -> Vec<Class<'a>> {
    let mut classes = Vec::new();
    for bounds in class_bounds(about) {
        let mut flows: Vec<Of<'a>> =
            explained.iter().filter(|of| in_class(of.flow.size, bounds)).copied().collect();
        if flows.is_empty() {
            continue;
        }
        let there = |flow: &&FlowRow| {
            is_explained(flow) && measured(flow, about.warmup) && in_class(flow.size, bounds)
        };
        let all = runs.iter().flat_map(|run| &run.flows).filter(there).count();
        let name = class_name(bounds);
        let whole = flows.len() >= all;
        let which = match whole {
            true => format!("all {}", counted(flows.len(), "flow")),
            false => format!("{} of {}", count(flows.len() as u64), counted(all, "flow")),
        };
        if whole && flows.len() >= MANY {
            flows.sort_by(|a, b| b.slowdown().total_cmp(&a.slowdown()));
            let slowest = flows[..flows.len().div_ceil(100)].to_vec();
            let which = format!("slowest 1 %, {}", counted(slowest.len(), "flow"));
            classes.push(Class { name: name.clone(), which, slowest: true, flows: slowest });
        }
        classes.push(Class { name, which, slowest: !whole, flows });
    }
    classes
}

/// Draws bars.
struct Bars {
    hosts: BTreeSet<String>, // kinds of host
    edge: BTreeSet<String>,  // kinds of node that hosts are connected to
}

impl Bars {
    fn of(run: &RunRecord) -> Self {
        let hosts: BTreeSet<String> = run.hosts.iter().map(|host| kind(host)).collect();
        let peers = run.ports.iter().filter(|port| hosts.contains(&kind(&port.node)));
        let edge = peers.map(|port| kind(&port.peer)).collect();
        Self { hosts, edge }
    }

    /// Class of a part's colour: a letter for its family, and a number that grows towards the receiver.
    fn colour(&self, part: Part, place: &str) -> String {
        let step = match part {
            Part::Application | Part::Unexplained => return "wg".into(),
            Part::Serialization | Part::Propagation => return "wa".into(),
            Part::Nic | Part::Ring | Part::Iio => 1,
            Part::Window | Part::ReceiveWindow | Part::Credit | Part::Memory | Part::NicBuffer => 2,
            Part::Pacing | Part::Copy | Part::Service | Part::Pcie => 3,
            Part::Queue => self.step(place).max(1),
            Part::Pause => self.step(place) + 1,
            Part::Repair(Repair::Fast | Repair::Nack | Repair::Request) => 1,
            Part::Repair(Repair::Probe) => 2,
            Part::Repair(Repair::Timeout) => 3,
        };
        let family = match part.family() {
            Family::Path => 'a',
            Family::Sender => 'b',
            Family::Queues => 'c',
            Family::Pauses => 'd',
            Family::Repair => 'e',
            Family::Host => 'f',
        };
        format!("w{family}{step}")
    }

    /// Where on a way a port or a tier is: near the sender, within the fabric, at the receiver.
    fn step(&self, place: &str) -> usize {
        let Some((from, to)) = place.split_once(" -> ") else { return 2 };
        match (kind(from), kind(to)) {
            (_, to) if self.hosts.contains(&to) => 3,
            (from, _) if self.hosts.contains(&from) => 0,
            (from, _) if self.edge.contains(&from) => 1,
            _ => 2,
        }
    }

    /// Lines in the order of bars: along the way.
    fn ordered(&self, mut lines: Vec<Line>) -> Vec<Line> {
        let key =
            |line: &Line| (line.part.family(), self.colour(line.part, &line.place), line.part);
        lines.sort_by_key(key);
        lines
    }

    fn legend(&self, explained: &[Of<'_>]) -> String {
        let lines = lines(explained.iter().flat_map(|of| of.rows), By::Tier);
        let mut html = String::from("<div class=\"legend\">");
        let mut path = false;
        for line in self.ordered(lines) {
            let sending = line.part.family() == Family::Path;
            if sending && std::mem::replace(&mut path, true) {
                continue;
            }
            let words = if sending { "sending and propagation".into() } else { name(&line) };
            let colour = self.colour(line.part, &line.place);
            let _ = write!(html, "<span><i class=\"chip-of {colour}\"></i>{}</span>", esc(&words));
        }
        html + "</div>"
    }

    /// A bar of `width`, a share of the row.
    fn stack(&self, lines: &[Line], width: f64) -> String {
        let sum = lines.iter().map(|line| line.ps).sum::<u128>().max(1) as f64;
        let mut html = String::from("<span class=\"stack\">");
        let mut shown: Vec<(String, String, u128)> = Vec::new(); // colour, words, ps
        for line in lines {
            let colour = self.colour(line.part, &line.place);
            let words = if line.part.family() == Family::Path {
                "sending and propagation".into()
            } else {
                name(line)
            };
            match shown.last_mut() {
                Some(last) if last.0 == colour && last.1 == words => last.2 += line.ps,
                _ => shown.push((colour, words, line.ps)),
            }
        }
        for (colour, words, ps) in shown {
            let share = ps as f64 / sum;
            let wide = share * width * 100.0;
            let told = if wide >= TOLD { percent(share) } else { String::new() };
            let _ = write!(
                html,
                "<i class=\"{colour}\" style=\"width:{}%\" title=\"{}: {}\">{told}</i>",
                px(wide),
                esc(&words),
                percent(share)
            );
        }
        html + "</span>"
    }

    fn class(&self, class: &Class<'_>, width: f64, open: bool) -> String {
        let rows: Vec<&WhyRow> = class.flows.iter().flat_map(|of| of.rows).collect();
        let lines = self.ordered(lines(rows.iter().copied(), By::Tier));
        let sum: u128 = lines.iter().map(|line| line.ps).sum();
        let mean = micro(sum as f64 / 1e6 / class.flows.len() as f64);
        let times = format!("{}× ideal", sig3(class.stretch()));
        let row = Row { who: pretty(&class.name), of: class.which.clone(), sum: mean, times };
        let table = table(self, class.flows[0].run, &lines, class.flows.len());
        row.html(&self.stack(&lines, width), &table, open)
    }

    fn flow(&self, of: &Of<'_>, seeds: bool) -> String {
        let lines = self.ordered(lines(of.rows, By::Port));
        let host = |at: u32| of.run.hosts.get(at as usize).map_or("?", String::as_str);
        let seed = if seeds { format!(", seed {}", of.run.seed) } else { String::new() };
        let row = Row {
            who: format!("Flow {}, {}{seed}", of.flow.flow, bytes(of.flow.size.get())),
            of: format!("{} → {}", host(of.flow.src), host(of.flow.dst)),
            sum: micro(of.flow.fct().map_or(0.0, |fct| fct.as_ps() as f64 / 1e6)),
            times: format!("{}× ideal", sig3(of.slowdown())),
        };
        row.html(&self.stack(&lines, 1.0), &table(self, of.run, &lines, 1), false)
    }

    /// Ports that cost most, all explained flows together.
    fn ports(&self, explained: &[Of<'_>]) -> String {
        let lines = lines(
            explained.iter().flat_map(|of| of.rows).filter(|row| !row.port.is_empty()),
            By::Port,
        );
        let mut ports: BTreeMap<String, Vec<Line>> = BTreeMap::new();
        for line in lines {
            ports.entry(line.place.clone()).or_default().push(line);
        }
        let sum = |lines: &[Line]| lines.iter().map(|line| line.ps).sum::<u128>();
        let mut ports: Vec<(String, Vec<Line>)> = ports.into_iter().collect();
        ports.sort_by_key(|(_, lines)| std::cmp::Reverse(sum(lines)));
        let most = ports.first().map_or(1, |(_, lines)| sum(lines)).max(1) as f64;
        let mut html = String::from("<div><h3>Ports that cost most, all these flows</h3>");
        if ports.is_empty() {
            html.push_str("<p class=\"caption\">No flow waited at a port.</p>");
        }
        for (port, lines) in ports.into_iter().take(WORST) {
            let all = sum(&lines);
            let row = Row {
                who: pretty(&port),
                of: String::new(),
                sum: micro(all as f64 / 1e6),
                times: String::new(),
            };
            html.push_str(&row.line(&self.stack(&self.ordered(lines), all as f64 / most)));
        }
        html + "</div>"
    }
}

/// How long a flow stood ahead of others.
#[derive(Default)]
struct Ahead<'a> {
    ps: u128,
    ports: BTreeSet<&'a str>,
    held: BTreeSet<u32>,
}

/// Flows whose packets stood ahead of others', by the time that they took.
fn ahead(explained: &[Of<'_>]) -> String {
    let mut ahead: BTreeMap<(u64, u32), Ahead<'_>> = BTreeMap::new(); // by seed and flow
    let mut runs: BTreeMap<u64, &RunRecord> = BTreeMap::new();
    for of in explained {
        runs.insert(of.run.seed, of.run);
        for row in of.rows {
            let Some(other) = row.behind.filter(|other| *other != row.flow) else { continue };
            let of = ahead.entry((of.run.seed, other)).or_default();
            of.ps += u128::from(row.span.as_ps());
            of.ports.insert(&row.port);
            of.held.insert(row.flow);
        }
    }
    let mut ahead: Vec<_> = ahead.into_iter().collect();
    ahead.sort_by_key(|(_, of)| std::cmp::Reverse(of.ps));
    let most = ahead.first().map_or(1, |(_, of)| of.ps).max(1) as f64;
    let mut html = String::from("<div><h3>Flows ahead of them, by the time of their packets</h3>");
    if ahead.is_empty() {
        html.push_str("<p class=\"caption\">None of them waited behind another flow.</p>");
    }
    for ((seed, flow), Ahead { ps, ports, held }) in ahead.into_iter().take(WORST) {
        let run = runs[&seed];
        let host = |at: u32| run.hosts.get(at as usize).map_or("?", String::as_str);
        let ends = run.flows.binary_search_by_key(&flow, |row| row.flow).ok().map(|at| {
            let row = &run.flows[at];
            format!(", {} → {}", host(row.src), host(row.dst))
        });
        let row = Row {
            who: format!("Flow {flow}{}", ends.unwrap_or_default()),
            of: format!(
                "ahead of {} at {}",
                counted(held.len(), "flow"),
                counted(ports.len(), "port")
            ),
            sum: micro(ps as f64 / 1e6),
            times: String::new(),
        };
        let bar = format!(
            "<span class=\"stack\"><i class=\"wg\" style=\"width:{}%\"></i></span>",
            px(ps as f64 / most * 100.0)
        );
        html.push_str(&row.line(&bar));
    }
    html + "</div>"
}

/// A part with its tier or port.
fn name(line: &Line) -> String {
    match line.place.is_empty() {
        true => line.part.words().into(),
        false => format!("{}, {}", line.part.words(), pretty(&line.place)),
    }
}

/// One row: who, a bar, and what it comes to.
struct Row {
    who: String,
    of: String,
    sum: String,
    times: String,
}

impl Row {
    fn inner(&self, bar: &str) -> String {
        let small = |text: &str| match text.is_empty() {
            true => String::new(),
            false => format!("<small>{}</small>", esc(text)),
        };
        format!(
            "<span class=\"who\">{}{}</span>{bar}<span class=\"sum\">{}{}</span>",
            esc(&self.who),
            small(&self.of),
            esc(&self.sum),
            small(&self.times)
        )
    }

    /// One that opens to its table.
    fn html(&self, bar: &str, table: &str, open: bool) -> String {
        let open = if open { " open" } else { "" };
        format!(
            "<details class=\"why\"{open}><summary class=\"row-of\">{}</summary>{table}</details>",
            self.inner(bar)
        )
    }

    /// One that does not.
    fn line(&self, bar: &str) -> String {
        format!("<div class=\"row-of slim\">{}</div>", self.inner(bar))
    }
}

/// The parts of so many flows of a run.
fn table(bars: &Bars, run: &RunRecord, lines: &[Line], flows: usize) -> String {
    let sum = lines.iter().map(|line| line.ps).sum::<u128>().max(1);
    let head = if flows == 1 { "Time" } else { "Mean" };
    let mut html = format!(
        "<div class=\"scroll\"><table><thead><tr><th>Part<th>Where<th class=\"num\">{head}<th class=\"num\">Share</tr></thead><tbody>"
    );
    let mut row = |key: &str, part: &str, place: &str, behind: &str, ps: u128| {
        let behind = if behind.is_empty() {
            String::new()
        } else {
            format!(" <small>{}</small>", esc(behind))
        };
        let _ = write!(
            html,
            "<tr><th>{key}{}<td>{}{behind}<td class=\"num\">{}<td class=\"num\">{}</tr>",
            esc(part),
            esc(&pretty(place)),
            micro(ps as f64 / 1e6 / flows as f64),
            percent(ps as f64 / sum as f64)
        );
    };
    for line in lines {
        let key = format!("<i class=\"chip-of {}\"></i>", bars.colour(line.part, &line.place));
        row(&key, line.part.words(), &line.place, &line.behind(run), line.ps);
    }
    row("", if flows == 1 { "FCT" } else { "Mean FCT" }, "", "", sum);
    html + "</tbody></table></div>"
}
