//! The C interface of `forebay-credits`. `include/forebay_credits.h` is made from this file by a test (feature `header`).
//!
//! An object belongs to one thread at a time. A null object, a number without a connection and bytes that are no message give an
//! error. Times are nanoseconds of any clock that never goes back.
//!
//! Invariant: each pointer is checked for null and used only during the call, apart from objects, which their `free` ends.
#![allow(non_camel_case_types)] // As C has them.
#![allow(unsafe_code)] // Exported names, and pointers of the caller: what must hold for them is said at each function.

use forebay_credits::{Limit, MESSAGE_BYTES, Message, Post, ProtocolError, Receiver, Sender};
use forebay_linux::Root;
use forebay_units::Time;
use std::ffi::{CStr, c_char};

/// Bytes of a credit message.
pub const FOREBAY_MESSAGE_BYTES: usize = 24;
const _: () = assert!(FOREBAY_MESSAGE_BYTES == MESSAGE_BYTES);

/// Any memory node.
pub const FOREBAY_ANY_NODE: i32 = -1;

/// Result of a call.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum forebay_result {
    /// Done; nothing more is to do.
    FOREBAY_OK = 0,
    /// Done; a credit message is to be sent now.
    FOREBAY_SEND = 1,
    /// There is no such connection, or no number is free.
    FOREBAY_NO_CONNECTION = -1,
    /// The peer's message is absurd: end the connection.
    FOREBAY_ABSURD = -2,
    /// The machine's cache is unknown, or nothing of it is left.
    FOREBAY_NO_LIMIT = -3,
    /// A pointer is null.
    FOREBAY_NULL = -4,
}

/// Decision about a request.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum forebay_post {
    /// Post it now.
    FOREBAY_GO = 0,
    /// Wait for credits; `forebay_sender_poll` releases the request.
    FOREBAY_WAIT = 1,
    /// There is no room for another request; nothing has changed.
    FOREBAY_FULL = 2,
    /// There is no such connection.
    FOREBAY_REFUSED = 3,
}

/// Unread data that all connections of a receiver together may have.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct forebay_limit {
    /// Lines.
    pub lines: u32,
    /// Bytes of a line.
    pub line: u32,
}

/// A request that may be posted now.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct forebay_released {
    /// Name that the application gave it.
    pub token: u64,
    /// Bytes of it.
    pub bytes: u64,
    /// Number of the connection.
    pub connection: u32,
}

/// The sender's side of many connections.
pub struct forebay_sender(Sender);

/// The receiver's side of many connections.
pub struct forebay_receiver(Receiver);

use forebay_post::*;
use forebay_result::*;

fn time(ns: u64) -> Time {
    Time::from_ps(ns.saturating_mul(1000))
}

fn ns(time: Time) -> u64 {
    if time == Time::MAX { u64::MAX } else { time.as_ps().div_ceil(1000) }
}

fn result(of: Result<(), ProtocolError>) -> forebay_result {
    if of.is_ok() { FOREBAY_OK } else { FOREBAY_ABSURD }
}

/// The object behind a pointer.
///
/// # Safety
/// `of` is null, or points to an object that nothing else uses during the call.
unsafe fn object<'a, T>(of: *mut T) -> Option<&'a mut T> {
    // SAFETY: as the caller says.
    unsafe { of.as_mut() }
}

/// Writes a value where the caller wants it.
///
/// # Safety
/// `to` is null, or may be written.
unsafe fn put<T>(to: *mut T, value: T) -> bool {
    if to.is_null() {
        return false;
    }
    // SAFETY: it is not null, and the caller says that it may be written.
    unsafe { to.write(value) };
    true
}

/// The message in the caller's bytes.
///
/// # Safety
/// `bytes` is null, or `length` bytes there may be read.
unsafe fn message(bytes: *const u8, length: usize) -> Result<Message, forebay_result> {
    if bytes.is_null() {
        return Err(FOREBAY_NULL);
    }
    if length != MESSAGE_BYTES {
        return Err(FOREBAY_ABSURD);
    }
    // SAFETY: they are not null, so many may be read as the caller says, and nothing keeps the slice.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    Message::decode(bytes).map_err(|_| FOREBAY_ABSURD)
}

/// Text of a result, which is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_result_text(of: i32) -> *const c_char {
    let text: &CStr = match of {
        0 => c"done",
        1 => c"a credit message is to be sent",
        -1 => c"there is no such connection, or no number is free",
        -2 => c"the peer's message is absurd",
        -3 => c"no cache is known, or nothing of it is left",
        -4 => c"a pointer is null",
        _ => c"no result has this number",
    };
    text.as_ptr()
}

