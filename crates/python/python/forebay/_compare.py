"""Comparisons: runs or points of a sweep beside each other, differences paired by seed."""

from __future__ import annotations

import json
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from . import _check, _core
from ._results import Results
from ._sweep import Sweep, value_of


class Comparison:
    """What stands beside each other: a page with pictures, a table with differences and whether they are noise."""

    def __init__(self, core: _core.Comparison) -> None:
        self._core = core

    @property
    def cautions(self) -> list[str]:
        """Doubts of a careful reader."""
        return self._core.cautions

    def show(self, path: str | Path | None = None) -> None:
        """Shows the page in a notebook; elsewhere prints the table, and the path of the page.

        path: where the page is written; outside a notebook a temporary file if nobody says.
        """
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython else None
        if path is not None:
            self.save(path)
        if shell is not None and hasattr(shell, "kernel"):
            from IPython.display import HTML, display

            display(HTML(self._frame()))
            return
        if path is None:
            path = self.save(Path(tempfile.mkdtemp(prefix="forebay-")) / "compare.html")
        print(self)
        print(path)

    def save(self, path: str | Path) -> Path:
        """Writes the page, one file of HTML."""
        path = _check.folder_for(path)
        path.write_text(self._core.page, encoding="utf-8")
        return path

    def data(self) -> dict[str, Any]:
        """Every number, as ``forebay compare --json`` prints it."""
        found: dict[str, Any] = json.loads(self._core.json())
        return found

    def _frame(self) -> str:
        return f"<iframe srcdoc='{escape(self._core.page)}' style='width:100%;height:900px;border:1px solid #ddd'></iframe>"

    def __str__(self) -> str:
        return self._core.text(110) + "".join(f"\n{caution}" for caution in self.cautions)

    def _repr_html_(self) -> str:
        return self._frame()


def compare(
    *runs: Results | Sweep, by: str | None = None, names: list[str] | None = None, force: bool = False, **where: Any
) -> Comparison:
    """Compares runs, or the points of a sweep, with the first.

    ``compare(a, b, names=["today", "larger buffers"])`` for results; ``compare(t, by="law")`` for a sweep: what has
    different values of ``by`` stands beside each other, at each value of the key that is left, or at the one that is
    given: ``compare(t, by="law", load=0.4)``.

    Raises ValueError if the runs are not defined alike, unless ``force``.
    """
    if len(runs) == 1 and isinstance(runs[0], Sweep):
        return _of_sweep(runs[0], by, force, where)
    if len(runs) < 2 or not all(isinstance(run, Results) for run in runs):
        raise TypeError("compare takes two results or more, or one sweep")
    if by is not None or where:
        raise TypeError("by= and values are for a sweep")
    names = _check.names(names, len(runs))
    cores = [run._core for run in runs if isinstance(run, Results)]
    return Comparison(_core.Comparison.of_results(cores, names, force, "fb.compare(...)"))


def _of_sweep(t: Sweep, by: str | None, force: bool, where: dict[str, Any]) -> Comparison:
    if not t.keys:
        raise ValueError("the sweep varies nothing; there is nothing to compare")
    of = t.key(by) if by is not None else t.keys[-1]
    fixed = {t.key(word) for word in where}
    rows = [row for row in t._chosen(where) if t.dirs(row)]
    other = [key for key in t.keys if key != of and key not in fixed]
    if len(other) > 1:
        short = [key.split(".")[-1] for key in other]
        raise ValueError(f"{' and '.join(other)} vary too; give values for all but one, {short[0]}=...")
    along = other[0] if other else None
    sides = list(dict.fromkeys(row["settings"][of] for row in rows))
    if len(sides) < 2:
        raise ValueError(f"{of} has fewer than two values that are complete; there is nothing to compare")
    values = list(dict.fromkeys(row["settings"][along] for row in rows)) if along else [""]
    places, left_out = [], []
    for value in values:
        here = {row["settings"][of]: row for row in rows if along is None or row["settings"][along] == value}
        if all(side in here for side in sides):
            places.append((str(value_of(value)), [(str(value_of(s)), [str(d) for d in t.dirs(here[s])]) for s in sides]))
        else:
            left_out.append(str(value_of(value)))
    command = f"fb.compare(fb.open_sweep({str(t.folder)!r}), by={of!r})"
    return Comparison(_core.Comparison.of_dirs(places, along, left_out, force, command))
