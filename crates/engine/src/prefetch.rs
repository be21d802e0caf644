//! Prefetching of cache lines. The only `unsafe` in this crate.

const LINE: usize = 64;

/// Prefetches the cache line at the start of `of`. A hint: it changes nothing but time.
#[inline(always)]
pub fn prefetch<T>(of: &T) {
    prefetch_line(std::ptr::from_ref(of).cast(), 0);
}

/// Prefetches the cache line of an element of a slice, which need not exist.
#[inline(always)]
pub fn prefetch_at<T>(slice: &[T], index: usize) {
    prefetch_line(slice.as_ptr().wrapping_add(index).cast(), 0);
}

/// Prefetches a cache line, counted from the one at `start`.
#[inline(always)]
#[allow(unsafe_code)]
fn prefetch_line(start: *const i8, line: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads nothing that the program can see and cannot fault, whatever the address. SSE, which it
    // needs, is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line * LINE));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (start, line);
}

/// Prefetches every cache line of `of`.
#[inline(always)]
pub fn prefetch_all<T>(of: &T) {
    for line in 0..size_of::<T>().div_ceil(LINE) {
        prefetch_line(std::ptr::from_ref(of).cast(), line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_changes_nothing() {
        let data = [1u64, 2, 3];
        prefetch(&data);
        prefetch(&data[2]);
        prefetch_all(&[data; 9]);
        prefetch_at(&data, 1);
        prefetch_at(&data, usize::MAX);
        assert_eq!(data, [1, 2, 3]);
    }
}
