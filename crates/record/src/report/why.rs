//! Where completion times went, of the flows and RPCs that were asked for: bars of parts by size class, one by one, ports that cost most,
//! and flows that stood ahead.
//!
//! Each bar opens to the table of its parts, without a script.

use super::{micro, pretty};
use crate::about::RunStart;
use crate::human::{bytes, count, counted, percent, sig3};
use crate::rows::{FlowRow, RpcRow, RunRecord};
use crate::summary::{class_bounds, class_name, in_class, measured};
use crate::svg::{Axis, esc, plain, px, time_unit};
use crate::tiers::kind;
use crate::why::{
    Family, Line, Part, PortGrouping, Repair, Subject, WhyRow, is_explained, lines, sentence,
};
use forebay_units::Span;
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

/// Percent of a row below which a segment has no text on phones, where a row is 330 pixels wide.
const TOLD_ON_PHONES: f64 = 16.0;

/// A flow or an RPC.
#[derive(Clone, Copy)]
enum Item<'a> {
    Flow(&'a FlowRow),
    Rpc(u32, &'a RpcRow),
}

/// One that is explained.
#[derive(Clone, Copy)]
struct ExplainedFlow<'a> {
    run: &'a RunRecord,
    item: Item<'a>,
    rows: &'a [WhyRow],
}

impl<'a> ExplainedFlow<'a> {
    fn flow(&self) -> Option<&'a FlowRow> {
        match self.item {
            Item::Flow(flow) => Some(flow),
            Item::Rpc(..) => None,
        }
    }

    fn is_rpc(&self) -> bool {
        self.flow().is_none()
    }

    fn slowdown(&self) -> f64 {
        let slowdown = match self.item {
            Item::Flow(flow) => flow.slowdown(),
            Item::Rpc(_, rpc) => rpc.slowdown(),
        };
        slowdown.unwrap_or(0.0)
    }

    /// How long it took, and would have taken alone, in ps.
    fn times(&self) -> (u64, u64) {
        let (took, ideal) = match self.item {
            Item::Flow(flow) => (flow.fct(), flow.ideal),
            Item::Rpc(_, rpc) => (rpc.latency(), rpc.ideal),
        };
        (took.map_or(0, Span::as_ps), ideal.as_ps())
    }

    fn name(&self) -> String {
        match self.item {
            Item::Flow(flow) => format!("Flow {}", flow.flow),
            Item::Rpc(number, _) => format!("RPC {number}"),
        }
    }

    fn size(&self) -> String {
        match self.item {
            Item::Flow(flow) => bytes(flow.size.get()),
            Item::Rpc(_, rpc) => rpc.sizes(),
        }
    }

    /// Where it is from and to.
    fn ends(&self) -> String {
        let (from, to) = match self.item {
            Item::Flow(flow) => (flow.src, flow.dst),
            Item::Rpc(_, rpc) => {
                let of = &self.run.connections[rpc.connection as usize];
                (of.client, of.server)
            }
        };
        let host = |at: u32| self.run.hosts.get(at as usize).map_or("?", String::as_str);
        format!("{} → {}", host(from), host(to))
    }
}

/// Words for what is explained.
struct Words {
    items: &'static str,
    time: &'static str,
    files: &'static str,
}

