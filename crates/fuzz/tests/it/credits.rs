//! Credit messages after edits, and both sides of a connection under any sequence of calls, and a ring whose other end writes
//! anything: no panic, no unbounded memory, no credit created.

use bolero::TypeGenerator;
use forebay_credits::{
    Limit, MESSAGE_BYTES, Message, Post, Receiver, Sender, Shares, law, parse_size,
};
use forebay_credits_ring::{Event, Host, Settings, Size, pair};
use forebay_credits_verbs::{ADDRESS_BYTES, Address};
use forebay_fuzz::each;
use forebay_units::{Span, Time};
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn credit_messages() {
    each!(2_000, [u8; MESSAGE_BYTES], |bytes| {
        if let Ok(message) = Message::decode(bytes) {
            assert_eq!(message.encode(), *bytes);
        }
        let shares = Shares { limit: 7, connections: 3, line: 64, epoch: 9 };
        let mut near =
            Message::Credit { connection: 1, returned: 2, shares, acknowledge: false }.encode();
        near[usize::from(bytes[0]) % MESSAGE_BYTES] = bytes[1];
        near[usize::from(bytes[2]) % MESSAGE_BYTES] = bytes[3];
        if let Ok(message) = Message::decode(&near) {
            assert_eq!(message.encode(), near);
        }
        let _ = Message::decode(&bytes[usize::from(bytes[4]) % MESSAGE_BYTES..]);
        parse_size(&String::from_utf8_lossy(bytes));
    });
}

/// A call, or what an evil peer sends.
#[allow(missing_docs, reason = "each is a call of the library")]
#[derive(Clone, Debug, TypeGenerator)]
enum Step {
    Post(u8, u32),
    Large(u8, u64),
    Completed(u8),
    Counter(u8, u32),
    Near(u8, i8),
    Credit(u8, u32, u32, u32, u8, u16, bool),
    Ask(u8, u32, u16, bool),
    Consumed(u8, u32),
    Answered(u8, u64),
    Limit(u64),
    Connect(bool),
    Disconnect(u8),
    Time(u32),
    Poll,
}

#[test]
fn both_sides_of_a_connection() {
    each!(300, Vec<Step>, |steps| {
        let mut sender = Sender::new(&law().expect("a law"), 4, 50);
        let mut receiver = Receiver::new(Limit::of_bytes(64_000, 64).expect("a limit"), 4);
        let mut now = Time::ZERO;
        let (mut here, mut there) = (Vec::new(), Vec::new());
        let of = |all: &[u32], at: u8| (!all.is_empty()).then(|| all[usize::from(at) % all.len()]);
        for step in steps {
            match *step {
                Step::Post(at, bytes) => {
                    let Some(at) = of(&here, at) else { continue };
                    sender.post(now, at, bytes.into(), 1);
                }
                Step::Large(at, bytes) => {
                    let Some(at) = of(&here, at) else { continue };
                    sender.post(now, at, bytes, 2);
                }
                Step::Completed(at) => {
                    let Some(at) = of(&here, at) else { continue };
                    sender.completed(now, at);
                }
                Step::Counter(at, counter) => {
                    let Some(at) = of(&here, at) else { continue };
                    let _ = sender.counter(now, at, counter);
                }
                Step::Near(at, more) => {
                    let Some(at) = of(&here, at) else { continue };
                    let out = |sender: &Sender| {
                        sender.account(at).map_or(0, |of| of.totals().outstanding)
                    };
                    let before = out(&sender);
                    let _ = sender.counter(now, at, more as u32);
                    assert!(out(&sender) <= before, "a counter takes no credit");
                }
                Step::Credit(at, returned, limit, connections, line, epoch, acknowledge) => {
                    let Some(at) = of(&here, at) else { continue };
                    let shares = Shares { limit, connections, line: 1 << (line % 32), epoch };
                    let connection = u32::from(line) % 4;
                    let message = Message::Credit { connection, returned, shares, acknowledge };
                    // As it comes over a wire.
                    if let Ok(message) = Message::decode(&message.encode()) {
                        let _ = sender.message(now, at, &message);
                    }
                }
                Step::Ask(at, posted, epoch, answer) => {
                    let Some(at) = of(&there, at) else { continue };
                    let ask = Message::Ask { connection: at, posted, epoch, answer };
                    let _ = receiver.message(now, at, &ask);
                }
                Step::Consumed(at, bytes) => {
                    let Some(at) = of(&there, at) else { continue };
                    receiver.completed(now, at, bytes.into());
                }
                Step::Answered(at, bytes) => {
                    let Some(at) = of(&there, at) else { continue };
                    receiver.answered(now, at, bytes >> 8);
                }
                Step::Limit(bytes) => {
                    let Ok(limit) = Limit::of_bytes(bytes, 64) else { continue };
                    receiver.set_limit(limit);
                }
                Step::Connect(credits) => {
                    let hello = receiver.connect();
                    there.extend(hello.map(|(at, _)| at));
                    let hello = hello.filter(|_| credits).map(|(_, message)| message);
                    here.extend(sender.connect(now, hello.as_ref()).expect("it is the first"));
                }
                Step::Disconnect(at) => {
                    if let (Some(one), Some(other)) = (of(&here, at), of(&there, at)) {
                        sender.disconnect(one, |_| {});
                        receiver.disconnect(other);
                        here.retain(|at| *at != one);
                        there.retain(|at| *at != other);
                    }
                }
                Step::Time(ns) => now += Span::from_ns(ns.into()),
                Step::Poll => {
                    for _ in 0..50 {
                        sender.poll(now);
                        if let Some(at) = receiver.poll(now) {
                            receiver.credit_message(now, at);
                        }
                        sender.next_message(now);
                    }
                }
            }
            assert!(sender.requests() <= 50, "the pool has its size");
        }
    });
}

