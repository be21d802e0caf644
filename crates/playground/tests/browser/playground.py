#!/usr/bin/env python3
"""The playground in a real browser: every preset runs in its worker and has the digest that the command has; settings, link, editor,
time and keys do what they say; desktop and phone, light and dark; no console errors, nothing asked of anyone else.

    playground.py [--pictures FOLDER]

Builds the page with packaging/playground/build.sh and serves it with `play` of target/release/forebay, or of the program that FOREBAY
names. Where Chromium or the wasm target is missing and cannot be had, the test is skipped by name and succeeds. The browser is that of
the test of reports.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "crates/record/tests/browser"))
import report  # noqa: E402

NAME = "browser/playground"
FOREBAY = pathlib.Path(os.environ.get("FOREBAY", ROOT / "target/release/forebay"))
PRESETS = ["incast", "websearch", "host-congestion", "pfc-storm", "ai-straggler", "hiercc", "nv-beside-cubic"]
# Share of the command's speed, in the middle of so many pairs of runs: a third of a release's. Without optimisation it is 0.2. The command of
# ./test has assertions. It takes 1.15 times the CPU of a release, and 1.75 times where cargo compiled it in parts for later changes.
TIMES_RELEASE = 1.15 if os.environ.get("CARGO_INCREMENTAL") == "0" else 1.75
LEAST_SPEED = (1 if os.environ.get("FOREBAY_PROFILE", "release") == "release" else TIMES_RELEASE) / 3
PAIRS = 3

DIGEST = "document.getElementById('digest')?.textContent || ''"
STATUS = "document.getElementById('status').textContent"
# Different colours on the canvas: a blank one has one.
COLOURS = """(() => { const c = document.getElementById('topology'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
const seen = new Set(); for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return seen.size; })()"""
# Notes whether the run has ended when its first picture appears.
FIRST = f"""new MutationObserver((_, own) => {{ if (!document.querySelector('#charts svg')) return;
window.atFirstPicture = ({DIGEST}) ? 'over' : 'running'; own.disconnect(); }}).observe(document, {{ subtree: true, childList: true }})"""
PICTURE = "document.getElementById('topology').toDataURL()"
# Controls whose text is cut, or that leave the page or their box.
BOXES = """(() => { const bad = []; for (const el of document.querySelectorAll('button, select, output, dd, dt, .choices span, .meter b')) {
const b = el.getBoundingClientRect(); if (b.width && (b.right > innerWidth + 1 || b.left < -1)) bad.push('leaves the page: ' + el.textContent.slice(0, 40));
if (el.scrollWidth > el.clientWidth + 1 && el.tagName !== 'SELECT') bad.push('is cut: ' + el.textContent.slice(0, 40)); }
for (const el of document.querySelectorAll('section input, section output')) { const b = el.getBoundingClientRect();
if (b.right > el.closest('section').getBoundingClientRect().right - 8) bad.push('leaves its box: ' + (el.parentNode.textContent || el.id).slice(0, 40)); } return bad; })()"""


class Page:
    """The playground in a tab."""

    def __init__(self, browser, address):
        self.browser, self.address, self.problems = browser, address, []

    def value(self, expression):
        return self.browser.value(expression)

    def expect(self, condition, text):
        if not condition:
            self.problems.append(text)

    def wait(self, expression, what):
        end = time.monotonic() + report.PATIENCE
        while time.monotonic() < end:
            found = self.value(expression)
            if found:
                return found
            time.sleep(0.03)
        raise TimeoutError(f"{what}: {self.value(STATUS)}; {self.value('document.getElementById(`refused`).textContent')}")

    def open(self, fragment=""):
        """Seconds until something of a run is drawn."""
        self.browser.call("Page.navigate", url="about:blank")
        start = time.monotonic()
        self.browser.call("Page.navigate", url=self.address + fragment)
        self.wait("!!document.querySelector('#charts svg')", "first picture")
        return time.monotonic() - start

    def ended(self, but=""):
        return self.wait(f"(d => d !== '{but}' && d)({DIGEST})", "a run ends")

    def key(self, name, **more):
        for kind in ["keyDown", "keyUp"]:
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=name, **more)

    def edit(self, old, new):
        """Replaces a part of the scenario's text, as typing does."""
        self.value(f"(a => {{ a.value = a.value.replace({old!r}, {new!r}); a.dispatchEvent(new Event('input')); }})(document.getElementById('text'))")

    def show(self, width, scheme="light"):
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.browser.settle(ms=100)  # it lays itself out again 80 ms after it was resized

    def picture(self, path):
        height = self.value("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": self.value("innerWidth"), "height": height, "scale": 1}
        shot = self.browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))


