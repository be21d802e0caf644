//! Absurd messages end the connection with an error, and change nothing.

use forebay_credits::{Limit, Message, Post, ProtocolError, Receiver, Sender, Shares, law};
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
    let error = ProtocolError::Returned { outstanding: 10, returned: 11 };
    assert_eq!(sender.counter(NOW, here, 11), Err(error));
    assert_eq!(sender.account(here).unwrap().totals().outstanding, 10);
    assert_eq!(sender.counter(NOW, here, 10), Ok(()));
    assert_eq!(
        sender.counter(NOW, here, 11),
        Err(ProtocolError::Returned { outstanding: 0, returned: 1 })
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
    assert_eq!(
        sender.message(NOW, here, &credit(there + 1, shares)),
        Err(ProtocolError::Connection)
    );
    let other = credit(there, Shares { line: 128, ..shares });
    assert_eq!(sender.message(NOW, here, &other), Err(ProtocolError::Line));
    let ask = |connection, epoch| Message::Ask { connection, posted: 0, epoch, answer: false };
    assert_eq!(sender.message(NOW, here, &ask(there, 0)), Err(ProtocolError::Unexpected));
    assert_eq!(receiver.message(NOW, there, &ask(there, 1)), Err(ProtocolError::Epoch));
    assert_eq!(receiver.message(NOW, there, &ask(there + 1, 0)), Err(ProtocolError::Connection));
    assert_eq!(
        receiver.message(NOW, there, &credit(there, shares)),
        Err(ProtocolError::Unexpected)
    );
    let hello = Message::Hello { connection: there, shares };
    assert_eq!(sender.message(NOW, here, &hello), Err(ProtocolError::Unexpected), "it had one");
    assert_eq!(sender.connect(NOW, Some(&ask(0, 0))), Err(ProtocolError::Unexpected));
}
