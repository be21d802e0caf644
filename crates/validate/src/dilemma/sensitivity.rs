//! What the threshold of the shared buffer does to Homa's losses.

use super::experiments::{Experiment, ExperimentRun, Extent, Workload};
use super::setup::{Scheme, Setup};
use crate::jobs::Cores;
use crate::row::Row;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Alphas, in words too; the second is that of the rows.
const ALPHAS: [(&str, Option<f64>); 5] =
    [("0.5", Some(0.5)), ("1", Some(1.0)), ("2", Some(2.0)), ("8", Some(8.0)), ("none", None)];

/// MB that the ports of a switch share.
const BUFFERS: [u32; 3] = [32, 8, 2];

/// A table for people: Homa and Web Server with seed 1, under both readings of the load.
pub(crate) fn sensitivity(cores: &Cores<'_>, _rows: &[Row], quick: bool) -> String {
    let extent = Extent::new(quick);
    let of = [Experiment::Core(Workload::WebServer), Experiment::Host(Workload::WebServer)];
    let found: Mutex<BTreeMap<(Experiment, u32, usize), ExperimentRun>> = Mutex::default();
    let mut calls = Vec::new();
    for (experiment, buffer, (at, (_, alpha))) in of
        .into_iter()
        .flat_map(|one| BUFFERS.map(|buffer| (one, buffer)))
        .flat_map(|(one, buffer)| ALPHAS.into_iter().enumerate().map(move |a| (one, buffer, a)))
    {
        let setup = Setup { buffer, alpha, ..experiment.setup(Scheme::Homa, extent) };
        let found = &found;
        calls.push(move || {
            let one = ExperimentRun::of(&setup, 1, experiment.arrivals(extent));
            found.lock().expect("entering does not panic").insert((experiment, buffer, at), one);
        });
    }
    cores.call(calls);
    let mut text = String::from(
        "Homa under Web Server, seed 1, all else as in the rows. Lost: bytes dropped over bytes that left hosts, %. FCT: mean and 99th percentile, us.\n\n\
         load 0.8 of      buffer  alpha     lost       mean        p99  not done\n",
    );
    for ((experiment, buffer, at), one) in found.into_inner().expect("every worker has ended") {
        let of = match experiment {
            Experiment::Host(_) => "hosts' links",
            _ => "uplinks",
        };
        let (tail, _) = one.p99(|flow| Some(flow.fct));
        text += &format!(
            "{of:14}{buffer:6} MB  {:>5}  {:>7.2}  {:>9.1}  {:>9.1}  {:>8}\n",
            ALPHAS[at].0,
            100.0 * one.dropped_bytes / one.sent_bytes,
            one.mean(|flow| flow.fct) * 1e6,
            tail * 1e6,
            one.unfinished
        );
    }
    text
}
