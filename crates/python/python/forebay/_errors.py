"""What goes wrong: scenarios (the user's), and files of results (the world's)."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing to put right in a scenario."""

    place: str
    """``FILE:LINE:COLUMN``, or ``--set KEY=VALUE`` for a setting."""
    key: str
    """The key, ``fabric.host_link.rate``; empty for the file as a whole."""
    text: str
    """What was found, and what to write instead."""

    @property
    def path(self) -> str:
        """The file, or what stands for it; of a setting the setting."""
        return self._parted()[0]

    @property
    def line(self) -> int | None:
        """The line, from 1; None of a setting."""
        return self._parted()[1]

    @property
    def column(self) -> int | None:
        """The column, from 1; None of a setting."""
        return self._parted()[2]

    @property
    def remedy(self) -> str:
        """What to write instead: the end of the sentence; empty where it names none."""
        return self.text.partition("; ")[2]

    def _parted(self) -> tuple[str, int | None, int | None]:
        found = re.fullmatch(r"(.*):(\d+):(\d+)", self.place, re.DOTALL)
        if not found:
            return self.place, None, None
        return found[1], int(found[2]), int(found[3])

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.key, self.text) if part)


class ScenarioError(ValueError):
    """A scenario cannot be used. ``problems`` has each thing to put right; the rest is of the first."""

    problems: list[Problem]

    def __init__(self, problems: list[tuple[str, str, str]] | str) -> None:
        if isinstance(problems, str):
            problems = [("", "", problems)]
        self.problems = [Problem(*one) for one in problems]
        shown = [str(problem) for problem in self.problems[:20]]
        more = len(self.problems) - len(shown)
        super().__init__("\n".join(shown + ([f"and {more} more like these"] if more else [])))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), ([(p.place, p.key, p.text) for p in self.problems],)

    @property
    def path(self) -> str:
        """File of the first problem."""
        return self.problems[0].path

    @property
    def line(self) -> int | None:
        """Line of the first problem."""
        return self.problems[0].line

    @property
    def column(self) -> int | None:
        """Column of the first problem."""
        return self.problems[0].column

    @property
    def key(self) -> str:
        """Key of the first problem."""
        return self.problems[0].key

    @property
    def remedy(self) -> str:
        """What to write instead of the first problem."""
        return self.problems[0].remedy


class ResultsError(OSError):
    """Files of results cannot be read or written."""


class PartialResults(UserWarning):
    """Results of a run that was interrupted: valid up to then, and partial."""
