#!/usr/bin/env python3
"""Captures as the real tshark reads them: nothing malformed, every checksum right, and its analysis equal to our counters.

    tshark.py

Needs target/release/forebay (or the program that FOREBAY names) and tshark; where there is no tshark the test is skipped by name and succeeds.

At the port of the host that sends a flow, every segment that tshark calls a retransmission (plain, fast or spurious) is
one that our sender sent again, and the other way round: nothing can overtake anything there. Behind a lossy queue, or
where paths reorder, it has to guess; see docs/exports.md.
"""

import collections
import csv
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

NAME = "captures/tshark"
ROOT = pathlib.Path(__file__).resolve().parents[2]
FOREBAY = pathlib.Path(os.environ.get("FOREBAY", ROOT / "target/release/forebay"))

HEAD = """version = 1
name = "%s"
seeds = [1]
stop = { time = "%s", flows = "all" }
"""

TWO_FLOWS = """
[[traffic]]
kind = "list"
flows = [
  { from = "left.host[0]", to = "right.host[0]", size = "1MB", at = "10us" },
  { from = "left.host[1]", to = "right.host[1]", size = "3MB", at = "20us" },
]
"""

DUMBBELL = """
[fabric]
kind = "dumbbell"
left = %d
right = %d
host_link = { rate = "%s", delay = "%s" }
bottleneck = { rate = "%s", delay = "%s" }
[fabric.switch]
"""

# A queue that is too small drops, and a cable loses one packet in a hundred, ACKs included.
LOSSY = HEAD % ("lossy", "400ms") + DUMBBELL % (2, 2, "10Gbps", "2us", "10Gbps", "10us") + """\
port_limit = "60KB"
[[fabric.override]]
where = "left-right"
loss = 0.01
[transport]
kind = "tcp"
law = "reno"
rto_min = "5ms"
mtu = "%s"
""" + TWO_FLOWS + """
[[output.capture]]
where = "left.host[*]"
snap = "64KiB"
[[output.capture]]
where = "right.host[*]"
[[output.capture]]
where = "left->right"
"""

# Marks at one queue, which only data crosses.
MARKED = HEAD % ("marked", "40ms") + DUMBBELL % (2, 2, "10Gbps", "2us", "5Gbps", "10us") + """\
ecn = { k = "30KB" }
[transport]
kind = "tcp"
law = "dctcp"
""" + TWO_FLOWS + """
[[output.capture]]
where = "left->right"
direction = "out"
[[output.capture]]
where = "right.host[1]->right"
"""

# One segment there and one ACK back: the time to the ACK is the sender's one RTT sample.
LONE = HEAD % ("lone", "1ms") + DUMBBELL % (1, 1, "25Gbps", "1234567ps", "10Gbps", "7654321ps") + """\
latency = "345678ps"
[transport]
kind = "tcp"
law = "reno"
[[traffic]]
kind = "list"
flows = [{ from = "left.host[0]", to = "right.host[0]", size = "1000B", at = "7us" }]
[[output.capture]]
where = "left.host[0]"
"""

# Many flows, so many port numbers: none must look like a protocol that tshark knows.
MANY = HEAD % ("many", "300us") + """
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 8
host_link = { rate = "100Gbps", delay = "500ns" }
[transport]
kind = "tcp"
law = "dctcp"
[[traffic]]
kind = "poisson"
sizes = "websearch"
load = 0.4
[[traffic]]
kind = "all-to-all"
size = "3KB"
[[output.capture]]
where = "leaf[0]->spine[*]"
[[output.capture]]
where = "leaf[1].host[3]"
"""

# What the Linux stack and NIC do: super-packets out, interrupts and merging in. On the wire there are segments all the same.
LINUX = LOSSY.replace('name = "lossy"', 'name = "linux"') % "1500B" + """
[host]
profile = "linux"
"""

# Calls and answers over connections that stay open, each stream of them a connection of its own.
CALLS = [
    ("seeds = [1, 2, 3]", "seeds = [1]"), ('time = "1s"', 'time = "20ms"'), ('warmup = "100ms"', 'warmup = "1ms"'),
    ('request = "1MB"', 'request = "100KB"'),
]
CALLS_SEEN = """
[[output.capture]]
where = "host[0]"
[[output.capture]]
where = "host[1]"
"""

