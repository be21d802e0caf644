//! Traffic of kind `permutation`: one flow from each host, and one to each.

use super::{Error, Kind, Layout, Surroundings, mean_of, size_text};
use crate::judge::Judge;
use forebay_units::Bytes;
use forebay_units::random::{Purpose, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One flow from each host, and one to each.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Permutation {
    /// Bytes of each flow.
    pub size: Bytes,
}

impl Kind for Permutation {
    fn check(&mut self, judge: &mut Judge<'_>, path: &str, _around: &Surroundings<'_>) {
        judge.flow_size(&format!("{path}.size"), self.size);
    }

    fn title(&self) -> String {
        format!("permutation of {}", size_text(self.size))
    }

    fn forecast(&self, layout: &Layout<'_>) -> u128 {
        layout.hosts.names.len() as u128
    }

    fn mean_size(&self) -> Option<f64> {
        mean_of(self.size)
    }

    fn largest(&self) -> Option<Bytes> {
        Some(self.size)
    }

    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error> {
        let n = layout.hosts.names.len() as u32;
        for (src, dst) in (0..).zip(derangement(n, &mut layout.stream(Purpose::Pairs))) {
            layout.push_jittered(src, dst, self.size, layout.start);
        }
        Ok(())
    }
}

/// A uniformly random permutation without a fixed point: shuffles until there is none (about e times).
fn derangement(n: u32, draws: &mut Stream) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    loop {
        for i in (1..order.len()).rev() {
            order.swap(i, draws.below(i as u64 + 1) as usize);
        }
        if order.iter().enumerate().all(|(i, to)| i as u32 != *to) {
            return order;
        }
    }
}
