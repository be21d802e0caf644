//! `forebay doctor`: what this machine can do, each "no" with what it is for and how to get it.

use crate::args::Doctor;
use crate::failure::Failure;
use crate::{human, itself, machine, say};
use forebay_record::machine::free_memory;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// One thing that was looked for.
#[derive(Serialize)]
struct Finding {
    what: &'static str,
    /// Whether it is there; things that are only counted are.
    ok: bool,
    found: String,
    /// What misses it, and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'static str>,
}

/// The verb. Everything looked for is optional but memory and disk, so it ends well whatever is missing.
pub fn doctor(args: &Doctor) -> Result<(), Failure> {
    let findings = findings();
    if args.json {
        return say::json(&findings);
    }
    let width = findings.iter().map(|finding| finding.what.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Finding { what, ok, found, remedy } in &findings {
        text.push_str(&format!("{}  {what:<width$}  {found}\n", if *ok { "yes" } else { "no " }));
        if let Some(remedy) = remedy {
            text.push_str(&format!("     {:width$}  {remedy}\n", ""));
        }
    }
    say::data(&text)
}

fn findings() -> Vec<Finding> {
    let mut all = vec![
        counted("forebay", format!("version {}", env!("CARGO_PKG_VERSION"))),
        counted(
            "cores",
            format!("{}: seeds or threads that run at the same time", machine::cores()),
        ),
        counted("memory", amount(free_memory(), "free")),
        counted("disk", amount(machine::free_disk(Path::new(".")), "free here")),
        huge_pages(),
    ];
    all.extend(TOOLS.iter().map(Tool::look));
    all
}

fn counted(what: &'static str, found: String) -> Finding {
    Finding { what, ok: true, found, remedy: None }
}

fn amount(bytes: Option<f64>, what: &str) -> String {
    bytes.map_or_else(|| "unknown".into(), |bytes| format!("{} {what}", human::bytes_f(bytes)))
}

/// Whether the kernel gives large pages to who asks for them.
fn huge_pages() -> Finding {
    let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let setting = setting.unwrap_or_default();
    let chosen = setting.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let chosen = chosen.map_or("unknown", |(word, _)| word);
    let ok = matches!(chosen, "always" | "madvise");
    Finding {
        what: "large pages",
        ok,
        found: format!("transparent_hugepage is {chosen}"),
        remedy: (!ok).then_some(
            "fabrics of 512 nodes or more run slower without large pages; as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
    }
}

/// An outside program that a part of Forebay needs.
struct Tool {
    what: &'static str,
    /// Names that it may have.
    names: &'static [&'static str],
    remedy: &'static str,
}

const TOOLS: [Tool; 6] = [
    Tool {
        what: "agent",
        names: &["forebay-agent"],
        remedy: "for forebay agent; build it: cargo build --release -p forebay-agent",
    },
    Tool {
        what: "Wireshark",
        names: &["wireshark", "tshark"],
        remedy: "for captures of forebay run --capture; Debian: apt-get install tshark",
    },
    Tool {
        what: "Python",
        names: &["python3"],
        remedy: "for ./test and the documentation site; install Python 3",
    },
    Tool {
        what: "Chromium",
        names: &["chromium", "chromium-browser", "google-chrome"],
        remedy: "for page tests of ./test; Debian: apt-get install chromium",
    },
    Tool {
        what: "valgrind",
        names: &["valgrind"],
        remedy: "for instruction counts of ./test; Debian: apt-get install valgrind",
    },
    Tool {
        what: "Rust",
        names: &["cargo"],
        remedy: "for laws of your own; install it from https://rustup.rs",
    },
];

impl Tool {
    fn look(&self) -> Finding {
        let place = self.names.iter().find_map(|name| find(name));
        Finding {
            what: self.what,
            ok: place.is_some(),
            found: match &place {
                Some(place) => place.display().to_string(),
                None => format!("no {}", self.names.join(" or ")),
            },
            remedy: place.is_none().then_some(self.remedy),
        }
    }
}

/// A program beside this one, or in PATH.
fn find(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let own = itself::folder().map(Path::to_path_buf);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = own.into_iter().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(&name)).find(|place| place.is_file())
}
