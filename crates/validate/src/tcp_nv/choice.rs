//! How the BIC columns choose among the candidates, and what the open settings do to the NV columns.

use super::settings::{CHOSEN, Law, PAD2, Settings};
use super::table::{Column, QUANTITIES, column};
use crate::jobs::Cores;
use crate::row::Row;
use std::iter;
use std::sync::Mutex;

/// What a reader takes home, over seeds and with each setting a fifth less and more; two tables of settings.
pub(crate) fn sensitivity(cores: &Cores<'_>, rows: &[Row], quick: bool) -> String {
    let candidates = Settings::candidates();
    let columns = all_columns(cores, &candidates, Law::Bic, quick);
    let mut scored: Vec<(f64, &Settings, &[Column; 2])> = candidates
        .iter()
        .zip(&columns)
        .map(|(settings, pair)| (distance(pair, rows), settings, pair))
        .collect();
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut text = headlines(cores, quick);
    text += &format!(
        "\nSets of settings by their distance from the {} BIC numbers (sum of squared log ratios, fairness left out)\n\n\
         distance     RTT  buffer    RTO  {}\n",
        2 * chosen_by().count(),
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
        ("pad 2", Settings { pad: 2, ..c }),
        ("pad 2, RTT 200 us", Settings { pad: 2, rtt_us: 200, ..c }),
        ("pad 3, 600 KB", Settings { pad: 3, buffer_kb: 600, ..c }),
        ("buffer 600 KB", Settings { buffer_kb: 600, ..c }),
    ];
    let settings: Vec<Settings> = varied.iter().map(|v| v.1).collect();
    let columns = all_columns(cores, &settings, Law::Nv, quick);
    text += &format!("\nNV columns with one setting changed\n\n{:18}{}\n", "", heads());
    text += &format!("{:18}{}\n", "published", numbers(&deck(rows, Law::Nv)));
    for ((name, _), pair) in varied.iter().zip(&columns) {
        text += &format!("{name:18}{}\n", numbers(pair));
    }
    text + &own_connections(cores, rows, quick) + &pad2(cores, rows, quick)
}

/// Candidates of reading `-pad2` in the order of its rule, which looks at few flows alone; all 16 numbers of each.
fn pad2(cores: &Cores<'_>, rows: &[Row], quick: bool) -> String {
    let candidates = Settings::pad2_candidates();
    let columns = all_columns(cores, &candidates, Law::Nv, quick);
    let mut scored: Vec<_> = candidates.iter().zip(&columns).collect();
    let rank = |pair: &[Column; 2]| (within(&pair[0], "few", rows), apart(&pair[0], rows));
    scored.sort_by(|a, b| {
        let ((of_a, far_a), (of_b, far_b)) = (rank(a.1), rank(b.1));
        of_b.cmp(&of_a).then(far_a.total_cmp(&far_b))
    });
    let mut text = format!(
        "\nCandidates of reading -pad2, RTT 200 us: how many of the eight NV numbers with few flows are in, which choose; distance; how many with 128 flows, which are judged\n\n\
         few  distance  128  pad  samples  share  buffer  {}\n",
        heads()
    );
    for (s, pair) in scored {
        let (few, distance) = rank(pair);
        let many = within(&pair[1], "128", rows);
        let mark = if *s == PAD2 { "  chosen" } else { "" };
        text += &format!(
            "{few:>3}  {distance:8.3}  {many:>3}  {:>3}  {:>7}  {:>5}  {:>4}KB  {}{mark}\n",
            s.pad,
            s.samples,
            s.share,
            s.buffer_kb,
            numbers(pair)
        );
    }
    text
}

/// How many of the eight numbers of NV's column are within the tolerances of their rows.
fn within(column: &Column, label: &str, rows: &[Row]) -> usize {
    let values = QUANTITIES.iter().zip(column.0);
    values
        .filter(|(what, value)| {
            row(rows, Law::Nv, label, what)
                .is_some_and(|row| row.tolerance.holds(row.published, *value))
        })
        .count()
}

/// Sum of squared log ratios of NV's column of few flows to the deck's, without drops, of which the deck has none.
fn apart(column: &Column, rows: &[Row]) -> f64 {
    let values = QUANTITIES.iter().zip(column.0).filter(|(what, _)| **what != "drops");
    values
        .map(|(what, value)| (value.max(1e-9) / published(rows, Law::Nv, "few", what)).ln().powi(2))
        .sum()
}

/// What the columns are where each RPC has a connection of its own.
fn own_connections(cores: &Cores<'_>, rows: &[Row], quick: bool) -> String {
    let c = Settings { fresh: true, ..CHOSEN };
    let variants = [
        ("400 KB", c),
        ("600 KB", Settings { buffer_kb: 600, ..c }),
        ("640 KB", Settings { buffer_kb: 640, ..c }),
        ("5 samples", Settings { samples: 5, ..c }),
        ("2 samples", Settings { samples: 2, ..c }),
    ];
    let mut text = format!(
        "\nEach RPC over a connection of its own, which begins in slow start\n\n{:18}{}\n",
        "",
        heads()
    );
    for (law, variants) in [(Law::Bic, &variants[..3]), (Law::Nv, &variants[..])] {
        let settings: Vec<Settings> = variants.iter().map(|v| v.1).collect();
        let columns = all_columns(cores, &settings, law, quick);
        let names = variants.iter().map(|v| v.0);
        for (name, pair) in iter::once(("published", deck(rows, law))).chain(names.zip(columns)) {
            let from_deck = match law {
                Law::Bic => format!("  distance {:.2}", distance(&pair, rows)),
                Law::Nv => String::new(),
            };
            text +=
                &format!("{:18}{}{from_deck}\n", format!("{}, {name}", law.id()), numbers(&pair));
        }
    }
    text
}

