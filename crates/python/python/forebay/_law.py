"""Congestion-control laws in Python: for teaching and first ideas. docs/python.md says what an event costs."""

from __future__ import annotations

import difflib
import functools
import hashlib
import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from . import _check, _core

METHODS = ("on_ack", "on_enter", "on_leave", "on_undo", "on_tx_start", "on_sent", "on_timer")
CALLED = (*METHODS, "on_mark", "on_loss")
"""Methods that something calls, besides ``start``."""


class FlowLaw(_core.FlowLaw):
    """A law of flows: one object for each flow.

    Inherit, write the methods that it needs, and run a scenario with it in place of a registered law:
    ``s.run(laws={"reno": MyLaw})``. Packets are as those of that law: ECN-capable where its are (``dctcp`` echoes each
    mark, ``reno`` none), with telemetry (``hpcc``) or time stamps (``swift``). The transport detects losses, sends
    again, and governs the window in states ``recovery`` and ``cwr`` (PRR), as it does for every law.

    What is not set stays as it was. Windows are in bytes, rates in bits per second, times in picoseconds. A method that
    a class does not have costs nothing. Objects of different flows must share nothing that changes: threads run them.
    """

    _methods: ClassVar[int] = 0

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in vars(cls).items():
            if re.match(r"on(_|[A-Z])", name) and callable(value) and name not in CALLED:
                snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
                near = difflib.get_close_matches(snake, CALLED, 1, 0.85)
                hint = f"did you mean {near[0]}?" if near else f"events go to {', '.join(CALLED)}"
                raise TypeError(f"{cls.__name__}.{name} is not a method of a law, so nothing would call it; {hint}")
        own = [getattr(cls, name) is not getattr(FlowLaw, name) for name in METHODS]
        own[1] |= cls.on_mark is not FlowLaw.on_mark or cls.on_loss is not FlowLaw.on_loss
        cls._methods = sum(1 << i for i, has in enumerate(own) if has)

    def start(self, flow: _core.FlowStart) -> None:
        """The flow starts: ``flow.mss``, ``initial_window`` (which is set), ``line_rate``, ``base_rtt_ps``, ``seed``."""
        if not self._methods and type(self).start is FlowLaw.start:
            name = type(self).__name__
            raise TypeError(f"{name} has no method of a law, so it decides nothing; write start, on_ack or another")

    def on_ack(self, ack: _core.Event) -> None:
        """An ACK covered new data or echoed congestion: ``ack.acked``, ``ece``, ``rtt_ps``, ``hops``, ``delay_ps``."""

    def on_mark(self, event: _core.Event) -> None:
        """Congestion was echoed: state ``cwr`` begins, or a CNP came."""

    def on_loss(self, event: _core.Event) -> None:
        """A loss: ``event.entered`` is ``recovery``, or ``loss`` after a timeout. Answer with :meth:`set_ssthresh`."""

    def on_timer(self, event: _core.Event) -> None:
        """The time of :meth:`wake_at` came."""

    def on_enter(self, event: _core.Event) -> None:
        """The transport enters a state; unless written anew, calls :meth:`on_mark` and :meth:`on_loss`."""
        if event.entered == "cwr":
            self.on_mark(event)
        elif event.entered in ("recovery", "loss"):
            self.on_loss(event)

    def on_leave(self, event: _core.Event) -> None:
        """An episode, ``event.entered``, ended without undo."""

    def on_undo(self, event: _core.Event) -> None:
        """The last reduction was found spurious: restore what it took."""

    def on_tx_start(self, event: _core.Event) -> None:
        """Sending resumes after nothing was in flight for ``event.idle_ps``; ``event.rto_ps`` is the timeout in force."""

    def on_sent(self, event: _core.Event) -> None:
        """Payload left, ``event.acked`` bytes; only where the law that it stands for counts them (``dcqcn``)."""


@dataclass(frozen=True)
class InPlace:
    """A law in Python in place of a registered one."""

    name: str
    like: str
    """The registered one."""
    source: str | None
    """Hash of its source; None where runs are not told apart by that."""
    make: Callable[[], _core.FlowLaw]


