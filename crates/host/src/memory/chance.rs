//! A line that waits by chance: single lines before one server that is not always at work. Writes before memory, and free slots before the link.
//!
//! No constant here is fitted. Single lines that come by chance before one server of constant time `S` (Pollaczek and Khinchine): a
//! line of `X` keeps it at work for a share `u = X / (X + beta)` of the time, with `beta = v S / 2` and `v` as in [`Chance::variance`]. Closed
//! loops repeat what they did a latency ago, so chance adds up over one latency only: no line above `X_0`, `X_0^2 = pi / 8` times the
//! variance of that many lines, is due to it (heavy traffic of periodic streams; Roberts and Virtamo, IEEE Trans. Comm. 39, 1991).
//! Between the two, `beta (1 - X^2 / X_0^2)`. As an equation of state: Wang, Tipper and Banerjee, INFOCOM 1996.

use super::larger;

/// A shorter line is served at once, or the last of it would stay for ever.
const LEAST_LINE: f64 = 1.0 / 64.0;

/// `pi / 8`: the mean of a line that begins and ends a round empty, by the variance of what comes in it.
const BRIDGE: f64 = core::f64::consts::FRAC_PI_8;

/// How much chance there is in what comes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chance {
    /// The variance of lines per ns: their rate, where they come one by one; `k` times it, where `k` at once; nothing, where they come
    /// evenly.
    pub variance: f64,
    /// Variance of all lines in one round of the loops that they come from.
    pub round: f64,
}

impl Chance {
    /// How much of what holds for single arrivals holds for a line of `line`, from 1 to 0.
    #[inline]
    pub(super) fn share(&self, line: f64) -> f64 {
        larger(1.0 - line * line / (BRIDGE * self.round), 0.0)
    }

    /// Chance of a share of the lines, which comes up as the others let it.
    #[inline]
    pub(super) fn of_share(&self, share: f64) -> Self {
        let squared = share * share;
        Self { variance: self.variance * squared, round: self.round * squared }
    }

    /// The line with which a server that takes `service` ns for each is at work half of the time.
    #[inline]
    pub(super) fn beta(&self, service: f64) -> f64 {
        self.variance * service * 0.5
    }
}

/// What is left of a line of `all` after a step in which `free` could be served, and was for a share of `x / (x + alone)` of it, `x` being
/// what is left.
#[inline]
pub(super) fn left(all: f64, free: f64, alone: f64) -> f64 {
    if all < LEAST_LINE {
        return 0.0;
    }
    if alone == 0.0 {
        return (all - free).max(0.0);
    }
    let linear = alone + free - all;
    let root = (linear * linear + 4.0 * all * alone).sqrt();
    // Each form subtracts where it is exact.
    if linear > 0.0 { 2.0 * all * alone / (linear + root) } else { (root - linear) * 0.5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_keeps_the_server_at_work_for_its_share() {
        for all in [0.02, 0.5, 3.0, 40.0] {
            for free in [0.01, 1.0, 39.0, 500.0] {
                for alone in [1e-3, 0.4, 7.0] {
                    let x = left(all, free, alone);
                    let balance = x + free * x / (x + alone) - all;
                    assert!(
                        x > 0.0 && balance.abs() < 1e-9 * all,
                        "{all} {free} {alone}: {balance}"
                    );
                }
            }
        }
        assert_eq!((left(3.0, 2.0, 0.0), left(2.0, 3.0, 0.0)), (1.0, 0.0), "without chance");
        assert_eq!(left(0.01, 0.001, 0.5), 0.0, "a crumb goes at once");
    }

    /// The mean line of single arrivals at a server of constant time that works a share `u` of it: `u^2 / (2 (1 - u))` wait.
    #[test]
    fn single_arrivals_wait_as_pollaczek_and_khinchine_say() {
        let (rate, service) = (0.3, 2.0);
        let chance = Chance { variance: rate, round: 1e12 };
        let u: f64 = rate * service;
        let x = u * u / (2.0 * (1.0 - u));
        let share = x / (x + chance.share(x) * chance.beta(service));
        assert!((share - u).abs() < 1e-9, "{share}, not {u}");
    }
}
