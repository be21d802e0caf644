#!/usr/bin/env python3
"""Draws the pictures of docs/notes/host-congestion.md and carc.md from results directories.

    forebay sweep scenarios/host/bursts.toml --out bursts
    docs/pictures/host-congestion.py bursts bursts > docs/pictures/host-bursts.svg

    set -- scenarios/host/wake.toml --set 'host.override[0].memory.control.params'
    forebay run "$@={}" --out paper
    forebay run "$@={ bandwidth_weight = \"1/8\" }" --out fast
    forebay run "$@={ lower_hold = \"1ms\" }" --out hold
    docs/pictures/host-congestion.py wake paper fast hold > docs/pictures/host-wake.svg

    set -- scenarios/host/two-nics.toml --set 'sweep={}' --set traffic[1].start=8ms --set output.warmup=2ms --set stop.time=20ms
    set -- "$@" --set 'output.memory={ every = "20us" }' --set 'host.override[0].memory.control.params'
    forebay run "$@={ local_response = false, network_response = false }" --out without
    forebay run "$@={}" --out with
    docs/pictures/host-congestion.py nics without with > docs/pictures/host-nics.svg

    set -- scenarios/carc-oscillation.toml --set 'sweep={}' --set fabric.host_link.delay=25us --set traffic[0].pool.params.delta_gain
    for gain in 5 25 100; do forebay run "$@=$gain" --out gain$gain; done
    docs/pictures/host-congestion.py gains gain5 gain25 gain100 > docs/pictures/carc-oscillation.svg
"""

import csv
import json
import math
import sys

from themes import themed

COLOURS = ["#666666", "#1b6ca8", "#c4561b", "#2a8a4a"]
LEFT, WIDTH, GAP, PANEL = 70, 700, 34, 150


class Picture:
    """Panels above each other over one axis."""

    def __init__(self, title, x_of, ticks, x_label):
        self.x_of, self.ticks, self.x_label = x_of, ticks, x_label
        self.parts, self.top = [], 44
        self.text(LEFT, 24, title, 'font-size="15" font-weight="600"')

    def text(self, x, y, text, more=""):
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {more}>{text}</text>')

    def line(self, points, colour, dash=""):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>'
        )

    def panel(self, label, most, marks, curves):
        """Curves are (colour, [(x, value)], dots)."""
        top, bottom = self.top + 16, self.top + 16 + PANEL
        y_of = lambda value: bottom - min(value, most) / most * PANEL
        self.text(LEFT, top - 5, label, 'font-weight="600"')
        for mark in marks:
            self.line([(LEFT, y_of(mark)), (LEFT + WIDTH, y_of(mark))], "#e3e3e3")
            self.text(LEFT - 8, y_of(mark) + 4, f"{mark:g}", 'text-anchor="end"')
        for _, at in self.ticks:
            self.line([(at, bottom), (at, bottom + 4)], "#888888")
        for colour, points, dots in curves:
            at = [(self.x_of(x), y_of(y)) for x, y in points]
            self.line(at, colour)
            for x, y in at if dots else []:
                self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
        self.top = bottom + GAP

    def svg(self, names):
        for label, at in self.ticks:
            self.text(at, self.top - GAP + 18, label, 'text-anchor="middle"')
        self.text(LEFT + WIDTH / 2, self.top - GAP + 36, self.x_label, 'text-anchor="middle"')
        y = self.top + 24
        x = LEFT
        for colour, name in names:
            self.line([(x, y - 4), (x + 22, y - 4)], colour)
            self.text(x + 28, y, name)
            x += 46 + 6.6 * len(name)
        body = "\n".join(self.parts)
        width, height = LEFT + WIDTH + 30, y + 16
        return themed(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="12">\n'
            f'<rect width="{width}" height="{height:.0f}" fill="#fff"/>\n{body}\n</svg>'
        )


def microseconds(text):
    """A time such as "30us" or "1ms"."""
    number, unit = text[:-2], text[-2:]
    return float(number) * {"us": 1, "ms": 1000}[unit]


def bursts(folder):
    """Drops, goodput and the antagonist's share over how long it works and rests."""
    curves = {}
    with open(f"{folder}/sweep.json") as file:
        points = json.load(file)["points"]
    for point in points:
        settings = point["settings"]
        law = settings["host.override[0].memory.control.params"]
        antagonist = settings["host.override[0].memory.antagonist"]
        on = antagonist.split('"on" = "')[1].split('"')[0]
        with open(f"{folder}/points/{point['point']}/summary.json") as file:
            mean = json.load(file)["memory"]["mean_over_hosts"]
        curves.setdefault(law, []).append((microseconds(on), mean))
    names = ["without hostCC", "hostCC", "B_S with weight 1/8", "levels held 1 ms"]
    laws = list(zip(COLOURS, curves))
    x_of = lambda us: LEFT + 20 + math.log10(us) / 4 * (WIDTH - 40)
    ticks = [(label, x_of(us)) for label, us in
             [("1 us", 1), ("10 us", 10), ("100 us", 100), ("1 ms", 1000), ("10 ms", 10000)]]
    picture = Picture(
        "An antagonist that works half of the time", x_of, ticks, "works for, and then rests for"
    )
    panels = [
        ("NIC drops, % of packets", "nic_drop_share", 100, 1.0, [0, 0.5, 1.0]),
        ("Goodput, Gb/s", "goodput_gbps", 1, 100, [0, 50, 100]),
        ("Antagonist, GB/s", "antagonist_gigabytes_per_s", 1, 15, [0, 5, 10, 15]),
    ]
    for label, key, factor, most, marks in panels:
        drawn = [
            (colour, [(us, mean[key]["mean"] * factor) for us, mean in sorted(curves[law], key=lambda p: p[0])], True)
            for colour, law in laws
        ]
        picture.panel(label, most, marks, drawn)
    return picture.svg(list(zip(COLOURS, names)))


