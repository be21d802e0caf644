//! The report's words and tables: headline, key numbers, size classes, seeds, settings, definitions.

use super::{micro, pretty};
use crate::about::RunStart;
use crate::columns::IDEAL_FCT_DEFINITION;
use crate::human;
use crate::human::{bytes, count, percent, sig2, sig3};
use crate::rows::{RunRecord, WaitsFor};
use crate::stats::Estimate;
use crate::summary::{
    CENSORED, CollectiveClass, CollectiveSummary, FCT_DEFINITION, FEW_FLOWS, FlowClass,
    QUANTILE_DEFINITION, RpcSummary, Status, Summary, UnfinishedFlows,
};
use crate::svg::esc;
use std::fmt::Write;

/// Seeds in the table of seeds; the rest is in `runs.csv`.
const MAX_SEEDS: usize = 24;

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// Name, verdict and the facts that identify the run.
pub(super) fn header(about: &RunStart, summary: &Summary) -> String {
    let ends = || summary.runs.iter().map(|run| run.end_us);
    let (first, last) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
    let simulated = match summary.runs.len() {
        0 => "nothing".into(),
        1 => micro(last),
        _ if first == last => format!("{} each", micro(last)),
        _ => format!("{} to {}", micro(first), micro(last)),
    };
    let (chip, word) = match summary.status {
        Status::Complete => ("good", "complete".to_string()),
        Status::Unfinished => ("bad", format!("{} unfinished", summary.unfinished())),
        Status::Interrupted => ("bad", "interrupted: partial data".into()),
        Status::Stalled => ("bad", "stalled: no packet moved".into()),
    };
    let seeds: Vec<String> = summary.seeds.iter().take(12).map(u64::to_string).collect();
    let more = if summary.seeds.len() > 12 { ", ..." } else { "" };
    let mut html = format!(
        "<header><p class=\"kind\">Forebay run report <span class=\"chip {chip}\">{word}</span></p><h1>{}</h1>\
         <p class=\"verdict\">{}</p><dl class=\"facts\">",
        esc(&summary.scenario),
        esc(&verdict(about, summary))
    );
    let laws = if summary.laws.is_empty() { "none".into() } else { summary.laws.join(", ") };
    for (name, value) in [
        ("Law", laws),
        ("Seeds", format!("{}{more}", seeds.join(", "))),
        ("Simulated", simulated),
        ("Warm-up", if summary.warmup_us > 0.0 { micro(summary.warmup_us) } else { "none".into() }),
        ("Version", summary.version.clone()),
    ] {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{}</dd></div>", esc(&value));
    }
    let _ = write!(
        html,
        "<div><dt>Digest</dt><dd><code>{}</code></dd></div></dl></header>",
        esc(&summary.digest)
    );
    html.push_str(&cautions(about, summary));
    html
}

/// Faults that the verdict names at most.
const FAULTS: usize = 3;

/// A few sentences: did it work, what stood in the way, how well, and at what price.
pub(super) fn verdict(about: &RunStart, summary: &Summary) -> String {
    // What stood in the way of everything comes first.
    let mut said: Vec<String> = stood_still(summary).into_iter().collect();
    said.extend(faults(about, summary));
    said.extend(flows(summary));
    let shut_out = summary.left.iter().flat_map(|left| &left.shut_out);
    said.extend(shut_out.map(|out| pretty(&out.sentence())));
    let slowdown = &summary.overall.slowdown;
    if let (Some(p50), Some(p99)) = (slowdown.p50.mean, slowdown.p99.mean) {
        said.push(format!(
            "{} took at most {} times the ideal FCT, 99 % at most {} times.",
            if summary.overall.censored { "Of those that ended, half" } else { "Half" },
            sig3(p50),
            sig3(p99)
        ));
    }
    said.extend(summary.collective.iter().map(|of| collectives(&of.overall)));
    said.extend(queries(summary));
    said.extend(summary.rpc.as_ref().map(rpcs));
    said.push(drops(summary, about.faults.is_empty()));
    said.join(" ") + &cut_off(summary)
}

/// Faults of cables, their times, and the number of packets that they cost.
fn faults(about: &RunStart, summary: &Summary) -> Option<String> {
    let ms = |at: forebay_units::Time| micro(at.as_ps() as f64 / 1e6);
    let one = |fault: &crate::about::FaultSpan| match fault.to {
        Some(to) => format!("{} from {} to {}", fault.what, ms(fault.from), ms(to)),
        None => format!("{} from {} on", fault.what, ms(fault.from)),
    };
    let mut all: Vec<String> = about.faults.iter().take(FAULTS).map(one).collect();
    if all.is_empty() {
        return None;
    }
    let more = about.faults.len().saturating_sub(FAULTS);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    let lost = match summary.network.lost_packets {
        0 => "no packet was lost to that".into(),
        n => format!("{} packets were lost to that", count(n)),
    };
    Some(format!("{}: {lost}.", all.join("; ")))
}

