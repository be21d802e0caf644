//! From an object file to an image: code is joined, names become addresses, and what is not supported is refused.
//!
//! Source: `tools/lib/bpf/libbpf.c` for what relocations mean.
//!
//! Invariant: a jump stays in its function, a function does not run off its end, and registers exist. Only what a callback can reach is judged.

use crate::LoadError;
use crate::address::region;
use crate::btf::{Btf, Extra, Kind};
use crate::calls::{HELPERS, KFUNCS};
use crate::core::{self, PatchedValue};
use crate::elf::{Elf, R_BPF_64_32, R_BPF_64_64, R_BPF_64_ABS64, Symbol, SymbolKind};
use crate::image::{Data, Function, Image, SourceLine};
use crate::instruction::{ALU, ALU64, Instruction, LDX, Op, Raw, ST, STX, decode};
use crate::maps::{MAX_MAP_BYTES, MAX_MAPS, MapInfo, MapKind};
use crate::mirror;
use crate::operations::{Callback, Operations};
use crate::step::steps;
use std::collections::{BTreeMap, BTreeSet};

/// Most instructions of an object.
pub const MAX_INSTRUCTIONS: usize = 1 << 16;
/// Most sections of code.
const MAX_CODE_SECTIONS: usize = 256;
/// Most parameters, and most functions of the kernel that are called.
const MAX_NAMES: usize = 1024;
/// Version that `LINUX_KERNEL_VERSION` gives: 6.12.
const VERSION: u64 = 6 << 16 | 12 << 8;

/// What the instructions of an object name and call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    /// Fields: instruction, structure, first byte, bytes, and how.
    pub fields: Vec<FieldUse>,
    /// Fields, types and values that are not here: instruction, place in [`Image::missing`].
    pub missing: Vec<(usize, usize)>,
    /// Helpers by number.
    pub helpers: Vec<(usize, u32)>,
    /// Kernel functions by name.
    pub kfuncs: Vec<(usize, String)>,
}

/// An instruction that names a field.
#[derive(Clone, Debug)]
pub(crate) struct FieldUse {
    pub at: usize,
    pub root: String,
    pub byte: u64,
    pub bytes: u64,
    pub reads: bool,
    pub writes: bool,
}

/// A parameter: a global variable that is `const volatile`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub name: String,
    pub data: usize,
    pub at: usize,
    pub bytes: usize,
    pub signed: bool,
}

impl Variable {
    /// The value that a text gives it, if it fits.
    pub(crate) fn value(&self, text: &str) -> Option<u64> {
        let value = match self.signed {
            true => text.parse::<i64>().ok().map(|value| value as u64),
            false => text.parse::<u64>().ok().or(match text {
                "true" => Some(1),
                "false" => Some(0),
                _ => None,
            }),
        };
        let unused = 64 - 8 * self.bytes as u32;
        let whole = |value: &u64| match self.signed {
            true => ((value << unused) as i64 >> unused) as u64 == *value,
            false => value << unused >> unused == *value,
        };
        value.filter(whole)
    }

    /// What values it takes.
    pub(crate) const fn range(&self) -> &'static str {
        match (self.signed, self.bytes) {
            (false, 1) => "a whole number of 8 bits",
            (false, 2) => "a whole number of 16 bits",
            (false, 4) => "a whole number of 32 bits",
            (false, _) => "a whole number of 64 bits",
            (true, 1) => "a whole number of 8 bits with a sign",
            (true, 2) => "a whole number of 16 bits with a sign",
            (true, 4) => "a whole number of 32 bits with a sign",
            (true, _) => "a whole number of 64 bits with a sign",
        }
    }
}

/// An object after loading.
#[derive(Clone, Debug)]
pub(crate) struct LoadedObject {
    pub image: Image,
    pub uses: Uses,
    pub operations: Vec<Operations>,
    pub variables: Vec<Variable>,
    /// Where `CONFIG_HZ` is: section of data, byte, bytes.
    pub hz: Vec<(usize, usize, usize)>,
}

impl LoadedObject {
    /// Operations that the kernel registers.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &Operations> {
        self.operations.iter().filter(|of| of.refusal.is_none())
    }
}

