//! The status as Prometheus text, over a GET of HTTP/1.1 at a unix socket or a loopback address.
//!
//! One thread serves one connection at a time, reads the board, and touches neither loop nor guard. A request has at most 4 KiB and
//! a second; then the connection ends. Source: Prometheus text format 0.0.4.

use crate::act::marks::Counters;
use crate::act::undoings::Undoings;
use crate::config::Mode;
use crate::failure::Failure;
use crate::law::status::{StackStatus, Status};
use forebay_abi::Outcome;
use forebay_linux::board::Board;
use std::fmt::{self, Write as _};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Most bytes of a request.
const LONGEST: usize = 4096;

/// Longest wait for the next bytes of a request, and for them to be taken; at most so often.
const WAIT: Duration = Duration::from_millis(250);
const WAITS: usize = 4;

/// Where the text can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A unix socket.
    Path(PathBuf),
    /// A loopback address.
    Loopback(SocketAddr),
}

impl Address {
    /// Reads `/run/forebay/metrics` or `127.0.0.1:9099`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('/') {
            return Ok(Self::Path(text.into()));
        }
        const WRITE: &str =
            "write the path of a unix socket, or a loopback address such as 127.0.0.1:9099";
        let address: SocketAddr = text.parse().map_err(|_| WRITE.to_string())?;
        if !address.ip().is_loopback() {
            return Err(format!("{address} could be reached from elsewhere; {WRITE}"));
        }
        Ok(Self::Loopback(address))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(out),
            Self::Loopback(address) => address.fmt(out),
        }
    }
}

/// What an agent that runs says of its law.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LawMetrics {
    /// What the agent does.
    pub mode: String,
    /// Level in force.
    pub level: u64,
    /// Whether packets should be marked, at some stack.
    pub marks: bool,
    /// Level writes made and failed.
    pub writes: (u64, u64),
}

/// What runs now, and is another one when an agent has begun anew.
#[derive(Debug)]
pub struct RunningAgent {
    /// Where the status is.
    pub board: Board,
    /// Names of the stacks.
    pub names: Vec<String>,
    /// Counters of the programs that mark.
    pub counters: Arc<Counters>,
    /// Victims, interfaces and mounts that have gone.
    pub gone: usize,
}

/// What is served.
#[derive(Debug)]
pub struct Served {
    /// See [`RunningAgent`].
    pub now: Arc<Mutex<RunningAgent>>,
    /// What the agent does.
    pub mode: Mode,
    /// Folder with the counts of undoing, of an agent that enforces.
    pub state: Option<PathBuf>,
}

impl Served {
    /// As Prometheus reads it.
    pub fn text(&self) -> String {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let status = Status::of(&now.board.read());
        let text = text(&status, &now.names, self.mode) + &gone(now.gone) + &packets(&now.counters);
        let undone = self.state.as_deref().map(|folder| undoings(&Undoings::read(folder)));
        text + &undone.unwrap_or_default()
    }
}

/// Serves a text until the process ends.
pub fn serve(at: &Address, mut of: impl FnMut() -> String + Send + 'static) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::io(format!("serve at {at}"), &error);
    match at {
        Address::Path(path) => {
            let socket = std::fs::symlink_metadata(path).is_ok_and(|of| of.file_type().is_socket());
            if socket && UnixStream::connect(path).is_err() {
                std::fs::remove_file(path).map_err(failed)?; // of an agent that has ended
            }
            let listener = UnixListener::bind(path).map_err(failed)?;
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let Some(stream) = taken(stream) else { continue };
                    let set = stream
                        .set_read_timeout(Some(WAIT))
                        .and(stream.set_write_timeout(Some(WAIT)));
                    let _ = set.and_then(|()| answer(stream, false, &mut of));
                }
            });
        }
        Address::Loopback(address) => {
            let listener = TcpListener::bind(address).map_err(failed)?;
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let Some(stream) = taken(stream) else { continue };
                    let set = stream
                        .set_read_timeout(Some(WAIT))
                        .and(stream.set_write_timeout(Some(WAIT)));
                    let _ = set.and_then(|()| answer(stream, true, &mut of));
                }
            });
        }
    }
    Ok(())
}

/// A connection; after one that could not be taken, as where there are no more descriptors, a pause.
fn taken<T>(stream: io::Result<T>) -> Option<T> {
    if stream.is_err() {
        std::thread::sleep(WAIT);
    }
    stream.ok()
}

