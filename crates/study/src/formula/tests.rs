use super::*;
use forebay_record::{
    ConnectionRow, FlowRow, MemoryRow, PortRow, Quantity, RpcRow, RunRecord, RunStart, Series,
};
use forebay_scenario::expect::Rows;
use forebay_units::{Bytes, Span, Time};
use std::sync::OnceLock;

/// Two cases, "1" and "2", of the experiment "incast"; each has two seeds.
struct Two {
    about: RunStart,
    cases: [Vec<RunRecord>; 2],
    summaries: [OnceLock<forebay_record::Summary>; 2],
}

fn flow(flow: u32, size: u64, fct_us: u64) -> FlowRow {
    FlowRow {
        flow,
        traffic: 0,
        src: 0,
        dst: 1,
        size: Bytes::new(size),
        start: Time::ZERO,
        delivered: Some(Time::ZERO + Span::from_us(fct_us)),
        acked: None,
        ideal: Span::from_us(10),
        retransmits: 0,
        timeouts: 0,
        gave_up: None,
    }
}

/// Two samples.
fn series(flow: u64, seed: u64) -> Series {
    Series {
        name: format!("flow {flow} host[0]->host[1] rate"),
        quantity: Quantity::FlowRate,
        unit: "gbps",
        at: vec![Time::ZERO, Time::from_ps(1)],
        values: vec![seed as f64, (10 * flow) as f64],
    }
}

fn connection(traffic: u16, bytes: u64) -> ConnectionRow {
    ConnectionRow {
        traffic,
        client: 0,
        server: 1,
        requests: 0,
        responses: None,
        start: Time::ZERO,
        done: None,
        request_bytes: Bytes::new(bytes),
        response_bytes: Bytes::new(7),
        credits: None,
    }
}

/// One that is over after so many us.
fn rpc(connection: u32, us: u64) -> RpcRow {
    RpcRow {
        connection,
        request: Bytes::new(1000),
        response: Bytes::new(7),
        issued: Time::ZERO,
        completed: Time::ZERO + Span::from_us(us),
        ideal: Span::from_us(1),
    }
}

impl Two {
    /// The same, where the second host has a path to memory and is asked three times.
    fn with_memory() -> Self {
        let mut two = Self::new();
        two.about.warmup = Time::from_ps(1_000_000);
        let at = |us: u64| Time::from_ps(us * 1_000_000);
        let rpc = |issued: u64, completed: Time| RpcRow {
            connection: 0,
            request: Bytes::new(128),
            response: Bytes::new(128),
            issued: at(issued),
            completed,
            ideal: Span::from_us(10),
        };
        for run in two.cases.iter_mut().flatten() {
            run.memory = vec![MemoryRow {
                host: "host[1]".into(),
                entered: run.seed as f64,
                levels: vec![0.25, 0.75],
                ..MemoryRow::default()
            }];
            run.rpcs = vec![rpc(0, at(90)), rpc(10, at(50)), rpc(60, Time::MAX)];
        }
        two
    }

    fn new() -> Self {
        let run = |seed: u64, times: [u64; 3]| RunRecord {
            seed,
            hosts: vec!["host[0]".into(), "host[1]".into()],
            flows: (0..).zip(times).map(|(i, us)| flow(i, 1000 * u64::from(i + 1), us)).collect(),
            ports: vec![PortRow {
                node: "tor".into(),
                peer: "host[1]".into(),
                dropped_packets: seed,
                max_queue: Bytes::new(9000 * seed),
                ..PortRow::default()
            }],
            series: (0..2).map(|i| series(i, seed)).collect(),
            connections: (0..2).map(|i| connection(i, 100 * seed)).collect(),
            rpcs: (0..2).map(|i| rpc(i, 5 * seed + u64::from(i))).collect(),
            end: Time::from_ps(1_000_000_000),
            ..RunRecord::default()
        };
        Self {
            about: RunStart { seeds: vec![1, 2], ..RunStart::default() },
            cases: [
                vec![run(1, [20, 40, 60]), run(2, [30, 30, 90])],
                vec![run(1, [10, 10, 10]), run(2, [10, 10, 20])],
            ],
            summaries: Default::default(),
        }
    }
}

