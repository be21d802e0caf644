//! Many samples as few bins, and bins as text for the page.

/// What a bin of samples came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bins {
    pub low: Vec<f32>,
    pub mean: Vec<f32>,
    pub high: Vec<f32>,
}

impl Bins {
    /// Bins of `per` samples each; the last may have fewer.
    pub fn of(values: &[f32], per: usize) -> Self {
        let mut bins = Self::default();
        for bin in values.chunks(per) {
            bins.low.push(bin.iter().copied().fold(f32::INFINITY, f32::min));
            bins.high.push(bin.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            let sum: f64 = bin.iter().map(|v| f64::from(*v)).sum();
            bins.mean.push((sum / bin.len() as f64) as f32);
        }
        bins
    }
}

/// Values from 0 to `top` in 65,536 steps of two bytes each, little end first, in base 64.
pub(super) fn packed(values: &[f32], top: f32) -> String {
    let word = |v: &f32| ((v / top).clamp(0.0, 1.0) * 65_535.0).round() as u16;
    let bytes: Vec<u8> = values.iter().flat_map(|v| word(v).to_le_bytes()).collect();
    base64(&bytes)
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let all = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let sign = SIGNS[(all >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= three.len() { char::from(sign) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_keeps_least_mean_and_largest() {
        let bins = Bins::of(&[1.0, 5.0, 3.0, 7.0], 3);
        assert_eq!(
            (bins.low, bins.mean, bins.high),
            (vec![1.0, 7.0], vec![3.0, 7.0], vec![5.0, 7.0])
        );
    }

    /// RFC 4648, section 10.
    #[test]
    fn base_64_as_published() {
        for (plain, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), text);
        }
        assert_eq!(packed(&[0.0, 2.0], 2.0), base64(&[0, 0, 255, 255]));
    }
}
