"""Checks of arguments: one sentence with a remedy, before anything runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

MOST = (1 << 63) - 1
"""Seeds are at most this."""


def whole(name: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """A whole number; numpy's count, texts, fractions and truth values do not."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}={value!r} is not a whole number; write for instance {name}={max(least, 1)}")
    number = operator.index(value)
    if number < least:
        raise ValueError(f"{name}={number} is too few; write {least} or more")
    if number > most:
        raise ValueError(f"{name}={number} is above {most}")
    return number


def numbers(name: str, value: int | Iterable[int] | None) -> list[int] | None:
    """One whole number from 0 on, or several."""
    if value is None:
        return None
    if isinstance(value, (str, bytes, Mapping)):
        raise TypeError(f"{name}={value!r} is neither a number nor a list; write {name}=3 or {name}=[3, 7]")
    if isinstance(value, Iterable):
        return [whole(name, one) for one in value]
    return [whole(name, value)]


def seeds(value: int | Iterable[int] | None) -> list[int] | None:
    """``3`` as ``[1, 2, 3]``; a list as it is."""
    if value is None:
        return None
    if isinstance(value, (str, bytes, Mapping)):
        raise TypeError(f"seeds={value!r} is neither a number nor a list; write seeds=3 (which is 1, 2, 3) or seeds=[3, 7]")
    if isinstance(value, Iterable):
        return [whole("seeds", seed) for seed in value]
    count = whole("seeds", value, least=-MOST, most=1_000_000)
    if count < 1:
        raise ValueError(f"seeds={count}: there is none; write how many, seeds=3, or which, seeds=[3, 7]")
    return list(range(1, count + 1))


def text(what: str, value: Any, remedy: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"{what}: {value!r} is not a text; write {remedy}")
    return value


def values(key: str, value: Any) -> list[Any]:
    """The values of a key that a sweep tries."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise TypeError(f"grid: {key!r} has one value, {value!r}; write a list of values, [{value!r}]")
    return list(value)


def names(value: Any, runs: int) -> list[str] | None:
    """A name for each of several runs."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        raise TypeError(f'names={value!r} is not a list of texts; write names=["today", "larger buffers"]')
    if len(value) != runs:
        raise ValueError(f"names: there are {len(value)}, and {runs} runs")
    return list(value)


def sizes(value: Any) -> tuple[int, int] | None:
    """Two numbers of bytes, the smaller first."""
    if value is None:
        return None
    try:
        low, high = (operator.index(end) if hasattr(end, "__index__") else int(end + 0.0) for end in value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"size={value!r} is not a pair of bytes; write size=(10e3, 100e3)") from None
    if not 0 <= low < high <= MOST:
        raise ValueError(f"size={value!r}: write the smaller size first, from 0 on, size=(10e3, 100e3)")
    return low, high


def laws(value: Any) -> Mapping[str, Callable[[], Any]]:
    """Laws by the names of the registered ones that they stand for."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        name = getattr(value, "__name__", "MyLaw")
        raise TypeError(f'laws={name} is not a dict; write the registered law that it stands for, laws={{"reno": {name}}}')
    for like, make in value.items():
        text("laws", like, '{"reno": MyLaw}')
        if not callable(make):
            raise TypeError(f"laws: {make!r} makes no law; write a class that inherits from forebay.FlowLaw")
    return value


def folder_for(path: Any) -> Path:
    """A path below a folder that is there."""
    target = Path(path)
    above = target.parent
    if not above.is_dir():
        raise FileNotFoundError(2, f"there is no folder {above}; make it first", str(target))
    return target