/// Loads an object, and the modules of ours that it calls.
pub(crate) fn load(bytes: &[u8]) -> Result<LoadedObject, LoadError> {
    let mut loader = Loader::new(mirror::types());
    let first = loader.object(bytes, true)?;
    loader.image.functions.sort_by_key(|of| (of.start, of.end));
    loader.image.functions.dedup_by_key(|of| of.start);
    if let Some(of) = loader.image.functions.windows(2).find(|of| of[0].end > of[1].start) {
        let name = &of[1].name;
        return Err(LoadError::new(format!("function {name} begins within another one")));
    }
    loader.image.lines.sort_by_key(|of| of.at);
    loader.uses.fields.sort_by_key(|of| of.at);
    let entries = first.operations.iter().filter(|of| of.refusal.is_none());
    let entries: Vec<_> = entries.flat_map(Operations::entries).collect();
    loader.judge(&entries)?;
    if first.variables.len() > MAX_NAMES {
        return Err(LoadError::new(
            "the object has more than 1024 global variables that are const volatile",
        ));
    }
    if let Some(of) = first.variables.iter().find(|of| matches!(of.name.as_str(), "hz" | "ops")) {
        let name = &of.name;
        return Err(LoadError::new(format!(
            "the variable {name} has the name of a parameter here; rename it"
        )));
    }
    let Loader { mut image, uses, hz, .. } = loader;
    image.steps = steps(&image.code);
    Ok(LoadedObject { image, uses, operations: first.operations, variables: first.variables, hz })
}

#[derive(Debug)]
struct Loader {
    target: Btf<'static>,
    image: Image,
    uses: Uses,
    hz: Vec<(usize, usize, usize)>,
    /// Functions of our own modules, by the kernel's names for them.
    modules: BTreeMap<&'static str, usize>,
}

/// One object of those in an image.
struct Added {
    operations: Vec<Operations>,
    variables: Vec<Variable>,
}

/// What the sections of an object have become.
#[derive(Default)]
struct Places {
    code: BTreeMap<usize, usize>, // section: first instruction
    data: BTreeMap<usize, usize>, // section: place in the image
    maps: BTreeMap<u64, usize>,   // offset in .maps: place in the image
    maps_section: Option<usize>,
    externs: BTreeMap<String, u64>, // address
}

/// Our own modules, whose functions kernels export where they have them: names there, and our callbacks.
type Exported = &'static [(&'static str, Callback)];
const CUBIC: Exported = &[
    ("cubictcp_init", Callback::Init),
    ("cubictcp_recalc_ssthresh", Callback::Ssthresh),
    ("cubictcp_cong_avoid", Callback::CongAvoid),
    ("cubictcp_state", Callback::SetState),
    ("cubictcp_cwnd_event", Callback::CwndEvent),
    ("cubictcp_acked", Callback::PktsAcked),
];
const DCTCP: Exported = &[
    ("dctcp_init", Callback::Init),
    ("dctcp_update_alpha", Callback::InAckEvent),
    ("dctcp_cwnd_event", Callback::CwndEvent),
    ("dctcp_ssthresh", Callback::Ssthresh),
    ("dctcp_cwnd_undo", Callback::UndoCwnd),
    ("dctcp_state", Callback::SetState),
];

impl Loader {
    /// An empty image, for a kernel with these types.
    fn new(target: Btf<'static>) -> Self {
        Self {
            target,
            image: Image { hz: 1000, ..Image::default() },
            uses: Uses::default(),
            hz: Vec::new(),
            modules: BTreeMap::new(),
        }
    }

    fn object(&mut self, bytes: &[u8], first: bool) -> Result<Added, LoadError> {
        let elf = Elf::read(bytes)?;
        let section = |name: &str| elf.section(name).map(|section| section.data);
        license(section("license"))?;
        let Some(btf) = section(".BTF") else {
            return Err(LoadError::new("the object has no type information; compile it with -g"));
        };
        let btf = Btf::read(btf)?;
        let mut places = Places::default();
        self.data(&elf, &mut places)?;
        self.maps(&elf, &btf, &mut places)?;
        self.externs(&elf, &btf, &mut places)?;
        let wanted = code_of_callbacks(&elf);
        if wanted.len() > MAX_CODE_SECTIONS {
            return Err(LoadError::new("the object has more than 256 sections of code"));
        }
        for section in wanted {
            self.decode(&elf, section, &mut places)?;
        }
        let extra = section(".BTF.ext");
        for (section, start) in places.code.clone() {
            let name = elf.sections[section].name;
            let extra = extra.map_or(Ok(Extra::default()), |of| Extra::read(of, &btf, name))?;
            self.lines(&btf, &extra, start, elf.sections[section].data.len() / 8);
            self.link(&elf, &places, (section, start), first)?;
            self.fields(&btf, &extra, (elf.sections[section].data, start))?;
        }
        let starts = |section: usize, byte: u64| {
            let start = *places.code.get(&section)?;
            Some(start + usize::try_from(byte / 8).ok()?)
        };
        let operations = crate::operations::read(&elf, &btf, &starts)?;
        let variables = self.variables(&elf, &btf, &places);
        Ok(Added { operations, variables })
    }

