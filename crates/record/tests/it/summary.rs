//! The summary against slow, obvious versions, and its text.

use crate::support::{about, run, with_memory, with_rpcs};
use forebay_record::{
    ConnectionRow, Estimate, FlowRow, RpcRow, RunRecord, RunStart, Status, Summary,
};
use forebay_units::{Bytes, Span, Time};

fn three() -> (forebay_record::RunStart, Vec<RunRecord>) {
    (about(&[1, 2, 3]), [1, 2, 3].map(|seed| run(seed, 2_000)).to_vec())
}

/// The p99 slowdown of one seed's flows of at most 10 KB, the long way round.
fn naive_p99(run: &RunRecord, warmup: Time) -> f64 {
    let slowdowns: Vec<f64> = run
        .flows
        .iter()
        .filter(|f| f.size.get() <= 10_000 && f.start >= warmup && f.delivered.is_some())
        .map(|f| (f.delivered.unwrap().as_ps() - f.start.as_ps()) as f64 / f.ideal.as_ps() as f64)
        .collect();
    let enough = |x: f64| {
        let reached = slowdowns.iter().filter(|v| **v <= x).count();
        reached as f64 >= 0.99 * slowdowns.len() as f64 - 1e-9
    };
    slowdowns.iter().copied().filter(|x| enough(*x)).fold(f64::INFINITY, f64::min)
}

#[test]
fn percentiles_are_taken_within_seeds_and_averaged_across_them() {
    let (about, runs) = three();
    let summary = Summary::of(&about, &runs);
    let small = &summary.size_classes[0];
    assert_eq!(small.name, "<= 10 KB");
    let naive: Vec<f64> = runs.iter().map(|run| naive_p99(run, about.warmup)).collect();
    assert_eq!(small.slowdown.p99.per_seed, naive.iter().copied().map(Some).collect::<Vec<_>>());
    assert_eq!(small.slowdown.p99.mean, Some(naive.iter().sum::<f64>() / 3.0));
    assert!(small.slowdown.p99.ci95.is_some());
    assert!(small.slowdown_acked.p99.mean > small.slowdown.p99.mean);
}

#[test]
fn every_flow_is_in_one_outcome_and_every_measured_one_in_one_class() {
    let (about, mut runs) = three();
    let endless = FlowRow { size: Bytes::MAX, delivered: None, acked: None, ..runs[0].flows[5] };
    runs[0].flows.push(endless);
    let summary = Summary::of(&about, &runs);
    let flows = &summary.flows;
    assert_eq!(
        flows.total,
        flows.completed + flows.not_finished + flows.not_started + flows.endless
    );
    assert_eq!(flows.endless, 1);
    assert!(flows.in_warmup > 0);
    let all = &summary.overall;
    assert_eq!(
        all.count + all.not_finished + flows.in_warmup,
        flows.completed + flows.not_finished
    );
    for classes in [&summary.size_classes, &summary.traffic_classes] {
        assert_eq!(classes.iter().map(|class| class.count).sum::<u64>(), all.count);
    }
}

#[test]
fn utilisation_of_a_full_link_is_one() {
    let (about, mut runs) = three();
    for run in &mut runs {
        run.ports.truncate(1);
        run.ports[0].busy = Some(Span::from_ps(run.end.as_ps()));
    }
    let summary = Summary::of(&about, &runs);
    assert_eq!(summary.utilisation.host_links.mean_utilisation.mean, Some(1.0));
    assert_eq!(summary.utilisation.fabric_links.mean_utilisation, Estimate::new(vec![None; 3]));
}

#[test]
fn what_is_missing_is_said() {
    let (about, runs) = three();
    let summary = Summary::of(&about, &runs[..2]);
    assert_eq!((summary.status, summary.seeds_missing.as_slice()), (Status::Interrupted, &[3][..]));
    assert!(summary.overall.slowdown.p99.ci95.is_none());
    assert!(summary.render(100, false).contains("no confidence interval: 2 seeds"));

    let mut only_small = runs.clone();
    for run in &mut only_small {
        run.flows.retain(|f| f.size.get() <= 10_000);
    }
    let summary = Summary::of(&about, &only_small);
    assert_eq!(summary.size_classes.len(), 1);
    assert_eq!(summary.size_classes_absent.len(), 4);
    assert!(summary.size_classes_absent.iter().all(|a| !a.reason.is_empty()));
}