def in_place(laws: Mapping[str, Callable[[], _core.FlowLaw]] | None, by_source: bool = False) -> list[InPlace]:
    """Laws in place of registered ones, with hashes of their sources if they are told apart by them."""
    return [
        InPlace(_name(make), like, source_hash(make) if by_source else None, make)
        for like, make in _check.laws(laws).items()
    ]


def _name(make: Any) -> str:
    """What a law is called: its class, or that of what makes it."""
    return str(getattr(make, "__name__", None) or _name(getattr(make, "func", type(make))))


def source_hash(make: Callable[[], _core.FlowLaw]) -> str:
    """A hash of what a law does, as far as its module says it.

    That is the source of the methods of its class and of those that this inherits from, of functions and classes of the
    same module that they name, the values of constants, and arguments of a ``functools.partial``. What is imported from
    elsewhere is not seen. TypeError where there is no source.
    """
    seen: dict[str, str] = {}
    _read(make, seen)
    return hashlib.sha256(repr(sorted(seen.items())).encode()).hexdigest()[:16]


def _read(what: Any, seen: dict[str, str]) -> None:
    """Notes the source of a class, function or partial, and of what it names."""
    if isinstance(what, functools.partial):
        given = repr((what.args, sorted(what.keywords.items())))
        if " at 0x" in given:
            raise TypeError(f"{_name(what)}: no text tells its arguments {given} apart; give numbers or texts")
        seen["arguments"] = given
        return _read(what.func, seen)
    if not isinstance(what, (type, types.FunctionType)):
        raise TypeError(f"{what!r} has no source; a law is made by a class, a function or a functools.partial of one")
    name = f"{what.__module__}.{what.__qualname__}"
    if name in seen:
        return None
    if isinstance(what, types.FunctionType):
        try:
            seen[name] = inspect.getsource(what)
        except OSError:
            raise TypeError(
                f"runs of a sweep are told apart by the source of {what.__qualname__}, which is not there; "
                "write it in a file or a notebook"
            ) from None
        for word, value in _named(what):
            _note(f"{what.__module__}.{word}", value, what.__module__, seen)
        return None
    seen[name] = ""
    for part in what.__mro__:
        if part.__module__ == "builtins" or part in (FlowLaw, _core.FlowLaw):
            continue
        for word, value in vars(part).items():
            function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
            if isinstance(function, types.FunctionType):
                _read(inspect.unwrap(function), seen)
            elif not word.startswith("__"):
                _note(f"{part.__module__}.{part.__qualname__}.{word}", value, part.__module__, seen)
    return None


def _note(name: str, value: Any, module: str, seen: dict[str, str]) -> None:
    """Notes a value that has a name: a class or function of this module, or a constant."""
    if isinstance(value, (type, types.FunctionType)):
        if value.__module__ == module:
            _read(value, seen)
    elif isinstance(value, (bool, int, float, str, bytes, tuple)):
        seen[name] = repr(value)


