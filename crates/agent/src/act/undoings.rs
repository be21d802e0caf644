//! How often what an agent had changed was undone, by cause: a file in the state folder, so that agents which fail are counted by the next one.
//!
//! It goes with the machine, as the folder does. What cannot be counted is undone all the same.

use std::fs;
use std::path::Path;

/// Name of the file.
const FILE: &str = "undone";

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An interrupt, or the time that was asked for.
    Asked,
    /// The loop had gone.
    LoopGone,
    /// The loop gave no sign of life within the deadline.
    LoopSilent,
    /// The start failed, by a self-test or otherwise.
    Start,
    /// The agent was moved into its victim.
    Inside,
    /// A victim or an interface is back, and the agent starts again.
    Back,
    /// Guard and loop were dead: `undo`, or the next start.
    Dead,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Asked,
        Self::LoopGone,
        Self::LoopSilent,
        Self::Start,
        Self::Inside,
        Self::Back,
        Self::Dead,
    ];

    /// As the metric has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::LoopGone => "loop_gone",
            Self::LoopSilent => "loop_silent",
            Self::Start => "start",
            Self::Inside => "inside",
            Self::Back => "back",
            Self::Dead => "dead",
        }
    }
}

/// Counts of all causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undoings([u64; Cause::ALL.len()]);

impl Undoings {
    /// Counts in a state folder. Zeros if the file is absent or unreadable.
    pub fn read(folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join(FILE)).unwrap_or_default();
        let count = |cause: Cause| {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(name, _)| *name == cause.name())?.1.parse().ok()
        };
        Self(Cause::ALL.map(|cause| count(cause).unwrap_or(0)))
    }

    /// Each cause and its count.
    pub fn each(&self) -> impl Iterator<Item = (Cause, u64)> {
        Cause::ALL.into_iter().zip(self.0)
    }

    /// Counts one more in a state folder.
    pub fn count(folder: &Path, cause: Cause) {
        let all = Self::read(folder);
        let counted = all.each().map(|(of, count)| (of, count + u64::from(of == cause)));
        let text: String = counted.map(|(of, count)| format!("{} {count}\n", of.name())).collect();
        let (new, file) = (folder.join("undone.new"), folder.join(FILE));
        let _ = fs::write(&new, text).and_then(|()| fs::rename(new, file));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_over_agents_and_nonsense_is_zero() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/undoings-test");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        assert_eq!(Undoings::read(&folder), Undoings::default());
        for cause in [Cause::Dead, Cause::Asked, Cause::Dead] {
            Undoings::count(&folder, cause);
        }
        assert_eq!(Undoings::read(&folder), Undoings([1, 0, 0, 0, 0, 0, 2]));
        fs::write(folder.join(FILE), "asked x\ndead 7\n").expect("written");
        assert_eq!(Undoings::read(&folder), Undoings([0, 0, 0, 0, 0, 0, 7]));
        fs::remove_dir_all(folder).expect("removed");
    }
}
