//! The path from cable to application as a row of stages, each coloured by how long it was the bottleneck.

use crate::human::{bytes, count, gbps, percent, sig3};
use crate::rows::MemoryRow;
use crate::stats::Estimate;
use crate::summary::HostMemory;
use crate::svg::Canvas;

/// The stage before the host: its share is that of time in which nothing queued in the host.
const SENDERS: &str = "Senders";

const WIDTH: f64 = 1048.0;
const BOX: f64 = 132.0;
const GAP: f64 = (WIDTH - 7.0 * BOX) / 6.0;
const TOP: f64 = 8.0;
const HEIGHT: f64 = 112.0;
const BELOW: f64 = 166.0;

/// One stage: what it is, for how long it was the bottleneck if it can be, and what else there is to know.
struct Stage {
    name: &'static str,
    share: Option<f64>,
    facts: [String; 2],
}

fn value(estimate: &Estimate) -> f64 {
    estimate.mean.unwrap_or(0.0)
}

/// The diagram of a host; sizes are those of `row`.
pub(super) fn draw(host: &HostMemory, row: &MemoryRow) -> String {
    let limits = &host.limited_by_shares;
    let share = |estimate: &Estimate| Some(value(estimate));
    let stages = [
        Stage {
            name: SENDERS,
            share: share(&limits.senders),
            facts: [
                format!("{} packets", count(host.nic_arrived_packets)),
                "nothing queued".into(),
            ],
        },
        Stage {
            name: "NIC buffer",
            share: share(&limits.descriptors),
            facts: [
                format!("{} of {}", bytes(host.nic_buffer_peak_bytes), bytes(row.nic_buffer.get())),
                format!("{} dropped", percent(value(&host.nic_drop_share))),
            ],
        },
        Stage {
            name: "PCIe link",
            share: share(&limits.pcie),
            facts: [gbps(value(&host.pcie_gbps)), format!("of {}", gbps(row.pcie_limit_gbps))],
        },
        Stage {
            name: "IIO slots",
            share: share(&limits.slots),
            facts: [
                format!("{} of {} lines", sig3(value(&host.iio_occupancy_lines)), row.iio_slots),
                format!("full {}", percent(value(&host.slots_full_share))),
            ],
        },
        Stage {
            name: "Memory",
            share: share(&limits.memory),
            facts: [
                format!(
                    "{} of {} GB/s",
                    sig3(
                        value(&host.network_gigabytes_per_s)
                            + value(&host.other_nics_gigabytes_per_s)
                            + value(&host.antagonist_gigabytes_per_s)
                    ),
                    sig3(row.memory_limit_gigabytes)
                ),
                format!("writes wait {} ns", sig3(value(&host.write_wait_ns))),
            ],
        },
        Stage {
            name: "Stack and copy",
            share: share(&limits.copying),
            facts: [
                format!("{} cores busy", sig3(value(&host.reader_cores))),
                format!("{} GB/s memory", sig3(value(&host.network_gigabytes_per_s))),
            ],
        },
        Stage {
            name: "Application",
            share: None,
            facts: [gbps(value(&host.goodput_gbps)), "read by applications".into()],
        },
    ];
    let mut canvas = Canvas::default();
    for (i, stage) in (0_u32..).zip(&stages) {
        let x = f64::from(i) * (BOX + GAP);
        if i > 0 {
            let middle = TOP + HEIGHT / 2.0;
            canvas.arrow((x - GAP + 2.0, middle), (x - 2.0, middle), "axis");
        }
        draw_stage(&mut canvas, x, stage);
    }
    senders(&mut canvas, host);
    antagonists(&mut canvas, host);
    let description = format!("Path from NIC to application of {}", host.name);
    format!("<div class=\"plot\">{}</div>", canvas.inline(WIDTH, 232.0, &description))
}

fn draw_stage(canvas: &mut Canvas, x: f64, stage: &Stage) {
    let share = stage.share.unwrap_or(0.0);
    // No stage of the host is slow while nothing queues in it.
    let class = if stage.name == SENDERS { "stage calm" } else { "stage" };
    canvas.card((x, TOP), (BOX, HEIGHT), "surface", "");
    // Small shares are to be seen, and text on large ones to be read.
    let opacity = format!("fill-opacity:{:.3}", share * (2.0 - share) * 0.55);
    canvas.card((x, TOP), (BOX, HEIGHT), class, &opacity);
    let middle = x + BOX / 2.0;
    canvas.text((middle, TOP + 22.0), "label mid", stage.name);
    match stage.share {
        Some(share) => canvas.text((middle, TOP + 52.0), "share mid", &percent(share)),
        None => canvas.text((middle, TOP + 52.0), "share mid", &stage.facts[0]),
    }
    let facts = if stage.share.is_some() { &stage.facts[..] } else { &stage.facts[1..] };
    for (line, fact) in (0_u32..).zip(facts) {
        canvas.text((middle, TOP + 78.0 + 18.0 * f64::from(line)), "fact mid", fact);
    }
}

/// What senders waited for, most first.
fn senders(canvas: &mut Canvas, host: &HostMemory) {
    let waits = host.sender_wait_shares.longest_first();
    if waits.is_empty() {
        return;
    }
    canvas.arrow((BOX / 2.0, BELOW - 2.0), (BOX / 2.0, TOP + HEIGHT + 2.0), "axis");
    canvas.card((0.0, BELOW), (4.0 * BOX + 3.0 * GAP, 58.0), "surface", "");
    canvas.text((14.0, BELOW + 22.0), "label", "Senders waited for");
    let words = waits.iter().take(3).map(|(wait, share)| format!("{wait} {}", percent(*share)));
    canvas.text((14.0, BELOW + 44.0), "fact", &words.collect::<Vec<_>>().join(", "));
}

fn antagonists(canvas: &mut Canvas, host: &HostMemory) {
    if host.antagonists_gigabytes_per_s.is_empty() {
        return;
    }
    let x = 4.0 * (BOX + GAP);
    let middle = x + BOX / 2.0;
    canvas.arrow((middle, BELOW - 2.0), (middle, TOP + HEIGHT + 2.0), "axis");
    canvas.card((x, BELOW), (BOX, 58.0), "surface", "");
    let n = host.antagonists_gigabytes_per_s.len();
    let name = if n == 1 { "Antagonist".to_string() } else { format!("{n} antagonists") };
    canvas.text((middle, BELOW + 22.0), "label mid", &name);
    let traffic = format!("{} GB/s", sig3(value(&host.antagonist_gigabytes_per_s)));
    canvas.text((middle, BELOW + 44.0), "fact mid", &traffic);
    if value(&host.mean_level) > 0.0 {
        let level = format!("throttled to level {} on average", sig3(value(&host.mean_level)));
        canvas.text((x + BOX + 14.0, BELOW + 34.0), "fact", &level);
    }
}
