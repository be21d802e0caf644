//! What cannot be is refused in one sentence, with both values and the remedy.

use forebay_jobs::{Algorithm, Collective, Group, Meaning, Operation};
use forebay_units::Bytes;

fn said(
    operation: Operation,
    algorithm: Algorithm,
    ranks: u32,
    change: impl Fn(&mut Collective),
) -> String {
    let mut collective = Collective::new(operation, algorithm, ranks, Bytes::new(1 << 20));
    change(&mut collective);
    collective.schedule().expect_err("an error").to_string()
}

#[test]
fn a_host_twice_more_ranks_than_hosts_and_a_host_outside() {
    let said = |hosts: &[&'static str], fabric| {
        Group::new(hosts.to_vec(), fabric).expect_err("an error").to_string()
    };
    assert_eq!(
        said(&["h0", "h3", "h1", "h3"], 16),
        "ranks 1 and 3 are both \"h3\"; name each host once in `ranks`"
    );
    assert_eq!(
        said(&["h0", "h1", "h2"], 2),
        "3 ranks need a host each and there are 2 hosts; name 2 ranks or fewer, or add hosts"
    );
    assert_eq!(
        said(&[], 2),
        "a collective has 0 ranks and needs 1 or more; name its hosts in `ranks`"
    );
    let group = Group::new(vec!["h0", "h1", "h2"], 16).expect("a group");
    assert_eq!(
        group.rank(&"h7").expect_err("an error").to_string(),
        "\"h7\" is none of the 3 ranks of its group (\"h0\" to \"h2\"); add it to `ranks`, or name one of them"
    );
}

#[test]
fn what_halving_doubling_cannot_do() {
    let said = |operation| said(operation, Algorithm::HalvingDoubling, 12, |_| ());
    assert_eq!(
        said(Operation::AllToAll),
        "`algorithm` is \"halving-doubling\" and it cannot do all-to-all; write \"ring\" or \"direct\""
    );
    assert_eq!(
        said(Operation::Broadcast),
        "`algorithm` is \"halving-doubling\" and it cannot do broadcast; write \"ring\" or \"direct\""
    );
    assert_eq!(
        said(Operation::ReduceScatter),
        "\"halving-doubling\" needs a power of two of ranks for reduce-scatter and there are 12; name 8 or 16 ranks, or write \"ring\" or \"direct\""
    );
}

#[test]
fn numbers_out_of_range() {
    let said = |change: fn(&mut Collective)| said(Operation::Broadcast, Algorithm::Ring, 4, change);
    assert_eq!(said(|c| c.root = 4), "`root` is 4 and there are 4 ranks; write a root from 0 to 3");
    assert_eq!(said(|c| c.channels = 0), "`channels` is 0; write a number from 1 to 1024");
    assert_eq!(said(|c| c.channels = 2_000), "`channels` is 2000; write a number from 1 to 1024");
    assert_eq!(
        said(|c| c.message = Some(Bytes::ZERO)),
        "`message` is 0B and a message has 1 B or more; write for instance \"1MiB\""
    );
    assert_eq!(
        said(|c| c.meaning = Meaning::Part),
        "`bytes_are` is \"part\" and broadcast has no parts; write \"whole\""
    );
    assert_eq!(
        said(|c| c.ranks = 2_000_000),
        "a collective has 2000000 ranks and at most 1048576 are possible; name fewer hosts in `ranks`"
    );
    assert_eq!(
        said(|c| (c.bytes, c.message) = (Bytes::new(8 << 30), Some(Bytes::new(1)))),
        "parts of 8GiB in messages of 1B make too many operations for one of 4 ranks; write a larger `message`, for instance \"1MiB\""
    );
    assert_eq!(
        said(|c| {
            (c.operation, c.meaning, c.bytes) =
                (Operation::AllGather, Meaning::Part, Bytes::new(1 << 60));
        }),
        "4 x 1048576TiB is more than 1048576TiB, the most of a collective; write fewer `bytes`"
    );
}
