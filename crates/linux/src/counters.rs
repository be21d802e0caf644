//! Cumulative counters: softnet, PSI, TCP, NICs and their drivers, memory bandwidth by resctrl, and the units outside the cores.
//!
//! [`Counters::open`] opens all that a machine has and this process may read; [`Counters::read`] reads them into a row, with the
//! time before each system call. Of a recorded tree only files are read, no driver and no unit.
//!
//! Invariant: number, order and names of the counters stay as at the opening. A counter that cannot be read is `None`
//! in its row, and is tried again in the next.

use crate::ethtool::DriverCounters;
use crate::machine::Machine;
use crate::nic::{Nic, STATISTICS};
use crate::perf::Group;
use crate::pmu::{Event, Pmu, uncore};
use crate::resctrl::{MOUNT, Resctrl};
use crate::{Clock, Root};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Counters that one system call reads.
#[derive(Debug)]
struct Source {
    input: Input,
    path: String,
    first: usize,
    names: Vec<String>,
    due: Duration, // not read before
}

/// Counters of TCP are read this far apart at least: the kernel folds and prints 150 numbers for the seven that are wanted, which takes as long as all other
/// files together, 50 us; so they take 1 us of a round of 1 ms. In between they are `None`.
pub const SELDOM: Duration = Duration::from_millis(50);

#[derive(Debug)]
enum Input {
    Text(File, Format),
    Driver(DriverCounters),
    Units(Group),
}

#[derive(Debug)]
enum Format {
    Softnet,
    Pressure {
        full: bool,
    },
    /// Line and column of each, both from 0: a running kernel moves none.
    Protocols(Vec<(usize, usize)>),
    Number,
}

impl Format {
    /// Whether the kernel prints the file as one piece, so that a read which leaves room has all of it, however long it is.
    fn is_one_piece(&self) -> bool {
        match self {
            Self::Softnet => false, // a piece for each CPU
            Self::Pressure { .. } | Self::Protocols(_) | Self::Number => true,
        }
    }
}

/// One counter: its name, its unit and the file that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter<'a> {
    /// Name, such as `nic.eth0.rx_missed_errors`.
    pub name: &'a str,
    /// Where it is read.
    pub path: &'a str,
    /// Width of the counter: differences are modulo 2 to this power.
    pub bits: u32,
}

/// A source as another process gets it, beside its descriptors: kind, path, names, and how many descriptors it has.
pub type Handed = (String, String, Vec<String>, usize);

/// One value, with the time before it was read.
pub type Value = Option<(Duration, u64)>;

/// All counters of a machine, open.
#[derive(Debug)]
pub struct Counters {
    sources: Vec<Source>,
    text: Vec<u8>,
}

/// A round that comes a little early counts as one that is in time.
const SLACK: Duration = Duration::from_millis(1);

/// Counters of TCP in `/proc/net/snmp`: protocol, name.
pub const SNMP: [(&str, &str); 2] = [("Tcp", "OutSegs"), ("Tcp", "RetransSegs")];
/// And in `/proc/net/netstat`.
pub const NETSTAT: [(&str, &str); 5] = [
    ("TcpExt", "TCPTimeouts"),
    ("TcpExt", "TCPBacklogDrop"),
    ("TcpExt", "TCPRcvQDrop"),
    ("TcpExt", "TCPDeliveredCE"),
    ("IpExt", "InCEPkts"),
];

