//! A scenario from one number: fabric, hosts, memory, traffic and faults as the simulator's own tests draw them, under any law and
//! transport, several of them side by side, with weights, machines, captures, collectives and NICs that pause.

use crate::random::{self, Draw};
use forebay_laws::flow::{Echo, FlowParams, LAWS, Needs};
use forebay_units::random::{Purpose, Stream};
use std::fmt::Write;

/// The text of this seed's scenario.
pub fn draw(seed: u64) -> String {
    let base = random::draw(seed, 0).text;
    let mut d = Draw(Stream::new(seed, 7, Purpose::Test));
    let (head, rest) = base.split_once("[transport]\n").expect("each has a transport");
    let at = rest.find("[[traffic]]").expect("and traffic");
    let (own, traffic) = rest.split_at(at);
    let classes = classes(head);
    let mut text = match classes > 1 && d.one_in(2) && !head.contains("wrr = ") {
        true => weighted(&mut d, head, classes),
        false => head.to_string(),
    };
    let racks = racks(seed, head);
    if let Some(hierarchical) = &racks {
        text = text.replacen("[fabric.switch]\n", &format!("[fabric.switch]\n{hierarchical}"), 1);
    }
    let racks = racks.is_some();
    let received = own.contains(RECEIVED);
    let own = match d.one_in(if received { 2 } else { 4 }) {
        true => own.to_string(),
        false => transport(&mut d, classes, racks),
    };
    let _ = write!(text, "[transport]\n{own}");
    let others: Vec<String> = (0..d.0.below(3))
        .map(|_| match d.one_in(4) {
            true => homa(&mut d, classes),
            false => transport(&mut d, classes, racks),
        })
        .collect();
    for (n, other) in others.iter().enumerate() {
        let _ = write!(text, "[transports.other{n}]\n{other}");
    }
    text.push_str(&collective(seed, head, others.len()));
    for entry in traffic.split("[[traffic]]\n").skip(1) {
        text.push_str("[[traffic]]\n");
        let n = d.0.below(2 * others.len().max(1) as u64) as usize;
        if others.get(n).is_some() {
            let _ = writeln!(text, "transport = \"other{n}\"");
        }
        text.push_str(entry);
    }
    // Captures cannot write credits between racks, which no protocol has.
    if d.one_in(5) && !racks {
        let place = two_hosts(head).map_or("left->right", |(a, b)| d.of(&[a, b]));
        let _ = write!(text, "\n[[output.capture]]\nwhere = \"{place}\"\n");
    }
    // NICs of a machine share its path to memory, so there has to be one.
    if let (true, Some((a, b))) = (d.one_in(6), two_hosts(head)) {
        let own = ["", "cores = 2\n", "ddio = true\n"];
        let memory = format!("[host.memory]\n{}", d.of(&own));
        text = text.replacen("[transport]\n", &format!("{memory}[transport]\n"), 1);
        let _ = write!(text, "\n[[host.machine]]\nnics = [\"{a}\", \"{b}\"]\n");
    }
    storm(seed, text)
}

