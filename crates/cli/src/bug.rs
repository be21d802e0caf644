//! Panics: each is a bug of ours, and one sentence says so.

use crate::about::VERSION;
use crate::say;

/// A panic is a bug of ours: one sentence says so, and where to tell us.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let what = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or_default();
        say::error(&bug(what, info.location().map(|l| (l.file(), l.line()))));
    }));
}

/// One line, whatever the panic said.
fn bug(what: &str, place: Option<(&str, u32)>) -> String {
    let what = what.lines().next().filter(|line| !line.is_empty()).unwrap_or("no message");
    let place = place.map_or(String::new(), |(file, line)| format!(" at {file}:{line}"));
    format!(
        "this is a bug in forebay {VERSION}, not in your input: {what}{place}. Please report it with the scenario {}",
        WHERE_TO_REPORT
    )
}

/// Where bug reports go.
const WHERE_TO_REPORT: &str = match option_env!("CARGO_PKG_REPOSITORY") {
    Some(url) if !url.is_empty() => url,
    _ => "to the project's issue tracker",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_one_sentence_with_a_place_to_report_it() {
        let text = bug("index out of bounds\nnote: backtrace", Some(("src/x.rs", 7)));
        assert_eq!(text.lines().count(), 1);
        assert!(
            text.contains("index out of bounds at src/x.rs:7") && text.contains("report it"),
            "{text}"
        );
        assert!(bug("", None).contains("no message"));
    }
}
