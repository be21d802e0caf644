//! An object file as `clang -target bpf` writes it: sections, symbols and relocations.
//!
//! Source: the ELF specification; `Documentation/bpf/llvm_reloc.rst` for the types of relocations.
//!
//! Invariant: every range was checked against the file when it was read.

use crate::LoadError;

/// Largest object file, in bytes.
pub const MAX_BYTES: usize = 8 << 20;

/// Longest name, in bytes. Source: `KSYM_NAME_LEN`.
pub const MAX_NAME: usize = 512;
/// Most sections, and most symbols.
const MAX_SECTIONS: usize = 4096;
const MAX_SYMBOLS: usize = 1 << 16;

/// An object file that was read.
#[derive(Clone, Debug)]
pub struct Elf<'a> {
    /// Sections, the empty one at the start included.
    pub sections: Vec<Section<'a>>,
    /// Symbols, the empty one at the start included.
    pub symbols: Vec<Symbol<'a>>,
}

/// A section.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Name.
    pub name: &'a str,
    /// Contents; empty for sections that only reserve memory.
    pub data: &'a [u8],
    /// Bytes in memory.
    pub size: u64,
    /// Whether it holds code.
    pub code: bool,
    kind: u32,
    link: usize,
    info: usize,
}

/// A symbol.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    /// Name; empty for sections.
    pub name: &'a str,
    /// Its section, or none if another object is to define it.
    pub section: Option<usize>,
    /// Offset in the section.
    pub value: u64,
    /// Bytes.
    pub size: u64,
    /// What it names.
    pub kind: SymbolKind,
    /// Whether it may stay undefined.
    pub weak: bool,
}

/// What a symbol names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A variable.
    Variable,
    /// Something else: a section, a file, or what the compiler does not say.
    Other,
}

/// A place in a section that a symbol's address belongs into.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    /// Offset of the place.
    pub at: u64,
    /// One of the `R_BPF_*` types.
    pub kind: u32,
    /// Index of the symbol.
    pub symbol: usize,
}

/// `R_BPF_64_64`: the immediate of a `lddw`.
pub const R_BPF_64_64: u32 = 1;
/// `R_BPF_64_ABS64`: eight bytes of data.
pub const R_BPF_64_ABS64: u32 = 2;
/// `R_BPF_64_32`: the immediate of a call.
pub const R_BPF_64_32: u32 = 10;

const SYMBOLS: u32 = 2; // SHT_SYMTAB
const RESERVED: u32 = 8; // SHT_NOBITS
const RELOCATIONS: u32 = 9; // SHT_REL
const BPF: usize = 247; // EM_BPF
const CODE: u64 = 4; // SHF_EXECINSTR

/// Names of maps, by the instruction that names them.
pub type NamedMaps<'a> = Vec<(usize, &'a str)>;

impl<'a> Elf<'a> {
    /// Reads an object file.
    ///
    /// # Errors
    /// If it is no such object, or is cut.
    pub fn read(bytes: &'a [u8]) -> Result<Self, LoadError> {
        if bytes.len() > MAX_BYTES {
            return Err(LoadError::new("the object is larger than 8 MB"));
        }
        if bytes.get(..4) != Some(&[0x7f, b'E', b'L', b'F']) {
            return Err(LoadError::new(
                "this is no object file; compile the C file with clang -target bpf -O2 -g -c",
            ));
        }
        let little_endian_64 = bytes.get(4..6) == Some(&[2, 1]);
        if !little_endian_64 || u16_at(bytes, 18) != Some(BPF) {
            return Err(LoadError::new(
                "this object is not for BPF (64 bits, little-endian); compile it with clang -target bpf",
            ));
        }
        Self::parts(bytes).ok_or_else(|| LoadError::new("the object is cut or damaged"))
    }

