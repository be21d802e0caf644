//! Functions that formulas of rows name, beyond arithmetic and statistics: rules of one paper or one measurement.

use crate::order::{Samples, mean};
use crate::signals::WRITE_US;
use forebay_study::formula::{NamedFunction, NamedList};
use std::collections::BTreeMap;

/// Each with its name.
pub(crate) const FUNCTIONS: [(&str, NamedFunction); 9] = [
    ("aggregates", aggregates),
    ("by_rule", by_rule),
    ("converged", converged),
    ("first_reaching", first_reaching),
    ("largest_change", largest_change),
    ("last_below", last_below),
    ("least_mean", least_mean),
    ("median", median),
    ("recovery", recovery),
];

/// Those that make a list.
pub(crate) const LISTS: [(&str, NamedList); 1] = [("alone", alone)];

/// Spans in a row whose mean share has to be even, and how far from a half it may be.
const SPANS: usize = 10;
const EVEN: f64 = 0.05;

/// After how many spans two senders have even shares, at least one; all of them if they never have. The lists are what each has sent up to the
/// end of each span. Source: our reading 3 of `validation/expresspass/rows.toml`.
fn converged(sent: &[Vec<f64>]) -> f64 {
    let [first, second] = sent else {
        panic!("converged is of two lists, and has {}", sent.len());
    };
    let step = |all: &[f64], i: usize| all[i] - if i == 0 { 0.0 } else { all[i - 1] };
    let share = |i| step(second, i) / (step(first, i) + step(second, i));
    let shares: Vec<f64> = (0..first.len().min(second.len())).map(share).collect();
    let even = |shares: &[f64]| (mean(shares) - 0.5).abs() <= EVEN;
    shares.windows(SPANS).position(even).map_or(shares.len(), |i| i.max(1)) as f64
}

/// I_T of hostCC in lines, and B_T on PCIe in Gb/s.
const THRESHOLD: f64 = 70.0;
const TARGET: f64 = 84.0;

/// I_S of our points is the law's; its readings of bandwidth come in between. So a rule counts as kept if one of the last three points before a
/// decision keeps it within so much, in lines and Gb/s.
const READS_US: f64 = 2.0;
const OFF: f64 = 1.0;

/// Share of hostCC's level changes that its rules ask for: upwards if I_S is above I_T and B_S below B_T, downwards if neither is. The lists are times in
/// us, I_S, B_S, levels, and 1 for changes upwards or -1 for those downwards. Source: hostCC (SIGCOMM 2023), section 4.2, table 1.
fn by_rule(lists: &[Vec<f64>]) -> f64 {
    let [us, occupancy, bandwidth, levels, sign] = lists else {
        panic!("by_rule is of times, I_S, B_S, levels and a sign, and has {} lists", lists.len());
    };
    let sign = sign[0];
    let asks = |i: usize| {
        sign * (occupancy[i] - THRESHOLD) > -OFF && sign * (TARGET - bandwidth[i]) > -OFF
    };
    let before = |at: f64| us.partition_point(|us| *us < at);
    let kept = |i: usize| {
        let decided = us[i + 1] - WRITE_US;
        (before(decided - READS_US)..before(decided)).any(asks)
    };
    let changes = levels.windows(2).enumerate();
    let changes = changes.filter(|(_, two)| two[0] != two[1] && (two[1] > two[0]) == (sign > 0.0));
    let (by_rule, all) =
        changes.fold((0.0, 0.0), |(n, all), (i, _)| (n + f64::from(u8::from(kept(i))), all + 1.0));
    by_rule / all
}

/// The round trip of hostCC's testbed, us.
const RTT: f64 = 44.0;

