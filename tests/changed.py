#!/usr/bin/env python3
"""What a change can break soonest: the crates that it touches, and what to run for them.

    changed.py [BASE]     prints it; BASE is where the branch left origin/main (else main)
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Crates below the simulator: a change there can move a digest.
CORE = {"engine", "wire", "net", "host", "transport", "laws", "units", "sim"}
# Modules of the simulator's tests that hold digests and exact times.
EXACT = ["exact::", "digests::", "lists::"]
# Files of every crate.
COMMON = ("Cargo.toml", "Cargo.lock", "clippy.toml", "rust-toolchain.toml", ".cargo/")


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


def base():
    """The commit where this branch began; the last commit on main itself."""
    for name in ("origin/main", "main"):
        found = git("merge-base", "HEAD", name)
        if found.returncode == 0:
            return found.stdout.strip()
    return "HEAD"


def files(since):
    """Files that differ from a commit, those that git does not follow yet among them."""
    changed = git("diff", "--name-only", "-z", since).stdout.split("\0")
    new = git("ls-files", "--others", "--exclude-standard", "-z").stdout.split("\0")
    return sorted({name for name in changed + new if name})


def crates(names):
    """Folders of crates with such files that still exist; all of them if a file of the workspace changed."""
    everything = {path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml")}
    if any(name.startswith(COMMON) for name in names):
        return everything
    return {name.split("/")[1] for name in names if name.startswith("crates/")} & everything


def package(crate):
    return "forebay" if crate == "cli" else f"forebay-{crate}"


def main(arguments):
    since = arguments[0] if arguments else base()
    names = files(since)
    print(f"since {since[:10]}: {len(names)} files; crates: {' '.join(sorted(crates(names))) or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])
