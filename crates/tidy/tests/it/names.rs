//! A type's name is a noun that a stranger could type into a search box.

use forebay_tidy::source::{code, crates};
use std::fs;

/// Words that say nothing alone: function words, adverbs, and participles and verbs without their noun.
const EMPTY: &str = "About Above Absent Acting After Again Against Ahead All Alone Along Also And Any Around Arrived As At Before Beginning Below \
     Beside Best Better Between Both But By Chosen Cold Coming Copied Counted Covered Crossed Described Each Either Ended Every Evicted Explained Fed Few \
     Filled Finished First Flying Followed For Found From Full Get Given Guarded Held Here Hold Holds How If In Incoming Inside Into It Its Judged Known \
     Landed Landing Last Leaving Left Less Listed Loaded Logged Long Look Looked Looks Lost Made Many Meant Measured More Most Moved Much Named Need Next \
     No None Nor Not Nothing Now Of Off Often On Once One Only Opened Or Other Out Over Own Paired Paused Pausing Per Pinned Placed Played Polled Posted \
     Published Pushing Raised Ran Read Recalled Received Receiving Recorded Released Replayed Resent Rest Rests Returning Rooted Ruled Running Said Same \
     Says Seen Sending Senses Sent Sharing Short Show Shown Slow So Steered Stuck Such Take Tapped That Then There These Thing This Timed To Told Too \
     Touch Twice Typed Under Undone Unfit Unread Unscheduled Until Up Upon Very Wanted Watched Way What When Where Which While Who Whose Why With Within \
     Without Written Yet";

/// Names of the types that a file defines.
fn types(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let mut words = line.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_');
        words
            .find(|word| !matches!(*word, "pub" | "crate" | "super" | "unsafe" | ""))
            .filter(|word| matches!(*word, "struct" | "enum" | "trait" | "union"))?;
        words.find(|word| !word.is_empty())
    })
}

#[test]
fn no_type_is_named_by_a_word_that_says_nothing_alone() {
    assert_eq!(
        types("pub(super) struct Of<R: 'static> {\nenum Kept;").collect::<Vec<_>>(),
        ["Of", "Kept"]
    );
    let mut found = Vec::new();
    for crate_dir in fs::read_dir(crates()).expect("a folder of crates").flatten() {
        let name = crate_dir.file_name().to_string_lossy().into_owned();
        if !crate_dir.path().join("src").is_dir() {
            continue;
        }
        for (file, text) in code(&name) {
            let bare =
                types(&text).filter(|name| EMPTY.split_whitespace().any(|empty| empty == *name));
            found.extend(bare.map(|name| format!("{file}: {name}")));
        }
    }
    found.sort();
    assert!(
        found.is_empty(),
        "name these by a noun that can be searched for:\n{}",
        found.join("\n")
    );
}