# Queue pairs that lose packets and are marked and paused, with TCP beside them.
QUEUE_PAIRS = HEAD % ("queue-pairs", "40ms") + """
[fabric]
kind = "star"
hosts = 3
host_link = { rate = "100Gbps", delay = "1us" }
[[fabric.override]]
where = "tor-host[0]"
loss = 0.002
[fabric.switch]
classes = 3
buffer = { size = "400KB" }
pause = { classes = [1] }
ecn = { kmin = "20KB", kmax = "80KB", pmax = 0.1 }
[transport]
kind = "tcp"
law = "reno"
[transports.verbs]
kind = "rdma"
law = "dcqcn"
class = 1
ack_class = 2
[[traffic]]
kind = "list"
flows = [
    { from = "host[1]", to = "host[0]", size = "1999997B", at = "1us" },
    { from = "host[2]", to = "host[0]", size = "3MB", at = "1us" },
]
transport = "verbs"
[[traffic]]
kind = "list"
flows = [{ from = "host[1]", to = "host[0]", size = "200KB", at = "1us" }]
[[output.capture]]
where = "host[*]"
[[output.capture]]
where = "tor->host[0]"
"""

# A switch that pauses another one.
PAUSED_SEEN = """
[[output.capture]]
where = "left->right"
[[output.capture]]
where = "right.host[2]"
"""


def shipped(name, changes, seen):
    """A scenario that comes with the product, shortened, with captures."""
    text = (ROOT / "scenarios" / name).read_text().split("[[expect]]")[0]
    for old, new in changes:
        check(old in text, f"{name} has no {old}")
        text = text.replace(old, new)
    return text + seen


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def check(truth, what):
    if not truth:
        raise AssertionError(what)


def equal(found, expected, what):
    check(found == expected, f"{what}: tshark says {found}, the run {expected}")


def tshark(path, *arguments):
    """What tshark prints, line by line."""
    command = ["tshark", "-r", str(path), "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{path}: {done.stderr}")
    return done.stdout.splitlines()


FIELDS = [
    "frame.comment", "frame.time_epoch", "frame.len", "frame.cap_len", "frame.protocols", "_ws.malformed",
    "ip.src", "ip.len", "ip.checksum.status", "ip.dsfield.ecn", "tcp.checksum.status", "tcp.srcport", "tcp.dstport",
    "tcp.len", "tcp.flags.ece", "tcp.options.sack.count", "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission", "tcp.analysis.spurious_retransmission", "tcp.analysis.out_of_order",
    "tcp.analysis.ack_rtt", "frame.drop_count", "frame.packet_flags_direction", "tcp.flags.fin", "tcp.flags.reset",
    "_ws.expert.message", "macc.opcode", "macc.pause_time", "eth.dst",
]


def frames(path):
    """All frames of a file, each checked for what holds of any."""
    arguments = ["-T", "fields", "-E", "separator=|"]
    for field in FIELDS:
        arguments += ["-e", field]
    found = [dict(zip(FIELDS, line.split("|"))) for line in tshark(path, *arguments)]
    check(found, f"{path} has no frames")
    for number, frame in enumerate(found, 1):
        where = f"{path}, frame {number}"
        check(not frame["_ws.malformed"], f"{where} is malformed")
        frame["real"] = not frame["frame.comment"]
        frame["out"] = frame["frame.packet_flags_direction"] in ("2", "0x2", "0x00000002")
        if frame["frame.protocols"] == "eth:ethertype:macc":
            frame["flows"] = set()
            continue
        check(frame["frame.protocols"] in ("eth:ethertype:ip:tcp", "eth:ethertype:ip:tcp:data"),
              f"{where} is taken for {frame['frame.protocols']}")
        equal(frame["ip.checksum.status"], "1", f"{where}, checksum of IP")
        whole = frame["frame.len"] == frame["frame.cap_len"]
        equal(frame["tcp.checksum.status"], "1" if whole else "2", f"{where}, checksum of TCP")
        ports = [int(frame["tcp.srcport"]) - 49152, int(frame["tcp.dstport"]) - 49152]
        frame["flows"] = {ports[0] + (ports[1] << 14), ports[1] + (ports[0] << 14)}
    return found


