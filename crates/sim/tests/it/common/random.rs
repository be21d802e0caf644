//! Random scenarios: every topology, traffic, buffer, mark, class and fault, from one number.

use forebay_units::random::{Purpose, Stream};
use std::fmt::Write;

/// A scenario's text, and what must hold for it.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// The seed it was drawn from, for people who want it again.
    pub seed: u64,
    /// The file.
    pub text: String,
    /// Cables fail, change or lose packets.
    pub faulty: bool,
    pub shaped: bool, // some ports wait for tokens
    /// Cables lose packets at random from the start; then it is `faulty` too.
    pub lossy: bool,
    /// No queue can overflow, and nothing else is dropped.
    pub boundless: bool,
    /// Packets of one flow take one path.
    pub ordered: bool,
    /// A packet stops counting at the start of its transmission.
    pub release_at_start: bool,
    /// Bytes that each packet adds on the wire.
    pub overhead: u64,
    /// Limit of a port's queue in wire bytes.
    pub limit_bytes: Option<u64>,
    /// In packets.
    pub limit_packets: Option<u64>,
    /// No fault lets a flow be faster than the fabric as it was laid out, so no flow is faster than ideal.
    pub never_better: bool,
    /// End of the run in ps.
    pub stop_ps: u64,
    /// Some in-ports pause.
    pub pauses: bool,
    /// A host's path to memory is modelled; its applications read late.
    pub memory: bool,
    /// Receivers give credit: a flow is a message, and so is each write of a connection.
    pub received: bool,
}

pub struct Draw(pub Stream);

impl Draw {
    pub fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.below(from.len() as u64) as usize]
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }

    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.0.below(to - from + 1)
    }

    /// Roughly log-uniform from 1 ns to 100 ms, in ps.
    fn delay_ps(&mut self) -> u64 {
        let decade = 1_000 * 10u64.pow(self.0.below(8) as u32);
        decade * self.between(1, 10)
    }

    fn rate(&mut self) -> &'static str {
        self.of(&[
            "1Gbps",
            "10Gbps",
            "25Gbps",
            "40Gbps",
            "100Gbps",
            "400Gbps",
            "29999999999bps",
            "7Gbps",
        ])
    }

    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.0.below(i as u64 + 1) as usize);
        }
    }
}

/// Names of what was built, for traffic and faults.
struct Names {
    hosts: Vec<String>,
    cables: Vec<String>,
}

/// The scenario of this seed. `order` shuffles the lines of a graph, which must change nothing.
pub fn draw(seed: u64, order: u64) -> Drawn {
    let mut d = Draw(Stream::new(seed, 0, Purpose::Test));
    let mut drawn =
        Drawn { seed, ordered: true, never_better: true, boundless: true, ..Drawn::default() };
    let mut longest = 0;
    let mut fabric = String::new();
    let names = shape(&mut d, order, &mut fabric, &mut longest);
    // Whatever has to cross the fabric a few times can, and queues have time to build.
    // Not so long that a run could count as stalled, which is not for the reference engine to see.
    drawn.stop_ps =
        (longest * d.between(20, 60)).clamp(d.between(200, 3_000) * 1_000_000, 19_000_000_000_000);
    fabric_keys(&mut d, &mut fabric, &mut drawn);
    if Draw(Stream::new(seed, 32, Purpose::Test)).one_in(2) {
        fabric = fabric.replace("routing = \"spray\"", "routing = \"adaptive\"");
    }
    let (classes, lossless) = match Stream::new(seed, 3, Purpose::Test).below(3) {
        0 => pausing_switch(seed, &mut fabric, &names, &mut drawn),
        _ => (switch(&mut d, &mut fabric, &mut drawn), Vec::new()),
    };
    let law = receivers_law(seed, classes, &mut fabric, &mut drawn);
    let classes = if law == Some("ndp") { classes.max(2) } else { classes };
    if law != Some("ndp") {
        limit_classes(seed, (classes, &lossless), &mut fabric, &mut drawn);
    }
    let of_senders = transport(&mut d, classes);
    let (transport, metered) = match law {
        Some(law) => receiver_driven(seed, law, classes, &mut fabric, &mut drawn),
        None => {
            let mut text = of_senders + &own_routing(seed, &mut drawn) + &kernel_timers(seed);
            let metered = meter_answers(seed, classes, &mut fabric, &mut text, &mut drawn);
            (text, metered)
        }
    };
    if !metered {
        fabric.push_str(&shapers(seed, &names, &mut drawn));
    }
    fabric.push_str(&losses(seed, &names, &mut drawn));
    let traffic = traffic(&mut d, &names, &drawn) + &arrivals(seed, &names, &drawn, &fabric);
    let faults = faults(&mut d, &names, &mut drawn);
    let nic = d.of(&["round-robin", "fq", "fifo", "srpt", "push"]);
    let host = host(&mut Draw(Stream::new(seed, 3, Purpose::Test)), &names, nic);
    let mut traffic = traffic;
    let memory = memory(seed, &names, &mut drawn);
    let memory = read_placed(seed, receive_queue(seed, memory, &mut traffic));
    let every = (drawn.stop_ps / d.between(20, 150)).max(1_000);
    let output = match d.one_in(3) {
        true => String::new(),
        false => format!("[output]\nqueues = {{ every = \"{every}ps\" }}\n"),
    };
    drawn.text = format!(
        "version = 1\nname = \"seed {seed}\"\nseeds = [1]\nstop = {{ time = \"{}ps\", grain = \"{}ns\" }}\n\
         {output}{fabric}[host]\nnic = \"{nic}\"\n{host}{memory}{transport}{traffic}{faults}",
        drawn.stop_ps,
        d.of(&[1, 1_000, 7]),
    );
    drawn
}

fn link(d: &mut Draw, longest: &mut u64, hops: u64) -> String {
    let delay = d.delay_ps();
    *longest += delay * hops;
    format!("{{ rate = \"{}\", delay = \"{delay}ps\" }}", d.rate())
}

