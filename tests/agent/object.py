#!/usr/bin/env python3
"""A BPF object in this machine's kernel: the agent registers it, a TCP flow uses it over a slow path, and it is gone with the agent.

Three network namespaces on two cables: sender, router, receiver. The router sends to the receiver at 20 Mb/s from a queue of 40 packets.
Checks: a flow's window grows and is cut as the object says, with its parameter; the name is gone after each way to end or kill the agent; and each
refusal is one sentence. Needs root, `ip`, `tc`, and a kernel with BTF (6.4); skips by name where it lacks one (FOREBAY_REQUIRE=bpf: fails).
Usage: object.py [AGENT] [--out FILE], which writes the samples of the flow: seconds, window, acknowledged bytes.

No verdict depends on how fast the machine is. Goodput and window are printed as measurements.
"""
import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

OUT = Path(sys.argv.pop()) if len(sys.argv) > 2 and sys.argv[-2] == "--out" else None
if OUT:
    sys.argv.pop()

from marks import AGENT, LIMIT, ROOT, Namespace, run, skip, wait  # noqa: E402

OBJECT = ROOT / "crates/bpf/obj/halve.bpf.o"
NAME = f"halve_{os.getpid():07}"  # of this process, so that two runs on one machine do not collide
NAMES = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
NO_SSTHRESH = 0x7FFFFFFF


def there():
    return NAME in NAMES.read_text().split()


class SlowPath:
    """Sender, router and receiver in a row."""

    def __init__(self):
        own = os.getpid()
        self.spaces = [Namespace(f"forebay-{name}-{own}") for name in ("from", "over", "to")]
        sender, router, receiver = self.spaces
        for nth, (space, net) in enumerate(((sender, 1), (receiver, 2))):
            run("ip", "link", "add", f"r{net}", "netns", router.name, "type", "veth", "peer", "name", "e0", "netns", space.name)
            for at, nic, host in ((router, f"r{net}", 1), (space, "e0", 2)):
                run("ip", "-n", at.name, "addr", "add", f"10.11.{net}.{host}/24", "dev", nic)
                run("ip", "-n", at.name, "link", "set", nic, "up")
            run("ip", "-n", space.name, "route", "add", "default", "via", f"10.11.{net}.1")
        with router:
            Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        tc = ("tc", "-n", router.name, "qdisc", "add", "dev", "r2")
        run(*tc, "root", "handle", "1:", "tbf", "rate", "20mbit", "burst", "4614", "limit", "10000000")
        run(*tc, "parent", "1:1", "handle", "2:", "pfifo", "limit", "40")

    def connect(self, port, law=NAME):
        sender, _, receiver = self.spaces
        listener = receiver.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.bind(("10.11.2.2", port))
        listener.listen()
        to = sender.socket(socket.AF_INET, socket.SOCK_STREAM)
        to.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, law.encode())
        to.settimeout(LIMIT)
        to.connect(("10.11.2.2", port))
        taken, _ = listener.accept()
        listener.close()
        return to, taken

    def end(self):
        for space in self.spaces:
            space.end()


class Agent:
    """An agent that has nothing but a congestion control to register."""

    def __init__(self, folder, more="", start=True, deadline="10s"):
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        config = self.folder / "agent.toml"
        (self.folder / "cc.bpf.o").write_bytes(OBJECT.read_bytes().replace(b"forebay_halve", NAME.encode()))
        config.write_text(f'mode = "enforce"\ndeadline = "{deadline}"\ntcp_object = "cc.bpf.o"\n{more}\n')
        self.words = [AGENT, "run", config, "--state", self.folder / "state"]
        if start:
            self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            atexit.register(self.process.kill)  # also where a check fails; the loop ends with its guard
            wait("an agent that runs", lambda: self.started() or self.process.poll() is not None)
            if not self.started():
                raise RuntimeError("".join(self.process.communicate()))
            self.guard = self.process.pid
            self.loop = int((self.folder / "state/pid").read_text().split()[1])

    def started(self):
        try:
            return " guard started " in (self.folder / "state/events").read_text()
        except OSError:
            return False

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        out, said = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, out, said

    def refused(self, *more):
        done = subprocess.run([*self.words, *more], capture_output=True, text=True, timeout=LIMIT)
        return done.returncode, done.stderr


def gone(what):
    wait(f"{what}: {NAME} is not there any more", lambda: not there())


def flow(path, port, seconds, least):
    """Sends until the window was cut, and for so long. Samples: seconds, window, acknowledged bytes; and the last threshold."""
    to, taken = path.connect(port)
    used = to.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")
    assert used == NAME.encode(), used

    def take():
        while taken.recv(1 << 16):
            pass

    taker = threading.Thread(target=take, daemon=True)
    taker.start()
    samples, begun, ssthresh = [], time.monotonic(), NO_SSTHRESH
    to.setblocking(False)
    while (now := time.monotonic() - begun) < seconds or ssthresh >= least:
        assert now < LIMIT, f"no packet was lost within {LIMIT} s"
        try:
            while True:
                to.send(bytes(1 << 16))
        except BlockingIOError:
            pass
        info = to.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 128)
        ssthresh, cwnd = (int.from_bytes(info[at : at + 4], sys.byteorder) for at in (76, 80))
        samples.append((now, cwnd, int.from_bytes(info[120:128], sys.byteorder)))
        time.sleep(0.01)
    return to, taken, taker, samples, ssthresh


