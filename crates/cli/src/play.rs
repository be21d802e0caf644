//! `forebay play`: the playground, a page that has the simulator in it, served to this machine alone.
//!
//! Invariants: only files of one folder, by their bare names, are answered with; nothing listens beyond loopback. The page is built
//! by packaging/playground/build.sh and no part of this program, whose build needs no other target.

use crate::args::Play;
use crate::failure::Failure;
use crate::say;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Beyond this a request is none of a browser's.
const LONGEST_REQUEST: u64 = 16 << 10;
/// A connection that says nothing is given up after this.
const PATIENCE: Duration = Duration::from_secs(10);

/// The verb: serves until it is interrupted.
pub fn play(args: &Play) -> Result<(), Failure> {
    let folder = folder(args.folder.as_deref())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(
        |error| match error.kind() {
            ErrorKind::AddrInUse => Failure::Input(format!(
                "port {} is taken; name another one: --port {}, or --port 0 for any that is free",
                args.port,
                args.port.wrapping_add(1)
            )),
            _ => Failure::io(format!("listen on port {} of this machine", args.port), &error),
        },
    )?;
    let own = listener.local_addr().map_err(|error| Failure::io("listen", &error))?;
    let address = format!("http://{own}/");
    say::data(&format!("{address}\n"))?;
    say::note("Ctrl-C ends it; the page is for browsers on this machine alone");
    if !args.no_open && !open(&address) {
        say::note("no browser was found to open it in");
    }
    for stream in listener.incoming().flatten() {
        let folder = folder.clone();
        // A browser opens connections ahead and lets them wait, so each has a thread.
        std::thread::spawn(move || answer(stream, &folder));
    }
    Ok(())
}

/// Where the page is: as told, beside this program, or where packaging puts it.
fn folder(told: Option<&Path>) -> Result<PathBuf, Failure> {
    let whole = |folder: &PathBuf| {
        ["index.html", "playground.wasm"].iter().all(|file| folder.join(file).is_file())
    };
    if let Some(told) = told {
        let told = told.to_path_buf();
        let text =
            || format!("{} has no playground in it (index.html, playground.wasm)", told.display());
        return if whole(&told) { Ok(told) } else { Err(Failure::Input(text())) };
    }
    let program = std::env::current_exe().unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new(""));
    let places = ["playground", "../playground", "../share/forebay/playground"];
    places.iter().map(|place| beside.join(place)).find(whole).ok_or_else(|| {
        Failure::Run(
            "the playground is not built; in the repository: packaging/playground/build.sh, or name its folder: --folder DIR"
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
fn answer(mut stream: TcpStream, folder: &Path) -> Option<()> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    let mut lines = BufReader::new(stream.try_clone().ok()?.take(LONGEST_REQUEST)).lines();
    let request = lines.next()?.ok()?;
    lines.map_while(Result::ok).find(String::is_empty)?;
    let mut words = request.split(' ');
    let (method, target) = (words.next()?, words.next().unwrap_or_default());
    let (status, kind, body) = match (method, file(target)) {
        ("GET" | "HEAD", Some((name, kind))) => match std::fs::read(folder.join(name)) {
            Ok(body) => ("200 OK", kind, body),
            Err(_) => ("404 Not Found", TEXT, b"no such file\n".to_vec()),
        },
        ("GET" | "HEAD", None) => ("404 Not Found", TEXT, b"no such file\n".to_vec()),
        _ => ("405 Method Not Allowed", TEXT, b"only GET\n".to_vec()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    if method == "GET" {
        stream.write_all(&body).ok()?;
    }
    stream.flush().ok()
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
    use super::file;

    #[test]
    fn only_bare_names_of_known_kinds_are_files() {
        assert_eq!(file("/").map(|f| f.0), Some("index.html"));
        assert_eq!(file("/playground.wasm?x=1"), Some(("playground.wasm", "application/wasm")));
        let none = ["/../a.js", "/a/b.js", "/.js", "a.js", "", "/a.toml", "/%2e%2e/a.js", "//a.js"];
        assert_eq!(none.map(file), [None; 8]);
    }
}
