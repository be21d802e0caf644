//! Memory that this process may take, where the system reports it.

use std::path::Path;

/// Memory for new work: the least of what the machine has and what each cgroup of this process may still take.
pub fn free_memory() -> Option<f64> {
    free_memory_under(Path::new("/"))
}

/// Free memory of a system whose files are under this folder.
fn free_memory_under(root: &Path) -> Option<f64> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let info = read("proc/meminfo")?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0;
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
    Some(all.into_iter().fold(machine, f64::min))
}

/// Bytes that the limit of its address space (`ulimit -v`) leaves this process. `None`: there is no limit.
pub fn free_address_space() -> Option<f64> {
    free_address_space_under(Path::new("/"))
}

fn free_address_space_under(root: &Path) -> Option<f64> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let limits = read("proc/self/limits")?;
    let limit = limits.lines().find_map(|line| {
        let words = line.strip_prefix("Max address space")?;
        words.split_whitespace().next()?.parse::<f64>().ok()
    })?;
    let status = read("proc/self/status").unwrap_or_default();
    // An allocator maps more than it uses, and what it has mapped serves new work, too.
    let taken = ["RssAnon:", "VmExe:", "VmLib:", "VmStk:"].map(|key| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
        kib.unwrap_or(0.0) * 1024.0
    });
    Some((limit - taken.iter().sum::<f64>()).max(0.0))
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
    }

    #[test]
    fn the_limit_of_the_address_space_counts_what_is_mapped_already() {
        let of = |name: &str, limit: &str| {
            let limits =
                format!("Max address space         {limit}           unlimited            bytes\n");
            let status = (
                "proc/self/status",
                "VmSize:  3000000 kB\nRssAnon:  900000 kB\nVmExe:  60000 kB\nVmLib:  40000 kB\n",
            );
            let root = system(name, &[("proc/self/limits", limits.as_str()), status]);
            let left = free_address_space_under(&root);
            std::fs::remove_dir_all(root).expect("it was made");
            left
        };
        assert_eq!(of("space", "4000000000"), Some(2_976_000_000.0));
        assert_eq!(of("full", "1000"), Some(0.0));
        assert_eq!(of("endless", "unlimited"), None);
    }
}
