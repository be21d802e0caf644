//! Counting units outside the cores (uncore PMUs), as sysfs lists them, and the events that hostCC's signals need.
//!
//! Source of the codes: the perf event lists of intel/perfmon and of AMD's uncore driver. None has been counted on hardware
//! by this project; the tests hold the encoding against recorded formats.

use crate::Root;
use crate::machine::Generation;

/// Where PMUs are listed.
const DEVICES: &str = "/sys/bus/event_source/devices";

/// One unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmu {
    /// Name, such as `uncore_irp_2`.
    pub name: String,
    /// The `type` for `perf_event_open`.
    pub kind: u32,
    /// The CPUs from which it is read, one for each socket that it counts for (`cpumask`).
    pub cpus: Vec<u32>,
    /// Fields: their names and bit positions.
    pub fields: Vec<(String, Field)>,
}

/// Where a field of an event lies: which word of the attributes, and bits from and to, in order, low bits first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// 0: `config`, 1: `config1`, 2: `config2`.
    pub word: usize,
    /// First and last bit of each part.
    pub parts: Vec<(u32, u32)>,
}

impl Field {
    /// Reads `config:0-7,32-35` or `config1:5`.
    pub fn parse(text: &str) -> Option<Self> {
        let (word, ranges) = text.trim().split_once(':')?;
        let word = match word {
            "config" => 0,
            "config1" => 1,
            "config2" => 2,
            _ => return None,
        };
        let part = |text: &str| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last && last < 64).then_some((first, last))
        };
        Some(Self { word, parts: ranges.split(',').map(part).collect::<Option<_>>()? })
    }

    /// Puts a value into the words; `None`: the value has more bits than the field.
    fn put(&self, value: u64, words: &mut [u64; 3]) -> Option<()> {
        let mut rest = value;
        for &(first, last) in &self.parts {
            let bits = last - first + 1;
            let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
            words[self.word] |= (rest & mask) << first;
            rest = if bits == 64 { 0 } else { rest >> bits };
        }
        (rest == 0).then_some(())
    }
}

impl Pmu {
    /// The units whose names are `prefix` and a number, or `prefix` alone, in the order of the numbers.
    pub fn all(root: &Root, prefix: &str) -> Vec<Self> {
        let number = |name: &String| -> Option<u32> {
            match name.strip_prefix(prefix)? {
                "" => Some(0),
                rest => rest.strip_prefix('_')?.parse().ok(),
            }
        };
        let names = root.names(DEVICES).into_iter();
        let mut found: Vec<_> =
            names.filter_map(|name| Some((number(&name)?, Self::read(root, &name)?))).collect();
        found.sort_by_key(|(number, _)| *number);
        found.into_iter().map(|(_, pmu)| pmu).collect()
    }

    fn read(root: &Root, name: &str) -> Option<Self> {
        let at = format!("{DEVICES}/{name}");
        let kind = root.read(&format!("{at}/type")).ok()?.parse().ok()?;
        let mask = root.read(&format!("{at}/cpumask")).unwrap_or_default();
        let cpus = cpus(&mask);
        let field = |field: String| {
            let text = root.read(&format!("{at}/format/{field}")).ok()?;
            Some((field, Field::parse(&text)?))
        };
        let fields = root.names(&format!("{at}/format")).into_iter().filter_map(field).collect();
        Some(Self { name: name.to_string(), kind, cpus, fields })
    }

    /// `config`, `config1` and `config2` of an event.
    ///
    /// # Errors
    /// The name of the first field that the unit lacks, or that is too narrow for its value.
    pub fn encode(&self, event: &[(&'static str, u64)]) -> Result<[u64; 3], &'static str> {
        let mut words = [0; 3];
        for (name, value) in event {
            let field = self.fields.iter().find(|(known, _)| known == name).ok_or(*name)?;
            field.1.put(*value, &mut words).ok_or(*name)?;
        }
        Ok(words)
    }
}

/// An event: its unit, and its fields with their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The unit's name without its number.
    pub unit: &'static str,
    /// Fields and values.
    pub fields: &'static [(&'static str, u64)],
    /// Where the code is published.
    pub source: &'static str,
}

/// What a processor says about the path from its NIC to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncore {
    /// Sum over clock cycles of the lines that wait in the IIO buffer; AMD counts none.
    pub occupancy: Option<Event>,
    /// The clock of that counter.
    pub clock: Option<Event>,
    /// What the NIC writes towards memory; on Intel at part 0 of the IIO unit, each further part one bit further in `ch_mask`.
    pub inserts: Event,
    /// Reads and writes of the memory controllers.
    pub memory: [Event; 2],
}

const INTEL: &str = "intel/perfmon";
const AMD: &str = "AMD uncore events of the kernel's perf";

