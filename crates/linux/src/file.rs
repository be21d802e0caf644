//! Files that a user names: regular ones. A device would have no end, and a pipe would keep its reader waiting.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file for reading.
///
/// # Errors
/// If it is another kind of file, or the system refuses.
pub fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let of = file.metadata()?;
    if of.is_file() {
        Ok(file)
    } else {
        let kind = if of.is_dir() { "a folder" } else { "a device, a pipe or a socket" };
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {kind}, not a file")))
    }
}

/// Reads a regular file of at most so many bytes.
///
/// # Errors
/// If it is longer, another kind of file, or the system refuses.
pub fn read(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(longest.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest {
        let text = format!("it has more than {longest} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_or_keeps_a_reader_waiting_is_refused() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(read(&own, 1 << 20).is_ok_and(|bytes| bytes.starts_with(b"[package]")));
        for (path, longest, why) in [
            (own.as_path(), 9, "more than 9 bytes"),
            (Path::new("/dev/zero"), 9, "a device"),
            (Path::new("/proc"), 9, "a folder"),
        ] {
            let error = read(path, longest).expect_err("refused").to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