/// Median of the microseconds from each onset of congestion until B_S is near its target again, having been below. The lists are times in us, B_S, and how long
/// congestion lasts and the time between two onsets, us. Source: hostCC (SIGCOMM 2023), section 3.3.
fn recovery(lists: &[Vec<f64>]) -> f64 {
    let [us, bandwidth, work, period] = lists else {
        panic!("recovery is of times, B_S, work and period, and has {} lists", lists.len());
    };
    let (work, period) = (work[0], period[0]);
    let points: Vec<(f64, bool)> =
        us.iter().zip(bandwidth).map(|(us, gbps)| (*us, *gbps > 0.9 * TARGET)).collect();
    let number = |point: &(f64, bool)| (point.0 / period) as u64;
    let of_one = |points: &[(f64, bool)]| {
        let begun = points.first().is_some_and(|point| point.0 % period < RTT);
        let below = points.iter().position(|point| !point.1).filter(|_| begun)?;
        let back = points[below..].iter().find(|point| point.1);
        Some(back.map_or(work, |point| point.0 % period).min(work))
    };
    let onsets = points.chunk_by(|a, b| number(a) == number(b));
    Samples::new(onsets.filter_map(of_one).collect()).percentile(5000).value
}

/// The middle value; of an even number of values the mean of the two in the middle.
fn median(lists: &[Vec<f64>]) -> f64 {
    let mut values = lists.concat();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        0 => (values[half - 1] + values[half]) / 2.0,
        _ => values[half],
    }
}

/// The largest change from the first value, up or down, per cent.
fn largest_change(lists: &[Vec<f64>]) -> f64 {
    let values = lists.concat();
    let changes = values.iter().map(|one| (one / values[0] - 1.0) * 100.0);
    changes.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(f64::NAN)
}

/// Hosts of a rack, payload and all else of a full packet on the wire in bytes, rate in bit/s and delay in s of every link: the fabric of
/// `validation/pcc-dilemma`.
const RACK: f64 = 16.0;
const PAYLOAD: f64 = 1_460.0;
const AROUND: f64 = 40.0 + 38.0;
const LINE: f64 = 100e9;
const DELAY: f64 = 1e-6;

/// Time that the packets of each flow take on the empty path at line rate, s. The lists are sizes, and numbers of the sending and the receiving
/// host. Source: our reading 9 of `validation/pcc-dilemma/rows.toml`.
fn alone(lists: &[Vec<f64>]) -> Vec<f64> {
    let [sizes, sources, destinations] = lists else {
        panic!("alone is of sizes and two lists of hosts, and has {} lists", lists.len());
    };
    let rack = |host: &f64| (host / RACK).floor();
    let hosts = sources.iter().zip(destinations);
    let one = |(size, (src, dst)): (&f64, (&f64, &f64))| {
        let links = if rack(src) == rack(dst) { 2.0 } else { 4.0 };
        let tx = |payload: f64| (payload + AROUND) * 8.0 / LINE;
        let full = ((size - 1.0) / PAYLOAD).floor();
        let last = size - full * PAYLOAD;
        // Behind full packets a shorter last one waits at every link.
        let each = tx(if full > 0.0 { PAYLOAD } else { last });
        full * tx(PAYLOAD) + (links - 1.0) * each + tx(last) + links * DELAY
    };
    sizes.iter().zip(hosts).map(one).collect()
}

/// Number of the first value, from 1, that is at least a threshold; infinite if none is. The lists are values and the threshold.
fn first_reaching(lists: &[Vec<f64>]) -> f64 {
    let [values, threshold] = lists else {
        panic!("first_reaching is of values and a threshold, and has {} lists", lists.len());
    };
    let first = values.iter().position(|value| *value >= threshold[0]);
    first.map_or(f64::INFINITY, |i| (i + 1) as f64)
}

/// Number of the last value, from 1, that is under a threshold; 0 if none is. The lists are values and the threshold.
fn last_below(lists: &[Vec<f64>]) -> f64 {
    let [values, threshold] = lists else {
        panic!("last_below is of values and a threshold, and has {} lists", lists.len());
    };
    values.iter().rposition(|value| *value < threshold[0]).map_or(0.0, |i| (i + 1) as f64)
}

