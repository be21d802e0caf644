#!/usr/bin/env python3
"""The report in a real browser: complete, quiet, and asking the network for nothing.

    report.py [REPORT.html]

Without an argument the sample report is built with cargo. Needs Chromium; where there is none and it
cannot be installed, the test is skipped by name and succeeds. Standard library only: the browser is
driven over the DevTools pipe.
"""

import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAME = "browser/report"
ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tests"))
import programs  # noqa: E402

IDS = [
    "key-numbers", "host-path", "host-over-time", "slowdown-by-size", "slowdown-cdf", "size-classes", "over-time", "tiers",
    "fabric", "utilisation", "worst-ports", "worst-flows", "seeds", "settings", "definitions", "rerun",
]
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe", "--window-size=1280,1000", "about:blank",
]
# Seconds after which a browser hangs, on the busiest machine.
PATIENCE = 600.0

# Texts of figures that leave their figure, or that lie on one another.
GEOMETRY = """
(() => {
  const bad = [];
  for (const svg of document.querySelectorAll('svg')) {
    const box = svg.viewBox.baseVal, seen = [];
    for (const text of svg.querySelectorAll('text')) {
      const b = text.getBBox();
      if (b.x < -1 || b.y < -1 || b.x + b.width > box.width + 1 || b.y + b.height > box.height + 1)
        bad.push('outside: ' + text.textContent);
      for (const [o, other] of seen)
        if (b.x < o.x + o.width - 1 && o.x < b.x + b.width - 1 && b.y < o.y + o.height - 3 && o.y < b.y + b.height - 3)
          bad.push('on one another: ' + text.textContent + ' | ' + other);
      seen.push([b, text.textContent]);
    }
  }
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth)
    bad.push('the page scrolls sideways');
  return bad;
})()
"""

# Least contrast of any text with the surface behind it.
CONTRAST = """
(() => {
  const light = c => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const parse = s => (s.match(/[0-9.]+/g) || []).map(Number);
  const y = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  let least = 99, where = '';
  for (const el of document.querySelectorAll('h1,h2,h3,p,dt,dd,th,td,small,figcaption,li,span,strong,svg text')) {
    if (!el.textContent.trim() || el.closest('.steps')) continue;
    const style = getComputedStyle(el), ink = parse(el.namespaceURI.endsWith('svg') ? style.fill : style.color);
    let up = el, back = null;
    while (up && !back) {
      const b = parse(getComputedStyle(up).backgroundColor);
      if (b.length === 3 || b[3] > 0) back = b;
      up = up.parentElement;
    }
    const [a, b] = [y(ink), y(back || [255, 255, 255])].sort((p, q) => q - p), ratio = (a + 0.05) / (b + 0.05);
    if (ratio < least) { least = ratio; where = el.tagName + '.' + el.getAttribute('class') + ': ' + el.textContent.slice(0, 40); }
  }
  return [least, where];
})()
"""


def find_chromium():
    for name in ["chromium", "chromium-browser", "google-chrome", "chrome"]:
        if shutil.which(name):
            return shutil.which(name)
    return None


def chromium():
    """Path of a browser, installed if that is possible here; None otherwise."""
    found = find_chromium()
    if found or os.geteuid() != 0 or not shutil.which("apt-get") or os.environ.get("FOREBAY_NO_INSTALL"):
        return found
    install = "apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium"
    try:
        subprocess.run(["sh", "-c", install], check=True, timeout=300, capture_output=True)
    except (subprocess.SubprocessError, OSError):
        return None
    return find_chromium()


