//! What `watch` draws on a terminal: the whole, the fullest queues, the flows in progress, and hosts whose memory is modelled.
//!
//! Drawing knows no clock, no simulation and no terminal: [`View`] keeps what it is given and draws it at any size, 80 by 24 being the
//! least that shows all of it.

use forebay_sim::{Interval, PortInterval};
use forebay_units::{Span, Time, human};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span as Words};
use ratatui::widgets::{Block, Paragraph};
use std::collections::VecDeque;

/// Frames that the course of the throughput shows.
const COURSE: usize = 24;

/// See the top of this file.
#[derive(Debug)]
pub struct View {
    /// The scenario, for the title.
    pub name: String,
    /// The seed.
    pub seed: u64,
    /// The scenario's end.
    pub stop: Time,
    /// Names of all nodes.
    pub nodes: Vec<String>,
    /// Simulated time for each second that passes.
    pub pace: Span,
    /// Whether it stands still.
    pub paused: bool,
    /// What the run came to, once it is over.
    pub over: Option<String>,
    /// Whether colours may be used.
    pub colours: bool,
    last: Option<Interval>,
    course: VecDeque<f64>,
    deepest: u64, // bytes, of any queue so far
}

impl View {
    /// Of a run of which nothing has been simulated.
    pub fn new(name: String, seed: u64, stop: Time, nodes: Vec<String>, pace: Span) -> Self {
        Self {
            name,
            seed,
            stop,
            nodes,
            pace,
            paused: false,
            over: None,
            colours: true,
            last: None,
            course: VecDeque::new(),
            deepest: 1,
        }
    }

    /// What happened since the frame before.
    pub fn add(&mut self, interval: Interval) {
        self.course.push_back(interval.delivered_gbps);
        if self.course.len() > COURSE {
            self.course.pop_front();
        }
        let deepest = interval.ports.iter().map(|port| port.queue).max();
        self.deepest = self.deepest.max(deepest.unwrap_or(0));
        self.last = Some(interval);
    }

