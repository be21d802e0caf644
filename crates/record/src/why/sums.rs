//! Parts of several flows added up: by tier and by port, and whose packets stood ahead.

use crate::part::{Family, Part};

use crate::about::RunStart;
use crate::human;
use crate::rows::{RunRecord, Subject, WhyRow};
use crate::summary::{class_bounds, class_name, in_class};
use crate::tiers::kind;
use std::collections::{BTreeMap, BTreeSet};

/// What flows lost to one part, at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The part.
    pub part: Part,
    /// A port, or a tier of ports, both with ` -> `; empty where the part has none.
    pub place: String,
    /// How long, in ps, all flows together.
    pub ps: u128,
    /// By port of the place how long.
    pub ports: BTreeMap<String, u128>,
    /// Behind which other flow how long.
    pub behind: BTreeMap<u32, u128>,
}

/// Where lines tell ports apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortGrouping {
    /// By kinds of node at both ends.
    Tier,
    /// Each port.
    Port,
}

/// Lines of rows, the one that cost most first.
pub fn lines<'a>(rows: impl IntoIterator<Item = &'a WhyRow>, by: PortGrouping) -> Vec<Line> {
    let mut lines: BTreeMap<(Part, String), Line> = BTreeMap::new();
    for row in rows {
        let place = match by {
            PortGrouping::Tier => tier(&row.port),
            PortGrouping::Port => row.port.replace("->", " -> "),
        };
        let line = lines.entry((row.part, place.clone())).or_insert_with(|| Line {
            part: row.part,
            place,
            ps: 0,
            ports: BTreeMap::new(),
            behind: BTreeMap::new(),
        });
        let ps = u128::from(row.span.as_ps());
        line.ps += ps;
        if !row.port.is_empty() {
            *line.ports.entry(row.port.replace("->", " -> ")).or_default() += ps;
        }
        if let Some(other) = row.behind.filter(|other| Subject::Flow(*other) != row.of) {
            *line.behind.entry(other).or_default() += ps;
        }
    }
    let mut lines: Vec<Line> = lines.into_values().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.ps)); // stable: equal ones in the order of parts
    lines
}

/// The tier of a port: kinds of node at both ends, `leaf -> leaf.host`.
pub fn tier(port: &str) -> String {
    port.split_once("->").map_or_else(String::new, |(a, b)| format!("{} -> {}", kind(a), kind(b)))
}

impl Line {
    /// The port that nearly all of it was spent at, else the place with the number of its ports.
    pub fn at(&self) -> String {
        let most = self.ports.iter().max_by_key(|(_, ps)| **ps);
        match most {
            None => String::new(),
            Some((port, ps)) if *ps * 10 >= self.ps * 9 => port.clone(),
            Some(_) => format!("{} of {}", human::counted(self.ports.len(), "port"), self.place),
        }
    }

    /// The flows whose packets were ahead for most of the time, `behind 3 flows of host[12]`; empty where that is not known.
    pub fn behind(&self, run: &RunRecord) -> String {
        let all: u128 = self.behind.values().sum();
        if all == 0 || all * 2 < self.ps {
            return String::new();
        }
        let src = |flow: u32| {
            let at = run.flows.binary_search_by_key(&flow, |row| row.flow).ok()?;
            run.hosts.get(run.flows[at].src as usize).map(String::as_str)
        };
        let mut hosts: BTreeMap<&str, (u128, usize)> = BTreeMap::new();
        for (flow, ps) in &self.behind {
            let (sum, flows) = hosts.entry(src(*flow).unwrap_or("?")).or_default();
            *sum += ps;
            *flows += 1;
        }
        let flows = |n: usize| human::counted(n, "flow");
        let most = hosts.iter().max_by_key(|(_, (ps, _))| *ps);
        match most {
            Some((host, (_, 1))) if hosts.len() == 1 => {
                let flow = self.behind.keys().next().copied().unwrap_or(0);
                format!("behind flow {flow} of {host}")
            }
            Some((host, (_, n))) if hosts.len() == 1 => format!("behind {} of {host}", flows(*n)),
            Some((host, (ps, 1))) if *ps * 3 >= all * 2 => {
                let flow =
                    self.behind.iter().max_by_key(|(_, ps)| **ps).map_or(0, |(flow, _)| *flow);
                format!("mostly behind flow {flow} of {host}")
            }
            Some((host, (ps, n))) if *ps * 3 >= all * 2 => {
                format!("mostly behind {} of {host}", flows(*n))
            }
            _ => format!(
                "behind {} of {}",
                flows(self.behind.len()),
                human::counted(hosts.len(), "host")
            ),
        }
    }
}

