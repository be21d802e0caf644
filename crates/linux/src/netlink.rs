//! Interfaces and their clsact filters, by rtnetlink.
//!
//! A filter stays when the process that made it ends, and so it is found again by its name.
//!
//! Source: `include/uapi/linux/{netlink,rtnetlink,pkt_sched,pkt_cls}.h`.

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// An interface as the kernel has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Index of the interface.
    pub number: u32,
    /// Whether its packets begin with an Ethernet header.
    pub ethernet: bool,
    /// Whether it is switched on and has a cable, or what stands for one.
    pub cable: bool,
}

const GET_LINK: u16 = 18; // RTM_GETLINK
const NEW_QDISC: u16 = 36;
const DELETE_QDISC: u16 = 37;
const GET_QDISC: u16 = 38;
const NEW_FILTER: u16 = 44;
const DELETE_FILTER: u16 = 45;
const GET_FILTER: u16 = 46;

const REQUEST: u16 = 1; // NLM_F_REQUEST
const ACKNOWLEDGE: u16 = 4;
const ALL: u16 = 0x300; // NLM_F_DUMP
const NEW: u16 = 0x600; // NLM_F_CREATE, NLM_F_EXCL

const ERROR: u16 = 2; // NLMSG_ERROR; 0 within: done as asked
const DONE: u16 = 3;

const NAME: u16 = 3; // IFLA_IFNAME
const ETHERNET: u16 = 1; // ARPHRD_ETHER
const LOWER_UP: u32 = 1 << 16; // IFF_LOWER_UP

const CLSACT: u32 = 0xffff_fff1; // TC_H_CLSACT, its handle below
const HANDLE: u32 = 0xffff_0000;
const INGRESS: u32 = 0xffff_fff2;
const EGRESS: u32 = 0xffff_fff3;
const KIND: u16 = 1; // TCA_KIND
const OPTIONS: u16 = 2;
const PROGRAM: u16 = 6; // TCA_BPF_FD
const PROGRAM_NAME: u16 = 7;
const FLAGS: u16 = 8;
const DIRECT: u32 = 1; // TCA_BPF_FLAG_ACT_DIRECT: the program's answer is the verdict
const EVERY_PROTOCOL: u32 = 0x0300; // ETH_P_ALL in network order