def _named(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function names of its module and of functions around it."""
    codes = [function.__code__]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
        for word in code.co_names:
            if word in function.__globals__:
                yield word, function.__globals__[word]
    for word, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield word, cell.cell_contents


class Reno(FlowLaw):
    """The built-in ``reno``, line by line: the same digest, at some microseconds an event.

    Source: RFC 5681 section 3.1; Linux tcp_reno_cong_avoid, tcp_reno_ssthresh, tcp_cwnd_restart, as the crate ``laws``.
    """

    NONE = (1 << 64) - 1
    MOST = 1 << 40

    def start(self, flow: _core.FlowStart) -> None:
        """Begins with the initial window and no threshold."""
        self.mss = flow.mss
        self.cwnd = self.restart = min(max(flow.initial_window, flow.mss), self.MOST)
        self.ssthresh = self.NONE
        self.credit = self.prior_cwnd = self.prior_ssthresh = self.delivered = 0
        self.episode = "open"
        self.set_window(self.cwnd)

    def on_ack(self, ack: _core.Event) -> None:
        """Slow start doubles the window each round trip; above the threshold each window adds a segment."""
        newly, self.delivered = max(ack.delivered - self.delivered, 0), ack.delivered
        if ack.state in ("cwr", "recovery") or ack.ece or ack.acked == 0:
            return
        twice = 2 * ack.most_out * self.mss
        room = not ack.only_full_grows and self.cwnd < self.ssthresh and self.cwnd < twice
        if not (ack.cwnd_limited or room):
            return
        before = self.cwnd
        if self.cwnd < self.ssthresh:
            credit = self.credit + newly
            step = min(self.whole(credit), self.ssthresh - self.cwnd)
            self.cwnd = min(self.cwnd + min(step, self.MOST), self.MOST)
            self.credit = credit - step
            newly = 0
            if self.cwnd >= self.ssthresh:
                newly, self.credit = self.credit, 0
        if newly > 0:
            w = self.cwnd
            segments = 0
            if self.credit >= w:
                self.credit, segments = 0, 1
            self.credit += newly
            segments += self.credit // w
            self.credit %= w
            self.cwnd = min(self.cwnd + segments * self.mss, self.MOST)
        if self.cwnd != before:
            self.set_window(self.cwnd)

    def on_enter(self, event: _core.Event) -> None:
        """A new episode halves; a graver one of the same congestion does not; a timeout starts over."""
        if event.kind != "enter":
            return
        if event.entered in ("open", "disorder"):
            self.episode = "open"
            return
        if self.episode == "open":
            half = max(self.whole(self.cwnd // 2), 2 * self.mss)
            self.prior_cwnd = self.cwnd
            self.prior_ssthresh = max(self.ssthresh, self.three_quarters())
            self.ssthresh = min(half, self.MOST)
            self.credit = 0
        elif (self.episode, event.entered) == ("cwr", "recovery"):
            self.forget()
        self.episode = event.entered
        self.set_ssthresh(self.ssthresh)
        if event.entered == "loss":
            self.credit = 0
            self.cwnd = min(min(event.inflight, self.MOST) + self.mss, self.MOST)
            self.set_window(self.cwnd)

    def on_leave(self, event: _core.Event) -> None:
        """The end of a reduction takes the threshold; ``loss`` keeps what slow start reached."""
        self.leave(event.entered)

    def leave(self, state: str) -> None:
        """Ends an episode."""
        reducing = ("cwr", "recovery")
        if state in reducing and self.episode in reducing and self.ssthresh not in (self.NONE, self.cwnd):
            self.cwnd = self.ssthresh
            self.set_window(self.cwnd)
        self.episode = "open"

    def on_undo(self, event: _core.Event) -> None:
        """Restores what the last episode took, once."""
        if self.prior_cwnd == 0:
            self.leave(self.episode)
            return
        self.episode = "open"
        self.cwnd = max(self.cwnd, self.prior_cwnd)
        self.ssthresh = max(self.ssthresh, self.prior_ssthresh)
        self.forget()
        self.set_ssthresh(self.ssthresh)
        self.set_window(self.cwnd)

    def on_tx_start(self, event: _core.Event) -> None:
        """Idleness halves the window once for each timeout, down to the initial window."""
        floor = min(self.restart, self.cwnd)
        left = event.idle_ps - event.rto_ps
        if event.rto_ps == 0 or left <= 0:
            return
        cwnd, ssthresh = self.cwnd, self.ssthresh
        if self.episode == "open":
            self.ssthresh = max(self.ssthresh, self.three_quarters())
        while left > 0 and self.cwnd > floor:
            self.cwnd = max(self.whole(self.cwnd // 2), floor)
            left -= event.rto_ps
        if self.ssthresh != ssthresh:
            self.set_ssthresh(self.ssthresh)
        if self.cwnd != cwnd:
            self.set_window(self.cwnd)

    def forget(self) -> None:
        """Nothing is left to undo."""
        self.prior_cwnd = self.prior_ssthresh = 0

    def three_quarters(self) -> int:
        """Three quarters of the window in whole segments."""
        return self.whole(self.cwnd // 2) + self.whole(self.cwnd // 4)

    def whole(self, size: int) -> int:
        """Rounded down to whole segments."""
        return size - size % self.mss
