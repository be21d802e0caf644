//! An object for the kernel that runs: the agent registers the congestion control that the simulator ran.
//!
//! [`Candidate`] reads the object, [`Candidate::deploy`] places its fields and links its code for one kernel. Maps and programs that result are
//! data. Who loads them fills in descriptors.
//!
//! Source: `tools/lib/bpf/libbpf.c` and `relo_core.c` for what relocations mean; `kernel/bpf/bpf_struct_ops.c` for the value of a map of operations.
//!
//! Invariant: what the verifier judges is not judged here. A field that the kernel lacks becomes an instruction that the verifier refuses if
//! it can be reached.

use crate::LoadError;
use crate::btf::{Btf, Extra, Line, for_kernel};
use crate::core::{self, Field, PatchedValue};
use crate::elf::{Elf, R_BPF_64_32, R_BPF_64_64, Relocation, Symbol, SymbolKind};
use crate::image::Data;
use crate::instruction::{ALU, ALU64, LDX, Raw, ST, STX};
use crate::load::{MAX_INSTRUCTIONS, Variable, declaration, global_variables, license, parameter};
use crate::operations::{Operations, is_operations};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The kernel that an object is for.
#[derive(Clone, Debug)]
pub struct Kernel<'a> {
    /// Its types: `/sys/kernel/btf/vmlinux`.
    pub types: Btf<'a>,
    /// `CONFIG_HZ`.
    pub hz: u32,
    /// Major and minor number.
    pub version: (u32, u32),
}

/// An object whose congestion control may be deployed.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    elf: Elf<'a>,
    btf: Btf<'a>,
    types: &'a [u8], // the section .BTF
    license: &'a str,
    operations: Vec<Operations>,
    chosen: Option<usize>,
    data: BTreeMap<usize, Data>, // by section
    variables: Vec<Variable>,
}

/// A congestion control, linked for one kernel.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Name in the kernel.
    pub name: String,
    /// License of the object.
    pub license: String,
    /// Types of the object, as the kernel takes them.
    pub types: Vec<u8>,
    /// Maps that programs name, by their place here.
    pub maps: Vec<DeployedMap>,
    /// Programs of its callbacks.
    pub programs: Vec<DeployedProgram>,
    /// The kernel's `struct tcp_congestion_ops`.
    pub operations_type: u32,
    /// The kernel's type of [`Self::value`].
    pub value_type: u32,
    /// Value of the map of operations, with zeros where descriptors of programs go.
    pub value: Vec<u8>,
    /// Fields and weak functions that this kernel lacks, each with the line that names it. The verifier refuses a program that reaches one.
    pub lacks: Vec<String>,
}

/// A map to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedMap {
    /// Name.
    pub name: String,
    /// Of `enum bpf_map_type`.
    pub kind: u32,
    /// Bytes of a key.
    pub key: u32,
    /// Bytes of a value.
    pub value: u32,
    /// Entries.
    pub entries: u32,
    /// Flags.
    pub flags: u32,
    /// Types of key and value among [`Deployment::types`], for kinds that the kernel makes only with them.
    pub types: Option<(u32, u32)>,
    /// The value of key 0, for global variables.
    pub contents: Option<Vec<u8>>,
    /// Whether nobody changes the value any more.
    pub constant: bool,
}

/// A program to be loaded.
#[derive(Clone, Debug)]
pub struct DeployedProgram {
    /// Name of the function.
    pub name: String,
    /// Name of the callback.
    pub callback: &'static str,
    /// Which member of `struct tcp_congestion_ops` it is.
    pub member: u32,
    /// Byte of its descriptor in [`Deployment::value`].
    pub at: usize,
    /// Instructions.
    pub code: Vec<u64>,
    /// Instructions that name maps, and which. The map's descriptor is their immediate.
    pub maps: Vec<(usize, usize)>,
    /// First instruction and type of each function, or nothing if the object does not say.
    pub functions: Vec<[u32; 2]>,
    sources: Vec<(usize, String)>,
}

