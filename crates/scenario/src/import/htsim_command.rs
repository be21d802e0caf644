//! What csg-htsim is told on its command line: transport, window, queues, packets and routes.
//!
//! Source: Broadcom/csg-htsim, `sim/datacenter/main_ndp.cpp` (flags and their defaults, pulls at 0.99 of the link), `sim/ndppacket.h` (64 B
//! of header, and of each ACK, NACK and pull), `sim/compositequeue.cpp` (headers before data, coin, twice the limit for headers),
//! `sim/config.cpp` (`memFromPkt`: the limit of a queue counts no headers).

use super::Fate;
use super::draft::Draft;
use crate::Error;
use crate::tree::shorten;
use forebay_units::{Bytes, Span, Time};

/// Flags of the command line; those that were not given are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Command<'a> {
    /// Which of its programs: `ndp`.
    pub transport: Option<&'a str>,
    /// First window, in packets.
    pub cwnd: Option<u64>,
    /// Limit of a queue, in packets.
    pub queue: Option<u64>,
    /// Payload of a packet, in bytes.
    pub mtu: Option<u64>,
    /// How packets find their paths.
    pub strategy: Option<&'a str>,
    /// Number of paths of a flow.
    pub paths: Option<u64>,
    /// End, in microseconds.
    pub end: Option<u64>,
    /// Rate of links, in Mb/s.
    pub linkspeed: Option<u64>,
    /// Delay of links, in microseconds.
    pub hop_latency: Option<f64>,
    /// Delay of switches, in microseconds.
    pub switch_latency: Option<f64>,
}

/// Links of the fat tree that is made without a topology file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Links {
    /// Gb/s.
    pub speed: u64,
    /// Delay, in ns.
    pub latency: u64,
    /// Delay of a switch, in ns.
    pub switch_latency: u64,
}

/// Header of data, and size of all that carries none.
const HEADER: u64 = 64;
/// Largest packet that is read, and most packets of a window or a queue.
const MOST: u64 = 60_000;
/// Most numbers that a sender here has for its paths.
const MOST_NUMBERS: u64 = 32_768;
/// When a run ends there unless it is told otherwise.
const USUAL_END_US: u64 = 1000;

/// A run of `htsim_ndp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ndp<'a> {
    cwnd: u64,
    queue: u64,
    mtu: u64,
    strategy: Strategy<'a>,
    paths: Option<u64>,
    end_us: Option<u64>,
}

/// A row of [`STRATEGIES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strategy<'a> {
    word: &'a str,
    routing: &'static str,
    fate: Fate,
    text: &'static str,
}

const STRATEGIES: [Strategy<'static>; 5] = [
    Strategy {
        word: "perm",
        routing: "source",
        fate: Fate::Carried,
        text: "a sender takes all its paths in turn, in an order drawn anew for each round; ACKs and pulls draw theirs",
    },
    Strategy {
        word: "rand",
        routing: "spray",
        fate: Fate::Carried,
        text: "a path drawn per packet",
    },
    Strategy {
        word: "pull",
        routing: "source",
        fate: Fate::Changed,
        text: "a sender takes all its paths in turn; there it leaves out bad ones",
    },
    Strategy {
        word: "ecmp",
        routing: "spray",
        fate: Fate::Changed,
        text: "without --paths each switch draws a port per packet; there a sender draws its list of paths once, with repetitions, and takes them in turn",
    },
    Strategy {
        word: "ecmp_host",
        routing: "spray",
        fate: Fate::Changed,
        text: "without --paths each switch draws a port per packet; there switches hash one of so many numbers that the sender takes in turn",
    },
];

