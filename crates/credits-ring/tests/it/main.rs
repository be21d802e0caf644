//! Two hosts on one ring, from outside.

use forebay_credits::{Garbage, Limit, Post, ProtocolError, law};
use forebay_credits_ring::host::{EndReason, Event, Host, Settings, copy, fill};
use forebay_credits_ring::{End, Listener, Size, connect, pair};
use forebay_units::{Span, Time};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

fn settings(limit: Option<u64>) -> Settings {
    let limit = limit.map(|bytes| Limit::of_bytes(bytes, 64).unwrap());
    Settings { limit, law: law().unwrap(), connections: 4, requests: 1000 }
}

/// Two hosts in this process that know of each other.
fn hosts(limit: Option<u64>, ring: u64) -> (Host, Host) {
    let (here, there) = pair(Size::new(ring, 256));
    let (mut a, mut b) = (Host::new(&settings(limit)), Host::new(&settings(limit)));
    assert_eq!((a.add(here), b.add(there)), (Some(0), Some(0)));
    if limit.is_some() {
        assert_eq!(a.poll(Time::ZERO), Some(Event::Ready(0, true)));
        assert_eq!(b.poll(Time::ZERO), Some(Event::Ready(0, true)));
    }
    (a, b)
}

fn text(number: u64) -> Vec<u8> {
    format!("message {number} ").into_bytes().repeat(1 + number as usize % 40)
}

#[test]
fn messages_of_all_lengths_arrive_in_order_and_whole() {
    let (mut a, mut b) = hosts(Some(16 << 10), 32 << 10);
    let (mut sent, mut came, mut now) = (0_u64, 0_u64, Time::ZERO);
    let mut queued = VecDeque::new();
    // An interpreter that looks for undefined behaviour (Miri) is a thousand times as slow.
    let all = if cfg!(miri) { 120 } else { 5_000 };
    while came < all {
        now += Span::from_ns(700);
        while let Some(event) = a.poll(now) {
            if let Event::Released { token, .. } = event {
                queued.push_back(token);
            }
        }
        if sent < all && sent < came + 900 {
            let post = a.post(now, 0, text(sent).len() as u64, sent);
            queued.extend((post == Post::Go).then_some(sent));
            sent += u64::from(post != Post::Full);
        }
        if let Some(&token) = queued.front() {
            let bytes = text(token);
            if a.write(now, 0, token, bytes.len() as u64, |lines| fill(lines, &bytes)).unwrap() {
                queued.pop_front();
            }
        }
        // The reader is half as fast until all is sent.
        if sent < all && now.as_ps() / 700_000 % 2 > 0 {
            continue;
        }
        if let Some(Event::Message { token, bytes, .. }) = b.poll(now) {
            assert_eq!(token, came, "in order");
            let mut got = vec![0; bytes as usize];
            copy(b.payload(0), &mut got);
            assert_eq!(got, text(token));
            b.consumed(now, 0);
            came += 1;
        }
    }
    assert!(a.sender().counts().blocked > 0, "some waited");
}

#[test]
fn a_ring_without_room_refuses_and_goes_on_when_something_was_read() {
    let (mut a, mut b) = hosts(None, 4096);
    a.without_credits(Time::ZERO, 0);
    b.without_credits(Time::ZERO, 0);
    let mut written = 0;
    while a.write(Time::ZERO, 0, written, 1000, |_| {}).unwrap() {
        written += 1;
    }
    assert_eq!(written, 4, "four times 16 lines");
    assert!(!a.write(Time::ZERO, 0, 9, 5000, |_| {}).unwrap(), "more than the ring ever has");
    assert!(matches!(b.poll(Time::ZERO), Some(Event::Message { token: 0, bytes: 1000, .. })));
    assert_eq!(b.poll(Time::ZERO), None, "the first waits to be read");
    b.consumed(Time::ZERO, 0);
    assert!(a.write(Time::ZERO, 0, 4, 1000, |_| {}).unwrap());
}