impl DeployedProgram {
    /// Where an instruction comes from: `cc.bpf.c:7: p[200] = 1`.
    pub fn source(&self, instruction: usize) -> Option<&str> {
        let nth = self.sources.partition_point(|(at, _)| *at <= instruction).checked_sub(1)?;
        Some(&self.sources[nth].1)
    }
}

const OPERATIONS: &str = "tcp_congestion_ops";
const VALUE: &str = "bpf_struct_ops_tcp_congestion_ops"; // as a map has them
const CODE: usize = 1 << 20; // more instructions than an object has bytes for

/// A section and an instruction in it as one number, for [`Operations::callbacks`].
fn joined(section: usize, byte: u64) -> Option<usize> {
    let nth = usize::try_from(byte / 8).ok().filter(|nth| *nth < CODE)?;
    Some(section * CODE + nth)
}

impl<'a> Candidate<'a> {
    /// Reads an object file.
    ///
    /// # Errors
    /// If it is no object for BPF, is damaged, or has no congestion control that a kernel would register.
    pub fn read(bytes: &'a [u8]) -> Result<Self, LoadError> {
        let elf = Elf::read(bytes)?;
        let section = |name: &str| elf.section(name).map(|section| section.data);
        let license = license(section("license"))?;
        let Some(types) = section(".BTF") else {
            return Err(LoadError::new("the object has no type information; compile it with -g"));
        };
        let btf = Btf::read(types)?;
        let starts = |section: usize, byte: u64| {
            elf.sections.get(section).filter(|of| of.code)?;
            joined(section, byte)
        };
        let operations = crate::operations::read(&elf, &btf, &starts)?;
        let is_usable = |nth: &usize| operations[*nth].refusal.is_none();
        let usable: Vec<_> = (0..operations.len()).filter(is_usable).collect();
        if usable.is_empty() {
            let why = |of: &Operations| {
                format!("{}: {}", of.variable, of.refusal.as_deref().unwrap_or_default())
            };
            return Err(LoadError::new(operations.iter().map(why).collect::<Vec<_>>().join("; ")));
        }
        let chosen = usable.first().copied().filter(|_| usable.len() == 1);
        let data: BTreeMap<_, _> = global_variables(&elf)?.into_iter().collect();
        let variable = |symbol: &Symbol<'_>| {
            let nth = symbol.section.filter(|_| symbol.kind == SymbolKind::Variable)?;
            let of = data.get(&nth).filter(|of| !of.writable)?;
            parameter(&btf, symbol, nth, of.bytes.len())
        };
        let variables = elf.symbols.iter().filter_map(variable).collect();
        Ok(Self { elf, btf, types, license, operations, chosen, data, variables })
    }

    /// Sets a parameter, as scenarios have them: `ops` chooses among several congestion controls, others are variables that are `const volatile`.
    ///
    /// # Errors
    /// If there is no such parameter, or this is no value of it.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), LoadError> {
        let text = text.trim();
        if name == "ops" {
            let nth = self.operations.iter().position(|of| of.variable == text);
            let Some(nth) = nth else {
                return Err(LoadError::new(format!(
                    "ops: {text:?} is no congestion control of the object; write {}",
                    self.names()
                )));
            };
            if let Some(why) = &self.operations[nth].refusal {
                return Err(LoadError::new(format!("ops: {text}: {why}")));
            }
            self.chosen = Some(nth);
            return Ok(());
        }
        let Some(of) = self.variables.iter().find(|of| of.name == name) else {
            let known = ["ops"].into_iter().chain(self.variables.iter().map(|of| of.name.as_str()));
            return Err(LoadError::new(format!(
                "{name}: the object has no such parameter; it has {}",
                known.collect::<Vec<_>>().join(", ")
            )));
        };
        let Some(value) = of.value(text) else {
            let range = of.range();
            return Err(LoadError::new(format!("{name}: {text:?} is not {range}")));
        };
        let data = self.data.get_mut(&of.data).expect("a variable is in a section of data");
        data.bytes[of.at..of.at + of.bytes].copy_from_slice(&value.to_le_bytes()[..of.bytes]);
        Ok(())
    }

    fn names(&self) -> String {
        let usable = self.operations.iter().filter(|of| of.refusal.is_none());
        usable.map(|of| format!("{:?}", of.variable)).collect::<Vec<_>>().join(" or ")
    }

    fn chosen(&self) -> Result<&Operations, LoadError> {
        self.chosen.map(|nth| &self.operations[nth]).ok_or_else(|| {
            LoadError::new(format!(
                "the object has several congestion controls; set ops to {}",
                self.names()
            ))
        })
    }

    /// Name of the congestion control in a kernel.
    ///
    /// # Errors
    /// If the object has several, and none was chosen.
    pub fn name(&self) -> Result<&str, LoadError> {
        self.chosen().map(|of| of.name.as_str())
    }

    /// Links it for a kernel.
    ///
    /// # Errors
    /// If the kernel takes no such programs, or lacks a callback or a function; or if the object is damaged.
    pub fn deploy(&self, kernel: &Kernel<'_>) -> Result<Deployment, LoadError> {
        let operations = self.chosen()?;
        let of = |name: &str| {
            kernel.types.structure(name).ok_or_else(|| {
                LoadError::new(format!(
                    "this kernel takes no congestion controls that are programs: its types have no struct {name}"
                ))
            })
        };
        let (operations_type, value_type) = (of(OPERATIONS)?, of(VALUE)?);
        let damaged = || LoadError::new("the types of this kernel are damaged");
        let member = |record: u32, name: &str| {
            let members = kernel.types.members(record).unwrap_or_default();
            let nth = members.iter().position(|of| kernel.types.member_name(of) == name)?;
            Some((nth as u32, (members[nth].bit / 8) as usize, members[nth]))
        };
        let (_, data, _) = member(value_type, "data").ok_or_else(damaged)?;
        let size = kernel.types.size(value_type).filter(|size| *size <= 1 << 16);
        let mut value = vec![0; size.ok_or_else(damaged)? as usize];
        let mut put = |name: &str, bytes: &[u8]| {
            let (_, at, _) = member(operations_type, name)?;
            value.get_mut(data + at..data + at + bytes.len())?.copy_from_slice(bytes);
            Some(())
        };
        put("name", operations.name.as_bytes()).ok_or_else(damaged)?;
        put("flags", &operations.flags.to_le_bytes()).ok_or_else(damaged)?;
        let mut linker = Linker::new(self, kernel);
        let mut programs = Vec::new();
        for (callback, entry) in operations.named_entries() {
            let Some((nth, at, of)) = member(operations_type, callback) else {
                linker.absent.insert(format!("the callback {callback}"));
                continue;
            };
            let takes = kernel.types.arguments(&of);
            let long = if operations.long_control { 4 } else { 2 };
            if callback == "cong_control" && takes.is_some_and(|takes| takes != long) {
                return Err(LoadError::new(format!(
                    "cong_control has {long} arguments in the object, and {} in this kernel; compile it for this kernel",
                    takes.unwrap_or_default()
                )));
            }
            if data + at + 8 > value.len() {
                return Err(damaged());
            }
            let entry = (entry / CODE, entry % CODE);
            programs.push(linker.program(callback, (nth, data + at), entry)?);
        }
        if !linker.absent.is_empty() {
            let all: Vec<_> = linker.absent.into_iter().collect();
            return Err(LoadError::new(format!("this kernel lacks {}", all.join(", "))));
        }
        Ok(Deployment {
            name: operations.name.clone(),
            license: self.license.into(),
            types: for_kernel(self.types)?,
            maps: linker.maps,
            programs,
            operations_type,
            value_type,
            value,
            lacks: linker.lacks.into_iter().collect(),
        })
    }
}

