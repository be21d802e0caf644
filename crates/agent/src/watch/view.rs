//! What `watch` draws on a terminal: panels that say where each number comes from, or why there is none.
//!
//! Drawing knows no clock, no file and no terminal: [`View`] keeps what it is given and draws it at any size, 80 by 24 being the least that shows all of it.
//! Its styles are those of the simulator's `watch` (`cli/src/watch/view.rs`): no crate that both programs share knows a terminal, and twenty lines make none.

use crate::metrics::LawMetrics;
use forebay_units::human::{bar, sparks};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Wrap};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Periods that a course of drops shows.
const COURSE: usize = 18;

/// What packets are dropped for: the cause, ends of the counters' names, and what they are.
const CAUSES: [(&str, &[&str], &str); 6] = [
    (
        "NIC",
        &[".rx_missed_errors", ".rx_fifo_errors", ".rx_discards_phy"],
        "rx_missed, rx_fifo, phy discards",
    ),
    ("no receive buffer", &[".rx_out_of_buffer"], "rx_out_of_buffer: slow cores"),
    ("backlog", &["softnet.dropped"], "dropped in softnet_stat"),
    ("polls cut short", &["softnet.squeezed"], "squeezed: slow cores"),
    ("socket", &["tcp.TCPBacklogDrop", "tcp.TCPRcvQDrop"], "TCPBacklogDrop, TCPRcvQDrop"),
    ("sent again", &["tcp.RetransSegs"], "RetransSegs"),
];

/// How much a counter rose, and in how long.
pub type Rise = Option<(u64, Duration)>;

/// See the top of this file.
#[derive(Debug)]
pub struct View {
    /// The machine, for the title.
    pub machine: String,
    /// Why a signal cannot be had, by its name in `probe`.
    pub why: BTreeMap<String, String>,
    /// I_T in lines, and B_T in Gb/s.
    pub targets: (f64, f64),
    /// The law of an agent that runs, or why none is shown.
    pub ruled: Result<LawMetrics, String>,
    /// Whether colours may be used.
    pub colours: bool,
    now: Duration,
    every: Duration,
    rises: Vec<(String, Rise)>,
    courses: [VecDeque<Option<f64>>; CAUSES.len()],
}

impl View {
    /// Of a machine at which nothing has been read, with a reading each period.
    pub fn new(machine: String, every: Duration, targets: (f64, f64)) -> Self {
        Self {
            machine,
            why: BTreeMap::new(),
            targets,
            ruled: Err("no agent runs".into()),
            colours: true,
            now: Duration::ZERO,
            every,
            rises: Vec::new(),
            courses: Default::default(),
        }
    }

    /// What the counters rose by until now.
    pub fn add(&mut self, now: Duration, rises: &[(&str, Rise)]) {
        self.now = now;
        self.rises = rises.iter().map(|(name, rise)| (name.to_string(), *rise)).collect();
        for (course, (_, ends, _)) in self.courses.iter_mut().zip(CAUSES) {
            let rate = rate(&self.rises, |name| ends.iter().any(|end| name.ends_with(end)));
            course.push_back(rate);
            if course.len() > COURSE {
                course.pop_front();
            }
        }
    }

