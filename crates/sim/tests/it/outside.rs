//! Laws from outside: a copy of a built-in law under a name of its own gives the digest of the built-in one, in each role.

use crate::common::run;
use forebay_laws::credit::expresspass::ExpressPass;
use forebay_laws::credit::{CreditAct, CreditLaw, CreditSeen, CreditStart};
use forebay_laws::flow::dctcp::Dctcp;
use forebay_laws::flow::{FlowAct, FlowLaw, FlowSeen, Needs};
use forebay_laws::grant::homa::Homa;
use forebay_laws::grant::{
    GrantAct, GrantLaw, GrantNeeds, GrantSeen, GrantStart, Order, TailBoost,
};
use forebay_laws::group::hiercc::HierCc;
use forebay_laws::group::{GroupAct, GroupLaw, GroupSeen, GroupStart};
use forebay_laws::host::hostcc::HostCc;
use forebay_laws::host::{HostAct, HostLaw, HostSeen, HostStart, LawReadings, Side, Signal};
use forebay_laws::pool::carc::Carc;
use forebay_laws::pool::{PoolAct, PoolLaw, PoolSeen, PoolStart};
use forebay_laws::{Acts, Laws, Paths, Start};
use forebay_record::law_logs::LawLogsInMemory;
use forebay_scenario::Loader;
use forebay_scenario::model::LawLog;
use forebay_sim::{Options, Outputs, Watch, simulate_into};
use forebay_units::Time;

/// A copy of a law of a role, whose law starts at a time.
macro_rules! copy {
    ($copy:ident = $law:ty as $trait:ident $name:literal, $start:ty, $act:ty, $seen:ty { $($more:tt)* }) => {
        #[derive(Clone, Debug)]
        struct $copy($law);

        impl $trait for $copy {
            const NAME: &'static str = $name;
            type Params = <$law as $trait>::Params;
            $($more)*

            fn start(params: &Self::Params, now: Time, at: $start, acts: &mut Acts<$act>) -> Self {
                Self($trait::start(params, now, at, acts))
            }

            fn step(&mut self, now: Time, seen: $seen, acts: &mut Acts<$act>) {
                self.0.step(now, seen, acts);
            }
        }
    };
}

copy! { MyHost = HostCc as HostLaw "my-host", HostStart, HostAct, HostSeen {
    fn needs(params: &Self::Params) -> &'static [Signal] {
        HostCc::needs(params)
    }

    fn side(&self) -> Side {
        self.0.side()
    }

    fn watched(&self) -> Option<LawReadings> {
        self.0.watched()
    }
} }

copy! { MyGroup = HierCc as GroupLaw "my-group", GroupStart, GroupAct, GroupSeen<'_> {} }

copy! { MyGrant = Homa as GrantLaw "my-grant", GrantStart, GrantAct, GrantSeen<'_> {
    const ORDER: Order = Homa::ORDER;
    const NEEDS: GrantNeeds = Homa::NEEDS;

    fn active(params: &Self::Params) -> Option<u8> {
        Homa::active(params)
    }

    fn tail_boost(params: &Self::Params) -> TailBoost {
        Homa::tail_boost(params)
    }

    fn waits_until(&self) -> Time {
        self.0.waits_until()
    }

    fn serves_oldest(&self) -> bool {
        self.0.serves_oldest()
    }
} }

copy! { MyCredit = ExpressPass as CreditLaw "my-credit", CreditStart, CreditAct, CreditSeen<'_> {
    const PATHS: Paths = ExpressPass::PATHS;

    fn stops_early(params: &Self::Params) -> bool {
        ExpressPass::stops_early(params)
    }

    fn asks_after_stop(params: &Self::Params) -> bool {
        ExpressPass::asks_after_stop(params)
    }
} }

copy! { MyPool = Carc as PoolLaw "my-pool", PoolStart, PoolAct, PoolSeen<'_> {} }

#[derive(Clone, Debug)]
struct MyFlow(Dctcp);

impl FlowLaw for MyFlow {
    const NAME: &'static str = "my-flow";
    const NEEDS: Needs = Dctcp::NEEDS;
    type Params = <Dctcp as FlowLaw>::Params;

    fn start(params: &Self::Params, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        Self(Dctcp::start(params, at, acts))
    }

    fn needs(&self) -> Needs {
        self.0.needs()
    }

    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        self.0.step(now, seen, acts);
    }
}

fn laws() -> Laws {
    let all = || {
        Laws::built_in()
            .with_flow::<MyFlow>("My flow law.")?
            .with_host::<MyHost>("My host law.")?
            .with_group::<MyGroup>("My group law.")?
            .with_grant::<MyGrant>("My grant law.")?
            .with_credit::<MyCredit>("My credit law.")?
            .with_pool::<MyPool>("My pool law.")
    };
    all().expect("their names are free")
}

