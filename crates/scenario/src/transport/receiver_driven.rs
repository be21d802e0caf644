//! `kind = "receiver-driven"`: what its law needs of its settings and of the rest.

use super::Transport;
use crate::fabric::{Buffer, Ecn, MarkAt, NotEct, Routing, Switch};
use crate::judge::Judge;
use crate::problem::or_list;
use crate::tree::did_you_mean;
use forebay_laws::credit::CreditParams;
use forebay_laws::grant::{GrantNeeds, GrantParams, TailBoost};
use forebay_laws::{Laws, Paths, RoleName};
use forebay_settings::{LawDefaults, ReceiverDrivenSettings, SettingsTable};
use forebay_units::Bytes;

impl Transport {
    /// Fills in what depends on the law of a receiver-driven transport, and says what is wrong with the table at `place`.
    pub(super) fn check_receiver_driven(
        keys: &mut ReceiverDrivenSettings,
        judge: &mut Judge<'_>,
        place: &str,
        (law, params): (&str, &[(String, String)]),
        mss: Bytes,
    ) {
        if let Ok(of_flow) = judge.laws.credit(law) {
            return check_credit(keys, judge, place, (law, of_flow, params), mss);
        }
        let mut law = judge.grant_law(&format!("{place}.law"), law);
        if let Some(law) = &mut law {
            judge.set_params(&format!("{place}.params"), law, params);
        }
        let facts = law.map(|law| law.facts());
        let defaults = facts.map(|facts| LawDefaults {
            resend_after: facts.needs.resend_after,
            max_retries: facts.needs.tries,
            priorities: facts.needs.classes,
        });
        keys.check(&mut judge.table(place), mss, defaults);
        let boosts_tail = facts.is_some_and(|facts| facts.tail_boost != TailBoost::Off);
        if boosts_tail && keys.priorities == 1 {
            let text = "boosts the end of messages into a higher class, and with one priority there is none; leave tail_boost out, or write more priorities";
            judge.say(&format!("{place}.params"), text);
        }
        let granted = keys.priorities.saturating_sub(keys.unscheduled_priorities.unwrap_or(1));
        let active = facts.and_then(|facts| facts.active);
        if let Some(active) = active.filter(|active| keys.priorities > 1 && *active > granted) {
            let text = format!(
                "lets {active} messages send at a time, and at most {granted} of {} priorities are for granted data; let {granted} send, or write more priorities",
                keys.priorities
            );
            judge.say(&format!("{place}.params"), text);
        }
    }

    /// What the law of receiving hosts needs; `None` where senders have the law.
    pub fn grant_needs(&self, laws: &Laws) -> Option<GrantNeeds> {
        self.receiver_driven()?;
        laws.grant(&self.law).ok().map(|law| law.wants().1)
    }

    /// Switches have a class for each priority of data.
    pub(crate) fn check_priorities(&self, judge: &mut Judge<'_>, place: &str, classes: u8) {
        let Some(keys) = self.receiver_driven() else { return };
        let needed = self.class + keys.priorities;
        if keys.priorities > 1 && needed > classes {
            let text = format!(
                "{} from class {} up need {needed} classes; write fabric.switch.classes = {needed}, or fewer priorities",
                keys.priorities, self.class
            );
            judge.say(&format!("{place}.priorities"), text);
        }
    }

    /// Where the law learns of losses from headers, and not from probes, no port drops a packet of data whole.
    pub(crate) fn check_trims(&self, judge: &mut Judge<'_>, place: &str, switch: &Switch) {
        let class = self.class;
        let trimmed = switch.class_trims()[usize::from(class & 7)].is_some();
        let limits = switch.limits.iter().any(|one| one.class == class);
        let selective_drop = self.receiver_driven().is_some_and(|keys| keys.selective_drop);
        let endless = switch.buffer == Buffer::None && switch.port_limit.is_none() && !limits;
        if self.grant_needs(judge.laws).is_some_and(|needs| needs.trims)
            && !trimmed
            && !endless
            && !selective_drop
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
    pub(crate) fn check_selective_drop(&self, judge: &mut Judge<'_>, place: &str, ecn: &Ecn) {
        if !self.receiver_driven().is_some_and(|keys| keys.selective_drop) {
            return;
        }
        let priorities = self.receiver_driven().map_or(1, |keys| keys.priorities.max(1));
        let classes: Vec<u8> = (self.class..self.class.saturating_add(priorities)).collect();
        let drops = |class: &u8| {
            let rule = ecn.of_class(*class).or(ecn.of_port());
            rule.is_some_and(|rule| rule.not_ect == NotEct::Drop && rule.at == MarkAt::Enqueue)
        };
        if !classes.iter().all(drops) {
            let text = format!(
                "is about packets that switches drop first; write fabric.switch.ecn = [{{ classes = {classes:?}, k = \"6KB\", not_ect = \"drop\", ect = \"pass\" }}]",
            );
            judge.say(&format!("{place}.selective_drop"), text);
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
        if needs.paths == Paths::Spray && !routing.is_per_packet() {
            let text = format!(
                "{:?} takes all paths, packet by packet; write {place}.routing = \"spray\", or \"source\"",
                self.law
            );
            judge.say(&format!("{place}.{key}"), text);
        }
    }
}

/// Says what is wrong with the keys of a transport under a law of credits.
fn check_credit(
    keys: &ReceiverDrivenSettings,
    judge: &mut Judge<'_>,
    place: &str,
    (law, mut of_flow, params): (&str, CreditParams, &[(String, String)]),
    mss: Bytes,
) {
    judge.set_params(&format!("{place}.params"), &mut of_flow, params);
    if keys.max_retries > 0 {
        let text = format!(
            "means nothing under {law:?}, whose senders request credits for ever; leave it out"
        );
        judge.say(&format!("{place}.max_retries"), text);
    }
    match keys.window {
        Some(window) if keys.selective_drop => judge.table(place).window("window", window, mss),
        Some(_) => {
            let text = format!(
                "means nothing under {law:?}, where each packet has a credit; leave it out, or write {place}.selective_drop = true"
            );
            judge.say(&format!("{place}.window"), text);
        }
        None => {}
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
