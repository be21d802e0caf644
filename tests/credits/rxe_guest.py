"""First process of a guest with soft-RoCE: pingpong of rdma-core, then one-way and echo programs with credits, and faults. `rxe.py` boots it."""
import ctypes
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
FINIT_MODULE, POWER_OFF = 313, 0x4321FEDC
READS, SENDS = "10.0.0.1", "10.0.0.2"
LIMIT = ["--limit", "64K", "--message", "4K"]


def say(text):
    print(f"\nguest: {text}", flush=True)


def mount(kind, at):
    if LIBC.mount(b"none", at.encode(), kind.encode(), 0, None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {kind} at {at}")


def load(path):
    fd = os.open(path, os.O_RDONLY)
    if LIBC.syscall(FINIT_MODULE, fd, b"", 0) != 0 and ctypes.get_errno() != 17:
        raise OSError(ctypes.get_errno(), f"load {path}")
    os.close(fd)


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, f"{words} ends with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def start(*words):
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process, good=True):
    out, error = process.communicate(timeout=300)
    assert (process.returncode == 0) == good, f"{process.args} ends with {process.returncode}: {out[-2000:]}{error[-2000:]}"
    return json.loads(out) if good else error.strip()


def device(netdev, address):
    """A soft-RoCE device on an Ethernet device."""
    run("ip", "addr", "add", f"{address}/24", "dev", netdev)
    run("ip", "link", "set", netdev, "up")
    run("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", netdev)
    for _ in range(100):
        state = Path("/sys/class/infiniband/rxe0/ports/1/state")
        if state.exists() and "ACTIVE" in state.read_text():
            break
        time.sleep(0.1)
    gids = Path("/sys/class/infiniband/rxe0/ports/1/gids")
    mapped = [at.name for at in gids.iterdir() if ":ffff:" in at.read_text()]
    assert mapped, f"no GID of an IPv4 address: {[at.read_text() for at in gids.iterdir()]}"
    return mapped[-1]


def bench(way, address, port, *words, seconds=2):
    """A carc-bench; one that connects tries until the other listens."""
    return start("carc-bench", "--over", "verbs", *LIMIT, "--seconds", str(seconds), f"--{way}", f"{address}:{port}", *words)


def connected(address, port, *words):
    for _ in range(200):
        process = bench("connect", address, port, *words)
        out, error = process.communicate(timeout=300)
        if "refused" not in error and "unreachable" not in error:
            return process, out, error
        time.sleep(0.2)
    raise AssertionError("nobody listens")


def sends(address, port, *words, good=True):
    process, out, error = connected(address, port, *words)
    assert (process.returncode == 0) == good, f"{process.args} ends with {process.returncode}: {out[-2000:]}{error[-2000:]}"
    return json.loads(out) if good else error.strip()


def judged(name, sent, read=None):
    """What holds of a run with credits."""
    assert sent["credits"], sent
    # The limit, and what the law may add.
    assert 0 < sent["most_outstanding_bytes"] <= 2 * 65536, sent
    share = (sent["credit_percent"] if read is None else read["credit_messages"] * 2400 / max(1, sent["sent"] * 4096))
    say(f"{name}: {sent['sent']} messages, {sent['gbps']:.2f} Gb/s, {sent['blocked']} waited, at most {sent['most_outstanding_bytes'] >> 10} KiB unread, credit messages {share:.2f} % of bytes")


def one():
    run("ip", "link", "add", "veth0", "type", "veth", "peer", "name", "veth1")
    run("ip", "link", "set", "veth1", "up")
    index = device("veth0", READS)
    say(f"Linux {os.uname().release}, {run('rdma', 'link').strip()}")
    other = start("ibv_rc_pingpong", "-d", "rxe0", "-g", index, "-n", "200")
    time.sleep(1)
    said = run("ibv_rc_pingpong", "-d", "rxe0", "-g", index, "-n", "200", READS)
    other.communicate(timeout=60)
    say(f"ibv_rc_pingpong: {said.strip().splitlines()[-1]}")
    reader = bench("listen", READS, 4001)
    sent = sends(READS, 4001)
    judged("one way", sent, end(reader))
    reader = bench("listen", READS, 4002, "--work", "200000")
    sent = sends(READS, 4002)
    assert sent["blocked"] > 0, sent
    judged("a slow reader", sent, end(reader))
    reader = bench("listen", READS, 4003, "--traffic", "echo")
    sent = sends(READS, 4003, "--traffic", "echo")
    assert sent["echoes"] > 0, sent
    judged(f"echo, P50 {sent['p50_us']:.0f} us", sent, end(reader))
    # Without credits at either end: the reader has 512 receives, then RNR NAKs hold the sender back.
    reader = bench("listen", READS, 4004, "--no-credits", "--work", "1000000")
    sent = sends(READS, 4004, "--no-credits")
    read = end(reader)
    retries = counter("rcvd_rnr_err")
    assert not sent["credits"] and read["read"] > 0, (sent, read)
    say(f"no credits: {sent['sent']} sent, {read['read']} read, RNR NAKs {retries}")
    assert retries > 0, "the receive queue ran dry"
    # One end alone.
    reader = bench("listen", READS, 4005)
    sent = sends(READS, 4005, "--no-credits")
    said = reader.communicate(timeout=300)[1]
    assert not sent["credits"] and said.count("does without credits") == 1, said
    say("a peer without credits: off, with one line")
    reader = bench("listen", READS, 4006)
    said = sends(READS, 4006, "--break-credits", good=False)
    assert "connection of credit messages failed" in said, said
    reader.kill()
    reader.communicate()
    say("a broken queue pair of credit messages ends the connection: " + said)
    reader = bench("listen", READS, 4007)
    for _ in range(100):
        sender = bench("connect", READS, 4007, seconds=200)
        time.sleep(2)
        if sender.poll() is None:
            break
    reader.kill()
    said = sender.communicate(timeout=300)
    assert sender.returncode != 0 and "failed" in said[1], said
    say("a reader that is killed ends the connection: " + said[1].strip())


def counter(name):
    at = Path("/sys/class/infiniband/rxe0/ports/1/hw_counters") / name
    return int(at.read_text())


def reads():
    device("eth0", READS)
    for port, words in [(5001, []), (5002, ["--traffic", "echo"])]:
        read = end(bench("listen", READS, port, *words))
        say(f"{read['read']} messages read, {read['credit_messages']} credit messages")


def sends_two():
    device("eth0", SENDS)
    judged("one way", sends(READS, 5001))
    sent = sends(READS, 5002, "--traffic", "echo")
    judged(f"echo, P50 {sent['p50_us']:.0f} us", sent)


def main(modules):
    try:
        for kind, at in [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/tmp"), ("tmpfs", "/run"), ("devtmpfs", "/dev")]:
            if not (kind == "devtmpfs" and os.path.exists("/dev/null")):
                mount(kind, at)
        os.environ["PATH"] = "/bin"
        for path in modules:
            load(path)
        run("ip", "link", "set", "lo", "up")
        role = next(word.removeprefix("role=") for word in Path("/proc/cmdline").read_text().split() if word.startswith("role="))
        {"one": one, "reads": reads, "sends": sends_two}[role]()
        say("passed")
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    LIBC.reboot(POWER_OFF)
