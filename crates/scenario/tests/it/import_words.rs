//! Words and forms of lines of other simulators.

use forebay_scenario::import::FlowForm;
use forebay_scenario::import::parts::{
    Header, Wrong, delay, lines, microseconds, picoseconds, rate, seconds,
};
use forebay_units::{BitsPerSec, Span, Time};

#[test]
fn rates_are_read_as_ns3_reads_them() {
    let gbps = |n| Some(BitsPerSec::from_gbps(n));
    for (text, rate_) in [
        ("100Gbps", gbps(100)),
        ("25Gb/s", gbps(25)),
        ("12.5GB/s", gbps(100)),
        ("1000000000bps", gbps(1)),
        ("0.5Tbps", gbps(500)),
        ("1Mib/s", Some(BitsPerSec::new(1 << 20))),
        // `DoParse`: digits and points alone are bit/s, of which the whole part counts.
        ("25000000000", gbps(25)),
        ("25000000000.0", gbps(25)),
        ("100", Some(BitsPerSec::new(100))),
        ("1500.9", Some(BitsPerSec::new(1500))),
    ] {
        assert_eq!(rate(text), rate_, "{text}");
    }
    for text in [
        "",
        "0",
        ".",
        "1 0",
        "-100",
        "25e9",
        "Gbps",
        "-1Gbps",
        "1Xbps",
        "1e400Gbps",
        "99999999999Tbps",
    ] {
        assert_eq!(rate(text), None, "{text}");
    }
}

#[test]
fn times_are_exact_where_they_can_be() {
    assert_eq!(delay("0.001ms"), Some(Span::from_us(1)));
    assert_eq!(delay("0.000001"), Some(Span::from_us(1)));
    assert_eq!(delay("1e-3ms"), Some(Span::from_us(1)));
    assert_eq!(delay("1e-6s"), Some(Span::from_us(1)));
    assert_eq!(delay("1e-6"), Some(Span::from_us(1)));
    assert_eq!(delay("1m"), None);
    assert_eq!(seconds("2.000000000001"), Some(Time::from_ps(2_000_000_000_001)));
    assert_eq!(seconds("2."), Some(Time::from_ps(2_000_000_000_000)));
    assert_eq!(seconds("2.5e-6"), Some(Time::from_ps(2_500_000)));
    assert_eq!(microseconds("1.5"), Some(Time::from_ps(1_500_000)));
    assert_eq!(picoseconds("12"), Some(Time::from_ps(12)));
    for text in ["", "-1", "nan", "inf", "1e30", "x"] {
        assert_eq!(seconds(text), None, "{text}");
    }
}

fn header(text: &str) -> Result<Header, Wrong> {
    Header::of(&lines(text))
}

fn flows(text: &str) -> Result<FlowForm, Wrong> {
    FlowForm::of(&lines(text), None)
}

#[test]
fn the_first_line_of_a_topology_tells_its_fork() {
    assert_eq!(header("5 1 4\n4\n0 4 1Gbps 1us 0\n"), Ok(Header::Original));
    assert_eq!(header("5 1 4 4 0 4 1Gbps 1us 0 1 4 1Gbps 1us 0"), Ok(Header::Original));
    assert_eq!(header("5 1 1 4\n4\n"), Ok(Header::Tors));
    assert_eq!(header("6 2 1 4\n4 5\n"), Ok(Header::Tors));
    assert_eq!(header("6 2 1 4 25000000000 100000000000\n4 5\n"), Ok(Header::Rates));
    assert_eq!(header("6 2 1 1 8 H100\n4 5\n"), Ok(Header::Servers));
    for (text, said) in [
        ("6 2 1 4\n4 5 0\n", "three (nodes"),
        ("6 2 1 1 8 H100\n4\n", "form of SimAI"),
        ("ENABLE_QCN 1\n", "config file"),
    ] {
        assert!(header(text).is_err_and(|(line, why)| line == 1 && why.contains(said)), "{text}");
    }
    // Where lines mean nothing, one number more may be the first switch.
    assert_eq!(header("5 1 4 4\n0 4 1Gbps 1us 0\n"), Ok(Header::Original));
}

#[test]
fn the_columns_of_a_flow_tell_its_fork() {
    assert_eq!(flows("1\n0 1 3 100 10000 2\n"), Ok(FlowForm::Hpcc));
    assert_eq!(flows("1\n0 1 3 10000 2.000000139\n"), Ok(FlowForm::ConWeave));
    assert_eq!(flows("2\n0 1 3 10000 2\n2 3 3 20000 2\n"), Ok(FlowForm::ConWeave));
    assert_eq!(flows("1\n2 1 3 10000000 2.0 9.5\n"), Ok(FlowForm::Dcqcn));
    assert_eq!(flows("1\n2 1 3 500 0.00 9.5\n"), Ok(FlowForm::Dcqcn));
    assert_eq!(flows("1\n2 1 3 300000 2 9\n"), Ok(FlowForm::Dcqcn));
    assert_eq!(flows("2\n0 3 1 3 100 1000 2\n1 2 1 3 100 1000 2.5\n"), Ok(FlowForm::Numbered));
    for (text, line, said) in [
        ("1\n0 1 3 100 2 9\n", 2, "--flow-columns packets,start,end"),
        ("2\n0 1 3 100 2\n0 1 3 100 80 2\n", 3, "has 6 columns, and line 2 has 5"),
        ("1\n0 1 3 100 1000 2 9\n", 2, "has 7 columns"),
        ("1\n0 1 3 100 1000 2 9 4\n", 2, "has 8 columns"),
        ("4\n0 1 2 3\n", 1, "trace file"),
        ("0b000001 0b000101 10000 100 1000 2000000000 5000 4000\n", 1, "FCT file"),
    ] {
        let (at, why) = flows(text).unwrap_err();
        assert!(at == line && why.contains(said), "{text}: {at} {why}");
    }
    assert_eq!(flows("6 0 1 3 100 10 2"), Ok(FlowForm::Hpcc), "word by word, as there");
}
