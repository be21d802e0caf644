//! The summary as a few aligned lines for a terminal.

mod collective;
mod memory;
mod rpc;

use super::{CENSORED, Distribution, FlowClass, Status, Summary, Tier};
use crate::human::{bytes, count, gbps, micros, percent, sig2, sig3};
use crate::stats::Estimate;

/// Width of the labels, and of the indent of what follows.
const LABEL: usize = 10;

/// Width of the column that counts flows, and of each column of the table.
const COUNT: usize = 9;
const CELL: usize = 14;

/// Sign of a statistic that leaves out too many flows, RPCs or collectives.
const SIGN: &str = "*";

/// Widths that the name column may have.
const NAME: std::ops::RangeInclusive<usize> = 13..=40;

#[derive(Clone, Copy)]
enum Tone {
    Plain,
    Strong,
    Faint,
    Good,
    Warn,
    Bad,
}

struct Line(Vec<(Tone, String)>);

impl Line {
    fn new(label: &str) -> Self {
        Self(vec![(Tone::Faint, format!("{label:<LABEL$}"))])
    }

    fn add(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.0.push((tone, text.into()));
        self
    }

    fn plain(self, text: impl Into<String>) -> Self {
        self.add(Tone::Plain, text)
    }

    /// The line, wrapped between words at `width` characters; escapes do not count.
    fn write(&self, out: &mut String, width: usize, color: bool) {
        let mut column = 0;
        for (tone, text) in &self.0 {
            let code = match tone {
                _ if !color => None,
                Tone::Plain => None,
                Tone::Strong => Some("1"),
                Tone::Faint => Some("2"),
                Tone::Good => Some("32"),
                Tone::Warn => Some("33"),
                Tone::Bad => Some("1;31"),
            };
            for word in text.split_inclusive(' ') {
                let length = word.trim_end().chars().count();
                if column + length > width && column > LABEL {
                    end_line(out);
                    out.push_str(&" ".repeat(LABEL));
                    column = LABEL;
                }
                column += word.chars().count();
                match code {
                    Some(code) if length > 0 => paint(out, code, word),
                    _ => out.push_str(word),
                }
            }
        }
        end_line(out);
    }
}

fn end_line(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
}

/// Colours a word and leaves the blanks behind it bare.
fn paint(out: &mut String, code: &str, word: &str) {
    let text = word.trim_end();
    out.push_str(&format!("\x1b[{code}m{text}\x1b[0m{}", &word[text.len()..]));
}

impl Summary {
    /// Plain text for a terminal of `width` columns (46 at least), with ANSI colours if `color`;
    /// ends in a newline. Long lines wrap, and the table keeps as many columns as fit.
    pub fn render(&self, width: usize, color: bool) -> String {
        let width = width.max(LABEL + NAME.start() + COUNT + CELL);
        let mut lines = vec![self.headline(), self.flow_line()];
        lines.extend(self.left_lines());
        if self.overall.count > 0 {
            let all = self.traffic_classes.iter().chain(&self.size_classes).chain([&self.overall]);
            let done = all.map(|class| done(class.count, class.not_finished));
            let counts = count_width(done, LABEL + NAME.start() + CELL, width);
            lines.push(self.table_head(width, counts));
            for class in self.traffic_classes.iter().chain(&self.size_classes) {
                lines.push(class_line(class, width, counts));
            }
            if self.size_classes.len() != 1 || !self.traffic_classes.is_empty() {
                lines.push(class_line(&self.overall, width, counts));
            }
        }
        lines.extend(self.collective.iter().flat_map(collective::lines));
        lines.extend(self.rpc.iter().flat_map(|rpc| rpc::lines(rpc, width)));
        lines.extend(self.memory.iter().flat_map(memory::lines));
        lines.extend(self.network_lines());
        if self.is_censored() {
            lines.push(Line::new("note").add(Tone::Warn, format!("{SIGN} {CENSORED}")));
        }
        if let Some(note) = self.interval_note() {
            lines.push(Line::new("note").add(Tone::Faint, note));
        }
        let mut out = String::new();
        for line in &lines {
            line.write(&mut out, width, color);
        }
        out
    }

    /// Whether some statistic that is shown leaves out too many flows or RPCs.
    fn is_censored(&self) -> bool {
        let flows = self.traffic_classes.iter().chain(&self.size_classes).chain([&self.overall]);
        let rpcs = self.rpc.iter().flat_map(|rpc| rpc.traffic_classes.iter().chain([&rpc.overall]));
        let collectives =
            self.collective.iter().flat_map(|of| of.traffic_classes.iter().chain([&of.overall]));
        flows.filter(|class| class.count > 0).any(|class| class.censored)
            || rpcs.filter(|class| class.count > 0).any(|class| class.censored)
            || collectives.filter(|class| class.count > 0).any(|class| class.censored)
            || self.incast.as_ref().is_some_and(|incast| incast.overall.censored)
    }