    /// Draws all of it.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let none = Interval {
            at: Time::ZERO,
            span: Span::ZERO,
            delivered_gbps: 0.0,
            marked: 0,
            dropped: 0,
            pauses: 0,
            ports: Vec::new(),
            memories: Vec::new(),
            flows: Vec::new(),
        };
        let now = self.last.as_ref().unwrap_or(&none);
        let hosts = u16::try_from(now.memories.len()).unwrap_or(u16::MAX).min(4);
        let hosts = if hosts > 0 { hosts + 3 } else { 0 };
        let rows = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Fill(1),
            Constraint::Length(hosts),
            Constraint::Length(1),
        ]);
        let [title, whole, queues, flows, memory, foot] = rows.areas(frame.area());
        let head = format!("forebay watch   {}, seed {}", self.name, self.seed);
        frame.render_widget(Line::styled(head, self.strong()), title);
        let time = format!("{} of {}", time(now.at), time(self.stop));
        frame.render_widget(Line::raw(time).right_aligned(), title);
        frame.render_widget(self.whole(now), whole);
        self.panel(frame, queues, "fullest queues", self.queues(now, queues));
        let title = format!("flows in progress: {}", now.flows.len());
        self.panel(frame, flows, &title, self.flows(now, flows));
        if hosts > 0 {
            self.panel(frame, memory, "path to memory", self.memories(now, memory));
        }
        frame.render_widget(Line::styled(self.foot(), self.dim()), foot);
    }

    fn panel(&self, frame: &mut Frame<'_>, at: Rect, title: &str, text: Vec<Line<'_>>) {
        let block = Block::bordered().title(format!(" {title} ")).border_style(self.dim());
        frame.render_widget(Paragraph::new(text).block(block), at);
    }

    fn dim(&self) -> Style {
        if self.colours { Style::new().fg(Color::DarkGray) } else { Style::new() }
    }

    fn strong(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Of a number that should be zero.
    fn alarm(&self, on: bool) -> Style {
        match (on, self.colours) {
            (true, true) => Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
            (true, false) => self.strong(),
            (false, _) => Style::new(),
        }
    }

    fn whole(&self, now: &Interval) -> Line<'_> {
        let count = |what: &str, n: u64, alarm: bool| {
            Words::styled(format!("   {what} {}", human::count(n)), self.alarm(alarm && n > 0))
        };
        Line::from(vec![
            Words::raw(format!(
                "delivered {:>9} {:<COURSE$}",
                human::gbps(now.delivered_gbps),
                human::sparks(self.course.iter().copied().map(Some))
            )),
            count("marked", now.marked, false),
            count("dropped", now.dropped, true),
            count("pauses", now.pauses, true),
        ])
    }

    fn node(&self, index: u32) -> &str {
        self.nodes.get(index as usize).map_or("?", String::as_str)
    }

    fn queues(&self, now: &Interval, at: Rect) -> Vec<Line<'_>> {
        let mut ports: Vec<&PortInterval> = now.ports.iter().collect();
        // Where nothing is queued, the busiest say more than the first.
        let busy = |port: &PortInterval| (port.busy.unwrap_or(0.0) * 1e6) as u64;
        ports.sort_by_key(|port| std::cmp::Reverse((port.queue, busy(port))));
        let room = usize::from(at.width).saturating_sub(76).clamp(6, 30);
        let head = format!(
            "{:<28}{:>9} {:<room$} {:>7}{:>8}{:>8}{:>8}",
            "port", "queue", "", "busy", "paused", "marked", "dropped"
        );
        let row = |port: &&PortInterval| {
            let (from, to) = port.ends;
            let name = format!("{}->{}", self.node(from), self.node(to));
            let busy = port.busy.map_or("down".into(), human::percent);
            let full = human::bar(port.queue as f64 / self.deepest as f64, room);
            Line::from(vec![
                Words::raw(format!("{name:<28.28}{:>9} {full} ", human::bytes(port.queue))),
                Words::styled(format!("{busy:>7}"), self.alarm(port.busy.is_none())),
                Words::styled(
                    format!("{:>8}", human::percent(port.paused)),
                    self.alarm(port.paused > 0.0),
                ),
                Words::raw(format!("{:>8}", human::count(port.marked))),
                Words::styled(
                    format!("{:>8}", human::count(port.dropped)),
                    self.alarm(port.dropped > 0),
                ),
            ])
        };
        self.table(head, ports.iter().take(rows(at)).map(row))
    }

    fn flows(&self, now: &Interval, at: Rect) -> Vec<Line<'_>> {
        let head = format!(
            "{:<8}{:<18}{:>12}{:>11}{:>11}{:>11}{:>7}",
            "flow", "from", "rate", "window", "RTT", "acked", "again"
        );
        let row = |flow: &forebay_sim::FlowInterval| {
            let of = flow.sender;
            let rtt = of.srtt.as_ps();
            let rtt = if rtt == 0 { "-".into() } else { human::micros(rtt as f64 / 1e6) };
            Line::from(vec![
                Words::raw(format!(
                    "{:<8}{:<18.18}{:>12}{:>11}{rtt:>11}{:>11}",
                    of.flow,
                    self.node(of.host),
                    human::gbps(flow.gbps),
                    human::bytes(of.cwnd),
                    human::bytes(of.acked),
                )),
                Words::styled(
                    format!("{:>7}", human::count(of.retransmits)),
                    self.alarm(of.retransmits > 0),
                ),
            ])
        };
        self.table(head, now.flows.iter().take(rows(at)).map(row))
    }

    fn memories(&self, now: &Interval, at: Rect) -> Vec<Line<'_>> {
        let head = format!(
            "{:<20}{:>12}{:>12}{:>14}{:>12}{:>7}",
            "host", "NIC buffer", "IIO lines", "PCIe", "wait", "level"
        );
        let row = |memory: &forebay_sim::MemoryInterval| {
            Line::from(vec![
                Words::raw(format!(
                    "{:<20.20}{:>12}{:>12}{:>14}{:>12}",
                    self.node(memory.host),
                    human::bytes(memory.buffered),
                    human::sig3(memory.lines),
                    human::gbps(memory.gbps),
                    format!("{} ns", human::sig3(memory.wait_ns)),
                )),
                Words::styled(format!("{:>7}", memory.level), self.alarm(memory.level > 0)),
            ])
        };
        self.table(head, now.memories.iter().take(rows(at)).map(row))
    }

    fn table<'a>(&self, head: String, rows: impl Iterator<Item = Line<'a>>) -> Vec<Line<'a>> {
        std::iter::once(Line::styled(head, self.dim())).chain(rows).collect()
    }

    fn foot(&self) -> String {
        if let Some(over) = &self.over {
            return format!("{over}   q ends");
        }
        let pace = human::micros(self.pace.as_ps() as f64 / 1e6);
        let state = if self.paused { "stands still" } else { "runs" };
        format!("{state} at {pace} a second   space stop/go   . one step   + - pace   q ends")
    }
}

