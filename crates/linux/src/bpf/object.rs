//! An object file as `clang -target bpf` writes it: programs by section, and where they name maps.
//!
//! Of ELF it reads what such a file has: 64 bits, little-endian, not linked. Source: the ELF specification; `R_BPF_64_64` is relocation 1
//! of `Documentation/bpf/llvm_reloc.rst`.

/// An object file that has been looked through.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    bytes: &'a [u8],
    sections: Vec<Section<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Section<'a> {
    name: &'a str,
    kind: u32,
    link: usize, // of relocations, the symbols'
    info: usize, // of relocations, the section that they are for
    from: usize,
    len: usize,
}

const SYMBOLS: u32 = 2; // SHT_SYMTAB
const RELOCATIONS: u32 = 9; // SHT_REL
const MAP: u64 = 1; // R_BPF_64_64

impl<'a> Object<'a> {
    /// Looks through a file. `None`: it is no such object, or cut.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        if bytes.get(..6)? != [0x7f, b'E', b'L', b'F', 2, 1] {
            return None;
        }
        let (at, count, names) = (u64_at(bytes, 40)?, u16_at(bytes, 60)?, u16_at(bytes, 62)?);
        (at <= bytes.len()).then_some(())?;
        let header = |nth: usize| at.checked_add(64 * nth);
        let raw = |nth: usize| {
            let at = header(nth)?;
            Some(Section {
                name: "",
                kind: u32_at(bytes, at + 4)?,
                from: u64_at(bytes, at + 24)?,
                len: u64_at(bytes, at + 32)?,
                link: u32_at(bytes, at + 40)? as usize,
                info: u32_at(bytes, at + 44)? as usize,
            })
        };
        let names = raw(names)?;
        let mut sections = Vec::new();
        for nth in 0..count {
            let name = u32_at(bytes, header(nth)?)? as usize;
            sections.push(Section { name: text(part(bytes, &names)?, name)?, ..raw(nth)? });
        }
        Some(Self { bytes, sections })
    }

    /// Bytes of a section.
    pub fn section(&self, name: &str) -> Option<&'a [u8]> {
        part(self.bytes, self.sections.iter().find(|of| of.name == name)?)
    }

    /// Offset of a symbol in its section.
    pub(super) fn symbol(&self, name: &str) -> Option<u32> {
        let symbols = self.sections.iter().find(|of| of.kind == SYMBOLS)?;
        let names = part(self.bytes, self.sections.get(symbols.link)?)?;
        let rows = part(self.bytes, symbols)?.chunks_exact(24);
        let row = rows
            .into_iter()
            .find(|row| u32_at(row, 0).is_some_and(|at| text(names, at as usize) == Some(name)))?;
        u32::try_from(u64_at(row, 8)?).ok()
    }

    /// Instructions of the program in a section, with descriptors where it names maps.
    ///
    /// `None`: there is no such section, it is no program, or it names what `map` does not know.
    pub fn program(&self, name: &str, map: impl Fn(&str) -> Option<i32>) -> Option<Vec<u64>> {
        let place = self.sections.iter().position(|of| of.name == name)?;
        let words = part(self.bytes, &self.sections[place])?.chunks_exact(8);
        let mut code: Vec<u64> =
            words.map(|of| u64::from_le_bytes(of.try_into().expect("eight bytes"))).collect();
        for section in self.sections.iter().filter(|of| of.kind == RELOCATIONS && of.info == place)
        {
            let symbols = self.sections.get(section.link)?;
            let names = part(self.bytes, self.sections.get(symbols.link)?)?;
            let symbols = part(self.bytes, symbols)?;
            let relocations = part(self.bytes, section)?;
            for nth in 0..relocations.len() / 16 {
                let at = u64_at(relocations, 16 * nth)?;
                let info = u64_at(relocations, 16 * nth + 8)? as u64;
                let symbol = text(names, u32_at(symbols, 24 * (info >> 32) as usize)? as usize)?;
                if info & 0xffff_ffff != MAP {
                    return None;
                }
                let fd = map(symbol)?.cast_unsigned();
                // The source register says that the immediate is a map's descriptor: BPF_PSEUDO_MAP_FD.
                let word = code.get_mut(at / 8)?;
                *word = *word & 0x0000_0000_ffff_0fff | 1 << 12 | u64::from(fd) << 32;
            }
        }
        Some(code)
    }
}

fn part<'a>(bytes: &'a [u8], of: &Section<'_>) -> Option<&'a [u8]> {
    bytes.get(of.from..of.from.checked_add(of.len)?)
}

/// The text from here to its zero.
pub(super) fn text(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?).into())
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<usize> {
    let word = u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?);
    usize::try_from(word).ok()
}
