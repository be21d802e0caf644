//! Incast: n answers at once, against the time that their bytes take at the receiver's rate.

use super::{quiet, scenario};
use crate::measured::MeasuredRows;
use forebay_sim::{Options, simulate};
use forebay_units::Time;

pub(super) fn measure(all: &mut MeasuredRows) {
    all.insert("incast-40", over_bound(40));
    all.insert("incast-200", over_bound(200));
}

fn over_bound(n: u64) -> f64 {
    let text = format!(
        "version = 1\nseeds = [1]\nstop = {{ time = \"1s\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = {}\nhost_link = {{ rate = \"10Gbps\", delay = \"10us\" }}\n\
         [fabric.switch]\nbuffer = {{ size = \"32MB\", alpha = 1.0 }}\necn = {{ k = \"65 packets\" }}\n\
         [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\
         [[traffic]]\nkind = \"incast\"\nto = \"host[0]\"\nfan_in = {n}\nsize = \"32KB\"\n",
        n + 1
    );
    let scenario = scenario("incast", &text);
    let outcome = simulate(&scenario, 1, Options::default(), &quiet())
        .unwrap_or_else(|error| panic!("incast: {error}"));
    let flows = &outcome.record.flows;
    let start = flows.iter().map(|f| f.start).min().unwrap_or(Time::ZERO);
    let end = flows.iter().map(|f| f.delivered.unwrap_or(Time::MAX)).max().unwrap_or(Time::MAX);
    // 22 full packets and one of 144 bytes each, at 800 ps per byte; the first has to cross the first link.
    let wire = n * (22 * 1_500 + 144 + 52);
    let bound_ps = wire * 800 + 1_500 * 800 + 2 * 10_000_000;
    end.since(start).as_ps() as f64 / bound_ps as f64
}

#[cfg(test)]
mod tests {
    use super::over_bound;

    #[test]
    fn no_incast_beats_its_bound() {
        for n in [40, 200] {
            assert!(over_bound(n) >= 1.0, "{n} answers");
        }
    }
}