impl Experiments for Two {
    fn runs(&self, name: Option<&RunName>) -> Result<Runs<'_>, String> {
        let case = match name.map(|name| name.point.join(" ")).as_deref() {
            Some("1") => 0,
            Some("2") => 1,
            other => return Err(format!("is {other:?}")),
        };
        let (records, summary) = (&self.cases[case], SummaryOfRuns::Lazy(&self.summaries[case]));
        Ok(Runs { about: &self.about, records, windows: &[], summary })
    }

    fn cases(&self, name: &RunName) -> Vec<String> {
        assert_eq!(name.experiment, "incast");
        vec!["1".into(), "2".into()]
    }

    fn function(&self, name: &str) -> Option<NamedFunction> {
        (name == "spread").then_some(|lists| lists[0].iter().sum::<f64>() - lists[1][0])
    }

    fn list_function(&self, name: &str) -> Option<NamedList> {
        (name == "doubled").then_some(|lists| lists[0].iter().map(|one| 2.0 * one).collect())
    }
}

const NAMES: FunctionNames<'_> = FunctionNames { numbers: &["spread"], lists: &["doubled"] };

fn value(text: &str, rows: Option<&str>) -> Result<FormulaValue, NoValue> {
    let formula = Formula::of_suite(text, NAMES).unwrap_or_else(|why| panic!("{text} {why}"));
    let rows = rows.map(|text| Rows::from(text.to_string()));
    formula.value(&Two::new(), rows.as_ref().map_or(&[], |rows| rows.conditions()))
}

#[test]
fn formulas_come_to_what_arithmetic_says() {
    for (text, expected) in [
        ("1 + 2 * 3", 7.0),
        ("8 / 2 / 2 - 1", 1.0),
        ("-(2 - 5) * 1e3", 3000.0),
        ("abs(2 - 5)", 3.0),
        ("ln(8) / ln(2)", 3.0),
        ("exp(ln(8))", 8.0),
        ("sum(since(incast[1].flows.slowdown, incast[1].flows.size_bytes, 4))", 8000.0),
        ("max(3, 1 + 4, 2)", 5.0),
        ("min(3, 1 + 4, 2)", 2.0),
        // All flows of both seeds.
        ("count(incast[1].flows.elapsed_s)", 6.0),
        ("max(incast[1].flows.elapsed_s) * 1e6", 90.0),
        ("mean(incast[1].flows.elapsed_s * 1e6)", 45.0),
        ("max(incast[1].flows.elapsed_s / incast[1].flows.ideal_s)", 9.0),
        ("max(incast[1].flows.slowdown) - max(incast[2].flows.slowdown)", 7.0),
        ("p50(incast[1].flows.slowdown)", 3.0),
        ("p99(incast[1].flows.slowdown)", 9.0),
        // The shares 2, 4, 6, 3, 3, 9: (27^2) / (6 x 155).
        ("jain(incast[1].flows.slowdown)", 729.0 / 930.0),
        // Maximum of each seed, 6 and 9.
        ("mean(each_seed(max(incast[1].flows.slowdown)))", 7.5),
        ("sum(each(max(incast[*].flows.slowdown)))", 11.0),
        ("max(each(mean(each_seed(max(incast[*].flows.slowdown)))))", 7.5),
        ("incast[1].total_losses", 3.0),
        ("sum(each_seed(incast[1].total_losses * 2))", 6.0),
        ("max(incast[2].port(tor->host[*]).max_queue_bytes)", 18_000.0),
        ("incast[1].flows.slowdown.mean", 4.5),
        ("spread(incast[2].flows.slowdown, 3)", 4.0),
        ("sum(doubled(incast[1].flows.slowdown))", 54.0),
        ("worst(2, 1 + 4, 3)", 5.0),
        ("ceil(7 / 2)", 4.0),
        // Of 2, 4, 6, 3, 3, 9 over 4: 1, 1, 2, 1, 1, 3.
        ("sum(ceil(incast[1].flows.slowdown / 4))", 9.0),
        ("sum(incast[1].port(*).dropped_packets)", 3.0),
        ("sum(incast[1].flows.dst)", 6.0),
        ("max(incast[1].flows.ended_at_s) * 1e6", 90.0),
        // Samples of all series whose names match: 1, 0, 1, 10, and with the second seed 2, 0, 2, 10.
        ("sum(incast[1].series(flow * host[0]->host[1] rate))", 26.0),
        ("max(incast[1].series(flow 0 host[0]->host[1] rate))", 2.0),
    ] {
        let found = value(text, None).unwrap_or_else(|why| panic!("{text}: {why:?}"));
        assert!((found.value - expected).abs() < 1e-12, "{text}: {found:?}");
    }
}

