//! The file that `forebay-agent run` takes: what to watch, under which law, and what may be throttled.
//!
//! Form and sentences are those of scenarios. What depends on the machine is checked where it is opened.

use crate::failure::Failure;
use crate::law::ladder::Rung;
use crate::law::settings;
use forebay_linux::file;
use forebay_units::{OneLine, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

/// Configuration of the live agent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Config {
    /// What the agent does. The option --mode overrides it. Default: observe.
    #[serde(default)]
    pub mode: Mode,
    /// Time between two readings, from 1ms to 1s. With the option --core from 10us: below 1ms the loop keeps that core busy.
    /// Default: 1ms.
    #[serde(default = "every")]
    pub every: Span,
    /// Time without a sign of life after which the control loop is killed and all throttles are lifted, from 10ms to 10s.
    /// Default: 50ms.
    #[serde(default = "deadline")]
    pub deadline: Span,
    /// Control law.
    #[serde(default)]
    pub law: Law,
    /// Interfaces whose path to memory is watched.
    #[serde(default)]
    pub nic: Vec<Nic>,
    /// Cgroups that may be throttled.
    #[serde(default)]
    pub victim: Vec<Victim>,
    /// BPF object file whose congestion control is registered while the agent runs, relative to this file. Sockets choose it with
    /// TCP_CONGESTION. The simulator runs the same file. Needs Linux 6.4 and mode enforce.
    #[serde(default)]
    pub tcp_object: Option<String>,
    /// Parameters of the object, as scenarios have them in transport.params: ops chooses among several congestion controls; others are global
    /// variables that are const volatile.
    #[serde(default)]
    pub tcp_params: BTreeMap<String, ParamValue>,
    /// Whether TCP-NV, an object that the agent brings along, is registered as congestion control forebay_nv. Default: false.
    #[serde(default)]
    pub tcp_nv: bool,
}

/// Value of a parameter of an object.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ParamValue {
    /// A number.
    Number(i64),
    /// Whether it is set.
    Flag(bool),
    /// A text.
    Text(String),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(of) => of.fmt(f),
            Self::Flag(of) => of.fmt(f),
            Self::Text(of) => f.write_str(of),
        }
    }
}

/// What the agent does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Shows the signals. No law runs.
    #[default]
    Observe,
    /// Runs the law and shows what the law would do.
    DryRun,
    /// Runs the law and throttles as the law decides.
    Enforce,
}

impl Mode {
    /// As a configuration has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::DryRun => "dry-run",
            Self::Enforce => "enforce",
        }
    }
}

/// Control law.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Law {
    /// Name of a law of role host in `forebay laws`. Default: hostcc.
    #[serde(default = "hostcc")]
    pub name: String,
    /// Parameters of the law as texts, by their names in `forebay laws`. A weight also takes "auto", the published time constant.
    /// Default: as published, except both weights auto, stale_after the greater of 50ms and 20 periods, and lease 1s.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

impl Default for Law {
    fn default() -> Self {
        Self { name: hostcc(), params: BTreeMap::new() }
    }
}

/// An interface whose path to memory is watched.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Nic {
    /// Name of the interface, such as eth0.
    pub name: String,
    /// How arriving ECN-capable packets are marked when the law asks for marks, in mode enforce. Default: off.
    #[serde(default)]
    pub echo: Echo,
    /// Share of these packets to mark, from 1% to 100%. Default: 100%.
    #[serde(default = "all")]
    pub share: String,
    /// With echo = "cgroup": cgroup whose packets are marked, as a path below the cgroup v2 mount, such as /web.slice.
    #[serde(default)]
    pub cgroup: Option<String>,
}

impl Nic {
    /// The share in units of 1/65536, rounded down.
    pub fn share(&self) -> Option<u64> {
        let percent: u64 = self.share.strip_suffix('%')?.parse().ok()?;
        (1..=100).contains(&percent).then_some(percent * forebay_abi::WHOLE / 100)
    }
}

/// How arriving packets are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Echo {
    /// No marks.
    #[default]
    Off,
    /// A program on the interface's tcx hook, in Linux 6.6 and later. It ends with the agent.
    Tcx,
    /// A filter on the interface's clsact hook, in Linux 5.8 and later. The filter of a dead agent marks nothing; undo removes it.
    Clsact,
    /// A program on a cgroup, for packets that its sockets are about to receive. It ends with the agent.
    Cgroup,
}

impl Echo {
    /// As a configuration has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Tcx => "tcx",
            Self::Clsact => "clsact",
            Self::Cgroup => "cgroup",
        }
    }
}

/// A cgroup that may be throttled.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Victim {
    /// Path below the cgroup v2 mount, such as /batch.slice. Not the root, not the agent's own cgroup, and no parent of it.
    pub cgroup: String,
    /// Action of each level, weakest first: mb:70% or mb:128Gbps (memory bandwidth), cpu:40% (of all CPUs), freeze. A level keeps
    /// the actions of the levels below it.
    #[schemars(length(min = 1, max = 16))]
    pub ladder: Vec<String>,
}

fn every() -> Span {
    Span::from_ms(1)
}

fn deadline() -> Span {
    Span::from_ms(50)
}

fn all() -> String {
    "100%".into()
}

fn hostcc() -> String {
    "hostcc".into()
}

/// Longest configuration.
const LONGEST: u64 = 1 << 20;

/// The shortest period of a loop that sleeps in between, and of one that spins on a core of its own.
pub const SLEEPS: Span = Span::from_ms(1);
const SPINS: Span = Span::from_us(10);