const HOST: &str = "version = 1\nseeds = [1]\nstop = { time = \"1ms\" }\n\
    [fabric]\nkind = \"star\"\nhosts = 2\nhost_link = { rate = \"100Gbps\", delay = \"9us\" }\n\
    [host]\nprofile = \"linux\"\nrx_usecs = \"4us\"\n\
    [[host.override]]\nwhere = \"host[1]\"\n[host.override.memory]\nnic_buffer = \"100KB\"\n\
    [[host.override.memory.antagonist]]\ncores = 3\n\
    [host.override.memory.control]\nlaw = \"hostcc\"\nparams = { iio_threshold = \"60\" }\n\
    [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\nmtu = \"4000B\"\n\
    [[traffic]]\nkind = \"long\"\nfrom = [\"host[0]\", \"host[0]\", \"host[0]\", \"host[0]\"]\nto = \"host[1]\"\n";

const GROUP: &str = "version = 1\nseeds = [1]\nstop = { time = \"1ms\" }\n\
    [fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
    host_link = { rate = \"25Gbps\", delay = \"1us\" }\nfabric_link = { rate = \"100Gbps\", delay = \"1us\" }\n\
    [fabric.switch]\nhierarchical = { law = \"hiercc\" }\n\
    [transport]\nkind = \"rdma\"\nlaw = \"explicit\"\n\
    [[traffic]]\nkind = \"incast\"\nto = \"leaf[1].host[0]\"\nfan_in = 4\nsize = \"100KB\"\n";

const FLOW: &str = "version = 1\nseeds = [1]\nstop = { time = \"1ms\" }\n\
    [fabric]\nkind = \"star\"\nhosts = 9\nhost_link = { rate = \"25Gbps\", delay = \"1us\" }\n\
    [fabric.switch]\necn = { k = \"30KB\" }\n\
    [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\nparams = { g = \"1/8\" }\n\
    [[traffic]]\nkind = \"incast\"\nto = \"host[0]\"\nfan_in = 8\nsize = \"200KB\"\n";

#[test]
fn a_copy_of_a_law_from_outside_gives_the_digest_of_the_built_in_law() {
    let (homa, expresspass, carc) = (
        include_str!("../../../../scenarios/homa.toml"),
        include_str!("../../../../scenarios/expresspass.toml"),
        include_str!("../../../../scenarios/carc-fast-producer.toml"),
    );
    for (built_in, own, text, stop) in [
        ("dctcp", "my-flow", FLOW, "1ms"),
        ("hostcc", "my-host", HOST, "1ms"),
        ("hiercc", "my-group", GROUP, "1ms"),
        ("homa", "my-grant", homa, "300us"),
        ("expresspass", "my-credit", expresspass, "300us"),
        ("carc", "my-pool", carc, "1ms"),
    ] {
        let read = |text: &str| {
            let set = [("stop.time", stop)];
            let loaded = Loader::new(laws()).text("mine.toml", text, &set);
            loaded.unwrap_or_else(|error| panic!("{own}: {error}")).scenario
        };
        let named = text.replace(&format!("law = \"{built_in}\""), &format!("law = \"{own}\""));
        assert_ne!(named, text, "{own}");
        let (theirs, ours) = (read(text), read(&named));
        let theirs = run(&theirs, 1, Options::default()).record;
        assert!(
            theirs.totals.packet_hops > 1_000,
            "{own}: {} packet-hops",
            theirs.totals.packet_hops
        );
        for threads in [1, 2] {
            let options = Options { threads, ..Options::default() };
            let ours = run(&ours, 1, options).record;
            assert_eq!(ours.digest, theirs.digest, "{own} on {threads} threads");
        }
    }
}

#[test]
fn a_law_from_outside_writes_a_log_under_its_own_name() {
    let text = FLOW.replace("\"dctcp\"", "\"my-flow\"");
    let mut scenario = Loader::new(laws()).text::<&str>("mine.toml", &text, &[]).unwrap().scenario;
    scenario.output.law_log = Some(LawLog { flows: vec![3], ..LawLog::default() });
    let kept = LawLogsInMemory::default();
    let outputs = Outputs { law_logs: Some(&kept), ..Outputs::default() };
    simulate_into(&scenario, 1, Options::default(), &Watch::default(), outputs).unwrap();
    let replayed = laws().replay(&kept.finish()["3"]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((replayed.role, replayed.law.as_str()), ("flow", "my-flow"));
    assert!(replayed.events > 50, "{replayed:?}");
}

#[test]
fn sentences_about_a_law_from_outside_name_the_key_and_the_remedy() {
    let loader = Loader::new(laws());
    let said = |loader: &Loader, text: &str| {
        loader.text::<&str>("mine.toml", text, &[]).expect_err("refused").to_string()
    };
    let own = FLOW.replace("\"dctcp\"", "\"my-flow\"");
    let wrong = said(&loader, &own.replace("1/8", "0.3"));
    assert!(wrong.contains("transport.params.g") && wrong.contains("my-flow.g takes"), "{wrong}");
    let close = said(&loader, &FLOW.replace("\"dctcp\"", "\"my-flw\""));
    assert!(close.contains("my-flow") && close.contains("did you mean"), "{close}");
    let other = said(&loader, &FLOW.replace("\"dctcp\"", "\"my-host\""));
    assert!(other.contains("is a law for host.memory.control"), "{other}");
    let unknown = said(&Loader::default(), &own);
    assert!(unknown.contains("transport.law: no law is called \"my-flow\""), "{unknown}");
}