/// A section of code, with its fields placed.
struct Code {
    words: Vec<u64>,
    relocations: BTreeMap<usize, Relocation>, // by instruction
    extra: Extra,
}

/// A function: its section and instructions.
type Function = (usize, Range<usize>);

/// Links programs for a kernel.
struct Linker<'a, 'k> {
    of: &'a Candidate<'a>,
    kernel: &'k Kernel<'k>,
    code: BTreeMap<usize, Code>, // by section
    maps: Vec<DeployedMap>,
    known: BTreeMap<String, usize>, // place of each map, by its name
    /// Symbols of functions and variables, by section and first byte.
    symbols: BTreeMap<(usize, u64), &'a Symbol<'a>>,
    /// Places of values of the kernel's configuration.
    configuration: BTreeMap<&'a str, u64>,
    /// Numbers of the kernel's functions that were sought.
    functions: BTreeMap<&'a str, Option<u32>>,
    /// Fields and weak functions that the kernel lacks.
    lacks: BTreeSet<String>,
    /// Callbacks and functions that the kernel lacks, without which nothing can be loaded.
    absent: BTreeSet<String>,
}

const CONFIGURATION: &str = ".kconfig";
const CALL: u64 = 0x85;
const POISON: i32 = 0x0bad_2310; // as libbpf calls it, so that the verifier's words are known