#[test]
fn addresses_of_queue_pairs() {
    each!(500, ([u8; ADDRESS_BYTES], [u8; 8]), |(bytes, edits)| {
        let mut near = *bytes;
        near[..8].copy_from_slice(b"fbverb01");
        near[38..40].fill(0);
        let hello = if edits[0] % 2 == 0 {
            [0; MESSAGE_BYTES]
        } else {
            let shares = Shares { limit: 9, connections: 1, line: 64, epoch: 0 };
            Message::Hello { connection: 0, shares }.encode()
        };
        near[ADDRESS_BYTES - MESSAGE_BYTES..].copy_from_slice(&hello);
        assert_eq!(Address::decode(&near).map(|of| of.encode()), Ok(near));
        near[usize::from(edits[1]) % ADDRESS_BYTES] = edits[2];
        near[usize::from(edits[3]) % ADDRESS_BYTES] = edits[4];
        let _ = Address::decode(&near);
        let _ = Address::decode(bytes);
    });
}

/// What the victim does, and what the other end of its ring writes.
#[allow(missing_docs, reason = "each is a call, or words of the ring")]
#[derive(Clone, Debug, TypeGenerator)]
enum Evil {
    Word(u16, u64),
    Near(u8, i8),
    Record(u64, u64, u64, u64, Option<[u8; MESSAGE_BYTES]>),
    Credit(u32, u32, u16, bool),
    Post(u16),
    Poll,
    Time(u32),
}

#[test]
fn ring_of_an_evil_peer() {
    each!(300, Vec<Evil>, |steps| {
        let (here, there) = pair(Size::new(4096, 64));
        let limit = Some(Limit::of_bytes(4096, 64).expect("a limit"));
        let law = law().expect("a law");
        let mut host = Host::new(&Settings { limit, law, connections: 2, requests: 50 });
        host.add(here).expect("a number is free");
        let ring = there.words();
        let half = ring.len() / 2;
        // Counts of both directions, and the first descriptors of that to the victim.
        let place = |at: usize| match at % 16 {
            count @ 0..8 => (count / 4) * half + count % 4 * 8,
            word => half + 32 + (at / 16 % 4) * 8 + word % 8,
        };
        // A record is written as the other end would: its words, then the count.
        let record = |words: [u64; 7]| {
            let written = ring[half].load(Relaxed);
            let at = half + 32 + (written % 64) as usize * 8;
            for (word, value) in ring[at..].iter().zip(words) {
                word.store(value, Relaxed);
            }
            ring[half].store(written.wrapping_add(1), Relaxed);
        };
        let words = |of: &[u8; MESSAGE_BYTES]| {
            let word =
                |at: usize| of[8 * at..].first_chunk().map_or(0, |of| u64::from_le_bytes(*of));
            [word(0), word(1), word(2)]
        };
        record([1, 0, 0, 0, 0, 0, 0]);
        let shares = Shares { limit: 64, connections: 1, line: 64, epoch: 0 };
        let hello = words(&Message::Hello { connection: 0, shares }.encode());
        ring[half + 32 + 4..]
            .iter()
            .zip(hello)
            .for_each(|(word, value)| word.store(value, Relaxed));
        let (mut now, mut token) = (Time::ZERO, 0);
        for step in steps {
            match *step {
                Evil::Word(at, value) => ring[usize::from(at) % ring.len()].store(value, Relaxed),
                Evil::Near(at, more) => {
                    let word = &ring[place(at.into())];
                    word.store(word.load(Relaxed).wrapping_add_signed(more.into()), Relaxed);
                }
                Evil::Record(bytes, token, counter, at, control) => {
                    let message = control.as_ref().map_or([0; 3], words);
                    let first = bytes % 5000 * 2 + u64::from(control.is_some());
                    let counter = ((counter >> 62) << 32) + counter % 100;
                    record([first, token, counter, at % 70, message[0], message[1], message[2]]);
                }
                Evil::Credit(returned, limit, epoch, acknowledge) => {
                    let (returned, limit) = (returned % 99, limit % 99);
                    let shares = Shares { limit, connections: 1, line: 64, epoch };
                    let credit = Message::Credit { connection: 0, returned, shares, acknowledge };
                    let [a, b, c] = words(&credit.encode());
                    record([1, 0, 0, 0, a, b, c]);
                }
                Evil::Post(bytes) => {
                    token += 1;
                    if host.post(now, 0, bytes.into(), token) == Post::Go {
                        let _ = host.write(now, 0, token, bytes.into(), |_| {});
                    }
                }
                Evil::Poll => {
                    for _ in 0..80 {
                        match host.poll(now) {
                            Some(Event::Message { peer, .. }) => {
                                assert!(host.payload(peer).len() <= 4096 / 8);
                                host.consumed(now, peer);
                            }
                            Some(Event::Released { peer, token, bytes }) => {
                                let _ = host.write(now, peer, token, bytes, |_| {});
                            }
                            Some(_) => {}
                            None => break,
                        }
                    }
                }
                Evil::Time(ns) => now += Span::from_ns(ns.into()),
            }
            assert!(host.sender().requests() <= 50, "the pool has its size");
        }
    });
}
