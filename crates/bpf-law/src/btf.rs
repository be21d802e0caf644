//! Type information (BTF): of an object, and of the simulator's kernel.
//!
//! Source: `Documentation/bpf/btf.rst`.
//!
//! Invariant: ids of types are checked when they are followed, and no chain is followed beyond [`MAX_CHAIN`].

use crate::LoadError;
use crate::elf::{text, u16_at, u32_at};
use std::borrow::Cow;

/// Most types of an object.
pub const MAX_TYPES: usize = 1 << 20;
/// Most variables of an object.
pub const MAX_VARIABLES: usize = 1 << 16;
/// Longest chain of types that name another one.
pub const MAX_CHAIN: usize = 64;

/// Types and their names.
#[derive(Clone, Debug)]
pub struct Btf<'a> {
    types: Vec<Type>,
    names: Cow<'a, [u8]>,
    variables: Vec<u32>, // types of kind `Variable`, by name
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    name: u32,
    /// Kind of type, with what it says.
    pub kind: Kind,
}

/// Kind of type. Numbers are ids of types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No type.
    Void,
    /// A whole number.
    Int {
        /// Bytes.
        size: u32,
        /// Whether it may be below zero.
        signed: bool,
    },
    /// A pointer.
    Pointer(u32),
    /// An array.
    Array {
        /// Type of its elements.
        element: u32,
        /// Number of its elements.
        count: u32,
    },
    /// A structure or a union.
    Record {
        /// Whether all members begin at the same place.
        union: bool,
        /// Bytes.
        size: u32,
        /// Members in order.
        members: Vec<Member>,
    },
    /// An enumeration.
    Enum {
        /// Bytes.
        size: u32,
        /// Names and values.
        values: Vec<(u32, u64)>,
    },
    /// A name for another type.
    Typedef(u32),
    /// `const`, `restrict` or a tag of another type.
    Modifier(u32),
    /// `volatile` of another type.
    Volatile(u32),
    /// A function and its type.
    Function(u32),
    /// The type of a function: what it returns and how many arguments it has.
    Prototype {
        /// Type of the result.
        returns: u32,
        /// Number of arguments.
        arguments: usize,
    },
    /// A variable.
    Variable(u32),
    /// A section of data with its variables.
    Section(Vec<u32>),
    /// A fraction of so many bytes.
    Float(u32),
    /// What needs no treatment here.
    Other,
}

/// A member of a structure or a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    name: u32,
    /// Its type.
    pub of: u32,
    /// First bit in the record.
    pub bit: u32,
    /// Bits of a bit field; 0 otherwise.
    pub bits: u32,
}

impl<'a> Btf<'a> {
    /// Reads a section `.BTF`.
    ///
    /// # Errors
    /// If it is cut, or has an unknown kind of type, or too many types.
    pub fn read(bytes: &'a [u8]) -> Result<Self, LoadError> {
        let damaged = || LoadError::new("the type information (.BTF) is cut or damaged");
        if u16_at(bytes, 0) != Some(0xeb9f) {
            return Err(damaged());
        }
        let header = u32_at(bytes, 4).ok_or_else(damaged)? as usize;
        let part = |at: usize| {
            let from = header.checked_add(u32_at(bytes, at)? as usize)?;
            bytes.get(from..from.checked_add(u32_at(bytes, at + 4)? as usize)?)
        };
        let (table, names) = (part(8).ok_or_else(damaged)?, part(16).ok_or_else(damaged)?);
        let mut types = vec![Type { name: 0, kind: Kind::Void }];
        let mut at = 0;
        while at < table.len() {
            if types.len() >= MAX_TYPES {
                return Err(LoadError::new("the type information has more than 2^20 types"));
            }
            let (of, words) = one(&table[at..]).ok_or_else(damaged)?;
            types.push(of);
            at += 4 * words;
        }
        let mut all = Self { types, names: Cow::Borrowed(names), variables: Vec::new() };
        let is_variable = |(_, of): &(u32, &Type)| matches!(of.kind, Kind::Variable(_));
        let mut variables: Vec<_> = all.types().filter(is_variable).map(|(id, _)| id).collect();
        if variables.len() > MAX_VARIABLES {
            return Err(LoadError::new("the type information has more than 65536 variables"));
        }
        variables.sort_by_key(|id| all.name(*id));
        all.variables = variables;
        Ok(all)
    }

