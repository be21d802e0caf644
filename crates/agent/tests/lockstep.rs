//! Host laws of a simulation in an agent: the same record as within the simulation, whatever the law, on any number of threads.

use forebay_laws::host_driver::lockstep::{FromAgent, Line, ToAgent, message, parse};
use forebay_record::RunRecord;
use forebay_record::messages::Messages;
use forebay_sim::{Options, Outputs, Watch, simulate_into};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// An agent and the line to it.
#[derive(Debug)]
struct Agent(Mutex<(Messages<UnixStream>, Child)>);

impl Agent {
    fn start() -> Self {
        let (here, there) = UnixStream::pair().expect("a socket");
        let child = Command::new(env!("CARGO_BIN_EXE_forebay-agent"))
            .arg("lockstep")
            .stdin(Stdio::from(OwnedFd::from(there)))
            .spawn()
            .expect("it runs");
        Self(Mutex::new((Messages::new(here), child)))
    }
}

impl Line for Agent {
    fn converse(&self, first: &[u8], answer: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        let (line, _) = &mut *self.0.lock().expect("nobody panics");
        let mut next = Some(first.to_vec());
        while let Some(bytes) = next {
            if line.send(&bytes).is_err() {
                return false;
            }
            let Ok(came) = line.receive() else { return false };
            next = answer(&came);
        }
        true
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let (line, child) = self.0.get_mut().expect("nobody panics");
        *line = Messages::new(UnixStream::pair().expect("a socket").0); // the other end has gone
        child.wait().expect("it ends with its line");
    }
}

/// Two hosts with busy memory behind one switch, four flows to each.
fn scenario(control: &str) -> String {
    format!(
        "version = 1\nseeds = [1]\nstop = {{ time = \"2ms\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = 4\nhost_link = {{ rate = \"100Gbps\", delay = \"9us\" }}\n\
         [host]\nprofile = \"linux\"\nrx_usecs = \"4us\"\n\
         [host.memory]\nnic_buffer = \"200KB\"\n\
         [[host.memory.antagonist]]\ncores = 3\n\
         [host.memory.control]\n{control}\n\
         [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\nmtu = \"4000B\"\n\
         [[traffic]]\nkind = \"long\"\nfrom = [\"host[0]\", \"host[0]\", \"host[0]\", \"host[0]\"]\nto = \"host[1]\"\n\
         [[traffic]]\nkind = \"long\"\nfrom = [\"host[2]\", \"host[2]\", \"host[2]\", \"host[2]\"]\nto = \"host[3]\"\n\
         [output]\nmemory = {{ every = \"50us\" }}\n"
    )
}

fn run(text: &str, threads: usize, agent: Option<Arc<dyn Line>>) -> Result<RunRecord, String> {
    let loaded = forebay_scenario::text("test.toml", text).map_err(|error| error.to_string())?;
    let options = Options { threads, ..Options::default() };
    let outputs = Outputs { agent, ..Outputs::default() };
    simulate_into(&loaded.scenario, 1, options, &Watch::default(), outputs)
        .map(|outcome| outcome.record)
        .map_err(|error| error.to_string())
}

#[test]
fn a_law_in_an_agent_leaves_the_record_of_one_in_the_simulation() {
    for (control, acts) in [
        ("law = \"hostcc\"", true),
        (
            "law = \"hostcc\"\nread = \"5us\"\nparams = { variant = \"module\", lease = \"300us\" }",
            true,
        ),
        (
            "law = \"nicdrop\"\nread = \"2us\"\nparams = { window = \"100us\", lease = \"500us\" }",
            true,
        ),
        ("law = \"hostcc\"\nparams = { side = \"send\", stale_after = \"100us\" }", false),
    ] {
        let text = scenario(control);
        let within = run(&text, 1, None).expect("it runs");
        let writes: u64 = within.memory.iter().map(|host| host.level_writes).sum();
        assert_eq!(writes > 4, acts, "{control}: {writes} level writes");
        for threads in if acts { 1..=2 } else { 1..=1 } {
            let agent = Arc::new(Agent::start());
            let there = run(&text, threads, Some(agent)).expect("it runs");
            assert_eq!(there.digest, within.digest, "{control}, {threads} threads");
            assert_eq!(format!("{there:?}"), format!("{within:?}"), "{control}, {threads} threads");
        }
    }
}

/// An agent that cannot do it says so, and one that has gone leaves no result that looks like one.
#[test]
fn what_an_agent_cannot_do_is_said() {
    let text = scenario("law = \"hostcc\"\nread = \"650.5ns\"");
    let said = run(&text, 1, Some(Arc::new(Agent::start()))).expect_err("half a nanosecond");
    assert!(said.contains("an agent's clock has nanoseconds: control.read (650500ps)"), "{said}");

    let agent = Agent::start();
    let talk = |bytes: &[u8]| {
        let mut came = None;
        agent.converse(bytes, &mut |bytes| {
            came = Some(parse(bytes));
            None
        });
        came.expect("an answer").expect("of this version")
    };
    let refused = |of| matches!(of, FromAgent::Refused(_));
    assert!(refused(talk(&message(&ToAgent::Reading(None)))), "nothing was asked");
    assert!(refused(talk(&[9, 9, 9])), "another version");
    assert!(refused(talk(&[])), "nothing at all");

    agent.0.lock().expect("nobody panics").1.kill().expect("killed");
    assert!(!agent.converse(&[], &mut |_| None), "it has gone");
}
