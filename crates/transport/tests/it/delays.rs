//! What receivers report of delays, for laws that need it (`Needs::stamps`).

use crate::common::{Fate, MSS, Pipe, at_us, config};
use forebay_laws::flow::{FlowParams, Needs};
use forebay_transport::{Arrival, TcpConfig, TcpReceiver};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, FlowId, HostAddr, Packet, Stamps};

fn asking() -> TcpConfig {
    let cfg = config("reno");
    TcpConfig { needs: Needs { stamps: true, ..cfg.needs }, ..cfg }
}

fn receiver(cfg: &TcpConfig) -> TcpReceiver {
    TcpReceiver::new(cfg, FlowId(0), HostAddr { tor: 0, port: 0 })
}

/// Segment `k`, which left at this microsecond.
fn segment(k: u64, left_us: u32) -> Packet {
    Packet { seq: k * MSS, size: (MSS + 52) as u16, stamp: left_us * 1_000, ..Packet::default() }
}

#[test]
fn an_ack_tells_how_long_the_newest_data_was_under_way_and_waited() {
    let cfg = asking().with(|of| (of.delayed_ack, of.quick_acks) = (true, 0));
    let mut receiver = receiver(&cfg);
    assert_eq!(receiver.on_data(&cfg, at_us(100), &segment(0, 40)), [None, None]);
    let ack = receiver.on_data(&cfg, at_us(130), &segment(1, 60))[1].unwrap();
    assert_eq!(
        ack.stamps(),
        Some(Stamps { forward: 70_000, held: 0 }),
        "of the second, not the first"
    );
    assert_eq!(ack.stamp, 40_000, "what RFC 7323 echoes is the first");
    receiver.on_data(&cfg, at_us(200), &segment(2, 140));
    let ack = receiver.on_deadline(&cfg, at_us(40_200)).unwrap();
    assert_eq!(ack.stamps(), Some(Stamps { forward: 60_000, held: 40_000_000 }));
}

#[test]
fn a_unit_of_merged_segments_speaks_of_the_last() {
    let cfg = asking();
    let mut receiver = receiver(&cfg);
    let unit = Packet { size: (3 * MSS + 52) as u16, ..segment(0, 10) };
    let newest = Arrival { at: at_us(95), stamp: 30_000 };
    let ack = receiver.on_held_data(&cfg, at_us(103), newest, &unit)[1].unwrap();
    assert_eq!(ack.stamps(), Some(Stamps { forward: 65_000, held: 8_000 }));
}

#[test]
fn stamps_leave_room_for_two_blocks_and_cost_nothing_where_nobody_asks() {
    for (cfg, blocks) in [(asking(), 2), (config("reno"), 3)] {
        let mut receiver = receiver(&cfg);
        let ack =
            [1, 3, 5, 7].map(|k| receiver.on_data(&cfg, at_us(60), &segment(k, 10))[1].unwrap());
        assert_eq!(ack[3].sack_blocks().len(), blocks);
        let stamps = (blocks == 2).then_some(Stamps { forward: 50_000, held: 0 });
        assert_eq!(ack[3].stamps(), stamps);
        let again = receiver.on_data(&cfg, at_us(70), &segment(7, 10))[1].unwrap();
        assert!(again.flags.has(Flags::DSACK));
        assert_eq!(again.sack_blocks().len(), blocks, "one of them the duplicate's");
    }
}

#[test]
fn clocks_wrap_and_need_not_agree() {
    let cfg = asking();
    let mut receiver = receiver(&cfg);
    let wrap = Span::from_ns(1 << 32);
    let at = Time::ZERO + wrap + Span::from_us(3);
    let left = Packet { stamp: u32::MAX - 6_999, ..segment(0, 0) };
    let ack = receiver.on_data(&cfg, at, &left)[1].unwrap();
    assert_eq!(ack.stamps(), Some(Stamps { forward: 10_000, held: 0 }));
}

/// A queue of ACKs costs NV of the slides its window, and nothing if it takes the way back out of its RTTs.
#[test]
fn nv_does_not_see_a_queue_of_acks_that_it_takes_out() {
    let delivered = |reverse: &str| {
        let mut law = FlowParams::new("nv").unwrap();
        law.set("variant", "2010").unwrap();
        law.set("reverse_delay", reverse).unwrap();
        let cfg = TcpConfig { needs: law.needs(), ..config("nv") };
        assert_eq!(cfg.needs.stamps, reverse == "removed");
        // After the first 400 ACKs a queue of 300 us, three round trips, stands in front of them.
        let mut pipe = Pipe::with_spec(cfg, &law, Bytes::MAX, false, Span::from_us(100))
            .nic(10)
            .link(10)
            .ack(|_, n| if n < 400 { Fate::Pass } else { Fate::Late(Span::from_us(300)) });
        pipe.run_until(at_us(50_000));
        pipe.receiver.delivered().get()
    };
    let (counted, removed) = (delivered("counted"), delivered("removed"));
    assert!(removed > 2 * counted, "{removed} {counted}");
}
