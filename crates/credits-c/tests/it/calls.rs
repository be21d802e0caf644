//! What C programs may do wrong ends in a result, never in a crash. Miri runs these.
#![allow(unsafe_code)] // The functions take pointers.

use forebay_credits_c::forebay_post::*;
use forebay_credits_c::forebay_result::*;
use forebay_credits_c::*;
use std::ptr::{null, null_mut};

#[test]
fn requests_go_wait_and_are_released() {
    let (mut here, mut there, mut hello) = (0, 0, [0; FOREBAY_MESSAGE_BYTES]);
    let limit = forebay_limit { lines: 8, line: 64 };
    // SAFETY: all pointers are of objects and arrays of this function.
    unsafe {
        let receiver = forebay_receiver_new(&limit, 1);
        let sender = forebay_sender_new(1, 4);
        assert_eq!(forebay_receiver_connect(receiver, &mut there, hello.as_mut_ptr()), FOREBAY_OK);
        assert_eq!(forebay_sender_connect(sender, 0, hello.as_ptr(), 24, &mut here), FOREBAY_OK);
        let posts = [0, 1, 2, 3, 4].map(|token| forebay_sender_post(sender, 0, here, 256, token));
        assert_eq!(posts, [FOREBAY_GO, FOREBAY_GO, FOREBAY_WAIT, FOREBAY_WAIT, FOREBAY_FULL]);
        let mut released = forebay_released { token: 9, bytes: 0, connection: 0 };
        assert!(!forebay_sender_poll(sender, 0, &mut released));
        assert_eq!(forebay_receiver_completed(receiver, 0, there, 256), FOREBAY_SEND);
        let mut message = [0; FOREBAY_MESSAGE_BYTES];
        assert_eq!(
            forebay_receiver_credit_message(receiver, 0, there, message.as_mut_ptr()),
            FOREBAY_OK
        );
        assert_eq!(forebay_sender_message(sender, 0, here, message.as_ptr(), 24), FOREBAY_OK);
        assert!(forebay_sender_poll(sender, 0, &mut released));
        assert_eq!((released.token, released.bytes), (2, 256));
        let (mut outstanding, mut most) = (0, 0);
        assert!(forebay_sender_credits(sender, here, &mut outstanding, &mut most));
        assert_eq!((outstanding, most), (8, 8));
        assert_eq!(forebay_sender_counter(sender, 0, here, 100), FOREBAY_ABSURD);
        forebay_sender_disconnect(sender, here);
        assert_eq!(forebay_sender_post(sender, 0, here, 1, 1), FOREBAY_REFUSED);
        forebay_sender_free(sender);
        forebay_receiver_free(receiver);
    }
}

#[test]
fn null_pointers_and_unknown_numbers_are_results() {
    // SAFETY: null is allowed everywhere, and all others are of this function.
    unsafe {
        assert_eq!(forebay_limit_of_bytes(1 << 20, 64, null_mut()), FOREBAY_NULL);
        assert_eq!(forebay_sender_post(null_mut(), 0, 0, 1, 1), FOREBAY_REFUSED);
        assert!(forebay_receiver_new(null(), 1).is_null());
        assert_eq!(forebay_sender_due(null_mut()), u64::MAX);
        forebay_sender_free(null_mut());
        forebay_receiver_free(null_mut());
        let sender = forebay_sender_new(1, 1);
        assert_eq!(forebay_sender_connect(sender, 0, null(), 0, null_mut()), FOREBAY_NULL);
        assert_eq!(forebay_sender_completed(sender, 0, 77), FOREBAY_NO_CONNECTION);
        let mut here = 0;
        assert_eq!(forebay_sender_connect(sender, 0, null(), 0, &mut here), FOREBAY_OK);
        assert_eq!(forebay_sender_post(sender, 0, here, 1 << 40, 1), FOREBAY_GO, "credits are off");
        assert_eq!(forebay_sender_message(sender, 0, here, null(), 24), FOREBAY_NULL);
        let garbage = [7_u8; 24];
        assert_eq!(forebay_sender_message(sender, 0, here, garbage.as_ptr(), 24), FOREBAY_ABSURD);
        assert_eq!(forebay_sender_message(sender, 0, here, garbage.as_ptr(), 3), FOREBAY_ABSURD);
        forebay_sender_free(sender);
    }
}
