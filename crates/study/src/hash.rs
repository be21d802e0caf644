//! Names from contents.

/// FNV-1a of 128 bits, folded to 64: for naming directories by what is in them, where a clash is found by comparing
/// the contents and there is no gain in making one.
pub fn content_name(parts: &[&str]) -> String {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }
    format!("{:016x}", (hash >> 64) as u64 ^ hash as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(content_name(&["ab", "c"]), content_name(&["a", "bc"]));
        assert_eq!(content_name(&["a"]).len(), 16);
        assert_eq!(content_name(&["0.1.0", "x"]), content_name(&["0.1.0", "x"]));
    }
}
