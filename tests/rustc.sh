#!/usr/bin/env bash
# Calls the compiler as cargo asks for it; a program of tests with little optimisation of its own code.
#
# The libraries that it calls have the optimisation of their profile. Its own code mostly runs for a moment, and optimising it costs more:
# 50 s of CPU for the simulator's tests, 11 s without. Cargo cannot say this, as a profile is of a package. WRAPPED is the wrapper that
# somebody named before this one. Not for sh: dash takes variables like CARGO_BIN_EXE_carc-bench out of the environment.
for word in "$@"; do
    case $word in
    --test) tests=yes ;;
    opt-level=[123]) optimised=yes ;;
    esac
done
if [ "${tests:-}${optimised:-}" = yesyes ]; then
    case "$CARGO_CRATE_NAME of $CARGO_PKG_NAME" in
    # These run long enough.
    "it of forebay-host" | "it of forebay-jobs" | "forebay_laws of forebay-laws") ;;
    # These move packets themselves.
    "it of forebay-net" | "it of forebay-transport") set -- "$@" -C opt-level=1 ;;
    *) set -- "$@" -C opt-level=0 ;;
    esac
fi
exec ${WRAPPED:+"$WRAPPED"} "$@"
