"""Forebay: packet-level simulation of datacentre congestion control.

>>> import forebay as fb
>>> r = fb.load("websearch.toml").set("load", 0.7).run(seeds=3)
>>> r.summary["slowdown"]["p99"], r.flows["fct_ps"], r.plot.fct()

Docstrings are the reference; docs/python.md of the repository is the tutorial.
"""

from ._core import VERSION as __version__
from ._errors import PartialResults, Problem, ResultsError, ScenarioError
from ._results import Measure, Results, Table, open_run
from ._scenario import Scenario, load, preset, presets, scenario

open = open_run

__all__ = [
    "Measure",
    "PartialResults",
    "Problem",
    "Results",
    "ResultsError",
    "Scenario",
    "ScenarioError",
    "Table",
    "__version__",
    "load",
    "open",
    "preset",
    "presets",
    "scenario",
]
