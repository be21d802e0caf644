//! Edits of known files, which a fuzzer chooses: most bytes stay, so that parsers are reached beyond their first line.
//!
//! The targets are in `tests/`. `cargo test -p forebay-fuzz` tries a few hundred inputs of each, the same every time;
//! `BOLERO_RANDOM_SEED=N` tries one first, then others at random, and shrinks what fails. With nightly Rust and
//! `cargo install cargo-bolero`, `cargo bolero test -p forebay-fuzz TARGET` follows coverage for as long as wanted.

use bolero::TypeGenerator;
use bolero::generator::bolero_generator::driver::{Options, Rng};
#[doc(hidden)]
pub use bolero::{check, generator::bolero_generator};
use rand_core::SeedableRng;

/// `each!(cases, Type, |input| ...)` judges that many inputs, the same every time; where bolero is told anything, bolero
/// chooses them.
#[macro_export]
macro_rules! each {
    ($cases:expr, $type:ty, $judge:expr $(,)?) => {
        if std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with("BOLERO_")) {
            use $crate::bolero_generator;
            $crate::check!().with_type::<$type>().with_iterations($cases).for_each($judge);
        } else {
            $crate::inputs::<$type>($cases, $judge);
        }
    };
}

/// Judges the inputs of `cases` seeds, always the same; on a panic, says which seed it was.
pub fn inputs<T>(cases: usize, mut judge: impl FnMut(&T))
where
    T: TypeGenerator,
{
    for case in 1..=cases as u128 {
        // Spread over all bits: from small seeds, the first numbers of this generator are alike.
        let seed = case.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let told = OnPanic(seed);
        // As bolero makes the input of a seed, so that a seed given to bolero is the same input.
        let numbers = bolero::bolero_engine::rng::Recommended::from_seed(seed.to_le_bytes());
        if let Some(input) = T::generate(&mut Rng::new(numbers, &Options::default())) {
            judge(&input);
        }
        drop(told);
    }
}

/// Names a seed when dropped by a panic.
struct OnPanic(u128);

impl Drop for OnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("input of BOLERO_RANDOM_SEED={} (set it, and what fails is shrunk)", self.0);
        }
    }
}

/// One change of a text, at byte offsets that wrap around its end.
#[allow(missing_docs, reason = "each variant says what its offsets are for")]
#[derive(Clone, Debug, TypeGenerator)]
pub enum Edit {
    /// Some bytes go.
    Remove { at: u16, len: u8 },
    /// Some bytes come.
    Insert { at: u16, bytes: [u8; 4] },
    /// A number, a unit or a sign that parsers meet at their limits comes.
    Say { at: u16, word: u8 },
    /// A stretch of the text comes a second time elsewhere.
    Copy { from: u16, len: u8, to: u16 },
    /// The text ends here.
    Cut { at: u16 },
}

/// What [`Edit::Say`] says.
const WORDS: [&str; 24] = [
    "0",
    "-1",
    "1e308",
    "nan",
    "inf",
    "4294967296",
    "18446744073709551616",
    "\"1ps\"",
    "\"0B\"",
    "\"1e30bps\"",
    "\"100GBps\"",
    "\n",
    "\r\n",
    "\t",
    ",",
    ",,",
    "=",
    "[",
    "]]",
    "{",
    "\"",
    "#",
    "\u{feff}",
    "\u{0}",
];

/// Edits, one after another. Few, so that much of the text stays what it was.
#[derive(Clone, Debug, TypeGenerator)]
pub struct Edits {
    first: Edit,
    others: [Option<Edit>; 3],
}

impl Edits {
    /// The text with all edits made. Bytes that are no longer UTF-8 become the replacement character.
    pub fn of(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        for edit in std::iter::once(&self.first).chain(self.others.iter().flatten()) {
            edit.make(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Edit {
    fn make(&self, bytes: &mut Vec<u8>) {
        let place = |at: u16| usize::from(at) % (bytes.len() + 1);
        let stretch = |at: u16, len: u8| place(at)..(place(at) + usize::from(len)).min(bytes.len());
        match *self {
            Self::Remove { at, len } => {
                bytes.drain(stretch(at, len));
            }
            Self::Insert { at, bytes: new } => {
                let at = place(at);
                bytes.splice(at..at, new);
            }
            Self::Say { at, word } => {
                let at = place(at);
                bytes.splice(at..at, WORDS[usize::from(word) % WORDS.len()].bytes());
            }
            Self::Copy { from, len, to } => {
                let (copied, to) = (bytes[stretch(from, len)].to_vec(), place(to));
                bytes.splice(to..to, copied);
            }
            Self::Cut { at } => bytes.truncate(place(at)),
        }
    }
}

/// Whether a message is one that a user can read: a sentence on one line, of bounded length.
pub fn is_a_sentence(text: &str) -> bool {
    !text.is_empty() && !text.contains(['\n', '\r', '\u{0}']) && text.len() < 2_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_reach_every_part_of_a_text() {
        let one = |first| Edits { first, others: [None, None, None] }.of("abcdef");
        assert_eq!(one(Edit::Remove { at: 1, len: 2 }), "adef");
        assert_eq!(one(Edit::Remove { at: 5, len: 200 }), "abcde");
        assert_eq!(one(Edit::Insert { at: 6, bytes: *b"1234" }), "abcdef1234");
        assert_eq!(one(Edit::Say { at: 0, word: 24 }), "0abcdef");
        assert_eq!(one(Edit::Copy { from: 4, len: 9, to: 0 }), "efabcdef");
        assert_eq!(one(Edit::Cut { at: 3 }), "abc");
        assert_eq!(one(Edit::Insert { at: 7, bytes: [0xff; 4] }).chars().count(), 10);
    }
}
