//! Protocol buffers, as far as a trace needs them: fields of a message, and the packets of Perfetto.

use forebay_units::Time;

/// Fields of one message, one after another.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn key(&mut self, field: u32, kind: u64) {
        self.varint(u64::from(field) << 3 | kind);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(super) fn number(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    pub(super) fn double(&mut self, field: u32, value: f64) {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn text(&mut self, field: u32, text: &str) {
        self.piece(field, text.as_bytes());
    }

    pub(super) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.piece(field, &inner.0);
    }

    fn piece(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }
}

/// Kinds of events on a track.
const BEGIN: u64 = 1;
const END: u64 = 2;
const COUNTER: u64 = 4;

/// The packets of a trace.
#[derive(Default)]
pub(super) struct Packets {
    trace: Message,
    tracks: u64,
}

impl Packets {
    pub(super) fn bytes(self) -> Vec<u8> {
        self.trace.0
    }

    /// A track of its own; `fill` says what it is. Returns its number.
    pub(super) fn track(&mut self, fill: impl FnOnce(&mut Message)) -> u64 {
        self.tracks += 1;
        let number = self.tracks;
        self.packet(|packet| {
            packet.message(60, |track| {
                track.number(1, number);
                fill(track);
            });
        });
        number
    }

    /// A track of slices below another.
    pub(super) fn child(&mut self, parent: u64, name: &str) -> u64 {
        self.track(|track| {
            track.text(2, name);
            track.number(5, parent);
        })
    }

    /// A track of values below another.
    pub(super) fn counter(&mut self, parent: u64, name: &str, unit: &str) -> u64 {
        self.track(|track| {
            track.text(2, name);
            track.number(5, parent);
            track.message(8, |counter| {
                if !unit.is_empty() {
                    counter.text(6, unit);
                }
            });
        })
    }

    pub(super) fn begin(
        &mut self,
        track: u64,
        at: Time,
        name: &str,
        fill: impl FnOnce(&mut Message),
    ) {
        self.event(track, at, BEGIN, |event| {
            event.text(23, name);
            fill(event);
        });
    }

    pub(super) fn end(&mut self, track: u64, at: Time) {
        self.event(track, at, END, |_| {});
    }

    pub(super) fn value(&mut self, track: u64, at: Time, value: f64) {
        self.event(track, at, COUNTER, |event| event.double(44, value));
    }

    fn event(&mut self, track: u64, at: Time, kind: u64, fill: impl FnOnce(&mut Message)) {
        self.packet(|packet| {
            packet.number(8, at.as_ps() / 1000);
            packet.message(11, |event| {
                event.number(9, kind);
                event.number(11, track);
                fill(event);
            });
        });
    }

    /// One packet, of the only sequence there is.
    fn packet(&mut self, fill: impl FnOnce(&mut Message)) {
        self.trace.message(1, |packet| {
            packet.number(10, 1);
            fill(packet);
        });
    }
}
