//! Pairs of settings that can only end badly: each passes by itself, and the two together make one of them useless or harmful.
//!
//! Defaults count as settings. A check says nothing where the pair may work, so that a warning is always worth reading: it names both
//! keys with their values, the reason, and the remedy. [`PAIRS`] has a row for each pair; a new one is a function and a row.

mod around;
mod faults;
mod hosts;
mod losses;
mod marks;
mod pauses;
mod recording;
mod sources;
mod timers;
pub(crate) mod trips;
mod windows;

use crate::plan::Plan;
use crate::scenario::Scenario;
use around::CheckedScenario;

/// Two settings that do not work together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pitfall {
    /// Name of the pair, of those in [`pairs`].
    pub pair: &'static str,
    /// A sentence with both keys and values, the reason, and the remedy.
    pub text: String,
}

/// The first place where a pair of settings does not work.
type Check = fn(&CheckedScenario<'_>) -> Option<String>;

/// All pairs, by what goes wrong: timers, windows, marks, losses, pauses, hosts, sources, recording, faults.
const PAIRS: &[(&str, Check)] = &[
    ("timeout and round trip", timers::rdma_timeout),
    ("rto_low and round trip", timers::rdma_rto_low),
    ("resend_after and round trip", timers::resend_after),
    ("request_timeout and round trip", timers::request_timeout),
    ("rnr_timer and stop.time", timers::rnr_timer),
    ("rto_min and timer_tick", timers::coarse_ticks),
    ("cnp_interval and stop.time", timers::cnp_interval),
    ("base_rtt and round trip", timers::base_rtt),
    ("delay target and round trip", timers::delay_target),
    ("receive_window and delayed_ack", windows::window_of_one),
    ("receive_window and initial_window", windows::initial_window),
    ("receive_window and round trip", windows::receive_window),
    ("max_inflight and round trip", windows::max_inflight),
    ("socket_buffer and round trip", windows::socket_buffer),
    ("window and round trip", windows::posted),
    ("ecn and port_limit", marks::above_the_limit),
    ("ecn and buffer", marks::above_the_share),
    ("ecn and law", marks::none_for_the_law),
    ("ecn threshold and law", marks::every_packet),
    ("cnp_class and class", marks::cnps_behind_data),
    ("not_ect and pause", losses::drops_in_a_lossless_class),
    ("law and pause", losses::no_reaction_and_no_pause),
    ("recovery and buffer", losses::go_back_n_without_pause),
    ("recovery and loss", losses::go_back_n_on_lossy_cables),
    ("recovery and routing", losses::go_back_n_out_of_order),
    ("buffer.alpha and packet", losses::share_below_a_packet),
    ("credits.share and packet", losses::credits_for_other_packets),
    ("resume_offset and xoff", pauses::resume_below_nothing),
    ("pool and packet", pauses::pool_below_a_packet),
    ("xoff and buffer", pauses::xoff_above_the_pool),
    ("headroom and recovery", pauses::go_back_n_without_headroom),
    ("watchdog and pauses", pauses::watchdog_of_every_pause),
    ("watchdog and stop.time", pauses::watchdog_after_the_end),
    ("pcie_rate and link", hosts::pcie_below_the_link),
    ("bandwidth and link", hosts::memory_below_the_link),
    ("level and antagonist", hosts::throttles_nobody),
    ("antagonist.on and stop.time", hosts::never_rests),
    ("antagonist.start and stop.time", hosts::antagonist_after_the_end),
    ("tx_jitter and link", hosts::jitter_above_a_packet),
    ("pacing and transport", hosts::paces_nobody),
    ("shaper.rate and link", hosts::shaper_above_the_link),
    ("stop.time and round trip", sources::ends_before_an_answer),
    ("think and stop.time", sources::thinks_to_the_end),
    ("service and stop.time", sources::serves_to_the_end),
    ("load and stop.time", sources::no_arrival),
    ("stagger and stop.time", sources::staggered_past_the_end),
    ("incast.every and link", sources::incasts_above_the_link),
    ("warmup and starts", recording::warmup_of_everything),
    ("samples and stop.time", recording::one_sample),
    ("samples and packets", recording::finer_than_packets),
    ("places and traffic", recording::places_without_traffic),
    ("flow numbers and traffic", recording::flows_that_are_not_there),
    ("why and endless flows", recording::nothing_to_explain),
    ("dead cable and routes", faults::dead_from_the_start),
    ("dead cable and hosts", faults::cut_off),
    ("fault and traffic", faults::cable_without_traffic),
    ("reroute_after and fault", faults::routes_too_late),
];

/// Names of all pairs.
pub fn pairs() -> impl Iterator<Item = &'static str> {
    PAIRS.iter().map(|(name, _)| *name)
}

/// Each pair of a checked scenario that cannot work, at the first place where it does not.
pub fn pitfalls(scenario: &Scenario, plan: &Plan) -> Vec<Pitfall> {
    let around = CheckedScenario::new(scenario, plan);
    let found =
        |(pair, check): &(&'static str, Check)| Some(Pitfall { pair, text: check(&around)? });
    PAIRS.iter().filter_map(found).collect()
}
