//! The scenarios that come with the product, for `forebay new` and `forebay run --preset`.

/// A scenario to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Name, as the file's.
    pub name: &'static str,
    /// TOML text, with comments.
    pub text: &'static str,
}

impl Preset {
    /// The first line of its comment.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// What a reader of its results should know: the line of its comment that begins with "Note:".
    pub fn note(&self) -> Option<&'static str> {
        self.text.lines().find_map(|line| line.strip_prefix("# Note: "))
    }
}

macro_rules! preset {
    ($name:literal) => {
        Preset { name: $name, text: include_str!(concat!("../../../scenarios/", $name, ".toml")) }
    };
}

/// All of them, the main job first.
pub const PRESETS: &[Preset] = &[
    preset!("websearch"),
    preset!("incast"),
    preset!("rpc"),
    preset!("host-congestion"),
    preset!("link-failure"),
    preset!("permutation"),
    preset!("ndp"),
    preset!("homa"),
    preset!("expresspass"),
    preset!("aeolus"),
    preset!("dumbbell-reno"),
    preset!("graph"),
];

/// The preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|p| p.name == name)
}
