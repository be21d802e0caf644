//! Writes a report of a made-up run: `cargo run -p forebay-record --example sample_report -- out.html`.

#[path = "../tests/it/support/mod.rs"]
mod support;

use forebay_record::{Summary, report};
use forebay_units::Span;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap_or_else(|| "report.html".into());
    let flows = args.next().and_then(|n| n.parse().ok()).unwrap_or(4_000);
    let seeds: Vec<u64> = (1..=args.next().and_then(|n| n.parse().ok()).unwrap_or(5)).collect();
    let about = support::about(&seeds);
    let every = Span::from_us(1);
    let whole = |seed: u64| support::with_links(support::run(seed, flows));
    let run = |seed: &u64| support::with_memory_series(whole(*seed), every);
    let runs: Vec<_> = seeds.iter().map(run).collect();
    let summary = Summary::of(&about, &runs);
    print!("{}", summary.render(100, false));
    let html = report::render(&about, &summary, &runs);
    if let Err(error) = std::fs::write(&path, &html) {
        eprintln!("cannot write {path}: {error}");
        std::process::exit(1);
    }
    println!("{path}: {} KB", html.len() / 1000);
}
