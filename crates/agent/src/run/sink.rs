//! Law logs on disk, written by a thread of their own: the loop hands bytes over and never waits.
//!
//! If the disk falls behind by [`BEHIND`] events, the log of that law ends there: what is in the file is whole, and replays.

use crate::failure::{self, Failure};
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
    let say = |error: &io::Error| {
        failure::note(&format!(
            "a law log cannot be written: {error}; it ends here, and the law goes on"
        ));
    };
    let thread = std::thread::spawn(move || write(files, from, say));
    (taps, Writer { thread, lost })
}

/// Says at once what the disk refuses. Then all logs have ended, and the laws go on.
fn write<W: Write>(
    files: Vec<W>,
    from: Receiver<(usize, Vec<u8>)>,
    mut say: impl FnMut(&io::Error),
) -> io::Result<()> {
    let mut files: Vec<_> = files.into_iter().map(BufWriter::new).collect();
    let mut all = || {
        for (nth, bytes) in &from {
            files[nth].write_all(&bytes)?;
        }
        files.iter_mut().try_for_each(Write::flush)
    };
    let done = all();
    drop(from); // what is logged from here on is lost, and counted
    done.inspect_err(|error| say(error))
}

impl Writer {
    /// Waits for the end, after all taps have gone. Gives the number of events that are not in the files.
    pub fn end(self) -> Result<u64, Failure> {
        let written = self.thread.join().expect("the writer does not panic");
        written.map_err(|error| Failure::io("write a law log", &error))?;
        Ok(self.lost.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_disk_that_refuses_is_told_of_at_once_and_an_event_that_was_lost_ends_its_log() {
        let full = File::options().write(true).open("/dev/full").expect("it is there");
        let ((to, from), (said, hears)) = (sync_channel(BEHIND), channel());
        let thread = std::thread::spawn(move || {
            write(vec![full], from, |error| said.send(error.to_string()).expect("somebody hears"))
        });
        let log =
            |nth| Events { nth, to: to.clone(), lost: Arc::default(), ended: AtomicU64::new(0) };
        let of = log(0);
        of.write(&[0; 1 << 16]); // more than a writer keeps in memory
        assert!(hears.recv().is_ok_and(|said| said.contains("space")), "while the law runs");
        assert!(thread.join().expect("it ends").is_err());
        assert_eq!(of.lost.load(Ordering::Relaxed), 0);
        (0..3).for_each(|_| of.write(&[1]));
        assert_eq!(of.lost.load(Ordering::Relaxed), 3, "counted");

        let (to, from) = sync_channel(1);
        let of = Events { nth: 0, to, lost: Arc::default(), ended: AtomicU64::new(0) };
        (0..3).for_each(|of_event| of.write(&[of_event]));
        assert_eq!(from.try_recv(), Ok((0, vec![0])));
        of.write(&[9]);
        assert!(from.try_recv().is_err(), "what follows a lost event would not replay");
        assert_eq!(of.lost.load(Ordering::Relaxed), 3);
    }
}