fn shape(d: &mut Draw, order: u64, out: &mut String, longest: &mut u64) -> Names {
    let host_link = link(d, longest, 2);
    let fabric_link = link(d, longest, 4);
    let links = format!("host_link = {host_link}\nfabric_link = {fabric_link}\n");
    let pairs =
        |hosts: &[(String, String)]| hosts.iter().map(|(a, b)| format!("{a}-{b}")).collect();
    match d.0.below(5) {
        0 => {
            let n = d.between(2, 9);
            let hosts: Vec<_> = (0..n).map(|i| format!("host[{i}]")).collect();
            let _ =
                writeln!(out, "[fabric]\nkind = \"star\"\nhosts = {n}\nhost_link = {host_link}");
            let cables = hosts.iter().map(|h| format!("{h}-tor")).collect();
            Names { hosts, cables }
        }
        1 => {
            let (left, right) = (d.between(1, 4), d.between(1, 4));
            let _ = write!(
                out,
                "[fabric]\nkind = \"dumbbell\"\nleft = {left}\nright = {right}\n{links}"
            );
            let side = |name: &'static str, n| {
                (0..n).map(move |i| (format!("{name}.host[{i}]"), name.to_string()))
            };
            let ends: Vec<_> = side("left", left).chain(side("right", right)).collect();
            let mut cables: Vec<String> = pairs(&ends);
            cables.push("left-right".into());
            Names { hosts: ends.into_iter().map(|e| e.0).collect(), cables }
        }
        2 => {
            let (leaves, spines, per) = (d.between(2, 4), d.between(1, 4), d.between(1, 3));
            let _ = write!(
                out,
                "[fabric]\nkind = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {per}\n{links}"
            );
            let ends: Vec<_> = (0..leaves)
                .flat_map(|l| {
                    (0..per).map(move |h| (format!("leaf[{l}].host[{h}]"), format!("leaf[{l}]")))
                })
                .collect();
            let mut cables: Vec<String> = pairs(&ends);
            for l in 0..leaves {
                cables.extend((0..spines).map(|s| format!("leaf[{l}]-spine[{s}]")));
            }
            Names { hosts: ends.into_iter().map(|e| e.0).collect(), cables }
        }
        3 => {
            let _ = write!(out, "[fabric]\nkind = \"fat-tree\"\ntiers = 3\nk = 4\n{links}");
            let mut ends = Vec::new();
            let mut cables = Vec::new();
            for p in 0..4 {
                for e in 0..2 {
                    let edge = format!("pod[{p}].edge[{e}]");
                    ends.extend((0..2).map(|h| (format!("{edge}.host[{h}]"), edge.clone())));
                    cables.extend((0..2).map(|a| format!("{edge}-pod[{p}].agg[{a}]")));
                }
            }
            cables.extend::<Vec<String>>(pairs(&ends));
            Names { hosts: ends.into_iter().map(|e| e.0).collect(), cables }
        }
        _ => graph(d, order, out, &links, longest),
    }
}

/// A random connected graph with hosts hung on it; some cables differ.
fn graph(d: &mut Draw, order: u64, out: &mut String, links: &str, longest: &mut u64) -> Names {
    let switches = d.between(1, 6);
    let hosts = d.between(2, 8);
    let mut ends: Vec<(String, String)> =
        (1..switches).map(|s| (format!("s{s}"), format!("s{}", d.0.below(s)))).collect();
    for a in 1..switches {
        for b in 0..a {
            let known = ends.contains(&(format!("s{a}"), format!("s{b}")));
            if !known && d.one_in(3) {
                ends.push((format!("s{a}"), format!("s{b}")));
            }
        }
    }
    ends.extend((0..hosts).map(|h| (format!("h{h}"), format!("s{}", d.0.below(switches)))));
    let mut lines = Vec::new();
    for (a, b) in &ends {
        let mut own = String::new();
        if d.one_in(4) {
            let _ = write!(own, ", rate = \"{}\"", d.rate());
        }
        if d.one_in(4) {
            let delay = d.delay_ps();
            *longest += delay * 2;
            let _ = write!(own, ", delay = \"{delay}ps\"");
        }
        lines.push(format!("    {{ a = \"{a}\", b = \"{b}\"{own} }},"));
    }
    let mut host_names: Vec<String> = (0..hosts).map(|h| format!("h{h}")).collect();
    let names = Names {
        hosts: host_names.clone(),
        cables: ends.iter().map(|(a, b)| format!("{a}-{b}")).collect(),
    };
    let mut switch_names: Vec<String> = (0..switches).map(|s| format!("s{s}")).collect();
    if order > 0 {
        let mut shuffler = Draw(Stream::new(order, 1, Purpose::Test));
        shuffler.shuffle(&mut lines);
        shuffler.shuffle(&mut host_names);
        shuffler.shuffle(&mut switch_names);
    }
    let _ = write!(
        out,
        "[fabric]\nkind = \"graph\"\nhosts = {host_names:?}\nswitches = {switch_names:?}\ncables = [\n{}\n]\n{links}",
        lines.join("\n")
    );
    names
}

fn fabric_keys(d: &mut Draw, out: &mut String, drawn: &mut Drawn) {
    let routing = d.of(&["ecmp", "ecmp", "ecmp-symmetric", "spray"]);
    drawn.ordered = routing != "spray";
    drawn.overhead = d.of(&[0, 0, 24, 1]);
    let _ = writeln!(out, "routing = \"{routing}\"\nwire_overhead = \"{}B\"", drawn.overhead);
    let _ = writeln!(out, "dead_port = \"{}\"", d.of(&["drop", "hold"]));
    if d.one_in(2) {
        let _ = writeln!(out, "reroute_after = \"{}ns\"", d.between(1, 100_000));
    }
}

