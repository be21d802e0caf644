//! `forebay play`: the playground, a page that has the simulator in it, served to this machine alone.
//!
//! Invariants: only files of one folder, by their bare names, are answered with; nothing listens beyond loopback. The page is built
//! by packaging/playground/build.sh and no part of this program, whose build needs no other target.

use crate::args::Play;
use crate::failure::Failure;
use crate::{clock, itself, say};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Beyond this a request is none of a browser's.
const LONGEST_REQUEST: u64 = 16 << 10;
/// After a failed accept: there may be no descriptor free for a while.
const PAUSE: Duration = Duration::from_millis(100);
/// Limits of a server for every connection.
const LIMITS: Limits =
    Limits { connections: 64, request: Duration::from_secs(10), answer: Duration::from_secs(60) };

/// Limits on connections.
#[derive(Clone, Copy)]
struct Limits {
    /// Connections at a time; a browser has six, and a few ahead.
    connections: usize,
    /// Time for a whole request.
    request: Duration,
    /// Time for a whole answer to be taken.
    answer: Duration,
}

/// The verb: serves until it is interrupted.
pub fn play(args: &Play) -> Result<(), Failure> {
    let folder = folder(args.folder.as_deref())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(
        |error| match error.kind() {
            ErrorKind::AddrInUse => Failure::Input(format!(
                "port {} is taken; write --port {} for another one, or --port 0 for any free port",
                args.port,
                args.port.wrapping_add(1)
            )),
            _ => Failure::io(format!("listen on port {} of this machine", args.port), &error),
        },
    )?;
    let own = listener.local_addr().map_err(|error| Failure::io("listen", &error))?;
    let address = format!("http://{own}/");
    say::data(&format!("{address}\n"))?;
    say::note("Ctrl-C ends the server; the page is for browsers on this machine only");
    if !args.no_open && !open(&address) {
        say::note("no browser was found; open the address yourself");
    }
    serve(&listener, &folder, LIMITS);
    Ok(())
}

/// Answers everybody, for ever. A browser opens connections ahead and lets them wait, so each has a thread.
fn serve(listener: &TcpListener, folder: &Path, limits: Limits) {
    let (folder, open) = (Arc::<Path>::from(folder), Arc::new(AtomicUsize::new(0)));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            std::thread::sleep(PAUSE);
            continue;
        };
        let place = Place::take(&open);
        if place.others >= limits.connections {
            refuse(stream);
            continue;
        }
        let folder = Arc::clone(&folder);
        let answering = move || {
            let _place = place;
            let _ = answer(stream, &folder, limits);
        };
        // Where the system has no thread to give, the connection is closed.
        if std::thread::Builder::new().spawn(answering).is_err() {
            std::thread::sleep(PAUSE);
        }
    }
}

/// A connection's place among those that are open.
struct Place {
    open: Arc<AtomicUsize>,
    others: usize,
}

