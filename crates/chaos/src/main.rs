//! `forebay-chaos`: random scenarios until one fails, and that one made small.

use clap::Parser;
use forebay_chaos::check::{CheckOutcome, check};
use forebay_chaos::forecast::Compared;
use forebay_chaos::shrink::shrink;
use forebay_chaos::wide::draw;
use std::path::PathBuf;
use std::process::ExitCode;

/// Draws random scenarios and checks that bytes are equal on 1, 2 and 3 threads, that resolved files run again to the same digest,
/// that longer runs extend shorter ones, that law logs replay, and that packets are conserved
#[derive(Debug, Parser)]
struct Args {
    /// Scenarios to draw
    #[arg(long, value_name = "N", default_value_t = 100)]
    cases: u64,
    /// Seed of the first one; the others follow it
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Hold forecasts against what happens instead, with pilots of so many events
    #[arg(long, value_name = "EVENTS")]
    forecast: Option<u64>,
    /// Print the scenario of the first seed and run nothing
    #[arg(long)]
    print: bool,
    /// Directory for failing scenarios, each as drawn and made small
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Runs that making one small may take
    #[arg(long, value_name = "N", default_value_t = 300)]
    tries: usize,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.print {
        print!("{}", draw(args.seed));
        return ExitCode::SUCCESS;
    }
    if let Some(budget) = args.forecast {
        let seeds = args.seed..args.seed.saturating_add(args.cases);
        let all = Compared::all(seeds, budget);
        all.iter().filter(|one| !one.is_right()).for_each(|one| println!("{one}"));
        println!("{}", Compared::summary(&all));
        return ExitCode::SUCCESS;
    }
    // A panic is one of the results, and its message is in it.
    std::panic::set_hook(Box::new(|_| {}));
    let (mut right, mut refused, mut long, mut wrong, mut hops) = (0u64, 0u64, 0u64, 0u64, 0u64);
    for seed in args.seed..args.seed.saturating_add(args.cases) {
        let text = draw(seed);
        match check(&text) {
            CheckOutcome::Right(packets) => (right, hops) = (right + 1, hops + packets),
            CheckOutcome::Refused(_) => refused += 1,
            CheckOutcome::Long => long += 1,
            CheckOutcome::Wrong(fault) => {
                wrong += 1;
                println!("seed {seed}: {}: {}", fault.kind, fault.text);
                let small = shrink(&text, &fault, args.tries);
                for (name, text) in [("drawn", &text), ("small", &small)] {
                    let path = args.out.join(format!("chaos-{seed}-{name}.toml"));
                    match std::fs::write(&path, text) {
                        Ok(()) => println!("  {} ({} lines)", path.display(), text.lines().count()),
                        Err(error) => println!("  cannot write {}: {error}", path.display()),
                    }
                }
            }
        }
    }
    println!(
        "{right} right ({hops} packet-hops each time), {refused} refused, {long} too long, {wrong} wrong"
    );
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
