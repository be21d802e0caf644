//! Priority flow control: classes that must not be lost are not, others go on, and a pause without an end has a reason that is said.

use crate::common::{run, scenario};
use forebay_record::{ClassPauseRow, PortRow, RunRecord};
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Simulation, Watch};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Span, Time};
use proptest::prelude::*;
use std::fmt::Write;

fn sum(record: &RunRecord, of: fn(&PortRow) -> u64) -> u64 {
    record.ports.iter().map(of).sum()
}

fn lossless_drops(record: &RunRecord) -> u64 {
    record.class_pauses.iter().map(|row| row.lossless_drops).sum()
}

/// `left.host[0]` and six hosts of the right send to `right.host[0]` in class 3; `left.host[1]`, the victim, sends over the same
/// cable to `right.host[1]`.
fn swamp(classes: u8, pause: &str, of_victim: u8) -> String {
    let swamp: String = ["left.host[0]".to_string()]
        .into_iter()
        .chain((2..8).map(|i| format!("right.host[{i}]")))
        .map(|from| format!("{{ from = \"{from}\", to = \"right.host[0]\", size = \"3MB\" }},\n"))
        .collect();
    format!(
        "version = 1\nstop = {{ time = \"1s\" }}\n[fabric]\nkind = \"dumbbell\"\nleft = 2\nright = 8\n\
         host_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\nbottleneck = {{ rate = \"10Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\nbuffer = {{ size = \"2MB\" }}\necn = \"off\"\nclasses = {classes}\npause = {pause}\n\
         [transport]\nkind = \"tcp\"\nlaw = \"reno\"\ninitial_window = \"4MB\"\nrto_min = \"10ms\"\nack_class = {}\n\
         [[traffic]]\nkind = \"list\"\nclass = {of_victim}\nflows = [{{ from = \"left.host[1]\", to = \"right.host[1]\", size = \"2MB\", at = \"100us\" }}]\n\
         [[traffic]]\nkind = \"list\"\nclass = {}\nflows = [\n{swamp}]\n",
        classes - 1,
        3.min(classes - 1),
    )
}

fn victim(text: &str) -> (Span, RunRecord) {
    let record = run(&scenario(text), 1, Options::default()).record;
    let fct = record.flows.iter().find(|flow| flow.traffic == 0).and_then(|flow| flow.fct());
    (fct.expect("the victim is done"), record)
}

#[test]
fn a_flow_of_another_class_is_no_victim() {
    let (together, record) = victim(&swamp(8, "{ classes = [3, 5] }", 3));
    assert_eq!(sum(&record, |p| p.dropped_packets), 0);
    let (apart, record) = victim(&swamp(8, "{ classes = [1, 3] }", 1));
    assert_eq!(sum(&record, |p| p.dropped_packets), 0);
    // A seventh of the line; in a class of its own the line less that seventh, which goes first.
    let alone = 2e6 * 1_500.0 / 1_448.0 * 8.0 / 10e9;
    let ratio = |fct: Span, expected: f64| fct.as_secs_f64() / expected;
    assert!((ratio(together, 7.0 * alone) - 1.0).abs() < 0.05, "{together} in the same class");
    assert!((ratio(apart, 7.0 / 6.0 * alone) - 1.0).abs() < 0.05, "{apart} in a class of its own");
    // The cable was paused all the same, in class 3 and in no other.
    let cable = |class| {
        record
            .class_pauses
            .iter()
            .find(|r| r.node == "left" && r.peer == "right" && r.class == class)
    };
    assert!(cable(3).is_some_and(|row| row.paused > Span::from_ms(1)));
    assert_eq!(cable(1), None, "what was never paused has no row");
    // Paused all together, all wait for the same port.
    let (link, _) = victim(&swamp(8, "\"on\"", 1));
    assert!(link > apart * 2, "{link} under link pause, {apart} by class");
}