#[test]
fn conditions_choose_flows_of_columns_and_metrics_alike() {
    let small = Some("size <= 2KB");
    assert_eq!(value("max(incast[1].flows.slowdown)", small).unwrap().value, 4.0);
    assert_eq!(value("incast[1].flows.slowdown.mean", small).unwrap().value, 3.0);
    assert_eq!(value("incast[1].total_losses", small).unwrap().value, 3.0);
}

#[test]
fn a_list_of_a_callers_function_is_no_number() {
    let why = Formula::of_suite("doubled(3)", NAMES).expect_err("it is a list");
    assert!(why.contains("is a list; write"), "{why}");
}

#[test]
fn conditions_choose_rpcs_and_connections_by_their_traffic() {
    let second = Some("traffic == 1");
    assert_eq!(
        value("sum(incast[1].rpcs.latency_us)", None).unwrap().value,
        5.0 + 6.0 + 10.0 + 11.0
    );
    assert_eq!(value("sum(incast[1].rpcs.latency_us)", second).unwrap().value, 6.0 + 11.0);
    assert_eq!(value("sum(incast[1].connections.delivered_bytes)", second).unwrap().value, 314.0);
    let other = Some("src == host[1]");
    assert_eq!(value("count(incast[1].rpcs.latency_us)", other).unwrap().value, 0.0);
}

#[test]
fn the_worst_rests_on_its_own_samples() {
    let (few, many) = ("p99(incast[1].flows.slowdown)", "p50(incast[1].flows.slowdown)");
    let found = |text: String| value(&text, None).unwrap();
    // The 99th percentile, 9, has none beyond it, the median, 3, has three.
    assert_eq!(found(format!("worst({few}, {many})")), found(few.into()));
    assert_eq!(found(format!("worst({few}, {many} * 4)")), found(format!("{many} * 4")));
    assert_eq!(found(format!("max({few}, {many} * 4)")).beyond, Some(0));
    assert_eq!(found(format!("worst({few} , 10)")).beyond, None);
}

#[test]
fn conditions_of_one_name_choose_for_it_alone() {
    let shares = "sum(incast[1].flows(size <= 1KB).slowdown) / sum(incast[1].flows.slowdown)";
    assert_eq!(value(shares, None).unwrap().value, 5.0 / 27.0);
    let ends = "max(incast[1].flows(size == 3KB and traffic == 0).delivered_at_s) * 1e6";
    assert_eq!(value(ends, None).unwrap().value, 90.0);
    let why =
        Formula::of_suite("sum(incast[1].flows(length < 1KB).slowdown)", FunctionNames::default());
    assert!(why.expect_err("no such condition").contains("neither a metric nor a column"));
}

