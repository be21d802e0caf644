//! Memory of a connection, and that nothing is allocated once both sides are made.
#![allow(unsafe_code)] // An allocator that counts.

use forebay_credits::{Limit, Post, Receiver, Sender, law};
use forebay_laws::pool::registry::MAX_STATE;
use forebay_units::{Span, Time};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does everything; a count of this thread allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + layout.size() as u64));
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes that one more connection takes at the start.
fn bytes<T>(make: impl Fn(u32) -> T) -> u64 {
    let taken = |connections| {
        let before = BYTES.get();
        drop(make(connections));
        BYTES.get() - before
    };
    (taken(65_536) - taken(1)).div_ceil(65_535)
}

/// At most 128 at the receiver. A sender has as many for itself, and its law those that a law of this role may have.
#[test]
fn memory_of_a_connection_is_bounded() {
    let limit = Limit::of_bytes(8 << 20, 64).unwrap();
    let receiver = bytes(|connections| Receiver::new(limit, connections));
    let sender = bytes(|connections| Sender::new(&law().unwrap(), connections, 1));
    assert_eq!((receiver, sender), (88, 256));
    assert!(receiver <= 128 && sender <= 128 + MAX_STATE as u64);
}

#[test]
fn nothing_is_allocated_after_the_start() {
    let connections = 1_000;
    let mut receiver = Receiver::new(Limit::of_bytes(8 << 20, 64).unwrap(), connections);
    let mut sender = Sender::new(&law().unwrap(), connections, 10_000);
    let before = ALLOCATIONS.get();
    let mut now = Time::ZERO;
    for round in 0..3 {
        for _ in 0..connections {
            let (_, hello) = receiver.connect().unwrap();
            sender.connect(now, Some(&hello)).unwrap().unwrap();
        }
        let mut waited = 0;
        for token in 0..10 {
            for at in 0..connections {
                now += Span::from_ns(50);
                waited += u32::from(sender.post(now, at, 4096, token) == Post::Wait);
            }
        }
        assert!(waited > 0);
        for _ in 0..10 {
            for at in 0..connections {
                receiver.completed(now, at, 4096);
                let message = receiver.credit_message(now, at);
                sender.message(now, at, &message).unwrap();
                while sender.poll(now).is_some() {}
                if let Some((from, ask)) = sender.next_message(now) {
                    receiver.message(now, from, &ask).unwrap();
                }
            }
            now += Span::from_ms(11);
        }
        assert_eq!(sender.requests(), 0, "round {round}");
        for at in 0..connections {
            sender.disconnect(at, |_| {});
            receiver.disconnect(at);
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
