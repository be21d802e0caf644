//! TCP-NV in this machine's kernel: it is registered while a process holds it, and gone afterwards.

use forebay_linux::Root;
use forebay_linux::bpf::{CongestionControl, Object};
use std::fs;

#[test]
fn it_is_registered_as_long_as_it_is_held() {
    let name = "forebay_nv_try";
    let there = || {
        let all = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        all.unwrap_or_default().split_whitespace().any(|of| of == name)
    };
    let object = Object::of(forebay_bpf::NV).expect("an object");
    let register =
        || CongestionControl::register(&Root::machine(), &object, &forebay_bpf::NV_FUNCTIONS, name);
    match register() {
        Ok(held) => {
            assert!(there());
            assert!(register().is_err(), "a name is there once");
            drop(held);
            // The kernel lets go of it after a grace period, which a busy machine makes long.
            assert!((0..120_000).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(1));
                !there()
            }));
        }
        Err(why) => {
            let required = std::env::var("FOREBAY_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|of| of == "bpf"), "{why}");
            println!("skipped: {why}");
        }
    }
}