def finish(to, taken, taker):
    to.close()
    taker.join()
    taken.close()


def traffic(path, folder):
    """Window and goodput of a flow; a connection outlives the agent."""
    agent = Agent(folder)
    assert there()
    *ends, samples, ssthresh = flow(path, 7001, 4, NO_SSTHRESH)
    windows = [cwnd for _, cwnd, _ in samples]
    assert 2 < ssthresh <= max(windows), f"half of the window, at most {max(windows)}, is kept: {ssthresh}"
    assert max(windows) > 10 and len(set(windows)) > 3, f"the window stays at {set(windows)}"
    code, out, said = agent.end()
    assert (code, said) == (0, "") and f"{NAME} is registered" in out, (code, out, said)
    gone("SIGTERM")
    used = ends[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")
    assert used == NAME.encode(), "a connection keeps it"
    finish(*ends)
    (t0, _, a), (t1, _, b) = samples[len(samples) // 4], samples[-1]
    print(f"forebay_halve: measured: {8e-6 * (b - a) / (t1 - t0):.1f} Mb/s of 20, window {min(windows)} to {max(windows)} packets, threshold {ssthresh}")
    if OUT:
        OUT.write_text("s,cwnd,acked\n" + "".join(f"{at:.3f},{cwnd},{acked}\n" for at, cwnd, acked in samples))


def parameter(path, folder):
    """1 of 1024ths of a window is less than the two packets that the object keeps at least."""
    agent = Agent(folder, "tcp_params = { ops = \"halve\", keep = 1 }")
    *ends, _, ssthresh = flow(path, 7002, 0, NO_SSTHRESH)
    assert ssthresh == 2, ssthresh
    finish(*ends)
    assert agent.end()[0] == 0
    gone("SIGTERM")
    print("tcp_params: keep = 1 leaves a threshold of 2 packets")


def ends(folder):
    """Each way in which an agent ends: the name goes, though nobody may be left to take it away."""
    stop, kill = signal.SIGSTOP, signal.SIGKILL
    for name, signals in (
        ("Ctrl-C", [("guard", signal.SIGINT)]),
        ("SIGKILL of the guard", [("guard", kill)]),
        ("SIGKILL of the loop", [("loop", kill)]),
        ("SIGSTOP of the guard", [("guard", stop)]),
        ("SIGSTOP of the loop", [("loop", stop)]),
        ("SIGKILL of both", [("guard", stop), ("loop", kill), ("guard", kill)]),
    ):
        agent = Agent(folder, deadline="200ms")
        time.sleep(0.3)  # so that the loop has given a sign of life; before its first the guard waits for 10 s
        begun = time.monotonic()
        for whom, of in signals:
            try:
                os.kill(agent.guard if whom == "guard" else agent.loop, of)
            except ProcessLookupError:  # where the machine stood still, the guard has ended the loop
                pass
        gone(name)
        took = time.monotonic() - begun
        for pid in (agent.guard, agent.loop):
            try:
                os.kill(pid, signal.SIGCONT if name == "Ctrl-C" else kill)
            except ProcessLookupError:
                pass
        agent.process.communicate(timeout=LIMIT)
        print(f"{name}: measured: gone after {1e3 * took:.0f} ms")


def refusals(folder):
    """One sentence each, and nothing registered."""
    first = Agent(folder)
    second = Agent(folder, start=False)
    code, said = second.refused()
    assert code == 1 and f"this kernel has a congestion control {NAME} already" in said and said.count("\n") == 1, said
    assert there(), "the first one goes on"
    assert first.end()[0] == 0
    gone("SIGTERM")
    for more, file, wanted in (
        ("tcp_params = { keep = -1 }", None, 'tcp_params.keep: "-1" is not a whole number of 32 bits'),
        ("tcp_params = { keeps = 1 }", None, "tcp_params.keeps: the object has no such parameter; it has ops, keep"),
        ("", b"text", "this is no object file; compile the C file with clang -target bpf -O2 -g -c"),
        ("", OBJECT.read_bytes()[:3000], "the object is cut or damaged"),
    ):
        agent = Agent(folder, more, start=False)
        if file:
            (agent.folder / "cc.bpf.o").write_bytes(file)
        code, said = agent.refused()
        assert code == 2 and wanted in said and said.count("\n") == 1, (code, said, wanted)
    agent = Agent(folder, start=False)
    (agent.folder / "cc.bpf.o").unlink()
    code, said = agent.refused()
    assert code == 2 and "cc.bpf.o cannot be read" in said, (code, said)
    agent = Agent(folder, start=False)
    code, said = agent.refused("--mode", "dry-run", "--for", "10ms")
    assert code == 0 and f"{NAME} would be registered" in said and not there(), (code, said)
    print("refusals: a sentence each")


def main():
    if os.geteuid() != 0:
        skip("this is not root")
    for tool in ("ip", "tc"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    found = json.loads(run(AGENT, "probe", "--json"))["findings"]
    can = next(of for of in found if of["name"] == "struct_ops")
    if not can["can"]:
        skip(f"no congestion control can be registered: {can['why']}")
    try:
        path = SlowPath()
    except subprocess.CalledProcessError as error:
        skip(f"no namespaces on cables: {error.stderr.strip()}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            traffic(path, folder)
            parameter(path, folder)
            ends(folder)
            refusals(folder)
    finally:
        path.end()


if __name__ == "__main__":
    main()