    /// Sections of global variables.
    fn data(&mut self, elf: &Elf<'_>, places: &mut Places) -> Result<(), LoadError> {
        for (nth, data) in global_variables(elf)? {
            places.data.insert(nth, self.image.data.len());
            self.image.data.push(data);
        }
        Ok(())
    }

    /// Maps that the object defines by types.
    fn maps(&mut self, elf: &Elf<'_>, btf: &Btf<'_>, places: &mut Places) -> Result<(), LoadError> {
        if elf.section("maps").is_some() {
            return Err(LoadError::new(
                "the object defines maps in the section maps; define them in .maps by types",
            ));
        }
        places.maps_section = elf.sections.iter().position(|section| section.name == ".maps");
        for symbol in &elf.symbols {
            if symbol.section.is_none() || symbol.section != places.maps_section {
                continue;
            }
            if symbol.kind != SymbolKind::Variable {
                continue;
            }
            let info = map(btf, symbol.name)?;
            let total: u64 = self.image.maps.iter().chain([&info]).map(MapInfo::most_bytes).sum();
            if self.image.maps.len() >= MAX_MAPS || total > MAX_MAP_BYTES {
                return Err(LoadError::new(format!(
                    "map {}: an object has at most 64 maps of 16 MB in all",
                    info.name
                )));
            }
            places.maps.insert(symbol.value, self.image.maps.len());
            self.image.maps.push(info);
        }
        Ok(())
    }

    /// Values that the kernel's configuration gives.
    fn externs(
        &mut self,
        elf: &Elf<'_>,
        btf: &Btf<'_>,
        places: &mut Places,
    ) -> Result<(), LoadError> {
        let variables = btf.variables(".kconfig");
        if variables.is_empty() {
            return Ok(());
        }
        if variables.len() > 64 {
            return Err(LoadError::new(
                "the object reads more than 64 values of the configuration",
            ));
        }
        let nth = self.image.data.len();
        let mut bytes = Vec::new();
        for (name, of) in variables {
            let size = btf.size(of).filter(|size| [1, 2, 4, 8].contains(size));
            let Some(size) = size.map(|size| size as usize) else {
                return Err(LoadError::new(format!("{name} is no number of the configuration")));
            };
            let weak = elf.symbols.iter().any(|of| of.name == name && of.weak);
            let value = match name {
                "CONFIG_HZ" => {
                    self.hz.push((nth, bytes.len(), size));
                    u64::from(self.image.hz)
                }
                "LINUX_KERNEL_VERSION" => VERSION,
                _ if weak => 0,
                _ => {
                    return Err(LoadError::new(format!(
                        "{name} of the kernel's configuration is not known here; CONFIG_HZ and LINUX_KERNEL_VERSION are"
                    )));
                }
            };
            let at = bytes.len();
            places
                .externs
                .insert(name.to_string(), region::address(region::DATA + nth as u32, at as u64));
            bytes.extend(&value.to_le_bytes()[..size]);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        self.image.data.push(Data { name: ".kconfig".into(), bytes, writable: false });
        Ok(())
    }

    /// Adds the instructions of a section, and its functions.
    fn decode(
        &mut self,
        elf: &Elf<'_>,
        section: usize,
        places: &mut Places,
    ) -> Result<(), LoadError> {
        let of = &elf.sections[section];
        let start = self.image.code.len();
        let (chunks, rest) = of.data.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(LoadError::new(format!("section {} is no code", of.name)));
        }
        if start + chunks.len() > MAX_INSTRUCTIONS {
            return Err(LoadError::new("the object has more than 65536 instructions"));
        }
        places.code.insert(section, start);
        let mut is_second = false; // half of a number of 64 bits
        for (nth, bytes) in chunks.iter().enumerate() {
            let raw = Raw::of(*bytes);
            let at = start + nth;
            if std::mem::take(&mut is_second) {
                let first: &mut Instruction = &mut self.image.code[at - 1];
                first.imm = i64::from(raw.imm) << 32 | first.imm & 0xffff_ffff;
                let second = Instruction { op: Op::Middle, dst: 0, src: 0, off: 0, imm: 0 };
                self.image.code.push(second);
                continue;
            }
            let decoded = match decode(raw, at) {
                Ok(decoded) => self.call(decoded, raw, at),
                Err(what) => self.refused(format!("the object has {what}, which is not supported")),
            };
            is_second = decoded.op == Op::Imm64;
            self.image.code.push(decoded);
        }
        if is_second {
            return Err(LoadError::new(format!("section {} ends within an instruction", of.name)));
        }
        let bytes = of.data.len() as u64;
        for symbol in elf.symbols.iter().filter(|of| of.section == Some(section)) {
            let end = symbol.value.checked_add(symbol.size).filter(|end| *end <= bytes);
            if let (SymbolKind::Function, Some(end)) = (symbol.kind, end) {
                self.image.functions.push(Function {
                    name: symbol.name.to_string(),
                    start: start + (symbol.value / 8) as usize,
                    end: start + (end / 8) as usize,
                });
            }
        }
        Ok(())
    }