/// A counter that is 20 after 1 s, grows by 10 in the next second, and not after that.
#[test]
fn rates_are_of_a_counter_on_straight_lines_between_its_samples() {
    let never = "sum(rates(incast[1].flows.start_s, incast[1].flows.start_s, 1 / 0, 1, 1))";
    assert!(matches!(value(never, None), Err(NoValue::Missing(_))), "of a flow without an end");
    let lists = |from: f64, count: f64| {
        [vec![1.0, 2.0, 3.0], vec![20.0, 30.0, 30.0], vec![from], vec![0.5], vec![count]].to_vec()
    };
    assert_eq!(super::evaluate::rates(&lists(1.0, 3.0)), [10.0, 10.0, 0.0]);
    assert_eq!(super::evaluate::rates(&lists(1.75, 1.9)), [5.0]);
    let steps = [&lists(1.0, 2.0)[..], &[vec![1.0]]].concat();
    assert_eq!(super::evaluate::rates(&steps), [10.0, 0.0]);
    let why = Formula::of_suite("sum(rates(1, 2, 3, 4, 5))", FunctionNames::default())
        .expect_err("no lists");
    assert!(why.contains("has rates(...) of something else"), "{why}");
}

#[test]
fn a_percentile_knows_what_lies_beyond_it_and_nothing_over_nothing_is_no_number() {
    assert_eq!(value("mean(incast[1].flows.slowdown)", None).unwrap().beyond, None);
    // Of six samples the median is the third; three lie beyond.
    assert_eq!(value("p50(incast[1].flows.slowdown)", None).unwrap().beyond, Some(3));
    let both = "p50(incast[1].flows.slowdown) + p99(incast[1].flows.slowdown)";
    assert_eq!(value(both, None).unwrap().beyond, Some(0));
    assert_eq!(value("(1 - 1) / incast[1].marks", None), Err(NoValue::Empty));
    assert!(matches!(value("max(incast[3].flows.slowdown)", None), Err(NoValue::Missing(_))));
}

#[test]
fn samples_are_added_in_their_order_unless_sorted() {
    // 1e16 + 1 is 1e16: the order of a sum shows.
    let sum = |text: &str| value(text, None).unwrap().value;
    assert_eq!(sum("sum(1, 1, 1e16)"), 1e16 + 2.0);
    assert_eq!(sum("sum(1e16, 1, 1)"), 1e16);
    assert_eq!(sum("sum(sorted(incast[1].flows.slowdown))"), 27.0);
}

/// Each level of a formula is a call of the functions that read it and work it out.
#[test]
fn a_formula_may_nest_64_deep_and_have_1000_values() {
    let read = |text: &str| Formula::of_suite(text, FunctionNames::default());
    let nested = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    assert_eq!(value(&nested(63), None).unwrap().value, 1.0);
    let why = read(&nested(64)).expect_err("too deep");
    assert!(why.starts_with("nests more than 64 brackets, functions and signs"), "{why}");
    assert!(read(&"(".repeat(100_000)).is_err());
    assert!(read(&"-".repeat(100_000)).is_err());
    let sum = |n: usize| vec!["1"; n].join("+");
    assert_eq!(value(&sum(1000), None).unwrap().value, 1000.0);
    let why = read(&sum(1001)).expect_err("too long");
    assert!(why.starts_with("has more than 1000 values at character"), "{why}");
}

#[test]
fn a_formula_that_cannot_be_understood_is_answered_with_what_to_write() {
    for (text, says) in [
        ("", "lacks a value at character 1"),
        ("1 +", "lacks a value at character 4"),
        ("(1", "lacks a ) at character 3"),
        ("1 2", "ends too early at character 3"),
        ("1e", "is no number"),
        ("p100(incast[1].flows.slowdown)", "has \"p100\", which is no function,"),
        ("average(1)", "has \"average\", which is no function, at character 1; write one of mean"),
        ("mean(1", "lacks a ) or a comma"),
        ("incast", "has \"incast\" alone"),
        ("incast[1", "lacks a ] for the ["),
        ("incast[1].flows.elapsed_s", "is a list; write"),
        ("incast[1].flows.late", "neither a metric nor a column"),
        ("incast[1].port(a->b).late", "neither a metric nor a column"),
        ("p99(3)", "a function of one list"),
        ("each(incast[*].flows.slowdown)", "a function of one number"),
        ("worst(incast[1].flows.slowdown)", "write max(...)"),
        ("ceil(1, 2)", "write one"),
        ("doubled(3)", "has \"doubled\", which is no function"),
    ] {
        let why = Formula::of_suite(text, FunctionNames::default()).expect_err(text);
        assert!(why.contains(says), "{text}: {why}");
    }
}

