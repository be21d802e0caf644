//! The same scripts in the simulator and in the library of credits: each request is to be posted at the same time by both.
//!
//! The simulator runs a scenario with credits. When each request was made, and when its response came, is the script. The library plays it. For
//! each connection both count requests, those that waited, how long, and the most credits outstanding. Requests of a connection never
//! overtake, so equal sums to the picosecond are equal times and the same order.

use crate::bench::run;
use crate::measured::Measured;
use forebay_credits::{Account, Message, Post, Sender, Shares};
use forebay_laws::pool::PoolParams;
use forebay_record::{CreditPool, RunRecord};
use forebay_units::{Span, Time};

/// Scripts: name, and the keys of its traffic.
const SCRIPTS: [(&str, &str); 3] = [
    ("small", "connections = 8\noutstanding = 64\nrequest = \"4000B\"\nresponse = \"64B\""),
    ("mixed", "connections = 8\noutstanding = 16\nrequest = \"1KB..100KB\"\nresponse = \"64B\""),
    ("large", "connections = 4\noutstanding = 8\nrequest = \"900000B\"\nresponse = \"64B\""),
];

/// Bytes of the server's cache that credits are for, and of a line of it.
const CACHE: u32 = 1 << 20;
const LINE: u32 = 64;

/// The part of the suite that this is.
pub(crate) const PART: &str = "credits";

/// What laws take for the round trip of the empty path.
const BASE_RTT: Span = Span::from_us(10);

/// Connections of each script that the library serves in another way than the simulator.
pub(crate) fn measure(quick: bool, measured: &mut Measured) {
    let end = if quick { 2e-3 } else { 10e-3 };
    for (name, keys) in SCRIPTS {
        let text = format!(
            "[fabric]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             [fabric.switch]\npause = \"on\"\n[transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nbase_rtt = \"10us\"\n\
             [host.memory]\nddio = true\ncache_model = \"buffers\"\nread_placed = true\nper_kilobyte = \"200ns\"\n\
             rq = {{ depth = 4096, buffer = \"4KiB\", rnr = \"wait\" }}\n\
             [[traffic]]\nkind = \"rpc\"\nfrom = \"host[1]\"\nto = \"host[0]\"\n{keys}\npool = {{ law = \"carc\", cache = \"1MiB\" }}\n"
        );
        let seen = run("credits", &text, 1e-6, end);
        let (differ, waited) = compare(&seen.record, Time::from_ps((end * 1e12) as u64));
        let remark = format!("{waited} requests waited for credits");
        measured.insert_saying(format!("credits-{name}"), f64::from(differ), remark);
    }
}

/// Connections that differ, and requests that waited.
fn compare(record: &RunRecord, end: Time) -> (u32, u64) {
    let count = record.connections.len() as u32;
    let (mut differ, mut waited) = (0, 0);
    for (number, connection) in record.connections.iter().enumerate() {
        let Some(simulated) = &connection.credits else { continue };
        let mut script = Vec::new();
        for rpc in record.rpcs.iter().filter(|rpc| rpc.connection as usize == number) {
            // What a response returns is there before the request that it brings about.
            script.push((rpc.issued, 1, rpc.request.get()));
            if rpc.completed != Time::MAX {
                script.push((rpc.completed, 0, 0));
            }
        }
        script.sort_by_key(|(at, kind, _)| (*at, *kind));
        differ += u32::from(play(&script, connection.start, count, end) != Some(*simulated));
        waited += simulated.blocked;
    }
    (differ, waited)
}

/// The library's counts of a script; none if it refuses.
fn play(
    script: &[(Time, u8, u64)],
    start: Time,
    connections: u32,
    end: Time,
) -> Option<CreditPool> {
    let law = PoolParams::new("carc").ok()?;
    let mut sender = Sender::new(&law, 1, 1 << 16).with_base_rtt(BASE_RTT);
    let shares = Shares { limit: CACHE / LINE, connections, line: LINE, epoch: 0 };
    let at = sender.connect(start, Some(&Message::Hello { connection: 0, shares })).ok()??;
    let due = |sender: &Sender| sender.account(at).map_or(Time::MAX, Account::due);
    let release = |sender: &mut Sender, now| while sender.poll(now).is_some() {};
    let wake = |sender: &mut Sender, now| {
        sender.wake(now, at);
        release(sender, now);
    };
    for (token, &(now, kind, bytes)) in script.iter().enumerate() {
        while due(&sender) < now {
            let then = due(&sender);
            wake(&mut sender, then);
        }
        if kind == 0 {
            sender.completed(now, at)?;
        } else if sender.post(now, at, bytes, token as u64) == Post::Full {
            return None;
        }
        release(&mut sender, now);
    }
    while due(&sender) <= end {
        let then = due(&sender);
        wake(&mut sender, then);
    }
    let counts = sender.counts();
    Some(CreditPool {
        limit: sender.account(at)?.limit(),
        most: counts.most_outstanding,
        requests: counts.requests,
        blocked: counts.blocked,
        waited: counts.waited,
    })
}
