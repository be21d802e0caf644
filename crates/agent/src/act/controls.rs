//! Congestion controls that the agent registers: BPF objects, as the simulator runs them.
//!
//! The guard registers them and hands their links to the loop. The kernel forgets a congestion control when the last descriptor of its link
//! is closed. So it goes with the loop, however that ends: asked, killed by the guard at its deadline, or by anybody else.
//!
//! Invariant: nothing is pinned, and the guard has no link once the loop has its orders.

use crate::config::Config;
use crate::failure::{self, Failure};
use forebay_bpf_law::btf::Btf;
use forebay_bpf_law::deployment::{Candidate, DeployedMap, DeployedProgram, Deployment, Kernel};
use forebay_bpf_law::elf::MAX_BYTES;
use forebay_linux::bpf::{Callback, CongestionControl, Map, MapKind, Refusal, Types, with_maps};
use forebay_linux::machine::Machine;
use forebay_linux::{Clock, Root, file, ticks_per_second};
use std::borrow::Cow;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

/// Types of the kernel that runs.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Names of congestion controls that it has.
const NAMES: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Time that the kernel may take to forget a name of ours.
const FORGETS: Duration = Duration::from_millis(500);

/// An object that a configuration names.
#[derive(Debug)]
pub struct Control {
    key: String, // where the configuration names it
    bytes: Cow<'static, [u8]>,
    params: Vec<(String, String)>,
}

/// A congestion control that is registered, as long as its link is open.
#[derive(Debug)]
pub struct Registered {
    /// Name in the kernel.
    pub name: String,
    /// Its link.
    pub link: CongestionControl,
}

/// Reads and checks the objects that a configuration names.
///
/// # Errors
/// If a file cannot be read, or is no object that a kernel would register.
pub fn read(config: &Config) -> Result<Vec<Control>, Failure> {
    let mut all = Vec::new();
    if config.tcp_nv {
        all.push(Control {
            key: "tcp_nv".into(),
            bytes: Cow::Borrowed(forebay_bpf::NV),
            params: Vec::new(),
        });
    }
    if let Some(path) = &config.tcp_object {
        let key = format!("tcp_object: {path}");
        let bytes = file::read(Path::new(path), MAX_BYTES as u64)
            .map_err(|error| Failure::Input(format!("{key} cannot be read: {error}")))?;
        let params = config.tcp_params.iter();
        let params = params.map(|(name, value)| (name.clone(), value.to_string())).collect();
        all.push(Control { key, bytes: Cow::Owned(bytes), params });
    }
    for of in &all {
        of.candidate().map_err(Failure::Input)?;
    }
    Ok(all)
}

/// Registers them for as long as the results live. After a restart their names may still be in the kernel for a moment.
///
/// # Errors
/// A sentence.
pub fn register(root: &Root, controls: &[Control], anew: bool) -> Result<Vec<Registered>, String> {
    with_kernel(root, controls, |of, kernel| {
        let candidate = of.candidate()?;
        let name = candidate.name().map_err(|error| of.said(&error))?;
        let clock = Clock::start();
        while anew && is_in_use(root, name) && clock.now() < FORGETS {
            std::thread::sleep(Duration::from_millis(1));
        }
        let deployment = of.deployed(&candidate, root, kernel)?;
        for lacks in &deployment.lacks {
            failure::note(&of.said(&format!("this kernel lacks {lacks}")));
        }
        let link = load(&deployment);
        let link = link.map_err(|why| of.said(&format!("cannot register {name}: {why}")))?;
        Ok(Registered { name: name.into(), link })
    })
}

/// What [`register`] would find, as far as that shows without loading anything: a sentence for each.
///
/// # Errors
/// A sentence.
pub fn judge(root: &Root, controls: &[Control]) -> Result<Vec<String>, String> {
    let all = with_kernel(root, controls, |of, kernel| {
        let deployment = of.deployed(&of.candidate()?, root, kernel)?;
        let would = format!("{} would be registered", deployment.name);
        let lacks = deployment.lacks.iter().map(|lacks| format!("this kernel lacks {lacks}"));
        Ok([would].into_iter().chain(lacks).map(|text| of.said(&text)).collect::<Vec<_>>())
    });
    all.map(|all| all.concat())
}

