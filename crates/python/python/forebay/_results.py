"""Results: tables, summary, report, pictures."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _check, _core
from ._errors import PartialResults

if TYPE_CHECKING:
    from pathlib import Path

    import pandas
    import polars
    import pyarrow

    from ._plot import Plots

Array = np.ndarray[Any, Any]


class Table(Mapping[str, Array]):
    """A table of results: a mapping from names of columns to numpy arrays, and an Arrow stream.

    ``t["fct_ps"]`` is read-only and shares the memory of the results: nothing is copied, but for columns in which
    values may be missing (floats with NaN there) and those of texts. Whatever knows the Arrow PyCapsule interface
    takes the whole table: ``polars.DataFrame(t)``, ``pandas.DataFrame.from_arrow(t)``, ``pyarrow.table(t)``,
    ``duckdb.sql("from t")``.
    """

    def __init__(self, name: str, core: _core.Table) -> None:
        self.name = name
        self._core = core
        self._made: dict[str, Array] = {}

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._core.columns

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self._core)

    def __getitem__(self, name: str) -> Array:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Array:
        try:
            kind, *parts = self._core.blocks(name)
        except KeyError:
            raise KeyError(f"{self.name} has no column {name!r}; it has {', '.join(self.columns)}") from None
        values = np.asarray(parts[0])
        if kind == "maybe":
            values = np.where(np.asarray(parts[1]), values.astype(float), np.nan)
        elif kind == "words":
            values = np.array([*parts[1], ""], dtype=np.str_)[values]
        elif kind == "lists":
            items = np.asarray(parts[1])
            lists = np.empty(self.rows, dtype=object)
            for i in range(self.rows):
                lists[i] = items[values[i] : values[i + 1]]
            values = lists
        values.flags.writeable = False
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._core.columns)

    def __len__(self) -> int:
        return len(self._core.columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._core.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._core.__arrow_c_schema__()

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas DataFrame; missing values are NaN."""
        import pandas

        return pandas.DataFrame(dict(self))

    def to_polars(self) -> polars.DataFrame:
        """As a polars DataFrame, without copying; missing values are null."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> pyarrow.Table:
        """As a pyarrow Table, without copying; missing values are null."""
        import pyarrow

        return pyarrow.table(self)

    def __repr__(self) -> str:
        lines = [f"<Table {self.name}: {self.rows} rows>"]
        lines += ["  ".join(cells) for cells in self._head(5)]
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        head, *rows = [[escape(cell.strip()) for cell in row] for row in self._head(8)]
        table = "<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"
        for row in rows:
            table += "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"
        return f"<p>{escape(self.name)}: {self.rows:,} rows</p><table>{table}</table>"

    def _head(self, rows: int) -> list[list[str]]:
        """Names and first rows, each column as wide as its widest cell."""
        columns = []
        for name in self.columns:
            cells = [name, *(_cell(value) for value in self[name][:rows])]
            width = max(map(len, cells))
            columns.append([cell.rjust(width) for cell in cells])
        return [list(row) for row in zip(*columns, strict=True)]


def _cell(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "[" + ", ".join(f"{one:.4g}" for one in value[:4]) + (", ...]" if len(value) > 4 else "]")
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}" if value % 1 or abs(value) > 1e15 else f"{value:.0f}"
    return str(value)


class Measure(float):
    """A number over seeds: their mean, with ``ci95`` (low, high; None below three seeds) and ``per_seed``."""

    ci95: tuple[float, float] | None
    per_seed: list[float]

    def __new__(cls, of: Mapping[str, Any]) -> Measure:
        """Of what a summary has."""
        self = super().__new__(cls, float("nan") if of["mean"] is None else of["mean"])
        self.ci95 = tuple(of["ci95"]) if of["ci95"] else None
        self.per_seed = of["per_seed"]
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return ({"mean": float(self), "ci95": self.ci95, "per_seed": self.per_seed},)

    def __repr__(self) -> str:
        if self.ci95 is None:
            return f"{float(self):.4g}"
        return f"{float(self):.4g} ({self.ci95[0]:.4g} to {self.ci95[1]:.4g})"


def _measured(of: dict[str, Any]) -> Any:
    return Measure(of) if {"mean", "ci95", "per_seed"} <= of.keys() else of


class Results:
    """What a run left: tables, summary, report, pictures.

    Each table of a run directory is an attribute: ``r.flows``, ``r.ports``, ``r.series``, ``r.runs``, ``r.rpcs``,
    ``r.memory`` and so on; ``r.tables`` lists them. ``r.flows.columns`` are those of ``flows.csv``, and
    ``forebay explain NAME`` says what each means.
    """

    def __init__(self, core: _core.Results) -> None:
        self._core = core
        self._tables: dict[str, Table] = {}
        self._summary: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """Title of the scenario."""
        return self._core.name

    @property
    def laws(self) -> list[str]:
        """Laws in use, the scenario's own first."""
        return self._core.laws

    @property
    def seeds(self) -> list[int]:
        """Seeds that were simulated."""
        return self._core.seeds

    @property
    def digest(self) -> str:
        """Digest of every delivery and drop: equal for equal scenario, seeds and version."""
        return self._core.digest

    @property
    def status(self) -> str:
        """``complete``, ``unfinished`` (flows were left), ``interrupted`` or ``stalled``."""
        return self._core.status

    @property
    def partial(self) -> bool:
        """Whether the run did not come to its end. What is here is valid up to where it came."""
        return self.status not in ("complete", "unfinished")

    @property
    def warnings(self) -> list[str]:
        """What a reader should know."""
        return self._core.warnings

    @property
    def misses(self) -> list[str]:
        """A sentence for each ``[[expect]]`` of the scenario that the results miss."""
        return self._core.misses()

    @property
    def resolved(self) -> str:
        """The full scenario with all defaults filled in, as TOML."""
        return self._core.resolved

    @property
    def summary(self) -> dict[str, Any]:
        """The summary, as ``summary.json`` has it; numbers over seeds are :class:`Measure`.

        Distributions over all flows stand at the top as well: ``r.summary["slowdown"]["p99"]``.
        """
        if self._summary is None:
            summary = json.loads(self._core.summary_json(), object_hook=_measured)
            overall = summary.get("overall") or {}
            distributions = {k: v for k, v in overall.items() if isinstance(v, dict)}
            self._summary = {**distributions, **summary}
        return self._summary

    @property
    def tables(self) -> list[str]:
        """Names of the tables that have rows."""
        return [name for name in self._core.table_names() if self.table(name).rows]

    def table(self, name: str) -> Table:
        """A table by its name."""
        if name not in self._tables:
            self._tables[name] = Table(name, self._core.table(name))
        return self._tables[name]

    def __getattr__(self, name: str) -> Table:
        if name.startswith("_") or name not in _core.Results.table_names():
            raise AttributeError(f"results have no {name!r}; tables are {', '.join(_core.Results.table_names())}")
        return self.table(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_core.Results.table_names()]

    @property
    def plot(self) -> Plots:
        """Pictures, by matplotlib: ``r.plot.fct()``, ``r.plot.slowdown()``, ``r.plot.queues()``."""
        from ._plot import Plots

        return Plots([self])

    def why(
        self,
        p: float = 99,
        *,
        flow: int | Sequence[int] | None = None,
        rpc: int | Sequence[int] | None = None,
        size: tuple[float, float] | None = None,
        seed: int | None = None,
    ) -> Why:
        """Where completion times went, part by part.

        Of flows beyond percentile ``p`` of slowdown in each size class, and of RPCs beyond it.

        ``flow`` names a flow, or several, by their numbers in ``r.flows``, ``rpc`` RPCs by their rows in ``r.rpcs`` of the
        seed; ``size=(10e3, 100e3)`` are bytes of flows, from the first and below the second; ``seed`` is the first one if
        nobody says. The seed is simulated once more, until the last of them is complete, under the same laws in Python if
        there were any. The parts of a flow add up to its ``fct_ps``, those of an RPC to its ``latency_ps``; docs/why.md
        says what each means.

        ValueError if there is no such flow, or if the run was under a law in Python and read from its directory.
        RuntimeError if a flow takes another time in the second run, as under a law that draws its own random numbers.
        """
        if isinstance(p, (str, bytes)) or not 0 <= p < 100:
            raise ValueError(f"p={p!r} is not a percentile; write 0 (all flows) to below 100")
        chosen, bounds = _check.numbers("flow", flow), _check.sizes(size)
        seed = None if seed is None else _check.whole("seed", seed)
        said, flows, rpcs = self._core.why(seed, chosen, _check.numbers("rpc", rpc), 1 - p / 100, bounds)
        return Why(said, Table("why", flows), Table("why_rpcs", rpcs))

    def report(self, path: str | Path) -> Path:
        """Writes the report, one page of HTML that opens in any browser."""
        path = _check.folder_for(path)
        path.write_text(self._core.report(), encoding="utf-8")
        return path

    def save(self, path: str | Path, force: bool = False) -> None:
        """Writes a run directory as ``forebay run`` would; ``force`` replaces the run that is there.

        Raises ResultsError if there is one, or if the system refuses; FileNotFoundError if the folder above is not there.
        """
        from ._scenario import now_utc

        self._core.save(os.fspath(_check.folder_for(path)), force, now_utc(), " ".join(sys.argv))

    def export(self, folder: str | Path, format: str = "parquet") -> list[Path]:
        """Writes a file for each table that has rows, ``flows.parquet`` and so on, and returns their paths.

        ``format`` is "parquet", or "arrow" for files of Arrow IPC (Feather). Numbers are not rounded as in CSV files.
        """
        _check.text("format", format, '"parquet" or "arrow"')
        return self._core.export(os.fspath(_check.folder_for(folder)), format)

    def tell(self) -> None:
        """Warns of what a reader should know."""
        for text in self.warnings:
            warnings.warn(text, stacklevel=3)
        if self.status == "interrupted":
            ends = ", ".join(
                f"seed {s} until {e / 1e6:g} us" for s, e in zip(self.seeds, self._core.ends_ps[1], strict=True)
            )
            text = f"interrupted: the results are valid and partial ({ends})"
            warnings.warn(PartialResults(text), stacklevel=3)

    def __str__(self) -> str:
        return self._core.text(100)

    def __repr__(self) -> str:
        seeds = f"{len(self.seeds)} seed{'s' * (len(self.seeds) != 1)}"
        return f"<Results {self.name}: {', '.join(self.laws)}, {seeds}, {self.status}, digest {self.digest}>"

    def _repr_html_(self) -> str:
        return f"<pre style='line-height:1.3'>{escape(str(self))}</pre>"


