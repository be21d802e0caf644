#!/usr/bin/env python3
"""Marks on real traffic: two network namespaces, an agent that enforces in one of them, and packets from the other.

Each way to mark: which packets are CE when they arrive, of UDP and TCP, IPv4 and IPv6, and that the agent counts as many. Each fault: that marks end,
and by whom, as the agent's event log says. Needs root, `ip`, and a kernel with BPF; skips by name where it lacks one (FOREBAY_REQUIRE=bpf: fails).
FOREBAY_FAULTS=20 tries each fault 20 times instead of 2. Usage: marks.py [AGENT]

No verdict depends on how fast the machine is: what is asserted are counts, order and the agent's event log. The time from a fault to the last mark is
printed as a measurement.

For other kernels (kernels.py): FOREBAY_WAYS=clsact,cgroup takes these ways to mark alone, FOREBAY_NV=0 leaves TCP-NV out,
FOREBAY_MARK_FAULTS=0 the faults, and FOREBAY_DEADLINE=1s
is for machines so slow that a loop misses 50 ms.
"""
import atexit
import ctypes
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AGENT = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/debug/forebay-agent").resolve()
WAYS = os.environ.get("FOREBAY_WAYS", "tcx,clsact,cgroup").split(",")
DEADLINE = os.environ.get("FOREBAY_DEADLINE", "50ms")
SECONDS = float(DEADLINE[:-2]) / 1000 if DEADLINE.endswith("ms") else float(DEADLINE[:-1])
LIMIT = 180  # seconds for a condition to come true: no verdict on the agent, but on a test that hangs
NOT_ECT, ECT_1, ECT_0, CE = range(4)
RECVTOS, RECVTCLASS, TCLASS, TOS = 13, 66, 67, 1
LIBC = ctypes.CDLL(None, use_errno=True)


def skip(why):
    if "bpf" in os.environ.get("FOREBAY_REQUIRE", "").split(","):
        sys.exit(f"FOREBAY_REQUIRE=bpf, but {why}")
    print(f"skipped: {why}")
    sys.exit(0)


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def wait(what, so):
    """Waits until something is so, and gives it."""
    begun = time.monotonic()
    while not (found := so()):
        assert time.monotonic() < begun + LIMIT, f"{what}: not within {LIMIT} s"
        time.sleep(0.001)
    return found


class Namespace:
    """A network namespace, in which sockets are opened and programs started."""

    def __init__(self, name):
        self.name = name
        run("ip", "netns", "add", name)
        self.fd = os.open(f"/run/netns/{name}", os.O_RDONLY)

    def __enter__(self):
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        assert LIBC.setns(self.fd, 0) == 0
        return self

    def __exit__(self, *_):
        assert LIBC.setns(self.home, 0) == 0
        os.close(self.home)

    def socket(self, family, kind):
        with self:
            return socket.socket(family, kind)

    def counter(self, name):
        """A counter of TCP or IP, as /proc/net/netstat names it."""
        with self:
            lines = Path("/proc/thread-self/net/netstat").read_text().splitlines()
        for names, values in zip(lines[::2], lines[1::2]):
            found = dict(zip(names.split(), values.split()))
            if name in found:
                return int(found[name])
        raise KeyError(name)

    def end(self):
        os.close(self.fd)
        run("ip", "netns", "del", self.name)


