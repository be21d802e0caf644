//! SHA-256, for the hash of an object in a run's manifest.
//!
//! Source: FIPS 180-4 sections 4.1.2, 5.1.1 and 6.2.

/// Fractions of the cube roots of the first 64 primes, and of the square roots of the first eight: 32 bits each.
const K: [u32; 64] = first_bits(3);
const START: [u32; 8] = first_bits(2);

/// The first 32 bits of the fractions of the roots of the first primes.
const fn first_bits<const N: usize>(root: u32) -> [u32; N] {
    let mut all = [0; N];
    let (mut nth, mut prime) = (0, 2u128);
    while nth < N {
        let mut divisor = 2;
        while divisor < prime && !prime.is_multiple_of(divisor) {
            divisor += 1;
        }
        if divisor == prime {
            // The root times 2^32, bit by bit; below 2^37, so that its cube fits.
            let (mut found, mut bit) = (0u128, 1u128 << 36);
            while bit > 0 {
                let wider = found | bit;
                if wider.pow(root) <= prime << (32 * root) {
                    found = wider;
                }
                bit >>= 1;
            }
            all[nth] = found as u32;
            nth += 1;
        }
        prime += 1;
    }
    all
}

/// The hash in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut state = START;
    let (blocks, rest) = bytes.as_chunks::<64>();
    blocks.iter().for_each(|block| add(&mut state, block));
    let mut end = [0; 128];
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()] = 0x80;
    let len = if rest.len() < 56 { 64 } else { 128 };
    end[len - 8..len].copy_from_slice(&(8 * bytes.len() as u64).to_be_bytes());
    end[..len].as_chunks::<64>().0.iter().for_each(|block| add(&mut state, block));
    state.iter().map(|word| format!("{word:08x}")).collect()
}

fn add(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut w = [0u32; 64];
    for (word, bytes) in w.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for t in 16..64 {
        let (x, y) = (w[t - 15], w[t - 2]);
        let s0 = x.rotate_right(7) ^ x.rotate_right(18) ^ x >> 3;
        let s1 = y.rotate_right(17) ^ y.rotate_right(19) ^ y >> 10;
        w[t] = w[t - 16].wrapping_add(s0).wrapping_add(w[t - 7]).wrapping_add(s1);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for t in 0..64 {
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = e & f ^ !e & g;
        let t1 = h.wrapping_add(s1).wrapping_add(choice).wrapping_add(K[t]).wrapping_add(w[t]);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let t2 = s0.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
    }
    for (word, more) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::sha256;

    #[test]
    fn hashes_are_those_of_the_standard() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let long = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
        assert_eq!(sha256(b""), empty);
        assert_eq!(sha256(b"abc"), abc);
        assert_eq!(sha256(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), long);
    }
}
