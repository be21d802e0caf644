"""Laws in Python: the built-in one line by line, errors, and what an event costs."""

import concurrent.futures
import functools
import re
import sys
import threading

import pytest

import forebay as fb
from forebay._law import source_hash

from .conftest import SMALL

BUSY = (
    SMALL.replace('law = "dctcp"', 'law = "reno"')
    .replace('ecn = { k = "100KB" }\n', "")
    .replace('"8MB"', '"100KB"')
    .replace("load = 0.5", "load = 0.9")
)
"""Reno with losses and timeouts."""


def test_reno_in_python_gives_the_digest_of_reno_in_rust():
    scenario = fb.scenario(BUSY)
    rust = scenario.run(progress=False)
    assert rust.summary["network"]["timeouts"] > 0
    assert rust.flows["retransmits"].sum() > 0
    python = scenario.run(laws={"reno": fb.Reno}, progress=False)
    assert python.digest == rust.digest
    assert scenario.run(laws={"reno": fb.Reno}, threads=2, jobs=1, progress=False).digest == rust.digest
    ecn = scenario.set({"transport.params": {"ecn": True}, "fabric.switch.ecn": {"k": "50KB"}})
    assert ecn.run(laws={"reno": fb.Reno}, progress=False).digest == ecn.run(progress=False).digest


class Fixed(fb.FlowLaw):
    """A window that nothing moves, and a timer."""

    seen = []

    def __init__(self, segments=4):
        super().__init__()
        self.segments = segments

    def start(self, flow):
        self.set_window(self.segments * flow.mss)
        self.wake_at(flow.base_rtt_ps or 5_000_000)

    def on_timer(self, event):
        Fixed.seen.append(event.now_ps)

    def on_loss(self, event):
        self.set_ssthresh(self.segments * 1000)


def test_a_law_of_ones_own_decides_and_the_results_name_it():
    scenario = fb.scenario(BUSY)
    Fixed.seen.clear()
    slow = scenario.run(seeds=1, laws={"reno": functools.partial(Fixed, segments=1)}, progress=False)
    fast = scenario.run(seeds=1, laws={"reno": Fixed}, progress=False)
    assert slow.summary["slowdown"]["p50"] > 2 * fast.summary["slowdown"]["p50"]
    assert len(Fixed.seen) >= 2 * fast.flows.rows
    assert fast.laws == ["Fixed (Python, in place of reno)"]
    assert fast.resolved.startswith("# Flows under reno ran under Fixed, a law in Python")


def test_the_log_of_a_law_has_the_parameters_of_the_law_that_it_stands_for(tmp_path):
    logged = fb.scenario(BUSY).set(
        {"transport.params": {"ecn": True}, "fabric.switch.ecn": {"k": "20KB"}, "output.law_log": {"flows": [0]}}
    )
    logged.run(seeds=1, laws={"reno": Fixed}, out=tmp_path / "run", progress=False)
    (log,) = (tmp_path / "run").rglob("law-0-seed-1.log")
    head = log.read_bytes()[:200]
    assert b"Fixed (Python, in place of reno)" in head
    assert re.search(rb"ecn.{1,8}true", head, re.DOTALL), head


def test_what_a_law_raises_ends_the_run_and_is_raised():
    calls = []

    class Wrong(fb.FlowLaw):
        def on_ack(self, ack):
            calls.append(ack)
            raise ZeroDivisionError("at the first ACK")

    class Negative(fb.FlowLaw):
        def start(self, flow):
            self.set_window(-1)

    with pytest.raises(ZeroDivisionError, match="at the first ACK"):
        fb.scenario(BUSY).run(seeds=1, laws={"reno": Wrong}, progress=False)
    assert len(calls) == 1
    with pytest.raises(ValueError, match="window: -"):
        fb.scenario(BUSY).run(laws={"reno": Negative}, progress=False)
    with pytest.raises(TypeError, match=r"inherits from forebay\.FlowLaw"):
        fb.scenario(BUSY).run(laws={"reno": dict}, progress=False)
    with pytest.raises(ValueError, match='no flow of this scenario is under "cubic"; it has reno'):
        fb.scenario(BUSY).run(laws={"cubic": Fixed}, progress=False)
    assert threading.active_count() < 20