class Wire:
    """Two namespaces on a cable: packets go from `far` to `near`, where the agent is."""

    def __init__(self):
        own = os.getpid()
        self.far, self.near = Namespace(f"forebay-far-{own}"), Namespace(f"forebay-near-{own}")
        self.nic = "near0"
        self.ports, self.number = {}, 0
        self.cable()

    def cable(self):
        """The cable, and what listens at its near end."""
        for receiver in self.ports.values():
            receiver.close()
        far, near = "02:00:00:00:09:01", "02:00:00:00:09:02"
        peer = ("peer", "name", self.nic, "address", near, "netns", self.near.name)
        run("ip", "link", "add", "far0", "address", far, "netns", self.far.name, "type", "veth", *peer)
        for at, nic, number in ((self.far, "far0", 1), (self.near, self.nic, 2)):
            for words in (
                ("addr", "add", f"10.9.0.{number}/24", "dev", nic),
                ("addr", "add", f"fd09::{number}/64", "dev", nic, "nodad"),
                ("link", "set", nic, "up"),
            ):
                run("ip", "-n", at.name, *words)
            with at:
                Path("/proc/sys/net/ipv4/tcp_ecn").write_text("1")
        for at, nic, number, hardware in ((self.far, "far0", 2, near), (self.near, self.nic, 1, far)):
            for address in (f"10.9.0.{number}", f"fd09::{number}"):  # so that no packet waits for a neighbour to be found
                run("ip", "-n", at.name, "neigh", "replace", address, "lladdr", hardware, "dev", nic)
        self.ports = {}
        for family, address in ((socket.AF_INET, "10.9.0.2"), (socket.AF_INET6, "fd09::2")):
            receiver = self.near.socket(family, socket.SOCK_DGRAM)
            level, option = (socket.IPPROTO_IP, RECVTOS) if family == socket.AF_INET else (socket.IPPROTO_IPV6, RECVTCLASS)
            receiver.setsockopt(level, option, 1)
            receiver.bind((address, 7000))
            self.ports[family] = receiver
            # A cable that was just plugged in may lose packets, or keep them for a while.
            wait(f"a packet of {family!r}", lambda family=family: self.ecn_of(family, ECT_0, 1, 0.2) != [None])

    def sender(self, family, ecn):
        sender = self.far.socket(family, socket.SOCK_DGRAM)
        level, option = (socket.IPPROTO_IP, TOS) if family == socket.AF_INET else (socket.IPPROTO_IPV6, TCLASS)
        sender.setsockopt(level, option, 0xB8 | ecn)
        sender.connect(("10.9.0.2" if family == socket.AF_INET else "fd09::2", 7000))
        return sender

    def receive(self, family, at_most=LIMIT):
        """Number and ECN field of the next packet; None if there is none within so many seconds."""
        try:
            self.ports[family].settimeout(at_most)
            data, cmsgs, _, _ = self.ports[family].recvmsg(64, 64)
        except (TimeoutError, socket.timeout):
            return None
        return int.from_bytes(data[:8], "big"), cmsgs[0][2][0] & 3

    def ecn_of(self, family, ecn, count, at_most=LIMIT):
        """The ECN fields with which so many packets arrive, each sent when the one before has arrived. None for one that does not."""
        with self.sender(family, ecn) as sender:
            arrived = []
            for _ in range(count):
                self.number += 1
                sender.send(self.number.to_bytes(8, "big") * 4)
                # One that was given up before may still come.
                while (found := self.receive(family, at_most)) is not None and found[0] != self.number:
                    pass
                arrived.append(found and found[1])
            return arrived

    def tcp(self, size):
        """Sends so many bytes over one connection."""
        listener = self.near.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.bind(("10.9.0.2", 7001))
        listener.listen()
        sender = self.far.socket(socket.AF_INET, socket.SOCK_STREAM)
        sender.connect(("10.9.0.2", 7001))
        taken, _ = listener.accept()

        def take():
            while taken.recv(1 << 16):
                pass

        taker = threading.Thread(target=take)
        taker.start()
        sender.sendall(bytes(size))
        sender.close()
        taker.join()
        taken.close()
        listener.close()

    def end(self):
        for receiver in self.ports.values():
            receiver.close()
        self.near.end()
        self.far.end()


