//! Variables of type `struct tcp_congestion_ops`: which function is which callback, and what the kernel would say of them.
//!
//! Source: `net/ipv4/bpf_tcp_ca.c`, `tcp_cong.c` (`tcp_validate_congestion_control`, `tcp_register_congestion_control`).

use crate::LoadError;
use crate::btf::Btf;
use crate::elf::{Elf, R_BPF_64_ABS64, SymbolKind};

/// A callback, in the order of Linux 6.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the kernel's")]
pub enum Callback {
    Ssthresh,
    CongAvoid,
    SetState,
    CwndEvent,
    InAckEvent,
    PktsAcked,
    MinTsoSegs,
    CongControl,
    UndoCwnd,
    SndbufExpand,
    Init,
    Release,
}

impl Callback {
    /// Name of the member.
    pub const fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// How many callbacks there are.
pub(crate) const CALLBACKS: usize = NAMES.len();

const NAMES: [&str; 12] = [
    "ssthresh",
    "cong_avoid",
    "set_state",
    "cwnd_event",
    "in_ack_event",
    "pkts_acked",
    "min_tso_segs",
    "cong_control",
    "undo_cwnd",
    "sndbuf_expand",
    "init",
    "release",
];

/// `TCP_CONG_NEEDS_ECN`.
pub(crate) const NEEDS_ECN: u32 = 2;
/// All flags that Linux takes.
const FLAGS: u32 = NEEDS_ECN | 1;
/// Most variables of an object, and most members of one.
const MAX_OPERATIONS: usize = 64;
const MAX_MEMBERS: usize = 256;
/// Most functions of all of them.
pub(crate) const MAX_FUNCTIONS: usize = MAX_OPERATIONS * MAX_MEMBERS;
/// Names that every kernel has in use.
const IN_USE: [&str; 2] = ["reno", "cubic"];

/// Operations of an object: one congestion control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operations {
    /// The variable.
    pub variable: String,
    /// Name in the kernel.
    pub name: String,
    pub flags: u32,
    /// Whether the section is `.struct_ops.link`.
    pub link: bool,
    /// First instructions, by [`Callback`].
    pub callbacks: [Option<usize>; CALLBACKS],
    /// Whether `cong_control` takes the ACK and its flags, as since Linux 6.10.
    pub long_control: bool,
    /// Why the kernel does not register them.
    pub refusal: Option<String>,
}

impl Operations {
    pub(crate) fn entry(&self, callback: Callback) -> Option<usize> {
        self.callbacks[callback as usize]
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = usize> {
        self.callbacks.into_iter().flatten()
    }

    /// Names of its callbacks, in the kernel's order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.named_entries().map(|(name, _)| name)
    }

    /// Names and first instructions of its callbacks, in the kernel's order.
    pub(crate) fn named_entries(&self) -> impl Iterator<Item = (&'static str, usize)> {
        NAMES.into_iter().zip(self.callbacks).filter_map(|(name, entry)| Some((name, entry?)))
    }
}

/// Whether a section has variables of operations.
pub(crate) fn is_operations(section: &str) -> bool {
    matches!(section.trim_start_matches('?'), ".struct_ops" | ".struct_ops.link")
}

