//! A loaded object as a law: its operations, parameters and report, and its callbacks for the transport.

use crate::LoadError;
use crate::address::region;
use crate::calls::HELPERS;
use crate::image::{Flow, HostMemory, Image};
use crate::load::{LoadedObject, Variable, load};
use crate::machine::{MAX_STEPS, Machine};
use crate::maps::MapInfo;
use crate::mirror;
use crate::operations::{CALLBACKS, Callback, NEEDS_ECN, Operations};
use crate::sha256::sha256;
use forebay_laws::kernel::{AckSample, Event, FIELDS, Fault, HostProgram, Module, Ops, Program};
use forebay_laws::kernel::{CA_PRIV_WORDS, ProgramTrace, RateSample, Sock};
use forebay_laws::params::{LawInfo, ParamInfo};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// An object file that was loaded.
#[derive(Clone, Debug)]
pub struct Object {
    loaded: Arc<LoadedObject>,
    sha256: String,
}

impl Object {
    /// Loads an object file.
    ///
    /// # Errors
    /// If it is no object for BPF, the kernel would refuse it, or it needs what is not supported.
    pub fn read(bytes: &[u8]) -> Result<Self, LoadError> {
        load(bytes).map(|loaded| Self { loaded: Arc::new(loaded), sha256: sha256(bytes) })
    }

    /// SHA-256 of the file, in hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The law of its operations under this name, with the parameters that the object begins with. Of several, the parameter `ops` chooses.
    ///
    /// # Errors
    /// If the kernel registers none of them.
    pub fn law(&self, name: &str) -> Result<BpfLaw, LoadError> {
        let mut usable = self.loaded.usable();
        let Some(first) = usable.next() else {
            let why = |of: &Operations| {
                format!("{}: {}", of.variable, of.refusal.as_deref().unwrap_or_default())
            };
            let all: Vec<_> = self.loaded.operations.iter().map(why).collect();
            return Err(LoadError::new(all.join("; ")));
        };
        let operations = first.clone();
        let chosen = usable.next().is_none();
        let image = Arc::new(self.loaded.image.clone());
        let page = format!(
            "{}, from a BPF object as Linux loads it.\n\nSHA-256 of the object: {}\n\n{}",
            operations.name,
            self.sha256,
            self.report()
        );
        let info = LawInfo::of_program(name.to_string(), page);
        let info = info.with_params(parameters(&self.loaded)).with_object(&self.sha256);
        Ok(BpfLaw { info, object: self.loaded.clone(), image, operations, chosen })
    }

    /// What it has, calls, reads and writes, and what is missing here.
    pub fn report(&self) -> Report {
        Report::of(&self.loaded)
    }
}

fn sign(value: u64, bytes: usize) -> u64 {
    let unused = 64 - 8 * bytes as u32;
    ((value << unused) as i64 >> unused) as u64
}

/// Ticks per second that `hz` may be.
const RATES: [u32; 4] = [100, 250, 300, 1000];

/// The operations of an object as a law.
#[derive(Clone, Debug)]
pub struct BpfLaw {
    info: LawInfo,
    object: Arc<LoadedObject>,
    image: Arc<Image>,
    operations: Operations,
    chosen: bool,
}

