//! Text of a file as part of a sentence.

use core::fmt::{Display, Formatter, Result, Write};

/// Shows a text on one line: control characters, which could end the line or drive a terminal, are escaped as in Rust.
pub struct OneLine<'a>(pub &'a str);

impl Display for OneLine<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for c in self.0.chars() {
            if c.is_control() { write!(f, "{}", c.escape_debug())? } else { f.write_char(c)? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::OneLine;
    use std::string::ToString;

    #[test]
    fn control_characters_are_escaped_and_nothing_else() {
        assert_eq!(OneLine("a \"b\"\u{e9}\\").to_string(), "a \"b\"\u{e9}\\");
        assert_eq!(OneLine("a\r\n\u{0}\u{1b}[2J").to_string(), "a\\r\\n\\0\\u{1b}[2J");
    }
}
