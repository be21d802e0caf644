#!/usr/bin/env python3
"""Builds programs of tests with cargo and runs them one after the other, a line for each.

    programs.py [--no-run | --no-tests | --slowest] [CARGO OPTION...] [-- WORD...]

CARGO OPTIONs choose what is built (`--workspace --lib`, `-p forebay-net --test it`). WORDs are passed on to the programs: parts of names
of tests. With --no-run they are only built; with --no-tests libraries, programs and examples are, and nothing is run. Clippy's driver
compiles: it is rustc that also lints, so one pass does both. A warning is a failure. With --slowest each test runs in a process of its
own, and those that take most CPU are listed.

Random tests have the same cases every time, so that a red test is about the change at hand. PROPTEST_RNG_SEED=N chooses others. Tests that
look at a sample of presets or examples take the sample of the commit.

A test that fails runs once more, alone. If it passes then, the output says `unstable: NAME`. It is a failure all the same:
red has to mean that something is wrong.

cargo-nextest is used where it is installed; it gives each test a process of its own.
"""

import functools
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;.* finished in (.*)$", re.M)
FAILED = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. FAILED$", re.M)
NEXTEST_FAILED = re.compile(r"^ +(?:FAIL|TIMEOUT|SIG\w+|ABORT|LEAK-FAIL) \[.*?\] (?:\(.*?\) )?(\S+) (\S+)$", re.M)


@functools.cache
def clippy():
    """Path of clippy's driver; None where it is not installed."""
    found = subprocess.run(["rustc", "--print", "sysroot"], cwd=ROOT, capture_output=True, text=True)
    driver = Path(found.stdout.strip(), "bin/clippy-driver")
    return driver if driver.exists() else None


def with_clippy():
    """Variables with which cargo compiles this workspace by clippy's driver, and programs of tests by tests/rustc.sh."""
    wrapper, before = str(ROOT / "tests/rustc.sh"), os.environ.get("RUSTC_WRAPPER", "")
    own = {"RUSTC_WRAPPER": wrapper, "WRAPPED": before} if os.name == "posix" and before != wrapper else {}
    return {**os.environ, **own, **({"RUSTC_WORKSPACE_WRAPPER": str(clippy())} if clippy() else {})}


def of_profile(name):
    """Options of cargo for a profile, that of tests/tested.toml among them."""
    return [*(["--config", str(ROOT / "tests/tested.toml")] if name == "tested" else []), "--profile", name]


def build(profile, *packages):
    """A command of cargo that builds packages in a profile, and its variables. In `dev` they are those of the tests, which have compiled them."""
    names = [word for name in packages for word in ("-p", name)]
    command = ["cargo", "build", "--locked", *of_profile(profile), "--quiet", *(unified(names) if profile == "dev" else names)]
    return command, with_clippy() if profile == "dev" else dict(os.environ)


def folder(profile):
    """Where cargo puts programs and libraries of a profile."""
    return ROOT / "target" / ("debug" if profile == "dev" else profile)


def unified(options):
    """Options of cargo with which chosen packages have the features that they have among all (crates/unified)."""
    return [*options, "-p", "forebay-unified"] if "-p" in options else options


def compiled(verb, options):
    """What cargo makes, as its messages about executables. None if it cannot, or a lint has something to say."""
    command = ["cargo", *verb, "--locked", "--message-format=json", *unified(options)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=with_clippy())
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    said = [of["message"]["rendered"] for of in messages if of["reason"] == "compiler-message" and of["message"]["level"] in ("warning", "error")]
    print("".join(dict.fromkeys(said)), end="", flush=True)
    return None if said or done.returncode != 0 else [of for of in messages if of.get("executable")]


def built(options):
    """Programs of tests: name, path, and folder of the package. None if they cannot be built."""
    programs, messages = [], compiled(["test", "--no-run"], options)
    for message in messages or []:
        if message["profile"]["test"]:
            folder = Path(message["manifest_path"]).parent
            source = Path(message["target"]["src_path"]).relative_to(folder)
            programs.append((f"{folder.name}: {source}", message["executable"], folder))
    return None if messages is None else sorted(programs, key=lambda program: program[0])


def example(name):
    """Path of an example of a crate, with the features that the workspace has."""
    messages = compiled(["build"], ["--workspace", "--example", name])
    if messages is None:
        sys.exit(f"the example {name} cannot be built")
    return messages[-1]["executable"]


