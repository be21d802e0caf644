//! Numbers as people read them, for terminal, tables and pictures: three significant digits, SI prefixes, thousands in groups.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Three significant digits without an exponent: `0.0123`, `4.56`, `78.9`, `1234`.
pub fn sig3(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let size = value.abs();
    let decimals = match size {
        s if !s.is_finite() => return value.to_string(),
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        s if s >= 0.09995 => 3,
        s if s >= 0.009995 => 4,
        s if s >= 0.0009995 => 5,
        _ => return scientific(value),
    };
    format!("{value:.decimals$}")
}

/// A name in at most `longest` characters: its beginning and its end, with a sign between them where some is left out. Names of
/// runs begin alike as often as they end alike.
pub fn clipped(name: &str, longest: usize) -> String {
    let length = name.chars().count();
    if length <= longest {
        return name.into();
    }
    let end = longest.saturating_sub(1) / 2;
    let start = longest.saturating_sub(1) - end;
    let (start, end) = (name.chars().take(start), name.chars().skip(length - end));
    start.chain(['…']).chain(end).collect()
}

/// `1.2e-5`.
fn scientific(value: f64) -> String {
    format!("{value:.1e}")
}

/// Two significant digits, for half widths of intervals.
pub fn sig2(value: f64) -> String {
    let size = value.abs();
    match size {
        s if s == 0.0 || s >= 9.95 => format!("{value:.0}"),
        s if s >= 0.995 => format!("{value:.1}"),
        s if s >= 0.0995 => format!("{value:.2}"),
        s if s >= 0.00995 => format!("{value:.3}"),
        s if s >= 0.000995 => format!("{value:.4}"),
        _ => "<0.001".into(),
    }
}

/// A fraction as per cent, or parts per million where that reads better: `12.3 %`, `9.50 ppm`.
pub fn percent(fraction: f64) -> String {
    if fraction != 0.0 && fraction.abs() < 0.999_5e-5 {
        return format!("{} ppm", sig3(fraction * 1e6));
    }
    format!("{} %", sig3(fraction * 100.0))
}

/// Bytes with a decimal prefix, as exactly as three digits say: `10 KB`, `1.25 MB`, `999 B`.
pub fn bytes(bytes: u64) -> String {
    bytes_f(bytes as f64)
}

/// Bytes that are an amount rather than an integer.
pub fn bytes_f(bytes: f64) -> String {
    prefixed(bytes, "B")
}

fn prefixed(value: f64, unit: &str) -> String {
    let (scaled, prefix) = match value.abs() {
        v if v >= 999.5e9 => (value / 1e12, "T"),
        v if v >= 999.5e6 => (value / 1e9, "G"),
        v if v >= 999.5e3 => (value / 1e6, "M"),
        v if v >= 999.5 => (value / 1e3, "K"),
        _ => (value, ""),
    };
    format!("{} {prefix}{unit}", trim(&sig3(scaled)))
}

