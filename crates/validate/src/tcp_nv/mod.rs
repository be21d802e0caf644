//! Experiments behind `validation/tcp-nv/rows.toml`: the TCP-NV slides of 2010.

mod choice;
mod claims;
mod pictures;
mod rack;
mod router;
mod settings;
mod sorting;
mod star;
mod table;

use crate::jobs::{Cores, Job};
use crate::measured::Measured;
pub(crate) use choice::sensitivity;
pub(crate) use pictures::pictures;
use settings::{CHOSEN, Law};

/// Runs all of them.
pub(crate) fn measure(cores: &Cores<'_>, quick: bool) -> Measured {
    let mut jobs: Vec<Job> = vec![
        Box::new(move |all| router::measure(&CHOSEN, quick, all)),
        Box::new(move |all| sorting::measure(&CHOSEN, quick, all)),
    ];
    jobs.push(Box::new(move |all| table_rows(quick, all)));
    for per_host in [8, 4, 1] {
        for pause in [true, false] {
            jobs.push(Box::new(move |all| rack::measure(per_host, pause, &CHOSEN, quick, all)));
        }
    }
    jobs.extend(claims::jobs(&CHOSEN, quick));
    cores.run(jobs)
}

/// Rows of the 10 Gb/s table, and of its orderings.
fn table_rows(quick: bool, all: &mut Measured) {
    let column = |law, flows| table::column(law, flows, &CHOSEN, quick);
    let few = |law| table::Column::mean(&[2, 8, 32].map(|flows| column(law, flows)));
    for (label, columns) in
        [("few", Law::BOTH.map(few)), ("128", Law::BOTH.map(|law| column(law, 128)))]
    {
        for (law, values) in Law::BOTH.iter().zip(&columns) {
            for (what, value) in table::QUANTITIES.iter().zip(values.values()) {
                enter(
                    all,
                    format!("table-{}-{label}-{what}", law.id()),
                    value,
                    values.beyond(what),
                );
            }
        }
        let fewest = |what| columns.iter().map(|c| c.beyond(what)).min().flatten();
        let [bic, nv] = columns.map(|c| c.values());
        for (i, what) in table::QUANTITIES.iter().enumerate() {
            if *what != "fairness" || label == "128" {
                enter(all, format!("order-{label}-{what}"), nv[i] / bic[i], fewest(what));
            }
        }
    }
}

/// Enters a value, which may rest on a percentile with so many RPCs beyond it.
fn enter(all: &mut Measured, id: String, value: f64, beyond: Option<usize>) {
    match beyond {
        Some(beyond) => all.insert_tail(id, value, beyond, String::new()),
        None => all.insert(id, value),
    }
}
