"""Scenarios that take a tenth of a second."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import forebay as fb

ROOT = Path(__file__).resolve().parents[3]
# The command, where it is built.
FOREBAY = Path(os.environ.get("FOREBAY", ROOT / "target/release/forebay"))

# Tests press Ctrl-C, which what is started in the background of a script is told to ignore.
signal.signal(signal.SIGINT, signal.default_int_handler)

SMALL = """
version = 1
name = "small"
seeds = [1, 2]
stop = { time = "20ms", flows = "all" }

[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = { rate = "100Gbps", delay = "1us" }
spine_link = { rate = "400Gbps", delay = "1us" }
routing = "ecmp"

[fabric.switch]
buffer = { size = "8MB", policy = "dynamic-threshold", alpha = 1.0 }
ecn = { k = "100KB" }

[transport]
kind = "tcp"
law = "dctcp"
rto_min = "5ms"

[[traffic]]
kind = "poisson"
sizes = "websearch"
until = "300us"
load = 0.5

[output]
queues = { every = "20us", where = "leaf[0]" }
"""


def in_sample(index: int) -> bool:
    """Whether a test looks at this one of many: a third of them, which the commit chooses, and all in `./test --all`."""
    seed = os.environ.get("FOREBAY_SAMPLE")
    return seed is None or "FOREBAY_WHOLE" in os.environ or index % 3 == int(seed) % 3


def wait_until(holds: Callable[[], bool]) -> bool:
    """Waits until something holds, as long as a busy machine needs; the limit of ten minutes ends a test that hangs."""
    for _ in range(60_000):
        if holds():
            return True
        time.sleep(0.01)
    return False


def ctrl_c_once(holds: Callable[[], bool]) -> None:
    """Has a thread press Ctrl-C as soon as something holds."""

    def press() -> None:
        if wait_until(holds):
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


@pytest.fixture(scope="session")
def small() -> fb.Scenario:
    return fb.scenario(SMALL, "small.toml")


@pytest.fixture(scope="session")
def results(small: fb.Scenario) -> fb.Results:
    return small.run(progress=False)