impl Counters {
    /// Opens what there is.
    pub fn open(root: &Root) -> Self {
        let mut found = Self { sources: Vec::new(), text: Vec::new() };
        let softnet = ["processed", "dropped", "squeezed"].map(|n| format!("softnet.{n}"));
        found.add(root, "/proc/net/softnet_stat", Format::Softnet, softnet.into());
        for resource in ["cpu", "memory", "io"] {
            let full = resource != "cpu";
            let mut names = vec![format!("psi.{resource}.some_us")];
            names.extend(full.then(|| format!("psi.{resource}.full_us")));
            found.add(
                root,
                &format!("/proc/pressure/{resource}"),
                Format::Pressure { full },
                names,
            );
        }
        for (path, wanted) in [("/proc/net/snmp", &SNMP[..]), ("/proc/net/netstat", &NETSTAT)] {
            let text = root.read(path).unwrap_or_default();
            let place =
                |of: &(&str, &str)| Some((place(&text, of.0, of.1)?, format!("tcp.{}", of.1)));
            let (places, names): (Vec<_>, Vec<_>) = wanted.iter().filter_map(place).unzip();
            if !places.is_empty() {
                found.add(root, path, Format::Protocols(places), names);
            }
        }
        let nics = Nic::counted(root);
        for nic in &nics {
            for name in STATISTICS {
                let path = format!("/sys/class/net/{}/statistics/{name}", nic.name);
                found.add(root, &path, Format::Number, vec![format!("nic.{}.{name}", nic.name)]);
            }
        }
        if root.is_machine() {
            for nic in &nics {
                let Ok(driver) = DriverCounters::open(&nic.name) else { continue };
                let names = driver.names().iter().map(|name| format!("driver.{}.{name}", nic.name));
                let names: Vec<_> = names.collect();
                if names.is_empty() {
                    continue;
                }
                let (first, path) = (found.len(), format!("ethtool -S {}", nic.name));
                found.sources.push(Source {
                    input: Input::Driver(driver),
                    path,
                    first,
                    names,
                    due: Duration::ZERO,
                });
            }
            found.add_units(root);
        }
        let counted = Resctrl::read(root).unwrap_or_default().counted;
        for group in groups(root) {
            for cache in &counted {
                let name = format!("mon_L3_{cache:02}/mbm_total_bytes");
                let of = group.replace(',', "_");
                let of = vec![format!("mbm.{of}.L3-{cache}.total_bytes")];
                found.add(root, &format!("{MOUNT}/{group}/mon_data/{name}"), Format::Number, of);
            }
        }
        for cache in counted {
            let path = root
                .names(&format!("{MOUNT}/mon_data"))
                .into_iter()
                .find(|name| {
                    name.strip_prefix("mon_L3_").and_then(|n| n.parse().ok()) == Some(cache)
                })
                .map(|name| format!("{MOUNT}/mon_data/{name}/mbm_total_bytes"));
            if let Some(path) = path {
                found.add(root, &path, Format::Number, vec![format!("mbm.L3-{cache}.total_bytes")]);
            }
        }
        found
    }

    fn add(&mut self, root: &Root, path: &str, format: Format, names: Vec<String>) {
        let first = self.len();
        let path = path.to_string();
        if let Ok(file) = root.open(&path) {
            self.sources.push(Source {
                input: Input::Text(file, format),
                path,
                first,
                names,
                due: Duration::ZERO,
            });
        }
    }

    /// Units outside the cores, as far as the processor is known and this process may read them.
    fn add_units(&mut self, root: &Root) {
        let Some(of) = Machine::read(root).generation().map(uncore) else { return };
        let irp =
            of.occupancy.zip(of.clock).map(|(lines, clock)| ([lines, clock], ["lines", "clock"]));
        for (events, names) in irp.into_iter().chain([(of.memory, ["reads", "writes"])]) {
            self.add_unit(root, &events, &names);
        }
        self.add_unit(root, &[of.inserts], &["part0_inserts"]);
    }

    /// Adds these events of all units of a kind, for each socket.
    fn add_unit(&mut self, root: &Root, events: &[Event], names: &[&str]) {
        for pmu in Pmu::all(root, events[0].unit) {
            let Ok(codes) =
                events.iter().map(|of| pmu.encode(of.fields)).collect::<Result<Vec<_>, _>>()
            else {
                continue;
            };
            for cpu in &pmu.cpus {
                let Ok(group) = Group::open(pmu.kind, *cpu, &codes) else { continue };
                let names =
                    names.iter().map(|name| format!("{}.cpu{cpu}.{name}", pmu.name)).collect();
                let (first, path) = (self.len(), format!("perf_event_open, {}", pmu.name));
                self.sources.push(Source {
                    input: Input::Units(group),
                    path,
                    first,
                    names,
                    due: Duration::ZERO,
                });
            }
        }
    }