/// A small collective of all hosts, in one scenario of three.
fn collective(seed: u64, head: &str, others: usize) -> String {
    let mut d = Draw(Stream::new(seed, 41, Purpose::Test));
    if !d.one_in(3) {
        return String::new();
    }
    let has = |kind: &str| head.contains(&format!("kind = \"{kind}\""));
    let ranks = match () {
        () if has("star") => "[\"host[*]\"]",
        () if has("leaf-spine") => "[\"leaf[*].host[*]\"]",
        () if has("fat-tree") => "[\"pod[*].edge[*].host[*]\"]",
        () if has("graph") => "[\"h*\"]",
        () => "[\"left.host[*]\", \"right.host[*]\"]",
    };
    // Of other operations, halving-doubling takes powers of two alone.
    let op = d.of(&[
        "all-reduce",
        "all-reduce",
        "reduce-scatter",
        "all-gather",
        "broadcast",
        "all-to-all",
    ]);
    let algorithms = ["ring", "direct", "halving-doubling"];
    let algorithm = algorithms[d.0.below(if op == "all-reduce" { 3 } else { 2 }) as usize];
    let mut out = format!(
        "[[traffic]]\nkind = \"collective\"\nop = \"{op}\"\nalgorithm = \"{algorithm}\"\nranks = {ranks}\n\
         bytes = \"{}B\"\nchannels = {}\n{}",
        d.of(&[0, 1, 7, 5_000, 30_000]),
        d.of(&[1, 1, 2]),
        d.of(&[
            "",
            "",
            "message = \"3000B\"\nwindow = \"6000B\"\n",
            "connections = 2\n",
            "connections = 2\nspread = \"split\"\nmessage = \"8KB\"\n",
            "repeat = 2\ngap = \"1us\"\n",
            "step_delay = \"1us\"\nstart_delay = \"3us\"\n",
        ]),
    );
    let n = d.0.below(2 * others.max(1) as u64) as usize;
    if n < others {
        let _ = writeln!(out, "transport = \"other{n}\"");
    }
    out
}

/// Where a host's memory may be slow and its switch hears of pauses, the NIC pauses it rather than drop: in one scenario of two.
fn storm(seed: u64, text: String) -> String {
    let mut d = Draw(Stream::new(seed, 42, Purpose::Test));
    let buffer = "nic_buffer = \"66000B\"\n";
    if !text.contains(buffer) || !text.contains("\npause = ") || d.one_in(2) {
        return text;
    }
    // The buffer has room for whatever a long cable holds.
    let above = d.of(&["3KB", "20KB", "60KB"]);
    text.replacen(buffer, &format!("nic_buffer = \"8MB\"\npause_above = \"{above}\"\n"), 1)
}

/// What a receiver-driven transport says first.
const RECEIVED: &str = "kind = \"receiver-driven\"\n";

/// Homa beside others, on any number of classes: the one law of receivers that needs nothing of switches.
fn homa(d: &mut Draw, classes: u64) -> String {
    let class = d.0.below(classes);
    let levels = d.between(1, classes - class);
    format!(
        "{RECEIVED}law = \"homa\"\nrouting = \"{}\"\nclass = {class}\npriorities = {levels}\nack_class = {}\n",
        d.of(&["spray", "source"]),
        d.0.below(classes)
    )
}

/// Classes of the fabric's switches, without that of credits.
fn classes(head: &str) -> u64 {
    let line = head.lines().find_map(|line| line.strip_prefix("classes = "));
    let all = line.and_then(|n| n.parse().ok()).unwrap_or(1);
    all - u64::from(head.contains("credits = {"))
}

/// Keys that give shares to some of the classes.
fn weighted(d: &mut Draw, head: &str, classes: u64) -> String {
    let from = d.0.below(classes - 1);
    let shares: Vec<String> = (from..classes)
        .map(|class| format!("{{ class = {class}, weight = {} }}", d.of(&[1, 3, 10, 100])))
        .collect();
    head.replacen("\nclasses = ", &format!("\nweights = [{}]\nclasses = ", shares.join(", ")), 1)
}

/// Two hosts by name, where the shape makes them easy to name.
fn two_hosts(head: &str) -> Option<(&'static str, &'static str)> {
    let has = |kind: &str| head.contains(&format!("kind = \"{kind}\""));
    match () {
        () if has("star") => Some(("host[0]", "host[1]")),
        () if has("leaf-spine") => Some(("leaf[0].host[0]", "leaf[1].host[0]")),
        () if has("fat-tree") => Some(("pod[0].edge[0].host[0]", "pod[1].edge[1].host[1]")),
        () if has("graph") => Some(("h0", "h1")),
        () => None,
    }
}

