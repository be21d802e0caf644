//! A congestion control of the kernel whose functions are programs (`struct_ops`), registered as long as a link is open.
//!
//! Source: `struct tcp_congestion_ops` in `include/net/tcp.h`; `Documentation/bpf/map_struct_ops`, in the kernel's `bpf_struct_ops.c`.
//! Linux 6.4 and later: before, there was no link, and what was registered stayed.

use super::object::Object;
use super::sys::{self, MapKind, ProgramKind, Target, Types};
use super::types::{Kernel, PlacedTypes, with_sections};
use super::{Link, TERMS};
use crate::Root;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd};

const OPERATIONS: &str = "tcp_congestion_ops";
const VALUE: &str = "bpf_struct_ops_tcp_congestion_ops"; // as the map has them
const LINKED: u32 = 1 << 13; // BPF_F_LINK

/// A registered congestion control.
#[derive(Debug)]
pub struct CongestionControl {
    _link: Link,
}

impl CongestionControl {
    /// Registers the programs of an object's sections `struct_ops/FUNCTION` under a name of at most 15 letters.
    ///
    /// # Errors
    /// If the object has no such program; if the kernel has no type information, no such functions, or a congestion control of this
    /// name; or if the system refuses.
    pub fn register(
        root: &Root,
        object: &Object<'_>,
        functions: &[&str],
        name: &str,
    ) -> io::Result<Self> {
        let wrong = |what: &str| io::Error::new(ErrorKind::InvalidData, what.to_string());
        let kernel = std::fs::read(root.path("/sys/kernel/btf/vmlinux"))?;
        let kernel = Kernel::of(&kernel).ok_or_else(|| wrong("no type information"))?;
        let of = |name: &str| {
            kernel.structure(name).ok_or_else(|| wrong(&format!("this kernel has no {name}")))
        };
        let (operations, whole) = (of(OPERATIONS)?, of(VALUE)?);
        let field = |fields: &[(String, usize)], name: &str| {
            fields.iter().position(|(of, _)| of == name).map(|nth| (nth, fields[nth].1))
        };
        let lacks = |name: &str| wrong(&format!("{OPERATIONS} has no {name} in this kernel"));
        let (_, data) = field(&whole.fields, "data").ok_or_else(|| lacks("data"))?;
        let no_object = || wrong("the object has no type information");
        let own = object.section(".BTF").ok_or_else(no_object)?;
        let extra = object.section(".BTF.ext").ok_or_else(no_object)?;
        let types = sys::types(&with_sections(own, object).ok_or_else(no_object)?)?;
        let mut value = vec![0; whole.size];
        let mut put = |at: usize, bytes: &[u8]| -> io::Result<()> {
            let to = value.get_mut(data + at..data + at + bytes.len());
            to.ok_or_else(|| wrong(OPERATIONS))?.copy_from_slice(bytes);
            Ok(())
        };
        let mut programs = Vec::new();
        for function in functions {
            let (nth, at) = field(&operations.fields, function).ok_or_else(|| lacks(function))?;
            let section = format!("struct_ops/{function}");
            let missing = || wrong(&format!("the object has no {section}"));
            let code = object.program(&section, |_| None).ok_or_else(missing)?;
            let placed = PlacedTypes::of(own, extra, &section).ok_or_else(missing)?;
            let program = sys::program(
                &ProgramKind {
                    kind: 27, // BPF_PROG_TYPE_STRUCT_OPS
                    code: &code,
                    name: function,
                    attach: nth as u32,
                    types: Some(Types {
                        btf: types.as_fd(),
                        functions: &placed.functions,
                        relocations: &placed.relocations,
                        target: operations.number,
                    }),
                },
                TERMS,
            )
            .map_err(|error| io::Error::new(error.kind(), format!("{function}: {error}")))?;
            put(at, &u64::from(program.as_raw_fd().cast_unsigned()).to_ne_bytes())?;
            programs.push(program);
        }
        let (_, at) = field(&operations.fields, "name").ok_or_else(|| lacks("name"))?;
        put(at, &name.as_bytes()[..name.len().min(15)])?;
        let map = sys::map(&MapKind {
            kind: 26, // BPF_MAP_TYPE_STRUCT_OPS
            value: whole.size as u32,
            entries: 1,
            flags: LINKED,
            name,
            value_type: Some((types.as_fd(), whole.number)),
        })?;
        sys::set_whole(map.as_fd(), &value, whole.size)?;
        let link = sys::link(map.as_fd(), Target::Operations)?;
        Ok(Self { _link: Link(link) })
    }
}
