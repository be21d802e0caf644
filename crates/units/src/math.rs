//! The few functions that laws and models share, so that floats and hashes stay out of hand.

/// Mixes 64 bits into 64 well-spread bits (the finaliser of SplitMix64). A bijection.
#[inline]
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A uniform index below `n` from a well-mixed word: the high half of `x * n`.
#[inline]
pub const fn below(x: u64, n: u32) -> u32 {
    (((x >> 32) * n as u64) >> 32) as u32
}

/// Natural logarithm of a positive normal number, by `+ - * /` alone, so that every target agrees.
///
/// Error below 2e-15 relative: x = m * 2^e with m in [sqrt(1/2), sqrt(2)), then the atanh series in
/// (m-1)/(m+1) up to the 25th power.
pub fn ln(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0);
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    if mantissa > core::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let t2 = t * t;
    let mut sum = 0.0;
    let mut n = 25;
    while n >= 1 {
        sum = sum * t2 + 1.0 / n as f64;
        n -= 2;
    }
    2.0 * t * sum + exponent as f64 * core::f64::consts::LN_2
}

/// The exponential, by `+ - * /` alone, so that every target agrees. Error below 1e-10 relative up to an argument of 100.
///
/// Halved ten times, then the series up to the 8th power, then squared back.
pub fn exp(x: f64) -> f64 {
    let small = x / 1024.0;
    let mut value = 1.0;
    let mut n = 8;
    while n >= 1 {
        value = 1.0 + value * small / n as f64;
        n -= 1;
    }
    let mut squarings = 10;
    while squarings > 0 {
        value *= value;
        squarings -= 1;
    }
    value
}

/// Cube root of a number, rounded down, by integers alone.
pub const fn cube_root(x: u64) -> u32 {
    // A bit of the root at a time, from the highest that a 64-bit cube has.
    let mut root = 0u64;
    let mut bit = 1 << 21;
    while bit > 0 {
        let wider = root | bit;
        if wider as u128 * wider as u128 * wider as u128 <= x as u128 {
            root = wider;
        }
        bit >>= 1;
    }
    root as u32
}

/// Cube root of a non-negative number, by `+ - * /` alone, so that every target agrees. Error below 1e-15 relative.
pub fn cbrt(x: f64) -> f64 {
    if x <= 0.0 || !x.is_finite() {
        return x.max(0.0);
    }
    // A third of the exponent is within a factor of two; Newton's steps double the digits that are right.
    let mut root = f64::from_bits(x.to_bits() / 3 + (1023 << 52) / 3 * 2);
    let mut step = 0;
    while step < 5 {
        root = (2.0 * root + x / (root * root)) / 3.0;
        step += 1;
    }
    root
}

/// One over the square root of a positive normal number, by `+ - *` alone, so that every target agrees. Error below
/// 1e-15 relative.
#[inline]
pub fn inverse_sqrt(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0);
    // Halving and negating the exponent is right to 4 %; each of Newton's steps doubles the digits.
    let mut root = f64::from_bits(0x5fe6_eb50_c7b5_37a9 - (x.to_bits() >> 1));
    let mut step = 0;
    while step < 5 {
        root *= 1.5 - 0.5 * x * root * root;
        step += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    #[test]
    fn exp_is_the_inverse_of_ln_and_the_standard_library_agrees() {
        for i in -200..200 {
            let x = f64::from(i) * 0.5;
            assert!((ln(exp(x)) - x).abs() < 1e-9, "{x}");
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-10, "{x}");
        }
    }

    #[test]
    fn ln_agrees_with_the_library() {
        for i in 1..20_000u32 {
            let x = f64::from(i) * 1.7e-4;
            let (ours, theirs) = (ln(x), x.ln());
            assert!(
                (ours - theirs).abs() <= 4e-15 * theirs.abs().max(1.0),
                "ln({x}): {ours} against {theirs}"
            );
        }
    }

    #[test]
    fn a_cube_root_is_rounded_down() {
        for root in [0u64, 1, 2, 3, 10, 9_301, 100_000, 2_642_244] {
            assert_eq!(u64::from(cube_root(root * root * root)), root);
            let below = (root * root * root).wrapping_sub(1);
            assert_eq!(u64::from(cube_root(below)), if root == 0 { 2_642_245 } else { root - 1 });
        }
        assert_eq!(cube_root(u64::MAX), 2_642_245);
    }

    #[test]
    fn cbrt_agrees_with_the_library() {
        for i in 1..20_000u32 {
            let x = f64::from(i) * f64::from(i) * 1.7e-4;
            let (ours, theirs) = (cbrt(x), x.cbrt());
            assert!((ours - theirs).abs() <= 2e-15 * theirs, "cbrt({x}): {ours} against {theirs}");
        }
        for x in [0.0, 1e-300, 1.0, 1e300] {
            assert!((cbrt(x) - x.cbrt()).abs() <= 2e-15 * x.cbrt());
        }
    }

    #[test]
    fn an_inverse_root_agrees_with_the_library() {
        for i in 1..20_000u32 {
            let x = f64::from(i) * f64::from(i) * 1.7e-4;
            let (ours, theirs) = (inverse_sqrt(x), 1.0 / x.sqrt());
            assert!((ours - theirs).abs() <= 1e-15 * theirs, "{x}: {ours} against {theirs}");
        }
        for x in [1e-300, 0.1, 1.0, 100.0, 1e300] {
            assert!((inverse_sqrt(x) * x.sqrt() - 1.0).abs() <= 1e-15, "{x}");
        }
    }
}