#[test]
fn a_nic_sends_classes_that_are_not_paused() {
    // Two flows of one host: one to a swamped receiver, the other to an idle one, in a class that goes first or last.
    let nics = ["round-robin", "fq", "fifo", "srpt", "push"];
    for (nic, class) in nics.into_iter().flat_map(|nic| [(nic, 1), (nic, 5)]) {
        for segments in [false, true] {
            let text = swamp(8, &format!("{{ classes = [3, {class}] }}"), class)
                .replace("from = \"left.host[1]\"", "from = \"left.host[0]\"");
            let host = format!("[host]\nnic = \"{nic}\"\ntso = {segments}\n[transport]");
            let (fct, record) = victim(&text.replace("[transport]", &host));
            let alone = 2e6 * 1_500.0 / 1_448.0 * 8.0 / 10e9;
            // Before the first pause half of its wire at worst, or none in a class that goes last.
            assert!(
                fct.as_secs_f64() < 1.35 * alone,
                "{fct} with {nic}, class {class}, tso = {segments}"
            );
            assert_eq!(sum(&record, |p| p.dropped_packets), 0);
            let class_3 =
                record.class_pauses.iter().find(|r| r.node == "left.host[0]" && r.class == 3);
            assert!(class_3.is_some_and(|row| row.paused > Span::from_ms(1)), "{nic}");
            assert!(record.flows.iter().all(|f| f.delivered.is_some() && f.retransmits == 0));
        }
    }
}

#[test]
fn classes_that_are_not_lossless_are_dropped_and_never_paused() {
    // The victim and the acknowledgements are lossy, and no port is paused for them.
    let text = swamp(8, "{ classes = [5] }", 5);
    let (_, record) = victim(&text);
    assert!(sum(&record, |p| p.dropped_packets) > 100, "class 3 is dropped");
    assert_eq!(lossless_drops(&record), 0);
    assert!(record.class_pauses.iter().all(|row| row.class == 5), "{:?}", record.class_pauses);
    let of_class_5 = record.flows.iter().filter(|flow| flow.traffic == 0);
    assert_eq!(of_class_5.map(|flow| flow.retransmits).sum::<u32>(), 0);
}

#[test]
fn a_queue_of_a_class_that_is_dropped_stays_below_its_threshold() {
    // One in-port for each sender would let the queue take 7/8 of the pool at alpha 1; the queue itself may have a half.
    let text = swamp(8, "{ classes = [5] }", 5);
    let (_, record) = victim(&text);
    let kept = 10.0 * (4_000.0 + 2_500.0 + 64.0 + 4_500.0); // nine ports, and less than ten
    let half = (2_000_000.0 - kept) / 2.0;
    let queue = record.ports.iter().map(|p| p.max_queue.get()).max().unwrap() as f64;
    assert!(queue < 1_000_000.0 && queue > half, "{queue} bytes of {half}");
}

/// Class 3 of the swamp with a threshold of 40 KB and the victim with one of 400 KB, which its part of the cable never fills; and the other
/// way round, where both are paused.
#[test]
fn classes_pause_at_thresholds_of_their_own() {
    let watchdog = ", watchdog = { after = \"1us\", action = \"ignore\" }";
    let of = |(swamp, of_swamp): (u64, &str), (victim, of_victim): (u64, &str)| {
        format!(
            "[{{ classes = [3], xoff = \"{swamp}KB\"{of_swamp} }}, {{ classes = [1], xoff = \"{victim}KB\"{of_victim} }}]"
        )
    };
    // Frames and watchdogs of each class, and what was lost.
    let paused = |text: &str| {
        let record = victim(text).1;
        let of_class = |class: u8, of: fn(&ClassPauseRow) -> u64| {
            record.class_pauses.iter().filter(|row| row.class == class).map(of).sum::<u64>()
        };
        let frames = [1, 3].map(|class| of_class(class, |row| row.pause_frames_received));
        (
            frames,
            [1, 3].map(|class| of_class(class, |row| row.watchdog_fired)),
            lossless_drops(&record),
        )
    };
    let high = swamp(8, &of((40, ""), (400, watchdog)), 1);
    let low = swamp(8, &of((400, ""), (9, watchdog)), 1);
    let ([of_1, of_3], fired, lost) = paused(&high);
    assert!(of_1 == 0 && of_3 > 100, "{of_1} and {of_3} frames");
    assert_eq!((fired, lost), ([0, 0], 0), "the watchdog is that of class 1");
    let ([of_1, _], _, lost) = paused(&low);
    assert!(of_1 > 0 && lost == 0, "{of_1} frames, {lost} lost");
    let (_, fired, lost) = paused(&swamp(8, &of((40, watchdog), (400, "")), 1));
    assert!(fired[1] > 0 && lost > 0, "{fired:?} ended by the watchdog of class 3, {lost} lost");
    // However it is run.
    for text in [high, low] {
        let scenario = scenario(&text);
        let one = run(&scenario, 1, Options::default()).record.digest;
        let naive = Options { explicit_ports: true, ..Options::default() };
        let threads = Options { threads: 2, ..Options::default() };
        let cut = Options { cut: Some(Span::from_us(1)), ..Options::default() };
        for options in [naive, threads, cut] {
            assert_eq!(run(&scenario, 1, options).record.digest, one);
        }
    }
}

