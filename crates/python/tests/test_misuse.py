"""What is given wrongly is refused in one sentence before anything runs."""

import numpy as np
import pytest

import forebay as fb


def refused(kind, says, call):
    with pytest.raises(kind) as caught:
        call()
    assert says in str(caught.value), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        ({"seeds": "3"}, TypeError, "seeds='3' is neither a number nor a list; write seeds=3 (which is 1, 2, 3)"),
        ({"seeds": "12"}, TypeError, "seeds='12' is neither a number nor a list"),
        ({"seeds": ["3"]}, TypeError, "seeds='3' is not a whole number"),
        ({"seeds": 2.0}, TypeError, "seeds=2.0 is not a whole number"),
        ({"seeds": True}, TypeError, "seeds=True is not a whole number"),
        ({"seeds": -1}, ValueError, "seeds=-1: there is none"),
        ({"seeds": 10**30}, ValueError, "is above 1000000"),
        ({"seeds": [-1]}, ValueError, "seeds=-1 is too few; write 0 or more"),
        ({"threads": 0}, ValueError, "threads=0 is too few; write 1 or more"),
        ({"threads": "2"}, TypeError, "threads='2' is not a whole number; write for instance threads=1"),
        ({"jobs": 0}, ValueError, "jobs=0 is too few; write 1 or more"),
        ({"laws": {"reno": 5}}, TypeError, "laws: 5 makes no law; write a class that inherits from forebay.FlowLaw"),
        ({"laws": fb.Reno}, TypeError, 'laws=Reno is not a dict; write the registered law that it stands for'),
    ],
)
def test_a_run_says_what_it_takes(small, tmp_path, given, kind, says):
    refused(kind, says, lambda: small.run(out=tmp_path / "run", progress=False, **given))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"grid": {"law": "reno"}}, "grid: 'law' has one value, 'reno'; write a list of values, ['reno']"),
        ({"grid": {"load": 0.5}}, "grid: 'load' has one value, 0.5; write a list of values, [0.5]"),
        ({"grid": {"fabric.switch.ecn": {"k": "1KB"}}}, "has one value, {'k': '1KB'}"),
        ({"grid": ["law"]}, "is not a dict; write grid={\"load\": [0.2, 0.4]}"),
        ({"seeds": "12"}, "seeds='12' is neither a number nor a list"),
        ({"threads": "1"}, "threads='1' is not a whole number"),
    ],
)
def test_a_sweep_takes_lists_of_values(small, tmp_path, given, says):
    out = tmp_path / "sweep"
    refused(TypeError, says, lambda: fb.sweep(small, **{"grid": {"load": [0.5]}, **given}, out=out, progress=False))
    assert not out.exists()


def test_numbers_of_numpy_are_numbers(small):
    assert small.run(seeds=np.int64(1), threads=np.int32(1), progress=False).seeds == [1]
    assert small.run(seeds=np.array([3]), progress=False).seeds == [3]


def test_texts_are_texts_and_values_are_there(small):
    refused(TypeError, "scenario: 5 is not a text; write the TOML text itself", lambda: fb.scenario(5))
    refused(TypeError, "set('load') has no value; write set('load', VALUE)", lambda: small.set("load"))
    refused(TypeError, "None is not a value of a scenario; leave the key out", lambda: small.set(load=None))
    refused(TypeError, "set: 5 is not a text", lambda: small.set(5, 6))
    refused(TypeError, "sweep: 'small.toml' is not a scenario; write fb.load(PATH)", lambda: fb.sweep("small.toml"))


