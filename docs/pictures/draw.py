#!/usr/bin/env python3
"""Draws the pictures of the documentation with target/release/forebay, or the program that FOREBAY names.

    docs/pictures/draw.py [NAME...]            those; all that take seconds without a name
    docs/pictures/draw.py --check [NAME...]    draws into a temporary folder and compares: text of SVGs, size and captions of PNGs
    docs/pictures/draw.py --list               what there is, and from what

Captions are headings, cards and axis labels of the part of the page that a PNG shows. They are in captions.json. The pictures of
papers' suites take minutes to hours of CPU: they are drawn by name, and never by --check alone.
"""

import argparse
import base64
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOREBAY = Path(os.environ.get("FOREBAY", ROOT / "target/release/forebay"))
CAPTIONS = HERE / "captions.json"
sys.path.insert(0, str(ROOT / "crates/record/tests/browser"))
import report  # noqa: E402

LAWS = "for law in dctcp cubic reno swift nv; do forebay run --preset websearch --set transport.law=$law --seeds 1,2,3,4,5 --out laws/$law; done"
HOST = "forebay run --preset host-congestion --set output.memory.every=1us --set stop.time=9ms --set output.warmup=1ms --set 'host.override[0].memory.antagonist[0].start=2ms' --out host"
SWEEP = "forebay sweep --preset websearch --set 'sweep={\"transport.law\"=[\"dctcp\",\"cubic\",\"reno\"],\"traffic[0].load\"=[0.2,0.4,0.6,0.8]}' --seeds 1,2,3 --out compared"
BURSTS = "forebay sweep scenarios/host/bursts.toml --out bursts"
WAKE = "scenarios/host/wake.toml --set 'host.override[0].memory.control.params=%s' --out"
NICS = (
    "scenarios/host/two-nics.toml --set 'sweep={}' --set traffic[1].start=8ms --set output.warmup=2ms --set stop.time=20ms "
    "--set 'output.memory={ every = \"20us\" }' --set 'host.override[0].memory.control.params=%s' --out"
)
GAINS = "scenarios/carc-oscillation.toml --set 'sweep={}' --set fabric.host_link.delay=25us --set traffic[0].pool.params.delta_gain"


class Page:
    """A picture of a page: from the top of one element to the end of another one, at a width; up to so many pixels."""

    def __init__(self, commands, page, width, first, last, before="", most=4000):
        self.commands, self.page, self.width, self.first, self.last, self.before, self.most = commands, page, width, first, last, before, most

    def draw(self, folder, to):
        found = report.chromium()
        if not found:
            return None
        browser = report.Browser(found, folder / "profile")
        try:
            browser.open((folder / self.page).as_uri())
            browser.call("Emulation.setDeviceMetricsOverride", width=self.width, height=900, deviceScaleFactor=1, mobile=False)
            if self.before:
                browser.value(self.before)
            for theme, path in (("light", to), ("dark", in_the_dark(to))):
                browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
                browser.settle(ms=200)
                box = browser.value(BOX % (json.dumps(self.first), json.dumps(self.last), self.most))
                clip = {"x": 0, "y": box["from"], "width": box["width"], "height": box["height"], "scale": 1}
                made = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
                path.write_bytes(base64.b64decode(made["data"]))
            return box["captions"]
        finally:
            browser.close()


def in_the_dark(png):
    """Where the picture of the dark page is: SVGs have both themes, PNGs a file each."""
    return png.with_name(f"{png.stem}-dark{png.suffix}")


BOX = """((first, last, most) => { const top = document.querySelector(first), end = document.querySelector(last);
if (!top || !end) throw new Error(`the page has no ${top ? last : first}`);
const from = Math.max(0, Math.floor(top.getBoundingClientRect().top + scrollY) - 8), to = Math.min(from + most, Math.ceil(end.getBoundingClientRect().bottom + scrollY) + 8);
const words = [...document.querySelectorAll('h1, h2, h3, figcaption, .tiles dt, svg .axis-title')].filter(e => {
const b = e.getBoundingClientRect(); return b.width && b.top + scrollY >= from && b.bottom + scrollY <= to; });
return { from, height: to - from, width: innerWidth, captions: words.map(e => e.textContent.replace(/\\s+/g, ' ').trim()).filter(Boolean) }; })(%s, %s, %d)"""