/// What an agent that runs says of its law, at a unix socket; or why it does not.
pub fn ruled(at: &Path) -> Result<LawMetrics, String> {
    let shown = at.display();
    let mut stream = UnixStream::connect(at).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("no agent serves {shown}; forebay agent run CONFIG --serve {shown} does")
        }
        _ => format!("{shown}: {error}"),
    })?;
    let mut text = String::new();
    stream
        .set_read_timeout(Some(WAIT))
        .and_then(|()| stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n"))
        .and_then(|()| stream.read_to_string(&mut text))
        .map_err(|error| format!("{shown}: {error}"))?;
    let numbers = |name: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(name));
        let values = lines.filter(|rest| rest.starts_with([' ', '{']));
        values.filter_map(|rest| rest.rsplit(' ').next()?.parse::<u64>().ok()).collect::<Vec<_>>()
    };
    let sum = |name: &str| numbers(name).iter().sum::<u64>();
    let mode =
        text.lines().find_map(|line| line.strip_prefix("forebay_mode{mode=\"")?.split('"').next());
    Ok(LawMetrics {
        mode: mode
            .ok_or(format!("{shown}: the program that answers there is not an agent"))?
            .into(),
        level: sum("forebay_level"),
        marks: sum("forebay_marks_wanted") > 0,
        writes: (sum("forebay_level_writes_total"), sum("forebay_level_write_failures_total")),
    })
}

/// Reads a request and answers it; `browsers` can reach this.
fn answer(
    mut stream: impl Read + Write,
    browsers: bool,
    of: &mut impl FnMut() -> String,
) -> io::Result<()> {
    let mut bytes = [0; LONGEST];
    let mut len = 0;
    for _ in 0..WAITS {
        match stream.read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if len == LONGEST || bytes[..len].windows(4).any(|end| end == b"\r\n\r\n") {
            break;
        }
    }
    let (code, body) = match request(&bytes[..len]) {
        Ok(()) if browsers && !is_for_here(&bytes[..len]) => {
            let code = "421 Misdirected Request";
            (code, format!("{code}: the Host is not localhost, nor a loopback address\n"))
        }
        Ok(()) => ("200 OK", of()),
        Err(code) => (code, format!("{code}: GET /metrics\n")),
    };
    let head = format!(
        "HTTP/1.1 {code}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())
}

/// Whether this is a whole request for the text; otherwise, the status line of the answer.
fn request(bytes: &[u8]) -> Result<(), &'static str> {
    if !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        return Err(if bytes.len() == LONGEST {
            "431 Request Header Fields Too Large"
        } else {
            "408 Request Timeout"
        });
    }
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    match line.split(|byte| *byte == b' ').collect::<Vec<_>>()[..] {
        [b"GET", b"/metrics", version] if version.starts_with(b"HTTP/1.") => Ok(()),
        [b"GET", _, version] if version.starts_with(b"HTTP/1.") => Err("404 Not Found"),
        [_, _, version] if version.starts_with(b"HTTP/1.") => Err("405 Method Not Allowed"),
        _ => Err("400 Bad Request"),
    }
}

/// Whether the Host of a whole request is this machine's loopback: a foreign page, whose name was made to point here (DNS rebinding), has
/// another one. A client that sends no Host is no browser.
fn is_for_here(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    lines.all(|(name, value)| {
        let host = value.trim().to_ascii_lowercase();
        let port = |port: &str| port.bytes().all(|of| of.is_ascii_digit());
        let host = match host.rsplit_once(':') {
            Some((host, after)) if port(after) && !host.ends_with(':') => host,
            _ => host.as_str(),
        };
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        !name.eq_ignore_ascii_case("host")
            || host == "localhost"
            || address.is_ok_and(|of| of.is_loopback())
    })
}

