//! The socket as a congestion-control module of Linux sees it: the kernel's names and units.
//!
//! Fields are words of eight bytes in one array, so that an interpreter reads a field by its index, without a copy per call. A Rust module
//! uses the functions, which have the fields' names.
//!
//! Times count from the start of the run plus [`BOOT`], so that none is zero. Sequence numbers are the low 32 bits of byte numbers plus
//! [`FIRST_SEQ`].

use core::ops::{Deref, DerefMut};
use forebay_units::Time;

/// `snd_ssthresh` where there is none yet. Source: `TCP_INFINITE_SSTHRESH`.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Words of `icsk_ca_priv`: 104 bytes, as in Linux.
pub const CA_PRIV_WORDS: usize = 13;

/// Words of a socket: one for each of [`FIELDS`], then those of `icsk_ca_priv`.
pub const WORDS: usize = FIELDS.len() + CA_PRIV_WORDS;

/// The time that the kernel's clocks show when the run starts, in s.
///
/// Assumption: a server that has run for a while; programs take 0 for "never".
pub const BOOT: u64 = 100;

/// Sequence number of byte 0: behind the SYN. Programs take 0 in `undo_marker` for "none".
pub const FIRST_SEQ: u32 = 1;

/// A field of the socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldInfo {
    /// Name in the kernel's structures, without those that contain it. `rtt_min` is the value in front, and `pending` is that of `icsk_ack`.
    pub name: &'static str,
    /// Bytes of a value, from the low end of the field's word: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Whether a module may write it.
    pub writable: bool,
    /// Unit and moment of its update.
    pub about: &'static str,
}

/// The socket of one flow, as its module gets it: all fields to read, ten to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sock {
    words: [u64; WORDS], // a field's value, zero-extended; then `icsk_ca_priv`
}

/// The socket of one flow, as the stack has it: all fields to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnSock(Sock);

impl Default for OwnSock {
    fn default() -> Self {
        Self(Sock { words: [0; WORDS] })
    }
}

impl Deref for OwnSock {
    type Target = Sock;

    fn deref(&self) -> &Sock {
        &self.0
    }
}

impl DerefMut for OwnSock {
    fn deref_mut(&mut self) -> &mut Sock {
        &mut self.0
    }
}

/// Whether a module may write each word.
const WRITABLE: [bool; WORDS] = {
    let mut all = [true; WORDS];
    let mut at = 0;
    while at < FIELDS.len() {
        all[at] = FIELDS[at].writable;
        at += 1;
    }
    all
};

impl Sock {
    /// Word `at`: a field by its place in [`FIELDS`], or behind those a word of the private area. `None` beyond its end.
    #[inline]
    pub fn word(&self, at: usize) -> Option<u64> {
        self.words.get(at).copied()
    }

    /// The word `at`, to write. The value has to fit the field's bytes. `None` beyond the end, and where a module may not write.
    #[inline]
    pub fn word_mut(&mut self, at: usize) -> Option<&mut u64> {
        let word = self.words.get_mut(at)?;
        WRITABLE[at].then_some(word)
    }

    /// The private area, little-endian; zero at the start of the flow.
    #[inline]
    pub fn ca_priv(&self) -> &[u64] {
        &self.words[FIELDS.len()..]
    }

    /// The private area, to write.
    #[inline]
    pub fn ca_priv_mut(&mut self) -> &mut [u64] {
        &mut self.words[FIELDS.len()..]
    }

    /// Packets believed to be in the network. Source: `tcp_packets_in_flight`.
    pub fn packets_in_flight(&self) -> u32 {
        let left = self.sacked_out() + self.lost_out();
        self.packets_out().wrapping_sub(left).wrapping_add(self.retrans_out())
    }

    /// Whether the next growth is that of slow start. Source: `tcp_in_slow_start`.
    pub fn in_slow_start(&self) -> bool {
        self.snd_cwnd() < self.snd_ssthresh()
    }

    /// Whether the window was full, or slow start may reach twice what was out. Source: `tcp_is_cwnd_limited`.
    pub fn cwnd_limited(&self) -> bool {
        self.is_cwnd_limited() != 0
            || (self.in_slow_start() && self.snd_cwnd() < 2 * self.max_packets_out())
    }
}

/// Nanoseconds of the kernel's clock at `now`.
pub fn clock_ns(now: Time) -> u64 {
    now.as_ps() / 1_000 + BOOT * 1_000_000_000
}