    fn headline(&self) -> Line {
        let end = self.runs.iter().map(|run| run.end_us).fold(0.0, f64::max);
        let seeds = self.seeds.len();
        let plural = if seeds == 1 { "" } else { "s" };
        let line = Line(vec![(Tone::Strong, self.scenario.clone())]).plain(format!(
            "  {}  {seeds} seed{plural}  {} simulated  digest {}  ",
            self.laws.join("+"),
            micros(end),
            self.digest
        ));
        match self.status {
            Status::Complete => line.add(Tone::Good, "complete"),
            Status::Unfinished => line.add(Tone::Warn, format!("{} UNFINISHED", self.unfinished())),
            Status::Interrupted => line.add(Tone::Bad, "INTERRUPTED, partial"),
            Status::Stalled => line.add(Tone::Bad, "STALLED, traffic left unfinished"),
        }
    }

    /// How many flows and collectives are left.
    pub(crate) fn unfinished(&self) -> String {
        let flows = self.flows.not_finished + self.flows.not_started;
        let collectives = self.collective.as_ref().map_or(0, |of| of.left_collectives);
        let all = [(flows, "flow"), (collectives, "collective")];
        let left = all.into_iter().filter(|(n, _)| *n > 0);
        let left: Vec<String> =
            left.map(|(n, what)| crate::human::counted(n as usize, what)).collect();
        left.join(" and ")
    }

    fn flow_line(&self) -> Line {
        let flows = &self.flows;
        let finite = flows.completed + flows.not_finished;
        let mut line = Line::new("flows");
        let mut first = true;
        if finite > 0 || flows.endless == 0 {
            line = line.plain(format!("{} of {} completed", count(flows.completed), count(finite)));
            first = false;
        }
        for (number, what, tone) in [
            (flows.not_finished - flows.given_up, "unfinished", Tone::Warn),
            (flows.given_up, "given up", Tone::Warn),
            (flows.not_started, "not started", Tone::Warn),
            (flows.endless, "endless", Tone::Plain),
            (flows.in_warmup, "in warm-up", Tone::Faint),
        ] {
            if number > 0 {
                line = line
                    .plain(if first { "" } else { ", " })
                    .add(tone, format!("{} {what}", count(number)));
                first = false;
            }
        }
        line
    }

