#!/usr/bin/env python3
"""Fails when posting a request and taking its credits back costs more instructions than the baseline says, or than the budget.

Counts by cachegrind, never time. The fixed schedule of carc-bench runs with credits and without them, each for two numbers of messages.
What one more message costs with credits, less what it costs without, is what credits add to the ring.

    tests/credits/instructions.py             compare
    tests/credits/instructions.py --renew     measure and write the baseline
    tests/credits/instructions.py --picture   draw docs/pictures/credits-misses.svg
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "docs/pictures"))
from themes import themed  # noqa: E402

BASELINE = HERE / "baseline.json"
BENCH = ROOT / "target" / os.environ.get("FOREBAY_PROFILE", "release") / "carc-bench"
SLACK = 1.03
BUDGET = 250
CREDIT_BYTES = 0.01


def run(*words, cache=False):
    """Instructions of a run, what it prints, and reads and misses of `consume`."""
    with tempfile.NamedTemporaryFile() as out:
        sizes = ["--cache-sim=yes", "--LL=1048576,16,64"] if cache else []
        tool = ["valgrind", "--tool=cachegrind", *sizes, f"--cachegrind-out-file={out.name}"]
        done = subprocess.run([*tool, str(BENCH), *words], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
        if done.returncode != 0:
            sys.exit(f"{BENCH} {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        text = Path(out.name).read_text()
    events = re.search(r"^events: (.*)$", text, re.M).group(1).split()
    total = dict(zip(events, map(int, re.search(r"^summary: (.*)$", text, re.M).group(1).split())))
    inside, consumed = False, dict.fromkeys(events, 0)
    for line in text.splitlines():
        if line.startswith("fn="):
            inside = "fixed" in line and "consume" in line
        elif inside and line[:1].isdigit():
            for name, count in zip(events, line.split()[1:]):
                consumed[name] += int(count)
    return total["Ir"], json.loads(done.stdout), consumed


def per_message(schedule, *words):
    """Instructions of one more message."""
    few, many = 2000, 6000
    of = [run("--schedule", schedule, "--messages", str(n), *words)[0] for n in (few, many)]
    return (of[1] - of[0]) / (many - few)


def measure():
    # Small messages, so that the payload does not hide what credits cost.
    size = ["--message", "64", "--ring", "64K", "--limit", "32K"]
    found = {"paced": per_message("paced", *size) - per_message("paced", *size, "--no-credits")}
    _, said, _ = run("--schedule", "slow", "--messages", "4000")
    found["credit_bytes"] = said["control_bytes"] / said["data_bytes"]
    return found


def picture():
    """Share of reads that miss against unread bytes, with and without credits."""
    points = []
    for kib in (128, 256, 512, 768, 1024, 1536, 2048, 4096):
        row = [kib]
        for words in (["--no-credits"], []):
            _, _, of = run("--schedule", "slow", "--ring", f"{kib}K", "--limit", "512K", "--messages", str(max(4096, kib)), *words, cache=True)
            row.append(100 * of["DLmr"] / of["Dr"])
        points.append(row)
        print(row, flush=True)
    left, right, top, bottom = 70, 640, 50, 290
    x = lambda at: left + (right - left) * at / (len(points) - 1)  # noqa: E731
    y = lambda percent: bottom - (bottom - top) * percent / 100  # noqa: E731
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 350" font-family="sans-serif" font-size="13">', '<rect width="860" height="350" fill="#fff"/>']
    out.append(f'<text x="{left}" y="26" font-size="15" font-weight="600">Reads that miss a cache of 1 MiB, by the room for unread data</text>')
    for percent in (0, 25, 50, 75, 100):
        out.append(f'<path d="M{left} {y(percent):.1f}H{right}" stroke="#ddd"/><text x="{left - 8}" y="{y(percent) + 4:.1f}" text-anchor="end">{percent} %</text>')
    for at, (kib, *_) in enumerate(points):
        label = f"{kib >> 10} MiB" if kib % 1024 == 0 else f"{kib} KiB"
        out.append(f'<text x="{x(at):.1f}" y="{bottom + 20}" text-anchor="middle">{label}</text>')
    out.append(f'<text x="{(left + right) / 2}" y="{bottom + 44}" text-anchor="middle">ring</text>')
    for column, colour, name in ((1, "#c4561b", "without credits"), (2, "#1b6ca8", "with credits for 512 KiB")):
        path = " ".join(f"{'M' if at == 0 else 'L'}{x(at):.1f} {y(row[column]):.1f}" for at, row in enumerate(points))
        out.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/><text x="{right + 10}" y="{y(points[-1][column]) + 4:.1f}" fill="{colour}">{name}</text>')
    (ROOT / "docs/pictures/credits-misses.svg").write_text(themed("\n".join([*out, "</svg>"]) + "\n"))


def main():
    if "--picture" in sys.argv:
        return picture()
    found = measure()
    if "--renew" in sys.argv:
        BASELINE.write_text(json.dumps({"paced": round(found["paced"], 1)}, indent=1) + "\n")
    baseline = json.loads(BASELINE.read_text())
    print(f"post and complete: {found['paced']:.1f} instructions beyond the ring (baseline {baseline['paced']:.1f}, budget {BUDGET})")
    print(f"credit messages: {100 * found['credit_bytes']:.3f} % of bytes at 4 KiB")
    if found["paced"] > min(baseline["paced"] * SLACK, BUDGET):
        sys.exit("credits cost more instructions than they may; if that is meant, tests/credits/instructions.py --renew")
    if found["credit_bytes"] > CREDIT_BYTES:
        sys.exit("credit messages take more than 1 % of the bytes")


if __name__ == "__main__":
    main()