#[test]
fn every_pause_of_a_class_has_its_resume() {
    let text = swamp(4, "{ classes = [0, 3], xoff = \"20KB\" }", 0);
    let scenario = scenario(&text);
    let mut simulation = Simulation::new(&scenario, 1, Options::default()).unwrap();
    let (mut at, mut partly) = (Time::ZERO, 0);
    loop {
        at += Span::from_us(50);
        let over = simulation.advance(at, &Watch::default());
        partly += simulation.inspect().ports.iter().filter(|p| p.stopped != 0).count();
        assert!(simulation.inspect().ports.iter().all(|p| p.stopped & !0b1001 == 0));
        if over {
            break;
        }
    }
    assert!(partly > 10, "{partly} ports seen paused");
    let state = simulation.inspect();
    assert!(state.switches.iter().all(|switch| switch.held == 0));
    assert!(state.ports.iter().all(|p| p.stopped == 0 && p.pausing_peer == 0));
    let rows = simulation.finish().record.class_pauses;
    let frames = |of: fn(&forebay_record::ClassPauseRow) -> u64| rows.iter().map(of).sum::<u64>();
    let (sent, heard) = (frames(|r| r.pause_frames_sent), frames(|r| r.pause_frames_received));
    assert_eq!(sent, heard);
    assert!(rows.iter().all(|r| r.pause_frames_sent % 2 == 0 && r.pause_frames_received % 2 == 0));
    assert!(sent > 100, "{sent} frames");
}

/// `n` switches in a ring, each with a host that sends to the host `hop` switches further on.
fn ring(n: usize, hop: usize, pause: &str) -> String {
    let list = |name: &dyn Fn(usize) -> String| -> String { (0..n).map(name).collect() };
    format!(
        "version = 1\nstop = {{ time = \"60ms\" }}\n[fabric]\nkind = \"graph\"\nhosts = [{}]\nswitches = [{}]\ncables = [\n{}]\n\
         host_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\nbuffer = {{ size = \"100KB\" }}\necn = \"off\"\nclasses = 4\npause = {pause}\n\
         [transport]\nkind = \"tcp\"\nlaw = \"reno\"\ninitial_window = \"4MB\"\nrto_min = \"2ms\"\nclass = 2\nack_class = 3\n\
         [[traffic]]\nkind = \"list\"\nflows = [\n{}]\n",
        list(&|i| format!("\"h{i}\", ")),
        list(&|i| format!("\"s{i}\", ")),
        list(&|i| format!(
            "{{ a = \"h{i}\", b = \"s{i}\" }},\n{{ a = \"s{i}\", b = \"s{}\" }},\n",
            (i + 1) % n
        )),
        list(&|i| format!(
            "{{ from = \"h{i}\", to = \"h{}\", size = \"20MB\" }},\n",
            (i + hop) % n
        )),
    )
}

