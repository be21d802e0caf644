#!/usr/bin/env python3
"""Installs the C library of credits: header, static and shared library, pkg-config file.

    packaging/credits-c.py PREFIX [PROFILE]      PROFILE: release, unless it is debug
"""
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    prefix = Path(sys.argv[1]).resolve()
    built = ROOT / "target" / (sys.argv[2] if len(sys.argv) > 2 else "release")
    libraries = [built / f"libforebay_credits_c.{kind}" for kind in ("so", "a")]
    if not all(path.exists() for path in libraries):
        sys.exit(f"{libraries[0]} is not there; run cargo build --release -p forebay-credits-c first")
    for folder in ("include", "lib/pkgconfig"):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "crates/credits-c/include/forebay_credits.h", prefix / "include")
    for path in libraries:
        shutil.copy(path, prefix / "lib")
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    text = (ROOT / "crates/credits-c/forebay-credits.pc.in").read_text()
    text = text.replace("@PREFIX@", str(prefix)).replace("@VERSION@", version)
    (prefix / "lib/pkgconfig/forebay-credits.pc").write_text(text)
    print(f"installed below {prefix}; export PKG_CONFIG_PATH={prefix}/lib/pkgconfig")


if __name__ == "__main__":
    main()
