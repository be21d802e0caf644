//! What the web worker calls. Texts come in through one buffer, parted by zero bytes; answers go out through another.
//!
//! Invariants: one thread; a pointer is used by the worker before its next call and never after. An instance runs one
//! scenario, whose text and model it keeps until it ends with its worker.
#![allow(
    unsafe_code,
    reason = "names for the worker to find functions by; each is exported once, and takes and returns numbers only"
)]

use crate::play::{Files, Play, load};
use crate::said::{check, edited, presets_as_json};
use serde_json::{Value, json};
use std::cell::RefCell;

#[derive(Default)]
struct Instance {
    input: Vec<u8>,
    files: Files,
    play: Option<Play<'static>>,
}

thread_local! {
    static INSTANCE: RefCell<Instance> = RefCell::default();
    // Apart from the rest, so that a panic can leave its message here.
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn with<T>(what: impl FnOnce(&mut Instance) -> T) -> T {
    INSTANCE.with(|instance| what(&mut instance.borrow_mut()))
}

/// Answers what was asked in the texts of the input buffer.
fn answer(how: impl FnOnce(&mut Instance, &[&str]) -> Value) {
    with(|instance| {
        let input = std::mem::take(&mut instance.input);
        let input = String::from_utf8_lossy(&input);
        let texts: Vec<&str> = input.split('\0').collect();
        let said = how(instance, &texts);
        OUTPUT.set(said.to_string().into_bytes());
    });
}

/// Room for so many bytes of input.
#[unsafe(no_mangle)]
extern "C" fn input(bytes: usize) -> *mut u8 {
    std::panic::set_hook(Box::new(|panic| {
        OUTPUT.set(panic.to_string().into_bytes());
    }));
    with(|instance| {
        instance.input = vec![0; bytes];
        instance.input.as_mut_ptr()
    })
}

/// Where the answer begins; after a trap, the message of the panic.
#[unsafe(no_mangle)]
extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// How many bytes it has.
#[unsafe(no_mangle)]
extern "C" fn output_bytes() -> usize {
    OUTPUT.with_borrow(Vec::len)
}

/// All presets.
#[unsafe(no_mangle)]
extern "C" fn presets() {
    answer(|_, _| presets_as_json());
}

/// What is wrong with a text, or what it asks for. Input: the text, then keys whose values are wanted.
#[unsafe(no_mangle)]
extern "C" fn checked() {
    answer(|instance, texts| {
        let (text, keys) = texts.split_first().unwrap_or((&"", &[]));
        check(text, keys.iter().copied(), &instance.files)
    });
}

/// Takes a file that scenarios may name. Input: its name, a zero byte, its bytes.
#[unsafe(no_mangle)]
extern "C" fn file() {
    with(|instance| {
        let input = std::mem::take(&mut instance.input);
        let end = input.iter().position(|byte| *byte == 0).unwrap_or(input.len());
        let name = String::from_utf8_lossy(&input[..end]);
        instance.files.give(&name, input.get(end + 1..).unwrap_or_default());
    });
}

/// A text with other values. Input: the text, then keys and values in turn.
#[unsafe(no_mangle)]
extern "C" fn changed() {
    answer(|_, texts| {
        let (text, pairs) = texts.split_first().unwrap_or((&"", &[]));
        let pairs = pairs.chunks_exact(2).map(|pair| (pair[0], pair[1]));
        match edited(text, pairs) {
            Ok(text) => json!({ "text": text }),
            Err(why) => json!({ "error": why }),
        }
    });
}

/// Lays out the run of a text.
#[unsafe(no_mangle)]
extern "C" fn start() {
    answer(|instance, texts| {
        let text = texts.first().unwrap_or(&"");
        let loaded = match load(text, &instance.files) {
            Ok(loaded) => loaded,
            Err(problems) => return json!({ "problems": problems }),
        };
        match Play::new(Box::leak(Box::new(loaded.scenario))) {
            Ok(mut play) => {
                let layout = play.layout();
                instance.play = Some(play);
                layout
            }
            Err(why) => json!({ "error": why }),
        }
    });
}

/// Goes on to this time, in us: the answer is a frame.
#[unsafe(no_mangle)]
extern "C" fn advance(until_us: f64) {
    with(|instance| {
        let frame = instance.play.as_mut().map(|play| play.advance(until_us)).unwrap_or_default();
        OUTPUT.set(frame.iter().flat_map(|number| number.to_le_bytes()).collect());
    });
}

/// Ends the run.
#[unsafe(no_mangle)]
extern "C" fn finish() {
    answer(|instance, _| instance.play.take().map_or(Value::Null, Play::finish));
}