impl Words {
    fn of(explained: &[ExplainedFlow<'_>]) -> Self {
        let rpcs = explained.iter().filter(|of| of.is_rpc()).count();
        match rpcs {
            0 => Self { items: "flows", time: "FCT", files: "why.csv" },
            n if n == explained.len() => {
                Self { items: "RPCs", time: "latency", files: "why_rpcs.csv" }
            }
            _ => Self {
                items: "flows and RPCs",
                time: "completion time",
                files: "why.csv and why_rpcs.csv",
            },
        }
    }
}

/// The section; none if no completion time was explained.
pub(super) fn section(about: &RunStart, runs: &[RunRecord]) -> Option<String> {
    let explained = explained(runs);
    if explained.is_empty() {
        return None;
    }
    let classes = classes(about, runs, &explained);
    let worst = classes.iter().map(|class| class.stretch()).fold(1.0, f64::max);
    let (bars, words) = (Bars::of(explained[0].run), Words::of(&explained));
    let Words { items, time, files } = words;
    let mut html = String::from("<section id=\"why\"><h2>Where completion times went</h2>");
    let headline = classes.iter().max_by(|a, b| a.stretch().total_cmp(&b.stretch()));
    if let Some(class) = headline {
        let rows: Vec<&WhyRow> = class.flows.iter().flat_map(|of| of.rows).collect();
        let name = pretty(&class.name);
        let who = match (class.slowest, &class.flows[..]) {
            (true, [of]) => format!("{}, the slowest of {name}", of.name()),
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
    let by = if items == "RPCs" { "All RPCs" } else { "By flow size" };
    let _ = write!(html, "<h3>{by}: mean {time}, as a multiple of the ideal</h3>");
    html.push_str(&scale((worst, 1.0), "", |times| format!("{}×", plain(times))));
    for class in &classes {
        let open = headline.is_some_and(|of| std::ptr::eq(of, class));
        html.push_str(&bars.class(class, class.stretch() / worst, open));
    }
    let _ = write!(html, "<h3>Slowest {items}: share of the {time}</h3>");
    html.push_str(&scale((1.0, 1.0), "", |share| format!("{} %", plain(share * 100.0))));
    let mut slowest = explained.clone();
    slowest.sort_by(|a, b| b.slowdown().total_cmp(&a.slowdown()));
    for of in slowest.iter().take(FLOWS) {
        html.push_str(&bars.one(of, runs.len() > 1));
    }
    html.push_str("<div class=\"pair\">");
    html.push_str(&bars.ports(&explained, items));
    html.push_str(&ahead(&explained));
    html.push_str("</div>");
    let flows = runs.iter().flat_map(|run| &run.flows).filter(|flow| is_explained(flow)).count();
    let rpcs = runs.iter().flat_map(|run| &run.rpcs).filter(|rpc| rpc.latency().is_some()).count();
    let of = |is_rpc: bool, complete: usize, what: &str| {
        let some = explained.iter().filter(|of| of.is_rpc() == is_rpc).count();
        let text = format!("{} of {} complete {what}", count(some as u64), count(complete as u64));
        (some > 0).then_some(text)
    };
    let some: Vec<String> =
        [of(false, flows, "flows"), of(true, rpcs, "RPCs")].into_iter().flatten().collect();
    let one = if items == "RPCs" { "an RPC" } else { "a flow" };
    let _ = write!(
        html,
        "<p class=\"caption\">{} are explained. The parts of {one} follow the chain of packets and answers that ended \
         last. They add up to its {time} to the picosecond. Click a bar for its parts. Queueing behind a flow is the \
         time in which the port sent that flow's packets while a packet of the chain waited. {files} has all explained \
         {items}. docs/why.md defines the parts.</p></section>",
        some.join(" and ")
    );
    Some(html)
}

fn explained(runs: &[RunRecord]) -> Vec<ExplainedFlow<'_>> {
    let all = runs
        .iter()
        .flat_map(|run| run.why.chunk_by(|a, b| a.of == b.of).map(move |rows| (run, rows)));
    let item = |run: &'_ RunRecord, whose: Subject| match whose {
        Subject::Flow(flow) => run.flows.binary_search_by_key(&flow, |row| row.flow).ok(),
        Subject::Rpc(rpc) => Some(rpc as usize).filter(|at| *at < run.rpcs.len()),
    };
    let of = |run, rows: &'_ [WhyRow]| Some((item(run, rows[0].of)?, rows[0].of));
    let found = all.filter_map(|(run, rows)| Some((run, rows, of(run, rows)?)));
    let found = found.map(|(run, rows, (at, whose))| {
        let item = match whose {
            Subject::Flow(_) => Item::Flow(&run.flows[at]),
            Subject::Rpc(number) => Item::Rpc(number, &run.rpcs[at]),
        };
        ExplainedFlow { run, item, rows }
    });
    found.collect()
}

/// Flows or RPCs of one bar.
struct Class<'a> {
    name: String,
    which: String,
    slowest: bool, // and there are others
    flows: Vec<ExplainedFlow<'a>>,
}

