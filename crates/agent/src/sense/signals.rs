//! `forebay-agent signals`: where each signal is read, with codes and processors from the readers, and how that was tested.

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

/// A signal that every processor has: name, meaning, file, values, tests.
type Card = (&'static str, &'static str, &'static str, String, &'static str);

/// Kernels that the tests boot, and the one that they were written on.
const KERNELS: &str =
    "live Linux 6.18; 6.1 in user mode, 6.1 and 6.12 in QEMU (tests/agent/kernels.py)";

/// All signals, as a page.
pub fn cards() -> String {
    let mut text = String::from(
        "# Signals of the agent\n\nLook up where the agent reads a signal, with which event codes, and how this was tested. `forebay agent probe` lists the signals of a machine. `forebay agent signals` prints this page.\n\nThe first five signals need `perf_event_open` with CAP_PERFMON. Their codes were tested with trees written by hand (tests/fixtures), the system call with the PMU `msr`. **No test has counted on such a processor.**\n",
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
    for (name, meaning, rows) in [
        (
            "Lines in the IIO buffer (occupancy)",
            "The rise of this counter over the rise of the clock below is I_S of hostCC. Both are read in one group",
            of(|all| all.occupancy),
        ),
        (
            "Clock of the IIO buffer",
            "I_S is divided by the rise of this clock",
            of(|all| all.clock),
        ),
        (
            "Writes from the NIC (inserts)",
            "The rate is B_S of hostCC. A unit is 4 bytes at the first port of an IIO unit; on AMD a DMA write of 64 bytes of one root complex",
            of(|all| Some(all.inserts)),
        ),
        (
            "Memory reads",
            "A unit is 64 bytes, over all controllers of a socket",
            of(|all| Some(all.memory[0])),
        ),
        (
            "Memory writes",
            "A unit is 64 bytes, over all controllers of a socket",
            of(|all| Some(all.memory[1])),
        ),
    ] {
        let _ = write!(
            text,
            "\n## {name}\n\n{meaning}.\n\n| processor | unit | event | code from |\n|---|---|---|---|\n{rows}"
        );
    }
    let names = |of: &[(&str, &str)]| {
        of.iter().map(|(file, name)| format!("{file} {name}")).collect::<Vec<_>>().join(", ")
    };
    let others: [Card; 7] = [
        (
            "softnet",
            "dropped: a core's backlog was full; squeezed: a poll ran out of budget, cores are slow",
            "`/proc/net/softnet_stat`",
            "columns 0 to 2, hexadecimal, summed over CPUs modulo 2^32: processed, dropped, squeezed".into(),
            KERNELS,
        ),
        (
            "PSI",
            "time in which tasks waited for a core, or for reclaim; memory bandwidth is not seen",
            "`/proc/pressure/cpu`, `memory`, `io`",
            "`total` of the lines some and full, microseconds".into(),
            "live Linux 6.18; 6.1 and 6.12 in QEMU; Linux in user mode has none",
        ),
        (
            "TCP",
            "retransmissions, data that applications left unread, marks that arrived",
            "`/proc/net/snmp`, `/proc/net/netstat`",
            format!("{}, {}; every {} ms at most", names(&SNMP), names(&NETSTAT), SELDOM.as_millis()),
            KERNELS,
        ),
        (
            "NIC",
            "missed and fifo: the NIC had no room for packets",
            "`/sys/class/net/NAME/statistics`",
            STATISTICS.join(", "),
            KERNELS,
        ),
        (
            "NIC driver",
            "`rx_discards_phy` (mlx5): dropped in the port's buffer; `rx_out_of_buffer`: no descriptors, cores are slow",
            "`SIOCETHTOOL`, as `ethtool -S`",
            format!("names with {}; at most 64 of a NIC", WORDS.join(", ")),
            "virtio_net on a live Linux 6.18; names of mlx5, ice, ena from their sources",
        ),
        (
            "MBM",
            "bytes that memory moved, by resctrl group",
            "`/sys/fs/resctrl/mon_data`, and at most 16 groups",
            "mbm_total_bytes of each L3 cache".into(),
            "a tree written by hand; **never on real resctrl**",
        ),
        (
            "memory bandwidth of nicdrop",
            "memory is busy while the NIC drops",
            "memory controllers, or MBM if none can be read",
            "sums of the signals above".into(),
            "recordings and trees written by hand",
        ),
    ];
    text.push_str("\n## Signals of every processor\n\n| signal | meaning | read from | values | tested with |\n|---|---|---|---|---|\n");
    for (name, meaning, path, values, tested) in others {
        let _ = writeln!(text, "| {name} | {meaning} | {path} | {values} | {tested} |");
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
