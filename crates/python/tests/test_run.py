"""Scenarios in, results out: settings, errors, numbers, files, Ctrl-C."""

import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import forebay as fb

from .conftest import FOREBAY, SMALL, ctrl_c_once


def test_a_setting_gives_another_scenario_and_a_bare_word_is_a_key(small):
    other = small.set("load", 0.7).set(law="reno", rto_min="1ms")
    assert 'law = "reno"' in other.resolved
    assert "load = 0.7" in other.resolved
    assert 'rto_min = "1ms"' in other.resolved
    assert "load = 0.5" in small.resolved
    assert other == small.set("traffic[0].load", np.float64(0.7)).set(
        "transport", {"kind": "tcp", "law": "reno", "rto_min": "1ms"}
    )
    assert pickle.loads(pickle.dumps(other)) == other


def test_what_is_wrong_says_where_and_what_to_write():
    with pytest.raises(fb.ScenarioError) as caught:
        fb.scenario(SMALL.replace('law = "dctcp"', 'law = "dctpc"'), "mine/small.toml")
    error = caught.value
    assert (error.path, error.line, error.key) == ("mine/small.toml", 22, "transport.law")
    assert error.remedy.startswith("write ")
    assert "dctcp" in error.remedy
    assert str(error).startswith("mine/small.toml:22:7: transport.law: ")
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("lod", 0.5, "did you mean 'load'?"),
        ("load", 7, "write a share above 0, at most 1"),
        ("traffic[3].load", 0.5, "traffic"),
        ("transport.rto_min", "5", "unit"),
        ("kind", "tcp", "may be fabric.kind, transport.kind or traffic[0].kind; write which"),
    ],
)
def test_a_wrong_setting_is_refused_at_once(small, key, value, says):
    with pytest.raises(fb.ScenarioError) as caught:
        small.set(key, value)
    assert says in str(caught.value)


RING = """
version = 1
name = "ring"
seeds = [1]
stop = { time = "10ms", flows = "all" }

[fabric]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "1us" }

[transport]
kind = "rdma"
law = "fixed"

[[traffic]]
kind = "collective"
op = "all-reduce"
ranks = "host[*]"
bytes = "400KB"

[[traffic]]
kind = "collective"
op = "broadcast"
ranks = "host[*]"
bytes = "10KB"

[output]
steps = true
"""


def test_collectives_their_steps_and_their_connections_are_tables():
    r = fb.scenario(RING).run()
    c = r.collectives
    assert {"collectives", "steps", "connections"} <= set(r.tables)
    assert (list(c["op"]), list(c["ranks"])) == (["all-reduce", "broadcast"], [4, 4])
    took = c["ended_ps"] - c["begun_ps"]
    assert took[0] >= 2 * 3 * 100_000 * 80
    assert c["busbw_gbps"] == pytest.approx([2 * 3 / 4 * 400_000 * 8_000 / took[0], 10_000 * 8_000 / took[1]])
    steps = r.steps
    sent = (steps["operation"] == "send") & (steps["traffic"] == 0)
    assert steps["step_bytes"][sent].sum() == 2 * 3 * 400_000
    assert r.connections.rows == 4 + 3
    means = [one["completion_us"]["mean"] for one in r.summary["collective"]["traffic_classes"]]
    assert means == pytest.approx(took / 1e6)


def test_collectives_are_compared_entry_by_entry(tmp_path):
    s = fb.scenario(RING)
    fast, slow = s.run(), s.set("fabric.host_link.rate", "50Gbps").run()
    compared = json.dumps(fb.compare(fast, slow, names=["fast", "slow"], force=True).data())
    assert "completion time, traffic[1]" in compared
    t = fb.sweep(s, {"fabric.host_link.rate": ["100Gbps", "50Gbps"]}, out=tmp_path / "rates")
    by_entry = t["collective.completion_us.mean[traffic[1]]"]
    took = [(r.collectives["ended_ps"] - r.collectives["begun_ps"])[1] / 1e6 for r in (fast, slow)]
    assert by_entry == pytest.approx(took)


def test_parts_of_completion_times_add_up(small):
    r = small.run(seeds=1)
    why = r.why(p=0)
    fct = dict(zip(r.flows["flow"].tolist(), r.flows["fct_ps"].tolist(), strict=True))
    assert why.flows == [flow for flow in sorted(fct) if fct[flow] > 0]
    for flow in why.flows:
        assert why.table["part_ps"][why.table["flow"] == flow].sum() == fct[flow]
    assert abs(sum(why.parts.values()) - 1) < 1e-9
    assert "sending and propagation" in str(why)
    assert repr(why).startswith(f"<Why {len(fct)} flows: ")
    slowest = int(r.flows["flow"][np.argmax(r.flows["slowdown"])])
    assert slowest in r.why().flows
    assert r.why(flow=slowest).flows == [slowest]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"p": 100}, "percentile"),
        ({"flow": 10**6}, "not there"),
        ({"size": (1, 2)}, "no such flow"),
        ({"seed": 77}, "seed"),
    ],
)
def test_nobody_explains_what_is_not_there(small, wrong, says):
    with pytest.raises(ValueError, match=says):
        small.run(seeds=1).why(**wrong)


def test_what_is_no_value_is_a_type_error(small):
    with pytest.raises(TypeError, match="a object is not a value of a scenario"):
        small.set("load", object())
    with pytest.raises(FileNotFoundError):
        fb.load("no/such.toml")
    with pytest.raises(ValueError, match="use one of websearch"):
        fb.preset("websurf")