/// What the source register of an instruction says about its immediate.
mod pseudo {
    pub(super) const CALL: u8 = 1;
    pub(super) const KERNEL_FUNCTION: u8 = 2;
    pub(super) const MAP: u8 = 1;
    pub(super) const MAP_VALUE: u8 = 2;
    pub(super) const FUNCTION: u8 = 4;
}

/// An instruction with another immediate.
fn with_imm(word: u64, imm: i32) -> u64 {
    word & 0xffff_ffff | u64::from(imm.cast_unsigned()) << 32
}

/// An instruction with another source register.
fn with_src(word: u64, src: u8) -> u64 {
    word & !0xf000 | u64::from(src) << 12
}

fn raw(word: u64) -> Raw {
    Raw::of(word.to_le_bytes())
}

impl<'a, 'k> Linker<'a, 'k> {
    fn new(of: &'a Candidate<'a>, kernel: &'k Kernel<'k>) -> Self {
        let named = of.elf.symbols.iter().filter(|symbol| symbol.kind != SymbolKind::Other);
        let variables = of.btf.variables(CONFIGURATION).into_iter();
        Self {
            of,
            kernel,
            code: BTreeMap::new(),
            maps: Vec::new(),
            known: BTreeMap::new(),
            symbols: named.filter_map(|of| Some(((of.section?, of.value), of))).collect(),
            configuration: variables.zip(0..).map(|((name, _), nth)| (name, 8 * nth)).collect(),
            functions: BTreeMap::new(),
            lacks: BTreeSet::new(),
            absent: BTreeSet::new(),
        }
    }

    /// The function that begins at an instruction.
    fn function(&self, section: usize, nth: usize) -> Result<Function, LoadError> {
        let found = (nth as u64).checked_mul(8).and_then(|at| self.symbols.get(&(section, at)));
        let found = found.filter(|of| of.kind == SymbolKind::Function);
        let end = |of: &&Symbol<'_>| usize::try_from(of.value.checked_add(of.size)? / 8).ok();
        let found = found.and_then(end).filter(|end| {
            let words = self.of.elf.sections.get(section).map_or(0, |of| of.data.len() / 8);
            nth < *end && *end <= words
        });
        let end =
            found.ok_or_else(|| LoadError::new("a callback or a call leads to no function"))?;
        Ok((section, nth..end))
    }

