#!/usr/bin/env python3
"""The crate examples/own-law, which is outside the workspace, compiles and does what its page says.

    own_law.py [--cargo]

It is compiled against the libraries of a release, or of the profile that FOREBAY_PROFILE names, so that nothing of the workspace is
compiled twice. With --cargo, cargo compiles everything once more, as for a reader.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import programs  # noqa: E402

CRATE = ROOT / "examples/own-law"
HERE = ROOT / "target/own-law"
PROFILE = os.environ.get("FOREBAY_PROFILE", "release")
NAMES = {"forebay": "forebay_cli"}  # library of a package, where that has another name
SCENARIO = """
version = 1
seeds = [1]
stop = { time = "300us" }
[fabric]
kind = "star"
hosts = 5
host_link = { rate = "25Gbps", delay = "1us" }
[fabric.switch]
ecn = { k = "30KB" }
[transport]
kind = "tcp"
law = "halve"
[[traffic]]
kind = "incast"
to = "host[0]"
fan_in = 4
size = "200KB"
"""


def run(*words, expect=0, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode != expect:
        sys.exit(f"{' '.join(map(str, words))[:200]} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def packages():
    """Packages that the crate's manifest names. Cargo has read it, with the versions of the workspace."""
    HERE.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "Cargo.lock", CRATE / "Cargo.lock")
    said = run("cargo", "metadata", "--offline", "--format-version", "1", "--manifest-path", CRATE / "Cargo.toml", cwd=CRATE, env={**os.environ, "CARGO_TERM_QUIET": "true"})
    own = next(of for of in json.loads(said[said.index("{") : said.rindex("}") + 1])["packages"] if of["name"] == "own-law")
    return [of["name"] for of in own["dependencies"]]


def libraries(names):
    """Paths of the libraries of these packages that cargo has compiled, or compiles now."""
    command, variables = programs.build(PROFILE, *names)
    done = subprocess.run([*command, "--message-format=json"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, env=variables)
    made = [json.loads(line) for line in done.stdout.splitlines()]
    files = {of["target"]["name"]: file for of in made if of["reason"] == "compiler-artifact" for file in of["filenames"] if file.endswith(".rlib")}
    return {lib: files[lib] for lib in (NAMES.get(name, name.replace("-", "_")) for name in names)}


def compiled(libs, *more):
    words = ["rustc", "--edition", "2024", "--crate-name", "own_law", "-D", "warnings", "-C", "debug-assertions=on"]
    words += [word for name, path in libs.items() for word in ("--extern", f"{name}={path}")]
    run(*words, "-L", f"dependency={programs.folder(PROFILE) / 'deps'}", *more, CRATE / "src/main.rs", cwd=ROOT)


def blocks(text, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


def pages(own):
    """The pages show the law's file and its help as they are."""
    page, law = (ROOT / "docs/add-a-law.md").read_text(), (CRATE / "src/halve.rs").read_text()
    code = next(block for block in blocks(page, "rust") if block.startswith("//!"))
    if not law.startswith(code):
        sys.exit("docs/add-a-law.md shows another law than examples/own-law/src/halve.rs")
    if run(own, "laws", "halve").strip() != blocks((CRATE / "README.md").read_text(), "text")[0].strip():
        sys.exit("examples/own-law/README.md shows another page than the one that the law has")


def command(own):
    """The command knows the law: in runs, logs, sweeps and sentences."""
    (HERE / "mine.toml").write_text(SCENARIO)
    for folder in ("run", "dctcp", "sweep"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
    quiet = ["--progress", "off", "--out"]
    run(own, "run", "mine.toml", "--law-log", "1", *quiet, "run", cwd=HERE)
    if "halve" not in run(own, "laws", "replay", "run/law-1-seed-1.log", cwd=HERE):
        sys.exit("the log of the law does not name it")
    if "Hash of its text" not in (HERE / "run/resolved.toml").read_text():
        sys.exit("resolved.toml does not say that the law comes from another program")
    run(own, "why", "run", "--flow", "1", cwd=HERE)
    run(own, "run", "mine.toml", "--set", "transport.law=dctcp", *quiet, "dctcp", cwd=HERE)
    own_run, other = [json.loads((HERE / folder / "manifest.json").read_text()) for folder in ("run", "dctcp")]
    if "halve" not in json.dumps(own_run) or own_run["digest"] == other["digest"]:
        sys.exit("the run was not under the law")
    run(own, "sweep", "mine.toml", "--set", 'sweep={"transport.params.growth"=[1,4]}', *quiet, "sweep", cwd=HERE)
    said = run(own, "check", "mine.toml", "--set", "transport.params.growth=0", expect=2, cwd=HERE)
    if "transport.params.growth" not in said or "halve.growth takes a whole number of packets" not in said:
        sys.exit(f"a wrong parameter is said as: {said}")


def main(arguments):
    libs = libraries(packages())
    tests, own = HERE / "tests", HERE / "forebay"
    compiled(libs, "--test", "-o", tests)
    run(tests)
    compiled(libs, "-o", own)
    pages(own)
    command(own)
    if "--cargo" in arguments:
        run("cargo", "test", "--offline", "--quiet", "--manifest-path", CRATE / "Cargo.toml", "--target-dir", HERE / "target", cwd=ROOT)
    print(f"{', '.join(libs)}: the law halve outside the workspace, its tests, page, run, log, sweep and sentences")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