def run(folder, name, scenario):
    path = folder / f"{name}.toml"
    path.write_text(scenario)
    out = folder / name
    subprocess.run([FOREBAY, "run", path, "--out", out, "--quiet", "--progress", "off"], check=True)
    return out


def captures(out):
    """Seed, port and path of every capture."""
    for path in sorted(out.glob("captures/seed-*/*.pcapng")):
        info = subprocess.run(["capinfos", path], capture_output=True, text=True, check=True).stdout
        check("Strict time order:   True" in info, f"{path} is not in order of time")
        port = next(line.split(" = ")[1] for line in info.splitlines() if " Name = " in line)
        yield path.parent.name.split("-")[1], port, path


def port_row(out, seed, port):
    node, peer = port.split("->")
    return next(r for r in rows(out / "ports.csv") if (r["seed"], r["node"], r["peer"]) == (seed, node, peer))


def column(row, start):
    return next(int(value) for key, value in row.items() if key.startswith(start))


def lossy(folder, name, scenario):
    out = run(folder, name, scenario)
    flows = rows(out / "flows.csv")
    again = seen = dropped = 0
    for seed, port, path in captures(out):
        found = frames(path)
        real = [f for f in found if f["real"]]
        host = port.split("->")[0]
        equal(len(found) - len(real), 6 if host == "left" else 3, f"{path}: synthetic frames")
        if host == "left":
            row = port_row(out, seed, port)
            equal(sum(f["out"] for f in real), column(row, "tx_packets"), f"{path}: frames sent, those that the cable lost too")
            equal(sum(int(f["frame.drop_count"] or 0) for f in real), column(row, "dropped_packets"), f"{path}: refused by the queue")
            dropped += column(row, "dropped_packets")
            continue
        if host.startswith("right"):
            seen += sum(bool(f["tcp.options.sack.count"]) for f in real)
            continue
        flow = next(f for f in flows if (f["seed"], f["src"]) == (seed, host))
        check(all(int(flow["flow"]) in f["flows"] for f in real), f"{path}: ports do not give the flow")
        sent = [f for f in real if f["out"]]
        row = port_row(out, seed, port)
        equal(len(sent), column(row, "tx_packets"), f"{path}: frames sent")
        equal(sum(int(f["ip.len"]) for f in sent), column(row, "tx_bytes"), f"{path}: bytes sent")
        repeated = [f for f in sent if any(f[f"tcp.analysis.{kind}"] for kind in
                    ("retransmission", "fast_retransmission", "spurious_retransmission"))]
        equal(len(repeated), int(flow["retransmits"]), f"{path}: retransmissions")
        equal(sum(bool(f["tcp.analysis.out_of_order"]) for f in sent), 0, f"{path}: out of order")
        first = sum(int(f["tcp.len"]) for f in sent) - sum(int(f["tcp.len"]) for f in repeated)
        equal(first, int(flow["size_bytes"]), f"{path}: bytes of the flow")
        again += len(repeated)
    check(min(again, seen, dropped) > 10, f"only {again} retransmissions, {seen} SACKs, {dropped} drops: too calm to show anything")
    return f"{again} retransmissions, {dropped} drops"


def marked(folder):
    out = run(folder, "marked", MARKED)
    marks = 0
    for seed, port, path in captures(out):
        real = [f for f in frames(path) if f["real"]]
        ce = sum(f["ip.dsfield.ecn"] == "3" for f in real)
        if port == "left->right":
            row = port_row(out, seed, port)
            equal(ce, column(row, "marked"), f"{path}: CE")
            equal(len(real), column(row, "tx_packets"), f"{path}: frames sent")
            marks += ce
        else:
            echoes = sum(f["tcp.flags.ece"] in ("1", "True") for f in real if f["out"])
            equal(echoes, ce, f"{path}: ACKs with ECE for frames with CE, one ACK each")
    check(marks > 20, f"only {marks} marks")
    return f"{marks} marks"


