//! `kind = "receiver-driven"`: settings, and what its law needs of the rest.

use super::Transport;
use crate::fabric::{Buffer, Ecn, MarkAt, NotEct, Routing, Switch};
use crate::judge::Judge;
use crate::problem::or_list;
use crate::quantity::QueueLength;
use crate::tree::did_you_mean;
use forebay_laws::credit::CreditParams;
use forebay_laws::grant::{GrantNeeds, GrantParams, TailBoost};
use forebay_laws::{Laws, Paths, RoleName};
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of receiver-driven transports.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(default)]
pub struct ReceiverDriven {
    /// Payload of a round trip at line rate, in packets or in bytes, one packet to 4GiB. A message sends this much unscheduled, and its
    /// receiver keeps this much in flight. Default: what the fastest link of a host carries in the longest round trip of an empty path, in
    /// whole packets, rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<QueueLength>,
    /// Whether unscheduled packets are sent as not ECN-capable (Aeolus). Switches with ecn = { k = "6KB", not_ect = "drop", ect = "pass" } then drop
    /// only these packets. A probe follows the last unscheduled packet, and dropped data is sent again as granted data. With a law of role credit, a
    /// window of data leaves before the first credit. Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub protect: bool,
    /// Time without an arrival after which a receiver requests the missing data of a message. It doubles each time. Default: by law, 1ms for ndp (its
    /// RTO), 2ms for homa.
    pub resend_after: Span,
    /// Failed tries in a row after which a message is given up. A try is a request of the receiver, or a packet that the sender repeats. 0: never, as
    /// with messages of RPCs. Default: by law, 0 for ndp, 5 for homa.
    pub tries: u8,
    /// Number of traffic classes of data, from `class` up. The law chooses among the lower ones for granted data. The size of the message
    /// chooses among the higher ones for unscheduled data. With 1, all data has `class`. Default: by law, 1 for ndp, 8 for homa.
    #[schemars(range(min = 1, max = 8))]
    pub levels: u8,
    /// Number of these classes for unscheduled data. Default: by the share of unscheduled bytes in the run, at least 1 and at most levels
    /// - 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 7))]
    pub unscheduled_levels: Option<u8>,
    /// Largest message of each unscheduled class, the highest class first, ascending. Leave out the lowest class, which takes all larger
    /// messages. Default: equal numbers of unscheduled bytes in each class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cutoffs: Vec<Bytes>,
}

impl Default for ReceiverDriven {
    fn default() -> Self {
        Self {
            window: None,
            protect: false,
            resend_after: Span::from_ms(1),
            tries: 0,
            levels: 1,
            unscheduled_levels: None,
            cutoffs: Vec::new(),
        }
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
        if let Ok(mut of_flow) = judge.laws.credit(law) {
            judge.set_params(&format!("{place}.params"), &mut of_flow, params);
            if self.tries > 0 {
                let text = format!(
                    "means nothing under {law:?}, whose senders request credits for ever; leave it out"
                );
                judge.say(&format!("{place}.tries"), text);
            }
            match self.window {
                Some(window) if self.protect => {
                    judge.window(&format!("{place}.window"), window, mss);
                }
                Some(_) => {
                    let text = format!(
                        "means nothing under {law:?}, where each packet has a credit; leave it out, or write {place}.protect = true"
                    );
                    judge.say(&format!("{place}.window"), text);
                }
                None => {}
            }
            return;
        }
        let mut law = judge.grant_law(&format!("{place}.law"), law);
        if let Some(law) = &mut law {
            judge.set_params(&format!("{place}.params"), law, params);
        }
        if let Some(window) = self.window {
            judge.window(&format!("{place}.window"), window, mss);
        }
        let key = format!("{place}.resend_after");
        let facts = law.map(|law| law.facts());
        let active = facts.and_then(|facts| facts.active);
        let boosts_tail = facts.is_some_and(|facts| facts.tail_boost != TailBoost::Off);
        let needs = facts.map(|facts| facts.needs);
        let usual = needs.map_or(self.resend_after, |needs| needs.resend_after);
        judge.usual(&key, &mut self.resend_after, usual);
        judge.span(&key, self.resend_after);
        let usual = needs.map_or(self.tries, |needs| needs.tries);
        judge.usual(&format!("{place}.tries"), &mut self.tries, usual);
        let usual = needs.map_or(self.levels, |needs| needs.classes);
        judge.usual(&format!("{place}.levels"), &mut self.levels, usual);
        self.check_levels(judge, place);
        if boosts_tail && self.levels == 1 {
            let text = "boosts the end of messages into a higher class, and with one level there is none; leave tail_boost out, or write more levels";
            judge.say(&format!("{place}.params"), text);
        }
        let granted = self.levels.saturating_sub(self.unscheduled_levels.unwrap_or(1));
        if let Some(active) = active.filter(|active| self.levels > 1 && *active > granted) {
            let text = format!(
                "lets {active} messages send at a time, and at most {granted} of {} levels are for granted data; let {granted} send, or write more levels",
                self.levels
            );
            judge.say(&format!("{place}.params"), text);
        }
    }