/// How many flows ended, and what the others wait for.
fn flows(summary: &Summary) -> Option<String> {
    let flows = &summary.flows;
    let finite = flows.completed + flows.not_finished;
    let seeds = summary.seeds.len();
    let endless = || match (flows.endless, seeds as u64) {
        (n, seeds) if seeds > 1 && n % seeds == 0 => {
            format!(
                "{} ran in each of {seeds} seeds.",
                human::counted((n / seeds) as usize, "endless flow")
            )
        }
        (n, _) => format!("{} ran.", human::counted(n as usize, "endless flow")),
    };
    Some(match (finite, flows.not_finished) {
        (0, _) if summary.rpc.is_some() || summary.collective.is_some() => return None,
        (0, _) if flows.endless > 0 => endless(),
        (0, _) => "No flow started.".to_string(),
        (1, 0) => "The one flow completed.".into(),
        (_, 0) => {
            format!("All {} flows of {seeds} seed{} completed.", count(finite), plural(seeds))
        }
        (_, late) => {
            let waiting = summary.left.as_ref().map(UnfinishedFlows::words);
            let waiting = waiting.filter(|words| !words.is_empty());
            let waiting = waiting.map_or(String::new(), |words| format!(" They wait: {words}."));
            format!(
                "By the end {} of {} started flows had not finished.{waiting}",
                count(late),
                count(finite),
            )
        }
    })
}

/// For how long senders were paused, where that is a part of the run that counts.
fn stood_still(summary: &Summary) -> Option<String> {
    const COUNTS: f64 = 0.01;
    let net = &summary.network;
    let mean = net.paused_share.mean?;
    (mean >= COUNTS || net.paused_share_most >= 10.0 * COUNTS).then(|| {
        let who = match (net.senders_paused, net.sending_hosts) {
            (paused, all) if paused == all => format!("all {} senders", count(all)),
            (paused, all) => format!("{} of {} senders", count(paused), count(all)),
        };
        let from = match &net.pause_origins[..] {
            [] => String::new(),
            [only] => format!(" The pauses begin at {only}."),
            [first, second] => format!(" The pauses begin at {first} and {second}."),
            [first, others @ ..] => {
                format!(" The pauses begin at {first} and {} other nodes.", others.len())
            }
        };
        format!(
            "Senders stood still {} of the time: pauses stopped {who}, {} longest ({}).{from}",
            percent(mean),
            net.paused_share_most_host,
            percent(net.paused_share_most)
        )
    })
}

/// How long queries took, of incasts.
fn queries(summary: &Summary) -> Option<String> {
    let incast = &summary.incast.as_ref()?.overall;
    let (p50, p99) = (incast.completion_us.p50.mean?, incast.completion_us.p99.mean?);
    let late = match incast.not_finished {
        0 => String::new(),
        n => format!(" ({} did not finish)", count(n)),
    };
    Some(match incast.count {
        1 => format!("The incast was over after {}.", micro(p50)),
        _ => {
            format!("Incasts{late} were over after {} (median), {} (p99).", micro(p50), micro(p99))
        }
    })
}

/// Dropped and lost packets, and the place of the drops.
fn drops(summary: &Summary, says_losses: bool) -> String {
    let net = &summary.network;
    let mut words = match net.dropped_packets {
        0 if net.nic_dropped_packets > 0 => "No packet was dropped in the network.".to_string(),
        0 if net.lost_packets > 0 => "No packet was dropped for want of buffer.".into(),
        0 => "No packet was dropped.".into(),
        dropped => {
            let with_drops: Vec<&str> = summary
                .tiers
                .iter()
                .filter(|tier| tier.dropped_packets > 0)
                .map(|tier| tier.name.as_str())
                .collect();
            let at = match with_drops[..] {
                [only] => format!(", all at {}", pretty(only)),
                _ => String::new(),
            };
            let share = percent(net.drop_rate.mean.unwrap_or(0.0));
            format!("{} packets were dropped ({share}){at}.", count(dropped))
        }
    };
    if net.nic_dropped_packets > 0 {
        let dropped = count(net.nic_dropped_packets);
        let _ = write!(words, " NICs of receiving hosts dropped {dropped} packets.");
    }
    if net.lost_packets > 0 && says_losses {
        let _ = write!(words, " {} were lost to faults.", count(net.lost_packets));
    }
    words
}

/// What receivers make up for: payload that switches cut off, and credits that ports dropped.
fn cut_off(summary: &Summary) -> String {
    let mut words = String::new();
    let at = |all: u64, most: Option<(&str, u64)>| match most {
        Some((tier, n)) if n == all => format!(", all at {}", pretty(tier)),
        Some((tier, n)) => format!(", {} at {}", count(n), pretty(tier)),
        None => String::new(),
    };
    let trimmed = summary.port_total("trimmed_packets");
    if trimmed > 0 {
        let where_most = at(trimmed, summary.most_at(|tier| tier.trimmed_packets));
        let trimmed = count(trimmed);
        let _ = write!(words, " Switches trimmed {trimmed} packets{where_most}.");
    }
    let credits = summary.port_total("dropped_credits");
    if credits > 0 {
        let where_most = at(credits, summary.most_at(|tier| tier.dropped_credits));
        let _ = write!(words, " Ports dropped {} credits{where_most}.", count(credits));
    }
    words
}

