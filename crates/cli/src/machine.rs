//! Cores and free memory and disk of this machine, and the memory of this process.

use forebay_record::machine::{free_address_space, free_memory};
use forebay_study::estimate::Machine;
use std::path::Path;

/// Describes this machine, for results at a place.
pub fn here(place: &Path) -> Machine {
    let place_text = place.display().to_string();
    let (memory, space) = (free_memory(), free_address_space());
    Machine { memory, space, disk: free_disk(place), place: place_text }
}

/// Room on the file system that a path is or will be on, where the system reports it.
pub fn free_disk(place: &Path) -> Option<f64> {
    #[cfg(unix)]
    {
        let absolute = std::path::absolute(place).ok()?;
        let there = absolute.ancestors().find(|path| path.exists())?;
        let room = rustix::fs::statvfs(there).ok()?;
        Some(room.f_bavail as f64 * room.f_frsize as f64)
    }
    #[cfg(not(unix))]
    {
        let _ = place;
        None
    }
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Memory of this process that is in use now, where the system reports it.
pub fn resident_bytes() -> Option<u64> {
    status_kib("VmRSS:")
}

/// The most memory that this process has used.
pub fn peak_resident_bytes() -> Option<u64> {
    status_kib("VmHWM:")
}

fn status_kib(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
