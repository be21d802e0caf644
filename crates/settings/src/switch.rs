//! `[fabric.switch]`: buffers, classes and what else switches do beyond forwarding.

use crate::{CreditClass, Ecn, EcnMarking, Hierarchical, Pause, QueueLength, SettingsTable};
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All that a switch does beyond forwarding.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct Switch {
    /// Time from the last bit of a packet to its place in the egress queue; part of the lookahead. Default: 0ns, as in the public
    /// HPCC simulator.
    pub latency: Span,
    /// Buffer shared by all ports, or "none" for port limits alone. Default: 32MB under a dynamic threshold with
    /// alpha 1 (HPCC, SIGCOMM 2019, for the size; Choudhury and Hahne 1998 for the threshold); "none" where port_limit
    /// is given.
    pub buffer: Buffer,
    /// Limit of each port's queue, in bytes or packets. Of the packet in transmission, bytes count as far as they are not sent
    /// yet, and packets count it as a whole; with release = "start" it counts in neither. Default: none beyond the shared
    /// buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_limit: Option<QueueLength>,
    /// Limits of the queues of some classes at each port, in addition to port_limit. A packet beyond the limit of its class is dropped or
    /// trimmed. With limits, the queue of a class decides on its marks. Lossless classes (fabric.switch.pause) have none. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ClassLimit>,
    /// Whether a trimmed packet goes back to its source, once, if the queue of its new class is full. Otherwise it is dropped. Only data
    /// of transport "receiver-driven" names its source. Default: false.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub return_to_sender: bool,
    /// Congestion marks by the queue of the port, "off", or a list of marks by the queues of classes. Transports without ECN are
    /// never marked. Default: a step at 30KB for each 10Gbps of the port's rate, the convention of the public HPCC simulator for
    /// DCTCP, and never below 30KB, which the DCTCP paper takes at 1Gbps.
    pub ecn: Ecn,
    /// Number of classes. Classes without a weight have strict priority, the highest first. Default: 1.
    #[schemars(range(min = 1, max = 8))]
    pub classes: u8,
    /// Classes that share what strict classes leave, by weight: deficit round robin, as the bandwidth groups (ETS) of IEEE 802.1Qaz.
    /// Each is marked by its own queue. NICs stay strict. Default: all classes are strict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<ClassWeight>,
    /// A metered class for the credits of a transport, at every switch port and host NIC. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credits: Option<CreditClass>,
    /// Weighted round robin: turns that classes 1 and 0 take, in packets, below strict classes. NDP has ten headers go for one data packet. Default: both are
    /// strict, or have weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrr: Option<Turns>,
    /// Factor of the units of INT records at all ports: bytes sent in 128 B times this, queues in 80 B times this, 1 to 1000 (`INT_MULTI` of
    /// the public HPCC simulator). Default: at each port its rate over 25 Gb/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub int_multi: Option<u16>,
    /// Keys of all ports.
    #[serde(flatten)]
    pub ports: PortRules,
    /// Queues by destination at the switches of racks, credits between racks, and a law that sets the rates of flows of law "explicit"
    /// (HierCC). Default: no such queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hierarchical: Option<Hierarchical>,
    /// Whether ingress ports pause the sender at the other end of their cable instead of dropping packets. They pause all classes at once
    /// (IEEE 802.3x link pause) or class by class (IEEE 802.1Qbb priority flow control). A list gives classes settings of their own.
    /// Default: "off".
    pub pause: Pause,
}

impl Default for Switch {
    fn default() -> Self {
        Self {
            latency: Span::ZERO,
            buffer: Buffer::default(),
            port_limit: None,
            limits: Vec::new(),
            return_to_sender: false,
            ecn: Ecn::default(),
            classes: 1,
            weights: Vec::new(),
            credits: None,
            wrr: None,
            int_multi: None,
            ports: PortRules::default(),
            hierarchical: None,
            pause: Pause::Off,
        }
    }
}

