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

/// A card that is not of the processor: signal, where it is read, what is taken, what it says, what has checked it.
type Card = (&'static str, &'static str, String, &'static str, &'static str);

/// Kernels that the page names above these cards: those that the tests boot, and the one that they were written on.
const KERNELS: &str = "All of these kernels.";

const HEAD: &str = "# Signals of the agent

Look up what a signal means, where the agent reads it, and how far it was checked. `forebay agent probe` shows which signals your machine has. `forebay-agent signals` prints this page.

## Counters of the processor

The agent reads these counters with `perf_event_open`. It needs the capability CAP_PERFMON.

Tests compare the event codes with hand-written `/sys` trees. One test makes the system call, for another PMU (`msr`). **No counter was ever read on one of these processors.**
";

/// All cards, as a page.
pub fn cards() -> String {
    let mut text = String::from(HEAD);
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
            "Cache lines that wait in the I/O unit (IIO): I_S of hostCC. The agent divides the rise of this counter by the rise of the clock below. It reads both at the same instant.",
            of(|all| all.occupancy),
        ),
        (
            "Clock of the IIO buffer",
            "The divisor of I_S. It replaces the processor's time-stamp counter.",
            of(|all| all.clock),
        ),
        (
            "Writes from the NIC (inserts)",
            "Data that the NIC writes into the IIO buffer: B_S of hostCC. On Intel, units of 4 bytes at the first port of an IIO unit. On AMD, DMA writes of one root complex, 64 bytes each.",
            of(|all| Some(all.inserts)),
        ),
        (
            "Memory reads",
            "Reads of 64 bytes each, summed over all controllers of a socket.",
            of(|all| Some(all.memory[0])),
        ),
        (
            "Memory writes",
            "Writes of 64 bytes each, summed over all controllers of a socket.",
            of(|all| Some(all.memory[1])),
        ),
    ] {
        let _ = write!(
            text,
            "\n### {name}\n\n{says}\n\n| processor | unit | event | code from |\n|---|---|---|---|\n{rows}"
        );
    }
    text.push_str("\n## Counters of the kernel\n\nEvery processor has these signals. The kernels of the tests are a live Linux 6.18, Linux 6.1 in user mode, and Linux 6.1 and 6.12 in QEMU (tests/agent/kernels.py).\n");
    let names = |of: &[(&str, &str)]| {
        of.iter().map(|(file, name)| format!("{file} {name}")).collect::<Vec<_>>().join(", ")
    };
    let others: [Card; 7] = [
        (
            "softnet",
            "`/proc/net/softnet_stat`",
            "Columns 0 to 2: processed, dropped, squeezed. They are hexadecimal, and summed over CPUs modulo 2^32.".into(),
            "`dropped`: the backlog of a core was full. `squeezed`: a poll ran out of budget, so cores are too slow.",
            KERNELS,
        ),
        (
            "PSI",
            "`/proc/pressure/cpu`, `memory` and `io`",
            "`total` of the lines `some` and `full`, in microseconds.".into(),
            "Time in which tasks waited for a core or for memory reclaim. It does not show memory bandwidth.",
            "All except Linux in user mode, which has no PSI.",
        ),
        (
            "TCP",
            "`/proc/net/snmp` and `/proc/net/netstat`",
            format!(
                "{}, {}. The agent finds counters by name, and reads each file every {} ms at most.",
                names(&SNMP),
                names(&NETSTAT),
                SELDOM.as_millis()
            ),
            "Retransmissions, data that applications left unread, and ECN marks that arrived.",
            KERNELS,
        ),
        (
            "NIC",
            "`/sys/class/net/NAME/statistics`",
            format!("{}.", STATISTICS.join(", ")),
            "`missed` and `fifo`: the NIC had no room for a packet.",
            KERNELS,
        ),
        (
            "NIC driver",
            "`SIOCETHTOOL`, like `ethtool -S`",
            format!("At most 64 counters of a NIC. Their names contain {}.", WORDS.join(", ")),
            "`rx_discards_phy` (mlx5): the port buffer dropped packets. `rx_out_of_buffer`: descriptors ran out, so cores are too slow.",
            "virtio_net on a live Linux 6.18 kernel. The names of mlx5, ice and ena come from the driver sources.",
        ),
        (
            "MBM",
            "`/sys/fs/resctrl/mon_data`, and at most 16 resctrl groups",
            "`mbm_total_bytes` of each L3 cache.".into(),
            "Memory traffic of each resctrl group in bytes. It shows which group is the antagonist.",
            "A hand-written tree. **Never tested on real resctrl.**",
        ),
        (
            "Memory bandwidth of nicdrop",
            "Memory controllers, or MBM if no controller can be read",
            "Sums of the counters above.".into(),
            "Whether memory is busy while the NIC drops packets.",
            "Recordings and hand-written trees.",
        ),
    ];
    for (name, path, taken, says, checked) in others {
        let _ = write!(
            text,
            "\n### {name}\n\n{says}\n\n- Read from: {path}\n- Counters: {taken}\n- Checked on: {checked}\n"
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
