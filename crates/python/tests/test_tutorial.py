"""The script of the tutorial about clusters runs, on a Dask cluster of this machine."""

import re

import pytest

from .conftest import ROOT

PAGE = ROOT / "docs/tutorials/sweep-on-a-cluster.md"


def test_the_script_runs_on_a_cluster(small, monkeypatch, tmp_path):
    distributed = pytest.importorskip("distributed")
    (script,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    small.save("mine.toml")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        for written, here in [
            ("tcp://head:8786", cluster.scheduler_address),
            ("/shared/compared", str(tmp_path / "compared")),
            ("seeds=5", "seeds=2"),
        ]:
            assert script.count(written) == 1
            script = script.replace(written, here)
        names = {}
        exec(compile(script, PAGE.name, "exec"), names)
    assert list(names["t"]["seeds"]) == [2] * 4
    assert "<svg" in (tmp_path / "compare.html").read_text()