#[test]
fn a_circle_of_paused_classes_is_named_and_a_watchdog_opens_it() {
    // One flow begins later, so that ports are not all paused at one instant.
    let later = |text: String| text.replacen("\"20MB\" }", "\"20MB\", at = \"7us\" }", 1);
    let text = later(ring(5, 2, "{ classes = [2] }"));
    let outcome = run(&scenario(&text), 1, Options::default());
    assert!(outcome.record.flows.iter().all(|f| f.delivered.is_none()));
    let said = outcome.warnings.iter().find(|w| w.starts_with("pause deadlock"));
    let said = said.expect("the circle is found");
    for i in 0..5 {
        assert!(said.contains(&format!("s{i}->s{} class 2", (i + 1) % 5)), "{said}");
    }
    let [circle] = &outcome.record.deadlocks[..] else { panic!("one circle") };
    assert_eq!((circle.ports.len(), circle.gone), (5, None));
    // The run says when it closed: nothing has been delivered since, a little of what was under way aside.
    let simulation_to = |at: Time| {
        let scenario = scenario(&text);
        let mut simulation = Simulation::new(&scenario, 1, Options::default()).unwrap();
        simulation.advance(at, &Watch::default());
        let ring = |p: &&forebay_sim::PortState| p.node >= 5 && p.peer >= 5 && p.stopped != 0;
        let stopped = simulation.inspect().ports.iter().filter(ring).count();
        (stopped, simulation.finish().record.totals.delivered_bytes)
    };
    let (before, early) = simulation_to(circle.closed);
    let (after, late) = simulation_to(circle.closed + Span::from_ps(1));
    assert!(before < 5 && after == 5 && early <= late, "{before}, then {after} ports of the ring");
    let stuck = outcome.record.totals.delivered_bytes;
    assert!(late <= stuck && stuck - late < 200_000, "{late} B, {stuck} B in the end");
    for action in ["drop", "ignore"] {
        let pause =
            format!("{{ classes = [2], watchdog = {{ after = \"3ms\", action = \"{action}\" }} }}");
        let outcome = run(&scenario(&ring(5, 2, &pause)), 1, Options::default());
        let record = outcome.record;
        let delivered = record.totals.delivered_bytes;
        println!("{action}: {delivered} bytes, {stuck} without a watchdog");
        assert!(delivered > 2 * stuck, "{delivered} bytes with {action}, {stuck} without");
        let said = outcome.warnings.iter().find(|w| w.starts_with("pause watchdog: ended"));
        assert!(said.is_some_and(|w| w.contains("class 2")), "{:?}", outcome.warnings);
        let fired: u64 = record.class_pauses.iter().map(|row| row.watchdog_fired).sum();
        let dropped: u64 = record.class_pauses.iter().map(|row| row.watchdog_drops).sum();
        assert!(
            fired > 0 && (dropped > 0) == (action == "drop"),
            "{fired} fired, {dropped} dropped"
        );
        // No pause lasts longer than the watchdog lets it: deadlines begin anew only when the peer lets go.
        assert!(outcome.warnings.iter().all(|w| !w.starts_with("pause deadlock")));
    }
}

#[test]
fn a_watchdog_is_no_part_of_a_run_without_long_pauses() {
    let plain = victim(&swamp(8, "{ classes = [3, 5] }", 3)).1;
    let watched = "{ classes = [3, 5], watchdog = { after = \"200ms\" } }";
    let watched = victim(&swamp(8, watched, 3)).1;
    assert_eq!(plain.digest, watched.digest);
}