/// How long collectives took.
fn collectives(of: &CollectiveClass) -> String {
    let late = match of.not_finished {
        0 => String::new(),
        n => format!("{} did not end. ", human::counted(n as usize, "collective")),
    };
    let took = &of.completion_us;
    let (Some(mean), Some(p99), Some(busbw)) = (took.mean.mean, took.p99.mean, of.busbw_gbps.mean)
    else {
        return late.trim_end().into();
    };
    let busbw = human::gbps(busbw);
    match of.count {
        1 => format!(
            "{late}The collective completed in {}, with a bus bandwidth of {busbw}. {} was the last rank.",
            micro(mean),
            of.last_rank
        ),
        n => format!(
            "{late}{} collectives completed in {} on average, 99 % in at most {}, with a bus bandwidth of {busbw}. {} was the last rank of {}.",
            count(n),
            micro(mean),
            micro(p99),
            of.last_rank,
            percent(of.last_rank_share)
        ),
    }
}

fn rpcs(rpc: &RpcSummary) -> String {
    let all = &rpc.overall;
    let mut words = format!(
        "{} of {} RPCs completed on {} connections{}.",
        count(rpc.issued - rpc.not_completed),
        count(rpc.issued),
        count(all.connections),
        match rpc.not_completed {
            0 => String::new(),
            n => format!(", {} were under way at the end", count(n)),
        }
    );
    if let (Some(p50), Some(p99)) = (all.latency_us.p50.mean, all.latency_us.p99.mean) {
        let of = match (all.censored, rpc.in_warmup) {
            (true, _) => "Of those that completed, half",
            (false, 0) => "Half",
            (false, _) => "Of those after the warm-up, half",
        };
        let _ = write!(words, " {of} took at most {}, 99 % at most {}.", micro(p50), micro(p99));
    }
    words
}

/// Doubts of a careful reader.
fn cautions(about: &RunStart, summary: &Summary) -> String {
    let mut said: Vec<String> = Vec::new();
    if !about.lacks.is_empty() {
        said.push(format!(
            "Written by an older version, so some numbers here are zero or missing: {}.",
            about.lacks.join(", ")
        ));
    }
    if !summary.seeds_missing.is_empty() {
        let missing: Vec<String> = summary.seeds_missing.iter().map(u64::to_string).collect();
        said.push(format!("Seeds not simulated: {}.", missing.join(", ")));
    }
    let cut: Vec<String> = summary
        .runs
        .iter()
        .filter(|run| run.interrupted)
        .map(|run| format!("{} at {}", run.seed, micro(run.end_us)))
        .collect();
    if !cut.is_empty() {
        said.push(format!("Seeds cut short: {}.", cut.join(", ")));
    }
    if let Estimate { ci95: None, mean: Some(_), ci95_absent_because: Some(why), .. } =
        &summary.overall.slowdown.p99
    {
        said.push(format!(
            "No confidence intervals: {why}. Set more seeds to tell effects from luck."
        ));
    }
    let idle = summary.network.idle_us;
    let longest = summary.runs.iter().map(|run| run.end_us).fold(0.0, f64::max);
    if idle > 0.1 * longest && idle > summary.warmup_us {
        said.push(format!(
            "The first flow starts at {}. Averages over the run (goodput, use of links, pauses) have the idle time before it in them. \
             An import moves all starts: forebay import ... --start-at 0s.",
            micro(idle)
        ));
    }
    let flows = &summary.flows;
    if flows.not_finished * 100 > flows.completed {
        let first = summary.left.as_ref().and_then(|left| left.waiting.first());
        let dead = first.is_some_and(|of| of.waits_for == WaitsFor::NoPath.key());
        said.push(format!(
            "{} of {} started flows had not finished. Percentiles leave them out and look better than the run was; {}.",
            count(flows.not_finished),
            count(flows.completed + flows.not_finished),
            match dead {
                true => "more time does not help, as cables are down for good",
                false => "let it run longer (stop.time) or lower the load",
            }
        ));
    }
    if said.is_empty() {
        return String::new();
    }
    let items: String = said.iter().map(|text| format!("<li>{}</li>", esc(text))).collect();
    format!("<ul class=\"cautions\">{items}</ul>")
}

fn value(estimate: &Estimate) -> String {
    estimate.mean.map_or("–".into(), sig3)
}

fn half(estimate: &Estimate) -> String {
    estimate.half_width().map_or(String::new(), |half| format!(" ± {}", sig2(half)))
}