class Why:
    """Where completion times went: ``print(w)`` says it, ``w.parts`` has shares, ``w.table``, ``w.rpc_table`` all parts."""

    def __init__(self, sentences: list[str], table: Table, rpc_table: Table) -> None:
        self.sentences = sentences
        self.table = table
        """Of each flow its parts."""
        self.rpc_table = rpc_table
        """Of each RPC its parts."""

    @property
    def flows(self) -> list[int]:
        """Numbers of the flows that are explained."""
        return sorted({int(flow) for flow in self.table["flow"]})

    @property
    def rpcs(self) -> list[int]:
        """Numbers of the RPCs that are explained."""
        return sorted({int(rpc) for rpc in self.rpc_table["rpc"]})

    @property
    def parts(self) -> dict[str, float]:
        """Share of each part in the completion times of all these flows and RPCs together, the largest first."""
        both = (self.table, self.rpc_table)
        ps = np.concatenate([np.asarray(table["part_ps"], dtype=float) for table in both])
        names = np.concatenate([np.asarray(table["part"], dtype=object) for table in both])
        shares = {str(name): float(ps[names == name].sum() / ps.sum()) for name in dict.fromkeys(names)}
        return dict(sorted(shares.items(), key=lambda one: -one[1]))

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        some = [(len(self.flows), "flows"), (len(self.rpcs), "RPCs")]
        what = " and ".join(f"{n} {of}" for n, of in some if n)
        return f"<Why {what}: {', '.join(f'{k} {v:.0%}' for k, v in list(self.parts.items())[:3])}>"

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(one)}</p>" for one in self.sentences)


def plot(runs: Sequence[Results], names: Sequence[str] | None = None) -> Plots:
    """Pictures of several runs in one: ``fb.plot([a, b], ["a", "b"]).slowdown()``; by law if nobody names them."""
    from ._plot import Plots

    return Plots(runs, _check.names(names, len(runs)))


def open_run(path: str | Path) -> Results:
    """The results of a run directory, whoever wrote it.

    Raises ResultsError if it cannot be read.
    """
    return Results(_core.Results.open(os.fspath(path)))
