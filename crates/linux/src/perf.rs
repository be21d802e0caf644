//! Counters outside the cores by `perf_event_open`: one group per unit and socket, so that its counters are read together.
//!
//! Source: `include/uapi/linux/perf_event.h`.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// `PERF_FORMAT_TOTAL_TIME_ENABLED`, `PERF_FORMAT_TOTAL_TIME_RUNNING` and `PERF_FORMAT_GROUP`.
const READ_FORMAT: u64 = 1 | 2 | 8;

/// At most so many counters in a group.
const MOST: usize = 4;

/// Counters of one unit that are read together.
#[derive(Debug)]
pub struct Group {
    leader: File,
    others: Vec<OwnedFd>, // they count as long as they are open
}

impl Group {
    /// Opens the events of a PMU of this type as it counts for this CPU: `config`, `config1` and `config2` of each.
    ///
    /// # Errors
    /// If there is none or there are more than four, or the system refuses: no right, no such event, or no counter free.
    pub fn open(kind: u32, cpu: u32, events: &[[u64; 3]]) -> io::Result<Self> {
        let Some((first, rest)) = events.split_first().filter(|_| events.len() <= MOST) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let leader = File::from(open(kind, cpu, *first, -1)?);
        let others = rest.iter().map(|event| open(kind, cpu, *event, leader.as_raw_fd()));
        let others = others.collect::<io::Result<_>>()?;
        Ok(Self { leader, others })
    }

    /// Descriptors of the events, the leader's first, for [`Group::of`] in another process.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.leader.as_fd()].into_iter().chain(self.others.iter().map(AsFd::as_fd))
    }

    /// The group behind such descriptors; `None` if there is none or there are more than four.
    pub fn of(mut descriptors: Vec<OwnedFd>) -> Option<Self> {
        let fits = (1..=MOST).contains(&descriptors.len());
        let others = if fits { descriptors.split_off(1) } else { return None };
        Some(Self { leader: File::from(descriptors.pop()?), others })
    }

    /// Reads all of them. `None`: the system refused, or the group did not count all the time, so its values are too low.
    pub fn read(&self, mut each: impl FnMut(usize, u64)) -> Option<()> {
        let mut bytes = [0; 8 * (3 + MOST)];
        let count = 1 + self.others.len();
        let len = (&self.leader).read(&mut bytes).ok()?;
        let word = |nth: usize| {
            u64::from_ne_bytes(bytes[8 * nth..8 * nth + 8].try_into().expect("eight bytes"))
        };
        let whole = len == 8 * (3 + count) && word(0) == count as u64 && word(1) == word(2);
        (0..count).filter(|_| whole).for_each(|nth| each(nth, word(3 + nth)));
        whole.then_some(())
    }
}

/// Opens one event, in the group of `leader` or, with -1, as a leader.
#[allow(unsafe_code)]
fn open(
    kind: u32,
    cpu: u32,
    [config, config1, config2]: [u64; 3],
    leader: RawFd,
) -> io::Result<OwnedFd> {
    // struct perf_event_attr, version 1: type and size, config, period, sample type, read format, flags, breakpoint, config1, config2.
    let mut attributes = [0u64; 9];
    let size = size_of_val(&attributes) as u32;
    let mut head = [0; 8];
    head[..4].copy_from_slice(&kind.to_ne_bytes());
    head[4..].copy_from_slice(&size.to_ne_bytes());
    attributes[0] = u64::from_ne_bytes(head);
    attributes[1] = config;
    attributes[4] = READ_FORMAT;
    (attributes[7], attributes[8]) = (config1, config2);
    let cpu = i32::try_from(cpu).map_err(|_| io::ErrorKind::InvalidInput)?;
    let (all_processes, close_on_exec) = (-1, 8);
    // SAFETY: the kernel reads `size` bytes from the pointer, all of them initialised, and keeps nothing of it.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes.as_ptr(),
            all_processes,
            cpu,
            leader,
            close_on_exec,
        )
    };
    match RawFd::try_from(fd) {
        // SAFETY: the kernel has just made this descriptor for us, and no other code has it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;
    use crate::pmu::Pmu;

    /// The time-stamp counter by the PMU `msr`, which many machines have: two of them in a group rise together.
    #[test]
    fn a_group_is_read_together() {
        let Some(msr) = Pmu::all(&Root::machine(), "msr").pop() else { return };
        let tsc = msr.encode(&[("event", 0)]).expect("the PMU has a field event");
        let Ok(group) = Group::open(msr.kind, 0, &[tsc, tsc]) else { return }; // no right to
        let read = || {
            let mut values = [0; 2];
            group.read(|nth, value| values[nth] = value).map(|()| values)
        };
        let (first, second) = (read().expect("it counts"), read().expect("it counts"));
        assert!(second[0] > first[0] && second[1] > first[1], "{first:?} {second:?}");
        assert!(second[0].abs_diff(second[1]) < 1 << 32, "{second:?}");
    }

    #[test]
    fn a_group_has_one_to_four_counters() {
        assert!(Group::open(9, 0, &[]).is_err());
        assert!(Group::open(9, 0, &[[0; 3]; 5]).is_err());
        assert!(Group::open(u32::MAX, 0, &[[0; 3]]).is_err(), "there is no such PMU");
    }
}