/// The counter that would have ridden on it leaves by itself.
#[test]
fn a_message_without_room_takes_no_credits_away() {
    let (mut a, mut b) = hosts(Some(64 << 10), 4096);
    let now = Time::ZERO;
    while b.post(now, 0, 1000, 0) == Post::Go && b.write(now, 0, 0, 1000, |_| {}).unwrap() {}
    assert_eq!(a.post(now, 0, 64, 1), Post::Go);
    assert!(a.write(now, 0, 1, 64, |_| {}).unwrap());
    assert!(matches!(b.poll(now), Some(Event::Message { token: 1, .. })));
    b.consumed(now, 0);
    assert!(!b.write(now, 0, 2, 1000, |_| {}).unwrap(), "the ring is full");
    let due = b.receiver().unwrap().due();
    assert!(due < Time::MAX, "the counter is still to be sent");
    assert_eq!(b.poll(due), None);
    for _ in 0..4 {
        assert_eq!(a.sender().account(0).unwrap().totals().outstanding, 1);
        assert!(matches!(a.poll(now), Some(Event::Message { .. })));
        a.consumed(now, 0);
    }
    assert_eq!(a.poll(now), None);
    assert_eq!(a.sender().account(0).unwrap().totals().outstanding, 0);
}

/// The peer has no library: its first record is data.
#[test]
fn a_peer_without_credits_turns_them_off() {
    let (here, there) = pair(Size::new(4096, 64));
    let (mut a, mut b) = (Host::new(&settings(Some(4096))), Host::new(&settings(None)));
    assert_eq!((a.add(here), b.add(there)), (Some(0), Some(0)));
    assert_eq!(a.post(Time::ZERO, 0, 64, 0), Post::Full, "the peer has not said anything");
    b.without_credits(Time::ZERO, 0);
    assert!(b.write(Time::ZERO, 0, 7, 64, |_| {}).unwrap());
    assert_eq!(a.poll(Time::ZERO), Some(Event::Ready(0, false)));
    assert!(
        matches!(a.poll(Time::ZERO), Some(Event::Message { token: 7, .. })),
        "the data are not lost"
    );
    assert!((0..1000).all(|token| a.post(Time::ZERO, 0, 1 << 20, token) == Post::Go));
    assert_eq!(a.receiver().unwrap().connections(), 0, "no share is kept for it");
    assert_eq!(b.poll(Time::ZERO), None, "it does not know what a credit message is");
}

/// The ends are in two threads, with nothing between them but the ring: each message is there as a whole once it is there.
#[test]
fn a_message_is_whole_in_another_thread() {
    let (here, there) = pair(Size::new(16 << 10, 64));
    let all = if cfg!(miri) { 20 } else { 20_000 };
    let other = std::thread::spawn(move || {
        let mut b = Host::new(&settings(Some(4 << 10)));
        b.add(there).unwrap();
        let (mut came, mut n) = (0, 0);
        while came < all {
            n += 1;
            let now = Time::from_ps(n * 1_000_000);
            match b.poll(now) {
                Some(Event::Message { token, bytes, .. }) => {
                    let mut got = vec![0; bytes as usize];
                    copy(b.payload(0), &mut got);
                    assert_eq!((token, got), (came, text(came)));
                    b.consumed(now, 0);
                    came += 1;
                }
                Some(Event::Ended(_, why)) => panic!("{why}"),
                _ => std::thread::yield_now(),
            }
        }
        b
    });
    let mut a = Host::new(&settings(Some(4 << 10)));
    a.add(here).unwrap();
    let (mut sent, mut n, mut queued) = (0, 0, VecDeque::new());
    while sent < all || !queued.is_empty() || a.sender().requests() > 0 {
        n += 1;
        let now = Time::from_ps(n * 1_000_000);
        match a.poll(now) {
            Some(Event::Released { token, .. }) => queued.push_back(token),
            Some(Event::Ended(_, why)) => panic!("{why}"),
            Some(_) => {}
            None => std::thread::yield_now(),
        }
        if sent < all {
            let post = a.post(now, 0, text(sent).len() as u64, sent);
            queued.extend((post == Post::Go).then_some(sent));
            sent += u64::from(post != Post::Full);
        }
        if let Some(&token) = queued.front() {
            let bytes = text(token);
            if a.write(now, 0, token, bytes.len() as u64, |lines| fill(lines, &bytes)).unwrap() {
                queued.pop_front();
            }
        }
        if other.is_finished() {
            break; // what it read last is not returned any more
        }
    }
    assert_eq!(sent, all);
    let b = other.join().unwrap();
    assert!(b.traffic().control > 1, "credits came back, not only the first message");
}