fn switch(d: &mut Draw, out: &mut String, drawn: &mut Drawn) -> u64 {
    let _ = writeln!(out, "[fabric.switch]\nlatency = \"{}ns\"", d.of(&[0, 0, 1, 300]));
    let packets_only = d.one_in(4);
    let mut fixed = false;
    match d.0.below(4) {
        0 => out.push_str("buffer = \"none\"\n"),
        _ => {
            drawn.boundless = false;
            let size = d.between(70, 400);
            let policy = d.of(&["dynamic-threshold", "dynamic-threshold", "shared", "static"]);
            fixed = policy == "static";
            let queue = ", threshold = \"queue\"";
            let alpha = d.of(&["", ", alpha = 0.5", ", alpha = 4.0", queue, queue]);
            let alpha = if policy == "dynamic-threshold" { alpha } else { "" };
            let _ =
                writeln!(out, "buffer = {{ size = \"{size}KB\", policy = \"{policy}\"{alpha} }}");
        }
    }
    if d.one_in(3) && !fixed {
        drawn.boundless = false;
        if packets_only {
            let limit = d.between(2, 60);
            drawn.limit_packets = Some(limit);
            let _ = writeln!(out, "port_limit = \"{limit} packets\"");
        } else {
            let limit = d.between(6, 90) * 1_000;
            drawn.limit_bytes = Some(limit);
            let _ = writeln!(out, "port_limit = \"{limit}B\"");
        }
    }
    let unit = if packets_only { " packets" } else { "KB" };
    let low = d.between(1, 20);
    let high = low + d.between(1, 40);
    let at = d.of(&["", "", ", at = \"dequeue\""]);
    let not_ect = match (d.one_in(5), at) {
        (true, "") if high.is_multiple_of(2) => ", not_ect = \"drop\", ect = \"pass\"",
        (true, _) => ", not_ect = \"drop\"",
        _ => "",
    };
    match d.0.below(4) {
        0 => out.push_str("ecn = \"off\"\n"),
        1 | 2 => {
            let _ = writeln!(out, "ecn = {{ k = \"{low}{unit}\"{at}{not_ect} }}");
            drawn.boundless &= not_ect.is_empty();
        }
        _ => {
            let pmax = d.of(&["1.0", "0.3", "0.01"]);
            let _ = writeln!(
                out,
                "ecn = {{ kmin = \"{low}{unit}\", kmax = \"{high}{unit}\", pmax = {pmax}{at}{not_ect} }}"
            );
            drawn.boundless &= not_ect.is_empty();
        }
    }
    let classes = d.of(&[1, 1, 1, 2, 8]);
    drawn.release_at_start = d.one_in(4);
    let release = if drawn.release_at_start { "start" } else { "fluid" };
    let _ = writeln!(out, "classes = {classes}\nrelease = \"{release}\"");
    classes
}

/// Limits of some classes that drop, in one scenario of two that has several.
fn limit_classes(
    seed: u64,
    (classes, lossless): (u64, &[u64]),
    fabric: &mut String,
    drawn: &mut Drawn,
) {
    let mut d = Draw(Stream::new(seed, 11, Purpose::Test));
    if classes < 2 || d.one_in(2) {
        return;
    }
    let from = d.0.below(classes - 1);
    let mut coins = Draw(Stream::new(seed, 16, Purpose::Test));
    let mut trims = !drawn.pauses && fabric.contains("buffer = \"none\"");
    // Packets that a shared buffer drops cannot be trimmed.
    if !drawn.pauses && !trims && coins.one_in(2) {
        let line = fabric.lines().find(|line| line.starts_with("buffer = ")).map(String::from);
        let none = |line: String| fabric.replacen(&line, "buffer = \"none\"", 1);
        *fabric = line.map_or(fabric.clone(), none);
        trims = true;
    }
    let limits: Vec<String> = (from..classes)
        .filter(|class| !lossless.contains(class))
        .map(|class| {
            let trims = trims && class + 1 < classes && !coins.one_in(4);
            let two_packets = if trims { 9 } else { 0 };
            let size = match d.one_in(4) {
                true => format!("{} packets", d.between(2, 60)),
                false => format!("{}KB", d.between(6, 90).max(two_packets)),
            };
            let into = coins.between(class + 1, classes.max(class + 2) - 1);
            let over = if trims { over(&mut coins, into) } else { String::new() };
            format!("{{ class = {class}, size = \"{size}\"{over} }}")
        })
        .collect();
    if limits.is_empty() {
        return;
    }
    drawn.boundless = false;
    let returns = limits.iter().any(|limit| limit.contains("trim_to")) && coins.one_in(2);
    let returns = if returns { "return_to_sender = true\n" } else { "" };
    let line = format!("classes = {classes}\n");
    let turns = match coins.one_in(3) {
        true => format!("wrr = {{ high = {}, low = {} }}\n", d.between(1, 12), d.between(1, 3)),
        false => String::new(),
    };
    let limits = format!("{line}limits = [{}]\n{returns}{turns}", limits.join(", "));
    *fabric = fabric.replacen(&line, &limits, 1);
}

/// Trimming into a class.
fn over(d: &mut Draw, into: u64) -> String {
    let to = d.between(64, 100);
    let coin = d.of(&["", "", ", coin = 0.0", ", coin = 1.0"]);
    format!(", over = {{ trim_to = \"{to}B\", class = {into}{coin} }}")
}

/// A metered class above all others, with the answers of flows in it: in one scenario of four without pause.
fn meter_answers(
    seed: u64,
    classes: u64,
    fabric: &mut String,
    transport: &mut String,
    drawn: &mut Drawn,
) -> bool {
    let mut d = Draw(Stream::new(seed, 12, Purpose::Test));
    if drawn.pauses || classes > 7 || !d.one_in(4) {
        return false;
    }
    meter(&mut d, classes, fabric, drawn);
    if classes == 1 {
        *transport = transport.replacen("[transport]\n", "[transport]\nack_class = 1\n", 1);
    }
    for class in 0..classes {
        let of_answers = |class| format!("ack_class = {class}\n");
        *transport = transport.replace(&of_answers(class), &of_answers(classes));
    }
    true
}

/// A class above all others that ports meter.
fn meter(d: &mut Draw, classes: u64, fabric: &mut String, drawn: &mut Drawn) {
    (drawn.shaped, drawn.boundless) = (true, false);
    (drawn.limit_bytes, drawn.limit_packets) = (None, None); // of ports, and not of credits
    let share = d.of(&["84/1622", "1/3", "7/50"]);
    let (burst, limit) = (d.between(168, 2_000), d.between(168, 3_000));
    let metered = format!(
        "classes = {}\ncredits = {{ class = {classes}, share = \"{share}\", burst = \"{burst}B\", limit = \"{limit}B\" }}\n",
        classes + 1
    );
    *fabric = fabric.replacen(&format!("classes = {classes}\n"), &metered, 1);
}