def test_numbers_are_those_of_the_command(small, results, tmp_path):
    """The same bytes as the command line, where it is built; the same digest on any number of threads."""
    assert small.run(threads=2, jobs=1, progress=False).digest == results.digest
    assert small.run(seeds=1, progress=False).digest != results.digest
    written = tmp_path / "run"
    results.save(written)
    again = fb.open(written)
    assert again.digest == results.digest
    assert again.summary["slowdown"]["p99"] == results.summary["slowdown"]["p99"]
    direct = small.run(out=tmp_path / "direct", progress=False)
    assert direct.digest == results.digest
    files = {file.name for file in written.iterdir()}
    assert files == {file.name for file in (tmp_path / "direct").iterdir()}
    for name in files - {"volatile.json"}:
        assert (written / name).read_bytes() == (tmp_path / "direct" / name).read_bytes(), name
    with pytest.raises(fb.ResultsError):
        results.save(written)
    if not FOREBAY.exists():
        pytest.skip("the command is not built here")
    (tmp_path / "small.toml").write_text(SMALL)
    command = [FOREBAY, "run", "small.toml", "--out", "cli", "--progress", "off"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    for name in files - {"volatile.json"}:
        assert (written / name).read_bytes() == (tmp_path / "cli" / name).read_bytes(), name


def test_columns_share_the_memory_of_the_results(results):
    flows = results.flows
    assert list(flows)[:3] == ["seed", "flow", "traffic"]
    start = flows["start_ps"]
    assert start.dtype == np.int64
    assert start.base is not None
    assert not start.flags.writeable
    assert start.__array_interface__["data"][0] == flows["start_ps"].__array_interface__["data"][0]
    fct = flows["fct_ps"]
    assert (fct == flows["delivered_ps"] - start).all()
    assert (flows["slowdown"] >= 1).all()
    assert set(flows["src"]) <= set(results.hosts["name"])
    assert set(results.tables) == {"hosts", "flows", "ports", "links", "series", "runs"}
    with pytest.raises(KeyError, match="flows has no column 'fct'"):
        flows["fct"]
    with pytest.raises(AttributeError, match="results have no 'flow'"):
        _ = results.flow
    kept = small_columns(results)
    assert kept.sum() == results.flows["size_bytes"].sum()


def small_columns(results):
    """A column that outlives its table."""
    return fb.Results(results._core).flows["size_bytes"]


def test_measures_are_numbers_with_their_seeds(results):
    p99 = results.summary["slowdown"]["p99"]
    assert p99 == np.mean(p99.per_seed)
    assert len(p99.per_seed) == 2
    assert p99.ci95 is None
    assert pickle.loads(pickle.dumps(p99)).per_seed == p99.per_seed
    assert results.summary["flows"]["completed"] == results.flows.rows
    assert "slowdown" in str(results)


LONG = SMALL.replace('until = "300us"', 'until = "2s"').replace('time = "20ms"', 'time = "2s"')
"""Longer than any test waits."""

CAPTURED = LONG + '[[output.capture]]\nwhere = "leaf[0].host[0]"\n'
"""The same, which shows on disk that it is at work."""


def at_work(out):
    """Whether a run has captured frames so far."""
    return any(path.stat().st_size > 200_000 for path in out.with_name(f"{out.name}.partial").glob("captures/*/*"))


def test_ctrl_c_leaves_results_that_say_they_are_partial(tmp_path):
    scenario = fb.scenario(CAPTURED)
    ctrl_c_once(lambda: at_work(tmp_path / "cut"))
    with pytest.warns(fb.PartialResults, match="valid and partial"):
        results = scenario.run(seeds=1, out=tmp_path / "cut", progress=False)
    assert results.partial
    assert results.status == "interrupted"
    assert results.flows.rows > 0
    assert fb.open(tmp_path / "cut").status == "interrupted"


def test_other_threads_go_on_meanwhile(tmp_path):
    """The interpreter lock is free: a thread counts to ten while the main one simulates, and ends that."""
    counted = []

    def ten():
        counted.extend([1] * at_work(tmp_path / "cut"))
        return len(counted) == 10

    ctrl_c_once(ten)
    with pytest.warns(fb.PartialResults, match="valid and partial"):
        fb.scenario(CAPTURED).run(seeds=1, out=tmp_path / "cut", progress=False)
    assert len(counted) == 10


def test_progress_goes_to_a_function_whose_error_ends_the_run(small):
    seen = []
    small.run(progress=seen.append)
    assert seen[-1]["fraction"] == 1.0
    assert seen[-1]["seeds_done"] == 2

    def no(facts):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fb.scenario(LONG).run(seeds=1, progress=no)


def test_a_bar_is_drawn_on_a_terminal_and_wiped():
    code = f"import forebay as fb; fb.scenario({SMALL!r}).run(progress=True); print('done')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ran.stdout == b"done\n"
    assert b"100 %" in ran.stderr
    assert ran.stderr.endswith(b" \r")


def test_captures_need_a_directory(small, tmp_path):
    captured = small.set("output.capture", [{"where": "leaf[0].host[0]"}])
    with pytest.raises(ValueError, match="run\\(out="):
        captured.run()
    captured.run(seeds=1, out=tmp_path / "seen", progress=False)
    assert list((tmp_path / "seen" / "captures").iterdir())


def test_seeds_are_checked(small):
    for seeds, says in [([], "there is none"), ([3, 3], "3 is there twice"), (0, "there is none")]:
        with pytest.raises(ValueError, match=says):
            small.run(seeds=seeds)


def test_nothing_warns_without_a_reason(small):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small.run(seeds=1, progress=False)
