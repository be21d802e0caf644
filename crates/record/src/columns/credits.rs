//! `credits.csv` and `class_arrivals.csv`, in run directories of runs in which receivers give credit and in no others.

use super::RowTable;
use super::columns;
use crate::csv::Value::Number;
use crate::rows::{ClassArrivalRow, CreditRow};
use forebay_units::Bytes;

pub(super) static CREDITS: RowTable<CreditRow> = RowTable {
    file: "credits.csv",
    always: false,
    seeded: true,
    needed: &["flow", "credits_sent", "credits_used"],
    blank: CreditRow::default,
    any: |run| !run.credits.is_empty(),
    each: |run, row| run.credits.iter().try_for_each(row),
    take: |run, row| {
        run.credits.push(row);
        Ok(())
    },
    columns: columns! { CreditRow:
        ["flow" "" "", = |c, _| Number(c.flow.into()) => |c, cell| c.flow = cell.small()?]
        ["credits_sent" "packets" "Credits (expresspass), grants (homa) or pulls (ndp) that the flow's receiver sent as packets of their own; what rides on an acknowledgement does not count. Flows without any are not in credits.csv.",
            = |c, _| Number(c.sent) => |c, cell| c.sent = cell.number()?]
        ["credits_used" "packets" "Credits, grants or pulls that came to the sender and released something: a packet, or of grants and pulls, which are cumulative, more credit than was known. The others were dropped on the way (dropped_credits of ports.csv), came when nothing was left to send or late, or were under way at the end.",
            = |c, _| Number(c.used) => |c, cell| c.used = cell.number()?]
        ["credits_backward" "packets" "Data packets that came with an older credit than one before them (expresspass): credits and data took different paths for a while, such as after a failure.",
            = |c, _| Number(c.backward) => |c, cell| c.backward = cell.number()?]
    },
};

pub(super) static CLASS_ARRIVALS: RowTable<ClassArrivalRow> = RowTable {
    file: "class_arrivals.csv",
    always: false,
    seeded: true,
    needed: &["host", "class", "unscheduled_bytes", "scheduled_bytes"],
    blank: ClassArrivalRow::default,
    any: |run| !run.class_arrivals.is_empty(),
    each: |run, row| run.class_arrivals.iter().try_for_each(row),
    take: |run, row| {
        run.class_arrivals.push(row);
        Ok(())
    },
    columns: columns! { ClassArrivalRow:
        ["host" "" "", = |a, _| Number(a.host.into()) => |a, c| a.host = c.small()?]
        ["class" "" "", = |a, _| Number(a.class.into()) => |a, c| a.class = c.small()?]
        ["unscheduled_bytes" "bytes" "Payload of receiver-driven transports (homa, ndp) that reached the host in the class and was of the part of its message that leaves unasked; what came twice counts twice.",
            = |a, _| Number(a.unscheduled.get()) => |a, c| a.unscheduled = Bytes::new(c.number()?)]
        ["scheduled_bytes" "bytes" "Payload of receiver-driven transports that reached the host in the class and was sent on a grant or pull.",
            = |a, _| Number(a.scheduled.get()) => |a, c| a.scheduled = Bytes::new(c.number()?)]
    },
};
