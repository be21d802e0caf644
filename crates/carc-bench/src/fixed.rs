//! A schedule that depends on no clock and no other process, so that cachegrind counts the same every time.
//!
//! Both ends are in this process, on one ring. [`consume`] reads each line of a message once; its misses are those of unread data.

use crate::{Args, Failure, Fixed, MOST_UNREAD, say, size};
use forebay_credits::{Limit, Post, law};
use forebay_credits_ring::host::{Event, Host, Settings};
use forebay_credits_ring::{Size, pair};
use forebay_units::{Span, Time};
use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Reads each line once.
#[inline(never)]
pub fn consume(lines: &[AtomicU64]) -> u64 {
    lines.iter().step_by(8).map(|word| word.load(Relaxed)).fold(0, u64::wrapping_add)
}

/// Writes each word.
#[inline(never)]
pub fn produce(lines: &[AtomicU64], token: u64) {
    lines.iter().for_each(|word| word.store(token, Relaxed));
}

/// A schedule.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Which.
    pub schedule: Fixed,
    /// Bytes of a message.
    pub bytes: u64,
    /// Bytes that may wait unread; none: there are no credits.
    pub limit: Option<u64>,
    /// Bytes of the ring.
    pub ring: u64,
    /// Messages.
    pub messages: u64,
}

/// Totals of a schedule.
pub struct ScheduleTotals {
    most_unread: u64,
    control: u64,
    blocked: u64,
}

/// Runs the schedule that was asked for, and says what was read.
pub fn run(args: &Args, schedule: Fixed) -> Result<(), Failure> {
    let bytes = size(&args.message)?;
    let limit = size(args.limit.as_deref().unwrap_or("512K"))?;
    let limit = (!args.no_credits).then_some(limit);
    let ring = size(&args.ring)?;
    if bytes > ring || ring > MOST_UNREAD {
        return Err(format!(
            "a message of {bytes} bytes and a ring of {ring}; write a --ring from --message to 2G"
        )
        .into());
    }
    let plan = Plan { schedule, bytes, limit, ring, messages: args.messages.unwrap_or(8192) };
    let of = play(&plan)?;
    say(format_args!(
        "{{\"messages\":{},\"lines\":{},\"most_unread_bytes\":{},\"data_bytes\":{},\"control_bytes\":{},\"blocked\":{}}}\n",
        plan.messages,
        plan.messages * bytes.div_ceil(64),
        of.most_unread,
        plan.messages * bytes,
        of.control,
        of.blocked,
    ))
}

/// Nanoseconds that credits add to a message: the median of pairs with and without them.
pub fn added_ns() -> Result<f64, Failure> {
    const MESSAGES: u64 = 20_000;
    let with = Plan {
        schedule: Fixed::Paced,
        bytes: 64,
        limit: Some(32 << 10),
        ring: 64 << 10,
        messages: MESSAGES,
    };
    let timed = |plan: &Plan| -> Result<f64, Failure> {
        let start = Instant::now();
        play(plan)?;
        Ok(start.elapsed().as_nanos() as f64 / MESSAGES as f64)
    };
    let mut pairs = Vec::new();
    for _ in 0..21 {
        let without = timed(&Plan { limit: None, ..with })?;
        pairs.push(timed(&with)? - without);
    }
    pairs.sort_by(f64::total_cmp);
    Ok(pairs[pairs.len() / 2])
}

/// Plays a schedule.
fn play(plan: &Plan) -> Result<ScheduleTotals, Failure> {
    let &Plan { schedule, bytes, limit, ring, messages } = plan;
    let settings = Settings {
        limit: limit.map(|limit| Limit::of_bytes(limit, 64)).transpose()?,
        law: law()?,
        connections: 1,
        requests: 1024,
    };
    let (here, there) = pair(Size::new(ring, (ring / bytes) as u32 + 64));
    let (mut sender, mut receiver) = (Host::new(&settings), Host::new(&settings));
    let to = sender.add(here).ok_or("one connection")?;
    let from = receiver.add(there).ok_or("one connection")?;
    let mut now = Time::ZERO;
    if limit.is_none() {
        sender.without_credits(now, to);
        receiver.without_credits(now, from);
    }
    let (mut made, mut written, mut read, mut sum, mut most) = (0, 0, 0, 0_u64, 0);
    // Requests that may go, oldest first: the ring may have no room for them yet.
    let mut ready = VecDeque::with_capacity(1024);
    while read < messages {
        now += Span::from_ns(100);
        let offers = if schedule == Fixed::Slow { 2 } else { 1 };
        for _ in 0..offers {
            while let Some(event) = sender.poll(now) {
                match event {
                    Event::Released { token, .. } => ready.push_back(token),
                    Event::Ended(_, why) => return Err(why.into()),
                    _ => {}
                }
            }
            if made < messages && made < written + 8 {
                match sender.post(now, to, bytes, made) {
                    Post::Go => ready.push_back(made),
                    Post::Wait => {}
                    Post::Full => continue,
                }
                made += 1;
            }
            if let Some(&token) = ready.front()
                && sender.write(now, to, token, bytes, |of| produce(of, token))?
            {
                ready.pop_front();
                written += 1;
            }
        }
        most = most.max(written - read);
        let event = receiver.poll(now);
        if let Some(Event::Ended(_, why)) = event {
            return Err(why.into());
        }
        if let Some(Event::Message { .. }) = event {
            sum = sum.wrapping_add(consume(receiver.payload(from)));
            receiver.consumed(now, from);
            read += 1;
        }
    }
    black_box(sum);
    Ok(ScheduleTotals {
        most_unread: most * bytes,
        control: sender.control_bytes() + receiver.control_bytes(),
        blocked: sender.sender().counts().blocked,
    })
}
