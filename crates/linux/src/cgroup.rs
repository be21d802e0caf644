//! The cgroup v2 tree: where it is mounted and which controllers it has.

use crate::Root;

/// A mounted cgroup v2 tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroups {
    /// Where it is mounted.
    pub mount: String,
    /// Controllers of the tree; freezing needs none.
    pub controllers: Vec<String>,
}

/// The v2 cgroup in a text of `/proc/PID/cgroup`, without a slash at its end.
pub fn of_process(text: &str) -> Option<&str> {
    let own = text.lines().find_map(|line| line.strip_prefix("0::"));
    own.map(|own| own.trim_end_matches('/'))
}

impl Cgroups {
    /// The first one of `/proc/mounts`.
    pub fn find(root: &Root) -> Option<Self> {
        let mounts = root.read("/proc/mounts").ok()?;
        let mount = mounts.lines().find_map(|line| {
            let mut words = line.split(' ').skip(1);
            let (at, kind) = (words.next()?, words.next()?);
            (kind == "cgroup2").then(|| at.to_string())
        })?;
        let controllers = root.read(&format!("{mount}/cgroup.controllers")).unwrap_or_default();
        let controllers = controllers.split_whitespace().map(str::to_string).collect();
        Some(Self { mount, controllers })
    }

    /// Folders of frozen cgroups, the first `most` of them, those above before those below.
    pub fn frozen(&self, root: &Root, most: usize) -> Vec<String> {
        let (mut found, mut next) =
            (Vec::new(), std::collections::VecDeque::from([self.mount.clone()]));
        while let Some(folder) = next.pop_front() {
            if root.read(&format!("{folder}/cgroup.freeze")).is_ok_and(|text| text == "1") {
                found.push(folder.clone());
                if found.len() == most {
                    break;
                }
            }
            let below = root.names(&folder).into_iter().map(|name| format!("{folder}/{name}"));
            next.extend(below.filter(|path| root.path(path).is_dir()));
        }
        found
    }
}
