//! Laws from outside: a type of each role, and a law that is made at run time.

use forebay_laws::credit::{
    Credit, CreditAct, CreditEvent, CreditLaw, CreditSeen, CreditStart, CreditTotals,
};
use forebay_laws::flow::{
    Echo, Flow, FlowAct, FlowEvent, FlowFacts, FlowLaw, FlowSeen, Needs, Totals,
};
use forebay_laws::grant::{
    GrantAct, GrantEvent, GrantLaw, GrantNeeds, GrantSeen, GrantStart, Order,
};
use forebay_laws::group::{GroupAct, GroupEvent, GroupLaw, GroupSeen, GroupStart, GroupTotals};
use forebay_laws::host::{
    Counters, HostAct, HostEvent, HostLaw, HostSeen, HostStart, Side, Signal,
};
use forebay_laws::log::{ReplayError, Sink, Tap};
use forebay_laws::outside::{OutsideLaw, OutsideState};
use forebay_laws::params::{LawInfo, SomePackets};
use forebay_laws::pool::{PoolAct, PoolEvent, PoolLaw, PoolSeen, PoolStart, PoolTotals};
use forebay_laws::{Acts, Laws, Paths, RoleName, Start};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use std::sync::{Arc, Mutex};

forebay_laws::params! {
    /// Parameters of the laws below.
    pub struct FixedParams {
        /// Number of packets.
        packets: SomePackets = SomePackets::new(2) => "none, for a test",
    }
}

const PAGE: &str = "//! Fixed: always the same.\n//!\n//! Source: none.\n\nuse nothing;\n";

/// A number of packets, whatever the role.
#[derive(Clone, Debug)]
struct Fixed(u64);

impl FlowLaw for Fixed {
    const NAME: &'static str = "always";
    const NEEDS: Needs = Needs { echo: Echo::Exact, own_cwr: true, ..Needs::NONE };
    const FLOOR_MILLI_MSS: u32 = 500;
    type Params = FixedParams;

    fn start(params: &FixedParams, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        acts.push(FlowAct::window(at.mss * params.packets.get()));
        Self(params.packets.get())
    }

    fn step(&mut self, _: Time, _: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        acts.push(FlowAct::window(Bytes::new(self.0)));
    }
}

/// The same name for one type is one per role.
macro_rules! of_role {
    ($type:ident, $name:literal) => {
        #[derive(Clone, Debug)]
        struct $type;
        impl $type {
            const NAMED: &'static str = $name;
        }
    };
}

of_role!(FixedHost, "fixed-host");
of_role!(FixedGroup, "fixed-group");
of_role!(FixedGrant, "fixed-grant");
of_role!(FixedCredit, "fixed-credit");
of_role!(FixedPool, "fixed-pool");

impl HostLaw for FixedHost {
    const NAME: &'static str = Self::NAMED;
    type Params = ();

    fn needs((): &()) -> &'static [Signal] {
        &[Signal::NicDrops]
    }

    fn start((): &(), _: Time, at: HostStart, acts: &mut Acts<HostAct>) -> Self {
        acts.push(HostAct::Level(at.max_level));
        Self
    }

    fn side(&self) -> Side {
        Side::Send
    }

    fn step(&mut self, _: Time, _: HostSeen, acts: &mut Acts<HostAct>) {
        acts.push(HostAct::Level(1));
    }
}

impl GroupLaw for FixedGroup {
    const NAME: &'static str = Self::NAMED;
    type Params = ();

    fn start((): &(), _: Time, at: GroupStart, acts: &mut Acts<GroupAct>) -> Self {
        acts.push(GroupAct::Rate(at.line_rate));
        Self
    }

    fn step(&mut self, _: Time, _: GroupSeen<'_>, acts: &mut Acts<GroupAct>) {
        acts.push(GroupAct::Pause);
    }
}

impl GrantLaw for FixedGrant {
    const NAME: &'static str = Self::NAMED;
    const ORDER: Order = Order::Oldest;
    const NEEDS: GrantNeeds = GrantNeeds {
        first: forebay_laws::grant::UnscheduledBytes::Request,
        paths: Paths::Spray,
        trims: true,
        acks: false,
        resend_after: Span::from_us(7),
        tries: 3,
        busy: false,
        classes: 2,
    };
    type Params = ();