/// A law of receivers, in one scenario of four; `ndp` has switches trim its class 0.
fn receivers_law(
    seed: u64,
    classes: u64,
    fabric: &mut String,
    drawn: &mut Drawn,
) -> Option<&'static str> {
    let mut d = Draw(Stream::new(seed, 17, Purpose::Test));
    if !d.one_in(4) {
        return None;
    }
    drawn.received = true;
    let law = match d.0.below(3) {
        1 if !drawn.pauses => "ndp",
        2 if few_credits(drawn, classes, fabric) => "expresspass",
        _ => "homa",
    };
    if law == "ndp" {
        drawn.boundless = false;
        let buffer = fabric.lines().find(|line| line.starts_with("buffer = ")).map(String::from);
        if let Some(buffer) = buffer {
            *fabric = fabric.replacen(&buffer, "buffer = \"none\"", 1);
        }
        let size = d.of(&["2 packets", "8 packets", "9KB", "40KB"]);
        let headers = d.of(&["2 packets", "9 packets", "20KB"]);
        let into = d.between(1, classes.max(2) - 1);
        let over = over(&mut d, into);
        let returns = d.one_in(2);
        let turns = match d.one_in(2) {
            true => format!("wrr = {{ high = {}, low = 1 }}\n", d.between(1, 12)),
            false => String::new(),
        };
        let limits = format!(
            "classes = {}\nlimits = [{{ class = 0, size = \"{size}\"{over} }}, {{ class = {into}, size = \"{headers}\" }}]\n\
             return_to_sender = {returns}\n{turns}",
            classes.max(2)
        );
        *fabric = fabric.replacen(&format!("classes = {classes}\n"), &limits, 1);
    }
    Some(law)
}

/// Whether credits have a class, take the links of their data, as in an arbitrary graph they need not, and are few in a round trip.
fn few_credits(drawn: &Drawn, classes: u64, fabric: &str) -> bool {
    let metered = !drawn.pauses && classes < 8 && !fabric.contains("kind = \"graph\"");
    metered && drawn.stop_ps < 5_000_000_000
}

/// A transport of this law of receivers, and whether ports meter its credits.
fn receiver_driven(
    seed: u64,
    law: &str,
    classes: u64,
    fabric: &mut String,
    drawn: &mut Drawn,
) -> (String, bool) {
    let mut d = Draw(Stream::new(seed, 18, Purpose::Test));
    let mut out = format!("[transport]\nkind = \"receiver-driven\"\nlaw = \"{law}\"\n");
    drawn.ordered = law == "expresspass";
    if law == "expresspass" {
        meter(&mut d, classes, fabric, drawn);
        let (mss, class) = (d.of(&[1_460, 1_460, 900, 4_000]), d.0.below(classes));
        let _ = writeln!(out, "mss = \"{mss}B\"\nheader = \"40B\"\nack_size = \"46B\"");
        let _ = writeln!(out, "class = {class}\nrouting = \"ecmp-symmetric\"");
        if protect(seed, (class, 1), fabric, drawn) {
            drawn.ordered = false;
            let _ =
                writeln!(out, "selective_drop = true\nwindow = \"{} packets\"", d.between(1, 60));
        }
        let mut d = Draw(Stream::new(seed, 26, Purpose::Test));
        let (form, stops) = (d.of(&["code", "paper"]), d.one_in(2));
        let _ = writeln!(out, "params = {{ form = \"{form}\", early_stop = {stops} }}");
        return (out, true);
    }
    let routing = Draw(Stream::new(seed, 21, Purpose::Test)).of(&["spray", "source"]);
    let _ = writeln!(out, "mss = \"{}B\"\nrouting = \"{routing}\"", d.of(&[1_436, 4_000, 900]));
    if d.one_in(2) {
        let _ = writeln!(out, "window = \"{} packets\"", d.between(1, 60));
    }
    if d.one_in(2) {
        // Of about a round trip, so that not all is sent again and again.
        let _ = writeln!(out, "resend_after = \"{}ps\"", drawn.stop_ps / d.of(&[100, 30, 10]));
    }
    let class = if law == "ndp" { 0 } else { d.0.below(classes) };
    let levels = if law == "ndp" { 1 } else { d.between(1, classes - class) };
    let _ = writeln!(out, "class = {class}\npriorities = {levels}");
    let _ = writeln!(out, "ack_class = {}", d.0.below(classes));
    if protect(seed, (class, levels), fabric, drawn) {
        out.push_str("selective_drop = true\n");
    }
    let mut granted = levels.max(2) - 1;
    if levels > 1 && d.one_in(2) {
        let unasked = d.between(1, levels - 1);
        granted = levels - unasked;
        let cutoffs: Vec<_> = (1..unasked).map(|n| format!("\"{}B\"", n * 2_000)).collect();
        let _ =
            writeln!(out, "unscheduled_priorities = {unasked}\ncutoffs = [{}]", cutoffs.join(", "));
    }
    let mut params = Vec::new();
    if law == "homa" && d.one_in(2) {
        let active = d.of(&[1, 2, 16]);
        let active = if levels > 1 { active.min(granted) } else { active };
        params.push(format!("overcommit = {active}"));
    }
    let mut d = Draw(Stream::new(seed, 26, Purpose::Test));
    let mut may = |param: &str| params.extend(d.one_in(3).then(|| param.to_string()));
    match law {
        "ndp" => {
            may("known_size = false");
            may("core_backoff = true");
            if routing == "source" {
                may(["path_penalty = true", "path_numbers = 7"][seed as usize % 2]);
            }
        }
        _ => {
            if levels > 1 {
                may(["tail_boost = true", "tail_boost = \"10KB\""][seed as usize % 2]);
            }
            may("oldest_share = 0.05");
        }
    }
    let _ = writeln!(out, "params = {{ {} }}", params.join(", "));
    (out, false)
}

