//! Closed loops of RPCs, checked from outside: exact times on an idle path, and what must hold for any loop.

use crate::common::{agreed, run, scenario};
use forebay_record::{RpcRow, RunRecord};
use forebay_sim::{Options, twin};
use forebay_units::{Bytes, Span, Time};

const MSS: u64 = 4_000;
const TX: u64 = (MSS + 64) * 80; // ps at 100 Gb/s, header included
const TX_ACK: u64 = 64 * 80;
const FLIGHT: u64 = 1_000_000;
const LINKS: u64 = 2;

/// Two hosts around a switch at 100 Gb/s and 1 us per link, an initial window that never binds.
fn star(stop: &str, transport: &str, traffic: &str) -> RunRecord {
    let text = format!(
        "version = 1\nname = \"rpc\"\nseeds = [1]\nstop = {stop}\n[fabric]\nkind = \"star\"\nhosts = 6\n\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n[transport]\nkind = \"tcp\"\nlaw = \"reno\"\n\
         mss = \"{MSS}B\"\nheader = \"64B\"\nack_size = \"64B\"\n{transport}{traffic}"
    );
    let scenario = scenario(&text);
    let record = run(&scenario, 1, Options::default()).record;
    let reference = twin::reference(&scenario, 1, true).unwrap();
    assert_eq!(record.digest, reference.digest, "the reference engine agrees");
    assert_eq!((&record.rpcs, &record.connections), (&reference.rpcs, &reference.connections));
    record
}

const WIDE: &str = "initial_window = \"1000 packets\"\n";

fn rpc(keys: &str) -> String {
    format!("[[traffic]]\nkind = \"rpc\"\nfrom = \"host[0]\"\nto = \"host[1]\"\n{keys}")
}

/// Last byte of `n` full packets over [`LINKS`] equal links.
fn one_way(n: u64) -> u64 {
    (n - 1) * TX + LINKS * (TX + FLIGHT)
}

fn short(payload: u64) -> u64 {
    LINKS * ((payload + 64) * 80 + FLIGHT)
}

fn latency(row: &RpcRow) -> u64 {
    row.latency().expect("it completed").as_ps()
}

/// ACKs are packets of their own and go first: one of the request's last packet before a response that follows at once,
/// one of the response before a request that follows at once. The ideal counts neither.
#[test]
fn a_lone_rpc_takes_its_request_and_its_response_to_the_picosecond() {
    for n in [1, 2, 7, 100] {
        let keys = format!("request = \"{}B\"\nresponse = \"500B\"\ncount = 3\n", n * MSS);
        let record = star("{ time = \"10ms\" }", WIDE, &rpc(&keys));
        assert_eq!(record.rpcs.len(), 3);
        for (i, row) in record.rpcs.iter().enumerate() {
            let acks = if i == 0 { TX_ACK } else { 2 * TX_ACK };
            assert_eq!(latency(row), one_way(n) + short(500) + acks, "{n} packets");
            assert_eq!(row.ideal.as_ps(), one_way(n) + short(500));
        }
        for pair in record.rpcs.windows(2) {
            assert_eq!(pair[1].issued, pair[0].completed, "without a pause");
        }
        assert_eq!(record.connections[0].done, Some(record.rpcs[2].completed));
        assert_eq!(record.connections[0].request_bytes, Bytes::new(3 * n * MSS));
        assert_eq!(record.connections[0].response_bytes, Bytes::new(3 * 500));
        assert!(record.end < Time::from_ps(10_000_000_000), "it ends when all are done");
    }
}

/// Over a transport of messages each write is one, unasked where a round trip covers it. ACKs go first there too.
#[test]
fn a_lone_rpc_of_messages_takes_its_request_and_its_response_to_the_picosecond() {
    for (law, classes) in [("ndp", 2), ("homa", 8)] {
        for n in [1, 2, 7] {
            let keys =
                rpc(&format!("request = \"{}B\"\nresponse = \"500B\"\ncount = 3\n", n * MSS));
            let record = messages(law, classes, &keys);
            for (i, row) in record.rpcs.iter().enumerate() {
                // NDP acknowledges each packet, the last one as all other transports do.
                let acks = if i == 0 { TX_ACK } else { 2 * TX_ACK };
                assert_eq!(latency(row), one_way(n) + short(500) + acks, "{law}, {n} packets");
                assert_eq!(row.ideal.as_ps(), one_way(n) + short(500));
            }
            assert_eq!(record.rpcs.len(), 3);
            assert_eq!(record.connections[0].request_bytes, Bytes::new(3 * n * MSS));
        }
    }
}