/// Rows of a table that fit a panel, below its heading.
fn rows(at: Rect) -> usize {
    usize::from(at.height).saturating_sub(3)
}

fn time(at: Time) -> String {
    human::micros(at.as_ps() as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_sim::{FlowInterval, MemoryInterval, SenderState};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn drawn(view: &View, (width, height): (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|frame| view.draw(frame)).expect("drawn");
        let buffer = terminal.backend().buffer().clone();
        let rows = buffer.content.chunks(usize::from(width));
        rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>() + "\n").collect()
    }

    fn incast() -> View {
        let nodes = ["host[0]", "host[1]", "leaf[0]"].map(String::from).to_vec();
        let stop = Time::from_ps(1_000_000_000);
        let mut view = View::new("incast".into(), 3, stop, nodes, Span::from_us(50));
        let quiet = PortInterval {
            ends: (0, 2),
            queue: 0,
            busy: Some(0.5),
            paused: 0.0,
            marked: 0,
            dropped: 0,
        };
        let full = PortInterval { ends: (2, 1), queue: 90_000, marked: 7, dropped: 2, ..quiet };
        let down = PortInterval { ends: (2, 0), busy: None, ..quiet };
        let sender = SenderState {
            flow: 12,
            host: 0,
            cwnd: 15_000,
            srtt: Span::from_us(21),
            acked: 400_000,
            retransmits: 4,
        };
        view.add(Interval {
            at: Time::from_ps(250_000_000),
            span: Span::from_us(5),
            delivered_gbps: 98.5,
            marked: 7,
            dropped: 2,
            pauses: 0,
            ports: vec![quiet, full, down],
            memories: vec![MemoryInterval {
                host: 1,
                buffered: 1_000_000,
                lines: 91.4,
                gbps: 80.0,
                wait_ns: 340.0,
                level: 3,
            }],
            flows: vec![FlowInterval { sender, gbps: 42.0 }],
        });
        view
    }

    #[test]
    fn a_run_has_every_number_on_80_by_24() {
        let text = drawn(&incast(), (80, 24));
        for wanted in [
            "forebay watch   incast, seed 3",
            "delivered",
            "98.5 Gb/s █",
            "dropped 2",
            "leaf[0]->host[1]",
            "######",
            "down",
            "flows in progress: 1",
            "42.0 Gb/s",
            "91.4",
            "340 ns",
            "q ends",
        ] {
            assert!(text.contains(wanted), "{wanted} is not in\n{text}");
        }
        let (full, quiet) = (text.find("leaf[0]->host[1]"), text.find("host[0]->leaf[0]"));
        assert!(full < quiet, "the fullest queue is not first:\n{text}");
        for heading in ["dropped  │", "again", "level"] {
            assert!(text.contains(heading), "{heading} is cut off:\n{text}");
        }
    }

    #[test]
    fn nothing_breaks_at_any_size_and_without_a_frame() {
        let empty = View::new("none".into(), 1, Time::ZERO, Vec::new(), Span::from_us(1));
        for size in [(1, 1), (20, 5), (79, 23), (300, 100)] {
            drawn(&empty, size);
            drawn(&incast(), size);
        }
    }

    #[test]
    fn without_colours_there_are_none() {
        let coloured = |view: &View| {
            let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal");
            terminal.draw(|frame| view.draw(frame)).expect("drawn");
            terminal.backend().buffer().content.iter().any(|cell| cell.fg != Color::Reset)
        };
        let mut view = incast();
        assert!(coloured(&view));
        view.colours = false;
        assert!(!coloured(&view));
    }
}
