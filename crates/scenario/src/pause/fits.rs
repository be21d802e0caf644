//! Whether the buffer can hold what pause has to keep, and whether all say the same of it.

use super::PauseSetup;
use crate::fabric::{Fabric, Override, PAUSES_NOTHING, Pause};
use crate::judge::Judge;
use crate::plan::{Plan, matches};
use crate::quantity::Measure;
use crate::scenario::Scenario;

/// Every switch that pauses must have room for what its ingress ports keep, and nothing else that drops.
pub(crate) fn check(judge: &mut Judge<'_>, scenario: &Scenario, plan: &Plan) {
    judge.nics_that_pause(scenario, plan);
    if let Some(pausing) = PauseSetup::of(scenario, plan) {
        judge.paused_classes(&scenario.fabric);
        judge.headroom(&scenario.fabric, &pausing);
        judge.pool_of_pauses(scenario, &pausing);
    }
}

impl Judge<'_> {
    /// Classes that pause have to exist, and to be the same everywhere.
    fn paused_classes(&mut self, fabric: &Fabric) {
        let Fabric { switch, overrides, .. } = fabric;
        let of_override = |(i, o): (usize, &Override)| {
            o.pause.as_ref()?.on()?;
            Some(written(fabric, Some(i)))
        };
        let own = switch.pause.on().map(|_| written(fabric, None));
        let all: Vec<_> =
            own.into_iter().chain(overrides.iter().enumerate().filter_map(of_override)).collect();
        for written in &all {
            let path = written.classes();
            let classes = written.pause.classes();
            match classes {
                Some(0) => self.say(&path, PAUSES_NOTHING),
                Some(mask) => {
                    let highest = mask.ilog2() as u8;
                    let path = format!("{}.classes", written.of_class(Some(highest)));
                    self.class_exists(&path, highest, switch.classes);
                }
                None => {}
            }
            if classes != all[0].pause.classes() {
                let first = all[0].classes();
                let text = format!("is not what {first} says; write the same classes everywhere");
                self.say(&path, text);
            }
        }
    }

    /// Headroom that may be too little is wrong, unless the scenario accepts it.
    fn headroom(&mut self, fabric: &Fabric, pausing: &PauseSetup<'_>) {
        let refused = pausing.shortages().into_iter().rev().filter(|short| !short.allowed);
        let Some(short) = refused.max_by_key(|short| short.needed) else { return };
        let path = format!("{}.headroom", written(fabric, short.by_override).of_class(short.class));
        self.say(
            &path,
            format!(
                "is {} for {}, where {} may arrive after a pause; write at least \"{}\" or \"auto\" (or short_headroom = \"warn\" to see what is lost)",
                short.given.text(),
                short.place,
                short.needed.text(),
                short.needed.text(),
            ),
        );
    }

    /// A NIC that pauses its switch must be heard, and have room for what arrives after that.
    fn nics_that_pause(&mut self, scenario: &Scenario, plan: &Plan) {
        let pausing = PauseSetup::of(scenario, plan);
        for cable in plan.cables.iter().filter(|cable| (cable.a as usize) < plan.hosts) {
            let name = &plan.names[cable.a as usize];
            let Some(memory) = scenario.host.memory_at(name) else { continue };
            let Some(above) = memory.pause_above else { continue };
            let path = self.memory_key(scenario, name, "pause_above");
            let Some(pausing) = pausing else {
                return self.say(
                    &path,
                    "no port of the fabric pauses; write fabric.switch.pause = { classes = [0] }, or leave it out",
                );
            };
            let needed = pausing.headroom(*cable);
            let refused = memory.settings.nic.refuse_below;
            let least = above.saturating_add(needed).saturating_add(refused);
            if memory.settings.nic.buffer < least {
                return self.say(
                    &path,
                    format!(
                        "{} leaves {} of the NIC buffer of {name} for the {} that may arrive after a pause; write nic_buffer = \"{}\" or less here",
                        above.text(),
                        memory.settings.nic.buffer.saturating_sub(above).saturating_sub(refused).text(),
                        needed.text(),
                        least.text(),
                    ),
                );
            }
        }
    }

    /// Where a key of a host's path to memory was written: in an override of that host, or for all.
    fn memory_key(&self, scenario: &Scenario, host: &str, key: &str) -> String {
        let overrides = scenario.host.overrides.iter().enumerate().rev();
        let mut own = overrides.filter(|(_, o)| o.memory.is_some() && matches(&o.place, host));
        let path = own.next().map(|(i, _)| format!("host.override[{i}].memory.{key}"));
        let written = path.filter(|path| self.document.shown(path).is_some());
        written.unwrap_or_else(|| format!("host.memory.{key}"))
    }

    /// The pool holds what all ingress ports keep, and no limit of a queue drops before it is full.
    fn pool_of_pauses(&mut self, scenario: &Scenario, pausing: &PauseSetup<'_>) {
        let (switch, plan) = (&scenario.fabric.switch, pausing.plan);
        if switch.class_trims().iter().any(Option::is_some) {
            return; // refused as a whole, with a sentence of its own
        }
        let limited = scenario.fabric.overrides.iter().position(|o| o.port_limit.is_some());
        if let Some(i) = limited {
            let path = format!("fabric.override[{i}].port_limit");
            self.wrong(&path, "drops what pause is to save; write one of them");
        }
        let limited = scenario.fabric.shapers.iter().position(|s| s.limit.is_some());
        if let Some(i) = limited {
            let path = format!("fabric.shaper[{i}].limit");
            self.wrong(&path, "drops what pause is to save; write one of them");
        }
        let lossless = pausing.classes().unwrap_or(u8::MAX);
        if let Some(i) = switch.limits.iter().position(|one| lossless >> one.class & 1 == 1) {
            let text = format!(
                "{} is lossless, and a limit drops what pause is to save; leave the limit out or the class out of pause",
                switch.limits[i].class
            );
            self.say(&format!("fabric.switch.limits[{i}].class"), text);
        }
        if switch.port_limit.is_some() {
            let path = match self.document.shown("fabric.switch.port_limit") {
                Some(_) => "fabric.switch.port_limit",
                None => "fabric.switch.buffer.policy",
            };
            self.wrong(path, "drops what pause is to save; write pause = { xoff = \"100KB\" } for a limit of each port");
        }
        let needs = pausing.needs();
        let Some(pool) = switch.shared_buffer() else {
            if needs.iter().any(|need| need.dynamic) && switch.port_limit.is_none() {
                self.wrong(
                    "fabric.switch.buffer",
                    "leaves nothing to share out; write a buffer, or pause = { xoff = \"100KB\" }",
                );
            }
            return;
        };
        let Some(worst) = needs.iter().rev().max_by_key(|need| need.kept) else { return };
        if worst.kept > pool.size {
            let each = match pausing.classes().map(u8::count_ones) {
                Some(n) if n > 1 => format!(", each for {n} classes"),
                _ => String::new(),
            };
            let text = format!(
                "of {} cannot hold what the {} ingress ports of {} keep for themselves{each}, {} of headroom and {} of reserve; write at least \"{}\"",
                pool.size.text(),
                worst.ports,
                plan.names[worst.node],
                worst.headroom.text(),
                (worst.kept - worst.headroom).text(),
                worst.kept.text(),
            );
            let path = match self.document.shown("fabric.switch.buffer.size") {
                Some(_) => "fabric.switch.buffer.size",
                None => "fabric.switch.pause",
            };
            self.say(path, format!("the buffer {text}"));
        }
    }
}

/// Settings of pause, and where they were written.
struct PauseKeys<'a> {
    path: String,
    pause: &'a Pause,
}

/// Settings of an override, or of all switches.
fn written(fabric: &Fabric, by_override: Option<usize>) -> PauseKeys<'_> {
    let own = by_override.and_then(|i| Some((i, fabric.overrides.get(i)?.pause.as_ref()?)));
    match own {
        Some((i, pause)) => PauseKeys { path: format!("fabric.override[{i}].pause"), pause },
        None => PauseKeys { path: "fabric.switch.pause".into(), pause: &fabric.switch.pause },
    }
}

impl PauseKeys<'_> {
    /// Where the classes stand.
    fn classes(&self) -> String {
        match self.pause {
            Pause::ByClass(_) => self.path.clone(),
            _ => format!("{}.classes", self.path),
        }
    }

    /// Where the settings of a class stand.
    fn of_class(&self, class: Option<u8>) -> String {
        let (Pause::ByClass(list), Some(class)) = (self.pause, class) else {
            return self.path.clone();
        };
        let entry = list.iter().position(|one| one.classes.contains(&class));
        entry.map_or_else(|| self.path.clone(), |i| format!("{}[{i}]", self.path))
    }
}