def lone(folder):
    out = run(folder, "lone", LONE)
    for seed, _, path in captures(out):
        rtts = [f["tcp.analysis.ack_rtt"] for f in frames(path) if f["real"] and f["tcp.analysis.ack_rtt"]]
        flow = next(f for f in rows(out / "flows.csv") if f["seed"] == seed)
        ours = int(flow["acked_ps"]) - int(flow["start_ps"])
        check(len(rtts) == 1, f"{path}: {len(rtts)} RTT samples for one segment")
        theirs = round(float(rtts[0]) * 1e9)
        # Both times are cut to whole nanoseconds, as Wireshark keeps them.
        check(abs(theirs - ours / 1000) < 1, f"{path}: an RTT of {theirs} ns, ours is {ours} ps")
    return f"RTT {ours} ps"


def many(folder):
    out = run(folder, "many", MANY)
    total, flows = 0, collections.Counter()
    for seed, port, path in captures(out):
        real = [f for f in frames(path) if f["real"]]
        equal(sum(f["out"] for f in real), column(port_row(out, seed, port), "tx_packets"), f"{path}: frames sent")
        total += len(real)
        flows.update(f["tcp.srcport"] + " " + f["tcp.dstport"] for f in real)
        names = tshark(path, "-N", "n", "-c", "1", "-T", "fields", "-e", "ip.src_host")
        check(names[0].startswith("leaf["), f"{path}: {names[0]} is no host's name")
    return f"{total} frames of {len(flows)} port pairs"


def calls(folder):
    out = run(folder, "calls", shipped("rpc.toml", CALLS, CALLS_SEEN))
    flows = rows(out / "flows.csv")
    connections = rows(out / "connections.csv")
    answers = 0
    for seed, port, path in captures(out):
        found = frames(path)
        host = port.split("->")[0]
        row = port_row(out, seed, port)
        equal(sum(f["out"] and f["real"] for f in found), column(row, "tx_packets"), f"{path}: frames sent")
        odd = [f["_ws.expert.message"] for f in found if f["real"] and ("1" in f["tcp.flags.fin"] + f["tcp.flags.reset"]
               or "True" in f["tcp.flags.fin"] + f["tcp.flags.reset"])]
        equal(odd, [], f"{path}: connections closed")
        # One connection for each stream, opened once and idle between calls; a host has those at whose ends it is.
        mine = [c for c in connections if host in (c["client"], c["server"])]
        streams = {int(c[key]) for c in mine for key in ("request_flow", "response_flow")}
        conversations = collections.Counter(frozenset((f["tcp.srcport"], f["tcp.dstport"], f["ip.src"]) if f["tcp.len"] != "0" else ())
                                            for f in found if f["real"])
        conversations.pop(frozenset(), None)
        equal(len(conversations), len(streams), f"{path}: streams with data")
        equal(len(found) - sum(f["real"] for f in found), 3 * len(streams), f"{path}: frames of handshakes")
        again = sum(bool(f[f"tcp.analysis.{kind}"]) for f in found if f["out"] and f["real"] and f["tcp.len"] != "0"
                    for kind in ("retransmission", "fast_retransmission", "spurious_retransmission"))
        equal(again, sum(int(f["retransmits"]) for f in flows if (f["seed"], f["src"]) == (seed, host)), f"{path}: retransmissions")
        answers += sum(f["tcp.len"] == "64" for f in found)
    check(answers > 50, f"only {answers} answers")
    return f"{answers} answers"


def paused(folder):
    out = run(folder, "paused", shipped("link-pause.toml", [('time = "3s"', 'time = "100ms"')], PAUSED_SEEN))
    count = 0
    for seed, port, path in captures(out):
        found = frames(path)
        row = port_row(out, seed, port)
        pauses = [f for f in found if f["macc.opcode"]]
        equal(len(pauses), sum(column(row, f"pause_frames_{way}") for way in ("sent", "received")), f"{path}: pause frames")
        equal(sum(f["out"] for f in found if f["real"]) - sum(f["out"] for f in pauses), column(row, "tx_packets"), f"{path}: frames sent")
        for number, frame in enumerate(pauses):
            said = [frame[field] for field in ("frame.len", "eth.dst", "macc.pause_time")]
            said += [int(frame["macc.opcode"], 0)]
            equal(said, ["60", "01:80:c2:00:00:01", "0" if number % 2 else "65535", 1], f"{path}: pause frame {number}")
        count += len(pauses)
    check(count > 100, f"only {count} pause frames")
    return f"{count} pause frames"


