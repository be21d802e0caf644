//! The cost of a segment and its ACK where nothing goes wrong, or where every `reorder`th segment is
//! overtaken by eight others: for counting instructions.
//!
//! `straight LAW SEGMENTS [REORDER]`

use forebay_laws::Start;
use forebay_laws::flow::FlowParams;
use forebay_transport::{Acks, FlowSpec, TcpConfig, TcpReceiver, TcpSender};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{FlowId, HostAddr, Packet};

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "dctcp".into());
    let total: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let reorder: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(u64::MAX);
    let law = FlowParams::new(&name).expect("a registered law");
    let window = Bytes::new(64 * 1024);
    let cfg = TcpConfig { needs: law.needs(), ..TcpConfig::default() }.with(|of| {
        of.receive_window = Some(window);
        of.delayed_ack = true;
    });
    let start = Start {
        mss: cfg.mss,
        initial_window: cfg.initial_window(),
        line_rate: BitsPerSec::from_gbps(100),
        base_rtt: None,
        seed: 1,
    };
    let spec = FlowSpec {
        flow: FlowId(0),
        src: HostAddr::default(),
        dst: HostAddr::default(),
        size: Bytes::MAX,
        open: false,
        paths: 1,
        handshake: None,
    };
    let mut now = Time::ZERO;
    let mut sender = TcpSender::new(&cfg, spec, &law, start, now);
    let mut receiver = TcpReceiver::new(&cfg, FlowId(0), HostAddr::default());
    let mut burst: Vec<Packet> = Vec::new();
    let mut acks: Vec<Packet> = Vec::new();
    let (mut sent, mut acked) = (0, 0);
    while sent < total {
        while let Some(packet) = send(&mut sender, &cfg, now) {
            burst.push(packet);
            sent += 1;
            now += Span::from_ns(120);
        }
        let late = |p: &Packet| u64::from((p.seq / 1448).is_multiple_of(reorder)) * 8 * 1448;
        if reorder != u64::MAX {
            burst.sort_by_key(|p| p.seq + late(p));
        }
        now += Span::from_us(5);
        for packet in burst.drain(..) {
            acks.extend(receive(&mut receiver, &cfg, now, &packet).into_iter().flatten());
            now += Span::from_ns(120);
        }
        if acks.is_empty() {
            now = now.max(receiver.deadline());
            acks.extend(receiver.on_deadline(&cfg, now));
        }
        now += Span::from_us(5);
        for ack in acks.drain(..) {
            take(&mut sender, &cfg, now, &ack);
            acked += 1;
            now += Span::from_ns(120);
        }
    }
    println!(
        "{sent} segments, {acked} ACKs, {} sent again, {} + {} bytes per flow",
        sender.retransmits(),
        size_of::<TcpSender>(),
        size_of::<TcpReceiver>()
    );
}

// Not inlined, so that a profiler tells the three apart.

#[inline(never)]
fn send(sender: &mut TcpSender, cfg: &TcpConfig, now: Time) -> Option<Packet> {
    sender.next_packet(cfg, now)
}

#[inline(never)]
fn receive(receiver: &mut TcpReceiver, cfg: &TcpConfig, now: Time, packet: &Packet) -> Acks {
    receiver.on_data(cfg, now, packet)
}

#[inline(never)]
fn take(sender: &mut TcpSender, cfg: &TcpConfig, now: Time, ack: &Packet) {
    sender.on_ack(cfg, now, ack);
}
