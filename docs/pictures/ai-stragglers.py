#!/usr/bin/env python3
"""Draws the picture of docs/ai-stragglers.md from the folder of a sweep.

    forebay sweep scenarios/ai-straggler.toml --out straggler
    docs/pictures/ai-stragglers.py straggler > docs/pictures/ai-stragglers.svg
"""

import json
import re
import sys
from pathlib import Path

LAW, HOST, CORES = "transport", "host.override[0].memory", "host.override[0].memory.antagonist[0].cores"
LAWS = ["DCQCN", "DCQCN, paper's timers", "Swift", "fixed"]
LINES = ["NIC drops", "NIC pauses", "hostCC", "NIC pauses, hostCC"]
MOST = 100  # ms; above it a line leaves its panel
STYLE = """<style>
.ground { fill: #fff } text { fill: #1f2328 } .faint { fill: #59636e }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.l0 { stroke: #c4561b; fill: #c4561b } .l1 { stroke: #1b6ca8; fill: #1b6ca8 } .l2 { stroke: #8250df; fill: #8250df } .l3 { stroke: #2a8a4a; fill: #2a8a4a }
polyline { fill: none !important; stroke-width: 2.4 }
.l2 > polyline, polyline.l2 { stroke-dasharray: 7 4 }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117 } text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #3d444d }
.l0 { stroke: #f0883e; fill: #f0883e } .l1 { stroke: #58a6ff; fill: #58a6ff } .l2 { stroke: #bc8cff; fill: #bc8cff } .l3 { stroke: #3fb950; fill: #3fb950 }
}
</style>"""
WIDTH, LEFT, TOP, PANEL, GAP = 680, 52, 150, (276, 176), (56, 74)


def label(value):
    """Name of a table among the values of a key."""
    return re.search(r'"label" = "([^"]*)"', value)[1]


def points(folder):
    """Completion time in ms and half of its interval, by law, host and cores; no time where the collective had not ended."""
    found = {}
    for point in json.loads((folder / "sweep.json").read_text())["points"]:
        at = point["settings"]
        summary = json.loads((folder / "points" / point["point"] / "summary.json").read_text())
        of = summary["collective"]["overall"]
        took = of["completion_us"]["mean"]
        ended = of["not_finished"] == 0 and took["mean"] is not None
        low, high = took["ci95"] or (took["mean"], took["mean"])
        value = (took["mean"] / 1e3, (high - low) / 2e3) if ended else None
        found.setdefault(label(at[LAW]), {}).setdefault(label(at[HOST]), {})[int(at[CORES])] = value
    return found


def picture(found):
    width, height = PANEL
    parts = []

    def text(x, y, words, more=""):
        parts.append(f'<text x="{x:.0f}" y="{y:.0f}" {more}>{words}</text>')

    text(16, 30, "One busy server slows a ring all-reduce of 16", 'font-size="20" font-weight="600"')
    text(16, 54, "Completion time in ms, by busy cores on that server", 'class="faint"')
    for i, name in enumerate(LINES):
        x, y = 16 + 330 * (i % 2), 84 + 26 * (i // 2)
        parts.append(f'<polyline class="l{i}" points="{x},{y - 5} {x + 30},{y - 5}"/><circle class="l{i}" cx="{x + 15}" cy="{y - 5}" r="4"/>')
        text(x + 40, y, {"hostCC": "NIC drops, hostCC"}.get(name, name))
    for n, (law, hosts) in enumerate((law, found[law]) for law in LAWS):
        left, top = LEFT + (width + GAP[0]) * (n % 2), TOP + (height + GAP[1]) * (n // 2)
        x_of = lambda cores: left + 14 + cores * (width - 28) / 3
        y_of = lambda ms: top + height - min(ms, MOST) / MOST * height
        text(left, top - 10, law, 'font-weight="600"')
        for ms in (0, 20, 40, 60, 80, 100):
            parts.append(f'<line class="grid" x1="{left}" x2="{left + width}" y1="{y_of(ms):.1f}" y2="{y_of(ms):.1f}"/>')
            text(left - 8, y_of(ms) + 5, ms, 'text-anchor="end" class="faint"')
        for cores in range(4):
            text(x_of(cores), top + height + 22, cores, 'text-anchor="middle" class="faint"')
        for i, name in enumerate(LINES):
            line, dots = [], []
            for cores, value in sorted(hosts[name].items()):
                if value is None or value[0] > MOST:
                    before = hosts[name][cores - 1][0]
                    share = 0.35 if value is None else (MOST - before) / (value[0] - before)
                    line.append((x_of(cores - 1 + share), top))
                    break
                line.append((x_of(cores), y_of(value[0])))
                dots.append(line[-1])
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
            parts.append(f'<polyline class="l{i}" points="{path}"/>')
            parts += [f'<circle class="l{i}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in dots]
    bottom = TOP + 2 * height + GAP[1] + 50
    text(LEFT + width + GAP[0] / 2, bottom, "busy cores", 'text-anchor="middle" class="faint"')
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 18}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="16">\n{STYLE}\n<rect class="ground" width="{WIDTH}" height="{bottom + 18}"/>\n{body}\n</svg>'
    )


if __name__ == "__main__":
    print(picture(points(Path(sys.argv[1]))))