    /// Calls that are whole in the object: helpers, and functions of the same section.
    fn call(&mut self, decoded: Instruction, raw: Raw, at: usize) -> Instruction {
        match (decoded.op, raw.src) {
            (Op::Helper, 0) => {
                let number = raw.imm as u32;
                match HELPERS.iter().find(|of| of.number == number) {
                    Some(of) => {
                        self.uses.helpers.push((at, number));
                        self.image.called.push((at as u32, of.name.to_string()));
                        decoded
                    }
                    None => self.refused(format!(
                        "helper {number} is called, which is not here; see docs/bpf-laws.md for those that are"
                    )),
                }
            }
            (Op::Helper, 1) => {
                let off = (at as i32 + 1).wrapping_add(raw.imm);
                Instruction { op: Op::Local, off, ..decoded }
            }
            (Op::Helper, _) => self.refused("a kernel function is called by its number".into()),
            _ => decoded,
        }
    }

    fn refused(&mut self, why: String) -> Instruction {
        self.image.refused.push(why);
        let imm = self.image.refused.len() as i64 - 1;
        Instruction { op: Op::Refused, dst: 0, src: 0, off: 0, imm }
    }

    fn lines(&mut self, btf: &Btf<'_>, extra: &Extra, start: usize, instructions: usize) {
        let mut before = None; // at most one line for an instruction
        for line in &extra.lines {
            let at = (line.at / 8) as usize;
            if at >= instructions || before.is_some_and(|before| at <= before) {
                continue;
            }
            before = Some(at);
            let path = btf.file_at(line.file);
            let text = btf.line_at(line.text);
            self.image.lines.push(SourceLine {
                at: start + at,
                file: path,
                line: line.line,
                text: text.trim().trim_end_matches(';').to_string(),
            });
        }
    }

    /// Fills in what the relocations of a section of code name.
    fn link(
        &mut self,
        elf: &Elf<'_>,
        places: &Places,
        (section, start): (usize, usize),
        first: bool,
    ) -> Result<(), LoadError> {
        let len = elf.sections[section].data.len() / 8;
        let mut seen = BTreeSet::new();
        for relocation in elf.relocations(section) {
            let damaged = || LoadError::new("a relocation of the object leads nowhere");
            let nth = usize::try_from(relocation.at / 8).ok().filter(|nth| *nth < len);
            let at = start + nth.ok_or_else(damaged)?;
            if !seen.insert(at) {
                return Err(LoadError::new("the object has two relocations of one instruction"));
            }
            let symbol = *elf.symbols.get(relocation.symbol).ok_or_else(damaged)?;
            let instruction = self.image.code[at];
            match (relocation.kind, instruction.op) {
                (R_BPF_64_64, Op::Imm64) => {
                    let addend = instruction.imm as i32 as i64 as u64;
                    let value = match symbol.section {
                        Some(of) if Some(of) == places.maps_section => {
                            let map = places.maps.get(&symbol.value.wrapping_add(addend));
                            let map = *map.ok_or_else(damaged)?;
                            region::address(region::MAP + map as u32, 0)
                        }
                        Some(of) => {
                            let offset = symbol.value.wrapping_add(addend);
                            let data = places.data.get(&of).map(|nth| region::DATA + *nth as u32);
                            let code = places.code.get(&of).map(|start| *start as u64 + offset / 8);
                            match (data, code) {
                                (Some(data), _) => region::address(data, offset),
                                (_, Some(code)) => region::address(region::CODE, code),
                                _ => {
                                    self.image.code[at] = self.refused(format!(
                                        "the address of {} is taken, which has none here",
                                        elf.sections[of].name
                                    ));
                                    continue;
                                }
                            }
                        }
                        None => match (places.externs.get(symbol.name), symbol.weak) {
                            (Some(address), _) => *address,
                            _ if KFUNCS.contains(&symbol.name) => 1, // it exists
                            (None, true) => 0,
                            (None, false) => {
                                self.image.code[at] = self.refused(format!(
                                    "{} of the kernel is read, which is not here",
                                    symbol.name
                                ));
                                continue;
                            }
                        },
                    };
                    self.image.code[at].imm = value as i64;
                }
                (R_BPF_64_32, Op::Helper | Op::Local | Op::Refused) => {
                    self.image.code[at] = match symbol.section {
                        Some(of) => {
                            let base = places.code.get(&of).ok_or_else(damaged)?;
                            // The object's own immediate: a function's offset, less the instruction of the call.
                            let bytes = elf.sections[section].data.as_chunks::<8>().0;
                            let imm = i64::from(Raw::of(bytes[at - start]).imm);
                            let to = *base as i64 + (symbol.value / 8) as i64 + imm + 1;
                            let off = i32::try_from(to).map_err(|_| damaged())?;
                            Instruction { op: Op::Local, dst: 0, src: 0, off, imm: 0 }
                        }
                        None => self.kernel_function(symbol.name, at, symbol.weak, first)?,
                    };
                }
                (R_BPF_64_64 | R_BPF_64_32 | R_BPF_64_ABS64, _) => return Err(damaged()),
                _ => {}
            }
        }
        Ok(())
    }

