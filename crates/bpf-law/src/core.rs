//! Fields, types and values by name (CO-RE): where they are in the simulator's kernel.
//!
//! Source: `struct bpf_core_relo` in `include/uapi/linux/bpf.h`; `tools/lib/bpf/relo_core.c` for what is meant.
//!
//! A name ends before `___`. Structures and unions without a name are transparent.

use crate::btf::{Btf, CoreRelocation, Kind, MAX_CHAIN};

/// What an instruction gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PatchedValue {
    /// A number, and the field that it places.
    Value(u64, Option<Field>),
    /// There is no such field, type or value here: its name. Only an instruction that is reached fails.
    Missing(String),
    /// The object is damaged, or asks for what nobody knows.
    Wrong(String),
}

/// A field that an instruction is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// The structure whose address the program has.
    pub root: String,
    /// First byte of the field there.
    pub at: u64,
    /// Bytes of the field here.
    pub size: u64,
    /// Bytes of the field in the object.
    pub local: u64,
    /// Whether a number of another size can be loaded in its place.
    pub resizable: bool,
    /// Of a bit field, its first bit in the object.
    pub local_bit: Option<u64>,
    /// First bit of the field here.
    pub bit: u64,
}

/// The first byte of a field.
pub(crate) const BYTE_OFFSET: u32 = 0;
const BYTE_SIZE: u32 = 1;
const EXISTS: u32 = 2;
const SIGNED: u32 = 3;
/// By how much a program shifts a bit field left, so that no higher bit stays.
pub(crate) const LSHIFT: u32 = 4;
/// And then right, so that it is a number.
pub(crate) const RSHIFT: u32 = 5;
const LOCAL_ID: u32 = 6;
const TARGET_ID: u32 = 7;
const TYPE_EXISTS: u32 = 8;
const TYPE_SIZE: u32 = 9;
const ENUM_EXISTS: u32 = 10;
const ENUM_VALUE: u32 = 11;
const TYPE_MATCHES: u32 = 12;

/// Places what a relocation names.
pub(crate) fn place(local: &Btf<'_>, target: &Btf<'_>, of: &CoreRelocation) -> PatchedValue {
    let wrong = |what: &str| PatchedValue::Wrong(format!("a field relocation {what}"));
    let Some(root) = local.plain(of.of) else { return wrong("of a type without end") };
    let name = essential(local.name(root));
    match of.kind {
        BYTE_OFFSET..=RSHIFT => {
            let Some(path) = steps(local, root, local.name_at(of.path)) else {
                return wrong("names no field of its type");
            };
            field(target, name, &path, of.kind)
        }
        LOCAL_ID => PatchedValue::Value(root.into(), None),
        TARGET_ID | TYPE_EXISTS | TYPE_SIZE | TYPE_MATCHES => {
            let found = same(target, name, local.kind(root));
            let size = found.and_then(|id| target.size(id));
            PatchedValue::Value(
                match of.kind {
                    TARGET_ID => found.unwrap_or(0).into(),
                    TYPE_SIZE => size.unwrap_or(0),
                    _ => found.is_some().into(),
                },
                None,
            )
        }
        ENUM_EXISTS | ENUM_VALUE => {
            let nth = local.name_at(of.path).parse::<usize>().ok();
            let Kind::Enum { values, .. } = local.kind(root) else {
                return wrong("of a value is about no enumeration");
            };
            let Some((value, _)) = nth.and_then(|nth| values.get(nth)) else {
                return wrong("names no value of its enumeration");
            };
            let value = essential(local.name_at(*value));
            let found = same(target, name, local.kind(root)).and_then(|id| match target.kind(id) {
                Kind::Enum { values, .. } => {
                    values.iter().find(|(of, _)| essential(target.name_at(*of)) == value)
                }
                _ => None,
            });
            match (of.kind, found) {
                (ENUM_EXISTS, _) => PatchedValue::Value(found.is_some().into(), None),
                (_, Some((_, value))) => PatchedValue::Value(*value, None),
                _ => PatchedValue::Missing(format!("enum {name}: {value}")),
            }
        }
        _ => wrong("of a kind that is not known here"),
    }
}

