//! Bursts that no queue has room for. They make losses, and a flow that loses its last packets waits for a timeout, which no
//! forecast of time knows.

use forebay_scenario::model::{Incast, Policy, QueueLength, Scenario, TrafficKind};
use forebay_units::human;

/// A sentence for each incast whose first windows do not fit in the queue of a port.
pub fn overflow(scenario: &Scenario) -> Vec<String> {
    let switch = &scenario.fabric.switch;
    if switch.pause.on().is_some() {
        return Vec::new();
    }
    let mut sentences = Vec::new();
    for (i, traffic) in scenario.traffic.iter().enumerate() {
        let TrafficKind::Incast(Incast { fan_in, size, .. }) = &traffic.kind else { continue };
        let transport = scenario.transport_of(traffic);
        let Some(tcp) = transport.tcp() else { continue };
        let packet = (transport.mss + transport.header).get() as f64;
        let first = (*size).min(tcp.initial_window.payload(transport.mss));
        let wire = first.get() as f64 * packet / transport.mss.get() as f64;
        // While the others queue, the port sends what one of them sends.
        let queued = wire * (f64::from(*fan_in) - 1.0);
        let limit = switch.port_limit.map(|limit| match limit {
            QueueLength::Bytes(bytes) => bytes.get() as f64,
            QueueLength::Packets(n) => f64::from(n) * packet,
        });
        let share = switch.shared_buffer().map(|pool| {
            let alpha = pool.alpha.unwrap_or(1.0);
            let part = match pool.policy {
                Policy::DynamicThreshold => alpha / (1.0 + alpha),
                _ => 1.0,
            };
            pool.size.get() as f64 * part
        });
        let room = [limit, share].into_iter().flatten().fold(f64::INFINITY, f64::min);
        if queued > room {
            sentences.push(format!(
                "traffic[{i}]: {fan_in} senders begin with {} each, and one port queues {} at most; a flow that loses its last \
                 packets waits for a timeout (rto_min {}), which the times above leave out",
                human::bytes_f(wire),
                human::bytes_f(room),
                tcp.rto_min
            ));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incast_beyond_its_port_is_named_and_one_that_fits_is_not() {
        let said = |buffer: &str| {
            let text = format!(
                "version = 1\nname = \"i\"\nseeds = [1]\nstop = {{ time = \"1ms\" }}\n\
                 [fabric]\nkind = \"star\"\nhosts = 40\nhost_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n\
                 [fabric.switch]\nbuffer = {{ size = \"{buffer}\" }}\n[transport]\nkind = \"tcp\"\nlaw = \"reno\"\n\
                 [[traffic]]\nkind = \"incast\"\nfan_in = 32\nsize = \"32KB\"\n"
            );
            let loaded = forebay_scenario::text("i.toml", &text).expect("a scenario");
            overflow(&loaded.scenario)
        };
        assert_eq!(said("4MB"), Vec::<String>::new());
        let small = said("200KB");
        assert!(
            small.len() == 1 && small[0].contains("one port queues 100 KB at most"),
            "{small:?}"
        );
    }
}
