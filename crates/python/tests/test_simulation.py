"""Steps, observations, actions."""

import pytest

import forebay as fb


def test_steps_and_looks_change_no_digest(small, results):
    for seed, steps in [(1, ["1us", "37ns", "100us"]), (2, ["250us"] * 3)]:
        simulation = small.simulation(seed=seed)
        for span in steps:
            before = simulation.now_ps
            assert simulation.step(span)
            assert simulation.now_ps > before
            whole = simulation.observe()
            assert whole["at_ps"] == simulation.now_ps
            simulation.observe("leaf[0]->spine[1]")
            simulation.observe("leaf[0].host[0]")
            simulation.observe("spine[0]")
            simulation.observe("flow[0]")
        assert not simulation.step()
        assert simulation.over
        ended = simulation.finish()
        assert not ended.partial
        assert ended.digest == small.run(seeds=[seed], progress=False).digest
    rdma = small.set(
        {"transport": {"kind": "rdma", "law": "dcqcn"}, "fabric.switch.classes": 2, "fabric.switch.pause": {"classes": [0]}}
    )
    simulation = rdma.simulation(seed=1)
    while simulation.step("50us"):
        simulation.observe()
    assert simulation.finish().digest == rdma.run(seeds=1, progress=False).digest


def test_what_is_seen_is_what_the_tables_say(small):
    simulation = small.simulation(seed=1)
    simulation.step()
    port = simulation.observe("leaf[0]->spine[1]")
    host = simulation.observe("leaf[1].host[0]")
    whole = simulation.observe()
    results = simulation.finish()
    ports = results.ports
    row = (ports["node"] == "leaf[0]") & (ports["peer"] == "spine[1]")
    assert port["tx_bytes"] == ports["tx_bytes"][row][0]
    assert port["queue_bytes"] == 0
    to_host = results.flows["dst"] == "leaf[1].host[0]"
    assert host["delivered_bytes"] == results.flows["size_bytes"][to_host].sum()
    assert whole["delivered_bytes"] == results.flows["size_bytes"].sum()
    assert whole["active_flows"] == []


def test_half_a_run_is_partial(small):
    simulation = small.simulation(seed=1)
    simulation.step("150us")
    active = simulation.observe()["active_flows"]
    results = simulation.finish()
    assert results.partial
    assert results.flows.rows > 0
    assert len(active) > 0
    with pytest.raises(RuntimeError, match="make another one"):
        simulation.step("1us")


def test_a_flow_that_is_given_a_rate_keeps_it_until_it_gets_its_own_again(small):
    long = small.set(
        "traffic",
        [{"kind": "list", "flows": [{"from": "leaf[0].host[0]", "to": "leaf[1].host[0]", "size": "20MB", "at": "0s"}]}],
    )
    alone = long.run(seeds=1, progress=False).flows["fct_ps"][0]

    def steered(*when):
        simulation = long.simulation(seed=1)
        for at, given in when:
            simulation.step(at)
            simulation.act("flow[0]", **given)
        simulation.step()
        assert [action["what"] for action in simulation.actions] == ["flow[0]"] * len(when)
        return simulation.finish()

    slow = steered(("100us", {"rate": "10Gbps"}))
    fct = slow.flows["fct_ps"][0]
    # 100 us at 100 Gb/s, the rest at 10 Gb/s, headers on top.
    assert 14e9 < fct < 17e9
    assert steered(("100us", {"rate": "10Gbps"})).digest == slow.digest
    short = steered(("100us", {"rate": "10Gbps"}), ("100us", {})).flows["fct_ps"][0]
    assert alone < short < alone * 1.2
    windowed = steered(("10us", {"window": "24KB"})).flows["fct_ps"][0]
    assert windowed > 3 * alone


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda s: s.act("leaf[0]"), r"write a flow, flow\[3\]"),
        (lambda s: s.act("flow[0]", rate="10"), "rate='10'|rate=\"10\""),
        (lambda s: s.act("flow[0]", rate="0Gbps"), "above zero"),
        (lambda s: s.observe("leaf[9]"), r"there is no \"leaf\[9\]\""),
        (lambda s: s.observe("leaf[0]->leaf[1]"), "no cable leads there"),
        (lambda s: s.step("5"), 'step "5"'),
    ],
)
def test_what_makes_no_sense_is_said(small, call, says):
    with pytest.raises(ValueError, match=says):
        call(small.simulation(seed=1))


def test_captures_are_for_run(small):
    with pytest.raises(ValueError, match="leave them out"):
        small.set("output.capture", [{"where": "leaf[0].host[0]"}]).simulation()


def test_a_simulation_that_is_dropped_ends(small):
    for _ in range(20):
        fb.Scenario.simulation(small, seed=1)