class Drawing:
    """A picture that a command writes to its output; for a PNG another command writes that of the dark page."""

    def __init__(self, commands, command, dark=None):
        self.commands, self.command, self.dark = commands, command, dark

    def draw(self, folder, to):
        for command, path in ((self.command, to), (self.dark, in_the_dark(to))):
            if command:
                with path.open("wb") as out:
                    run(command, folder, stdout=out)
        return []


class Suite:
    """A picture of a suite of validation/."""

    def __init__(self, suite):
        self.commands, self.suite = [], suite

    def draw(self, folder, to):
        run(f"forebay reproduce {self.suite} --quiet --progress off --pictures drawn", folder)
        shutil.copyfile(folder / "drawn" / to.name, to)
        return []


class Recorded:
    """Pictures of a suite that its tests draw from the numbers in validation/SUITE/measured.toml, and compare with these files."""

    commands = [f"FOREBAY_BLESS=1 cargo test --locked --manifest-path {ROOT}/Cargo.toml -p forebay-validate --lib drawn_from_recorded"]

    def draw(self, folder, to):
        shutil.copyfile(HERE / to.name, to)
        return []


class Playground:
    """A preset in the playground, as its test in a browser takes it."""

    commands = [f"{sys.executable} {ROOT}/crates/playground/tests/browser/playground.py --pictures played"]

    def draw(self, folder, to):
        shutil.copyfile(folder / "played/pfc-storm-1440-light.png", to)
        shutil.copyfile(folder / "played/pfc-storm-1440-dark.png", in_the_dark(to))
        return []


SCRIPT = "{here}/host-congestion.py"
PICTURES = {
    "websearch-report.png": Page(["forebay run --preset websearch --out a"], "a/report.html", 1180, "body", "#slowdown-by-size"),
    "host-congestion-report.png": Page([HOST], "host/report.html", 1084, "#host-over-time", "#host-over-time"),
    "compare-page.png": Page([LAWS, "forebay compare laws/*"], "compare.html", 1180, "body", "section"),
    "sweep-page.png": Page([SWEEP], "compared/index.html", 1180, "body", "section"),
    "why-panel.png": Page(["forebay run --preset websearch --seeds 1 --set 'output.why={}' --out b"], "b/report.html", 1100, "#why", "#why", "document.querySelectorAll('#why details')[1].open = true", 770),
    "carc-unread.png": Page(["forebay run scenarios/carc-fast-producer.toml --out without --set 'traffic[0].pool.enabled=false'"], "without/report.html", 1082, "#host-over-time", "#host-over-time"),
    "dctcp-sawtooth.svg": Suite("analytic"),
    "idea-to-server.svg": Suite("linux"),
    **{f"powertcp-fig4-{name}.svg": Suite("powertcp") for name in ("10", "255")},
    "host-bursts.svg": Drawing([BURSTS], f"{SCRIPT} bursts bursts"),
    "host-wake.svg": Drawing([f"forebay run {WAKE % of} {name}" for of, name in [("{}", "paper"), ('{ bandwidth_weight = "1/8" }', "fast"), ('{ lower_hold = "1ms" }', "hold")]], f"{SCRIPT} wake paper fast hold"),
    "carc-oscillation.svg": Drawing([f"forebay run {GAINS}={gain} --out gain{gain}" for gain in (5, 25, 100)], f"{SCRIPT} gains gain5 gain25 gain100"),
    "host-nics.svg": Drawing([f"forebay run {NICS % of} {name}" for of, name in [("{ local_response = false, network_response = false }", "without"), ("{}", "with")]], f"{SCRIPT} nics without with"),
}
PYTHON = f"""{ROOT}/target/python/bin/python -c '
import sys, forebay as fb, matplotlib.style
matplotlib.style.use("{{0}}")
fb.preset("websearch").set("load", 0.7).run(seeds=3).plot.slowdown().figure.savefig(sys.stdout.buffer, format="png")'"""
# Minutes to hours of CPU, or what ./test playground and python build: only by name.
LONG = {
    "ai-stragglers.svg": Drawing(["forebay sweep --preset ai-straggler --out straggler"], "{here}/ai-stragglers.py straggler"),
    "playground.png": Playground(),
    "python-slowdown.png": Drawing([], PYTHON.format("default"), PYTHON.format("dark_background")),
    **{f"hiercc-{name}.svg": Suite("hiercc/text") for name in ("fig1", "fig2", "fig4-recommended-count")},
    "hiercc-fig5.svg": Suite("hiercc/fig5"),
    **{f"hostcc-{name}.svg": Suite(f"hostcc/{name}") for name in ("fig2", "fig9", "fig10", "fig12", "fig15", "fig18")},
    **{f"carc-{name}.svg": Recorded() for name in ("fig2", "fig3", "fig4", "fig7", "fig5a-fig8a", "fig5bc-fig8b", "table1")},
    **{f"tcp-nv-table-{name}.svg": Recorded() for name in ("latency", "queue")},
    **{f"pcc-dilemma-{name}.svg": Suite("pcc-dilemma") for name in ("fig1", "table1", "backlog-cachefollower")},
    **{f"tcp-nv-{name}.svg": Suite("tcp-nv/router") for name in ("bursts", "queues")},
}