/// The other process may write anything into the memory that both share.
#[test]
fn counts_that_cannot_be_end_the_connection() {
    // Sets a word of the direction to the victim, or of the other one.
    let set = |ring: &End, inward: bool, at: usize, value: u64| {
        let first = if inward { ring.words().len() / 2 } else { 0 };
        ring.words()[first + at].store(value, Ordering::Release);
    };
    let victim = || {
        let (here, there) = pair(Size::new(4096, 64));
        let mut a = Host::new(&settings(Some(4096)));
        a.add(here).unwrap();
        (a, there)
    };
    let (written, read, freed, descriptor) = (0, 8, 16, 32);
    let (mut a, there) = victim();
    set(&there, true, written, 65);
    assert_eq!(
        a.poll(Time::ZERO),
        Some(Event::Ended(0, EndReason::Corrupt)),
        "more than the ring has"
    );
    for word in [read, freed] {
        let (mut a, there) = victim();
        set(&there, false, word, 1000);
        a.without_credits(Time::ZERO, 0);
        let error = loop {
            match a.write(Time::ZERO, 0, 0, 1000, |_| {}) {
                Ok(true) => {}
                Ok(false) => panic!("more was read than was written"),
                Err(error) => break error,
            }
        };
        assert_eq!(error, EndReason::Corrupt);
        assert_eq!(
            a.poll(Time::ZERO),
            Some(Event::Ended(0, EndReason::Corrupt)),
            "and it has ended"
        );
        assert_eq!(a.write(Time::ZERO, 0, 0, 8, |_| {}), Err(EndReason::Dead));
    }
    let (mut a, there) = victim();
    set(&there, true, descriptor + 3, 7); // its payload is where the reader is not
    set(&there, true, written, 1);
    assert_eq!(a.poll(Time::ZERO), Some(Event::Ended(0, EndReason::Corrupt)));
    let (mut a, there) = victim();
    set(&there, true, descriptor, 1); // a control message of zeros
    set(&there, true, written, 1);
    let why = EndReason::Absurd(ProtocolError::Garbage(Garbage::Magic));
    assert_eq!(a.poll(Time::ZERO), Some(Event::Ended(0, why)));
    assert_eq!(a.receiver().unwrap().connections(), 0, "its share is free");
}

#[test]
fn two_ends_meet_at_a_socket_and_wake_each_other() {
    let folder = std::env::temp_dir().join(format!("forebay-ring-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let at = folder.join("ring");
    let listener = Listener::bind(&at, Size::new(1 << 20, 256)).unwrap();
    let other = std::thread::spawn(move || {
        let mut b = Host::new(&settings(Some(64 << 10)));
        b.add(connect(&at).unwrap()).unwrap();
        let (mut came, mut n) = (0, 0_u64);
        while came < 2_000 {
            n += 1;
            let now = Time::from_ps(n * 1_000_000);
            match b.poll(now) {
                Some(Event::Message { .. }) => {
                    b.consumed(now, 0);
                    came += 1;
                }
                Some(Event::Ended(_, why)) => panic!("{why}"),
                Some(_) => {}
                None => b.wait(now, Span::from_ms(5)),
            }
        }
    });
    let mut a = Host::new(&settings(Some(64 << 10)));
    a.add(listener.accept().unwrap()).unwrap();
    let (mut sent, mut n, mut charged) = (0, 0_u64, VecDeque::new());
    loop {
        n += 1;
        let now = Time::from_ps(n * 1_000_000);
        if let Some(&token) = charged.front()
            && a.write(now, 0, token, 4096, |_| {}).unwrap()
        {
            charged.pop_front();
        }
        match a.poll(now) {
            Some(Event::Released { token, .. }) => charged.push_back(token),
            Some(Event::Ended(..)) => break,
            Some(_) => {}
            None if sent < 2_000 => match a.post(now, 0, 4096, sent) {
                Post::Go => {
                    charged.push_back(sent);
                    sent += 1;
                }
                Post::Wait => sent += 1,
                Post::Full => a.wait(now, Span::from_ms(5)),
            },
            None => a.wait(now, Span::from_ms(5)),
        }
    }
    other.join().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}
