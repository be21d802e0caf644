//! What each host's settings come to: its NIC, and what its flows read.

use crate::host::{BaseRtt, Common, Nic, Profile};
use crate::law::law;
use crate::options::SimError;
use forebay_laws::Laws;
use forebay_laws::flow::FlowParams;
use forebay_scenario::model::{
    self, HostSettings, RdmaSettings, ReceiverDrivenSettings, Scenario, TcpSettings, TransportKind,
};
use forebay_transport::credited::CreditedConfig;
use forebay_transport::granted::GrantedConfig;
use forebay_transport::rdma::RdmaConfig;
use forebay_transport::{Config, TcpConfig};
use forebay_units::Bytes;
use std::sync::Arc;

/// What decides how a host's flows behave: its settings, whether its ACKs wait, where that is not as the transport says, and its
/// socket buffers, where applications read late.
pub(crate) type Stack = (HostSettings, Option<bool>, Option<Bytes>);

/// The stack of the hosts that no override names.
pub(crate) fn usual(scenario: &Scenario) -> Stack {
    let buffer = scenario.host.memory.as_ref().map(|memory| memory.socket_buffer);
    (scenario.host.settings, None, buffer)
}

/// Settings met so far, each with what its hosts share.
pub(crate) struct Stacks<'a> {
    scenario: &'a Scenario,
    met: Vec<(Stack, Arc<Common>)>,
}

impl<'a> Stacks<'a> {
    /// `common` is for the hosts that no override names.
    pub fn new(scenario: &'a Scenario, common: &Arc<Common>) -> Self {
        Self { scenario, met: vec![(usual(scenario), Arc::clone(common))] }
    }

    /// For the host with this name.
    pub fn of(&mut self, name: &str) -> Result<(Arc<Common>, Nic), SimError> {
        let (settings, delayed_ack) = self.scenario.host.at(name);
        let buffer = self.scenario.host.memory_at(name).map(|memory| memory.socket_buffer);
        let settings = (settings, delayed_ack, buffer);
        let packets = self.scenario.all_transports().map(|one| one.mss + one.header);
        let packet = packets.max().unwrap_or(Bytes::ZERO);
        let nic = Nic { settings: settings.0, packet: packet.get() as u32 };
        if let Some((_, common)) = self.met.iter().find(|met| met.0 == settings) {
            return Ok((Arc::clone(common), nic));
        }
        let mut profiles = profiles(self.scenario, &settings)?;
        for (profile, usual) in profiles.iter_mut().zip(&self.met[0].1.profiles) {
            profile.base_rtt = usual.base_rtt.clone();
            profile.law.clone_from(&usual.law);
            if let Config::Granted(_) | Config::Credited(_) = usual.transport {
                profile.transport = usual.transport.clone(); // with its window and cutoffs
            }
        }
        let common = Arc::new(Common { profiles, ..Common::clone(&self.met[0].1) });
        self.met.push((settings, Arc::clone(&common)));
        Ok((common, nic))
    }
}

/// TCP's settings on a host of these.
fn configure(tcp: TcpConfig, (host, delayed_ack, buffer): &Stack) -> TcpConfig {
    let tcp = TcpConfig { reads_late: buffer.is_some(), host: *host, ..tcp };
    tcp.with(|keys| {
        keys.delayed_ack = delayed_ack.unwrap_or(keys.delayed_ack);
        keys.receive_window = buffer.or(keys.receive_window);
    })
}

