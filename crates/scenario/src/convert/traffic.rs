//! Traffic entries: sizes, loads, host names, and whether all of it fits.

use super::{Judge, published};
use crate::cdf::Cdf;
use crate::model::{LoadRef, Recovery, Scenario, Stop, Traffic, TrafficKind, Transport};
use crate::plan::Plan;
use crate::problem::{grouped, memory_text, or_list};
use crate::raw;
use crate::tree::{did_you_mean, shorten};
use crate::workload::{Hosts, forecast};
use forebay_laws::flow::FlowParams;
use forebay_units::{Bytes, ParseError, Span, Time};
use std::collections::BTreeMap;

/// More flows than this in one run are refused with a forecast.
pub(crate) const MOST_FLOWS: u128 = 50_000_000;
/// Memory of a flow: its entry in the table and its row in the results. Assumption: about 160 B.
const FLOW_MEMORY: u128 = 160;
/// Larger flows than this (1000 TB) are taken for a mistake in the unit.
pub(super) const LARGEST_FLOW: u64 = 1_000_000_000_000_000;
/// Time from the last delivery of a round of a closed loop to the next. Our choice: one way across a rack row.
const CONTROL_DELAY: Span = Span::from_us(1);

/// The transport of traffic that names none, and those that have names.
type Transports<'a> = (&'a Transport, &'a [(String, Transport)]);

/// The sentence that refuses too many flows.
pub(crate) fn too_many(flows: u128) -> String {
    let memory = memory_text(flows.saturating_mul(FLOW_MEMORY));
    format!(
        "makes about {} flows, which would need about {memory} of memory; at most {} are possible, so shorten \
         the run or lower the load",
        grouped(flows),
        grouped(MOST_FLOWS)
    )
}

/// Host names as indices, made once.
pub(super) struct HostIndex<'p> {
    pub plan: &'p Plan,
    index: BTreeMap<&'p str, usize>,
}

impl<'p> HostIndex<'p> {
    fn of(plan: &'p Plan) -> Self {
        let index =
            plan.names[..plan.hosts].iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
        Self { plan, index }
    }
}

impl HostIndex<'_> {
    /// Whether a host is called so.
    pub fn knows(&self, name: &str) -> bool {
        self.index.contains_key(name)
    }
}