/// A name without its flavour.
fn essential(name: &str) -> &str {
    match name.find("___") {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// The type of the same name and kind.
fn same(target: &Btf<'_>, name: &str, kind: &Kind) -> Option<u32> {
    let alike = |other: &Kind| match (kind, other) {
        (Kind::Record { union, .. }, Kind::Record { union: other, .. }) => union == other,
        _ => std::mem::discriminant(kind) == std::mem::discriminant(other),
    };
    if name.is_empty() {
        return None;
    }
    target.named(name, alike)
}

/// A step on the way to a field.
#[derive(Clone, Debug)]
enum Step {
    Member(String),
    Element(u64),
}

/// The way to a field.
struct FieldPath {
    steps: Vec<Step>,
    local: u64, // bytes of the field
    unsigned: bool,
    bit: u64, // in the object
}

/// The steps of an access text such as `0:1:2`.
fn steps(local: &Btf<'_>, root: u32, text: &str) -> Option<FieldPath> {
    let mut numbers = text.split(':').map(|number| number.parse::<u32>().ok());
    let mut steps = vec![Step::Element(numbers.next()??.into())];
    let mut id = root;
    let mut bit = 0u64;
    for (depth, number) in numbers.enumerate() {
        (depth < MAX_CHAIN).then_some(())?;
        let number = number?;
        match local.kind(local.plain(id)?) {
            Kind::Record { members, .. } => {
                let member = members.get(number as usize)?;
                let name = essential(local.member_name(member));
                if !name.is_empty() {
                    steps.push(Step::Member(name.to_string()));
                }
                bit = bit.wrapping_add(member.bit.into());
                id = member.of;
            }
            Kind::Array { element, .. } => {
                steps.push(Step::Element(number.into()));
                let bytes = local.size(*element)?.checked_mul(number.into())?;
                bit = bit.wrapping_add(bytes.wrapping_mul(8));
                id = *element;
            }
            _ => return None,
        }
    }
    let (bytes, unsigned) = (local.size(id).unwrap_or(0), is_unsigned(local, id));
    Some(FieldPath { steps, local: bytes, unsigned, bit })
}

fn is_unsigned(btf: &Btf<'_>, id: u32) -> bool {
    let plain = btf.plain(id).map(|id| btf.kind(id));
    matches!(plain, Some(Kind::Int { signed: false, .. } | Kind::Pointer(_) | Kind::Enum { .. }))
}

/// Follows the steps in the target.
fn field(target: &Btf<'_>, root: &str, way: &FieldPath, kind: u32) -> PatchedValue {
    let missing = || {
        if kind == EXISTS {
            PatchedValue::Value(0, None)
        } else {
            PatchedValue::Missing(written(root, &way.steps))
        }
    };
    let record = target.named(root, |kind| matches!(kind, Kind::Record { .. } | Kind::Typedef(_)));
    let Some(root_id) = record.filter(|_| !root.is_empty()) else { return missing() };
    let mut id = root_id;
    let (mut bit, mut bits) = (0u64, 0u32);
    for (nth, step) in way.steps.iter().enumerate() {
        match step {
            Step::Element(number) => {
                let element = if nth == 0 {
                    id
                } else {
                    match target.plain(id).map(|id| target.kind(id)) {
                        Some(Kind::Array { element, count }) if *number < (*count).into() => {
                            *element
                        }
                        _ => return missing(),
                    }
                };
                let bytes = target.size(element).and_then(|size| size.checked_mul(*number));
                let Some(bytes) = bytes.filter(|bytes| *bytes < 1 << 28) else { return missing() };
                bit += 8 * bytes;
                id = element;
            }
            Step::Member(name) => {
                let Some((at, width, of)) = member(target, id, name, 0) else { return missing() };
                (bit, bits, id) = (bit + u64::from(at), width, of);
            }
        }
    }
    let Some(size) = target.size(id) else { return missing() };
    let (mut at, mut unit) = (bit / 8, size);
    if bits > 0 {
        if !matches!(unit, 1 | 2 | 4 | 8) {
            return missing();
        }
        at = bit / 8 / unit * unit;
        while bit + u64::from(bits) - 8 * at > 8 * unit {
            unit *= 2;
            if unit > 8 {
                return missing();
            }
            at = bit / 8 / unit * unit;
        }
    }
    let width = if bits > 0 { u64::from(bits) } else { 8 * unit.min(8) };
    let signed = !is_unsigned(target, id);
    let value = match kind {
        BYTE_OFFSET => at,
        BYTE_SIZE => unit,
        EXISTS => 1,
        SIGNED => {
            let plain = target.plain(id).map(|id| target.kind(id));
            matches!(plain, Some(Kind::Int { signed: true, .. })).into()
        }
        LSHIFT => 64 - (bit + width - 8 * at).min(64),
        _ => 64 - width,
    };
    let resizable = bits == 0 && !signed && way.unsigned;
    let local = if bits > 0 { unit } else { way.local };
    let local_bit = (bits > 0).then_some(way.bit);
    let root = root.to_string();
    PatchedValue::Value(
        value,
        Some(Field { root, at, size: unit, local, resizable, local_bit, bit }),
    )
}

/// The member of this name, also in members without a name: its first bit, its bits if it is a bit field, its type.
fn member(target: &Btf<'_>, id: u32, name: &str, depth: usize) -> Option<(u32, u32, u32)> {
    (depth < MAX_CHAIN).then_some(())?;
    target.members(id)?.iter().find_map(|of| match target.member_name(of) {
        "" => {
            member(target, of.of, name, depth + 1).map(|(bit, bits, id)| (of.bit + bit, bits, id))
        }
        found => (found == name).then_some((of.bit, of.bits, of.of)),
    })
}

/// As a person writes it: `tcp_sock.inet_conn.icsk_ca_state`.
fn written(root: &str, steps: &[Step]) -> String {
    let mut text =
        if root.is_empty() { "a structure without a name".to_string() } else { root.to_string() };
    for (nth, step) in steps.iter().enumerate() {
        if text.len() > 200 {
            text += " ...";
            break;
        }
        match step {
            Step::Member(name) => text += &format!(".{name}"),
            Step::Element(0) if nth == 0 => {}
            Step::Element(number) => text += &format!("[{number}]"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_missing_field_is_cut_behind_200_bytes() {
        let steps: Vec<_> = (0..64).map(|_| Step::Member("m".repeat(512))).collect();
        let text = written("tcp_sock", &steps);
        assert!(text.len() < 800 && text.ends_with("m ..."), "{}", text.len());
        let short = [Step::Element(0), Step::Member("a".into()), Step::Element(3)];
        assert_eq!(written("tcp_sock", &short), "tcp_sock.a[3]");
    }
}
