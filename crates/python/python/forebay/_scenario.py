"""Scenarios: loaded, changed by settings, run."""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _check, _core
from ._errors import ScenarioError
from ._law import in_place
from ._progress import Progress
from ._results import Results

if TYPE_CHECKING:
    from pathlib import Path

    from ._simulation import Simulation

SHORT = {"law": "transport.law", "load": "traffic[0].load"}
"""What a bare word stands for, before keys that end in it are looked for."""


def toml(value: Any) -> str:
    """A Python value as TOML text on one line."""
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()  # of numpy
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, Iterable):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    if value is None:
        raise TypeError("None is not a value of a scenario; leave the key out to have its default")
    kind = type(value).__name__
    raise TypeError(f"a {kind} is not a value of a scenario; write a text, a number, a bool, a list or a dict")


def now_utc() -> str:
    """Now, as files of results have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Scenario:
    """A checked scenario. It never changes: :meth:`set` gives a new one.

    Made by :func:`forebay.load`, :func:`forebay.preset` or :func:`forebay.scenario`.
    """

    def __init__(self, core: _core.Scenario) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """Its title."""
        return self._core.name

    @property
    def seeds(self) -> list[int]:
        """Its seeds; each is a simulation of its own."""
        return self._core.seeds

    @property
    def resolved(self) -> str:
        """The full scenario with all defaults filled in, as TOML."""
        return self._core.resolved

    @property
    def notes(self) -> list[str]:
        """What its reader should know, though nothing is wrong."""
        return self._core.notes

    def set(self, key: str | Mapping[str, Any] | None = None, value: Any = None, /, **values: Any) -> Scenario:
        """The scenario with one key, or several, set to other values.

        ``set("traffic[0].load", 0.7)``, ``set({"stop.time": "2ms", "output.warmup": "1ms"})``, ``set(law="hpcc")``.
        A bare word stands for the one key that ends in it; ``law`` is ``transport.law``, ``load`` is
        ``traffic[0].load``. Quantities are texts with units; a dict as a value is a table. A setting wins over an
        earlier one of the same key.

        Raises ScenarioError at once if the result is not a scenario.
        """
        if isinstance(key, Mapping):
            values = {**key, **values}
        elif key is not None:
            key = _check.text("set", key, 'a key and its value, set("traffic[0].load", 0.7)')
            if value is None:
                raise TypeError(f"set({key!r}) has no value; write set({key!r}, VALUE)")
            values = {key: value, **values}
        more = [(self.key(name), toml(one)) for name, one in values.items()]
        return Scenario(self._core.with_settings(more))

    def key(self, word: str) -> str:
        """The key that a bare word stands for; a key with its path is itself.

        Raises ScenarioError if no key ends in it, or several do.
        """
        if "." in word or "[" in word:
            return word
        if word in SHORT:
            return SHORT[word]
        keys = _keys(self._core.resolved)
        if word in {key.split(".")[0].split("[")[0] for key in keys}:
            return word
        found = [key for key in keys if re.split(r"[.\]]", key)[-1] == word]
        if len(found) == 1:
            return found[0]
        if found:
            raise ScenarioError([("", word, f"may be {_or(found)}; write which")])
        near = difflib.get_close_matches(word, {k.split(".")[-1] for k in keys} | set(SHORT), 1)
        hint = f"; did you mean {near[0]!r}?" if near else "; write it with its path, traffic[0].load"
        raise ScenarioError([("", word, f"no key of this scenario ends in it{hint}")])

    def run(
        self,
        seeds: int | Iterable[int] | None = None,
        threads: int = 1,
        *,
        jobs: int | None = None,
        out: str | Path | None = None,
        force: bool = False,
        laws: Mapping[str, Callable[[], _core.FlowLaw]] | None = None,
        progress: bool | Callable[[dict[str, Any]], None] | None = None,
        over_budget: bool = False,
    ) -> Results:
        """Simulates, and gives the results.

        seeds: how many (``3`` is 1, 2, 3), or which; otherwise those of the scenario.
        threads: of each simulation; jobs: simulations at a time, as many as there are cores for if nobody says.
        The same bytes come out whatever they are.
        out: a directory to write as ``forebay run`` would; ``force`` replaces the run that is there.
        laws: laws in Python in place of registered ones, ``{"reno": MyLaw}``; see FlowLaw.
        progress: True, False, or a function that gets a dict a few times a second; by default a bar in a terminal or
        a notebook.

        over_budget: start even if the run is expected to need more memory or disk than is free; otherwise ScenarioError.

        Ctrl-C ends it with what there is: the results say ``partial``, and a PartialResults warning says so too.
        A second Ctrl-C raises.
        """
        chosen, threads = _check.seeds(seeds), _check.whole("threads", threads, 1, 1024)
        jobs = None if jobs is None else _check.whole("jobs", jobs, 1, 1024)
        with Progress(self.name, progress) as bar:
            core = self._core.run(
                chosen,
                threads,
                jobs,
                None if out is None else os.fspath(out),
                force,
                bar.tick,
                now_utc(),
                " ".join(sys.argv),
                in_place(laws),
                over_budget,
            )
        results = Results(core)
        results.tell()
        return results

    def simulation(self, seed: int | None = None, threads: int = 1) -> Simulation:
        """One seed, to be advanced step by step, looked at and changed; the first seed if nobody says."""
        from ._simulation import Simulation

        one = self.seeds[0] if seed is None else _check.whole("seed", seed)
        return Simulation(self, one, _check.whole("threads", threads, 1, 1024))

    def estimate(self) -> dict[str, float]:
        """A forecast of one seed: ``cpu_s`` of one core, ``memory_bytes``, ``flows``."""
        return dict(zip(("cpu_s", "memory_bytes", "flows"), self._core.estimate(), strict=True))

    def save(self, path: str | Path) -> None:
        """Writes the full scenario, all defaults filled in, as a TOML file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.resolved)

    def __reduce__(self) -> tuple[object, ...]:
        return _again, self._core.parts()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.resolved == other.resolved

    def __hash__(self) -> int:
        return hash(self.resolved)

    def __repr__(self) -> str:
        seeds = ", ".join(map(str, self.seeds))
        return f"<Scenario {self.name}: seeds {seeds}>"