/// Requests of one connection are messages that go one after another: the second leaves when the ACK of the first is there.
#[test]
fn messages_of_a_connection_go_one_after_another() {
    let keys = "request = \"4000B\"\nresponse = \"500B\"\noutstanding = 2\ncount = 2\n";
    let record = messages("homa", 8, &rpc(keys));
    let acked = one_way(1) + LINKS * (TX_ACK + FLIGHT);
    // The response of the first has left, and its ACK goes before that of the second request's response.
    assert_eq!(latency(&record.rpcs[0]), one_way(1) + short(500) + TX_ACK);
    assert_eq!(latency(&record.rpcs[1]), acked + one_way(1) + short(500) + TX_ACK);
}

/// Two hosts around a switch, and messages.
fn messages(law: &str, classes: u32, traffic: &str) -> RunRecord {
    let text = format!(
        "version = 1\nname = \"rpc\"\nseeds = [1]\nstop = {{ time = \"10ms\", flows = \"all\" }}\n[fabric]\nkind = \"star\"\nhosts = 6\n\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nrouting = \"spray\"\n[fabric.switch]\nclasses = {classes}\nbuffer = \"none\"\n\
         [transport]\nkind = \"receiver-driven\"\nlaw = \"{law}\"\nmss = \"{MSS}B\"\nheader = \"64B\"\n{traffic}"
    );
    agreed(&scenario(&text))
}

#[test]
fn data_may_flow_back_and_think_and_service_time_add_up() {
    let keys =
        "request = \"100B\"\nresponse = \"40KB\"\nthink = \"30us\"\nservice = \"5us\"\ncount = 4\n";
    let record = star("{ time = \"10ms\" }", WIDE, &rpc(keys));
    for row in &record.rpcs {
        assert_eq!(latency(row), short(100) + 5_000_000 + one_way(10));
        assert_eq!(row.ideal.as_ps(), latency(row));
    }
    for pair in record.rpcs.windows(2) {
        assert_eq!(pair[1].issued.since(pair[0].completed), Span::from_us(30));
    }
}

#[test]
fn a_one_way_rpc_is_over_when_its_request_is_acknowledged() {
    let keys = format!("request = \"{}B\"\nresponse = \"0B\"\ncount = 3\n", 5 * MSS);
    let record = star("{ time = \"10ms\" }", WIDE, &rpc(&keys));
    assert_eq!(record.rpcs.len(), 3);
    for row in &record.rpcs {
        assert_eq!(latency(row), one_way(5) + LINKS * (TX_ACK + FLIGHT));
        assert_eq!(row.ideal.as_ps(), latency(row));
        assert_eq!(row.response, Bytes::ZERO);
    }
}

/// Several outstanding: requests leave back to back, so all but the first wait for the wire alone.
#[test]
fn outstanding_rpcs_share_the_pipe() {
    let keys = format!("request = \"{MSS}B\"\nresponse = \"500B\"\noutstanding = 4\ncount = 8\n");
    let record = star("{ time = \"10ms\" }", WIDE, &rpc(&keys));
    assert_eq!(record.rpcs.len(), 8);
    for (i, row) in (0u64..).zip(&record.rpcs[..4]) {
        assert_eq!(row.issued, record.rpcs[0].issued, "issued together");
        assert_eq!(latency(row), one_way(1) + short(500) + i * TX + TX_ACK);
    }
    for i in 4..8 {
        assert_eq!(
            record.rpcs[i].issued,
            record.rpcs[i - 4].completed,
            "one in the place of another"
        );
        // Responses come as fast as requests left, and an ACK leaves for each: every request waits for one more.
        let acks = (i as u64 - 2) * TX_ACK;
        assert_eq!(latency(&record.rpcs[i]), one_way(1) + short(500) + acks);
    }
}

