//! SACK compression. Source: Linux `__tcp_ack_snd_check`: three ACKs at once, then one for 5 % of the round trip, 1 ms or
//! 44 arrivals, whichever is least.

use crate::common::{MSS, Pipe, at_us, config};
use forebay_settings::HostSettings;
use forebay_transport::{TcpConfig, TcpReceiver};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{FlowId, HostAddr, Packet};

fn compressing() -> TcpConfig {
    let host = HostSettings { sack_compression: true, ..HostSettings::IDEAL };
    TcpConfig { host, ..config("reno") }.with(|of| (of.delayed_ack, of.quick_acks) = (true, 0))
}

struct Holes {
    cfg: TcpConfig,
    receiver: TcpReceiver,
    under_way: Span,
}

impl Holes {
    fn new(under_way: Span) -> Self {
        let cfg = compressing();
        let receiver = TcpReceiver::new(&cfg, FlowId(0), HostAddr { tor: 0, port: 0 });
        Self { cfg, receiver, under_way }
    }

    /// Whether segment `k` is acknowledged as it arrives.
    fn take(&mut self, now: Time, k: u64) -> bool {
        let stamp = (now.since(Time::ZERO + self.under_way).as_ps() / 1_000) as u32;
        let size = (MSS + 52) as u16;
        let packet = Packet { seq: k * MSS, size, stamp, ..Packet::default() };
        self.receiver.on_data(&self.cfg, now, &packet)[1].is_some()
    }
}

#[test]
fn three_acks_at_once_then_one_for_five_percent_of_the_round_trip() {
    let mut holes = Holes::new(Span::from_us(500));
    for k in 1..=3 {
        assert!(holes.take(at_us(1_000), k), "ACK {k}");
    }
    for k in 4..=9 {
        assert!(!holes.take(at_us(1_000 + k), k), "{k} waits");
    }
    assert_eq!(holes.receiver.deadline(), at_us(1_054), "5 % of 1 ms after the first that waits");
    let ack = holes.receiver.on_deadline(&holes.cfg, at_us(1_054)).unwrap();
    assert_eq!((ack.seq, ack.ext[0].start, ack.ext[0].end), (0, MSS as u32, 10 * MSS as u32));
    assert!(!holes.take(at_us(1_060), 10), "no further ones at once before an advance");
    // Filled: at once, and the timer has nothing to say any more.
    assert!(holes.take(at_us(1_061), 0));
    assert_eq!(holes.receiver.deadline(), Time::MAX);
    for k in 12..15 {
        assert!(holes.take(at_us(1_070), k), "after an advance three ACKs leave at once");
    }
    assert!(!holes.take(at_us(1_070), 15));
}

#[test]
fn a_long_path_waits_a_millisecond_and_no_ack_speaks_for_more_than_44() {
    let mut holes = Holes::new(Span::from_ms(50));
    let now = Time::ZERO + Span::from_ms(60);
    let at_once: Vec<u64> = (1..100).filter(|k| holes.take(now, *k)).collect();
    assert_eq!(at_once, [1, 2, 3, 48, 93]);
    assert_eq!(holes.receiver.deadline(), now + Span::from_ms(1));
}

#[test]
fn repair_takes_fewer_acks_and_loses_nothing() {
    let acks = |compress: bool| {
        let mut cfg = compressing();
        cfg.host.sack_compression = compress;
        let mut pipe = Pipe::new(cfg, "reno", Bytes::new(400 * MSS), Span::from_us(1_000))
            .nic(10)
            .drop_data(&[60, 61, 75]);
        pipe.finish();
        assert_eq!((pipe.sender.retransmits(), pipe.sender.timeouts()), (3, 0));
        pipe.acks.iter().filter(|(_, ack)| ack.sacks > 0).count()
    };
    let (each, compressed) = (acks(false), acks(true));
    assert!(each > 40 && compressed * 2 < each, "{compressed} {each}");
}