WAKE_US, BEFORE_US, AFTER_US = 63_000, 40, 300


def wake(folders):
    """What an antagonist meets that returns after a rest."""
    series = []
    for folder in folders:
        with open(f"{folder}/memory_series.csv") as file:
            rows = [
                (int(row["at_ps"]) / 1e6 - WAKE_US, row) for row in csv.DictReader(file)
            ]
        series.append([row for row in rows if -BEFORE_US <= row[0] <= AFTER_US])
    scale = WIDTH / (BEFORE_US + AFTER_US)
    x_of = lambda us: LEFT + (us + BEFORE_US) * scale
    ticks = [(f"{us}", x_of(us)) for us in range(0, AFTER_US + 1, 50)]
    picture = Picture(
        "Three cores of an antagonist return after a rest of 1 ms", x_of, ticks, "us since they returned"
    )
    panels = [
        ("NIC buffer, KB (drops at 384)", "nic_buffered_bytes", 1e-3, 400, [0, 200, 384]),
        ("B_S, the law's bandwidth, Gb/s (target 84)", "law_pcie_gbps", 1, 120, [0, 84, 110]),
        ("Bandwidth on PCIe, Gb/s", "pcie_gbps", 1, 120, [0, 84, 110]),
        ("Level", "level", 1, 4, [0, 1, 2, 3, 4]),
    ]
    for label, key, factor, most, marks in panels:
        drawn = [
            (colour, [(us, float(row[key] or 0) * factor) for us, row in rows], False)
            for colour, rows in zip(COLOURS[1:], series)
        ]
        picture.panel(label, most, marks, drawn)
    return picture.svg(list(zip(COLOURS[1:], ["hostCC", "B_S with weight 1/8", "levels held 1 ms"])))


FROM_MS, UNTIL_MS, SMOOTH = 3, 20, 10


def nics(without, with_law):
    """Two NICs on one memory, of which the second has nothing to do until 8 ms."""
    def series(folder):
        found = {}
        with open(f"{folder}/memory_series.csv") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["host"], []).append((int(row["at_ps"]) / 1e9, row))
        return found

    def means(rows, value):
        rows = [row for row in rows if FROM_MS <= row[0]]
        groups = [rows[i : i + SMOOTH] for i in range(0, len(rows), SMOOTH)]
        return [(group[-1][0], sum(value(row) for _, row in group) / len(group)) for group in groups]

    x_of = lambda ms: LEFT + (ms - FROM_MS) / (UNTIL_MS - FROM_MS) * WIDTH
    ticks = [(f"{ms}", x_of(ms)) for ms in range(4, UNTIL_MS + 1, 4)]
    picture = Picture("Two NICs on one memory, beside six cores of an antagonist", x_of, ticks, "ms")
    goodput = lambda row: float(row["goodput_gbps"])
    first, second = COLOURS[1], COLOURS[2]
    both = [("without hostCC", series(without)), ("with hostCC", series(with_law))]
    for name, found in both:
        curves = [(first, means(found["nic0"], goodput), False), (second, means(found["nic1"], goodput), False)]
        picture.panel(f"Goodput of each NIC {name}, Gb/s", 110, [0, 50, 100], curves)
    antagonist = lambda row: sum(map(float, row["antagonists_gigabytes_per_s"].split(";")))
    level = lambda row: float(row["level"])
    for label, most, marks, value in [
        ("Antagonist, GB/s of 69.6", 70, [0, 35, 69.6], antagonist),
        ("Level", 4, [0, 1, 2, 3, 4], level),
    ]:
        curves = [(c, means(f["nic0"], value), False) for c, (_, f) in zip([COLOURS[0], COLOURS[3]], both)]
        picture.panel(label, most, marks, curves)
    names = ["first NIC", "second NIC", "antagonist and level without hostCC", "with hostCC"]
    return picture.svg(list(zip([first, second, COLOURS[0], COLOURS[3]], names)))


def gains(*folders):
    """What a server has not read under three gains of the credits' law."""
    x_of = lambda ms: LEFT + ms / UNTIL_MS * WIDTH
    picture = Picture("Credits at a round trip of 100 us", x_of, [(f"{ms}", x_of(ms)) for ms in range(0, UNTIL_MS + 1, 5)], "ms")
    for folder, gain in zip(folders, ["5", "25 (default)", "100"]):
        with open(f"{folder}/memory_series.csv") as file:
            rows = [row for row in csv.DictReader(file) if row["host"] == "host[0]"]
        unread = [(int(row["at_ps"]) / 1e9, float(row["unread_bytes"]) / 1e6) for row in rows]
        picture.panel(f"Unread data in receive buffers with delta_gain = {gain}, MB", 1, [0, 0.5, 1], [(COLOURS[1], unread, False)])
    return picture.svg([(COLOURS[1], "samples of 10 us")])


if __name__ == "__main__":
    which, *folders = sys.argv[1:]
    draw = {"bursts": bursts, "wake": lambda *folders: wake(folders), "nics": nics, "gains": gains}[which]
    print(draw(*folders))
