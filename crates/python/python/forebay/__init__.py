"""Forebay: packet-level simulation of datacentre congestion control.

>>> import forebay as fb
>>> r = fb.load("websearch.toml").set("load", 0.7).run(seeds=3)
>>> r.summary["slowdown"]["p99"], r.flows["fct_ps"], r.plot.fct()

Docstrings are the reference; docs/python.md of the repository is the tutorial.
"""

from ._compare import Comparison, compare
from ._core import VERSION as __version__
from ._errors import PartialResults, Problem, ResultsError, ScenarioError
from ._law import FlowLaw, Reno
from ._results import Measure, Results, Table, Why, open_run, plot
from ._scenario import Scenario, load, preset, presets, scenario
from ._simulation import Simulation
from ._sweep import Sweep, SweepError, open_sweep, sweep

open = open_run

__all__ = [
    "Comparison",
    "FlowLaw",
    "Measure",
    "PartialResults",
    "Problem",
    "Reno",
    "Results",
    "ResultsError",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "Sweep",
    "SweepError",
    "Table",
    "Why",
    "__version__",
    "compare",
    "load",
    "open",
    "open_sweep",
    "plot",
    "preset",
    "presets",
    "scenario",
    "sweep",
]