impl Place {
    fn take(open: &Arc<AtomicUsize>) -> Self {
        let others = open.fetch_add(1, Ordering::Relaxed);
        Self { open: Arc::clone(open), others }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Tells one connection too many to come back. Its socket is new and has room for this.
fn refuse(mut stream: TcpStream) {
    let _ = stream.set_write_timeout(Some(PAUSE));
    let _ = stream.write_all(
        b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    );
}

/// A stream that has to be done by some time, however busy it is.
struct TimedStream {
    stream: TcpStream,
    end: Instant,
}

impl TimedStream {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.end.saturating_duration_since(clock::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for TimedStream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(room)
    }
}

impl Write for TimedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Where the page is: as told, beside this program, or where packaging puts it.
fn folder(told: Option<&Path>) -> Result<PathBuf, Failure> {
    let whole = |folder: &PathBuf| {
        ["index.html", "playground.wasm"].iter().all(|file| folder.join(file).is_file())
    };
    if let Some(told) = told {
        let told = told.to_path_buf();
        let text = || format!("{} has no playground (index.html, playground.wasm)", told.display());
        return if whole(&told) { Ok(told) } else { Err(Failure::Input(text())) };
    }
    let beside = itself::folder().unwrap_or(Path::new(""));
    let places = ["playground", "../playground", "../share/forebay/playground"];
    places.iter().map(|place| beside.join(place)).find(whole).ok_or_else(|| {
        Failure::Run(
            "the playground is not built; run packaging/playground/build.sh in the repository, or name its folder: --folder DIR"
                .into(),
        )
    })
}

/// Has the desktop open an address; false if it cannot.
fn open(address: &str) -> bool {
    let programs = if cfg!(target_os = "macos") { &["open"][..] } else { &["xdg-open"] };
    let start = |program: &&str| {
        let quiet = || Stdio::null();
        Command::new(program).arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn()
    };
    programs.iter().any(|program| start(program).is_ok())
}

/// One request and its answer; whatever goes wrong with either ends the connection.
fn answer(stream: TcpStream, folder: &Path, limits: Limits) -> io::Result<()> {
    let asked = TimedStream { stream: stream.try_clone()?, end: clock::now() + limits.request };
    let mut lines = BufReader::new(asked.take(LONGEST_REQUEST)).lines();
    let mut line = || lines.next().unwrap_or_else(|| Err(ErrorKind::UnexpectedEof.into()));
    let request = line()?;
    let mut host = None;
    loop {
        let header = line()?;
        match header.split_once(':') {
            _ if header.is_empty() => break,
            Some((name, value)) if name.eq_ignore_ascii_case("host") => {
                host = Some(value.trim().to_string());
            }
            _ => {}
        }
    }
    let mut words = request.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let none = || ("404 Not Found", TEXT, b"no such file\n".to_vec());
    let (status, kind, body) = match (method, file(target)) {
        _ if !host.is_some_and(|host| is_this_machine(&host)) => {
            ("403 Forbidden", TEXT, b"only for http://127.0.0.1 and http://localhost\n".to_vec())
        }
        ("GET" | "HEAD", Some((name, kind))) => match std::fs::read(folder.join(name)) {
            Ok(body) => ("200 OK", kind, body),
            Err(_) => none(),
        },
        ("GET" | "HEAD", None) => none(),
        _ => ("405 Method Not Allowed", TEXT, b"only GET\n".to_vec()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut to = TimedStream { stream, end: clock::now() + limits.answer };
    to.write_all(head.as_bytes())?;
    if method == "GET" {
        to.write_all(&body)?;
    }
    to.flush()
}

/// Whether a request names this machine as its host, on any port (it may be forwarded). A page of elsewhere whose name was made to lead
/// here sends its own name.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|own| name.eq_ignore_ascii_case(own))
}

const TEXT: &str = "text/plain; charset=utf-8";

/// The file that a request is for, and its type; `None`: no file of the page can be called so.
fn file(target: &str) -> Option<(&str, &'static str)> {
    let name = target.split('?').next()?.strip_prefix('/')?;
    let name = if name.is_empty() { "index.html" } else { name };
    let (stem, ending) = name.rsplit_once('.')?;
    let kind = match ending {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "wasm" => "application/wasm",
        _ => return None,
    };
    let plain = !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    plain.then_some((name, kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    #[test]
    fn only_bare_names_of_known_kinds_are_files() {
        assert_eq!(file("/").map(|f| f.0), Some("index.html"));
        assert_eq!(file("/playground.wasm?x=1"), Some(("playground.wasm", "application/wasm")));
        let none = ["/../a.js", "/a/b.js", "/.js", "a.js", "", "/a.toml", "/%2e%2e/a.js", "//a.js"];
        assert_eq!(none.map(file), [None; 8]);
    }

    /// A server for the rest of the test program, of a folder with an index.html of one word.
    fn server(name: &str, limits: Limits) -> SocketAddr {
        let folder =
            std::env::temp_dir().join(format!("forebay-play-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("index.html"), "hello").expect("a page");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("bound");
        std::thread::spawn(move || serve(&listener, &folder, limits));
        address
    }

    /// Minutes, so that nothing depends on the load of the machine.
    const LONG: Limits = Limits {
        connections: 4,
        request: Duration::from_secs(300),
        answer: Duration::from_secs(300),
    };

    fn get(server: SocketAddr, host: &str) -> String {
        let mut stream = TcpStream::connect(server).expect("connected");
        stream.write_all(format!("GET / HTTP/1.1\r\n{host}\r\n").as_bytes()).expect("asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        answer
    }

    #[test]
    fn only_requests_that_name_this_machine_are_answered() {
        let server = server("host", LONG);
        for host in ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:80", "127.0.0.1"] {
            let answer = get(server, &format!("Host: {host}\r\n"));
            assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("hello"), "{answer}");
        }
        let others = [
            "evil.example:8000",
            "127.0.0.1.evil.example",
            "localhost:80:80",
            "",
            "[::1].x",
            "10.0.0.1",
        ];
        for host in others {
            let answer = get(server, &format!("host: {host}\r\n"));
            assert!(
                answer.starts_with("HTTP/1.1 403") && !answer.contains("hello"),
                "{host}: {answer}"
            );
        }
        assert!(get(server, "").starts_with("HTTP/1.1 403"), "no host at all");
    }

    #[test]
    fn one_connection_too_many_is_refused_and_a_place_that_is_left_is_free_again() {
        let server = server("many", LONG);
        let mut idle: Vec<TcpStream> =
            (0..LONG.connections).map(|_| TcpStream::connect(server).expect("connected")).collect();
        let mut last = TcpStream::connect(server).expect("the system connects");
        let mut answer = String::new();
        last.read_to_string(&mut answer).expect("answered");
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        idle.pop();
        let until = clock::now() + Duration::from_secs(120);
        while !get_or_refused(server).contains("hello") {
            assert!(clock::now() < until, "the place is never free");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A refusal may reset a connection whose request was never read.
    fn get_or_refused(server: SocketAddr) -> String {
        let mut stream = TcpStream::connect(server).expect("connected");
        let mut answer = String::new();
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn who_sends_a_byte_now_and_then_is_cut_off() {
        let server = server("slow", Limits { request: Duration::from_millis(200), ..LONG });
        let mut stream = TcpStream::connect(server).expect("connected");
        let cut = (0..LONGEST_REQUEST / 4).find(|_| {
            std::thread::sleep(Duration::from_millis(40)); // at least 164 s until it has sent a quarter
            stream.write_all(b"x").is_err()
        });
        assert!(cut.is_some(), "a busy connection is not given up before it has sent 4,096 bytes");
    }
}
