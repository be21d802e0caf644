//! Words for people, on stderr, and data, on stdout. Neither ever panics because a reader has gone.

use crate::failure::Failure;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a progress bar stands on the last line of the terminal.
pub static BAR_STANDS: AtomicBool = AtomicBool::new(false);

/// Whether warnings and notes go out as JSON lines, because progress does.
pub static AS_JSON: AtomicBool = AtomicBool::new(false);

/// A whole line (or several) on stderr, above the bar if there is one.
pub fn line(text: &str) {
    let mut out = String::new();
    if BAR_STANDS.swap(false, Ordering::Relaxed) {
        out.push_str("\r\x1b[K");
    }
    out.push_str(text);
    if !text.ends_with('\n') {
        out.push('\n');
    }
    let _ = std::io::stderr().lock().write_all(out.as_bytes());
}

/// The sentence that ends a command.
pub fn error(text: &str) {
    labelled("error", "1;31", text);
}

/// Prints why a command failed, and gives the exit code.
pub fn failure(failure: &Failure) -> u8 {
    match failure {
        Failure::Run(text) | Failure::Input(text) | Failure::Missed(text) => error(text),
        Failure::Problems(text) | Failure::Interrupted(text) => line(text),
        Failure::NobodyReads => {}
    }
    failure.code()
}

/// Something a reader of the results should know.
pub fn warning(text: &str) {
    machine_or(text, "warning", "1;33");
}

/// Something worth knowing.
pub fn note(text: &str) {
    machine_or(text, "note", "1");
}

fn machine_or(text: &str, label: &str, code: &str) {
    if AS_JSON.load(Ordering::Relaxed) {
        line(&serde_json::json!({ "event": label, "text": text }).to_string());
    } else {
        labelled(label, code, text);
    }
}

fn labelled(label: &str, code: &str, text: &str) {
    if stderr_colour() {
        line(&format!("\x1b[{code}m{label}:\x1b[0m {text}"));
    } else {
        line(&format!("{label}: {text}"));
    }
}

/// Data on stdout.
pub fn data(text: &str) -> Result<(), Failure> {
    if BAR_STANDS.swap(false, Ordering::Relaxed) {
        let _ = std::io::stderr().lock().write_all(b"\r\x1b[K");
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::io("write to standard output", &error))
}

/// JSON on stdout, indented, with a newline.
pub fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).expect("texts, numbers and lists are all JSON");
    data(&(text + "\n"))
}

/// Whether stderr shows colours.
pub fn stderr_colour() -> bool {
    std::io::stderr().is_terminal() && colours_wanted()
}

/// Whether stdout shows colours.
pub fn stdout_colour() -> bool {
    std::io::stdout().is_terminal() && colours_wanted()
}

/// <https://no-color.org>: set and not empty means no; a dumb terminal has none.
fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && !dumb_terminal()
}

/// Whether the terminal cannot move its cursor.
pub fn dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|t| t == "dumb")
}

/// Columns of the terminal behind stdout; 100 if there is none.
pub fn stdout_width() -> usize {
    width(terminal_size::terminal_size_of(std::io::stdout()))
}

/// Columns of the terminal behind stderr; 100 if there is none.
pub fn stderr_width() -> usize {
    width(terminal_size::terminal_size_of(std::io::stderr()))
}

fn width(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    size.map_or(100, |(width, _)| usize::from(width.0)).max(20)
}
