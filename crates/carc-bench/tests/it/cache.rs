//! Misses of unread data in a cache that cachegrind simulates, on a fixed schedule.
//!
//! The simulated cache has no ways for devices (DDIO): it shows that unread data stay within the limit, and so within the cache. It
//! does not show the gains of the paper.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Reads of `consume`, and how many of them miss the last level.
struct Reads {
    all: u64,
    missed: u64,
}

impl Reads {
    fn share(&self) -> f64 {
        self.missed as f64 / self.all as f64
    }
}

/// Runs the schedule under cachegrind: 1 MiB, 16 ways, lines of 64 B. None: there is no valgrind here.
fn reads(words: &[&str]) -> Option<Reads> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let name = format!("carc-bench-cachegrind-{}", RUNS.fetch_add(1, Ordering::Relaxed));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let run = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=yes", "--LL=1048576,16,64"])
        .arg(format!("--cachegrind-out-file={}", out.display()))
        .arg(env!("CARGO_BIN_EXE_carc-bench"))
        .args(["--schedule", "slow"])
        .args(words)
        .output();
    let Ok(run) = run else {
        println!("skipped: cachegrind: valgrind is not installed");
        return None;
    };
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = std::fs::read_to_string(&out).expect("cachegrind writes its counts");
    let events: Vec<&str> = text
        .lines()
        .find_map(|line| line.strip_prefix("events: "))
        .expect("events")
        .split(' ')
        .collect();
    let at = |name: &str| events.iter().position(|event| *event == name).expect("an event") + 1;
    let (mut inside, mut reads) = (false, Reads { all: 0, missed: 0 });
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            inside = name.contains("consume") && name.contains("fixed");
        } else if inside && line.starts_with(|c: char| c.is_ascii_digit()) {
            let counts: Vec<u64> =
                line.split(' ').map(|word| word.parse().expect("a count")).collect();
            reads.all += counts[at("Dr")];
            reads.missed += counts[at("DLmr")];
        }
    }
    assert!(reads.all > 400_000, "consume is found: {} reads", reads.all);
    Some(reads)
}

/// With credits for half the cache fewer than one read in a thousand misses. Without credits the ring of twice the cache fills up, and
/// more than nine in ten miss.
#[test]
fn misses_of_unread_data_vanish_with_credits() {
    let Some(with) = reads(&[]) else { return };
    let Some(without) = reads(&["--no-credits"]) else { return };
    println!(
        "with credits {} of {} reads miss, without {} of {}",
        with.missed, with.all, without.missed, without.all
    );
    assert!(with.share() < 0.001, "with credits {} of {} reads miss", with.missed, with.all);
    assert!(
        without.share() > 0.9,
        "without credits {} of {} reads miss",
        without.missed,
        without.all
    );
}
