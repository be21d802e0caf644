//! Traffic of kind `all-to-all`: one flow from each host to each other.

use super::{Error, Kind, Layout, MOST_FLOWS, Surroundings, mean_of, size_text, too_many};
use crate::judge::Judge;
use forebay_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One flow from each host to each other.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct AllToAll {
    /// Bytes of each flow.
    pub size: Bytes,
}

impl Kind for AllToAll {
    fn check(&mut self, judge: &mut Judge<'_>, path: &str, around: &Surroundings<'_>) {
        judge.flow_size(&format!("{path}.size"), self.size);
        let n = around.plan.hosts as u128;
        if n * (n - 1) > MOST_FLOWS {
            judge.say(path, too_many(n * (n - 1)));
        }
    }

    fn title(&self) -> String {
        format!("all to all, {} each", size_text(self.size))
    }

    fn forecast(&self, layout: &Layout<'_>) -> u128 {
        let n = layout.hosts.names.len() as u128;
        n * (n - 1)
    }

    fn mean_size(&self) -> Option<f64> {
        mean_of(self.size)
    }

    fn largest(&self) -> Option<Bytes> {
        Some(self.size)
    }

    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error> {
        let n = layout.hosts.names.len() as u32;
        for src in 0..n {
            for dst in (0..n).filter(|dst| *dst != src) {
                layout.push_jittered(src, dst, self.size, layout.start);
            }
        }
        Ok(())
    }
}
