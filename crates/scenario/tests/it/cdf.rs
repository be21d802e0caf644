//! Published distributions: the sampler keeps to their means, and files are read as they come.

use forebay_scenario::cdf::{Cdf, by_name, names};
use forebay_units::Bytes;
use forebay_units::random::{Purpose, Stream};

/// Means from the table of `workloads/README.md`, before sizes are rounded up to whole bytes.
const MEANS: &[(&str, f64)] = &[
    ("alistorage2019", 40870.0),
    ("cachefollower", 712574.0),
    ("datamining", 7487884.0),
    ("datamining_abm", 5036535.0),
    ("datamining_pfabric_packets", 7470236.0),
    ("datamining_vl2_trafficgen", 12658199.0),
    ("fb_cachefollower_intracluster", 692976.0),
    ("fb_trafficgen", 342.0),
    ("fb_webserver_intracluster", 62874.0),
    ("fbhadoop2015_conweave", 127797.0),
    ("fbhadoop_hpcc", 120421.0),
    ("googlerpc2008_hpcc", 2929.0),
    ("hadoop_abm", 3423728.0),
    ("homa_w1_fb_keyvalue", 187.51),
    ("homa_w2_google_search", 440.79),
    ("homa_w3_google_all", 2927.35),
    ("homa_w4_fb_hadoop", 127796.6),
    ("homa_w5_websearch_dctcp", 2515863.0),
    ("imc10_packets", 195357.0),
    ("solar2022", 39424.0),
    ("websearch", 1710004.0),
    ("websearch_abm", 1711223.0),
    ("websearch_dctcp_packets", 1665831.0),
    ("websearch_hpcc", 1711250.0),
    ("websearch_trafficgen", 1711250.0),
    ("webserver", 66121.0),
];

#[test]
fn every_packaged_distribution_is_sound_and_has_its_published_mean() {
    let packaged: Vec<&str> = names().map(|(name, _)| name).collect();
    let listed: Vec<&str> = MEANS.iter().map(|(name, _)| *name).collect();
    assert_eq!(packaged, listed);
    for &(name, published) in MEANS {
        let mean = by_name(name).unwrap().mean();
        // The table is rounded to a byte (small means: to its last digit); rounding up adds at most one.
        assert!((-0.6..=1.6).contains(&(mean - published)), "{name}: {mean} against {published}");
    }
}

#[test]
fn the_readme_lists_these_means() {
    let readme = include_str!("../../workloads/README.md").replace(',', "");
    for (name, mean) in MEANS {
        let row = readme.lines().find(|l| l.starts_with(&format!("| {name} |")));
        let row = row.unwrap_or_else(|| panic!("{name} is not in the table"));
        assert!(row.ends_with(&format!("| {mean} |")), "{row} against {mean}");
    }
}

#[test]
fn draws_have_the_mean_that_load_is_computed_from() {
    for (name, _) in names() {
        let cdf = by_name(name).unwrap();
        let mut draws = Stream::new(7, 0, Purpose::Test);
        // Stratified draws: each jump of the curve is off by one stratum at most.
        let n = 400_000u32;
        let sum: f64 = (0..n)
            .map(|i| cdf.sample((f64::from(i) + draws.unit()) / f64::from(n)).get() as f64)
            .sum();
        let (drawn, mean) = (sum / f64::from(n), cdf.mean());
        let jumps = cdf.largest().get() as f64 / f64::from(n);
        assert!((drawn - mean).abs() < 1e-4 * mean + jumps, "{name}: {drawn} against {mean}");
    }
}

#[test]
fn a_lin_file_sampled_as_steps_has_the_step_mean_of_the_readme() {
    let cdf = by_name("websearch").unwrap();
    let step = Cdf::new("websearch", cdf.points, false).unwrap();
    assert!((step.mean() - 2_433_055.0).abs() < 1.0, "{}", step.mean());
}

#[test]
fn atoms_gaps_and_ends() {
    let search = by_name("websearch").unwrap(); // 9000,0 then 9000,0.15: an atom
    assert_eq!(search.sample(1e-9), Bytes::new(9_000));
    assert_eq!(search.sample(0.15), Bytes::new(9_000));
    assert_eq!(search.sample(1.0), search.largest());
    let server = by_name("webserver").unwrap(); // 300,0.2 then 600,0.2: a gap
    for i in 0..10_000 {
        let size = server.sample(f64::from(i + 1) / 10_000.0).get();
        assert!(!(301..600).contains(&size), "{size} lies in the gap");
    }
    let zero = Cdf::new("zero", vec![(0.0, 0.0), (0.0, 1.0)], true).unwrap();
    assert_eq!(zero.sample(0.5), Bytes::new(1), "no flow is empty");
    assert_eq!(zero.mean(), 1.0);
    let steps = Cdf::new("two", vec![(10.0, 0.25), (20.0, 1.0)], false).unwrap();
    assert_eq!((steps.sample(0.25), steps.sample(0.250_001)), (Bytes::new(10), Bytes::new(20)));
    assert_eq!(steps.mean(), 17.5);
}

#[test]
fn samples_rise_with_the_draw() {
    for (name, _) in names() {
        let cdf = by_name(name).unwrap();
        let sizes: Vec<Bytes> = (1..=5_000).map(|i| cdf.sample(f64::from(i) / 5_000.0)).collect();
        assert!(sizes.is_sorted(), "{name}");
    }
}

#[test]
fn common_forms_of_a_file_mean_the_same() {
    let fraction = "bytes,cumulative_probability\n0,0\n1000,0.5\n9000,1\n";
    let percent = "# sizes\n0 0\n1000\t50\n9000 100\n";
    let with_middle = "0 1 0\n1000 1 0.5\n9000 1 1\n";
    let cdf = Cdf::parse("x", fraction, true).unwrap();
    assert_eq!(Cdf::parse("x", percent, true).unwrap(), cdf);
    assert_eq!(Cdf::parse("x", with_middle, true).unwrap(), cdf);
    assert_eq!(Cdf::parse("x", &fraction.replace('\n', "\r\n"), true).unwrap(), cdf);
}

#[test]
fn a_broken_file_is_told_off_by_line() {
    let said = |text: &str| Cdf::parse("x", text, true).unwrap_err();
    assert_eq!(
        said("a b\nc d\n"),
        "line 2: \"c d\" is not two numbers, bytes and cumulative probability"
    );
    assert_eq!(said(""), "has no points; write pairs of bytes and cumulative probability");
    assert_eq!(
        said("1 0\n2 0.5\n"),
        "ends at probability 0.5; the last point must have 1 (or 100 per cent)"
    );
    assert_eq!(said("1 0\n2 nan\n"), "point 2: NaN is not a probability from 0 to 1");
    assert_eq!(
        said("1 0\n1e300 1\n"),
        format!("point 2: {} is not a size from 0 to 1e15 bytes", 1e300)
    );
}

#[test]
fn a_range_draws_every_size_in_it_as_often_as_another() {
    let range = Cdf::uniform(Bytes::new(3), Bytes::new(7)).unwrap();
    assert_eq!(
        (range.name.as_str(), range.mean(), range.largest()),
        ("3B..7B", 5.0, Bytes::new(7))
    );
    let mut seen = [0u32; 8];
    for i in 1..=5_000 {
        seen[range.sample(f64::from(i) / 5_000.0).get() as usize] += 1;
    }
    assert_eq!(seen, [0, 0, 0, 1_000, 1_000, 1_000, 1_000, 1_000]);
    assert_eq!(Cdf::uniform(Bytes::new(9), Bytes::new(9)).unwrap().sample(1e-9), Bytes::new(9));
}