def native(text, folder):
    """Digest of the same text under the command."""
    (folder / "native.toml").write_text(text)
    command = [FOREBAY, "run", "native.toml", "--seed", "1", "--out", "native", "--force", "--json", "--quiet"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)["digest"]


def same_digests(page, folder, pictures):
    for preset in PRESETS:
        page.open("#" + preset)
        digest = page.ended()
        text = page.value("document.getElementById('text').value")
        page.expect(digest == native(text, folder), f"{preset}: digest {digest} is not the command's")
        page.value("document.getElementById('scrub').value = document.getElementById('scrub').max / 2;"
                   "document.getElementById('scrub').dispatchEvent(new Event('input'))")
        page.expect(page.value(COLOURS) > 8, f"{preset}: the topology is blank")
        for width, scheme in [(1440, "light"), (1440, "dark"), (700, "light"), (390, "dark"), (390, "light")]:
            page.show(width, scheme)
            for problem in page.value(report.GEOMETRY) + page.value(BOXES):
                page.problems.append(f"{preset} at {width} px: {problem}")
            least, where = page.value(report.CONTRAST)
            page.expect(least >= 4.5, f"{preset}, {scheme}: contrast {least:.2f} at {where}")
            if pictures and (width, scheme) != (700, "light"):
                page.picture(pictures / f"{preset}-{width}-{scheme}.png")
        page.show(1440)


def settings(page, folder):
    """A law chosen makes another run, beside which the one before is drawn; its address and its text make the same run again."""
    page.open("#incast")
    first = page.ended()
    page.value("[...document.querySelectorAll('.choices label')].find(l => l.textContent === 'HPCC').click()")
    second = page.ended(first)
    page.expect(page.value("document.querySelectorAll('.ghost').length") > 0, "the run before is not drawn")
    page.expect("before" in page.value("document.getElementById('tiles').textContent"), "tiles have no number of the run before")
    page.value("(s => { s.value = 1; s.dispatchEvent(new Event('input')); })(document.querySelectorAll('#form input[type=range]')[2])")
    third = page.ended(second)
    text, where = page.value("document.getElementById('text').value"), page.value("location.hash")
    page.expect('size = "500KB"' in text and "hpcc" in text, "the settings are not in the text")
    page.expect(third == native(text, folder), "changed settings: not the command's digest")
    page.value("(s => { s.value = 'pfc-storm'; s.dispatchEvent(new Event('change')); })(document.getElementById('preset'))")
    page.ended(third)
    page.expect("before" not in page.value("document.getElementById('tiles').textContent"), "a run of another preset is compared with")
    page.open(where)
    page.expect(page.ended() == third, f"the link {where} makes another run")
    page.expect(page.value("document.querySelector('.choices input:checked + span').textContent") == "HPCC", "a link's law is not shown as chosen")


def hosts(page):
    """What a NIC drops is told apart from what ports drop: without hostCC there is much of it, with hostCC little."""
    told = "document.getElementById('inside').textContent.match(/NIC dropped ([0-9,]+|nothing)/)?.[1]"
    page.open("#host-congestion")
    first = page.ended()
    drops = [page.wait(told, "drops of the NIC")]
    page.value("[...document.querySelectorAll('.choices label')].find(l => l.textContent === 'none').click()")
    page.ended(first)
    page.browser.settle()
    drops.append(page.wait(told, "drops of the NIC"))
    few, many = [int(d.replace(",", "").replace("nothing", "0")) for d in drops]
    page.expect(many > few, f"the NIC drops {many} packets without hostCC, {few} with")