/// Codes of a generation.
pub fn uncore(of: Generation) -> Uncore {
    use Generation::*;
    let event = |unit, fields, source| Event { unit, fields, source };
    // Occupancy and clock are the same in all of them; memory moved with the pseudo-channels.
    let occupancy = event("uncore_irp", &[("event", 0x0f), ("umask", 0x04)], INTEL);
    let clock = event("uncore_irp", &[("event", 0x01), ("umask", 0)], INTEL);
    let inserts = event(
        "uncore_iio",
        &[("event", 0x83), ("umask", 0x01), ("fc_mask", 0x07), ("ch_mask", 0x01)],
        INTEL,
    );
    let reads_writes: [&'static [(&'static str, u64)]; 2] = match of {
        SkylakeServer => [&[("event", 0x04), ("umask", 0x03)], &[("event", 0x04), ("umask", 0x0c)]],
        IceLakeServer => [&[("event", 0x04), ("umask", 0x0f)], &[("event", 0x04), ("umask", 0x30)]],
        SapphireRapids | GraniteRapids => {
            [&[("event", 0x05), ("umask", 0xcf)], &[("event", 0x05), ("umask", 0xf0)]]
        }
        // CAS commands of the memory controller, 64 B each (Zen 4 and later).
        Zen4 | Zen5 => {
            [&[("event", 0x0a), ("rdwrmask", 0x1)], &[("event", 0x0a), ("rdwrmask", 0x2)]]
        }
    };
    match of {
        SkylakeServer | IceLakeServer | SapphireRapids | GraniteRapids => Uncore {
            occupancy: Some(occupancy),
            clock: Some(clock),
            inserts,
            memory: reads_writes.map(|fields| event("uncore_imc", fields, INTEL)),
        },
        Zen4 | Zen5 => Uncore {
            occupancy: None,
            clock: None,
            inserts: event("amd_df", &[("event", 0x81f), ("umask", 0x7ff)], AMD),
            memory: reads_writes.map(|fields| event("amd_umc", fields, AMD)),
        },
    }
}

/// The IIO unit before a device, and its socket: the one whose root bus is the greatest that is not above the device's bus. `device` is a
/// PCI address such as `0000:5e:00.0`.
pub fn iio_of(root: &Root, device: &str) -> Option<(String, usize)> {
    let place = bus(device)?;
    let mut best: Option<((u32, u32), String, usize)> = None;
    for pmu in Pmu::all(root, "uncore_iio") {
        let at = format!("{DEVICES}/{}", pmu.name);
        for die in root.names(&at).into_iter().filter(|name| name.starts_with("die")) {
            let Some(first) = root.read(&format!("{at}/{die}")).ok().as_deref().and_then(bus)
            else {
                continue;
            };
            let before = first.0 == place.0 && first.1 <= place.1;
            let socket = die.strip_prefix("die").and_then(|die| die.parse().ok()).unwrap_or(0);
            if before && best.as_ref().is_none_or(|(found, ..)| first > *found) {
                best = Some((first, pmu.name.clone(), socket));
            }
        }
    }
    best.map(|(_, name, socket)| (name, socket))
}

/// The CPUs of `0,32` or `0-1,64`, at most 64; one that names none, as that of `msr`, stands for CPU 0.
fn cpus(mask: &str) -> Vec<u32> {
    let range = |text: &str| {
        let (first, last) = text.trim().split_once('-').unwrap_or((text.trim(), text.trim()));
        Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
    };
    let found: Vec<u32> = mask.split(',').filter_map(range).flatten().take(64).collect();
    if found.is_empty() { vec![0] } else { found }
}

/// Domain and bus of `0000:5e` or `0000:5e:00.0`.
fn bus(address: &str) -> Option<(u32, u32)> {
    let mut parts = address.trim().split(':').map(|part| u32::from_str_radix(part, 16).ok());
    Some((parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_format_says() {
        let pmu = Pmu {
            name: "uncore_iio_0".into(),
            kind: 20,
            cpus: vec![0],
            fields: vec![
                ("event".into(), Field::parse("config:0-7").expect("a field")),
                ("umask".into(), Field::parse("config:8-15").expect("a field")),
                ("ch_mask".into(), Field::parse("config:36-43").expect("a field")),
                ("fc_mask".into(), Field::parse("config:44-46").expect("a field")),
                ("split".into(), Field::parse("config1:0-3,8-11").expect("a field")),
            ],
        };
        let inserts = uncore(Generation::SkylakeServer).inserts.fields;
        assert_eq!(pmu.encode(inserts), Ok([0x83 | 1 << 8 | 1 << 36 | 7 << 44, 0, 0]));
        assert_eq!(pmu.encode(&[("split", 0xab)]), Ok([0, 0xa0b, 0]));
        assert_eq!(pmu.encode(&[("event", 0x100)]), Err("event"));
        assert_eq!(pmu.encode(&[("opcode", 1)]), Err("opcode"));
    }

    #[test]
    fn masks_are_lists_of_ranges() {
        assert_eq!(cpus("0,32\n"), [0, 32]);
        assert_eq!(cpus("0-2,64"), [0, 1, 2, 64]);
        assert_eq!((cpus(""), cpus("x"), cpus("9-8")), (vec![0], vec![0], vec![0]));
        assert_eq!(cpus("0-4000000000").len(), 64);
    }

    #[test]
    fn damaged_formats_are_no_fields() {
        for text in ["", "config", "config:", "config3:0", "config:7-0", "config:0-64", "config:a"]
        {
            assert_eq!(Field::parse(text), None, "{text}");
        }
    }
}
