//! Pictures of measurements.

use crate::lines::Lines;
use forebay_record::svg::{Axis, Frame, Plot, SvgFile, WIDTH, plain, quarters};

/// Time to read a line, pair by pair.
pub fn lines(of: &Lines) -> String {
    let mut alone = SvgFile::new("Time to read a line that waits", 60.0, 360.0);
    let frame = Frame { left: 70.0, top: 60.0, right: WIDTH - 200.0, bottom: 290.0 };
    let most = of.pairs.iter().flatten().copied().fold(1.0, f64::max);
    let pairs = of.pairs.len() as f64;
    let mut plot = Plot::new(
        frame,
        WIDTH,
        Axis::linear(1.0, pairs.max(2.0)),
        Axis::linear(0.0, quarters(most)),
    );
    let (x, y) = (plot.x.ticks(5, plain), plot.y.ticks(4, plain));
    plot.axes(&x, &y, "pair", "ns per line");
    for (at, unread) in of.unread.into_iter().enumerate() {
        let class = format!("line s{at}");
        let points: Vec<_> =
            of.pairs.iter().enumerate().map(|(n, pair)| Some((n as f64 + 1.0, pair[at]))).collect();
        plot.line(&points, &class);
        if let Some(Some((x, y))) = points.last() {
            let place = (plot.x.px(*x) + 8.0, plot.y.px(*y) + 4.0);
            plot.canvas.text(place, "tick", &format!("{} KiB unread", unread >> 10));
        }
    }
    alone.canvas.add(&plot.canvas);
    alone.sentence(346.0, &format!("Median ratio {:.1}", of.ratio()));
    alone.finish()
}