    /// A call of a function of the kernel.
    fn kernel_function(
        &mut self,
        name: &str,
        at: usize,
        weak: bool,
        first: bool,
    ) -> Result<Instruction, LoadError> {
        self.uses.kfuncs.push((at, name.to_string()));
        self.image.called.push((at as u32, name.to_string()));
        if let Some(nth) = KFUNCS.iter().position(|of| *of == name) {
            return Ok(Instruction { op: Op::Kfunc, dst: 0, src: 0, off: 0, imm: nth as i64 });
        }
        let exports = |of: Exported| of.iter().any(|(known, _)| *known == name);
        let module = match (exports(CUBIC), exports(DCTCP)) {
            (true, _) => Some((forebay_bpf::CUBIC, CUBIC)),
            (_, true) => Some((forebay_bpf::DCTCP, DCTCP)),
            _ => None,
        };
        if let Some((bytes, exported)) = module.filter(|_| first) {
            if !self.modules.contains_key(name) {
                let added = self.object(bytes, false)?;
                let operations = added.operations.first().expect("our own modules have operations");
                for (name, callback) in exported {
                    if let Some(entry) = operations.entry(*callback) {
                        self.modules.insert(name, entry);
                    }
                }
            }
            if let Some(entry) = self.modules.get(name) {
                return Ok(Instruction {
                    op: Op::Module,
                    dst: 0,
                    src: 0,
                    off: *entry as i32,
                    imm: 0,
                });
            }
        }
        if weak {
            return Ok(self.missing(at, format!("the kernel function {name}")));
        }
        Ok(self.refused(format!(
            "the kernel function {name} is not here; tcp_slow_start, tcp_cong_avoid_ai, tcp_reno_*, cubictcp_* and dctcp_* are"
        )))
    }

    /// What stands for an instruction that names something that is not here: a run ends where it is reached.
    fn missing(&mut self, at: usize, name: String) -> Instruction {
        let nth = self.image.missing.len();
        self.image.missing.push(name);
        self.uses.missing.push((at, nth));
        Instruction { op: Op::Missing, dst: 0, src: 0, off: 0, imm: nth as i64 }
    }

    /// Places fields, types and values that instructions name.
    fn fields(
        &mut self,
        btf: &Btf<'_>,
        extra: &Extra,
        (code, start): (&[u8], usize),
    ) -> Result<(), LoadError> {
        // Bit fields that the code itself shifts by what the kernel says; others are at the object's own bit.
        if extra.relocations.len() > code.len() / 8 {
            return Err(LoadError::new("the object has more field relocations than instructions"));
        }
        let shifts =
            extra.relocations.iter().filter(|of| matches!(of.kind, core::LSHIFT | core::RSHIFT));
        let shifted: BTreeSet<_> = shifts.map(|of| (of.of, btf.name_at(of.path))).collect();
        for of in &extra.relocations {
            let nth = of.at as usize / 8;
            let Some(bytes) = code.as_chunks::<8>().0.get(nth) else {
                return Err(LoadError::new("a field relocation is beyond its code"));
            };
            let (raw, at) = (Raw::of(*bytes), start + nth);
            let wrong = |what: &str| {
                LoadError::new(format!("a field relocation is at an instruction that {what}"))
            };
            if self.image.code[at].op == Op::Refused {
                continue;
            }
            match core::place(btf, &self.target, of) {
                PatchedValue::Wrong(what) => return Err(LoadError::new(what)),
                PatchedValue::Missing(name) => {
                    self.image.code[at] = self.missing(at, name);
                }
                PatchedValue::Value(value, field) => {
                    let class = raw.class();
                    let memory = matches!(class, LDX | ST | STX);
                    let instruction = &mut self.image.code[at];
                    match class {
                        _ if memory => {
                            instruction.off =
                                i32::try_from(value).map_err(|_| wrong("is too far"))?;
                        }
                        ALU | ALU64 if raw.code & 8 == 0 => {
                            instruction.imm = i64::from(value as i32);
                        }
                        _ if raw.is_imm64() => instruction.imm = value as i64,
                        _ => return Err(wrong("names no field")),
                    }
                    let Some(field) = field.filter(|_| of.kind == core::BYTE_OFFSET) else {
                        continue;
                    };
                    let shifted = shifted.contains(&(of.of, btf.name_at(of.path)));
                    if memory && let Some(name) = resize(instruction, raw, &field, shifted) {
                        let name = format!("{}.{name} of this size", field.root);
                        self.image.code[at] = self.missing(at, name);
                        continue;
                    }
                    self.uses.fields.push(FieldUse {
                        at,
                        root: field.root,
                        byte: field.at,
                        bytes: field.size,
                        reads: class == LDX,
                        writes: matches!(class, ST | STX),
                    });
                }
            }
        }
        Ok(())
    }