    fn active((): &()) -> Option<u8> {
        Some(4)
    }

    fn start((): &(), now: Time, _: GrantStart, acts: &mut Acts<GrantAct>) -> Self {
        acts.push(GrantAct::WakeAt(now));
        Self
    }

    fn waits_until(&self) -> Time {
        Time::from_ps(5)
    }

    fn serves_oldest(&self) -> bool {
        true
    }

    fn step(&mut self, now: Time, _: GrantSeen<'_>, acts: &mut Acts<GrantAct>) {
        acts.push(GrantAct::WakeAt(now));
    }
}

impl CreditLaw for FixedCredit {
    const NAME: &'static str = Self::NAMED;
    const PATHS: Paths = Paths::Symmetric;
    type Params = ();

    fn stops_early((): &()) -> bool {
        true
    }

    fn start((): &(), _: Time, at: CreditStart, acts: &mut Acts<CreditAct>) -> Self {
        acts.push(CreditAct::Rate(at.most));
        Self
    }

    fn step(&mut self, now: Time, _: CreditSeen<'_>, acts: &mut Acts<CreditAct>) {
        acts.push(CreditAct::WakeAt(now));
    }
}

impl PoolLaw for FixedPool {
    const NAME: &'static str = Self::NAMED;
    type Params = ();

    fn start((): &(), _: Time, at: PoolStart, acts: &mut Acts<PoolAct>) -> Self {
        acts.push(PoolAct::Limit(at.llc.get()));
        Self
    }

    fn step(&mut self, _: Time, _: PoolSeen<'_>, acts: &mut Acts<PoolAct>) {
        acts.push(PoolAct::Limit(1));
    }
}

/// Laws with one from outside in each role.
fn laws() -> Laws {
    let all = || {
        Laws::built_in()
            .with_flow::<Fixed>(PAGE)?
            .with_host::<FixedHost>(PAGE)?
            .with_group::<FixedGroup>(PAGE)?
            .with_grant::<FixedGrant>(PAGE)?
            .with_credit::<FixedCredit>(PAGE)?
            .with_pool::<FixedPool>(PAGE)
    };
    all().expect("their names are free")
}

const START: Start = Start {
    mss: Bytes::new(1_000),
    initial_window: Bytes::new(10_000),
    line_rate: BitsPerSec::from_gbps(1),
    base_rtt: None,
    seed: 0,
};

/// A log in memory.
#[derive(Debug, Default)]
struct Memory(Mutex<Vec<u8>>);

impl Sink for Memory {
    fn write(&self, bytes: &[u8]) {
        self.0.lock().expect("one writer").extend_from_slice(bytes);
    }
}

/// What `run` logs.
fn logged(run: impl FnOnce(Tap)) -> Vec<u8> {
    let memory = Arc::new(Memory::default());
    run(Tap::new(memory.clone()));
    memory.0.lock().expect("no writer").clone()
}

#[test]
fn a_flow_law_from_outside_has_its_own_name_needs_floor_and_parameters() {
    let laws = laws();
    let mut params = laws.flow("always").expect("it was added");
    assert_eq!((params.name(), params.needs()), ("always", <Fixed as FlowLaw>::NEEDS));
    assert_eq!(params.facts().floor_milli_mss, 500);
    assert_eq!(params.set("packets", "3"), Ok(()));
    assert_eq!(
        params.set("packets", "0").expect_err("out of bounds").to_string(),
        "always.packets takes a whole number of packets from 1 to 65535"
    );
    assert_eq!(
        params.set("g", "1").expect_err("no such name").to_string(),
        "always has no parameter of this name; use packets"
    );
    let shown: Vec<_> = params.values().map(|(of, value)| format!("{}={value}", of.name)).collect();
    assert_eq!(shown, ["packets=3"]);
    assert_ne!(params, laws.flow("always").expect("defaults"), "its values differ");
    let mut acts = Acts::default();
    let flow = params.start(START, &mut acts);
    assert!(acts.iter().eq([FlowAct::window(Bytes::new(3_000))]));
    assert_eq!(
        (flow.name(), flow.needs().echo, flow.floor_milli_mss()),
        ("always", Echo::Exact, 500)
    );
    assert!(matches!(flow, Flow::Boxed(_)) && matches!(flow.clone(), Flow::Boxed(_)));
}