/// Ticks of the kernel's clock at `now`, `hz` per second; 32 bits, as `tcp_jiffies32`.
pub fn jiffies(now: Time, hz: u32) -> u32 {
    ticks(clock_ns(now), hz) as u32
}

/// Whole ticks in so many nanoseconds, `hz` per second: `bpf_jiffies64`.
pub fn ticks(ns: u64, hz: u32) -> u64 {
    let hz = u64::from(hz);
    ns / SECOND * hz + ns % SECOND * hz / SECOND
}

/// Nanoseconds of the kernel's clock when it made its last tick: `bpf_ktime_get_coarse_ns`.
pub fn coarse_ns(ns: u64, hz: u32) -> u64 {
    let (ticks, hz) = (ticks(ns, hz), u64::from(hz));
    ticks / hz * SECOND + ticks % hz * SECOND / hz
}

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

macro_rules! fields {
    ($($name:ident $set:ident $index:ident: $type:ty, $writable:ident, $about:literal;)+) => {
        #[allow(clippy::enum_variant_names, reason = "the kernel's names")]
        #[derive(Clone, Copy)]
        enum Index { $($index,)+ }

        /// The fields in the order of a [`Sock`]'s words.
        pub const FIELDS: [FieldInfo; [$(stringify!($name),)+].len()] = [$(FieldInfo {
            name: stringify!($name),
            bytes: size_of::<$type>() as u8,
            writable: fields!(@$writable),
            about: $about,
        },)+];

        impl Sock {
            $(
                #[doc = $about]
                #[inline]
                pub fn $name(&self) -> $type {
                    self.words[Index::$index as usize] as $type
                }

            )+
        }

        $(fields!(@$writable $name $set $index $type);)+
    };
    (@module) => { true };
    (@stack) => { false };
    (@module $name:ident $set:ident $index:ident $type:ty) => {
        impl Sock {
            #[doc = concat!("Sets `", stringify!($name), "`.")]
            #[inline]
            pub fn $set(&mut self, value: $type) {
                self.words[Index::$index as usize] = value as u64;
            }
        }
    };
    (@stack $name:ident $set:ident $index:ident $type:ty) => {
        impl OwnSock {
            #[doc = concat!("Sets `", stringify!($name), "`.")]
            #[inline]
            pub fn $set(&mut self, value: $type) {
                self.0.words[Index::$index as usize] = value as u64;
            }
        }
    };
}