class Browser:
    """A headless browser over its DevTools pipe: JSON messages that end in a zero byte."""

    def __init__(self, path, profile):
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()

        def pipes():
            # First out of the way of 3 and 4, which the browser reads and writes.
            a, b = os.dup(to_read), os.dup(from_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [path, f"--user-data-dir={profile}", *FLAGS],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(from_write)
        self.buffer = b""
        self.last_id = 0
        self.events = []
        self.session = None

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.from_read], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self.from_read, 1 << 16)
            if not chunk:
                raise EOFError("the browser has ended")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        deadline = time.monotonic() + PATIENCE
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive(deadline))

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def settle(self, frames=2, ms=0):
        """Lets the page draw so many frames, run its timers of up to so many ms, and draw again, however long that takes here."""
        drawn = f"for (let i = 0; i < {frames}; i++) await new Promise(requestAnimationFrame);"
        self.value(f"(async () => {{ {drawn} await new Promise(r => setTimeout(r, {ms})); {drawn} }})()")

    def settled(self, expression):
        """Value of an expression, once 20 frames have not changed it."""
        value, before = self.value(expression), None
        while value != before:
            self.settle(frames=10)
            value, before = self.value(expression), value
        return value

    def wait(self, expression):
        """Whether an expression becomes true."""
        deadline = time.monotonic() + PATIENCE
        while not self.value(expression) and time.monotonic() < deadline:
            self.settle()
        return self.value(expression)

    def open(self, url):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Runtime", "Log", "Network", "Page"]:
            self.call(f"{domain}.enable")
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (OSError, EOFError, RuntimeError, TimeoutError):
            self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def requests(events):
    seen = [e["params"]["request"]["url"] for e in events if e.get("method") == "Network.requestWillBeSent"]
    return [url for url in seen if not url.startswith("data:")]


def complaints(events):
    said = []
    for event in events:
        kind, params = event.get("method"), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            said.append(params["exceptionDetails"].get("text"))
        elif kind == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            said.append(str(params["args"]))
        elif kind == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            said.append(params["entry"]["text"])
    return said


# What the panels show: ends of the view as text, and how much is drawn.
PANELS = "[document.querySelector('.zoom output').textContent, document.querySelector('.traces').innerHTML.length]"


def zooms(browser):
    """Panels follow keys, a dragged range and the buttons, and return to the whole run."""
    problems = []

    def shows(what, condition):
        text, drawn = browser.value(PANELS)
        if not condition(text) or drawn < 100:
            problems.append(f"after {what}: \"{text}\", {drawn} characters drawn")

    def key(name, text=""):
        for kind in ["keyDown", "keyUp"]:
            browser.call("Input.dispatchKeyEvent", type=kind, key=name, text=text if kind == "keyDown" else "")

    box = browser.value(
        "(() => { const s = document.querySelector('.panels svg'); s.scrollIntoView({block: 'center'}); s.focus();"
        "const b = s.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
    )
    shows("nothing", lambda text: text == "whole run")
    key("+", "+")
    shows("+", lambda text: " to " in text)
    key("0", "0")
    shows("0", lambda text: text == "whole run")
    middle = box[1] + box[3] / 2
    for kind, share in [("mousePressed", 0.4), ("mouseMoved", 0.45), ("mouseReleased", 0.5)]:
        at = box[0] + box[2] * share
        browser.call("Input.dispatchMouseEvent", type=kind, x=at, y=middle, button="left", buttons=1, clickCount=1)
    shows("a drag", lambda text: " to " in text)
    windows = browser.value("document.querySelectorAll('.zoom button[data-window]').length")
    if not windows:
        problems.append("no window with every sample")
    browser.value("document.querySelector('.zoom button[data-window]')?.click()")
    shows("a window", lambda text: text.endswith("every sample"))
    browser.value("document.querySelector('.zoom button[data-zoom=all]').click()")
    shows("the whole run", lambda text: text == "whole run")
    return problems


# Where each figure over time that is to be seen has its cursor, as a share of the run; null: it has none.
CURSORS = """[...document.querySelectorAll('.plot > script')].filter(s => s.parentNode.offsetWidth).map(s => {
  const d = JSON.parse(s.textContent), cross = s.parentNode.querySelector('.cross').getAttribute('d');
  const ends = d.time || (d.dt ? [d.l, d.r] : null);
  return ends && { at: cross ? (parseFloat(cross.slice(1)) - ends[0]) / (ends[1] - ends[0]) : null };
}).filter(c => c)"""