/// A server works on one request of a connection at a time.
#[test]
fn requests_queue_at_a_slow_server() {
    let keys = format!(
        "request = \"{MSS}B\"\nresponse = \"500B\"\noutstanding = 3\nservice = \"20us\"\ncount = 3\n"
    );
    let record = star("{ time = \"10ms\" }", WIDE, &rpc(&keys));
    for (i, row) in (1u64..).zip(&record.rpcs) {
        assert_eq!(latency(row), one_way(1) + i * 20_000_000 + short(500));
    }
}

/// With delayed ACKs a response releases the ACK of its request, so no sender waits 40 ms.
#[test]
fn a_response_takes_a_delayed_acknowledgement_along() {
    let delayed = format!("{WIDE}delayed_ack = true\nrto_min = \"200us\"\n");
    let keys = "request = \"100B\"\nresponse = \"100B\"\ncount = 100\n";
    let record = star("{ time = \"10ms\" }", &delayed, &rpc(keys));
    assert_eq!(record.rpcs.len(), 100);
    for row in &record.rpcs[20..] {
        // The ACK leaves before the response: one more packet on the way back, and before the next request.
        let most = 2 * short(100) + 2 * TX_ACK;
        assert!((2 * short(100)..=most).contains(&latency(row)), "{}", latency(row));
    }
    assert!(record.flows.iter().all(|f| f.retransmits == 0 && f.timeouts == 0));
}

/// A cold connection waits for ACKs while its window of 2, 4, 8 packets is less than the path holds; a warm one sends
/// 100 packets back to back.
#[test]
fn the_window_outlives_an_rpc() {
    let keys =
        format!("request = \"{}B\"\nresponse = \"64B\"\nthink = \"50us\"\ncount = 4\n", 100 * MSS);
    let narrow = "initial_window = \"2 packets\"\n";
    let warm = star("{ time = \"50ms\" }", narrow, &rpc(&keys));
    let alone = one_way(100) + short(64) + TX_ACK;
    let round_trip = one_way(1) + LINKS * (TX_ACK + FLIGHT);
    let waits: u64 = [2, 4, 8].iter().map(|window| round_trip - window * TX).sum();
    assert_eq!(latency(&warm.rpcs[0]), alone + waits, "slow start");
    assert_eq!(latency(&warm.rpcs[1]), alone);
    // After many RTOs of idling RFC 2861 has the window back where it began.
    let cold = format!("{narrow}rto_min = \"100us\"\n");
    let keys = keys.replace("50us", "10ms");
    let restarted = star("{ time = \"100ms\" }", &cold, &rpc(&keys));
    let kept = star(
        "{ time = \"100ms\" }",
        &format!("{cold}slow_start_after_idle = false\n"),
        &rpc(&keys),
    );
    for i in 1..4 {
        assert_eq!(latency(&restarted.rpcs[i]), alone + waits, "restarted");
        assert_eq!(latency(&kept.rpcs[i]), alone, "kept");
    }
}

/// Little's law: what is under way is throughput times latency, exactly when no RPC is cut by either end.
#[test]
fn littles_law_holds_for_a_closed_loop() {
    let keys = "connections = 3\noutstanding = 2\nrequest = \"1KB..90KB\"\nresponse = \"homa_w1_fb_keyvalue\"\n\
                count = 200\nservice = { exponential = \"2us\" }\n";
    let record = star("{ time = \"1s\" }", "", &rpc(keys));
    assert_eq!(record.rpcs.len(), 600);
    for (c, connection) in (0u32..).zip(&record.connections) {
        let own = || record.rpcs.iter().filter(|r| r.connection == c);
        let busy: u64 = own().map(latency).sum();
        let span = connection.done.unwrap().since(connection.start).as_ps();
        // Two are under way until the last RPC of one of the two places is over.
        let last = own().map(|r| r.completed).collect::<Vec<_>>();
        let alone = last[199].since(last[198]).as_ps();
        assert_eq!(busy, 2 * span - alone, "connection {c}");
    }
}

