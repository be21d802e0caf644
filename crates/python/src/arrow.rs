//! A frame as an Arrow stream, by the Arrow C data interface: structs of pointers that any Arrow library takes without copying.
//!
//! Source: Apache Arrow, "The Arrow C data interface" and "The Arrow C stream interface"; names of fields are theirs.
//! Values are read where they are: the array keeps the frame alive, and adds bitmaps of what is there and the offsets of words.
//!
//! The code is unsafe since a consumer calls back through bare pointers. Each proof rests on the same three facts: what a pointer of
//! ours points to is owned by the `private_data` of its struct; that is freed once, by `release`, which then clears itself, as the
//! interface demands; and a frame is never changed once it is made. `tests/test_arrow.py` lets consumers read, keep, drop and ignore streams.
#![allow(unsafe_code)]

use forebay_record::frame::{Frame, Values};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

/// Flag of a schema: values may be missing.
const NULLABLE: i64 = 2;

/// `struct ArrowSchema`.
#[repr(C)]
pub(crate) struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray`.
#[repr(C)]
pub(crate) struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

/// `struct ArrowArrayStream`.
#[repr(C)]
pub(crate) struct Stream {
    get_schema: unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int,
    get_next: unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int,
    get_last_error: unsafe extern "C" fn(*mut Stream) -> *const c_char,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

/// What a schema owns.
struct SchemaParts {
    format: CString,
    name: CString,
    children: Vec<*mut Schema>, // of `Box::into_raw`
    dictionary: *mut Schema,    // likewise, or null
}

/// What an array owns.
struct ArrayParts {
    _frame: Arc<Frame>, // some of the buffers are in it
    _own: Vec<Vec<u8>>, // the others
    buffers: Vec<*const c_void>,
    children: Vec<*mut Array>, // of `Box::into_raw`
    dictionary: *mut Array,    // likewise, or null
}

/// What a stream owns.
struct StreamParts {
    frame: Arc<Frame>,
    given: bool, // its only batch
}

// SAFETY: these structs own all that they point to, nothing of which belongs to a thread or is changed through them.
unsafe impl Send for Schema {}
// SAFETY: as above; frames are shared read-only behind an `Arc`.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Send for Stream {}

impl Schema {
    /// A schema of this format and name.
    fn new(format: &str, name: &str, flags: i64, children: Vec<Self>, words: Option<Self>) -> Self {
        let text = |text: &str| CString::new(text).expect("names of ours have no zero in them");
        let raw = |one| Box::into_raw(Box::new(one));
        let mut parts = Box::new(SchemaParts {
            format: text(format),
            name: text(name),
            children: children.into_iter().map(raw).collect(),
            dictionary: words.map_or(ptr::null_mut(), raw),
        });
        Self {
            format: parts.format.as_ptr(),
            name: parts.name.as_ptr(),
            metadata: ptr::null(),
            flags,
            n_children: parts.children.len() as i64,
            children: parts.children.as_mut_ptr(),
            dictionary: parts.dictionary,
            release: Some(release_schema),
            private_data: Box::into_raw(parts).cast(),
        }
    }

    /// The schema of a frame: a struct with a field for each column.
    pub fn of(frame: &Frame) -> Self {
        let field = |(name, values): &(&'static str, Values)| match values {
            Values::Whole(_) => Self::new("l", name, 0, Vec::new(), None),
            Values::MaybeWhole(..) => Self::new("l", name, NULLABLE, Vec::new(), None),
            Values::Real(_) => Self::new("g", name, NULLABLE, Vec::new(), None),
            Values::Lists(..) => {
                Self::new("+l", name, 0, vec![Self::new("g", "item", 0, Vec::new(), None)], None)
            }
            Values::Words(..) => {
                Self::new("i", name, 0, Vec::new(), Some(Self::new("u", "", 0, Vec::new(), None)))
            }
        };
        Self::new("+s", "", 0, frame.columns.iter().map(field).collect(), None)
    }
}

impl Array {
    fn new(
        frame: &Arc<Frame>,
        [length, null_count]: [usize; 2],
        buffers: Vec<*const c_void>,
        own: Vec<Vec<u8>>,
        children: Vec<Self>,
        words: Option<Self>,
    ) -> Self {
        let raw = |one| Box::into_raw(Box::new(one));
        let mut parts = Box::new(ArrayParts {
            _frame: frame.clone(),
            _own: own,
            buffers,
            children: children.into_iter().map(raw).collect(),
            dictionary: words.map_or(ptr::null_mut(), raw),
        });
        Self {
            length: length as i64,
            null_count: null_count as i64,
            offset: 0,
            n_buffers: parts.buffers.len() as i64,
            n_children: parts.children.len() as i64,
            buffers: parts.buffers.as_mut_ptr(),
            children: parts.children.as_mut_ptr(),
            dictionary: parts.dictionary,
            release: Some(release_array),
            private_data: Box::into_raw(parts).cast(),
        }
    }

    /// All rows of a frame.
    fn of(frame: &Arc<Frame>) -> Self {
        let children = frame.columns.iter().map(|(_, values)| Self::column(frame, values));
        let children = children.collect();
        Self::new(frame, [frame.rows, 0], vec![ptr::null()], Vec::new(), children, None)
    }

    fn column(frame: &Arc<Frame>, values: &Values) -> Self {
        let plain = |buffers| Self::new(frame, [frame.rows, 0], buffers, Vec::new(), vec![], None);
        match values {
            Values::Whole(all) => plain(vec![ptr::null(), at(all)]),
            Values::MaybeWhole(all, there) => Self::sparse(frame, at(all), there.iter().copied()),
            Values::Real(all) => Self::sparse(frame, at(all), all.iter().map(|one| !one.is_nan())),
            Values::Lists(offsets, all) => {
                let items = vec![ptr::null(), at(all)];
                let items = Self::new(frame, [all.len(), 0], items, Vec::new(), vec![], None);
                let own = vec![ptr::null(), at(offsets)];
                Self::new(frame, [frame.rows, 0], own, Vec::new(), vec![items], None)
            }
            Values::Words(codes, words) => {
                let (mut offsets, mut text) = (0_i32.to_ne_bytes().to_vec(), Vec::new());
                for word in words {
                    text.extend(word.as_bytes());
                    offsets.extend((text.len() as i32).to_ne_bytes());
                }
                let buffers = vec![ptr::null(), at(&offsets), at(&text)];
                let own = vec![offsets, text];
                let words = Self::new(frame, [words.len(), 0], buffers, own, vec![], None);
                let codes = vec![ptr::null(), at(codes)];
                Self::new(frame, [frame.rows, 0], codes, Vec::new(), vec![], Some(words))
            }
        }
    }

    /// A column of which some values may be missing.
    fn sparse(
        frame: &Arc<Frame>,
        values: *const c_void,
        there: impl ExactSizeIterator<Item = bool>,
    ) -> Self {
        let mut bitmap = vec![0_u8; there.len().div_ceil(8)];
        let mut missing = 0;
        for (i, there) in there.enumerate() {
            bitmap[i / 8] |= u8::from(there) << (i % 8);
            missing += usize::from(!there);
        }
        let buffers = vec![at(&bitmap), values];
        Self::new(frame, [frame.rows, missing], buffers, vec![bitmap], vec![], None)
    }
}

/// Where values are. Moving their vector does not move them.
fn at<T>(values: &[T]) -> *const c_void {
    values.as_ptr().cast()
}

impl Stream {
    /// A frame as one batch.
    pub fn of(frame: Arc<Frame>) -> Self {
        let parts = Box::new(StreamParts { frame, given: false });
        Self {
            get_schema,
            get_next,
            get_last_error,
            release: Some(release_stream),
            private_data: Box::into_raw(parts).cast(),
        }
    }
}

unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: the caller hands a stream of ours that is not released, whose data is a `StreamParts`, and room for a schema.
    unsafe {
        let parts = &*(*stream).private_data.cast::<StreamParts>();
        out.write(Schema::of(&parts.frame));
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: as above, with room for an array; a stream is used by one thread at a time. At the end the array is a released one.
    unsafe {
        let parts = &mut *(*stream).private_data.cast::<StreamParts>();
        if std::mem::replace(&mut parts.given, true) {
            (&raw mut (*out).release).write(None);
        } else {
            out.write(Array::of(&parts.frame));
        }
    }
    0
}

unsafe extern "C" fn get_last_error(_: *mut Stream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: the data came of `Box::into_raw` and is freed once, since `release` is cleared.
    unsafe {
        (*stream).release = None;
        drop(Box::from_raw((*stream).private_data.cast::<StreamParts>()));
    }
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: as above. A child that a consumer moved elsewhere is marked as released by it, and its struct is still ours to free.
    unsafe {
        (*schema).release = None;
        let parts = Box::from_raw((*schema).private_data.cast::<SchemaParts>());
        let dictionary = (!parts.dictionary.is_null()).then_some(parts.dictionary);
        parts.children.iter().copied().chain(dictionary).for_each(|one| drop(Box::from_raw(one)));
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: as above.
    unsafe {
        (*array).release = None;
        let parts = Box::from_raw((*array).private_data.cast::<ArrayParts>());
        let dictionary = (!parts.dictionary.is_null()).then_some(parts.dictionary);
        parts.children.iter().copied().chain(dictionary).for_each(|one| drop(Box::from_raw(one)));
    }
}

/// Releases what has not been taken.
macro_rules! released_on_drop {
    ($($of:ty),*) => {$(
        impl Drop for $of {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: `release` is there, so this struct still owns its data, and no other code has a pointer to it.
                    unsafe { release(self) }
                }
            }
        }
    )*};
}
released_on_drop!(Schema, Array, Stream);
