#!/usr/bin/env python3
"""No row of a suite flips unnoticed, and none that is out hides: runs `forebay reproduce SUITE --quick` and compares the
verdicts with validation/SUITE/verdicts.toml, which names every row that is not in.

    verdicts.py [SUITE...]             all suites without one; needs target/release/forebay, or the program that FOREBAY names
    verdicts.py --sample               the suites that take seconds, and one of the others, which the commit chooses
    verdicts.py --record [SUITE...]    writes the files anew: a change of results, which the commit explains
    verdicts.py --seeds SUITE...       writes validation/SUITE/seeds.toml: how many rows are in with five sets of seeds (five quick runs)
    verdicts.py --whole SUITE JSON...  writes validation/SUITE/whole.toml from the output of whole runs, `forebay reproduce SUITE[/PART] --json` or the
                                       files of `forebay reproduce --all`; of a row in several files the last counts
    verdicts.py --numbers SUITE JSON...  writes what these runs measured to validation/SUITE/measured.toml, for pictures and tables of pages:
                                       rows that they did not measure keep their numbers. Also of points of curves, the .toml beside --pictures
    verdicts.py --seeds-from SUITE JSON   as --seeds, from the output of `forebay reproduce SUITE --quick --seeds 5 --json`

A row that is out has to name its cause in its note.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOREBAY = pathlib.Path(os.environ.get("FOREBAY", ROOT / "target/release/forebay"))
SUITES = ["analytic", "linux", "rdma", "htsim", "expresspass", "homa", "ndp", "aeolus", "powertcp", "hiercc", "hostcc", "tcp-nv", "carc", "pcc-dilemma"]
# A quick run of each of these takes five seconds of CPU or more.
SLOW = ["rdma", "hiercc", "hostcc", "tcp-nv", "carc", "pcc-dilemma"]
PARTS = {"carc": "carc/lifo16six"}  # the reading of the verdict, since each takes half a minute of CPU
KINDS = ["out", "empty", "not-run"]


def judged(rows):
    """Number of rows, and the ids by verdict, in the order of the suite's file; and rows out without a cause."""
    verdicts = {kind: [row["id"] for row in rows if row["verdict"] == kind] for kind in KINDS}
    causeless = [row["id"] for row in rows if row["verdict"] == "out" and "cause: " not in row["note"]]
    return {"rows": len(rows), **verdicts}, causeless


