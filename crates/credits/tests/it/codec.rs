//! The layout of a message.

use forebay_credits::{Garbage, MESSAGE_BYTES, MOST_LINES, Message, Shares};
use proptest::prelude::*;

const SHARES: Shares =
    Shares { limit: 0x0102_0304, connections: 0x0506_0708, line: 64, epoch: 0x090a };

#[test]
fn a_message_has_the_bytes_of_the_decision_record() {
    let credit =
        Message::Credit { connection: 1, returned: 0xdead_beef, shares: SHARES, acknowledge: true };
    let bytes =
        [0xfb, 0xc1, 1, 1, 0, 0, 0, 1, 0xde, 0xad, 0xbe, 0xef, 5, 6, 7, 8, 1, 2, 3, 4, 9, 10, 6, 1];
    assert_eq!(credit.encode(), bytes);
    assert_eq!(Message::decode(&bytes), Ok(credit));
    let ask = Message::Ask { connection: 2, posted: 3, epoch: 4, answer: true };
    let bytes = [0xfb, 0xc1, 1, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1];
    assert_eq!(ask.encode(), bytes);
}

#[test]
fn each_byte_that_cannot_be_is_refused_with_its_reason() {
    let good = Message::Hello { connection: 7, shares: SHARES }.encode();
    let with = |at: usize, bytes: &[u8]| {
        let mut bad = good;
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        Message::decode(&bad).unwrap_err()
    };
    assert_eq!(with(0, &[0]), Garbage::Magic);
    assert_eq!(with(2, &[2]), Garbage::Version(2));
    assert_eq!(with(3, &[9]), Garbage::Kind(9));
    assert_eq!(with(8, &[1]), Garbage::Reserved);
    assert_eq!(with(12, &[0; 4]), Garbage::NoConnections);
    assert_eq!(with(16, &[0; 4]), Garbage::Limit(0));
    assert_eq!(with(16, &[0xff; 4]), Garbage::Limit(u32::MAX));
    assert_eq!(with(22, &[2]), Garbage::Line(2));
    assert_eq!(with(22, &[64]), Garbage::Line(64));
    assert_eq!(with(23, &[1]), Garbage::Reserved);
    assert_eq!(Message::decode(&good[..23]), Err(Garbage::Length));
    assert_eq!(Message::decode(&[]), Err(Garbage::Length));
}

fn messages() -> impl Strategy<Value = Message> {
    let shares = (1..=MOST_LINES, 1..=u32::MAX, 3..=16_u32, any::<u16>());
    let shares = shares.prop_map(|(limit, connections, line, epoch)| Shares {
        limit,
        connections,
        line: 1 << line,
        epoch,
    });
    (0..3_u8, any::<[u32; 2]>(), shares, any::<bool>()).prop_map(
        |(kind, [connection, number], shares, flag)| match kind {
            0 => Message::Hello { connection, shares },
            1 => Message::Credit { connection, returned: number, shares, acknowledge: flag },
            _ => Message::Ask { connection, posted: number, epoch: shares.epoch, answer: flag },
        },
    )
}

proptest! {
    #[test]
    fn a_message_comes_back_from_its_bytes(message in messages()) {
        prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
    }

    /// One byte is changed: the bytes are refused, or are another message with exactly these bytes.
    #[test]
    fn what_is_accepted_encodes_to_the_same_bytes(message in messages(), at in 0..MESSAGE_BYTES, byte: u8) {
        let mut bytes = message.encode();
        bytes[at] = byte;
        if let Ok(other) = Message::decode(&bytes) {
            prop_assert_eq!(other.encode(), bytes);
        }
    }
}
