//! `pause`: ingress ports that pause their peer instead of dropping, and the accounts that follow for each port.

use crate::SettingsTable;
use forebay_units::{BitsPerSec, Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pause by the ingress ports of a switch.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pause {
    /// Ingress ports pause, with the default of every setting.
    On,
    /// No ingress port pauses.
    Off,
    /// All lossless classes have the same settings.
    #[serde(untagged)]
    Alike(AlikePause),
    /// Each entry has the settings of its classes.
    #[serde(untagged)]
    ByClass(Vec<ClassPause>),
}

/// Settings of all ingress accounts. Each ingress port has a reserve and headroom of its own; the rest of the buffer is shared.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "PauseSettings")]
pub struct AlikePause {
    /// Lossless classes, each with an account of its own at each ingress port and paused one by one (IEEE 802.1Qbb). Packets of
    /// other classes are dropped where buffer.alpha leaves no room. Default: one account for all classes, paused together (IEEE
    /// 802.3x).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 0, max = 7)))]
    pub classes: Option<Vec<u8>>,
    /// Settings of their accounts.
    #[serde(flatten)]
    pub settings: PauseSettings,
}

/// Settings of some lossless classes, paused one by one (IEEE 802.1Qbb). Packets of classes that no entry names are dropped
/// where buffer.alpha leaves no room.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ClassPause {
    /// The classes, below fabric.switch.classes.
    #[schemars(inner(range(min = 0, max = 7)))]
    pub classes: Vec<u8>,
    /// Settings of their accounts.
    #[serde(flatten)]
    pub settings: PauseSettings,
}

/// Settings of an ingress account.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "PauseAccount")]
#[serde(default)]
pub struct PauseSettings {
    /// Share of the pool at which an ingress port pauses its peer (XOFF): "dynamic" is alpha times the free pool, a size is fixed.
    /// Default: "dynamic".
    pub xoff: Xoff,
    /// Factor of the dynamic threshold, above 0. Default: 1/8 at the rate of host_link, doubled for each factor of two that the
    /// port is faster (public HPCC simulator).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Bytes below the threshold at which the port lets its peer resume (XON). Default: 3KB (public HPCC simulator).
    pub resume_offset: Bytes,
    /// Bytes of the buffer that belong to each ingress port alone. Default: 4KB (public HPCC simulator).
    pub reserved: Bytes,
    /// Bytes kept at each ingress port for what still arrives after a pause. "auto" is the most that may arrive: the bytes of twice the
    /// delay and the switch latencies, a pause frame, and three of the largest packets. These packets cross the threshold, delay the
    /// pause frame, and have just begun at the peer. "three-delays" is the bytes of three times the delay (public HPCC simulator).
    /// Default: "auto".
    pub headroom: Headroom,
    /// Whether a headroom below what may arrive is an error. Default: "refuse".
    pub short_headroom: ShortHeadroom,
    /// Reaction of a port of this switch to a class that its peer keeps paused; needs classes. Default: the port waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<Watchdog>,
}

impl PauseSettings {
    /// The settings of a port that nothing says more about. Reserve and resume offset are the public HPCC simulator's.
    const USUAL: Self = Self {
        xoff: Xoff::Dynamic,
        alpha: None,
        resume_offset: Bytes::new(3_000),
        reserved: Bytes::new(4_000),
        headroom: Headroom::Auto,
        short_headroom: ShortHeadroom::Refuse,
        watchdog: None,
    };
}

impl Default for PauseSettings {
    fn default() -> Self {
        Self::USUAL
    }
}

/// Threshold of an ingress port's share of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Xoff {
    /// Alpha times the free pool.
    Dynamic,
    /// A fixed size.
    #[serde(untagged)]
    Fixed(Bytes),
}

/// Bytes kept for what arrives after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Headroom {
    /// The most that may arrive after a pause.
    Auto,
    /// The bytes that the cable carries in three times its delay.
    ThreeDelays,
    /// So many bytes.
    #[serde(untagged)]
    Fixed(Bytes),
}

/// Whether a headroom below what may arrive is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShortHeadroom {
    /// The scenario is refused.
    Refuse,
    /// The scenario runs with a warning, and packets may be lost.
    Warn,
}

/// Reaction of a port to a class that its peer keeps paused; it ends when the peer resumes the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Watchdog {
    /// Time for which the class has to be paused without a break; switches take 100 ms to 5 s.
    pub after: Span,
    /// Fate of the packets of that class. Default: "drop".
    #[serde(default)]
    pub action: WatchdogAction,
}

/// Fate of packets of a class whose watchdog has fired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogAction {
    /// All packets of the class are dropped, waiting ones and arriving ones.
    #[default]
    Drop,
    /// Packets of the class are sent in spite of the pause.
    Ignore,
}

/// A list of no classes.
pub const PAUSES_NOTHING: &str =
    "pauses nothing; write the classes that must not be dropped, for instance [3]";

impl Pause {
    /// Returns the settings if a port pauses by them.
    pub fn on(&self) -> Option<&Self> {
        (*self != Self::Off).then_some(self)
    }

    /// Classes that are paused one by one, a bit each; `None`: all together.
    pub fn classes(&self) -> Option<u8> {
        match self {
            Self::On | Self::Off => None,
            Self::Alike(all) => all.classes.as_deref().map(mask),
            Self::ByClass(all) => Some(all.iter().fold(0, |any, one| any | mask(&one.classes))),
        }
    }

