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
    ("copy_lines 10", "copy_lines = 10\n", ""),
    ("copy_lines 18", "copy_lines = 18\n", ""),
    ("per_kilobyte 145 ns", "per_kilobyte = \"145ns\"\n", ""),
    ("per_kilobyte 185 ns", "per_kilobyte = \"185ns\"\n", ""),
    ("ddio_eviction 50 ns", "ddio_eviction = \"50ns\"\n", ""),
    ("ddio_eviction 200 ns", "ddio_eviction = \"200ns\"\n", ""),
    ("DDIO in 4 ways of 11", "ddio_ways = 4\n", ""),
    ("level written in 5 us", "throttle = { write = \"5us\" }\n", ""),
];

/// A table for people; the first line is that of the rows.
pub(crate) fn sensitivity(cores: &Cores<'_>, _rows: &[Row], quick: bool) -> String {
    let lines = |lab: &Lab| CHANGES.iter().map(|change| line(lab, change)).collect::<Vec<_>>();
    let lab = Lab::new(cores, quick, &|lab| drop(lines(lab)));
    format!(
        "One parameter of the plant changed, all else as in the rows. Goodput in Gb/s, NIC drops in %, memory bandwidth in GB/s.\n\n\
         {:28}{:>7}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}{:>8}{:>8}{:>8}{:>8}\n{}",
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
