//! Capabilities of a process, from its `status`.

use crate::Root;

/// What the agent may want of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// To attach programs to interfaces.
    NetAdmin = 12,
    /// To run before all processes of the normal class.
    SysNice = 23,
    /// To read counters of the processor, and for the verifier to accept the marking program.
    Perfmon = 38,
    /// To load programs.
    Bpf = 39,
}

impl Capability {
    /// As `setcap` writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NetAdmin => "cap_net_admin",
            Self::SysNice => "cap_sys_nice",
            Self::Perfmon => "cap_perfmon",
            Self::Bpf => "cap_bpf",
        }
    }
}

/// What loading and attaching a program that marks takes; the verifier wants the last one for an index that it cannot foresee.
pub const MARKS: [Capability; 3] = [Capability::Bpf, Capability::NetAdmin, Capability::Perfmon];

/// Effective capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u64);

impl Capabilities {
    /// Capabilities of this process, or of a recorded tree from its `proc/self/status`. Empty if there is no such file.
    pub fn read(root: &Root) -> Self {
        let status = root.read("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        Self(line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0))
    }

    /// Whether this one is among them.
    pub fn has(self, one: Capability) -> bool {
        self.0 >> (one as u32) & 1 == 1
    }

    /// Capabilities of `all` that are missing, in the form that `setcap` takes. Empty if none is missing.
    pub fn missing(self, all: &[Capability]) -> String {
        let missing = all.iter().filter(|one| !self.has(**one)).map(|one| one.name());
        missing.collect::<Vec<_>>().join(",")
    }
}