def environment(folder):
    """Variables that cargo sets for a program of a package, and those of its configuration."""
    return {**os.environ, "CARGO_MANIFEST_DIR": str(folder), "RUST_MIN_STACK": os.environ.get("RUST_MIN_STACK", "33554432")}


def number_of_commit():
    """Chooses samples, the same for as long as the commit is."""
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return str(int(found.stdout[:8] or "1", 16))


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(program, folder, words, **more):
    variables = {**environment(folder), **more}
    return subprocess.run([program, *words], cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")


def without_passed(text):
    """What a program says, without the tests that passed."""
    return "\n".join(line for line in text.splitlines() if line and not re.match(r"test .* \.\.\. ok$|running \d+ test", line))


def alone(name, test, once_more):
    """Says what became of a failed test that ran once more."""
    print(f"   unstable: {name} {test} failed, and passed alone" if once_more else f"   {name} {test} fails alone, too", flush=True)


def by_program(programs, words):
    good = True
    for name, program, folder in programs:
        before = cpu()
        with tempfile.NamedTemporaryFile("r") as left_out:
            done = run(program, folder, words, FOREBAY_LEFT_OUT=left_out.name)
            too_long = Counter(left_out.read().split())
        result = RESULT.search(done.stdout)
        counts = f"{result[1]:>4} passed, {result[2]} failed, {result[3]} ignored" if result else f"ended with {done.returncode}, without a result"
        print(f"   {name:<44} {counts}, {cpu() - before:.1f} s of CPU", flush=True)
        for test, runs in sorted(too_long.items()):
            print(f"      {test} left out {runs} random scenario{'s' if runs > 1 else ''} as too long", flush=True)
        if done.returncode == 0:
            continue
        good = False
        print(without_passed(done.stdout), flush=True)
        print(f"   random cases of PROPTEST_RNG_SEED={os.environ['PROPTEST_RNG_SEED']}", flush=True)
        for test in FAILED.findall(done.stdout):
            again = run(program, folder, [test, "--exact", "--include-ignored"])
            alone(name, test, again.returncode == 0)
    return good


def slowest(programs, words, count=60):
    """Runs each test alone, and lists those that take most CPU."""
    took = []
    for name, program, folder in programs:
        listed = run(program, folder, ["--list", "--format", "terse", *words]).stdout
        for test in re.findall(r"^(.*): test$", listed, re.M):
            before = cpu()
            good = run(program, folder, [test, "--exact"]).returncode == 0
            took.append((cpu() - before, f"{name} {test}{'' if good else ' (failed)'}"))
    took.sort(reverse=True)
    print(f"{sum(seconds for seconds, _ in took):.0f} s of CPU for {len(took)} tests, each alone")
    for seconds, test in took[:count]:
        print(f"{seconds:7.2f} s  {test}")


def by_nextest(options, words):
    command = ["cargo", "nextest", "run", "--locked", "--no-fail-fast", "--no-tests=pass", "--status-level=fail", *unified(options), *words]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=with_clippy())
    print(done.stdout, flush=True)
    if done.returncode != 0:
        print(f"   random cases of PROPTEST_RNG_SEED={os.environ['PROPTEST_RNG_SEED']}", flush=True)
    for name, test in dict.fromkeys(NEXTEST_FAILED.findall(done.stdout)):
        again = [*command[:4], *unified(options), "-E", f"binary_id(={name}) & test(={test})"]
        alone(name, test, subprocess.run(again, cwd=ROOT, capture_output=True, env=with_clippy()).returncode == 0)
    return done.returncode == 0


def main(arguments):
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options, words = arguments[:split], arguments[split + 1 :]
    if "--no-tests" in options:
        return int(compiled(["build"], [word for word in options if word != "--no-tests"]) is None)
    os.environ.setdefault("PROPTEST_RNG_SEED", "1")
    os.environ.setdefault("FOREBAY_SAMPLE", number_of_commit())
    programs = built([word for word in options if word not in ("--no-run", "--slowest")])
    if programs is None or "--no-run" in options:
        return int(programs is None)
    if "--slowest" in options:
        return slowest(programs, words)
    return 0 if (by_nextest(options, words) if shutil.which("cargo-nextest") else by_program(programs, words)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
