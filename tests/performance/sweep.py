#!/usr/bin/env python3
"""What a sweep from Python costs beyond its simulations: CPU and wall time beside the same runs without folders, and with them.

    pip install wheels/*.whl && python3 tests/performance/sweep.py [--runs 100] [--until 4ms]

Runs are those of the preset `websearch` with arrivals until that time, at loads from 0.3 to 0.7 with five seeds each; two processes side by side, one thread
each. Three ways in turn:
`simulate`: Scenario.run, results in memory; `folders`: the same, each with its run directory and report; `sweep`: fb.sweep by its own processes,
with the tables and pages of the whole. CPU is user and system time of all processes, which a busy machine moves less than wall time.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import forebay as fb

SEEDS = 5

HALF = """
import sys
import forebay as fb
s = fb.preset("websearch").set({"traffic[0].until": sys.argv[1]})
for run in sys.argv[3:]:
    load, seed = run.split(":")
    out = sys.argv[2] + "/" + run if sys.argv[2] else None
    s.set(load=float(load)).run(seeds=[int(seed)], jobs=1, out=out, progress=False)
"""


def cpu() -> float:
    """CPU seconds of this process and of children that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(of.ru_utime + of.ru_stime for of in both)


def halves(until: str, runs: list[str], folder: str) -> None:
    """Two processes, each with every other run."""
    each = [subprocess.Popen([sys.executable, "-c", HALF, until, folder, *part]) for part in (runs[0::2], runs[1::2])]
    if any(one.wait() for one in each):
        sys.exit("a run failed")


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--runs", type=int, default=100)
    args.add_argument("--until", default="4ms")
    args = args.parse_args()
    points = max(args.runs // SEEDS, 2)
    loads = [round(0.3 + 0.4 * i / (points - 1), 4) for i in range(points)]
    runs = [f"{load}:{seed}" for load in loads for seed in range(1, SEEDS + 1)]
    s = fb.preset("websearch").set({"traffic[0].until": args.until})
    home = tempfile.mkdtemp()
    ways = {
        "simulate": lambda: halves(args.until, runs, ""),
        "folders": lambda: halves(args.until, runs, os.path.join(home, "folders")),
        "sweep": lambda: fb.sweep(s, {"load": loads}, SEEDS, out=os.path.join(home, "sweep"), jobs=2, progress=False),
    }
    first = None
    for name, way in ways.items():
        began, before = time.monotonic(), cpu()
        way()
        took, used = time.monotonic() - began, cpu() - before
        first = first or (took, used)
        print(f"{name:10} {used:8.2f} s CPU, {used / first[1]:.3f} x; {took:8.2f} s wall, {took / first[0]:.3f} x", flush=True)
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
