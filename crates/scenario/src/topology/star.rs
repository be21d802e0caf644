//! Hosts around one switch.

use super::{ALONE, Draft, MOST_PORTS, Shape, usual};
use crate::judge::Judge;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `host[i]` around `tor`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Star {
    /// Hosts, 2 to 65535.
    #[schemars(range(min = 1))]
    pub hosts: u64,
}

impl Shape for Star {
    fn check(&self, judge: &mut Judge<'_>) {
        judge.counts(&[("hosts", self.hosts, MOST_PORTS)]);
        if self.hosts == 1 {
            judge.say("fabric.hosts", ALONE);
        }
    }

    fn lay_out(&self) -> Draft {
        let n = self.hosts as usize;
        Draft {
            hosts: (0..n).map(|h| format!("host[{h}]")).collect(),
            switches: vec!["tor".into()],
            cables: (0..n).map(|h| usual(h, n)).collect(),
        }
    }

    fn title(&self) -> String {
        "star".into()
    }

    fn above_racks(&self) -> &'static str {
        "above the switch"
    }
}