/// Parameters of the laws of an object: `hz`, `ops` and the object's own. Those of the same object are made once, since they are never freed.
fn parameters(loaded: &LoadedObject) -> &'static [ParamInfo] {
    static KNOWN: Mutex<BTreeMap<String, &'static [ParamInfo]>> = Mutex::new(BTreeMap::new());
    let names: Vec<_> = loaded.usable().map(|of| of.variable.as_str()).collect();
    let (names, variables) = (names.join(" or "), &loaded.variables);
    let key = format!("{names} {variables:?}");
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(&key) {
        return known;
    }
    let hz = ParamInfo {
        name: "hz",
        doc: "Ticks of the kernel's clock per second (`CONFIG_HZ`).",
        range: "100, 250, 300 or 1000",
        source: "Linux kernel/Kconfig.hz",
    };
    let ops = ParamInfo {
        name: "ops",
        doc: "Variable of type `struct tcp_congestion_ops`, where the object has several.",
        range: names.leak(),
        source: "the object",
    };
    let variable = |of: &Variable| ParamInfo {
        name: of.name.clone().leak(),
        doc: "Global variable of the object, `const volatile`.",
        range: of.range(),
        source: "the object",
    };
    let all: Vec<_> = [hz, ops].into_iter().chain(variables.iter().map(variable)).collect();
    let all: &'static [ParamInfo] = all.leak();
    known.insert(key, all);
    all
}

impl BpfLaw {
    /// Name of the operations in the kernel.
    pub fn kernel_name(&self) -> &str {
        &self.operations.name
    }

    /// Value of a parameter of the object, extended to 64 bits by its sign if it has one.
    fn value(&self, of: &Variable) -> u64 {
        let mut word = [0; 8];
        let bytes = &self.image.data[of.data].bytes[of.at..of.at + of.bytes];
        word[..of.bytes].copy_from_slice(bytes);
        let value = u64::from_le_bytes(word);
        if of.signed { sign(value, of.bytes) } else { value }
    }
}

impl Program for BpfLaw {
    fn info(&self) -> &LawInfo {
        &self.info
    }

    fn set(&mut self, name: &str, text: &str) -> Option<bool> {
        let text = text.trim();
        match name {
            "hz" => {
                let Some(hz) = text.parse().ok().filter(|hz| RATES.contains(hz)) else {
                    return Some(false);
                };
                let image = Arc::make_mut(&mut self.image);
                image.hz = hz;
                for (data, at, bytes) in &self.object.hz {
                    let value = &u64::from(hz).to_le_bytes()[..*bytes];
                    image.data[*data].bytes[*at..*at + *bytes].copy_from_slice(value);
                }
            }
            "ops" => {
                let Some(of) = self.object.usable().find(|of| of.variable == text) else {
                    return Some(false);
                };
                self.operations = of.clone();
                self.chosen = true;
            }
            _ => {
                let of = self.object.variables.iter().find(|of| of.name == name)?;
                let Some(value) = of.value(text) else { return Some(false) };
                let image = Arc::make_mut(&mut self.image);
                image.data[of.data].bytes[of.at..of.at + of.bytes]
                    .copy_from_slice(&value.to_le_bytes()[..of.bytes]);
            }
        }
        Some(true)
    }

    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match name {
            "hz" => write!(f, "{}", self.image.hz),
            "ops" => f.write_str(&self.operations.variable),
            _ => match self.object.variables.iter().find(|of| of.name == name) {
                Some(of) if of.signed => write!(f, "{}", self.value(of) as i64),
                Some(of) => write!(f, "{}", self.value(of)),
                None => Ok(()),
            },
        }
    }

    fn ops(&self) -> Ops {
        let has = |callback| self.operations.entry(callback).is_some();
        Ops {
            init: has(Callback::Init) || !self.chosen, // which says what to choose
            release: has(Callback::Release),
            cong_avoid: has(Callback::CongAvoid),
            cong_control: has(Callback::CongControl),
            set_state: has(Callback::SetState),
            cwnd_event: has(Callback::CwndEvent),
            in_ack_event: has(Callback::InAckEvent),
            pkts_acked: has(Callback::PktsAcked),
            min_tso_segs: has(Callback::MinTsoSegs),
            needs_ecn: self.operations.flags & NEEDS_ECN != 0,
        }
    }

    fn lacks(&self) -> Option<String> {
        (!self.chosen).then(|| {
            let names: Vec<_> = self.object.usable().map(|of| of.variable.as_str()).collect();
            format!(
                "the object has several congestion controls; set params.ops to {}",
                names.join(" or ")
            )
        })
    }

    fn hz(&self) -> u32 {
        self.image.hz
    }

    fn on_host(&self) -> Arc<dyn HostProgram> {
        let choice = self.lacks();
        let memory = Arc::new(Mutex::new(HostMemory::new(&self.image)));
        let shared = Arc::new(Shared {
            image: self.image.clone(),
            entries: self.operations.callbacks,
            long_control: self.operations.long_control,
            choice,
        });
        Arc::new(OnHost { shared, memory })
    }

    fn copy(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }
}