    /// Reads a section of code and places its fields, once.
    fn place(&mut self, section: usize) -> Result<(), LoadError> {
        if self.code.contains_key(&section) {
            return Ok(());
        }
        let of = self.of;
        let name = of.elf.sections[section].name;
        let words = of.elf.sections[section].data.as_chunks::<8>().0;
        let mut words: Vec<_> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let extra = of.elf.section(".BTF.ext").map(|extra| Extra::read(extra.data, &of.btf, name));
        let extra = extra.transpose()?.unwrap_or_default();
        let at = |of: Relocation| Some((usize::try_from(of.at / 8).ok()?, of));
        let relocations = of.elf.relocations(section).filter_map(at).collect();
        if extra.relocations.len() > words.len() {
            return Err(LoadError::new("the object has more field relocations than instructions"));
        }
        let shifts = extra.relocations.iter().filter(|of| matches!(of.kind, 4 | 5));
        let shifted: BTreeSet<_> = shifts.map(|at| (at.of, of.btf.name_at(at.path))).collect();
        for field in &extra.relocations {
            let nth = field.at as usize / 8;
            let Some(word) = words.get(nth).copied() else {
                return Err(LoadError::new("a field relocation is beyond its code"));
            };
            let wrong = |what: &str| {
                LoadError::new(format!("a field relocation is at an instruction that {what}"))
            };
            let is_shifted = shifted.contains(&(field.of, of.btf.name_at(field.path)));
            let missing = match core::place(&of.btf, &self.kernel.types, field) {
                PatchedValue::Wrong(what) => return Err(LoadError::new(what)),
                PatchedValue::Missing(name) => Some(name),
                PatchedValue::Value(value, placed) => match raw(word).class() {
                    LDX | ST | STX => {
                        let off = i16::try_from(value).map_err(|_| wrong("is too far"))?;
                        let there = word & !0xffff_0000 | u64::from(off.cast_unsigned()) << 16;
                        let placed = placed.filter(|_| field.kind == 0);
                        let sized = placed
                            .map_or(Ok(there), |of| resized(there, raw(word), &of, is_shifted));
                        sized.map(|there| words[nth] = there).err()
                    }
                    ALU | ALU64 if raw(word).code & 8 == 0 => {
                        words[nth] = with_imm(word, value as i32);
                        None
                    }
                    _ if raw(word).is_imm64() && nth + 1 < words.len() => {
                        words[nth] = with_imm(word, value as i32);
                        words[nth + 1] = with_imm(words[nth + 1], (value >> 32) as i32);
                        None
                    }
                    _ => return Err(wrong("names no field")),
                },
            };
            if let Some(name) = missing {
                let line = extra.lines.iter().rfind(|line| line.at <= field.at);
                self.lacks.insert(with_line(&name, &of.btf, line));
                poison(&mut words, nth);
            }
        }
        self.code.insert(section, Code { words, relocations, extra });
        Ok(())
    }

