//! The log of a flow's law: it changes nothing, is the same on any number of threads, and replays.

use crate::common::{self, run, scenario};
use forebay_laws::log::{ReplayError, replay};
use forebay_record::law_logs::LawLogsInMemory;
use forebay_scenario::model::{LawLog, Scenario};
use forebay_sim::{Options, Outputs, Watch, simulate_into};
use forebay_units::Time;
use std::collections::BTreeMap;

/// Logs of these laws, by whose they are, and the digest of the run.
fn logs(scenario: &Scenario, logged: LawLog, threads: usize) -> (BTreeMap<String, Vec<u8>>, u64) {
    let mut scenario = scenario.clone();
    scenario.output.law_log = Some(logged);
    let kept = LawLogsInMemory::default();
    let outputs = Outputs { law_logs: Some(&kept), ..Outputs::default() };
    let options = Options { threads, ..Options::default() };
    let outcome = simulate_into(&scenario, 1, options, &Watch::default(), outputs).unwrap();
    (kept.finish(), outcome.record.digest)
}

/// Sixteen senders to one host, so that there are marks, losses or pauses.
fn incast(transport: &str, switch: &str) -> Scenario {
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
        let of = |threads| {
            let logged = LawLog { flows: vec![3, 5, 99], ..LawLog::default() };
            let (logs, digest) = logs(&scenario, logged, threads);
            assert_eq!(digest, alone.record.digest, "{transport}");
            assert_eq!(logs.keys().collect::<Vec<_>>(), ["3", "5"], "there is no flow 99");
            logs
        };
        let both = of(1);
        assert_eq!(both, of(2), "{transport}: threads");
        assert_ne!(both["3"], both["5"]);
        let log = &both["3"];
        let replayed = replay(log).unwrap_or_else(|error| panic!("{transport}: {error}"));
        assert!(replayed.events >= 5 && transport.contains(&replayed.law), "{replayed:?}");
        assert!(
            log.len() as u64 <= 200 + 100 * replayed.events,
            "{} bytes of {} events",
            log.len(),
            replayed.events
        );
        // An action of another run: cut one event's log short by its last byte.
        assert!(
            matches!(replay(&log[..log.len() - 1]), Err(ReplayError::Cut { events: Some(n) }) if n + 1 == replayed.events)
        );
    }
}