/// What each port of a switch obeys, as its file says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct PortRules {
    /// When a packet stops counting towards queue and buffer. Default: "fluid".
    pub release: Release,
}

/// Buffer of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Buffer {
    /// Ports have their own limits only.
    None,
    /// All ports share one pool.
    #[serde(untagged)]
    Shared(SharedBuffer),
}

impl Default for Buffer {
    /// The buffer of a switch in the evaluation of HPCC (SIGCOMM 2019).
    fn default() -> Self {
        let size = Bytes::new(32_000_000);
        Self::Shared(SharedBuffer {
            size,
            policy: Policy::DynamicThreshold,
            alpha: Some(ALPHA),
            threshold: PoolThreshold::Port,
        })
    }
}

/// One pool of memory for all ports of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct SharedBuffer {
    /// Size of the pool, one packet or more.
    pub size: Bytes,
    /// Rule by which queues share the pool. Default: "dynamic-threshold".
    #[serde(default)]
    pub policy: Policy,
    /// Under dynamic-threshold, a queue may grow to alpha times the free pool (Choudhury and Hahne); above 0. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Queue that the rule is about: all that waits at a port, or the queue of a class there. Default: "port".
    #[serde(default)]
    pub threshold: PoolThreshold,
}

/// Queue that the rule of a shared buffer is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolThreshold {
    /// All classes of a port together.
    #[default]
    Port,
    /// Each class of a port separately.
    Queue,
}

/// Rule by which queues share a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// A queue may grow to alpha times the free pool.
    #[default]
    DynamicThreshold,
    /// A queue may grow to all of the free pool.
    Shared,
    /// Nothing is shared: each port has an equal part of the pool to itself.
    Static,
}

/// Limit of the queue of a class.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ClassLimit {
    /// The class, below fabric.switch.classes.
    #[schemars(range(min = 0, max = 7))]
    pub class: u8,
    /// Most that the queue holds, in bytes or packets: one packet or more.
    pub size: QueueLength,
    /// Fate of a packet beyond the limit: "drop", or a table that says how data is trimmed (NDP). Default: "drop".
    #[serde(default, skip_serializing_if = "OverLimit::drops")]
    pub over: OverLimit,
}

/// Fate of a packet beyond the limit of its class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverLimit {
    /// The packet is dropped.
    #[default]
    Drop,
    /// Data is trimmed; all else is dropped.
    #[serde(untagged)]
    Trim(Trim),
}

impl OverLimit {
    fn drops(&self) -> bool {
        self == &Self::Drop
    }
}

/// Trimming: the payload of a data packet that finds its queue full is cut off, and its header joins another class. A header is never
/// trimmed again (Handley et al., NDP, SIGCOMM 2017).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Trim {
    /// Size of a trimmed packet: its header. At least the header of every transport, and less than a full packet.
    pub trim_to: Bytes,
    /// Class of the header, above the class of the data.
    #[schemars(range(min = 1, max = 7))]
    pub class: u8,
    /// Probability that the packet which finds the queue full is trimmed, rather than the newest one in the queue. Default: 0.5.
    #[serde(default = "fair")]
    #[schemars(range(min = 0, max = 1))]
    pub coin: f64,
}

/// A fair coin.
fn fair() -> f64 {
    0.5
}

/// Share of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ClassWeight {
    /// The class, below fabric.switch.classes.
    #[schemars(range(min = 0, max = 7))]
    pub class: u8,
    /// Part of the class in the sum of all weights of classes that have something to send.
    #[schemars(range(min = 1, max = 100))]
    pub weight: u8,
}

/// Turns of two classes, as long as both have something to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Turns {
    /// Packets of class 1 in a turn.
    #[schemars(range(min = 1, max = 255))]
    pub high: u8,
    /// Packets of class 0 in a turn.
    #[schemars(range(min = 1, max = 255))]
    pub low: u8,
}

/// When a packet stops counting towards its queue and the shared buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// A packet counts byte by byte as it is sent.
    #[default]
    Fluid,
    /// A packet stops counting at the start of its transmission.
    Start,
}