#[test]
fn a_run_of_nothing_has_a_summary() {
    for runs in [vec![], vec![RunRecord::default()]] {
        let summary = Summary::of(&about(&[1]), &runs);
        assert_eq!(summary.overall.count, 0);
        summary.render(80, true);
        serde_json::to_string(&summary).unwrap();
    }
}

#[test]
fn the_table_fits_and_colour_changes_no_words() {
    let (about, runs) = three();
    let summary = Summary::of(&about, &runs);
    for width in [46, 60, 80, 100, 200] {
        let plain = summary.render(width, false);
        let notes = usize::from(plain.contains("* leaves out"));
        let waiting = if width < 80 { 3 } else { 1 };
        let most = if width < 80 { 31 } else { 20 } + notes + waiting;
        assert!((6..=most).contains(&plain.lines().count()), "{plain}");
        assert!(plain.lines().all(|line| line.chars().count() <= width), "{plain}");
        let mut colored = summary.render(width, true);
        while let Some(at) = colored.find('\x1b') {
            let end = colored[at..].find('m').unwrap() + at;
            colored.replace_range(at..=end, "");
        }
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&colored), trimmed(&plain));
    }
    for width in [60, 80, 120] {
        println!("{}", summary.render(width, false));
    }
}

#[test]
fn json_keeps_its_keys_and_reads_back() {
    let (about, runs) = three();
    let summary = Summary::of(&about, &runs);
    let text = serde_json::to_string_pretty(&summary).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    for path in [
        "/overall/slowdown/p99/mean",
        "/size_classes/0/fct_us/p50/ci95/1",
        "/flows/not_started",
        "/network/drop_rate/per_seed/2",
        "/utilisation/fabric_links/max_utilisation/mean",
        "/runs/0/digest",
        "/tiers/0/max_queue_bytes",
    ] {
        assert!(value.pointer(path).is_some(), "{path}");
    }
}

/// Two connections: ten RPCs of 1 to 10 us each on the first, three of 100 us on the second, the last of them cut.
fn few_rpcs() -> (RunStart, RunRecord) {
    let us = |n: u64| Time::ZERO + Span::from_us(n);
    let connection = |traffic, request_bytes, done| ConnectionRow {
        traffic,
        client: 0,
        server: 1,
        requests: 0,
        responses: Some(1),
        start: Time::ZERO,
        done,
        request_bytes: Bytes::new(request_bytes),
        response_bytes: Bytes::ZERO,
        credits: None,
    };
    let rpc = |connection, issued, completed| RpcRow {
        connection,
        request: Bytes::new(1_000),
        response: Bytes::ZERO,
        issued,
        completed,
        ideal: Span::from_us(2),
    };
    let mut rpcs: Vec<RpcRow> = (1..=10).map(|n| rpc(0, us(100 + n), us(100 + 2 * n))).collect();
    rpcs.extend([rpc(1, us(0), us(100)), rpc(1, us(100), us(200)), rpc(1, us(200), Time::MAX)]);
    let run = RunRecord {
        seed: 1,
        hosts: vec!["a".into(), "b".into()],
        connections: vec![connection(0, 60_000, Some(us(200))), connection(1, 20_000, None)],
        rpcs,
        end: us(300),
        ..RunRecord::default()
    };
    (RunStart { seeds: vec![1], warmup: us(50), ..about(&[1]) }, run)
}

#[test]
fn rpcs_are_summed_up_as_one_would_by_hand() {
    let (about, run) = few_rpcs();
    let rpc = Summary::of(&about, &[run]).rpc.unwrap();
    assert_eq!((rpc.issued, rpc.not_completed, rpc.in_warmup), (13, 1, 1));
    let all = &rpc.overall;
    assert_eq!((all.count, all.fewest_per_seed, all.not_finished), (11, 11, 1));
    let latency = &all.latency_us;
    let found =
        [&latency.min, &latency.p50, &latency.p90, &latency.p99, &latency.p999, &latency.max];
    // 1 to 10 us and 100 us: ranks 1, 6, 10, 11, 11, 11 of 11.
    assert_eq!(found.map(|e| e.mean), [1.0, 6.0, 10.0, 100.0, 100.0, 100.0].map(Some));
    assert_eq!(latency.mean.mean, Some(155.0 / 11.0));
    assert_eq!(all.latency_over_ideal.max.mean, Some(50.0));
    // From 50 us on: 12 completions in 250 us, the one issued in the warm-up among them.
    assert_eq!(all.rpcs_per_s.mean, Some(12.0 / 250e-6));
    let near = |e: &Estimate, value: f64| (e.mean.unwrap() / value - 1.0).abs() < 1e-12;
    assert!(near(&all.request_goodput_gbps, 80_000.0 * 8.0 / 250e-6 / 1e9));
    // 60 KB in 150 us against 20 KB in 250 us: 0.4 and 0.08 B/ns.
    assert!(near(&all.jain_fairness, 0.48 * 0.48 / (2.0 * (0.16 + 0.0064))));
    assert!(near(&all.connection_goodput_gbps.min, 0.64));
    assert_eq!(rpc.traffic_classes.len(), 2);
    assert_eq!(rpc.traffic_classes[0].latency_us.max.mean, Some(10.0));
    assert_eq!(rpc.traffic_classes[1].jain_fairness.mean, Some(1.0));
}

