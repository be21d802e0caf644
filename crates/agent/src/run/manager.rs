//! The service manager: that the agent is ready, and alive. Source: sd_notify(3); without `NOTIFY_SOCKET` nothing is sent.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Where to tell.
#[derive(Debug)]
pub struct Manager(Option<UnixDatagram>);

impl Manager {
    /// The manager that the environment names, if any.
    pub fn of_environment() -> Self {
        Self(env::var("NOTIFY_SOCKET").ok().and_then(|name| connect(&name)))
    }

    /// Tells it one assignment, such as `READY=1`; never waits.
    pub fn tell(&self, what: &str) {
        if let Some(socket) = &self.0 {
            let _ = socket.send(what.as_bytes());
        }
    }
}

fn connect(name: &str) -> Option<UnixDatagram> {
    let address = match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(name),
    };
    let socket = UnixDatagram::unbound().ok()?;
    socket.connect_addr(&address.ok()?).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}