/// Factor of the dynamic threshold for lossy traffic: Choudhury and Hahne's usual one.
const ALPHA: f64 = 1.0;

impl Switch {
    /// The pool that ports share, if there is one.
    pub fn shared_buffer(&self) -> Option<SharedBuffer> {
        match self.buffer {
            Buffer::Shared(pool) => Some(pool),
            Buffer::None => None,
        }
    }

    /// Weights by class; 0: the class is strict.
    pub fn class_weights(&self) -> [u8; 8] {
        let mut weights = [0; 8];
        for one in &self.weights {
            weights[usize::from(one.class & 7)] = one.weight;
        }
        weights
    }

    /// Limits by class.
    pub fn class_limits(&self) -> [Option<QueueLength>; 8] {
        let of = |class| self.limits.iter().find(|one| usize::from(one.class) == class);
        core::array::from_fn(|class| of(class).map(|one| one.size))
    }

    /// Packets in a turn of each class; 0: it takes none.
    pub fn class_turns(&self) -> [u8; 8] {
        let Turns { high, low } = self.wrr.unwrap_or(Turns { high: 0, low: 0 });
        [low, high, 0, 0, 0, 0, 0, 0]
    }

    /// How data of each class is trimmed.
    pub fn class_trims(&self) -> [Option<Trim>; 8] {
        let mut trims = [None; 8];
        for one in &self.limits {
            if let OverLimit::Trim(trim) = one.over {
                trims[usize::from(one.class & 7)] = Some(trim);
            }
        }
        trims
    }

    /// Marks by the queue of each class alone.
    pub fn class_ecn(&self) -> [Option<EcnMarking>; 8] {
        core::array::from_fn(|class| self.ecn.of_class(class as u8))
    }

    /// Fills in the defaults that depend on other keys, and says what is wrong with the table. `ports` counts the ports of the switch that has most;
    /// `packet`: a full packet.
    pub fn check(
        &mut self,
        table: &mut impl SettingsTable,
        ports: impl FnOnce() -> u64,
        packet: Bytes,
    ) {
        table.delay("latency", self.latency);
        table.holds_a_packet("port_limit", self.port_limit, packet);
        let trims = self.limits.iter().any(|one| !one.over.drops());
        if (self.port_limit.is_some() || trims) && !table.given("buffer") {
            self.buffer = Buffer::None;
        }
        self.check_limits(table, packet);
        self.check_buffer(table, ports, packet);
        if trims && self.shared_buffer().is_some() {
            let text =
                "would drop packets before their class could trim them; write buffer = \"none\"";
            table.say("buffer", text);
        }
        self.ecn.check(table, self.classes);
        self.check_weights(table);
        if let Some(hierarchical) = &mut self.hierarchical {
            hierarchical.check(table, packet);
        }
        self.pause.check(table, "pause");
    }

    fn check_buffer(
        &mut self,
        table: &mut impl SettingsTable,
        ports: impl FnOnce() -> u64,
        packet: Bytes,
    ) {
        let Buffer::Shared(pool) = &mut self.buffer else { return };
        let (size, alpha) = ("buffer.size", "buffer.alpha");
        table.holds_a_packet(size, Some(QueueLength::Bytes(pool.size)), packet);
        let pauses = !matches!(self.pause, Pause::Off);
        if pool.threshold == PoolThreshold::Queue
            && (pauses || pool.policy != Policy::DynamicThreshold)
        {
            let text = "\"queue\" means nothing here; it belongs to policy \"dynamic-threshold\" without pause";
            table.say("buffer.threshold", text);
        }
        match (pool.policy, pool.alpha) {
            (Policy::DynamicThreshold, Some(factor)) if factor <= 0.0 || factor > 1e6 => {
                table.wrong(alpha, "is out of range; write a number above 0, for instance 1");
            }
            (Policy::DynamicThreshold, _) => _ = pool.alpha.get_or_insert(ALPHA),
            (Policy::Shared | Policy::Static, Some(_)) => {
                let text = "means nothing here; it belongs to policy \"dynamic-threshold\"";
                table.wrong(alpha, text);
            }
            _ => {}
        }
        if pool.policy != Policy::Static {
            return;
        }
        if self.port_limit.is_some() {
            let text = "and the policy \"static\" both limit a port; write one of them";
            table.wrong("port_limit", text);
        }
        let share = Bytes::new(pool.size.get() / ports());
        self.port_limit = Some(QueueLength::Bytes(share));
        self.buffer = Buffer::None;
        table.holds_a_packet(size, self.port_limit, packet);
    }

