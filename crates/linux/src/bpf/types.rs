//! Type information (BTF): of the kernel, where a structure has its fields; of an object, what the kernel needs to place fields in code.
//!
//! Source: `Documentation/bpf/btf.rst`. Whatever does not fit in that is `None`.

use super::object::{Object, text, u16_at, u32_at};
use std::ops::Range;

const STRUCT: u32 = 4;
const SECTION: u32 = 15;

/// Types of the running kernel, as `/sys/kernel/btf/vmlinux` has them.
#[derive(Debug)]
pub(super) struct Kernel<'a> {
    types: &'a [u8],
    names: &'a [u8],
}

/// A structure of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Structure {
    pub number: u32,
    pub size: usize,
    /// Name and byte of each field, in order.
    pub fields: Vec<(String, usize)>,
}

impl<'a> Kernel<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        (u16_at(bytes, 0)? == 0xeb9f).then_some(())?;
        let header = u32_at(bytes, 4)? as usize;
        let part = |at: usize| {
            let from = header.checked_add(u32_at(bytes, at)? as usize)?;
            bytes.get(from..from.checked_add(u32_at(bytes, at + 4)? as usize)?)
        };
        Some(Self { types: part(8)?, names: part(16)? })
    }

    /// The structure of this name.
    pub(super) fn structure(&self, name: &str) -> Option<Structure> {
        let mut at = 0;
        let mut number = 1;
        loop {
            let word = |nth: usize| u32_at(self.types, at + 4 * nth);
            let (info, size) = (word(1)?, word(2)?);
            let (kind, count) = (info >> 24 & 31, (info & 0xffff) as usize);
            if kind == STRUCT && text(self.names, word(0)? as usize)? == name {
                let field = |nth: usize| {
                    let name = text(self.names, word(3 + 3 * nth)? as usize)?.to_string();
                    // With the flag, a field's bits are in the upper byte, and 0 of one that is whole.
                    let bits = word(5 + 3 * nth)? & if info >> 31 == 1 { 0xff_ffff } else { !0 };
                    Some((name, bits as usize / 8))
                };
                let fields = (0..count).map(field).collect::<Option<_>>()?;
                return Some(Structure { number, size: size as usize, fields });
            }
            at += length(kind, count)?;
            number += 1;
        }
    }
}

/// Bytes of a type of this kind with so many members.
fn length(kind: u32, count: usize) -> Option<usize> {
    let behind = match kind {
        1 | 14 | 17 => 4,              // whole numbers, variables, tags of declarations
        3 => 12,                       // arrays
        4 | 5 | 15 | 19 => 12 * count, // structures, unions, sections, enumerations of 64 bits
        6 | 13 => 8 * count,           // enumerations, parameters
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    };
    Some(12 + behind)
}

/// An object's type information with the sizes of sections and the places of variables in them: the kernel wants those, and an object that
/// was not linked has zeros there.
pub(super) fn with_sections(btf: &[u8], object: &Object<'_>) -> Option<Vec<u8>> {
    let of = Kernel::of(btf)?;
    let from = (u32_at(btf, 4)? + u32_at(btf, 8)?) as usize;
    let mut starts = vec![0]; // of each type, by its number; there is no type 0
    let mut at = 0;
    while at < of.types.len() {
        starts.push(at);
        let info = u32_at(of.types, at + 4)?;
        at += length(info >> 24 & 31, (info & 0xffff) as usize)?;
    }
    let name = |at: usize| text(of.names, u32_at(of.types, at)? as usize);
    let mut all = btf.to_vec();
    let mut put = |at: usize, value: u32| {
        all.get_mut(from + at..from + at + 4)?.copy_from_slice(&value.to_le_bytes());
        Some(())
    };
    for start in starts.iter().skip(1) {
        let info = u32_at(of.types, start + 4)?;
        if info >> 24 & 31 != SECTION {
            continue;
        }
        put(start + 8, u32::try_from(object.section(name(*start)?)?.len()).ok()?)?;
        for nth in 0..(info & 0xffff) as usize {
            let entry = start + 12 + 12 * nth;
            let variable = *starts.get(u32_at(of.types, entry)? as usize)?;
            put(entry + 4, object.symbol(name(variable)?)?)?;
        }
    }
    Some(all)
}

