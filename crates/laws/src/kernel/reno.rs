//! What the kernel lends its congestion controls: slow start, additive growth, and Reno from these.
//!
//! Source: Linux `net/ipv4/tcp_cong.c`: `tcp_slow_start`, `tcp_cong_avoid_ai`, `tcp_reno_ssthresh`, `tcp_reno_cong_avoid`,
//! `tcp_reno_undo_cwnd`. All exist in every kernel that loads programs.

use super::{Fault, Sock};

/// Grows the window by `acked` packets, not beyond the threshold. Returns the packets that are left.
pub fn slow_start(sk: &mut Sock, acked: u32) -> u32 {
    let before = sk.snd_cwnd();
    let cwnd = before.saturating_add(acked).min(sk.snd_ssthresh());
    sk.set_snd_cwnd(cwnd.min(sk.snd_cwnd_clamp()));
    acked.wrapping_sub(cwnd.wrapping_sub(before))
}

/// Grows the window by one packet for each `w` that were acknowledged.
///
/// # Errors
/// If `w` is 0: the kernel would divide by it.
pub fn cong_avoid_ai(sk: &mut Sock, w: u32, acked: u32) -> Result<(), Fault> {
    if w == 0 {
        return Err(Fault::new(
            "tcp_cong_avoid_ai with w = 0 divides by zero in the kernel; give 1 or more",
        ));
    }
    let (mut cwnd, mut count) = (sk.snd_cwnd(), sk.snd_cwnd_cnt());
    if count >= w {
        count = 0;
        cwnd = cwnd.wrapping_add(1);
    }
    count = count.wrapping_add(acked);
    if count >= w {
        cwnd = cwnd.wrapping_add(count / w);
        count %= w;
    }
    sk.set_snd_cwnd_cnt(count);
    sk.set_snd_cwnd(cwnd.min(sk.snd_cwnd_clamp()));
    Ok(())
}

/// Half the window, at least two packets.
pub fn reno_ssthresh(sk: &Sock) -> u32 {
    (sk.snd_cwnd() >> 1).max(2)
}

/// Slow start, then a packet per window; nothing while the window is not full.
///
/// # Errors
/// Never, with a window of a packet or more.
pub fn reno_cong_avoid(sk: &mut Sock, acked: u32) -> Result<(), Fault> {
    if !sk.cwnd_limited() {
        return Ok(());
    }
    let left = if sk.in_slow_start() { slow_start(sk, acked) } else { acked };
    let w = sk.snd_cwnd();
    if left > 0 { cong_avoid_ai(sk, w, left) } else { Ok(()) }
}

/// The larger of the window and the one before the reduction.
pub fn reno_undo_cwnd(sk: &Sock) -> u32 {
    sk.snd_cwnd().max(sk.prior_cwnd())
}

#[cfg(test)]
mod tests {
    use super::super::OwnSock;
    use super::*;
    use alloc::string::ToString;

    fn sock(cwnd: u32, ssthresh: u32) -> OwnSock {
        let mut sk = OwnSock::default();
        sk.set_snd_cwnd(cwnd);
        sk.set_snd_ssthresh(ssthresh);
        sk.set_snd_cwnd_clamp(u32::MAX);
        sk
    }

    /// From running programs of the kernel.
    #[test]
    fn reno_grows_as_in_a_kernel() {
        let mut sk = sock(10, 12);
        sk.set_is_cwnd_limited(1);
        let mut grown = |acked| {
            reno_cong_avoid(&mut sk, acked).expect("a window is not empty");
            (sk.snd_cwnd(), sk.snd_cwnd_cnt())
        };
        let seen = [1, 3, 9, 1, 13, 40].map(&mut grown);
        assert_eq!(seen, [(11, 0), (12, 2), (12, 11), (13, 0), (14, 0), (16, 12)]);
    }

    #[test]
    fn slow_start_reaches_twice_what_was_out_though_the_window_is_not_full() {
        let mut sk = sock(16, 100);
        sk.set_max_packets_out(8);
        reno_cong_avoid(&mut sk, 4).expect("a window is not empty");
        assert_eq!(sk.snd_cwnd(), 16);
        sk.set_max_packets_out(9);
        reno_cong_avoid(&mut sk, 4).expect("a window is not empty");
        assert_eq!(sk.snd_cwnd(), 20);
    }

    #[test]
    fn a_division_by_zero_ends_the_run() {
        let why = cong_avoid_ai(&mut sock(10, 5), 0, 1).expect_err("refused").to_string();
        assert!(why.contains("w = 0"), "{why}");
    }
}
