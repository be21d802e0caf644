//! On a terminal: a bar with rate and time left, colours unless unwanted. Needs python3 for the terminal.
#![cfg(unix)]

use crate::common::{FOREBAY, LONG, SMALL, Scratch};
use std::process::{Command, Stdio};

/// Runs a command line on a pseudo-terminal of so many columns and gives all it wrote, and its exit code.
const PTY: &str = r#"
import fcntl, glob, os, pty, re, select, struct, sys, termios
columns = int(sys.argv[1])
# Typed once the terminal shows what matches, and so many files are there.
keys, shows, files, count = [os.environ.get(name, "") for name in ("KEYS", "SHOWS", "FILES", "COUNT")]
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
text = b""
while True:
    if keys and re.search(shows.encode(), text) and len(glob.glob(files)) >= int(count or 0):
        os.write(fd, keys.encode())
        keys = ""
    if not select.select([fd], [], [], 0.05)[0]:
        continue
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    text += data
sys.stdout.buffer.write(text)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// What the command shows and with which code it ends. `None` where there is no python3.
fn on_a_terminal(
    here: &Scratch,
    columns: usize,
    env: &[(&str, &str)],
    args: &[&str],
) -> Option<(Option<i32>, String)> {
    let mut command = Command::new("python3");
    command.args(["-c", PTY, &columns.to_string(), FOREBAY]).args(args);
    command.current_dir(&here.path).stdin(Stdio::null());
    for name in ["NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").envs(env.iter().copied());
    match command.output() {
        Ok(output) => Some((output.status.code(), String::from_utf8(output.stdout).unwrap())),
        Err(error) => {
            eprintln!("skipped: no python3 ({error})");
            None
        }
    }
}

/// What a command shows that ends with code 0.
fn shown(here: &Scratch, columns: usize, env: &[(&str, &str)], args: &[&str]) -> Option<String> {
    let (code, text) = on_a_terminal(here, columns, env, args)?;
    assert_eq!(code, Some(0), "{text}");
    Some(text)
}

/// What stood on the line of the bar, one entry for each time it was drawn, without the terminal's echo of Ctrl-C.
fn frames(text: &str) -> Vec<&str> {
    text.split('\r')
        .filter_map(|frame| frame.split("\x1b[K").next())
        .map(|frame| frame.trim_end_matches("^C"))
        .filter(|f| f.contains("time "))
        .collect()
}

#[test]
fn a_bar_shows_time_flows_rate_and_what_is_left_and_never_wraps() {
    let here = Scratch::new();
    here.write("long.toml", LONG);
    let args = ["run", "long.toml", "--set", "stop.time=\"2s\"", "--jobs", "1", "--force"];
    // Ctrl-C, once the fourth frame or a later one has a part done and tells the time left.
    let late = r"(?:\r[^\r]*time [^\r]*){3,}\r[^\r]*#[^\r]* left";
    let env = [("NO_COLOR", "1"), ("LC_ALL", "C"), ("KEYS", "\x03"), ("SHOWS", late)];
    for columns in [60, 120] {
        let Some((code, text)) = on_a_terminal(&here, columns, &env, &args) else { return };
        assert_eq!(code, Some(130), "{text}");
        let frames = frames(&text);
        assert!(frames.iter().all(|frame| frame.chars().count() < columns), "{frames:?}");
        let late = frames.iter().skip(3).find(|f| f.contains(" left") && f.contains('#')).unwrap();
        if columns == 120 {
            assert!(
                late.contains("hops/s") && late.contains("flows ") && late.contains("/3 seeds"),
                "{late}"
            );
        }
        assert!(!text.contains("\x1b[3"), "NO_COLOR was set: {text:?}");
        assert!(!text.contains("{\"event\""), "{text:?}");
        let percents: Vec<u32> = frames
            .iter()
            .map(|f| {
                f.split("time ").nth(1).unwrap().trim().split(' ').next().unwrap().parse().unwrap()
            })
            .collect();
        assert!(percents.is_sorted(), "{percents:?}");
    }
}

#[test]
fn the_bar_is_gone_when_the_summary_comes() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let env = [("LANG", "C.UTF-8")];
    let Some(text) = shown(&here, 100, &env, &["run", "small.toml"]) else { return };
    let summary = text.find("small\x1b[0m  dctcp").expect("the headline is bold");
    let bar = text.rfind("time ").unwrap_or(0);
    assert!(bar < summary && text[bar..summary].contains("\x1b[K"), "{text:?}");
    assert!(text.trim_end().ends_with("results/small/report.html"), "{text:?}");
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let env = [("TERM", "dumb")];
    let Some(text) = shown(&here, 100, &env, &["run", "small.toml"]) else { return };
    assert!(text.contains("small: 3 seeds, ") && !text.contains('\x1b'), "{text:?}");
}

#[test]
fn ctrl_c_on_a_terminal_reaches_a_sweep_once_and_leaves_no_run_behind() {
    // The terminal sends it to every process at once; the runs leave it to the sweep.
    let here = Scratch::new();
    here.write("long.toml", LONG);
    let env = [("KEYS", "\x03"), ("FILES", "s/runs/*/manifest.json"), ("COUNT", "2")];
    let args = ["sweep", "long.toml", "--out", "s", "--jobs", "2"];
    let Some((code, text)) = on_a_terminal(&here, 100, &env, &args) else { return };
    assert_eq!(code, Some(130), "{text}");
    assert!(
        text.contains("interrupted: 0 of 3 runs complete in s; the same command continues"),
        "{text}"
    );
    assert!(!text.contains("failed") && !text.contains("signal"), "{text}");
    assert_eq!(std::fs::read_dir(here.path.join("s/runs")).unwrap().count(), 0);
}

#[test]
fn a_run_can_be_watched_and_left() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let watched = |keys: &str| {
        let env = [("KEYS", keys), ("SHOWS", "fullest queues")];
        shown(&here, 100, &env, &["watch", "small.toml", "--pace", "1ns"])
    };
    let Some(text) = watched(".q") else { return };
    for wanted in ["forebay watch", "fullest queues", "flows in progress", "stopped at"] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
}