/// The key numbers, each in a tile.
pub(super) fn tiles(summary: &Summary) -> String {
    let net = &summary.network;
    let flows = &summary.flows;
    let finite = flows.completed + flows.not_finished;
    let mut tiles: Vec<(String, String, String)> = Vec::new();
    tiles.extend(summary.collective.iter().flat_map(collective_tiles));
    if let (Some(small), true) = (summary.size_classes.first(), summary.size_classes.len() > 1) {
        tiles.push(slowdown_tile(&format!("p99 slowdown, {}", pretty(&small.name)), small));
    }
    if summary.overall.count > 0 {
        tiles.push(slowdown_tile("p99 slowdown, all flows", &summary.overall));
    }
    if let Some(rpc) = &summary.rpc {
        tiles.push(latency_tile(rpc));
        tiles.push((
            "RPCs completed".into(),
            count(rpc.issued - rpc.not_completed),
            format!(
                "{} per second, fairness {}",
                rpc.overall.rpcs_per_s.mean.map_or("–".into(), human::si),
                value(&rpc.overall.jain_fairness)
            ),
        ));
    }
    let mut completed: Option<(String, String, String)> = None;
    let on_connections = summary.rpc.is_some() || summary.collective.is_some();
    if finite > 0 || (flows.endless == 0 && !on_connections) {
        let share = flows.completed as f64 / finite.max(1) as f64;
        let not_started = match flows.not_started {
            0 => String::new(),
            n => format!(", {} not started", count(n)),
        };
        completed = Some((
            "Flows completed".into(),
            if finite > 0 { percent_floor(share) } else { "–".into() },
            match flows.not_finished {
                0 => format!("all {}{not_started}", count(finite)),
                n => format!("{} of {} not finished{not_started}", count(n), count(finite)),
            },
        ));
    } else if !on_connections {
        let seeds = summary.seeds.len().max(1) as u64;
        let (each, of) = match (flows.endless % seeds, seeds) {
            (0, 2..) => {
                (flows.endless / seeds, format!("without an end, in each of {seeds} seeds"))
            }
            _ => (flows.endless, "all without an end".into()),
        };
        tiles.push(("Flows".into(), count(each), of));
    }
    match (completed, flows.not_finished + flows.not_started) {
        (Some(tile), 0) => tiles.push(tile),
        // What has not ended comes before percentiles that leave it out.
        (Some(tile), _) => tiles.insert(0, tile),
        (None, _) => {}
    }
    if let Some(incast) = &summary.incast {
        let all = &incast.overall;
        let shown = |estimate: &Estimate| estimate.mean.map_or("–".into(), micro);
        let late = match all.not_finished {
            0 => String::new(),
            n if all.censored => left_out(true, n),
            n => format!(", {} not finished", count(n)),
        };
        tiles.push((
            "Incast completion, p99".into(),
            marked(shown(&all.completion_us.p99), all.censored),
            format!(
                "median {}, {}{late}",
                shown(&all.completion_us.p50),
                human::counted(all.count as usize, "round")
            ),
        ));
    }
    tiles.extend(goodput_tiles(summary));
    if let (Some(offered), Some(carried)) = (net.offered_load.mean, net.carried_load.mean) {
        tiles.push((
            "Load offered".into(),
            percent(offered),
            format!(
                "of the host links while flows arrived, {} carried; {} and {}",
                percent(carried),
                gbps(net.offered_gbps.mean),
                gbps(net.carried_gbps.mean)
            ),
        ));
    }
    let hosts = summary.memory.as_ref().map(|memory| &memory.mean_over_hosts);
    tiles.push(match net.lost_packets {
        0 => (
            if hosts.is_some() { "Dropped by switches" } else { "Packets dropped" }.into(),
            rate(&net.drop_rate),
            format!("{} packets, {} timeouts", count(net.dropped_packets), count(net.timeouts)),
        ),
        lost => (
            "Packets dropped or lost".into(),
            count(net.dropped_packets + lost),
            format!(
                "{} for want of buffer, {} to faults; {} timeouts",
                count(net.dropped_packets),
                count(lost),
                count(net.timeouts)
            ),
        ),
    });
    let not_ect = summary.port_total("dropped_unscheduled");
    if not_ect > 0 {
        let (what, why) = match summary.protects {
            true => ("Unscheduled dropped", "sent before any credit"),
            false => ("Dropped for want of ECN", "a marking rule drops what is not ECN-capable"),
        };
        tiles.push((what.into(), count(not_ect), format!("packets, part of the drops: {why}")));
    }
    let trimmed = summary.port_total("trimmed_packets");
    if trimmed > 0 {
        let (back, dropped) =
            (summary.port_total("returned_packets"), summary.port_total("dropped_headers"));
        tiles.push((
            "Packets trimmed".into(),
            count(trimmed),
            format!("{} headers returned to senders, {} dropped", count(back), count(dropped)),
        ));
    }
    let credits = summary.port_total("dropped_credits");
    if net.credits_sent > 0 {
        let (dropped, wasted) = (count(credits), count(summary.wasted_credits()));
        let backward = match net.credits_backward {
            0 => String::new(),
            n => format!(", {} out of order: their data takes other paths", count(n)),
        };
        let note = format!("{dropped} dropped by ports, {wasted} released nothing{backward}");
        tiles.push(("Credits sent".into(), count(net.credits_sent), note));
    } else if credits > 0 {
        let note = "by ports that meter credits; not part of the drops";
        tiles.push(("Credits dropped".into(), count(credits), note.into()));
    }
    if let Some(hosts) = hosts {
        let (dropped, came) = (hosts.nic_dropped_packets, hosts.nic_arrived_packets);
        tiles.push((
            "Dropped by NICs".into(),
            rate(&hosts.nic_drop_share),
            format!("{} of {} packets after the warm-up", count(dropped), count(came)),
        ));
    }
    let by_ports = format!("{} by switch ports", count(net.marked_packets));
    tiles.push(match hosts {
        None => ("Packets marked".into(), rate(&net.mark_rate), by_ports),
        // A share of what ports sent would leave out what hosts marked.
        Some(_) => (
            "Packets marked".into(),
            count(net.marked_packets + net.host_marked_packets),
            format!("{by_ports}, {} by hosts", count(net.host_marked_packets)),
        ),
    });
    if let Some(hosts) = hosts {
        tiles.push((
            "IIO occupancy".into(),
            format!("{} lines", value(&hosts.iio_occupancy_lines)),
            format!("slots full {} of the time", rate(&hosts.slots_full_share)),
        ));
    }
    tiles.push((
        "Largest queue".into(),
        bytes(net.max_queue_bytes),
        net.max_queue_port.replace("->", " → "),
    ));
    tiles.push(busiest_tile(summary));
    if net.pause_frames > 0 {
        let note = format!(
            "mean over {} senders; most {} at {}; {} frames, {} packets dropped for want of headroom",
            count(net.sending_hosts),
            percent(net.paused_share_most),
            match net.paused_share_most_host.as_str() {
                "" => "none of them",
                host => host,
            },
            count(net.pause_frames),
            count(net.lossless_drops)
        );
        // What holds all senders comes first.
        let share = net.paused_share.mean.unwrap_or(0.0);
        let at = if share >= 0.01 { 0 } else { tiles.len() };
        tiles.insert(at, ("Senders paused".into(), percent(share), note));
    }
    let basis = 92 / across(tiles.len());
    let tiles: String = tiles
        .iter()
        .map(|(name, value, note)| {
            format!(
                "<div class=\"tile\"><span>{}</span><strong>{}</strong><small>{}</small></div>",
                esc(name),
                esc(value),
                esc(note)
            )
        })
        .collect();
    format!(
        "<section class=\"tiles\" id=\"key-numbers\" aria-label=\"Key numbers\" style=\"--tile:{basis}%\">{tiles}</section>"
    )
}