#[test]
fn rpcs_have_intervals_a_table_and_a_figure_and_others_have_none() {
    let about = about(&[1, 2, 3]);
    let without = [1, 2, 3].map(|seed| run(seed, 100)).to_vec();
    let runs: Vec<RunRecord> = without.iter().cloned().map(|run| with_rpcs(run, 200)).collect();
    let summary = Summary::of(&about, &runs);
    assert!(summary.rpc.as_ref().unwrap().overall.latency_us.p999.ci95.is_some());
    let text = summary.render(100, false);
    assert!(text.contains("\nrpcs      4,776 of 4,800 issued completed"), "{text}");
    assert!(text.contains("p99.9") && text.contains("fairness 0."), "{text}");
    let page = forebay_record::report::render(&about, &summary, &runs);
    assert!(page.contains("id=\"rpc-latency\"") && page.contains("id=\"rpcs\""));
    let summary = Summary::of(&about, &without);
    assert!(!serde_json::to_string(&summary).unwrap().contains("\"rpc\""));
    assert!(!summary.render(100, false).contains("rpcs"));
    assert!(!forebay_record::report::render(&about, &summary, &without).contains("RPC"));
}

#[test]
fn paths_to_memory_are_told_by_host_and_on_average() {
    let runs = [1, 2, 3].map(|seed| with_memory(run(seed, 50))).to_vec();
    let about = about(&[1, 2, 3]);
    let summary = Summary::of(&about, &runs);
    let memory = summary.memory.as_ref().unwrap();
    let names: Vec<&str> = memory.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["leaf[0].host[5]", "leaf[0].host[6]"]);
    let second = &memory.hosts[1];
    // 8 bits of what was read in 19 ms.
    let gbps = |run: &RunRecord| run.memory[1].read_bytes.get() as f64 * 8.0 / 19e6;
    assert_eq!(
        second.goodput_gbps.per_seed,
        runs.iter().map(|r| Some(gbps(r))).collect::<Vec<_>>()
    );
    assert!(second.goodput_gbps.ci95.is_some());
    assert_eq!((second.antagonists_gigabytes_per_s.len(), second.level_shares.len()), (2, 5));
    let apart: f64 = second.antagonists_gigabytes_per_s.iter().map(|n| n.mean.unwrap()).sum();
    assert!((apart - second.antagonist_gigabytes_per_s.mean.unwrap()).abs() < 1e-9);
    assert_eq!(second.mean_level.mean, Some(2.0));
    let all = &memory.mean_over_hosts;
    let each = |i: usize| memory.hosts[i].iio_occupancy_lines.mean.unwrap();
    assert!((all.iio_occupancy_lines.mean.unwrap() - (each(0) + each(1)) / 2.0).abs() < 1e-9);
    assert_eq!(
        all.nic_dropped_packets,
        memory.hosts[0].nic_dropped_packets + memory.hosts[1].nic_dropped_packets
    );
    let with_warmup: u64 = runs.iter().flat_map(|r| &r.memory).map(|m| m.dropped_in_all).sum();
    assert_eq!(summary.network.nic_dropped_packets, with_warmup);
    assert_eq!(summary.network.host_marked_packets, 600_000);
}