    /// Draws all of it.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let rows = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(6),
            Constraint::Length(8),
            Constraint::Min(4),
            Constraint::Length(1),
        ]);
        let [title, top, drops, memory, foot] = rows.areas(frame.area());
        let [iio, law] = Layout::horizontal([Constraint::Fill(1); 2]).areas(top);
        let every = self.every.as_secs_f64();
        let head = format!("forebay agent watch   {}", self.machine);
        let time = format!("{:.1} s, every {every} s", self.now.as_secs_f64());
        frame.render_widget(Line::styled(head, self.strong()), title);
        frame.render_widget(Line::raw(time).right_aligned(), title);
        self.panel(frame, iio, "IIO buffer against thresholds", self.iio(iio.width));
        self.panel(frame, law, "law", self.law(law.width));
        self.panel(frame, drops, "drops by cause, packets a second", self.drops());
        self.panel(frame, memory, "memory by group", self.memory(memory));
        frame.render_widget(Line::styled(self.foot(), self.dim()), foot);
    }

    fn panel(&self, frame: &mut Frame<'_>, at: Rect, title: &str, text: Vec<Line<'_>>) {
        let block = Block::bordered().title(format!(" {title} ")).border_style(self.dim());
        frame.render_widget(Paragraph::new(text).block(block).wrap(Wrap { trim: true }), at);
    }

    fn dim(&self) -> Style {
        if self.colours { Style::new().fg(Color::DarkGray) } else { Style::new() }
    }

    fn strong(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Of a number that is beyond what it should be.
    fn alarm(&self, on: bool) -> Style {
        match (on, self.colours) {
            (true, true) => Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
            (true, false) => self.strong(),
            (false, _) => Style::new(),
        }
    }

    /// Why there is nothing.
    fn empty(&self, name: &str, what: &str) -> Vec<Line<'_>> {
        let why = self.why.get(name).map_or("no counter of it was found", String::as_str);
        vec![Line::styled(format!("no {what}: {why}"), self.dim())]
    }

    /// I_S and B_S of each stack.
    fn iio(&self, width: u16) -> Vec<Line<'_>> {
        let (lines_most, gbps_most) = self.targets;
        let room = usize::from(width).saturating_sub(32).min(30);
        let mut text = Vec::new();
        for (name, rise) in &self.rises {
            let Some(unit) = name.strip_suffix(".lines") else { continue };
            let of = |wanted: &str| {
                self.rises.iter().find(|(name, _)| name == wanted).and_then(|(_, rise)| *rise)
            };
            let clock = of(&format!("{unit}.clock"));
            let lines = rise
                .zip(clock)
                .map(|((lines, _), (clock, _))| lines as f64 / (clock as f64).max(1.0));
            let inserts = of(&format!("{}.part0_inserts", unit.replace("_irp_", "_iio_")));
            let gbps = inserts.map(|(by, time)| by as f64 * 32e-9 / time.as_secs_f64());
            text.push(Line::styled(format!("{unit}: perf, IRP and IIO"), self.dim()));
            for (name, value, most, unit) in
                [("I_S", lines, lines_most, "lines"), ("B_S", gbps, gbps_most, "Gb/s")]
            {
                let over = value.is_some_and(|value| name == "I_S" && value > most);
                let number = value.map_or("-".into(), |value| format!("{value:.1}"));
                text.push(Line::from(vec![
                    Span::styled(format!("{name} {number:>6}"), self.alarm(over)),
                    Span::raw(format!(" of {most:>3.0} {unit:<5} ")),
                    Span::styled(bar(value.unwrap_or(0.0) / most, room), self.alarm(over)),
                ]));
            }
        }
        if text.is_empty() { self.empty("I_S", "I_S, B_S") } else { text }
    }

    /// Level and marks of an agent that runs.
    fn law(&self, width: u16) -> Vec<Line<'_>> {
        let of = match &self.ruled {
            Ok(of) => of,
            Err(why) => {
                return vec![Line::styled(format!("no level, no marks: {why}"), self.dim())];
            }
        };
        let room = usize::from(width).saturating_sub(12).min(of.level as usize);
        let marks = if of.marks { "wanted" } else { "off" };
        vec![
            Line::styled(format!("mode {}, by its metrics", of.mode), self.dim()),
            Line::from(vec![
                Span::raw("level "),
                Span::styled(of.level.to_string(), self.alarm(of.level > 0)),
                Span::raw(" "),
                Span::styled("#".repeat(room), self.alarm(of.level > 0)),
            ]),
            Line::from(vec![Span::raw("marks "), Span::styled(marks, self.alarm(of.marks))]),
            Line::raw(format!("level writes {}, failed {}", of.writes.0, of.writes.1)),
        ]
    }

    fn drops(&self) -> Vec<Line<'_>> {
        let each = self.courses.iter().zip(CAUSES).map(|(course, (cause, _, source))| {
            let last = course.back().copied().flatten();
            let number = last.map_or("-".into(), |rate| format!("{rate:.0}"));
            let none = !course.is_empty() && course.iter().all(Option::is_none);
            let source = if none { "no NIC here has such a counter" } else { source };
            Line::from(vec![
                Span::styled(
                    format!("{cause:<17} {number:>8} "),
                    self.alarm(last.is_some_and(|rate| rate > 0.0)),
                ),
                Span::raw(format!("{:<COURSE$} ", sparks(course.iter().copied()))),
                Span::styled(source, self.dim()),
            ])
        });
        each.collect()
    }

    /// Bandwidth by resctrl group and L3 cache, and that of the memory controllers.
    fn memory(&self, at: Rect) -> Vec<Line<'_>> {
        let mut rows: Vec<(String, f64, &str)> = Vec::new();
        let units = ["uncore_imc_", "amd_umc"];
        let controllers = |name: &str| units.iter().any(|unit| name.starts_with(unit));
        if let Some(lines) = rate(&self.rises, controllers) {
            rows.push(("memory controllers".into(), lines * 512e-9, "perf"));
        }
        for (name, rise) in &self.rises {
            let Some(of) =
                name.strip_prefix("mbm.").and_then(|rest| rest.strip_suffix(".total_bytes"))
            else {
                continue;
            };
            let Some((by, time)) = rise else { continue };
            let of = if of.contains('.') { of.to_string() } else { format!("all others.{of}") };
            rows.push((of, *by as f64 * 8e-9 / time.as_secs_f64(), "MBM"));
        }
        if rows.is_empty() {
            let mut text = self.empty("MBM", "bandwidth by group");
            text.extend(self.empty("memory bandwidth", "bandwidth of all"));
            return text;
        }
        let most = rows.iter().fold(1e-9f64, |most, (_, gbps, _)| most.max(*gbps));
        let room = usize::from(at.width).saturating_sub(50).min(40);
        let shown = usize::from(at.height).saturating_sub(2);
        let hidden = rows.len().saturating_sub(shown);
        let mut text: Vec<_> = rows
            .iter()
            .take(if hidden > 0 { shown.saturating_sub(1) } else { shown })
            .map(|(name, gbps, source)| {
                Line::from(vec![
                    Span::raw(format!(
                        "{name:<28.28} {gbps:>8.1} Gb/s {:<room$} ",
                        bar(gbps / most, room)
                    )),
                    Span::styled(*source, self.dim()),
                ])
            })
            .collect();
        if hidden > 0 {
            text.push(Line::styled(format!("and {} more", hidden + 1), self.dim()));
        }
        text
    }

    /// What a task waited for, and how to end.
    fn foot(&self) -> String {
        let share = |name: &str| {
            let rate = rate(&self.rises, |of| of == name);
            rate.map_or("-".into(), |us| format!("{:.1}", us * 1e-4))
        };
        let (cpu, memory) = (share("psi.cpu.some_us"), share("psi.memory.some_us"));
        let gbps =
            rate(&self.rises, |name| name.starts_with("nic.") && name.ends_with(".rx_bytes"));
        let gbps = gbps.map_or("-".into(), |of| format!("{:.3}", of * 8e-9));
        format!(
            "in {gbps} Gb/s   waiting for a core {cpu} %, for reclaim {memory} % (PSI)   q ends"
        )
    }
}

