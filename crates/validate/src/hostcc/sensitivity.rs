//! What each free parameter of the plant does to the numbers that follow from it.

use super::lab::Lab;
use super::outcome::Outcome;
use super::setup::{Control, Setup};
use crate::jobs::Cores;
use crate::row::Row;

/// Name, keys of the path to memory, keys of its antagonist.
const CHANGES: &[(&str, &str, &str)] = &[
    ("as it is", "", ""),
    ("g, read_share, 0.12", "read_share = 0.12\n", ""),
    ("g, read_share, 0.20", "read_share = 0.20\n", ""),
    ("C, bandwidth, 33 GB/s", "bandwidth = \"264Gbps\"\n", ""),
    ("C, bandwidth, 37 GB/s", "bandwidth = \"296Gbps\"\n", ""),
    ("a, read_queueing, 15 ns", "read_queueing = \"15ns\"\n", ""),
    ("a, read_queueing, 28 ns", "read_queueing = \"28ns\"\n", ""),
    ("N, lines, 16", "", "lines = 16.0\n"),
    ("N, lines, 21", "", "lines = 21.0\n"),
    ("omega, writes, 0.5", "", "writes = 0.5\n"),
    ("D, throttle.delay, 260 ns", "throttle = { delay = \"260ns\" }\n", ""),
    ("D, throttle.delay, 320 ns", "throttle = { delay = \"320ns\" }\n", ""),
    ("l_0, iio_latency, 317 ns", "iio_latency = \"317ns\"\n", ""),
    ("NIC buffer 256 KB", "nic_buffer = \"256KB\"\n", ""),
    ("NIC buffer 512 KB", "nic_buffer = \"512KB\"\n", ""),
    ("P, pcie_payload, 128 B", "pcie_payload = \"128B\"\n", ""),
    ("P, pcie_payload, 512 B", "pcie_payload = \"512B\"\n", ""),
    ("copy_lines 10, 140 ns", "copy_lines = 10\nper_kilobyte = \"140ns\"\n", ""),
    ("copy_lines 11, 150 ns", "copy_lines = 11\nper_kilobyte = \"150ns\"\n", ""),
    ("copy_lines 13, 166 ns", "copy_lines = 13\nper_kilobyte = \"166ns\"\n", ""),
    ("per_kilobyte 140 ns", "per_kilobyte = \"140ns\"\n", ""),
    ("per_kilobyte 180 ns", "per_kilobyte = \"180ns\"\n", ""),
    ("NIC refuses below 9 KB", "nic_refuse_below = \"9KB\"\n", ""),
    ("ddio_eviction 50 ns", "ddio_eviction = \"50ns\"\n", ""),
    ("ddio_eviction 200 ns", "ddio_eviction = \"200ns\"\n", ""),
    ("DDIO in 4 ways of 11", "ddio_ways = 4\n", ""),
    ("level written in 5 us", "throttle = { write = \"5us\" }\n", ""),
];

/// Each free parameter a fifth less and a fifth more.
const FIFTHS: &[(&str, &str, &str)] = &[
    ("C, bandwidth, -20 %", "bandwidth = \"223Gbps\"\n", ""),
    ("C, bandwidth, +20 %", "bandwidth = \"334Gbps\"\n", ""),
    ("g, read_share, -20 %", "read_share = 0.136\n", ""),
    ("g, read_share, +20 %", "read_share = 0.204\n", ""),
    ("a, read_queueing, -20 %", "read_queueing = \"17.2ns\"\n", ""),
    ("a, read_queueing, +20 %", "read_queueing = \"25.8ns\"\n", ""),
    ("N, lines, -20 %", "", "lines = 15.0\n"),
    ("N, lines, +20 %", "", "lines = 22.4\n"),
    ("omega, writes, -20 %", "", "writes = 0.8\n"),
    ("omega, writes, +20 %", "", "writes = 1.2\n"),
    ("D, throttle.delay, -20 %", "throttle = { delay = \"232ns\" }\n", ""),
    ("D, throttle.delay, +20 %", "throttle = { delay = \"348ns\" }\n", ""),
    ("l_0, iio_latency, -20 %", "iio_latency = \"258ns\"\n", ""),
    ("l_0, iio_latency, +20 %", "iio_latency = \"388ns\"\n", ""),
    ("NIC buffer, -20 %", "nic_buffer = \"307KB\"\n", ""),
    ("NIC buffer, +20 %", "nic_buffer = \"461KB\"\n", ""),
    ("copy_lines, -20 %", "copy_lines = 10\n", ""),
    ("copy_lines, +20 %", "copy_lines = 14\n", ""),
    ("per_kilobyte, -20 %", "per_kilobyte = \"127ns\"\n", ""),
    ("per_kilobyte, +20 %", "per_kilobyte = \"191ns\"\n", ""),
];