    /// Classes for what leaves unasked are some of the levels, and each has its messages.
    fn check_levels(&self, judge: &mut Judge<'_>, place: &str) {
        let key = format!("{place}.unscheduled_levels");
        let most = self.levels.saturating_sub(1);
        match self.unscheduled_levels {
            Some(n) if n > most => {
                let text = format!(
                    "{n} of {} levels leave none for granted data; write at most {most}, or more levels",
                    self.levels
                );
                judge.say(&key, text);
            }
            None if !self.cutoffs.is_empty() => {
                let needed = self.cutoffs.len() + 1;
                let text =
                    format!("stands without unscheduled_levels; write {key} = {needed} as well");
                judge.say(&format!("{place}.cutoffs"), text);
            }
            Some(n) if !self.cutoffs.is_empty() && self.cutoffs.len() + 1 != usize::from(n) => {
                let text = format!(
                    "is a list of length {}; write {} sizes, one fewer than unscheduled_levels",
                    self.cutoffs.len(),
                    n - 1
                );
                judge.say(&format!("{place}.cutoffs"), text);
            }
            _ if !self.cutoffs.is_sorted_by(|a, b| a < b) => {
                let text = "does not ascend; write the smallest size first";
                judge.say(&format!("{place}.cutoffs"), text);
            }
            _ => {}
        }
    }
}

impl Transport {
    /// What the law of receiving hosts needs; `None` where senders have the law.
    pub fn grant_needs(&self, laws: &Laws) -> Option<GrantNeeds> {
        self.receiver_driven()?;
        laws.grant(&self.law).ok().map(|law| law.wants().1)
    }

    /// All levels of data are classes of switches.
    pub(crate) fn check_levels(&self, judge: &mut Judge<'_>, place: &str, classes: u8) {
        let Some(keys) = self.receiver_driven() else { return };
        let needed = self.class + keys.levels;
        if keys.levels > 1 && needed > classes {
            let text = format!(
                "{} from class {} up need {needed} classes; write fabric.switch.classes = {needed}, or fewer levels",
                keys.levels, self.class
            );
            judge.say(&format!("{place}.levels"), text);
        }
    }

    /// Where the law learns of losses from headers, and not from probes, no port drops a packet of data whole.
    pub(crate) fn check_trims(&self, judge: &mut Judge<'_>, place: &str, switch: &Switch) {
        let class = self.class;
        let trimmed = switch.class_trims()[usize::from(class & 7)].is_some();
        let limits = switch.limits.iter().any(|one| one.class == class);
        let protect = self.receiver_driven().is_some_and(|keys| keys.protect);
        let endless = switch.buffer == Buffer::None && switch.port_limit.is_none() && !limits;
        if self.grant_needs(judge.laws).is_some_and(|needs| needs.trims)
            && !trimmed
            && !endless
            && !protect
        {
            let text = format!(
                "{:?} learns of losses from headers whose payload a switch cut off; write {{ class = {class}, size = \"8 packets\", over = {{ trim_to = \"{}\", class = {} }} }} in fabric.switch.limits, or fabric.switch.buffer = \"none\" for queues without an end",
                self.law,
                self.header,
                class + 1
            );
            judge.say(&format!("{place}.law"), text);
        }
    }

