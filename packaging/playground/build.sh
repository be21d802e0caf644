#!/usr/bin/env bash
# Builds the playground: the simulator for a browser, and the page around it, in one static folder that any web server serves.
# Usage: packaging/playground/build.sh [FOLDER]; without a folder it is target/playground, where `forebay play` finds it.
# Tests set FEATURES (`unified`) and FOREBAY_PROFILE (`tested`). Then cargo compiles procedural macros once for the page and the command.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-target/playground}
target=wasm32-unknown-unknown
if ! rustup target list --installed 2> /dev/null | grep -qx "$target" && ! rustup target add "$target" > /dev/null 2>&1; then
    echo "skipped: the playground needs the target $target, which is not installed here and cannot be"
    exit 0
fi
profile=${FOREBAY_PROFILE:-release}
config=packaging/playground/cargo.toml
[ "$profile" != tested ] || config=tests/tested.toml
cargo rustc --locked --quiet ${FEATURES:+--features "$FEATURES"} --config "$config" --profile "$profile" --target "$target" -p forebay-playground --lib --crate-type cdylib
mkdir -p "$out"
cp "target/$target/$profile/forebay_playground.wasm" "$out/playground.wasm"
cp crates/playground/web/*.{html,js} "$out"
# The colours and the type of reports, in both themes, and what is the playground's own.
style=crates/record/src
{
    printf ':root{' && cat $style/svg/light.css && printf '}\n@media(prefers-color-scheme:dark){:root{' && cat $style/svg/dark.css && printf '}}\n'
    cat $style/svg/figure.css $style/report/report.css crates/playground/web/playground.css
} > "$out/style.css"
echo "$out: $(wc -c < "$out/playground.wasm") bytes of wasm; next: forebay play"