/// Reads the operations of an object. `starts` gives the first instruction of a function at a byte of a section.
pub(crate) fn read(
    elf: &Elf<'_>,
    btf: &Btf<'_>,
    starts: &dyn Fn(usize, u64) -> Option<usize>,
) -> Result<Vec<Operations>, LoadError> {
    let mut found = Vec::new();
    for (nth, section) in elf.sections.iter().enumerate() {
        if !is_operations(section.name) {
            continue;
        }
        if elf.relocations(nth).nth(MAX_FUNCTIONS).is_some() {
            return Err(LoadError::new(format!(
                "{} has more than {MAX_FUNCTIONS} functions",
                section.name
            )));
        }
        let here = |of: &&crate::elf::Symbol<'_>| {
            of.section == Some(nth) && of.kind == SymbolKind::Variable
        };
        let mut symbols: Vec<_> = elf.symbols.iter().filter(here).collect();
        symbols.sort_by_key(|of| of.value);
        if found.len() + symbols.len() > MAX_OPERATIONS {
            return Err(LoadError::new("the object has more than 64 congestion controls"));
        }
        for symbol in symbols {
            let variable = symbol.name;
            let wrong = |what: &str| LoadError::new(format!("{variable}: {what}"));
            let of = btf.variable(variable).and_then(|of| btf.plain(of));
            let of = of.ok_or_else(|| wrong("it has no type"))?;
            let name = btf.name(of).split("___").next().unwrap_or("");
            if name != "tcp_congestion_ops" {
                return Err(wrong(&format!(
                    "it is a struct {name}; a law is a struct tcp_congestion_ops"
                )));
            }
            let size = btf.size(of).unwrap_or(0);
            let range = symbol.value..symbol.value.saturating_add(size);
            let bytes = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
            let bytes = bytes.and_then(|(from, to)| section.data.get(from..to));
            let bytes = bytes.ok_or_else(|| wrong("it is cut"))?;
            let functions: Vec<_> = elf
                .relocations(nth)
                .filter(|of| of.kind == R_BPF_64_ABS64 && range.contains(&of.at))
                .collect();
            if functions.len() > MAX_MEMBERS {
                return Err(wrong("it has more than 256 functions"));
            }
            let mut operations = Operations {
                variable: variable.to_string(),
                name: String::new(),
                flags: 0,
                link: section.name.ends_with(".link"),
                callbacks: [None; CALLBACKS],
                long_control: true,
                refusal: None,
            };
            let members = btf.members(of).unwrap_or_default();
            if members.len() > MAX_MEMBERS {
                return Err(wrong("its structure has more than 256 members"));
            }
            for member in members {
                let name = btf.member_name(member);
                let (at, size) =
                    ((member.bit / 8) as usize, btf.size(member.of).unwrap_or(0) as usize);
                let value = at.checked_add(size).and_then(|end| bytes.get(at..end));
                let value = value.ok_or_else(|| wrong("it is cut"))?;
                let relocation = functions.iter().find(|of| of.at - range.start == at as u64);
                match (name, relocation) {
                    ("name", _) => {
                        let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
                        let name = String::from_utf8_lossy(&value[..end]);
                        operations.name = name.chars().filter(|of| !of.is_control()).collect();
                    }
                    ("flags", _) => {
                        operations.flags = crate::elf::u32_at(value, 0).unwrap_or(0);
                    }
                    (name, Some(relocation)) => {
                        let function = elf.symbols.get(relocation.symbol);
                        let addend = crate::elf::u64_at(value, 0).unwrap_or(0);
                        let entry = function
                            .and_then(|of| starts(of.section?, of.value.wrapping_add(addend)));
                        let entry =
                            entry.ok_or_else(|| wrong(&format!("{name} is no function")))?;
                        match NAMES.iter().position(|of| *of == name) {
                            Some(callback) => operations.callbacks[callback] = Some(entry),
                            None if name == "get_info" => {
                                operations.refusal = Some(
                                    "it has get_info, which Linux refuses of programs (-524); remove it".into(),
                                );
                            }
                            None => {
                                operations.refusal =
                                    Some(format!("it has {name}, which no kernel here has"));
                            }
                        }
                        if name == "cong_control" {
                            operations.long_control = btf.arguments(member) != Some(2);
                        }
                    }
                    (name, None) if value.iter().any(|byte| *byte != 0) => {
                        operations.refusal = Some(format!(
                            "{name} has a value; Linux takes only name, flags and functions"
                        ));
                    }
                    _ => {}
                }
            }
            operations.refusal = operations.refusal.take().or_else(|| refusal(&operations));
            found.push(operations);
        }
    }
    if found.is_empty() {
        return Err(LoadError::new(
            "the object has no struct tcp_congestion_ops in .struct_ops or .struct_ops.link",
        ));
    }
    Ok(found)
}

/// Why the kernel refuses operations.
fn refusal(of: &Operations) -> Option<String> {
    let lacks = |callback: Callback| of.entry(callback).is_none();
    let growth = lacks(Callback::CongAvoid) && lacks(Callback::CongControl);
    let missing = match (lacks(Callback::Ssthresh), lacks(Callback::UndoCwnd), growth) {
        (true, ..) => Some("ssthresh"),
        (_, true, _) => Some("undo_cwnd"),
        (.., true) => Some("cong_avoid or cong_control"),
        _ => None,
    };
    if let Some(missing) = missing {
        return Some(format!("it has no {missing}, so Linux does not register it"));
    }
    if of.flags & !FLAGS != 0 {
        return Some(format!("flags are {:#x}; Linux takes 1 and 2 (-22)", of.flags));
    }
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if of.name.is_empty() || of.name.len() > 15 || !of.name.chars().all(good) {
        return Some("its name is not 1 to 15 letters, digits, _ and . (-22)".into());
    }
    if IN_USE.contains(&of.name.as_str()) {
        return Some(format!(
            "the name {} is in use in every kernel (-17); choose another",
            of.name
        ));
    }
    None
}