def test_a_simulation_in_steps_takes_texts_with_units(small):
    refused(ValueError, "threads=0 is too few", lambda: small.simulation(threads=0))
    refused(ValueError, "seed=-1 is too few", lambda: small.simulation(seed=-1))
    sim = small.simulation()
    refused(TypeError, 'step: 5 is not a text; write a span of time with its unit, step("1ms")', lambda: sim.step(5))
    refused(TypeError, 'act, window: -1 is not a text; write bytes with their unit', lambda: sim.act("flow[0]", window=-1))
    refused(TypeError, "act, rate: 1 is not a text", lambda: sim.act("flow[0]", rate=1))
    refused(TypeError, "observe: 3 is not a text", lambda: sim.observe(3))
    sim.finish()


def test_questions_about_results_are_whole(small, tmp_path):
    r = small.run(seeds=1, progress=False)
    refused(ValueError, "flow=-1 is too few; write 0 or more", lambda: r.why(flow=-1))
    refused(TypeError, "flow='12' is neither a number nor a list", lambda: r.why(flow="12"))
    refused(TypeError, "is not a pair of bytes; write size=(10e3, 100e3)", lambda: r.why(size=("1KB", "1MB")))
    refused(ValueError, "write the smaller size first", lambda: r.why(size=(1e6, 1e3)))
    refused(TypeError, "names='ab' is not a list of texts", lambda: fb.compare(r, r, names="ab"))
    refused(TypeError, "names='ab' is not a list of texts", lambda: fb.plot([r, r], names="ab"))


def test_nothing_is_saved_into_nowhere(small, tmp_path):
    r = small.run(seeds=1, progress=False)
    nowhere = tmp_path / "no" / "such" / "x"
    for save in (r.save, r.report, r.export, fb.compare(r, r, force=True).save, small.save):
        with pytest.raises(FileNotFoundError):
            save(nowhere)
        assert not (tmp_path / "no").exists()


def test_a_law_with_a_method_that_nothing_calls_is_no_law(small):
    def mistyped():
        class Halve(fb.FlowLaw):
            def on_acks(self, ack):
                self.set_window(1)

    def foreign():
        class Halve(fb.FlowLaw):
            def onPacket(self, packet):
                self.set_window(1)

    class Nothing(fb.FlowLaw):
        def helper(self):
            return 1

    class Alone(fb.FlowLaw):
        def start(self, flow):
            super().start(flow)
            self.set_window(10 * flow.mss)

    refused(TypeError, "Halve.on_acks is not a method of a law, so nothing would call it; did you mean on_ack?", mistyped)
    refused(TypeError, "Halve.onPacket is not a method of a law, so nothing would call it; events go to on_ack", foreign)
    reno = small.set(law="reno")
    refused(TypeError, "Nothing has no method of a law", lambda: reno.run(laws={"reno": Nothing}, progress=False))
    assert reno.run(seeds=1, laws={"reno": Alone}, progress=False).flows.rows


HUGE = """
version = 1
stop = { time = "1s", flows = "all" }
[fabric]
kind = "star"
hosts = 64
host_link = { rate = "100Gbps", delay = "1us" }
[transport]
kind = "tcp"
law = "dctcp"
[[traffic]]
kind = "poisson"
sizes = "10KB"
load = 0.01
[output]
queues = { every = "1ns" }
"""


def test_what_needs_more_memory_or_disk_than_there_is_does_not_start(tmp_path):
    huge = fb.scenario(HUGE)
    starts = "over_budget=True starts it all the same"
    refused(fb.ScenarioError, starts, lambda: huge.run(out=tmp_path / "run", progress=False))
    refused(fb.ScenarioError, "of memory and", lambda: huge.run(progress=False))
    out = tmp_path / "sweep"
    refused(fb.ScenarioError, starts, lambda: fb.sweep(huge, {"load": [0.01, 0.02]}, out=out, progress=False))
    assert list(tmp_path.iterdir()) == []


def test_what_is_told_to_start_above_the_budget_starts(small, tmp_path):
    assert small.run(over_budget=True, progress=False).seeds == small.run(progress=False).seeds
    fb.sweep(small, {"load": [0.1]}, seeds=1, out=tmp_path / "sweep", progress=False, over_budget=True)