#[test]
fn pairs_are_matched_many_to_one_or_all() {
    let pairs = |keys: &str| -> Vec<(u32, u32)> {
        let traffic = format!("[[traffic]]\nkind = \"rpc\"\nrequest = \"1KB\"\ncount = 1\n{keys}");
        let record = star("{ time = \"1ms\" }", "", &traffic);
        assert!(record.rpcs.iter().all(|r| r.latency().is_some()));
        record.connections.iter().map(|c| (c.client, c.server)).collect()
    };
    assert_eq!(
        pairs("from = [\"host[2]\", \"host[1]\"]\nto = [\"host[0]\", \"host[3]\"]\n"),
        [(2, 0), (1, 3)]
    );
    let many = pairs("from = [\"host[1]\", \"host[2]\"]\nto = \"host[0]\"\nconnections = 2\n");
    assert_eq!(many, [(1, 0), (1, 0), (2, 0), (2, 0)]);
    assert_eq!(pairs("from = \"host[1]\"\nto = [\"host[0]\", \"host[5]\"]\n"), [(1, 0), (1, 5)]);
    let all = pairs("from = \"host[*]\"\nto = \"host[*]\"\npairs = \"all\"\n");
    assert_eq!(all.len(), 6 * 5);
    assert!(all.iter().all(|(a, b)| a != b));
}

#[test]
fn a_loop_without_a_count_ends_at_the_stop_time_or_at_until() {
    let endless = star("{ time = \"1ms\" }", "", &rpc("request = \"10KB\"\nthink = \"40us\"\n"));
    assert_eq!(endless.end, Time::ZERO + Span::from_ms(1));
    assert_eq!(endless.connections[0].done, None);
    assert_eq!(endless.not_started, 0);
    let until = star("{ time = \"9s\" }", "", &rpc("request = \"10KB\"\nuntil = \"1ms\"\n"));
    assert!(until.rpcs.iter().all(|r| r.issued < Time::ZERO + Span::from_ms(1)));
    assert_eq!(until.connections[0].done, Some(until.rpcs.last().unwrap().completed));
    assert!(until.end < Time::ZERO + Span::from_ms(2), "it ends when the last RPC is over");
}

/// Open connections with nothing to do are no stall, however long they wait.
#[test]
fn an_idle_connection_is_no_stall() {
    let text = "version = 1\nname = \"t\"\nseeds = [1]\nstop = { time = \"100s\" }\n[fabric]\nkind = \"star\"\nhosts = 2\n\
                host_link = { rate = \"1Gbps\", delay = \"1us\" }\n[transport]\nkind = \"tcp\"\nlaw = \"reno\"\n";
    let traffic = rpc("request = \"10KB\"\nthink = \"45s\"\n");
    let outcome = run(&scenario(&format!("{text}{traffic}")), 1, Options::default());
    assert_eq!(outcome.stall, None);
    assert_eq!(outcome.record.rpcs.len(), 3);
    assert_eq!(outcome.record.end, Time::ZERO + Span::from_secs(100));
}

/// Bytes delivered are those of whole RPCs, and at most those under way come on top.
#[test]
fn what_is_delivered_belongs_to_rpcs() {
    let traffic = "[[traffic]]\nkind = \"rpc\"\nfrom = \"host[*]\"\nto = \"host[*]\"\npairs = \"all\"\noutstanding = 2\n\
                   request = \"websearch\"\nresponse = \"1B..60KB\"\nthink = { exponential = \"3us\" }\n";
    let record = star("{ time = \"2ms\" }", "", traffic);
    let (mut delivered, mut some_cut) = (0, false);
    for (c, connection) in (0u32..).zip(&record.connections) {
        let own = || record.rpcs.iter().filter(|r| r.connection == c);
        let whole: u64 = own().filter(|r| r.latency().is_some()).map(|r| r.request.get()).sum();
        let all: u64 = own().map(|r| r.request.get()).sum();
        assert!((whole..=all).contains(&connection.request_bytes.get()));
        let back: u64 = own().filter(|r| r.latency().is_some()).map(|r| r.response.get()).sum();
        assert!(connection.response_bytes.get() >= back);
        assert!(own().filter(|r| r.latency().is_none()).count() <= 2);
        some_cut |= whole < all;
        delivered += connection.request_bytes.get() + connection.response_bytes.get();
    }
    assert!(some_cut, "some RPCs are under way at the end");
    assert_eq!(delivered, record.totals.delivered_bytes);
}

