//! Cores and free memory and disk of this machine, and the memory of this process.

use forebay_study::estimate::Machine;
use std::path::Path;

/// Describes this machine, for results at a place.
pub fn here(place: &Path) -> Machine {
    let place_text = place.display().to_string();
    Machine { memory: free_memory(), disk: free_disk(place), place: place_text }
}

/// Room on the file system that a path is or will be on, where the system reports it.
pub fn free_disk(place: &Path) -> Option<f64> {
    #[cfg(unix)]
    {
        let absolute = std::path::absolute(place).ok()?;
        let there = absolute.ancestors().find(|path| path.exists())?;
        let room = nix::sys::statvfs::statvfs(there).ok()?;
        Some(room.blocks_available() as f64 * room.fragment_size() as f64)
    }
    #[cfg(not(unix))]
    {
        let _ = place;
        None
    }
}

/// Memory that this process may take for new work, where the system reports it: the least of what the machine has, what each of its
/// cgroups may still take, and the limit of its address space.
pub fn free_memory() -> Option<f64> {
    free_memory_under(Path::new("/"))
}

/// Free memory of a system whose files are under this folder.
fn free_memory_under(root: &Path) -> Option<f64> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let info = read("proc/meminfo")?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0;
    let limits = read("proc/self/limits");
    let space = limits.iter().flat_map(|text| text.lines()).find_map(|line| {
        let words = line.strip_prefix("Max address space")?;
        words.split_whitespace().next()?.parse::<f64>().ok()
    });
    let groups = read("proc/self/cgroup").unwrap_or_default();
    let of_groups = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or("/"));
        let second = controllers.is_empty();
        let first = controllers.split(',').any(|one| one == "memory");
        let base = if second { "sys/fs/cgroup" } else { "sys/fs/cgroup/memory" };
        let (limit, used) = match second {
            true => ("memory.max", "memory.current"),
            false => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        };
        // A container often sees its own cgroup as the root.
        let above = Path::new(path).ancestors().filter(|_| second || first);
        let folders: Vec<_> = above
            .map(|path| Path::new(base).join(path.strip_prefix("/").unwrap_or(path)))
            .collect();
        folders.into_iter().filter_map(move |folder| left(root, &folder, limit, used))
    });
    let all: Vec<f64> = of_groups.collect();
    Some(all.into_iter().chain(space).fold(machine, f64::min))
}

/// What a cgroup may still take: its limit, less what it has and could not give back.
fn left(root: &Path, folder: &Path, limit: &str, used: &str) -> Option<f64> {
    let read = |name: &str| std::fs::read_to_string(root.join(folder).join(name)).ok();
    let limit: f64 = read(limit)?.trim().parse().ok()?;
    let used: f64 = read(used)?.trim().parse().ok()?;
    let stat = read("memory.stat").unwrap_or_default();
    let cache = stat.lines().find_map(|line| {
        let words =
            line.strip_prefix("inactive_file ").or(line.strip_prefix("total_inactive_file "));
        words?.trim().parse::<f64>().ok()
    });
    Some((limit - used + cache.unwrap_or(0.0)).max(0.0))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of files, made for one test.
    fn system(name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
        let root =
            std::env::temp_dir().join(format!("forebay-machine-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        root
    }

    #[test]
    fn memory_is_what_the_tightest_cgroup_leaves() {
        let meminfo = ("proc/meminfo", "MemTotal: 99 kB\nMemAvailable:   8000000 kB\n");
        let own = ("proc/self/cgroup", "0::/a/b\n");
        let of = |name: &str, more: &[(&str, &str)]| {
            let root = system(name, &[&[meminfo, own], more].concat());
            let free = free_memory_under(&root);
            std::fs::remove_dir_all(root).expect("it was made");
            free
        };
        let b = ("sys/fs/cgroup/a/b/memory.max", "max\n");
        let b_used = ("sys/fs/cgroup/a/b/memory.current", "1000\n");
        assert_eq!(of("none", &[b, b_used]), Some(8_192_000_000.0));
        // The limit of the one above holds too; what it could give back is free.
        let a = ("sys/fs/cgroup/a/memory.max", "500000000\n");
        let a_used = ("sys/fs/cgroup/a/memory.current", "300000000\n");
        let stat = ("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 50000000\n");
        assert_eq!(of("above", &[b, b_used, a, a_used, stat]), Some(250_000_000.0));
        let first = ("proc/self/cgroup", "3:cpu:/x\n4:memory:/m\n");
        let limit = ("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "90000000\n");
        let used = ("sys/fs/cgroup/memory/m/memory.usage_in_bytes", "40000000\n");
        assert_eq!(of("first", &[first, limit, used]), Some(50_000_000.0));
        let limits = (
            "proc/self/limits",
            "Max address space         4000000000           unlimited            bytes\n",
        );
        assert_eq!(of("space", &[limits]), Some(4_000_000_000.0));
    }
}
