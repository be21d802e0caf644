//! Makes a failing scenario small.

use crate::check::{CheckOutcome, Fault, check};

/// The text with as few lines as still fail in the same way, by at most `tries` attempts.
///
/// Whole tables are tried first, the longest runs of them first, then single lines. A text that is refused or right
/// is put back.
pub fn shrink(text: &str, fault: &Fault, tries: usize) -> String {
    let fails =
        |text: &str| matches!(check(text), CheckOutcome::Wrong(of) if of.kind == fault.kind);
    let mut left = tries;
    let tables = split(text, |line| line.starts_with('['));
    let kept = fewer(tables, &fails, &mut left);
    let lines = split(&kept.concat(), |_| true);
    fewer(lines, &fails, &mut left).concat()
}

/// Parts that begin at each line of which `begins` holds.
fn split(text: &str, begins: impl Fn(&str) -> bool) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        match parts.last_mut() {
            Some(part) if !begins(line) => part.push_str(line),
            _ => parts.push(line.to_string()),
        }
    }
    parts
}

/// Takes out runs of parts, half of them at a time and then ever fewer, for as long as the rest fails.
fn fewer(mut parts: Vec<String>, fails: &dyn Fn(&str) -> bool, left: &mut usize) -> Vec<String> {
    let mut run = parts.len().div_ceil(2);
    while run > 0 && *left > 0 {
        let (mut at, mut shorter) = (0, false);
        while at < parts.len() && *left > 0 {
            let mut rest = parts.clone();
            rest.drain(at..(at + run).min(parts.len()));
            *left -= 1;
            if !rest.is_empty() && fails(&rest.concat()) {
                (parts, shorter) = (rest, true);
            } else {
                at += run;
            }
        }
        if run == 1 && !shorter {
            break;
        }
        run = if run == 1 { 1 } else { run / 2 };
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of twenty lines those two stay that fail together.
    #[test]
    fn what_does_not_matter_goes() {
        let parts: Vec<String> = (0..20).map(|n| format!("line {n}\n")).collect();
        let fails = |text: &str| text.contains(" 3\n") && text.contains(" 17\n");
        let kept = fewer(parts, &fails, &mut 1_000);
        assert_eq!(kept, ["line 3\n", "line 17\n"]);
    }

    #[test]
    fn tries_are_bounded() {
        let parts: Vec<String> = (0..20).map(|n| format!("line {n}\n")).collect();
        let tried = std::cell::Cell::new(0);
        let fails = |_: &str| {
            tried.set(tried.get() + 1);
            false
        };
        assert_eq!(fewer(parts, &fails, &mut 7).len(), 20);
        assert_eq!(tried.get(), 7);
    }
}
