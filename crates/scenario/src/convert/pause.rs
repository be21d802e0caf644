//! Pause: its settings, and whether the buffer can hold what it has to.

use super::Judge;
use crate::model::{LinkPause, Scenario, Xoff};
use crate::pause::Pausing;
use crate::plan::Plan;
use crate::quantity::{Measure, Qty};
use crate::raw;
use forebay_units::Bytes;

/// The public HPCC simulator's.
const RESUME_OFFSET: Bytes = Bytes::new(3_000);
/// The public HPCC simulator's.
const RESERVED: Bytes = Bytes::new(4_000);

impl Judge<'_> {
    pub(super) fn pause_settings(
        &mut self,
        path: &str,
        pause: Option<&raw::LinkPause>,
    ) -> Option<LinkPause> {
        let default = raw::PauseSettings::default();
        let s = match pause? {
            raw::LinkPause::Word(raw::PauseWord::Off) => return None,
            raw::LinkPause::Word(raw::PauseWord::On) => &default,
            raw::LinkPause::Settings(settings) => settings,
        };
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
        Some(LinkPause {
            xoff,
            resume_offset: s.resume_offset.map_or(RESUME_OFFSET, |b| b.0),
            reserved: s.reserved.map_or(RESERVED, |b| b.0),
            headroom: match s.headroom {
                None | Some(raw::Headroom::Word(raw::AutoHeadroom::Auto)) => None,
                Some(raw::Headroom::Fixed(Qty(bytes))) => Some(bytes),
            },
        })
    }

    /// Every switch that pauses must have room for what its in-ports keep, and nothing else that drops.
    pub(super) fn lossless(&mut self, scenario: &Scenario, plan: &Plan) {
        let Some(pausing) = Pausing::of(scenario, plan) else { return };
        let switch = &scenario.fabric.switch;
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
            let text = format!(
                "of {} cannot hold what the {} in-ports of {} keep for themselves, {} of headroom and {} of reserve; write at least \"{}\"",
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