    /// Lines about waits of unfinished flows, traffic of which nothing came through, and rounds of incasts.
    fn left_lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        if let Some(left) = &self.left {
            let words = left.words();
            if !words.is_empty() {
                lines.push(Line::new("waiting").add(Tone::Warn, words));
            }
            for out in &left.shut_out {
                lines.push(Line::new("").add(Tone::Warn, out.sentence()));
            }
        }
        let incast = self.incast.as_ref().map(|incast| &incast.overall);
        if let Some((all, p50)) = incast.and_then(|all| Some((all, all.completion_us.p50.mean?))) {
            let p99 = all.completion_us.p99.mean.unwrap_or(p50);
            let late = match all.not_finished {
                0 => String::new(),
                n => format!(" ({} not finished)", count(n)),
            };
            let sign = sign(all.censored);
            let rounds = crate::human::counted(all.count as usize, "round");
            lines.push(Line::new("incast").plain(format!(
                "{rounds}{late}, over after {}{sign} (median), {}{sign} (p99)",
                micros(p50),
                micros(p99)
            )));
        }
        lines
    }

    fn table_head(&self, width: usize, counts: usize) -> Line {
        let cells: String =
            columns(width, counts).iter().map(|(name, _)| format!("{name:>CELL$}")).collect();
        let name = name_width(width, counts);
        let what = if counts > COUNT { "done/started" } else { "flows" };
        let what = if what.len() < counts { what } else { "flows" };
        Line::new("slowdown")
            .add(Tone::Faint, format!("{:<name$}{what:>counts$}{cells}", "(delivered)"))
    }

    fn network_lines(&self) -> Vec<Line> {
        let net = &self.network;
        let rate = |estimate: &Estimate| percent(estimate.mean.unwrap_or(0.0));
        let alarm = |n: u64| if n > 0 { Tone::Warn } else { Tone::Plain };
        let mut packets = Line::new("packets").add(
            alarm(net.dropped_packets),
            format!("{} dropped ({})", count(net.dropped_packets), rate(&net.drop_rate)),
        );
        let not_ect = self.port_total("dropped_unscheduled");
        if not_ect > 0 {
            let why = if self.protects { "unscheduled" } else { "for want of ECN" };
            packets = packets.plain(format!(", {} of them {why}", count(not_ect)));
        }
        if net.nic_dropped_packets > 0 {
            let by_nics = format!(", {} dropped by NICs", count(net.nic_dropped_packets));
            packets = packets.add(Tone::Warn, by_nics);
        }
        packets = packets.plain(format!(
            ", {} marked ({})",
            count(net.marked_packets),
            rate(&net.mark_rate)
        ));
        if net.host_marked_packets > 0 {
            packets =
                packets.plain(format!(", {} marked by hosts", count(net.host_marked_packets)));
        }
        if net.lost_packets > 0 {
            packets =
                packets.add(Tone::Warn, format!(", {} lost to faults", count(net.lost_packets)));
        }
        let repairs = Line::new("repairs")
            .plain(format!(
                "{} segments sent again ({}), ",
                count(net.retransmitted_segments),
                rate(&net.retransmit_rate)
            ))
            .add(alarm(net.timeouts), format!("{} timeouts", count(net.timeouts)));
        let mut links = Line::new("links");
        let mut first = true;
        for (name, links_of) in
            [("host", &self.utilisation.host_links), ("fabric", &self.utilisation.fabric_links)]
        {
            let (Some(mean), Some(max)) =
                (links_of.mean_utilisation.mean, links_of.max_utilisation.mean)
            else {
                continue;
            };
            let comma = if first { "" } else { "; " };
            first = false;
            links = links.plain(format!(
                "{comma}{name} {} mean, {} busiest",
                percent(mean),
                percent(max)
            ));
        }
        let rate = |estimate: &Estimate| estimate.mean.map_or("-".into(), gbps);
        let goodput = Line::new("goodput").plain(match &self.rpc {
            // Clients that get small answers are no receivers to take a mean over.
            Some(rpc) if self.flows.completed + self.flows.not_finished == 0 => {
                let each = |total: &Estimate, n: u64| {
                    total.mean.map_or("-".into(), |total| gbps(total / n.max(1) as f64))
                };
                let all = &rpc.overall;
                format!(
                    "{} in all, {} per server ({}), {} per client ({})",
                    rate(&net.goodput_gbps),
                    each(&all.request_goodput_gbps, all.servers),
                    count(all.servers),
                    each(&all.response_goodput_gbps, all.clients),
                    count(all.clients)
                )
            }
            _ => format!(
                "{} in all, {} per receiver ({})",
                rate(&net.goodput_gbps),
                rate(&net.goodput_per_receiver_gbps),
                count(net.receivers)
            ),
        });
        let queue = Line::new("queue").plain(format!(
            "{} at most, at {}",
            bytes(net.max_queue_bytes),
            if net.max_queue_port.is_empty() { "no port" } else { &net.max_queue_port }
        ));
        let mut lines = vec![packets];
        lines.extend(self.trim_line());
        lines.extend(self.credit_line());
        lines.extend([repairs, links, goodput]);
        if let (Some(offered), Some(carried)) = (net.offered_load.mean, net.carried_load.mean) {
            lines.push(Line::new("load").plain(format!(
                "{} of the host links offered, {} carried, while flows arrived",
                percent(offered),
                percent(carried)
            )));
        }
        lines.push(queue);
        lines.extend(self.pause_line());
        lines
    }

    /// What switches cut off, and where most of it.
    fn trim_line(&self) -> Option<Line> {
        let trimmed = self.port_total("trimmed_packets");
        let line = Line::new("trims").plain(format!("{} packets", count(trimmed)));
        let line = self.mostly(line, trimmed, |tier| tier.trimmed_packets);
        let line = match self.port_total("returned_packets") {
            0 => line,
            n => line.plain(format!("; {} headers went back to senders", count(n))),
        };
        let line = match self.port_total("dropped_headers") {
            0 => line,
            n => line.add(Tone::Warn, format!("; {} headers dropped", count(n))),
        };
        (trimmed > 0).then_some(line)
    }

    /// Credits that receivers sent, those that ports dropped and where most of them, and those that released nothing.
    fn credit_line(&self) -> Option<Line> {
        let (sent, dropped) = (self.network.credits_sent, self.port_total("dropped_credits"));
        let line = Line::new("credits");
        let line = match sent {
            0 => line,
            _ => line.plain(format!(
                "{} sent; {} released nothing; ",
                count(sent),
                count(self.wasted_credits())
            )),
        };
        let line = line.plain(format!("{} dropped by ports", count(dropped)));
        let line = self.mostly(line, dropped, |tier| tier.dropped_credits);
        let line = match self.network.credits_backward {
            0 => line,
            n => line.add(
                Tone::Warn,
                format!("; {} out of order: their data takes other paths", count(n)),
            ),
        };
        (sent + dropped > 0).then_some(line)
    }

    /// Adds at which tier most of `total` was, or all of it.
    fn mostly(&self, line: Line, total: u64, of: fn(&Tier) -> u64) -> Line {
        match self.most_at(of) {
            Some((tier, most)) if most == total => line.plain(format!(", all at {tier}")),
            Some((tier, most)) => line.plain(format!(", {} at {tier}", count(most))),
            None => line,
        }
    }

    fn pause_line(&self) -> Option<Line> {
        let net = &self.network;
        if net.pause_frames == 0 {
            return None;
        }
        let port = if net.paused_most_port.is_empty() { "no port" } else { &net.paused_most_port };
        let line = Line::new("pause").plain(format!(
            "senders stood still {} of the time ({} of {} were paused); {} frames; {port} was paused longest, {}",
            percent(net.paused_share.mean.unwrap_or(0.0)),
            count(net.senders_paused),
            count(net.sending_hosts),
            count(net.pause_frames),
            micros(net.paused_most_us),
        ));
        let line = match net.lossless_drops {
            0 => line,
            n => line.add(Tone::Warn, format!("; {} dropped for want of headroom", count(n))),
        };
        Some(match net.watchdog_fired {
            0 => line,
            n => {
                let drops = count(net.watchdog_drops);
                line.add(Tone::Warn, format!("; a watchdog ended {}, dropping {drops}", count(n)))
            }
        })
    }

    fn interval_note(&self) -> Option<String> {
        let of_collectives = self.collective.as_ref().map(|of| &of.overall.completion_us.mean);
        let of_rpcs = self.rpc.as_ref().map(|rpc| &rpc.overall.latency_us.p99);
        match of_collectives.or(of_rpcs).unwrap_or(&self.overall.slowdown.p99) {
            Estimate { ci95: Some(_), .. } => {
                Some("±: 95 % confidence interval of the mean across seeds".into())
            }
            Estimate { mean: Some(_), ci95_absent_because: Some(why), .. } => {
                Some(format!("no confidence interval: {why}"))
            }
            _ => None,
        }
    }
}

