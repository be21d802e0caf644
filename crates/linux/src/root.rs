//! The folder below which `proc` and `sys` are looked up.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The machine itself, or a recorded tree.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Root {
    /// The machine that this process runs on.
    pub fn machine() -> Self {
        Self("/".into())
    }

    /// A recorded tree, which has `proc` and `sys`.
    pub fn at(folder: &Path) -> Self {
        Self(folder.into())
    }

    /// Whether this is the machine itself.
    pub fn is_machine(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// Where an absolute path lies.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// Text of a file, without blanks at its end. Bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn read(&self, path: &str) -> io::Result<String> {
        let bytes = fs::read(self.path(path))?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_string())
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn open(&self, path: &str) -> io::Result<File> {
        File::open(self.path(path))
    }

    /// Opens a file for reading and writing; it is not made.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn open_both(&self, path: &str) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.path(path))
    }

    /// Writes a text with a newline into a file that is there, by one system call.
    ///
    /// # Errors
    /// If the system refuses, or there is no such file.
    pub fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let line = format!("{text}\n");
        OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(self.path(path))?
            .write_all(line.as_bytes())
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// If the system refuses, or it is there already.
    pub fn make(&self, folder: &str) -> io::Result<()> {
        fs::create_dir(self.path(folder))
    }

    /// Removes a folder by one `rmdir`: the kernel's own folders go with what they show, others only if they are empty.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove(&self, folder: &str) -> io::Result<()> {
        fs::remove_dir(self.path(folder))
    }

    /// Whether there is such a file or folder.
    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Names in a folder, sorted; none if it cannot be read.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}
