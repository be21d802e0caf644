//! Traffic between two processes: this one sends, the other one reads, with and without credits.

use crate::fixed::{consume, produce};
use crate::misses::Misses;
use crate::{Args, Failure, Traffic, limit, refused, say, size, unread};
use forebay_credits::Post;
use forebay_credits_ring::host::{Event, Host, Settings};
use forebay_credits_ring::{End, Listener, Size, connect};
use forebay_linux::boot_ns;
use forebay_units::{Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fmt;
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Bytes of a long message of mixed traffic. Every eighth message is long.
const LONG: u64 = 1 << 20;
const EVERY: u64 = 8;

/// Requests under way of echo traffic.
const ECHOES: u64 = 64;

/// Traffic without and with credits.
pub struct TrafficResults {
    kind: Traffic,
    of: [Value; 2],
}

impl TrafficResults {
    /// For programs.
    pub fn json(&self) -> Value {
        let [without, with] = &self.of;
        json!({ "kind": format!("{:?}", self.kind), "without": without, "with": with })
    }
}

impl fmt::Display for TrafficResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "credits  Gb/s   msg/s      P50 us   P99 us  ns/line  credit bytes")?;
        for (name, of) in ["off", "on"].into_iter().zip(&self.of) {
            let number = |key: &str| of[key].as_f64().unwrap_or(0.0);
            writeln!(
                f,
                "{name:7}  {:5.2}  {:9.0}  {:8.1} {:8.1}  {:7.2}  {:.3} %",
                number("gbps"),
                number("per_second"),
                number("p50_us"),
                number("p99_us"),
                number("ns_per_line"),
                number("credit_percent"),
            )?;
        }
        match self.of.each_ref().map(|of| of["misses_per_line"].as_f64()) {
            [Some(off), Some(on)] => {
                writeln!(f, "last-level misses per line: {off:.3} and {on:.3}")
            }
            _ => writeln!(f, "misses: no counters here"),
        }
    }
}

/// Sends without credits, then with them.
pub fn measure(args: &Args, kind: Traffic) -> Result<TrafficResults, Failure> {
    Ok(TrafficResults { kind, of: [send(args, kind, false)?, send(args, kind, true)?] })
}

fn now() -> Time {
    Time::from_ps(boot_ns().saturating_mul(1000))
}

fn settings(args: &Args, credits: bool) -> Result<Settings, Failure> {
    let limit = if credits { Some(limit(args)?) } else { None };
    Ok(Settings { limit, law: forebay_credits::law()?, connections: 1, requests: 1 << 16 })
}

/// Bytes of the message with this number.
fn bytes_of(kind: Traffic, short: u64, number: u64) -> u64 {
    if kind == Traffic::Mixed && number % EVERY == EVERY - 1 { LONG } else { short }
}

/// A folder for the socket at which both processes meet. It goes with this value.
struct Meeting(PathBuf);

