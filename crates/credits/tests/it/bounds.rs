//! Memory and order: what is promised of 65,536 connections.

use forebay_credits::{Limit, Message, Post, RECEIVER_STATE, Receiver, SENDER_STATE, Sender, law};
use forebay_units::Time;

const NOW: Time = Time::ZERO;

#[test]
fn a_connection_takes_at_most_128_bytes_at_either_end() {
    const { assert!(RECEIVER_STATE <= 128) };
    const { assert!(SENDER_STATE <= 128) };
}

#[test]
fn a_receiver_has_65_536_connections_and_each_gets_its_share() {
    let mut receiver = Receiver::new(Limit::of_bytes(64 << 20, 64).unwrap(), 65_536);
    let numbers: Vec<u32> = (0..65_536).map(|_| receiver.connect().unwrap().0).collect();
    assert_eq!(receiver.connect(), None, "there are no more numbers");
    assert_eq!(receiver.share(), (1 << 20) / 65_536);
    numbers.iter().for_each(|at| receiver.disconnect(*at));
    assert_eq!((receiver.connections(), receiver.share()), (0, 1 << 20));
    assert!(receiver.connect().is_some());
}

#[test]
fn a_request_that_finds_no_room_in_the_pool_is_refused_and_changes_nothing() {
    let mut receiver = Receiver::new(Limit::of_bytes(4 * 64, 64).unwrap(), 1);
    let mut sender = Sender::new(&law().unwrap(), 1, 6);
    let (_, hello) = receiver.connect().unwrap();
    let at = sender.connect(NOW, Some(&hello)).unwrap().unwrap();
    let posts: Vec<Post> = (0..8).map(|token| sender.post(NOW, at, 64, token)).collect();
    assert_eq!(posts[..4], [Post::Go; 4]);
    assert_eq!(posts[4..6], [Post::Wait; 2]);
    assert_eq!(posts[6..], [Post::Full; 2]);
    assert_eq!(sender.account(at).unwrap().totals().blocked, 2);
    sender.counter(NOW, at, 1).unwrap();
    assert_eq!(sender.poll(NOW).unwrap().token, 4);
    assert_eq!(sender.post(NOW, at, 64, 8), Post::Wait, "one has left the pool");
}

#[test]
fn a_request_above_the_whole_limit_goes_when_nothing_is_outstanding() {
    let mut receiver = Receiver::new(Limit::of_bytes(4 * 64, 64).unwrap(), 1);
    let mut sender = Sender::new(&law().unwrap(), 1, 6);
    let at = sender.connect(NOW, Some(&receiver.connect().unwrap().1)).unwrap().unwrap();
    assert_eq!(sender.post(NOW, at, 64, 0), Post::Go);
    assert_eq!(sender.post(NOW, at, 100 * 64, 1), Post::Wait);
    sender.counter(NOW, at, 1).unwrap();
    assert_eq!(sender.poll(NOW).unwrap().token, 1);
    assert_eq!(sender.post(NOW, at, 64, 2), Post::Wait, "it is alone");
}

#[test]
fn requests_of_no_bytes_come_back_as_others_do() {
    let mut receiver = Receiver::new(Limit::of_bytes(4 * 64, 64).unwrap(), 1);
    let mut sender = Sender::new(&law().unwrap(), 1, 6);
    let (there, hello) = receiver.connect().unwrap();
    let at = sender.connect(NOW, Some(&hello)).unwrap().unwrap();
    for token in 0..100 {
        assert_eq!(sender.post(NOW, at, 0, token), Post::Go, "request {token}");
        receiver.completed(NOW, there, 0);
        sender.message(NOW, at, &receiver.credit_message(NOW, there)).unwrap();
        assert_eq!(sender.account(at).unwrap().totals().outstanding, 0);
    }
    assert_eq!(sender.requests(), 0, "none stays in the pool");
}

#[test]
fn a_peer_without_the_library_gets_everything_at_once() {
    let mut sender = Sender::new(&law().unwrap(), 1, 1);
    let at = sender.connect(NOW, None).unwrap().unwrap();
    assert!((0..1000).all(|token| sender.post(NOW, at, 1 << 30, token) == Post::Go));
    assert!(sender.account(at).is_none());
}

#[test]
fn credits_of_a_dead_peer_are_free_when_the_connection_fails() {
    let mut receiver = Receiver::new(Limit::of_bytes(8 * 64, 64).unwrap(), 2);
    let mut sender = Sender::new(&law().unwrap(), 2, 8);
    let both: Vec<(u32, Message)> = (0..2).map(|_| receiver.connect().unwrap()).collect();
    let [dead, alive] = [0, 1].map(|i| sender.connect(NOW, Some(&both[i].1)).unwrap().unwrap());
    let posts: Vec<Post> = (0..9).map(|token| sender.post(NOW, dead, 64, token)).collect();
    assert_eq!(posts[8], Post::Full);
    let mut lost = Vec::new();
    sender.disconnect(dead, |of| lost.push(of.token));
    assert_eq!(lost, [0, 1, 2, 3, 4, 5, 6, 7], "all come back, those posted first");
    assert_eq!(sender.post(NOW, alive, 64, 9), Post::Go);
    receiver.disconnect(both[0].0);
    let message = receiver.credit_message(NOW, both[1].0);
    sender.message(NOW, alive, &message).unwrap();
    assert_eq!(sender.account(alive).unwrap().limit(), 8, "the other has the whole cache");
}