impl<'a> Command<'a> {
    /// The links that a topology made of the number of nodes has.
    ///
    /// # Errors
    /// One sentence that names the flag, also where there is a topology file, whose links have rates and delays of their own.
    pub(super) fn links(&self, topology: Option<&str>) -> Result<Links, Error> {
        let given = [
            ("--linkspeed", self.linkspeed.is_some()),
            ("--hop-latency", self.hop_latency.is_some()),
            ("--switch-latency", self.switch_latency.is_some()),
        ];
        if let (Some(file), Some((flag, _))) = (topology, given.iter().find(|(_, given)| *given)) {
            let text = format!("{file} says it for each tier; leave the flag out");
            return Err(Error::one(*flag, text));
        }
        let speed = match self.linkspeed {
            None => 100,
            Some(mbps) if mbps > 0 && mbps.is_multiple_of(1000) => mbps / 1000,
            Some(mbps) => {
                let text = format!(
                    "{mbps} Mb/s is not a whole number of Gb/s; write for instance 100000 for 100 Gb/s"
                );
                return Err(Error::one("--linkspeed", text));
            }
        };
        let ns = |flag: &str, us: Option<f64>, usual: f64| {
            let ns = us.unwrap_or(usual) * 1e3;
            if (0.0..1e9).contains(&ns) && ns.fract() == 0.0 {
                return Ok(ns as u64);
            }
            let text = format!(
                "{} us is not a whole number of nanoseconds; write for instance 0.5 for 500 ns",
                ns / 1e3
            );
            Err(Error::one(flag, text))
        };
        Ok(Links {
            speed,
            latency: ns("--hop-latency", self.hop_latency, 1.0)?,
            switch_latency: ns("--switch-latency", self.switch_latency, 0.0)?,
        })
    }

    /// The transport, if one is named.
    ///
    /// # Errors
    /// One sentence that names the flag.
    pub(super) fn ndp(&self) -> Result<Option<Ndp<'a>>, Error> {
        let wrong = |flag: &str, text: String| Err(Error::one(flag, text));
        let Some(transport) = self.transport else {
            let given = [
                ("--cwnd", self.cwnd.is_some()),
                ("-q", self.queue.is_some()),
                ("--mtu", self.mtu.is_some()),
                ("--strat", self.strategy.is_some()),
                ("--paths", self.paths.is_some()),
                ("--end", self.end.is_some()),
            ];
            return match given.iter().find(|(_, given)| *given) {
                Some((flag, _)) => wrong(flag, "goes with a transport; add --transport ndp".into()),
                None => Ok(None),
            };
        };
        if transport != "ndp" {
            let text = format!(
                "{:?} is not carried over; write ndp, or leave the flag out for DCTCP in its place",
                shorten(transport)
            );
            return wrong("--transport", text);
        }
        let number = |flag: &str, given: Option<u64>, usual: u64, unit: &str| match given {
            Some(n) if n == 0 || n > MOST => {
                let text = format!("{n} {unit} are not possible; write 1 to {MOST}");
                Err(Error::one(flag, text))
            }
            given => Ok(given.unwrap_or(usual)),
        };
        let ndp = Ndp {
            cwnd: number("--cwnd", self.cwnd, 15, "packets")?,
            queue: number("-q", self.queue, 15, "packets")?,
            mtu: number("--mtu", self.mtu, 9000, "bytes")?,
            strategy: strategy(self.strategy)?,
            paths: self.paths,
            end_us: self.end,
        };
        if ndp.queue == 1 {
            return wrong("-q", "1 packet has no room for its header; write 2 or more".into());
        }
        for (flag, given, unit) in [("--paths", self.paths, "paths"), ("--end", self.end, "us")] {
            if let Some(n) = given.filter(|n| *n == 0 || *n > i32::MAX as u64) {
                let text = format!("{n} {unit} are not possible; write 1 to {}", i32::MAX);
                return wrong(flag, text);
            }
        }
        Ok(Some(ndp))
    }
}

fn strategy(word: Option<&str>) -> Result<Strategy<'_>, Error> {
    let known = || STRATEGIES.map(|s| s.word).join(", ");
    let wrong = |text: String| Error::one("--strat", text);
    let word = word.ok_or_else(|| wrong(format!("is missing; write one of {}", known())))?;
    STRATEGIES.into_iter().find(|s| s.word == word).ok_or_else(|| {
        wrong(format!("{:?} is not carried over; write one of {}", shorten(word), known()))
    })
}

