//! What a machine's files may say, and recordings, after edits: no parser panics, and what is refused is refused with a sentence.

use forebay_credits::Limit;
use forebay_fuzz::{Edits, each, is_a_sentence};
use forebay_linux::caches::{caches, rdma_devices};
use forebay_linux::capabilities::{Capabilities, MARKS};
use forebay_linux::cgroup::Cgroups;
use forebay_linux::counters::{Counters, pressure, protocol, softnet};
use forebay_linux::machine::{Machine, possible_cpus};
use forebay_linux::nic::Nic;
use forebay_linux::pmu::{Field, Pmu, iio_of};
use forebay_linux::resctrl::{Resctrl, memory_line, sockets_of_caches};
use forebay_linux::{Clock, Root};
use forebay_record::signals::{self, SignalWriter};
use forebay_units::Time;
use std::path::Path;

#[test]
fn files_of_a_machine() {
    let softnet_text = "00000015 00000000 00000007 00000000\n00001536 00000001 0000000a 00000000\n";
    let pressure_text = "some avg10=0.00 avg60=0.01 avg300=0.00 total=54081373\n";
    let netstat = "TcpExt: TCPTimeouts TCPRcvQDrop\nTcpExt: 17 3\n";
    each!(60, Edits, |edits| {
        softnet(&edits.of(softnet_text));
        pressure(&edits.of(pressure_text), "some");
        protocol(&edits.of(netstat), "TcpExt", "TCPRcvQDrop");
        memory_line(&edits.of("MB:0=100;1= 90"));
        Field::parse(&edits.of("config:0-7,32-37"));
    });
}

/// A whole server, of whose files one says something else each time: every reader that a root is given to.
#[test]
fn trees_of_a_machine() {
    let of = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/icx-2s");
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tree");
    let _ = std::fs::remove_dir_all(&to);
    let (mut files, mut folders) = (Vec::new(), vec![of.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("it reads").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let here = to.join(path.strip_prefix(&of).expect("below it"));
            std::fs::create_dir_all(here.parent().expect("a folder")).expect("made");
            let text = String::from_utf8(std::fs::read(&path).expect("it reads")).expect("text");
            std::fs::write(&here, &text).expect("written");
            files.push((here, text));
        }
    }
    files.sort();
    let root = Root::at(&to);
    each!(300, (u16, Edits), |(nth, edits)| {
        let (file, text) = &files[usize::from(*nth) % files.len()];
        std::fs::write(file, edits.of(text)).expect("written");
        let machine = Machine::read(&root);
        machine.generation();
        possible_cpus(&root);
        Capabilities::read(&root).missing(&MARKS);
        Cgroups::find(&root);
        sockets_of_caches(&root);
        if let Some(Resctrl { bandwidth: Some(of), .. }) = Resctrl::read(&root) {
            of.takes(40);
        }
        for of in caches(&root) {
            let _ = Limit::choose(&[of], None, 25);
        }
        rdma_devices(&root);
        for nic in Nic::all(&root) {
            nic.pci.map(|pci| iio_of(&root, &pci));
        }
        for unit in ["uncore_irp", "uncore_iio", "uncore_imc"] {
            for pmu in Pmu::all(&root, unit) {
                let _ = pmu.encode(&[("event", 0xf), ("umask", 4)]);
            }
        }
        let mut row = Vec::new();
        Counters::open(&root).read(&Clock::start(), &mut row);
        std::fs::write(file, text).expect("written");
    });
}

#[test]
fn recordings() {
    let mut text = Vec::new();
    let mut writer = SignalWriter::new(&mut text).expect("memory");
    for n in 0..20 {
        writer
            .row(Time::from_ps(n * 1000), "softnet.dropped", Time::from_ps(n), n)
            .expect("memory");
    }
    writer.finish(Time::from_ps(20_000)).expect("memory");
    let text = String::from_utf8(text).expect("text");
    each!(60, (bool, Edits), |(partial, edits)| {
        if let Err(error) = signals::read(Path::new("signals.csv"), &edits.of(&text), *partial) {
            assert!(is_a_sentence(&error.to_string()), "{error}");
        }
    });
}
