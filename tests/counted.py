#!/usr/bin/env python3
"""Gates that count instructions count the same code once: the same compiler makes the same program of it, which has the same counts.

    counted.py            says of each gate whether its code has changed since it passed
    counted.py --note     notes in tests/counted.json the code of the gates that passed here, for every later ./test

A gate passes in `./test STEP`, which compiles as a release does. `./test --all` counts always.
"""

import hashlib
import json
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTED, HERE = ROOT / "tests/counted.json", ROOT / "target/counted.json"
# What compiles everything.
COMMON = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo/config.toml", "tests/tested.toml"]
# For each step the code that runs while it counts, its limits, and itself.
CODE = {
    "performance": [
        *[f"crates/{name}" for name in ("units", "laws", "credits", "engine", "wire", "net", "host", "jobs", "settings", "transport", "sim")],
        *["crates/scenario/src/workload.rs", "crates/record/src/rows.rs", "crates/record/src/why", "crates/cli/src/main.rs", "crates/cli/src/bench"],
        *["tests/performance/gate.py", "tests/performance/baseline.json"],
    ],
    "credits_cache": [
        *[f"crates/{name}" for name in ("units", "laws", "credits", "credits-ring", "carc-bench")],
        *["tests/credits/instructions.py", "tests/credits/baseline.json"],
    ],
}


def lines(path):
    """Lines of a file; of Rust those that compile into something."""
    text = path.read_text()
    return [line for line in text.splitlines() if not line.lstrip().startswith("//")] if path.suffix == ".rs" else [text]


def is_test(path):
    return path.name == "tests.rs" or not {"tests", "examples"}.isdisjoint(path.parts)


def files(of):
    """A file, or those of a folder that compile into a library or a program."""
    whole = ROOT / of
    return [whole] if whole.is_file() else sorted(path for path in whole.rglob("*") if path.suffix in (".rs", ".toml") and not is_test(path.relative_to(ROOT)))


def code(gate):
    """Hash of what a gate counts, and of the compiler."""
    compiler = subprocess.run(["rustc", "--version"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = hashlib.sha256(f"{compiler}{platform.machine()}".encode())
    for path in [path for of in COMMON + CODE[gate] for path in files(of)]:
        found.update(repr((str(path.relative_to(ROOT)), lines(path))).encode())
    return found.hexdigest()[:16]


def read(path):
    return json.loads(path.read_text()) if path.exists() else {}


def unchanged(gate):
    """Whether this code has passed the gate."""
    return code(gate) in (read(NOTED).get(gate), read(HERE).get(gate))


def passed(gate, code):
    """Notes in target/ that code of this hash has passed the gate."""
    HERE.write_text(json.dumps({**read(HERE), gate: code}, indent=1) + "\n")
    print(f"{gate}: this code passed; tests/counted.py --note spares every later ./test the same")


def main(arguments):
    if arguments == ["--note"]:
        now = {gate: code(gate) for gate in CODE}
        noted = {**read(NOTED), **{gate: of for gate, of in read(HERE).items() if of == now.get(gate)}}
        NOTED.write_text(json.dumps(noted, indent=1) + "\n")
    for gate in CODE:
        print(f"{gate}: {'this code has passed' if unchanged(gate) else 'the code has changed since it passed; ./test ' + gate + ' counts it'}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