/// How many of `n` tiles stand in a row: about four, and none alone in the last one.
fn across(n: usize) -> usize {
    let even = n.div_ceil(n.div_ceil(4).max(1)).max(1);
    if even > 1 && n % even == 1 { even + 1 } else { even }
}

/// The busiest link of all, and how the two kinds of link fared.
fn busiest_tile(summary: &Summary) -> (String, String, String) {
    let kinds =
        [("host", &summary.utilisation.host_links), ("fabric", &summary.utilisation.fabric_links)];
    let mut notes: Vec<String> = Vec::new();
    for (name, links) in kinds {
        let (Some(mean), Some(most)) = (links.mean_utilisation.mean, links.max_utilisation.mean)
        else {
            continue;
        };
        notes.push(format!("{name} links {} mean, {} busiest", percent(mean), percent(most)));
    }
    let several = if summary.seeds.len() > 1 { "mean over seeds; " } else { "" };
    let top = summary.utilisation.busiest.mean.map_or("–".into(), percent);
    ("Busiest link".into(), top, format!("{several}{}", notes.join("; ")))
}

/// Goodput: of servers and clients where RPCs make the traffic, of receivers where flows do.
fn goodput_tiles(summary: &Summary) -> Vec<(String, String, String)> {
    let net = &summary.network;
    let mut tiles = Vec::new();
    if let Some(rpc) = &summary.rpc {
        let classes = match rpc.traffic_classes.len() {
            0 => std::slice::from_ref(&rpc.overall),
            n => &rpc.traffic_classes[..n.min(3)],
        };
        let each = |total: &Estimate, n: u64| gbps(total.mean.map(|total| total / n.max(1) as f64));
        for class in classes {
            let (servers, clients) = (
                human::counted(class.servers as usize, "server"),
                human::counted(class.clients as usize, "client"),
            );
            let entry = match class.name.split(' ').next() {
                Some(entry) if entry.starts_with("traffic[") => format!(", {entry}"),
                _ => String::new(),
            };
            tiles.push((
                format!("Goodput per server{entry}"),
                each(&class.request_goodput_gbps, class.servers),
                format!(
                    "requests: {} in all to {servers}; responses: {} in all to {clients}",
                    gbps(class.request_goodput_gbps.mean),
                    gbps(class.response_goodput_gbps.mean)
                ),
            ));
        }
    }
    let flows = &summary.flows;
    if summary.rpc.is_none() || flows.completed + flows.not_finished > 0 {
        let with_rpcs = if summary.rpc.is_some() { ", RPCs included" } else { "" };
        tiles.push((
            "Goodput per receiver".into(),
            gbps(net.goodput_per_receiver_gbps.mean),
            format!(
                "{} in all, {} receiver{}{with_rpcs}",
                gbps(net.goodput_gbps.mean),
                count(net.receivers),
                plural(net.receivers as usize)
            ),
        ));
    }
    tiles
}

