//! What a machine's files may say, and recordings, after edits: no parser panics, and what is refused is refused with a sentence.

use forebay_fuzz::{Edits, each, is_a_sentence};
use forebay_linux::counters::{pressure, protocol, softnet};
use forebay_linux::pmu::Field;
use forebay_linux::resctrl::memory_line;
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