/// What the deck has with few flows and with 128.
fn deck(rows: &[Row], law: Law) -> [Column; 2] {
    ["few", "128"].map(|label| Column(QUANTITIES.map(|what| published(rows, law, label, what))))
}

fn published(rows: &[Row], law: Law, label: &str, what: &str) -> f64 {
    row(rows, law, label, what).map_or(f64::NAN, |row| row.published)
}

/// The row of a cell of the table: every reading has the same number and tolerance.
fn row<'a>(rows: &'a [Row], law: Law, label: &str, what: &str) -> Option<&'a Row> {
    let id = format!("table-{}-{label}-{what}-pad2", law.id());
    rows.iter().find(|row| row.id == id)
}

/// Flows of the headline claims.
const FLOWS: [u32; 3] = [8, 32, 128];

/// Seeds of them.
const SEEDS: u64 = 5;

/// NV beside BIC where something is not as in the rows.
fn headlines(cores: &Cores<'_>, quick: bool) -> String {
    let c = PAD2;
    let mut lines: Vec<(String, Settings)> =
        (1..=SEEDS).map(|seed| (format!("seed {seed}"), Settings { seed, ..c })).collect();
    let [less, more] = [4, 6].map(|fifths| move |value: u32| value * fifths / 5);
    let fifths = [
        ("RTT", Settings { rtt_us: less(c.rtt_us), ..c }, Settings { rtt_us: more(c.rtt_us), ..c }),
        (
            "buffer",
            Settings { buffer_kb: less(c.buffer_kb), ..c },
            Settings { buffer_kb: more(c.buffer_kb), ..c },
        ),
        (
            "RTO floor",
            Settings { rto_ms: less(c.rto_ms), ..c },
            Settings { rto_ms: more(c.rto_ms), ..c },
        ),
        (
            "samples",
            Settings { samples: less(c.samples), ..c },
            Settings { samples: more(c.samples), ..c },
        ),
        ("share", Settings { share: less(c.share), ..c }, Settings { share: more(c.share), ..c }),
        ("pad, a packet", Settings { pad: c.pad - 1, ..c }, Settings { pad: c.pad + 1, ..c }),
    ];
    for (name, less, more) in fifths {
        lines.extend([(format!("{name} less"), less), (format!("{name} more"), more)]);
    }
    let found: Mutex<Vec<(usize, usize, [Column; 2])>> = Mutex::new(Vec::new());
    let mut calls = Vec::new();
    for (i, (_, settings)) in lines.iter().enumerate() {
        for (j, flows) in FLOWS.into_iter().enumerate() {
            let found = &found;
            calls.push(move || {
                let pair = Law::BOTH.map(|law| column(law, flows, settings, quick));
                found.lock().expect("no call panics while it holds it").push((i, j, pair));
            });
        }
    }
    cores.call(calls);
    let mut found = found.into_inner().expect("every worker has ended");
    found.sort_by_key(|one| (one.0, one.1));
    let mut text = String::from(
        "Headline claims over seeds, and with each open setting a fifth less and more: mean queue in packets, 99th percentile of\n\
         latency in us, packets dropped per second; BIC, then NV.\n\n",
    );
    text += &format!("{:16}", "");
    for flows in FLOWS {
        text += &format!("{:>24}{:>20}{:>20}", format!("{flows} flows, queue"), "P99", "drops");
    }
    for (i, (name, _)) in lines.iter().enumerate() {
        text += &format!("\n{name:16}");
        for (_, _, [bic, nv]) in found.iter().filter(|one| one.0 == i) {
            for (a, b, width) in [
                (bic.queue(), nv.queue(), 14),
                (bic.p99(), nv.p99(), 10),
                (bic.drops(), nv.drops(), 10),
            ] {
                text += &format!("{a:>width$.0}{b:>10.0}");
            }
        }
    }
    text + "\n"
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

/// The quantities of a column that choose, with their places in it.
fn chosen_by() -> impl Iterator<Item = (usize, &'static str)> {
    QUANTITIES.iter().copied().enumerate().filter(|(_, what)| *what != "fairness")
}

/// Of BIC's columns from the deck's.
fn distance(pair: &[Column; 2], rows: &[Row]) -> f64 {
    let mut sum = 0.0;
    for (label, column) in ["few", "128"].iter().zip(pair) {
        let values = column.0;
        for (place, what) in chosen_by() {
            sum += (values[place].max(1e-9) / published(rows, Law::Bic, label, what)).ln().powi(2);
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
            .0
            .iter()
            .map(|v| {
                format!("{:>9}", if *v < 100.0 { format!("{v:.2}") } else { format!("{v:.0}") })
            })
            .collect()
    };
    one(&pair[0]) + "  " + &one(&pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Basis;

    #[test]
    fn the_calibrated_numbers_of_bic_choose_but_for_fairness() {
        let rows = crate::rows("tcp-nv");
        let calibrated = rows.iter().filter(|row| {
            let of_bic = row.id.starts_with("table-bic-") && !row.id.contains("-fairness");
            of_bic && row.basis == Basis::Calibrated
        });
        assert_eq!(2 * chosen_by().count(), calibrated.count());
    }
}