/// The least mean of so many values in a row, of those whose last one is at a place beyond a number. The lists are places, values, how many, and
/// that number.
fn least_mean(lists: &[Vec<f64>]) -> f64 {
    let [places, values, count, beyond] = lists else {
        panic!("least_mean is of places, values and two numbers, and has {} lists", lists.len());
    };
    let count = count[0] as usize;
    let ends = places.iter().skip(count - 1);
    let means = values.windows(count).map(mean).zip(ends);
    means.filter(|(_, end)| **end > beyond[0]).map(|(mean, _)| mean).fold(f64::INFINITY, f64::min)
}

/// Median over aggregates: what a rack sends to a host from when its first flow there begins until none is under way. The lists are numbers of
/// hosts of a rack, then of each flow its source, destination, start and end in s, and last, perhaps, its bytes. With bytes the median is that of
/// the bytes of aggregates, without it is that of how long they last, in s.
fn aggregates(lists: &[Vec<f64>]) -> f64 {
    let (rack, [from, to, starts, ends], sizes) = match lists {
        [rack, from, to, starts, ends] => (rack, [from, to, starts, ends], None),
        [rack, from, to, starts, ends, sizes] => (rack, [from, to, starts, ends], Some(sizes)),
        _ => panic!("aggregates is of five lists or six, and has {}", lists.len()),
    };
    // Whole picoseconds, so that a difference is that of times.
    let ps = |s: f64| (s * 1e12).round() as u64;
    let mut order: Vec<usize> = (0..starts.len()).collect();
    order.sort_by_key(|i| ps(starts[*i]));
    let mut open: BTreeMap<(u64, u64), (u64, u64, f64)> = BTreeMap::new();
    let mut all = Vec::new();
    for i in order {
        let (start, end) = (ps(starts[i]), ps(ends[i]));
        let begun = (start, end, 0.0);
        let key = ((from[i] / rack[0]) as u64, to[i] as u64);
        let one = open.entry(key).or_insert(begun);
        if one.2 > 0.0 && start > one.1 {
            all.push(std::mem::replace(one, begun));
        }
        (one.1, one.2) = (one.1.max(end), one.2 + sizes.map_or(1.0, |sizes| sizes[i]));
    }
    all.extend(open.into_values());
    let of = |(since, until, bytes): (u64, u64, f64)| match sizes {
        Some(_) => bytes,
        None => (until - since) as f64 / 1e12,
    };
    Samples::new(all.into_iter().map(of).collect()).percentile(5_000).value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts 0 and 1 share a rack, host 16 does not: 4 KB in 24 us, 11 KB in 20 us, 16 KB in 4 us.
    #[test]
    fn an_aggregate_lasts_while_one_of_its_flows_does() {
        let from = vec![0.0, 1.0, 16.0, 0.0, 1.0];
        let us = |all: [f64; 5]| all.map(|us| us * 1e-6).to_vec();
        let (starts, ends) = (us([0.0, 5.0, 6.0, 15.0, 21.0]), us([10.0, 20.0, 30.0, 18.0, 25.0]));
        let mut lists = vec![vec![16.0], from, vec![40.0; 5], starts, ends];
        assert_eq!(aggregates(&lists), 20e-6);
        lists.push(vec![1e3, 2e3, 4e3, 8e3, 16e3]);
        assert_eq!(aggregates(&lists), 11e3);
    }

    #[test]
    fn values_are_counted_from_one() {
        let of = |values: &[f64]| [values.to_vec(), vec![9.0]];
        assert_eq!(first_reaching(&of(&[1.0, 9.0, 2.0])), 2.0);
        assert_eq!(first_reaching(&of(&[1.0])), f64::INFINITY);
        assert_eq!(last_below(&of(&[1.0, 8.0, 9.0])), 2.0);
        assert_eq!(last_below(&of(&[9.0])), 0.0);
    }

    /// Half the rate for 200 us is a mean of half, for 50 us one of three quarters. What ends 60 us after the onset is in one of the means that
    /// count with its last sample alone.
    #[test]
    fn a_dip_counts_by_its_share_of_a_tenth_of_a_millisecond() {
        let at: Vec<f64> = (1..=400).map(|i| f64::from(i) * 0.01).collect();
        for (from, to, expected) in
            [(1.0, 1.0, 1.0), (1.0, 1.2, 0.5), (1.0, 1.05, 0.75), (0.0, 0.06, 0.95)]
        {
            let low = |at: &f64| *at > from + 0.001 && *at < to + 0.001;
            let values = at.iter().map(|at| if low(at) { 0.5 } else { 1.0 }).collect();
            let found = least_mean(&[at.clone(), values, vec![10.0], vec![0.145]]);
            assert!((found - expected).abs() < 1e-12, "{from} to {to}: {found}");
        }
    }

    #[test]
    fn a_recovery_is_counted_from_its_onset() {
        let of = |points: &[(f64, f64)]| {
            let (us, gbps) = points.iter().copied().unzip();
            recovery(&[us, gbps, vec![2000.0], vec![3000.0]])
        };
        let trace = [(3000.0, 90.0), (3040.0, 60.0), (3100.0, 80.0), (3200.0, 60.0)];
        assert_eq!(of(&trace), 100.0);
        // It never falls, it never comes back, its onset was not seen.
        assert!(of(&trace[..1]).is_nan());
        assert_eq!(of(&trace[..2]), 2000.0);
        assert!(of(&trace[2..]).is_nan());
    }

    #[test]
    fn a_change_of_level_is_by_rule_if_the_signals_asked_for_it_before_it_was_written() {
        let us: Vec<f64> = (0..100).map(f64::from).collect();
        let levels: Vec<f64> = us.iter().map(|us| f64::from(u8::from(*us >= 50.0))).collect();
        // The level of 50 us was decided on at 28 us.
        let of = |lines_at_27: f64, gbps: f64, sign: f64| {
            let occupancy =
                us.iter().map(|us| if *us == 27.0 { lines_at_27 } else { 60.0 }).collect();
            by_rule(&[us.clone(), occupancy, vec![gbps; 100], levels.clone(), vec![sign]])
        };
        assert_eq!(of(90.0, 80.0, 1.0), 1.0);
        assert_eq!(of(60.0, 80.0, 1.0), 0.0, "I_S was low");
        assert_eq!(of(90.0, 95.0, 1.0), 0.0, "B_S was high");
        assert!(of(90.0, 80.0, -1.0).is_nan(), "none went down");
    }

    /// Four links of 1 us, and 123.04 ns for each packet of 1,538 B.
    #[test]
    fn a_packet_across_racks_takes_four_links() {
        let of = |size: f64, dst: f64| alone(&[vec![size], vec![0.0], vec![dst]])[0];
        assert!((of(1460.0, 16.0) - 4.49216e-6).abs() < 1e-12);
        assert!((of(3.0 * 1460.0, 16.0) - 4.73824e-6).abs() < 1e-12);
        assert!((of(1460.0, 15.0) - 2.24608e-6).abs() < 1e-12);
        // A lone byte is 79 B on the wire, at each of four links.
        assert!((of(1.0, 16.0) - 4.02528e-6).abs() < 1e-12);
    }

    #[test]
    fn medians_and_changes_are_those_of_their_words() {
        assert_eq!(median(&[vec![4.0, 1.0], vec![2.0, 9.0]]), 3.0);
        assert_eq!(median(&[vec![4.0, 1.0, 2.0]]), 2.0);
        assert_eq!(largest_change(&[vec![2.0, 2.5, 1.0]]), -50.0);
    }

    #[test]
    fn shares_are_even_from_the_first_of_ten_spans_in_a_row_on() {
        let sums = |steps: &[f64]| {
            let mut sum = 0.0;
            steps
                .iter()
                .map(|step| {
                    sum += step;
                    sum
                })
                .collect::<Vec<f64>>()
        };
        // Four spans without the second sender, then equal steps: the ten spans from the fourth on have 9 / 20 on average.
        let first = sums(&[100.0; 20]);
        let second = sums(&[&[0.0; 4][..], &[100.0; 16]].concat());
        assert_eq!(converged(&[first.clone(), second]), 3.0);
        assert_eq!(converged(&[first.clone(), first.clone()]), 1.0);
        assert_eq!(converged(&[first, vec![0.0; 20]]), 20.0);
    }
}
