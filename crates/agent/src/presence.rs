//! Victims and interfaces of a configuration while an agent acts: which have gone, and which are back.
//!
//! What comes back under its name is another cgroup or interface to the kernel, to which nothing of the agent's is attached.

use crate::config::Config;
use crate::plan::Plan;
use forebay_linux::{Root, netlink};
use std::os::unix::fs::MetadataExt;

#[derive(Debug)]
enum What {
    Cgroup(String), // its folder
    Nic,
}

#[derive(Debug)]
struct Thing {
    name: String,
    what: What,
    since: u64, // what the kernel knows it by
    gone: bool,
}

impl Thing {
    /// What the kernel knows it by now; `None`: it is not there.
    fn now(&self, root: &Root) -> Option<u64> {
        match &self.what {
            What::Cgroup(folder) => inode(root, folder),
            What::Nic if root.is_machine() => {
                netlink::interface(&self.name).ok().map(|of| of.number.into())
            }
            What::Nic => inode(root, &format!("/sys/class/net/{}", self.name)),
        }
    }
}

fn inode(root: &Root, path: &str) -> Option<u64> {
    std::fs::metadata(root.path(path)).ok().map(|of| of.ino())
}

/// See the top of this file.
#[derive(Debug)]
pub struct Presence {
    root: Root,
    of: Vec<Thing>,
}

/// What a look found.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing new.
    Same,
    /// These have gone since the last look.
    Gone(Vec<String>),
    /// All are there, and these are other ones than at the start.
    Back(Vec<String>),
}

impl Presence {
    /// Of what is there now; what is not, nobody waits for.
    pub fn new(root: &Root, config: &Config, plan: &Plan) -> Self {
        let mut folders: Vec<_> = plan.actuators.iter().map(|of| of.cgroup.clone()).collect();
        folders.dedup();
        let cgroups = folders.into_iter().map(|folder| (folder.clone(), What::Cgroup(folder)));
        let nics = config.nic.iter().map(|nic| (nic.name.clone(), What::Nic));
        let there = |(name, what)| {
            let mut thing = Thing { name, what, since: 0, gone: false };
            thing.since = thing.now(root)?;
            Some(thing)
        };
        Self { root: root.clone(), of: cgroups.chain(nics).filter_map(there).collect() }
    }

    /// Looks again.
    pub fn look(&mut self) -> Seen {
        let (mut lost, mut back) = (Vec::new(), Vec::new());
        for thing in &mut self.of {
            match thing.now(&self.root) {
                None if !thing.gone => {
                    thing.gone = true;
                    lost.push(thing.name.clone());
                }
                Some(now) if thing.gone || now != thing.since => {
                    (thing.gone, thing.since) = (true, now);
                    back.push(thing.name.clone());
                }
                _ => {}
            }
        }
        match (lost.is_empty(), back.len() == self.gone() && !back.is_empty()) {
            (false, _) => Seen::Gone(lost),
            (true, true) => Seen::Back(back),
            (true, false) => Seen::Same,
        }
    }

    /// How many have gone, or were gone.
    pub fn gone(&self) -> usize {
        self.of.iter().filter(|thing| thing.gone).count()
    }
}