/// Racks that queue by destination (HierCC), where the fabric has racks and nothing pauses.
fn racks(seed: u64, head: &str) -> Option<String> {
    let mut d = Draw(Stream::new(seed, 8, Purpose::Test));
    let fat_tree = head.contains("kind = \"fat-tree\"");
    let has_racks = fat_tree || head.contains("kind = \"leaf-spine\"");
    let alone = ["pause = ", "over = ", "credits = "].iter().any(|key| head.contains(key));
    if !has_racks || alone || !d.one_in(2) {
        return None;
    }
    let queue_for = d.of(if fat_tree { &["host", "rack", "pod"] } else { &["host", "rack"] });
    let requests = d.of(&["demand", "sent"]);
    let again = d.of(&[20, 100, 1_000]);
    let credit = d.of(&["1KB", "4KB", "10KB"]);
    Some(format!(
        "hierarchical = {{ law = \"hiercc\", queue_for = \"{queue_for}\", requests = \"{requests}\", \
         request_timeout = \"{again}us\", credit = \"{credit}\" }}\n"
    ))
}

/// Any law, on a transport that gives it what it needs. Where there are `racks`, every other law gets its rates from them.
fn transport(d: &mut Draw, classes: u64, racks: bool) -> String {
    let explicit = racks && d.one_in(2);
    let (law, params) = loop {
        let law = LAWS[d.0.below(LAWS.len() as u64) as usize].name();
        let params = FlowParams::new(law).expect("a registered law has a name");
        let Needs { rate_request, int, .. } = params.needs();
        // Only racks answer requests for a rate, and their switches stamp no INT records.
        if rate_request.is_some() == explicit && !(racks && int) {
            break (law, params);
        }
    };
    let Needs { echo, int, .. } = params.needs();
    let rdma = int || explicit || echo == Echo::Cnp || d.one_in(3);
    let mut out = format!("kind = \"{}\"\nlaw = \"{law}\"\n", if rdma { "rdma" } else { "tcp" });
    if classes > 1 {
        let _ = writeln!(out, "class = {}\nack_class = {}", d.0.below(classes), d.0.below(classes));
    }
    if rdma {
        let recovery = d.of(&["go-back-n", "go-back-n", "selective", "go-back-0"]);
        let _ = writeln!(out, "recovery = \"{recovery}\"\nmss = \"{}B\"", d.of(&[1_000, 4_000]));
        let _ = writeln!(out, "timeout = \"{}us\"", d.of(&[100, 1_000, 16_000]));
        if d.one_in(3) {
            let _ = writeln!(out, "max_inflight = \"{}KB\"", d.between(5, 300));
        }
        if d.one_in(3) {
            let _ = writeln!(out, "ack_every = {}", d.of(&[1, 4, 16]));
        }
    } else {
        let _ = writeln!(out, "mss = \"{}B\"", d.of(&[1_448, 4_000, 900]));
        let _ = writeln!(out, "rto_min = \"{}us\"", d.of(&[100, 1_000, 10_000]));
        let _ = writeln!(out, "delayed_ack = {}", d.one_in(2));
    }
    if d.one_in(3) {
        let routing = d.of(&["ecmp", "ecmp-symmetric", "spray", "adaptive"]);
        let _ = writeln!(out, "routing = \"{routing}\"");
    }
    out + &some_params(d, &params)
}

/// A word or two of the ranges that the law's parameters have.
fn some_params(d: &mut Draw, params: &FlowParams) -> String {
    let info = params.info();
    let mut set = Vec::new();
    for param in info.params() {
        if !d.one_in(6) {
            continue;
        }
        let words: Vec<&str> =
            param.range.split([' ', '"', ',']).filter(|w| !w.is_empty()).collect();
        let word = words[d.0.below(words.len() as u64) as usize];
        if params.clone().set(param.name, word).is_ok() {
            set.push(format!("{} = \"{word}\"", param.name));
        }
    }
    match set.is_empty() {
        true => String::new(),
        false => format!("params = {{ {} }}\n", set.join(", ")),
    }
}