/// The limit of this machine, for buffers in the memory of `node` (`FOREBAY_ANY_NODE`: of any).
/// `others_percent` of the cache is left to others; 25 is a good start.
///
/// # Safety
/// `limit` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_limit_of_machine(
    node: i32,
    others_percent: u32,
    limit: *mut forebay_limit,
) -> forebay_result {
    let caches = forebay_linux::caches::caches(&Root::machine());
    // SAFETY: as the caller says.
    unsafe {
        give_limit(Limit::choose(&caches, u32::try_from(node).ok(), others_percent).ok(), limit)
    }
}

/// A limit of `bytes`, rounded down to lines.
///
/// # Safety
/// `limit` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_limit_of_bytes(
    bytes: u64,
    line: u32,
    limit: *mut forebay_limit,
) -> forebay_result {
    // SAFETY: as the caller says.
    unsafe { give_limit(Limit::of_bytes(bytes, line).ok(), limit) }
}

/// # Safety
/// `to` is null or may be written.
unsafe fn give_limit(of: Option<Limit>, to: *mut forebay_limit) -> forebay_result {
    let Some(Limit { lines, line, .. }) = of else { return FOREBAY_NO_LIMIT };
    // SAFETY: as the caller says.
    if unsafe { put(to, forebay_limit { lines, line }) } { FOREBAY_OK } else { FOREBAY_NULL }
}

/// A sender of at most `connections`, with at most `requests` posted and waiting at once. All memory is taken now.
/// End it with `forebay_sender_free`. Null: there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_sender_new(connections: u32, requests: u32) -> *mut forebay_sender {
    match forebay_credits::law() {
        Ok(law) => {
            Box::into_raw(Box::new(forebay_sender(Sender::new(&law, connections, requests))))
        }
        Err(_) => std::ptr::null_mut(),
    }
}

/// Ends a sender.
///
/// # Safety
/// `sender` is null, or came from `forebay_sender_new` and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_sender_free(sender: *mut forebay_sender) {
    if !sender.is_null() {
        // SAFETY: it came from a box, and is used no more.
        drop(unsafe { Box::from_raw(sender) });
    }
}

/// A connection comes, with the first message of its receiver. `hello` null: the peer does without this library, credits are off.
/// `connection` gets its number.
///
/// # Safety
/// `sender` is null or of `forebay_sender_new`; `hello` is null or has `length` bytes; `connection` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_sender_connect(
    sender: *mut forebay_sender,
    now_ns: u64,
    hello: *const u8,
    length: usize,
    connection: *mut u32,
) -> forebay_result {
    // SAFETY: as the caller says.
    let Some(forebay_sender(sender)) = (unsafe { object(sender) }) else { return FOREBAY_NULL };
    if connection.is_null() {
        return FOREBAY_NULL;
    }
    let hello = match hello.is_null() {
        true => None,
        // SAFETY: as the caller says.
        false => match unsafe { message(hello, length) } {
            Ok(of) => Some(of),
            Err(why) => return why,
        },
    };
    match sender.connect(time(now_ns), hello.as_ref()) {
        Err(_) => FOREBAY_ABSURD,
        Ok(None) => FOREBAY_NO_CONNECTION,
        Ok(Some(number)) => {
            // SAFETY: as the caller says.
            unsafe { put(connection, number) };
            FOREBAY_OK
        }
    }
}

/// A connection ended or failed: its credits are free, and its requests are forgotten.
///
/// # Safety
/// `sender` is null or of `forebay_sender_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_sender_disconnect(sender: *mut forebay_sender, connection: u32) {
    // SAFETY: as the caller says.
    if let Some(forebay_sender(sender)) = unsafe { object(sender) } {
        sender.disconnect(connection, |_| {});
    }
}

/// The application makes a request of `bytes`, and calls it `token`.
///
/// # Safety
/// `sender` is null or of `forebay_sender_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_sender_post(
    sender: *mut forebay_sender,
    now_ns: u64,
    connection: u32,
    bytes: u64,
    token: u64,
) -> forebay_post {
    // SAFETY: as the caller says.
    match unsafe { object(sender) } {
        Some(forebay_sender(sender)) if sender.is_connected(connection) => {
            match sender.post(time(now_ns), connection, bytes, token) {
                Post::Go => FOREBAY_GO,
                Post::Wait => FOREBAY_WAIT,
                Post::Full => FOREBAY_FULL,
            }
        }
        _ => FOREBAY_REFUSED,
    }
}

