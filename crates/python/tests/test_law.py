"""Laws in Python: the built-in one line by line, errors, and what an event costs."""

import functools
import threading
import time

import pytest

import forebay as fb

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


def test_what_a_law_raises_ends_the_run_and_is_raised():
    class Wrong(fb.FlowLaw):
        def on_ack(self, ack):
            raise ZeroDivisionError("at the first ACK")

    class Negative(fb.FlowLaw):
        def start(self, flow):
            self.set_window(-1)

    began = time.monotonic()
    with pytest.raises(ZeroDivisionError, match="at the first ACK"):
        fb.scenario(BUSY).run(laws={"reno": Wrong}, progress=False)
    with pytest.raises(ValueError, match="window: -"):
        fb.scenario(BUSY).run(laws={"reno": Negative}, progress=False)
    with pytest.raises(TypeError, match=r"inherits from forebay\.FlowLaw"):
        fb.scenario(BUSY).run(laws={"reno": dict}, progress=False)
    with pytest.raises(ValueError, match='no flow of this scenario is under "cubic"; it has reno'):
        fb.scenario(BUSY).run(laws={"cubic": Fixed}, progress=False)
    assert time.monotonic() - began < 20
    assert threading.active_count() < 20


def test_a_run_under_a_law_in_python_explains_itself_and_cannot_be_explained_later():
    explained = fb.scenario(BUSY).set("output.why", {"flows": "all"})
    r = explained.run(seeds=1, laws={"reno": Fixed}, progress=False)
    why, flows = r.table("why"), r.flows
    fct = dict(zip(flows["flow"], flows["fct_ps"], strict=True))
    explained_flows = set(why["flow"])
    assert len(explained_flows) > 5
    assert all(why["part_ps"][why["flow"] == flow].sum() == fct[flow] for flow in explained_flows)
    with pytest.raises(RuntimeError, match="the second run is not the first one"):
        r.why(p=0)
