//! Traffic of kind `poisson`: random arrivals between random pairs of hosts.
//!
//! All hosts share the draws of the entry: one sequence of arrivals whose sources are drawn too. So the flows of a host depend on seed and
//! entry alone.

use super::{Error, Hosts, Kind, Layout, LoadRef, Surroundings};
use crate::cdf::{Cdf, Sizes};
use crate::judge::Judge;
use crate::plan::Plan;
use forebay_units::Time;
use forebay_units::random::Purpose;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Random arrivals.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Poisson {
    /// Flow sizes: a published distribution ("websearch"), a file ("sizes.csv"), one size ("64KB"), a range ("1KB..64KB", uniform)
    /// or a table.
    #[schemars(with = "Sizes")]
    pub sizes: Cdf,
    /// Offered load as a share of the reference: above 0, at most 1.
    pub load: f64,
    /// Reference of the load. Default: "host".
    #[serde(default)]
    pub load_ref: LoadRef,
}

impl Poisson {
    /// Mean gap between arrivals in ps.
    fn mean_gap(&self, hosts: &Hosts) -> f64 {
        let bytes_per_ps = self.load * hosts.reference(self.load_ref) / 8e12;
        self.sizes.mean() / bytes_per_ps
    }
}

impl Kind for Poisson {
    fn check(&mut self, judge: &mut Judge<'_>, path: &str, around: &Surroundings<'_>) {
        judge.load(path, self.load, self.load_ref, around.plan);
        self.sizes.check(judge, &format!("{path}.sizes"));
    }

    fn title(&self) -> String {
        let of = match self.load_ref {
            LoadRef::Host => "of the hosts' links",
            LoadRef::Core => "of the core",
        };
        format!("poisson {}, load {} {of}", self.sizes.name, self.load)
    }

    fn forecast(&self, layout: &Layout<'_>) -> u128 {
        let span = layout.end.since(layout.start).as_ps() as f64;
        (span / self.mean_gap(layout.hosts)) as u128
    }

    fn mean_size(&self) -> Option<f64> {
        Some(self.sizes.mean())
    }

    fn last_start(&self, _start: Time, end: Time) -> Time {
        end
    }

    fn is_random(&self) -> bool {
        true
    }

    fn offered(&self, hosts: &Hosts) -> f64 {
        self.load * hosts.reference(self.load_ref)
    }

    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error> {
        let n = layout.hosts.names.len() as u64;
        let mean_gap = self.mean_gap(layout.hosts);
        let mut gaps = layout.stream(Purpose::Arrivals);
        let mut draws = layout.stream(Purpose::Sizes);
        let mut pairs = layout.stream(Purpose::Pairs);
        let mut now = layout.start.as_ps() as f64;
        loop {
            now += gaps.exponential() * mean_gap;
            let at = Time::from_ps(now as u64);
            if at >= layout.end || layout.is_unwanted() {
                return Ok(());
            }
            let src = pairs.below(n) as u32;
            let other = pairs.below(n - 1) as u32;
            let dst = other + u32::from(other >= src);
            let size = self.sizes.sample(draws.unit());
            layout.push(layout.flow(src, dst, size, at));
        }
    }
}

impl Judge<'_> {
    fn load(&mut self, path: &str, load: f64, load_ref: LoadRef, plan: &Plan) {
        let key = format!("{path}.load");
        if load <= 0.0 || load.is_nan() {
            self.wrong(&key, "offers nothing; write a share above 0, at most 1");
        } else if load > 1.0 {
            self.wrong(&key, "is more than all of the reference; write a share above 0, at most 1");
        }
        let host_cables = || plan.cables.iter().filter(|c| (c.a as usize) < plan.hosts);
        let one_rack =
            host_cables().all(|c| host_cables().next().is_some_and(|first| first.b == c.b));
        if load_ref == LoadRef::Core && one_rack {
            let text = "needs hosts under more than one switch; write \"host\"";
            self.wrong(&format!("{path}.load_ref"), text);
        }
    }
}