/// A response came, which returns the credits of the oldest request. Use it where no counters travel.
///
/// # Safety
/// `sender` is null or of `forebay_sender_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_sender_completed(
    sender: *mut forebay_sender,
    now_ns: u64,
    connection: u32,
) -> forebay_result {
    // SAFETY: as the caller says.
    let Some(forebay_sender(sender)) = (unsafe { object(sender) }) else { return FOREBAY_NULL };
    if !sender.is_connected(connection) {
        return FOREBAY_NO_CONNECTION;
    }
    sender.completed(time(now_ns), connection);
    FOREBAY_OK
}

/// A counter came, as immediate data of a message.
///
/// # Safety
/// `sender` is null or of `forebay_sender_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_sender_counter(
    sender: *mut forebay_sender,
    now_ns: u64,
    connection: u32,
    counter: u32,
) -> forebay_result {
    // SAFETY: as the caller says.
    let Some(forebay_sender(sender)) = (unsafe { object(sender) }) else { return FOREBAY_NULL };
    if !sender.is_connected(connection) {
        return FOREBAY_NO_CONNECTION;
    }
    result(sender.counter(time(now_ns), connection, counter))
}

/// A credit message came.
///
/// # Safety
/// `sender` is null or of `forebay_sender_new`; `bytes` is null or has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_sender_message(
    sender: *mut forebay_sender,
    now_ns: u64,
    connection: u32,
    bytes: *const u8,
    length: usize,
) -> forebay_result {
    // SAFETY: as the caller says.
    let Some(forebay_sender(sender)) = (unsafe { object(sender) }) else { return FOREBAY_NULL };
    if !sender.is_connected(connection) {
        return FOREBAY_NO_CONNECTION;
    }
    // SAFETY: as the caller says.
    match unsafe { message(bytes, length) } {
        Ok(of) => result(sender.message(time(now_ns), connection, &of)),
        Err(why) => why,
    }
}

/// A request that may be posted now. False: there is none.
///
/// # Safety
/// `sender` is null or of `forebay_sender_new`; `released` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_sender_poll(
    sender: *mut forebay_sender,
    now_ns: u64,
    released: *mut forebay_released,
) -> bool {
    if released.is_null() {
        return false;
    }
    // SAFETY: as the caller says.
    let Some(forebay_sender(sender)) = (unsafe { object(sender) }) else { return false };
    let Some(of) = sender.poll(time(now_ns)) else { return false };
    let of = forebay_released { token: of.token, bytes: of.bytes, connection: of.connection };
    // SAFETY: as the caller says.
    unsafe { put(released, of) }
}

/// A message for a receiver, of `FOREBAY_MESSAGE_BYTES` bytes. False: there is none.
///
/// # Safety
/// `sender` is null or of `forebay_sender_new`; `connection` and 24 bytes at `bytes` are null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_sender_next_message(
    sender: *mut forebay_sender,
    now_ns: u64,
    connection: *mut u32,
    bytes: *mut u8,
) -> bool {
    if connection.is_null() || bytes.is_null() {
        return false;
    }
    // SAFETY: as the caller says.
    let Some(forebay_sender(sender)) = (unsafe { object(sender) }) else { return false };
    let Some((number, message)) = sender.next_message(time(now_ns)) else { return false };
    // SAFETY: as the caller says; an array of bytes has no alignment.
    unsafe { put(connection, number) && put(bytes.cast(), message.encode()) }
}

/// When to call `forebay_sender_next_message`; `UINT64_MAX`: not before the next request.
///
/// # Safety
/// `sender` is null or of `forebay_sender_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_sender_due(sender: *mut forebay_sender) -> u64 {
    // SAFETY: as the caller says.
    unsafe { object(sender) }.map_or(u64::MAX, |of| ns(of.0.due()))
}

/// Credits that a connection has outstanding, and the most that it may have. False: credits are off, or there is no such connection.
///
/// # Safety
/// `sender` is null or of `forebay_sender_new`; `outstanding` and `limit` are null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_sender_credits(
    sender: *mut forebay_sender,
    connection: u32,
    outstanding: *mut u64,
    limit: *mut u64,
) -> bool {
    // SAFETY: as the caller says.
    let Some(forebay_sender(sender)) = (unsafe { object(sender) }) else { return false };
    let Some(of) = sender.account(connection) else { return false };
    // SAFETY: as the caller says.
    unsafe { put(outstanding, of.totals().outstanding) && put(limit, of.limit()) }
}

