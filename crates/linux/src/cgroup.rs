//! The cgroup v2 tree: where it is mounted and which controllers it has.

use crate::Root;

/// A mounted cgroup v2 tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroups {
    /// Where it is mounted.
    pub mount: String,
    /// Its controllers; freezing needs none.
    pub controllers: Vec<String>,
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
}