impl Judge<'_> {
    /// Refuses traffic that no memory would hold, naming the entry that makes most flows.
    pub(super) fn forecast_flows(&mut self, scenario: &Scenario, plan: &Plan) {
        let hosts = Hosts::of_plan(plan, &scenario.fabric.topology);
        let flows = forecast(scenario, &hosts);
        let all = flows.iter().fold(0u128, |sum, n| sum.saturating_add(*n));
        if all > MOST_FLOWS
            && let Some(most) = (0..flows.len()).max_by_key(|i| flows[*i])
        {
            self.say(&format!("traffic[{most}]"), too_many(all));
        }
    }

    /// All `[[traffic]]`, in file order. `classes`: so many has a switch.
    pub(super) fn traffic(
        &mut self,
        file: &raw::File,
        transports: Transports<'_>,
        (stop, classes): (Stop, u8),
        plan: &Plan,
    ) -> Vec<Traffic> {
        let entries = &file.traffic;
        if entries.len() > 65_535 {
            self.say(
                "traffic",
                format!("has {} entries; at most 65535 are possible", entries.len()),
            );
            return Vec::new();
        }
        if entries.is_empty() {
            self.say(
                "traffic",
                "is empty, so nothing would be sent; write at least one [[traffic]]",
            );
        }
        let hosts = HostIndex::of(plan);
        let all = entries.iter().enumerate();
        let one = |(i, entry): (usize, &raw::Traffic)| {
            let path = format!("traffic[{i}]");
            self.class_exists(&format!("{path}.class"), entry.class.unwrap_or(0) as u8, classes);
            let common = self.transport_named(&path, entry, transports);
            self.entry(&path, entry, common, stop, &hosts)
        };
        all.filter_map(one).collect()
    }

    /// The path of an entry's transport, and what stands there; `[transport]` if there is none of that name.
    fn transport_named<'f>(
        &mut self,
        path: &str,
        entry: &raw::Traffic,
        (usual, named): Transports<'f>,
    ) -> (String, &'f Transport) {
        let usual = ("transport".to_string(), usual);
        let Some(name) = &entry.transport else { return usual };
        if let Some((_, found)) = named.iter().find(|(other, _)| other == name) {
            return (crate::transport::path(name), found);
        }
        let names = || named.iter().map(|(name, _)| name.as_str());
        let text = match named.is_empty() {
            true => format!(
                "no transport is called {0:?}; write [transports.{0}], or leave this out for [transport]",
                shorten(name)
            ),
            false => format!(
                "no transport is called {:?}; write {}{}",
                shorten(name),
                or_list(names()),
                did_you_mean(name, names())
            ),
        };
        self.say(&format!("{path}.transport"), text);
        usual
    }

    fn entry(
        &mut self,
        path: &str,
        entry: &raw::Traffic,
        (common_path, common): (String, &Transport),
        stop: Stop,
        hosts: &HostIndex<'_>,
    ) -> Option<Traffic> {
        let start = entry.start.map_or(Time::ZERO, |t| t.0);
        let until = entry.until.map_or(Time::MAX, |t| t.0);
        if start >= stop.time {
            self.wrong(
                &format!("{path}.start"),
                format!("is not before the end of the run, stop.time = {}", stop.time),
            );
        } else if until <= start {
            self.wrong(
                &format!("{path}.until"),
                format!("is not after start, {start}; write a later time"),
            );
        }
        let mut law = match &entry.law {
            Some(law) => self.law(&format!("{path}.law"), law),
            None => FlowParams::new(&common.law).ok(),
        };
        if let Some(law) = law.as_mut().filter(|law| law.name() == common.law) {
            for (key, text) in &common.params {
                let _ = law.set(key, text); // what is wrong with it has been said
            }
        }
        self.params(&format!("{path}.params"), law.as_mut(), &entry.params);
        if let (Some(law), true) = (law, entry.law.is_some() || !entry.params.is_empty()) {
            let key = if entry.law.is_some() { "law" } else { "params" };
            if common.tcp().is_some() {
                self.served(&format!("{path}.{key}"), &common_path, &law);
            }
        }
        let kind = match &entry.kind {
            raw::Kind::Poisson { sizes, load, load_ref } => {
                self.poisson(path, sizes, *load, *load_ref, hosts.plan)?
            }
            raw::Kind::Incast { fan_in, size, to, rounds, every, control_delay } => {
                let to = to
                    .clone()
                    .filter(|name| self.host(&format!("{path}.to"), name, hosts).is_some());
                self.flow_size(&format!("{path}.size"), size.0);
                let (fan_in, rounds) = self.incast(path, *fan_in, rounds.unwrap_or(1), hosts.plan);
                if let (Some(_), Some(_)) = (every, control_delay) {
                    self.say(
                        &format!("{path}.control_delay"),
                        "belongs to rounds that wait for each other; leave out it or every",
                    );
                }
                if let Some(every) = every {
                    self.span(&format!("{path}.every"), every.0);
                }
                let control_delay = control_delay.map_or(CONTROL_DELAY, |d| d.0);
                self.span(&format!("{path}.control_delay"), control_delay);
                TrafficKind::Incast {
                    fan_in,
                    size: size.0,
                    to,
                    every: every.map(|e| e.0),
                    rounds,
                    control_delay,
                }
            }
            raw::Kind::Permutation { size } => {
                self.flow_size(&format!("{path}.size"), size.0);
                TrafficKind::Permutation { size: size.0 }
            }
            raw::Kind::AllToAll { size } => {
                self.flow_size(&format!("{path}.size"), size.0);
                let n = hosts.plan.hosts as u128;
                if n * (n - 1) > MOST_FLOWS {
                    self.say(path, too_many(n * (n - 1)));
                }
                TrafficKind::AllToAll { size: size.0 }
            }
            raw::Kind::Long { from, to, stagger } => {
                self.long(path, from, to, stagger.map_or(Span::ZERO, |s| s.0), hosts)
            }
            raw::Kind::Rpc(_)
                if common.rdma().is_some_and(|r| r.recovery == Recovery::GoBackZero) =>
            {
                let text = format!(
                    "has streams, which never end, and {common_path}.recovery = \"go-back-0\" would send all of one again; write \"go-back-n\" there"
                );
                self.say(&format!("{path}.kind"), text);
                return None;
            }
            raw::Kind::Rpc(rpc) => TrafficKind::Rpc(Box::new(self.rpc(path, rpc, hosts)?)),
            raw::Kind::List { flows, file, control_delay } => {
                let control_delay = control_delay.map_or(CONTROL_DELAY, |d| d.0);
                self.span(&format!("{path}.control_delay"), control_delay);
                let flows = self.list(path, flows.as_deref(), file.as_deref(), stop, hosts);
                TrafficKind::List { flows, control_delay }
            }
        };
        let class = entry.class.map(|class| class as u8);
        let (transport, law) = (entry.transport.clone(), entry.law.clone());
        let params = entry.params.clone();
        Some(Traffic { start, until, transport, law, class, params, kind })
    }

    pub(super) fn flow_size(&mut self, path: &str, size: Bytes) {
        if size == Bytes::ZERO {
            self.wrong(path, "is no flow; write 1B or more");
        } else if size.get() > LARGEST_FLOW {
            self.wrong(path, "is more than 1000TB; for a flow without an end use kind = \"long\"");
        }
    }

    /// Index of a host, or a sentence.
    pub(super) fn host(&mut self, path: &str, name: &str, hosts: &HostIndex<'_>) -> Option<usize> {
        let found = hosts.index.get(name).copied();
        if found.is_none() {
            self.no_such_node(path, name, hosts.plan, true);
        }
        found
    }

    fn poisson(
        &mut self,
        path: &str,
        sizes: &raw::Sizes,
        load: f64,
        load_ref: Option<LoadRef>,
        plan: &Plan,
    ) -> Option<TrafficKind> {
        let key = format!("{path}.load");
        if load <= 0.0 || load.is_nan() {
            self.wrong(&key, "offers nothing; write a share above 0, at most 1");
        } else if load > 1.0 {
            self.wrong(&key, "is more than all of the reference; write a share above 0, at most 1");
        }
        let load_ref = load_ref.unwrap_or(LoadRef::Host);
        let host_cables = || plan.cables.iter().filter(|c| (c.a as usize) < plan.hosts);
        let one_rack =
            host_cables().all(|c| host_cables().next().is_some_and(|first| first.b == c.b));
        if load_ref == LoadRef::Core && one_rack {
            self.wrong(
                &format!("{path}.load_ref"),
                "needs hosts under more than one switch; write \"host\"",
            );
        }
        let sizes = self.sizes(&format!("{path}.sizes"), sizes)?;
        Some(TrafficKind::Poisson { sizes, load, load_ref })
    }

    pub(super) fn sizes(&mut self, path: &str, sizes: &raw::Sizes) -> Option<Cdf> {
        match sizes {
            raw::Sizes::Name(name) => self.named_sizes(path, name),
            raw::Sizes::Table(table) => {
                let lin = table.mode.unwrap_or(raw::Mode::Lin) == raw::Mode::Lin;
                let cdf = match (&table.file, &table.points) {
                    (Some(file), None) => {
                        let name = table.name.clone().unwrap_or_else(|| stem(file));
                        return self.sizes_file(&format!("{path}.file"), file, &name, lin);
                    }
                    (None, Some(points)) => {
                        Cdf::new(table.name.as_deref().unwrap_or("sizes"), points.clone(), lin)
                    }
                    _ => Err("needs either points or a file; write for instance points = [[1000, 0.5], [100000, 1]]".into()),
                };
                cdf.map_err(|why| self.say(path, why)).ok()
            }
        }
    }

    fn named_sizes(&mut self, path: &str, name: &str) -> Option<Cdf> {
        if let Some(cdf) = published(name) {
            return Some(cdf);
        }
        match name.parse::<Bytes>() {
            Ok(size) => {
                self.flow_size(path, size);
                return Some(Cdf::fixed(size));
            }
            Err(e @ ParseError::NoUnit { .. }) => {
                self.say(path, format!("{name:?} {e}"));
                return None;
            }
            Err(_) => {}
        }
        if let Some(range) = name.split_once("..").and_then(range) {
            return range.and_then(|r| uniform(name, r)).map_err(|why| self.say(path, why)).ok();
        }
        if name.contains(['.', '/', '\\']) {
            return self.sizes_file(path, name, &stem(name), true);
        }
        let names: Vec<&str> = crate::cdf::names().map(|(name, _)| name).collect();
        let close = did_you_mean(name, names.iter().copied());
        let others = match close.as_str() {
            "" => format!(
                "; write one of {}, a file such as \"sizes.csv\", or one size such as \"64KB\"",
                names.join(", ")
            ),
            close => close.into(),
        };
        self.say(path, format!("no distribution is called {:?}{others}", shorten(name)));
        None
    }

    fn sizes_file(&mut self, path: &str, file: &str, name: &str, lin: bool) -> Option<Cdf> {
        let read = (self.read_file)(file).and_then(|text| Cdf::parse(name, &text, lin));
        read.map_err(|why| self.say(path, format!("{:?} {why}", shorten(file)))).ok()
    }

    fn incast(&mut self, path: &str, fan_in: i64, rounds: i64, plan: &Plan) -> (u32, u32) {
        let others = plan.hosts as i64 - 1;
        if fan_in < 1 {
            self.wrong(&format!("{path}.fan_in"), "sends nothing; write 1 or more");
        } else if fan_in > others {
            self.wrong(
                &format!("{path}.fan_in"),
                format!("is more than the {others} other hosts; write at most {others}"),
            );
        }
        if rounds < 1 {
            self.wrong(&format!("{path}.rounds"), "sends nothing; write 1 or more");
        } else {
            let flows = rounds as u128 * fan_in.max(1) as u128;
            if flows > MOST_FLOWS {
                self.say(&format!("{path}.rounds"), too_many(flows));
            }
        }
        (fan_in.clamp(0, u32::MAX.into()) as u32, rounds.clamp(0, u32::MAX.into()) as u32)
    }

    fn long(
        &mut self,
        path: &str,
        from: &raw::OneOrMore,
        to: &raw::OneOrMore,
        stagger: Span,
        hosts: &HostIndex<'_>,
    ) -> TrafficKind {
        self.short(&format!("{path}.stagger"), stagger);
        let from = self.hosts(&format!("{path}.from"), from, hosts);
        let mut to = self.hosts(&format!("{path}.to"), to, hosts);
        if let [one] = &to[..] {
            to = vec![one.clone(); from.len()];
        }
        if from.len() != to.len() {
            self.wrong(
                &format!("{path}.to"),
                format!(
                    "names {} hosts for the {} of from; write as many, or one for all",
                    to.len(),
                    from.len()
                ),
            );
        }
        for (i, (a, b)) in from.iter().zip(&to).enumerate() {
            if a == b {
                self.say(
                    &format!("{path}.to"),
                    format!("flow {i} goes from {a:?} to itself; write another host"),
                );
            }
        }
        TrafficKind::Long { from, to, stagger }
    }

    /// Names and patterns as names, in canonical order within each pattern.
    pub(super) fn hosts(
        &mut self,
        path: &str,
        names: &raw::OneOrMore,
        hosts: &HostIndex<'_>,
    ) -> Vec<String> {
        let mut all = Vec::new();
        for (i, name) in names.list().iter().enumerate() {
            if name.contains('*') {
                let before = all.len();
                let found = hosts.plan.nodes_like(name).filter(|n| *n < hosts.plan.hosts);
                all.extend(found.map(|n| hosts.plan.names[n].clone()));
                if all.len() > before {
                    continue;
                }
            } else if hosts.index.contains_key(name.as_str()) {
                all.push(name.clone());
                continue;
            }
            let path = self.one_or_more(path, i);
            self.no_such_node(&path, name, hosts.plan, true);
        }
        if names.list().is_empty() {
            self.say(path, "is empty; write at least one host");
        }
        all
    }
}

/// Both ends of a range of sizes, or what is wrong with one; `None` if neither is a size, as in a path.
fn range((low, high): (&str, &str)) -> Option<Result<(Bytes, Bytes), String>> {
    let both = (low.trim().parse::<Bytes>(), high.trim().parse::<Bytes>());
    match both {
        (Err(_), Err(_)) => None,
        (Ok(low), Ok(high)) => Some(Ok((low, high))),
        (Err(e), Ok(_)) => Some(Err(format!("{low:?} {e}"))),
        (Ok(_), Err(e)) => Some(Err(format!("{high:?} {e}"))),
    }
}

/// Every size of a range as likely as the next.
fn uniform(name: &str, (low, high): (Bytes, Bytes)) -> Result<Cdf, String> {
    if low == Bytes::ZERO || low > high {
        return Err(format!("{name:?} is no range; write a size of 1B or more, then a larger one"));
    }
    Cdf::uniform(low, high)
}

/// `sizes/mine.csv` is called `mine`.
fn stem(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).into()
}