/// Has switches drop first what leaves unasked in these classes, in one scenario of three.
fn protect(seed: u64, (class, levels): (u64, u64), fabric: &mut String, drawn: &mut Drawn) -> bool {
    let mut d = Draw(Stream::new(seed, 20, Purpose::Test));
    let marks = fabric.lines().find(|line| line.starts_with("ecn = ")).map(String::from);
    let Some(marks) = marks.filter(|_| !drawn.pauses && d.one_in(3)) else { return false };
    drawn.boundless = false;
    let classes: Vec<u64> = (class..class + levels).collect();
    let k = d.of(&["0B", "1500B", "6KB", "30KB"]);
    let ect = d.of(&["", ", ect = \"pass\""]);
    let rule = format!("ecn = [{{ classes = {classes:?}, k = \"{k}\", not_ect = \"drop\"{ect} }}]");
    *fabric = fabric.replacen(&marks, &rule, 1);
    true
}

/// What hosts do beyond the NIC's order: of all, and of one.
fn host(d: &mut Draw, names: &Names, nic: &str) -> String {
    let mut out = String::new();
    if d.one_in(2) {
        return out;
    }
    if d.one_in(4) {
        out.push_str("profile = \"linux\"\n");
    }
    let pacing = d.of(&["off", "internal", "fq"]);
    if pacing != "fq" || nic == "round-robin" || nic == "fq" {
        let _ = writeln!(out, "pacing = \"{pacing}\"");
    }
    receive(d, &mut out);
    if d.one_in(3) {
        let place = &names.hosts[d.0.below(names.hosts.len() as u64) as usize];
        let _ = writeln!(out, "[[host.override]]\nwhere = \"{place}\"");
        if d.one_in(2) {
            out.push_str("profile = \"ideal\"\n");
        } else {
            receive(d, &mut out);
        }
    }
    out
}

/// In one scenario of three, more often where receivers give credit, if it is short, a path to memory at some host, with antagonists and perhaps a law over them.
fn memory(seed: u64, names: &Names, drawn: &mut Drawn) -> String {
    let mut d = Draw(Stream::new(seed, 4, Purpose::Test));
    let mut out = String::new();
    // Counters are read millions of times a second, so not in a long run.
    let often = drawn.received && Draw(Stream::new(seed, 29, Purpose::Test)).one_in(2);
    if !(often || d.one_in(3)) || drawn.stop_ps > 10_000_000_000 {
        return out;
    }
    drawn.memory = true;
    let place = &names.hosts[d.0.below(names.hosts.len() as u64) as usize];
    let _ = writeln!(out, "[[host.override]]\nwhere = \"{place}\"\n[host.override.memory]");
    let buffer = d.of(&[66_000, 66_000, 384_000]);
    let _ = writeln!(out, "nic_buffer = \"{buffer}B\"\nddio = {}", d.one_in(3));
    let _ = writeln!(out, "iio_slots = {}\ncores = {}", d.of(&[1, 70, 93]), d.of(&[1, 8]));
    let _ = writeln!(out, "descriptors = {}", d.of(&[1, 4096]));
    let control = d.one_in(2);
    if !control && d.one_in(2) {
        let _ = writeln!(out, "level = {}", d.0.below(5));
    }
    for _ in 0..d.0.below(3) {
        let _ = writeln!(out, "[[host.override.memory.antagonist]]\ncores = {}", d.between(1, 6));
        if d.one_in(2) {
            let _ = writeln!(
                out,
                "on = \"{}ns\"\noff = \"{}ns\"",
                d.between(100, 90_000),
                d.between(100, 90_000)
            );
        }
    }
    if control {
        out.push_str("[host.override.memory.control]\nlaw = \"hostcc\"\n");
    }
    out
}

/// In one of two such hosts, cores read what RDMA and receiver-driven transports place, slowly in one of four.
fn read_placed(seed: u64, memory: String) -> String {
    let mut d = Draw(Stream::new(seed, 28, Purpose::Test));
    if memory.contains("read_placed") || d.one_in(2) {
        return memory;
    }
    let slow = if d.one_in(2) { "per_packet = \"10us\"\n" } else { "" };
    let keys = format!("[host.override.memory]\nread_placed = true\n{slow}");
    memory.replacen("[host.override.memory]\n", &keys, 1)
}

/// In one of two such hosts a cache that knows its receive buffers. Then it is that of a server, if there is one, whose clients may be held to credits of it.
fn receive_queue(seed: u64, memory: String, traffic: &mut String) -> String {
    let mut d = Draw(Stream::new(seed, 22, Purpose::Test));
    let Some((head, rest)) = memory.split_once("ddio = ") else { return memory };
    if d.one_in(2) {
        return memory;
    }
    let rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    let rnr = d.of(&["", ", rnr = \"nak\"", ", rnr = \"wait\""]);
    let assemble = d.of(&["", "", ", assemble = \"40KB\""]);
    let shared = d.of(&["", "", ", shared = false, poll = \"round-robin\""]);
    let queue = format!(
        "ddio = true\ncache = \"{}\"\nddio_ways = {}\ncache_model = \"buffers\"\nread_placed = {}\nsmt = {}\n\
         rq = {{ depth = {}, buffer = \"{}\", reuse = \"{}\", refresh = \"{}\"{rnr}{assemble}{shared} }}\n",
        d.of(&["1MiB", "96KiB"]),
        d.of(&[1, 2, 11]),
        d.one_in(2),
        if rest.contains("cores = 1\n") { 1 } else { d.of(&[1, 2]) },
        d.of(&[1_025, 64, 17]),
        d.of(&["4KiB", "4160B"]),
        d.of(&["fifo", "lifo"]),
        d.of(&["write", "both"]),
    );
    let cached = d.of(&["", "", "cached = 0.3\n"]);
    let rest = rest.replace(
        "[host.override.memory.antagonist]]\n",
        &format!("[host.override.memory.antagonist]]\n{cached}"),
    );
    // A pool is of clients of one server, which has a cache.
    let entries: Vec<&str> = traffic.split("[[traffic]]\n").skip(1).collect();
    let server = |entry: &str| {
        let (_, to) = entry.split_once("kind = \"rpc\"\n")?.1.split_once("to = [\"")?;
        let (name, _) = to.split_once("\"]\n")?;
        (!name.contains('"')).then(|| name.to_string())
    };
    let served = entries.iter().find_map(|entry| server(entry));
    let head = match &served {
        Some(name) => format!(
            "[[host.override]]\nwhere = \"{name}\"\n[host.override.memory]\n{}",
            head.split_once("[host.override.memory]\n").map_or("", |(_, keys)| keys)
        ),
        None => head.to_string(),
    };
    let pool = d.of(&[
        "",
        "pool = { law = \"carc\" }\n",
        "pool = { law = \"carc\", fragment = \"4KB\" }\n",
        "pool = { law = \"carc\", active_only = true }\n",
    ]);
    *traffic = entries.iter().fold(String::new(), |text, entry| {
        let pool = if served.is_some() && server(entry) == served { pool } else { "" };
        text + "[[traffic]]\n" + entry.trim_end() + "\n" + pool
    });
    // It bounds what waits for cores, so some read.
    let reads = served.is_some() && !pool.is_empty();
    head + &if reads { queue.replace("read_placed = false", "read_placed = true") } else { queue }
        + &rest
}