def test_a_run_under_a_law_in_python_is_explained_with_it_or_later(tmp_path):
    explained = fb.scenario(BUSY).set("output.why", {"flows": "all"})
    r = explained.run(seeds=1, laws={"reno": Fixed}, progress=False)
    why, flows = r.table("why"), r.flows
    fct = dict(zip(flows["flow"], flows["fct_ps"], strict=True))
    explained_flows = set(why["flow"])
    assert len(explained_flows) > 5
    assert all(why["part_ps"][why["flow"] == flow].sum() == fct[flow] for flow in explained_flows)
    later = r.why(flow=sorted(explained_flows))
    assert (later.table["part_ps"] == why["part_ps"]).all()
    r.save(tmp_path / "run")
    with pytest.raises(ValueError, match="under a law in Python, which a run directory does not have"):
        fb.open(tmp_path / "run").why()


def test_a_sweep_runs_laws_in_python_and_tells_them_apart_by_source(tmp_path):
    scenario = fb.scenario(BUSY)

    def swept(law, executor=None):
        grid = {"law": ["reno", "cubic"], "load": [0.5]}
        return fb.sweep(scenario, grid, 1, executor, out=tmp_path / "sweep", laws={"reno": law}, progress=False)

    def runs():
        return {path.name: path.stat().st_mtime_ns for path in (tmp_path / "sweep/runs").iterdir()}

    t = swept(Fixed)
    alone = scenario.set("load", 0.5).run(seeds=1, laws={"reno": Fixed}, progress=False)
    cubic = scenario.set(law="cubic", load=0.5).run(seeds=1, progress=False)
    assert [row["digest"] for row in t.rows] == [alone.digest, cubic.digest]
    assert t.results(law="reno").laws == ["Fixed (Python, in place of reno)"]
    first = runs()
    assert len(first) == 2
    swept(Fixed)
    assert runs() == first, "nothing is done again"
    slow = swept(functools.partial(Fixed, segments=1))
    assert len(runs()) == 3, "arguments tell laws apart, and cubic has none of them"
    assert slow.rows[0]["digest"] != t.rows[0]["digest"]
    with pytest.raises(ValueError, match='no flow of this scenario is under "bbr"; it has cubic, reno'):
        fb.sweep(scenario, {"law": ["reno", "cubic"]}, out=tmp_path / "none", laws={"bbr": Fixed}, progress=False)


def test_a_law_that_no_process_can_import_is_refused_or_sent(tmp_path, monkeypatch):
    most = 3

    class Local(fb.FlowLaw):
        def start(self, flow):
            self.set_window(most * flow.mss)

    def swept(out, executor=None):
        return fb.sweep(
            fb.scenario(BUSY), {"load": [0.5]}, 1, executor, out=tmp_path / out, laws={"reno": Local}, progress=False
        )

    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        here = swept("threads", executor)
    before = source_hash(Local)
    most = 4
    assert source_hash(Local) != before, "what a function around it has counts"
    most = 3
    with monkeypatch.context() as lacks:
        lacks.setitem(sys.modules, "cloudpickle", None)
        with pytest.raises(TypeError, match="worker processes cannot import a law that is defined in a script"):
            swept("refused")
        assert not (tmp_path / "refused").exists()
    pytest.importorskip("cloudpickle")
    assert swept("sent").rows[0]["digest"] == here.rows[0]["digest"]


def test_the_source_of_a_law_is_its_classes_and_what_they_name():
    assert source_hash(fb.Reno) == source_hash(fb.Reno)
    hashes = [source_hash(law) for law in (Fixed, fb.Reno, functools.partial(Fixed, 1), functools.partial(Fixed, 2))]
    assert len(set(hashes)) == 4
    with pytest.raises(TypeError, match="has no source"):
        source_hash(Fixed())
    with pytest.raises(TypeError, match="no text tells its arguments"):
        source_hash(functools.partial(Fixed, segments=object()))