def cursors(browser):
    """A pointer in one figure over time is a cursor in all of them, and leaves them with it."""
    at = browser.value(
        "(() => { const s = [...document.querySelectorAll('.plot > script')].find(s => s.parentNode.offsetWidth"
        " && JSON.parse(s.textContent).time).parentNode.querySelector('svg'); s.scrollIntoView({block: 'center'});"
        "const b = s.getBoundingClientRect(); return [b.x + b.width * 0.4, b.y + b.height * 0.5]; })()"
    )
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1])
    shares = [cursor["at"] for cursor in browser.value(CURSORS)]
    problems = []
    if len(shares) < 3:
        problems.append(f"only {len(shares)} figures over time")
    if None in shares or max(shares) - min(shares) > 0.01:
        problems.append(f"cursors at {shares} of the run")
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    if any(cursor["at"] is not None for cursor in browser.value(CURSORS)):
        problems.append("the cursor stays where the pointer has left")
    return problems


def words(browser):
    """Under the pointer stand the time and a value with its unit for each line, in every figure over time that is to be seen."""
    said = browser.value("""[...document.querySelectorAll('.plot:not(.panels)')].filter(p => p.offsetWidth && p.querySelector('.traces')).flatMap(p => {
      const svg = p.querySelector('svg'), box = svg.getBoundingClientRect();
      return [...Array(50).keys()].map(i => {
        svg.dispatchEvent(new PointerEvent('pointermove', { clientX: box.x + box.width * (0.1 + i / 60) }));
        const texts = [...p.querySelector('.tip').children].map(e => e.textContent), bottom = JSON.parse(p.querySelector('script').textContent).bottom;
        const high = [...svg.querySelectorAll('circle.dot')].filter(c => c.style.display === '').map(c => c.getAttribute('cy') < bottom - 1);
        svg.dispatchEvent(new PointerEvent('pointerleave'));
        return [texts.shift(), ...texts.map((text, k) => [text, high[k]])];
      });
    })""")
    problems = [] if len(said) >= 100 else [f"only {len(said)} places to read values at"]
    for time, *values in said:
        if not re.fullmatch(r"at [0-9.]+ (ns|µs|ms|s)", time) or not values:
            problems.append(f"under the pointer: \"{time}\", {values}")
        right = {True: r": [0-9.]+ \S", False: r": 0( |$)| to "}  # above the axis and on it
        problems += [f"under the pointer: \"{value}\"" for value, high in values if not re.search(right[high], value)]
    return problems[:5]


# Of each figure over time that is to be seen, how much its lines are stretched, and the labels of its axis.
STRETCHED = """[...document.querySelectorAll('.plot > script')].filter(s => s.parentNode.offsetWidth && JSON.parse(s.textContent).time).map(s => {
  const svg = s.parentNode.querySelector('svg'), by = (svg.querySelector('.traces').getAttribute('transform') || 'matrix(1 ').slice(7);
  return [parseFloat(by), [...svg.querySelectorAll('.ticks text')].map(t => t.textContent).join(' ')];
})"""


def parts(browser):
    """A part of the run that is dragged in one figure over time is shown by all of them, until a double click or 0."""
    box = browser.value(
        "(() => { const s = [...document.querySelectorAll('.plot > script')].find(s => s.parentNode.offsetWidth"
        " && JSON.parse(s.textContent).time).parentNode.querySelector('svg'); s.scrollIntoView({block: 'center'}); s.focus();"
        "const b = s.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
    )
    problems = []

    def shows(what, condition):
        found = browser.value(STRETCHED)
        if len(found) < 2 or not all(condition(by, labels) for by, labels in found):
            problems.append(f"after {what}: {found}")

    before = browser.value(STRETCHED)
    for kind, share in [("mousePressed", 0.3), ("mouseMoved", 0.4), ("mouseReleased", 0.5)]:
        at = box[0] + box[2] * share
        browser.call("Input.dispatchMouseEvent", type=kind, x=at, y=box[1] + box[3] / 2, button="left", buttons=1, clickCount=1)
    shows("a drag", lambda by, labels: 4 < by < 5 and labels != before[0][1] and len(labels.split()) > 2)
    if " to " not in browser.value(PANELS)[0]:
        problems.append(f"panels show \"{browser.value(PANELS)[0]}\" after a drag in another figure")
    for key, condition in [("+", lambda by, _: 8 < by < 10), ("0", lambda by, labels: by == 1 and labels == before[0][1])]:
        for kind in ["keyDown", "keyUp"]:
            browser.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" else "")
        shows(key, condition)
    if browser.value(PANELS)[0] != "whole run":
        problems.append(f"panels show \"{browser.value(PANELS)[0]}\" after 0 in another figure")
    return problems