/// Does something for each, with the kernel that runs.
fn with_kernel<T>(
    root: &Root,
    controls: &[Control],
    each: impl Fn(&Control, &Kernel<'_>) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let Some(first) = controls.first() else { return Ok(Vec::new()) };
    let machine = Machine::read(root);
    if machine.kernel < (6, 4) {
        return Err(first.said(&format!("needs Linux 6.4, this is {}", machine.release)));
    }
    let bytes = file::read(&root.path(TYPES), 1 << 28).map_err(|error| {
        first.said(&format!(
            "{TYPES} cannot be read: {error}; the kernel needs CONFIG_DEBUG_INFO_BTF"
        ))
    })?;
    let types = Btf::read(&bytes).map_err(|error| first.said(&format!("{TYPES}: {error}")))?;
    let kernel = Kernel { types, hz: ticks_per_second(), version: machine.kernel };
    controls.iter().map(|of| each(of, &kernel)).collect()
}

/// Whether the kernel has a congestion control of this name.
fn is_in_use(root: &Root, name: &str) -> bool {
    root.read(NAMES).unwrap_or_default().split_whitespace().any(|of| of == name)
}

impl Control {
    /// A sentence about it.
    fn said(&self, what: &dyn std::fmt::Display) -> String {
        format!("{}: {what}", self.key)
    }

    /// The object with its parameters.
    fn candidate(&self) -> Result<Candidate<'_>, String> {
        let mut candidate = Candidate::read(&self.bytes).map_err(|error| self.said(&error))?;
        for (name, value) in &self.params {
            let set = candidate.set(name, value);
            set.map_err(|error| format!("tcp_params.{error}"))?;
        }
        candidate.name().map_err(|error| self.said(&error))?;
        Ok(candidate)
    }

    /// The object, linked for a kernel that has no congestion control of this name.
    fn deployed(
        &self,
        candidate: &Candidate<'_>,
        root: &Root,
        kernel: &Kernel<'_>,
    ) -> Result<Deployment, String> {
        let of = candidate.deploy(kernel).map_err(|error| self.said(&error))?;
        if is_in_use(root, &of.name) {
            return Err(self.said(&format!(
                "this kernel has a congestion control {} already; give the object's another name, or end the agent that registered it",
                of.name
            )));
        }
        Ok(of)
    }
}

/// Makes maps, loads programs and registers them. The error is a clause.
fn load(of: &Deployment) -> Result<CongestionControl, String> {
    let types = Types::load(&of.types).map_err(|error| format!("its types: {error}"))?;
    let mut maps = Vec::new();
    for map in &of.maps {
        maps.push(made(map, &types).map_err(|error| format!("map {}: {error}", map.name))?);
    }
    let mut programs = Vec::new();
    for program in &of.programs {
        let named: Vec<_> =
            program.maps.iter().map(|(at, nth)| (*at, maps[*nth].as_fd())).collect();
        let callback = Callback {
            name: &program.name,
            license: &of.license,
            code: &with_maps(&program.code, &named),
            functions: &program.functions,
            operations: of.operations_type,
            member: program.member,
        };
        let fd = callback.load(&types).map_err(|refusal| explained(program, &refusal))?;
        programs.push((program.at, fd));
    }
    CongestionControl::register(&of.name, &types, (of.value_type, &of.value), &programs)
        .map_err(|error| error.to_string())
}

fn made(of: &DeployedMap, types: &Types) -> io::Result<Map> {
    let kind = MapKind {
        kind: of.kind,
        key: of.key,
        value: of.value,
        entries: of.entries,
        flags: of.flags,
        name: &of.name,
    };
    let map = Map::new(&kind, of.types.map(|(key, value)| (types, key, value)))?;
    if let Some(contents) = &of.contents {
        map.set(contents)?;
    }
    if of.constant {
        map.freeze()?;
    }
    Ok(map)
}

/// Why the verifier refuses a program, with the line of its source.
fn explained(program: &DeployedProgram, of: &Refusal) -> String {
    if of.said.is_empty() {
        return of.error.to_string();
    }
    let source = of.instruction.and_then(|at| program.source(at));
    let place = source.map_or_else(|| program.callback.to_string(), str::to_string);
    format!("{place}: {} (the kernel's verifier, in {})", of.said, program.name)
}

#[cfg(test)]
mod tests;