/// The interface with this name in this process's network namespace.
///
/// # Errors
/// If there is none, or the system refuses.
pub fn interface(name: &str) -> io::Result<Interface> {
    let mut wanted = vec![0; 16]; // struct ifinfomsg
    attribute(&mut wanted, NAME, &[name.as_bytes(), &[0]].concat());
    let mut found = None;
    Rtnetlink::open()?.ask(GET_LINK, REQUEST | ACKNOWLEDGE, &wanted, |body| {
        let kind = u16::from_ne_bytes(body.get(2..4)?.try_into().ok()?);
        let number = word(body, 4)?;
        let cable = word(body, 8)? & LOWER_UP != 0;
        found = Some(Interface { number, ethernet: kind == ETHERNET, cable });
        Some(())
    })?;
    found.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Whether an interface has the clsact hooks, or those of ingress alone, which stand at the same place.
///
/// # Errors
/// If the system refuses.
pub fn has_clsact(interface: u32) -> io::Result<bool> {
    let mut found = false;
    let body = traffic_control(interface, 0, 0, 0);
    Rtnetlink::open()?.ask(GET_QDISC, REQUEST | ALL, &body, |body| {
        found |= word(body, 4)? == interface && word(body, 12)? == CLSACT;
        Some(())
    })?;
    Ok(found)
}

/// Gives an interface the clsact hooks.
///
/// # Errors
/// If it has them, or the system refuses.
pub fn add_clsact(interface: u32) -> io::Result<()> {
    let body = qdisc(interface);
    Rtnetlink::open()?.ask(NEW_QDISC, REQUEST | ACKNOWLEDGE | NEW, &body, |_| Some(()))
}

/// Adds a program to the arriving packets of an interface that has clsact, under a name.
///
/// # Errors
/// If the system refuses.
pub fn add_filter(interface: u32, program: impl AsFd, name: &str) -> io::Result<()> {
    let mut body = traffic_control(interface, 0, INGRESS, EVERY_PROTOCOL);
    attribute(&mut body, KIND, b"bpf\0");
    let mut options = Vec::new();
    let fd = program.as_fd().as_raw_fd().cast_unsigned();
    attribute(&mut options, PROGRAM, &fd.to_ne_bytes());
    attribute(&mut options, PROGRAM_NAME, &[name.as_bytes(), &[0]].concat());
    attribute(&mut options, FLAGS, &DIRECT.to_ne_bytes());
    attribute(&mut body, OPTIONS, &options);
    Rtnetlink::open()?.ask(NEW_FILTER, REQUEST | ACKNOWLEDGE | NEW, &body, |_| Some(()))
}

/// Takes away the filters of this name at an interface's ingress; how many there were.
///
/// # Errors
/// If the system refuses.
pub fn remove_filters(interface: u32, name: &str) -> io::Result<usize> {
    let mut socket = Rtnetlink::open()?;
    let ours = |of: &Filter| of.name.as_deref() == Some(name);
    let found: Vec<_> = socket.filters(interface, INGRESS)?.into_iter().filter(ours).collect();
    for filter in &found {
        let mut body = traffic_control(interface, filter.handle, INGRESS, filter.priority);
        attribute(&mut body, KIND, b"bpf\0");
        socket.ask(DELETE_FILTER, REQUEST | ACKNOWLEDGE, &body, |_| Some(()))?;
    }
    Ok(found.len())
}

/// Takes the clsact hooks away, unless a filter is there.
///
/// # Errors
/// If the system refuses.
pub fn remove_clsact(interface: u32) -> io::Result<()> {
    let mut socket = Rtnetlink::open()?;
    let used = !socket.filters(interface, INGRESS)?.is_empty()
        || !socket.filters(interface, EGRESS)?.is_empty();
    if used {
        return Ok(());
    }
    socket.ask(DELETE_QDISC, REQUEST | ACKNOWLEDGE, &qdisc(interface), |_| Some(()))
}

/// One filter.
#[derive(Clone, Debug)]
struct Filter {
    handle: u32,
    priority: u32, // with the protocol, as the kernel has both in one word
    name: Option<String>,
}

/// A socket to the kernel's tables of interfaces.
struct Rtnetlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Rtnetlink {
    fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC; // protocol 0 is NETLINK_ROUTE
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Filters of an interface at one of its hooks.
    fn filters(&mut self, interface: u32, hook: u32) -> io::Result<Vec<Filter>> {
        let mut found = Vec::new();
        let body = traffic_control(interface, 0, hook, 0);
        self.ask(GET_FILTER, REQUEST | ALL, &body, |body| {
            let (handle, priority) = (word(body, 8)?, word(body, 16)?);
            if handle != 0 {
                let options = attributes(body.get(20..)?).find(|(kind, _)| *kind == OPTIONS);
                let name = options.and_then(|(_, options)| {
                    attributes(options).find(|(kind, _)| *kind == PROGRAM_NAME)
                });
                let name = name.map(|(_, bytes)| {
                    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_string()
                });
                found.push(Filter { handle, priority, name });
            }
            Some(())
        })?;
        Ok(found)
    }

    /// Sends a request and hands on the bodies of what comes back, until the kernel says that this is all. `each` gives nothing for a body
    /// that is too short.
    fn ask(
        &mut self,
        kind: u16,
        flags: u16,
        body: &[u8],
        mut each: impl FnMut(&[u8]) -> Option<()>,
    ) -> io::Result<()> {
        self.sequence += 1;
        let mut message = Vec::with_capacity(16 + body.len());
        message.extend((16 + body.len() as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        send(&self.socket, &message, SendFlags::empty())?;
        let mut bytes = vec![0; 1 << 16];
        loop {
            let (_, len) = recv(&self.socket, &mut bytes[..], RecvFlags::empty())?;
            let mut rest = &bytes[..len.min(bytes.len())];
            while let Some(len) = word(rest, 0).map(|len| len as usize) {
                let Some(message) = rest.get(..len).filter(|_| len >= 16) else {
                    return Err(io::ErrorKind::InvalidData.into());
                };
                let kind = u16::from_ne_bytes(message[4..6].try_into().expect("two bytes"));
                match kind {
                    ERROR | DONE => {
                        let code = word(message, 16).unwrap_or(0).cast_signed();
                        let failed = kind == ERROR && code != 0;
                        return if failed {
                            Err(io::Error::from_raw_os_error(-code))
                        } else {
                            Ok(())
                        };
                    }
                    _ => each(&message[16..]).ok_or(io::ErrorKind::InvalidData)?,
                }
                rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

fn qdisc(interface: u32) -> Vec<u8> {
    let mut body = traffic_control(interface, HANDLE, CLSACT, 0);
    attribute(&mut body, KIND, b"clsact\0");
    body
}

/// `struct tcmsg`.
fn traffic_control(interface: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    [0, interface, handle, parent, info].iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Adds an attribute.
fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend((4 + value.len() as u16).to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// Attributes, up to the first that is not whole.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let half = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let (len, kind) = (usize::from(half(0)?), half(2)? & 0x3fff);
        let value = bytes.get(4..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_there_and_nobody_is_called_otherwise() {
        // ARPHRD_LOOPBACK; its packets begin with an Ethernet header too, but nothing is marked there.
        let lo = interface("lo").expect("it is there");
        assert_eq!((lo.number, lo.ethernet), (1, false));
        assert!(interface("no-such-nic0").is_err());
    }

    #[test]
    fn attributes_end_where_they_are_cut() {
        let mut bytes = Vec::new();
        attribute(&mut bytes, KIND, b"bpf\0");
        attribute(&mut bytes, OPTIONS, b"x");
        let whole = [(KIND, &b"bpf\0"[..]), (OPTIONS, &b"x"[..])];
        assert_eq!(attributes(&bytes).collect::<Vec<_>>(), whole);
        for cut in 0..bytes.len() {
            let found: Vec<_> = attributes(&bytes[..cut]).collect();
            assert!(found.len() <= 2 && found == whole[..found.len()]);
        }
    }
}
