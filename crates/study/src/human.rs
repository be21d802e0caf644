//! Numbers as people read them.

pub use forebay_units::human::count as grouped;

/// Three significant digits with a decimal prefix: `21.3M`, `950`.
pub fn si(value: f64) -> String {
    const PREFIXES: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    let mut scaled = value.max(0.0);
    let mut prefix = 0;
    while scaled >= 999.5 && prefix + 1 < PREFIXES.len() {
        scaled /= 1000.0;
        prefix += 1;
    }
    format!("{}{}", digits3(scaled), PREFIXES[prefix])
}

fn digits3(value: f64) -> String {
    let decimals = match value {
        v if v == 0.0 || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// Three significant digits: `0.0123`, `4.56`, `1234`.
pub fn significant(value: f64) -> String {
    with_digits(value, 3)
}

/// Two significant digits, for half widths of intervals.
pub fn significant2(value: f64) -> String {
    with_digits(value, 2)
}

fn with_digits(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor() as i32;
    match digits - 1 - magnitude {
        decimals if decimals > 6 => format!("{value:.1e}"),
        decimals => format!("{value:.0$}", decimals.max(0) as usize),
    }
}

/// Bytes with a decimal prefix: `1.25 MB`.
pub fn bytes(bytes: f64) -> String {
    let text = si(bytes).to_uppercase();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    format!("{} {}B", &text[..split], &text[split..])
}

/// How long people wait: `4.1 s`, `3 min 20 s`, `5 h 12 min`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "unknown".into(),
        s if s < 0.0995 => format!("{:.0} ms", (s * 1e3).max(1.0)),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 3600.0 => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
        s if s < 172_800.0 => format!("{:.0} h {:.0} min", (s / 3600.0).floor(), s % 3600.0 / 60.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// Virtual time in the unit that suits it: `2.48 ms`.
pub fn virtual_time(ps: u64) -> String {
    let ps = ps as f64;
    let (scale, unit) = match ps {
        p if p >= 1e12 => (1e12, "s"),
        p if p >= 1e9 => (1e9, "ms"),
        p if p >= 1e6 => (1e6, "us"),
        p if p >= 1e3 => (1e3, "ns"),
        _ => (1.0, "ps"),
    };
    format!("{} {unit}", digits3(ps / scale))
}

/// `1 seed`, `2 seeds`, `3 switches`.
pub fn counted(n: usize, what: &str) -> String {
    let plural = match what.ends_with("ss") || what.ends_with("ch") {
        _ if n == 1 => "",
        true => "es",
        false => "s",
    };
    format!("{} {what}{plural}", grouped(n as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(si(21_340_000.0), "21.3M");
        assert_eq!(si(999.4), "999");
        assert_eq!(si(999.6), "1.00k");
        assert_eq!(bytes(1_250_000.0), "1.25 MB");
        assert_eq!(bytes(950.0), "950 B");
        assert_eq!(virtual_time(2_480_000_000), "2.48 ms");
        assert_eq!(grouped(1_048_576), "1,048,576");
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(counted(1, "seed"), "1 seed");
    }
}
