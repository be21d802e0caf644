//! Removal of programs that mark packets, also of those that a dead process left: their name holds its process id.

use forebay_linux::netlink;
use std::io;

/// The name of this process's programs and filters, by which they are found when it is dead.
pub fn name() -> String {
    format!("forebay_{}", std::process::id())
}

/// Undoes the marking of one interface by programs of these names: detaches links that are still held, takes filters away, and clsact
/// where the agent made it and no other program uses it. Whether there was something.
pub fn undo(nic: &str, how: &str, names: &[String]) -> io::Result<bool> {
    let mut found = 0;
    for name in names {
        if how.starts_with("clsact") {
            let interface = netlink::interface(nic)?.number;
            found += netlink::remove_filters(interface, name)?;
        } else {
            found += forebay_linux::bpf::detach_named(name)?;
        }
    }
    if how == "clsact made" {
        let interface = netlink::interface(nic)?.number;
        if netlink::has_clsact(interface)? {
            netlink::remove_clsact(interface)?;
        }
    }
    Ok(found > 0)
}