impl Class<'_> {
    /// Completion times in units of the ideal, of all together.
    fn stretch(&self) -> f64 {
        let sum = |ps: fn((u64, u64)) -> u64| {
            self.flows.iter().map(|of| u128::from(ps(of.times()))).sum::<u128>()
        };
        sum(|(took, _)| took) as f64 / sum(|(_, ideal)| ideal).max(1) as f64
    }
}

/// Size classes with explained flows, and RPCs; of those that are explained as a whole the slowest 1 % too.
fn classes<'a>(
    about: &RunStart,
    runs: &[RunRecord],
    explained: &[ExplainedFlow<'a>],
) -> Vec<Class<'a>> {
    let mut classes = Vec::new();
    for bounds in class_bounds(about) {
        let here =
            |of: &&ExplainedFlow<'_>| of.flow().is_some_and(|flow| in_class(flow.size, bounds));
        let flows: Vec<ExplainedFlow<'a>> = explained.iter().filter(here).copied().collect();
        let there = |flow: &&FlowRow| {
            is_explained(flow) && measured(flow, about.warmup) && in_class(flow.size, bounds)
        };
        let all = runs.iter().flat_map(|run| &run.flows).filter(there).count();
        add_class(&mut classes, class_name(bounds), flows, all);
    }
    let rpcs: Vec<ExplainedFlow<'a>> = explained.iter().filter(|of| of.is_rpc()).copied().collect();
    let there = |rpc: &&RpcRow| rpc.latency().is_some() && rpc.issued >= about.warmup;
    let all = runs.iter().flat_map(|run| &run.rpcs).filter(there).count();
    add_class(&mut classes, "RPCs".into(), rpcs, all);
    classes
}

/// Adds a class of so many, of which some are explained.
fn add_class<'a>(
    classes: &mut Vec<Class<'a>>,
    name: String,
    mut flows: Vec<ExplainedFlow<'a>>,
    all: usize,
) {
    let Some(first) = flows.first() else { return };
    let noun = if first.is_rpc() { "RPC" } else { "flow" };
    let whole = flows.len() >= all;
    let which = match whole {
        true => format!("all {}", counted(flows.len(), noun)),
        false => format!("{} of {}", count(flows.len() as u64), counted(all, noun)),
    };
    if whole && flows.len() >= MANY {
        flows.sort_by(|a, b| b.slowdown().total_cmp(&a.slowdown()));
        let slowest = flows[..flows.len().div_ceil(100)].to_vec();
        let which = format!("slowest 1 %, {}", counted(slowest.len(), noun));
        classes.push(Class { name: name.clone(), which, slowest: true, flows: slowest });
    }
    classes.push(Class { name, which, slowest: !whole, flows });
}

/// Draws bars.
struct Bars {
    heights: BTreeMap<String, usize>, // links between a kind of node and the nearest host
}

impl Bars {
    fn of(run: &RunRecord) -> Self {
        let links: BTreeSet<(String, String)> =
            run.ports.iter().map(|port| (kind(&port.node), kind(&port.peer))).collect();
        let mut heights: BTreeMap<String, usize> =
            run.hosts.iter().map(|host| (kind(host), 0)).collect();
        for height in 1.. {
            let is_below = |from: &String| heights.get(from) == Some(&(height - 1));
            let above: Vec<String> = (links.iter())
                .filter(|(from, to)| is_below(from) && !heights.contains_key(to))
                .map(|(_, to)| to.clone())
                .collect();
            if above.is_empty() {
                break;
            }
            heights.extend(above.into_iter().map(|kind| (kind, height)));
        }
        Self { heights }
    }

