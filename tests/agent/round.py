#!/usr/bin/env python3
"""What a round of six signals costs a loop that a timer wakes every millisecond: CPU time of the agent's loop, beside that of one that reads nothing.

    round.py [SECONDS]      of target/release/forebay-agent; 20 s

Both run at the same time, before all processes of the normal class where that is allowed. A figure is the median over tenths of a second.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AGENT = Path(__file__).resolve().parents[2] / "target/release/forebay-agent"
FILES = {
    "proc/net/softnet_stat": "0000000a 00000001 00000002 00000000 00000000\n",
    "proc/mounts": "",
    "sys/fs/resctrl/schemata": "MB:0=100\n",
    "sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes": "123456789\n",
} | {f"sys/class/net/{nic}/statistics/rx_{kind}_errors": "5\n" for nic in ("eth0", "eth1") for kind in ("missed", "fifo")}
LAW = 'mode = "dry-run"\n[law]\nname = "nicdrop"\n[[nic]]\nname = "eth0"\n[[nic]]\nname = "eth1"\n'


def used(pid):
    """Microseconds of CPU time of the thread that has the rounds."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e3


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    first = ["chrt", "-f", "5"] if shutil.which("chrt") and os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder:
        folder, loops = Path(folder), {}
        for name, text in FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name, text in (("six signals", LAW), ("none", 'mode = "observe"\n')):
            config = folder / f"{name}.toml"
            config.write_text(text)
            words = [*first, AGENT, "run", config, "--root", folder, "--for", f"{seconds + 30:.0f}s"]
            loops[name] = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(1)
            found = {name: [] for name in loops}
            for _ in range(int(seconds * 10)):
                began, before = time.monotonic(), {name: used(of.pid) for name, of in loops.items()}
                time.sleep(0.1)
                for name, of in loops.items():
                    found[name].append((used(of.pid) - before[name]) / (time.monotonic() - began) / 1000)
        finally:
            for of in loops.values():
                of.terminate()
                of.wait()
    medians = {name: statistics.median(values) for name, values in found.items()}
    for name, values in found.items():
        print(f"{name:<12} {medians[name]:6.2f} us of CPU a period (least {min(values):.2f})")
    print(f"a round of six signals: {medians['six signals'] - medians['none']:.2f} us beyond a timer loop that reads nothing")


if __name__ == "__main__":
    main()
