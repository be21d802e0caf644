//! Credit messages after edits, and both sides of a connection under any sequence of calls: no panic, no unbounded memory, no credit created.

use bolero::TypeGenerator;
use forebay_credits::{Limit, MESSAGE_BYTES, Message, Receiver, Sender, Shares, law, parse_size};
use forebay_fuzz::each;
use forebay_units::{Span, Time};

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
