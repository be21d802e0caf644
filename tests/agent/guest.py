"""What the agent is held to under another kernel, as the first process of a guest: kernels.py boots it.

Probe, record and replay, marks on traffic, cgroup ladder, faults; TCP-NV beside the kernel's own where BPF may be a congestion control.
Each step prints a line; the last one says that all passed. What takes how long, and how fast, is printed and fails nothing.
"""
import ctypes
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
import traceback
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
FINIT_MODULE, POWER_OFF, BIND = 313, 0x4321FEDC, 0x1000
CGROUPS = Path("/sys/fs/cgroup")


def mount(kind, at):
    at = str(at).encode()
    if LIBC.mount(b"none", at, kind.encode(), 0, None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {kind} at {at}")


def load(path):
    fd = os.open(path, os.O_RDONLY)
    done = LIBC.syscall(FINIT_MODULE, fd, b"", 0)
    os.close(fd)
    if done != 0 and ctypes.get_errno() != 17:  # EEXIST
        raise OSError(ctypes.get_errno(), f"load {path}")


def say(text):
    print(f"\nguest: {text}", flush=True)  # a firmware's last line may have no end


def run(*words, **how):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **how)
    if done.returncode != 0:
        raise AssertionError(f"{words} ends with {done.returncode}: {done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def bind(fd, at):
    """An open folder, at another place too."""
    os.makedirs(at, exist_ok=True)
    if LIBC.mount(f"/proc/self/fd/{fd}".encode(), at.encode(), None, BIND, None) != 0:
        raise OSError(ctypes.get_errno(), f"bind {at}")


def prepare(of):
    mount("proc", "/proc")
    checkout = os.open(of["checkout"], os.O_PATH)  # what is mounted next may hide it
    for kind, at in [("sysfs", "/sys"), ("tmpfs", "/tmp"), ("tmpfs", "/run"), ("cgroup2", CGROUPS)]:
        mount(kind, at)
    if not os.path.exists("/dev/null"):
        mount("devtmpfs", "/dev")
    bind(checkout, of["checkout"])
    os.close(checkout)
    for at in of["scratch"]:
        os.makedirs(at, exist_ok=True)
        mount("tmpfs", at)
    os.environ["PATH"] = of["path"]
    for path in of["modules"]:
        load(path)
    run("ip", "link", "set", "lo", "up")
    # One at a time: a kernel that lacks one of them refuses the whole line.
    for controller in (CGROUPS / "cgroup.controllers").read_text().split():
        (CGROUPS / "cgroup.subtree_control").write_text(f"+{controller}")


def probe(agent):
    """What the agent says of this kernel, held against the kernel's version."""
    began = time.monotonic()
    found = json.loads(run(agent, "probe", "--json"))
    took = time.monotonic() - began
    can = {of["name"]: of["can"] for of in found["findings"]}
    version = tuple(map(int, os.uname().release.split(".")[:2]))
    assert can["tcx"] == (version >= (6, 6)) and can["clsact"] and can["cgroup"], can
    assert can["cgroup.freeze"] and can["cpu.max"], can
    typed = os.path.exists("/sys/kernel/btf/vmlinux")
    assert can["struct_ops"] == (version >= (6, 4) and typed), can
    yes = [name for name in ("tcx", "clsact", "cgroup", "struct_ops", "PSI", "cpu.max", "cgroup.freeze") if can[name]]
    say(f"Linux {os.uname().release}, {'with' if typed else 'without'} BTF; probe ({took:.2f} s): {', '.join(yes)}")
    return can


def record(agent):
    """A recording of this machine, read again."""
    run(agent, "record", "--for", "300ms", "--out", "/tmp/trace")
    said = run(agent, "replay", "/tmp/trace").splitlines()[0]
    say(f"record and replay: {said.removeprefix('/tmp/trace/')}")


def wait(what, so, limit=180):
    """Waits until something is so. The limit is no verdict on the agent, but on a test that hangs."""
    until = time.monotonic() + limit
    while not so():
        assert time.monotonic() < until, f"{what}: not within {limit} s"
        time.sleep(0.01)


class Neighbour:
    """A busy loop in a cgroup."""

    def __init__(self):
        self.cgroup = CGROUPS / "neighbour"
        self.cgroup.mkdir()
        self.process = subprocess.Popen([sys.executable, "-SBc", "while True: pass"])
        (self.cgroup / "cgroup.procs").write_text(str(self.process.pid))

    def stat(self, name):
        """A number of cpu.stat; 0 where the kernel has none."""
        lines = (self.cgroup / "cpu.stat").read_text().splitlines()
        return int(next((line.split()[1] for line in lines if line.startswith(name + " ")), 0))

    def share(self, seconds=0.6):
        """CPU time that it gets, as a share of one CPU: a measurement."""
        at, before = time.monotonic(), self.stat("usage_usec")
        time.sleep(seconds)
        return (self.stat("usage_usec") - before) / 1e6 / (time.monotonic() - at)

    def runs(self):
        """Waits until it has used 10 ms of CPU more."""
        before = self.stat("usage_usec")
        wait("a neighbour that runs", lambda: self.stat("usage_usec") >= before + 10_000)

    def end(self):
        self.process.kill()
        self.process.wait()

        def removed():
            try:
                self.cgroup.rmdir()
            except OSError:
                return False
            return True

        wait("an empty cgroup", removed)


def ladder(agent):
    """What each kind of rung does to a busy loop, and that it runs as before when the agent has ended."""
    neighbour = Neighbour()
    neighbour.runs()
    shares = {"no agent": neighbour.share()}
    signals, config = Path("/tmp/signals"), Path("/tmp/agent.toml")
    for rung in ("cpu:10%", "freeze"):
        signals.write_text("93 43Gbps\n")
        config.write_text(
            f'mode = "enforce"\ndeadline = "10s"\nlaw.params.stale_after = "600s"\n[[victim]]\ncgroup = "/neighbour"\nladder = ["{rung}"]\n'
        )
        words = [agent, "run", config, "--signals", signals, "--state", "/tmp/state"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wanted = ("cgroup.freeze", "1\n") if rung == "freeze" else ("cpu.max", f"{10_000 * os.cpu_count()} 100000\n")
        wait(rung, lambda: process.poll() is not None or (neighbour.cgroup / wanted[0]).read_text() == wanted[1])
        assert process.poll() is None, process.communicate()
        if rung == "freeze":
            wait("a frozen cgroup", lambda: "frozen 1" in (neighbour.cgroup / "cgroup.events").read_text())
            before = neighbour.stat("usage_usec")
            shares[rung] = neighbour.share()
            assert neighbour.stat("usage_usec") == before, "what is frozen uses no CPU time"
        else:
            before = neighbour.stat("nr_throttled")
            wait("a neighbour that the kernel throttles", lambda: neighbour.stat("nr_throttled") >= before + 3)
            shares[rung] = neighbour.share()
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=180)
        assert process.returncode == 0, (out, said)
        assert (neighbour.cgroup / "cgroup.freeze").read_text() == "0\n"
        assert (neighbour.cgroup / "cpu.max").read_text() == "max 100000\n"
        neighbour.runs()
        shares[f"after {rung}"] = neighbour.share(0.3)
    neighbour.end()
    say("ladder, measured: CPUs that a busy loop gets: " + ", ".join(f"{name} {share:.2f}" for name, share in shares.items()))


def marks(of, can):
    """Traffic between two namespaces, by the ways to mark that this kernel has."""
    ways = ",".join(way for way in ("tcx", "clsact", "cgroup") if can[way])
    tries = of["faults_tries"] or "2"
    how = os.environ | {"FOREBAY_WAYS": ways, "FOREBAY_NV": str(int(can["struct_ops"])), "FOREBAY_REQUIRE": "bpf"}
    if of["faults_tries"]:
        how["FOREBAY_FAULTS"] = tries
    if of.get("deadline"):
        how["FOREBAY_DEADLINE"] = of["deadline"]
    if of.get("brief") and not of["faults_tries"]:
        how["FOREBAY_MARK_FAULTS"] = "0"
    at = Path(__file__).with_name("marks.py")
    for line in run(sys.executable, "-SB", at, of["agent"], env=how).splitlines():
        say(line)


def faults(of):
    """The tests of faults, with a process that is frozen for real."""
    how = os.environ | ({"FOREBAY_FAULTS": of["faults_tries"]} if of["faults_tries"] else {})
    if of.get("deadline"):
        how["FOREBAY_DEADLINE"] = of["deadline"]
    said = run(of["faults"], "--nocapture", "--test-threads", "1", env=how)
    for line in said.splitlines():
        if "median" in line and "bandwidth made up" not in line:
            assert "a frozen process" in line, line
            say(f"throttle, {line.split(' ... ')[-1]}")
    assert "test result: ok" in said, said


def measure_nv(of):
    """The kernel's TCP-NV and the agent's, one after the other over the same slow cable: goodput, and time that a packet waits. Printed; that both decide
    alike is held by `crates/bpf/tests/nv_twin.rs`, event for event."""
    sys.path.insert(0, str(Path(__file__).parent))
    sys.argv = ["marks.py", of["agent"]]
    if of.get("deadline"):
        os.environ["FOREBAY_DEADLINE"] = of["deadline"]
    import marks

    wire = marks.Wire()
    try:
        run("ip", "netns", "exec", wire.far.name, "tc", "qdisc", "add", "dev", "far0", "root", "netem", "rate", "40mbit", "delay", "5ms", "limit", "200")
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            agent = marks.Agent(wire, Path(folder), "off", before="tcp_nv = true")
            for name in ("nv", "forebay_nv", "cubic"):
                found[name] = flow(wire, name)
            code, out, said = agent.end()
            assert code == 0, (out, said)
    finally:
        wire.end()
    for name, (goodput, wait) in found.items():
        say(f"measured: {name}: {goodput:.1f} Mb/s of 40, smoothed RTT {wait:.1f} ms")


def flow(wire, name, seconds=3.0):
    """Goodput in Mb/s and median smoothed RTT in ms of one connection, after the first second."""
    listener = wire.near.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("10.9.0.2", 7003))
    listener.listen()
    sender = wire.far.socket(socket.AF_INET, socket.SOCK_STREAM)
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    sender.connect(("10.9.0.2", 7003))
    taken, _ = listener.accept()
    sizes, ended = [], threading.Event()

    def take():
        while data := taken.recv(1 << 16):
            sizes.append((time.monotonic(), len(data)))

    def send():
        while not ended.is_set():
            sender.send(bytes(1 << 14))

    threads = [threading.Thread(target=of) for of in (take, send)]
    for thread in threads:
        thread.start()
    began, waits = time.monotonic(), []
    while time.monotonic() < began + seconds:
        time.sleep(0.05)
        info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        if time.monotonic() > began + 1:
            waits.append(int.from_bytes(info[68:72], sys.byteorder) / 1000)
    until = time.monotonic()
    ended.set()
    sender.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()
    for of in (sender, taken, listener):
        of.close()
    arrived = sum(size for at, size in sizes if began + 1 <= at <= until)
    return arrived * 8e-6 / (until - began - 1), sorted(waits)[len(waits) // 2]


def main(of):
    try:
        prepare(of)
        agent = of["agent"]
        can = probe(agent)
        record(agent)
        ladder(agent)
        marks(of, can)
        faults(of)
        if can["struct_ops"]:
            measure_nv(of)
        print("guest: passed", flush=True)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    time.sleep(0.1)
    LIBC.reboot(POWER_OFF)