    /// Types that are made here.
    pub(crate) fn empty() -> Self {
        Self {
            types: vec![Type { name: 0, kind: Kind::Void }],
            names: Cow::Owned(vec![0]),
            variables: Vec::new(),
        }
    }

    /// Adds a name and gives its offset.
    pub(crate) fn add_name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let at = self.names.len() as u32;
        let names = self.names.to_mut();
        names.extend(name.as_bytes());
        names.push(0);
        at
    }

    /// Adds a type and gives its id.
    pub(crate) fn add(&mut self, name: &str, kind: Kind) -> u32 {
        let name = self.add_name(name);
        self.types.push(Type { name, kind });
        self.types.len() as u32 - 1
    }

    /// A member of this name.
    pub(crate) fn member(&mut self, name: &str, of: u32, bit: u32, bits: u32) -> Member {
        Member { name: self.add_name(name), of, bit, bits }
    }

    /// The kind of a type; [`Kind::Void`] if there is no such type.
    pub fn kind(&self, id: u32) -> &Kind {
        self.types.get(id as usize).map_or(&Kind::Void, |of| &of.kind)
    }

    /// Name of a type; empty if it has none.
    pub fn name(&self, id: u32) -> &str {
        self.types.get(id as usize).map_or("", |of| self.name_at(of.name))
    }

    /// Text at an offset of the names.
    pub fn name_at(&self, at: u32) -> &str {
        text(&self.names, at as usize).unwrap_or("")
    }

    /// Whether the text at an offset of the names is this one.
    fn is_name(&self, at: u32, name: &str) -> bool {
        let rest = self.names.get(at as usize..).and_then(|rest| rest.split_at_checked(name.len()));
        rest.is_some_and(|(text, rest)| text == name.as_bytes() && rest.first() == Some(&0))
    }

    /// The beginning of a line of source at an offset of the names.
    pub fn line_at(&self, at: u32) -> String {
        shown(self.upto_zero(at, 200))
    }

    /// The last name of a path at an offset of the names.
    pub fn file_at(&self, at: u32) -> String {
        let path = self.upto_zero(at, 4096);
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        shown(&name[..name.len().min(200)])
    }

    /// Bytes from an offset of the names to the next zero, at most so many.
    fn upto_zero(&self, at: u32, most: usize) -> &[u8] {
        let rest = self.names.get(at as usize..).unwrap_or_default();
        let rest = &rest[..rest.len().min(most)];
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        &rest[..end]
    }

    /// Name of a member.
    pub fn member_name(&self, of: &Member) -> &str {
        self.name_at(of.name)
    }

    /// Ids and types.
    pub fn types(&self) -> impl Iterator<Item = (u32, &Type)> {
        (0..).zip(&self.types)
    }

    /// The type behind names and modifiers.
    pub fn plain(&self, mut id: u32) -> Option<u32> {
        for _ in 0..MAX_CHAIN {
            match *self.kind(id) {
                Kind::Typedef(of) | Kind::Modifier(of) | Kind::Volatile(of) => id = of,
                _ => return Some(id),
            }
        }
        None
    }

    /// Bytes of a type. `None`: it has no size, or its chain is too long.
    pub fn size(&self, id: u32) -> Option<u64> {
        let (mut id, mut times) = (id, 1u64);
        for _ in 0..MAX_CHAIN {
            match *self.kind(id) {
                Kind::Typedef(of)
                | Kind::Modifier(of)
                | Kind::Volatile(of)
                | Kind::Variable(of) => id = of,
                Kind::Array { element, count } => {
                    times = times.checked_mul(count.into())?;
                    id = element;
                }
                Kind::Int { size, .. }
                | Kind::Record { size, .. }
                | Kind::Enum { size, .. }
                | Kind::Float(size) => return times.checked_mul(size.into()),
                Kind::Pointer(_) => return times.checked_mul(8),
                _ => return None,
            }
        }
        None
    }

    /// The variable of this name: its type.
    pub fn variable(&self, name: &str) -> Option<u32> {
        let nth = self.variables.partition_point(|id| self.name(*id) <= name).checked_sub(1)?;
        let id = *self.variables.get(nth)?;
        match *self.kind(id) {
            Kind::Variable(of) if self.name(id) == name => Some(of),
            _ => None,
        }
    }

    /// Variables of a section: name and type.
    pub fn variables(&self, section: &str) -> Vec<(&str, u32)> {
        let found = self.types().find_map(|(id, of)| match &of.kind {
            Kind::Section(variables) if self.name(id) == section => Some(variables),
            _ => None,
        });
        let of = |id: &u32| match *self.kind(*id) {
            Kind::Variable(of) => Some((self.name(*id), of)),
            _ => None,
        };
        found.into_iter().flatten().filter_map(of).collect()
    }

    /// Whether a type is `volatile`, below names and other modifiers.
    pub fn is_volatile(&self, mut id: u32) -> bool {
        for _ in 0..MAX_CHAIN {
            match *self.kind(id) {
                Kind::Volatile(_) => return true,
                Kind::Typedef(of) | Kind::Modifier(of) => id = of,
                _ => return false,
            }
        }
        false
    }

    /// The structure of this name.
    pub fn structure(&self, name: &str) -> Option<u32> {
        self.named(name, |kind| matches!(kind, Kind::Record { union: false, .. }))
    }

    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<u32> {
        self.named(name, |kind| matches!(kind, Kind::Function(_)))
    }

    /// The first type of this name among those that fit.
    pub(crate) fn named(&self, name: &str, fits: impl Fn(&Kind) -> bool) -> Option<u32> {
        let of = |(_, of): &(u32, &Type)| fits(&of.kind) && self.is_name(of.name, name);
        self.types().find(of).map(|(id, _)| id)
    }

    /// Arguments of the function that a member points to.
    pub fn arguments(&self, member: &Member) -> Option<usize> {
        let Kind::Pointer(to) = self.kind(self.plain(member.of)?) else { return None };
        match self.kind(self.plain(*to)?) {
            Kind::Prototype { arguments, .. } => Some(*arguments),
            _ => None,
        }
    }

    /// Members of a structure or union, if it is one.
    pub fn members(&self, id: u32) -> Option<&[Member]> {
        match self.kind(self.plain(id)?) {
            Kind::Record { members, .. } => Some(members),
            _ => None,
        }
    }
}