    /// Settings of the account of a class, if a pause may stop it.
    pub fn of(&self, class: u8) -> Option<&PauseSettings> {
        match self {
            Self::Off => None,
            Self::On => Some(&PauseSettings::USUAL),
            Self::Alike(AlikePause { classes, settings }) => {
                classes.as_ref().is_none_or(|of| of.contains(&class)).then_some(settings)
            }
            Self::ByClass(all) => {
                all.iter().find(|one| one.classes.contains(&class)).map(|one| &one.settings)
            }
        }
    }

    /// Accounts of an ingress port, with their class: `None` if there is one for all.
    pub fn accounts(&self) -> impl Iterator<Item = (Option<u8>, &PauseSettings)> {
        let classes = self.classes();
        let counts = move |class: &u8| classes.map_or(*class == 0, |of| of & 1 << class != 0);
        let of = move |class: u8| Some((classes.map(|_| class), self.of(class)?));
        (0..8).filter(counts).filter_map(of)
    }

    /// Spells out `on`, and says what is wrong with the settings at `path`.
    pub fn check(&mut self, table: &mut impl SettingsTable, path: &str) {
        match self {
            Self::Off => {}
            Self::On => *self = Self::Alike(AlikePause::default()),
            Self::Alike(AlikePause { classes, settings }) => {
                settings.check(table, path);
                if classes.is_none() && settings.watchdog.is_some() {
                    let text = "means nothing here; it belongs to pause by class: write classes, for instance [3]";
                    table.wrong(&format!("{path}.watchdog"), text);
                }
            }
            Self::ByClass(all) => {
                let mut paused = 0u8;
                for (i, one) in all.iter().enumerate() {
                    one.check(table, &format!("{path}[{i}]"), &mut paused);
                }
            }
        }
    }
}

/// Account of an ingress port, or of each lossless class there, as the port keeps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IngressAccount {
    /// Bytes of its own.
    pub reserved: Bytes,
    /// Bytes kept for what arrives after a pause; `None`: it does not pause, and drops what has no room.
    pub headroom: Option<Bytes>,
    /// Threshold of its share of the pool.
    pub xoff: Threshold,
    /// The account resumes when its share is this far below the threshold.
    pub resume_offset: Bytes,
}

/// Threshold of an account's share of the pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// So many times the free pool.
    Dynamic(f64),
    /// A fixed size.
    Fixed(Bytes),
}

impl IngressAccount {
    /// Account of what drops, under a dynamic threshold with this factor.
    pub fn lossy(alpha: f64) -> Self {
        Self {
            reserved: Bytes::ZERO,
            headroom: None,
            xoff: Threshold::Dynamic(alpha),
            resume_offset: Bytes::ZERO,
        }
    }
}

impl PauseSettings {
    /// Account at a port of this rate, whose cable has this delay. `arriving`: the most that may arrive after a pause; `alpha`: usual factor of the
    /// dynamic threshold.
    pub fn account(
        &self,
        (rate, delay): (BitsPerSec, Span),
        arriving: impl FnOnce() -> Bytes,
        alpha: f64,
    ) -> IngressAccount {
        IngressAccount {
            reserved: self.reserved,
            headroom: Some(match self.headroom {
                Headroom::Auto => arriving(),
                Headroom::ThreeDelays => rate.bytes_in(delay * 3),
                Headroom::Fixed(bytes) => bytes,
            }),
            xoff: match self.xoff {
                Xoff::Dynamic => Threshold::Dynamic(self.alpha.unwrap_or(alpha)),
                Xoff::Fixed(bytes) => Threshold::Fixed(bytes),
            },
            resume_offset: self.resume_offset,
        }
    }
}

impl ClassPause {
    /// `paused`: a bit for each class of the entries before.
    fn check(&self, table: &mut impl SettingsTable, path: &str, paused: &mut u8) {
        self.settings.check(table, path);
        let path = format!("{path}.classes");
        if self.classes.is_empty() {
            table.say(&path, PAUSES_NOTHING);
        }
        for class in &self.classes {
            if *paused & 1 << class != 0 {
                table.say(&path, format!("has class {class} a second time; write it once"));
            }
            *paused |= 1 << class;
        }
    }
}

impl PauseSettings {
    fn check(&self, table: &mut impl SettingsTable, path: &str) {
        let alpha = format!("{path}.alpha");
        if self.alpha.is_some() && self.xoff != Xoff::Dynamic {
            table.wrong(&alpha, "means nothing here; it belongs to xoff = \"dynamic\"");
        }
        if self.alpha.is_some_and(|alpha| alpha <= 0.0 || alpha > 1e6) {
            table.wrong(&alpha, "is out of range; write a number above 0, for instance 0.125");
        }
        if let Some(watchdog) = self.watchdog {
            let path = format!("{path}.watchdog.after");
            table.short(&path, watchdog.after);
            if watchdog.after == Span::ZERO {
                table.wrong(&path, "ends every pause at once; write for instance \"200ms\"");
            }
        }
    }
}

/// A bit for each class.
fn mask(classes: &[u8]) -> u8 {
    classes.iter().fold(0, |mask, class| mask | 1 << class)
}
