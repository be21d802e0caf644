"""How far work is: a bar in a terminal or a notebook, a function of the user's, or nothing."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any


class Progress:
    """Shows progress while work is done in its ``with``; ``tick`` takes it, as JSON."""

    def __init__(self, name: str, how: bool | Callable[[dict[str, Any]], None] | None) -> None:
        self._name = name
        self._handle: Any = None
        self._drawn = False
        self._show: Callable[[dict[str, Any]], None] | None = None
        if callable(how):
            self._show = how
        elif how is not False and _in_notebook():
            self._show = self._html
        elif how or (how is None and sys.stderr is not None and sys.stderr.isatty()):
            self._show = self._line

    @property
    def tick(self) -> Callable[[str], None] | None:
        """Takes progress as JSON; None where nobody wants it."""
        show = self._show
        return None if show is None else lambda text: show(json.loads(text))

    def show(self, facts: dict[str, Any]) -> None:
        """Shows it, if somebody wants that."""
        if self._show is not None:
            self._show(facts)

    def _line(self, facts: dict[str, Any]) -> None:
        width = max(shutil.get_terminal_size().columns - 1, 20)
        words = _words(facts)
        room = min(30, width - len(self._name) - len(words) - 6)
        bar = ""
        if room >= 8:
            full = int(facts["fraction"] * room)
            bar = "━" * full + "─" * (room - full) + "  "
            if "utf" not in (sys.stderr.encoding or "").lower():
                bar = bar.replace("━", "#").replace("─", "-")
        text = f"{self._name}  {bar}{words}"[:width]
        sys.stderr.write("\r" + text.ljust(width))
        sys.stderr.flush()
        self._drawn = True

    def _html(self, facts: dict[str, Any]) -> None:
        from html import escape

        from IPython.display import HTML, display

        shown = HTML(
            f"<div style='font:13px system-ui'>{escape(self._name)} "
            f"<progress value='{facts['fraction']:.4f}' max='1' style='width:240px;vertical-align:middle'>"
            f"</progress> {escape(_words(facts))}</div>"
        )
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._drawn:
            width = max(shutil.get_terminal_size().columns - 1, 20)
            sys.stderr.write("\r" + " " * width + "\r")
            sys.stderr.flush()
        if self._handle is not None:
            from IPython.display import HTML

            self._handle.update(HTML(""))


def _words(facts: dict[str, Any]) -> str:
    parts = [f"{int(facts['fraction'] * 100):>3} %"]
    for what in ("seeds", "runs"):
        if facts.get(what, 0) > 1:
            parts.append(f"{facts[f'{what}_done']}/{facts[what]} {what}")
    if rate := facts.get("packet_hops_per_s"):
        parts.append(f"{rate / 1e6:.1f}M hops/s")
    if (left := facts.get("eta_s")) is not None:
        parts.append(f"{left:.0f} s left" if left < 100 else f"{left / 60:.0f} min left")
    return "  ".join(parts)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")
