//! A loaded program: code, data, maps, and where each instruction comes from; and what a host and a flow have of it.

use crate::address::{FRAME, FRAMES, region};
use crate::instruction::Instruction;
use crate::maps::{Map, MapInfo};
use crate::mirror;
use crate::step::Step;
use crate::stop::{Stop, StopReason};
use crate::trace::Trace;
use forebay_laws::kernel::WORDS;
use std::fmt::Write;

/// What all hosts and flows share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    pub code: Vec<Instruction>,
    /// The same code as the machine runs it.
    pub steps: Vec<Step>,
    pub functions: Vec<Function>, // by their first instruction
    pub lines: Vec<SourceLine>,   // likewise
    pub data: Vec<Data>,
    pub maps: Vec<MapInfo>,
    /// Fields, types and values that are not here.
    pub missing: Vec<String>,
    /// What is not supported.
    pub refused: Vec<String>,
    /// First instructions of functions whose address is taken, in order.
    pub callbacks: Vec<usize>,
    /// Ticks per second.
    pub hz: u32,
    /// Names of kernel functions and helpers that are called, for messages.
    pub called: Vec<(u32, String)>,
}

/// A function: its place in the code.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub name: String,
    pub start: usize,
    pub end: usize,
}

/// A line of source.
#[derive(Clone, Debug)]
pub(crate) struct SourceLine {
    pub at: usize,
    pub file: String,
    pub line: u32,
    pub text: String,
}

/// A section of data.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub name: String,
    pub bytes: Vec<u8>,
    pub writable: bool,
}

/// Where a function that was called returns to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caller {
    pub at: usize,
    pub saved: [u64; 4], // r6 to r9
}

/// What one host has: global variables and maps, and the stack of the call that runs.
#[derive(Clone, Debug)]
pub(crate) struct HostMemory {
    pub stack: Box<[[u8; FRAME]; FRAMES]>,
    /// Frames that were written to. The others are zero.
    pub stack_used: [bool; FRAMES],
    pub callers: [Caller; FRAMES],
    data: Vec<Vec<u8>>, // empty for constants
    pub maps: Vec<Map>,
    pub key: Vec<u8>, // room for the key of a helper's call
    pub trace: Trace,
}

impl HostMemory {
    pub(crate) fn new(image: &Image) -> Self {
        let own = |data: &Data| if data.writable { data.bytes.clone() } else { Vec::new() };
        Self {
            stack: Box::new([[0; FRAME]; FRAMES]),
            stack_used: [false; FRAMES],
            callers: [Caller::default(); FRAMES],
            data: image.data.iter().map(own).collect(),
            maps: image.maps.iter().cloned().map(Map::new).collect(),
            key: Vec::new(),
            trace: Trace::default(),
        }
    }

    pub(crate) fn data<'a>(&'a self, image: &'a Image, nth: usize) -> Option<&'a [u8]> {
        let data = image.data.get(nth)?;
        Some(if data.writable { &self.data[nth] } else { &data.bytes })
    }

    pub(crate) fn data_mut(&mut self, image: &Image, nth: usize) -> Option<&mut [u8]> {
        image.data.get(nth)?.writable.then(|| &mut self.data[nth][..])
    }
}

/// State of one flow other than its socket.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub seed: u64,
    /// Random numbers so far.
    pub drawn: u64,
    /// Values of maps of kind `sk_storage`, by map.
    pub storage: Vec<Option<Vec<u8>>>,
}

impl Flow {
    pub(crate) fn new(image: &Image, seed: u64) -> Self {
        Self { seed, drawn: 0, storage: vec![None; image.maps.len()] }
    }
}

/// Region and offset of an address, as a person would say them: what is just below a region is a negative offset in it.
fn place(address: u64) -> (u32, i32) {
    let at = address as u32 as i32;
    let of = (address >> 32) as u32;
    (if at < 0 { of.wrapping_add(1) } else { of }, at)
}

impl Image {
    /// Where an instruction comes from: `cc.bpf.c:7: p[200] = 1`, or nothing if the object does not say.
    pub(crate) fn source(&self, at: usize) -> Option<String> {
        let function = self.function(at)?;
        let nth = self.lines.partition_point(|line| line.at <= at).checked_sub(1)?;
        let of = self.lines.get(nth).filter(|line| line.at >= function.start)?;
        Some(match of.text.is_empty() {
            true => format!("{}:{}", of.file, of.line),
            false => format!("{}:{}: {}", of.file, of.line, of.text),
        })
    }

    /// The function that has this instruction.
    pub(crate) fn function(&self, at: usize) -> Option<&Function> {
        let nth = self.functions.partition_point(|of| of.start <= at).checked_sub(1)?;
        self.functions.get(nth).filter(|of| at < of.end)
    }

    /// What happened at an instruction, as a sentence: source, what, instruction.
    pub(crate) fn sentence(&self, at: usize, what: &str) -> String {
        let mut text = self.source(at).map_or_else(String::new, |source| source + ": ");
        text += what;
        if let Some(function) = self.function(at) {
            let _ = write!(text, ", instruction {} of {}", at - function.start, function.name);
        }
        text
    }