/// The transports of all traffic as hosts of these settings run them.
pub(crate) fn profiles(scenario: &Scenario, stack: &Stack) -> Result<Vec<Profile>, SimError> {
    let one = |t: &model::Traffic| {
        let of = scenario.transport_of(t);
        let class = t.class.unwrap_or(of.class);
        let (transport, law) = match &of.kind {
            TransportKind::Tcp(keys) => {
                let law = law_of(&scenario.laws, of, t)?;
                (Config::from(configure(tcp(of, *keys, class, &law), stack)), Some(law))
            }
            TransportKind::Rdma(keys) => {
                let law = law_of(&scenario.laws, of, t)?;
                if law.is_module() {
                    return Err(SimError::Law(format!(
                        "law \"{}\" has the callbacks of a congestion control of TCP; write kind = \"tcp\" for its transport",
                        law.name()
                    )));
                }
                (Config::from(queue_pairs(of, *keys, class, &law)), Some(law))
            }
            TransportKind::ReceiverDriven(keys) => {
                let overhead = scenario.fabric.wire.overhead;
                let laws = &scenario.laws;
                let cfg = match (of.credit_law(laws), scenario.fabric.switch.credits) {
                    (Some(_), Some(credits)) => {
                        credited(laws, (of, keys), credits, overhead)?.into()
                    }
                    _ => receiver_driven(laws, of, keys, overhead)?.into(),
                };
                (cfg, None)
            }
        };
        Ok(Profile { transport, law, base_rtt: BaseRtt::Unknown })
    };
    scenario.traffic.iter().map(one).collect()
}

/// The law of a traffic entry: its own parameters win over the transport's, which hold for the same law only.
fn law_of(
    laws: &Laws,
    transport: &model::Transport,
    entry: &model::Traffic,
) -> Result<FlowParams, SimError> {
    let name = entry.law.as_ref().unwrap_or(&transport.law);
    let common = transport.params.iter().filter(|_| *name == transport.law);
    law(name, common.chain(&entry.params), |name| laws.flow(name))
}

fn tcp(transport: &model::Transport, keys: TcpSettings, class: u8, law: &FlowParams) -> TcpConfig {
    TcpConfig {
        mss: transport.mss,
        header: transport.header,
        ack_size: transport.ack_size,
        needs: law.needs(),
        data_class: class,
        ack_class: transport.ack_class,
        ..TcpConfig::from(keys)
    }
}

/// What depends on the fabric, [`super::messages`] fills in.
fn credited(
    laws: &Laws,
    (transport, keys): (&model::Transport, &ReceiverDrivenSettings),
    credits: model::CreditClass,
    overhead: Bytes,
) -> Result<CreditedConfig, SimError> {
    let law = law(&transport.law, &transport.params, |name| laws.credit(name))?;
    Ok(CreditedConfig {
        early_stop: law.facts().stops_early,
        asks_after_stop: law.facts().asks_after_stop,
        law,
        mss: transport.mss,
        header: transport.header,
        ack_size: transport.ack_size,
        overhead,
        data_class: transport.class,
        credit_class: credits.class,
        share: (credits.share.of, credits.share.whole),
        unscheduled: keys.window.map_or(Bytes::ZERO, |window| window.payload(transport.mss)),
    })
}

/// What depends on fabric and flows, [`super::messages`] fills in.
fn receiver_driven(
    laws: &Laws,
    transport: &model::Transport,
    keys: &ReceiverDrivenSettings,
    overhead: Bytes,
) -> Result<GrantedConfig, SimError> {
    let law = law(&transport.law, &transport.params, |name| laws.grant(name))?;
    Ok(GrantedConfig {
        settings: keys.clone(),
        scores_paths: law.facts().scores_paths,
        path_numbers: law.facts().path_numbers,
        law,
        mss: transport.mss,
        header: transport.header,
        ack_size: transport.ack_size,
        overhead,
        window: keys.window.map_or(Bytes::ZERO, |window| window.payload(transport.mss)),
        data_class: transport.class,
        ack_class: transport.ack_class,
        priorities: 1,
        cutoffs: None,
        tail: Bytes::ZERO,
    })
}

fn queue_pairs(
    transport: &model::Transport,
    keys: RdmaSettings,
    class: u8,
    law: &FlowParams,
) -> RdmaConfig {
    let needs = law.needs();
    let telemetry = if needs.int { keys.telemetry } else { Bytes::ZERO };
    RdmaConfig {
        mtu: transport.mss,
        header: transport.header + telemetry,
        ack_size: transport.ack_size + telemetry,
        needs,
        data_class: class,
        ack_class: transport.ack_class,
        ..RdmaConfig::from(keys)
    }
}
