//! Helpers and kernel functions that programs call.
//!
//! Source: `include/uapi/linux/bpf.h` for helpers; `net/ipv4/tcp_cong.c` for the functions of every kernel.

use crate::address::region;
use crate::errno::{E2BIG, EFAULT, EINVAL, ENOENT};
use crate::machine::{Called, Machine};
use crate::maps::MapKind;
use crate::stop::StopReason;
use crate::trace;
use forebay_laws::kernel::{coarse_ns, reno, ticks};
use forebay_units::random::Stream;

/// A helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HelperInfo {
    pub number: u32,
    pub name: &'static str,
}

/// Helpers that there are, by number.
pub(crate) const HELPERS: [HelperInfo; 20] = {
    const fn of(number: u32, name: &'static str) -> HelperInfo {
        HelperInfo { number, name }
    }
    [
        of(1, "bpf_map_lookup_elem"),
        of(2, "bpf_map_update_elem"),
        of(3, "bpf_map_delete_elem"),
        of(4, "bpf_probe_read"),
        of(5, "bpf_ktime_get_ns"),
        of(6, "bpf_trace_printk"),
        of(7, "bpf_get_prandom_u32"),
        of(8, "bpf_get_smp_processor_id"),
        of(42, "bpf_get_numa_node_id"),
        of(49, "bpf_setsockopt"),
        of(57, "bpf_getsockopt"),
        of(107, "bpf_sk_storage_get"),
        of(108, "bpf_sk_storage_delete"),
        of(113, "bpf_probe_read_kernel"),
        of(116, "bpf_tcp_send_ack"),
        of(118, "bpf_jiffies64"),
        of(125, "bpf_ktime_get_boot_ns"),
        of(160, "bpf_ktime_get_coarse_ns"),
        of(177, "bpf_trace_vprintk"),
        of(181, "bpf_loop"),
    ]
};

/// Functions of every kernel.
pub(crate) const KFUNCS: [&str; 5] = [
    "tcp_slow_start",
    "tcp_cong_avoid_ai",
    "tcp_reno_ssthresh",
    "tcp_reno_cong_avoid",
    "tcp_reno_undo_cwnd",
];

/// Most rounds of `bpf_loop`. Source: `BPF_MAX_LOOPS`.
const MAX_LOOPS: u64 = 8 << 20;

fn wants(nth: u8, wants: &'static str) -> Called {
    Called::Why(StopReason::Argument { nth, wants })
}