    /// Global variables that are parameters.
    fn variables(&self, elf: &Elf<'_>, btf: &Btf<'_>, places: &Places) -> Vec<Variable> {
        let mut found = Vec::new();
        for symbol in elf.symbols.iter().filter(|of| of.kind == SymbolKind::Variable) {
            let data = symbol.section.and_then(|of| places.data.get(&of));
            let Some(data) = data.copied().filter(|nth| !self.image.data[*nth].writable) else {
                continue;
            };
            found.extend(parameter(btf, symbol, data, self.image.data[data].bytes.len()));
        }
        found.sort_by_key(|of| (of.data, of.at));
        found
    }

    /// Refuses what callbacks can reach and is not supported; forgets uses that they cannot reach.
    fn judge(&mut self, entries: &[usize]) -> Result<(), LoadError> {
        let (mut reached, mut callbacks) = (BTreeSet::new(), BTreeSet::new());
        let mut waiting = entries.to_vec();
        let image = &self.image;
        while let Some(entry) = waiting.pop() {
            let function = image.function(entry).filter(|of| of.start == entry);
            let Some(function) = function else {
                return Err(LoadError::new("a callback or a call leads to no function"));
            };
            if !reached.insert(entry) {
                continue;
            }
            let body = function.start..function.end.min(image.code.len());
            for at in body.clone() {
                let of = image.code[at];
                let wrong = |what: &str| Err(LoadError::new(image.sentence(at, what)));
                match of.op {
                    Op::Refused => return wrong(&image.refused[of.imm as usize]),
                    Op::Local | Op::Module => waiting.push(of.off as usize),
                    Op::Imm64 if (of.imm as u64 >> 32) as u32 == region::CODE => {
                        waiting.push(of.imm as u32 as usize);
                        callbacks.insert(of.imm as u32 as usize);
                    }
                    op if op.is_jump() => {
                        let to = usize::try_from(of.off).ok().filter(|to| body.contains(to));
                        if to.is_none_or(|to| image.code[to].op == Op::Middle) {
                            return wrong("a jump leaves its function");
                        }
                    }
                    _ => {}
                }
            }
            let last = body.clone().next_back().map(|at| image.code[at].op);
            if !matches!(last, Some(Op::Exit | Op::Ja)) {
                let name = &function.name;
                return Err(LoadError::new(format!("function {name} runs off its end")));
            }
        }
        let functions: Vec<_> = reached
            .iter()
            .filter_map(|at| image.function(*at))
            .map(|of| of.start..of.end)
            .collect();
        self.image.callbacks = callbacks.into_iter().collect();
        for body in &functions {
            follow(&self.image.code[body.clone()], body.start, &mut self.uses.fields);
        }
        let mut reached = vec![false; self.image.code.len()];
        functions.into_iter().for_each(|body| reached[body].fill(true));
        let is_reached = |at: usize| reached[at];
        self.uses.fields.retain(|of| is_reached(of.at));
        self.uses.missing.retain(|of| is_reached(of.0));
        self.uses.helpers.retain(|of| is_reached(of.0));
        self.uses.kfuncs.retain(|of| is_reached(of.0));
        let kfuncs: BTreeSet<_> = self.uses.kfuncs.iter().map(|(_, name)| name).collect();
        if kfuncs.len() > MAX_NAMES {
            return Err(LoadError::new("the object calls more than 1024 functions of the kernel"));
        }
        Ok(())
    }
}

