"""Scenarios that take a tenth of a second."""

import signal
from pathlib import Path

import pytest

import forebay as fb

ROOT = Path(__file__).resolve().parents[3]

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


@pytest.fixture(scope="session")
def small() -> fb.Scenario:
    return fb.scenario(SMALL, "small.toml")


@pytest.fixture(scope="session")
def results(small: fb.Scenario) -> fb.Results:
    return small.run(progress=False)