def collective(page):
    """A busy server doubles the time of a collective and more; hostCC takes most of that back. The run before stays in sight."""
    tile = "[...document.querySelectorAll('#tiles div')].find(d => d.querySelector('dt').textContent === 'Completion')"
    took, note = f"parseFloat({tile}?.querySelector('dd').textContent)", "document.getElementById('flows-note').textContent"

    def ms(but=""):
        digest = page.ended(but)
        page.key("End", code="End", windowsVirtualKeyCode=35)
        return digest, page.wait(f"{took} > 0 && {took}", "a completion time")

    page.open("#ai-straggler")
    page.value("document.activeElement.blur()")
    first, busy = ms()
    page.expect("bus bandwidth of" in page.value(note) and "last rank" in page.value(note), f"of the collective: {page.value(note)}")
    page.value("[...document.querySelectorAll('.choices label')].find(l => l.textContent === 'hostCC').click()")
    second, eased = ms(first)
    page.expect("before" in page.value(f"{tile}.textContent"), "the completion time of the run before is not there")
    page.value("(s => { s.value = 0; s.dispatchEvent(new Event('input')); })(document.querySelector('#form input[type=range]'))")
    _, quiet = ms(second)
    page.expect(4.6 < quiet < 5 and eased < 2 * quiet < busy, f"completion in ms: quiet {quiet}, with hostCC {eased}, busy {busy}")


def editor(page, folder):
    """Mistakes have the checker's own sentence at their line and column; a text that is right runs and goes into the link."""
    page.open("#incast")
    first = page.ended()
    page.edit("fan_in = 32", "fan_in = 320")
    said = page.wait("document.querySelector('#problems button')?.textContent", "a problem is shown")
    (folder / "playground.toml").write_text(page.value("document.getElementById('text').value"))
    checked = subprocess.run([FOREBAY, "check", "playground.toml"], cwd=folder, capture_output=True, text=True).stderr.strip()
    place, sentence = checked.split(": ", 1)
    _, line, column = place.split(":")
    page.expect(said == f"line {line}, column {column} {sentence}", f'"{said}" is not what check says: "{checked}"')
    page.value("document.querySelector('#problems button').click()")
    at = page.value("(a => a.value.slice(a.selectionStart).split('\\n')[0])(document.activeElement)")
    page.expect(at.startswith("320"), f'the sentence leads to "{at}"')
    page.expect(page.value("document.getElementById('run').disabled"), "a wrong scenario can be run")
    page.edit("fan_in = 320", "fan_in = 7")
    page.wait("!document.getElementById('run').disabled", "the problem goes away")
    page.key("Enter", modifiers=2, code="Enter", windowsVirtualKeyCode=13)
    second = page.ended(first)
    page.expect(second == native(page.value("document.getElementById('text').value"), folder), "edited text: not the command's digest")
    where = page.wait("location.hash.startsWith('#toml=') && location.hash", "a link with the text")
    page.open(where)
    page.expect(page.ended() == second, "the link with the text makes another run")
    page.edit("hosts = 41", "hosts = 5000")
    page.wait("!document.getElementById('run').disabled", "a large fabric is checked")
    page.value("document.getElementById('run').click()")
    page.wait("document.getElementById('refused').textContent.includes('more than a page draws')", "a fabric that is too large is refused")


# The line that offers an edited text again, and the text.
OFFERED = "document.getElementById('replaced').textContent"
TEXT = "document.getElementById('text').value"
LAYOUT = """(b => b.left >= 0 && b.right <= innerWidth && b.top >= 0 && b.bottom <= innerHeight && b.height >= 24
  && document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2).tagName)(document.querySelector('#replaced button').getBoundingClientRect())"""


