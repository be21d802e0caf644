//! What a law reads on a live machine: for each IIO stack, lines that wait in its buffer and bytes that came in.
//!
//! The processor has a counter of lines, summed over clock cycles, and one of the cycles. The law gets their quotient summed over
//! time, as from a counter with a clock of 1 GHz, so that the real clock need not be known.

use crate::sense::drops::Machine;
use forebay_laws::host::{Counter, Counters, Side};
use forebay_linux::Clock;
use forebay_linux::counters::Handed;
use forebay_linux::perf::Group;
use forebay_units::BitsPerSec;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// The counters as a law gets them: lines and nanoseconds, 4-byte units.
pub const COUNTERS: Counters =
    Counters { clock_hz: 1_000_000_000, occupancy_bits: 64, insert_bits: 64, insert_bytes: 4 };

/// A reading: the time before it, and the raw cumulative value.
pub type Value = (Duration, u64);

/// What reads the counters of each stack.
pub trait CounterSource {
    /// Reads one of a direction; `None`: it could not be read.
    fn read(&mut self, stack: usize, side: Side, counter: Counter) -> Option<Value>;
}

/// Counters of one stack.
#[derive(Debug)]
pub enum Input {
    /// Of the processor: lines and clock in one group, units that came in in another.
    Units(Group, Group),
    /// Of the whole machine: drops, signs of slow cores, bytes that memory moved.
    Machine(Box<Machine>),
    /// A file with two words, such as `93 43Gbps`: mean lines, and rate. For tests: it takes the processor's place.
    File(File),
}

impl Input {
    /// Descriptors of the input, for [`Input::of`] in another process.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Units(lines, inserts) => {
                lines.descriptors().chain(inserts.descriptors()).collect()
            }
            Self::Machine(of) => of.handed().1,
            Self::File(file) => vec![file.as_fd()],
        }
    }

    /// Whether it is read from resctrl, in part at least.
    pub fn is_of_resctrl(&self) -> bool {
        matches!(self, Self::Machine(of) if of.is_of_resctrl())
    }

    /// What goes with the descriptors of the whole machine's counters; nothing where the descriptors say it all.
    pub fn handed(&self) -> Vec<Handed> {
        match self {
            Self::Machine(of) => of.handed().0,
            Self::Units(..) | Self::File(_) => Vec::new(),
        }
    }

    /// The counters behind such descriptors: three of the processor, or one file.
    pub fn of(mut descriptors: Vec<OwnedFd>) -> Option<Self> {
        match descriptors.len() {
            1 => Some(Self::File(File::from(descriptors.pop()?))),
            3 => {
                let inserts = descriptors.split_off(2);
                Some(Self::Units(Group::of(descriptors)?, Group::of(inserts)?))
            }
            _ => None,
        }
    }
}

/// The stacks of a machine.
#[derive(Debug)]
pub struct Stacks {
    clock: Clock,
    of: Vec<Stack>,
}

#[derive(Debug)]
struct Stack {
    input: Input,
    lines: Sum,
    inserts: Sum,
}

/// A counter that grows by what was read.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    at: Duration,
    raw: [u64; 2], // of the processor's counters, at the last reading
    begun: bool,
    value: u64,
}

impl Stacks {
    /// Over these inputs.
    pub fn new(clock: Clock, inputs: Vec<Input>) -> Self {
        let sum = Sum::default();
        Self {
            clock,
            of: inputs.into_iter().map(|input| Stack { input, lines: sum, inserts: sum }).collect(),
        }
    }
}

impl CounterSource for Stacks {
    fn read(&mut self, stack: usize, side: Side, counter: Counter) -> Option<Value> {
        if side != Side::Receive {
            return None; // no law that wants the other way gets as far as this
        }
        let Stack { input, lines, inserts } = &mut self.of[stack];
        if let Input::Machine(of) = input {
            return of.read(&self.clock, counter);
        }
        let at = self.clock.now();
        let sum = match counter {
            Counter::Occupancy => lines,
            Counter::Inserts => inserts,
            Counter::NicDrops | Counter::SlowCpu | Counter::MemoryBytes => return None,
        };
        let ns = if sum.begun { at.saturating_sub(sum.at).as_nanos() } else { 0 };
        let mut raw = [0; 2];
        let rise = match (input, counter) {
            (Input::Units(group, _), Counter::Occupancy) => {
                group.read(|nth, value| raw[nth] = value)?;
                let [lines, cycles] =
                    [0, 1].map(|nth| u128::from(raw[nth].wrapping_sub(sum.raw[nth])));
                (lines * ns).checked_div(cycles).unwrap_or(0)
            }
            (Input::Units(_, group), _) => {
                group.read(|_, value| raw[0] = value)?;
                u128::from(raw[0].wrapping_sub(sum.raw[0]))
            }
            (Input::Machine(_), _) => return None,
            (Input::File(file), counter) => {
                let (lines, rate) = rates(file).ok()?;
                match counter {
                    Counter::Occupancy => u128::from(lines) * ns,
                    _ => u128::from(rate.get()) * ns / (8 * 4 * 1_000_000_000),
                }
            }
        };
        let rise = if sum.begun { rise as u64 } else { 0 };
        *sum = Sum { at, raw, begun: true, value: sum.value.wrapping_add(rise) };
        Some((at, sum.value))
    }
}

/// Lines and rate in a file of at most 63 bytes.
fn rates(file: &File) -> io::Result<(u64, BitsPerSec)> {
    let mut bytes = [0; 64];
    let len = file.read_at(&mut bytes, 0)?;
    let text = str::from_utf8(&bytes[..len]).unwrap_or_default();
    let parsed = text.trim_end().split_once(' ').and_then(|(lines, rate)| {
        let lines = lines.parse().ok().filter(|lines| *lines <= u64::from(u16::MAX))?;
        Some((lines, rate.parse().ok()?))
    });
    parsed.ok_or(io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_file_grows_by_its_lines_and_its_rate() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/senses-test");
        std::fs::write(&path, "80 32Gbps\n").expect("written");
        let input = Input::File(File::open(&path).expect("it is there"));
        let mut stacks = Stacks::new(Clock::start(), vec![input]);
        let mut read = |counter| stacks.read(0, Side::Receive, counter).expect("it reads");
        for (counter, per_ns) in [(Counter::Occupancy, 80), (Counter::Inserts, 1)] {
            let (first, zero) = read(counter);
            let (second, value) = read(counter);
            assert_eq!((zero, value), (0, (second - first).as_nanos() as u64 * per_ns));
        }
        std::fs::write(&path, "80").expect("written");
        assert_eq!(
            stacks.read(0, Side::Receive, Counter::Inserts),
            None,
            "a file that says nothing"
        );
        std::fs::remove_file(path).expect("removed");
    }
}