/// What all flows under a law share.
#[derive(Debug)]
struct Shared {
    image: Arc<Image>,
    entries: [Option<usize>; CALLBACKS],
    long_control: bool,
    choice: Option<String>, // that the user has to make
}

/// A law on one host.
#[derive(Debug)]
struct OnHost {
    shared: Arc<Shared>,
    memory: Arc<Mutex<HostMemory>>,
}

impl HostProgram for OnHost {
    fn flow(&self, seed: u64) -> Box<dyn Module> {
        let flow = Flow::new(&self.shared.image, seed);
        Box::new(BpfModule { shared: self.shared.clone(), memory: self.memory.clone(), flow })
    }

    fn trace(&self) -> Option<ProgramTrace> {
        Some(self.memory.lock().unwrap_or_else(PoisonError::into_inner).trace.get())
    }
}

/// A flow under a law from an object.
#[derive(Clone, Debug)]
struct BpfModule {
    shared: Arc<Shared>,
    memory: Arc<Mutex<HostMemory>>,
    flow: Flow,
}

const SOCKET: u64 = region::address(region::SOCKET, 0);
const SAMPLE: u64 = region::address(region::SAMPLE, 0);

impl BpfModule {
    /// Calls a callback, if there is one; gives r0.
    fn call(
        &mut self,
        callback: Callback,
        sk: &mut Sock,
        arguments: [u64; 5],
        sample: &[u64],
    ) -> Result<u64, Fault> {
        let Some(entry) = self.shared.entries[callback as usize] else { return Ok(0) };
        // A panic elsewhere leaves memory whole.
        let mut host = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let mut machine = Machine {
            image: &self.shared.image,
            host: &mut host,
            flow: &mut self.flow,
            sk,
            sample,
            arguments,
            module_arguments: [0; 5],
            left: MAX_STEPS,
            depth: 0,
        };
        let context = region::address(region::ARGUMENTS, 0);
        machine
            .run(entry, [context, 0, 0, 0, 0])
            .map_err(|stop| Fault::new(self.shared.image.explain(stop)))
    }
}

impl Module for BpfModule {
    fn init(&mut self, sk: &mut Sock) -> Result<(), Fault> {
        if let Some(choice) = &self.shared.choice {
            return Err(Fault::new(choice.clone()));
        }
        self.call(Callback::Init, sk, [SOCKET, 0, 0, 0, 0], &[]).map(drop)
    }

    fn release(&mut self, sk: &mut Sock) -> Result<(), Fault> {
        self.call(Callback::Release, sk, [SOCKET, 0, 0, 0, 0], &[]).map(drop)
    }

    fn ssthresh(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        self.call(Callback::Ssthresh, sk, [SOCKET, 0, 0, 0, 0], &[]).map(|of| of as u32)
    }

    fn cong_avoid(&mut self, sk: &mut Sock, ack: u32, acked: u32) -> Result<(), Fault> {
        let arguments = [SOCKET, ack.into(), acked.into(), 0, 0];
        self.call(Callback::CongAvoid, sk, arguments, &[]).map(drop)
    }

    fn cong_control(
        &mut self,
        sk: &mut Sock,
        ack: u32,
        flag: u32,
        rs: &RateSample,
    ) -> Result<(), Fault> {
        let arguments = match self.shared.long_control {
            true => [SOCKET, ack.into(), flag.into(), SAMPLE, 0],
            false => [SOCKET, SAMPLE, 0, 0, 0],
        };
        self.call(Callback::CongControl, sk, arguments, &mirror::rate_words(rs)).map(drop)
    }