/// Super-packets, interrupt coalescing, and merging.
fn receive(d: &mut Draw, out: &mut String) {
    if d.one_in(2) {
        let _ = writeln!(
            out,
            "tso = true\npsh = {}\ngso_max = \"{}B\"\ntx_queues = \"{}\"",
            d.one_in(2),
            d.of(&[65_536, 65_536, 10_000, 4_000]),
            d.of(&["per-flow", "one"])
        );
    }
    let wait = d.of(&[1, 700, 8_000, 8_000, 100_000]);
    let _ = writeln!(
        out,
        "rx_usecs = \"{wait}ns\"\ngro = {}\nsack_compression = {}",
        d.one_in(2),
        d.one_in(2)
    );
    if d.one_in(2) {
        let _ = writeln!(out, "rx_frames = {}", d.of(&[1, 2, 7, 64]));
    }
    if d.one_in(3) {
        let _ = writeln!(out, "rx_jitter = \"{}ns\"", d.of(&[1, 1_200, 30_000]));
    }
    if d.one_in(4) {
        let _ = writeln!(out, "tx_jitter = \"{}ns\"", d.of(&[1, 300, 9_000]));
    }
}

/// Switches whose in-ports pause: without a pool and with all the headroom they need, or with a small one and any headroom.
/// The number of classes, and those that are lossless.
fn pausing_switch(
    seed: u64,
    out: &mut String,
    names: &Names,
    drawn: &mut Drawn,
) -> (u64, Vec<u64>) {
    let mut d = Draw(Stream::new(seed, 4, Purpose::Test));
    drawn.pauses = true;
    let (reserved, offset) = (d.of(&[0, 1_000, 4_000]), d.of(&[0, 1_248, 3_000, 20_000]));
    let fixed = format!("xoff = \"{}B\"", d.between(1_000, 60_000));
    let classes = d.of(&[1, 1, 3]);
    let (lossless, watchdog) = by_class(seed, classes, drawn);
    let (buffer, xoff, headroom) = if d.one_in(3) {
        ("\"none\"".to_string(), fixed, "auto".to_string())
    } else {
        let headroom = d.of(&[0, 3_000, 20_000]);
        drawn.boundless = false;
        // No switch here has more than a dozen ports.
        let accounts = if lossless.is_empty() { 12 } else { 12 * classes };
        let size = accounts * (reserved + headroom) + d.between(6, 100) * 1_000;
        let dynamic = d.of(&["xoff = \"dynamic\"", "alpha = 0.5", "alpha = 8.0"]);
        let xoff = if d.one_in(3) { fixed } else { dynamic.to_string() };
        (format!("{{ size = \"{size}B\" }}"), xoff, format!("{headroom}B"))
    };
    drawn.release_at_start = d.one_in(2);
    let release = if drawn.release_at_start { "start" } else { "fluid" };
    let (latency, k) = (d.of(&[0, 0, 1, 300]), d.between(1, 200));
    let account = |xoff: &str, offset: u64| {
        format!(
            "{xoff}, headroom = \"{headroom}\", reserved = \"{reserved}B\", resume_offset = \"{offset}B\", short_headroom = \"warn\""
        )
    };
    let of = |classes: &[String]| format!(", classes = [{}]", classes.join(", "));
    let mut apart = Draw(Stream::new(seed, 6, Purpose::Test));
    let pause = match &lossless[..] {
        [] => format!("{{ {} }}", account(&xoff, offset)),
        [others @ .., last] if !others.is_empty() && apart.one_in(2) => {
            let xoff_of_last = format!("xoff = \"{}B\"", apart.between(1_000, 60_000));
            let last_offset = apart.of(&[0, 700, 9_000]);
            let (first, last) = (of(others), of(std::slice::from_ref(last)));
            format!(
                "[{{ {}{first}{watchdog} }}, {{ {}{last} }}]",
                account(&xoff, offset),
                account(&xoff_of_last, last_offset)
            )
        }
        all => format!("{{ {}{}{watchdog} }}", account(&xoff, offset), of(all)),
    };
    let _ = writeln!(
        out,
        "[fabric.switch]\nlatency = \"{latency}ns\"\nclasses = {classes}\nrelease = \"{release}\"\necn = {{ k = \"{k}KB\" }}\n\
         buffer = {buffer}\npause = {pause}"
    );
    if d.one_in(3) {
        // Cables of which neither end pauses: their in-ports drop.
        drawn.boundless = false;
        let cable = &names.cables[d.0.below(names.cables.len() as u64) as usize];
        let _ = writeln!(out, "[[fabric.override]]\nwhere = \"{cable}\"\npause = \"off\"");
    }
    let together = lossless.is_empty();
    (classes, (0..classes).filter(|c| together || lossless.contains(&c.to_string())).collect())
}

/// Classes that are paused one by one, or none where all are paused together, and their watchdog. Its draws are of a stream of its own.
fn by_class(seed: u64, classes: u64, drawn: &mut Drawn) -> (Vec<String>, String) {
    let mut d = Draw(Stream::new(seed, 5, Purpose::Test));
    if d.one_in(2) {
        return (Vec::new(), String::new());
    }
    let lossless = d.between(1, (1 << classes) - 1);
    drawn.boundless &= lossless == (1 << classes) - 1;
    let list: Vec<String> =
        (0..classes).filter(|c| lossless & 1 << c != 0).map(|c| c.to_string()).collect();
    let watchdog = if d.one_in(3) {
        drawn.boundless = false;
        let action = d.of(&["drop", "ignore"]);
        format!(
            ", watchdog = {{ after = \"{}ns\", action = \"{action}\" }}",
            d.of(&[700, 9_000, 300_000])
        )
    } else {
        String::new()
    };
    (list, watchdog)
}

