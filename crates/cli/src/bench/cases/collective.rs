//! Benches of collectives: over queue pairs under DCQCN, payload of 1,000 B, until all are done.
//!
//! `allreduce-rails-128` has eight leaves with 16 hosts each, and 400 Gb/s. Nothing crosses a spine, as on rails. `allreduce-ring-1024` is a star of
//! 100 Gb/s; it is there for its memory, since each rank has 4,092 operations.

use super::{Case, Family, RDMA_HEADER, RDMA_PAYLOAD};
use forebay_units::Span;

/// A bound: they end when all collectives have.
pub(super) const LONGEST: Span = Span::from_ms(1_000);

pub(super) fn scenario(case: &Case) -> String {
    let stop = case.stop();
    let (fabric, pause, ranks, bytes) = match case.family {
        Family::AllReduceRing => (
            "kind = \"star\"\nhosts = 1024\nhost_link = { rate = \"100Gbps\", delay = \"1us\" }"
                .to_string(),
            "\"off\"", // a buffer does not have the headroom of so many ports
            "\"host[*]\"".to_string(),
            "2MB",
        ),
        _ => {
            let rails: Vec<String> = (0..8).map(|n| format!("[\"leaf[{n}].host[*]\"]")).collect();
            (
                "kind = \"leaf-spine\"\nleaves = 8\nspines = 1\nhosts_per_leaf = 16\n\
                 host_link = { rate = \"400Gbps\", delay = \"1us\" }\nfabric_link = { rate = \"400Gbps\", delay = \"1us\" }"
                    .to_string(),
                "{ classes = [0] }",
                format!("[{}]", rails.join(", ")),
                "16MB",
            )
        }
    };
    format!(
        "version = 1\nname = \"{}\"\nseeds = [1]\nstop = {{ time = \"{stop}\", flows = \"all\" }}\n\n\
         [fabric]\n{fabric}\n\n\
         [fabric.switch]\nclasses = 2\nbuffer = {{ size = \"64MB\" }}\npause = {pause}\n\
         ecn = {{ kmin = \"400KB\", kmax = \"1600KB\", pmax = 0.2, for_rate = \"100Gbps\" }}\n\n\
         [transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nparams = {{ timers = \"vendor\" }}\nmss = \"{RDMA_PAYLOAD}B\"\n\
         header = \"{RDMA_HEADER}B\"\ncnp_class = 1\n\n\
         [[traffic]]\nkind = \"collective\"\nop = \"all-reduce\"\nranks = {ranks}\nbytes = \"{bytes}\"\n",
        case.name
    )
}