    fn set_state(&mut self, sk: &mut Sock, new_state: u8) -> Result<(), Fault> {
        self.call(Callback::SetState, sk, [SOCKET, new_state.into(), 0, 0, 0], &[]).map(drop)
    }

    fn cwnd_event(&mut self, sk: &mut Sock, event: Event) -> Result<(), Fault> {
        self.call(Callback::CwndEvent, sk, [SOCKET, event as u64, 0, 0, 0], &[]).map(drop)
    }

    fn in_ack_event(&mut self, sk: &mut Sock, flags: u32) -> Result<(), Fault> {
        self.call(Callback::InAckEvent, sk, [SOCKET, flags.into(), 0, 0, 0], &[]).map(drop)
    }

    fn undo_cwnd(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        self.call(Callback::UndoCwnd, sk, [SOCKET, 0, 0, 0, 0], &[]).map(|of| of as u32)
    }

    fn pkts_acked(&mut self, sk: &mut Sock, sample: &AckSample) -> Result<(), Fault> {
        let arguments = [SOCKET, SAMPLE, 0, 0, 0];
        self.call(Callback::PktsAcked, sk, arguments, &mirror::ack_words(sample)).map(drop)
    }

    fn min_tso_segs(&mut self, sk: &mut Sock) -> Result<u32, Fault> {
        self.call(Callback::MinTsoSegs, sk, [SOCKET, 0, 0, 0, 0], &[]).map(|of| of as u32)
    }

