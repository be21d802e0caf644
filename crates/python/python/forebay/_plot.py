"""Pictures of results, by matplotlib, in a style for papers and notebooks. Each function gives its Axes.

Quantiles are nearest rank within each seed; a line is the mean over seeds, a band the range over them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._results import Results, Table
    from ._sweep import Sweep

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c564b"]
"""Okabe and Ito's, which colour-blind readers tell apart."""

MARKERS = "osD^vPX*"

STYLE: dict[str, Any] = {
    "figure.figsize": (5.6, 3.4),
    "figure.dpi": 110,
    "savefig.dpi": 300,
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
}
"""The style of all pictures; ``forebay._plot.style()`` has it for pictures of your own."""

BINS = 16

POINTS = 300
"""Points of a line over time; where there are more samples, each is the mean of some."""


def nearest_rank(values: np.ndarray[Any, Any], q: float) -> float:
    """Of n sorted values the one at rank ceil(q n)."""
    if not len(values):
        return float("nan")
    return float(np.sort(values)[max(int(np.ceil(q * len(values))), 1) - 1])


class Plots:
    """Pictures of one run, or of several beside each other."""

    def __init__(self, runs: Sequence[Results], names: Sequence[str] | None = None) -> None:
        self._runs = list(runs)
        self._names = list(names) if names else [", ".join(run.laws) for run in runs]

    def slowdown(self, quantiles: Iterable[float] = (0.5, 0.99), ax: Any = None) -> Any:
        """FCT slowdown by flow size: each point is of as many flows as the next."""
        ax = _axes(ax)
        quantiles = list(quantiles)
        sizes = np.concatenate([_completed(run, "size_bytes") for run in self._runs])
        edges = np.unique(np.quantile(sizes, np.linspace(0, 1, BINS + 1)))
        if len(edges) < 2:
            edges = np.array([edges[0], edges[0] + 1])
        for i, (run, name) in enumerate(zip(self._runs, self._names, strict=True)):
            size, slow, seed = (_completed(run, key) for key in ("size_bytes", "slowdown", "seed"))
            at = np.clip(np.searchsorted(edges, size, side="right") - 1, 0, len(edges) - 2)
            bins = [b for b in range(len(edges) - 1) if (at == b).any()]
            x = [float(np.exp(np.log(np.maximum(size[at == b], 1)).mean())) for b in bins]
            for k, q in enumerate(quantiles):
                of_seed = [[nearest_rank(slow[(at == b) & (seed == one)], q) for b in bins] for one in np.unique(seed)]
                label = _joined(name if len(self._runs) > 1 else "", _percentile(q))
                _band(ax, x, of_seed, label, i if len(self._runs) > 1 else k, "-" if q == max(quantiles) else "--")
        ax.set(xscale="log", yscale="log", xlabel="Flow size (bytes)", ylabel="FCT slowdown")
        _plain_ticks(ax.yaxis)
        _byte_ticks(ax.xaxis)
        _title(ax, self._title("FCT slowdown by flow size"))
        _legend(ax)
        return ax

    def fct(self, ax: Any = None) -> Any:
        """Distribution of flow completion times; of one run by size class, of several by run."""
        ax = _axes(ax)
        if len(self._runs) == 1:
            bounds = [0, *self._runs[0]._core.size_classes, np.inf]
            size, fct = (_completed(self._runs[0], key) for key in ("size_bytes", "fct_ps"))
            curves = [(_size_class(low, high), fct[(size > low) & (size <= high)]) for low, high in pairwise(bounds)]
        else:
            curves = [(name, _completed(run, "fct_ps")) for run, name in zip(self._runs, self._names, strict=True)]
        curves = [(name, values) for name, values in curves if len(values)]
        for i, (name, values) in enumerate(curves):
            values = np.sort(values) / 1e6
            share = np.arange(1, len(values) + 1) / len(values)
            label = f"{name} ({len(values):,})"
            ax.step(values, share, where="post", color=COLOURS[i % len(COLOURS)], label=label)
        ax.set(xscale="log", ylim=(0, 1.005), xlabel="Flow completion time (us)", ylabel="Share of flows")
        _plain_ticks(ax.xaxis)
        _title(ax, self._title("Flow completion times"))
        _legend(ax, title="Flows (number)", loc="center left", bbox_to_anchor=(1.0, 0.5))
        return ax

    def queues(self, ports: int = 4, ax: Any = None) -> Any:
        """Queues over time of the ports that held most, of the first seed. Needs ``output.queues``."""
        return self.series("queue", ports, ax)

    def series(self, quantity: str, most: int = 4, ax: Any = None) -> Any:
        """A sampled quantity over time, of the first seed: ``queue``, ``goodput``, ``window``, ``flow-rate``, ...

        ``r.series["quantity"]`` has those that were sampled. Those with the highest values are drawn, ``most`` of them;
        where there are more than 300 samples, as means.
        """
        ax = _axes(ax)
        lines = []
        for run, name in zip(self._runs, self._names, strict=True):
            lines += [(_joined(name if len(self._runs) > 1 else "", of), *xy) for of, *xy in _series(run.series, quantity)]
        if not lines:
            there = sorted({str(one) for run in self._runs for one in set(run.series["quantity"])})
            raise ValueError(
                f"{quantity!r} was not sampled; "
                + (f"there are {', '.join(there)}" if there else 'set output.queues or output.flows, { every = "10us" }')
            )
        unit = lines[0][3]
        lines.sort(key=lambda line: -line[2].max())
        scale, word = _time_unit(max(line[1].max() for line in lines))
        for i, (name, at, values, _) in enumerate(lines[:most]):
            label = re.sub(
                r" (rate|window|queue|goodput|srtt|round-trip|in-flight)$", "", name.removesuffix(f" {quantity}")
            )
            at, values = _thinned(at, values / (1e3 if unit == "bytes" else 1))
            ax.plot(at / scale, values, color=COLOURS[i % len(COLOURS)], lw=1.1, label=label)
        shown = {"bytes": "KB", "gbps": "Gb/s", "ps": "ps"}.get(unit, unit)
        ax.set(xlabel=f"Time ({word})", ylabel=f"{quantity.replace('-', ' ').capitalize()} ({shown})", ylim=(0, None))
        if len(lines) > most:
            _title(ax, self._title(f"The {most} highest of {len(lines)}"))
        else:
            _title(ax, self._title(""))
        _legend(ax)
        return ax

    def memory(self, host: str | None = None, axes: Any = None) -> Any:
        """A host's path to memory over time, of the first seed: PCIe, memory, NIC buffer, drops and marks.

        Needs ``[host.memory]`` and ``output.memory``. Gives its Axes, one above the other.
        """
        run = self._runs[0]
        table = run.memory_series
        if not table.rows:
            raise ValueError('no path to memory was sampled; set output.memory = { every = "10us" }')
        host = host or str(table["host"][0])
        here = (table["host"] == host) & (table["seed"] == table["seed"][0])
        column = {name: table[name][here] for name in table.columns}
        lists = column["antagonists_gigabytes_per_s"]
        column["antagonists_gigabytes_per_s"] = np.array([one.sum() for one in lists])
        column["nic_buffered_bytes"] = column["nic_buffered_bytes"] / 1e3
        with style():
            import matplotlib.pyplot as plt

            if axes is None:
                _, axes = plt.subplots(len(MEMORY), 1, sharex=True, figsize=(5.6, 6.6), layout="constrained")
        scale, word = _time_unit(column["at_ps"].max())
        for ax, ylabel, names in zip(axes, *zip(*MEMORY, strict=True), strict=True):
            for i, (name, label) in enumerate(names.items()):
                at, values = _thinned(column["at_ps"], column[name])
                ax.plot(at / scale, values, color=COLOURS[i], lw=1.1, label=label)
            ax.set(ylabel=ylabel, ylim=(0, None))
            _legend(ax)
        _title(axes[0], self._title(f"Path to memory of {host}"))
        axes[-1].set_xlabel(f"Time ({word})")
        return axes

    def _title(self, what: str) -> str:
        names = list(dict.fromkeys(run.name for run in self._runs))
        name = names[0] if len(names) == 1 else ""
        laws = ", ".join(self._runs[0].laws) if len(self._runs) == 1 else ""
        partial = ", partial" if any(run.partial for run in self._runs) else ""
        title = ": ".join(part for part in (_joined(name, laws and f"({laws})"), what) if part)
        return title + partial


