#!/usr/bin/env python3
"""Comparison pages in a real browser: nothing broken, nothing on one another, readable in both themes, no request, no script needed.

    compare.py [PAGE.html...]

Without an argument two small runs and a small sweep are made with target/release/forebay. Needs Chromium; without it the test is
skipped by name and succeeds. The browser is that of the test of reports.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "crates/record/tests/browser"))
import report  # noqa: E402

NAME = "browser/compare"
FOREBAY = ROOT / "target/release/forebay"
SWEEP = '[sweep]\n"transport.law" = ["dctcp", "cubic"]\n"traffic[0].load" = [0.3, 0.6]\n'
SMALL = ["leaves = 2", "hosts_per_leaf = 4", 'until = "1ms"']


def pages(folder):
    """Two runs beside each other, and a sweep of laws and loads."""

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
    return [folder / "runs.html", folder / "sweep.html"]


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
    for width in [1280, 700, 390]:
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        problems += [f"at {width} px: {problem}" for problem in browser.value(report.GEOMETRY)]
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
                problems += [f"{page.name}: {problem}" for problem in check(browser, page.as_uri())]
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