/// No fabric port drops, and still the summary does not say that nothing was lost.
#[test]
fn drops_of_nics_stand_beside_those_of_ports() {
    let mut one = with_memory(run(1, 50));
    one.ports.iter_mut().for_each(|port| port.dropped_packets = 0);
    let text = Summary::of(&about(&[1]), &[one]).render(100, false);
    assert!(text.contains("0 dropped (0 %), "), "{text}");
    assert!(text.contains(" dropped by NICs, ") && text.contains(" marked by hosts"), "{text}");
    assert!(text.contains("bottleneck: memory 62.5 %, senders 25.0 %, pcie 12.5 %"), "{text}");
    let waits =
        "senders waited for congestion window 50.0 %, receive window 25.0 %, sending NIC 25.0 %";
    assert!(text.contains(waits), "{text}");
    let plain = Summary::of(&about(&[1]), &[run(1, 50)]);
    assert!(plain.memory.is_none() && !plain.render(100, false).contains("NIC"));
}

/// A run that was cut short inside the warm-up has no span to divide by.
/// Of TCP nothing is unscheduled; a rule with not_ect = "drop" drops what is not ECN-capable (RFC 3168).
#[test]
fn what_a_marking_rule_drops_is_called_unscheduled_only_where_it_is() {
    let mut one = run(1, 10);
    one.ports[0].dropped_packets = 7;
    one.ports[0].dropped_unscheduled = 5;
    let plain = about(&[1]);
    let protects =
        RunStart { resolved_toml: "[transport]\nselective_drop = true\n".into(), ..plain.clone() };
    for (about, says, not, tile) in [
        (plain, "5 of them for want of ECN", "unscheduled", "Dropped for want of ECN"),
        (protects, "5 of them unscheduled", "want of ECN", "Unscheduled dropped"),
    ] {
        let summary = Summary::of(&about, &[one.clone()]);
        let text = summary.render(100, false);
        assert!(text.contains(says) && !text.contains(not), "{text}");
        let page = forebay_record::report::render(&about, &summary, &[one.clone()]);
        assert!(page.contains(tile), "{tile}");
    }
}

#[test]
fn a_path_without_a_span_has_no_rates() {
    let mut one = with_memory(run(1, 50));
    one.memory.iter_mut().for_each(|row| row.span = Span::ZERO);
    let summary = Summary::of(&about(&[1]), &[one]);
    let memory = summary.memory.as_ref().unwrap();
    assert_eq!(memory.hosts[0].goodput_gbps.mean, None);
    assert!(summary.render(80, false).contains("leaf[0].host[5]"));
}

/// Two seeds of 200 flows; `late` of the second are under way at the end.
fn with_late(late: usize) -> Summary {
    let about = about(&[1, 2]);
    let mut runs = [1, 2].map(|seed| run(seed, 200)).to_vec();
    for run in &mut runs {
        for flow in &mut run.flows {
            (flow.size, flow.traffic) = (Bytes::new(5_000), 0);
            flow.start = flow.start.max(about.warmup);
            flow.delivered = Some(flow.start + flow.ideal * 3);
            flow.acked = flow.delivered;
        }
    }
    for flow in &mut runs[1].flows[..late] {
        (flow.delivered, flow.acked) = (None, None);
    }
    Summary::of(&about, &runs)
}

#[test]
fn a_percentile_that_leaves_out_more_than_one_flow_in_a_hundred_says_so_everywhere() {
    for (late, censored) in [(0, false), (2, false), (3, true)] {
        let summary = with_late(late);
        assert_eq!(summary.overall.censored, censored, "{late} of 200");
        let json: serde_json::Value = serde_json::to_value(&summary).unwrap();
        assert_eq!(json.pointer("/overall/censored"), Some(&censored.into()));
        let text = summary.render(100, false);
        let row = text.lines().find(|line| line.trim_start().starts_with("<= 10 KB ")).unwrap();
        assert_eq!(row.contains("3.00*"), censored, "{text}");
        assert_eq!(text.contains("note      * leaves out unfinished flows"), censored, "{text}");
        let done = format!("{}/400", 400 - late);
        assert_eq!(row.contains(&done), late > 0, "{text}");
        let page = forebay_record::report::render(&about(&[1, 2]), &summary, &[]);
        assert_eq!(page.contains("3.00*"), censored);
        assert_eq!(page.contains("not finished"), late > 0);
        let word = format!("{late} flows unfinished").replace("0 flows unfinished", "complete");
        assert!(summary.flows.not_started > 0 || page.contains(&word), "{word}");
    }
    // Narrow terminals keep the sign.
    let narrow = with_late(3).render(46, false);
    assert!(narrow.contains("3.00*") && narrow.lines().all(|line| line.chars().count() <= 46));
}

