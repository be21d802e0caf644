//! Repair of losses without pauses: goodput of go-back-N and of selective repeat.

use crate::bench::run;
use crate::measured::MeasuredRows;

/// 200 ms, all of which count but the first.
const SPAN: (f64, f64) = (1e-3, 200e-3);

/// A flow at 40 Gb/s over a round trip of 24 us, with so much in flight at most: 110 packets are one product of rate and round trip.
///
/// Both directions of the cable lose: a NACK that is lost is sent again after a round trip.
fn goodput(recovery: &str, loss: &str, most: &str) -> f64 {
    let text = format!(
        "[fabric]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"40Gbps\", delay = \"5.9us\" }}\n\
         wire_overhead = \"0B\"\n\
         [[fabric.override]]\nwhere = \"host[1]-tor\"\nloss = {loss}\n\
         [fabric.switch]\necn = \"off\"\n\
         [transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nparams = {{ timers = \"paper\" }}\nheader = \"48B\"\nrecovery = \"{recovery}\"\n\
         max_inflight = \"{most}\"\nnack_interval = \"24us\"\ntimeout = \"320us\"\n\
         [[traffic]]\nkind = \"long\"\nfrom = [\"host[1]\"]\nto = \"host[0]\"\n"
    );
    let seen = run("rdma", &text, SPAN.0, SPAN.1);
    let acked =
        |state: &forebay_sim::Inspection| state.senders.iter().map(|s| s.acked).sum::<u64>() as f64;
    acked(&seen.after) - acked(&seen.before)
}

pub(super) fn measure(measured: &mut MeasuredRows) {
    for (id, recovery, most) in [
        ("gbn", "go-back-n", "110KB"),
        ("irn", "selective", "110KB"),
        ("irn-twice", "selective", "220KB"),
    ] {
        let whole = goodput(recovery, "0.0", most);
        for (percent, loss) in [("0.1", "0.001"), ("1", "0.01")] {
            measured.insert(format!("{id}-{percent}"), goodput(recovery, loss, most) / whole);
        }
    }
}