MEMORY: list[tuple[str, dict[str, str]]] = [
    ("Gb/s", {"pcie_gbps": "over PCIe", "goodput_gbps": "read by the application"}),
    ("Memory (GB/s)", {"network_gigabytes_per_s": "network", "antagonists_gigabytes_per_s": "antagonists"}),
    ("In the NIC (KB)", {"nic_buffered_bytes": "bytes in the NIC buffer"}),
    ("Packets a sample", {"nic_dropped_packets": "dropped by the NIC", "host_marked_packets": "marked by the host"}),
]


def sweep(t: Sweep, metric: str, x: str | None, ax: Any) -> Any:
    """A metric of a sweep over a key with numbers."""
    places = {key: placed for key in t.keys if (placed := _places(t[key])) is not None}
    if x is None and not places:
        raise ValueError(
            f"no key of this sweep has numbers ({', '.join(t.keys)}); fb.compare(t) shows them beside each other"
        )
    key = next(iter(places)) if x is None else t.key(x)
    if key not in places:
        raise ValueError(f"{key} has values that are no numbers; give x one of {', '.join(places) or 'no key'}")
    others = [other for other in t.keys if other != key]
    names = [", ".join(_named(other, t[other][i]) for other in others) for i in range(len(t))]
    if metric not in t.columns:
        raise ValueError(f"{metric!r} is not a column; there are {', '.join(t.columns)}")
    ax = _axes(ax)
    values, interval, (along, words) = t[metric], t.interval(metric), places[key]
    for i, name in enumerate(dict.fromkeys(names)):
        rows = [row for row in range(len(t)) if names[row] == name and np.isfinite(values[row])]
        rows.sort(key=lambda row: along[row])
        at, mean = along[rows], values[rows]
        error = np.nan_to_num(np.abs(interval[rows].T - mean))
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        ax.errorbar(at, mean, error, color=colour, marker=marker, capsize=2.5, elinewidth=0.9, label=name or None)
    if words:
        ax.set_xticks(list(words), list(words.values()))
    ax.set(xlabel=key, ylabel=_titled(metric), ylim=(0, None))
    _title(ax, f"{t.name}: 95 % intervals over seeds" if np.isfinite(interval).any() else t.name)
    _legend(ax)
    return ax


