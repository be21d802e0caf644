//! Two switches and the bottleneck between them.

use super::{Draft, Link, MOST_PORTS, Shape, usual};
use crate::judge::Judge;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `left.host[i]` - `left` - `right` - `right.host[j]`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Dumbbell {
    /// Hosts on the left, 1 to 65534.
    #[schemars(range(min = 1))]
    pub left: u64,
    /// Hosts on the right, 1 to 65534.
    #[schemars(range(min = 1))]
    pub right: u64,
    /// The cable between the switches; another name for fabric_link.
    #[serde(default, skip_serializing)]
    pub bottleneck: Option<Link>,
}

impl Shape for Dumbbell {
    fn check(&self, judge: &mut Judge<'_>) {
        let most = MOST_PORTS - 1;
        judge.counts(&[("left", self.left, most), ("right", self.right, most)]);
    }

    fn lay_out(&self) -> Draft {
        let (left, n) = (self.left as usize, (self.left + self.right) as usize);
        let names = (0..left).map(|i| format!("left.host[{i}]"));
        let hosts = names.chain((left..n).map(|j| format!("right.host[{}]", j - left))).collect();
        let mut cables: Vec<_> =
            (0..n).map(|h| usual(h, if h < left { n } else { n + 1 })).collect();
        cables.push(usual(n, n + 1));
        Draft { hosts, switches: vec!["left".into(), "right".into()], cables }
    }

    fn title(&self) -> String {
        format!("dumbbell, {} hosts left, {} right", self.left, self.right)
    }

    fn above_racks(&self) -> &'static str {
        "between left and right"
    }

    fn take_link(&mut self) -> Option<(&'static str, Link)> {
        Some(("bottleneck", self.bottleneck.take()?))
    }
}
