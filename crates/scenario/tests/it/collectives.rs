//! Traffic of kind `collective`: what cannot be is said in one sentence, and what can be is laid out.

use forebay_scenario::program::{Op, Ops, Step, TrafficKind};
use forebay_scenario::text;
use forebay_scenario::workload::{Hosts, flows, forecast};

fn file(keys: &str) -> String {
    format!(
        "version = 1\nstop = {{ time = \"1ms\" }}\n[fabric]\nkind = \"star\"\nhosts = 6\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n[transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\n\
         [[traffic]]\nkind = \"collective\"\n{keys}\n"
    )
}

#[test]
fn what_cannot_be_is_one_sentence_with_both_values_and_the_remedy() {
    let few =
        "ranks = [\"host[0]\", \"host[1]\", \"host[2]\"]\nop = \"all-reduce\"\nbytes = \"1MB\"";
    let all = "ranks = \"host[*]\"\nop = \"all-reduce\"\nbytes = \"1MB\"";
    for (keys, said) in [
        (
            few.replace("host[2]", "host[0]"),
            "traffic[0].ranks: ranks 0 and 2 are both \"host[0]\"; name each host once in `ranks`",
        ),
        (
            few.replace("[\"host[0]\", \"host[1]\", \"host[2]\"]", "\"host[1]\""),
            "traffic[0].ranks: names \"host[1]\" alone, which has nobody to send to; write two hosts or more",
        ),
        (few.replace("[\"host[0]\", \"host[1]\", \"host[2]\"]", "[]"), "write at least"),
        (few.replace("host[2]", "host[9]"), "host[9]"),
        (
            format!("{all}\nalgorithm = \"halving-doubling\"").replace("all-reduce", "all-gather"),
            "traffic[0].algorithm: \"halving-doubling\" needs a power of two of ranks for all-gather and there are 6; name 4 or 8 ranks, or write \"ring\" or \"direct\"",
        ),
        (
            format!("{all}\nalgorithm = \"halving-doubling\"").replace("all-reduce", "broadcast"),
            "`algorithm` is \"halving-doubling\" and it cannot do broadcast; write \"ring\" or \"direct\"",
        ),
        (
            format!("{all}\nroot = 6").replace("all-reduce", "broadcast"),
            "`root` is 6 and there are 6 ranks; write a root from 0 to 5",
        ),
        (
            format!("{all}\nbytes_are = \"part\"").replace("all-reduce", "broadcast"),
            "write \"whole\"",
        ),
        (format!("{all}\nmessage = \"0B\""), "traffic[0].message"),
        (format!("{all}\nchannels = 2000"), "traffic[0].channels"),
        (
            format!("{all}\nconnections = 200"),
            "traffic[0].connections: 200 is too many; write at most 128",
        ),
        (
            format!("{all}\nmessage = \"10KB\"\nwindow = \"5KB\""),
            "traffic[0].window: 5KB is less than a message, which has up to 10KB; write 10KB or more, or a smaller message",
        ),
        (format!("{all}\nuntil = \"1us\""), "traffic[0].until: ends no collective"),
        (
            format!("{all}\ngap = \"90000s\""),
            "traffic[0].gap: \"90000s\" is more than a day of virtual time; write at most \"86400s\"",
        ),
        (all.replace("all-reduce", "allreduce"), "did you mean \"all-reduce\""),
    ] {
        let error = text("a.toml", &file(&keys)).map(drop).expect_err(&keys).to_string();
        assert!(error.contains(said), "{keys}\n  says {error}\n  and not {said}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let unordered =
        file(all).replace("law = \"dcqcn\"", "law = \"dcqcn\"\nrecovery = \"go-back-0\"");
    let error = text("a.toml", &unordered).map(drop).expect_err("streams never end").to_string();
    assert!(error.contains("traffic[0].kind: has streams, which never end"), "{error}");
}

/// A header has four bytes for the size, and each write on a connection is a message.
#[test]
fn a_receiver_driven_message_has_less_than_4_gib_on_each_connection() {
    let said = |bytes: &str, more: &str| {
        let keys = format!("ranks = \"host[*]\"\nop = \"broadcast\"\nbytes = \"{bytes}\"\n{more}");
        let homa =
            "kind = \"receiver-driven\"\nlaw = \"homa\"\nrouting = \"spray\"\npriorities = 1";
        let file = file(&keys).replace("kind = \"rdma\"\nlaw = \"dcqcn\"", homa);
        text("a.toml", &file).map_or_else(|error| error.to_string(), |_| "nothing".into())
    };
    let two = |spread: &str| format!("connections = 2\nspread = \"{spread}\"");
    assert_eq!(said("4294967295B", ""), "nothing");
    let all = said("4GiB", "");
    assert!(all.contains("traffic[0].bytes: sends 4GiB at once"), "{all}");
    assert!(all.contains("has less than 4 GiB; write message, for instance"), "{all}");
    assert_eq!(said("6GiB", &two("split")), "nothing");
    assert_eq!(said("8589934590B", &two("split")), "nothing");
    assert!(said("8589934591B", &two("split")).contains("traffic[0].bytes"), "a share of 4 GiB");
    assert!(said("6GiB", &two("message")).contains("traffic[0].bytes: sends 6GiB"));
    assert_eq!(said("9GiB", "message = \"1GiB\""), "nothing");
    let cut = said("9GiB", "message = \"5GiB\"");
    assert!(cut.contains("traffic[0].message: sends 5GiB at once"), "{cut}");
    assert!(cut.contains("write less, for instance"), "{cut}");
}

#[test]
fn connections_and_bytes_are_known_beforehand() {
    for (keys, connections, bytes, title) in [
        (
            "ranks = \"host[*]\"\nop = \"all-reduce\"\nbytes = \"1MB\"\nconnections = 2\nchannels = 3\nrepeat = 4",
            6 * 2 * 3,
            4 * 2 * 5 * 1_000_000u64,
            "4 x all-reduce of 1MB over 6 ranks, ring, 3 channels",
        ),
        (
            "ranks = [[\"host[0]\", \"host[1]\"], [\"host[2]\", \"host[3]\", \"host[4]\"]]\nop = \"all-to-all\"\nalgorithm = \"direct\"\nbytes = \"3KB\"\nbytes_are = \"part\"",
            2 + 6,
            6_000 + 2 * 9_000,
            "all-to-all of 3KB each over 2 groups of up to 3 ranks, direct",
        ),
        (
            "ranks = [[\"host[0]\", \"host[1]\"], [\"host[2]\", \"host[3]\"]]\nop = \"broadcast\"\nbytes = \"3KB\"",
            2,
            2 * 3_000,
            "broadcast of 3KB over 2 groups of 2 ranks, ring",
        ),
    ] {
        let scenario = text("a.toml", &file(keys)).unwrap_or_else(|e| panic!("{e}")).scenario;
        let hosts = Hosts::of(&scenario);
        assert_eq!(forecast(&scenario, &hosts), [connections]);
        let table = flows(&scenario, &hosts, 1).unwrap();
        assert_eq!((table.flows.len() as u128, table.first_stream), (connections, 0));
        let kind = &scenario.traffic[0].kind;
        assert_eq!(kind.title(), title);
        let all = kind.mean_size().unwrap() * connections as f64;
        assert!((all - bytes as f64).abs() < 1.0, "{all}");
        let TrafficKind::Collective(_) = kind else { panic!("{kind:?}") };
        // What programs send is that.
        let sent = |ops: &dyn Ops| {
            let mut ops = ops.copy();
            let steps = std::iter::from_fn(move || ops.next());
            let bytes = steps.map(|Step { op, .. }| match op {
                Op::Send { bytes, .. } => bytes.get(),
                _ => 0,
            });
            bytes.sum::<u64>()
        };
        assert_eq!(table.programs.iter().map(|of| sent(&*of.ops)).sum::<u64>(), bytes);
    }
}