# A place of a figure over time, in the middle of the window's height: of that with panels, in the area at the foot of the first one, or of another.
PLACE = """(() => {{ const plot = [...document.querySelectorAll('.plot > script')].map(s => s.parentNode).find(p => p.offsetWidth
  && p.matches('{0}') && p.querySelector('.traces')), svg = plot.querySelector('svg'), d = JSON.parse(plot.querySelector('script').textContent);
  const place = () => {{ const b = svg.getBoundingClientRect(); return b.y + (d.p ? (d.p[0].y0 - 3) * b.width / d.w : b.height / 2); }};
  plot.scrollLeft = 0; scrollBy(0, place() - innerHeight / 2); return [200, place()]; }})()"""
# What fingers have done: how much lines are stretched, what panels show, how far page and figure have scrolled, how much the page is magnified.
TOUCHED = f"""(() => {{ const p = [...document.querySelectorAll('.plot')].filter(p => p.offsetWidth && p.querySelector('.traces'));
  return {{ by: {STRETCHED}.map(f => f[0]), panels: document.querySelector('.zoom output').textContent, down: scrollY, aside: Math.max(...p.map(p => p.scrollLeft)),
  page: visualViewport.scale, tips: p.filter(p => !p.querySelector('.tip').hidden).length }}; }})()"""


def touches(browser):
    """On a phone two fingers zoom all figures over time and not the page, one finger scrolls page and figure, a tap reads values."""
    problems = []
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)

    def send(kind, *points):
        browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])

    def move(*ways):
        """Fingers go from a point to another, each of them, at once."""
        for n in range(len(ways)):
            send("touchStart", *[start for start, _ in ways[: n + 1]])
        for step in range(1, 11):
            send("touchMove", *[(a[0] + (b[0] - a[0]) * step / 10, a[1] + (b[1] - a[1]) * step / 10) for a, b in ways])
        send("touchEnd")
        return browser.settled(TOUCHED)  # a scroll may go on

    for which in [":not(.panels)", ".panels"]:
        x, y = browser.value(PLACE.format(which))
        before = browser.value(TOUCHED)
        after = move(((x - 30, y), (x - 120, y)), ((x + 30, y), (x + 120, y)))
        if not all(3.9 < by < 4.1 for by in after["by"]) or " to " not in after["panels"]:
            problems.append(f"{which}: two fingers that spread to four times as far: {after}")
        aside = move(((x - 50, y), (x - 90, y - 80)), ((x + 50, y), (x + 10, y - 80)))
        if any(abs(by - 4) > 0.1 for by in aside["by"]) or aside["panels"] == after["panels"]:
            problems.append(f"{which}: two fingers side by side do not move what is shown: {aside}")
        if any(shown[key] != before[key] for shown in [after, aside] for key in ["down", "aside", "page"]):
            problems.append(f"{which}: two fingers move the page: {before}, then {after} and {aside}")
        scrolled = move(((x, y), (x, y - 150)))
        if scrolled["down"] < before["down"] + 75 or scrolled["panels"] != aside["panels"]:
            problems.append(f"{which}: one finger upwards: {before}, then {scrolled}")
        x, y = browser.value(PLACE.format(which))
        scrolled = move(((x, y), (x - 100, y)))
        if scrolled["aside"] < 50 or scrolled["panels"] != aside["panels"]:
            problems.append(f"{which}: one finger to the left: {scrolled}")
        x, y = browser.value(PLACE.format(which))
        closed = move(((x - 150, y), (x - 20, y)), ((x + 150, y), (x + 20, y)))
        if any(by != 1 for by in closed["by"]) or closed["panels"] != "whole run":
            problems.append(f"{which}: two fingers that close do not lead to the whole run: {closed}")
        send("touchStart", (x, y))
        send("touchEnd")
        if not browser.wait(f"{TOUCHED}.tips === 1"):
            problems.append(f"{which}: a tap reads nothing: {browser.value(TOUCHED)}")
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    browser.call("Emulation.clearDeviceMetricsOverride")
    return problems