    /// The sources, for [`Counters::of`] in another process; in the same order [`Counters::descriptors`]. Counters of protocols stay here.
    pub fn handed(&self) -> Vec<Handed> {
        let of = |source: &Source| {
            let (kind, descriptors) = match &source.input {
                Input::Text(_, Format::Softnet) => ("softnet".to_string(), 1),
                Input::Text(_, Format::Pressure { full }) => (format!("pressure {full}"), 1),
                Input::Text(_, Format::Number) => ("number".to_string(), 1),
                Input::Text(_, Format::Protocols(_)) => return None,
                Input::Driver(driver) => (format!("driver {}", driver.handed()), 1),
                Input::Units(group) => ("units".to_string(), group.descriptors().count()),
            };
            Some((kind, source.path.clone(), source.names.clone(), descriptors))
        };
        self.sources.iter().filter_map(of).collect()
    }

    /// Descriptors of all counters.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        fn of(source: &Source) -> Vec<BorrowedFd<'_>> {
            match &source.input {
                Input::Text(_, Format::Protocols(_)) => Vec::new(),
                Input::Text(file, _) => vec![file.as_fd()],
                Input::Driver(driver) => vec![driver.descriptor()],
                Input::Units(group) => group.descriptors().collect(),
            }
        }
        self.sources.iter().flat_map(of).collect()
    }

    /// Counters that another process has opened. `None`: what came is not what was handed over.
    pub fn of(handed: Vec<Handed>, descriptors: Vec<OwnedFd>) -> Option<Self> {
        let mut found = Self { sources: Vec::new(), text: Vec::new() };
        let mut descriptors = descriptors.into_iter();
        for (kind, path, names, count) in handed {
            let mut of: Vec<_> = descriptors.by_ref().take(count).collect();
            let (word, rest) = kind.split_once(' ').unwrap_or((&kind, ""));
            let format = match word {
                "softnet" => Some(Format::Softnet),
                "pressure" => Some(Format::Pressure { full: rest == "true" }),
                "number" => Some(Format::Number),
                _ => None,
            };
            let input = match (format, word) {
                (Some(format), _) => Input::Text(File::from(of.pop()?), format),
                (None, "driver") => {
                    Input::Driver(DriverCounters::of(rest, names.clone(), of.pop()?)?)
                }
                (None, "units") => Input::Units(Group::of(of)?),
                (None, _) => return None,
            };
            let first = found.len();
            found.sources.push(Source { input, path, first, names, due: Duration::ZERO });
        }
        descriptors.next().is_none().then_some(found)
    }

    /// Keeps the counters of every system call that reads one of these.
    pub fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        self.sources.retain(|source| source.names.iter().any(|name| wanted(name)));
        let mut first = 0;
        for source in &mut self.sources {
            source.first = first;
            first += source.names.len();
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sources.last().map_or(0, |last| last.first + last.names.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// All of them, in the order of a row.
    pub fn each(&self) -> impl Iterator<Item = Counter<'_>> {
        self.sources.iter().flat_map(|source| {
            let bits =
                if matches!(source.input, Input::Text(_, Format::Softnet)) { 32 } else { 64 };
            source.names.iter().map(move |name| Counter { name, path: &source.path, bits })
        })
    }

    /// Reads all of them into `row`.
    pub fn read(&mut self, clock: &Clock, row: &mut Vec<Value>) {
        self.read_at(|| clock.now(), row);
    }

    fn read_at(&mut self, now: impl Fn() -> Duration, row: &mut Vec<Value>) {
        row.clear();
        row.resize(self.len(), None);
        for source in &mut self.sources {
            let at = now();
            let mut put = |nth: usize, value: Option<u64>| {
                row[source.first + nth] = value.map(|value| (at, value));
            };
            let (file, format) = match &mut source.input {
                Input::Text(file, format) => (file, format),
                Input::Driver(of) => {
                    of.read(|nth, value| put(nth, Some(value)));
                    continue;
                }
                Input::Units(of) => {
                    of.read(|nth, value| put(nth, Some(value)));
                    continue;
                }
            };
            if matches!(format, Format::Protocols(_)) {
                if at < source.due {
                    continue;
                }
                source.due = at + SELDOM - SLACK;
            }
            let Some(len) = read_whole(file, &mut self.text, format.is_one_piece()) else {
                continue;
            };
            let text = String::from_utf8_lossy(&self.text[..len]);
            match format {
                Format::Softnet => {
                    let sums = softnet(&text);
                    (0..3).for_each(|nth| put(nth, sums.map(|sums| sums[nth])));
                }
                Format::Pressure { full } => {
                    put(0, pressure(&text, "some"));
                    if *full {
                        put(1, pressure(&text, "full"));
                    }
                }
                Format::Protocols(wanted) => {
                    for (nth, place) in wanted.iter().enumerate() {
                        put(nth, value_at(&text, *place));
                    }
                }
                Format::Number => put(0, text.trim().parse().ok()),
            }
        }
    }
}