    /// Links the program of a callback: its function, and behind it all functions that it calls.
    fn program(
        &mut self,
        callback: &'static str,
        (member, at): (u32, usize),
        (section, nth): (usize, usize),
    ) -> Result<DeployedProgram, LoadError> {
        let mut functions = vec![self.function(section, nth)?];
        let mut seen: BTreeSet<_> = [(section, nth)].into();
        let (mut code, mut maps, mut starts) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut branches = Vec::new(); // instruction, and the function that it leads to
        let mut done = 0;
        while let Some((section, body)) = functions.get(done).cloned() {
            done += 1;
            self.place(section)?;
            starts.insert((section, body.start), code.len());
            if code.len() + body.len() > MAX_INSTRUCTIONS {
                return Err(LoadError::new("the object has more than 65536 instructions"));
            }
            let mut nth = body.start;
            while nth < body.end {
                let of = self.instruction(section, nth)?;
                if nth + of.words.len() > body.end {
                    return Err(LoadError::new("a function ends within an instruction"));
                }
                maps.extend(of.map.map(|map| (code.len(), map)));
                if let Some((section, to)) = of.to {
                    if seen.insert((section, to)) {
                        functions.push(self.function(section, to)?);
                    }
                    branches.push((code.len(), (section, to)));
                }
                nth += of.words.len();
                code.extend(of.words);
            }
        }
        for (at, to) in branches {
            code[at] = with_imm(code[at], (starts[&to] as i64 - at as i64 - 1) as i32);
        }
        let (mut types, mut sources) = (Vec::new(), Vec::new());
        for (section, body) in &functions {
            let (extra, start) = (&self.code[section].extra, starts[&(*section, body.start)]);
            let of = extra.functions.iter().find(|(at, _)| *at as usize == 8 * body.start);
            types.extend(of.map(|(_, of)| [start as u32, *of]));
            for line in &extra.lines {
                let at = line.at as usize / 8;
                if body.contains(&at) {
                    sources.push((start + at - body.start, text(&self.of.btf, line)));
                }
            }
        }
        if types.len() != functions.len() {
            types.clear();
        }
        let name = self.symbols[&(section, 8 * nth as u64)].name.to_string();
        Ok(DeployedProgram { name, callback, member, at, code, maps, functions: types, sources })
    }

    /// An instruction with what it names filled in.
    fn instruction(&mut self, section: usize, nth: usize) -> Result<Linked, LoadError> {
        let damaged = || LoadError::new("a relocation of the object leads nowhere");
        let of = &self.code[&section];
        let own = own(&self.of.elf, section, nth); // a missing field has replaced it by now
        let wide = if own.is_imm64() { 2 } else { 1 };
        let words = of.words.get(nth..nth + wide).ok_or_else(damaged)?.to_vec();
        let plain = Linked { words, map: None, to: None };
        let Some(relocation) = of.relocations.get(&nth).copied() else {
            let calls = own.is_call() && own.src == pseudo::CALL;
            let to = (nth as i64 + 1).checked_add(i64::from(own.imm)).filter(|_| calls);
            let to = to.map(|to| usize::try_from(to).map_err(|_| damaged())).transpose()?;
            return Ok(Linked { to: to.map(|to| (section, to)), ..plain });
        };
        let symbol = *self.of.elf.symbols.get(relocation.symbol).ok_or_else(damaged)?;
        match (relocation.kind, symbol.section) {
            (R_BPF_64_32, Some(to)) if own.is_call() => {
                let nth = (symbol.value / 8) as i64 + i64::from(own.imm) + 1;
                Ok(Linked { to: Some((to, usize::try_from(nth).map_err(|_| damaged())?)), ..plain })
            }
            (R_BPF_64_32, None) if own.is_call() => {
                Ok(Linked { words: vec![self.kernel_function(&symbol, (section, nth))], ..plain })
            }
            (R_BPF_64_64, _) if wide == 2 => {
                let offset = symbol.value.wrapping_add(i64::from(own.imm) as u64);
                self.address(&symbol, offset, plain)
            }
            _ => Err(damaged()),
        }
    }