/// Sections of global variables, by their number.
pub(crate) fn global_variables(elf: &Elf<'_>) -> Result<Vec<(usize, Data)>, LoadError> {
    let (mut found, mut total) = (Vec::new(), 0u64);
    for (nth, section) in elf.sections.iter().enumerate() {
        let kind = [".rodata", ".data", ".bss"].into_iter().find(|kind| {
            let rest = section.name.strip_prefix(kind);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        let Some(kind) = kind.filter(|_| !section.code) else { continue };
        total = total.saturating_add(section.size);
        if total > MAX_MAP_BYTES {
            return Err(LoadError::new("the object has more than 16 MB of global variables"));
        }
        if elf.relocations(nth).next().is_some() {
            return Err(LoadError::new(format!(
                "a variable in {} begins as an address, which has no meaning here",
                section.name
            )));
        }
        let mut bytes = section.data.to_vec();
        bytes.resize(section.size as usize, 0);
        let writable = kind != ".rodata";
        found.push((nth, Data { name: section.name.to_string(), bytes, writable }));
    }
    Ok(found)
}

/// A variable among constants of so many bytes, if it is a parameter: `const volatile`, and a whole number.
pub(crate) fn parameter(
    btf: &Btf<'_>,
    symbol: &Symbol<'_>,
    data: usize,
    len: usize,
) -> Option<Variable> {
    let of = btf.variable(symbol.name).filter(|of| btf.is_volatile(*of))?;
    let signed = match btf.kind(btf.plain(of)?) {
        Kind::Int { signed, .. } => *signed,
        Kind::Enum { .. } => false,
        _ => return None,
    };
    let (at, bytes) = (symbol.value as usize, btf.size(of).unwrap_or(0) as usize);
    let inside = at.checked_add(bytes).is_some_and(|end| end <= len);
    let name = symbol.name.to_string();
    (inside && matches!(bytes, 1 | 2 | 4 | 8)).then_some(Variable { name, data, at, bytes, signed })
}

/// Lets a load or store have the size of the field here, or shifts a bit field to where the object looks for it. The name of the field's
/// bytes, if that is impossible.
fn resize(
    instruction: &mut Instruction,
    raw: Raw,
    field: &core::Field,
    shifted: bool,
) -> Option<String> {
    if let Some(bit) = field.local_bit {
        if shifted {
            return None;
        }
        let shift = bit.checked_sub(8 * u64::from(raw.off as u16));
        let loads = matches!(instruction.op, Op::Ldx1 | Op::Ldx2 | Op::Ldx4 | Op::Ldx8);
        if loads && shift.is_some_and(|shift| (1..64).contains(&shift)) {
            instruction.op = Op::LdxBits;
            instruction.imm = shift.unwrap_or(0) as i64;
        }
        return None;
    }
    if field.local == field.size || field.local == 0 {
        return None;
    }
    let sizes = [1, 2, 4, 8];
    let place = |of: [Op; 4], op: Op| of.iter().position(|known| *known == op);
    let groups = [
        [Op::Ldx1, Op::Ldx2, Op::Ldx4, Op::Ldx8],
        [Op::Stx1, Op::Stx2, Op::Stx4, Op::Stx8],
        [Op::St1, Op::St2, Op::St4, Op::St8],
    ];
    for group in groups {
        let (Some(now), Some(then)) =
            (place(group, instruction.op), sizes.iter().position(|size| *size == field.size))
        else {
            continue;
        };
        // Only a whole field has another size; a part of one stays what it is.
        if sizes[now] != field.local {
            return None;
        }
        if !field.resizable {
            break;
        }
        instruction.op = group[then];
        return None;
    }
    Some(format!("a field at byte {}", field.at))
}

/// What a function does with the addresses of fields that it works out: a look at its instructions in order, without jumps.
fn follow(code: &[Instruction], start: usize, fields: &mut [FieldUse]) {
    let mut of = [None; 16]; // the field whose offset or address a register has
    for (nth, instruction) in code.iter().enumerate() {
        let (dst, src) = (usize::from(instruction.dst & 15), usize::from(instruction.src & 15));
        let named = fields.binary_search_by_key(&(start + nth), |of| of.at).ok();
        match instruction.op {
            Op::Add64X => of[dst] = of[dst].or(of[src]),
            Op::Mov64X => of[dst] = of[src],
            op if op.is_load() => {
                if let Some(field) = of[src] {
                    let field: &mut FieldUse = &mut fields[field];
                    field.reads = true;
                }
                of[dst] = None;
            }
            op if op.is_store() => {
                if let Some(field) = of[dst] {
                    let field: &mut FieldUse = &mut fields[field];
                    field.writes = true;
                }
            }
            Op::Helper | Op::Kfunc | Op::Local | Op::Module => of[..6].fill(None),
            op if op.is_arithmetic() || op == Op::Imm64 => {
                of[dst] = named.or(of[dst].filter(|_| instruction.op == Op::Add64K));
            }
            _ => {}
        }
    }
}

/// Sections of code that callbacks are in, and `.text`.
fn code_of_callbacks(elf: &Elf<'_>) -> BTreeSet<usize> {
    let mut wanted = BTreeSet::new();
    for (nth, section) in elf.sections.iter().enumerate() {
        if section.code && section.name == ".text" {
            wanted.insert(nth);
        }
        if crate::operations::is_operations(section.name) {
            for relocation in elf.relocations(nth).take(crate::operations::MAX_FUNCTIONS + 1) {
                let symbol = elf.symbols.get(relocation.symbol);
                let of = symbol.and_then(|symbol| symbol.section);
                wanted.extend(of.filter(|of| elf.sections.get(*of).is_some_and(|of| of.code)));
            }
        }
    }
    wanted
}

/// What the kernel takes for compatible. Source: `license_is_gpl_compatible`.
const LICENSES: [&str; 6] =
    ["GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"];

pub(crate) fn license(section: Option<&[u8]>) -> Result<&str, LoadError> {
    let wanted = "write for instance char _license[] SEC(\"license\") = \"GPL\";";
    let Some(bytes) = section else {
        return Err(LoadError::new(format!(
            "the object has no license, and Linux wants one; {wanted}"
        )));
    };
    let text = crate::elf::text(bytes, 0).unwrap_or("");
    if LICENSES.contains(&text) {
        return Ok(text);
    }
    let shown: String = text.chars().filter(|of| !of.is_control()).take(40).collect();
    Err(LoadError::new(format!(
        "the object's license {shown:?} is not compatible with the GPL, so Linux refuses it (-22); {wanted}"
    )))
}

/// A map as its object declares it. Numbers of types are 0 where it names none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MapDeclaration {
    pub kind: u32,
    pub key: u32,
    pub value: u32,
    pub entries: u32,
    pub flags: u32,
    pub key_type: u32,
    pub value_type: u32,
}

/// A map that is defined by types: `__uint` is the length of an array, `__type` what a pointer points to.
pub(crate) fn declaration(btf: &Btf<'_>, name: &str) -> Result<MapDeclaration, LoadError> {
    let wrong = |what: &str| LoadError::new(format!("map {name}: {what}"));
    let of = btf.variable(name).and_then(|of| btf.members(of));
    let of = of.ok_or_else(|| wrong("it is not defined by types"))?;
    let mut found = MapDeclaration::default();
    for member in of {
        let plain = btf.plain(member.of).map(|of| btf.kind(of));
        let number = || match plain {
            Some(Kind::Pointer(to)) => match btf.plain(*to).map(|to| btf.kind(to)) {
                Some(Kind::Array { count, .. }) => Some(*count),
                _ => None,
            },
            _ => None,
        };
        let sized = || match plain {
            Some(Kind::Pointer(to)) => Some((u32::try_from(btf.size(*to)?).ok()?, *to)),
            _ => None,
        };
        let known = match btf.member_name(member) {
            "type" => number().map(|of| found.kind = of),
            "max_entries" => number().map(|of| found.entries = of),
            "key_size" => number().map(|of| found.key = of),
            "value_size" => number().map(|of| found.value = of),
            "key" => sized().map(|of| (found.key, found.key_type) = of),
            "value" => sized().map(|of| (found.value, found.value_type) = of),
            "map_flags" => number().map(|of| found.flags = of),
            "pinning" => Some(()), // nothing outlives a run
            other => return Err(wrong(&format!("{other} is not supported here"))),
        };
        if known.is_none() {
            return Err(wrong("it is damaged"));
        }
    }
    Ok(found)
}

/// A map of the simulator.
fn map(btf: &Btf<'_>, name: &str) -> Result<MapInfo, LoadError> {
    let wrong = |what: &str| LoadError::new(format!("map {name}: {what}"));
    let MapDeclaration { kind, key, value, entries, .. } = declaration(btf, name)?;
    let kind = MapKind::of(kind).map_err(|kind| {
        wrong(&format!("a map of type {kind} is not here; array, hash, lru_hash, their kinds per CPU and sk_storage are"))
    })?;
    let has_entries = kind == MapKind::SocketStorage || entries > 0;
    let fits = (1..=1 << 20).contains(&value) && (1..=512).contains(&key) && entries <= 1 << 24;
    let key_fits = !matches!(kind, MapKind::Array | MapKind::SocketStorage) || key == 4;
    if !has_entries || !fits || !key_fits {
        return Err(wrong(
            "its key, value or number of entries has a size that Linux or this simulator refuses",
        ));
    }
    Ok(MapInfo { name: name.to_string(), kind, key, value, entries })
}
