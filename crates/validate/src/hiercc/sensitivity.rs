//! What each free parameter of HierCC, and the seed, do to what a reader takes home.

use super::{DOWN, NAMED};
use crate::drawing::Drawing;
use crate::experiments::{Lists, measure_with_lists};
use crate::folder::Folder;
use crate::jobs::Cores;
use crate::row::Row;

/// Each number of the bundle a fifth less and a fifth more: its name, key and values.
const FIFTHS: [(&str, &str, [&str; 2]); 9] = [
    ("c0", "fabric.switch.hierarchical.advance", ["8KB", "12KB"]),
    ("credit", "fabric.switch.hierarchical.credit", ["800B", "1200B"]),
    ("q0", "fabric.switch.hierarchical.params.q0", ["16KB", "24KB"]),
    ("beta", "fabric.switch.hierarchical.params.beta", ["0.16", "0.24"]),
    ("window", "fabric.switch.hierarchical.params.window", ["8us", "12us"]),
    ("v_high", "fabric.switch.hierarchical.params.v_high", ["56KB", "84KB"]),
    ("v_low", "fabric.switch.hierarchical.params.v_low", ["40KB", "60KB"]),
    ("mark_every", "transport.params.request_interval", ["8us", "12us"]),
    ("r_min", "fabric.switch.hierarchical.params.r_min", ["672Mbps", "1008Mbps"]),
];

/// Seeds of the headline claims.
const SEEDS: u64 = 5;

/// Mean and 99th percentile of FCT at load 0.5.
fn times(scheme: &str) -> [String; 2] {
    ["mean", "p99"].map(|of| format!("{of}(own-{scheme}[0.5].flows.elapsed_s)"))
}

/// Longest queue of figure 2 over its bound of 16 C0 and a packet each; DCQCN's longest queue of figure 4; and HierCC's; its longest VOQ, KB; and
/// us until the link of figure 4 is full again, as its row has it.
fn others(c0: &str, rows: &[Row]) -> [String; 3] {
    let regain = rows.iter().find(|row| row.id == format!("fig4a-regain-{NAMED}"));
    let run = format!("fig4[{NAMED}]");
    [
        format!("max(fig2[{NAMED}, flows-256.csv].{DOWN}.max_queue_bytes) / (16 * ({c0} + 1048))"),
        format!("max({run}.max_queue_bytes, {run}.racks.longest_voq_bytes)"),
        regain.and_then(|row| row.formula.clone()).expect("it is a row with a formula"),
    ]
}

/// A table for people.
pub(crate) fn sensitivity(cores: &Cores<'_>, rows: &[Row], quick: bool) -> String {
    let ms = if quick { 2 } else { 5 };
    let run = |formulas: Vec<String>, further: &[(&str, String)], seed: u64| -> Vec<f64> {
        let short = [
            ("seeds", format!("[{seed}]")),
            ("traffic[0].until", format!("\"{ms}ms\"")),
            ("stop.time", format!("\"{}ms\"", 100 + ms)),
        ];
        let traffic = formulas.iter().any(|formula| formula.contains("own-"));
        let seeds = if traffic { &short[..] } else { &short[..1] };
        let all = seeds.iter().chain(further);
        let further = all.map(|(key, value)| (key.to_string(), value.clone())).collect();
        let lists = Lists { formulas, further };
        let found = measure_with_lists(Folder::of("hiercc"), &[], &lists, cores, quick).1;
        let found = Drawing::of(found);
        lists.formulas.into_iter().map(|text| found.number(text)).collect()
    };
    let schemes = ["hpcc", "dcqcn", "timely"];
    let theirs: Vec<Vec<f64>> = (1..=SEEDS)
        .map(|seed| run(schemes.iter().flat_map(|scheme| times(scheme)).collect(), &[], seed))
        .collect();
    let dcqcn = run(vec![format!("max(fig4[dcqcn].{DOWN}.max_queue_bytes)")], &[], 1)[0];
    let mut text = format!(
        "Headline claims of {NAMED} over seeds, and with each of its numbers a fifth less and more. By how much FCT is lower than that of others,\n\
         each by its own paper, at load 0.5, {ms} ms of arrivals, in % (mean, then 99th percentile); longest queue of the down port, 256 flows, over\n\
         its bound; figure 4: longest queue of DCQCN over ours, longest VOQ in KB, and us until the link is full again.\n\n\
         {:20}{:>12}{:>14}{:>14}{:>9}{:>8}{:>8}{:>8}\n",
        "", "HPCC", "DCQCN", "TIMELY", "bound", "ratio", "VOQ", "us"
    );
    let mut line = |name: String, seed: u64, further: &[(&str, String)], c0: &str| {
        let own = run(times(NAMED).into(), further, seed);
        let voq = format!("max(fig4[{NAMED}].racks.longest_voq_bytes) / 1e3");
        let more = run([&others(c0, rows)[..], &[voq]].concat(), further, seed);
        text += &format!("{name:20}");
        for (pair, width) in theirs[seed as usize - 1].chunks(2).zip([12, 14, 14]) {
            let less = [0, 1].map(|which| (1.0 - own[which] / pair[which]) * 100.0);
            text += &format!("{:>width$}", format!("{:.0} {:.0}", less[0], less[1]));
        }
        let [bound, longest, regain, voq] = more[..] else { unreachable!("four formulas") };
        text += &format!("{bound:>9.2}{:>8.1}{voq:>8.0}{regain:>8.0}\n", dcqcn / longest);
    };
    (1..=SEEDS).for_each(|seed| line(format!("seed {seed}"), seed, &[], "10e3"));
    for (name, key, values) in FIFTHS {
        for (value, c0) in values.into_iter().zip(["8e3", "12e3"]) {
            let quoted =
                if value.parse::<f64>().is_ok() { value.into() } else { format!("\"{value}\"") };
            let c0 = if name == "c0" { c0 } else { "10e3" };
            line(format!("{name} {value}"), 1, &[(key, quoted)], c0);
        }
    }
    text
}