/// Text for a sentence: without control characters.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|of| if of.is_control() { ' ' } else { of }).collect()
}

/// The type at the head of these bytes, and how many words of 32 bits it has.
fn one(bytes: &[u8]) -> Option<(Type, usize)> {
    let word = |nth: usize| u32_at(bytes, 4 * nth);
    let (name, info, of) = (word(0)?, word(1)?, word(2)?);
    let (number, count, flag) = (info >> 24 & 31, (info & 0xffff) as usize, info >> 31 == 1);
    let whole = |words: usize| (bytes.len() >= 4 * (3 + words)).then_some(words);
    let (kind, words) = match number {
        1 => (Kind::Int { size: of, signed: word(3)? >> 24 & 1 != 0 }, 1),
        2 => (Kind::Pointer(of), 0),
        3 => (Kind::Array { element: word(3)?, count: word(5)? }, 3),
        4 | 5 => {
            let words = whole(3 * count)?;
            let member = |nth: usize| {
                let place = word(5 + 3 * nth)?;
                let (bit, bits) = if flag { (place & 0xff_ffff, place >> 24) } else { (place, 0) };
                Some(Member { name: word(3 + 3 * nth)?, of: word(4 + 3 * nth)?, bit, bits })
            };
            let members = (0..count).map(member).collect::<Option<_>>()?;
            (Kind::Record { union: number == 5, size: of, members }, words)
        }
        6 => {
            let words = whole(2 * count)?;
            let value = |nth: usize| {
                let value = word(4 + 2 * nth)?;
                let value = if flag { value as i32 as u64 } else { value.into() };
                Some((word(3 + 2 * nth)?, value))
            };
            (Kind::Enum { size: of, values: (0..count).map(value).collect::<Option<_>>()? }, words)
        }
        8 => (Kind::Typedef(of), 0),
        9 => (Kind::Volatile(of), 0),
        10 | 11 | 18 => (Kind::Modifier(of), 0),
        12 => (Kind::Function(of), 0),
        13 => (Kind::Prototype { returns: of, arguments: count }, whole(2 * count)?),
        14 => (Kind::Variable(of), 1),
        15 => {
            let words = whole(3 * count)?;
            (Kind::Section((0..count).map(|nth| word(3 + 3 * nth)).collect::<Option<_>>()?), words)
        }
        16 => (Kind::Float(of), 0),
        7 => (Kind::Other, 0),
        17 => (Kind::Other, 1),
        19 => {
            let words = whole(3 * count)?;
            let value = |nth: usize| {
                let (low, high) = (word(4 + 3 * nth)?, word(5 + 3 * nth)?);
                Some((word(3 + 3 * nth)?, u64::from(high) << 32 | u64::from(low)))
            };
            (Kind::Enum { size: of, values: (0..count).map(value).collect::<Option<_>>()? }, words)
        }
        _ => return None,
    };
    Some((Type { name, kind }, 3 + whole(words)?))
}

