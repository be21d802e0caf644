"""The notebooks run from their first cell to their last, and have the outputs that they had.

FOREBAY_BLESS=1 renews what they print.
"""

import contextlib
import io
import json
import os

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from .conftest import ROOT, in_sample  # noqa: E402 - after the choice of what draws

NOTEBOOKS = sorted((ROOT / "crates/python/notebooks").glob("*.ipynb"))


def test_there_are_six():
    assert len(NOTEBOOKS) == 6


@pytest.mark.parametrize("path", [path for at, path in enumerate(NOTEBOOKS) if in_sample(at)], ids=lambda path: path.stem)
def test_a_notebook_runs(path, monkeypatch, tmp_path):
    folder = tmp_path / "crates/python/notebooks"
    folder.mkdir(parents=True)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(folder)
    names = {"__name__": "__main__"}
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile("".join(cell["source"]), f"{path.stem}:{cell['id']}", "exec"), names)
        printed = ["".join(out["text"]) for out in cell["outputs"] if out.get("name") == "stdout"]
        if not printed or "compare.html" in printed[0]:
            continue
        if os.environ.get("FOREBAY_BLESS"):
            text = next(out for out in cell["outputs"] if out.get("name") == "stdout")
            text["text"] = said.getvalue().splitlines(keepends=True)
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        else:
            assert said.getvalue() == "".join(printed), cell["id"]
    matplotlib.pyplot.close("all")
