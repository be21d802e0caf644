"""Sweeps: every combination of values with every seed, by any executor, in the folders of ``forebay sweep``."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, as_completed
from concurrent.futures import TimeoutError as NotYet
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _check, _core
from ._errors import ResultsError
from ._law import in_place
from ._progress import Progress
from ._results import Results
from ._scenario import Scenario, toml
from ._worker import Processes, Task, pickled, simulate

if TYPE_CHECKING:
    import pandas


class SweepError(RuntimeError):
    """Runs of a sweep failed. What is complete stays; the same call tries the others again."""


class Sweep:
    """What a sweep came to: a row for each combination of values.

    ``t["load"]`` and ``t["flows.slowdown.p99"]`` are numpy arrays over the rows, ``t.columns`` names them all;
    ``t.results(law="dctcp", load=0.4)`` are the results of one row.
    """

    def __init__(self, folder: str | Path, text: str = "", misses: Iterable[str] = ()) -> None:
        self.folder = Path(folder)
        """Where it is: ``sweep.csv``, ``index.html``, and a run directory for each run below ``runs``."""
        self.misses = list(misses)
        """A sentence for each ``[[expect]]`` of the scenario that a row misses."""
        self._text = text
        try:
            written = json.loads((self.folder / "sweep.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ResultsError(f"{self.folder} is not a sweep: it has no sweep.json") from None
        self.name: str = written["scenario"]
        self.keys: list[str] = written["keys"]
        """The keys that vary."""
        self.rows: list[dict[str, Any]] = written["points"]

    def key(self, word: str) -> str:
        """The key that a word stands for, by its last part."""
        found = [key for key in self.keys if key == word] or [
            key for key in self.keys if key.split(".")[-1].split("]")[-1] == word
        ]
        if len(found) != 1:
            raise KeyError(f"{word!r} is not a key of this sweep; it varies {', '.join(self.keys) or 'nothing'}")
        return found[0]

    @property
    def columns(self) -> list[str]:
        """Names of the columns: keys, seeds, then metrics that some row has."""
        metrics = list(self.rows[0]["metrics"]) if self.rows else []
        for row in self.rows:
            metrics += [name for name in row["metrics"] if name not in metrics]
        there = [name for name in metrics if not np.isnan(self[name]).all()]
        return [*self.keys, "seeds", *there]

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        if name == "seeds":
            return np.array([len(row["seeds"]) for row in self.rows])
        if any(name in row["metrics"] for row in self.rows):
            means = [row["metrics"].get(name, {}).get("mean") for row in self.rows]
            return np.array([np.nan if mean is None else mean for mean in means], dtype=float)
        key = self.key(name)
        return np.array([value_of(row["settings"][key]) for row in self.rows])

    def interval(self, name: str) -> np.ndarray[Any, Any]:
        """95 % intervals of a metric over seeds, low and high of each row; NaN below three seeds."""
        both = [row["metrics"].get(name, {}).get("ci95") or [np.nan, np.nan] for row in self.rows]
        return np.array(both, dtype=float)

    def __len__(self) -> int:
        return len(self.rows)

    def _chosen(self, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        wanted = {self.key(key): value_of(toml(value)) for key, value in where.items()}
        return [row for row in self.rows if all(value_of(row["settings"][k]) == v for k, v in wanted.items())]

    def dirs(self, row: Mapping[str, Any]) -> list[Path]:
        """Run directories of a row's seeds that are complete."""
        seeds = sorted(row["runs"], key=int)
        all_dirs = [self.folder / "runs" / row["runs"][seed] for seed in seeds]
        return [one for one in all_dirs if (one / "manifest.json").exists()]

    def results(self, where: Mapping[str, Any] | None = None, /, **values: Any) -> Results:
        """The results of the one row with these values, all seeds together."""
        rows = self._chosen({**(where or {}), **values})
        if len(rows) != 1:
            raise KeyError(f"{len(rows)} rows of the sweep have these values; give one of {', '.join(self.keys)} each")
        return Results(_core.Results.open_all([str(one) for one in self.dirs(rows[0])]))

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas DataFrame."""
        import pandas

        return pandas.DataFrame({name: self[name] for name in self.columns})

    def plot(self, metric: str = "flows.slowdown.p99", x: str | None = None, ax: Any = None) -> Any:
        """A metric over a key with numbers, a line for each combination of the others, bars for 95 % intervals."""
        from ._plot import sweep

        return sweep(self, metric, x, ax)

    def __str__(self) -> str:
        return self._text or f"{self.name}: {len(self)} rows in {self.folder}"

    def __repr__(self) -> str:
        done = sum(len(row["seeds"]) for row in self.rows)
        return f"<Sweep {self.name}: {len(self)} rows over {', '.join(self.keys)}, {done} runs in {self.folder}>"

    def _repr_html_(self) -> str:
        return f"<pre style='line-height:1.3'>{escape(str(self))}</pre>"


def value_of(text: str) -> Any:
    """A value of `sweep.json` as Python has it: a number, a text, or TOML as it stands."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def open_sweep(folder: str | Path) -> Sweep:
    """A sweep that is on disk, whoever made it."""
    return Sweep(folder)