/// Reads and checks a file, for a loop that has a core of its own or has none.
pub fn load(path: &Path, own_core: bool) -> Result<Config, Failure> {
    let name = path.display().to_string();
    let text = file::read(path, LONGEST)
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
        .map_err(|error| Failure::Input(format!("{name} cannot be read: {error}")))?;
    let mut config = parse(&name, &text, own_core).map_err(Failure::Input)?;
    let beside = |object: String| match path.parent() {
        Some(folder) => folder.join(object).display().to_string(),
        None => object,
    };
    config.tcp_object = config.tcp_object.map(beside);
    Ok(config)
}

/// Checks a text. The error has one sentence for each thing to put right.
pub fn parse(name: &str, text: &str, own_core: bool) -> Result<Config, String> {
    let judge = |config: &Config| problems(config, own_core);
    forebay_scenario::read_as(name, text, judge).map_err(|error| error.to_string())
}

/// Whether this is a path below the cgroup v2 mount; the mount itself is none.
pub fn is_cgroup(path: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    path.starts_with('/')
        && path.split('/').skip(1).all(plain)
        && !path.chars().any(char::is_control)
}

/// Keys and sentences of what the form allows and the agent does not.
fn problems(config: &Config, own_core: bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if !own_core && (SPINS..SLEEPS).contains(&config.every) {
        found.push((
            "every".into(),
            format!(
                "\"{}\" is less than {SLEEPS}, so the loop would keep a core busy; name that core with --core N, or \
                 write {SLEEPS} or more",
                config.every
            ),
        ));
    }
    let mut say = |key: String, text: String| found.push((key, text));
    let mut within = |key: &str, span: Span, least: Span, most: Span| {
        if !(least..=most).contains(&span) {
            say(
                key.into(),
                format!("\"{span}\" is out of bounds; write a time from {least} to {most}"),
            );
        }
    };
    within("every", config.every, SPINS, Span::from_secs(1));
    within("deadline", config.deadline, Span::from_ms(10), Span::from_secs(10));
    if config.deadline < config.every * 4 {
        say(
            "deadline".into(),
            format!(
                "\"{}\" is less than four periods; write at least {}",
                config.deadline,
                config.every * 4
            ),
        );
    }
    for (key, text) in settings::problems(&config.law.name, &config.law.params, config.every) {
        say(key, text);
    }
    if config.tcp_object.is_none() && !config.tcp_params.is_empty() {
        say(
            "tcp_params".into(),
            "is for tcp_object, which is missing; write for instance tcp_object = \"cc.bpf.o\""
                .into(),
        );
    }
    for (i, nic) in config.nic.iter().enumerate() {
        let fits = !nic.name.is_empty()
            && nic.name.len() < 16
            && nic.name.bytes().all(|of| of.is_ascii_graphic() && of != b'/');
        if !fits || nic.name.starts_with('.') {
            say(
                format!("nic[{i}].name"),
                format!(
                    "{:?} is not the name of an interface; write for instance \"eth0\"",
                    nic.name
                ),
            );
        }
        if nic.share().is_none() {
            say(
                format!("nic[{i}].share"),
                format!("{:?} is not a share of packets; write \"1%\" to \"100%\"", nic.share),
            );
        }
        match (nic.echo, &nic.cgroup) {
            (Echo::Cgroup, None) => say(
                format!("nic[{i}].cgroup"),
                "is missing: echo = \"cgroup\" marks the packets of one; write cgroup = \"/web.slice\""
                    .into(),
            ),
            (Echo::Cgroup, Some(path)) if !is_cgroup(path) => {
                let path = OneLine(path);
                say(
                    format!("nic[{i}].cgroup"),
                    format!(
                        "\"{path}\" is not a path below the cgroup v2 mount; write for instance \"/web.slice\""
                    ),
                );
            }
            (Echo::Off | Echo::Tcx | Echo::Clsact, Some(_)) => say(
                format!("nic[{i}].cgroup"),
                format!("is for echo = \"cgroup\", this is {:?}; leave it out", nic.echo.name()),
            ),
            _ => {}
        }
        if config.nic[..i].iter().any(|other| other.name == nic.name) {
            say(
                format!("nic[{i}].name"),
                format!("{:?} is there twice; leave one of them out", nic.name),
            );
        }
    }
    for (i, victim) in config.victim.iter().enumerate() {
        let path = &victim.cgroup;
        if path == "/" {
            say(
                format!("victim[{i}].cgroup"),
                "\"/\" is every process; write a cgroup below it, such as \"/batch.slice\"".into(),
            );
        } else if !is_cgroup(path) {
            let path = OneLine(path);
            say(
                format!("victim[{i}].cgroup"),
                format!(
                    "\"{path}\" is not a path below the cgroup v2 mount; write for instance \"/batch.slice\""
                ),
            );
        }
        let over = |other: &Victim| {
            let with = |path: &str| format!("{}/", path.trim_end_matches('/'));
            with(path).starts_with(&with(&other.cgroup))
                || with(&other.cgroup).starts_with(&with(path))
        };
        if let Some(other) = config.victim[..i].iter().find(|other| over(other)) {
            say(
                format!("victim[{i}].cgroup"),
                format!("{path:?} and {:?} overlap; name one of them", other.cgroup),
            );
        }
        if !(1..=16).contains(&victim.ladder.len()) {
            let rungs = victim.ladder.len();
            say(
                format!("victim[{i}].ladder"),
                format!("has {rungs} rungs; write 1 to 16, such as [\"mb:40%\", \"freeze\"]"),
            );
        }
        let mut before: Vec<Rung> = Vec::new();
        for (j, text) in victim.ladder.iter().enumerate() {
            match Rung::parse(text).and_then(|rung| rung.follows(&before).map(|()| rung)) {
                Ok(rung) => before.push(rung),
                Err(why) => say(format!("victim[{i}].ladder[{j}]"), format!("{text:?}: {why}")),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
