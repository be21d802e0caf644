//! On a terminal: a bar with rate and time left, colours unless unwanted. Needs python3 for the terminal.
#![cfg(unix)]

use crate::common::{FOREBAY, LONG, SMALL, Scratch};
use std::process::{Command, Stdio};

/// Runs a command line on a pseudo-terminal of so many columns and gives all it wrote, and its exit code.
const PTY: &str = r#"
import fcntl, os, pty, struct, sys, termios
columns = int(sys.argv[1])
keys = os.environ.get("KEYS", "").encode()  # typed once something is shown
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
    os.write(fd, keys)
    keys = b""
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// `None` where there is no python3.
fn on_a_terminal(
    here: &Scratch,
    columns: usize,
    env: &[(&str, &str)],
    args: &[&str],
) -> Option<String> {
    let mut command = Command::new("python3");
    command.args(["-c", PTY, &columns.to_string(), FOREBAY]).args(args);
    command.current_dir(&here.path).stdin(Stdio::null());
    for name in ["NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").envs(env.iter().copied());
    match command.output() {
        Ok(output) => {
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success(), "{text}");
            Some(text)
        }
        Err(error) => {
            eprintln!("skipped: no python3 ({error})");
            None
        }
    }
}

/// What stood on the line of the bar, one entry for each time it was drawn.
fn frames(text: &str) -> Vec<&str> {
    text.split('\r')
        .filter_map(|frame| frame.split("\x1b[K").next())
        .filter(|f| f.contains("time "))
        .collect()
}

#[test]
fn a_bar_shows_time_flows_rate_and_what_is_left_and_never_wraps() {
    let here = Scratch::new();
    here.write("long.toml", LONG);
    let args = ["run", "long.toml", "--set", "stop.time=\"400ms\"", "--jobs", "1"];
    let env = [("NO_COLOR", "1"), ("LC_ALL", "C")];
    for columns in [60, 120] {
        let Some(text) = on_a_terminal(&here, columns, &env, &args) else { return };
        let frames = frames(&text);
        assert!(frames.len() > 3, "{text:?}");
        assert!(frames.iter().all(|frame| frame.chars().count() < columns), "{frames:?}");
        let late = frames[frames.len() - 1];
        assert!(late.contains(" left") && late.contains('#'), "{late}");
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
    let Some(text) = on_a_terminal(&here, 100, &env, &["run", "small.toml"]) else { return };
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
    let Some(text) = on_a_terminal(&here, 100, &env, &["run", "small.toml"]) else { return };
    assert!(text.contains("small: 3 seeds, ") && !text.contains('\x1b'), "{text:?}");
}

#[test]
fn ctrl_c_on_a_terminal_reaches_a_sweep_once_and_leaves_no_run_behind() {
    // The terminal sends it to every process at once; the runs leave it to the sweep.
    const CTRL_C: &str = r#"
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
time.sleep(1.0)
os.write(fd, b"\x03")
text = b""
while True:
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
    let here = Scratch::new();
    here.write("long.toml", LONG);
    let mut command = Command::new("python3");
    command.args(["-c", CTRL_C, FOREBAY, "sweep", "long.toml", "--out", "s"]);
    command.current_dir(&here.path).stdin(Stdio::null()).env("TERM", "xterm");
    let Ok(output) = command.output() else {
        eprintln!("skipped: no python3");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(
        text.contains("interrupted: 0 of 3 runs complete in s; the same command goes on"),
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
        on_a_terminal(&here, 100, &[("KEYS", keys)], &["watch", "small.toml", "--pace", "1ns"])
    };
    let Some(text) = watched(".q") else { return };
    for wanted in ["forebay watch", "fullest queues", "flows in progress", "left at"] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
}
