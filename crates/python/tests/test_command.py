"""The ``forebay`` command that the package brings: words, exit codes, signals and child processes of the program itself."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import forebay as fb

from .conftest import SMALL, wait_until

FOREBAY = Path(sys.executable).with_name("forebay")

pytestmark = pytest.mark.skipif(not FOREBAY.exists(), reason="the package was not installed by pip")


def forebay(*words: str, at: Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([FOREBAY, *words], cwd=at, capture_output=True, text=True, timeout=300, check=False, **more)  # type: ignore[call-overload, no-any-return]


def test_the_command_runs_as_the_program_does(tmp_path: Path) -> None:
    assert forebay("--version", at=tmp_path).stdout == f"forebay {fb.__version__}\n"
    assert forebay("new", "pfc-storm", "--out", "storm.toml", at=tmp_path).returncode == 0
    (tmp_path / "small.toml").write_text(SMALL)
    ran = forebay("run", "small.toml", "--out", "one", "--json", at=tmp_path)
    assert ran.returncode == 0, ran.stderr
    manifest = json.loads((tmp_path / "one/manifest.json").read_text())
    assert manifest["digest"] == fb.load(tmp_path / "small.toml").run(progress=False).digest
    assert json.loads(ran.stdout)["status"] == "complete"
    assert json.loads((tmp_path / "one/volatile.json").read_text())["command"] == "forebay run small.toml --out one --json"
    words = [sys.executable, "-m", "forebay", "--version"]
    module = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert module.stdout == f"forebay {fb.__version__}\n"


def test_exit_codes_are_the_programs(tmp_path: Path) -> None:
    wrong = forebay("run", "none.toml", at=tmp_path)
    assert (wrong.returncode, wrong.stderr) == (2, "none.toml: is missing; check the path\n")
    assert forebay("rnu", at=tmp_path).returncode == 2
    (tmp_path / "small.toml").write_text(SMALL + '\n[[expect]]\nmetric = "drops"\nmin = 1000000000\n')
    assert forebay("run", "small.toml", "--out", "missed", at=tmp_path).returncode == 3


def test_ctrl_c_ends_a_run_with_valid_results(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(SMALL.replace('"20ms"', '"5s"').replace('"300us"', '"5s"'))
    words = [FOREBAY, "run", "long.toml", "--seed", "1", "--out", "cut"]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    progress = tmp_path / "cut.partial/progress.json"

    def simulates() -> bool:
        return progress.exists() and json.loads(progress.read_text())["simulated_us"] > 0

    assert wait_until(simulates), "the run is at work"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130, said
    assert "interrupted" in said
    assert (tmp_path / "cut/report.html").exists()
    assert "KeyboardInterrupt" not in said


def test_a_sweep_starts_processes_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    laws = 'sweep={"transport.law"=["dctcp","cubic"]}'
    swept = forebay("sweep", "small.toml", "--set", laws, "--out", "swept", at=tmp_path)
    assert swept.returncode == 0, swept.stderr
    assert len(list((tmp_path / "swept").glob("**/flows.csv"))) >= 2