/// Where a program's functions begin and which fields its code names, as `.BTF.ext` has them: words as the kernel takes them.
#[derive(Clone, Debug, Default)]
pub(super) struct PlacedTypes {
    /// Instruction and type of each function.
    pub functions: Vec<[u32; 2]>,
    /// Byte, type, text of the way to the field, and what is wanted of it.
    pub relocations: Vec<[u32; 4]>,
}

impl PlacedTypes {
    /// Of the program in a section, from the object's `.BTF` and `.BTF.ext`.
    pub(super) fn of(btf: &[u8], extra: &[u8], section: &str) -> Option<Self> {
        let names_from = u32_at(btf, 4)?.checked_add(u32_at(btf, 16)?)? as usize;
        let names = btf.get(names_from..)?;
        let header = u32_at(extra, 4)? as usize;
        let part = |at: usize| {
            let from = header.checked_add(u32_at(extra, at)? as usize)?;
            Some(from..from.checked_add(u32_at(extra, at + 4)? as usize)?)
        };
        let of = |part: Range<usize>| records(extra.get(part)?, names, section);
        let functions =
            of(part(8)?)?.into_iter().map(|record| Some([record.first()? / 8, *record.get(1)?]));
        let relocations = of(part(24)?)?.into_iter().map(|record| record.get(..4)?.try_into().ok());
        Some(Self {
            functions: functions.collect::<Option<_>>()?,
            relocations: relocations.collect::<Option<_>>()?,
        })
    }
}

/// Records of one section's code: the size of a record, then for each section its name, how many there are, and they.
fn records(bytes: &[u8], names: &[u8], section: &str) -> Option<Vec<Vec<u32>>> {
    let words = (u32_at(bytes, 0)? / 4) as usize;
    (words > 0).then_some(())?;
    let mut at = 4;
    while at < bytes.len() {
        let (name, count) = (u32_at(bytes, at)? as usize, u32_at(bytes, at + 4)? as usize);
        at += 8;
        let end = count.checked_mul(4 * words)?.checked_add(at)?;
        if text(names, name)? == section {
            let record = |nth: usize| {
                let from = at + 4 * words * nth;
                (0..words).map(|word| u32_at(bytes, from + 4 * word)).collect()
            };
            return (0..count).map(record).collect();
        }
        at = end;
    }
    Some(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A whole number and a structure of a field, a bit field and a field, as the kernel would have them.
    fn made() -> Vec<u8> {
        let names = b"\0int\0pair\0first\0bits\0last\0";
        let types: [u32; 25] = [
            1,
            1 << 24,
            4,
            32, // int
            5,
            4 << 24 | 1 << 31 | 3,
            12,
            10,
            1,
            0,
            16,
            1,
            3 << 24 | 32,
            21,
            1,
            64, // pair, its fields behind
            0,
            2 << 24,
            1, // a pointer
            10,
            4 << 24 | 1,
            4,
            16,
            1,
            0, // first, with a field bits
        ];
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in
            [24, 0, size_of_val(&types) as u32, size_of_val(&types) as u32, names.len() as u32]
        {
            bytes.extend(u32::to_le_bytes(word));
        }
        types.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(names);
        bytes
    }

    #[test]
    fn a_structure_is_found_by_name_with_its_fields() {
        let bytes = made();
        let kernel = Kernel::of(&bytes).expect("it is whole");
        let fields = [("first", 0), ("bits", 4), ("last", 8)];
        let fields = fields.map(|(name, at)| (name.to_string(), at)).to_vec();
        assert_eq!(kernel.structure("pair"), Some(Structure { number: 2, size: 12, fields }));
        assert_eq!(kernel.structure("first").map(|of| of.number), Some(4));
        assert_eq!((kernel.structure("int"), kernel.structure("other")), (None, None));
    }

    #[test]
    fn what_is_cut_or_no_such_information_is_none() {
        let bytes = made();
        for cut in 0..bytes.len() {
            let _ = Kernel::of(&bytes[..cut]).and_then(|of| of.structure("first"));
            let mut other = bytes.clone();
            other[cut] ^= 0xff;
            let _ = Kernel::of(&other).and_then(|of| of.structure("first"));
            let _ = PlacedTypes::of(&other, &bytes[..cut], "tc");
        }
        assert!(Kernel::of(&bytes[..40]).is_none());
    }
}