/// The status in the text format.
fn text(of: &Status, names: &[String], mode: Mode) -> String {
    let mut text = String::new();
    let mut whole = |name: &str, kind: &str, help: &str, value: u64| {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    };
    whole("forebay_rounds_total", "counter", "Rounds of the control loop.", of.rounds);
    whole(
        "forebay_late_rounds_total",
        "counter",
        "Rounds that began more than a period late.",
        of.late,
    );
    whole("forebay_busy_nanoseconds_total", "counter", "Time that rounds took.", of.busy_ns);
    whole(
        "forebay_level",
        "gauge",
        "Throttle level in force; in dry-run, the level that would be in force.",
        of.level,
    );
    whole("forebay_level_writes_total", "counter", "Level writes that succeeded.", of.writes);
    whole("forebay_level_write_failures_total", "counter", "Level writes that failed.", of.failed);
    whole(
        "forebay_law_renewals_total",
        "counter",
        "Restarts of the laws before their clock ends.",
        of.renewals,
    );
    whole(
        "forebay_foreign_change",
        "gauge",
        "1 after another process changed a throttle: the laws have ended.",
        of.foreign.into(),
    );
    let _ = writeln!(
        text,
        "# HELP forebay_mode What the agent does.\n# TYPE forebay_mode gauge\nforebay_mode{{mode=\"{}\"}} 1",
        mode.name()
    );
    let name = "forebay_iio_occupancy_lines";
    let _ = writeln!(
        text,
        "# HELP {name} Lines in the IIO buffer, mean over the last period: I_S.\n# TYPE {name} gauge"
    );
    for (name_of, stack) in names.iter().zip(&of.stacks).filter(|(_, stack)| stack.lines.0 > 0) {
        let lines = stack.mean_lines as f64 / 1000.0;
        let _ = writeln!(text, "{name}{{stack=\"{name_of}\"}} {lines}");
    }
    let mut each = |name: &str, kind: &str, help: &str, value: &dyn Fn(&StackStatus) -> u64| {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (name_of, stack) in names.iter().zip(&of.stacks) {
            let _ = writeln!(text, "{name}{{stack=\"{name_of}\"}} {}", value(stack));
        }
    };
    each(
        "forebay_iio_occupancy_line_nanoseconds_total",
        "counter",
        "Lines in the IIO buffer, summed over time: its rate over 1e9 is I_S.",
        &|of| of.lines.1,
    );
    each(
        "forebay_iio_insert_bytes_total",
        "counter",
        "Bytes that came into the IIO buffer: B_S.",
        &|of| of.inserts.1.saturating_mul(4),
    );
    each("forebay_nic_drops_total", "counter", "Packets that the NIC dropped.", &|of| of.drops.1);
    each(
        "forebay_slow_cpu_total",
        "counter",
        "Signs of slow cores: squeezed, out of receive buffers.",
        &|of| of.slow.1,
    );
    each("forebay_memory_bytes_total", "counter", "Bytes that memory moved.", &|of| of.memory.1);
    each("forebay_unread_total", "counter", "Readings that failed.", &|of| of.unread);
    each(
        "forebay_stack_level",
        "gauge",
        "Throttle level that the law of this stack wants.",
        &|of| of.level,
    );
    each("forebay_marks_wanted", "gauge", "1 while the law wants packets marked.", &|of| {
        of.marks.into()
    });
    text
}

/// How often everything was undone, by cause.
fn undoings(of: &Undoings) -> String {
    let mut text = String::from(
        "# HELP forebay_undo_total Times that what an agent had changed was undone, since the machine started.\n# TYPE forebay_undo_total counter\n",
    );
    for (cause, count) in of.each() {
        let _ = writeln!(text, "forebay_undo_total{{cause=\"{}\"}} {count}", cause.name());
    }
    text
}

/// What has gone.
fn gone(count: usize) -> String {
    format!(
        "# HELP forebay_gone Victims, interfaces and mounts that were there and have gone.\n# TYPE forebay_gone gauge\nforebay_gone {count}\n"
    )
}

/// Counters of the machine by their names, as `watch` shows them; those that cannot be read now are left out.
pub fn readings<'a>(of: impl Iterator<Item = (&'a str, Option<u64>)>) -> String {
    let mut text = "# HELP forebay_counter_total Counters of this machine since it started; forebay agent signals says where they are read.\n\
        # TYPE forebay_counter_total counter\n"
        .to_string();
    for (name, value) in of {
        let Some(value) = value else { continue };
        let name = name.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(text, "forebay_counter_total{{counter=\"{name}\"}} {value}");
    }
    text
}