    fn copy(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}

/// What an object has and needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Variables of operations.
    pub operations: Vec<OperationsReport>,
    /// Fields that callbacks name: structure, name, read, written.
    pub fields: Vec<(&'static str, String, bool, bool)>,
    /// Helpers, by name.
    pub helpers: Vec<&'static str>,
    /// Functions of the kernel, by name.
    pub kfuncs: Vec<String>,
    /// Maps: name, kind, entries.
    pub maps: Vec<(String, &'static str, u32)>,
    /// Names that are not here, with the places that name them: the first of them.
    pub missing: Vec<String>,
    /// How many more there are.
    pub more_missing: usize,
    /// Parameters and their values.
    pub parameters: Vec<String>,
}

/// One variable of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationsReport {
    /// The variable.
    pub variable: String,
    /// Name in the kernel.
    pub name: String,
    /// Its flags.
    pub flags: u32,
    /// Whether libbpf registers it by a link.
    pub link: bool,
    /// Its callbacks, in the kernel's order.
    pub callbacks: Vec<&'static str>,
    /// Whether `cong_control` has the form before Linux 6.10.
    pub old_control: bool,
    /// Why the kernel does not register it.
    pub refusal: Option<String>,
}

/// Most places that a report lists.
const MOST_MISSING: usize = 100;

impl Report {
    fn of(loaded: &LoadedObject) -> Self {
        let operations = loaded.operations.iter().map(|of| OperationsReport {
            variable: of.variable.clone(),
            name: of.name.clone(),
            flags: of.flags,
            link: of.link,
            callbacks: of.names().collect(),
            old_control: of.entry(Callback::CongControl).is_some() && !of.long_control,
            refusal: of.refusal.clone(),
        });
        let mut kfuncs: Vec<_> = loaded.uses.kfuncs.iter().map(|(_, name)| name.clone()).collect();
        kfuncs.sort_unstable();
        kfuncs.dedup();
        let used = |number| loaded.uses.helpers.iter().any(|(_, of)| *of == number);
        let helpers = HELPERS.iter().filter(|of| used(of.number)).map(|of| of.name);
        let map = |of: &MapInfo| (of.name.clone(), of.kind.word(), of.entries);
        let missing = loaded.uses.missing.iter().take(MOST_MISSING).map(|(at, nth)| {
            let place = loaded.image.source(*at).map_or_else(String::new, |of| format!(" ({of})"));
            loaded.image.missing[*nth].clone() + &place
        });
        let parameters = loaded.variables.iter().map(|of| of.name.clone());
        Self {
            operations: operations.collect(),
            fields: fields(loaded),
            helpers: helpers.collect(),
            kfuncs,
            maps: loaded.image.maps.iter().map(map).collect(),
            missing: missing.collect(),
            more_missing: loaded.uses.missing.len().saturating_sub(MOST_MISSING),
            parameters: parameters.collect(),
        }
    }
}

/// Fields that instructions name, in the order of the table.
fn fields(loaded: &LoadedObject) -> Vec<(&'static str, String, bool, bool)> {
    let rows = mirror::rows();
    let mut place = [0; 3]; // next word of the socket and of the two samples
    let mut found = Vec::new();
    for row in rows {
        let which = ["ack_sample", "rate_sample"].iter().position(|of| *of == row.of);
        let which = which.map_or(0, |nth| nth + 1);
        let (from, words) =
            (place[which], if row.name == "icsk_ca_priv" { CA_PRIV_WORDS as u64 } else { 1 });
        place[which] += words;
        let here = loaded.uses.fields.iter().filter(|of| {
            let same = match of.root.as_str() {
                root @ ("ack_sample" | "rate_sample") => root == row.of,
                _ => which == 0,
            };
            // Embedded structures are as long as the socket: what is named of them is the address.
            let end = of.byte + of.bytes;
            same && of.byte < 8 * (from + words)
                && end > 8 * from
                && of.bytes < 8 * FIELDS.len() as u64
        });
        let (mut read, mut written) = (false, false);
        for of in here {
            read |= of.reads || !of.writes;
            written |= of.writes;
        }
        if read || written {
            found.push((row.of, row.name, read, written));
        }
    }
    found
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for of in &self.operations {
            writeln!(f, "{}: name {}, flags {}", of.variable, of.name, flags(of.flags))?;
            writeln!(f, "  callbacks: {}", of.callbacks.join(", "))?;
            if of.old_control {
                writeln!(
                    f,
                    "  note: cong_control has the form before Linux 6.10; newer kernels refuse it"
                )?;
            }
            if !of.link {
                writeln!(
                    f,
                    "  note: it is in .struct_ops; in .struct_ops.link it goes when its loader ends"
                )?;
            }
            if let Some(why) = &of.refusal {
                writeln!(f, "  skipped: {why}")?;
            }
        }
        writeln!(f, "fields:")?;
        for (of, name, read, written) in &self.fields {
            let how = match (read, written) {
                (true, true) => "read, written",
                (false, true) => "written",
                _ => "read",
            };
            writeln!(f, "  {of}.{name}: {how}")?;
        }
        for (title, names) in [
            ("helpers", self.helpers.join(", ")),
            ("kernel functions", self.kfuncs.join(", ")),
            ("parameters", self.parameters.join(", ")),
        ] {
            writeln!(f, "{title}: {}", if names.is_empty() { "none" } else { &names })?;
        }
        for (name, kind, entries) in &self.maps {
            writeln!(f, "map {name}: {kind}, {entries} entries")?;
        }
        for missing in &self.missing {
            writeln!(f, "missing: {missing}: a run ends if it gets there")?;
        }
        if self.more_missing > 0 {
            writeln!(f, "missing: and in {} more places", self.more_missing)?;
        }
        Ok(())
    }
}

fn flags(flags: u32) -> &'static str {
    match flags {
        0 => "none",
        1 => "NON_RESTRICTED",
        2 => "NEEDS_ECN",
        3 => "NEEDS_ECN and NON_RESTRICTED",
        _ => "unknown",
    }
}