/// An entry more, or a seed less, moves no draw of another entry.
#[test]
fn sizes_depend_on_seed_entry_and_connection_alone() {
    let first = rpc("request = \"1B..1MB\"\nresponse = \"1B..1KB\"\ncount = 20\n");
    let sizes = |traffic: &str| -> Vec<(Bytes, Bytes)> {
        let record = star("{ time = \"1s\" }", "", traffic);
        let first = |r: &&RpcRow| record.connections[r.connection as usize].traffic == 0;
        record.rpcs.iter().filter(first).map(|r| (r.request, r.response)).collect()
    };
    let alone = sizes(&first);
    assert_eq!(alone.len(), 20);
    assert!(alone.windows(2).any(|p| p[0] != p[1]));
    assert_eq!(alone, sizes(&format!("{first}{first}")));
}

/// What came before the end of the warm-up is no goodput, in either direction.
#[test]
fn goodput_leaves_the_warm_up_out() {
    let traffic = rpc("request = \"40KB\"\nresponse = \"8KB\"\ncount = 60\n");
    let all = star("{ time = \"50ms\" }", WIDE, &traffic);
    let warm =
        star("{ time = \"50ms\" }", WIDE, &format!("{traffic}[output]\nwarmup = \"200us\"\n"));
    assert_eq!(all.rpcs, warm.rpcs, "a warm-up changes what is counted, not what happens");
    let (all, half) = (all.connections[0], warm.connections[0]);
    assert_eq!(all.request_bytes, Bytes::new(60 * 40_000));
    let after =
        warm.rpcs.iter().filter(|r| r.completed >= Time::ZERO + Span::from_us(200)).count() as u64;
    assert!((1..60).contains(&after));
    // The RPC under way at that instant may be partly on either side.
    assert!((after * 8_000 - 8_000..=after * 8_000).contains(&half.response_bytes.get()));
    assert!((after * 40_000 - 40_000..=after * 40_000).contains(&half.request_bytes.get()));
}

/// Sixteen connections of a host to one with a cache of 12 MiB and cores that read 64 Gb/s, four requests of 250 packets on each at once.
/// A packet takes as many credits as its buffer has lines.
fn pooled(keys: &str, more: &str) -> RunRecord {
    let scenario = scenario(&format!(
        "version = 1\nstop = {{ time = \"500ms\" }}\n[fabric]\nkind = \"star\"\nhosts = 2\n\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n[[host.override]]\nwhere = \"host[0]\"\n\
         [host.override.memory]\nread_placed = true\nper_kilobyte = \"1us\"\nddio = true\ncache = \"12582912B\"\ncache_ways = 12\n\
         cache_model = \"buffers\"\nrq = {{ depth = 16384, buffer = \"4KiB\", reuse = \"lifo\" }}\n\
         [transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nmtu = \"4096B\"\n\
         [[traffic]]\nkind = \"rpc\"\nfrom = \"host[1]\"\nto = \"host[0]\"\n\
         connections = 16\noutstanding = 4\nrequest = \"1012000B\"\n{keys}\n{more}"
    ));
    let record = agreed(&scenario);
    assert!(record.rpcs.iter().all(|row| row.latency().is_some()));
    record
}

/// Requests of 1 MB over a cache of 12 MiB that sixteen connections share: each has 786,432 B of credits, so one request of a connection is under way at a
/// time, alone. Without a pool all four are.
#[test]
fn a_pool_holds_requests_to_credits_of_the_cache() {
    let free = pooled("count = 4", "");
    assert!(free.connections.iter().all(|row| row.credits.is_none()));
    let off = pooled("count = 4\npool = { law = \"carc\", enabled = false }", "");
    assert_eq!((off.digest, off.connections), (free.digest, free.connections.clone()));
    let held = pooled("count = 4\npool = { law = \"carc\" }", "");
    for row in &held.connections {
        let credits = row.credits.unwrap();
        assert_eq!((credits.requests, credits.blocked), (4, 3), "one alone after the other");
        assert_eq!(credits.most, 1_012_000_u64.div_ceil(64));
        assert!((12_288 / 2..=12_288 * 2).contains(&credits.limit), "{}", credits.limit);
    }
    let longest = |record: &RunRecord| record.rpcs.iter().map(latency).max().unwrap();
    assert!(longest(&held) < 3 * longest(&free) / 2, "blocked time is in the latency");
}

