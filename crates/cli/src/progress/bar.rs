//! The bar, as wide as the terminal and no wider: what matters least is left out first.

use super::time_left;
use crate::human;
use forebay_study::progress::{Pace, State};

/// Cells of the bar.
const BAR: std::ops::RangeInclusive<usize> = 8..=30;

/// One line of fewer than `width` characters.
pub fn line(state: &State, pace: &Pace, width: usize, unicode: bool, colour: bool) -> String {
    let about = if state.flows_expected { "~" } else { "" };
    let percent = |fraction: f64| format!("{:>2.0} %", (fraction * 100.0).floor());
    let counts = state.flows_all.map(|all| {
        let done = human::count(state.flows_done);
        format!(" ({done} of {about}{})", human::count(all))
    });
    // Text and how dearly it is kept; 0 stays always.
    let mut parts: Vec<(u8, String)> = vec![(4, format!("{}  ", state.name))];
    if state.to_simulate_ps > 0 {
        parts.push((0, format!("time {}", percent(state.time_fraction()))));
    }
    if let Some(flows) = state.flow_fraction() {
        parts.push((1, format!(", flows {}", percent(flows))));
        parts.extend(counts.map(|text| (5, text)));
    }
    if state.parts_all > 1 {
        let apart = if state.to_simulate_ps > 0 { "  " } else { "" };
        let text = format!("{apart}{}/{} {}", state.parts_done, state.parts_all, state.parts);
        parts.push((3, text));
    }
    if let Some(rate) = pace.hops_per_s().filter(|_| state.packet_hops > 0) {
        parts.push((2, format!("  {:>5} hops/s", human::si(rate))));
    }
    // As wide as most of them, so that the bar keeps its place.
    parts.push((0, format!("  {:<11}", time_left(state, pace))));

    let room = width.saturating_sub(1);
    let length = |parts: &[(u8, String)]| parts.iter().map(|p| p.1.chars().count()).sum::<usize>();
    let least = BAR.start() + 2;
    while length(&parts) + least > room {
        let Some(worst) = parts.iter().map(|p| p.0).max().filter(|worst| *worst > 0) else { break };
        parts.retain(|p| p.0 != worst);
    }
    let text = length(&parts);
    let cells = (room.saturating_sub(text + 2)).min(*BAR.end());
    let mut out = String::new();
    let mut parts = parts.into_iter().peekable();
    if let Some((4, name)) = parts.next_if(|p| p.0 == 4) {
        out.push_str(&name);
    }
    if cells >= *BAR.start() {
        out.push_str(&bar(state.fraction(), cells, unicode, colour));
        out.push_str("  ");
    }
    parts.for_each(|p| out.push_str(&p.1));
    if out.chars().count() > room && !colour {
        out = out.chars().take(room).collect();
    }
    out
}

fn bar(fraction: f64, cells: usize, unicode: bool, colour: bool) -> String {
    let full = ((fraction * cells as f64) as usize).min(cells);
    let (done, left) = if unicode { ("━", "─") } else { ("#", "-") };
    let (done, left) = (done.repeat(full), left.repeat(cells - full));
    if colour { format!("\x1b[36m{done}\x1b[0;2m{left}\x1b[0m") } else { done + &left }
}

/// Whether the locale says that the terminal knows more than ASCII.
pub fn unicode_wanted() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State {
            name: "websearch".into(),
            parts: "seeds",
            parts_done: 1,
            parts_all: 3,
            simulated_ps: 5_640_000_000,
            to_simulate_ps: 12_000_000_000,
            flows_done: 20_412,
            flows_all: Some(39_900),
            flows_expected: true,
            flows_end_it: true,
            packet_hops: 42_600_000,
            work: None,
            stopping: false,
        }
    }

    fn pace() -> Pace {
        let mut pace = Pace::default();
        pace.add(2.0, 0.47, 42.6e6);
        pace
    }

    #[test]
    fn a_wide_terminal_shows_everything() {
        assert_eq!(
            line(&state(), &pace(), 130, false, false),
            "websearch  ##############----------------  time 47 %, flows 51 % (20,412 of ~39,900)  1/3 seeds  \
             21.3M hops/s  2.3 s left "
        );
    }

    #[test]
    fn a_line_never_wraps() {
        for width in 20..200 {
            for unicode in [false, true] {
                let line = line(&state(), &pace(), width, unicode, false);
                assert!(line.chars().count() < width, "{width}: {line}");
                assert!(line.contains("time 47"), "{width}: {line}");
            }
        }
    }

    #[test]
    fn work_that_is_counted_in_parts_alone_shows_them() {
        let state = State {
            name: "linux".into(),
            parts: "experiments",
            parts_done: 13,
            parts_all: 26,
            ..State::default()
        };
        let mut pace = Pace::default();
        pace.add(10.0, state.fraction(), 0.0);
        assert_eq!(
            line(&state, &pace, 80, false, false),
            "linux  ###############---------------  13/26 experiments  10 s left  "
        );
    }

    #[test]
    fn the_further_of_time_and_flows_counts_only_where_flows_end_the_run() {
        let exact = State { flows_expected: false, ..state() };
        assert!((exact.fraction() - 20_412.0 / 39_900.0).abs() < 1e-9);
        assert_eq!(State { flows_end_it: false, ..exact }.fraction(), 0.47);
        assert_eq!(state().fraction(), 0.47);
    }
}
