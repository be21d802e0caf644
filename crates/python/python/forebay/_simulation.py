"""A simulation in steps: advance, look, change."""

from __future__ import annotations

import json
from typing import Any

from . import _check, _core
from ._results import Results
from ._scenario import Scenario


class Simulation:
    """One seed of a scenario, advanced step by step. Made by ``scenario.simulation(seed=1)``.

    Looking changes nothing: with any steps and observations the digest is that of ``run``. Actions do change it, and
    :attr:`actions` has each, so that the same ones at the same times give the same bytes again.
    """

    def __init__(self, scenario: Scenario, seed: int, threads: int) -> None:
        self._core = _core.Simulation(scenario._core, seed, threads)
        self.seed = seed
        self.now_ps = 0
        """Virtual time before which everything has happened."""
        self.over = False
        """Whether the run has come to its end."""
        self.actions: list[dict[str, Any]] = []
        """What :meth:`act` did: ``at_ps``, ``what``, and what was given."""

    @property
    def now_us(self) -> float:
        """The same in microseconds."""
        return self.now_ps / 1e6

    def step(self, span: str | None = None) -> bool:
        """Advances by ``"1ms"``, or to the end; says whether there is more to come."""
        if span is not None:
            _check.text("step", span, 'a span of time with its unit, step("1ms")')
        self.now_ps, self.over = self._core.step(self.now_ps, span)
        return not self.over

    def observe(self, what: str = "") -> dict[str, Any]:
        """How something stands now: a port ``leaf[0]->spine[1]``, ``flow[3]``, a host or a switch; the whole in short."""
        _check.text("observe", what, 'a name, observe("flow[3]")')
        seen: dict[str, Any] = json.loads(self._core.observe(what))
        return seen

    def act(self, what: str, *, rate: str | None = None, window: str | None = None) -> None:
        """Gives ``flow[3]`` a rate (``"10Gbps"``), a window (``"64KB"``) or both, in place of its law's.

        It holds from the flow's next event on (an ACK, a timer) until the next action; without either, the law's own
        come back as it sets them. The law goes on seeing and deciding.
        """
        _check.text("act", what, 'a flow, act("flow[3]", ...)')
        if rate is not None:
            _check.text("act, rate", rate, 'a rate with its unit, rate="10Gbps"')
        if window is not None:
            _check.text("act, window", window, 'bytes with their unit, window="64KB"')
        self._core.act(what, rate, window)
        given = {key: value for key, value in (("rate", rate), ("window", window)) if value is not None}
        self.actions.append({"at_ps": self.now_ps, "what": what, **given})

    def finish(self) -> Results:
        """Ends the simulation here, and gives its results: complete if it is over, partial if not."""
        results = Results(self._core.finish())
        self.over = True
        return results