fields! {
    snd_una set_snd_una SndUna: u32, stack, "Oldest unacknowledged byte. Before every call of an ACK.";
    snd_nxt set_snd_nxt SndNxt: u32, stack, "Next new byte. With each send.";
    write_seq set_write_seq WriteSeq: u32, stack, "End of what the application has written.";
    rcv_nxt set_rcv_nxt RcvNxt: u32, stack, "Next byte from the other side: constant, since flows have one direction.";
    high_seq set_high_seq HighSeq: u32, stack, "`snd_nxt` when the state was entered: before `ssthresh`, but after `set_state` in Loss.";
    mss_cache set_mss_cache MssCache: u32, stack, "Payload of a full segment, bytes.";
    snd_cwnd set_snd_cwnd SndCwnd: u32, module, "Window, packets. By the module, or by the transport in an episode.";
    snd_ssthresh set_snd_ssthresh SndSsthresh: u32, module, "Slow-start threshold, packets; 0x7fffffff: none.";
    snd_cwnd_cnt set_snd_cwnd_cnt SndCwndCnt: u32, module, "Packets counted towards growth. 0 on entering CWR, Recovery and Loss.";
    snd_cwnd_clamp set_snd_cwnd_clamp SndCwndClamp: u32, stack, "Largest window, packets: all ones.";
    snd_cwnd_stamp set_snd_cwnd_stamp SndCwndStamp: u32, module, "When the transport last changed the window, jiffies.";
    lsndtime set_lsndtime Lsndtime: u32, stack, "Time of the last data, jiffies. After the event TxStart.";
    prior_cwnd set_prior_cwnd PriorCwnd: u32, stack, "Window before the episode, packets. Before `ssthresh`.";
    prior_ssthresh set_prior_ssthresh PriorSsthresh: u32, stack, "Threshold that an undo restores, packets; 0: none. Before `ssthresh`.";
    undo_marker set_undo_marker UndoMarker: u32, stack, "`snd_una` when the episode began; 0: no undo. Before `ssthresh`.";
    packets_out set_packets_out PacketsOut: u32, stack, "Segments that are not acknowledged cumulatively. Before `pkts_acked`.";
    sacked_out set_sacked_out SackedOut: u32, stack, "Of those, SACKed, or without SACK duplicate ACKs. Before `pkts_acked`.";
    lost_out set_lost_out LostOut: u32, stack, "Of those, marked lost, retransmitted ones included. In the state machine.";
    retrans_out set_retrans_out RetransOut: u32, stack, "Of those, retransmitted and in the network.";
    max_packets_out set_max_packets_out MaxPacketsOut: u32, stack, "Most segments out after a send, in the last window of data. After sends.";
    is_cwnd_limited set_is_cwnd_limited IsCwndLimited: u8, stack, "1 if the window was full in that window of data. After sends.";
    cwnd_usage_seq set_cwnd_usage_seq CwndUsageSeq: u32, stack, "End of that window of data, sequence number. After sends.";
    delivered set_delivered Delivered: u32, stack, "Packets delivered, with the SYN. Before `pkts_acked`.";
    delivered_ce set_delivered_ce DeliveredCe: u32, stack, "Of those, packets with a mark. Before `pkts_acked`.";
    lost set_lost Lost: u32, stack, "Packets ever marked lost. In the state machine.";
    app_limited set_app_limited AppLimited: u32, module, "`delivered` at which the phase ends in which the application limits sending; 0: none. At sends and with the rate sample.";
    srtt_us set_srtt_us SrttUs: u32, stack, "Smoothed round-trip time, us times 8. Before `pkts_acked`.";
    mdev_us set_mdev_us MdevUs: u32, stack, "Mean deviation of the round-trip time, us times 4. Before `pkts_acked`.";
    rttvar_us set_rttvar_us RttvarUs: u32, stack, "Deviation in the retransmission timeout, us. Before `pkts_acked`.";
    rtt_min set_rtt_min RttMin: u32, stack, "Least round-trip time of 300 s, us; all ones: none. Before `pkts_acked`.";
    tcp_mstamp set_tcp_mstamp TcpMstamp: u64, stack, "Now, us. When a packet arrives, a timer expires, and before sends.";
    tcp_clock_cache set_tcp_clock_cache TcpClockCache: u64, stack, "Now, ns. As `tcp_mstamp`.";
    delivered_mstamp set_delivered_mstamp DeliveredMstamp: u64, stack, "When `delivered` last rose, us. With the rate sample: behind the state machine.";
    first_tx_mstamp set_first_tx_mstamp FirstTxMstamp: u64, stack, "When the newest delivered segment had left, us. Before `pkts_acked`.";
    reordering set_reordering Reordering: u32, stack, "Segments that overtake one before it counts as lost.";
    prr_delivered set_prr_delivered PrrDelivered: u32, stack, "Packets delivered in this reduction. PRR runs after `set_state`.";
    prr_out set_prr_out PrrOut: u32, stack, "Packets sent in this reduction.";
    rate_delivered set_rate_delivered RateDelivered: u32, stack, "Packets of the best recent rate sample.";
    rate_interval_us set_rate_interval_us RateIntervalUs: u32, stack, "Its interval, us.";
    rate_app_limited set_rate_app_limited RateAppLimited: u8, stack, "1 if the application limited it.";
    ecn_flags set_ecn_flags EcnFlags: u8, module, "1 if ECN is on, otherwise 0. A write changes only what the program reads.";
    icsk_ca_state set_icsk_ca_state IcskCaState: u8, stack, "Congestion state, 0 Open to 4 Loss. After `set_state`.";
    icsk_retransmits set_icsk_retransmits IcskRetransmits: u8, stack, "Timeouts since data was last acknowledged.";
    icsk_rto set_icsk_rto IcskRto: u32, stack, "Retransmission timeout, jiffies.";
    pending set_pending Pending: u8, module, "`icsk_ack.pending`: of the receiver, so always 0; a write changes nothing.";
    sk_pacing_rate set_sk_pacing_rate SkPacingRate: u64, module, "Pacing rate, bytes per s; all ones: none. By the module, or by the transport after each ACK without `cong_control`.";
    sk_max_pacing_rate set_sk_max_pacing_rate SkMaxPacingRate: u64, stack, "Its limit: all ones.";
    sk_pacing_status set_sk_pacing_status SkPacingStatus: u32, module, "0: the stack does not pace. 1: it does. 2: the queueing discipline does.";
    sk_gso_max_size set_sk_gso_max_size SkGsoMaxSize: u32, stack, "Most bytes of a super-packet.";
    sk_pacing_shift set_sk_pacing_shift SkPacingShift: u8, stack, "10: super-packets of a millisecond.";
    tcp_wstamp_ns set_tcp_wstamp_ns TcpWstampNs: u64, stack, "Departure time of the next paced data, ns.";
    skc_num set_skc_num SkcNum: u16, stack, "Port: the flow's number.";
    skc_dport set_skc_dport SkcDport: u16, stack, "The other side's port, in network order: the upper half of the flow's number.";
    skc_family set_skc_family SkcFamily: u16, stack, "2: IPv4.";
    skc_state set_skc_state SkcState: u8, stack, "1: established.";
    snd_wnd set_snd_wnd SndWnd: u32, stack, "Window of the receiver, bytes. Before every call of an ACK.";
    rcv_wnd set_rcv_wnd RcvWnd: u32, stack, "Own receive window, bytes: constant.";
    window_clamp set_window_clamp WindowClamp: u32, stack, "Largest own receive window, bytes: constant.";
    bytes_acked set_bytes_acked BytesAcked: u64, stack, "Bytes acknowledged cumulatively. Before every call of an ACK.";
    bytes_sent set_bytes_sent BytesSent: u64, stack, "Bytes sent, retransmissions included.";
    bytes_retrans set_bytes_retrans BytesRetrans: u64, stack, "Bytes retransmitted.";
    total_retrans set_total_retrans TotalRetrans: u32, stack, "Segments retransmitted.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use forebay_units::Span;

    #[test]
    fn a_module_may_write_ten_fields_the_private_area_among_them() {
        let names: Vec<_> = FIELDS.iter().filter(|of| of.writable).map(|of| of.name).collect();
        let nine = [
            "snd_cwnd",
            "snd_ssthresh",
            "snd_cwnd_cnt",
            "snd_cwnd_stamp",
            "app_limited",
            "ecn_flags",
            "pending",
            "sk_pacing_rate",
            "sk_pacing_status",
        ];
        assert_eq!(names, nine);
        assert_eq!(CA_PRIV_WORDS * 8, 104);
    }

    #[test]
    fn a_field_is_the_word_of_its_place() {
        let mut sk = OwnSock::default();
        sk.set_snd_cwnd(7);
        sk.set_bytes_acked(1 << 40);
        let at = |name| FIELDS.iter().position(|of| of.name == name).expect("a field");
        assert_eq!(sk.word(at("snd_cwnd")), Some(7));
        assert_eq!(sk.word(at("bytes_acked")), Some(1 << 40));
        *sk.word_mut(FIELDS.len()).expect("the private area") = 9;
        assert_eq!(sk.ca_priv()[0], 9);
        assert_eq!(sk.word(WORDS), None);
        assert_eq!(sk.word_mut(at("snd_cwnd")), Some(&mut 7));
        assert_eq!(sk.word_mut(at("bytes_acked")), None, "not a module's to write");
    }

    #[test]
    fn clocks_start_above_zero_and_jiffies_count_whole_ticks() {
        assert_eq!(clock_ns(Time::ZERO), 100_000_000_000);
        let at = |us| Time::ZERO + Span::from_us(us);
        assert_eq!((jiffies(at(3_999), 250), jiffies(at(4_000), 250)), (25_000, 25_001));
        assert_eq!(jiffies(at(999), 1000), 100_000);
        // A third of a second, rounded down: at 300 Hz the hundredth tick, which began a nanosecond before at most.
        assert_eq!((ticks(333_333_333, 300), ticks(333_333_334, 300)), (99, 100));
        assert_eq!(
            (coarse_ns(333_333_334, 300), coarse_ns(333_333_333, 300)),
            (333_333_333, 330_000_000)
        );
        let centuries = u64::MAX - 1;
        assert_eq!(u128::from(ticks(centuries, 1000)), u128::from(centuries) / 1_000_000);
        assert_eq!(coarse_ns(centuries, 1000), centuries / 1_000_000 * 1_000_000);
    }
}
