#!/usr/bin/env python3
"""C programs with the credit library: installed in a folder, found by pkg-config, compiled with all warnings, linked both ways, run under valgrind.

The program of docs/credits.md is one of them.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import programs  # noqa: E402

# Of cargo.
PROFILE = os.environ.get("FOREBAY_PROFILE", "release")
WARNINGS = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wconversion"]


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def page():
    """The program of the page."""
    blocks = re.findall(r"^```c\n(.*?)^```$", (ROOT / "docs/credits.md").read_text(), re.M | re.S)
    assert len(blocks) == 1, "docs/credits.md has one program in C"
    return blocks[0]


def main():
    missing = [name for name in ("cc", "pkg-config") if not shutil.which(name)]
    if missing:
        print(f"skipped: the C library: {missing[0]} is not installed")
        return
    # With the command, so that what they share is the same.
    command, variables = programs.build(PROFILE, "forebay", "forebay-carc-bench", "forebay-credits-c")
    run(*command, cwd=ROOT, env=variables)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        run(sys.executable, ROOT / "packaging/credits-c.py", folder / "usr", programs.folder(PROFILE).name)
        find = os.environ | {"PKG_CONFIG_PATH": str(folder / "usr/lib/pkgconfig")}
        flags = run("pkg-config", "--cflags", "forebay-credits", env=find).split()
        shared = run("pkg-config", "--libs", "forebay-credits", env=find).split()
        private = run("pkg-config", "--static", "--libs", "forebay-credits", env=find).split()
        static = [folder / "usr/lib/libforebay_credits_c.a", *[word for word in private if not word.startswith(("-L", "-lforebay"))]]
        (folder / "page.c").write_text(page())
        sources = [ROOT / "crates/credits-c/tests/c/pair.c", folder / "page.c"]
        at = os.environ | {"LD_LIBRARY_PATH": str(folder / "usr/lib")}
        for source in sources:
            for kind, libraries in (("shared", shared), ("static", static)):
                program = folder / f"{source.stem}-{kind}"
                run("cc", *WARNINGS, *flags, source, "-o", program, *libraries)
                print(f"{source.name}, {kind} library: {run(program, env=at).strip().splitlines()[-1]}")
        if shutil.which("valgrind"):
            check = ["valgrind", "--quiet", "--error-exitcode=1", "--leak-check=full", "--errors-for-leak-kinds=all"]
            for source in sources:
                run(*check, folder / f"{source.stem}-shared", env=at)
            print("valgrind: no error, no leak")
        if shutil.which("c++"):
            (folder / "plus.cpp").write_text("#include <forebay_credits.h>\nint main() { return forebay_sender_due(nullptr) == UINT64_MAX ? 0 : 1; }\n")
            run("c++", "-Wall", "-Wextra", "-Werror", *flags, folder / "plus.cpp", "-o", folder / "plus", *shared)
            run(folder / "plus", env=at)


if __name__ == "__main__":
    main()