fn transport(d: &mut Draw, classes: u64) -> String {
    let mut out = String::from("[transport]\nkind = \"tcp\"\n");
    let law = d.of(&["dctcp", "dctcp", "reno"]);
    let _ = writeln!(out, "law = \"{law}\"\nmss = \"{}B\"", d.of(&[1_448, 1_448, 4_000, 900]));
    let _ = writeln!(out, "initial_window = \"{} packets\"", d.of(&[1, 10, 10, 40]));
    let _ = writeln!(out, "rto_min = \"{}us\"", d.of(&[100, 1_000, 10_000, 200_000]));
    let _ = writeln!(out, "delayed_ack = {}", d.one_in(2));
    if d.one_in(4) {
        let _ = writeln!(out, "receive_window = \"{}KiB\"", d.between(5, 200));
        if d.one_in(2) {
            out.push_str("receive_window_max = \"400KiB\"\n");
        }
    }
    if classes > 1 {
        let _ = writeln!(out, "class = {}\nack_class = {}", d.0.below(classes), d.0.below(classes));
    }
    out
}

/// Timers of a kernel, in one scenario of three.
fn kernel_timers(seed: u64) -> String {
    let mut d = Draw(Stream::new(seed, 9, Purpose::Test));
    if !d.one_in(3) {
        return String::new();
    }
    let (tick, timeout) = (d.of(&["0us", "1ms", "4ms", "10ms"]), d.of(&["40ms", "1ms", "200us"]));
    let adapts = d.one_in(2);
    if d.one_in(4) {
        return "kernel = \"linux-6.1\"\n".into();
    }
    format!(
        "timer_tick = \"{tick}\"\ndelayed_ack_timeout = \"{timeout}\"\nadaptive_delayed_ack = {adapts}\n"
    )
}

/// Routing of the transport, in one scenario of four.
fn own_routing(seed: u64, drawn: &mut Drawn) -> String {
    let mut d = Draw(Stream::new(seed, 8, Purpose::Test));
    if !d.one_in(4) {
        return String::new();
    }
    let routing = d.of(&["ecmp", "ecmp-symmetric", "spray", "ecmp-murmur3"]);
    drawn.ordered = routing != "spray";
    format!("routing = \"{routing}\"\n")
}

fn traffic(d: &mut Draw, names: &Names, drawn: &Drawn) -> String {
    let mut out = String::new();
    let hosts = names.hosts.len() as u64;
    for _ in 0..d.between(1, 3) {
        match d.0.below(8) {
            7 => out.push_str(&rpc(d, names)),
            0 => {
                let _ = writeln!(
                    out,
                    "[[traffic]]\nkind = \"permutation\"\nsize = \"{}B\"",
                    d.between(1, 90_000)
                );
            }
            1 => {
                let _ = writeln!(
                    out,
                    "[[traffic]]\nkind = \"all-to-all\"\nsize = \"{}B\"",
                    d.between(1, 30_000)
                );
            }
            2 | 3 if hosts > 2 => {
                let fan_in = d.between(2, hosts - 1);
                let (size, rounds) = (d.between(1, 60_000), d.between(1, 4));
                let _ = writeln!(
                    out,
                    "[[traffic]]\nkind = \"incast\"\nfan_in = {fan_in}\nsize = \"{size}B\"\nrounds = {rounds}"
                );
            }
            4 => {
                let (a, b) = pair(d, hosts);
                let _ = writeln!(
                    out,
                    "[[traffic]]\nkind = \"long\"\nfrom = \"{}\"\nto = \"{}\"\nstart = \"{}ps\"",
                    names.hosts[a],
                    names.hosts[b],
                    drawn.stop_ps - drawn.stop_ps.min(40_000_000)
                );
            }
            _ => {
                let mut flows = Vec::new();
                for _ in 0..d.between(1, 12) {
                    let (a, b) = pair(d, hosts);
                    let size = d.of(&[1, 100, 1_448, 5_000, 40_000, 150_000]);
                    let at = d.0.below(drawn.stop_ps / 2);
                    flows.push(format!(
                        "    {{ from = \"{}\", to = \"{}\", size = \"{size}B\", at = \"{at}ps\" }},",
                        names.hosts[a], names.hosts[b]
                    ));
                }
                let _ = writeln!(
                    out,
                    "[[traffic]]\nkind = \"list\"\nflows = [\n{}\n]",
                    flows.join("\n")
                );
            }
        }
    }
    out
}

/// Closed loops of RPCs among some of the hosts.
fn rpc(d: &mut Draw, names: &Names) -> String {
    let (a, b) = pair(d, names.hosts.len() as u64);
    let (from, to, pairs) = match d.0.below(3) {
        0 => (&names.hosts[..], &names.hosts[b..=b], "all"),
        1 => (&names.hosts[..], &names.hosts[..names.hosts.len().min(2)], "all"),
        _ => (&names.hosts[a..=a], &names.hosts[b..=b], "matched"),
    };
    let mut out = format!(
        "[[traffic]]\nkind = \"rpc\"\nfrom = {from:?}\nto = {to:?}\npairs = \"{pairs}\"\n\
         connections = {}\noutstanding = {}\nrequest = \"{}\"\nresponse = \"{}\"\nthink = {}\n",
        d.between(1, 3),
        d.of(&[1, 1, 2, 7]),
        d.of(&["1B", "1448B", "40KB", "1B..90KB", "homa_w1_fb_keyvalue"]),
        d.of(&["64B", "64B", "1B..90KB", "120KB"]),
        d.of(&["\"0s\"", "\"0s\"", "\"3us\"", "{ exponential = \"20us\" }"]),
    );
    match d.0.below(3) {
        0 => out = out.replace("\"64B\"", "\"0B\""),
        1 => out.push_str("service = { exponential = \"2us\" }\n"),
        _ => {}
    }
    // Loops between hosts that are near would go round until the end of a run made for those that are far.
    let _ = writeln!(out, "count = {}", d.between(1, 60));
    out
}