# Which of the seeds has its figures on the page.
SEEDS = "document.querySelector('[name=seed]').parentNode"
PICKED = f"[...{SEEDS}.querySelectorAll('.picked')].map(p => p.offsetHeight > 0)"


def picks(browser):
    """Of several seeds one has its figures over time shown: the one that is clicked, or chosen by arrow key."""
    problems = []
    seeds = browser.value("document.querySelectorAll('[name=seed]').length")
    if seeds < 2:
        return ["there is nothing to pick"]

    def shows(what, nth):
        if browser.value(PICKED) != [i == nth for i in range(seeds)]:
            problems.append(f"after {what}: {browser.value(PICKED)}")

    shows("nothing", 0)
    browser.value(f"{SEEDS}.querySelector('.picks label:nth-of-type(2)').click()")
    shows("a click", 1)
    browser.value(f"{SEEDS}.querySelector('.pick:checked').focus()")
    for kind in ["rawKeyDown", "keyUp"]:
        browser.call("Input.dispatchKeyEvent", type=kind, key="ArrowLeft", code="ArrowLeft", windowsVirtualKeyCode=37)
    shows("an arrow key", 0)
    return problems


# What the picture of the fabric shows: the interval in words, and the shade of each link.
FABRIC = """[document.querySelector('.slider output').textContent,
  [...[...document.querySelectorAll('#fabric .picked')].find(p => p.offsetWidth).querySelectorAll('svg [class^=h]')].map(s => s.getAttribute('class')).join('')]"""


def fabric(browser):
    """The slider colours the links by what they did in an interval; keys and the button move it; at its start is the whole run."""
    problems = []
    words, before = browser.value(FABRIC)
    if words != "whole run":
        problems.append(f"at first it shows \"{words}\"")
    browser.value("document.querySelector('.slider input').focus()")

    def key(name, code):
        for kind in ["rawKeyDown", "keyUp"]:
            browser.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)
        return browser.value(FABRIC)

    first, third = key("ArrowRight", 39), [key("ArrowRight", 39), key("ArrowRight", 39)][1]
    if first[0] != "0 to 2.5 ms" or third[0] != "5 to 7.5 ms":
        problems.append(f"arrow keys lead to \"{first[0]}\" and \"{third[0]}\"")
    if first[1] in (before, third[1]) or set(third[1].split("h")[1:]) != {"9"}:
        problems.append(f"in the third interval all links are full, and they are drawn as {third[1][:60]}")
    browser.value("document.querySelector('.slider button').click()")
    if browser.value(FABRIC)[0] != "7.5 to 10 ms" or browser.value("document.querySelector('.slider button').textContent") != "Pause":
        problems.append("it does not play")
    browser.value("document.querySelector('.slider button').click()")
    if key("Home", 36) != ["whole run", before]:
        problems.append("the whole run does not come back")
    return problems


