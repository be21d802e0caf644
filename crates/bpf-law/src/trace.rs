//! What programs print by `bpf_trace_printk`, kept by the host until the run ends.
//!
//! Source: `bpf_trace_printk` and `bpf_bprintf_prepare` in the kernel for what a format may hold.
//! Deviation: `%p` gives the virtual address in hexadecimal; `%s` takes 128 bytes at most. Widths and zeros in front are not kept.

use forebay_laws::kernel::{BOOT, ProgramTrace, Sock};
use std::fmt::Write;

/// Most bytes that a host keeps.
const MOST: usize = 64 << 10;
/// Longest line.
const LINE: usize = 512;
/// Longest `%s`.
pub(crate) const TEXT: usize = 128;

/// An argument of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    Signed { wide: bool },
    Unsigned { wide: bool },
    Hex { wide: bool },
    Text,
    Character,
}

/// What stands at a `%`: `None` for `%%`, and the rest of the format. An error if the kernel knows no such thing.
fn argument(rest: &str) -> Result<(Option<Argument>, &str), ()> {
    if let Some(rest) = rest.strip_prefix('%') {
        return Ok((None, rest));
    }
    let rest = rest.trim_start_matches(|of: char| of.is_ascii_digit() || of == '-' || of == '#');
    let short = rest.trim_start_matches(['l', 'h', 'z']);
    let wide = rest.starts_with(['l', 'z']);
    let mut letters = short.chars();
    let argument = match letters.next() {
        Some('d' | 'i') => Argument::Signed { wide },
        Some('u') => Argument::Unsigned { wide },
        Some('x' | 'X') => Argument::Hex { wide },
        Some('s') => Argument::Text,
        Some('c') => Argument::Character,
        // %pks and %pus are texts, %px an address.
        Some('p') => {
            let kinds = letters.as_str();
            if let Some(rest) = kinds.strip_prefix("ks").or_else(|| kinds.strip_prefix("us")) {
                return Ok((Some(Argument::Text), rest));
            }
            let rest = kinds.strip_prefix(['x', 'K', 'S', 's', 'B']).unwrap_or(kinds);
            return Ok((Some(Argument::Hex { wide: true }), rest));
        }
        _ => return Err(()),
    };
    Ok((Some(argument), letters.as_str()))
}

/// The line of a format with these arguments; `text` reads one that is an address of a text. `None`: the kernel refuses the format.
pub(crate) fn line(
    format: &str,
    arguments: &[u64],
    mut text: impl FnMut(u64) -> Option<String>,
) -> Option<String> {
    let (mut line, mut rest, mut next) = (String::new(), format, arguments.iter());
    while let Some(at) = rest.find('%') {
        line += &rest[..at];
        let (kind, after) = argument(&rest[at + 1..]).ok()?;
        rest = after;
        let Some(kind) = kind else {
            line.push('%');
            continue;
        };
        let value = *next.next()?;
        let low = |wide: bool| if wide { value } else { u64::from(value as u32) };
        let _ = match kind {
            Argument::Signed { wide: true } => write!(line, "{}", value as i64),
            Argument::Signed { wide: false } => write!(line, "{}", value as i32),
            Argument::Unsigned { wide } => write!(line, "{}", low(wide)),
            Argument::Hex { wide } => write!(line, "{:x}", low(wide)),
            Argument::Text => write!(line, "{}", text(value).unwrap_or_default()),
            Argument::Character => write!(line, "{}", char::from(value as u8)),
        };
    }
    line += rest;
    let clean = line.trim_end().chars().map(|of| if of.is_control() { ' ' } else { of });
    Some(clean.take(LINE).collect())
}

/// Lines of the programs of one host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    lines: String,
    left_out: u64,
}

impl Trace {
    /// A line of the flow of this socket.
    pub(crate) fn add(&mut self, sk: &Sock, line: &str) {
        if self.lines.len() + line.len() > MOST {
            self.left_out += 1;
            return;
        }
        let ns = sk.tcp_clock_cache().saturating_sub(BOOT * 1_000_000_000);
        let flow = u32::from(u16::from_be(sk.skc_dport())) << 16 | u32::from(sk.skc_num());
        let (us, part) = (ns / 1_000, ns % 1_000);
        let _ = writeln!(self.lines, "{us}.{part:03} us, flow {flow}: {line}");
    }

    pub(crate) fn get(&self) -> ProgramTrace {
        ProgramTrace { lines: self.lines.clone(), left_out: self.left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_filled_in_as_by_the_kernel() {
        let text = |at: u64| (at == 7).then(|| "seven".to_string());
        let line = |format, arguments: &[u64]| line(format, arguments, text);
        let minus = -3i32 as u32;
        assert_eq!(line("cwnd %d\n", &[minus.into()]).as_deref(), Some("cwnd -3"));
        assert_eq!(
            line("%u %lu", &[u64::MAX, u64::MAX]).as_deref(),
            Some("4294967295 18446744073709551615")
        );
        assert_eq!(line("%llx %#04x 100%%", &[255, 16]).as_deref(), Some("ff 10 100%"));
        assert_eq!(line("%s of %pks %c", &[7, 8, 65]).as_deref(), Some("seven of  A"));
        assert_eq!(line("%d", &[]), None, "an argument is missing");
        assert_eq!(line("%f", &[1]), None, "no such conversion");
        assert_eq!(line(&"x".repeat(600), &[]).map(|of| of.len()), Some(LINE));
    }
}