/// Poisson arrivals and flows that wait for others, each in one scenario of four: what a longer run has more of, and what is numbered behind.
fn arrivals(seed: u64, names: &Names, drawn: &Drawn, fabric: &str) -> String {
    let mut d = Draw(Stream::new(seed, 31, Purpose::Test));
    let (mut out, hosts) = (String::new(), names.hosts.len() as u64);
    let rates = fabric.split("rate = \"").skip(1).filter_map(|rest| {
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let rate = number.parse::<f64>().ok()?;
        Some(if rest[number.len()..].starts_with("Gbps") { rate * 1e9 } else { rate })
    });
    if d.one_in(4) {
        let (flows, size) = (d.between(5, 60), d.of(&[67, 1_448, 9_000, 30_000]));
        let fastest = rates.fold(1e9, f64::max) * hosts as f64 / 8.0;
        let load = (flows * size) as f64 / (fastest * drawn.stop_ps as f64 / 1e12);
        let load = load.clamp(1e-9, 0.5);
        let _ = write!(
            out,
            "[[traffic]]\nkind = \"poisson\"\nsizes = \"{size}B\"\nload = {load:.12}\n"
        );
    }
    if d.one_in(4) {
        let mut flow = |rest: String| {
            let (a, b) = pair(&mut d, hosts);
            let (size, [a, b]) = (d.of(&[1, 1_448, 40_000]), [a, b].map(|at| &names.hosts[at]));
            format!("    {{ from = \"{a}\", to = \"{b}\", size = \"{size}B\", {rest} }},\n")
        };
        let at = drawn.stop_ps / 3;
        let first = flow(format!("at = \"{at}ps\", fires = [\"one\"]"));
        let waiting: String = (0..3).map(|_| flow("after = \"one\"".into())).collect();
        let _ = writeln!(out, "[[traffic]]\nkind = \"list\"\nflows = [\n{first}{waiting}]");
    }
    out
}

fn pair(d: &mut Draw, hosts: u64) -> (usize, usize) {
    let a = d.0.below(hosts);
    let b = (a + 1 + d.0.below(hosts - 1)) % hosts;
    (a as usize, b as usize)
}

fn faults(d: &mut Draw, names: &Names, drawn: &mut Drawn) -> String {
    let mut out = String::new();
    if d.one_in(2) {
        return out;
    }
    drawn.faulty = true;
    for _ in 0..d.between(1, 5) {
        let cable = &names.cables[d.0.below(names.cables.len() as u64) as usize];
        let at = d.0.below(drawn.stop_ps * 3 / 4) / d.of(&[1, 3, 10, 100]);
        let lasts = if d.one_in(4) {
            String::new()
        } else {
            format!("for = \"{}ps\"\n", d.between(1, drawn.stop_ps / 3))
        };
        let what = match d.0.below(4) {
            0 | 1 => {
                drawn.never_better = false; // the queue of a detour drains while the healed path carries more
                "change = \"down\"".to_string()
            }
            2 => {
                let rate = d.of(&["1Gbps", "100Gbps", "100Mbps", "999999937bps"]);
                drawn.never_better &= rate != "100Gbps"; // may be faster than the fabric as it was laid out
                format!("rate = \"{rate}\"")
            }
            _ => format!("loss = {}", d.of(&["0.01", "0.2", "1.0"])),
        };
        let (link, what, lasts) = match what.starts_with("loss") {
            true => placed_loss(Stream::new(drawn.seed, at, Purpose::Test), cable, what, lasts),
            false => (cable.clone(), what, lasts),
        };
        let _ = write!(out, "[[fault]]\nat = \"{at}ps\"\nlink = \"{link}\"\n{what}\n{lasts}");
    }
    out
}

/// Token buckets, in one scenario of five.
fn shapers(seed: u64, names: &Names, drawn: &mut Drawn) -> String {
    let mut d = Draw(Stream::new(seed, 10, Purpose::Test));
    let mut out = String::new();
    if !d.one_in(5) {
        return out;
    }
    drawn.shaped = true;
    for _ in 0..d.between(1, 3) {
        let cable = &names.cables[d.0.below(names.cables.len() as u64) as usize];
        let (a, b) = cable.split_once('-').expect("a cable has two ends");
        let place = d.of(&[a, b]).to_string();
        let place = if d.one_in(2) { place } else { cable.replacen('-', "->", 1) };
        let (rate, burst) = (d.of(&["90Mbps", "1Gbps", "7777777777bps"]), d.between(9_000, 90_000));
        let _ = writeln!(
            out,
            "[[fabric.shaper]]\nwhere = \"{place}\"\nrate = \"{rate}\"\nburst = \"{burst}B\""
        );
    }
    out
}

/// Cables that lose packets from the start, in one scenario of five.
fn losses(seed: u64, names: &Names, drawn: &mut Drawn) -> String {
    let mut d = Draw(Stream::new(seed, 27, Purpose::Test));
    let mut out = String::new();
    if !d.one_in(5) {
        return out;
    }
    (drawn.lossy, drawn.faulty) = (true, true);
    for _ in 0..d.between(1, 3) {
        let cable = &names.cables[d.0.below(names.cables.len() as u64) as usize];
        let loss = d.of(&["0.01", "0.05", "0.2"]);
        let _ = writeln!(out, "[[fabric.override]]\nwhere = \"{cable}\"\nloss = {loss}");
    }
    out
}

/// Losses of a cable, of one direction of it, or of some packets there.
fn placed_loss(rng: Stream, cable: &str, loss: String, lasts: String) -> (String, String, String) {
    let mut d = Draw(rng);
    let (a, b) = cable.split_once('-').expect("a cable has two ends");
    let direction = if d.one_in(2) { format!("{a}->{b}") } else { format!("{b}->{a}") };
    match d.0.below(3) {
        0 => (cable.into(), loss, lasts),
        1 => (direction, loss, lasts),
        _ => {
            let packets = [(); 3].map(|()| d.between(1, 40).to_string()).join(", ");
            let flow = if d.one_in(2) { "flow = 0\n" } else { "" };
            (direction, format!("drop = [{packets}]\n{flow}"), String::new())
        }
    }
}