/// Packets by interface and outcome; nothing where none is marked.
fn packets(counters: &Counters) -> String {
    let mut marks = String::new();
    let mut all = String::new();
    for (nic, counts) in counters.read() {
        let _ = writeln!(marks, "forebay_marks_total{{nic=\"{nic}\"}} {}", counts[0]);
        for (of, count) in Outcome::ALL.iter().zip(counts) {
            let name = of.name();
            let _ = writeln!(
                all,
                "forebay_echo_packets_total{{nic=\"{nic}\",outcome=\"{name}\"}} {count}"
            );
        }
    }
    if marks.is_empty() {
        return marks;
    }
    format!(
        "# HELP forebay_marks_total Packets that were marked CE.\n# TYPE forebay_marks_total counter\n{marks}# HELP forebay_echo_packets_total Packets that arrived while marks were on, by what became of them.\n# TYPE forebay_echo_packets_total counter\n{all}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_this_machine() {
        assert_eq!(Address::parse("/run/x"), Ok(Address::Path("/run/x".into())));
        assert!(matches!(Address::parse("127.0.0.1:9099"), Ok(Address::Loopback(_))));
        assert!(matches!(Address::parse("[::1]:9099"), Ok(Address::Loopback(_))));
        for text in ["0.0.0.0:9099", "10.0.0.1:9099", "[::]:1", "localhost:1", "9099", ""] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_a_whole_get_is_answered() {
        let get = |text: &str| request(text.as_bytes());
        assert_eq!(get("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), Ok(()));
        assert_eq!(get("GET / HTTP/1.1\r\n\r\n"), Err("404 Not Found"));
        assert_eq!(get("POST /metrics HTTP/1.1\r\n\r\n"), Err("405 Method Not Allowed"));
        assert_eq!(get("GET /metrics HTTP/1.1\r\n"), Err("408 Request Timeout"));
        assert_eq!(get(""), Err("408 Request Timeout"));
        assert_eq!(get("nonsense\r\n\r\n"), Err("400 Bad Request"));
        assert_eq!(request(&[b'a'; LONGEST]), Err("431 Request Header Fields Too Large"));
    }

    /// A page in a browser of this machine sends the name by which it was loaded.
    #[test]
    fn only_who_asks_for_the_loopback_is_answered_there() {
        let get = |host: &str| format!("GET /metrics HTTP/1.1\r\nAccept: */*\r\n{host}\r\n");
        for host in [
            "",
            "Host: localhost\r\n",
            "host: LOCALHOST:9099\r\n",
            "Host: 127.0.0.1:9099\r\n",
            "Host: 127.1.2.3\r\n",
            "Host: [::1]:9099\r\n",
            "Host: [::1]\r\n",
        ] {
            assert!(is_for_here(get(host).as_bytes()), "{host}");
        }
        for host in [
            "Host: evil.example\r\n",
            "Host: evil.example:9099\r\n",
            "Host: localhost.evil.example\r\n",
            "Host: 10.0.0.1:9099\r\n",
            "Host: \r\n",
            "Host: localhost\r\nHost: evil.example\r\n",
            "Host: 127.0.0.1.evil.example\r\n",
        ] {
            assert!(!is_for_here(get(host).as_bytes()), "{host}");
        }
        for (browsers, wanted) in [(true, "HTTP/1.1 421 "), (false, "HTTP/1.1 200 ")] {
            let (mut here, there) = UnixStream::pair().expect("a socket");
            here.write_all(get("Host: evil.example\r\n").as_bytes()).expect("sent");
            answer(there, browsers, &mut || "text".into()).expect("answered");
            let mut said = String::new();
            here.read_to_string(&mut said).expect("an answer");
            assert!(said.starts_with(wanted), "{said}");
        }
    }

    #[test]
    fn each_name_has_its_help_and_type_once() {
        let stack = StackStatus {
            lines: (1, 2),
            inserts: (3, 4),
            unread: 5,
            level: 6,
            marks: true,
            ..StackStatus::default()
        };
        let status = Status { rounds: 9, stacks: vec![stack, stack], ..Status::default() };
        let text = text(&status, &["a".into(), "b".into()], Mode::DryRun)
            + &undoings(&Undoings::default())
            + &gone(1);
        let mut names = Vec::new();
        for line in text.lines() {
            let words: Vec<_> = line.split(' ').collect();
            match words[..] {
                ["#", "HELP", name, ..] => names.push(name),
                ["#", "TYPE", name, kind] => {
                    assert!(
                        names.last() == Some(&name) && ["counter", "gauge"].contains(&kind),
                        "{line}"
                    );
                    assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                }
                [value, number] => {
                    let name = value.split('{').next().unwrap_or_default();
                    assert!(names.last() == Some(&name) && number.parse::<f64>().is_ok(), "{line}");
                }
                _ => panic!("{line}"),
            }
        }
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len());
        assert!(text.contains("forebay_iio_insert_bytes_total{stack=\"b\"} 16\n"), "{text}");
    }
}
