#!/usr/bin/env python3
"""Shows which crates cargo compiled more than once, and what each cost: seconds of CPU.

    RUSTC_WRAPPER=$PWD/tests/compiled.py ./test STEP...     adds a line for each crate to target/compiled.tsv
    tests/compiled.py                                       shows them, the dearest first, with each form

A wrapper does not change what cargo takes for compiled: only a fresh clone, or an empty target, shows everything.
"""

import fcntl
import os
import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "target/compiled.tsv"


def option(words, name):
    """The value of an option of rustc, in either spelling; empty without it."""
    for at, word in enumerate(words):
        if word == name:
            return words[at + 1]
        if word.startswith(f"{name}="):
            return word[len(name) + 1 :]
    return ""


def codegen(words, name):
    """The value of an option `-C name=value`, the last of several."""
    found = [second[len(name) + 1 :] for first, second in zip(words, words[1:]) if first == "-C" and second.startswith(f"{name}=")]
    return found[-1] if found else ""


def form(words):
    """What sets apart the ways in which a crate is compiled: kind, target, optimisation, features."""
    kind = "test" if "--test" in words else "+".join(word for at, word in enumerate(words) if words[at - 1] == "--crate-type")
    features = ",".join(word.split('"')[1] for word in words if word.startswith('feature="'))
    folder = option(words, "--out-dir").removeprefix(f"{FILE.parent}/").partition("/deps")[0]
    return f"{kind or 'lib'} in {folder}, opt-level {codegen(words, 'opt-level') or 0}", features or "-"


def compile_and_note(words):
    """Runs rustc, or clippy's driver."""
    # Open files are handed on: one is that by which cargo counts jobs.
    code = subprocess.run(words, close_fds=False).returncode
    name = option(words, "--crate-name")
    # Cargo also asks for versions and settings.
    if name and name != "___":
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        kind, features = form(words)
        FILE.parent.mkdir(exist_ok=True)
        with FILE.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(f"{name}\t{kind}\t{features}\t{used.ru_utime + used.ru_stime:.2f}\n")
    return code


def show():
    crates = defaultdict(list)
    for line in FILE.read_text().splitlines():
        name, kind, features, seconds = line.split("\t")
        crates[name].append((float(seconds), kind, features))
    total = {name: sum(seconds for seconds, _, _ in forms) for name, forms in crates.items()}
    print(f"{sum(total.values()):.0f} s of CPU for {sum(map(len, crates.values()))} compilations of {len(crates)} crates")
    for name in sorted(total, key=total.get, reverse=True):
        if total[name] < 1:
            break
        print(f"{total[name]:7.1f} s  {name}")
        for seconds, kind, features in sorted(crates[name], reverse=True):
            print(f"      {seconds:7.1f} s  {kind}{'' if features == '-' else ', features ' + features}")


if __name__ == "__main__":
    sys.exit(compile_and_note(sys.argv[1:]) if sys.argv[1:] else show())
