//! The pipe between a sweep and the process of one run.
//!
//! Down: the length of the scenario, a newline, the scenario; then nothing, but the pipe stays open. When it closes,
//! the sweep has gone or wants an end, and the run ends without a trace. Up: JSON lines, [`Update`].

use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};

/// Progress or a warning that a run reports to its sweep.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Update {
    /// Virtual time reached, in ps.
    pub now_ps: u64,
    /// Flows completed.
    pub done: u64,
    /// Share of it that is done, by flows where they end it.
    #[serde(default)]
    pub share: f64,
    /// Packet-hops.
    pub hops: u64,
    /// What a reader of the results should know; said once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Hands a scenario down.
pub fn send(to: &mut impl Write, scenario: &str) -> io::Result<()> {
    writeln!(to, "{}", scenario.len())?;
    to.write_all(scenario.as_bytes())?;
    to.flush()
}

/// Takes a scenario.
pub fn receive(from: &mut impl BufRead) -> io::Result<String> {
    let mut length = String::new();
    from.read_line(&mut length)?;
    let bad = |_| io::Error::other("no scenario came");
    let length: u64 = length.trim().parse().map_err(bad)?;
    let mut text = String::new();
    from.take(length).read_to_string(&mut text)?;
    if text.len() as u64 == length {
        Ok(text)
    } else {
        Err(io::Error::other("the scenario was cut"))
    }
}

/// Returns when the other end has gone.
pub fn wait_for_end(from: &mut impl Read) {
    let mut buffer = [0; 64];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_arrives_whole_or_not_at_all() {
        let mut pipe = Vec::new();
        send(&mut pipe, "version = 1\n# ü\n").unwrap();
        assert_eq!(receive(&mut pipe.as_slice()).unwrap(), "version = 1\n# ü\n");
        assert!(receive(&mut &pipe[..pipe.len() - 1]).is_err());
        assert!(receive(&mut &b""[..]).is_err());
    }
}
