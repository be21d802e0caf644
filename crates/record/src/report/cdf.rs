//! A distribution in two pictures: its body from below, and its tail from above.

use super::pretty;
use crate::human::{count, percent};
use crate::stats::quantile;
use crate::svg::{Axis, Chart, SERIES, esc, plain, pow10, round_up};
use forebay_units::math::{exp, ln};

/// Values of one class, sorted; above zero.
pub(super) struct Class {
    pub name: String,
    pub sorted: Vec<f64>,
}

/// What the values are.
pub(super) struct Words {
    /// `flows`.
    pub things: &'static str,
    /// `Slowdown: FCT / ideal FCT, log scale`.
    pub axis: String,
    /// A tick of the axis is labelled with the value over this.
    pub divisor: f64,
    /// A value under the pointer: `slowdown 3.2`.
    pub value: fn(f64) -> String,
    /// `slowdown by size class`.
    pub about: &'static str,
    /// The axis begins here, unless the data are far above; `None`: at the least value.
    pub least: Option<f64>,
}

/// Legend and both pictures; `None` of no values.
pub(super) fn pair(classes: &[Class], words: &Words) -> Option<String> {
    let worst = classes.iter().filter_map(|c| c.sorted.last()).copied().reduce(f64::max)?;
    let least = classes.iter().map(|c| c.sorted[0]).reduce(f64::min)?;
    // The axis begins at the data where these are far from where it might.
    let start = words.least.filter(|start| least < 3.0 * start);
    let best = start.map_or(least / 1.1, |start| least.min(start)).max(1e-6);
    let most = classes.iter().map(|c| c.sorted.len()).max()?;
    let worst = round_up(worst.max(2.0 * start.unwrap_or(best)));
    // The body of the distribution ends where every class has had 99 % of its values.
    let body = classes.iter().filter_map(|c| quantile(&c.sorted, 99));
    let body = round_up(body.fold(2.0 * start.unwrap_or(best), f64::max)).min(worst);
    let mut plots = String::from("<div class=\"legend\">");
    for (i, class) in classes.iter().enumerate() {
        plots.push_str(&format!(
            "<span><i class=\"key s{}\"></i>{} <small>{} {}</small></span>",
            i % SERIES,
            esc(&pretty(&class.name)),
            count(class.sorted.len() as u64),
            words.things
        ));
    }
    plots.push_str("</div><div class=\"pair\">");
    plots.push_str(&picture(classes, words, (best, body), None));
    plots.push_str(&picture(classes, words, (best, worst), Some(most)));
    plots.push_str("</div>");
    Some(plots)
}

/// Share of values not above `x`.
fn share_up_to(sorted: &[f64], x: f64) -> f64 {
    sorted.partition_point(|value| *value <= x) as f64 / sorted.len() as f64
}

fn picture(
    classes: &[Class],
    words: &Words,
    (best, worst): (f64, f64),
    tail_of: Option<usize>,
) -> String {
    let y = match tail_of {
        None => Axis::linear(0.0, 1.0),
        Some(most) => {
            let decades = (most.max(10).ilog10() + 1).min(6) as i32;
            Axis::log(pow10(-decades), 1.0)
        }
    };
    let x = Axis::log(best, worst);
    let mut chart = Chart::half(x, y);
    let whole = |v: f64| format!("{} %", plain(v * 100.0));
    let (x_ticks, mut y_ticks) = (x.ticks(6, |v| plain(v / words.divisor)), y.ticks(5, whole));
    if tail_of.is_some() {
        y_ticks.retain(|tick| tick.label.is_some());
    }
    let title = match tail_of {
        None => format!("Share of {} at or below", words.things),
        Some(_) => format!("Share of {} beyond, log scale", words.things),
    };
    chart.plot.axes(&x_ticks, &y_ticks, &words.axis, &title);
    let steps = 220;
    let span = ln(worst / best);
    let value_at = |i: usize| best * exp(span * i as f64 / steps as f64);
    for (c, class) in classes.iter().enumerate() {
        let points: Vec<Option<(f64, f64)>> = (0..=steps)
            .map(|i| {
                let x = value_at(i);
                let share = share_up_to(&class.sorted, x);
                match tail_of {
                    None => Some((x, share)),
                    Some(_) => (share < 1.0).then_some((x, 1.0 - share)),
                }
            })
            .collect();
        chart.plot.line(&points, &format!("line s{}", c % SERIES));
    }
    let grid: Vec<f64> = (0..=55).map(|i| value_at(i * 4)).collect();
    let positions: Vec<_> = grid.iter().map(|x| (chart.plot.x.px(*x), (words.value)(*x))).collect();
    chart.hover_at(positions);
    for (c, class) in classes.iter().enumerate() {
        let read = |x: &f64| {
            let share = share_up_to(&class.sorted, *x);
            match tail_of {
                None => Some((chart.plot.y.px(share), percent(share))),
                Some(_) if share < 1.0 => {
                    Some((chart.plot.y.px(1.0 - share), percent(1.0 - share)))
                }
                Some(_) => None,
            }
        };
        let values: Vec<_> = grid.iter().map(read).collect();
        chart.hover_row(&pretty(&class.name), &format!("s{}", c % SERIES), values);
    }
    chart.finish(&match tail_of {
        None => format!("Cumulative distribution of {}", words.about),
        Some(_) => format!("Tail of the distribution of {}", words.about),
    })
}