/// Seeds of the headline claims.
const SEEDS: u64 = 5;

/// Tables for people; the first line of either is that of the rows.
pub(crate) fn sensitivity(cores: &Cores<'_>, _rows: &[Row], quick: bool) -> String {
    let lines = |lab: &Lab| CHANGES.iter().map(|change| line(lab, change)).collect::<Vec<_>>();
    let lab = Lab::new(cores, quick, &|lab| drop((lines(lab), headlines(lab))));
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
        headlines(&lab).concat(),
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
        lines(&lab).concat()
    )
}

/// What a reader takes home, where something is not as in the rows.
fn headlines(lab: &Lab) -> Vec<String> {
    let as_it_is = [CHANGES[0]];
    let seeds = (1..=SEEDS).map(|seed| {
        let setup = Setup { rpc: Some(128), seed, ..lab.setup(false, 3) };
        headline(lab, &format!("seed {seed}"), &setup)
    });
    let changed = as_it_is.iter().chain(FIFTHS).map(|(name, memory, antagonist)| {
        headline(lab, name, &Setup { changed: (memory, antagonist), ..lab.setup(false, 3) })
    });
    seeds.chain(changed).collect()
}

fn headline(lab: &Lab, name: &str, setup: &Setup) -> String {
    let resting = Setup { rests: (2000, 1000), ..setup.clone() };
    let [alone, beside] = [setup, &resting].map(|setup| lab.see(setup));
    let [with, with_rest] = [setup, &resting].map(|setup| lab.see(&setup.clone().with_hostcc()));
    format!(
        "{name:28}{:>8.1}{:>8.3}{:>8.1}{:>8.3}{:>8.2}{:>10.3}{:>8.3}\n",
        alone.goodput,
        alone.drops,
        with.goodput,
        with.drops,
        with.mapp,
        beside.drops,
        with_rest.drops
    )
}

fn line(
    lab: &Lab,
    (name, memory, antagonist): &(&'static str, &'static str, &'static str),
) -> String {
    let run = |ddio: bool, cores, control| -> &Outcome {
        // Keys of DDIO have no meaning without it.
        let changed =
            if memory.starts_with("ddio") && !ddio { ("", "") } else { (*memory, *antagonist) };
        lab.see(&Setup { control, changed, ..lab.setup(ddio, cores) })
    };
    let plain = Control::None;
    let (one, two, three) = (run(false, 1, plain), run(false, 2, plain), run(false, 3, plain));
    let third = run(false, 3, Control::Level(3));
    let with = run(false, 3, lab.setup(false, 3).with_hostcc().control);
    let cached = run(true, 3, plain);
    format!(
        "{name:28}{:>7.1}{:>8.1}{:>8.3}{:>8.1}{:>8.3}{:>8.1}{:>9.1}{:>8.1}{:>8.2}{:>8.1}{:>8.3}\n",
        one.goodput,
        two.goodput,
        two.drops,
        three.goodput,
        three.drops,
        third.goodput,
        third.mapp,
        with.goodput,
        with.level_share(4),
        cached.goodput,
        cached.drops
    )
}
