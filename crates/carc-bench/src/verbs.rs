//! Traffic over verbs between two `carc-bench`, which find each other over TCP.

use crate::fixed::{consume, produce};
use crate::traffic::percentiles;
use crate::{Args, Failure, Traffic, limit, refused, say, size};
use forebay_credits::Post;
use forebay_credits_verbs::{ADDRESS_BYTES, Address, Device, Event, Link, Settings};
use forebay_linux::boot_ns;
use forebay_units::Time;
use serde_json::json;
use std::collections::VecDeque;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Echoes under way.
const ECHOES: u64 = 16;

fn now() -> Time {
    Time::from_ps(boot_ns().saturating_mul(1000))
}

/// Bytes of the largest message: the device gets memory for 640 of them.
const MOST: u64 = 1 << 20;

const ONE_OF_EACH: &str =
    "over verbs write --listen ADDRESS:PORT at one end and --connect at the other";

/// Longest that an end waits for the address of the other.
const PATIENCE: Duration = Duration::from_secs(10);

/// A TCP connection between both ends, which carries their addresses; and whether this one reads.
fn meet(args: &Args) -> Result<(TcpStream, bool), Failure> {
    let (stream, reads) = match (&args.listen, &args.connect) {
        (Some(at), None) => {
            let accepted = TcpListener::bind(at.as_str()).and_then(|of| of.accept());
            (accepted.map_err(refused(format_args!("--listen {at}")))?.0, true)
        }
        (None, Some(to)) => {
            let connected = TcpStream::connect(to.as_str());
            (connected.map_err(refused(format_args!("--connect {to}")))?, false)
        }
        _ => return Err(ONE_OF_EACH.into()),
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok((stream, reads))
}

/// Address of the other end.
fn address(mut tcp: &TcpStream) -> Result<Address, Failure> {
    let mut there = [0; ADDRESS_BYTES];
    let other = "the other end is no carc-bench --over verbs";
    tcp.read_exact(&mut there).map_err(refused(other))?;
    Ok(Address::decode(&there).map_err(|_| other)?)
}

/// One end: `--listen` reads, `--connect` sends.
pub fn run(args: &Args) -> Result<(), Failure> {
    let message = size(&args.message)?;
    if message > MOST {
        return Err(
            format!("over verbs a message has at most 1M, and {message} bytes are more").into()
        );
    }
    if args.traffic == Some(Traffic::Mixed) || args.messages.is_some() {
        return Err("--traffic mixed and --messages are for a ring; leave them out".into());
    }
    if args.listen.is_some() == args.connect.is_some() {
        return Err(ONE_OF_EACH.into());
    }
    let device = Device::open(args.device.as_deref())?;
    let settings = Settings {
        limit: if args.no_credits { None } else { Some(limit(args)?) },
        law: forebay_credits::law()?,
        message: u32::try_from(message)?,
        receives: 512,
        sends: 128,
        requests: 4096,
    };
    let (mut tcp, reads) = meet(args)?;
    let mut link = Link::new(&device, &settings)?;
    tcp.write_all(&link.address()?.encode())?;
    let credits = link.connect(now(), &address(&tcp)?)?;
    // Both are ready to receive before one sends.
    tcp.write_all(&[1])?;
    tcp.read_exact(&mut [0]).map_err(refused("the other end has gone"))?;
    tcp.set_nonblocking(true)?;
    let mut found =
        if reads { read(args, &mut link, &mut tcp)? } else { send(args, &mut link, message)? };
    found["credits"] = credits.into();
    found["device"] = device.name.clone().into();
    found["credit_messages"] = link.traffic.control.into();
    found["credit_percent"] =
        (link.traffic.control as f64 * 2400.0 / (link.traffic.bytes as f64).max(1.0)).into();
    say(format_args!("{found}\n"))
}

fn send(args: &Args, link: &mut Link, bytes: u64) -> Result<serde_json::Value, Failure> {
    let echo = args.traffic == Some(Traffic::Echo);
    let (mut made, mut back, mut most) = (0_u64, 0_u64, 0);
    let mut ready: VecDeque<u64> = VecDeque::with_capacity(4096);
    let mut echoes = Vec::with_capacity(1 << 18);
    let start = boot_ns();
    let end = start + (args.seconds * 1e9) as u64;
    let half = start + (end - start) / 2;
    while boot_ns() < end {
        match link.poll(now()) {
            Some(Event::Released { token, .. }) => ready.push_back(token),
            Some(Event::Message { slot, bytes }) => {
                if let Some(word) = link.payload(slot, bytes).first()
                    && echoes.len() < echoes.capacity()
                {
                    echoes.push(boot_ns().saturating_sub(word.load(Relaxed)));
                }
                link.consumed(now(), slot, bytes)?;
                back += 1;
            }
            Some(Event::Ended(why)) => return Err(why.into()),
            None => {}
        }
        if args.break_credits && boot_ns() > half {
            link.break_credits();
        }
        if ready.len() < 64 && (!echo || made - back < ECHOES) && link.sender().requests() < 4000 {
            let token = boot_ns();
            match link.post(now(), bytes, token) {
                Post::Go => {
                    made += 1;
                    ready.push_back(token);
                }
                Post::Wait => made += 1,
                Post::Full => {}
            }
        }
        while let Some(&token) = ready.front() {
            if !link.send(now(), bytes as u32, |lines| produce(lines, token))? {
                break;
            }
            ready.pop_front();
        }
        most = most.max(link.sender().account(0).map_or(0, |of| of.totals().outstanding));
    }
    let seconds = (boot_ns() - start) as f64 / 1e9;
    let (p50, p99) = percentiles(&mut echoes);
    Ok(json!({
        "sent": link.traffic.messages,
        "gbps": link.traffic.bytes as f64 * 8.0 / seconds / 1e9,
        "blocked": link.sender().counts().blocked,
        "most_outstanding_bytes": most * 64,
        "echoes": back,
        "p50_us": p50,
        "p99_us": p99,
    }))
}

fn read(args: &Args, link: &mut Link, tcp: &mut TcpStream) -> Result<serde_json::Value, Failure> {
    let echo = args.traffic == Some(Traffic::Echo);
    let (mut came, mut sum, mut spent, mut lines) = (0_u64, 0_u64, 0, 0);
    let mut answers: VecDeque<(u64, u32)> = VecDeque::with_capacity(4096);
    loop {
        match link.poll(now()) {
            Some(Event::Message { slot, bytes }) => {
                let before = boot_ns();
                let of = link.payload(slot, bytes);
                sum = sum.wrapping_add(consume(of));
                let token = of.first().map_or(0, |word| word.load(Relaxed));
                let read = boot_ns();
                (spent, lines) = (spent + (read - before), lines + u64::from(bytes.div_ceil(64)));
                while boot_ns() - read < args.work {
                    std::hint::spin_loop();
                }
                link.consumed(now(), slot, bytes)?;
                came += 1;
                if echo && link.post(now(), bytes.into(), token) == Post::Go {
                    answers.push_back((token, bytes));
                }
            }
            Some(Event::Released { token, bytes }) => answers.push_back((token, bytes as u32)),
            // The other end has gone, or its queue pairs have failed.
            Some(Event::Ended(why)) if came == 0 => return Err(why.into()),
            Some(Event::Ended(_)) => break,
            // The other end closes the socket when it is done.
            None => match tcp.read(&mut [0]) {
                Ok(0) => break,
                _ => std::hint::spin_loop(),
            },
        }
        while let Some(&(token, bytes)) = answers.front() {
            if !link.send(now(), bytes, |lines| produce(lines, token))? {
                break;
            }
            answers.pop_front();
        }
    }
    black_box(sum);
    Ok(json!({ "read": came, "ns_per_line": spent as f64 / (lines as f64).max(1.0) }))
}
