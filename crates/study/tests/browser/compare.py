#!/usr/bin/env python3
"""Pages of comparisons, sweeps and runs in a real browser: nothing broken, cut or on one another, readable in both themes, no request, no
script needed. The first screen of a page answers its question.

    compare.py [PAGE.html...]

Without an argument small runs and sweeps are made with target/release/forebay, or with the program that FOREBAY names. Needs Chromium; without it the test is
skipped by name and succeeds. The browser is that of the test of reports.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "crates/record/tests/browser"))
import report  # noqa: E402

NAME = "browser/compare"
FOREBAY = pathlib.Path(os.environ.get("FOREBAY", ROOT / "target/release/forebay"))
SWEEP = '[sweep]\n"transport.law" = ["dctcp", "cubic"]\n"traffic[0].load" = [0.3, 0.6]\n'
TABLES = """[sweep]
"fabric.switch.ecn" = [{ kmin = "20KB", kmax = "80KB", pmax = 0.2 }, { kmin = "50KB", kmax = "200KB", pmax = 0.2 }, { kmin = "100KB", kmax = "400KB", pmax = 0.2 }, { kmin = "200KB", kmax = "800KB", pmax = 0.2 }]
"transport.law" = ["dctcp", "cubic"]
"""
# What a reader of the first screen alone has to find there, by page.
ANSWERS = {
    "pfc-storm": [r"Senders stood still \d", r"The pauses begin at leaf\[0\]", r"Senders paused\n"],
    "link-failure": [r"leaf\[0\]-spine\[1\] down from", r"packets were lost to that", r"All 96 flows of 3 seeds completed", r"Packets dropped or lost\n7,"],
    "tables": [r"^(kmax \d+KB, (dctcp|cubic) has the lowest p99 slowdown|Lowest p99 slowdown so far: kmax \d+KB, (dctcp|cubic))", r"P99 slowdown: \d", r"Metrics"],
    "compare-tables": [r"kmax \d+KB", r"(higher|lower|times as high|[Tt]oo few seeds)"],
    "runs": [r"(higher|lower|times as high|[Tt]oo few seeds to tell)"],
}
# Texts that end in their box before their end; headlines of more than two lines.
CUT = """
(() => {
  const bad = [];
  for (const el of document.querySelectorAll('h1,h2,p,dd,dt,li,label,td,th,span,strong,small')) {
    if (el.closest('.stack') || el.closest('svg') || !el.textContent.trim()) continue;
    const x = getComputedStyle(el).overflowX;
    if (x !== 'visible' && x !== 'auto' && x !== 'scroll' && el.scrollWidth > el.clientWidth + 1) bad.push('cut: ' + el.textContent.slice(0, 60));
  }
  const h1 = document.querySelector('h1'), line = parseFloat(getComputedStyle(h1).lineHeight);
  if (innerWidth >= 1000 && h1.offsetHeight > 2.5 * line) bad.push('a headline of ' + Math.round(h1.offsetHeight / line) + ' lines');
  return bad;
})()
"""
# What stands in the first screen.
FIRST = """
[...document.querySelectorAll('h1,.verdict,.tile,.chip,.picks,.cautions')].filter(e => e.getBoundingClientRect().bottom <= innerHeight)
  .map(e => e.innerText).join('\\n')
"""
SMALL = ["leaves = 2", "hosts_per_leaf = 4", 'until = "1ms"']


def pages(folder):
    """Two runs beside each other, a sweep of laws and loads, one of tables, and runs of what stops senders and cables."""

    def forebay(*args):
        subprocess.run([FOREBAY, *args, "--quiet", "--progress", "off"], cwd=folder, check=True)

    websearch = (ROOT / "scenarios/websearch.toml").read_text()
    for line in SMALL:
        key = line.split(" = ")[0]
        websearch = "\n".join(line if old.split(" = ")[0] == key else old for old in websearch.split("\n"))
    (folder / "one.toml").write_text(websearch)
    (folder / "s.toml").write_text(websearch + "\n" + SWEEP)
    for law in ["dctcp", "cubic"]:
        forebay("run", "one.toml", "--set", f"transport.law={law}", "--out", law)
    forebay("compare", "dctcp", "cubic", "--out", "runs.html")
    forebay("compare", "s.toml", "--out", "sweep.html")
    (folder / "t.toml").write_text(websearch + "\n" + TABLES)
    forebay("sweep", "t.toml", "--out", "tables")
    forebay("compare", "tables", "--out", "compare-tables.html")
    for name in ["pfc-storm", "link-failure"]:
        forebay("run", ROOT / f"scenarios/{name}.toml", "--out", name)
    runs = [folder / name / "report.html" for name in ["pfc-storm", "link-failure"]]
    return [folder / "runs.html", folder / "sweep.html", folder / "tables/index.html", folder / "compare-tables.html", *runs]


def check(browser, url):
    browser.open(url)
    problems = []
    broken = browser.value("[...document.querySelectorAll('svg *, td')].filter(e => /NaN|undefined|Infinity/.test(e.outerHTML)).length")
    if broken:
        problems.append(f"{broken} broken numbers")
    if browser.value("document.querySelectorAll('svg').length") < 4:
        problems.append("pictures are missing")
    if browser.value("[...document.querySelectorAll('.by-seed')].some(b => !b.querySelector(':scope > .pick:checked'))"):
        problems.append("there is something to pick and nothing is picked")
    name = pathlib.Path(url).parent.name if pathlib.Path(url).name in ["report.html", "index.html"] else pathlib.Path(url).stem
    for width in [1280, 700, 390]:
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        problems += [f"at {width} px: {problem}" for problem in browser.value(report.GEOMETRY) + browser.value(CUT)]
        if width == 1280:
            text = browser.value(FIRST)
            problems += [f"the first screen does not say {part}: {text}" for part in ANSWERS.get(name, []) if not re.search(part, text, re.M)]
    browser.call("Emulation.clearDeviceMetricsOverride")
    for scheme in ["light", "dark"]:
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        least, where = browser.value(report.CONTRAST)
        if least < 4.5:
            problems.append(f"{scheme}: contrast {least:.2f} at {where}")
    asked = report.requests(browser.events)
    if asked != [url]:
        problems.append(f"requests: {asked}")
    problems += [f"console: {text}" for text in report.complaints(browser.events)]
    return problems


def main():
    path = report.chromium()
    if not path:
        print(f"skipped: {NAME} (no chromium here, and it cannot be installed)")
        return 0
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="forebay-compare-"))
    problems = []
    try:
        found = [pathlib.Path(page).resolve() for page in sys.argv[1:]] or pages(scratch)
        for page in found:
            browser = report.Browser(path, scratch / "profile")
            try:
                problems += [f"{page.parent.name}/{page.name}: {problem}" for problem in check(browser, page.as_uri())]
            finally:
                browser.close()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for problem in problems:
        print(f"{NAME}: {problem}")
    print(f"{'FAILED' if problems else 'ok'}: {NAME}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