def undo(page, folder, pictures):
    """An edited text that a preset or a link replaces is offered again, by key and by pointer, until the next edit or choice."""

    def replaced(how, do, seen):
        """An edited text, and the digest of what takes its place."""
        page.open("#incast")
        first = page.ended()
        page.edit("fan_in = 32", "fan_in = 7")
        text = page.value(TEXT)
        page.value("window.scrollTo(0, 0)")
        do()
        page.wait(f"{seen} && {OFFERED}", f"{how} replaces the text and says so")
        page.expect(page.value(LAYOUT) == "BUTTON", f"after {how} at {page.value('innerWidth')} px the button to undo it cannot be pressed")
        return text, page.ended(first)

    def choose(preset):
        page.value(f"(s => {{ s.focus(); s.value = '{preset}'; s.dispatchEvent(new Event('change')); }})(document.getElementById('preset'))")

    def back(how, text, other):
        page.expect(page.value(TEXT) == text, f"{how} does not bring the edited text back")
        page.expect(page.value(OFFERED) == "", f"{how} leaves the offer standing")
        page.expect(page.value("document.activeElement.id") == "preset", f"{how} leaves the focus nowhere")
        page.expect(page.ended(other) == native(text, folder), f"{how}: not the command's digest")
        page.expect(page.value("document.getElementById('preset').value") == "incast", f"{how} leaves the other preset chosen")

    for width in (1440, 390):
        page.show(width)
        text, other = replaced("a preset", lambda: choose("pfc-storm"), f"{TEXT}.includes('pfc')")
        for problem in page.value(report.GEOMETRY) + page.value(BOXES):
            page.problems.append(f"with an offer to undo at {width} px: {problem}")
        if pictures:
            page.picture(pictures / f"undo-{width}.png")
        for _ in range(6):
            page.key("Tab", code="Tab", windowsVirtualKeyCode=9)
            if page.value("!!document.activeElement.closest('#replaced')"):
                break
        page.key("Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
        back("Enter on the button", text, other)
        text, other = replaced("a link", lambda: page.value("location.hash = '#hiercc'"), f"{TEXT}.includes('hiercc')")
        at = page.value("(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector('#replaced button').getBoundingClientRect())")
        for kind in ["mousePressed", "mouseReleased"]:
            page.browser.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", buttons=1, clickCount=1)
        back("a click on the button", text, other)
    page.show(1440)
    packed = page.value("location.hash")
    replaced("a preset", lambda: choose("pfc-storm"), f"{TEXT}.includes('pfc')")
    page.edit("seed", "seed")
    page.expect(page.value(OFFERED) == "", "an edit leaves the offer standing")
    replaced("a preset", lambda: choose("pfc-storm"), f"{TEXT}.includes('pfc')")
    choose("hiercc")
    page.wait(f"{TEXT}.includes('hiercc')", "a second preset")
    page.expect(page.value(OFFERED) == "", "what was edited before the last choice but one is offered")
    page.open("#websearch")
    page.ended()
    page.edit("seed", "seed")
    page.value(f"location.hash = '{packed}'")
    page.wait(f"{TEXT}.includes('fan_in = 7') && {OFFERED}", "a link with a text replaces the text and says so")


def keys(page):
    """Time goes by key, slider and pointer."""
    page.open("#pfc-storm")
    page.ended()
    now, scrub = "document.getElementById('now').textContent", "Number(document.getElementById('scrub').value)"
    page.value("document.activeElement.blur()")
    page.key("End", code="End", windowsVirtualKeyCode=35)
    last = page.value(scrub)
    page.expect(page.value(now) == "6.000 ms", f"End leads to {page.value(now)}")
    page.key("ArrowLeft", code="ArrowLeft", windowsVirtualKeyCode=37)
    page.expect(page.value(scrub) == last - 1, "an arrow key does not step")
    page.key("Home", code="Home", windowsVirtualKeyCode=36)
    page.expect(page.value(scrub) == 0, "Home does not lead to the start")
    one = page.value(PICTURE)
    page.key(" ", code="Space", windowsVirtualKeyCode=32)
    page.wait(f"{scrub} > 3", "space plays")
    page.key(" ", code="Space", windowsVirtualKeyCode=32)
    page.expect(page.value("document.getElementById('play').ariaLabel || document.getElementById('play').getAttribute('aria-label')") == "Play", "space does not pause")
    page.expect(page.value(PICTURE) != one, "the topology does not move")
    box = page.value("(b => [b.x + b.width * 0.75, b.y + b.height * 0.5])(document.querySelector('#charts svg').getBoundingClientRect())")
    for kind in ["mousePressed", "mouseReleased"]:
        page.browser.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", buttons=1, clickCount=1)
    page.expect(page.value(scrub) > last / 2, "a click into a chart does not lead there")
    at = page.value("(b => [b.x, b.y, b.width])(document.getElementById('topology').getBoundingClientRect())")
    for y in range(40, 260, 4):
        page.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=at[0] + at[2] * 0.06, y=at[1] + y)
    page.expect("queued" in page.value("document.getElementById('tip').textContent"), "ports say nothing under the pointer")
    # Every control can be reached by Tab.
    page.value("document.activeElement.blur(); window.scrollTo(0, 0)")
    seen = set()
    for _ in range(40):
        page.key("Tab", code="Tab", windowsVirtualKeyCode=9)
        seen.add(page.value("document.activeElement.id || document.activeElement.name || document.activeElement.tagName"))
    missing = {"preset", "pin", "share", "copy", "play", "back", "next", "speed", "scrub", "port", "text", "run"} - seen
    page.expect(not missing, f"Tab does not lead to {sorted(missing)}")