    fn check_limits(&self, table: &mut impl SettingsTable, packet: Bytes) {
        for (i, one) in self.limits.iter().enumerate() {
            let path = format!("limits[{i}]");
            let key = &format!("{path}.class");
            table.class_exists(key, one.class, self.classes);
            if self.limits[..i].iter().any(|other| other.class == one.class) {
                table.say(key, format!("{} has a limit already; write it once", one.class));
            }
            table.holds_a_packet(&format!("{path}.size"), Some(one.size), packet);
            if let OverLimit::Trim(trim) = one.over {
                self.check_trim(table, &path, (one, trim), packet);
            }
        }
        let into = self.class_trims().into_iter().flatten().map(|trim| trim.class);
        let limited = |class: &u8| self.limits.iter().any(|one| one.class == *class);
        match (self.return_to_sender, into.clone().next(), into.clone().find(|to| !limited(to))) {
            (true, None, _) => table.say(
                "return_to_sender",
                "is about trimmed packets; write over = { trim_to = \"64B\", class = 1 } in fabric.switch.limits",
            ),
            (true, _, Some(class)) => table.say(
                "return_to_sender",
                format!("needs a limit that headers may meet; write {{ class = {class}, size = \"33KB\" }} in fabric.switch.limits"),
            ),
            _ => {}
        }
    }

    fn check_trim(
        &self,
        table: &mut impl SettingsTable,
        path: &str,
        (limit, trim): (&ClassLimit, Trim),
        packet: Bytes,
    ) {
        let at = |key: &str| format!("{path}.over.{key}");
        table.class_exists(&at("class"), trim.class, self.classes);
        if trim.class <= limit.class {
            let text = format!(
                "{} is not above class {}, whose data headers have to overtake; write {} or more",
                trim.class,
                limit.class,
                limit.class + 1
            );
            table.say(&at("class"), text);
        }
        if trim.trim_to >= packet || trim.trim_to == Bytes::ZERO {
            let text = format!("is not a part of a packet of {packet}; write \"64B\"");
            table.wrong(&at("trim_to"), text);
        }
        let short = match limit.size {
            QueueLength::Bytes(bytes) => bytes < packet.saturating_add(packet),
            QueueLength::Packets(n) => n < 2,
        };
        if short {
            let text = "leaves no packet to trim behind the one in transmission; write \"2 packets\" or more";
            table.wrong(&format!("{path}.size"), text);
        }
    }

    fn check_weights(&mut self, table: &mut impl SettingsTable) {
        let path = "weights";
        for (i, one) in self.weights.iter().enumerate() {
            let key = &format!("{path}[{i}].class");
            table.class_exists(key, one.class, self.classes);
            if self.weights[..i].iter().any(|other| other.class == one.class) {
                table.say(key, format!("{} has a weight already; write it once", one.class));
            }
        }
        if table.given(path) && self.weights.len() < 2 {
            let text = "has fewer than two classes, so there is nothing to share; write two or more, or leave it out";
            table.say(path, text);
        }
        self.weights.sort_by_key(|one| one.class);
        match self.wrr {
            Some(_) if self.classes < 2 => {
                let text = "are of two classes; write fabric.switch.classes = 2";
                table.say("wrr", text);
            }
            Some(_) if !self.weights.is_empty() => {
                let text = "and weights both order classes; write one of them";
                table.say("wrr", text);
            }
            _ => {}
        }
    }
}