fn gbps(mean: Option<f64>) -> String {
    mean.map_or("–".into(), human::gbps)
}

/// Never says 100 % of something that is less.
fn percent_floor(share: f64) -> String {
    if (0.9995..1.0).contains(&share) { "> 99.9 %".into() } else { percent(share) }
}

fn rate(estimate: &Estimate) -> String {
    estimate.mean.map_or("–".into(), |mean| if mean == 0.0 { "none".into() } else { percent(mean) })
}

fn slowdown_tile(name: &str, class: &FlowClass) -> (String, String, String) {
    let p99 = &class.slowdown.p99;
    let spread = match (p99.half_width(), p99.range()) {
        (Some(half), _) => format!("± {} (95 % CI), ", sig2(half)),
        (None, Some((low, high))) if low < high => {
            format!("seeds {} to {}, ", sig3(low), sig3(high))
        }
        _ => String::new(),
    };
    let median = value(&class.slowdown.p50);
    let shown = marked(value(p99), class.censored);
    (
        name.into(),
        shown,
        format!("{spread}median {median}{}", left_out(class.censored, class.not_finished)),
    )
}

/// Completion time and bus bandwidth of each traffic entry, of the first few.
fn collective_tiles(of: &CollectiveSummary) -> Vec<(String, String, String)> {
    const ENTRIES: usize = 2;
    let classes = &of.classes()[..of.classes().len().min(ENTRIES)];
    let tiles = |class: &CollectiveClass| {
        let (entry, name) = class.name.split_once(' ').unwrap_or(("", &class.name));
        let entry = if classes.len() > 1 { format!(", {entry}") } else { String::new() };
        let shown = |of: &Estimate| of.mean.map_or("–".into(), micro);
        let took = &class.completion_us;
        let spread = match class.count {
            0 | 1 => String::new(),
            n => format!("; {} of them, p99 {}", count(n), shown(&took.p99)),
        };
        let late = left_out(class.censored, class.not_finished);
        let last = match class.last_rank.as_str() {
            "" => String::new(),
            host => format!("; last rank {host}, others waited {}", shown(&class.wait_us)),
        };
        [
            (
                format!("Completion time{entry}"),
                marked(shown(&took.mean), class.censored),
                format!("{name}{spread}{late}"),
            ),
            (
                format!("Bus bandwidth{entry}"),
                gbps(class.busbw_gbps.mean),
                format!("size over time: {}{last}", gbps(class.algbw_gbps.mean)),
            ),
        ]
    };
    classes.iter().flat_map(tiles).collect()
}

fn latency_tile(rpc: &RpcSummary) -> (String, String, String) {
    let latency = &rpc.overall.latency_us;
    let shown = |estimate: &Estimate| estimate.mean.map_or("–".into(), micro);
    let all = &rpc.overall;
    let note = format!(
        "median {}, p99.9 {}{}",
        shown(&latency.p50),
        shown(&latency.p999),
        left_out(all.censored, all.not_finished)
    );
    ("p99 RPC latency".into(), marked(shown(&latency.p99), all.censored), note)
}

/// A statistic with a sign if it leaves out more than 1 % of what started.
pub(super) fn marked(text: String, censored: bool) -> String {
    if censored && text != "–" { text + "*" } else { text }
}

fn left_out(censored: bool, not_finished: u64) -> String {
    match censored {
        true => format!("; * leaves out {} not finished", count(not_finished)),
        false => String::new(),
    }
}

