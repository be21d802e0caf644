//! The programs in this machine's kernel, by test runs: every kind of header, each state of the lease, against `forebay_abi::outcome`.

use super::*;
use crate::act::unmark::undo;
use forebay_abi::outcome;

const V4: [u8; 2] = [0x08, 0x00];
const V6: [u8; 2] = [0x86, 0xdd];

/// Programs of both kinds with their lease and counters; `None`: this process may not load any, or the kernel has none.
fn loaded() -> Option<[LoadedProgram; 2]> {
    match [Hook::Interface, Hook::Cgroup].map(LoadedProgram::new) {
        [Ok(interface), Ok(cgroup)] => Some([interface, cgroup]),
        [interface, cgroup] => {
            let why = interface.err().or(cgroup.err()).expect("one of them failed");
            let required = std::env::var("FOREBAY_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|of| of == "bpf"), "no program can be loaded: {why}");
            println!("skipped: no program can be loaded: {why}");
            None
        }
    }
}

struct LoadedProgram {
    hook: Hook,
    program: Program,
    map: Words,
    lease: Shared,
    counts: Shared,
    cpus: usize,
}

impl LoadedProgram {
    fn new(hook: Hook) -> io::Result<Self> {
        Self::named(hook, "forebay_test")
    }

    fn named(hook: Hook, name: &str) -> io::Result<Self> {
        let cpus = forebay_linux::machine::possible_cpus(&Root::machine());
        let (lease, counts) = (
            Words::new("lease", 1, lease::WORDS as u32)?,
            Words::new("counts", cpus, COUNTS as u32)?,
        );
        let section = if hook == Hook::Cgroup { "cgroup" } else { "tc" };
        let code = code_of(section, [("lease", &lease), ("counts", &counts)]);
        let program = Program::load(&code.expect("an object"), (hook, name))?;
        let (lease, map, cpus) = (Shared::of(&lease, lease::WORDS)?, lease, cpus as usize);
        Ok(Self { hook, program, map, lease, counts: Shared::of(&counts, COUNTS * cpus)?, cpus })
    }

    fn lease(&self, words: [u64; lease::WORDS]) {
        self.lease.words().iter().zip(words).for_each(|(to, word)| to.store(word, Relaxed));
    }

    /// Sums over all CPUs, which start at zero again.
    fn counted(&self) -> [u64; COUNTS] {
        let mut sums = [0; COUNTS];
        for cpu in 0..self.cpus {
            for (nth, sum) in sums.iter_mut().enumerate() {
                *sum += self.counts.words()[COUNTS * cpu + nth].swap(0, Relaxed);
            }
        }
        sums
    }

    /// The packet afterwards, as it lies behind its Ethernet header and tags.
    fn run(&self, packet: &[u8]) -> Vec<u8> {
        let mut after = [0; 256];
        let ran = self.program.test_run(packet, &mut after, 1).expect("it runs");
        let goes_on = if self.hook == Hook::Cgroup { 1 } else { u32::MAX };
        assert_eq!(ran.returned, goes_on, "every packet goes on");
        after[..ran.len].to_vec()
    }
}

/// One kind of packet: name, bytes, where its IP header begins and of which version, if it has one.
struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    ip: Option<(usize, u8)>,
}

/// A frame with these tags and this IP header.
fn frame(tags: &[[u8; 2]], kind: [u8; 2], ip: &[u8]) -> (Vec<u8>, usize) {
    let mut bytes = vec![2; 12];
    for tag in tags {
        bytes.extend(tag);
        bytes.extend([0, 7]);
    }
    bytes.extend(kind);
    let at = bytes.len();
    bytes.extend(ip);
    (bytes, at)
}

fn v4(ecn: u8, options: usize, fragment: u16) -> Vec<u8> {
    let mut ip = vec![0; 20 + 4 * options];
    (ip[0], ip[1], ip[8], ip[9]) = (0x45 + options as u8, 0xb8 | ecn, 64, 17);
    ip.extend([9; 16]);
    let len = ip.len() as u16;
    ip[2..4].copy_from_slice(&len.to_be_bytes());
    ip[6..8].copy_from_slice(&fragment.to_be_bytes());
    ip[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 255, 254, 253]);
    ip[20..20 + 4 * options].fill(1);
    let sum = checksum(&ip[..20 + 4 * options]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip
}