/// Without zeros after the point that say nothing.
pub fn trim(number: &str) -> &str {
    if number.contains('.') && !number.contains('e') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

/// Microseconds in the unit that suits them.
pub fn micros(us: f64) -> String {
    match us.abs() {
        v if v >= 999_500.0 => format!("{} s", sig3(us / 1e6)),
        v if v >= 999.5 => format!("{} ms", sig3(us / 1e3)),
        v if v >= 0.9995 || v == 0.0 => format!("{} us", sig3(us)),
        _ => format!("{} ns", sig3(us * 1e3)),
    }
}

/// A rate given in Gb/s, in the prefix that suits it: `16.0 Mb/s`, `4.58 Tb/s`.
pub fn gbps(gbps: f64) -> String {
    match gbps.abs() {
        v if v >= 999.5 => format!("{} Tb/s", sig3(gbps / 1e3)),
        v if v >= 0.9995 || v == 0.0 => format!("{} Gb/s", sig3(gbps)),
        v if v >= 0.000_999_5 => format!("{} Mb/s", sig3(gbps * 1e3)),
        _ => format!("{} Kb/s", sig3(gbps * 1e6)),
    }
}

/// Three significant digits with a decimal prefix and no unit: `21.3M`, `950`.
pub fn si(value: f64) -> String {
    let (scaled, prefix) = match value.abs() {
        v if v >= 999.5e12 => (value / 1e15, "P"),
        v if v >= 999.5e9 => (value / 1e12, "T"),
        v if v >= 999.5e6 => (value / 1e9, "G"),
        v if v >= 999.5e3 => (value / 1e6, "M"),
        v if v >= 999.5 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    format!("{}{prefix}", trim(&sig3(scaled)))
}

/// How long people wait: `4.1 s`, `3 min 20 s`, `5 h 12 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds as u64;
    match seconds {
        s if !s.is_finite() => "unknown".into(),
        s if s < 0.0995 => format!("{:.0} ms", (s * 1e3).max(1.0)),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 3600.0 => format!("{} min {} s", whole / 60, whole % 60),
        s if s < 172_800.0 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// A text whose lines have at most `width` characters, wrapped between words. The rest of a wrapped line begins `hanging` characters to the
/// right of its first word. A word that is longer than a line stays whole.
pub fn wrapped(text: &str, width: usize, hanging: usize) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for (nth, line) in text.split('\n').enumerate() {
        if nth > 0 {
            out.push('\n');
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        out.push_str(&line[..indent]);
        let mut column = indent;
        for (nth, word) in line.split_whitespace().enumerate() {
            let length = word.chars().count();
            if nth > 0 && column + 1 + length > width {
                out.push_str(&format!("\n{:1$}", "", indent + hanging));
                column = indent + hanging;
            } else if nth > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += length;
        }
    }
    out
}

/// A text with a capital.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// A number of things: `1 seed`, `2 seeds`, `3 switches`.
pub fn counted(n: usize, what: &str) -> String {
    let plural = match what.ends_with("ss") || what.ends_with("ch") {
        _ if n == 1 => "",
        true => "es",
        false => "s",
    };
    format!("{} {what}{plural}", grouped(n as u128))
}

/// A count with its thousands apart: `1,234,567`.
pub fn count(count: u64) -> String {
    grouped(count.into())
}

/// A count that may be very large, with its thousands apart.
pub fn grouped(count: u128) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A bar of `room` characters, filled by a share of them from 0 to 1: `##..`.
pub fn bar(share: f64, room: usize) -> String {
    let full = (share.clamp(0.0, 1.0) * room as f64 + 0.5) as usize;
    "#".repeat(full) + &".".repeat(room - full)
}

/// A course as one character for each value, against the largest; a blank where it is zero or missing.
pub fn sparks(course: impl IntoIterator<Item = Option<f64>>) -> String {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let course: Vec<Option<f64>> = course.into_iter().collect();
    let most = course.iter().flatten().fold(0.0f64, |most, value| most.max(*value));
    let step = |value: f64| {
        let eighths = value / most * STEPS.len() as f64;
        let whole = eighths as usize;
        STEPS[(whole + usize::from(eighths > whole as f64)).clamp(1, STEPS.len()) - 1]
    };
    let drawn = |value: Option<f64>| value.filter(|value| *value != 0.0).map_or(' ', step);
    course.into_iter().map(drawn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clipped_name_keeps_both_ends() {
        assert_eq!(clipped("dctcp", 5), "dctcp");
        let runs = ["deep queues, dctcp", "deep queues, cubic"].map(|name| clipped(name, 13));
        assert_eq!(runs, ["deep q… dctcp", "deep q… cubic"]);
    }

    #[test]
    fn a_course_is_held_against_its_largest_value() {
        let course = [None, Some(0.0), Some(1.0), Some(4.0), Some(8.0)];
        assert_eq!(sparks(course), "  ▁▄█");
        assert_eq!(
            (bar(0.5, 4), bar(7.0, 2), bar(f64::NAN, 2)),
            ("##..".into(), "##".into(), "..".into())
        );
    }

    #[test]
    fn three_digits_and_the_right_prefix() {
        for (value, text) in
            [(0.0, "0"), (0.999_9, "1.00"), (9.999, "10.0"), (99.96, "100"), (0.0123, "0.0123")]
        {
            assert_eq!(sig3(value), text);
        }
        for (value, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (10_000, "10 KB"),
            (1_250_000, "1.25 MB"),
            (999_999, "1 MB"),
        ] {
            assert_eq!(bytes(value), text);
        }
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(123), "123");
        assert_eq!(micros(0.25), "250 ns");
        assert_eq!(micros(1_500.0), "1.50 ms");
        assert_eq!(gbps(0.016), "16.0 Mb/s");
        assert_eq!(gbps(4_583.0), "4.58 Tb/s");
        assert_eq!(percent(0.1234), "12.3 %");
        assert_eq!(percent(9.5e-6), "9.50 ppm");
        for (value, text) in [(21_340_000.0, "21.3M"), (999.4, "999"), (999.6, "1k"), (0.5, "0.5")]
        {
            assert_eq!(si(value), text);
        }
    }

    #[test]
    fn lines_are_wrapped_between_words_and_the_rest_hangs() {
        assert_eq!(wrapped("one two three", 7, 0), "one two\nthree");
        assert_eq!(
            wrapped("one two\n  three four five\n", 12, 2),
            "one two\n  three four\n    five\n"
        );
        assert_eq!(
            wrapped("incomprehensibility is one word", 6, 4),
            "incomprehensibility\n    is\n    one\n    word"
        );
        assert_eq!(
            (wrapped("", 5, 2), capitalised("überall"), capitalised("")),
            (String::new(), "Überall".into(), String::new())
        );
    }

    #[test]
    fn waits_and_things() {
        for (seconds, text) in [
            (0.02, "20 ms"),
            (4.14, "4.1 s"),
            (200.0, "3 min 20 s"),
            (18_720.0, "5 h 12 min"),
            (864_000.0, "10 days"),
            (f64::INFINITY, "unknown"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        assert_eq!(counted(1, "seed"), "1 seed");
        assert_eq!(counted(1_200, "switch"), "1,200 switches");
    }
}
