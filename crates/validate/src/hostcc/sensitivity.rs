//! What each free parameter of the plant does to the numbers that follow from it. The changes are data: `validation/hostcc/sensitivity.toml`.

use crate::drawing::Drawing;
use crate::experiments::{Lists, measure_with_lists};
use crate::folder::Folder;
use crate::jobs::Cores;
use crate::row::Row;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// One parameter changed.
    change: Vec<Change>,
    /// Each free parameter a fifth less and a fifth more.
    fifth: Vec<Change>,
}

/// A line: its name, and what is not as in the rows.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    name: String,
    /// Keys of the receiver's path to memory.
    set: BTreeMap<String, toml::Value>,
    /// Keys that have no meaning without DDIO.
    #[serde(default)]
    ddio: bool,
}

type Settings = Vec<(String, String)>;

impl Change {
    fn settings(&self) -> Settings {
        let key = |key: &String| format!("host.override[0].memory.{key}");
        self.set.iter().map(|(of, value)| (key(of), value.to_string())).collect()
    }
}

/// Seeds of the headline claims.
const SEEDS: u64 = 5;

/// Runs at 3x with and without hostCC, beside a MApp that never rests and one that works 2 ms and rests 1 ms.
const HEADLINES: [&str; 7] = [
    "dctcp[3x].memory.goodput_gbps",
    "dctcp[3x].memory.nic_drop_share * 100",
    "hostcc[3x].memory.goodput_gbps",
    "hostcc[3x].memory.nic_drop_share * 100",
    "hostcc[3x].memory.antagonist_gigabytes_per_s",
    "resting[3x].memory.nic_drop_share * 100",
    "resting-hostcc[3x].memory.nic_drop_share * 100",
];

/// What follows from the parameters of the plant; the last two are of a host with DDIO.
const COLUMNS: [&str; 11] = [
    "dctcp[1x].memory.goodput_gbps",
    "dctcp[2x].memory.goodput_gbps",
    "dctcp[2x].memory.nic_drop_share * 100",
    "dctcp[3x].memory.goodput_gbps",
    "dctcp[3x].memory.nic_drop_share * 100",
    "held[level-3].memory.goodput_gbps",
    "held[level-3].memory.antagonist_gigabytes_per_s",
    "hostcc[3x].memory.goodput_gbps",
    "item(hostcc[3x].memory(host[0]).level_shares, 4)",
    "dctcp-ddio[3x].memory.goodput_gbps",
    "dctcp-ddio[3x].memory.nic_drop_share * 100",
];

/// Tables for people; the first line of either is that of the rows.
pub(crate) fn sensitivity(cores: &Cores<'_>, _rows: &[Row], quick: bool) -> String {
    let text = Folder::of("hostcc").file("sensitivity.toml").expect("the suite has it");
    let file: File = toml::from_str(text)
        .unwrap_or_else(|error| panic!("validation/hostcc/sensitivity.toml: {error}"));
    let numbers = |formulas: &[&str], further: &[(String, String)]| -> Vec<f64> {
        let lists = Lists {
            formulas: formulas.iter().map(ToString::to_string).collect(),
            further: further.to_vec(),
        };
        let found = measure_with_lists(Folder::of("hostcc"), &[], &lists, cores, quick).1;
        let found = Drawing::of(found);
        lists.formulas.into_iter().map(|text| found.number(text)).collect()
    };
    let of_seed = |seed: u64| {
        let numbers = numbers(&HEADLINES, &beside_rpcs(seed));
        headline(&format!("seed {seed}"), &numbers)
    };
    let as_it_is = Change { name: "as it is".into(), ..Change::default() };
    let fifths = std::iter::once(&as_it_is).chain(&file.fifth);
    let fifths =
        fifths.map(|change| headline(&change.name, &numbers(&HEADLINES, &change.settings())));
    let headlines: Vec<String> = (1..=SEEDS).map(of_seed).chain(fifths).collect();
    let line = |change: &Change| {
        let (without, with) = COLUMNS.split_at(9);
        let plain = if change.ddio { Vec::new() } else { change.settings() };
        let all = [numbers(without, &plain), numbers(with, &change.settings())].concat();
        columns(&change.name, &all)
    };
    let lines: Vec<String> = std::iter::once(&as_it_is).chain(&file.change).map(line).collect();
    format!(
        "Headline claims at 3x, DDIO off, over seeds beside RPCs of 128 B, and with each free parameter a fifth less and more.\n\
         Goodput in Gb/s, NIC drops in %, memory bandwidth of MApp in GB/s; resting: MApp works 2 ms and rests 1 ms.\n\n\
         {:28}{:>8}{:>8}{:>8}{:>8}{:>8}{:>10}{:>8}\n{}\n\
         One parameter of the plant changed, all else as in the rows. Goodput in Gb/s, NIC drops in %, memory bandwidth in GB/s.\n\n\
         {:28}{:>7}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}{:>8}{:>8}{:>8}{:>8}\n{}",
        "",
        "alone",
        "drops",
        "hostCC",
        "drops",
        "MApp",
        "resting",
        "hostCC",
        headlines.concat(),
        "",
        "1x",
        "2x",
        "drops",
        "3x",
        "drops",
        "lev. 3",
        "its MApp",
        "hostCC",
        "at 4",
        "3x DDIO",
        "drops",
        lines.concat()
    )
}

/// RPCs of 128 B beside the flows, and this seed.
fn beside_rpcs(seed: u64) -> Settings {
    let from = ["\"host[1]\""; 4].join(", ");
    let flows = format!("{{ kind = \"long\", from = [{from}], to = \"host[0]\" }}");
    let rpc = "{ kind = \"rpc\", from = \"host[1]\", to = \"host[0]\", request = \"128B\", response = \"128B\", think = { exponential = \"10us\" } }";
    vec![("traffic".into(), format!("[{flows}, {rpc}]")), ("seeds".into(), format!("[{seed}]"))]
}

fn headline(name: &str, of: &[f64]) -> String {
    let [alone, lost, with, with_lost, mapp, resting, with_rest] = of else {
        unreachable!("seven formulas")
    };
    format!(
        "{name:28}{alone:>8.1}{lost:>8.3}{with:>8.1}{with_lost:>8.3}{mapp:>8.2}{resting:>10.3}{with_rest:>8.3}\n"
    )
}

fn columns(name: &str, of: &[f64]) -> String {
    let [
        one,
        two,
        two_lost,
        three,
        three_lost,
        third,
        third_mapp,
        with,
        fourth,
        cached,
        cached_lost,
    ] = of
    else {
        unreachable!("eleven formulas")
    };
    format!(
        "{name:28}{one:>7.1}{two:>8.1}{two_lost:>8.3}{three:>8.1}{three_lost:>8.3}{third:>8.1}{third_mapp:>9.1}{with:>8.1}{fourth:>8.2}\
         {cached:>8.1}{cached_lost:>8.3}\n"
    )
}