ROCE = [
    "frame.protocols", "frame.len", "frame.cap_len", "_ws.malformed", "frame.packet_flags_direction", "ip.src", "ip.len", "ip.checksum.status",
    "ip.dsfield.ecn", "ip.dsfield.dscp", "udp.length", "infiniband.bth.opcode", "infiniband.bth.padcnt", "infiniband.bth.destqp",
    "infiniband.bth.psn", "infiniband.bth.a", "infiniband.aeth.syndrome.opcode", "infiniband.aeth.msn", "infiniband.invariant.crc",
    "_ws.col.Info",
]


def roce(path):
    """All packets of queue pairs in a file, and how many other frames there are."""
    arguments = ["-T", "fields", "-E", "separator=|"]
    for field in ROCE:
        arguments += ["-e", field]
    found = [dict(zip(ROCE, line.split("|"))) for line in tshark(path, *arguments)]
    mine = [f for f in found if "infiniband" in f["frame.protocols"]]
    for number, frame in enumerate(mine, 1):
        where = f"{path}, packet {number}"
        check(not frame["_ws.malformed"], f"{where} is malformed")
        # Wireshark cannot read the payload of a packet that is cut, and says so in this column alone.
        check("Malformed" not in frame["_ws.col.Info"], f"{where} is shown as {frame['_ws.col.Info']}")
        check(frame["frame.protocols"].startswith("eth:ethertype:ip:udp:infiniband"), f"{where} is taken for {frame['frame.protocols']}")
        equal(frame["ip.checksum.status"], "1", f"{where}, checksum of IP")
        equal(int(frame["ip.len"]) - 20, int(frame["udp.length"]), f"{where}, length of UDP")
        equal(int(frame["ip.len"]) + 14, int(frame["frame.len"]), f"{where}, length")
        frame["out"] = frame["frame.packet_flags_direction"] in ("2", "0x2", "0x00000002")
        frame["code"] = int(frame["infiniband.bth.opcode"], 0)
        frame["number"] = int(frame["infiniband.bth.psn"], 0)
        if frame["frame.len"] == frame["frame.cap_len"] and frame["code"] != 0x81:  # of a CNP tshark shows no more than its first header
            check(frame["infiniband.invariant.crc"] != "", f"{where} has no invariant CRC")
    return mine, len(found) - len(mine)


def queue_pairs(folder, name, scenario):
    out = run(folder, name, scenario)
    flows = rows(out / "flows.csv")
    seen = collections.Counter()
    for seed, port, path in captures(out):
        mine, others = roce(path)
        sent = [f for f in mine if f["out"]]
        host = port.split("->")[0]
        row = port_row(out, seed, port)
        if host == "tor":
            equal(sum(f["ip.dsfield.ecn"] == "3" for f in sent), column(row, "marked"), f"{path}: CE")
            seen["marks"] += column(row, "marked")
            continue
        check(others > 0 or host == "host[2]", f"{path}: no TCP")
        flow = next((f for f in flows if (f["seed"], f["src"]) == (seed, host)), None)
        if flow is None:
            seen["naks"] += sum(f["code"] == 0x11 and f["infiniband.aeth.syndrome.opcode"] in ("3", "0x03") for f in sent)
            seen["acks"] += sum(f["code"] == 0x11 and f["infiniband.aeth.syndrome.opcode"] in ("0", "0x00") for f in sent)
            seen["cnps"] += sum(f["code"] == 0x81 for f in sent)
            check({f["code"] for f in sent} == {0x11, 0x81}, f"{path}: other packets than ACKs and CNPs")
            continue
        size, highest, again, whole = int(flow["size_bytes"]), -1, 0, 0
        check({f["infiniband.bth.destqp"] for f in sent} == {f"0x{int(flow['flow']) + 2:06x}"}, f"{path}: queue pairs")
        for frame in sent:
            payload = int(frame["ip.len"]) - 44 - int(frame["infiniband.bth.padcnt"])
            last = (frame["number"] + 1) * 1000 >= size
            equal(frame["code"], 2 if last else 0 if frame["number"] == 0 else 1, f"{path}: opcode of packet {frame['number']}")
            if frame["number"] > highest:
                equal(frame["number"], highest + 1, f"{path}: numbers")
                highest, whole = frame["number"], whole + payload
            else:
                again += 1
        equal(whole, size, f"{path}: bytes of the message")
        equal(again, int(flow["retransmits"]), f"{path}: packets sent again")
        seen["again"] += again
    check(min(seen[what] for what in ("marks", "naks", "acks", "cnps", "again")) > 3, f"too calm: {dict(seen)}")
    return ", ".join(f"{n} {what}" for what, n in sorted(seen.items()))