#[test]
fn a_host_law_writes_its_log_too() {
    let text = "version = 1\nseeds = [1]\nstop = { time = \"2ms\" }\n\
        [fabric]\nkind = \"star\"\nhosts = 2\nhost_link = { rate = \"100Gbps\", delay = \"9us\" }\n\
        [host]\nprofile = \"linux\"\nrx_usecs = \"4us\"\n\
        [[host.override]]\nwhere = \"host[1]\"\n\
        [host.override.memory]\nnic_buffer = \"100KB\"\n\
        [[host.override.memory.antagonist]]\ncores = 3\n\
        [host.override.memory.control]\nlaw = \"hostcc\"\n\
        [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\nmtu = \"4000B\"\n\
        [[traffic]]\nkind = \"long\"\nfrom = [\"host[0]\", \"host[0]\", \"host[0]\", \"host[0]\"]\nto = \"host[1]\"\n\
        [output]\nlaw_log = { hosts = \"host[1]\" }\n";
    let scenario = scenario(text);
    let logged = scenario.output.law_log.clone().expect("read");
    let every = common::scenario(&text.replace("{ hosts = \"host[1]\" }", "true"));
    assert_eq!(every.output.law_log.as_ref(), Some(&logged), "the only host with a law");
    let alone = run(&scenario, 1, Options::default());
    let (logs, digest) = logs(&scenario, logged, 1);
    assert_eq!(digest, alone.record.digest);
    let replayed = replay(&logs["host-host[1]"]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((replayed.role, replayed.law.as_str()), ("host", "hostcc"));
    assert!(replayed.events > 2_000, "{replayed:?}: two counters, 0.65 us a reading");
}

/// The law of a connection's pool, of every connection that has one.
#[test]
fn laws_of_pools_write_their_logs_too() {
    let mut scenario = scenario(include_str!("../../../../scenarios/carc-fast-producer.toml"));
    scenario.stop.time = Time::from_ps(1_500_000_000);
    let alone = run(&scenario, 1, Options::default());
    let logged = LawLog { connections: vec![0, 15, 16], ..LawLog::default() };
    let (both, digest) = logs(&scenario, logged.clone(), 1);
    assert_eq!(digest, alone.record.digest);
    assert_eq!(both, logs(&scenario, logged, 2).0, "threads");
    assert_eq!(both.keys().collect::<Vec<_>>(), ["pool-0", "pool-15"], "there is no sixteenth");
    let replayed = replay(&both["pool-15"]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((replayed.role, replayed.law.as_str()), ("pool", "carc"));
    assert!(replayed.events > 100, "{replayed:?}");
}

/// The law of a connection's credits starts anew for each message, in one log for its requests and one for its responses.
#[test]
fn credits_of_connections_write_a_log_for_all_their_messages() {
    let text = "version = 1\nname = \"rpcs\"\nseeds = [1]\nstop = { time = \"2ms\" }\n\
        [fabric]\nkind = \"star\"\nhosts = 3\nrouting = \"ecmp-symmetric\"\nwire_overhead = \"38B\"\nhost_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
        [fabric.switch]\nclasses = 2\ncredits = { class = 1 }\n\
        [transport]\nkind = \"receiver-driven\"\nlaw = \"expresspass\"\nmss = \"1460B\"\nheader = \"40B\"\nack_size = \"46B\"\n\
        [[traffic]]\nkind = \"rpc\"\nfrom = [\"host[0]\", \"host[1]\"]\nto = \"host[2]\"\nrequest = \"20KB\"\nresponse = \"40KB\"\noutstanding = 1\n";
    let scenario = scenario(text);
    let alone = run(&scenario, 1, Options::default());
    let logged = LawLog { flows: vec![0, 1], ..LawLog::default() };
    let (both, digest) = logs(&scenario, logged.clone(), 1);
    assert_eq!(digest, alone.record.digest);
    assert_eq!(both, logs(&scenario, logged, 2).0, "threads");
    assert!(alone.record.rpcs.len() > 20, "{} RPCs", alone.record.rpcs.len());
    let replayed = |whose: &str| replay(&both[whose]).unwrap_or_else(|error| panic!("{error}"));
    let (requests, responses) = (replayed("0"), replayed("1"));
    assert_eq!((requests.role, requests.law.as_str()), ("credit", "expresspass"));
    assert!(
        requests.events > 200 && responses.events > requests.events,
        "{requests:?} {responses:?}"
    );
    assert!(requests.last.as_ps() > 1_900_000_000, "up to the last message: {requests:?}");
}

/// Hosts have the laws of grants and pulls, and flows those of credits.
#[test]
fn laws_of_receivers_write_their_logs_too() {
    for (law, text, hosts, flows) in [
        ("ndp", include_str!("../../../../scenarios/ndp.toml"), "leaf[*].host[*]", vec![]),
        ("homa", include_str!("../../../../scenarios/homa.toml"), "leaf[1].host[2]", vec![]),
        ("expresspass", include_str!("../../../../scenarios/expresspass.toml"), "", vec![3, 5]),
    ] {
        let mut scenario = scenario(text);
        scenario.stop.time = Time::from_ps(600_000_000);
        let alone = run(&scenario, 1, Options::default());
        let logged = LawLog { flows, hosts: vec![hosts.to_string()], ..LawLog::default() };
        let (both, digest) = logs(&scenario, logged.clone(), 1);
        assert_eq!(digest, alone.record.digest, "{law}");
        assert_eq!(both, logs(&scenario, logged, 2).0, "{law}: threads");
        assert!(!both.is_empty(), "{law}");
        for (whose, log) in &both {
            assert_eq!(whose.starts_with("grant-leaf["), law != "expresspass", "{whose}");
            let replayed = replay(log).unwrap_or_else(|error| panic!("{law}, {whose}: {error}"));
            assert_eq!(replayed.law, law);
            assert!(replayed.events > 10, "{replayed:?}");
        }
    }
}