/// Of a header whose checksum is zero, that checksum; of a whole one, zero.
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks_exact(2).map(|of| u32::from(of[0]) << 8 | u32::from(of[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// With a traffic class and a flow label, so that bits beside the ECN field are seen to stay.
fn v6(ecn: u8, next: u8) -> Vec<u8> {
    let mut ip = vec![0; 40];
    (ip[0], ip[1], ip[2], ip[3]) = (0x6b, 0x8d | ecn << 4, 0xca, 0xfe);
    (ip[5], ip[6], ip[7]) = (16, next, 64);
    ip[8..40].fill(0xfd);
    ip.extend([17, 0, 1, 4, 0, 0, 0, 0]);
    ip.extend([9; 8]);
    ip
}

fn cases(ecn: u8, hook: Hook) -> Vec<Case> {
    let (plain, service): ([u8; 2], [u8; 2]) = ([0x81, 0x00], [0x88, 0xa8]);
    let mut found = Vec::new();
    let mut add = |name, tags: &[[u8; 2]], kind, ip: Vec<u8>, version: Option<u8>| {
        let (bytes, at) = frame(tags, kind, &ip);
        found.push(Case { name, bytes, ip: version.map(|version| (at, version)) });
    };
    add("IPv4", &[], V4, v4(ecn, 0, 0), Some(4));
    add("IPv4 with options", &[], V4, v4(ecn, 3, 0), Some(4));
    add("first fragment", &[], V4, v4(ecn, 0, 0x2000), Some(4));
    add("last fragment", &[], V4, v4(ecn, 0, 0x00b9), Some(4));
    add("IPv6", &[], V6, v6(ecn, 17), Some(6));
    add("IPv6 with an extension header", &[], V6, v6(ecn, 0), Some(6));
    add("ARP", &[], [0x08, 0x06], vec![3; 46], None);
    add("IPv4 that says it is 5", &[], V4, [&[0x55, ecn][..], &v4(ecn, 0, 0)[2..]].concat(), None);
    add("IPv6 under IPv4's ethertype", &[], V4, v6(ecn, 17), None);
    // Sockets get no packet with a tag, and test runs of cgroup programs want a whole header of IP.
    if hook == Hook::Interface {
        add("VLAN", &[plain], V4, v4(ecn, 0, 0), Some(4));
        add("VLAN, IPv6", &[plain], V6, v6(ecn, 17), Some(6));
        add("two VLANs", &[service, plain], V4, v4(ecn, 0, 0), Some(4));
        add("three VLANs", &[service, plain, plain], V4, v4(ecn, 0, 0), None);
        add("VLAN, IPv4 cut", &[plain], V4, v4(ecn, 0, 0)[..19].to_vec(), None);
        add("VLAN, cut", &[plain], [0; 2], vec![], None);
    }
    found
}

fn ecn_of(ip: &[u8]) -> u8 {
    if ip[0] >> 4 == 4 { ip[1] & 3 } else { ip[1] >> 4 & 3 }
}

/// The packet as it should be: with this ECN field, and of IPv4 with the checksum that belongs to it.
fn with_ecn(bytes: &[u8], (at, version): (usize, u8), ecn: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if version == 6 {
        bytes[at + 1] = bytes[at + 1] & 0xcf | ecn << 4;
        return bytes;
    }
    bytes[at + 1] = bytes[at + 1] & 0xfc | ecn;
    let end = at + 4 * usize::from(bytes[at] & 15);
    bytes[at + 10..at + 12].fill(0);
    let sum = checksum(&bytes[at..end]);
    bytes[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
    bytes
}

#[test]
fn packets_and_counters_are_those_of_the_function() {
    let Some(programs) = loaded() else { return };
    for of in &programs {
        for (state, until) in [("off", 0), ("expired", 1), ("living", boot_ns() + (1 << 40))] {
            for ecn in 0..4 {
                for case in cases(ecn, of.hook) {
                    let words = [until, WHOLE, 0];
                    of.lease(words);
                    let after = of.run(&case.bytes);
                    let (mut wanted, mut counted) = (case.bytes.clone(), [0; COUNTS]);
                    let (became, _) = outcome(&words, 2, ecn, 0);
                    let became = match (became, case.ip) {
                        (Some(of), None) if of != Outcome::Expired => Some(Outcome::NotIp),
                        (of, _) => of,
                    };
                    if let Some(of) = became {
                        counted[of as usize] = 1;
                    }
                    if let (Some(Outcome::Marked), Some(ip)) = (became, case.ip) {
                        wanted = with_ecn(&case.bytes, ip, ecn::CE);
                        assert_eq!(ecn_of(&wanted[ip.0..]), ecn::CE);
                    }
                    // Of what a cgroup's program gets, the kernel gives zeros for the Ethernet header, or nothing.
                    let from = if of.hook == Hook::Cgroup { ETHERNET } else { 0 };
                    let wanted = &wanted[from..];
                    let of = format!("{:?}, {state}, ECN {ecn}, {}", of.hook, case.name);
                    assert!(from > 0 || after.len() == wanted.len(), "{of}");
                    assert!(after.ends_with(wanted), "{of}: {after:x?}, not {wanted:x?}");
                    assert_eq!(programs_counted(&programs), counted, "{of}");
                }
            }
        }
    }
}

fn programs_counted(of: &[LoadedProgram; 2]) -> [u64; COUNTS] {
    let [mut sums, more] = of.each_ref().map(LoadedProgram::counted);
    sums.iter_mut().zip(more).for_each(|(sum, of)| *sum += of);
    sums
}

#[test]
fn a_share_is_exact_on_each_cpu_and_other_interfaces_are_left_alone() {
    let Some(programs) = loaded() else { return };
    for of in &programs {
        let packet = &cases(ecn::ECT_0, of.hook)[0].bytes;
        for share in [1, WHOLE / 3, WHOLE / 2, WHOLE - 1, WHOLE] {
            // A test run goes on with the packet that it got back, which is CE after the first mark: so one run for each packet.
            of.lease([u64::MAX, share, 0]);
            let marked = (0..300).filter(|_| {
                let after = of.run(packet);
                ecn_of(&after[after.len() - 36..]) == ecn::CE
            });
            let (marked, counted) = (marked.count() as u64, of.counted());
            let cpus = of.cpus as u64;
            assert!(
                marked.abs_diff(300 * share / WHOLE) <= cpus,
                "{:?}: {marked} of {share}",
                of.hook
            );
            assert_eq!((counted[0], counted[Outcome::Spared as usize]), (marked, 300 - marked));
        }
        of.lease([u64::MAX, WHOLE, 4_000_000]);
        of.run(packet);
        assert_eq!(of.counted(), [0; COUNTS], "of an interface that is not meant");
    }
}

/// Prints what a packet takes: the best of some tries, as others use the machine too. No time fails it.
#[test]
fn measure_a_packet() {
    let Some(programs) = loaded() else { return };
    for of in &programs {
        for (name, until) in [("off", 0), ("living", u64::MAX)] {
            // At a share of 0 every packet is judged whole and stays ECT, so each run is alike.
            of.lease([until, 0, 0]);
            let packet = &cases(ecn::ECT_0, of.hook)[4].bytes;
            let mut after = [0; 256];
            let mut best = |times| {
                let ran = (0..40).map(|_| of.program.test_run(packet, &mut after, times));
                ran.map(|ran| ran.expect("it runs").ns).min().expect("forty runs")
            };
            let judged = best(4_000);
            println!("{:?}, {name}: {judged} ns a packet", of.hook);
        }
        // A packet that was marked is CE in the next run, so these are runs of one packet, with the reading of two clocks: shown only.
        of.lease([u64::MAX, WHOLE, 0]);
        for nth in [0, 4] {
            let Case { name, bytes, .. } = &cases(ecn::ECT_0, of.hook)[nth];
            let mut after = [0; 256];
            let once = (0..500).map(|_| of.program.test_run(bytes, &mut after, 1));
            let best = once.map(|ran| ran.expect("it runs").ns).min().expect("500 runs");
            println!("{:?}, {name}: a mark in {best} ns", of.hook);
        }
    }
}

/// A link that another process still holds ends as well, by its program's name. Links of other programs stay.
#[test]
fn undoing_detaches_what_is_attached_by_its_name() {
    if loaded().is_none() {
        return;
    }
    let name = "forebay_undo";
    let tc = LoadedProgram::named(Hook::Interface, name).expect("it loads");
    tc.lease([0; lease::WORDS]); // it marks nothing
    let _held = tc.program.attach_tcx(1).expect("the loopback is number 1");
    let names = [name.to_string()];
    assert!(!undo("lo", "tcx", &["forebay_other".into()]).expect("it may look"));
    assert!(undo("lo", "tcx", &names).expect("it may"), "it was there");
    assert!(!undo("lo", "tcx", &names).expect("it may"), "and has gone");
}

#[test]
fn the_self_test_passes_and_its_packet_is_whole() {
    for ecn in 0..4 {
        assert_eq!(checksum(&test_packet(ecn)[ETHERNET..]), 0);
    }
    let Some(programs) = loaded() else { return };
    for of in &programs {
        assert_eq!(try_out(&of.program, &of.lease), Ok(()));
        assert_eq!(of.lease.words()[lease::DEADLINE].load(Relaxed), 0, "nothing is left on");
    }
}

/// How long marks outlive a loop that has died is this word of the map.
#[test]
fn a_renewed_lease_ends_one_duration_after_its_renewal_and_no_later() {
    const LASTS: u64 = 100_000_000;
    let Some([of, _]) = loaded() else { return };
    let descriptor = of.map.as_fd().try_clone_to_owned().expect("a descriptor");
    let leases = Leases::new(&[(0, WHOLE)], vec![descriptor], LASTS).expect("a lease");
    let deadline = || of.lease.words()[lease::DEADLINE].load(Relaxed);
    let before = boot_ns();
    leases.mark(0, true);
    let after = boot_ns();
    assert!(
        (before + LASTS..=after + LASTS).contains(&deadline()),
        "{} after {before}",
        deadline()
    );
    leases.mark(0, false);
    assert_eq!(deadline(), 0);
    leases.mark(1, true);
    assert_eq!(deadline(), 0, "another stack has another lease");
    leases.mark(0, true);
    leases.end();
    assert_eq!(deadline(), 0);
}