/// Groups of resctrl below the root group, that control or only count; at most so many.
fn groups(root: &Root) -> Vec<String> {
    const MOST: usize = 16;
    let below = |folder: &str| {
        let names = root.names(&format!("{MOUNT}/{folder}")).into_iter();
        names.map(|name| format!("{folder}{name}")).collect::<Vec<_>>()
    };
    let all = [below(""), below("mon_groups/")].concat().into_iter();
    all.filter(|group| root.has(&format!("{MOUNT}/{group}/mon_data"))).take(MOST).collect()
}

/// The kernel prints by pieces into a page or more, and gives what it has when the next piece does not fit: so a read that left room for one was
/// the last. Another would only say so, in 0.4 us; there are 20 files. The longest piece is a CPU's line in `softnet_stat`, 135 bytes.
const PAGE: usize = 4096;
const PIECE: usize = 512;

/// Reads the whole of a small file from its beginning into a buffer, which grows and is never emptied; gives how much it is.
fn read_whole(file: &File, text: &mut Vec<u8>, one_piece: bool) -> Option<usize> {
    if text.is_empty() {
        text.resize(PAGE, 0);
    }
    let mut len = 0;
    loop {
        match file.read_at(&mut text[len..], len as u64) {
            Ok(0) => break,
            Ok(more) => {
                len += more;
                if len < text.len() && (one_piece || more <= PAGE - PIECE) {
                    break;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
        if len == text.len() {
            text.resize(len * 2, 0);
        }
    }
    Some(len)
}

/// Packets processed, dropped for a full backlog, and polls that ran out of budget (`time_squeeze`), summed over CPUs modulo 2^32.
/// Each CPU has a line of hexadecimal columns; how many differs by kernel, and these are the first three.
pub fn softnet(text: &str) -> Option<[u64; 3]> {
    let mut sums = [0u32; 3];
    for line in text.lines() {
        let mut columns = line.split_whitespace();
        for sum in &mut sums {
            *sum = sum.wrapping_add(u32::from_str_radix(columns.next()?, 16).ok()?);
        }
    }
    (!text.is_empty()).then(|| sums.map(u64::from))
}

/// Microseconds for which some task, or all, waited: `total` of the line that begins with `kind`.
pub fn pressure(text: &str, kind: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split(' ').next() == Some(kind))?;
    line.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

/// A value of `/proc/net/snmp` or `netstat`: a line of names and one of values for each protocol. Negative values are 0.
pub fn protocol(text: &str, of: &str, name: &str) -> Option<u64> {
    value_at(text, place(text, of, name)?)
}

/// Line and column of a value, by the names in the line above it.
fn place(text: &str, of: &str, name: &str) -> Option<(usize, usize)> {
    let mut lines =
        text.lines().enumerate().filter_map(|(at, line)| Some((at, line.split_once(": ")?)));
    let (_, (_, names)) = lines.find(|(_, (protocol, _))| *protocol == of)?;
    let (line, (_, values)) = lines.find(|(_, (protocol, _))| *protocol == of)?;
    let column = names.split(' ').position(|known| known == name)?;
    values.split(' ').nth(column).map(|_| (line, column))
}

fn value_at(text: &str, (line, column): (usize, usize)) -> Option<u64> {
    let (_, values) = text.lines().nth(line)?.split_once(": ")?;
    let value: i128 = values.split(' ').nth(column)?.parse().ok()?;
    u64::try_from(value.max(0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A tree with two NICs, one without a device, TCP counters, and a resctrl group.
    #[test]
    fn what_costs_much_is_read_seldom_and_what_counts_twice_is_left_out() {
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/counters-test");
        let _ = std::fs::remove_dir_all(&tree);
        for (file, text) in [
            ("proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 9 3\n"),
            ("sys/class/net/eth0/statistics/rx_bytes", "5\n"),
            ("sys/class/net/eth0/device/uevent", "DRIVER=ice\n"),
            ("sys/class/net/ifb0/statistics/rx_bytes", "5\n"),
            ("sys/fs/resctrl/schemata", "MB:0=100\n"),
            ("sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "7\n"),
            ("sys/fs/resctrl/batch/mon_data/mon_L3_00/mbm_total_bytes", "6\n"),
            ("sys/fs/resctrl/mon_groups/web/mon_data/mon_L3_00/mbm_total_bytes", "5\n"),
        ] {
            let file = tree.join(file);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(file, text).expect("written");
        }
        let mut counters = Counters::open(&Root::at(&tree));
        let names: Vec<_> = counters.each().map(|of| of.name.to_string()).collect();
        let wanted = [
            "tcp.OutSegs",
            "tcp.RetransSegs",
            "nic.eth0.rx_bytes",
            "mbm.batch.L3-0.total_bytes",
            "mbm.mon_groups/web.L3-0.total_bytes",
            "mbm.L3-0.total_bytes",
        ];
        assert_eq!(names, wanted);
        let mut row = Vec::new();
        let mut values = |ms| {
            counters.read_at(|| Duration::from_millis(ms), &mut row);
            row.iter().map(|value| value.map(|(_, value)| value)).collect::<Vec<_>>()
        };
        let all = [9, 3, 5, 6, 5, 7].map(Some);
        assert_eq!(values(3), all);
        assert_eq!(values(51)[..3], [None, None, Some(5)], "50 ms are not over");
        assert_eq!(values(52), all, "they are, but for what a round may be early");
        counters.keep(|name| name.starts_with("mbm."));
        assert_eq!(counters.each().map(|of| of.name).collect::<Vec<_>>(), &wanted[3..]);
        counters.read(&Clock::start(), &mut row);
        assert_eq!(row.len(), 3);
        std::fs::remove_dir_all(tree).expect("removed");
    }

    #[test]
    fn softnet_sums_its_cpus_whatever_the_number_of_columns() {
        let old = "0000000a 00000001 00000002 00000000 00000000\n00000006 00000000 00000001 00000000 00000000\n";
        assert_eq!(softnet(old), Some([16, 1, 3]));
        let new = "00000015 00000000 00000007 0 0 0 0 0 0 0 0 0 0 00000000 00000000\n";
        assert_eq!(softnet(new), Some([21, 0, 7]));
        assert_eq!(softnet("ffffffff 0 0\n00000002 0 0\n"), Some([1, 0, 0]));
        assert_eq!((softnet(""), softnet("12 x 0\n"), softnet("12\n")), (None, None, None));
    }

    #[test]
    fn pressure_is_the_total_of_its_line() {
        let text = "some avg10=0.00 avg60=0.01 avg300=0.00 total=54081373\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
        assert_eq!((pressure(text, "some"), pressure(text, "full")), (Some(54_081_373), Some(12)));
        assert_eq!((pressure("", "some"), pressure("some total=x", "some")), (None, None));
    }

    #[test]
    fn protocols_are_read_by_name_not_by_place() {
        let text = "Ip: Forwarding\nIp: 1\nTcp: MaxConn OutSegs RetransSegs\nTcp: -1 700 3\n";
        assert_eq!(protocol(text, "Tcp", "RetransSegs"), Some(3));
        assert_eq!(protocol(text, "Tcp", "MaxConn"), Some(0));
        assert_eq!(protocol(text, "Tcp", "InSegs"), None);
        assert_eq!(protocol("Tcp: A B\nTcp: 1\n", "Tcp", "B"), None);
    }
}
