//! Victims, interfaces and resctrl while an agent runs: which have gone, and which are back.
//!
//! What comes back under its name is another cgroup or interface to the kernel, to which nothing of the agent's is attached, and whose
//! counters are not those that are open. An interface without a cable counts as gone.
//!
//! resctrl cannot go and come back between two looks: while files of it are open here, the kernel refuses to unmount it, and after a lazy unmount (`umount -l`)
//! to mount another one (`rdt_get_tree`). So a process that finds resctrl gone has to close everything before resctrl can be back.

use crate::config::Config;
use crate::failure;
use forebay_linux::cgroup::Cgroups;
use forebay_linux::resctrl::MOUNT;
use forebay_linux::{Root, netlink};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

#[derive(Debug)]
enum PresenceKind {
    Cgroup(String), // its folder
    Nic,
    Resctrl,
}

#[derive(Debug)]
struct WatchedThing {
    name: String,
    what: PresenceKind,
    since: u64,  // what the kernel knows it by
    known: bool, // it has been there
    gone: bool,
}

impl WatchedThing {
    fn new(root: &Root, name: &str, what: PresenceKind) -> Self {
        let mut thing = Self { name: name.into(), what, since: 0, known: false, gone: false };
        thing.known = thing.id(root).is_some();
        // A cable that is out already is told of by the first look.
        (thing.since, thing.gone) = (thing.now(root).unwrap_or(0), !thing.known);
        thing
    }

    /// What the kernel knows it by; `None`: there is none.
    fn id(&self, root: &Root) -> Option<u64> {
        match &self.what {
            PresenceKind::Cgroup(folder) => inode(root, folder),
            PresenceKind::Nic if root.is_machine() => {
                netlink::interface(&self.name).ok().map(|of| of.number.into())
            }
            PresenceKind::Nic => inode(root, &format!("/sys/class/net/{}", self.name)),
            PresenceKind::Resctrl => {
                std::fs::metadata(root.path(&format!("{MOUNT}/schemata"))).ok().map(|of| of.dev())
            }
        }
    }

    /// Identity of what can be used: an interface counts only with a cable.
    fn now(&self, root: &Root) -> Option<u64> {
        let cable = match &self.what {
            PresenceKind::Nic if root.is_machine() => {
                netlink::interface(&self.name).is_ok_and(|of| of.cable)
            }
            PresenceKind::Nic => {
                match root.read(&format!("/sys/class/net/{}/carrier", self.name)) {
                    Ok(text) => text != "0",
                    Err(error) => error.kind() == ErrorKind::NotFound, // EINVAL: it is switched off
                }
            }
            PresenceKind::Cgroup(_) | PresenceKind::Resctrl => true,
        };
        self.id(root).filter(|_| cable)
    }
}

fn inode(root: &Root, path: &str) -> Option<u64> {
    std::fs::metadata(root.path(path)).ok().map(|of| of.ino())
}

/// See the top of this file.
#[derive(Debug)]
pub struct Presence {
    root: Root,
    of: Vec<WatchedThing>,
    back: Vec<String>, // and nothing has been opened again since
}

/// What a look found.
#[derive(Debug, PartialEq, Eq)]
enum PresenceCheck {
    /// Nothing new.
    Same,
    /// Names of what has gone since the last look.
    Gone(Vec<String>),
    /// All that ever were are there, and these are other ones than before.
    Back(Vec<String>),
}

impl Presence {
    /// Of what a configuration names, and resctrl, if something of it is used.
    pub fn new(root: &Root, config: &Config, resctrl: bool) -> Self {
        let mut of = Vec::new();
        if let Some(Cgroups { mount, .. }) = Cgroups::find(root) {
            for victim in &config.victim {
                let folder = format!("{mount}{}", victim.cgroup);
                of.push(WatchedThing::new(root, &folder, PresenceKind::Cgroup(folder.clone())));
            }
        }
        of.extend(
            config.nic.iter().map(|nic| WatchedThing::new(root, &nic.name, PresenceKind::Nic)),
        );
        if resctrl {
            of.push(WatchedThing::new(root, MOUNT, PresenceKind::Resctrl));
        }
        Self { root: root.clone(), of, back: Vec::new() }
    }

