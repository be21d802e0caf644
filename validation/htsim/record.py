#!/usr/bin/env python3
"""What csg-htsim gives for the experiments of rows.toml, beside what their rows say that it gave.

    record.py HTSIM_NDP    the program htsim_ndp, built from the commit that rows.toml names

Prints id, published number and number of today; ends with 1 if any differs. The flow completion time is that of the sender: "finished at"
minus the start, which is 0 in all matrices.
"""

import pathlib
import re
import statistics
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).parent
FINISHED = re.compile(r"finished at (\S+)")
AGAIN = re.compile(r"^New: \d+ Rtx: (\d+)", re.MULTILINE)


def run(htsim, command, seed):
    """Mean and largest completion time in us, and packets sent again."""
    matrix = HERE / command["matrix"]
    nodes = matrix.read_text().split()[1]
    flags = [word for key, value in command.items() if key != "matrix" for word in (f"-{key}", str(value))]
    command = [htsim, "-nodes", nodes, "-tm", matrix, "-end", "100000", "-seed", str(seed), "-o", "/dev/null", *flags]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    times = [float(time) for time in FINISHED.findall(said)]
    return statistics.mean(times), max(times), int(AGAIN.search(said)[1])


def recorded(htsim):
    for name, experiment in tomllib.loads((HERE / "rows.toml").read_text())["experiment"].items():
        runs = [run(htsim, experiment["htsim"], seed) for seed in range(1, experiment["set"]["seeds"] + 1)]
        for what, values in zip(("mean", "max", "again"), zip(*runs)):
            yield f"{name}-{what}", round(statistics.mean(values), 4)


def main(htsim):
    rows = tomllib.loads((HERE / "rows.toml").read_text())["row"]
    published = {row["id"]: row["published"] for row in rows}
    different = 0
    for name, value in recorded(htsim):
        if name in published:
            different += published[name] != value
            print(f"{name:24} {published[name]:>12} {value:>12}")
    return int(different > 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("record.py needs one argument: the path of htsim_ndp")
    sys.exit(main(sys.argv[1]))
