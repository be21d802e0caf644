//! Rungs of a ladder: what a throttle level does to a victim.

use forebay_linux::resctrl::Bandwidth;
use forebay_units::BitsPerSec;

/// One rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// Memory bandwidth in percent, as MBA has it: of each core, hence not of the machine's bandwidth.
    MemoryPercent(u64),
    /// Memory bandwidth in units of 1/8 GB/s, as MBE has it: a cap for each L3 cache.
    MemoryGbps(u64),
    /// CPU time in percent of all CPUs.
    Cpu(u64),
    /// No process of the victim runs.
    Freeze,
}

/// Period of `cpu.max` in microseconds: long enough for a hundredth of one CPU to be more than the kernel's least, 1 ms, on a
/// machine with ten CPUs, and short enough that the time stopped stays below a tenth of a second.
const PERIOD_US: u64 = 100_000;

/// The least quota that the kernel takes, in microseconds.
const LEAST_QUOTA_US: u64 = 1000;

impl Rung {
    /// Reads `mb:70%`, `mb:128Gbps`, `cpu:40%` or `freeze`. The error is the end of a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        const FORMS: &str = "write \"mb:70%\", \"mb:128Gbps\", \"cpu:40%\" or \"freeze\"";
        let percent = |text: &str| {
            let number: Option<u64> = text.strip_suffix('%').and_then(|n| n.parse().ok());
            number.filter(|n| (1..=99).contains(n)).ok_or("takes 1% to 99%".to_string())
        };
        match text.split_once(':') {
            None if text == "freeze" => Ok(Self::Freeze),
            Some(("cpu", share)) => percent(share).map(Self::Cpu),
            Some(("mb", share)) if share.ends_with('%') => percent(share).map(Self::MemoryPercent),
            Some(("mb", rate)) => {
                let rate: BitsPerSec = rate.parse().map_err(|_| FORMS.to_string())?;
                let gbps = rate.get() / 1_000_000_000;
                if gbps == 0 || !rate.get().is_multiple_of(1_000_000_000) {
                    return Err("takes whole Gb/s, eighths of a GB/s".into());
                }
                Ok(Self::MemoryGbps(gbps))
            }
            _ => Err(FORMS.into()),
        }
    }

    /// Whether this rung may stand behind those: each one is stronger than the last of its kind, and nothing follows a freeze.
    pub fn follows(self, before: &[Self]) -> Result<(), String> {
        use Rung::*;
        if before.contains(&Freeze) {
            return Err("nothing is stronger than \"freeze\"; write it last".into());
        }
        let weaker = before.iter().rev().find_map(|of| match (of, self) {
            (MemoryPercent(of), MemoryPercent(than))
            | (MemoryGbps(of), MemoryGbps(than))
            | (Cpu(of), Cpu(than)) => Some(*of > than),
            (MemoryPercent(_), MemoryGbps(_)) | (MemoryGbps(_), MemoryPercent(_)) => Some(false),
            _ => None,
        });
        match weaker {
            Some(false) => {
                Err("is not less than the rung of its kind before it; write the weakest first"
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// The line for `schemata`. The error says what the machine takes.
    pub fn schemata(self, of: &Bandwidth) -> Result<String, String> {
        let percent = of.unlimited <= 100;
        let unit = if percent { "%" } else { "Gbps" };
        let takes = || {
            format!(
                "this machine takes {}{unit} to {}{unit} in steps of {}",
                of.min, of.unlimited, of.step
            )
        };
        match self {
            Self::MemoryPercent(value) if percent && of.takes(value) => Ok(line(of, value)),
            Self::MemoryGbps(value) if !percent && of.takes(value) => Ok(line(of, value)),
            _ => Err(takes()),
        }
    }

    /// The text for `cpu.max` on a machine with so many CPUs.
    pub fn quota(share: u64, cpus: usize) -> Result<String, String> {
        let quota = share * cpus as u64 * PERIOD_US / 100;
        if quota < LEAST_QUOTA_US {
            let least = (LEAST_QUOTA_US * 100).div_ceil(cpus as u64 * PERIOD_US);
            return Err(format!("this machine takes cpu:{least}% or more"));
        }
        Ok(format!("{quota} {PERIOD_US}"))
    }
}

/// A line of `schemata` with this value for every L3 cache.
pub fn line(of: &Bandwidth, value: u64) -> String {
    let pairs: Vec<_> = of.caches.iter().map(|cache| format!("{cache}={value}")).collect();
    format!("MB:{}", pairs.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_are_what_people_write() {
        for (text, rung) in [
            ("mb:70%", Rung::MemoryPercent(70)),
            ("mb:128Gbps", Rung::MemoryGbps(128)),
            ("cpu:1%", Rung::Cpu(1)),
            ("freeze", Rung::Freeze),
        ] {
            assert_eq!(Rung::parse(text), Ok(rung), "{text}");
        }
        for text in [
            "",
            "mb",
            "mb:",
            "mb:70",
            "mb:0%",
            "mb:100%",
            "mb:1.5Gbps",
            "mb:0Gbps",
            "cpu:-1%",
            "Freeze",
            "io:3%",
            "freeze:",
        ] {
            assert!(Rung::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_ladder_rises() {
        let fits = |texts: &[&str]| {
            let rungs: Vec<_> =
                texts.iter().map(|text| Rung::parse(text).expect("a rung")).collect();
            (0..rungs.len()).all(|at| rungs[at].follows(&rungs[..at]).is_ok())
        };
        assert!(fits(&["mb:70%", "mb:40%", "cpu:40%", "mb:10%", "freeze"]));
        assert!(!fits(&["mb:70%", "mb:70%"]) && !fits(&["mb:40%", "cpu:9%", "mb:70%"]));
        assert!(!fits(&["freeze", "cpu:40%"]) && !fits(&["freeze", "freeze"]));
        assert!(!fits(&["mb:70%", "mb:2Gbps"]));
    }

    #[test]
    fn a_machine_takes_its_own_steps_only() {
        let intel = Bandwidth { min: 10, step: 10, groups: 8, caches: vec![0, 2], unlimited: 100 };
        let amd = Bandwidth { min: 1, step: 1, groups: 16, caches: vec![0], unlimited: 2048 };
        assert_eq!(Rung::MemoryPercent(40).schemata(&intel).as_deref(), Ok("MB:0=40;2=40"));
        assert_eq!(Rung::MemoryGbps(16).schemata(&amd).as_deref(), Ok("MB:0=16"));
        let sentence = "this machine takes 10% to 100% in steps of 10";
        assert_eq!(Rung::MemoryPercent(5).schemata(&intel), Err(sentence.into()));
        assert_eq!(Rung::MemoryGbps(16).schemata(&intel), Err(sentence.into()));
        assert!(Rung::MemoryPercent(40).schemata(&amd).is_err());
        assert_eq!(Rung::quota(40, 2).as_deref(), Ok("80000 100000"));
        assert_eq!(Rung::quota(1, 1).as_deref(), Ok("1000 100000"));
    }
}