    /// Packets that may be dropped first need switches that drop them first, by the queue that all data shares.
    pub(crate) fn check_protect(&self, judge: &mut Judge<'_>, place: &str, ecn: &Ecn) {
        if !self.receiver_driven().is_some_and(|keys| keys.protect) {
            return;
        }
        let levels = self.receiver_driven().map_or(1, |keys| keys.levels.max(1));
        let classes: Vec<u8> = (self.class..self.class.saturating_add(levels)).collect();
        let drops = |class: &u8| {
            let rule = ecn.of_class(*class).or(ecn.of_port());
            rule.is_some_and(|rule| rule.not_ect == NotEct::Drop && rule.at == MarkAt::Enqueue)
        };
        if !classes.iter().all(drops) {
            let text = format!(
                "is about packets that switches drop first; write fabric.switch.ecn = [{{ classes = {classes:?}, k = \"6KB\", not_ect = \"drop\", ect = \"pass\" }}]",
            );
            judge.say(&format!("{place}.protect"), text);
        }
    }

    /// The law of receiving hosts with this transport's parameters.
    fn with_params(&self, mut law: GrantParams) -> GrantParams {
        self.params.iter().for_each(|(key, text)| _ = law.set(key, text));
        law
    }

    /// The law of a flow's credits; `None` where there is none.
    pub fn credit_law(&self, laws: &Laws) -> Option<CreditParams> {
        self.receiver_driven()?;
        laws.credit(&self.law).ok()
    }

    /// The paths of this transport's packets must be those that its law needs.
    pub(crate) fn check_paths(&self, judge: &mut Judge<'_>, place: &str, usual: Routing) {
        let routing = self.routing.unwrap_or(usual);
        let key = if self.routing.is_some() { "routing" } else { "law" };
        let Some(needs) = self.grant_needs(judge.laws) else {
            if routing == Routing::Source && self.credit_law(judge.laws).is_none() {
                let text = format!(
                    "senders of {:?} number no paths, as \"source\" needs it; write {place}.routing = \"spray\"",
                    self.law
                );
                judge.say(&format!("{place}.{key}"), text);
            }
            return;
        };
        let law = judge.laws.grant(&self.law).ok().map(|law| self.with_params(law).facts());
        let scores = law.is_some_and(|facts| facts.scores_paths);
        let numbers = law.is_some_and(|facts| facts.path_numbers > 0);
        let of_paths = [("path_penalty", scores), ("path_numbers", numbers)];
        for (key, _) in of_paths.iter().filter(|(_, set)| *set && routing != Routing::Source) {
            let text = format!(
                "{key} is about paths that senders number; write {place}.routing = \"source\", or leave it out"
            );
            judge.say(&format!("{place}.params"), text);
        }
        if scores && numbers {
            let text =
                "path_penalty and path_numbers both say which path is next; leave one of them out";
            judge.say(&format!("{place}.params"), text);
        }
        if needs.paths == Paths::Spray && !matches!(routing, Routing::Spray | Routing::Source) {
            let text = format!(
                "{:?} takes all paths, packet by packet; write {place}.routing = \"spray\", or \"source\"",
                self.law
            );
            judge.say(&format!("{place}.{key}"), text);
        }
    }
}

impl Judge<'_> {
    /// The law of receiving hosts of this name with its published defaults, or a sentence.
    pub(super) fn grant_law(&mut self, path: &str, law: &str) -> Option<GrantParams> {
        let laws = self.laws;
        let known = laws.grant(law).ok();
        if known.is_none() {
            let names = || laws.names(RoleName::Grant).chain(laws.names(RoleName::Credit));
            let close = did_you_mean(law, names());
            let text = if laws.flow(law).is_ok() {
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