impl Machine<'_> {
    /// A helper by its number; gives r0.
    #[inline(never)]
    pub(crate) fn helper(&mut self, number: u32, a: [u64; 5]) -> Result<u64, Called> {
        let value = match number {
            1 => self.with_key(a, |machine, map, key| {
                Ok(match machine.host.maps[map].lookup(key) {
                    Some(at) => region::address(region::VALUES + map as u32, at),
                    None => 0,
                })
            })?,
            2 => self.with_key(a, |machine, map, key| {
                let size = machine.host.maps[map].info().value as usize;
                let value = machine.bytes(a[2], size);
                let value = value.ok_or_else(|| wants(3, "the address of a value"))?;
                Ok(machine.host.maps[map].update(key, &value, a[3]) as u64)
            })?,
            3 => {
                self.with_key(a, |machine, map, key| Ok(machine.host.maps[map].delete(key) as u64))?
            }
            5 | 125 => self.sk.tcp_clock_cache(),
            160 => coarse_ns(self.sk.tcp_clock_cache(), self.image.hz),
            118 => ticks(self.sk.tcp_clock_cache(), self.image.hz),
            6 => self.print(a[0], a[1], &a[2..])?,
            177 => self.print_many(a)?,
            7 => {
                let drawn = Stream::at(self.flow.seed, self.flow.drawn);
                self.flow.drawn += 1;
                drawn & u64::from(u32::MAX)
            }
            8 | 42 => 0,
            49 | 57 => {
                return Err(StopReason::Unable(
                    "the flow would change its law, and laws of flows stay",
                )
                .into());
            }
            107 => self.storage_get(a)?,
            108 => {
                let map = self.storage(a)?;
                match self.flow.storage[map].take() {
                    Some(_) => 0,
                    None => ENOENT as u64,
                }
            }
            4 | 113 => self.probe_read(a)?,
            116 => 0,
            181 => self.rounds(a)?,
            _ => return Err(StopReason::Unable("there is no such helper here").into()),
        };
        Ok(value)
    }

    fn map_of(&self, address: u64, nth: u8) -> Result<usize, Called> {
        let place = (address >> 32) as u32;
        let map = place.wrapping_sub(region::MAP) as usize;
        if address as u32 == 0 && map < self.host.maps.len() {
            Ok(map)
        } else {
            Err(wants(nth, "a map"))
        }
    }

    /// Does something with a map and a key, which is copied to memory that the host keeps for it.
    fn with_key(
        &mut self,
        a: [u64; 5],
        what: impl FnOnce(&mut Self, usize, &[u8]) -> Result<u64, Called>,
    ) -> Result<u64, Called> {
        let map = self.map_of(a[0], 1)?;
        let info = self.host.maps[map].info();
        if info.kind == MapKind::SocketStorage {
            return Err(wants(1, "a map with keys"));
        }
        let len = info.key as usize;
        let mut key = std::mem::take(&mut self.host.key);
        key.resize(len, 0);
        let result = match self.copy(a[1], &mut key) {
            Some(()) => what(self, map, &key),
            None => Err(wants(2, "the address of a key")),
        };
        self.host.key = key;
        result
    }

    /// The map of a value per flow, and that of this flow.
    fn storage(&self, a: [u64; 5]) -> Result<usize, Called> {
        let map = self.map_of(a[0], 1)?;
        if self.host.maps[map].info().kind != MapKind::SocketStorage {
            return Err(wants(1, "a map of kind sk_storage"));
        }
        self.socket(a[1], 2).map(|()| map)
    }

    fn storage_get(&mut self, a: [u64; 5]) -> Result<u64, Called> {
        let map = self.storage(a)?;
        let size = self.host.maps[map].info().value as usize;
        if self.flow.storage[map].is_none() {
            if a[3] & 1 == 0 {
                return Ok(0);
            }
            let first = if a[2] == 0 { Some(vec![0; size]) } else { self.bytes(a[2], size) };
            let first = first.ok_or_else(|| wants(3, "the address of a value"))?;
            self.flow.storage[map] = Some(first);
        }
        Ok(region::address(region::STORAGE + map as u32, 0))
    }

    /// A checked copy. What is out of bounds reads as zeros, with an error.
    fn probe_read(&mut self, a: [u64; 5]) -> Result<u64, Called> {
        let len = a[1] as u32 as usize;
        if len > 4096 {
            return Err(wants(2, "at most 4096 bytes"));
        }
        let (bytes, result) = match self.bytes(a[2], len) {
            Some(bytes) => (bytes, 0),
            None => (vec![0; len], EFAULT as u64),
        };
        self.put(a[0], &bytes).ok_or_else(|| wants(1, "the address of memory to write"))?;
        Ok(result)
    }

    /// Prints a line: a format of so many bytes, zero included, and its arguments. Gives the length.
    fn print(&mut self, format: u64, size: u64, arguments: &[u64]) -> Result<u64, Called> {
        let mut bytes = [0; 512];
        let size = size as u32 as usize;
        let bytes = bytes.get_mut(..size).ok_or_else(|| wants(2, "at most 512 bytes"))?;
        self.copy(format, bytes).ok_or_else(|| wants(1, "the address of a format"))?;
        let text = bytes.strip_suffix(&[0]).and_then(|text| std::str::from_utf8(text).ok());
        let line = text.and_then(|text| trace::line(text, arguments, |at| self.text(at)));
        let Some(line) = line else { return Ok(EINVAL as u64) };
        self.host.trace.add(self.sk, &line);
        Ok(line.len() as u64)
    }

    /// As [`Self::print`], with an array of so many bytes of arguments.
    fn print_many(&mut self, [format, size, data, len, _]: [u64; 5]) -> Result<u64, Called> {
        let len = len as u32 as usize;
        if len > 96 || !len.is_multiple_of(8) {
            return Ok(EINVAL as u64); // MAX_BPRINTF_VARARGS
        }
        let mut bytes = [0; 96];
        self.copy(data, &mut bytes[..len]).ok_or_else(|| wants(3, "the address of arguments"))?;
        let arguments = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let arguments: Vec<_> = arguments.take(len / 8).collect();
        self.print(format, size, &arguments)
    }

    /// A text at an address, as far as it can be read.
    fn text(&self, at: u64) -> Option<String> {
        let byte = |nth: u64| self.load::<1>(at.checked_add(nth)?).filter(|byte| *byte > 0);
        let bytes: Vec<u8> =
            (0..trace::TEXT as u64).map_while(|n| byte(n).map(|b| b as u8)).collect();
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Calls a function so many times, or until it gives 1.
    fn rounds(&mut self, [times, function, context, flags, _]: [u64; 5]) -> Result<u64, Called> {
        let entry = function as u32 as usize;
        // Only what the loader has judged.
        if (function >> 32) as u32 != region::CODE
            || self.image.callbacks.binary_search(&entry).is_err()
        {
            return Err(wants(2, "a function"));
        }
        if flags != 0 {
            return Ok(EINVAL as u64);
        }
        let times = u64::from(times as u32);
        if times > MAX_LOOPS {
            return Ok(E2BIG as u64);
        }
        self.depth += 1;
        let mut done = 0;
        let result = loop {
            if done == times {
                break Ok(done);
            }
            match self.run(entry, [done, context, 0, 0, 0]) {
                Ok(stop) => {
                    done += 1;
                    if stop == 1 {
                        break Ok(done);
                    }
                }
                Err(stop) => break Err(Called::Stop(stop)),
            }
        };
        self.depth -= 1;
        result
    }

    fn socket(&self, address: u64, nth: u8) -> Result<(), Called> {
        if address == region::address(region::SOCKET, 0) {
            Ok(())
        } else {
            Err(wants(nth, "the socket"))
        }
    }

    /// A function of every kernel, by its place in [`KFUNCS`]; gives r0.
    pub(crate) fn kfunc(&mut self, nth: u32, a: [u64; 5]) -> Result<u64, Called> {
        self.socket(a[0], 1)?;
        let zero = |_| Called::Why(StopReason::DivisionByZero);
        Ok(match nth {
            0 => reno::slow_start(self.sk, a[1] as u32).into(),
            1 => {
                reno::cong_avoid_ai(self.sk, a[1] as u32, a[2] as u32).map_err(zero)?;
                0
            }
            2 => reno::reno_ssthresh(self.sk).into(),
            3 => {
                reno::reno_cong_avoid(self.sk, a[2] as u32).map_err(zero)?;
                0
            }
            _ => reno::reno_undo_cwnd(self.sk).into(),
        })
    }
}
