#!/usr/bin/env python3
"""Instructions of a websearch run under laws from BPF objects, against the Rust laws that give the same packets.

Counts, never wall time: instructions per packet-hop under cachegrind. A run is counted for two lengths of arrivals; the difference leaves out start,
layout and report. Exits with 1 if a law needs more than its limit.

    tests/performance/bpf_laws.py         of target/release/forebay, or of FOREBAY=path
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("FOREBAY", ROOT / "target" / "release" / "forebay")).resolve()
OBJECTS = ROOT / "crates" / "bpf" / "obj"

# Law, its parameters for the arithmetic of Linux, and how many times its instructions the object may take.
LAWS = [
    ("cubic", "{}", 2.0),
    ("dctcp", '{ alpha = "linux", cut = "packets", prr_on_ce = true }', 2.0),
    ("nv", "{}", 2.2),
]
LENGTHS = ["500us", "1500us"]  # of arrivals


def count(law, params, until):
    """Instructions of a whole process, its packet-hops, and the digest of its run."""
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder, "counts")
        tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={counts}"]
        sets = {"seeds": "[1]", "traffic[0].until": f'"{until}"', "transport.law": f'"{law}"', "transport.params": params}
        command = [*tool, str(BINARY), "run", "--preset", "websearch", "--quiet", "--json", "--out", f"{folder}/run"]
        for key, value in sets.items():
            command += ["--set", f"{key}={value}"]
        done = subprocess.run(command, cwd=OBJECTS, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        run = json.loads(done.stdout)["runs"][0]
        total = int(re.search(r"^summary: (\d+)", counts.read_text(), re.M).group(1))
    return total, run["packet_hops"], run["digest"]


def per_hop(case):
    """Instructions for one more packet-hop, and the digest of the longer run."""
    (less, few, _), (more, many, digest) = (count(*case, until) for until in LENGTHS)
    return (more - less) / (many - few), digest


def main():
    if not BINARY.exists():
        sys.exit(f"{BINARY} is missing: cargo build --release")
    if shutil.which("valgrind") is None:
        print("skipped: instructions of BPF laws (valgrind is not installed)")
        return
    cases = [case for law, params, _ in LAWS for case in [(law, params), (f"bpf:{law}.bpf.o", "{}")]]
    with ThreadPoolExecutor(max_workers=2) as pool:
        measured = list(pool.map(per_hop, cases))
    worse = False
    for (law, _, limit), (own, digest), (bpf, other) in zip(LAWS, measured[::2], measured[1::2]):
        ratio = bpf / own
        same = "the same packets" if digest == other else "other packets"
        print(f"{law:6} {own:7.1f} instructions per packet-hop, {bpf:7.1f} as a BPF object: {ratio:.2f} times (limit {limit}), {same}")
        worse |= ratio > limit
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