    /// Why a call ended the run.
    pub(crate) fn explain(&self, stop: Stop) -> String {
        let at = stop.at as usize;
        let called = || {
            let known = self.called.iter().find(|(of, _)| *of == stop.at);
            known.map_or("the call", |(_, name)| name.as_str())
        };
        let what = match stop.why {
            StopReason::Load { address, bytes } => {
                format!("a load of {}", self.access(address, bytes))
            }
            StopReason::Store { address, bytes } => self.refused_store(address, bytes),
            StopReason::Steps => {
                "the call has run a million instructions, which is the limit".into()
            }
            StopReason::Frames => "the call goes deeper than 8 functions".into(),
            StopReason::Missing(nth) => {
                let name = self.missing.get(nth as usize).map_or("", String::as_str);
                format!("{name} is not in the simulator's kernel; see docs/bpf-laws.md for what is")
            }
            StopReason::Refused(nth) => {
                self.refused.get(nth as usize).cloned().unwrap_or_else(|| "no instruction".into())
            }
            StopReason::DivisionByZero => {
                format!("{} with a window of 0 divides by zero in the kernel", called())
            }
            StopReason::Argument { nth, wants } => {
                format!("argument {nth} of {} is not {wants}", called())
            }
            StopReason::Unable(why) => format!("{} is not possible here: {why}", called()),
        };
        self.sentence(at, &what)
    }

    fn refused_store(&self, address: u64, bytes: u8) -> String {
        let (of, at) = place(address);
        let (at, len) = (u64::from(at as u32), u64::from(bytes));
        let size = if bytes == 1 { "1 byte".to_string() } else { format!("{bytes} bytes") };
        match of {
            region::SOCKET if at + len <= 8 * WORDS as u64 => {
                let (name, writable, whole) = mirror::field_at(at);
                match writable {
                    true => format!("a store of {size} into {name}, which has {whole}"),
                    false => format!("a store of {size} into {name}, which programs may not write"),
                }
            }
            region::SAMPLE | region::ARGUMENTS | region::MODULE_ARGUMENTS => {
                format!("a store of {size} into {}, which is read-only", self.name(of))
            }
            _ if self.is_constant(of, at + len) => {
                format!("a store of {size} into {}, which is read-only", self.name(of))
            }
            _ => format!("a store of {}", self.access(address, bytes)),
        }
    }

    fn is_constant(&self, of: u32, end: u64) -> bool {
        let data = self.data.get((of & 0xfff) as usize).filter(|_| of & !0xfff == region::DATA);
        data.is_some_and(|data| !data.writable && end <= data.bytes.len() as u64)
    }

    /// `8 bytes at offset 1648 of the socket (392 bytes)`.
    fn access(&self, address: u64, bytes: u8) -> String {
        let (of, at) = place(address);
        let size = if bytes == 1 { "1 byte".to_string() } else { format!("{bytes} bytes") };
        if of == 0 {
            return format!("{size} at address {address:#x}: the pointer is null");
        }
        let whole = match of {
            region::SOCKET => 8 * WORDS,
            region::ARGUMENTS | region::MODULE_ARGUMENTS => 40,
            region::STACK..region::STACK_END => FRAME,
            of => match of & !0xfff {
                region::DATA => {
                    self.data.get((of & 0xfff) as usize).map_or(0, |data| data.bytes.len())
                }
                region::VALUES | region::STORAGE => {
                    let map = self.maps.get((of & 0xfff) as usize);
                    let one = map.map_or(0, |map| map.value as usize);
                    if of & !0xfff == region::STORAGE { one } else { 0 }
                }
                _ => 0,
            },
        };
        let name = self.name(of);
        match (name.is_empty(), whole) {
            (true, _) => format!("{size} at {address:#x}, which is no address of the program"),
            (false, 0) => format!("{size} at offset {at} of {name}"),
            (false, whole) => format!("{size} at offset {at} of {name} ({whole} bytes)"),
        }
    }

    fn name(&self, of: u32) -> String {
        match of {
            region::SOCKET => "the socket".into(),
            region::ARGUMENTS | region::MODULE_ARGUMENTS => "the arguments".into(),
            region::SAMPLE => "the sample".into(),
            region::STACK..region::STACK_END => "the stack frame".into(),
            _ => {
                let nth = (of & 0xfff) as usize;
                let map = || self.maps.get(nth).map(|map| map.name.as_str());
                match of & !0xfff {
                    region::DATA => self.data.get(nth).map_or(String::new(), |of| of.name.clone()),
                    region::VALUES => {
                        map().map_or(String::new(), |of| format!("the values of {of}"))
                    }
                    region::STORAGE => {
                        map().map_or(String::new(), |of| format!("the value of {of}"))
                    }
                    region::MAP => map().map_or(String::new(), |of| format!("the map {of} itself")),
                    _ => String::new(),
                }
            }
        }
    }
}
