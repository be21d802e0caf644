//! Pause: its settings, and whether the buffer can hold what it has to.

use super::Judge;
use crate::model::{self, Fabric, Headroom, Pause, PauseSettings, Scenario, Watchdog, Xoff};
use crate::pause::Pausing;
use crate::plan::{Plan, matches};
use crate::quantity::{Measure, Qty};
use crate::raw;
use forebay_units::{Bytes, Span};

/// The public HPCC simulator's.
const RESUME_OFFSET: Bytes = Bytes::new(3_000);
/// The public HPCC simulator's.
const RESERVED: Bytes = Bytes::new(4_000);
/// A list of no classes.
const PAUSES_NOTHING: &str =
    "pauses nothing; write the classes that must not be dropped, for instance [3]";

impl Judge<'_> {
    pub(super) fn pause_settings(
        &mut self,
        path: &str,
        pause: Option<&raw::Pause>,
    ) -> Option<Pause> {
        let by_class = |mask: u8, of: PauseSettings| {
            core::array::from_fn(|class| (mask & 1 << class != 0).then_some(of))
        };
        Some(match pause? {
            raw::Pause::Word(raw::PauseWord::Off) => return None,
            raw::Pause::Word(raw::PauseWord::On) => {
                Pause::Link(self.pause_account(path, &raw::PauseAccount::default()))
            }
            raw::Pause::Settings(raw::PauseSettings { classes: Some(classes), account }) => {
                Pause::ByClass(by_class(mask(classes), self.pause_account(path, account)))
            }
            raw::Pause::Settings(raw::PauseSettings { classes: None, account }) => {
                if account.watchdog.is_some() {
                    let text = "means nothing here; it belongs to pause by class: write classes, for instance [3]";
                    self.wrong(&format!("{path}.watchdog"), text);
                }
                Pause::Link(self.pause_account(path, account))
            }
            raw::Pause::ByClass(list) => Pause::ByClass(self.pauses_of_classes(path, list)),
        })
    }

    fn pauses_of_classes(
        &mut self,
        path: &str,
        list: &[raw::ClassPause],
    ) -> [Option<PauseSettings>; 8] {
        let mut all = [None; 8];
        for (i, one) in list.iter().enumerate() {
            let path = format!("{path}[{i}]");
            let account = self.pause_account(&path, &one.account);
            let path = format!("{path}.classes");
            if one.classes.is_empty() {
                self.say(&path, PAUSES_NOTHING);
            }
            for class in &one.classes {
                let place = &mut all[(class & 7) as usize];
                if place.replace(account).is_some() {
                    self.say(&path, format!("has class {class} a second time; write it once"));
                }
            }
        }
        all
    }

    fn pause_account(&mut self, path: &str, s: &raw::PauseAccount) -> PauseSettings {
        let alpha = format!("{path}.alpha");
        let xoff = match (&s.xoff, s.alpha) {
            (Some(raw::Xoff::Fixed(_)), Some(_)) => {
                self.wrong(&alpha, "means nothing here; it belongs to xoff = \"dynamic\"");
                Xoff::Dynamic(None)
            }
            (Some(raw::Xoff::Fixed(Qty(bytes))), None) => Xoff::Fixed(*bytes),
            (_, factor) => Xoff::Dynamic(factor),
        };
        if s.alpha.is_some_and(|alpha| alpha <= 0.0 || alpha > 1e6) {
            self.wrong(&alpha, "is out of range; write a number above 0, for instance 0.125");
        }
        let after = s.watchdog.as_ref().map(|watchdog| watchdog.after.0);
        if let Some(after) = after {
            let path = format!("{path}.watchdog.after");
            self.short(&path, after);
            if after == Span::ZERO {
                self.wrong(&path, "ends every pause at once; write for instance \"200ms\"");
            }
        }
        PauseSettings {
            xoff,
            resume_offset: s.resume_offset.map_or(RESUME_OFFSET, |b| b.0),
            reserved: s.reserved.map_or(RESERVED, |b| b.0),
            headroom: match s.headroom {
                None | Some(raw::Headroom::Word(raw::AutoHeadroom::Auto)) => Headroom::Auto,
                Some(raw::Headroom::Word(raw::AutoHeadroom::ThreeDelays)) => Headroom::ThreeDelays,
                Some(raw::Headroom::Fixed(Qty(bytes))) => Headroom::Fixed(bytes),
            },
            may_be_short: matches!(s.short_headroom, Some(raw::ShortHeadroom::Warn)),
            watchdog: s.watchdog.as_ref().map(|watchdog| Watchdog {
                after: watchdog.after.0,
                drops: !matches!(watchdog.action, Some(raw::WatchdogAction::Ignore)),
            }),
        }
    }

    /// Classes that pause have to exist, and to be the same everywhere.
    fn paused_classes(&mut self, file: &raw::Fabric, scenario: &Scenario) {
        let Fabric { switch, overrides, .. } = &scenario.fabric;
        let of_override =
            |(i, o): (usize, &model::Override)| Some((written(file, Some(i)), o.pause.flatten()?));
        let own = switch.pause.map(|pause| (written(file, None), pause));
        let all: Vec<_> =
            own.into_iter().chain(overrides.iter().enumerate().filter_map(of_override)).collect();
        for (written, pause) in &all {
            let path = written.classes();
            match pause.classes() {
                Some(0) => self.say(&path, PAUSES_NOTHING),
                Some(mask) => {
                    let highest = mask.ilog2() as u8;
                    let path = format!("{}.classes", written.of_class(Some(highest)));
                    self.class_exists(&path, highest, switch.classes);
                }
                None => {}
            }
            let (first, one) = &all[0];
            if pause.classes() != one.classes() {
                let first = first.classes();
                let text = format!("is not what {first} says; write the same classes everywhere");
                self.say(&path, text);
            }
        }
    }

    /// Headroom that may be too little is wrong, unless it was asked for.
    fn headroom(&mut self, file: &raw::Fabric, pausing: &Pausing<'_>) {
        let refused = pausing.shortages().into_iter().rev().filter(|short| !short.allowed);
        let Some(short) = refused.max_by_key(|short| short.needed) else { return };
        let path = format!("{}.headroom", written(file, short.by_override).of_class(short.class));
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
    fn nics(&mut self, scenario: &Scenario, plan: &Plan) {
        let pausing = Pausing::of(scenario, plan);
        for cable in plan.cables.iter().filter(|cable| (cable.a as usize) < plan.hosts) {
            let name = &plan.names[cable.a as usize];
            let Some(memory) = scenario.host.memory_at(name) else { continue };
            let Some(above) = memory.pause_above else { continue };
            let path = self.memory_key(scenario, name, "pause_above");
            let Some(pausing) = pausing else {
                return self.say(
                    &path,
                    "the fabric pauses nobody; write fabric.switch.pause = { classes = [0] }, or leave it out",
                );
            };
            let needed = pausing.headroom(*cable);
            let least = above.saturating_add(needed);
            if memory.settings.nic.buffer < least {
                return self.say(
                    &path,
                    format!(
                        "{} leaves {} of the NIC buffer of {name} for the {} that may arrive after a pause; write nic_buffer = \"{}\" or less here",
                        above.text(),
                        memory.settings.nic.buffer.saturating_sub(above).text(),
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

    /// Every switch that pauses must have room for what its in-ports keep, and nothing else that drops.
    pub(super) fn pause(&mut self, file: &raw::Fabric, scenario: &Scenario, plan: &Plan) {
        self.nics(scenario, plan);
        let Some(pausing) = Pausing::of(scenario, plan) else { return };
        let switch = &scenario.fabric.switch;
        self.paused_classes(file, scenario);
        self.headroom(file, &pausing);
        let limited = scenario.fabric.overrides.iter().position(|o| o.port_limit.is_some());
        if let Some(i) = limited {
            let path = format!("fabric.override[{i}].port_limit");
            self.wrong(&path, "drops what pause is to save; write one of them");
        }
        if switch.port_limit.is_some() {
            let path = match self.document.shown("fabric.switch.port_limit") {
                Some(_) => "fabric.switch.port_limit",
                None => "fabric.switch.buffer.policy",
            };
            self.wrong(path, "drops what pause is to save; write pause = { xoff = \"100KB\" } for a limit of each port");
        }
        let needs = pausing.needs();
        let Some(pool) = switch.shared_buffer else {
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
                "of {} cannot hold what the {} in-ports of {} keep for themselves{each}, {} of headroom and {} of reserve; write at least \"{}\"",
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

/// Settings of pause as they were written, and where.
struct Written<'a> {
    path: String,
    pause: Option<&'a raw::Pause>,
}

/// Those of an override, or of all switches.
fn written(file: &raw::Fabric, by_override: Option<usize>) -> Written<'_> {
    match by_override {
        Some(i) => Written {
            path: format!("fabric.override[{i}].pause"),
            pause: file.overrides.get(i).and_then(|o| o.pause.as_ref()),
        },
        None => Written {
            path: "fabric.switch.pause".into(),
            pause: file.switch.as_ref().and_then(|switch| switch.pause.as_ref()),
        },
    }
}

impl Written<'_> {
    /// Where its classes stand.
    fn classes(&self) -> String {
        match self.pause {
            Some(raw::Pause::ByClass(_)) => self.path.clone(),
            _ => format!("{}.classes", self.path),
        }
    }

    /// Where the settings of a class stand.
    fn of_class(&self, class: Option<u8>) -> String {
        let Some((raw::Pause::ByClass(list), class)) = self.pause.zip(class) else {
            return self.path.clone();
        };
        let entry = list.iter().position(|one| one.classes.contains(&class.into()));
        entry.map_or_else(|| self.path.clone(), |i| format!("{}[{i}]", self.path))
    }
}

/// A bit for each class. The grammar keeps them below 8.
pub(super) fn mask(classes: &[i64]) -> u8 {
    classes.iter().fold(0, |mask, class| mask | 1 << (class & 7))
}