#[test]
fn rpcs_that_had_not_completed_are_marked_like_flows() {
    for (cut, censored) in [(0, false), (1, true)] {
        let (about, mut run) = few_rpcs();
        run.rpcs[12].completed = if cut > 0 { Time::MAX } else { Time::ZERO + Span::from_us(290) };
        let summary = Summary::of(&about, &[run]);
        assert_eq!(summary.rpc.as_ref().unwrap().overall.censored, censored);
        let text = summary.render(100, false);
        assert_eq!(text.contains(" us*"), censored, "{text}");
        assert_eq!(text.contains("11/12"), censored, "{text}");
    }
}

/// Of ten flows in equal steps each starts when the one before is done; all go to one of 128 hosts.
#[test]
fn load_and_goodput_are_of_those_that_have_traffic() {
    let about = RunStart { warmup: Time::ZERO, ..about(&[1]) };
    let mut one = run(1, 10);
    let at = |n: u64| Time::ZERO + Span::from_us(100 * n);
    for (n, flow) in (0..).zip(&mut one.flows) {
        (flow.dst, flow.size) = (3, Bytes::new(1_250_000));
        (flow.start, flow.delivered) = (at(n), Some(at(n + 1)));
    }
    // 1.25 MB in 100 us are 100 Gb/s, until 1 ms of a run of 20 ms; a link from each of 128 hosts has 100 Gb/s.
    one.totals.delivered_bytes = 12_500_000;
    let net = Summary::of(&about, &[one.clone()]).network;
    let near = |e: &Estimate, value: f64| (e.mean.unwrap() / value - 1.0).abs() < 1e-12;
    assert!(near(&net.goodput_per_receiver_gbps, 5.0) && near(&net.goodput_gbps, 5.0));
    assert!(near(&net.goodput_per_host_gbps, 5.0 / 128.0));
    assert_eq!(net.receivers, 1);
    assert!(near(&net.offered_gbps, 100.0) && near(&net.carried_gbps, 100.0), "{net:?}");
    assert!(near(&net.offered_load, 1.0 / 128.0) && near(&net.carried_load, 1.0 / 128.0));
    // Each takes two steps: the last two are under way when the last arrives, one of them half done.
    for (n, flow) in (0..).zip(&mut one.flows) {
        flow.delivered = Some(at(n + 2));
    }
    let summary = Summary::of(&about, &[one.clone()]);
    assert!(near(&summary.network.carried_gbps, 100.0 * 8.5 / 9.0), "{:?}", summary.network);
    let text = summary.render(100, false);
    assert!(text.contains("5.00 Gb/s in all, 5.00 Gb/s per receiver (1)\n"), "{text}");
    assert!(
        text.contains("load      0.781 % of the host links offered, 0.738 % carried"),
        "{text}"
    );
    let page = forebay_record::report::render(&about, &summary, &[one.clone()]);
    assert!(page.contains("Goodput per receiver") && page.contains("Load offered"));
    // All at once, or within less than a flow takes: a burst, and no load is named.
    for step in [0, 1] {
        for (n, flow) in (0..).zip(&mut one.flows) {
            (flow.start, flow.delivered) = (Time::from_ps(step * n), Some(at(n + 2)));
        }
        let summary = Summary::of(&about, &[one.clone()]);
        assert_eq!(summary.network.offered_load.mean, None);
        assert!(!summary.render(100, false).contains("\nload "));
    }
}

/// A host without antagonists, whose empty sum was minus zero.
#[test]
fn no_antagonist_has_traffic_of_zero_and_not_of_minus_zero() {
    let mut one = with_memory(run(1, 50));
    one.memory[0].antagonists.clear();
    assert!(one.memory[0].antagonist_gigabytes().is_sign_positive());
    let json = serde_json::to_string(&Summary::of(&about(&[1]), &[one])).unwrap();
    assert!(!json.contains("-0.0"), "{json}");
}

/// A run in which nothing moved any more is neither complete nor cut short.
#[test]
fn a_stalled_run_is_not_complete() {
    let (about, mut runs) = three();
    runs[1].stalled = true;
    let summary = Summary::of(&about, &runs);
    assert_eq!(summary.status, Status::Stalled);
    assert!(summary.render(100, false).contains("STALLED, traffic left unfinished"));
    let page = forebay_record::report::render(&about, &summary, &runs);
    assert!(page.contains("stalled: no packet moved") && page.contains(">stalled</span>"));
    runs[2].interrupted = true;
    assert_eq!(Summary::of(&about, &runs).status, Status::Interrupted);
}
