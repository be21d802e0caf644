#!/usr/bin/env bash
# Builds forebay-agent as one static binary, stripped: for servers without this machine's C library.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols" cargo build --locked --release --target "$target" -p forebay-agent
ldd "target/$target/release/forebay-agent" 2>&1 || true
ls -l "target/$target/release/forebay-agent"
