//! How the BIC columns choose among the candidates, and what the open settings do to the NV columns.

use super::settings::{CHOSEN, Law, Settings};
use super::table::{Column, QUANTITIES, column};
use crate::jobs::Cores;
use crate::row::{Basis, Row};
use std::sync::Mutex;

/// Two tables for people.
pub(crate) fn sensitivity(cores: &Cores<'_>, rows: &[Row], quick: bool) -> String {
    let published = |law: Law, label: &str, what: &str| {
        let id = format!("table-{}-{label}-{what}", law.id());
        rows.iter().find(|r| r.id == id).map_or(f64::NAN, |r| r.published)
    };
    let candidates = Settings::candidates();
    let columns = all_columns(cores, &candidates, Law::Bic, quick);
    let calibrated = rows.iter().filter(|r| r.basis == Basis::Calibrated).count();
    let mut scored: Vec<(f64, &Settings, &[Column; 2])> = candidates
        .iter()
        .zip(&columns)
        .map(|(settings, pair)| {
            (distance(pair, &|label, what| published(Law::Bic, label, what)), settings, pair)
        })
        .collect();
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut text = format!(
        "Sets of settings by their distance from the {calibrated} BIC numbers (sum of squared log ratios, fairness left out)\n\n\
         distance     RTT  buffer    RTO  {}\n",
        heads()
    );
    for (distance, s, pair) in scored {
        let mark = if *s == CHOSEN { "  chosen" } else { "" };
        text += &format!(
            "{distance:8.2}  {:>4}us {:>5}KB {:>4}ms  {}{mark}\n",
            s.rtt_us,
            s.buffer_kb,
            s.rto_ms,
            numbers(pair)
        );
    }
    let c = CHOSEN;
    let varied = [
        ("as chosen", c),
        ("RTT halved", Settings { rtt_us: c.rtt_us / 2, ..c }),
        ("RTT doubled", Settings { rtt_us: c.rtt_us * 2, ..c }),
        ("buffer halved", Settings { buffer_kb: c.buffer_kb / 2, ..c }),
        ("buffer doubled", Settings { buffer_kb: c.buffer_kb * 2, ..c }),
        ("RTO floor halved", Settings { rto_ms: c.rto_ms / 2, ..c }),
        ("RTO floor doubled", Settings { rto_ms: c.rto_ms * 2, ..c }),
        ("samples quartered", Settings { samples: c.samples / 4, ..c }),
        ("samples halved", Settings { samples: c.samples / 2, ..c }),
        ("samples doubled", Settings { samples: c.samples * 2, ..c }),
        ("share halved", Settings { share: c.share / 2, ..c }),
        ("share doubled", Settings { share: c.share * 2, ..c }),
        ("pad halved", Settings { pad: c.pad / 2, ..c }),
    ];
    let settings: Vec<Settings> = varied.iter().map(|v| v.1).collect();
    let columns = all_columns(cores, &settings, Law::Nv, quick);
    text += &format!("\nNV columns with one setting changed\n\n{:18}{}\n", "", heads());
    let deck = ["few", "128"]
        .map(|label| Column::of(QUANTITIES.map(|what| published(Law::Nv, label, what)), 0));
    text += &format!("{:18}{}\n", "published", numbers(&deck));
    for ((name, _), pair) in varied.iter().zip(&columns) {
        text += &format!("{name:18}{}\n", numbers(pair));
    }
    text
}

/// The columns "few" and "128" of a law for each set of settings.
fn all_columns(
    cores: &Cores<'_>,
    settings: &[Settings],
    law: Law,
    quick: bool,
) -> Vec<[Column; 2]> {
    let found: Mutex<Vec<(usize, [Column; 2])>> = Mutex::new(Vec::new());
    let jobs = settings.iter().enumerate().map(|(i, s)| {
        let found = &found;
        move || {
            let few = Column::mean(&[2, 8, 32].map(|flows| column(law, flows, s, quick)));
            let many = column(law, 128, s, quick);
            found.lock().expect("no job panics while it holds it").push((i, [few, many]));
        }
    });
    cores.call(jobs.collect());
    let mut found = found.into_inner().expect("every worker has ended");
    found.sort_by_key(|one| one.0);
    found.into_iter().map(|one| one.1).collect()
}

fn distance(pair: &[Column; 2], published: &dyn Fn(&str, &str) -> f64) -> f64 {
    let mut sum = 0.0;
    for (label, column) in ["few", "128"].iter().zip(pair) {
        for (what, value) in QUANTITIES.iter().zip(column.values()) {
            if *what != "fairness" {
                sum += (value.max(1e-9) / published(label, what)).ln().powi(2);
            }
        }
    }
    sum
}

fn heads() -> String {
    let one = |label: &str| -> String {
        QUANTITIES
            .iter()
            .map(|what| {
                format!(
                    "{:>9}",
                    format!("{what}.{label}")
                        .replace("latency", "mean")
                        .replace("goodput", "Gb/s")
                        .replace("fairness", "Jain")
                )
            })
            .collect()
    };
    one("few") + "  " + &one("128")
}

fn numbers(pair: &[Column; 2]) -> String {
    let one = |column: &Column| -> String {
        column
            .values()
            .iter()
            .map(|v| {
                format!("{:>9}", if *v < 100.0 { format!("{v:.2}") } else { format!("{v:.0}") })
            })
            .collect()
    };
    one(&pair[0]) + "  " + &one(&pair[1])
}