def threads(root):
    """Seconds of CPU in user mode that threads of workers have taken so far, by thread, in all processes of a browser; empty where the
    system does not say."""
    parents, taken = {}, {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(") ", 1)[1].split()[1])
        except OSError:
            pass  # has ended
    family = [root]
    for pid in family:
        family += [child for child, parent in parents.items() if parent == pid]
        for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
            try:
                name, fields = stat.read_text().split("(", 1)[1].rsplit(") ", 1)
            except OSError:
                continue
            if name.startswith("DedicatedWorker"):
                taken[stat.parent.name] = int(fields.split()[11]) / os.sysconf("SC_CLK_TCK")
    return taken


def speed(page, folder):
    """The same runs in the page and by the command, one thread each, in turns: seconds of CPU, which others on the machine hardly change,
    or of the clock where the system does not tell those of a thread. The page's are read until its worker ends."""
    page.open("#websearch")
    page.ended()
    page.edit('until = "2ms"', 'until = "16ms"')
    pairs = []
    for seed in range(1, PAIRS + 1):
        page.edit(f"seeds = [{max(1, seed - 1)}]", f"seeds = [{seed}]")
        digest, before, cpu = page.value(DIGEST), threads(page.browser.process.pid), 0.0
        page.value("document.getElementById('run').click()")
        end = time.monotonic() + report.PATIENCE
        while page.value(DIGEST) in ("", digest):
            if time.monotonic() > end:
                raise TimeoutError(f"the page's run takes more than {report.PATIENCE:.0f} s")
            cpu = max([cpu, *(taken for thread, taken in threads(page.browser.process.pid).items() if thread not in before)])
            time.sleep(0.01)
        wall = float(page.value(STATUS).split(" in ")[1].split(" s ")[0])
        (folder / "speed.toml").write_text(page.value(TEXT))
        command = [FOREBAY, "run", "speed.toml", "--threads", "1", "--out", "speed", "--force", "--json", "--quiet"]
        ran = json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout)
        page.expect(page.value(DIGEST) == ran["digest"], "what is timed is not the same run")
        native = json.loads((folder / "speed/volatile.json").read_text())
        hops = ran["network"]["packet_hops"] / 1e6
        by_cpu = (hops / cpu, hops / native["cpu_s"]) if cpu else None
        pairs.append((by_cpu or (hops / wall, hops / native["wall_s"]), (hops / wall, hops / native["wall_s"])))
    shares = [[of / whole for of, whole in kind] for kind in zip(*pairs)]
    (own, whole), _ = sorted(pairs, key=lambda pair: pair[0][0] / pair[0][1])[PAIRS // 2]
    print(f"speed: {own:.2f} M packet-hops a second of CPU in the page, {whole:.2f} M by the command; shares of {PAIRS} pairs by CPU: "
          f"{', '.join(f'{share:.2f}' for share in shares[0])}; by the clock: {', '.join(f'{share:.2f}' for share in shares[1])}")
    page.expect(sorted(shares[0])[PAIRS // 2] >= LEAST_SPEED, f"the page has {sorted(shares[0])[PAIRS // 2]:.2f} of the command's speed")


def served(address):
    """Only the page's own files are served, and nothing but read."""
    problems = []
    for path, status in [("", 200), ("playground.wasm", 200), ("nothing.js", 404), ("../Cargo.toml", 404), ("%2e%2e/a.js", 404)]:
        try:
            found = urllib.request.urlopen(address + path).status
        except urllib.error.HTTPError as error:
            found = error.code
        if found != status:
            problems.append(f"/{path}: {found}")
    try:
        urllib.request.urlopen(urllib.request.Request(address, data=b"x"))
        problems.append("POST is answered")
    except urllib.error.HTTPError as error:
        if error.code != 405:
            problems.append(f"POST: {error.code}")
    return problems


def first_picture(page):
    """The first picture is drawn while the run goes on. When, by the clock, depends on the machine: printed, never held against anything."""
    script = page.browser.call("Page.addScriptToEvaluateOnNewDocument", source=FIRST)["identifier"]
    opened, seen = [], []
    for _ in range(5):
        opened.append(page.open())
        seen.append(page.value("window.atFirstPicture"))
    print(f"first picture after {min(opened):.2f} s, the least of {', '.join(f'{seconds:.2f}' for seconds in opened)}")
    page.browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    page.expect("running" in seen, f"at the first pictures the runs are: {seen}")


def fetched_once(page):
    """The simulator, by far the largest file, is fetched once for a picture."""
    page.browser.call("Network.setCacheDisabled", cacheDisabled=True)
    before = len(page.browser.events)
    page.open()
    asked = report.requests(page.browser.events[before:])
    fetched = sum(url.endswith("playground.wasm") for url in asked)
    page.expect(fetched == 1, f"playground.wasm is fetched {fetched} times for a picture: {asked}")
    page.browser.call("Network.setCacheDisabled", cacheDisabled=False)


def check(page, folder, pictures):
    page.show(1440)
    first_picture(page)
    fetched_once(page)
    page.ended()
    for part in [lambda: same_digests(page, folder, pictures), lambda: settings(page, folder), lambda: hosts(page), lambda: collective(page), lambda: editor(page, folder), lambda: undo(page, folder, pictures), lambda: keys(page), lambda: speed(page, folder)]:
        try:
            part()
        except TimeoutError as error:
            page.problems.append(str(error))
    asked = [url for url in report.requests(page.browser.events) if not url.startswith(page.address) and url != "about:blank"]
    page.expect(not asked, f"requests: {asked}")
    page.problems += [f"console: {text}" for text in report.complaints(page.browser.events)]
    return page.problems


def main():
    chromium = report.chromium()
    if not chromium:
        print(f"skipped: {NAME} (no chromium here, and it cannot be installed)")
        return 0
    # With the feature, what makes macros is what the command has compiled (crates/unified).
    built = subprocess.run([ROOT / "packaging/playground/build.sh"], capture_output=True, text=True, env={**os.environ, "FEATURES": "unified"})
    if built.returncode or built.stdout.startswith("skipped"):
        print(built.stdout + built.stderr)
        return built.returncode
    pictures = pathlib.Path(sys.argv[2]) if sys.argv[1:2] == ["--pictures"] else None
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="forebay-playground-"))
    server = subprocess.Popen([FOREBAY, "play", "--port", "0", "--no-open"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = server.stdout.readline().strip()
        problems = served(address)
        browser = report.Browser(chromium, folder / "profile")
        try:
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ["Runtime", "Log", "Network", "Page"]:
                browser.call(f"{domain}.enable")
            problems += check(Page(browser, address), folder, pictures)
        finally:
            browser.close()
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)
    for problem in problems:
        print(f"{NAME}: {problem}")
    print(f"{'FAILED' if problems else 'ok'}: {NAME}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