QUANTITY = re.compile(r"([0-9.]+)\s*([A-Za-z]+)")

SCALES = {"": 1e0, "k": 1e3, "K": 1e3, "Ki": 2**10, "M": 1e6, "Mi": 2**20, "G": 1e9, "Gi": 2**30, "T": 1e12}
SCALES |= {"p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3}


def _places(values: Any) -> tuple[Any, dict[float, str]] | None:
    """Where values lie on an axis; its labels too if they have units, side by side. None: they are no numbers."""
    if values.dtype.kind in "if":
        return values, {}
    found = [QUANTITY.fullmatch(str(value)) for value in values]
    if not all(found):
        return None
    size = {}
    for one in found:
        number, unit = one.groups()  # type: ignore[union-attr]
        scale = next((unit[:n] for n in (2, 1, 0) if n < len(unit) and unit[:n] in SCALES), "")
        size[one[0]] = float(number) * SCALES[scale]  # type: ignore[index]
    order = {text: float(i) for i, text in enumerate(sorted(size, key=lambda text: size[text]))}
    return np.array([order[str(value)] for value in values]), {i: text for text, i in order.items()}


def _named(key: str, value: Any) -> str:
    """A value in a legend: a number with its key, a name alone."""
    text = str(value)
    return f"{key.split('.')[-1]} {text}" if text[:1].isdigit() else text


def _titled(metric: str) -> str:
    """A metric as the pages call it, ``p99 slowdown``; as it is where it is no percentile of flows or RPCs."""
    parts = re.fullmatch(r"(flows|rpc)\.(slowdown|fct_us|latency_us)\.(p\d+|mean)(\[.*\])?", metric)
    if not parts:
        return metric
    of, what, which, part = parts.groups()
    words = {"slowdown": "slowdown", "fct_us": "FCT (us)", "latency_us": "latency (us)"}[what]
    title = f"{which} RPC {words}" if of == "rpc" else f"{which} {words}"
    return title + (f", {part[1:-1]}" if part else "")


@contextlib.contextmanager
def style() -> Iterator[None]:
    """The style while it lasts. Nothing else is put back: a notebook sets up its backend with the first picture."""
    import matplotlib

    before = {key: matplotlib.rcParams[key] for key in STYLE}
    matplotlib.rcParams.update(STYLE)
    try:
        yield
    finally:
        matplotlib.rcParams.update(before)


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    with style():
        import matplotlib.pyplot as plt

        return plt.subplots(layout="constrained")[1]


def _completed(run: Results, column: str) -> np.ndarray[Any, Any]:
    """A column of flows that completed and arrived after the warm-up."""
    flows = run.flows
    there = ~np.isnan(flows["slowdown"]) & (flows["start_ps"] >= run._core.ends_ps[0])
    return flows[column][there]


def _series(table: Table, quantity: str) -> list[tuple[str, Any, Any, str]]:
    """Name, times, values and unit of each series of a quantity, of the first seed."""
    if not table.rows:
        return []
    here = (table["quantity"] == quantity) & (table["seed"] == table["seed"][0])
    names, unit = table["series"][here], table["unit"][here]
    at, values = table["at_ps"][here], table["value"][here]
    return [(str(name), at[names == name], values[names == name], str(unit[0])) for name in np.unique(names)]


def _time_unit(longest_ps: float) -> tuple[float, str]:
    """Picoseconds of the unit in which a time axis of this length is read, and its name."""
    return next(((ps, word) for ps, word in ((1e12, "s"), (1e9, "ms"), (1e6, "us")) if longest_ps >= 2 * ps), (1e3, "ns"))


def _thinned(at: Any, values: Any) -> tuple[Any, Any]:
    """Means over as many samples each as leave no more than a picture shows."""
    each = -(-len(values) // POINTS)
    whole = len(values) // each * each
    return tuple(np.asarray(of[:whole], dtype=float).reshape(-1, each).mean(axis=1) for of in (at, values))


def _band(ax: Any, x: Any, of_seed: Any, label: str, colour: int, line: str) -> None:
    of_seed = np.array(of_seed)
    with np.errstate(invalid="ignore"):
        mean = np.nanmean(of_seed, axis=0)
    shade, marker = COLOURS[colour % len(COLOURS)], MARKERS[colour % len(MARKERS)]
    ax.plot(x, mean, line, color=shade, marker=marker, markersize=3.5, label=label)
    if len(of_seed) > 1:
        low, high = np.nanmin(of_seed, axis=0), np.nanmax(of_seed, axis=0)
        ax.fill_between(x, low, high, color=shade, alpha=0.15, lw=0)


def _title(ax: Any, text: str) -> None:
    ax.set_title(text, loc="left", fontsize=9.5)


def _legend(ax: Any, title: str | None = None, **place: Any) -> None:
    if len(ax.get_legend_handles_labels()[1]) > 0:
        ax.legend(
            title=title, title_fontsize=8.5, alignment="left", edgecolor="none", framealpha=0.85, fontsize=8.5, **place
        )


def _plain_ticks(axis: Any) -> None:
    """1, 2, 5, 10 instead of powers of ten, as far as they fit."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    wide = low > 0 and high / low > 300
    axis.set_major_locator(LogLocator(10, subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def _byte_ticks(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: _bytes(value)))
    axis.set_minor_formatter(NullFormatter())


def _bytes(value: float) -> str:
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value:.4g} B"


def _size_class(low: float, high: float) -> str:
    if high == np.inf:
        return f"> {_bytes(low)}"
    return f"≤ {_bytes(high)}" if low == 0 else f"{_bytes(low)} to {_bytes(high)}"


def _percentile(q: float) -> str:
    return f"p{q * 100:g}"


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)