class Agent:
    """An agent that enforces over readings from a file, with nothing to throttle."""

    def __init__(self, wire, folder, echo, more="", before="", patient=True):
        self.folder = folder
        self.signals = folder / "signals"
        self.congested(True)
        config = folder / "agent.toml"
        # Where no fault is tried, a machine that stands still is to change nothing: neither a deadline that is missed nor readings that are old.
        deadline, stale = ("10s", 600) if patient else (DEADLINE, 20 * SECONDS)
        config.write_text(f'mode = "enforce"\ndeadline = "{deadline}"\nlaw.params.stale_after = "{1000 * stale:.0f}ms"\n{before}\n[[nic]]\nname = "{wire.nic}"\necho = "{echo}"\n{more}\n')
        self.metrics = folder / "metrics"
        words = [AGENT, "run", config, "--signals", self.signals, "--state", folder / "state", "--serve", self.metrics]
        with wire.near:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # also where a check fails
        self.guard = self.process.pid
        if not wait("an agent that runs", lambda: self.runs() or self.process.poll() is not None) or not self.runs():
            raise RuntimeError("".join(self.process.communicate()))

    def runs(self):
        """Whether guard and loop have begun."""
        try:
            guard, self.loop = map(int, (self.folder / "state/pid").read_text().split())
        except (OSError, ValueError):
            return False
        return guard == self.guard and " guard started " in self.events()

    def events(self):
        try:
            return (self.folder / "state/events").read_text()
        except OSError:
            return ""

    def lifted(self):
        """Who lifted everything first, and why, as the event log has it."""
        words = [line.split() for line in self.events().splitlines() if " lifted " in line]
        return (words[0][1], words[0][3].removeprefix("cause=")) if words else None

    def congested(self, yes):
        """Replaces the readings by one write, so that none is of a file half written."""
        new = b"93 43Gbps\n" if yes else b"10 43Gbps\n"
        fd = os.open(self.signals, os.O_WRONLY | os.O_CREAT)
        os.pwrite(fd, new, 0)
        os.close(fd)

    def text(self):
        def ask():
            with socket.socket(socket.AF_UNIX) as stream:
                stream.connect(str(self.metrics))
                stream.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
                text = b""
                while more := stream.recv(1 << 16):
                    text += more
            # A busy machine may keep a request waiting for longer than it may.
            return b"" if text.startswith(b"HTTP/1.1 408") else text

        return wait("the metrics", ask).decode()

    def metric(self, name, label=""):
        lines = (line for line in self.text().splitlines() if line.startswith(name + "{") or line.startswith(name + " "))
        return sum(int(line.split()[1]) for line in lines if label in line)

    def packets(self):
        """Packets that were marked, spared by the share, and that met a lease that had ended."""
        return [self.metric("forebay_echo_packets_total", f'outcome="{of}"') for of in ("marked", "spared", "expired")]

    def end(self, of=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(of)
        out, said = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, out, said

    def undo(self, wire):
        with wire.near:
            done = subprocess.run([AGENT, "undo", "--state", self.folder / "state"], capture_output=True, text=True)
        return done.stdout or done.stderr


def until(wire, marks, family=socket.AF_INET):
    """Waits until ten packets in a row arrive with marks, or without."""
    wanted = CE if marks else ECT_0
    wait("marks" if marks else "no marks", lambda: wire.ecn_of(family, ECT_0, 10) == [wanted] * 10)


def filters(wire):
    """Programs and hooks at the agent's interface."""
    return run("ip", "netns", "exec", wire.near.name, "tc", "qdisc", "show", "dev", wire.nic) + run(
        "ip", "netns", "exec", wire.near.name, "tc", "filter", "show", "dev", wire.nic, "ingress"
    )


def traffic(wire, folder, echo, more, share):
    """Marks of each kind of packet while the law wants them, and none when it does not."""
    agent = Agent(wire, folder, echo, more)
    if share == 100:
        until(wire, True)
    else:
        wait("marks", lambda: CE in wire.ecn_of(socket.AF_INET, ECT_0, 10))
    before, seen, late = agent.metric("forebay_marks_total"), 0, 0
    for family in (socket.AF_INET, socket.AF_INET6):
        for ecn in (NOT_ECT, ECT_1, ECT_0, CE):
            counts = agent.packets()
            arrived = wire.ecn_of(family, ecn, 100)
            marked = arrived.count(CE)
            if ecn in (NOT_ECT, CE):
                assert arrived == [ecn] * 100, f"{echo}: ECN {ecn} arrives as {set(arrived)}"
                continue
            seen += marked
            counted, spared, expired = (now - then for now, then in zip(agent.packets(), counts))
            assert (counted, counted + spared + expired) == (marked, 100), f"{echo}: {marked} marked, but counted {counted}, {spared}, {expired}"
            # The share of those that met a living lease: the loop of a machine that stands still renews it late, and such packets are not marked.
            wanted, spread = share * (100 - expired) / 100, 0 if share == 100 else os.cpu_count()
            assert abs(marked - wanted) <= spread, f"{echo}: {marked} of {100 - expired} with ECN {ecn} are marked"
            assert set(arrived) <= {ecn, CE}
            late += expired
    assert agent.metric("forebay_marks_total") - before == seen, f"{echo}: the agent counts otherwise than the receiver"
    delivered = wire.far.counter("TCPDeliveredCE")
    wire.tcp(2_000_000)
    delivered = wire.far.counter("TCPDeliveredCE") - delivered
    assert delivered > 0, f"{echo}: no CE of TCP came back to its sender"
    assert wire.near.counter("InCsumErrors") == 0, "a checksum is wrong"
    agent.congested(False)
    until(wire, False)
    for family in (socket.AF_INET, socket.AF_INET6):
        assert wire.ecn_of(family, ECT_0, 100) == [ECT_0] * 100
    code, out, said = agent.end()
    assert (code, said) == (0, ""), (code, out, said)
    assert re.search(rf"{wire.nic}: packets while marks were on: marked \d+", out), out
    assert "forebay" not in filters(wire) and "clsact" not in filters(wire), filters(wire)
    print(f"{echo}, {share} %: {seen} of 400 packets of UDP marked and counted, {late} met an old lease; TCP's sender heard of {delivered} segments")


def back(wire, folder):
    """An interface whose cable, or which itself, goes and comes back under its name is marked at again."""
    agent = Agent(wire, folder, WAYS[0])
    until(wire, True)
    run("ip", "-n", wire.far.name, "link", "set", "far0", "down")
    wait("an interface that has gone", lambda: agent.metric("forebay_gone") == 1 and agent.metric("forebay_marks_wanted") == 0)
    run("ip", "-n", wire.far.name, "link", "set", "far0", "up")
    until(wire, True)
    assert 'forebay_undo_total{cause="back"} 1' in agent.text() and agent.metric("forebay_gone") == 0, agent.text()
    run("ip", "-n", wire.near.name, "link", "del", wire.nic)
    wait("an interface that has gone", lambda: agent.metric("forebay_gone") == 1)
    wire.cable()
    until(wire, True)
    assert 'forebay_undo_total{cause="back"} 2' in agent.text() and agent.metric("forebay_gone") == 0, agent.text()
    code, out, said = agent.end()
    assert code == 0 and said.count(f"{wire.nic}: gone; ") == 2 and said.count(f"{wire.nic}: back; ") == 2, (code, out, said)
    assert "clsact" not in filters(wire), filters(wire)
    print(f"{WAYS[0]}: an interface whose cable, or which itself, was gone is marked at again when it is back")


class Stream:
    """ECT packets all the time, when the last one arrived that was CE, and how many have arrived since then."""

    def __init__(self, wire):
        self.wire, self.last, self.since, self.run = wire, 0.0, 0, True
        self.threads = [threading.Thread(target=work) for work in (self.send, self.take)]
        for thread in self.threads:
            thread.start()

    def send(self):
        with self.wire.sender(socket.AF_INET, ECT_0) as sender:
            while self.run:
                sender.send(b"x" * 32)
                time.sleep(0.0005)

    def take(self):
        while self.run:
            found = self.wire.receive(socket.AF_INET, 1)
            if found and found[1] == CE:
                self.last, self.since = time.monotonic(), 0
            elif found:
                self.since += 1

    def end(self):
        self.run = False
        for thread in self.threads:
            thread.join()


def fault(wire, folder, echo, name, signals, tries, wanted=None):
    """After these signals marks end, by whom and why as the event log is wanted to have it; None: by the kernel, since nobody is left."""
    times, others = [], []
    while len(times) < tries:
        agent = Agent(wire, folder, echo, patient=False)
        stream = Stream(wire)
        wait("marks, or an agent that has met another fault", lambda: stream.last or agent.process.poll() is not None)
        at, stream.since = time.monotonic(), 0
        for whom, of in signals:
            try:
                os.kill(agent.guard if whom == "guard" else agent.loop, of)
            except ProcessLookupError:
                pass
        # All packets are marked or none, so a hundred without a mark are its end; and another hundred have none either.
        wait(f"{name}: the last mark", lambda: stream.since >= 200)
        took = max(0.0, stream.last - at)
        if wanted:
            wait("the event log", agent.lifted)
        stream.end()
        found = agent.lifted()
        for pid in (agent.guard, agent.loop):
            try:
                if [of for _, of in signals] != [signal.SIGTERM]:
                    os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        agent.end(signal.SIGKILL if agent.process.poll() is None and signals[0][1] != signal.SIGTERM else signal.SIGTERM)
        # Where the machine stood still, one of the two was silent before: marks end all the same, but by another fault.
        if found != wanted:
            others.append(found)
            assert len(others) < 50, f"{name}: never {wanted}, but {others}"
            agent.undo(wire)
            continue
        times.append(took)
        if echo == "clsact" and wanted is None:
            assert "forebay" in filters(wire), "a filter outlives both"
            said = agent.undo(wire)
            assert said == f"lifted what a dead agent left: {wire.nic}\n", said
        agent.undo(wire)
        assert "clsact" not in filters(wire), filters(wire)
        assert agent.undo(wire) == "there was nothing to undo\n"
    times = sorted(1e3 * of for of in times)
    print(f"{name}, {echo}: measured: last mark after {statistics.median(times):.1f} ms, worst {times[-1]:.1f} ms of {tries}")


def tcp_nv(wire, folder):
    """A connection under TCP-NV of the agent's, whose window moves; the name goes with the agent."""
    agent = Agent(wire, folder, "off", before="tcp_nv = true")
    listener = wire.near.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("10.9.0.2", 7002))
    listener.listen()
    sender = wire.far.socket(socket.AF_INET, socket.SOCK_STREAM)
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"forebay_nv")
    sender.connect(("10.9.0.2", 7002))
    taken, _ = listener.accept()
    windows, size = [], 0
    # On a busy machine its window takes longer to move.
    while size < 20_000_000 or (size < 2_000_000_000 and (max(windows) <= 10 or len(set(windows)) < 3)):
        size += sender.send(bytes(1 << 16))
        taken.recv(1 << 20)
        info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        windows.append(int.from_bytes(info[80:84], sys.byteorder))
    used = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")
    for of in (sender, taken, listener):
        of.close()
    assert used == b"forebay_nv", used
    assert max(windows) > 10 and len(set(windows)) >= 3, f"the window stays at {set(windows)}"
    code, out, said = agent.end()
    assert (code, said) == (0, ""), (code, out, said)

    def gone():
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as other:
            try:
                other.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"forebay_nv")
            except FileNotFoundError:
                return True

    wait("forebay_nv goes with the agent", gone)
    print(f"TCP-NV: {size / 1e6:.0f} MB, window of {windows[0]} packets at first, at most {max(windows)}, {len(set(windows))} different ones")