#[test]
fn every_role_takes_a_law_from_outside() {
    let (laws, now) = (laws(), Time::from_ps(9));
    let rate = BitsPerSec::from_gbps(1);

    let host = laws.host("fixed-host").expect("it was added");
    let at = HostStart {
        write: Counters::WRITE,
        read: Counters::READ,
        max_level: 4,
        period: Span::from_us(1),
        seed: 0,
    };
    let mut acts = Acts::default();
    let mut law = host.start(now, at, &mut acts);
    law.step(now, HostSeen { event: HostEvent::Wake }, &mut acts);
    assert!(acts.iter().eq([HostAct::Level(4), HostAct::Level(1)]));
    assert_eq!(
        (host.needs(), law.side(), law.watched()),
        (&[Signal::NicDrops][..], Side::Send, None)
    );

    let at = GroupStart { line_rate: rate, hop_rtt: Span::from_us(1), seed: 0 };
    let mut acts = Acts::default();
    let mut law = laws.group("fixed-group").expect("it was added").start(now, at, &mut acts);
    let seen = GroupSeen { totals: &GroupTotals::default(), event: GroupEvent::Wake };
    law.step(now, seen, &mut acts);
    assert!(acts.iter().eq([GroupAct::Rate(rate), GroupAct::Pause]));

    let grant = laws.grant("fixed-grant").expect("it was added");
    let at = GrantStart {
        mss: Bytes::new(1_000),
        packet: Bytes::new(1_100),
        line_rate: rate,
        rtt_bytes: Bytes::new(9_000),
        priorities: 1,
        seed: 0,
    };
    let mut acts = Acts::default();
    let mut law = grant.start(now, at, &mut acts);
    law.step(now, GrantSeen { open: &[], oldest: None, event: GrantEvent::Wake }, &mut acts);
    assert!(acts.iter().eq([GrantAct::WakeAt(now), GrantAct::WakeAt(now)]));
    assert_eq!(grant.wants(), (Order::Oldest, <FixedGrant as GrantLaw>::NEEDS));
    assert_eq!(law.wants(), grant.wants());
    assert_eq!(
        (grant.facts().active, grant.knows_size(), grant.backs_off()),
        (Some(4), true, false)
    );
    assert_eq!((law.waits_until(), law.serves_oldest()), (Time::from_ps(5), true));

    let credit = laws.credit("fixed-credit").expect("it was added");
    let at = CreditStart { most: rate, size: Bytes::new(84), packets: 3, seed: 0 };
    let mut acts = Acts::default();
    let mut law: Credit = credit.start(now, at, &mut acts);
    let seen = CreditSeen { totals: &CreditTotals::default(), event: CreditEvent::Wake };
    law.step(now, seen, &mut acts);
    assert!(acts.iter().eq([CreditAct::Rate(rate), CreditAct::WakeAt(now)]));
    assert_eq!((credit.facts().stops_early, law.paths()), (true, Paths::Symmetric));

    let at = PoolStart {
        llc: Bytes::new(640),
        line: Bytes::new(64),
        connections: 1,
        base_rtt: None,
        seed: 0,
    };
    let mut acts = Acts::default();
    let mut law = laws.pool("fixed-pool").expect("it was added").start(now, at, &mut acts);
    let seen = PoolSeen { totals: &PoolTotals::default(), event: PoolEvent::Wake };
    law.step(now, seen, &mut acts);
    assert!(acts.iter().eq([PoolAct::Limit(640), PoolAct::Limit(1)]));
    assert_eq!(law.name(), "fixed-pool");
}

#[test]
fn lists_and_pages_show_laws_from_outside_after_the_built_in_ones() {
    let laws = laws();
    let flows: Vec<&str> = laws.names(RoleName::Flow).collect();
    assert_eq!((flows[0], flows[flows.len() - 1]), ("reno", "always"));
    assert_eq!(laws.all().count(), Laws::built_in().all().count() + 6);
    for (role, law) in laws.outside() {
        assert_eq!(laws.find(law.name()).map(|(of, _)| of), Some(role));
        assert_eq!(
            law.help().collect::<Vec<_>>(),
            ["Fixed: always the same.", "", "Source: none."]
        );
        let texts = laws.named(role, law.name()).expect("listed").texts();
        assert_eq!(texts.len(), law.params().len());
    }
    let error = laws.flow("fixd").expect_err("no such law").to_string();
    assert!(error.ends_with("fixed or always"), "{error}");
    assert_eq!(laws.outside().count(), 6);
    assert_eq!(Laws::built_in().outside().count(), 0);
}

