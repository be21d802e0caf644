//! Law logs on disk, written by a thread of their own: the loop hands bytes over and never waits.
//!
//! If the disk falls behind by [`BEHIND`] events, the log of that law ends there: what is in the file is whole, and replays.

use crate::failure::Failure;
use forebay_laws::log::{Sink, Tap};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Events that may wait for the disk.
const BEHIND: usize = 16_384;

/// The thread that writes.
#[derive(Debug)]
pub struct Writer {
    thread: JoinHandle<io::Result<()>>,
    lost: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Events {
    nth: usize,
    to: SyncSender<(usize, Vec<u8>)>,
    lost: Arc<AtomicU64>, // of all logs
    ended: AtomicU64,     // of this one: not zero once an event was lost
}

impl Sink for Events {
    fn write(&self, bytes: &[u8]) {
        let ended = self.ended.load(Ordering::Relaxed) > 0;
        if ended || self.to.try_send((self.nth, bytes.to_vec())).is_err() {
            self.ended.fetch_add(1, Ordering::Relaxed);
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Makes `law-NAME.log` in a folder for each of these.
pub fn files(folder: &Path, names: &[String]) -> Result<Vec<File>, Failure> {
    let shown = folder.display();
    fs::create_dir_all(folder).map_err(|error| Failure::io(format!("make {shown}"), &error))?;
    let file = |name: &String| {
        let path = folder.join(format!("law-{name}.log"));
        File::create_new(&path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Failure::Input(format!("{shown} has a law log already; name another folder"))
            }
            _ => Failure::io(format!("make {}", path.display()), &error),
        })
    };
    names.iter().map(file).collect()
}

/// The taps and the thread of these files.
pub fn of(files: Vec<File>) -> (Vec<Tap>, Writer) {
    let (to, from) = sync_channel(BEHIND);
    let lost = Arc::new(AtomicU64::new(0));
    let taps = (0..files.len()).map(|nth| {
        let ended = AtomicU64::new(0);
        Tap::new(Arc::new(Events { nth, to: to.clone(), lost: Arc::clone(&lost), ended }))
    });
    let taps = taps.collect();
    let thread = std::thread::spawn(move || write(files, &from));
    (taps, Writer { thread, lost })
}

fn write(files: Vec<File>, from: &Receiver<(usize, Vec<u8>)>) -> io::Result<()> {
    let mut files: Vec<_> = files.into_iter().map(BufWriter::new).collect();
    for (nth, bytes) in from {
        files[nth].write_all(&bytes)?;
    }
    files.iter_mut().try_for_each(Write::flush)
}

impl Writer {
    /// Waits for the end, after all taps have gone. Gives the number of events that are not in the files.
    pub fn end(self) -> Result<u64, Failure> {
        let written = self.thread.join().expect("the writer does not panic");
        written.map_err(|error| Failure::io("write a law log", &error))?;
        Ok(self.lost.load(Ordering::Relaxed))
    }
}
