//! `kind = "receiver-driven"`: settings, and what its law needs of the rest.

use super::Transport;
use crate::fabric::Routing;
use crate::judge::Judge;
use crate::problem::or_list;
use crate::quantity::QueueLength;
use crate::tree::did_you_mean;
use forebay_laws::Paths;
use forebay_laws::grant::{GrantNeeds, GrantParams, LAWS};
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of receiver-driven transports.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(default)]
pub struct ReceiverDriven {
    /// Payload that a round trip at line rate takes, in packets or in bytes, one packet to 4GiB: what a message sends unasked, and what its
    /// receiver keeps on its way. Default: what the fastest link of a host carries in the longest round trip of an empty
    /// path, in whole packets, rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<QueueLength>,
    /// Time without an arrival after which a receiver requests what is missing of a message, doubled each time. Default: by law, 1ms for ndp (its RTO),
    /// 2ms for homa.
    pub resend_after: Span,
}

impl Default for ReceiverDriven {
    fn default() -> Self {
        Self { window: None, resend_after: Span::from_ms(1) }
    }
}

impl ReceiverDriven {
    /// Fills in what depends on the law, and says what is wrong.
    pub(super) fn check(
        &mut self,
        judge: &mut Judge<'_>,
        place: &str,
        (law, params): (&str, &[(String, String)]),
        mss: Bytes,
    ) {
        let mut law = judge.grant_law(&format!("{place}.law"), law);
        if let Some(law) = &mut law {
            let info = law.info();
            let set = |key: &str, text: &str| law.set(key, text);
            judge.set_params(&format!("{place}.params"), info, params, set);
        }
        if let Some(window) = self.window {
            judge.window(&format!("{place}.window"), window, mss);
        }
        let key = format!("{place}.resend_after");
        let usual = law.map_or(self.resend_after, |law| law.wants().1.resend_after);
        judge.usual(&key, &mut self.resend_after, usual);
        judge.span(&key, self.resend_after);
    }
}

impl Transport {
    /// What the law of receiving hosts needs; `None` where senders have the law.
    pub fn grant_needs(&self) -> Option<GrantNeeds> {
        self.receiver_driven()?;
        GrantParams::new(&self.law).ok().map(|law| law.wants().1)
    }

    /// The paths of this transport's packets must be those that its law needs.
    pub(crate) fn check_paths(&self, judge: &mut Judge<'_>, place: &str, usual: Routing) {
        let Some(needs) = self.grant_needs() else { return };
        let routing = self.routing.unwrap_or(usual);
        if needs.paths == Paths::Spray && routing != Routing::Spray {
            let text = format!(
                "{:?} takes all paths, packet by packet; write {place}.routing = \"spray\"",
                self.law
            );
            let key = if self.routing.is_some() { "routing" } else { "law" };
            judge.say(&format!("{place}.{key}"), text);
        }
    }
}

impl Judge<'_> {
    /// The law of receiving hosts of this name with its published defaults, or a sentence.
    pub(super) fn grant_law(&mut self, path: &str, law: &str) -> Option<GrantParams> {
        let known = GrantParams::new(law).ok();
        if known.is_none() {
            let names = || LAWS.iter().map(|law| law.name);
            let close = did_you_mean(law, names());
            let text = if forebay_laws::flow::LAWS.iter().any(|flow| flow.name == law) {
                let names = or_list(names());
                format!("{law:?} is a law of senders; write {names}, or kind = \"tcp\" or \"rdma\"")
            } else {
                format!("no law of receivers is called {law:?}; write {}{close}", or_list(names()))
            };
            self.say(path, text);
        }
        known
    }
}
