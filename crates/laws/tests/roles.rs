//! The interfaces fit: a small stub of one law per family, each stepped through a trace worked out by
//! hand. Stubs hold what the trace needs and no more; they are not the product's laws.

mod roles {
    mod carc;
    mod hiercc;
    mod homa;

    use forebay_laws::flow::{
        AckSample, DelaySplit, FlowAct, FlowEvent, FlowLaw, FlowSeen, IntHop, Totals,
    };
    use forebay_laws::{Acts, Start};
    use forebay_units::{BitsPerSec, Bytes, Span, Time};

    pub const MSS: u64 = 1448;

    pub fn start(base_rtt: Span, line_rate: BitsPerSec) -> Start {
        Start {
            mss: Bytes::new(MSS),
            initial_window: Bytes::new(10 * MSS),
            line_rate,
            base_rtt: Some(base_rtt),
            seed: 1,
        }
    }

    pub fn step<L: FlowLaw>(
        law: &mut L,
        now: Time,
        totals: &Totals,
        event: FlowEvent<'_>,
    ) -> Vec<FlowAct> {
        let mut acts = Acts::default();
        law.step(now, FlowSeen { totals, event }, &mut acts);
        acts.iter().collect()
    }

    pub fn ack<'a>(
        acked: u64,
        sample: &'a AckSample,
        delay: Option<&'a DelaySplit>,
        hops: &'a [IntHop],
    ) -> FlowEvent<'a> {
        FlowEvent::Ack { acked: Bytes::new(acked), ece: false, sample, delay, hops }
    }
}
