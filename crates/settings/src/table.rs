//! The table of a file that settings were read from.

use crate::QueueLength;
use forebay_units::{Bytes, Span};
use std::fmt::Display;

/// Longest run, delay or interval that a scenario may have: far beyond any use, far below 64 bits.
pub const DAY: Span = Span::from_secs(86_400);

/// Longest cable: a light second and more.
const LONGEST_CABLE: Span = Span::from_secs(10);

/// Longest first window.
const MOST_WINDOW: Bytes = Bytes::new(1 << 32);

/// A table while it is checked: knows which keys were written, and takes sentences about them.
pub trait SettingsTable {
    /// The whole path of the key: `transport.rto_min`. An empty key is the table itself.
    fn path(&self, key: &str) -> String;

    /// Whether the key was written.
    fn given(&self, key: &str) -> bool;

    /// Notes a sentence about the key.
    fn say(&mut self, key: &str, text: impl Into<String>);

    /// Notes a sentence that begins with the value of the key, as it was written.
    fn wrong(&mut self, key: &str, text: impl Display);

    /// Gives a key that was not written its default.
    fn usual<T>(&self, key: &str, value: &mut T, default: T) {
        if !self.given(key) {
            *value = default;
        }
    }

    /// A span must be above zero and at most a day.
    fn span(&mut self, key: &str, span: Span) {
        if span == Span::ZERO {
            self.wrong(key, "does nothing; write a time above 0, for instance \"10us\"");
        }
        self.short(key, span);
    }

    /// A span must be at most a day.
    fn short(&mut self, key: &str, span: Span) {
        if span > DAY {
            self.wrong(key, "is more than a day of virtual time; write at most \"86400s\"");
        }
    }

    /// A probability is from 0 to 1.
    fn share(&mut self, key: &str, share: f64) {
        if !(0.0..=1.0).contains(&share) {
            self.wrong(key, "is not a probability; write a number from 0 to 1");
        }
    }

    /// A class has to be among those of the switches.
    fn class_exists(&mut self, key: &str, class: u8, classes: u8) {
        if class >= classes {
            let needed = class + 1;
            let text =
                format!("{class} needs {needed} classes; write fabric.switch.classes = {needed}");
            self.say(key, text);
        }
    }

    /// A delay is that of a cable.
    fn delay(&mut self, key: &str, delay: Span) {
        if delay > LONGEST_CABLE {
            let text = format!("is longer than any cable; write at most \"{LONGEST_CABLE}\"");
            self.wrong(key, text);
        }
    }

    /// A limit of a queue leaves room for one packet.
    fn holds_a_packet(&mut self, key: &str, limit: Option<QueueLength>, packet: Bytes) {
        let short = match limit {
            Some(QueueLength::Bytes(bytes)) => bytes < packet,
            Some(QueueLength::Packets(n)) => n == 0,
            None => false,
        };
        if let Some(limit) = limit.filter(|_| short) {
            let text = format!(
                "\"{limit}\" holds no packet of {packet}, so nothing would pass; write more"
            );
            self.say(key, text);
        }
    }

    /// A first window holds a packet and is no mistake in the unit.
    fn window(&mut self, key: &str, window: QueueLength, mss: Bytes) {
        let window = window.payload(mss);
        if window < mss {
            let text =
                format!("is less than one segment of {mss}; write for instance \"10 packets\"");
            self.wrong(key, text);
        } else if window > MOST_WINDOW {
            self.wrong(key, "is more than 4GiB; write for instance \"10 packets\"");
        }
    }
}