def sweep(
    scenario: Scenario,
    grid: Mapping[str, Iterable[Any]] | None = None,
    seeds: int | Iterable[int] | None = None,
    executor: Executor | Any = None,
    *,
    out: str | Path | None = None,
    threads: int = 1,
    jobs: int | None = None,
    laws: Mapping[str, Callable[[], _core.FlowLaw]] | None = None,
    progress: bool | Callable[[dict[str, Any]], None] | None = None,
    over_budget: bool = False,
) -> Sweep:
    """Simulates every combination of values with every seed, and gives the table.

    grid: values of each key, ``{"law": ["dctcp", "hpcc"], "load": [0.2, 0.4]}``; otherwise the scenario's ``[sweep]``.
    seeds: how many, or which; otherwise those of the scenario.
    executor: any ``concurrent.futures.Executor`` whose workers see the folder and have this package, or a Dask client;
    by default processes on this machine, ``jobs`` of them (as many as there are cores).
    out: the folder, ``results/NAME-sweep`` if nobody says. What is complete there, by this call, by another or by
    ``forebay sweep``, is not simulated again; whatever is killed, the same call goes on from there.
    laws: laws in Python in place of registered ones, ``{"reno": MyLaw}``, wherever flows are under these. Runs are told
    apart by the law's source: an edited one is simulated anew. Worker processes import the law from its module; one that
    is defined in a script or a notebook goes to them by ``cloudpickle``, if that is installed, else TypeError says so.

    over_budget: start even if the runs are expected to need more memory or disk than is free here; otherwise
    ScenarioError. An executor of yours may be elsewhere, so nothing is asked of it.

    Ctrl-C raises KeyboardInterrupt after the tables of what is complete are written. SweepError: runs failed.
    """
    listed = None
    if not isinstance(scenario, Scenario):
        raise TypeError(f"sweep: {scenario!r} is not a scenario; write fb.load(PATH) or fb.preset(NAME) for it")
    chosen, threads = _check.seeds(seeds), _check.whole("threads", threads, 1, 1024)
    jobs = None if jobs is None else _check.whole("jobs", jobs, 1, 1024)
    if grid is not None:
        if not isinstance(grid, Mapping):
            raise TypeError(f'grid={grid!r} is not a dict; write grid={{"load": [0.2, 0.4]}}')
        all_values = {key: _check.values(key, values) for key, values in grid.items()}
        listed = [(scenario.key(key), [toml(value) for value in values]) for key, values in all_values.items()]
    place, text, sets = scenario._core.parts()
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in scenario.name)
    folder = Path(out) if out is not None else Path("results") / f"{name}-sweep"
    own = in_place(laws, by_source=True)
    if executor is None:
        pickled(own)  # or says why not, before anything is made
    core = _core.Sweep(place, text, sets, listed, chosen, own, str(folder))
    if (folder / "manifest.json").exists():
        raise ResultsError(f"{folder} is the results directory of a single run; name another with out=")
    jobs = jobs or max((os.cpu_count() or 1) // threads, 1)
    if executor is None:
        for warning in core.budget(jobs, over_budget):
            warnings.warn(warning, stacklevel=2)
    runs = folder / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    base = str(Path(place).parent.absolute())
    with _held(folder), Progress(core.name, progress) as bar:
        _tidy(runs)
        todo = []
        for run, title, resolved, done in core.runs():
            if not done:
                shutil.rmtree(runs / run, ignore_errors=True)  # of another version, or damaged
                todo.append((title, Task(str(runs.absolute()), run, resolved, base, threads, own)))
        core.begin()
        try:
            failures = _all(core, todo, executor, jobs, bar)
        finally:
            _tidy(runs)
            table, misses = core.finish()
    if failures:
        shown = "\n".join(failures[:10])
        raise SweepError(f"{len(failures)} of {len(todo)} runs failed; the same call tries them again\n{shown}")
    return Sweep(folder, table, misses)


def _all(core: _core.Sweep, todo: list[tuple[str, Task]], executor: Any, jobs: int, bar: Progress) -> list[str]:
    """Has all of it done; gives a sentence for each run that failed."""
    own = executor is None
    pool = Processes(min(jobs, max(len(todo), 1))) if own else executor
    if hasattr(pool, "get_executor"):  # a Dask client
        pool = pool.get_executor()
    failures: list[str] = []
    said: set[str] = set()
    done = 0
    futures = {pool.submit(simulate, task): (title, task) for title, task in todo}
    try:
        left = set(futures)
        while left:
            with contextlib.suppress(NotYet):
                for future in as_completed(left, timeout=0.2):
                    left.discard(future)
                    title, task = futures[future]
                    if (error := future.exception()) is not None:
                        failures.append(f"{title}: {error or type(error).__name__}")
                        continue
                    for warning in set(future.result()) - said:
                        said.add(warning)
                        warnings.warn(warning, stacklevel=4)
                    core.add(task.run)
                    done += 1
            bar.show({"fraction": done / len(todo), "runs": len(todo), "runs_done": done})
    except KeyboardInterrupt:
        for future in futures:
            future.cancel()
        if own:
            pool.shutdown(cancel_futures=True)
        raise KeyboardInterrupt(f"{done} of {len(todo)} runs are complete; the same call goes on from there") from None
    finally:
        if own:
            pool.shutdown()
    return failures


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """The folder for this process alone; the lock is the one that `forebay sweep` takes."""
    with open(folder / "sweep.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ResultsError(
                f"another sweep is at work in {folder}; wait for it, or name another folder with out="
            ) from None
        yield


def _tidy(runs: Path) -> None:
    """Removes what killed runs left behind."""
    for entry in runs.iterdir():
        if ".part" in entry.name:
            shutil.rmtree(entry, ignore_errors=True)
