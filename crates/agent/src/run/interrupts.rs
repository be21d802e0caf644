//! Interrupts: a signal that asks a process to end sets a flag, which it looks at.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that an interrupt, the end of a terminal or a service manager sets.
pub fn interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::io("wait for an interrupt", &error))?;
    }
    Ok(stop)
}