/// A receiver of at most `connections`. All memory is taken now. End it with `forebay_receiver_free`.
/// Null: `limit` is null or absurd.
///
/// # Safety
/// `limit` is null or may be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_receiver_new(
    limit: *const forebay_limit,
    connections: u32,
) -> *mut forebay_receiver {
    // SAFETY: as the caller says.
    match unsafe { limit_of(limit) } {
        Some(limit) => Box::into_raw(Box::new(forebay_receiver(Receiver::new(limit, connections)))),
        None => std::ptr::null_mut(),
    }
}

/// # Safety
/// `limit` is null or may be read.
unsafe fn limit_of(limit: *const forebay_limit) -> Option<Limit> {
    // SAFETY: as the caller says.
    let forebay_limit { lines, line } = *unsafe { limit.as_ref() }?;
    Limit::of_bytes(u64::from(lines) * u64::from(line), line).ok()
}

/// Ends a receiver.
///
/// # Safety
/// `receiver` is null, or came from `forebay_receiver_new` and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_receiver_free(receiver: *mut forebay_receiver) {
    if !receiver.is_null() {
        // SAFETY: it came from a box, and is used no more.
        drop(unsafe { Box::from_raw(receiver) });
    }
}

/// Another limit from now on.
///
/// # Safety
/// `receiver` is null or of `forebay_receiver_new`; `limit` is null or may be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_receiver_set_limit(
    receiver: *mut forebay_receiver,
    limit: *const forebay_limit,
) -> forebay_result {
    // SAFETY: as the caller says.
    let Some(forebay_receiver(receiver)) = (unsafe { object(receiver) }) else {
        return FOREBAY_NULL;
    };
    // SAFETY: as the caller says.
    let Some(limit) = (unsafe { limit_of(limit) }) else { return FOREBAY_NO_LIMIT };
    receiver.set_limit(limit);
    FOREBAY_OK
}

/// A connection comes. `connection` gets its number, `hello` the first message to its sender.
///
/// # Safety
/// `receiver` is null or of `forebay_receiver_new`; `connection` and 24 bytes at `hello` are null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_receiver_connect(
    receiver: *mut forebay_receiver,
    connection: *mut u32,
    hello: *mut u8,
) -> forebay_result {
    if connection.is_null() || hello.is_null() {
        return FOREBAY_NULL;
    }
    // SAFETY: as the caller says.
    let Some(forebay_receiver(receiver)) = (unsafe { object(receiver) }) else {
        return FOREBAY_NULL;
    };
    let Some((number, message)) = receiver.connect() else { return FOREBAY_NO_CONNECTION };
    // SAFETY: as the caller says; an array of bytes has no alignment.
    let done = unsafe { put(connection, number) && put(hello.cast(), message.encode()) };
    if done { FOREBAY_OK } else { FOREBAY_NULL }
}

/// A connection ended or failed: its share goes to the others.
///
/// # Safety
/// `receiver` is null or of `forebay_receiver_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_receiver_disconnect(
    receiver: *mut forebay_receiver,
    connection: u32,
) {
    // SAFETY: as the caller says.
    if let Some(forebay_receiver(receiver)) = unsafe { object(receiver) } {
        receiver.disconnect(connection);
    }
}

/// The application has consumed a message of `bytes`. `FOREBAY_SEND`: call `forebay_receiver_credit_message` and send it.
///
/// # Safety
/// `receiver` is null or of `forebay_receiver_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_receiver_completed(
    receiver: *mut forebay_receiver,
    now_ns: u64,
    connection: u32,
    bytes: u64,
) -> forebay_result {
    // SAFETY: as the caller says.
    let Some(forebay_receiver(receiver)) = (unsafe { object(receiver) }) else {
        return FOREBAY_NULL;
    };
    if !receiver.is_connected(connection) {
        return FOREBAY_NO_CONNECTION;
    }
    if receiver.completed(time(now_ns), connection, bytes) { FOREBAY_SEND } else { FOREBAY_OK }
}

