//! What the threshold of the shared buffer does to Homa's losses.

use super::SUITE;
use crate::experiments::{Lists, Results, results};
use crate::folder::Folder;
use crate::jobs::Cores;
use crate::row::Row;
use std::sync::Mutex;

/// Alphas; the second is that of the rows.
const ALPHAS: [&str; 5] = ["0.5", "1.0", "2.0", "8.0", "none"];

/// MB that the ports of a switch share.
const BUFFERS: [u32; 3] = [32, 8, 2];

/// What load 0.8 is of, the case of Homa with it, and a row that runs this case.
#[derive(Clone, Copy)]
struct Load {
    of: &'static str,
    case: &'static str,
    row: &'static str,
}

const LOADS: [Load; 2] = [
    Load { of: "uplinks", case: "core-webserver", row: "homa-loss-core" },
    Load { of: "hosts' links", case: "host-webserver", row: "homa-loss-host" },
];

/// A table for people: Homa and Web Server with seed 1, under both readings of the load.
pub(crate) fn sensitivity(cores: &Cores<'_>, rows: &[Row], quick: bool) -> String {
    let mut points: Vec<(Load, u32, &str)> = Vec::new();
    for load in LOADS {
        for buffer in BUFFERS {
            points.extend(ALPHAS.map(|alpha| (load, buffer, alpha)));
        }
    }
    let found: Mutex<Vec<(usize, String)>> = Mutex::default();
    let call = |(at, (load, buffer, alpha)): (usize, (Load, u32, &str))| {
        let Load { of, case, row } = load;
        let row: Vec<Row> = rows.iter().filter(|one| one.id == row).cloned().collect();
        let policy = match alpha {
            "none" => "policy = \"shared\"".into(),
            alpha => format!("alpha = {alpha}, threshold = \"queue\""),
        };
        let further = [
            ("seeds".into(), "[1]".into()),
            ("fabric.switch.buffer".into(), format!("{{ size = \"{buffer}MB\", {policy} }}")),
        ];
        let head = format!("{of:14}{buffer:6} MB  {alpha:>5}");
        let found = &found;
        move || {
            let alone = Cores::new(&|_, _| {});
            let (_, results) =
                results(Folder::of(SUITE), &row, &Lists::under(further.to_vec()), &alone, quick);
            let line = results.map_or(String::new(), |results| head + &numbers(&results, case));
            found.lock().expect("entering does not panic").push((at, line));
        }
    };
    cores.call(points.into_iter().enumerate().map(call).collect());
    let mut found = found.into_inner().expect("every worker has ended");
    found.sort();
    let mut text = String::from(
        "Homa under Web Server, seed 1, all else as in the rows. Lost: bytes dropped over bytes that left hosts, %. FCT: mean and 99th percentile, us.\n\n\
         load 0.8 of      buffer  alpha     lost       mean        p99  not done\n",
    );
    found.iter().for_each(|(_, line)| text += line);
    text
}

/// What was lost, times, and flows without an end, of a case under Homa.
fn numbers(results: &Results, case: &str) -> String {
    let number = |text: String| results.number(&text).unwrap_or(f64::NAN);
    let records = results.records("homa", &[case]).unwrap_or_default();
    let unfinished =
        records.iter().flat_map(|run| &run.flows).filter(|flow| flow.delivered.is_none()).count();
    format!(
        "  {:>7.2}  {:>9.1}  {:>9.1}  {unfinished:>8}\n",
        number(format!("lost({case})")),
        number(format!("fct(homa[{case}])")) * 1e6,
        number(format!("tail(homa[{case}])")) * 1e6,
    )
}