def _again(place: str, text: str, sets: list[tuple[str, str]]) -> Scenario:
    return Scenario(_core.Scenario(place, text, sets))


def _or(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _keys(text: str) -> list[str]:
    """Paths of the keys of a resolved scenario."""
    keys: list[str] = []
    section, counts = "", dict[str, int]()
    for line in text.splitlines():
        if found := re.fullmatch(r"\[\[(.+)\]\]", line):
            name = found[1]
            at = counts.get(name, 0)
            counts[name] = at + 1
            section = f"{name}[{at}]."
        elif found := re.fullmatch(r"\[(.+)\]", line):
            section = found[1] + "."
        elif found := re.match(r"([A-Za-z_][\w-]*) = ", line):
            keys.append(section + found[1])
    return keys


def load(path: str | Path) -> Scenario:
    """The scenario of a TOML file.

    Raises ScenarioError with path, line and remedy of each thing to put right; FileNotFoundError and its like if the
    file cannot be read.
    """
    return Scenario(_core.Scenario.open(os.fspath(path)))


def scenario(text: str, name: str = "scenario") -> Scenario:
    """The scenario of a TOML text; ``name`` stands for it in sentences."""
    _check.text("scenario", text, "the TOML text itself; load() takes the path of a file")
    return Scenario(_core.Scenario(_check.text("name", name, "a text"), text, []))


def preset(name: str) -> Scenario:
    """A scenario that comes with the package; :func:`presets` lists them."""
    for known, _, text in _core.presets():
        if known == name:
            return Scenario(_core.Scenario(name, text, []))
    raise ValueError(f"there is no preset {name!r}; use one of {', '.join(presets())}")


def presets() -> dict[str, str]:
    """Names of the scenarios that come with the package, and what each is about."""
    return {name: title for name, title, _ in _core.presets()}