def check(browser, url):
    problems = []

    def expect(condition, text):
        if not condition:
            problems.append(text)

    browser.open(url)
    browser.settle()
    expect(browser.value("document.querySelectorAll('svg').length") >= 6, "fewer than six figures")
    for name in IDS:
        expect(browser.value(f"!!document.getElementById('{name}')"), f"no element #{name}")
    expect(browser.value("document.querySelectorAll('figcaption').length") >= 6, "captions are missing")
    broken = browser.value(
        "[...document.querySelectorAll('svg *')].filter(e => /NaN|undefined|Infinity/.test(e.outerHTML)).length"
    )
    expect(broken == 0, f"{broken} broken numbers in figures")
    for width in [1280, 700, 390]:
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        for problem in browser.value(GEOMETRY):
            problems.append(f"at {width} px: {problem}")
    browser.call("Emulation.clearDeviceMetricsOverride")

    backgrounds = []
    for scheme in ["light", "dark"]:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.call("Emulation.setEmulatedMedia", features=[feature])
        backgrounds.append(browser.value("getComputedStyle(document.body).backgroundColor"))
        least, where = browser.value(CONTRAST)
        expect(least >= 4.5, f"{scheme}: contrast {least:.2f} at {where}")
    expect(backgrounds[0] != backgrounds[1], "dark looks like light")
    browser.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    ink = browser.value("getComputedStyle(document.body).color")
    expect(ink == "rgb(21, 25, 29)", f"print is not dark on light: {ink}")
    browser.call("Emulation.setEmulatedMedia", media="", features=[])

    # Figures of seeds that are not picked have no place on the page.
    plots = browser.value(
        "[...document.querySelectorAll('.plot > script')].map((s, i) => s.parentNode.offsetWidth ? i : -1).filter(i => i >= 0)"
    )
    expect(len(plots) >= 3, f"only {len(plots)} figures have read-outs")
    for plot in plots:
        at = browser.value(
            f"(() => {{ const s = document.querySelectorAll('.plot > script')[{plot}].parentNode.querySelector('svg');"
            "s.scrollIntoView({block: 'center'}); const b = s.getBoundingClientRect();"
            "return [b.x + b.width * 0.4, b.y + b.height * 0.5]; })()"
        )
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1])
        tip = browser.value(
            f"(() => {{ const t = document.querySelectorAll('.plot > script')[{plot}].parentNode.querySelector('.tip');"
            "return t && !t.hidden && t.children.length > 1 ? t.innerText : ''; })()"
        )
        expect(bool(tip), f"figure {plot} shows nothing under the pointer")

    for problem in cursors(browser):
        problems.append(f"one cursor: {problem}")
    problems += words(browser)
    for problem in parts(browser):
        problems.append(f"a part of the run: {problem}")
    for problem in touches(browser):
        problems.append(f"touch: {problem}")
    for problem in fabric(browser):
        problems.append(f"fabric over time: {problem}")
    for problem in picks(browser):
        problems.append(f"seeds: {problem}")
    for problem in zooms(browser):
        problems.append(f"panels: {problem}")

    expect(requests(browser.events) == [url], f"requests: {requests(browser.events)}")
    expect(not complaints(browser.events), f"console: {complaints(browser.events)}")

    # Without script the page must still be whole.
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.events.clear()
    browser.call("Page.reload")
    browser.wait_for("Page.loadEventFired")
    document = browser.call("DOM.getDocument", depth=1)["root"]["nodeId"]
    figures = browser.call("DOM.querySelectorAll", nodeId=document, selector="svg")["nodeIds"]
    expect(len(figures) >= 6, "figures need the script")
    return problems


def main():
    browser_path = chromium()
    if not browser_path:
        print(f"skipped: {NAME} (no chromium here, and it cannot be installed)")
        return 0
    scratch = tempfile.mkdtemp(prefix="forebay-report-")
    try:
        if len(sys.argv) > 1:
            page = pathlib.Path(sys.argv[1]).resolve()
        else:
            page = pathlib.Path(scratch) / "report.html"
            subprocess.run([programs.example("sample_report"), str(page)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        browser = Browser(browser_path, pathlib.Path(scratch) / "profile")
        try:
            problems = check(browser, page.as_uri())
        finally:
            browser.close()
    finally:
        # The browser's helpers may outlive it for a moment and still write to the profile.
        shutil.rmtree(scratch, ignore_errors=True)
    for problem in problems:
        print(f"{NAME}: {problem}")
    print(f"{'FAILED' if problems else 'ok'}: {NAME}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
