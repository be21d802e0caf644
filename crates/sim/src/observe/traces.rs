//! What modules of laws have printed: the lines of all hosts, in a file of the run.

use crate::host::Host;
use crate::world::AnyNode;
use forebay_record::law_logs::LawLogs;
use forebay_units::human;

/// Most bytes of the lines that modules of laws print in a run.
const MOST_TRACED: usize = 1 << 20;

/// Writes what modules of laws have printed, host by host. A sentence about lines that are left out.
pub(crate) fn traces(logs: &dyn LawLogs, nodes: &[AnyNode], names: &[String]) -> Option<String> {
    let (mut log, mut bytes, mut left_out) = (None, 0, 0);
    for (node, name) in nodes.iter().zip(names) {
        for trace in node.host().into_iter().flat_map(Host::traces) {
            left_out += trace.left_out;
            for line in trace.lines.lines() {
                let line = format!("{name} {line}\n");
                bytes += line.len();
                if bytes > MOST_TRACED {
                    left_out += 1;
                    continue;
                }
                log.get_or_insert_with(|| logs.open("trace")).write(line.as_bytes());
            }
        }
    }
    (left_out > 0).then(|| {
        format!(
            "{} of bpf_trace_printk left out: a host keeps 64 KB of them, a run 1 MB",
            human::counted(left_out as usize, "line")
        )
    })
}
