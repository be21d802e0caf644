"""Pictures: what is in them. How they look is for people."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_slowdown_has_a_line_for_each_quantile_within_the_values(results):
    ax = results.plot.slowdown()
    p50, p99 = (line.get_ydata() for line in ax.lines)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["p50", "p99"]
    assert (np.array(p50) >= 1).all()
    assert (np.array(p50) <= np.array(p99)).all()
    assert max(p99) <= np.nanmax(results.flows["slowdown"])
    assert "small (dctcp)" in ax.get_title(loc="left")


def test_fct_counts_every_flow_that_completed(results):
    ax = results.plot.fct()
    counted = [int(text.get_text().split("(")[1][:-1].replace(",", "")) for text in ax.get_legend().get_texts()]
    assert sum(counted) == np.isfinite(results.flows["fct_ps"]).sum()


def test_queues_are_those_of_the_series_and_what_is_missing_is_said(small, results):
    ax = results.plot.queues(2)
    assert len(ax.lines) == 2
    series = results.series
    assert max(ax.lines[0].get_ydata()) * 1e3 == series["value"][series["seed"] == 1].max()
    with pytest.raises(ValueError, match="'window' was not sampled; there are goodput, queue"):
        results.plot.series("window")
    with pytest.raises(ValueError, match="no path to memory was sampled"):
        results.plot.memory()


class Rows:
    """A sweep that was not run."""

    name = "s"
    columns = ("flows.slowdown.p99", "drop_rate")

    def __init__(self, **columns):
        self.table = {key: np.array(values) for key, values in columns.items()}
        self.keys = [key for key in self.table if key not in self.columns]
        self.table |= {name: np.arange(len(self), dtype=float) + 1 for name in self.columns}

    def __len__(self):
        return len(next(iter(self.table.values())))

    def __getitem__(self, name):
        return self.table[name]

    def interval(self, _):
        return np.full((len(self), 2), np.nan)

    def key(self, word):
        return word


def test_a_sweep_is_drawn_along_quantities_in_their_order_and_lines_have_their_key():
    from forebay._plot import sweep

    t = Rows(kmin=["1MB", "200KB", "1MB", "200KB"], load=[0.3, 0.3, 0.6, 0.6])
    ax = sweep(t, "flows.slowdown.p99", None, None)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["200KB", "1MB"], "by size, not by letters"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["load 0.3", "load 0.6"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("kmin", "p99 slowdown")
    first = ax.containers[0].lines[0]
    assert list(first.get_ydata()) == [2.0, 1.0], "200KB is the second row"
    along = sweep(t, "drop_rate", "load", None)
    assert [text.get_text() for text in along.get_legend().get_texts()] == ["kmin 1MB", "kmin 200KB"]
    assert along.get_ylabel() == "drop_rate"
    with pytest.raises(ValueError, match="law has values that are no numbers; give x one of load"):
        sweep(Rows(law=["dctcp", "reno"], load=[1, 2]), "drop_rate", "law", None)