def run(command, folder, **more):
    command = command.replace("{here}", str(HERE)).replace("scenarios/", f"{ROOT}/scenarios/")
    done = subprocess.run(["bash", "-ec", f'forebay() {{ "{FOREBAY}" "$@"; }}; {command}'], cwd=folder, stderr=subprocess.PIPE, text=True, **{"stdout": subprocess.DEVNULL, **more})
    if done.returncode not in (0, 3):
        sys.exit(f"{command}: ended with {done.returncode}: {done.stderr.strip()[-300:]}")


def size(png):
    return list(struct.unpack(">II", png.read_bytes()[16:24]))


def words(svg):
    return re.findall(r">([^<>]+)<", re.sub(r"<style>.*?</style>", "", svg.read_text(), flags=re.S))


def differs(name, drawn, captions, kept):
    """One clause if a picture is not that of the documentation."""
    before = HERE / name
    if not before.exists():
        return "is not in docs/pictures"
    if name.endswith(".svg"):
        return None if words(drawn) == words(before) else "has other text"
    if in_the_dark(drawn).exists() and (not in_the_dark(before).exists() or size(in_the_dark(drawn)) != size(in_the_dark(before))):
        return "has another picture of the dark page"
    if size(drawn) != size(before):
        return f"is {size(drawn)} pixels instead of {size(before)}"
    return None if captions == kept.get(name) else "has other captions"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="compare instead of replacing")
    parser.add_argument("--list", action="store_true", help="what there is, and from what")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    known = {**PICTURES, **LONG}
    if arguments.list:
        for name, of in known.items():
            print(f"{name:<40} {'; '.join(of.commands) or getattr(of, 'command', '') or 'forebay reproduce ' + of.suite}")
        return 0
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        sys.exit(f"there is no picture {unknown[0]}; --list has the names")
    kept = json.loads(CAPTIONS.read_text()) if CAPTIONS.exists() else {}
    stale = []
    with tempfile.TemporaryDirectory(prefix="forebay-pictures-") as scratch:
        folder, done = Path(scratch), set()
        for name in arguments.names or PICTURES:
            for command in known[name].commands:
                if command not in done:
                    run(command, folder)
                done.add(command)
            drawn = folder / name
            captions = known[name].draw(folder, drawn)
            if captions is None:
                print(f"skipped: {name}: no browser here")
                continue
            if arguments.check:
                why = differs(name, drawn, captions, kept)
                print(f"{name}: {why or 'as in docs/pictures'}", flush=True)
                stale += [name] if why else []
                continue
            shutil.copyfile(drawn, HERE / name)
            if in_the_dark(drawn).exists():
                shutil.copyfile(in_the_dark(drawn), in_the_dark(HERE / name))
            if name.endswith(".png"):
                kept[name] = captions
            print(f"{name}: drawn", flush=True)
    if not arguments.check:
        CAPTIONS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    if stale:
        print(f"stale: {' '.join(stale)}; draw them again: docs/pictures/draw.py {' '.join(stale)}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