    /// A number of 64 bits that is the address of something.
    fn address(
        &mut self,
        symbol: &Symbol<'a>,
        offset: u64,
        plain: Linked,
    ) -> Result<Linked, LoadError> {
        let wrong = |what: &str| LoadError::new(format!("{}: {what}", symbol.name));
        let [first, second] = [plain.words[0], plain.words[1]];
        let number =
            |of: i32| Linked { words: vec![with_imm(first, of), with_imm(second, 0)], ..plain };
        let of_map = |map: usize, at: Option<u64>| -> Result<Linked, LoadError> {
            let (src, at) = match at {
                Some(at) => {
                    (pseudo::MAP_VALUE, i32::try_from(at).map_err(|_| wrong("it is too far"))?)
                }
                None => (pseudo::MAP, 0),
            };
            let words = vec![with_imm(with_src(first, src), 0), with_imm(second, at)];
            Ok(Linked { words, map: Some(map), to: None })
        };
        let Some(section) = symbol.section else {
            if let Some(at) = self.configuration.get(symbol.name).copied() {
                let map = self.configuration()?;
                return of_map(map, Some(at));
            }
            if self.number(symbol.name).is_some() {
                return Ok(number(1)); // it exists
            }
            if symbol.weak {
                return Ok(number(0));
            }
            return Err(wrong("it is a variable of the kernel, which the agent does not resolve"));
        };
        let of = &self.of.elf.sections[section];
        if of.code {
            let to = usize::try_from(offset / 8).map_err(|_| wrong("it is too far"))?;
            let words = vec![with_src(first, pseudo::FUNCTION), with_imm(second, 0)];
            return Ok(Linked { words, map: None, to: Some((section, to)) });
        }
        if of.name == ".maps" {
            let named = self.symbols.get(&(section, offset)).copied();
            let map = self.map(named.ok_or_else(|| wrong("it is no map"))?.name)?;
            return of_map(map, None);
        }
        if let Some(data) = self.of.data.get(&section) {
            let map = self.global_variables(data);
            return of_map(map, Some(offset));
        }
        let taken = if is_operations(of.name) { "a congestion control" } else { of.name };
        Err(LoadError::new(format!("the address of {taken} is taken, which has none")))
    }

    /// Number of a function of the kernel.
    fn number(&mut self, name: &'a str) -> Option<u32> {
        *self.functions.entry(name).or_insert_with(|| self.kernel.types.function(name))
    }

    /// A call of a function of the kernel.
    fn kernel_function(&mut self, symbol: &Symbol<'a>, (section, nth): (usize, usize)) -> u64 {
        if let Some(number) = self.number(symbol.name) {
            return with_imm(with_src(CALL, pseudo::KERNEL_FUNCTION), number.cast_signed());
        }
        let name = format!("the function {}", symbol.name);
        let line = self.code[&section].extra.lines.iter().rfind(|line| line.at as usize <= 8 * nth);
        let all = if symbol.weak { &mut self.lacks } else { &mut self.absent };
        all.insert(with_line(&name, &self.of.btf, line));
        with_imm(CALL, POISON)
    }

    /// A map, made when it is first named.
    fn map(&mut self, name: &str) -> Result<usize, LoadError> {
        if let Some(nth) = self.known.get(name) {
            return Ok(*nth);
        }
        let of = declaration(&self.of.btf, name)?;
        let needs_types = of.kind == 24; // BPF_MAP_TYPE_SK_STORAGE
        Ok(self.add(DeployedMap {
            name: name.into(),
            kind: of.kind,
            key: of.key,
            value: of.value,
            entries: of.entries,
            flags: of.flags,
            types: needs_types.then_some((of.key_type, of.value_type)),
            contents: None,
            constant: false,
        }))
    }

    /// The map that has a section of global variables.
    fn global_variables(&mut self, of: &Data) -> usize {
        if let Some(nth) = self.known.get(&of.name) {
            return *nth;
        }
        self.add_values(&of.name, of.bytes.clone(), !of.writable)
    }

    /// The map that has values of the kernel's configuration, eight bytes for each.
    fn configuration(&mut self) -> Result<usize, LoadError> {
        if let Some(nth) = self.known.get(CONFIGURATION) {
            return Ok(*nth);
        }
        let variables = self.of.btf.variables(CONFIGURATION);
        if variables.len() > 64 {
            return Err(LoadError::new(
                "the object reads more than 64 values of the configuration",
            ));
        }
        let mut bytes = Vec::new();
        for (name, of) in variables {
            let size = self.of.btf.size(of).filter(|size| [1, 2, 4, 8].contains(size));
            if size.is_none() {
                return Err(LoadError::new(format!("{name} is no number of the configuration")));
            }
            let weak = self.of.elf.symbols.iter().any(|of| of.name == name && of.weak);
            let value = match (name, self.kernel.version) {
                ("CONFIG_HZ", _) => self.kernel.hz,
                ("LINUX_KERNEL_VERSION", (major, minor)) => major << 16 | minor << 8,
                _ if weak => 0,
                _ => {
                    return Err(LoadError::new(format!(
                        "{name} of the kernel's configuration is not known here; CONFIG_HZ and LINUX_KERNEL_VERSION are"
                    )));
                }
            };
            bytes.extend(u64::from(value).to_le_bytes());
        }
        Ok(self.add_values(CONFIGURATION, bytes, true))
    }