def main():
    if os.geteuid() != 0:
        skip("this is not root")
    for tool in ("ip", "tc"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    try:
        wire = Wire()
    except subprocess.CalledProcessError as error:
        skip(f"no two namespaces on a cable: {error.stderr.strip()}")
    tries = int(os.environ.get("FOREBAY_FAULTS", "2"))
    stop, kill = signal.SIGSTOP, signal.SIGKILL
    mount = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "cgroup2"]
    cgroup = Path(mount[0]) / f"forebay-marks-{os.getpid()}" if mount else None
    home = mount and Path(mount[0] + Path("/proc/self/cgroup").read_text().split("0::")[1].strip()) / "cgroup.procs"
    try:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            link = "tcx" if "tcx" in WAYS else "clsact"
            for way in (of for of in WAYS if of != "cgroup"):
                traffic(wire, folder, way, "", 100)
            traffic(wire, folder, link, 'share = "25%"', 25)
            if cgroup and "cgroup" in WAYS:
                cgroup.mkdir()
                (cgroup / "cgroup.procs").write_text(str(os.getpid()))
                wire.end()
                wire = Wire()  # sockets belong to the cgroup in which they are opened
                traffic(wire, folder, "cgroup", f'cgroup = "/{cgroup.name}"', 100)
                home.write_text(str(os.getpid()))
            back(wire, folder)
            if os.environ.get("FOREBAY_NV") != "0":
                tcp_nv(wire, folder)
            if os.environ.get("FOREBAY_MARK_FAULTS") == "0":
                return
            loop, guard = [("loop", kill)], [("guard", kill)]
            fault(wire, folder, link, "SIGKILL of the loop", loop, tries, ("guard", "loop_gone"))
            fault(wire, folder, link, "SIGSTOP of the loop", [("loop", stop)], tries, ("guard", "loop_silent"))
            fault(wire, folder, link, "SIGKILL of the guard", guard, tries, ("loop", "guard_gone"))
            fault(wire, folder, link, "SIGSTOP of the guard", [("guard", stop)], tries, ("loop", "guard_silent"))
            loop_first = [("guard", stop), *loop, *guard]  # so that the guard does not find that the loop has gone
            for way in dict.fromkeys([link, "clsact"]):
                fault(wire, folder, way, "SIGKILL of both", loop_first, tries)
            fault(wire, folder, link, "SIGSTOP of both", [("guard", stop), ("loop", stop)], tries)
            fault(wire, folder, "clsact", "SIGTERM", [("guard", signal.SIGTERM)], tries, ("loop", "asked"))
    finally:
        wire.end()
        if cgroup and cgroup.is_dir():
            home.write_text(str(os.getpid()))

            def removed():
                try:
                    cgroup.rmdir()
                except OSError:
                    return False
                return True

            wait("an empty cgroup", removed)


if __name__ == "__main__":
    main()
