//! Ctrl-C, SIGTERM and SIGHUP: the first requests the end, the second kills.
//!
//! SIGHUP is left alone where it is ignored, so that `nohup forebay run ...` outlives its terminal.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From here on the first signal sets a flag and the second ends the process at once, with exit code 130.
pub fn listen() {
    let requested = Arc::clone(REQUESTED.get_or_init(Arc::default));
    #[cfg(unix)]
    for signal in
        [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
    {
        if signal == signal_hook::consts::SIGHUP && hang_up_is_ignored() {
            continue;
        }
        // In this order: the flag is looked at before it is set. A system that refuses leaves its own way to die.
        let _ =
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&requested));
        let _ = signal_hook::flag::register(signal, Arc::clone(&requested));
    }
    #[cfg(not(unix))]
    drop(requested);
}

/// Whether this process was started with SIGHUP ignored, as nohup does. True where the system does not say.
#[cfg(unix)]
fn hang_up_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask & 1 << (signal_hook::consts::SIGHUP - 1) != 0)
}

/// As if a signal had come.
pub fn request() {
    REQUESTED.get_or_init(Arc::default).store(true, Ordering::Relaxed);
}

/// Ctrl-C reaches every process of a terminal; those that another one looks after leave it to that one.
pub fn leave_ctrl_c_to_the_parent() {
    #[cfg(unix)]
    {
        let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::default());
    }
}

/// A file that may not grow further is an error to report, not a signal to die of.
pub fn survive_full_files() {
    #[cfg(unix)]
    {
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    }
}

/// Whether a signal has come.
pub fn requested() -> bool {
    REQUESTED.get().is_some_and(|requested| requested.load(Ordering::Relaxed))
}