    /// Looks again, and tells of what has gone. Names for which everything is to be opened again: those that are back, once nothing is missing and a start
    /// would find all of them `ready`; or resctrl as soon as it has gone.
    pub fn attend(&mut self, ready: impl FnOnce() -> bool) -> Option<Vec<String>> {
        match self.look() {
            PresenceCheck::Gone(names) => {
                let all = names.join(", ");
                failure::note(&format!("{all}: gone; nothing is done to it until it is back"));
                if names.iter().any(|name| name == MOUNT) {
                    return Some(names);
                }
            }
            PresenceCheck::Back(names) => self.back = names,
            PresenceCheck::Same => {}
        }
        let all = self.gone() == 0 && !self.back.is_empty();
        (all && ready()).then(|| std::mem::take(&mut self.back))
    }

    fn look(&mut self) -> PresenceCheck {
        let (mut lost, mut back) = (Vec::new(), Vec::new());
        for thing in &mut self.of {
            match thing.now(&self.root) {
                None if !thing.gone => {
                    thing.gone = true;
                    lost.push(thing.name.clone());
                }
                Some(now) if thing.gone || now != thing.since => {
                    (thing.gone, thing.known, thing.since) = (false, true, now);
                    back.push(thing.name.clone());
                }
                _ => {}
            }
        }
        if !lost.is_empty() {
            // What came back in the same look is not told of now, but waits with the others.
            self.back.extend(back);
            return PresenceCheck::Gone(lost);
        }
        if back.is_empty() {
            return PresenceCheck::Same;
        }
        back.extend(std::mem::take(&mut self.back));
        back.sort();
        back.dedup();
        PresenceCheck::Back(back)
    }

    /// How many were there and have gone.
    pub fn gone(&self) -> usize {
        self.of.iter().filter(|thing| thing.known && thing.gone).count()
    }

    /// Stacks all of whose interfaces have gone, a bit each; `stacks` has that of each interface, in the order of the configuration.
    pub fn absent(&self, stacks: &[Option<usize>]) -> u64 {
        let nics = self.of.iter().filter(|thing| matches!(thing.what, PresenceKind::Nic));
        let (mut gone, mut there) = (0u64, 0u64);
        for (thing, stack) in nics.zip(stacks).filter(|(thing, _)| thing.known) {
            let bit = stack.map_or(0, |stack| 1 << stack);
            if thing.gone {
                gone |= bit;
            } else {
                there |= bit;
            }
        }
        gone & !there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn a_cable_and_a_mount_that_go_are_told_of_once_and_when_all_are_back() {
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/presence-test");
        let _ = fs::remove_dir_all(&tree);
        let write = |file: &str, text: &str| {
            let file = tree.join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(file, text).expect("written");
        };
        write("sys/class/net/eth0/carrier", "1\n");
        write("sys/class/net/eth1/mtu", "1500\n");
        write("sys/fs/resctrl/schemata", "MB:0=100\n");
        let text = "nic = [{ name = \"eth0\" }, { name = \"eth1\" }, { name = \"none\" }]";
        let config = crate::config::parse("agent.toml", text, false).expect("it is right");
        let mut of = Presence::new(&Root::at(&tree), &config, true);
        let stacks = [Some(0), Some(1), Some(0)];
        assert_eq!((of.look(), of.gone(), of.absent(&stacks)), (PresenceCheck::Same, 0, 0));
        write("sys/class/net/eth0/carrier", "0\n");
        fs::remove_file(tree.join("sys/fs/resctrl/schemata")).expect("unmounted");
        let both = names(&["eth0", MOUNT]);
        assert_eq!(of.attend(|| false), Some(both), "resctrl has to be closed");
        assert_eq!((of.look(), of.gone(), of.absent(&stacks)), (PresenceCheck::Same, 2, 1));
        write("sys/fs/resctrl/schemata", "MB:0=100\n");
        assert_eq!(of.attend(|| true), None, "the cable is still out");
        write("sys/class/net/eth0/carrier", "1\n");
        assert_eq!(of.attend(|| false), None, "a start would lack something");
        assert_eq!((of.gone(), of.absent(&stacks)), (0, 0));
        assert_eq!(of.attend(|| true), Some(names(&[MOUNT, "eth0"])));
        assert_eq!(of.attend(|| true), None);
        fs::remove_dir_all(tree).expect("removed");
    }
}
