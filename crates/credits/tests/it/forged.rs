//! Absurd messages end the connection with an error, and change nothing.

use forebay_credits::{Absurd, Limit, Message, Post, Receiver, Sender, Shares, law};
use forebay_units::Time;

const NOW: Time = Time::ZERO;

fn pair() -> (Sender, u32, Receiver, u32) {
    let mut receiver = Receiver::new(Limit::of_bytes(64 << 10, 64).unwrap(), 4);
    let mut sender = Sender::new(&law().unwrap(), 4, 100);
    let (there, hello) = receiver.connect().unwrap();
    let here = sender.connect(NOW, Some(&hello)).unwrap().unwrap();
    (sender, here, receiver, there)
}

#[test]
fn more_credits_than_are_outstanding_are_an_error() {
    let (mut sender, here, ..) = pair();
    assert_eq!(sender.post(NOW, here, 640, 0), Post::Go);
    let error = Absurd::Returned { outstanding: 10, returned: 11 };
    assert_eq!(sender.counter(NOW, here, 11), Err(error));
    assert_eq!(sender.account(here).unwrap().totals().outstanding, 10);
    assert_eq!(sender.counter(NOW, here, 10), Ok(()));
    assert_eq!(
        sender.counter(NOW, here, 11),
        Err(Absurd::Returned { outstanding: 0, returned: 1 })
    );
}

#[test]
fn a_counter_that_is_late_changes_nothing() {
    let (mut sender, here, ..) = pair();
    for token in 0..4 {
        sender.post(NOW, here, 64, token);
    }
    sender.counter(NOW, here, 3).unwrap();
    for late in [2, 0, 3, u32::MAX, 3_u32.wrapping_sub(1 << 31)] {
        sender.counter(NOW, here, late).unwrap();
        assert_eq!(sender.account(here).unwrap().totals().outstanding, 1);
    }
}

#[test]
fn a_message_of_another_connection_or_another_side_is_an_error() {
    let (mut sender, here, mut receiver, there) = pair();
    let Message::Credit { shares, .. } = receiver.credit_message(NOW, there) else { panic!() };
    let credit = |connection, shares| Message::Credit {
        connection,
        returned: 0,
        shares,
        acknowledge: false,
    };
    assert_eq!(sender.message(NOW, here, &credit(there + 1, shares)), Err(Absurd::Connection));
    let other = credit(there, Shares { line: 128, ..shares });
    assert_eq!(sender.message(NOW, here, &other), Err(Absurd::Line));
    let ask = |connection, epoch| Message::Ask { connection, posted: 0, epoch, answer: false };
    assert_eq!(sender.message(NOW, here, &ask(there, 0)), Err(Absurd::Unexpected));
    assert_eq!(receiver.message(NOW, there, &ask(there, 1)), Err(Absurd::Epoch));
    assert_eq!(receiver.message(NOW, there, &ask(there + 1, 0)), Err(Absurd::Connection));
    assert_eq!(receiver.message(NOW, there, &credit(there, shares)), Err(Absurd::Unexpected));
    let hello = Message::Hello { connection: there, shares };
    assert_eq!(sender.message(NOW, here, &hello), Err(Absurd::Unexpected), "it had one");
    assert_eq!(sender.connect(NOW, Some(&ask(0, 0))), Err(Absurd::Unexpected));
}
