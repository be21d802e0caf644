#!/usr/bin/env python3
"""Marks on real traffic: two network namespaces, an agent that enforces in one of them, and packets from the other.

Each way to mark: which packets are CE when they arrive, of UDP and TCP, IPv4 and IPv6, and that the agent counts as many. Each fault: the time
from the signal to the last mark. Needs root, `ip`, and a kernel with BPF; skips by name where it lacks one (FOREBAY_REQUIRE=bpf: fails).
FOREBAY_FAULTS=20 tries each fault 20 times in place of 2. Usage: marks.py [AGENT]

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
PROMISE = 0.05 + (float(DEADLINE[:-2]) / 1000 if DEADLINE.endswith("ms") else float(DEADLINE[:-1]))  # seconds for one fault
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
        self.ports = {}
        self.cable()
        until = time.monotonic() + 20
        for family in self.ports:
            # A cable that was just plugged in may lose packets, or keep them for a while.
            while self.ecn_of(family, ECT_0, 1) != [ECT_0]:
                assert time.monotonic() < until, f"nothing arrives, {family!r}"
            while self.receive(family, 0.05) is not None:
                pass

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

    def sender(self, family, ecn):
        sender = self.far.socket(family, socket.SOCK_DGRAM)
        level, option = (socket.IPPROTO_IP, TOS) if family == socket.AF_INET else (socket.IPPROTO_IPV6, TCLASS)
        sender.setsockopt(level, option, 0xB8 | ecn)
        sender.connect(("10.9.0.2" if family == socket.AF_INET else "fd09::2", 7000))
        return sender

    def receive(self, family, at_most=1):
        """The ECN field of the next packet; None if there is none within so many seconds."""
        try:
            self.ports[family].settimeout(at_most)
            _, cmsgs, _, _ = self.ports[family].recvmsg(64, 64)
        except (TimeoutError, socket.timeout):
            return None
        return cmsgs[0][2][0] & 3

    def ecn_of(self, family, ecn, count):
        """The ECN fields with which so many packets arrive."""
        with self.sender(family, ecn) as sender:
            arrived = []
            for _ in range(count):
                sender.send(b"x" * 32)
                arrived.append(self.receive(family))
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

    def __init__(self, wire, folder, echo, more="", before=""):
        self.folder = folder
        self.signals = folder / "signals"
        self.congested(True)
        config = folder / "agent.toml"
        config.write_text(f'mode = "enforce"\ndeadline = "{DEADLINE}"\n{before}\n[[nic]]\nname = "{wire.nic}"\necho = "{echo}"\n{more}\n')
        self.metrics = folder / "metrics"
        words = [AGENT, "run", config, "--signals", self.signals, "--state", folder / "state", "--serve", self.metrics]
        with wire.near:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # also where a check fails
        self.guard = self.process.pid
        for _ in range(5000):
            try:
                guard, self.loop = map(int, (folder / "state/pid").read_text().split())
                if guard == self.guard:
                    return
            except (OSError, ValueError):
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.001)
        raise RuntimeError("".join(self.process.communicate()))

    def congested(self, yes):
        """Replaces the readings by one write, so that none is of a file half written."""
        new = b"93 43Gbps\n" if yes else b"10 43Gbps\n"
        fd = os.open(self.signals, os.O_WRONLY | os.O_CREAT)
        os.pwrite(fd, new, 0)
        os.close(fd)

    def text(self):
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(str(self.metrics))
            stream.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            text = b""
            while more := stream.recv(1 << 16):
                text += more
        return text.decode()

    def metric(self, name):
        found = [line.split()[1] for line in self.text().splitlines() if line.startswith(name + "{") or line.startswith(name + " ")]
        return sum(map(int, found))

    def end(self, of=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(of)
        out, said = self.process.communicate(timeout=10)
        return self.process.returncode, out, said

    def undo(self, wire):
        with wire.near:
            done = subprocess.run([AGENT, "undo", "--state", self.folder / "state"], capture_output=True, text=True)
        return done.stdout + done.stderr


def until(wire, marks, family=socket.AF_INET):
    """Waits until ten packets in a row arrive with marks, or without."""
    wanted = CE if marks else ECT_0
    begun = time.monotonic()
    while time.monotonic() < begun + 10:
        if wire.ecn_of(family, ECT_0, 10) == [wanted] * 10:
            return
    raise AssertionError(f"no {'CE' if marks else 'packet without CE'} within 10 s")


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
        while CE not in wire.ecn_of(socket.AF_INET, ECT_0, 10):
            pass
    # Off for a moment, so that counters are read while nothing counts.
    before, seen = agent.metric("forebay_marks_total"), 0
    for family in (socket.AF_INET, socket.AF_INET6):
        for ecn in (NOT_ECT, ECT_1, ECT_0, CE):
            arrived = wire.ecn_of(family, ecn, 100)
            marked = arrived.count(CE)
            if ecn in (NOT_ECT, CE):
                assert arrived == [ecn] * 100, f"{echo}: ECN {ecn} arrives as {set(arrived)}"
                continue
            seen += marked
            wanted, spread = share, 0 if share == 100 else os.cpu_count()
            assert abs(marked - wanted) <= spread, f"{echo}: {marked} of 100 with ECN {ecn} are marked"
            assert set(arrived) <= {ecn, CE}
    assert agent.metric("forebay_marks_total") - before == seen, f"{echo}: the agent counts otherwise than the receiver"
    delivered, errors = wire.far.counter("TCPDeliveredCE"), wire.near.counter("InCEPkts")
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
    print(f"{echo}, {share} %: {seen} of 400 packets of UDP marked and counted; TCP's sender heard of {delivered} segments")


def back(wire, folder):
    """An interface whose cable, or which itself, goes and comes back under its name is marked at again."""
    agent = Agent(wire, folder, WAYS[0])
    until(wire, True)
    run("ip", "-n", wire.far.name, "link", "set", "far0", "down")
    begun = time.monotonic()
    while agent.metric("forebay_gone") != 1 or agent.metric("forebay_marks_wanted") != 0:
        assert time.monotonic() < begun + 5, agent.text()
        time.sleep(0.01)
    run("ip", "-n", wire.far.name, "link", "set", "far0", "up")
    until(wire, True)
    assert 'forebay_undo_total{cause="back"} 1' in agent.text() and agent.metric("forebay_gone") == 0, agent.text()
    run("ip", "-n", wire.near.name, "link", "del", wire.nic)
    time.sleep(0.6)  # two looks of the guard
    assert agent.metric("forebay_gone") == 1, agent.text()
    wire.cable()
    until(wire, True)
    assert 'forebay_undo_total{cause="back"} 2' in agent.text() and agent.metric("forebay_gone") == 0, agent.text()
    code, out, said = agent.end()
    assert code == 0 and said.count(f"{wire.nic}: gone; ") == 2 and said.count(f"{wire.nic}: back; ") == 2, (code, out, said)
    assert "clsact" not in filters(wire), filters(wire)
    print(f"{WAYS[0]}: an interface whose cable, or which itself, was gone is marked at again when it is back")


class Stream:
    """ECT packets all the time, and when the last one arrived that was CE."""

    def __init__(self, wire):
        self.wire, self.last, self.run = wire, 0.0, True
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
            if self.wire.receive(socket.AF_INET) == CE:
                self.last = time.monotonic()

    def end(self):
        self.run = False
        for thread in self.threads:
            thread.join()


def fault(wire, folder, echo, name, signals, tries):
    """Times from signals to the last mark."""
    times = []
    for _ in range(tries):
        agent = Agent(wire, folder, echo)
        stream = Stream(wire)
        while not stream.last:
            time.sleep(0.001)
        at = time.monotonic()
        for whom, of in signals:
            os.kill(agent.guard if whom == "guard" else agent.loop, of)
        while time.monotonic() - max(at, stream.last) < PROMISE + 0.05:
            assert time.monotonic() - at < 5 + 5 * PROMISE, f"{name}: packets are still marked"
            time.sleep(0.005)
        times.append(max(0.0, stream.last - at))
        stream.end()
        for pid in (agent.guard, agent.loop):
            try:
                if [of for _, of in signals] != [signal.SIGTERM]:
                    os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        agent.end(signal.SIGKILL if agent.process.poll() is None and signals[0][1] != signal.SIGTERM else signal.SIGTERM)
        if echo == "clsact" and len(signals) == 2:
            assert "forebay" in filters(wire), "a filter outlives both"
            said = agent.undo(wire)
            assert said == f"lifted what a dead agent left: {wire.nic}\n", said
        agent.undo(wire)
        assert "clsact" not in filters(wire), filters(wire)
        assert agent.undo(wire) == "there was nothing to undo\n"
    times = sorted(1e3 * of for of in times)
    print(f"{name}, {echo}: last mark after {statistics.median(times):.1f} ms, worst {times[-1]:.1f} ms of {tries}")
    held = times[-1] if "FOREBAY_FAULTS" in os.environ else times[0]
    assert held <= 1e3 * PROMISE, f"{name}: {times} ms"


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
    while size < 20_000_000:
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
    for _ in range(2000):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as other:
            try:
                other.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"forebay_nv")
            except FileNotFoundError:
                break
        time.sleep(0.001)
    else:
        raise AssertionError("forebay_nv outlives the agent")
    print(f"TCP-NV: 20 MB, window of {windows[0]} packets at first, at most {max(windows)}, {len(set(windows))} different ones")


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
            fault(wire, folder, link, "SIGKILL of the loop", loop, tries)
            fault(wire, folder, link, "SIGSTOP of the loop", [("loop", stop)], tries)
            fault(wire, folder, link, "SIGKILL of the guard", guard, tries)
            fault(wire, folder, link, "SIGSTOP of the guard", [("guard", stop)], tries)
            for way in dict.fromkeys([link, "clsact"]):
                fault(wire, folder, way, "SIGKILL of both", guard + loop, tries)
            fault(wire, folder, link, "SIGSTOP of both", [("guard", stop), ("loop", stop)], tries)
            fault(wire, folder, "clsact", "SIGTERM", [("guard", signal.SIGTERM)], tries)
    finally:
        wire.end()
        if cgroup and cgroup.is_dir():
            home.write_text(str(os.getpid()))
            time.sleep(0.05)
            cgroup.rmdir()


if __name__ == "__main__":
    main()
