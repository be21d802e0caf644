//! FlatBuffers, written front to back: a table stands before what it refers to.
//!
//! Source: FlatBuffers, "FlatBuffer Internals" (binary format).

/// What a table refers to.
pub(super) enum Node {
    Table(Vec<Slot>),
    Text(String),
    Tables(Vec<Self>),
    /// Structs of whole numbers of eight bytes: their number, and their bytes.
    Structs(usize, Vec<u8>),
}

/// A field of a table, in the order of the schema.
pub(super) enum Slot {
    /// Not there: its default.
    Default,
    Byte(u8),
    Short(i16),
    Int(i32),
    Long(i64),
    To(Node),
}

impl Slot {
    fn size(&self) -> usize {
        match self {
            Self::Default => 0,
            Self::Byte(_) => 1,
            Self::Short(_) => 2,
            Self::Int(_) | Self::To(_) => 4,
            Self::Long(_) => 8,
        }
    }
}

/// The buffer whose root is a table of these fields; its length is a multiple of 8.
pub(super) fn buffer(root: Vec<Slot>) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    let at = write(&mut bytes, Node::Table(root));
    point(&mut bytes, 0, at);
    pad(&mut bytes, 0, 8);
    bytes
}

/// Fills up with zeros until what comes `after` the end is at a multiple of `to`.
fn pad(bytes: &mut Vec<u8>, after: usize, to: usize) {
    let end = (bytes.len() + after).next_multiple_of(to) - after;
    bytes.resize(end, 0);
}

/// Writes at `from` how far it is to `at`.
fn point(bytes: &mut [u8], from: usize, at: usize) {
    bytes[from..from + 4].copy_from_slice(&((at - from) as u32).to_le_bytes());
}

/// Appends a node and returns where it is.
fn write(bytes: &mut Vec<u8>, node: Node) -> usize {
    match node {
        Node::Table(slots) => table(bytes, slots),
        Node::Text(text) => {
            pad(bytes, 0, 4);
            let at = bytes.len();
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
            bytes.push(0);
            at
        }
        Node::Tables(nodes) => {
            pad(bytes, 0, 4);
            let at = bytes.len();
            bytes.extend((nodes.len() as u32).to_le_bytes());
            bytes.resize(at + 4 + 4 * nodes.len(), 0);
            for (nth, node) in nodes.into_iter().enumerate() {
                let to = write(bytes, node);
                point(bytes, at + 4 + 4 * nth, to);
            }
            at
        }
        Node::Structs(count, structs) => {
            pad(bytes, 4, 8);
            let at = bytes.len();
            bytes.extend((count as u32).to_le_bytes());
            bytes.extend(structs);
            at
        }
    }
}

/// Appends a table: its vtable, its fields, and then what the fields refer to.
fn table(bytes: &mut Vec<u8>, slots: Vec<Slot>) -> usize {
    let (mut places, mut size) = (Vec::with_capacity(slots.len()), 4_usize);
    for slot in &slots {
        let wide = slot.size();
        if wide == 0 {
            places.push(0);
            continue;
        }
        size = size.next_multiple_of(wide);
        places.push(size);
        size += wide;
    }
    let vtable = 4 + 2 * slots.len();
    pad(bytes, vtable, 8);
    let at = bytes.len() + vtable;
    for word in [vtable, size].iter().chain(&places) {
        bytes.extend((*word as u16).to_le_bytes());
    }
    bytes.extend((vtable as i32).to_le_bytes());
    bytes.resize(at + size, 0);
    let mut put = |place: usize, value: &[u8]| {
        bytes[at + place..at + place + value.len()].copy_from_slice(value);
    };
    let mut others = Vec::new();
    for (slot, place) in slots.into_iter().zip(places) {
        match slot {
            Slot::Default => {}
            Slot::Byte(value) => put(place, &[value]),
            Slot::Short(value) => put(place, &value.to_le_bytes()),
            Slot::Int(value) => put(place, &value.to_le_bytes()),
            Slot::Long(value) => put(place, &value.to_le_bytes()),
            Slot::To(node) => others.push((at + place, node)),
        }
    }
    for (from, node) in others {
        let to = write(bytes, node);
        point(bytes, from, to);
    }
    at
}
