//! The part of libibverbs that a connection needs, loaded at run time: no header, no library and no device is needed to build.
//!
//! Functions that verbs.h has inline go through the table of operations of a context, as there. Structures are those of the stable
//! interface of `libibverbs.so.1` (rdma-core `libibverbs/verbs.h`, IBVERBS_1.1); a test holds their sizes.
//!
//! Invariant: each object keeps what it was made of, so that all pointers are alive; what a device reads or writes is in [`Memory`],
//! which is reached by atomics alone and outlives its queue pairs.
#![allow(unsafe_code)] // Calls into a C library: the reason why each is sound stands at it.

use libc::{RTLD_LOCAL, RTLD_NOW, dlopen, dlsym};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr::{NonNull, null_mut};
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

/// Why there are no verbs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VerbsUnavailable {
    /// The library is not installed.
    NoLibrary,
    /// The library lacks a function.
    NoFunction(&'static str),
    /// There is no device, or none of this name.
    NoDevice(Option<String>),
    /// The library refused.
    Refused(&'static str, i32),
}

impl fmt::Display for VerbsUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLibrary => write!(
                f,
                "no verbs here: libibverbs.so.1 is not installed (apt install libibverbs1 ibverbs-providers)"
            ),
            Self::NoFunction(name) => write!(f, "no verbs here: libibverbs.so.1 has no {name}"),
            Self::NoDevice(None) => write!(f, "no verbs here: there is no RDMA device"),
            Self::NoDevice(Some(name)) => {
                write!(f, "no verbs here: there is no RDMA device {name:?}")
            }
            Self::Refused(what, errno) => {
                write!(f, "{what}: {}", std::io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

impl std::error::Error for VerbsUnavailable {}

#[repr(C)]
struct Context {
    device: *mut c_void,
    operations: Operations,
}

#[repr(C)]
struct Operations {
    before_poll: [*mut c_void; 11],
    poll_cq: Option<unsafe extern "C" fn(*mut Cq, c_int, *mut Wc) -> c_int>,
    between: [*mut c_void; 13],
    post_send: Option<unsafe extern "C" fn(*mut Qp, *mut SendWr, *mut *mut SendWr) -> c_int>,
    post_recv: Option<unsafe extern "C" fn(*mut Qp, *mut RecvWr, *mut *mut RecvWr) -> c_int>,
}

#[repr(C)]
struct Cq {
    context: *mut Context,
}

#[repr(C)]
struct Qp {
    context: *mut Context,
    qp_context: *mut c_void,
    pd: *mut c_void,
    send_cq: *mut Cq,
    recv_cq: *mut Cq,
    srq: *mut c_void,
    handle: u32,
    number: u32,
}

#[repr(C)]
struct Mr {
    context: *mut Context,
    pd: *mut c_void,
    address: *mut c_void,
    length: usize,
    handle: u32,
    lkey: u32,
    rkey: u32,
}

#[repr(C)]
struct Sge {
    address: u64,
    length: u32,
    lkey: u32,
}

#[repr(C)]
struct SendWr {
    wr_id: u64,
    next: *mut SendWr,
    sg_list: *mut Sge,
    num_sge: c_int,
    opcode: u32,
    send_flags: u32,
    imm_data: u32,
    rest: [u64; 11], // addresses and atomics, which a SEND does without
}

#[repr(C)]
struct RecvWr {
    wr_id: u64,
    next: *mut RecvWr,
    sg_list: *mut Sge,
    num_sge: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Wc {
    wr_id: u64,
    status: u32,
    opcode: u32,
    vendor_err: u32,
    byte_len: u32,
    imm_data: u32,
    qp_num: u32,
    src_qp: u32,
    wc_flags: u32,
    pkey_index: u16,
    slid: u16,
    sl: u8,
    dlid_path_bits: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Cap {
    max_send_wr: u32,
    max_recv_wr: u32,
    max_send_sge: u32,
    max_recv_sge: u32,
    max_inline_data: u32,
}

#[repr(C)]
struct QpInitAttr {
    qp_context: *mut c_void,
    send_cq: *mut Cq,
    recv_cq: *mut Cq,
    srq: *mut c_void,
    cap: Cap,
    qp_type: u32,
    sq_sig_all: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct AhAttr {
    dgid: [u64; 2],
    flow_label: u32,
    sgid_index: u8,
    hop_limit: u8,
    traffic_class: u8,
    dlid: u16,
    sl: u8,
    src_path_bits: u8,
    static_rate: u8,
    is_global: u8,
    port_num: u8,
}

#[repr(C)]
struct QpAttr {
    qp_state: u32,
    cur_qp_state: u32,
    path_mtu: u32,
    path_mig_state: u32,
    qkey: u32,
    rq_psn: u32,
    sq_psn: u32,
    dest_qp_num: u32,
    qp_access_flags: u32,
    cap: Cap,
    ah_attr: AhAttr,
    alt_ah_attr: AhAttr,
    pkey_index: u16,
    alt_pkey_index: u16,
    en_sqd_async_notify: u8,
    sq_draining: u8,
    max_rd_atomic: u8,
    max_dest_rd_atomic: u8,
    min_rnr_timer: u8,
    port_num: u8,
    timeout: u8,
    retry_cnt: u8,
    rnr_retry: u8,
    alt_port_num: u8,
    alt_timeout: u8,
    rate_limit: u32,
}

/// Beginning of `struct _compat_ibv_port_attr`, and room for all of it.
#[repr(C)]
struct PortAttr {
    state: u32,
    max_mtu: u32,
    active_mtu: u32,
    gid_tbl_len: c_int,
    port_cap_flags: u32,
    max_msg_sz: u32,
    bad_pkey_cntr: u32,
    qkey_viol_cntr: u32,
    pkey_tbl_len: u16,
    lid: u16,
    rest: [u64; 8],
}

macro_rules! functions {
    ($($name:ident: fn($($of:ty),*) -> $gives:ty;)+) => {
        /// Functions of the library.
        #[derive(Clone, Copy)]
        struct Functions {
            $($name: unsafe extern "C" fn($($of),*) -> $gives,)+
        }

        impl Functions {
            fn load() -> Result<Self, VerbsUnavailable> {
                // SAFETY: the name ends with 0. The library stays loaded for as long as the process lives.
                let library = unsafe { dlopen(c"libibverbs.so.1".as_ptr(), RTLD_NOW | RTLD_LOCAL) };
                if library.is_null() {
                    return Err(VerbsUnavailable::NoLibrary);
                }
                $(
                    let name = concat!(stringify!($name), "\0");
                    // SAFETY: the library is loaded, and the name ends with 0.
                    let $name = unsafe { dlsym(library, name.as_ptr().cast()) };
                    if $name.is_null() {
                        return Err(VerbsUnavailable::NoFunction(stringify!($name)));
                    }
                    // SAFETY: the function of this name has this type, by verbs.h.
                    let $name = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($of),*) -> $gives>($name) };
                )+
                Ok(Self { $($name,)+ })
            }
        }
    };
}

functions! {
    ibv_get_device_list: fn(*mut c_int) -> *mut *mut c_void;
    ibv_free_device_list: fn(*mut *mut c_void) -> ();
    ibv_get_device_name: fn(*mut c_void) -> *const c_char;
    ibv_open_device: fn(*mut c_void) -> *mut Context;
    ibv_close_device: fn(*mut Context) -> c_int;
    ibv_alloc_pd: fn(*mut Context) -> *mut c_void;
    ibv_dealloc_pd: fn(*mut c_void) -> c_int;
    ibv_reg_mr: fn(*mut c_void, *mut c_void, usize, c_int) -> *mut Mr;
    ibv_dereg_mr: fn(*mut Mr) -> c_int;
    ibv_create_cq: fn(*mut Context, c_int, *mut c_void, *mut c_void, c_int) -> *mut Cq;
    ibv_destroy_cq: fn(*mut Cq) -> c_int;
    ibv_create_qp: fn(*mut c_void, *mut QpInitAttr) -> *mut Qp;
    ibv_modify_qp: fn(*mut Qp, *mut QpAttr, c_int) -> c_int;
    ibv_destroy_qp: fn(*mut Qp) -> c_int;
    ibv_query_port: fn(*mut Context, u8, *mut PortAttr) -> c_int;
    ibv_query_gid: fn(*mut Context, u8, c_int, *mut [u8; 16]) -> c_int;
}

fn errno(what: &'static str) -> VerbsUnavailable {
    VerbsUnavailable::Refused(what, std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

fn found<T>(of: *mut T, what: &'static str) -> Result<NonNull<T>, VerbsUnavailable> {
    NonNull::new(of).ok_or_else(|| errno(what))
}

/// Names of the RDMA devices.
///
/// # Errors
/// If the library is not there.
pub fn devices() -> Result<Vec<String>, VerbsUnavailable> {
    let of = Functions::load()?;
    let mut names = Vec::new();
    each_device(of, |name, _| {
        names.push(name);
        false
    });
    Ok(names)
}

/// Shows each device until `take` says that it has it; the list is freed afterwards.
fn each_device(of: Functions, mut take: impl FnMut(String, *mut c_void) -> bool) {
    let mut count = 0;
    // SAFETY: the number is written. The list is null, or has so many devices.
    let list = unsafe { (of.ibv_get_device_list)(&mut count) };
    if list.is_null() {
        return;
    }
    for at in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the list has so many devices, each with a name that ends with 0 and lives as long as the list.
        let (device, name) = unsafe {
            let device = *list.add(at);
            (device, CStr::from_ptr((of.ibv_get_device_name)(device)))
        };
        if take(name.to_string_lossy().into_owned(), device) {
            break;
        }
    }
    // SAFETY: the list came from the library, and no device of it is kept; an open one is held by its context.
    unsafe { (of.ibv_free_device_list)(list) };
}

/// An open device with a protection domain.
pub struct Device {
    of: Functions,
    context: NonNull<Context>,
    domain: NonNull<c_void>,
    /// Name of the device.
    pub name: String,
}

impl Device {
    /// Opens the device of this name, or the first.
    ///
    /// # Errors
    /// If there is none, or the library is not there or refuses.
    pub fn open(name: Option<&str>) -> Result<Rc<Self>, VerbsUnavailable> {
        let of = Functions::load()?;
        let mut opened = None;
        each_device(of, |known, device| {
            let wanted = name.is_none_or(|name| name == known);
            if wanted {
                // SAFETY: the device is of the list, which lives during this call.
                opened = Some((known, unsafe { (of.ibv_open_device)(device) }));
            }
            wanted
        });
        let (name, context) =
            opened.ok_or_else(|| VerbsUnavailable::NoDevice(name.map(String::from)))?;
        let context = found(context, "ibv_open_device")?;
        // SAFETY: the context is open.
        let domain = match found(unsafe { (of.ibv_alloc_pd)(context.as_ptr()) }, "ibv_alloc_pd") {
            Ok(domain) => domain,
            Err(error) => {
                // SAFETY: nothing was made of it.
                unsafe { (of.ibv_close_device)(context.as_ptr()) };
                return Err(error);
            }
        };
        Ok(Rc::new(Self { of, context, domain, name }))
    }

    /// The address of the first port: its local identifier, and the index and value of the GID that RoCE v2 takes.
    ///
    /// # Errors
    /// If the library refuses.
    pub fn port(&self) -> Result<(u16, u8, [u8; 16]), VerbsUnavailable> {
        let mut port = PortAttr {
            state: 0,
            max_mtu: 0,
            active_mtu: 0,
            gid_tbl_len: 0,
            port_cap_flags: 0,
            max_msg_sz: 0,
            bad_pkey_cntr: 0,
            qkey_viol_cntr: 0,
            pkey_tbl_len: 0,
            lid: 0,
            rest: [0; 8],
        };
        // SAFETY: the context is open, and the structure has room for what this symbol writes.
        if unsafe { (self.of.ibv_query_port)(self.context.as_ptr(), 1, &mut port) } != 0 {
            return Err(errno("ibv_query_port"));
        }
        let gid = |index: u8| {
            let mut gid = [0; 16];
            // SAFETY: as above; a GID has 16 bytes.
            let failed = unsafe {
                (self.of.ibv_query_gid)(self.context.as_ptr(), 1, index.into(), &mut gid)
            };
            (failed == 0 && gid != [0; 16]).then_some((index, gid))
        };
        let all: Vec<_> = (0..port.gid_tbl_len.clamp(0, 64) as u8).filter_map(gid).collect();
        // The last one of an IPv4 address is of RoCE v2 where there are two.
        let mapped =
            |of: &&(u8, [u8; 16])| of.1[..12] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
        let (index, gid) =
            all.iter().rfind(mapped).or(all.first()).copied().unwrap_or((0, [0; 16]));
        Ok((port.lid, index, gid))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: all that was made of it held it, and is gone.
        unsafe {
            (self.of.ibv_dealloc_pd)(self.domain.as_ptr());
            (self.of.ibv_close_device)(self.context.as_ptr());
        }
    }
}

/// Memory that the device reads and writes.
pub struct Memory {
    device: Rc<Device>,
    mr: NonNull<Mr>,
    words: Box<[AtomicU64]>,
    first: usize, // word that begins a line
}

impl Memory {
    /// Takes and registers so many words, which begin at a line of 64 bytes.
    ///
    /// # Errors
    /// If the library refuses.
    pub fn new(device: &Rc<Device>, words: usize) -> Result<Self, VerbsUnavailable> {
        const LOCAL_WRITE: c_int = 1;
        let memory: Box<[AtomicU64]> = (0..words + 8).map(|_| AtomicU64::new(0)).collect();
        let first = memory.as_ptr().addr().wrapping_neg() % 64 / 8;
        let start = memory.as_ptr().cast_mut().cast();
        // SAFETY: the memory is of this value, which ends the registration before it goes. Atomics may change behind a shared reference.
        let mr = unsafe {
            (device.of.ibv_reg_mr)(device.domain.as_ptr(), start, 8 * memory.len(), LOCAL_WRITE)
        };
        Ok(Self { device: device.clone(), mr: found(mr, "ibv_reg_mr")?, words: memory, first })
    }

    /// Words from `at` on.
    pub fn words(&self, at: usize, count: usize) -> &[AtomicU64] {
        &self.words[self.first + at..][..count]
    }

    fn sge(&self, at: usize, bytes: u32) -> Sge {
        let words = self.words(at, (bytes as usize).div_ceil(8));
        // SAFETY: the registration is alive.
        let lkey = unsafe { self.mr.as_ref() }.lkey;
        Sge { address: words.as_ptr().addr() as u64, length: bytes, lkey }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it is registered, and queue pairs that used it are gone (see `Pair`).
        unsafe { (self.device.of.ibv_dereg_mr)(self.mr.as_ptr()) };
    }
}

/// A completion queue.
pub struct Queue {
    device: Rc<Device>,
    cq: NonNull<Cq>,
}

/// Completion of a work request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Name of the work request.
    pub id: u64,
    /// 0, or the status of `enum ibv_wc_status`.
    pub status: u32,
    /// Bytes received.
    pub bytes: u32,
    /// Immediate data received.
    pub immediate: Option<u32>,
}

impl Queue {
    /// A queue with room for so many completions.
    ///
    /// # Errors
    /// If the library refuses.
    pub fn new(device: &Rc<Device>, room: u32) -> Result<Rc<Self>, VerbsUnavailable> {
        let room = c_int::try_from(room).unwrap_or(c_int::MAX);
        // SAFETY: the context is open; there is no channel.
        let cq = unsafe {
            (device.of.ibv_create_cq)(device.context.as_ptr(), room, null_mut(), null_mut(), 0)
        };
        Ok(Rc::new(Self { device: device.clone(), cq: found(cq, "ibv_create_cq")? }))
    }

    /// The next completion.
    ///
    /// # Errors
    /// If the device is broken.
    #[inline]
    pub fn poll(&self) -> Result<Option<Completion>, VerbsUnavailable> {
        const WITH_IMM: u32 = 2;
        const RECV: u32 = 1 << 7;
        let mut wc = Wc::default();
        // SAFETY: the context is open and has its operations since then; one completion is written.
        let count = unsafe {
            let context = self.device.context.as_ref();
            context.operations.poll_cq.map_or(-1, |poll| poll(self.cq.as_ptr(), 1, &mut wc))
        };
        match count {
            0 => Ok(None),
            1 => {
                let with = wc.status == 0 && wc.opcode & RECV > 0 && wc.wc_flags & WITH_IMM > 0;
                let immediate = with.then(|| u32::from_be(wc.imm_data));
                Ok(Some(Completion {
                    id: wc.wr_id,
                    status: wc.status,
                    bytes: wc.byte_len,
                    immediate,
                }))
            }
            _ => Err(VerbsUnavailable::Refused("ibv_poll_cq", 0)),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: its queue pairs held it, and are gone.
        unsafe { (self.device.of.ibv_destroy_cq)(self.cq.as_ptr()) };
    }
}

/// A reliable connection.
pub struct Pair {
    queue: Rc<Queue>,
    memory: Rc<Memory>,
    qp: NonNull<Qp>,
}

/// Where the other end of a reliable connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remote {
    /// Number of its queue pair.
    pub pair: u32,
    /// First packet number that it sends.
    pub psn: u32,
    /// Local identifier of the port; 0 on Ethernet.
    pub lid: u16,
    /// GID of the port.
    pub gid: [u8; 16],
}

const STATE: c_int = 1;
const PORT_ACCESS_PKEY: c_int = 1 << 3 | 1 << 4 | 1 << 5;
const TO_RTR: c_int = STATE | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 15 | 1 << 17 | 1 << 20;
const TO_RTS: c_int = STATE | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13 | 1 << 16;

impl Pair {
    /// A queue pair that is ready to receive into this memory, with room for so many sends and receives.
    ///
    /// # Errors
    /// If the library refuses.
    pub fn new(
        queue: &Rc<Queue>,
        memory: &Rc<Memory>,
        sends: u32,
        receives: u32,
    ) -> Result<Self, VerbsUnavailable> {
        const RELIABLE: u32 = 2;
        let device = &queue.device;
        let cap = Cap {
            max_send_wr: sends,
            max_recv_wr: receives,
            max_send_sge: 1,
            max_recv_sge: 1,
            max_inline_data: 32,
        };
        let mut init = QpInitAttr {
            qp_context: null_mut(),
            send_cq: queue.cq.as_ptr(),
            recv_cq: queue.cq.as_ptr(),
            srq: null_mut(),
            cap,
            qp_type: RELIABLE,
            sq_sig_all: 1,
        };
        // SAFETY: domain and queue are alive, and held by the pair.
        let qp = found(
            unsafe { (device.of.ibv_create_qp)(device.domain.as_ptr(), &mut init) },
            "ibv_create_qp",
        )?;
        let pair = Self { queue: queue.clone(), memory: memory.clone(), qp };
        let mut to = attributes(1);
        to.port_num = 1;
        pair.modify(&mut to, STATE | PORT_ACCESS_PKEY, "ibv_modify_qp to INIT")?;
        Ok(pair)
    }

    fn modify(
        &self,
        to: &mut QpAttr,
        mask: c_int,
        what: &'static str,
    ) -> Result<(), VerbsUnavailable> {
        // SAFETY: the pair is alive, and the structure is whole.
        match unsafe { (self.queue.device.of.ibv_modify_qp)(self.qp.as_ptr(), to, mask) } {
            0 => Ok(()),
            error => Err(VerbsUnavailable::Refused(what, error)),
        }
    }

    /// Number of the queue pair.
    pub fn number(&self) -> u32 {
        // SAFETY: the pair is alive.
        unsafe { self.qp.as_ref() }.number
    }

    /// Connects it. `psn` is the first packet number that it sends, `gid_index` that of its port's GID.
    ///
    /// # Errors
    /// If the library refuses.
    pub fn connect(&self, to: &Remote, psn: u32, gid_index: u8) -> Result<(), VerbsUnavailable> {
        const MTU_1024: u32 = 3;
        let mut ready = attributes(2);
        ready.path_mtu = MTU_1024;
        ready.dest_qp_num = to.pair;
        ready.rq_psn = to.psn;
        ready.max_dest_rd_atomic = 1;
        ready.min_rnr_timer = 12; // 0.64 ms
        let words = to.gid.as_chunks::<8>().0;
        ready.ah_attr.dgid = [u64::from_ne_bytes(words[0]), u64::from_ne_bytes(words[1])];
        ready.ah_attr.sgid_index = gid_index;
        ready.ah_attr.hop_limit = 64;
        ready.ah_attr.is_global = u8::from(to.gid != [0; 16]);
        ready.ah_attr.dlid = to.lid;
        ready.ah_attr.port_num = 1;
        self.modify(&mut ready, TO_RTR, "ibv_modify_qp to RTR")?;
        let mut ready = attributes(3);
        ready.timeout = 14; // 67 ms
        ready.retry_cnt = 6; // with 7 soft-RoCE retries without end
        ready.rnr_retry = 7; // without end
        ready.sq_psn = psn;
        ready.max_rd_atomic = 1;
        self.modify(&mut ready, TO_RTS, "ibv_modify_qp to RTS")
    }

    /// Breaks the connection: all that is posted completes with an error.
    pub fn fail(&self) {
        const ERROR: u32 = 6;
        let _ = self.modify(&mut attributes(ERROR), STATE, "ibv_modify_qp to ERR");
    }

    /// Posts a receive of up to `bytes` bytes into the memory from word `at` on.
    ///
    /// # Errors
    /// If the library refuses.
    #[inline]
    pub fn receive(&self, id: u64, at: usize, bytes: u32) -> Result<(), VerbsUnavailable> {
        let mut part = self.memory.sge(at, bytes);
        let mut wr = RecvWr { wr_id: id, next: null_mut(), sg_list: &mut part, num_sge: 1 };
        let mut bad = null_mut();
        // SAFETY: the pair is alive; the list is copied; the memory is registered and held for as long as the pair lives.
        let error = unsafe {
            let context = self.queue.device.context.as_ref();
            context
                .operations
                .post_recv
                .map_or(-1, |post| post(self.qp.as_ptr(), &mut wr, &mut bad))
        };
        if error == 0 { Ok(()) } else { Err(VerbsUnavailable::Refused("ibv_post_recv", error)) }
    }

    /// Sends bytes of the memory from word `at` on, with a counter if there is one.
    ///
    /// # Errors
    /// If the library refuses.
    #[inline]
    pub fn send(
        &self,
        id: u64,
        at: usize,
        bytes: u32,
        immediate: Option<u32>,
    ) -> Result<(), VerbsUnavailable> {
        self.post(id, self.memory.sge(at, bytes), 0, immediate)
    }

    /// Sends a copy of a few bytes.
    ///
    /// # Errors
    /// If the library refuses.
    pub fn send_inline(&self, id: u64, bytes: &[u8; 24]) -> Result<(), VerbsUnavailable> {
        const INLINE: u32 = 8;
        let part = Sge { address: bytes.as_ptr().addr() as u64, length: 24, lkey: 0 };
        bytes.as_ptr().expose_provenance();
        self.post(id, part, INLINE, None)
    }

    fn post(
        &self,
        id: u64,
        mut part: Sge,
        flags: u32,
        immediate: Option<u32>,
    ) -> Result<(), VerbsUnavailable> {
        const SIGNALED: u32 = 2;
        const SEND: u32 = 2;
        const SEND_WITH_IMM: u32 = 3;
        let mut wr = SendWr {
            wr_id: id,
            next: null_mut(),
            sg_list: &mut part,
            num_sge: 1,
            opcode: if immediate.is_some() { SEND_WITH_IMM } else { SEND },
            send_flags: SIGNALED | flags,
            imm_data: immediate.unwrap_or(0).to_be(),
            rest: [0; 11],
        };
        let mut bad = null_mut();
        // SAFETY: the pair is alive; the list is copied; bytes are in registered memory that is held for as long as the pair lives, or copied.
        let error = unsafe {
            let context = self.queue.device.context.as_ref();
            context
                .operations
                .post_send
                .map_or(-1, |post| post(self.qp.as_ptr(), &mut wr, &mut bad))
        };
        if error == 0 { Ok(()) } else { Err(VerbsUnavailable::Refused("ibv_post_send", error)) }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // SAFETY: it is alive. The device touches its memory no more afterwards.
        unsafe { (self.queue.device.of.ibv_destroy_qp)(self.qp.as_ptr()) };
    }
}

fn attributes(state: u32) -> QpAttr {
    let address = AhAttr {
        dgid: [0; 2],
        flow_label: 0,
        sgid_index: 0,
        hop_limit: 0,
        traffic_class: 0,
        dlid: 0,
        sl: 0,
        src_path_bits: 0,
        static_rate: 0,
        is_global: 0,
        port_num: 0,
    };
    QpAttr {
        qp_state: state,
        cur_qp_state: 0,
        path_mtu: 0,
        path_mig_state: 0,
        qkey: 0,
        rq_psn: 0,
        sq_psn: 0,
        dest_qp_num: 0,
        qp_access_flags: 0,
        cap: Cap {
            max_send_wr: 0,
            max_recv_wr: 0,
            max_send_sge: 0,
            max_recv_sge: 0,
            max_inline_data: 0,
        },
        ah_attr: address,
        alt_ah_attr: address,
        pkey_index: 0,
        alt_pkey_index: 0,
        en_sqd_async_notify: 0,
        sq_draining: 0,
        max_rd_atomic: 0,
        max_dest_rd_atomic: 0,
        min_rnr_timer: 0,
        port_num: 0,
        timeout: 0,
        retry_cnt: 0,
        rnr_retry: 0,
        alt_port_num: 0,
        alt_timeout: 0,
        rate_limit: 0,
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// Sizes and offsets of rdma-core 44 (Debian 12) on 64-bit machines, as a C compiler gives them.
    #[test]
    fn structures_have_the_layout_of_verbs_h() {
        assert_eq!(size_of::<Wc>(), 48);
        assert_eq!(size_of::<SendWr>(), 128);
        assert_eq!(size_of::<RecvWr>(), 32);
        assert_eq!(size_of::<Sge>(), 16);
        assert_eq!(size_of::<QpInitAttr>(), 64);
        assert_eq!(size_of::<AhAttr>(), 32);
        assert_eq!(size_of::<QpAttr>(), 144);
        assert_eq!(size_of::<Mr>(), 48);
        assert_eq!(offset_of!(Qp, number), 52);
        assert_eq!(offset_of!(Context, operations) + offset_of!(Operations, poll_cq), 96);
        assert_eq!(offset_of!(Context, operations) + offset_of!(Operations, post_send), 208);
        assert_eq!(offset_of!(Context, operations) + offset_of!(Operations, post_recv), 216);
    }

    #[test]
    fn a_machine_without_the_library_or_a_device_says_so() {
        match Device::open(Some("no such device")) {
            Err(why) => assert!(why.to_string().starts_with("no verbs here: "), "{why}"),
            Ok(_) => panic!("there is no such device"),
        }
    }
}