/// One connection works, and fifteen have made one request each, which begin at 15 ms once more. An equal split leaves the first a sixteenth of the
/// cache; where only active ones share it, it gets all of it 10 ms later, and what is its share again once the others are back.
#[test]
fn a_cache_is_shared_by_those_that_are_active() {
    let limits = |active_only: bool, ms: u32| {
        let scenario = scenario(&format!(
            "version = 1\nstop = {{ time = \"{ms}ms\" }}\n[fabric]\nkind = \"star\"\nhosts = 2\n\
             host_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n[[host.override]]\nwhere = \"host[0]\"\n\
             [host.override.memory]\nread_placed = true\nddio = true\ncache = \"1MiB\"\ncache_model = \"buffers\"\n\
             rq = {{ depth = 256, buffer = \"4KiB\", rnr = \"nak\" }}\n\
             [transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nmtu = \"4096B\"\n\
             [[traffic]]\nkind = \"rpc\"\nfrom = \"host[1]\"\nto = \"host[0]\"\noutstanding = 4\nrequest = \"1MB\"\n\
             pool = {{ law = \"carc\", fragment = \"4048B\", active_only = {active_only} }}\n\
             [[traffic]]\nkind = \"rpc\"\nfrom = \"host[1]\"\nto = \"host[0]\"\nconnections = 15\ncount = 2\nrequest = \"64B\"\n\
             think = \"15ms\"\npool = {{ law = \"carc\", active_only = true }}\n[output]\nmemory = {{ every = \"100us\" }}\n"
        ));
        let record = agreed(&scenario);
        let last = record.memory_series[0].samples.last().expect("it was sampled");
        let credits = last.credits.expect("pools share this cache");
        assert!(credits.outstanding > 0 && credits.blocked > 0, "{credits:?}");
        // Four requests of 1 MB take 3.3 ms over the link: the last has waited for some of that, and none for more.
        assert!((Span::from_us(100)..Span::from_ms(4)).contains(&credits.longest), "{credits:?}");
        record.connections.iter().map(|row| row.credits.unwrap().limit).collect::<Vec<_>>()
    };
    let share = 16_384 / 16;
    assert!((share / 2..=2 * share).contains(&limits(false, 14)[0]));
    // Those that rest were announced how many share the cache as their request was read, and wait for none.
    let alone = limits(true, 14);
    assert!(
        alone[0] >= 16_384 / 2 && alone[1..].iter().all(|rest| *rest <= 2 * 16_384),
        "{alone:?}"
    );
    let again = limits(true, 17);
    assert!(again.iter().all(|limit| (share / 2..=2 * share).contains(limit)), "{again:?}");
}

/// What eight cores read in GB/s, each of a connection of its own over a round trip of 100 us, with requests of so many bytes and a cache of 12 MiB.
fn read_under_credits(request: u64, outstanding: u64, pool: bool) -> f64 {
    let record = run(
        &scenario(&format!(
            "version = 1\nstop = {{ time = \"24ms\" }}\n[fabric]\nkind = \"star\"\nhosts = 2\n\
             host_link = {{ rate = \"200Gbps\", delay = \"25us\" }}\n[[host.override]]\nwhere = \"host[0]\"\n\
             [host.override.memory]\nread_placed = true\ncores = 8\nper_kilobyte = \"700ns\"\nddio = true\ncache = \"12MiB\"\ncache_ways = 12\n\
             bandwidth = \"1400Gbps\"\npcie_rate = \"252.06Gbps\"\niio_slots = 186\ncache_model = \"buffers\"\n\
             rq = {{ depth = 3072, buffer = \"4KiB\", rnr = \"nak\" }}\n\
             [transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nmtu = \"4096B\"\n\
             [[traffic]]\nkind = \"rpc\"\nfrom = \"host[1]\"\nto = \"host[0]\"\nconnections = 8\noutstanding = {outstanding}\n\
             request = \"{request}B\"\npool = {{ law = \"carc\", enabled = {pool} }}\n"
        )),
        1,
        Options::default(),
    )
    .record;
    let of = |connection: u32| {
        let own = record.rpcs.iter().filter(|row| row.connection == connection);
        let ends: Vec<Time> = own
            .filter(|row| row.latency().is_some())
            .map(|row| row.completed)
            .filter(|at| *at > Time::from_ps(8_000_000_000))
            .collect();
        let (first, last) = (ends[0], ends[ends.len() - 1]);
        (ends.len() - 1) as f64 * request as f64 / (last.since(first).as_secs_f64() * 1e9)
    };
    (0..8).map(of).sum()
}

