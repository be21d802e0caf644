"""Arrow consumers take tables without copying; each is skipped where it is not installed."""

import gc

import numpy as np
import pytest


def columns_equal(taken, table):
    """Numbers of a consumer against those of numpy, missing values as NaN."""
    for name in ("seed", "size_bytes", "fct_ps", "slowdown", "gave_up_ps"):
        there = np.array([np.nan if v is None else v for v in taken(name)], dtype=float)
        np.testing.assert_array_equal(there, np.asarray(table[name], dtype=float), err_msg=name)
    for name in ("src", "dst"):
        assert list(taken(name)) == list(table[name])


def test_polars_takes_a_table(results):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(results.flows)
    assert frame.columns == results.flows.columns
    columns_equal(lambda name: frame[name].to_list(), results.flows)
    assert results.flows.to_polars().equals(frame)
    for name in results.tables:
        assert polars.DataFrame(results.table(name)).shape[0] == results.table(name).rows


def test_pyarrow_takes_a_table_and_its_schema(results):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(results.flows)
    table.validate(full=True)
    columns_equal(lambda name: table[name].to_pylist(), results.flows)
    assert pyarrow.schema(results.flows) == table.schema
    start = table["start_ps"].chunk(0).buffers()[1]
    assert start.address == results.flows["start_ps"].__array_interface__["data"][0]
    assert pyarrow.total_allocated_bytes() == 0


def test_pandas_takes_a_table(results):
    pandas = pytest.importorskip("pandas")
    frame = results.flows.to_pandas()
    assert list(frame.columns) == results.flows.columns
    columns_equal(lambda name: frame[name], results.flows)
    assert isinstance(frame, pandas.DataFrame)


def test_duckdb_takes_a_table(results):
    duckdb = pytest.importorskip("duckdb")
    flows = results.flows  # noqa: F841 - named in the query
    rows = duckdb.sql("select count(*), max(fct_ps) from flows").fetchall()
    assert rows == [(results.flows.rows, int(np.nanmax(results.flows["fct_ps"])))]


def test_streams_that_nobody_reads_are_freed_and_frames_outlive_their_results(small):
    polars = pytest.importorskip("polars")
    ran = small.run(seeds=1, progress=False)
    for _ in range(100):
        ran.flows.__arrow_c_stream__()
        ran.flows.__arrow_c_schema__()
    frame = polars.DataFrame(ran.ports)
    total = int(ran.ports["tx_bytes"].sum())
    del ran
    gc.collect()
    assert frame["tx_bytes"].sum() == total


def test_lists():
    polars = pytest.importorskip("polars")
    import forebay as fb

    congested = fb.preset("host-congestion").set({"stop.time": "200us", "output.warmup": "0us"})
    memory = congested.run(seeds=1, progress=False).memory
    frame = polars.DataFrame(memory)
    lists = [name for name in memory if memory[name].dtype == object]
    assert lists
    for name in lists:
        for there, here in zip(frame[name].to_list(), memory[name], strict=True):
            assert list(there) == list(here)
