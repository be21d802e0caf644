//! The report: whole, safe, small and the same every time, for ordinary runs and odd ones.

use crate::support::{
    about, run, with_class_pauses, with_credits, with_links, with_memory, with_memory_series,
    with_rpcs, with_why,
};
use forebay_record::why::{Part, WhyRow};
use forebay_record::{Quantity, RunRecord, RunStart, Series, Summary, report};
use forebay_units::{Bytes, Span, Time};

fn page(about: &RunStart, runs: &[RunRecord]) -> String {
    report::render(about, &Summary::of(about, runs), runs)
}

/// Keeps a page for the eye, or for `tests/browser/report.py`, where FOREBAY_KEEP_REPORTS names a directory.
fn keep(name: &str, html: &str) {
    if let Ok(dir) = std::env::var("FOREBAY_KEEP_REPORTS") {
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(format!("{dir}/{}.html", name.replace(' ', "-")), html).unwrap();
    }
}

/// What every page must hold to: no broken numbers, no requests, balanced elements.
fn assert_sound(html: &str) {
    assert!(html.len() <= 2_000_000, "{} bytes", html.len());
    let body = &html[html.find("<body>").unwrap()..html.rfind("<script>").unwrap()];
    // Links within the page are no requests, and each has somewhere to go.
    let body = body.replace("<a href=\"#", "<a to=\"");
    for link in body.split("<a to=\"").skip(1) {
        let id = link.split('"').next().unwrap();
        assert!(body.contains(&format!("id=\"{id}\"")), "{id}");
    }
    for bad in ["NaN", "inf ", "\"inf", "http:", "https:", "url(", " src=", "href="] {
        if let Some(at) = body.find(bad) {
            panic!("{bad} in ...{}", &body[at.saturating_sub(120)..(at + 40).min(body.len())]);
        }
    }
    for element in ["section", "figure", "svg", "table", "div", "dl", "span"] {
        let (opened, closed) = (format!("<{element}"), format!("</{element}>"));
        let opens = body.matches(&opened).filter(|_| true).count();
        assert_eq!(opens, body.matches(&closed).count(), "{element}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn the_page_is_whole_and_the_same_every_time() {
    let about = about(&[1, 2, 3]);
    let runs = [1, 2, 3].map(|seed| run(seed, 2_000));
    let html = page(&about, &runs);
    assert_sound(&html);
    assert_eq!(html, page(&about, &runs));
    for id in [
        "key-numbers",
        "slowdown-by-size",
        "slowdown-cdf",
        "size-classes",
        "over-time",
        "tiers",
        "utilisation",
        "worst-ports",
        "worst-flows",
        "seeds",
        "settings",
        "definitions",
        "rerun",
    ] {
        assert!(html.contains(&format!("id=\"{id}\"")), "{id}");
    }
    for text in ["p99", "95 % CI", "forebay run resolved.toml", "log scale", "receiver-delivered"] {
        assert!(html.contains(text), "{text}");
    }
}

#[test]
fn who_was_paused_stands_beside_what_the_pause_cost() {
    let about = about(&[1, 2]);
    let runs = [1, 2].map(|seed| with_class_pauses(run(seed, 400)));
    let html = page(&about, &runs);
    assert_sound(&html);
    keep("paused by class", &html);
    let table = &html[html.find("id=\"pauses\"").expect("the table is there")..];
    let table = &table[..table.find("</section>").unwrap()];
    // Two seeds: 12 + 1 and 12 + 2 frames, 150 us in each, the headroom and the drops of the ingress port at the other end.
    let deadlock = "seed 2, from 12.345 ms, gone by 30 ms:";
    for text in ["<td class=\"num\">3", "150 µs", ">27<", "23.5", "2 × (14 dropped)", deadlock] {
        assert!(table.contains(text), "{text} in {table}");
    }
    assert!(!page(&about, &[run(1, 400), run(2, 400)]).contains("id=\"pauses\""));
}

#[test]
fn the_fabric_has_a_slider_where_links_were_sampled() {
    let about = about(&[1, 2]);
    let runs = [1, 2].map(|seed| with_links(run(seed, 400)));
    let html = page(&about, &runs);
    assert_sound(&html);
    let fabric = &html[html.find("id=\"fabric\"").expect("the picture is there")..];
    let fabric = &fabric[..fabric.find("</section>").unwrap()];
    assert!(fabric.contains("max=\"8\"") && fabric.contains("8 intervals of seed 1"));
    assert!(fabric.contains("\"end\":\"7 in an interval\""), "of the drops");
    let mut trims = with_links(run(1, 400));
    (trims.ports[5].trimmed_packets, trims.ports[5].dropped_credits) = (9, 11);
    let html_of_trims = page(&about, &[trims.clone()]);
    for end in ["9 in an interval", "11 in an interval"] {
        assert!(html_of_trims.contains(&format!("\"end\":\"{end}\"")), "{end}");
    }
    trims.links.iter_mut().for_each(|row| row.refused_credits.clear());
    assert!(
        page(&about, &[trims]).contains(",null,"),
        "a table of an older version has no credits"
    );
    let bare = page(&about, &[run(1, 400), run(2, 400)]);
    assert!(!bare.contains("class=\"slider\"") && bare.contains("id=\"fabric\""));
    assert!(bare.len() < html.len() - 4_000, "no script without a slider");
}

#[test]
fn no_name_can_become_markup() {
    let hostile = "</script><script>alert('x')</script><b onload=\"x\">&";
    let mut about = about(&[1]);
    about.scenario = hostile.into();
    about.laws = vec![hostile.into()];
    about.version = hostile.into();
    about.traffic = vec![hostile.into(); 2];
    about.resolved_toml = hostile.into();
    about.settings = vec![(hostile.into(), hostile.into())];
    about.release = hostile.into();
    about.rerun = Some(hostile.into());
    let mut one = with_links(run(1, 400));
    for port in &mut one.links {
        port.node = format!("{}{hostile}", port.node);
    }
    for port in &mut one.ports {
        port.node = format!("{}{hostile}", port.node);
    }
    for series in &mut one.series {
        series.name = format!("{}{hostile}", series.name);
        series.unit = "<i>";
    }
    let html = page(&about, &[one]);
    keep("hostile", &html);
    assert!(
        !html.contains("<script>alert") && !html.contains("<b onload") && !html.contains("<i>")
    );
    assert_eq!(html.matches("</script>").count(), html.matches("<script").count());
    assert_sound(&html);
}

#[test]
fn odd_runs_have_pages() {
    let one_seed = about(&[1]);
    let usual = run(1, 300);
    let same_size = {
        let mut run = usual.clone();
        run.flows.iter_mut().for_each(|flow| flow.size = Bytes::new(500_000));
        run
    };
    let one_flow = RunRecord {
        flows: vec![usual.flows.iter().find(|f| f.start >= one_seed.warmup).copied().unwrap()],
        ..usual.clone()
    };
    let nothing_done = {
        let mut run = usual.clone();
        run.flows.iter_mut().for_each(|flow| (flow.delivered, flow.acked) = (None, None));
        run
    };
    let better_than_ideal = {
        let mut run = usual.clone();
        run.flows.iter_mut().for_each(|flow| flow.ideal = Span::from_ms(900));
        run
    };
    let zero_ideal = {
        let mut run = usual.clone();
        run.flows.iter_mut().for_each(|flow| flow.ideal = Span::ZERO);
        run
    };
    let odd_series = RunRecord {
        series: vec![
            Series {
                name: "never sampled".into(),
                quantity: Quantity::Queue,
                unit: "bytes",
                at: vec![],
                values: vec![],
            },
            Series {
                name: "once".into(),
                quantity: Quantity::Queue,
                unit: "packets",
                at: vec![Time::ZERO],
                values: vec![0.0],
            },
            Series {
                name: "odd".into(),
                quantity: Quantity::Other,
                unit: "fraction",
                at: (0..4).map(Time::from_ps).collect(),
                values: vec![f64::NAN, f64::INFINITY, -2.0, 0.5],
            },
        ],
        ..usual.clone()
    };
    let dead_links = {
        let mut run = usual.clone();
        run.ports.iter_mut().for_each(|port| port.rate = forebay_units::BitsPerSec::new(0));
        run
    };
    let free_names = {
        let mut run = usual.clone();
        for (i, port) in run.ports.iter_mut().enumerate() {
            let letters = |n: usize| -> String {
                [n / 26, n % 26].iter().map(|d| char::from(b'a' + *d as u8)).collect()
            };
            (port.node, port.peer) = (letters(i), letters(i + 1));
        }
        run
    };
    for (name, runs) in [
        ("no runs", vec![]),
        ("nothing at all", vec![RunRecord { seed: 1, ..RunRecord::default() }]),
        ("one size", vec![same_size]),
        ("one flow", vec![one_flow]),
        ("nothing done", vec![nothing_done]),
        ("better than ideal", vec![better_than_ideal]),
        ("zero ideal", vec![zero_ideal]),
        ("odd series", vec![odd_series]),
        ("dead links", vec![dead_links]),
        ("free names", vec![free_names]),
    ] {
        let html = page(&one_seed, &runs);
        println!("{name}");
        assert_sound(&html);
        keep(name, &html);
    }
}

/// More hosts, and more links between switches, than have a cell or a row of their own each: those would be twice as much as fits.
#[test]
fn a_large_fabric_fits() {
    let mut big = run(1, 5_000);
    let (leaves, per_leaf, spines) = (128, 64, 64);
    big.hosts = (0..leaves)
        .flat_map(|l| (0..per_leaf).map(move |h| format!("leaf[{l}].host[{h}]")))
        .collect();
    let port = |node: String, peer: String, i: usize| forebay_record::PortRow {
        node,
        peer,
        tx_bytes: Bytes::new(1_000_000 * (i as u64 % 240)),
        ..big.ports[0].clone()
    };
    let mut ports = Vec::new();
    for l in 0..leaves {
        for h in 0..per_leaf {
            let (host, leaf) = (format!("leaf[{l}].host[{h}]"), format!("leaf[{l}]"));
            ports.push(port(host.clone(), leaf.clone(), h + l));
            ports.push(port(leaf, host, h * l));
        }
        for s in 0..spines {
            ports.push(port(format!("leaf[{l}]"), format!("spine[{s}]"), l));
            ports.push(port(format!("spine[{s}]"), format!("leaf[{l}]"), s));
        }
    }
    big.ports = ports;
    let one = big.series[0].clone();
    big.series = (0..200).map(|i| Series { name: format!("queue {i}"), ..one.clone() }).collect();
    let html = page(&about(&[1]), &[big]);
    assert_sound(&html);
    keep("large fabric", &html);
}

#[test]
fn a_host_shows_where_its_time_went_and_how_to_see_more() {
    let about = about(&[1]);
    let html = page(&about, &[with_memory(run(1, 50))]);
    assert_sound(&html);
    for text in [
        "Where did the time go at leaf[0].host[5]?",
        "the bottleneck was a busy memory controller",
        "62.5 %",
        "set output.memory",
        "NICs of receiving hosts dropped",
        "Dropped by NICs",
    ] {
        assert!(html.contains(text), "{text}");
    }
    assert!(!html.contains("plot panels"));
    let without = page(&about, &[run(1, 50)]);
    for text in ["host-path", "host-over-time", "Dropped by NICs", "plot panels"] {
        assert!(!without.contains(text), "{text}");
    }
}

/// Seven times as many samples as a page has bins: one that kept them all would be several times as large.
#[test]
fn a_hundred_thousand_samples_are_a_page_of_a_few_megabytes() {
    let about = about(&[1]);
    let mut one = run(1, 50);
    one.end = Time::from_ps(100_000_000_000);
    let sampled = with_memory_series(one, Span::from_us(1));
    assert_eq!(sampled.memory_series[0].samples.len(), 100_000);
    let html = page(&about, &[sampled]);
    keep("many samples", &html);
    assert!(html.len() < 4_400_000, "{} bytes", html.len());
    assert!(html.matches("data-window=").count() >= 2 && html.contains("class=\"traces\""));
    for part in html.split("<svg").skip(1).map(|part| part.split("</svg>").next().unwrap()) {
        assert!(!part.contains("NaN") && !part.contains("inf"), "a broken number in a figure");
    }
}

/// Few samples need no bins, and a page that keeps them all needs no windows.
#[test]
fn a_short_run_keeps_every_sample() {
    let about = about(&[1]);
    let html = page(&about, &[with_memory_series(run(1, 50), Span::from_us(10))]);
    assert!(html.contains("\"per\":1,") && html.contains("\"win\":[]"));
    assert!(!html.contains("data-window="));
    for samples in [0, 1, 2] {
        let mut one = with_memory_series(run(1, 50), Span::from_us(10));
        let series = &mut one.memory_series[0];
        series.samples.truncate(samples);
        series.by_antagonist.truncate(2 * samples);
        let html = page(&about, &[one]);
        assert_eq!(html.contains("plot panels"), samples > 0);
    }
}

/// U against D, S and Q over the states that it passes, misses by cause, frames without a buffer, credits, and how many requests wait for some and how long: the
/// longest is 40 us. A host without a cache of buffers has none of these, one without pools no credits.
#[test]
fn a_cache_of_buffers_and_its_credits_have_panels_over_time() {
    let about = about(&[1]);
    let whole = with_memory_series(run(1, 50), Span::from_us(10));
    let cache = [
        "Unread data in receive buffers (U), MB",
        "S: cache 24.8",
        "S1: U up to D",
        "S3: above S",
        "Reads that miss the cache, %",
        "evicted by the NIC",
        "evicted by a core",
        "Frames without a receive buffer, packets/µs",
    ];
    let credits = [
        "Credits of the cache, MB",
        "limit: shares and delta",
        "Requests that wait for credits",
        "Longest of their waits so far, µs",
    ];
    let shown = |run: &RunRecord| {
        let html = page(&about, std::slice::from_ref(run));
        let in_page = |texts: &[&str]| texts.iter().map(|text| html.contains(text)).collect();
        let [cache, credits]: [Vec<bool>; 2] = [in_page(&cache), in_page(&credits)];
        (cache, credits, html.contains("\"max\":50,\"unit\":\"µs\""))
    };
    let mut run = whole;
    assert_eq!(shown(&run), (vec![true; 8], vec![true; 4], true));
    run.memory_series[0].samples.iter_mut().for_each(|sample| sample.credits = None);
    assert_eq!(shown(&run), (vec![true; 8], vec![false; 4], false));
    run.memory_series[0].samples.iter_mut().for_each(|sample| sample.cache = None);
    assert_eq!(shown(&run), (vec![false; 8], vec![false; 4], false));
}

/// Marks of hosts are marks: "none" never stands above them.
#[test]
fn marks_of_hosts_count_among_marks() {
    let about = about(&[1]);
    let mut one = with_memory(run(1, 50));
    one.ports.iter_mut().for_each(|port| port.marked_packets = 0);
    one.memory.iter_mut().for_each(|row| row.marked_in_all = 4_203);
    let html = page(&about, &[one]);
    let tile = &html[html.find("<span>Packets marked</span>").unwrap()..];
    let tile = &tile[..tile.find("</div>").unwrap()];
    assert!(tile.contains("<strong>8,406</strong>"), "{tile}");
    assert!(tile.contains("0 by switch ports, 8,406 by hosts"), "{tile}");
}

#[test]
fn levels_are_shown_where_there_are_several() {
    let about = about(&[1]);
    let mut runs = [with_credits(run(1, 50))];
    let html = page(&about, &runs);
    let rows = "<tr><th>6<td class=\"num bar\"><span class=\"track\"><i class=\"use\" style=\"width:25%\"></i></span><b>25.0 %</b></td>\
                <td class=\"num\">250 KB<td class=\"num\">–</tr><tr><th>1<";
    assert!(html.contains(rows));
    runs[0].class_arrivals.truncate(1);
    assert!(!page(&about, &runs).contains("id=\"levels\""));
}

#[test]
fn samples_of_receivers_are_explained() {
    let about = about(&[1]);
    let mut runs = [run(1, 50)];
    let at: Vec<Time> = (0..9).map(|i| Time::from_ps(i * 1_000_000)).collect();
    let quantities = [
        (Quantity::Credited, "flows", "Over-commitment over time", "peak 8 flows"),
        (Quantity::AwaitsCredit, "bytes", "Waiting for credit over time", "the pull queue"),
        (Quantity::BeyondGaps, "bytes", "Reorder memory over time", "When the gap closes"),
        (Quantity::CreditRate, "per_us", "Credits, grants and pulls over time", "peak 8.00 per µs"),
    ];
    let values: Vec<f64> = (0..9).map(f64::from).collect();
    for (quantity, unit, ..) in quantities {
        let (name, at, values) = (quantity.word().into(), at.clone(), values.clone());
        runs[0].series.push(Series { name, quantity, unit, at, values });
    }
    let html = page(&about, &runs);
    for (.., title, says) in quantities {
        assert!(html.contains(title) && html.contains(says), "{title}: {says}");
    }
}

/// A figure for each of the two busiest ports, which come first; a class has one colour in both.
#[test]
fn queues_by_class_are_of_the_busiest_ports() {
    let about = about(&[1]);
    let mut runs = [run(1, 50)];
    let at: Vec<Time> = (0..9).map(|i| Time::from_ps(i * 1_000_000)).collect();
    for (port, class) in [("a->b", 0), ("a->b", 5), ("c->d", 5), ("e->f", 0)] {
        let name = format!("{port} class {class} queue");
        let (quantity, values) = (Quantity::ClassQueue, vec![f64::from(class) * 1e3; 9]);
        runs[0].series.push(Series { name, quantity, unit: "bytes", at: at.clone(), values });
    }
    let html = page(&about, &runs);
    let shown =
        ["a→b", "c→d", "e→f"].map(|port| html.matches(&format!("over time, {port}</h2>")).count());
    assert_eq!(shown, [1, 1, 0]);
    assert_eq!(html.matches("<i class=\"key s5\"></i>class 5 <small>peak 5").count(), 2);
}

/// Trims and dropped credits are no drops of packets, and stand beside them: in the head, by tier, by port and in the summary's text.
#[test]
fn trims_and_dropped_credits_stand_beside_drops() {
    let about = about(&[1]);
    let mut runs = [with_credits(run(1, 50))];
    let up = |node: &str, peer: &str| node.starts_with("leaf") && peer.starts_with("spine");
    let ports = &mut runs[0].ports;
    let port = ports.iter_mut().find(|port| up(&port.node, &port.peer)).unwrap();
    (port.trimmed_packets, port.returned_packets, port.dropped_headers) = (1_234, 56, 7);
    port.dropped_credits = 89;
    let html = page(&about, &runs);
    for text in [
        "Switches trimmed 1,234 packets, all at leaf → spine.",
        "Ports dropped 89 credits, all at leaf → spine.",
        "56 headers returned to senders, 7 dropped",
        "<th class=\"num\">Trimmed",
        "<th class=\"num\">Credits dropped",
    ] {
        assert!(html.contains(text), "{text}");
    }
    let text = Summary::of(&about, &runs).render(100, false);
    let line = "trims     1,234 packets, all at leaf -> spine; 56 headers went back to senders; 7 headers dropped";
    assert!(text.contains(line), "{text}");
    let line =
        "credits   1,088 sent; 319 released nothing; 89 dropped by ports, all at leaf -> spine";
    assert!(text.contains(line), "{text}");
    assert!(html.contains("89 dropped by ports, 319 released nothing"));
}

#[test]
fn the_traffic_stands_among_the_settings() {
    let about = about(&[1]);
    let mut one = run(1, 100);
    for flow in &mut one.flows {
        flow.size =
            Bytes::new(if flow.traffic == 0 { 1_000 + u64::from(flow.flow) } else { 50_000 });
    }
    let html = page(&about, &[one]);
    let settings = &html[html.find("id=\"settings\"").unwrap()..];
    for text in [
        "poisson, websearch, load 0.6; 95 flows of 1 KB to 1.1 KB, half of them up to 1.05 KB, 99.7 KB in all",
        "incast of 64 x 50KB; 5 flows of 50 KB",
    ] {
        assert!(settings.contains(text), "{text}");
    }
}

/// Latencies of tens of milliseconds have ticks in milliseconds, and the last one stays inside the figure.
#[test]
fn the_axis_of_latencies_has_the_unit_that_suits_it() {
    let about = about(&[1]);
    let mut one = with_rpcs(run(1, 50), 50);
    for rpc in one.rpcs.iter_mut().filter(|rpc| rpc.completed != Time::MAX) {
        rpc.completed = rpc.issued + Span::from_ms(50);
    }
    let html = page(&about, &[one]);
    assert_sound(&html);
    let figure = &html[html.find("id=\"rpc-latency\"").unwrap()..];
    let figure = &figure[..figure.find("</section>").unwrap()];
    assert!(figure.contains("Latency, ms, log scale"), "the unit");
    assert!(figure.contains(">50</text>") && !figure.contains("50000"), "the ticks");
    for tick in figure.split("class=\"tick mid\">").skip(1) {
        assert!(tick.split('<').next().unwrap().parse::<f64>().is_ok());
    }
}

/// The port that failed is drawn although other queues were longer.
#[test]
fn the_queue_of_a_failed_port_is_among_those_drawn() {
    let about = about(&[1]);
    let mut one = run(1, 50);
    let name = "leaf[0]->leaf[0].host[11]";
    let is = |port: &&mut forebay_record::PortRow| format!("{}->{}", port.node, port.peer) == name;
    let legend = |html: &str| html.contains("leaf[0]→leaf[0].host[11] queue <small>");
    assert!(!legend(&page(&about, std::slice::from_ref(&one))));
    one.ports.iter_mut().find(is).unwrap().lost_packets = 7;
    let html = page(&about, &[one]);
    assert!(legend(&html));
    assert!(html.contains("one of a port that lost packets to a fault"));
}

/// Queues on the way up and on the way down are told apart, tier by tier.
#[test]
fn each_tier_of_a_fabric_has_a_colour_in_the_bars() {
    let mut one = with_why(run(1, 300));
    for (node, peer) in [("spine[0]", "core[0]"), ("core[0]", "spine[1]")] {
        let mut port = one.ports[0].clone();
        (port.node, port.peer) = (node.into(), peer.into());
        one.ports.push(port);
    }
    let at = one.why.iter().position(|row| row.part == Part::Queue).unwrap();
    let last = one.why[at].clone();
    let fifth = last.span.as_ps() / 5;
    let ports =
        ["leaf[0]->spine[0]", "spine[0]->core[0]", "core[0]->spine[1]", "spine[1]->leaf[1]"];
    one.why[at].span = Span::from_ps(last.span.as_ps() - 4 * fifth);
    let part = |port: &str| {
        let span = Span::from_ps(fifth);
        WhyRow { port: port.into(), span, ..last.clone() }
    };
    one.why.splice(at..at, ports.map(part));
    let html = page(&about(&[1]), &[one]);
    let tiers =
        ["leaf → spine", "spine → core", "core → spine", "spine → leaf", "leaf → leaf.host"];
    for (n, tier) in tiers.iter().enumerate() {
        let key = format!("<i class=\"chip-of wc{}\"></i>queueing, {tier}<", n + 1);
        assert!(html.contains(&key), "{key}");
    }
}

/// What is not there stands at the end, once, and not as an empty card among the figures.
#[test]
fn bars_of_parts_open_to_their_table() {
    let runs = [with_why(run(1, 300)), with_why(run(2, 300))];
    let html = page(&about(&[1, 2]), &runs);
    assert_sound(&html);
    keep("why", &html);
    let section = &html[html.find("id=\"why\"").unwrap()..];
    let section = &section[..section.find("</section>").unwrap()];
    assert!(section.contains("<details class=\"why\" open>"));
    assert!(section.contains("queueing, leaf → leaf.host: 50.0 %"), "{section}");
    assert!(section.contains("<i class=\"wc5\""), "a queue at the receiver has the darkest colour");
    assert!(section.contains(", seed 2") && section.contains("Flows ahead in queues"));
    // Each row's segments fill what the row says.
    for row in section.split("<span class=\"stack\">").skip(1) {
        let row = row.split("</span>").next().unwrap();
        let widths = row
            .split("width:")
            .skip(1)
            .map(|rest| rest.split('%').next().unwrap().parse::<f64>().unwrap());
        assert!(widths.sum::<f64>() <= 100.2, "{row}");
    }
    // Bars have axes: of the multiple of the ideal, of shares, and of time twice.
    let axes: Vec<&str> = section.split("<span class=\"ticks\">").skip(1).collect();
    assert_eq!(axes.len(), 4);
    let end = |text: &str, unit: &str| text.split("</span>").next().unwrap().contains(unit);
    assert!(end(axes[0], "×</i>") && end(axes[1], "left:50%\">50 %</i>"), "{}", axes[1]);
    assert!(end(axes[2], "s</i>") && end(axes[3], "s</i>"), "{}", axes[2]);
    assert!(!page(&about(&[1]), &[run(1, 50)]).contains("id=\"why\""));
}

/// Flows over TCP and over queue pairs are not alike, so no line has both.
#[test]
fn each_transport_has_its_own_distribution_of_slowdown() {
    let mut about = about(&[1]);
    let one = run(1, 2_000);
    let figures = |about: &RunStart| {
        let html = page(about, std::slice::from_ref(&one));
        assert_sound(&html);
        let titles = html.split("<h2>Distribution of FCT slowdown by size class").skip(1);
        titles.map(|rest| rest.split("</h2>").next().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(figures(&about), [""]);
    about.settings.push(("transport".into(), "tcp/dctcp".into()));
    assert_eq!(figures(&about), [""]);
    about.traffic[1] = "storage: incast of 64 x 50KB, 9 rounds, rdma/dcqcn".into();
    assert_eq!(figures(&about), [", RDMA", ", TCP"]);
}

#[test]
fn what_is_absent_stands_in_one_place() {
    let about = about(&[1]);
    let mut one = run(1, 50);
    one.series.clear();
    one.flows.clear();
    let html = page(&about, &[one]);
    assert_sound(&html);
    let section = &html[html.find("id=\"absent\"").unwrap()..];
    let section = &section[..section.find("</section>").unwrap()];
    for text in [
        "no measured flow completed",
        "Set output.queues = { every = &quot;10us&quot; }",
        "Set output.flows = { every = &quot;10us&quot; }",
    ] {
        assert!(section.contains(text), "{text} in {section}");
    }
    assert!(!html.contains("id=\"no-flows\"") && !html.contains("id=\"over-time\""));
    assert!(!page(&about, &[run(1, 500)]).contains("id=\"absent\""));
}

/// A series of `n` samples, one each microsecond.
fn series(name: &str, n: u64, value: impl Fn(u64) -> f64) -> Series {
    Series {
        name: name.into(),
        quantity: Quantity::Queue,
        unit: "bytes",
        at: (0..n).map(|i| Time::from_ps(i * 1_000_000)).collect(),
        values: (0..n).map(value).collect(),
    }
}

#[test]
fn series_with_hardly_more_samples_than_columns_take_little_room_and_keep_their_peak() {
    let with = |all: Vec<Series>| {
        let mut run = run(1, 10);
        run.end = Time::from_ps(500_000_000);
        run.series = all;
        page(&about(&[1]), &[run])
    };
    let bare = with(vec![series("q0", 500, |_| 0.0)]).len();
    let moving = |i: u64| if i == 123 { 90_000.0 } else { (i * 7_919 % 50_000) as f64 };
    let html = with((0..4).map(|n| series(&format!("q{n}"), 500, moving)).collect());
    // For each sample a step of the line, and for every second one what is read under the pointer; few columns have two samples.
    let each = (html.len() - bare) / (4 * 500);
    assert!(each <= 16, "{each} bytes a sample");
    assert!(html.contains("peak 90 KB"));
}

/// Flows of different entries have a figure each: a short incast and a long tail make one line mean nothing.
#[test]
fn slowdown_by_size_is_split_by_traffic_entry() {
    let html = page(&about(&[1]), &[run(1, 2_000)]);
    assert!(html.contains("FCT slowdown by flow size, traffic[0] poisson, websearch, load 0.6"));
    let mut one = run(1, 2_000);
    one.flows.iter_mut().for_each(|flow| flow.traffic = 0);
    assert!(page(&about(&[1]), &[one]).contains("<h2>FCT slowdown by flow size</h2>"));
}

/// A reader sees when a fault was, without the scenario at hand.
#[test]
fn faults_are_shaded_and_named() {
    let about = about(&[1]);
    let html = page(&about, &[run(1, 50)]);
    // 4 to 6.5 ms of 20 ms, on an axis from 66 to 1034.
    let band = "<rect x=\"259.6\" y=\"30\" width=\"121\" height=\"184\" class=\"fault\"><title>leaf[0]-spine[1] down";
    assert!(html.contains(band));
    assert!(html.contains("fault: leaf[0]-spine[1] down</span>"));
    let calm = RunStart { faults: Vec::new(), ..about };
    assert!(!page(&calm, &[run(1, 50)]).contains("class=\"fault\""));
}
