#!/usr/bin/env python3
"""A package that is built alone, with crates/unified, has the features that it has among all: so both share what they have compiled.

    unified.py

Compares `cargo tree` of each package with that of the workspace. A crate that differs gets its features in crates/unified/Cargo.toml, and
in the manifests whose feature `unified` is for tests.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import changed  # noqa: E402


def features(*options):
    """Crates of a build, each with its features."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--no-dedupe", "--format", "{p} | {f}", *options]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines())


def alone(package):
    return features("-p", package, "-p", "forebay-unified")


def main():
    everything = features("--workspace")
    packages = [changed.package(path.parent.name) for path in sorted((ROOT / "crates").glob("*/Cargo.toml"))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        builds = dict(zip(packages, pool.map(alone, packages)))
    builds["the wheel"] = features("-p", "forebay-python", "--edges", "normal,build", "--features", "unified")
    # The feature itself, and what only it asks for, are not among all.
    builds["the wheel"] -= {line for line in builds["the wheel"] if line.startswith("forebay-python ")}
    differ = {(line, name) for name, lines in builds.items() for line in lines - everything}
    for line, name in sorted(differ):
        print(f"crates/unified: {name} alone has {line}")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