def run(suite):
    command = [FOREBAY, "reproduce", PARTS.get(suite, suite), "--quick", "--json", "--progress", "off"]
    return judged(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def rows_in(file):
    """Of `--json`, which prints an array, or of `--all`, which says the version too."""
    found = json.loads(pathlib.Path(file).read_text())
    return found["rows"] if isinstance(found, dict) else found


def whole(suite, files):
    """Writes the verdicts of a whole run, which may be several of parts."""
    path = ROOT / "validation" / suite
    measured = {row["id"]: row for file in files for row in rows_in(file)}
    rows = [measured.pop(row["id"], {**row, "verdict": "not-run"}) for row in tomllib.loads((path / "rows.toml").read_text())["row"]]
    if measured:
        sys.exit(f"{suite} has no row {next(iter(measured))}: the run is of another version")
    found, causeless = judged(rows)
    text = written(suite, found)
    text = text[text.index("rows = "):]  # all parts
    head = f"# Rows of whole runs, `forebay reproduce {suite}`, that are not in. `validation/verdicts.py --whole {suite} JSON...` writes this file.\n"
    (path / "whole.toml").write_text(head + text)
    print(f"{suite}: {found['rows']} rows, " + ", ".join(f"{len(found[kind])} {kind}" for kind in KINDS))
    for row in causeless:
        print(f"  {suite}: {row} is out and its note names no cause")


def numbers(suite, files):
    """Records what runs measured, in the order of the suite's rows, to six digits."""
    path = ROOT / "validation" / suite / "measured.toml"
    known = tomllib.loads(path.read_text()) if path.exists() else {}
    for file in files:
        if file.endswith(".toml"):
            known |= tomllib.loads(pathlib.Path(file).read_text())
        else:
            known |= {row["id"]: row["measured"] for row in rows_in(file) if row.get("measured") is not None}
    points = sorted(id for id in known if id.startswith("point-"))
    ids = [row["id"] for row in tomllib.loads((path.parent / "rows.toml").read_text())["row"]]
    text = "# Numbers of whole runs, for pictures and tables of pages. `validation/verdicts.py --numbers` writes this file.\n"
    text += "".join(f'"{row}" = {float(f"{known.pop(row):.6g}")}\n' for row in [*ids, *points] if row in known)
    if known:
        sys.exit(f"{suite} has no row {next(iter(known))}: the run is of another version")
    path.write_text(text)


def written(suite, found):
    text = f"# Rows of `forebay reproduce {PARTS.get(suite, suite)} --quick` that are not in. `validation/verdicts.py --record` writes this file.\n"
    text += f'part = "{PARTS[suite].partition("/")[2]}"\n' if suite in PARTS else ""
    text += f"rows = {found['rows']}\n"
    for kind in KINDS:
        ids = "".join(f'    "{row}",\n' for row in found[kind])
        text += f"{kind} = [\n{ids}]\n" if ids else f"{kind} = []\n"
    return text


def spread(suite, file=None):
    """Runs a suite with five sets of seeds, or reads what such a run gave, and writes how many rows are in, and which change."""
    command = [FOREBAY, "reproduce", PARTS.get(suite, suite), "--quick", "--seeds", "5", "--json", "--progress", "off"]
    output = pathlib.Path(file).read_text() if file else subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = json.loads(output)
    text = "# Verdicts of a quick run with other seeds: rows in and judged, by set, and in how many sets a row is in that is not in all or none.\n"
    text += f"# `validation/verdicts.py --seeds {suite}` writes this file.\n"
    text += f"count = {found['count']}\ntwo-sided = {found['two-sided']}\n\n[varies]\n"
    text += "".join(f'"{row}" = {sets}\n' for row, sets in found["varies"].items())
    (ROOT / "validation" / suite / "seeds.toml").write_text(text)
    print(f"{suite}: {len(found['varies'])} rows change their verdict", flush=True)


def differences(recorded, found):
    if recorded["rows"] != found["rows"]:
        yield f"{found['rows']} rows, {recorded['rows']} recorded"
    for kind in KINDS:
        for row in sorted(set(found[kind]) - set(recorded[kind])):
            yield f"{row} is {kind} and was not"
        for row in sorted(set(recorded[kind]) - set(found[kind])):
            yield f"{row} was {kind} and is not any more"


def sample():
    """Suites that take seconds, and one of the others: over a few commits each comes up."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    slow = SLOW[int(hashlib.sha256(commit.encode()).hexdigest(), 16) % len(SLOW)]
    return [suite for suite in SUITES if suite == slow or suite not in SLOW]


def main(arguments):
    if arguments[:1] == ["--whole"]:
        return whole(arguments[1], arguments[2:])
    if arguments[:1] == ["--numbers"]:
        return numbers(arguments[1], arguments[2:])
    if arguments[:1] == ["--seeds-from"]:
        return spread(arguments[1], arguments[2])
    record = "--record" in arguments
    chosen = [one for one in arguments if one not in ("--record", "--seeds", "--sample")]
    for one in set(chosen) - set(SUITES):
        sys.exit(f"there is no suite {one}; write some of {', '.join(SUITES)}")
    if "--seeds" in arguments:
        for suite in chosen:
            spread(suite)
        return 0
    if "--sample" in arguments:
        chosen = sample()
    bad = 0
    for suite in chosen or SUITES:
        path = ROOT / "validation" / suite / "verdicts.toml"
        found, causeless = run(suite)
        wrong = [f"{row} is out and its note names no cause" for row in causeless]
        if record:
            path.write_text(written(suite, found))
        else:
            wrong += differences(tomllib.loads(path.read_text()), found)
        print(f"{suite}: {found['rows']} rows, " + ", ".join(f"{len(found[kind])} {kind}" for kind in KINDS), flush=True)
        for line in wrong:
            print(f"  {suite}: {line}", flush=True)
        bad += len(wrong)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
