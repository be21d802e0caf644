//! `class_pauses.csv` and `deadlocks.csv`, in run directories where classes were paused one by one, or ports paused each other for good, and in
//! no others.

use super::RowTable;
use super::columns;
use crate::csv::Value::{Maybe, Number, Owned, Text};
use crate::rows::{ClassPauseRow, DeadlockRow};
use forebay_units::Time;

/// Between two ports of a row.
const BETWEEN: &str = "; ";

pub(super) static CLASS_PAUSES: RowTable<ClassPauseRow> = RowTable {
    file: "class_pauses.csv",
    always: false,
    seeded: true,
    needed: &["node", "peer", "class"],
    blank: ClassPauseRow::default,
    any: |run| !run.class_pauses.is_empty(),
    each: |run, row| run.class_pauses.iter().try_for_each(row),
    take: |run, row| {
        run.class_pauses.push(row);
        Ok(())
    },
    columns: columns! { ClassPauseRow:
        ["node" "" "", = |p, _| Text(&p.node) => |p, c| p.node = c.text().into()]
        ["peer" "" "", = |p, _| Text(&p.peer) => |p, c| p.peer = c.text().into()]
        ["class" "" "Traffic class, 0 to 7; 7 goes first.", = |p, _| Number(p.class.into()) => |p, c| p.class = c.small()?]
        ["pause_frames_sent" "frames" "", counts pause_frames_sent, No ""]
        ["pause_frames_received" "frames" "", counts pause_frames_received, No ""]
        ["paused_ps" "ps" "", counts paused, No ""]
        ["headroom_peak_bytes" "bytes" "", counts headroom_peak, No ""]
        ["lossless_drops" "packets" "", counts lossless_drops, No ""]
        ["watchdog_fired" "" "How often a class stayed paused for longer than fabric.switch.pause.watchdog allows.", counts watchdog_fired, No ""]
        ["watchdog_drops" "packets" "Packets that the watchdog dropped; among dropped_packets of the port.", counts watchdog_drops, No ""]
    },
};

pub(super) static DEADLOCKS: RowTable<DeadlockRow> = RowTable {
    file: "deadlocks.csv",
    always: false,
    seeded: true,
    needed: &["closed_ps", "ports"],
    blank: DeadlockRow::default,
    any: |run| !run.deadlocks.is_empty(),
    each: |run, row| run.deadlocks.iter().try_for_each(row),
    take: |run, row| {
        run.deadlocks.push(row);
        Ok(())
    },
    columns: columns! { DeadlockRow:
        ["closed_ps" "ps" "When the last port of a PFC deadlock (cyclic buffer dependency) was paused, in picoseconds.",
            = |d, _| Number(d.closed.as_ps()) => |d, c| d.closed = Time::from_ps(c.number()?)]
        ["gone_ps" "ps" "A time by which a port of the deadlock had resumed, in picoseconds. Empty: the deadlock lasted to the end.",
            = |d, _| Maybe(d.gone.map(Time::as_ps)) => |d, c| d.gone = c.maybe()?.map(Time::from_ps)]
        ["ports" "" "The ports of the deadlock, parted by semicolons: each waits for the next, the last for the first.",
            = |d, _| Owned(d.ports.join(BETWEEN)) => |d, c| d.ports = c.text().split(BETWEEN).map(String::from).collect()]
    },
};
