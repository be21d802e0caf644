//! Whether guard or loop is in a victim's cgroup: freezing that cgroup would freeze the agent too, with no process left to thaw it.
//!
//! Refused at the start. Afterwards another process may move them. The loop looks before it freezes, the guard four times a second.

use crate::config::Config;
use forebay_linux::{Root, cgroup};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Where guard and loop are, by open files that stay.
#[derive(Debug)]
pub struct OwnCgroups {
    of: Vec<File>, // /proc/PID/cgroup
    victims: Vec<String>,
}

impl OwnCgroups {
    /// Of this process, and of one with that number. What cannot be opened, as in a tree that has no such process, is left out.
    pub fn open(root: &Root, other: u32, config: &Config) -> Self {
        let paths = ["/proc/self/cgroup".to_string(), format!("/proc/{other}/cgroup")];
        let of = paths.iter().filter_map(|path| root.open(path).ok()).collect();
        Self { of, victims: config.victim.iter().map(|of| of.cgroup.clone()).collect() }
    }

    /// Opens the same files in another process.
    pub fn of(of: Vec<File>, victims: Vec<String>) -> Self {
        Self { of, victims }
    }

    /// The open files.
    pub fn files(&self) -> &[File] {
        &self.of
    }

    /// The victims.
    pub fn victims(&self) -> &[String] {
        &self.victims
    }

    /// The victim that one of them is in, or below.
    pub fn victim(&self) -> Option<&str> {
        let mut bytes = [0; 8192];
        self.of.iter().find_map(|file| {
            let len = file.read_at(&mut bytes, 0).ok()?;
            let own = cgroup::of_process(str::from_utf8(&bytes[..len]).ok()?)?;
            let holds = |victim: &&String| format!("{own}/").starts_with(&format!("{victim}/"));
            self.victims.iter().find(holds).map(String::as_str)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn who_is_moved_into_a_victim_or_below_it_is_seen_at_the_next_look() {
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/inside-test");
        for folder in ["proc/self", "proc/7"] {
            fs::create_dir_all(tree.join(folder)).expect("a folder");
            fs::write(tree.join(folder).join("cgroup"), "5:cpu:/batch\n0::/agent\n")
                .expect("written");
        }
        let text = "[[victim]]\ncgroup = \"/batch\"\nladder = [\"freeze\"]";
        let config = crate::config::parse("agent.toml", text, false).expect("it is right");
        let of = OwnCgroups::open(&Root::at(&tree), 7, &config);
        for (place, wanted) in [
            ("/batch", Some("/batch")),
            ("/batch/below", Some("/batch")),
            ("/batch2", None),
            ("/", None),
            ("/agent", None),
        ] {
            fs::write(tree.join("proc/7/cgroup"), format!("5:cpu:/\n0::{place}\n"))
                .expect("written");
            assert_eq!(of.victim(), wanted, "{place}");
        }
        fs::remove_dir_all(tree).expect("removed");
    }
}