impl Meeting {
    fn new(credits: bool) -> Result<Self, Failure> {
        let name = format!("carc-bench-{}-{}", std::process::id(), u8::from(credits));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).map_err(refused(folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The reader's end, once it is there. It may end before.
fn accept(listener: &Listener, reader: &mut Child) -> Result<End, Failure> {
    let time = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    while poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&time))? == 0 {
        if let Some(status) = reader.try_wait()? {
            return Err(format!("the process that reads ended before it began: {status}").into());
        }
    }
    Ok(listener.accept()?)
}

fn send(args: &Args, kind: Traffic, credits: bool) -> Result<Value, Failure> {
    let (short, ring) = (size(&args.message)?, unread(args)?);
    let long = (0..EVERY).map(|number| bytes_of(kind, short, number)).max().unwrap_or(short);
    if long > ring {
        return Err(format!(
            "a message of {long} bytes does not fit a ring of {ring}; write a larger --unread"
        )
        .into());
    }
    let meeting = Meeting::new(credits)?;
    let at = meeting.0.join("ring");
    let rings = Size::new(ring, (ring / short.min(4096)).min(1 << 20) as u32 + 64);
    let listener = Listener::bind(&at, rings).map_err(refused(at.display()))?;
    let mut words = vec!["--reader".into(), at.display().to_string()];
    words.extend([
        "--work".into(),
        args.work.to_string(),
        "--message".into(),
        args.message.clone(),
    ]);
    words.extend(["--others".into(), args.others.to_string()]);
    words.extend(args.limit.iter().flat_map(|of| ["--limit".into(), of.clone()]));
    words.extend([
        "--traffic".into(),
        if kind == Traffic::Echo { "echo".into() } else { "one-way".into() },
    ]);
    if !credits {
        words.push("--no-credits".into());
    }
    let mut child =
        Command::new(std::env::current_exe()?).args(&words).stdout(Stdio::piped()).spawn()?;
    let mut host = Host::new(&settings(args, credits)?);
    let peer = host.add(accept(&listener, &mut child)?).ok_or("one connection")?;
    drop(meeting);
    if !credits {
        host.without_credits(now(), peer);
    }
    let sent = write_for(&mut host, args, kind, short, credits);
    host.remove(peer);
    let mut text = String::new();
    child.stdout.take().ok_or("the reader has an output")?.read_to_string(&mut text)?;
    child.wait()?;
    let (seconds, mut echoes) = sent?;
    let mut read: Value =
        serde_json::from_str(&text).map_err(|_| "the process that reads was killed")?;
    let control = host.control_bytes() as f64 + read["control_bytes"].as_f64().unwrap_or(0.0);
    let traffic = *host.traffic();
    read["gbps"] = (traffic.bytes as f64 * 8.0 / seconds / 1e9).into();
    read["per_second"] = (traffic.messages as f64 / seconds).into();
    read["credit_percent"] = (100.0 * control / (traffic.bytes as f64).max(1.0)).into();
    read["blocked"] = host.sender().counts().blocked.into();
    if kind == Traffic::Echo {
        (read["p50_us"], read["p99_us"]) = percentiles(&mut echoes);
    }
    Ok(read)
}

/// Sends for as long as was asked. Seconds that it took, and latencies of echoes.
fn write_for(
    host: &mut Host,
    args: &Args,
    kind: Traffic,
    short: u64,
    credits: bool,
) -> Result<(f64, Vec<u64>), Failure> {
    let (mut ready, mut made, mut back) = (!credits, 0_u64, 0_u64);
    let mut queued: VecDeque<(u64, u64)> = VecDeque::with_capacity(1 << 16); // the ring may have no room for them yet
    let mut echoes = Vec::with_capacity(1 << 20);
    // The time counts from when both are there.
    while !ready {
        match host.poll(now()) {
            Some(Event::Ready(..)) => ready = true,
            Some(Event::Ended(_, why)) => return Err(why.into()),
            Some(_) => {}
            None => host.wait(now(), Span::from_us(200)),
        }
    }
    let start = boot_ns();
    let end = start + (args.seconds * 1e9) as u64;
    let most = args.messages.unwrap_or(u64::MAX);
    while match args.messages {
        Some(most) => host.traffic().messages < most || (kind == Traffic::Echo && back < most),
        None => boot_ns() < end,
    } {
        let mut moved = false;
        while let Some(event) = host.poll(now()) {
            moved = true;
            match event {
                Event::Ready(..) => {}
                Event::Released { token, bytes, .. } => queued.push_back((token, bytes)),
                Event::Message { token, .. } => {
                    if echoes.len() < echoes.capacity() {
                        echoes.push(boot_ns().saturating_sub(token));
                    }
                    host.consumed(now(), 0);
                    back += 1;
                }
                Event::Ended(_, why) => return Err(why.into()),
            }
        }
        while let Some(&(token, bytes)) = queued.front() {
            if !host.write(now(), 0, token, bytes, |of| produce(of, token))? {
                break;
            }
            queued.pop_front();
            moved = true;
        }
        let waits = queued.len() >= 4
            || host.sender().requests() >= 1 << 15
            || host.sender().account(0).is_some_and(|of| of.totals().blocked >= 64);
        if !waits && made < most && (kind != Traffic::Echo || made - back < ECHOES) {
            let (token, bytes) = (boot_ns(), bytes_of(kind, short, made));
            match host.post(now(), 0, bytes, token) {
                Post::Go => {
                    made += 1;
                    queued.push_back((token, bytes));
                }
                Post::Wait => made += 1,
                Post::Full => {}
            }
        } else if !moved {
            host.wait(now(), Span::from_us(200));
        }
    }
    Ok(((boot_ns() - start) as f64 / 1e9, echoes))
}

/// P50 and P99 in microseconds.
pub fn percentiles(of: &mut [u64]) -> (Value, Value) {
    of.sort_unstable();
    let at = |percent: usize| {
        of.get((of.len() * percent / 100).min(of.len().saturating_sub(1)))
            .map(|ns| *ns as f64 / 1e3)
    };
    (at(50).into(), at(99).into())
}

/// The process that reads.
pub fn read(args: &Args, at: &Path) -> Result<(), Failure> {
    let credits = !args.no_credits;
    let mut host = Host::new(&settings(args, credits)?);
    let peer = host.add(connect(at)?).ok_or("one connection")?;
    if !credits {
        host.without_credits(now(), peer);
    }
    let echo = args.traffic == Some(Traffic::Echo);
    let misses = Misses::open();
    let (mut latencies, mut sum, mut lines, mut spent) = (Vec::with_capacity(1 << 20), 0_u64, 0, 0);
    let mut answers: VecDeque<(u64, u64)> = VecDeque::with_capacity(ECHOES as usize);
    loop {
        match host.poll(now()) {
            Some(Event::Ended(..)) => break,
            Some(Event::Message { token, bytes, .. }) => {
                let before = boot_ns();
                sum = sum.wrapping_add(consume(host.payload(peer)));
                let read = boot_ns();
                (lines, spent) = (lines + bytes.div_ceil(64), spent + (read - before));
                if latencies.len() < latencies.capacity() {
                    latencies.push(read.saturating_sub(token));
                }
                while boot_ns() - read < args.work {
                    std::hint::spin_loop();
                }
                host.consumed(now(), peer);
                if echo {
                    match host.post(now(), peer, bytes, token) {
                        Post::Go => answers.push_back((token, bytes)),
                        Post::Wait => {}
                        Post::Full => return Err("the pool of requests is too small".into()),
                    }
                }
            }
            Some(Event::Released { token, bytes, .. }) => answers.push_back((token, bytes)),
            Some(Event::Ready(..)) => {}
            None => host.wait(now(), Span::from_us(200)),
        }
        while let Some(&(token, bytes)) = answers.front() {
            match host.write(now(), peer, token, bytes, |of| produce(of, token)) {
                Ok(true) => answers.pop_front(),
                _ => break,
            };
        }
    }
    black_box(sum);
    let (p50, p99) = percentiles(&mut latencies);
    let found = json!({
        "p50_us": p50,
        "p99_us": p99,
        "ns_per_line": spent as f64 / (lines as f64).max(1.0),
        "messages": latencies.len(),
        "control_bytes": host.control_bytes(),
        "misses_per_line": misses.and_then(|of| of.read()).map(|of| of as f64 / (lines as f64).max(1.0)),
    });
    say(format_args!("{found}\n"))
}