    fn parts(bytes: &'a [u8]) -> Option<Self> {
        let (at, count, names) = (u64_at(bytes, 40)?, u16_at(bytes, 60)?, u16_at(bytes, 62)?);
        (count <= MAX_SECTIONS).then_some(())?;
        let at = usize::try_from(at).ok()?;
        let header = |nth: usize| at.checked_add(64 * nth);
        let raw = |nth: usize| {
            let at = header(nth)?;
            let kind = u32_at(bytes, at.checked_add(4)?)?;
            let (from, size) =
                (u64_at(bytes, at.checked_add(24)?)?, u64_at(bytes, at.checked_add(32)?)?);
            let data = match kind {
                0 | RESERVED => &[],
                _ => {
                    let from = usize::try_from(from).ok()?;
                    bytes.get(from..from.checked_add(usize::try_from(size).ok()?)?)?
                }
            };
            Some(Section {
                name: "",
                data,
                size,
                code: u64_at(bytes, at.checked_add(8)?)? & CODE != 0,
                kind,
                link: u32_at(bytes, at.checked_add(40)?)? as usize,
                info: u32_at(bytes, at.checked_add(44)?)? as usize,
            })
        };
        let names = raw(names)?.data;
        let mut sections = Vec::with_capacity(count);
        for nth in 0..count {
            let name = u32_at(bytes, header(nth)?)? as usize;
            sections.push(Section { name: text(names, name)?, ..raw(nth)? });
        }
        let mut symbols = Vec::new();
        if let Some(table) = sections.iter().find(|section| section.kind == SYMBOLS) {
            let names = sections.get(table.link)?.data;
            (table.data.len() / 24 <= MAX_SYMBOLS).then_some(())?;
            for row in table.data.chunks_exact(24) {
                let (info, section) = (row[4], u16_at(row, 6)?);
                symbols.push(Symbol {
                    name: text(names, u32_at(row, 0)? as usize)?,
                    section: (1..count).contains(&section).then_some(section),
                    value: u64_at(row, 8)?,
                    size: u64_at(row, 16)?,
                    kind: match info & 15 {
                        1 => SymbolKind::Variable,
                        2 => SymbolKind::Function,
                        _ => SymbolKind::Other,
                    },
                    weak: info >> 4 == 2,
                });
            }
        }
        let total: u64 = sections.iter().map(|section| section.data.len() as u64).sum();
        (total <= bytes.len() as u64).then_some(())?; // sections do not overlap
        Some(Self { sections, symbols })
    }

    /// The section of this name.
    pub fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Instructions of a section of code, and the maps that they name. Source registers say that they are maps. `None`: there is no such
    /// section, or it names something else.
    pub fn program(&self, name: &str) -> Option<(Vec<u64>, NamedMaps<'a>)> {
        let section = self.sections.iter().position(|of| of.name == name)?;
        let words = self.sections[section].data.as_chunks::<8>().0;
        let mut words: Vec<_> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let mut names = Vec::new();
        for of in self.relocations(section) {
            let at = usize::try_from(of.at / 8).ok()?;
            let (word, symbol) = (words.get_mut(at)?, self.symbols.get(of.symbol)?);
            (of.kind == R_BPF_64_64 && *word & 0xff == 0x18).then_some(())?;
            *word = *word & !0xf000 | 1 << 12; // BPF_PSEUDO_MAP_FD
            names.push((at, symbol.name));
        }
        Some((words, names))
    }

    /// Relocations of a section.
    pub fn relocations(&self, section: usize) -> impl Iterator<Item = Relocation> {
        let tables =
            self.sections.iter().filter(move |of| of.kind == RELOCATIONS && of.info == section);
        tables.flat_map(|table| table.data.chunks_exact(16)).map(|row| {
            let word = |at: usize| u64::from_le_bytes(*row[at..].first_chunk().expect("16 bytes"));
            let info = word(8);
            Relocation { at: word(0), kind: info as u32, symbol: (info >> 32) as usize }
        })
    }
}

/// The text from here to its zero, at most [`MAX_NAME`] bytes. Control characters, which would command a terminal, are in no name.
pub(crate) fn text(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?;
    let rest = &rest[..rest.len().min(MAX_NAME + 1)];
    let end = rest.iter().position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&rest[..end]).ok()?;
    (!text.contains(char::is_control)).then_some(text)
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?).into())
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
