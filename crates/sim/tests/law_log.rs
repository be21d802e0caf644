//! The log of a flow's law: it changes nothing, is the same on any number of threads, and replays.

mod common;

use common::{run, scenario};
use forebay_laws::log::{ReplayError, replay};
use forebay_sim::Options;

/// Sixteen senders to one host, so that there are marks, losses or pauses.
fn incast(transport: &str, switch: &str) -> forebay_scenario::model::Scenario {
    scenario(&format!(
        "version = 1\nname = \"log\"\nseeds = [1]\nstop = {{ time = \"3ms\" }}\n\
         [fabric]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 6\n\
         host_link = {{ rate = \"25Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\n{switch}\n[transport]\n{transport}\n\
         [[traffic]]\nkind = \"incast\"\nto = \"leaf[0].host[0]\"\nfan_in = 16\nsize = \"200KB\"\n"
    ))
}

#[test]
fn a_log_changes_no_result_and_replays() {
    for (transport, switch) in [
        ("kind = \"tcp\"\nlaw = \"dctcp\"", "port_limit = \"200KB\"\necn = { k = \"65KB\" }"),
        ("kind = \"tcp\"\nlaw = \"cubic\"", "port_limit = \"100KB\""),
        ("kind = \"tcp\"\nlaw = \"swift\"", "port_limit = \"100KB\""),
        ("kind = \"rdma\"\nlaw = \"hpcc\"", "buffer = { size = \"2MB\" }\npause = {}"),
        (
            "kind = \"rdma\"\nlaw = \"dctcp-rate\"",
            "buffer = { size = \"2MB\" }\npause = {}\necn = { k = \"65KB\" }",
        ),
    ] {
        let scenario = incast(transport, switch);
        let alone = run(&scenario, 1, Options::default());
        assert_eq!(alone.law_log, None);
        let of = |flow, threads| {
            let options = Options { threads, law_log: Some(flow), ..Options::default() };
            let outcome = run(&scenario, 1, options);
            assert_eq!(outcome.record.digest, alone.record.digest, "{transport}");
            outcome.law_log.expect("asked for")
        };
        let log = of(3, 1);
        assert_eq!(log, of(3, 2), "{transport}: threads");
        let replayed = replay(&log).unwrap_or_else(|error| panic!("{transport}: {error}"));
        assert!(replayed.events >= 5 && transport.contains(&replayed.law), "{replayed:?}");
        assert!(
            log.len() as u64 <= 200 + 100 * replayed.events,
            "{} bytes of {} events",
            log.len(),
            replayed.events
        );
        assert!(of(99, 1).is_empty(), "no such flow");
        // An action of another run: cut one event's log short by its last byte.
        assert!(
            matches!(replay(&log[..log.len() - 1]), Err(ReplayError::Cut { events: Some(n) }) if n + 1 == replayed.events)
        );
    }
}
