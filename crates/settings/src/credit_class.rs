//! `fabric.switch.credits`: a metered class for the credits of a transport.

use crate::{Fraction, LEAST_FRAME, SettingsTable};
use forebay_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A class for the credits of a transport (ExpressPass), metered by a token bucket at every switch port and host NIC. A packet of the class
/// goes first while tokens last. Otherwise the other classes go, so the port never idles with data waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct CreditClass {
    /// The class: the highest below fabric.switch.classes, and no other than 0.
    #[schemars(range(min = 1, max = 7))]
    pub class: u8,
    /// Part of the link's rate at which tokens come, in bytes of the wire. Default: 84/1622, a credit of 84 B for each packet of 1,538 B in
    /// the other direction (SIGCOMM 2017).
    #[serde(default = "share")]
    pub share: Fraction,
    /// Most tokens, which the bucket has at the start: bytes that leave at the rate of the link after a rest. Default: 168B, two credits
    /// (kaist-ina/ns2-xpass).
    #[serde(default = "burst")]
    pub burst: Bytes,
    /// Most bytes of the wire that wait in the class at a port, without the packet in transmission; a packet beyond is dropped and counted in
    /// dropped_credits. Neither port_limit nor ecn is about them. Default: 672B, eight credits (SIGCOMM 2017).
    #[serde(default = "limit")]
    pub limit: Bytes,
}

fn share() -> Fraction {
    Fraction { of: 84, whole: 1_622 }
}

fn burst() -> Bytes {
    Bytes::new(168)
}

fn limit() -> Bytes {
    Bytes::new(672)
}

impl CreditClass {
    /// Says what is wrong with the keys by themselves. `overhead`: bytes that each packet adds on the wire.
    pub fn check(&self, table: &mut impl SettingsTable, overhead: Bytes) {
        if self.share.of == 0 || self.share.of >= self.share.whole {
            table.wrong("share", "is not a part of a link; write for instance \"84/1622\"");
        }
        let least = LEAST_FRAME.saturating_add(overhead);
        for (key, bytes) in [("burst", self.burst), ("limit", self.limit)] {
            if bytes < least {
                let text = format!("is less than a credit, {least} on the wire; write more");
                table.wrong(key, text);
            }
        }
    }

    /// Whether packets of `class` are metered as credits: this class and all higher ones.
    #[inline]
    pub fn has(&self, class: u8) -> bool {
        class >= self.class
    }
}
