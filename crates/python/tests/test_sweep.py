"""Sweeps: the folders of the command line, resumed by either; executors; workers that die."""

import concurrent.futures
import json
import os
import signal
import subprocess
import threading

import numpy as np
import pytest

import forebay as fb

from .conftest import FOREBAY, SMALL, ctrl_c_once, wait_until

GRID = {"law": ["dctcp", "reno"], "load": [0.3, 0.6]}


def files(folder):
    """Every file below a folder with its bytes, but for what depends on the machine."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("volatile.json", "sweep.lock")
    }


def complete(folder):
    """How many runs of a sweep are complete."""
    return sum(".part" not in path.name for path in folder.glob("runs/*"))


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("swept") / "sweep"
    return fb.sweep(fb.scenario(SMALL, "small.toml"), GRID, seeds=2, out=folder, progress=False)


def test_rows_are_points_with_means_over_seeds(swept):
    assert swept.keys == ["traffic[0].load", "transport.law"]
    assert list(swept["law"]) == ["dctcp", "reno", "dctcp", "reno"]
    assert list(swept["load"]) == [0.3, 0.3, 0.6, 0.6]
    one = swept.results(law="reno", load=0.6)
    assert one.seeds == [1, 2]
    assert one.summary["slowdown"]["p99"] == swept["flows.slowdown.p99"][3]
    assert one.laws == ["reno"]
    assert "transport.law" in str(swept)
    with pytest.raises(KeyError, match="2 rows of the sweep"):
        swept.results(law="reno")
    with pytest.raises(KeyError, match="'colour' is not a key of this sweep"):
        swept["colour"]


def test_a_point_is_the_run_of_its_scenario(swept, small):
    run = small.set(law="reno", load=0.6).run(seeds=2, progress=False)
    assert run.digest == swept.rows[3]["digest"]


def test_the_same_call_does_nothing_again_and_a_lost_run_alone(swept):
    before = {path: path.stat().st_mtime_ns for path in swept.folder.glob("runs/*/manifest.json")}
    lost = next(iter(before))
    for file in lost.parent.iterdir():
        file.unlink()
    lost.parent.rmdir()
    again = fb.sweep(fb.scenario(SMALL, "small.toml"), GRID, seeds=2, out=swept.folder, progress=False)
    after = {path: path.stat().st_mtime_ns for path in swept.folder.glob("runs/*/manifest.json")}
    assert after.keys() == before.keys()
    assert [path for path in after if after[path] != before[path]] == [lost]
    assert str(again) == str(swept)


def test_the_command_line_and_python_continue_each_other(swept, tmp_path):
    if not FOREBAY.exists():
        pytest.skip("the command is not built here")
    table = '[sweep]\n"transport.law" = ["dctcp", "reno"]\n"traffic[0].load" = [0.3, 0.6]\n'
    (tmp_path / "small.toml").write_text(SMALL + table)
    command = [FOREBAY, "sweep", "small.toml", "--seeds", "1,2", "--out", "cli", "--progress", "off"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert files(tmp_path / "cli") == files(swept.folder)
    # Half of it by one, the rest by the other.
    half = fb.sweep(fb.load(tmp_path / "small.toml"), seeds=1, out=tmp_path / "both", progress=False)
    assert len(half) == 4
    subprocess.run(
        [*command[:4], "1,2", "--out", "both", "--progress", "off"], cwd=tmp_path, check=True, capture_output=True
    )
    assert files(tmp_path / "both").keys() >= files(swept.folder).keys()
    assert (tmp_path / "both/sweep.csv").read_bytes() == (swept.folder / "sweep.csv").read_bytes()


@pytest.mark.parametrize("kind", [concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor])
def test_any_executor_gives_the_same_bytes(swept, small, tmp_path, kind):
    with kind(2) as executor:
        fb.sweep(small, GRID, 2, executor, out=tmp_path / "other", progress=False)
    assert files(tmp_path / "other") == files(swept.folder)


def test_a_process_that_dies_fails_its_own_run_and_the_next_call_makes_it(swept, small, tmp_path, monkeypatch):
    from forebay import _sweep, _worker

    class Deadly(_worker.Processes):
        killed = False

        def _start(self):
            process = super()._start()
            if not Deadly.killed:
                Deadly.killed = True
                process.kill()  # before it can have done a run
            return process

    monkeypatch.setattr(_sweep, "Processes", Deadly)
    with pytest.raises(fb.SweepError, match=r"1 of 8 runs failed.*\n.*its process died \(signal SIGKILL\)"):
        fb.sweep(small, GRID, 2, out=tmp_path / "killed", progress=False)
    assert len(list((tmp_path / "killed/runs").iterdir())) == 7
    fb.sweep(small, GRID, 2, out=tmp_path / "killed", progress=False)
    assert files(tmp_path / "killed") == files(swept.folder)


def test_ctrl_c_ends_with_tables_and_the_same_call_goes_on(small, tmp_path):
    long = small.set({"traffic[0].until": "20ms", "stop.time": "40ms"})
    ctrl_c_once(lambda: complete(tmp_path / "cut") > 0)
    with pytest.raises(KeyboardInterrupt, match="of 40 runs are complete"):
        fb.sweep(long, {"load": [0.1, 0.2]}, seeds=20, out=tmp_path / "cut", jobs=1, progress=False)
    assert (tmp_path / "cut/sweep.csv").exists()
    assert not list((tmp_path / "cut/runs").glob("*.part*"))


def test_two_at_once_are_refused(small, swept, tmp_path):
    import fcntl

    with open(swept.folder / "sweep.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(fb.ResultsError, match="another sweep is at work"):
            fb.sweep(small, GRID, 2, out=swept.folder, progress=False)
    with pytest.raises(fb.ScenarioError, match="law"):
        fb.sweep(small, {"law": ["dctpc"]}, out=tmp_path / "none", progress=False)
    assert not (tmp_path / "none").exists()


def test_compare_pairs_by_seed_and_shows_a_page(swept, tmp_path, capsys):
    of = fb.compare(swept, by="law")
    of.show(tmp_path / "page.html")
    printed = capsys.readouterr().out
    assert "reno" in printed
    assert str(tmp_path / "page.html") in printed
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    one = fb.compare(swept, by="law", load=0.6)
    p99 = next(m for m in one.data()["metrics"] if m["name"] == "flows.slowdown.p99")
    assert p99["values"][0]["mean"] == swept["flows.slowdown.p99"][2]
    direct = fb.compare(swept.results(law="dctcp", load=0.6), swept.results(law="reno", load=0.6), names=["a", "b"])
    assert "a" in str(direct)
    with pytest.raises(TypeError, match="two results or more, or one sweep"):
        fb.compare(swept.results(law="reno", load=0.6))
    with pytest.raises(ValueError, match="fewer than two values"):
        fb.compare(swept, by="law", law="reno", load=0.6)


def test_a_dask_cluster_whose_workers_are_killed_loses_nothing_and_does_nothing_twice(swept, small, tmp_path):
    distributed = pytest.importorskip("distributed")
    # Its own limits are seconds, in which a busy machine may start no process.
    limits = {"comm.timeouts.connect": "10m", "comm.timeouts.tcp": "10m", "scheduler.worker-ttl": None}
    patience = {f"distributed.{key}": limit for key, limit in limits.items()}
    with (
        pytest.importorskip("dask").config.set(patience),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())

        def kill():
            # One while the first runs are under way, the other once one is complete.
            wait_until(lambda: any((tmp_path / "dask").glob("runs/*")))
            os.kill(pids[0], signal.SIGKILL)
            wait_until(lambda: complete(tmp_path / "dask") > 0)
            os.kill(pids[1], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        long = {"traffic[0].until": "1ms"}
        t = fb.sweep(small.set(long), GRID, 4, client, out=tmp_path / "dask", progress=False)
        killer.join()
    assert list(t["seeds"]) == [4, 4, 4, 4]
    here = fb.sweep(small.set(long), GRID, 4, out=tmp_path / "here", progress=False)
    assert files(tmp_path / "dask") == files(tmp_path / "here")
    assert str(t) == str(here)
    runs = [run for row in t.rows for run in row["runs"].values()]
    assert sorted(runs) == sorted(path.name for path in (tmp_path / "dask/runs").iterdir())
    assert np.isfinite(t["flows.slowdown.p99"]).all()
    assert json.loads((tmp_path / "dask/sweep.json").read_text())["points"] == t.rows