#[test]
fn a_comparison_is_one_where_it_holds_so_that_a_mean_is_a_share_and_a_window_of_time() {
    for (text, expected) in [
        ("mean(incast[1].flows.slowdown > 3)", 0.5), // 2, 4, 6, 3, 3, 9
        ("mean(incast[1].flows.slowdown >= 3)", 5.0 / 6.0),
        ("sum(incast[1].flows.slowdown < 3) + sum(incast[1].flows.slowdown <= 3)", 4.0),
        (
            "sum(incast[1].flows.slowdown * (incast[1].flows.size_bytes >= 2000)) / sum(incast[1].flows.size_bytes >= 2000)",
            22.0 / 4.0,
        ),
        ("7 % 4 * 2", 6.0),
    ] {
        assert_eq!(value(text, None).unwrap().value, expected, "{text}");
    }
    let why = Formula::of_run("drops > 3").expect_err("[[expect]] has bounds");
    assert!(why.contains("ends too early"), "{why}");
}

#[test]
fn steps_spells_and_items_are_of_lists_in_their_order() {
    for (text, expected) in [
        ("sum(steps(incast[1].flows.slowdown) > 0)", 3.0),
        // Above 3: the second and third flow, and the last one; at 2, 3 and 3 KB.
        ("sum(spells(incast[1].flows.slowdown > 3, incast[1].flows.size_bytes))", 1000.0),
        ("count(spells(incast[1].flows.slowdown > 3, incast[1].flows.size_bytes))", 2.0),
        ("item(incast[1].flows.slowdown, 2)", 6.0),
        ("given(5, incast[1].total_losses)", 5.0),
    ] {
        assert_eq!(value(text, None).unwrap().value, expected, "{text}");
    }
    assert!(value("item(incast[1].flows.slowdown, 9)", None).unwrap().value.is_nan());
    assert_eq!(value("given(5, incast[1].marks)", None), Err(NoValue::Empty));
    let why =
        Formula::of_suite("item(1, 2)", FunctionNames::default()).expect_err("a list is missing");
    assert!(why.contains("item of a list and a number"), "{why}");
}

#[test]
fn columns_of_memory_csv_and_latencies_of_rpcs_are_lists() {
    let two = Two::with_memory();
    let of = |text: &str| {
        let formula = Formula::of_suite(text, FunctionNames::default())
            .unwrap_or_else(|why| panic!("{text} {why}"));
        formula.value(&two, &[])
    };
    let lines = of("sum(incast[1].memory(host[*]).pcie_lines)").unwrap();
    assert_eq!(lines.value, 3.0, "of both seeds");
    assert_eq!(of("item(incast[1].memory(host[1]).level_shares, 1)").unwrap().value, 0.75);
    // The one issued before the warm-up's end and the one under way do not count.
    assert_eq!(of("max(incast[1].rpcs.latency_us)").unwrap().value, 40.0);
    assert_eq!(of("count(incast[1].rpcs.latency_us)").unwrap().value, 2.0);
    assert!(Formula::of_run("max(memory(host[0]).pcie_gbps)").is_ok(), "as [[expect]] has it");
    assert!(Formula::of_run("max(flows(size <= 1KB).slowdown)").is_ok());
    assert!(of("sum(incast[1].memory(leaf).pcie_lines)").is_err());
}
