//! Whether a measured number lies where it should: the one judge of `[[expect]]` and of the rows of `forebay reproduce`.

/// Numbers from `least` to `most`, ends included; `None`: no bound on that side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Band {
    /// Smallest number that is in.
    pub least: Option<f64>,
    /// Largest number that is in.
    pub most: Option<f64>,
}

/// Where a number lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JudgedValue {
    /// In the band.
    In,
    /// Below its least, which this is.
    Below(f64),
    /// Above its most, which this is.
    Above(f64),
    /// Nowhere: an infinite number, or none (NaN), is in no band.
    NotFinite,
}

impl Band {
    /// Where `measured` lies.
    pub fn judge(self, measured: f64) -> JudgedValue {
        match self {
            _ if !measured.is_finite() => JudgedValue::NotFinite,
            Self { least: Some(least), .. } if measured < least => JudgedValue::Below(least),
            Self { most: Some(most), .. } if measured > most => JudgedValue::Above(most),
            _ => JudgedValue::In,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_in_and_what_is_no_finite_number_never() {
        let band = Band { least: Some(1.0), most: Some(2.0) };
        for (measured, judged) in [
            (1.0, JudgedValue::In),
            (2.0, JudgedValue::In),
            (0.99, JudgedValue::Below(1.0)),
            (2.01, JudgedValue::Above(2.0)),
        ] {
            assert_eq!(band.judge(measured), judged);
        }
        let sides = [band, Band { most: None, ..band }, Band { least: None, ..band }];
        for band in sides.into_iter().chain([Band::default()]) {
            for measured in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                assert_eq!(band.judge(measured), JudgedValue::NotFinite);
            }
        }
    }
}