/// Sum of the rates of some counters, a second; `None`: none of them could be read.
fn rate(rises: &[(String, Rise)], is: impl Fn(&str) -> bool) -> Option<f64> {
    let of = rises.iter().filter(|(name, _)| is(name)).filter_map(|(_, rise)| *rise);
    of.map(|(by, time)| by as f64 / time.as_secs_f64()).reduce(|sum, rate| sum + rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    const SECOND: Duration = Duration::from_secs(1);

    fn drawn(view: &View, (width, height): (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|frame| view.draw(frame)).expect("drawn");
        let buffer = terminal.backend().buffer().clone();
        let rows = buffer.content.chunks(usize::from(width));
        rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>() + "\n").collect()
    }

    fn coloured(view: &View) -> bool {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal");
        terminal.draw(|frame| view.draw(frame)).expect("drawn");
        terminal.backend().buffer().content.iter().any(|cell| cell.fg != Color::Reset)
    }

    fn server() -> View {
        let mut view = View::new("Linux 6.6".into(), SECOND, (70.0, 84.0));
        let rises = [
            ("uncore_irp_1.cpu0.lines", 46_500_000_000, 1),
            ("uncore_irp_1.cpu0.clock", 500_000_000, 1),
            ("uncore_iio_1.cpu0.part0_inserts", 1_343_750_000, 1),
            ("nic.eth0.rx_missed_errors", 1200, 1),
            ("nic.eth0.rx_bytes", 5_000_000_000, 1),
            ("softnet.dropped", 0, 1),
            ("mbm.L3-0.total_bytes", 5_000_000_000, 1),
            ("mbm.batch.L3-0.total_bytes", 20_000_000_000, 1),
            ("uncore_imc_0.cpu0.reads", 250_000_000, 1),
        ];
        let rises = rises.map(|(name, by, s)| (name, Some((by, SECOND * s))));
        view.add(SECOND * 9, &rises);
        let ruled = LawMetrics { mode: "enforce".into(), level: 3, marks: true, writes: (7, 1) };
        view.ruled = Ok(ruled);
        view
    }

    #[test]
    fn a_server_has_every_number_on_80_by_24() {
        let text = drawn(&server(), (80, 24));
        for wanted in [
            "I_S   93.0 of  70 lines",
            "B_S   43.0 of  84 Gb/s",
            "uncore_irp_1.cpu0: perf",
            "level 3 ###",
            "marks wanted",
            "level writes 7, failed 1",
            "NIC                   1200 █",
            "rx_missed, rx_fifo, phy discards",
            "no NIC here has such a counter",
            "batch.L3-0                      160.0 Gb/s",
            "all others.L3-0                  40.0 Gb/s",
            "memory controllers              128.0 Gb/s",
            "in 40.000 Gb/s",
        ] {
            assert!(text.contains(wanted), "{wanted} is not in\n{text}");
        }
    }

    #[test]
    fn an_empty_panel_says_why_and_nothing_breaks_at_any_size() {
        let mut view = View::new("Linux 6.18 in a VM".into(), SECOND, (70.0, 84.0));
        view.why.insert("I_S".into(), "no codes are known for this processor".into());
        view.why.insert("MBM".into(), "the kernel has no resctrl".into());
        let text = drawn(&view, (80, 24));
        for wanted in [
            "no I_S, B_S: no codes are known for",
            "no level, no marks: no agent runs",
            "no bandwidth by group: the kernel has no resctrl",
        ] {
            assert!(text.contains(wanted), "{wanted} is not in\n{text}");
        }
        for size in [(1, 1), (20, 5), (79, 23), (300, 100)] {
            drawn(&view, size);
            drawn(&server(), size);
        }
    }

    #[test]
    fn without_colours_there_are_none() {
        let mut view = server();
        assert!(coloured(&view));
        view.colours = false;
        assert!(!coloured(&view));
    }
}
