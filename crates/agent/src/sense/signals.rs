//! `forebay-agent signals`: a card for each signal, made of what the readers have: codes, source, processors, and what has checked it.

use forebay_linux::counters::{NETSTAT, SELDOM, SNMP};
use forebay_linux::ethtool::WORDS;
use forebay_linux::machine::Generation;
use forebay_linux::nic::STATISTICS;
use forebay_linux::pmu::{Event, Uncore, uncore};
use std::fmt::Write;

const GENERATIONS: [(Generation, &str); 6] = [
    (Generation::SkylakeServer, "Skylake-SP, Cascade Lake-SP"),
    (Generation::IceLakeServer, "Ice Lake-SP"),
    (Generation::SapphireRapids, "Sapphire Rapids, Emerald Rapids"),
    (Generation::GraniteRapids, "Granite Rapids, Sierra Forest"),
    (Generation::Zen4, "EPYC 9004 (Zen 4)"),
    (Generation::Zen5, "EPYC 9005 (Zen 5)"),
];

const FIXTURES: &str = "the encoding against trees written by hand (tests/fixtures), the system call on the PMU `msr`; **never counted on such a processor**";

/// A card that is not of the processor: signal, where it is read, what is taken, what it says, what has checked it.
type Card = (&'static str, &'static str, String, &'static str, &'static str);

/// Kernels that the tests boot, and the one that they were written on.
const KERNELS: &str =
    "live Linux 6.18; 6.1 in user mode, 6.1 and 6.12 in QEMU (tests/agent/kernels.py)";

/// All cards, as a page.
pub fn cards() -> String {
    let mut text = String::from(
        "# Signals of the agent\n\nA card for each: where it is read, its codes, on which processors, and what has checked it. Written by `forebay-agent signals`; which of them a machine has, `forebay agent probe` says.\n",
    );
    let of = |pick: fn(&Uncore) -> Option<Event>| {
        let mut rows = String::new();
        for (generation, name) in GENERATIONS {
            let _ = match pick(&uncore(generation)) {
                None => writeln!(rows, "| {name} | none | | |"),
                Some(event) => {
                    let field = |(name, value): &(&str, u64)| format!("{name}={value:#x}");
                    let fields: Vec<_> = event.fields.iter().map(field).collect();
                    writeln!(
                        rows,
                        "| {name} | `{}` | {} | {} |",
                        event.unit,
                        fields.join(" "),
                        event.source
                    )
                }
            };
        }
        rows
    };
    for (name, says, rows) in [
        (
            "Lines in the IIO buffer (occupancy)",
            "I_S of hostCC: its rise over the rise of the clock below, read in one group",
            of(|all| all.occupancy),
        ),
        (
            "Clock of the IIO buffer",
            "what I_S is divided by; no time-stamp counter is needed",
            of(|all| all.clock),
        ),
        (
            "Writes from the NIC (inserts)",
            "B_S: units of 4 bytes at the first port of an IIO unit; on AMD DMA writes of one root complex, 64 bytes each",
            of(|all| Some(all.inserts)),
        ),
        (
            "Memory reads",
            "64 bytes each, all controllers of a socket",
            of(|all| Some(all.memory[0])),
        ),
        (
            "Memory writes",
            "64 bytes each, all controllers of a socket",
            of(|all| Some(all.memory[1])),
        ),
    ] {
        let _ = write!(
            text,
            "\n## {name}\n\nWhat it says: {says}.\n\nRead by `perf_event_open`, which needs CAP_PERFMON.\n\n| processor | unit | event | code from |\n|---|---|---|---|\n{rows}\nChecked: {FIXTURES}.\n"
        );
    }
    let names = |of: &[(&str, &str)]| {
        of.iter().map(|(file, name)| format!("{file} {name}")).collect::<Vec<_>>().join(", ")
    };
    let others: [Card; 7] = [
        (
            "softnet",
            "/proc/net/softnet_stat",
            "columns 0 to 2, hexadecimal, summed over CPUs modulo 2^32: processed, dropped, squeezed".into(),
            "dropped: a core's backlog was full; squeezed: a poll ran out of budget, cores are slow",
            KERNELS,
        ),
        (
            "PSI",
            "/proc/pressure/cpu, memory, io",
            "`total` of the lines some and full, microseconds".into(),
            "time in which tasks waited for a core, or for reclaim; it does not see memory bandwidth",
            "live Linux 6.18; 6.1 and 6.12 in QEMU; Linux in user mode has none",
        ),
        (
            "TCP",
            "/proc/net/snmp, /proc/net/netstat",
            format!("{}, {}; by name, each {} ms at most", names(&SNMP), names(&NETSTAT), SELDOM.as_millis()),
            "what was sent again, what applications left unread, marks that arrived",
            KERNELS,
        ),
        (
            "NIC",
            "/sys/class/net/NAME/statistics",
            STATISTICS.join(", "),
            "missed and fifo: the NIC had nowhere to put packets",
            KERNELS,
        ),
        (
            "NIC driver",
            "`SIOCETHTOOL`, as ethtool -S",
            format!("names with {}; at most 64 of a NIC", WORDS.join(", ")),
            "`rx_discards_phy` (mlx5): dropped in the port's buffer; `rx_out_of_buffer`: no descriptors, cores are slow",
            "virtio_net on a live Linux 6.18; names of mlx5, ice, ena from their sources",
        ),
        (
            "MBM",
            "/sys/fs/resctrl/mon_data, and of at most 16 groups",
            "mbm_total_bytes of each L3 cache".into(),
            "bytes that memory moved, by resctrl group: which group is the antagonist",
            "a tree written by hand; **never on real resctrl**",
        ),
        (
            "memory bandwidth of nicdrop",
            "memory controllers, or MBM where none can be read",
            "sums of the cards above".into(),
            "whether memory is busy while the NIC drops",
            "recordings and trees written by hand",
        ),
    ];
    for (name, path, taken, says, checked) in others {
        let _ = write!(
            text,
            "\n## {name}\n\n- What it says: {says}\n- Read from: {path}\n- Taken: {taken}\n- Processors: all\n- Checked: {checked}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_cards_are_those_of_the_readers() {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agent-signals.md");
        if std::env::var_os("FOREBAY_BLESS").is_some() {
            std::fs::write(&path, cards()).expect("written");
        }
        let published = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            published == cards(),
            "renew it: FOREBAY_BLESS=1 cargo test -p forebay-agent cards"
        );
    }
}
