//! Another process is killed, or stops reading.

use forebay_credits::{Limit, Post, law};
use forebay_credits_ring::host::{EndReason, Event, Host, Settings};
use forebay_credits_ring::{Listener, Size};
use forebay_units::{Span, Time};
use std::collections::VecDeque;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Bytes of a message.
const MESSAGE: u64 = 4096;
/// Seconds after which a test that hangs ends. No verdict depends on it.
const LIMIT_S: u64 = 300;

/// This process sends to a `carc-bench` that reads.
struct Bench {
    host: Host,
    reader: Child,
    start: Instant,
    folder: PathBuf,
}

impl Bench {
    fn new(name: &str, work: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("carc-faults-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let at = folder.join("ring");
        let listener = Listener::bind(&at, Size::new(1 << 20, 1024)).unwrap();
        let reader = Command::new(env!("CARGO_BIN_EXE_carc-bench"))
            .args(["--limit", "256K", "--work", work, "--reader"])
            .arg(&at)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let limit = Some(Limit::of_bytes(256 << 10, 64).unwrap());
        let mut host =
            Host::new(&Settings { limit, law: law().unwrap(), connections: 1, requests: 256 });
        host.add(listener.accept().unwrap()).unwrap();
        Self { host, reader, start: Instant::now(), folder }
    }

    fn now(&self) -> Time {
        Time::from_ps(self.start.elapsed().as_nanos() as u64 * 1000)
    }

    /// Posts as much as may be, until `done`.
    fn run(&mut self, mut done: impl FnMut(&Host, Option<Event>, u64) -> bool) {
        let (mut written, mut token) = (0, 0);
        let mut queued = VecDeque::new();
        while self.start.elapsed().as_secs() < LIMIT_S {
            let now = self.now();
            let event = self.host.poll(now);
            if let Some(Event::Released { token, bytes, .. }) = event {
                queued.push_back((token, bytes));
            }
            if done(&self.host, event, written) {
                return;
            }
            let posted = self.host.post(now, 0, MESSAGE, token);
            token += 1;
            if posted == Post::Go {
                queued.push_back((token, MESSAGE));
            } else if event.is_none() {
                self.host.wait(now, Span::from_ms(1));
            }
            while let Some(&(token, bytes)) = queued.front() {
                if !matches!(self.host.write(now, 0, token, bytes, |_| {}), Ok(true)) {
                    break; // no room yet, or no peer any more: the next event says so
                }
                queued.pop_front();
                written += 1;
            }
        }
        panic!("it did not happen in five minutes");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.reader.kill();
        let _ = self.reader.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_reader_that_is_killed_ends_the_connection_and_frees_its_credits() {
    let mut bench = Bench::new("killed", "0");
    bench.run(|_, _, written| written > 1_000);
    bench.reader.kill().unwrap(); // SIGKILL
    bench.run(|_, event, _| matches!(event, Some(Event::Ended(0, EndReason::Dead))));
    assert_eq!(bench.host.sender().requests(), 0, "no request is kept");
    assert_eq!(bench.host.receiver().unwrap().connections(), 0, "its share is free");
    let now = bench.now();
    assert_eq!(bench.host.post(now, 0, MESSAGE, 0), Post::Full, "there is no such peer");
}

/// The reader works on its first message for an hour. What is sent stays within the limit, and the pool of requests within its size.
#[test]
fn a_reader_that_stops_leaves_the_limit_unread_and_no_more() {
    let mut bench = Bench::new("stops", "3600000000000");
    let most = 2 * (256 << 10) / MESSAGE; // the law may add as much as the limit to it
    bench.run(|host, _, written| {
        assert!(written <= most, "{written} messages were written");
        host.sender().requests() == 256 && written > 0
    });
    assert!(bench.host.sender().account(0).unwrap().totals().blocked > 0);
}

/// A `carc-bench` that writes for ten minutes, and the process that reads; both have the ring.
fn two_processes() -> (Child, u32) {
    let words = "--pairs 0 --traffic one-way --seconds 600 --limit 1M --unread 4M";
    let writer = Command::new(env!("CARGO_BIN_EXE_carc-bench"))
        .args(words.split(' '))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let path = format!("/proc/{0}/task/{0}/children", writer.id());
    let reader = loop {
        assert!(start.elapsed().as_secs() < LIMIT_S, "the writer starts a reader");
        if let Ok(Ok(pid)) = std::fs::read_to_string(&path).map(|text| text.trim().parse::<u32>()) {
            break pid;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let maps = format!("/proc/{reader}/maps");
    while !std::fs::read_to_string(&maps).is_ok_and(|text| text.contains("memfd:forebay-ring")) {
        assert!(start.elapsed().as_secs() < LIMIT_S, "the reader meets the writer");
        std::thread::sleep(Duration::from_millis(1));
    }
    (writer, reader)
}

#[test]
fn a_reader_that_is_killed_ends_its_writer_with_a_sentence() {
    let (mut writer, reader) = two_processes();
    let killed = Command::new("kill").args(["-9", &reader.to_string()]).status().unwrap();
    assert!(killed.success());
    let mut said = String::new();
    writer.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(!writer.wait().unwrap().success());
    assert_eq!(said, "carc-bench: the peer is gone\n");
}

#[test]
fn a_writer_that_is_killed_ends_its_reader_without_a_word() {
    let (mut writer, reader) = two_processes();
    let start = Instant::now();
    writer.kill().unwrap(); // SIGKILL
    writer.wait().unwrap();
    let name = format!("/proc/{reader}/stat");
    // A process that has ended may stay as a zombie, if its new parent does not wait for it.
    while std::fs::read_to_string(&name).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(start.elapsed().as_secs() < LIMIT_S, "the reader goes on without a writer");
        std::thread::sleep(Duration::from_millis(5));
    }
    // Both processes wrote to this pipe, and both have ended.
    let mut said = String::new();
    writer.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}