/// The application has consumed a message of `bytes`, and its response returns the credits.
///
/// # Safety
/// `receiver` is null or of `forebay_receiver_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_receiver_answered(
    receiver: *mut forebay_receiver,
    now_ns: u64,
    connection: u32,
    bytes: u64,
) -> forebay_result {
    // SAFETY: as the caller says.
    let Some(forebay_receiver(receiver)) = (unsafe { object(receiver) }) else {
        return FOREBAY_NULL;
    };
    if !receiver.is_connected(connection) {
        return FOREBAY_NO_CONNECTION;
    }
    receiver.answered(time(now_ns), connection, bytes);
    FOREBAY_OK
}

/// The counter for the immediate data of a message that is sent anyway. False: send a credit message first.
///
/// # Safety
/// `receiver` is null or of `forebay_receiver_new`; `counter` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_receiver_counter(
    receiver: *mut forebay_receiver,
    now_ns: u64,
    connection: u32,
    counter: *mut u32,
) -> bool {
    // SAFETY: as the caller says.
    let Some(forebay_receiver(receiver)) = (unsafe { object(receiver) }) else { return false };
    if counter.is_null() || !receiver.is_connected(connection) {
        return false;
    }
    // SAFETY: as the caller says.
    receiver.counter(time(now_ns), connection).is_some_and(|of| unsafe { put(counter, of) })
}

/// The credit message of a connection, which is to be sent now.
///
/// # Safety
/// `receiver` is null or of `forebay_receiver_new`; 24 bytes at `bytes` are null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_receiver_credit_message(
    receiver: *mut forebay_receiver,
    now_ns: u64,
    connection: u32,
    bytes: *mut u8,
) -> forebay_result {
    // SAFETY: as the caller says.
    let Some(forebay_receiver(receiver)) = (unsafe { object(receiver) }) else {
        return FOREBAY_NULL;
    };
    if !receiver.is_connected(connection) {
        return FOREBAY_NO_CONNECTION;
    }
    if bytes.is_null() {
        return FOREBAY_NULL;
    }
    let message = receiver.credit_message(time(now_ns), connection);
    // SAFETY: as the caller says; an array of bytes has no alignment.
    unsafe { put(bytes.cast(), message.encode()) };
    FOREBAY_OK
}

/// A message of a sender came. `FOREBAY_SEND`: a credit message is to be sent now.
///
/// # Safety
/// `receiver` is null or of `forebay_receiver_new`; `bytes` is null or has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_receiver_message(
    receiver: *mut forebay_receiver,
    now_ns: u64,
    connection: u32,
    bytes: *const u8,
    length: usize,
) -> forebay_result {
    // SAFETY: as the caller says.
    let Some(forebay_receiver(receiver)) = (unsafe { object(receiver) }) else {
        return FOREBAY_NULL;
    };
    if !receiver.is_connected(connection) {
        return FOREBAY_NO_CONNECTION;
    }
    // SAFETY: as the caller says.
    match unsafe { message(bytes, length) } {
        Ok(of) => match receiver.message(time(now_ns), connection, &of) {
            Ok(true) => FOREBAY_SEND,
            Ok(false) => FOREBAY_OK,
            Err(_) => FOREBAY_ABSURD,
        },
        Err(why) => why,
    }
}

/// A connection whose credit message is to be sent now. False: there is none.
///
/// # Safety
/// `receiver` is null or of `forebay_receiver_new`; `connection` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_receiver_poll(
    receiver: *mut forebay_receiver,
    now_ns: u64,
    connection: *mut u32,
) -> bool {
    if connection.is_null() {
        return false;
    }
    // SAFETY: as the caller says.
    let Some(forebay_receiver(receiver)) = (unsafe { object(receiver) }) else { return false };
    // SAFETY: as the caller says.
    receiver.poll(time(now_ns)).is_some_and(|of| unsafe { put(connection, of) })
}

/// When to call `forebay_receiver_poll`; `UINT64_MAX`: not before the next message.
///
/// # Safety
/// `receiver` is null or of `forebay_receiver_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_receiver_due(receiver: *mut forebay_receiver) -> u64 {
    // SAFETY: as the caller says.
    unsafe { object(receiver) }.map_or(u64::MAX, |of| ns(of.0.due()))
}

/// Time after which what was lost is sent again, and the longest that credits wait for company, in nanoseconds.
pub const FOREBAY_HEAL_NS: u64 = 10_000_000;
/// See `FOREBAY_HEAL_NS`.
pub const FOREBAY_KEEP_NS: u64 = 10_000;
const _: () = assert!(
    FOREBAY_HEAL_NS * 1000 == forebay_credits::HEAL.as_ps()
        && FOREBAY_KEEP_NS * 1000 == forebay_credits::KEEP.as_ps()
);