MESSAGE = [
    "_ws.malformed", "frame.packet_flags_direction", "ip.len", "ip.checksum.status", "udp.checksum.status", "forebay.kind", "forebay.flow",
    "forebay.payload",
]


def messages(folder):
    """A shipped incast of NDP at its receiver, read by the dissector that comes with it: headers that are there are trims that did not go back."""
    scenario = shipped("ndp-incast.toml", [], "\n[[output.capture]]\nwhere = \"host[0]\"\nsnap = \"64KiB\"\n")
    out = run(folder, "messages", scenario)
    script = ["-X", f"lua_script:{ROOT / 'docs/forebay.lua'}", "-o", "udp.check_checksum:TRUE", "-T", "fields", "-E", "separator=|"]
    for field in MESSAGE:
        script += ["-e", field]
    (seed, _, path), = captures(out)
    found = [dict(zip(MESSAGE, line.split("|"))) for line in tshark(path, *script)]
    kinds, payload = collections.Counter(), 0
    for number, frame in enumerate(found, 1):
        where = f"{path}, packet {number}"
        check(not frame["_ws.malformed"], f"{where} is malformed")
        equal([frame["ip.checksum.status"], frame["udp.checksum.status"]], ["1", "1"], f"{where}, checksums")
        check(frame["forebay.kind"] != "", f"{where} has no header of a message")
        kinds[frame["forebay.kind"]] += 1
        payload += int(frame["forebay.payload"]) if frame["forebay.kind"] == "1" else 0
    flows = rows(out / "flows.csv")
    equal({f["forebay.flow"] for f in found}, {f["flow"] for f in flows}, "flows")
    equal(payload, sum(int(f["size_bytes"]) for f in flows), "payload")
    sent, came = port_row(out, seed, "host[0]->tor"), port_row(out, seed, "tor->host[0]")
    equal(kinds["1"] + kinds["2"], column(came, "tx_packets"), "data and headers")
    equal(kinds["2"], column(came, "trimmed") - column(came, "returned"), "headers")
    equal(kinds["7"], sum(int(r["credits_sent"]) for r in rows(out / "credits.csv")), "pulls")
    equal(kinds["4"] + kinds["5"] + kinds["7"], column(sent, "tx_packets"), "answers")
    check(kinds["2"] > 100, f"too calm: {dict(kinds)}")
    return ", ".join(f"{n} of kind {kind}" for kind, n in sorted(kinds.items()))


def main():
    if shutil.which("tshark") is None or shutil.which("capinfos") is None:
        print(f"skipped: {NAME}: tshark is not installed")
        return 0
    if not FOREBAY.exists():
        print(f"{FOREBAY} is missing: cargo build --release makes it")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        print("lossy, 1500 B:", lossy(folder, "lossy-1500", LOSSY % "1500B"))
        print("lossy, 9000 B:", lossy(folder, "lossy-9000", LOSSY % "9000B"))
        print("linux:", lossy(folder, "linux", LINUX))
        print("marked:", marked(folder))
        print("lone:", lone(folder))
        print("many:", many(folder))
        print("calls:", calls(folder))
        print("paused:", paused(folder))
        print("queue pairs:", queue_pairs(folder, "queue-pairs", QUEUE_PAIRS))
        large = QUEUE_PAIRS.replace('where = "host[*]"', 'where = "host[*]"\nsnap = "64KiB"')
        print("queue pairs, 64 KiB of each frame:", queue_pairs(folder, "queue-pairs-64k", large))
        print("messages:", messages(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