/// A section `.BTF` as the kernel takes it. It refuses variables, sections and functions that other objects define, and needs none of them, so
/// that each becomes a `const void`, which nothing names.
///
/// # Errors
/// If it is cut.
pub fn for_kernel(bytes: &[u8]) -> Result<Vec<u8>, LoadError> {
    const MODIFIED_VOID: [u32; 3] = [0, 10 << 24, 0];
    let remade = || {
        let header = u32_at(bytes, 4)? as usize;
        let (from, len) = (u32_at(bytes, 8)? as usize, u32_at(bytes, 12)? as usize);
        let (names, names_len) = (u32_at(bytes, 16)? as usize, u32_at(bytes, 20)? as usize);
        let part = |from: usize, len: usize| {
            let from = header.checked_add(from)?;
            bytes.get(from..from.checked_add(len)?)
        };
        let (table, names) = (part(from, len)?, part(names, names_len)?);
        let (mut types, mut at) = (Vec::with_capacity(table.len()), 0);
        while at < table.len() {
            let (_, words) = one(&table[at..])?;
            let info = u32_at(table, at + 4)?;
            let (variable, section, tag) = (14, 15, 17);
            let refused = match info >> 24 & 31 {
                12 => info & 0xffff == 2, // BTF_FUNC_EXTERN
                kind => [variable, section, tag].contains(&kind),
            };
            match refused {
                true => types.extend(MODIFIED_VOID.iter().flat_map(|word| word.to_le_bytes())),
                false => types.extend(&table[at..at + 4 * words]),
            }
            at += 4 * words;
        }
        let mut all = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, types.len() as u32, types.len() as u32, names.len() as u32] {
            all.extend(word.to_le_bytes());
        }
        all.extend(types);
        all.extend(names);
        Some(all)
    };
    remade().ok_or_else(|| LoadError::new("the type information (.BTF) is cut or damaged"))
}

/// Records of `.BTF.ext` about a section of code.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    /// First byte and type of each function.
    pub functions: Vec<(u32, u32)>,
    /// Byte of the instruction, and what is said of it.
    pub lines: Vec<Line>,
    /// Fields and types that code names.
    pub relocations: Vec<CoreRelocation>,
}

/// The source of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Byte of the instruction in its section.
    pub at: u32,
    /// Names: the file.
    pub file: u32,
    /// Names: the text of the line.
    pub text: u32,
    /// Number of the line.
    pub line: u32,
}

/// A field, type or value that an instruction names, to be placed when the object is loaded.
#[derive(Clone, Copy, Debug)]
pub struct CoreRelocation {
    /// Byte of the instruction in its section.
    pub at: u32,
    /// Type in the object.
    pub of: u32,
    /// Names: the way to the field.
    pub path: u32,
    /// What is wanted of it.
    pub kind: u32,
}

impl Extra {
    /// Reads what a section `.BTF.ext` says about a section of code.
    ///
    /// # Errors
    /// If it is cut.
    pub fn read(bytes: &[u8], btf: &Btf<'_>, section: &str) -> Result<Self, LoadError> {
        Self::of(bytes, btf, section)
            .ok_or_else(|| LoadError::new("the type information (.BTF.ext) is cut or damaged"))
    }

