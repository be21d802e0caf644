//! How a law log writes numbers and enums: whole numbers in groups of seven bits, least first; signed differences as zigzag; enums as a
//! byte and what the variant holds.

use alloc::string::String;
use alloc::vec::Vec;
use forebay_units::{BitsPerSec, Bytes, Span, Time};

/// What can be written and read back.
pub trait Code: Sized {
    /// Appends it.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads one; `None` where the bytes end, or are none of this type.
    fn read(from: &mut Reader<'_>) -> Option<Self>;
}

/// The bytes of a log that are still to be read.
#[derive(Clone, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads these.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next so many bytes.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }
}

impl Code for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        from.take(1).map(|byte| byte[0])
    }
}

impl Code for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 128 {
            out.push(rest as u8 | 128);
            rest >>= 7;
        }
        out.push(rest as u8);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = u8::read(from)?;
            let part = u64::from(byte & 127);
            if shift == 63 && part > 1 {
                return None;
            }
            number |= part << shift;
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }
}

impl Code for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        u64::from(*self).put(out);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        u64::read(from)?.try_into().ok()
    }
}

impl Code for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        match u8::read(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<T: Code> Code for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(it) = self {
            it.put(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(if bool::read(from)? { Some(T::read(from)?) } else { None })
    }
}

impl<T: Code> Code for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        self.iter().for_each(|one| one.put(out));
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let len = u64::read(from)?;
        let mut all = Vec::new();
        for _ in 0..len {
            all.push(T::read(from)?);
        }
        Some(all)
    }
}

impl Code for String {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let len = usize::try_from(u64::read(from)?).ok()?;
        String::from_utf8(from.take(len)?.to_vec()).ok()
    }
}

/// Types that are one number.
macro_rules! number {
    ($($type:ty: |$it:ident| $to:expr, $from:expr;)+) => {
        $(impl Code for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let $it = self;
                let number: u64 = $to;
                number.put(out);
            }

            fn read(from: &mut Reader<'_>) -> Option<Self> {
                u64::read(from).map($from)
            }
        })+
    };
}
pub(crate) use number;

number! {
    Time: |it| it.as_ps(), Time::from_ps;
    Span: |it| it.as_ps(), Span::from_ps;
    Bytes: |it| it.get(), Bytes::new;
    BitsPerSec: |it| it.get(), BitsPerSec::new;
}

/// Structs, field after field.
macro_rules! fields {
    ($($type:ty { $($field:ident),+ $(,)? })+) => {
        $(impl $crate::log::Code for $type {
            fn put(&self, out: &mut alloc::vec::Vec<u8>) {
                $($crate::log::Code::put(&self.$field, out);)+
            }

            fn read(from: &mut $crate::log::Reader<'_>) -> Option<Self> {
                Some(Self { $($field: $crate::log::Code::read(from)?),+ })
            }
        })+
    };
}
pub(crate) use fields;

/// Enums: the number of a variant never changes its meaning; a new variant takes a new number.
macro_rules! variants {
    ($($type:ty { $($tag:literal $variant:ident $(($($of:ident),+))? $({ $($field:ident),+ })?,)+ })+) => {
        $(impl $crate::log::Code for $type {
            fn put(&self, out: &mut alloc::vec::Vec<u8>) {
                match self {
                    $(Self::$variant $(($($of),+))? $({ $($field),+ })? => {
                        out.push($tag);
                        $($($crate::log::Code::put($of, out);)+)?
                        $($($crate::log::Code::put($field, out);)+)?
                    })+
                }
            }

            fn read(from: &mut $crate::log::Reader<'_>) -> Option<Self> {
                Some(match <u8 as $crate::log::Code>::read(from)? {
                    $($tag => Self::$variant
                        $(($({ let $of = $crate::log::Code::read(from)?; $of }),+))?
                        $({ $($field: $crate::log::Code::read(from)?),+ })?,)+
                    _ => return None,
                })
            }
        })+
    };
}
pub(crate) use variants;

/// Numbers that mostly stay as they were: which of them changed, a bit each, and by how much.
pub(crate) fn put_changes<const N: usize>(last: &mut [u64; N], now: [u64; N], out: &mut Vec<u8>) {
    let differs = |i: usize| u64::from(now[i] != last[i]) << i;
    (0..N).map(differs).fold(0, |bits, bit| bits | bit).put(out);
    for (last, now) in last.iter_mut().zip(now).filter(|(last, now)| **last != *now) {
        let change = now.wrapping_sub(*last);
        (change << 1 ^ ((change as i64) >> 63) as u64).put(out);
        *last = now;
    }
}

/// What [`put_changes`] wrote.
pub(crate) fn get_changes<const N: usize>(
    last: &mut [u64; N],
    from: &mut Reader<'_>,
) -> Option<[u64; N]> {
    let bits = u64::read(from)?;
    if N < 64 && bits >> N != 0 {
        return None;
    }
    for (i, last) in last.iter_mut().enumerate() {
        if bits >> i & 1 == 1 {
            let zigzag = u64::read(from)?;
            *last = last.wrapping_add(zigzag >> 1 ^ (zigzag & 1).wrapping_neg());
        }
    }
    Some(*last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_a_byte_per_seven_bits() {
        for (number, len) in [(0, 1), (127, 1), (128, 2), (1 << 21, 4), (u64::MAX, 10)] {
            let mut out = Vec::new();
            number.put(&mut out);
            assert_eq!(out.len(), len, "{number}");
            assert_eq!(u64::read(&mut Reader::new(&out)), Some(number));
            assert_eq!(u64::read(&mut Reader::new(&out[..len - 1])), None, "cut short");
        }
        assert_eq!(u64::read(&mut Reader::new(&[255; 11])), None, "beyond 64 bits");
        assert_eq!(bool::read(&mut Reader::new(&[2])), None);
    }

    #[test]
    fn what_stays_costs_nothing_and_differences_wrap() {
        let mut out = Vec::new();
        let (mut there, mut here) = ([0; 3], [0; 3]);
        for now in [[5, u64::MAX, 7], [5, 0, 7], [5, 0, 6]] {
            out.clear();
            put_changes(&mut there, now, &mut out);
            let mut from = Reader::new(&out);
            assert_eq!(get_changes(&mut here, &mut from), Some(now));
            assert!(from.is_empty());
        }
        assert_eq!(out, [0b100, 1], "one bit and minus one");
        assert_eq!(get_changes(&mut here, &mut Reader::new(&[0b1000, 1])), None, "no fourth");
    }
}