/// Statistics by class, in full.
pub(super) fn classes(summary: &Summary) -> String {
    if summary.overall.count + summary.overall.not_finished == 0 {
        return String::new();
    }
    let mut html = String::from(
        "<section id=\"size-classes\"><h2>Flow completion in numbers</h2><div class=\"scroll\"><table><thead><tr>\
         <th rowspan=\"2\">Class<th rowspan=\"2\" class=\"num\">Flows<th rowspan=\"2\" class=\"num\">Unfinished\
         <th colspan=\"4\" class=\"span\">Slowdown, receiver-delivered\
         <th colspan=\"2\" class=\"span\">FCT\
         <th class=\"span\">Acked</tr>\
         <tr><th class=\"num\">p50<th class=\"num\">p95<th class=\"num\">p99<th class=\"num\">mean\
         <th class=\"num\">p50<th class=\"num\">p99<th class=\"num\">p99</tr></thead><tbody>",
    );
    let groups = [
        ("By traffic entry", summary.traffic_classes.as_slice()),
        ("By size", summary.size_classes.as_slice()),
        ("Together", std::slice::from_ref(&summary.overall)),
    ];
    for (title, classes) in groups.into_iter().filter(|(_, classes)| !classes.is_empty()) {
        let _ = write!(html, "<tr class=\"group\"><th colspan=\"10\">{title}</tr>");
        for class in classes {
            html.push_str(&class_row(class));
        }
    }
    html.push_str("</tbody></table></div>");
    let mut notes: Vec<String> = Vec::new();
    let all =
        || summary.traffic_classes.iter().chain(&summary.size_classes).chain([&summary.overall]);
    let late: Vec<String> = all()
        .filter(|class| class.censored && class.count > 0)
        .map(|class| {
            let started = count(class.count + class.not_finished);
            format!("{} ({} of {started})", pretty(&class.name), count(class.not_finished))
        })
        .collect();
    if !late.is_empty() {
        notes.push(format!("* {CENSORED}: {}.", late.join(", ")));
    }
    let few: Vec<String> = all()
        .filter(|class| class.count > 0 && class.fewest_per_seed < FEW_FLOWS)
        .map(|class| format!("{} ({})", pretty(&class.name), class.fewest_per_seed))
        .collect();
    if !few.is_empty() {
        notes.push(format!(
            "Fewer than {FEW_FLOWS} completed flows in some seed, so the p99 of that seed is its largest value: {}.",
            few.join(", ")
        ));
    }
    let mut reasons: Vec<&str> = Vec::new();
    for absent in &summary.size_classes_absent {
        if !reasons.contains(&absent.reason.as_str()) {
            reasons.push(&absent.reason);
        }
    }
    for reason in reasons {
        let absent = summary.size_classes_absent.iter().filter(|absent| absent.reason == reason);
        let names: Vec<String> = absent.map(|absent| pretty(&absent.name)).collect();
        notes.push(format!("Not shown: {} ({reason}).", names.join(", ")));
    }
    let interval = match &summary.overall.slowdown.p99 {
        Estimate { ci95: Some(_), .. } => {
            "± is the 95 % confidence interval of the mean across seeds. "
        }
        _ => "",
    };
    let _ = write!(
        html,
        "<p class=\"caption\">{interval}Acked: slowdown until the sender has the last ACK. Percentiles are {}.</p>",
        esc(QUANTILE_DEFINITION)
    );
    if !notes.is_empty() {
        let items: String = notes.iter().map(|note| format!("<li>{}</li>", esc(note))).collect();
        let _ = write!(html, "<ul class=\"notes\">{items}</ul>");
    }
    html + "</section>"
}

fn class_row(class: &FlowClass) -> String {
    let late = if class.not_finished > 0 { " class=\"num warn\"" } else { " class=\"num\"" };
    let mut row = format!(
        "<tr><th>{}<td class=\"num\">{}<td{late}>{}",
        esc(&pretty(&class.name)),
        count(class.count),
        count(class.not_finished)
    );
    let statistic = |estimate: &Estimate| marked(value(estimate), class.censored);
    let slowdown = &class.slowdown;
    for estimate in [&slowdown.p50, &slowdown.p95, &slowdown.p99, &slowdown.mean] {
        let _ = write!(
            row,
            "<td class=\"num\">{}<small>{}</small>",
            statistic(estimate),
            half(estimate)
        );
    }
    for estimate in [&class.fct_us.p50, &class.fct_us.p99] {
        let fct = marked(estimate.mean.map_or("–".into(), micro), class.censored);
        let _ = write!(row, "<td class=\"num\">{fct}");
    }
    let _ = write!(row, "<td class=\"num\">{}</tr>", statistic(&class.slowdown_acked.p99));
    row
}

/// One row for each seed, so that an outlier shows.
pub(super) fn seeds(summary: &Summary) -> String {
    if summary.runs.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<section id=\"seeds\"><h2>Seed by seed</h2><div class=\"scroll\"><table><thead><tr><th>Seed\
         <th class=\"num\">p50 slowdown<th class=\"num\">p99 slowdown<th class=\"num\">Drop rate\
         <th class=\"num\">Goodput<th class=\"num\">Packet-hops<th class=\"num\">Simulated<th>Digest</tr></thead><tbody>",
    );
    let at = |estimate: &Estimate, i: usize| estimate.per_seed.get(i).copied().flatten();
    for (i, run) in summary.runs.iter().enumerate().take(MAX_SEEDS) {
        let number = |estimate: &Estimate| at(estimate, i).map_or("–".into(), sig3);
        let cut = match (run.interrupted, run.stalled) {
            (true, _) => " <span class=\"chip bad\">cut short</span>",
            (_, true) => " <span class=\"chip bad\">stalled</span>",
            _ => "",
        };
        let _ = write!(
            html,
            "<tr><th>{}{cut}<td class=\"num\">{}<td class=\"num\">{}<td class=\"num\">{}<td class=\"num\">{}\
             <td class=\"num\">{}<td class=\"num\">{}<td><code>{}</code></tr>",
            run.seed,
            number(&summary.overall.slowdown.p50),
            number(&summary.overall.slowdown.p99),
            at(&summary.network.drop_rate, i).map_or("–".into(), percent),
            gbps(at(&summary.network.goodput_gbps, i)),
            count(run.packet_hops),
            micro(run.end_us),
            esc(&run.digest)
        );
    }
    html.push_str("</tbody></table></div>");
    if summary.runs.len() > MAX_SEEDS {
        let more = summary.runs.len() - MAX_SEEDS;
        let _ = write!(html, "<p class=\"caption\">runs.csv has {more} more seeds.</p>");
    }
    html + "</section>"
}

