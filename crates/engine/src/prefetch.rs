//! Asking for a cache line before it is needed. The only `unsafe` in this crate.

/// Asks for the cache line at the start of `of`. A hint: it changes nothing but time.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<T>(of: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads nothing that the program can see and cannot fault, whatever the address; and this one is
    // of a live reference. SSE, which it needs, is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(of).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = of;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_changes_nothing() {
        let data = [1u64, 2, 3];
        prefetch(&data);
        prefetch(&data[2]);
        assert_eq!(data, [1, 2, 3]);
    }
}
