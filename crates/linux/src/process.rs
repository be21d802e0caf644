//! Two processes that watch each other: a link with descriptors, waiting for the other's end, and giving up rights.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{
    CapabilitySet, CapabilitySets, CpuSet, sched_getaffinity, sched_setaffinity, set_capabilities,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use std::ffi::CStr;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Longest message, and most descriptors with it.
const LONGEST: usize = 1 << 16;
const MOST: usize = 200;

/// User and group `nobody`, by the kernel's default (`/proc/sys/kernel/overflowuid`).
const NOBODY: u32 = 65_534;

/// Both ends of a link. Each sees when the other end's last descriptor has gone.
///
/// # Errors
/// If the system refuses.
pub fn link() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends one message with descriptors.
///
/// # Errors
/// If there are too many, or the system refuses.
pub fn send(link: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    if bytes.len() > LONGEST || descriptors.len() > MOST {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "more than one message holds"));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    with.push(SendAncillaryMessage::ScmRights(descriptors));
    sendmsg(link, &[IoSlice::new(bytes)], &mut with, SendFlags::empty())?;
    Ok(())
}

/// Waits for one message and its descriptors.
///
/// # Errors
/// If the system refuses, or the other end has gone.
pub fn receive(link: impl AsFd) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut bytes = vec![0; LONGEST];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut with = RecvAncillaryBuffer::new(&mut space);
    let len =
        recvmsg(link, &mut [IoSliceMut::new(&mut bytes)], &mut with, RecvFlags::CMSG_CLOEXEC)?
            .bytes;
    let mut descriptors = Vec::new();
    for message in with.drain() {
        if let RecvAncillaryMessage::ScmRights(of) = message {
            descriptors.extend(of);
        }
    }
    bytes.truncate(len);
    if bytes.is_empty() {
        Err(io::ErrorKind::UnexpectedEof.into())
    } else {
        Ok((bytes, descriptors))
    }
}

/// A descriptor that [`ended`] waits on: a process, by its number.
///
/// # Errors
/// If there is no such process, or the system refuses.
pub fn watch(process: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    Ok(pidfd_open(pid.ok_or(io::ErrorKind::InvalidInput)?, PidfdFlags::empty())?)
}

/// Waits for the end of a watched process, or of a link's other end. Whether it came.
pub fn ended(of: impl AsFd, at_most: Duration) -> bool {
    let fd = of.as_fd();
    let timeout = Timespec {
        tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: at_most.subsec_nanos().into(),
    };
    let mut of = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    match poll(&mut of, Some(&timeout)) {
        Ok(count) => count > 0,
        Err(rustix::io::Errno::INTR) => false,
        Err(_) => true, // in doubt, the other side has gone
    }
}

/// Kills a watched process: the one that was watched, also where its number is another one's by now.
///
/// # Errors
/// If it has ended, or the system refuses.
pub fn kill(watched: impl AsFd) -> io::Result<()> {
    Ok(pidfd_send_signal(watched, Signal::KILL)?)
}

/// Has the kernel continue this process, where it is stopped, when its parent has died. What gives up rights afterwards undoes this.
///
/// # Errors
/// If the system refuses.
pub fn go_on_without_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::CONT))?)
}

/// The user that this process acts as.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Gives this process a name, as `ps` shows it: at most 15 bytes.
pub fn name(of: &CStr) {
    let _ = rustix::thread::set_name(of);
}

/// Whether this process may run on a CPU.
pub fn may_use(cpu: u32) -> bool {
    let cpu = cpu as usize;
    cpu < CpuSet::MAX_CPU && sched_getaffinity(None).is_ok_and(|of| of.is_set(cpu))
}

/// How many CPUs this process may run on.
pub fn cpus() -> u32 {
    sched_getaffinity(None).map_or(1, |of| of.count())
}

/// A thread that runs on one CPU alone, as do those that it starts, for as long as this lives.
#[derive(Debug)]
pub struct PinnedThread {
    before: CpuSet,
}

impl PinnedThread {
    /// Pins this thread.
    ///
    /// # Errors
    /// If the system refuses: there is no such CPU, or this process may not use it.
    pub fn to(cpu: u32) -> io::Result<Self> {
        let (mut of, before) = (CpuSet::new(), sched_getaffinity(None)?);
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        of.set(cpu as usize);
        sched_setaffinity(None, &of)?;
        Ok(Self { before })
    }
}

impl Drop for PinnedThread {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before); // what was allowed before
    }
}

/// Keeps what this process has in memory.
///
/// # Errors
/// If not enough may be locked.
pub fn stay_in_memory() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT)?)
}

/// Runs this thread before all of the normal class, keeps what it has in memory, and lets its own children be normal. `priority` is
/// from 1 to 99.
///
/// # Errors
/// If this process has no right to, or not enough memory may be locked; it then runs as before.
#[allow(unsafe_code)]
pub fn realtime(priority: i32) -> io::Result<()> {
    let of = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads one `sched_param` from the pointer, and keeps nothing of it; 0 is the calling thread.
    let done =
        unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &of) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    stay_in_memory()
}

/// Gives up every right of this thread, and of those that it starts, for good: no capability, nobody's user and groups, and none of
/// it comes back by running another program. A process that is not root keeps its user.
///
/// # Errors
/// If the system refuses; some rights may be left then, and the process should end.
pub fn give_up_rights() -> io::Result<()> {
    set_no_new_privs(true)?;
    if rustix::process::geteuid().is_root() {
        let (user, group) =
            (rustix::process::Uid::from_raw(NOBODY), rustix::process::Gid::from_raw(NOBODY));
        set_thread_groups(&[])?;
        set_thread_res_gid(group, group, group)?;
        set_thread_res_uid(user, user, user)?;
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;

    #[test]
    fn a_message_brings_its_descriptors_and_the_end_is_seen() {
        let (here, there) = link().expect("a link");
        let file = File::open("/proc/self/comm").expect("this process has a name");
        send(&here, b"orders", &[file.as_fd()]).expect("sent");
        let (bytes, mut descriptors) = receive(&there).expect("received");
        let mut text = String::new();
        File::from(descriptors.remove(0)).read_to_string(&mut text).expect("it reads");
        assert!(bytes == b"orders" && descriptors.is_empty() && !text.is_empty());
        assert!(!ended(&there, Duration::ZERO));
        drop(here);
        assert!(ended(&there, Duration::from_secs(120)) && receive(&there).is_err());
        assert!(send(&there, &[0; LONGEST + 1], &[]).is_err());
    }

    #[test]
    fn a_thread_is_pinned_to_a_cpu_that_it_may_use() {
        let own = (0..cpus() + 64).find(|cpu| may_use(*cpu)).expect("one at least");
        let pinned = std::thread::spawn(move || {
            let before = cpus();
            let pinned = PinnedThread::to(own).expect("it may");
            assert!(cpus() == 1 && may_use(own));
            drop(pinned);
            cpus() == before
        });
        assert!(pinned.join().expect("it ends"));
        assert!(
            !may_use(1 << 20)
                && PinnedThread::to(1 << 20).is_err()
                && PinnedThread::to(1023).is_err()
        );
    }

    #[test]
    fn the_end_of_a_process_is_seen() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("it runs");
        let watched = watch(child.id()).expect("it is there");
        assert!(!ended(&watched, Duration::ZERO));
        kill(&watched).expect("killed");
        assert!(ended(&watched, Duration::from_secs(120)));
        child.wait().expect("it has ended");
        assert!(watch(0).is_err() && kill(&watched).is_err(), "it has gone");
    }
}