/// Where a connection's credits come back all at once, its core idles for a round trip in each round: RTT / (RTT + S / v2), 7.4 % of 12 MiB at 10 GB/s over 100 us, 7.8 % at these 10.6.
/// Where they come back request by request, it does not: it reads as much as without credits, while S is at least what it reads in a round trip.
#[test]
fn credits_that_come_back_request_by_request_leave_no_core_idle() {
    let share = 12 * 1024 * 1024 / 8;
    let free = read_under_credits(share / 16, 32, false);
    let each = read_under_credits(share / 16, 32, true);
    assert!((9.0..11.0).contains(&free) && each > 0.995 * free, "{each} and {free} GB/s");
    let rounds = read_under_credits(share, 2, true);
    let idle = 1.0 - rounds / each;
    let (rtt, s) = (100e-6, 8.0 * share as f64);
    let expected = rtt / (rtt + s / (each * 1e9));
    // A round trip is 100 us of cables, and a packet and a response on the links. The end of a request is known to a packet of each connection, 1.3 us in
    // some 30 ms, so that the share of a thirteenth is known to a thousandth.
    assert!((0.999..1.02).contains(&(idle / expected)), "{idle} and {expected}: {rounds} GB/s");
}

/// Posted in pieces of a packet, requests hold as many credits as there are: what waits at the server fits its cache, so that reads miss in the first
/// round and never again, where without a pool most do. Credits come back in messages, one-way RPCs' too, and however many of those are lost.
#[test]
fn credits_that_come_in_messages_keep_what_waits_in_the_cache() {
    let misses = |record: &RunRecord| {
        let row = &record.memory[0];
        row.cache_misses.iter().sum::<f64>() / row.cache_reads as f64
    };
    let free = misses(&pooled("count = 4", ""));
    assert!(free > 0.6, "{free}");
    let lost = |share: f64| format!("[[fabric.override]]\nwhere = \"host[*]\"\nloss = {share}\n");
    let cases = [("count = 4", 0.0), ("count = 4\nresponse = \"0B\"", 0.0), ("count = 1", 0.1)];
    for (keys, share) in cases {
        let pool = "pool = { law = \"carc\", fragment = \"4048B\" }";
        let sampled = "[output]\nmemory = { every = \"50us\" }\n";
        let held = pooled(&format!("{keys}\n{pool}\n"), &(lost(share) + sampled));
        for row in &held.connections {
            let credits = row.credits.unwrap();
            assert!(credits.most <= 2 * 12_288 && credits.blocked > 0, "{credits:?}");
        }
        if share == 0.0 {
            // What waits to be read has its credits out, which are as many lines as its buffers have; ACKs take buffers too on their way, one of a connection.
            for sample in &held.memory_series[0].samples {
                let (cache, credits) = (sample.cache.unwrap(), sample.credits.unwrap());
                let most = credits.outstanding * 64 + 16 * 4096;
                assert!(cache.unread <= most, "{cache:?}, {credits:?}");
            }
            // Of 3,072 buffers the 512 of the DDIO ways never left.
            let first = 2560.0 / held.memory[0].cache_reads as f64;
            assert!((misses(&held) - first).abs() < 0.01, "{keys}: {}", misses(&held));
        }
    }
}