#[test]
fn a_name_means_one_law_whatever_its_role() {
    let again = laws().with_flow::<Fixed>(PAGE).expect_err("it is there").to_string();
    assert_eq!(again, "there is a law called \"always\" already; give yours another name");
    for taken in ["reno", "homa", "hostcc", "fixed-pool"] {
        let made = Scripted { info: LawInfo::of_program(taken.into(), String::new()) };
        assert!(laws().with::<Flow>(Arc::new(made)).is_err(), "{taken}");
    }
}

#[test]
fn a_log_of_a_law_from_outside_replays_where_the_law_is_known() {
    let laws = laws();
    let mut params = laws.flow("always").expect("it was added");
    params.set("packets", "5").expect("in bounds");
    let log = logged(|tap| {
        let mut flow = params.with_log(tap).start(START, &mut Acts::default());
        let seen = FlowSeen { totals: &Totals::default(), event: FlowEvent::Undo };
        flow.step(Time::from_ps(1), seen, &mut Acts::default());
        assert_eq!((flow.name(), flow.needs()), ("always", <Fixed as FlowLaw>::NEEDS));
    });
    let replayed = laws.replay(&log).expect("it answers the same");
    assert_eq!((replayed.law.as_str(), replayed.events), ("always", 1));
    assert_eq!(laws.open_log::<Flow>(&log).expect("its head").params.values().count(), 1);
    let unknown = forebay_laws::log::replay(&log).expect_err("it is not built in");
    assert!(matches!(&unknown, ReplayError::Params { law, .. } if law == "always"), "{unknown}");
    let set = [("packets".to_string(), "6".to_string())];
    assert_eq!(laws.compare(&log, &set).expect("known").differing, 2, "start and event");
}

/// A law that is made at run time.
#[derive(Clone, Debug)]
struct Scripted {
    info: LawInfo,
}

impl OutsideLaw<Flow> for Scripted {
    fn info(&self) -> &LawInfo {
        &self.info
    }

    fn facts(&self) -> FlowFacts {
        FlowFacts { needs: Needs { int: true, ..Needs::NONE }, floor_milli_mss: 1000 }
    }

    fn start(&self, _: Time, at: Start, acts: &mut Acts<FlowAct>) -> Box<dyn OutsideState<Flow>> {
        acts.push(FlowAct::window(at.initial_window));
        Box::new(Counting(0))
    }
}

#[derive(Clone, Debug)]
struct Counting(u64);

impl OutsideState<Flow> for Counting {
    fn step(&mut self, _: Time, _: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        self.0 += 1;
        acts.push(FlowAct::window(Bytes::new(self.0)));
    }
}

#[test]
fn a_law_made_at_run_time_stands_in_for_another_and_lists_do_not_show_it() {
    let info = LawInfo::of_program("script".into(), "One line.".into());
    let laws = Laws::built_in().with_stand_in::<Flow>("reno", Arc::new(Scripted { info }));
    let params = laws.flow("reno").expect("it stands in");
    assert_eq!((params.name(), params.needs().int), ("script", true));
    assert_eq!(params.info().help().collect::<Vec<_>>(), ["One line."]);
    assert_eq!((laws.outside().count(), laws.names(RoleName::Flow).next()), (0, Some("reno")));
    assert_ne!(laws, Laws::built_in());
    assert_eq!(laws, laws.clone());
    let mut flow = params.start(START, &mut Acts::default());
    let seen = FlowSeen { totals: &Totals::default(), event: FlowEvent::Undo };
    // A copy goes its own way.
    flow.clone().step(Time::ZERO, seen, &mut Acts::default());
    let mut acts = Acts::default();
    flow.step(Time::ZERO, seen, &mut acts);
    assert!(acts.iter().eq([FlowAct::window(Bytes::new(1))]));
}