    /// Class of a part's colour: a letter for its family, and a number that grows towards the receiver.
    fn colour(&self, part: Part, place: &str) -> String {
        let step = match part {
            Part::Application | Part::Unexplained => return "wg".into(),
            Part::Serialization | Part::Propagation => return "wa".into(),
            Part::Nic | Part::Ring | Part::Iio => 1,
            Part::Window | Part::ReceiveWindow | Part::Credit | Part::Memory | Part::NicBuffer => 2,
            Part::Order | Part::Posting => 3,
            Part::Pacing | Part::Copy | Part::Service | Part::Pcie | Part::Compute => 3,
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

    /// Where on a way a port or a tier is: 0 the sender's NIC, 1 up from the edge, 2 further up, 3 down from above, 4 down to the
    /// edge, 5 at the receiver.
    fn step(&self, place: &str) -> usize {
        let Some((from, to)) = place.split_once(" -> ") else { return 3 };
        let (from, to) = (kind(from), kind(to));
        let height = |kind: &String| self.heights.get(kind).copied().unwrap_or(usize::MAX);
        match (height(&from), height(&to)) {
            (_, 0) => 5,
            (0, _) => 0,
            (_, 1) => 4,
            (1, _) => 1,
            (from, to) if from < to => 2,
            _ => 3,
        }
    }

    /// Lines in the order of bars: along the way.
    fn ordered(&self, mut lines: Vec<Line>) -> Vec<Line> {
        let key =
            |line: &Line| (line.part.family(), self.colour(line.part, &line.place), line.part);
        lines.sort_by_key(key);
        lines
    }

    fn legend(&self, explained: &[ExplainedFlow<'_>]) -> String {
        let lines = lines(explained.iter().flat_map(|of| of.rows), PortGrouping::Tier);
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
            let narrow = if wide < TOLD_ON_PHONES { " thin" } else { "" };
            let _ = write!(
                html,
                "<i class=\"{colour}{narrow}\" style=\"width:{}%\" title=\"{}: {}\">{told}</i>",
                px(wide),
                esc(&words),
                percent(share)
            );
        }
        html + "</span>"
    }

    fn class(&self, class: &Class<'_>, width: f64, open: bool) -> String {
        let rows: Vec<&WhyRow> = class.flows.iter().flat_map(|of| of.rows).collect();
        let lines = self.ordered(lines(rows.iter().copied(), PortGrouping::Tier));
        let sum: u128 = lines.iter().map(|line| line.ps).sum();
        let mean = micro(sum as f64 / 1e6 / class.flows.len() as f64);
        let times = format!("{}× ideal", sig3(class.stretch()));
        let row = Row { who: pretty(&class.name), of: class.which.clone(), sum: mean, times };
        let table = table(self, &class.flows[0], &lines, class.flows.len());
        row.html(&self.stack(&lines, width), &table, open)
    }

    fn one(&self, of: &ExplainedFlow<'_>, seeds: bool) -> String {
        let lines = self.ordered(lines(of.rows, PortGrouping::Port));
        let seed = if seeds { format!(", seed {}", of.run.seed) } else { String::new() };
        let row = Row {
            who: format!("{}, {}{seed}", of.name(), of.size()),
            of: of.ends(),
            sum: micro(of.times().0 as f64 / 1e6),
            times: format!("{}× ideal", sig3(of.slowdown())),
        };
        row.html(&self.stack(&lines, 1.0), &table(self, of, &lines, 1), false)
    }

    /// Ports that cost most, all explained flows and RPCs together.
    fn ports(&self, explained: &[ExplainedFlow<'_>], items: &str) -> String {
        let lines = lines(
            explained.iter().flat_map(|of| of.rows).filter(|row| !row.port.is_empty()),
            PortGrouping::Port,
        );
        let mut ports: BTreeMap<String, Vec<Line>> = BTreeMap::new();
        for line in lines {
            ports.entry(line.place.clone()).or_default().push(line);
        }
        let sum = |lines: &[Line]| lines.iter().map(|line| line.ps).sum::<u128>();
        let mut ports: Vec<(String, Vec<Line>)> = ports.into_iter().collect();
        ports.sort_by_key(|(_, lines)| std::cmp::Reverse(sum(lines)));
        let most = ports.first().map_or(1, |(_, lines)| sum(lines)).max(1) as f64;
        let mut html = format!("<div><h3>Ports that cost most time, all explained {items}</h3>");
        if ports.is_empty() {
            html.push_str("<p class=\"caption\">No explained flow waited at a port.</p>");
        } else {
            html.push_str(&times(most));
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
struct QueuedAhead<'a> {
    ps: u128,
    ports: BTreeSet<&'a str>,
    held: BTreeSet<Subject>,
}

/// Flows whose packets stood ahead of others', by the time that they took.
fn ahead(explained: &[ExplainedFlow<'_>]) -> String {
    let mut ahead: BTreeMap<(u64, u32), QueuedAhead<'_>> = BTreeMap::new(); // by seed and flow
    let mut runs: BTreeMap<u64, &RunRecord> = BTreeMap::new();
    for of in explained {
        runs.insert(of.run.seed, of.run);
        for row in of.rows {
            let Some(other) = row.behind.filter(|other| Subject::Flow(*other) != row.of) else {
                continue;
            };
            let of = ahead.entry((of.run.seed, other)).or_default();
            of.ps += u128::from(row.span.as_ps());
            of.ports.insert(&row.port);
            of.held.insert(row.of);
        }
    }
    let mut ahead: Vec<_> = ahead.into_iter().collect();
    ahead.sort_by_key(|(_, of)| std::cmp::Reverse(of.ps));
    let most = ahead.first().map_or(1, |(_, of)| of.ps).max(1) as f64;
    let mut html = String::from("<div><h3>Flows ahead in queues, by transmission time</h3>");
    if ahead.is_empty() {
        html.push_str("<p class=\"caption\">No explained flow waited behind another flow.</p>");
    } else {
        html.push_str(&times(most));
    }
    for ((seed, flow), QueuedAhead { ps, ports, held }) in ahead.into_iter().take(WORST) {
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
                counted(
                    held.len(),
                    if held.iter().all(|one| one.rpc().is_some()) { "RPC" } else { "flow" }
                ),
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

/// The axis of bars whose longest has so many ps.
fn times(ps: f64) -> String {
    let (divisor, unit) = time_unit(ps / 1e6);
    scale((ps / 1e6, divisor), " slim", |value| format!("{} {unit}", plain(value)))
}

/// An axis above bars, from zero to the longest of them; labels have the value over a divisor.
fn scale((top, divisor): (f64, f64), slim: &str, label: impl Fn(f64) -> String) -> String {
    let mut html =
        format!("<div class=\"row-of scale{slim}\" aria-hidden=\"true\"><span class=\"ticks\">");
    for tick in Axis::linear(0.0, top).ticks(4, |value| label(value / divisor)) {
        let share = tick.value / top;
        // A label stays within its axis.
        let place = match share {
            s if s < 0.02 => " class=\"first\"",
            s if s > 0.94 => " class=\"last\"",
            _ => "",
        };
        let text = tick.label.unwrap_or_default();
        let _ = write!(html, "<i{place} style=\"left:{}%\">{}</i>", px(share * 100.0), esc(&text));
    }
    html + "</span></div>"
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

/// The parts of so many flows or RPCs as one.
fn table(bars: &Bars, of: &ExplainedFlow<'_>, lines: &[Line], flows: usize) -> String {
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
        row(&key, line.part.words(), &line.place, &line.behind(of.run), line.ps);
    }
    let total = match (flows, of.is_rpc()) {
        (1, false) => "FCT",
        (_, false) => "Mean FCT",
        (1, true) => "Latency",
        (_, true) => "Mean latency",
    };
    row("", total, "", "", sum);
    html + "</tbody></table></div>"
}