impl Ndp<'_> {
    /// The size of a flow there: whole packets.
    pub fn size(&self, size: u64) -> u64 {
        size.div_ceil(self.mtu).saturating_mul(self.mtu)
    }

    /// When the run ends, if the command says so.
    pub fn end(&self) -> Option<Time> {
        self.end_us.map(|us| Time::ZERO.saturating_add(Span::from_us(us)))
    }

    /// Packets that a queue holds, the one in transmission as a whole: all packets have the same size there.
    fn packets(&self) -> u64 {
        self.queue * self.mtu / (self.mtu + HEADER)
    }

    /// How many numbers a sender has for paths that are drawn once, if that is its strategy and the command says it.
    fn numbers(&self) -> Option<u64> {
        let draws = matches!(self.strategy.word, "ecmp" | "ecmp_host");
        self.paths.filter(|paths| draws && *paths <= MOST_NUMBERS)
    }

    /// Switches and transport.
    pub fn draw(&self, draft: &mut Draft) {
        let (low, mtu) = (self.queue * self.mtu, self.mtu);
        let (routing, numbers) = match self.numbers() {
            Some(numbers) => ("source", format!(", path_numbers = {numbers}")),
            None => (self.strategy.routing, String::new()),
        };
        draft.fabric.push(format!("routing = \"{routing}\""));
        draft.switch.extend([
            "classes = 2\nbuffer = \"none\"\necn = \"off\"".to_string(),
            format!(
                "limits = [\n    {{ class = 0, size = \"{} packets\", over = {{ trim_to = \"{HEADER}B\", class = 1 }} }},\n    {{ class = 1, size = \"{}\" }},\n]",
                self.packets(),
                Bytes::new(2 * low)
            ),
        ]);
        draft.transport.push(format!(
            "kind = \"receiver-driven\"\nlaw = \"ndp\"\nwindow = \"{} packets\"\nmss = \"{mtu}B\"\nheader = \"{HEADER}B\"\nack_size = \"{HEADER}B\"\nack_class = 1\nparams = {{ known_size = false{numbers} }}",
            self.cwnd
        ));
        self.explain(draft);
    }

    fn explain(&self, draft: &mut Draft) {
        let Self { cwnd, queue, mtu, strategy, .. } = *self;
        let (low, wire) = (queue * mtu, mtu + HEADER);
        draft.note(
            "--cwnd",
            Fate::Carried,
            format!("{cwnd} packets leave unasked, then one per pull; pulls at 0.99 of the link"),
        );
        draft.note("--mtu", Fate::Carried, format!("{wire} B per packet, no wire overhead; sizes of flows in whole packets; ACKs, NACKs, pulls and headers of {HEADER} B"));
        draft.note("-q", Fate::Carried, format!("{low} B of data at each port, {} packets with their headers; twice that of headers and control, which go first", self.packets()));
        match self.numbers() {
            Some(numbers) => {
                let text = format!(
                    "{}: a sender takes {numbers} numbers in turn, each of which stands for a path that was drawn once; ACKs and pulls draw theirs",
                    strategy.word
                );
                draft.note("--strat", Fate::Carried, text);
                draft.note("--paths", Fate::Carried, format!("{numbers} numbers"));
            }
            None => {
                let text = format!("{}: {}", strategy.word, strategy.text);
                draft.note("--strat", strategy.fate, text);
                if let Some(paths) = self.paths {
                    draft.note("--paths", Fate::Left, format!("{paths}: all paths are taken"));
                }
            }
        }
        match self.end_us {
            Some(end) => draft.note("--end", Fate::Carried, format!("{end} us")),
            None => draft.note(
                "--end",
                Fate::Changed,
                format!("not given: the run ends with its last flow; there at {USUAL_END_US} us"),
            ),
        }
        draft.note("settings", Fate::Changed, "senders to one host are pulled in the order of their first packets; there in that of their ids");
        draft.note("settings", Fate::Changed, "a packet whose header is dropped too is requested after transport.resend_after; there nothing repairs it");
    }
}