/// Each entry of the traffic: what it is, and how many flows of which sizes it came to.
fn traffic(about: &RunStart, runs: &[RunRecord]) -> Vec<(String, String)> {
    let entry = |(i, what): (u16, &String)| {
        let flows = || runs.iter().flat_map(|run| &run.flows).filter(|flow| flow.traffic == i);
        let mut sizes: Vec<u64> =
            flows().filter(|flow| !flow.is_endless()).map(|flow| flow.size.get()).collect();
        sizes.sort_unstable();
        let came = match (sizes.first(), sizes.last()) {
            (Some(low), Some(high)) if low == high => {
                format!("; {} flows of {}", count(sizes.len() as u64), bytes(*low))
            }
            (Some(low), Some(high)) => format!(
                "; {} flows of {} to {}, half of them up to {}, {} in all",
                count(sizes.len() as u64),
                bytes(*low),
                bytes(*high),
                bytes(sizes[(sizes.len() - 1) / 2]),
                bytes(sizes.iter().sum())
            ),
            _ => String::new(),
        };
        let seeds = if runs.len() > 1 && !came.is_empty() { ", all seeds" } else { "" };
        (format!("traffic[{i}]"), format!("{what}{came}{seeds}"))
    };
    (0..).zip(&about.traffic).map(entry).collect()
}

/// Settings, definitions, how to make it again.
pub(super) fn reference(about: &RunStart, runs: &[RunRecord]) -> String {
    let mut html = String::from("<section id=\"settings\"><h2>Settings that matter</h2>");
    let all: Vec<(String, String)> =
        traffic(about, runs).into_iter().chain(about.settings.iter().cloned()).collect();
    if all.is_empty() {
        html.push_str("<p>See resolved.toml beside this file.</p>");
    } else {
        html.push_str("<dl class=\"settings\">");
        // What is not there takes one line.
        let (absent, all): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(_, value)| value == "none");
        let absent: Vec<String> = absent.into_iter().map(|(key, _)| key).collect();
        let none = ("none".to_string(), absent.join(", "));
        for (key, value) in all.iter().chain(Some(&none).filter(|_| !absent.is_empty())) {
            let _ = write!(html, "<dt><code>{}</code></dt><dd>{}</dd>", esc(key), esc(value));
        }
        html.push_str("</dl>");
    }
    if !about.resolved_toml.trim().is_empty() {
        let _ = write!(
            html,
            "<details><summary>The whole scenario, defaults filled in (resolved.toml)</summary><pre>{}</pre></details>",
            esc(about.resolved_toml.trim_end())
        );
    }
    html.push_str(
        "</section><section id=\"definitions\"><h2>Definitions</h2><dl class=\"definitions\">",
    );
    for (term, meaning) in [
        ("FCT", FCT_DEFINITION),
        ("Ideal FCT", IDEAL_FCT_DEFINITION),
        ("Slowdown", "FCT over ideal FCT; 1 at best"),
        ("Percentiles", QUANTILE_DEFINITION),
        (
            "Confidence interval",
            "95 % by Student's t over the per-seed values; none from fewer than 3 seeds",
        ),
        (
            "Utilisation",
            "share of the run in which one link direction transmitted; headers, wire overhead and warm-up included",
        ),
        (
            "Drop rate",
            "dropped over offered packets at switch ports; mark rate: marked over sent packets there",
        ),
        ("Queue release", about.release.as_str()),
        (
            "Digest",
            "hash over every delivery and drop in canonical order; equal digests mean equal simulations",
        ),
    ] {
        let _ = write!(html, "<dt>{term}</dt><dd>{}</dd>", esc(meaning));
    }
    let _ = write!(
        html,
        "</dl></section><section id=\"rerun\"><h2>Make it again</h2><p>From inside the run \
         directory:</p><pre>{}</pre><p class=\"caption\">A version gives the same digest on any machine and any number \
         of threads. <code>forebay explain COLUMN</code> explains a column.</p></section>",
        esc(about.rerun())
    );
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tile_stands_alone_in_the_last_row() {
        assert_eq!([4, 7, 8, 9, 10, 13].map(across), [4, 4, 4, 3, 4, 5]);
        for n in 2..=20 {
            assert!((2..=5).contains(&across(n)) && n % across(n) != 1, "{n}");
        }
    }
}