/// A random fabric whose lossless classes are overloaded, with a buffer that is as small as the checker lets it be.
fn lossless(seed: u64) -> (Scenario, u8) {
    let mut rng = Stream::new(seed, 0, Purpose::Test);
    let mut of = |from: &[&'static str]| from[rng.below(from.len() as u64) as usize];
    let shape = of(&[
        "kind = \"star\"\nhosts = 5",
        "kind = \"dumbbell\"\nleft = 3\nright = 4",
        "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 2",
        "kind = \"fat-tree\"\ntiers = 3\nk = 4",
    ]);
    let rates = ["1Gbps", "7Gbps", "10Gbps", "25Gbps", "100Gbps", "29999999999bps"];
    let delays = ["0ns", "10ns", "500ns", "1us", "7us"];
    let links = [of(&rates), of(&delays), of(&rates), of(&delays)];
    let [latency, overhead] = [of(&["0ns", "1ns", "300ns"]), of(&["0B", "24B"])];
    let clock = of(&["exact", "exact", "truncate-ns"]);
    let law = of(&["reno", "reno", "dctcp"]);
    let mss = of(&["1448B", "4000B", "300B"]);
    let release = of(&["fluid", "start"]);
    let xoff = of(&["xoff = \"9KB\"", "alpha = 0.125", "alpha = 8.0", "xoff = \"1B\""]);
    let mut number = |least: u64, most: u64| least + rng.below(most - least + 1);
    let classes = number(1, 4);
    let lossless = number(1, (1 << classes) - 1);
    let list: Vec<String> =
        (0..classes).filter(|c| lossless & 1 << c != 0).map(|c| c.to_string()).collect();
    let mut traffic = String::new();
    for class in 0..classes {
        let (fan_in, kb) = (number(1, 4), number(1, 90));
        let _ = writeln!(
            traffic,
            "[[traffic]]\nkind = \"incast\"\nclass = {class}\nfan_in = {fan_in}\nsize = \"{kb}KB\"\nrounds = 3"
        );
        let _ = writeln!(
            traffic,
            "[[traffic]]\nkind = \"permutation\"\nclass = {class}\nsize = \"{}KB\"",
            number(1, 60)
        );
    }
    let text = |buffer: &str| {
        format!(
            "version = 1\nstop = {{ time = \"3ms\" }}\n[fabric]\n{shape}\nclock = \"{clock}\"\nwire_overhead = \"{overhead}\"\n\
             host_link = {{ rate = \"{}\", delay = \"{}\" }}\nfabric_link = {{ rate = \"{}\", delay = \"{}\" }}\n\
             [fabric.switch]\nlatency = \"{latency}\"\nclasses = {classes}\nrelease = \"{release}\"\nbuffer = {{ size = \"{buffer}\" }}\n\
             pause = {{ classes = [{}], {xoff}, reserved = \"{}B\", resume_offset = \"{}B\" }}\n\
             [transport]\nkind = \"tcp\"\nlaw = \"{law}\"\nmss = \"{mss}\"\ninitial_window = \"1MB\"\nack_class = {}\n{traffic}",
            links[0],
            links[1].replace("0ns", "1ns"),
            links[2],
            links[3].replace("0ns", "1ns"),
            list.join(", "),
            [0, 1_000, 4_000][(seed % 3) as usize],
            [0, 3_000, 20_000][(seed / 3 % 3) as usize],
            seed / 9 % classes,
        )
    };
    // What the checker requires, and no byte more.
    let refused = match forebay_scenario::text("test.toml", &text("5000B")) {
        Ok(loaded) => return (loaded.scenario, lossless as u8),
        Err(error) => error.to_string(),
    };
    let least = refused.split("write at least \"").nth(1).and_then(|rest| rest.split('"').next());
    let least = least.unwrap_or_else(|| panic!("{refused}"));
    (scenario(&text(least)), lossless as u8)
}

/// Drops of a lossless class, and whether any was paused.
fn losses(scenario: &Scenario, lossless: u8) -> (u64, bool) {
    let record = run(scenario, 1, Options::default()).record;
    let counted = lossless_drops(&record);
    assert!(record.class_pauses.iter().all(|row| lossless & 1 << row.class != 0));
    (counted, sum(&record, |p| p.pause_frames_sent) > 0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_the_checker_calls_lossless_loses_nothing(seed in any::<u64>()) {
        let (scenario, classes) = lossless(seed);
        prop_assert_eq!(losses(&scenario, classes).0, 0, "seed {}", seed);
    }
}

#[test]
fn those_random_fabrics_pause() {
    let paused = (0..40).filter(|seed| {
        let (scenario, classes) = lossless(*seed);
        losses(&scenario, classes).1
    });
    let paused = paused.count();
    assert!(paused >= 30, "{paused} of 40");
}

#[test]
fn who_is_paused_for_ever_is_in_a_circle_that_is_named() {
    let (mut named, mut free) = (0, 0);
    for n in 3..7 {
        for hop in 1..n {
            for pause in ["{ classes = [2] }", "{ classes = [2], xoff = \"5KB\" }", "\"on\""] {
                let scenario = scenario(&ring(n, hop, pause));
                let mut simulation = Simulation::new(&scenario, 1, Options::default()).unwrap();
                simulation.advance(Time::ZERO + Span::from_ms(40), &Watch::default());
                let stopped: Vec<u8> =
                    simulation.inspect().ports.iter().map(|p| p.stopped).collect();
                let frames: Vec<u64> =
                    simulation.inspect().ports.iter().map(|p| p.pauses.received).collect();
                simulation.advance(Time::ZERO + Span::from_ms(60), &Watch::default());
                let state = simulation.inspect();
                let stuck = state
                    .ports
                    .iter()
                    .zip(stopped.iter().zip(&frames))
                    .any(|(p, (s, f))| *s != 0 && p.stopped == *s && p.pauses.received == *f);
                let outcome = simulation.finish();
                let said = outcome.warnings.iter().any(|w| w.starts_with("pause deadlock"));
                assert_eq!(stuck, said, "{n} switches, {hop} hops, {pause}");
                named += u32::from(said);
                free += u32::from(!said);
            }
        }
    }
    assert!(named >= 5 && free >= 5, "{named} deadlocks, {free} without");
}

#[test]
fn what_a_nic_put_aside_comes_back_when_its_cable_has_died() {
    // Three senders to one; the cable of the first dies while it is paused, and takes the pause with it.
    let text = |at: u64| {
        format!(
            "version = 1\nstop = {{ time = \"10ms\", flows = \"all\" }}\n[fabric]\nkind = \"star\"\nhosts = 4\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             [fabric.switch]\nclasses = 2\nbuffer = {{ size = \"500KB\" }}\npause = {{ classes = [0], alpha = 0.05 }}\n\
             [transport]\nkind = \"rdma\"\nlaw = \"timely\"\nack_class = 1\ncnp_class = 1\nparams = {{ r_min = \"50Gbps\" }}\n\
             [[traffic]]\nkind = \"list\"\nflows = [\n\
             {{ from = \"host[1]\", to = \"host[0]\", size = \"1MB\" }},\n{{ from = \"host[2]\", to = \"host[0]\", size = \"1MB\" }},\n\
             {{ from = \"host[3]\", to = \"host[0]\", size = \"1MB\" }}]\n\
             [[fault]]\nlink = \"host[1]-tor\"\nat = \"{at}us\"\nfor = \"100us\"\n"
        )
    };
    let mut paused = 0;
    for at in 100..110 {
        let outcome = run(&scenario(&text(at)), 1, Options::default());
        assert_eq!(outcome.stall, None, "down at {at} us");
        assert!(outcome.record.flows.iter().all(|flow| flow.acked.is_some()), "down at {at} us");
        let port = outcome.record.ports.iter().find(|port| port.node == "host[1]").unwrap();
        paused += port.pause_frames_received % 2; // the last word was a pause
    }
    assert!(paused > 0, "the pause was never the cable's last word");
}

/// A circle that a watchdog opens again after it has stood for long is reported with both times, on any number of threads.
#[test]
fn a_circle_that_opens_again_is_told_too() {
    let pause = "{ classes = [2], watchdog = { after = \"25ms\" } }";
    let plain = "{ classes = [2] }";
    let of = |pause: &str, threads: usize| {
        let scenario = scenario(&ring(5, 2, pause).replace("60ms", "55ms"));
        run(&scenario, 1, Options { threads, ..Options::default() })
    };
    let closed = of(plain, 1).record.deadlocks[0].closed;
    let outcome = of(pause, 1);
    let first = &outcome.record.deadlocks[0];
    assert_eq!(first.closed, closed, "a watchdog changes nothing before it fires");
    let gone = first.gone.expect("the watchdog has opened it");
    assert!(gone.since(closed) >= Span::from_ms(20) && gone.since(closed) <= Span::from_ms(40));
    assert_eq!(gone, gone.round_up(Span::from_ms(10)), "seen at a check");
    let said = outcome.warnings.iter().find(|w| w.starts_with("pause deadlock from ")).unwrap();
    assert!(said.contains(&format!(", gone by {:.0} ms: ", gone.as_secs_f64() * 1e3)), "{said}");
    for threads in [2, 4] {
        let other = of(pause, threads);
        assert_eq!(other.record.deadlocks, outcome.record.deadlocks);
        assert_eq!(other.record.digest, outcome.record.digest);
    }
}