/// One sentence: what took most, where, and behind whom. `rows` are of `run`, `who` names their flows.
pub fn sentence(who: &str, rows: &[&WhyRow], run: &RunRecord) -> String {
    let lines = lines(rows.iter().copied(), PortGrouping::Tier);
    let sum = lines.iter().map(|line| line.ps).sum::<u128>().max(1);
    let share = |ps: u128| human::percent(ps as f64 / sum as f64);
    let word = |line: &Line| {
        let (at, behind) = (line.at(), line.behind(run));
        let at = if at.is_empty() { at } else { format!(" at {at}") };
        let behind = if behind.is_empty() { behind } else { format!(" {behind}") };
        format!("{} {}{at}{behind}", share(line.ps), line.part.words())
    };
    let path = |line: &&Line| line.part.family() == Family::Path;
    let most: Vec<String> =
        lines.iter().filter(|line| !path(line) && line.ps * 50 >= sum).take(3).map(word).collect();
    let sending: u128 = lines.iter().filter(path).map(|line| line.ps).sum();
    let number = number_of(rows);
    let mean = human::micros(sum as f64 / 1e6 / number.max(1) as f64);
    let (who, mean) = match number {
        1 => (who.to_owned(), mean),
        _ => (format!("{who} ({})", count(rows)), format!("{mean} on average")),
    };
    match most.is_empty() {
        true => format!("{who}: {mean}, {} of it sending and propagation.", share(sending)),
        false => format!(
            "{who}: {mean}: {}; {} sending and propagation.",
            most.join(", "),
            share(sending)
        ),
    }
}

/// A sentence for each size class of the flows that rows of `run` are about, and one for RPCs; `who` names those of a class.
pub fn sentences(who: &str, rows: &[&WhyRow], run: &RunRecord, about: &RunStart) -> Vec<String> {
    let of = |bounds| {
        let here = |row: &&&WhyRow| {
            let of = |flow| run.flows.binary_search_by_key(&flow, |row| row.flow).ok();
            row.of.flow().and_then(of).is_some_and(|at| in_class(run.flows[at].size, bounds))
        };
        let rows: Vec<&WhyRow> = rows.iter().filter(here).copied().collect();
        let who = format!("{who} of {}", class_name(bounds));
        (!rows.is_empty()).then(|| sentence(&who, &rows, run))
    };
    let rpcs: Vec<&WhyRow> = rows.iter().filter(|row| row.of.rpc().is_some()).copied().collect();
    let all = (!rpcs.is_empty()).then(|| sentence(&format!("{who} of RPCs"), &rpcs, run));
    class_bounds(about).into_iter().filter_map(of).chain(all).collect()
}

/// How many flows or RPCs rows are about.
pub fn number_of(rows: &[&WhyRow]) -> usize {
    rows.iter().map(|row| row.of).collect::<BTreeSet<Subject>>().len()
}

/// Number of flows or RPCs in words: `3 flows`, or `3 RPCs` if all rows are about RPCs.
pub fn count(rows: &[&WhyRow]) -> String {
    let rpcs = rows.iter().all(|row| row.of.rpc().is_some());
    human::counted(number_of(rows), if rpcs { "RPC" } else { "flow" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::FlowRow;
    use forebay_units::{Bytes, Span, Time};

    fn run() -> RunRecord {
        let flow = |flow: u32, src: u32| FlowRow {
            flow,
            traffic: 0,
            src,
            dst: 3,
            size: Bytes::new(1),
            start: Time::ZERO,
            delivered: None,
            acked: None,
            gave_up: None,
            ideal: Span::ZERO,
            retransmits: 0,
            timeouts: 0,
        };
        let hosts = (0..4).map(|n| format!("host[{n}]")).collect();
        RunRecord {
            hosts,
            flows: vec![flow(0, 0), flow(1, 1), flow(2, 1), flow(5, 2)],
            ..RunRecord::default()
        }
    }

    fn queued(flow: u32, port: &str, behind: u32, us: u64) -> WhyRow {
        let span = Span::from_us(us);
        WhyRow {
            of: Subject::Flow(flow),
            part: Part::Queue,
            port: port.into(),
            behind: Some(behind),
            span,
        }
    }

    #[test]
    fn a_sentence_names_port_and_flows_ahead() {
        let sent = WhyRow {
            part: Part::Serialization,
            port: String::new(),
            behind: None,
            ..queued(0, "", 0, 10)
        };
        let rows = [
            queued(0, "leaf[0]->host[3]", 0, 5), // its own packets count as queueing, and behind no other flow
            queued(0, "leaf[0]->host[3]", 1, 25),
            queued(0, "leaf[0]->host[3]", 2, 60),
            sent,
        ];
        let rows: Vec<&WhyRow> = rows.iter().collect();
        assert_eq!(
            sentence("flow 0", &rows, &run()),
            "flow 0: 100 us: 90.0 % queueing at leaf[0] -> host[3] behind 2 flows of host[1]; 10.0 % sending and propagation."
        );
    }

    #[test]
    fn lines_are_of_tiers_or_of_ports() {
        let rows = [
            queued(0, "leaf[0]->host[3]", 1, 3),
            queued(0, "leaf[1]->host[2]", 5, 4),
            queued(5, "leaf[1]->host[2]", 0, 1),
        ];
        let tiers = lines(&rows, PortGrouping::Tier);
        assert_eq!(
            (tiers.len(), tiers[0].place.as_str(), tiers[0].ps),
            (1, "leaf -> host", 8_000_000)
        );
        assert_eq!(tiers[0].behind(&run()), "behind 3 flows of 3 hosts");
        assert_eq!(tiers[0].at(), "2 ports of leaf -> host");
        let ports = lines(&rows, PortGrouping::Port);
        assert_eq!(
            (ports.len(), ports[0].place.as_str(), ports[0].ps),
            (2, "leaf[1] -> host[2]", 5_000_000)
        );
        assert_eq!(ports[0].behind(&run()), "mostly behind flow 5 of host[2]");
        assert_eq!(ports[1].behind(&run()), "behind flow 1 of host[1]");
    }
}