    fn add_values(&mut self, name: &str, contents: Vec<u8>, constant: bool) -> usize {
        self.add(DeployedMap {
            name: name.into(),
            kind: 2, // BPF_MAP_TYPE_ARRAY
            key: 4,
            value: contents.len() as u32,
            entries: 1,
            flags: if constant { 1 << 7 } else { 0 }, // BPF_F_RDONLY_PROG
            types: None,
            contents: Some(contents),
            constant,
        })
    }

    fn add(&mut self, map: DeployedMap) -> usize {
        let nth = self.maps.len();
        self.known.insert(map.name.clone(), nth);
        self.maps.push(map);
        nth
    }
}

/// What an instruction has become: one word, or two of a number of 64 bits; the map that it names, or the function that it leads to.
struct Linked {
    words: Vec<u64>,
    map: Option<usize>,
    to: Option<(usize, usize)>,
}

/// An instruction as the object has it.
fn own(elf: &Elf<'_>, section: usize, nth: usize) -> Raw {
    Raw::of(elf.sections[section].data.as_chunks::<8>().0[nth])
}

/// A load or store whose offset is in place, with the size of the field here. The error is the name of what has no such size or bit here.
fn resized(word: u64, raw: Raw, field: &Field, shifted: bool) -> Result<u64, String> {
    let no = |what: &str| Err(format!("{} at byte {} {what}", field.root, field.at));
    if let Some(bit) = field.local_bit {
        let own = bit.checked_sub(8 * u64::from(raw.off.cast_unsigned()));
        let here = field.bit.checked_sub(8 * field.at);
        return if shifted || own == here { Ok(word) } else { no("with this bit field") };
    }
    let bits = [(1, 0x10), (2, 0x08), (4, 0x00), (8, 0x18)]; // BPF_SIZE
    let size = |bytes: u64| bits.iter().find(|(of, _)| *of == bytes).map(|(_, code)| *code);
    let now = bits.iter().find(|(_, code)| raw.code & 0x18 == *code).map_or(0, |(of, _)| *of);
    // Only a whole field has another size; a part of one stays what it is.
    if field.local == field.size || field.local != now {
        return Ok(word);
    }
    match size(field.size).filter(|_| field.resizable) {
        Some(code) => Ok(word & !0x18 | u64::from(code)),
        None => no("of this size"),
    }
}

/// Replaces an instruction by one that the verifier refuses.
fn poison(words: &mut [u64], nth: usize) {
    let halves = if raw(words[nth]).is_imm64() { 2 } else { 1 };
    words.iter_mut().skip(nth).take(halves).for_each(|word| *word = with_imm(CALL, POISON));
}

/// Line of source: `cc.bpf.c:7: p[200] = 1`.
fn text(btf: &Btf<'_>, line: &Line) -> String {
    let text = btf.line_at(line.text);
    format!("{}:{}: {}", btf.file_at(line.file), line.line, text.trim().trim_end_matches(';'))
}

/// A name, and where it is in the source.
fn with_line(name: &str, btf: &Btf<'_>, line: Option<&Line>) -> String {
    match line {
        Some(line) => format!("{name} ({}:{})", btf.file_at(line.file), line.line),
        None => name.into(),
    }
}

#[cfg(test)]
mod tests;