    fn of(bytes: &[u8], btf: &Btf<'_>, section: &str) -> Option<Self> {
        (u16_at(bytes, 0)? == 0xeb9f).then_some(())?;
        let header = u32_at(bytes, 4)? as usize;
        let part = |at: usize| {
            if header < at + 8 {
                return Some(&bytes[..0]); // from before there were such records
            }
            let from = header.checked_add(u32_at(bytes, at)? as usize)?;
            bytes.get(from..from.checked_add(u32_at(bytes, at + 4)? as usize)?)
        };
        let functions = records::<2>(part(8)?, btf, section)?;
        let lines = records::<4>(part(16)?, btf, section)?;
        let relocations = records::<4>(part(24)?, btf, section)?;
        let line = |[at, file, text, place]: [u32; 4]| Line { at, file, text, line: place >> 10 };
        let relocation = |[at, of, path, kind]: [u32; 4]| CoreRelocation { at, of, path, kind };
        Some(Self {
            functions: functions.into_iter().map(|[at, of]| (at, of)).collect(),
            lines: lines.into_iter().map(line).collect(),
            relocations: relocations.into_iter().map(relocation).collect(),
        })
    }
}

/// The first words of the records of one section's code: the size of a record, then for each section its name, how many there are,
/// and they.
fn records<const N: usize>(bytes: &[u8], btf: &Btf<'_>, section: &str) -> Option<Vec<[u32; N]>> {
    let mut found = Vec::new();
    if bytes.is_empty() {
        return Some(found);
    }
    let size = u32_at(bytes, 0)? as usize;
    (size >= 4 * N && size.is_multiple_of(4)).then_some(())?;
    let mut at = 4;
    while at < bytes.len() {
        let (name, count) = (u32_at(bytes, at)?, u32_at(bytes, at + 4)? as usize);
        at += 8;
        (count > 0).then_some(())?;
        let end = count.checked_mul(size)?.checked_add(at)?;
        let part = bytes.get(at..end)?;
        if btf.is_name(name, section) {
            for record in part.chunks_exact(size) {
                let mut words = [0; N];
                for (nth, word) in words.iter_mut().enumerate() {
                    *word = u32_at(record, 4 * nth)?;
                }
                found.push(words);
            }
        }
        at = end;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A whole number, a structure of a field, a bit field and a field, a pointer, and a structure, as the kernel would have them.
    fn made() -> Vec<u8> {
        let names = b"\0int\0pair\0first\0bits\0last\0";
        #[rustfmt::skip]
        let types: [u32; 25] = [
            1, 1 << 24, 4, 32, // int
            5, 4 << 24 | 1 << 31 | 3, 12, // pair
            10, 1, 0,
            16, 1, 3 << 24 | 32,
            21, 1, 64,
            0, 2 << 24, 1, // a pointer
            10, 4 << 24 | 1, 4, // first
            16, 1, 0,
        ];
        let len = size_of_val(&types) as u32;
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, len, len, names.len() as u32] {
            bytes.extend(u32::to_le_bytes(word));
        }
        types.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(names);
        bytes
    }

    #[test]
    fn a_structure_is_found_by_name_with_its_fields() {
        let bytes = made();
        let types = Btf::read(&bytes).expect("it is whole");
        let pair = types.structure("pair").expect("it is there");
        let members = types.members(pair).expect("it has members").iter();
        let members: Vec<_> = members.map(|of| (types.member_name(of), of.bit, of.bits)).collect();
        assert_eq!(members, [("first", 0, 0), ("bits", 32, 3), ("last", 64, 0)]);
        assert_eq!((pair, types.size(pair), types.structure("first")), (2, Some(12), Some(4)));
        assert_eq!((types.structure("int"), types.structure("other")), (None, None));
    }

    /// No variable, section or tag here: the kernel gets what the object has.
    #[test]
    fn types_without_variables_reach_the_kernel_as_they_are() {
        let bytes = made();
        assert_eq!(for_kernel(&bytes).as_deref(), Ok(&bytes[..]));
        for cut in 0..bytes.len() {
            let _ = for_kernel(&bytes[..cut]);
        }
        assert!(for_kernel(&bytes[..40]).is_err());
    }
}