type Pick = fn(&Distribution) -> &Estimate;

/// As many columns as fit, the tail first to stay.
fn columns(width: usize, counts: usize) -> &'static [(&'static str, Pick)] {
    const ALL: [(&str, Pick); 4] =
        [("p50", |d| &d.p50), ("p95", |d| &d.p95), ("p99", |d| &d.p99), ("mean", |d| &d.mean)];
    const FEWER: [(&str, Pick); 3] = [ALL[0], ALL[2], ALL[3]];
    let fit = width.saturating_sub(LABEL + NAME.start() + counts) / CELL;
    match fit {
        0 | 1 => &FEWER[1..2],
        2 => &FEWER[..2],
        3 => &FEWER,
        _ => &ALL,
    }
}

fn name_width(width: usize, counts: usize) -> usize {
    let cells = columns(width, counts).len() * CELL;
    width.saturating_sub(LABEL + counts + cells).clamp(*NAME.start(), *NAME.end())
}

/// As much of a name as leaves a space in `room`, with a sign where some is left out.
fn clipped(name: &str, room: usize) -> String {
    crate::human::clipped(name, room - 1)
}

/// Completed ones, and of how many started if some had not finished.
fn done(completed: u64, not_finished: u64) -> String {
    match not_finished {
        0 => count(completed),
        late => format!("{}/{}", count(completed), count(completed + late)),
    }
}

/// Completed and started ones where there is room for both, else completed ones alone.
fn done_within(completed: u64, not_finished: u64, room: usize) -> String {
    let both = done(completed, not_finished);
    if both.chars().count() < room { both } else { count(completed) }
}

/// Width of the column of `done`, in a table `width` wide that needs `others` beside it.
fn count_width(done: impl Iterator<Item = String>, others: usize, width: usize) -> usize {
    let widest = done.map(|text| text.chars().count() + 2).max().unwrap_or(0).max(COUNT);
    if others + widest <= width { widest } else { COUNT }
}

/// What stands behind a statistic that leaves out too many.
fn sign(censored: bool) -> &'static str {
    if censored { SIGN } else { "" }
}

fn class_line(class: &FlowClass, width: usize, counts: usize) -> Line {
    let room = name_width(width, counts);
    let done = done_within(class.count, class.not_finished, counts);
    let mut text = format!("{:<room$}{done:>counts$}", clipped(&class.name, room));
    for (_, pick) in columns(width, counts) {
        let estimate = pick(&class.slowdown);
        let value = estimate.mean.map_or("-".into(), |mean| sig3(mean) + sign(class.censored));
        let half = estimate.half_width().map_or(String::new(), |half| format!(" ±{}", sig2(half)));
        text.push_str(&format!("{:>CELL$}", value + &half));
    }
    Line::new("").plain(text)
}
