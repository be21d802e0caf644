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
