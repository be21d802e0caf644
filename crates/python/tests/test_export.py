"""Exported files read back as what a run directory has in its CSV files, column by column."""

import numpy as np
import pytest

import forebay as fb

READERS = {"parquet": "read_parquet", "arrow": "read_ipc"}


@pytest.mark.parametrize("format", READERS)
def test_each_column_is_that_of_the_csv_file(results, tmp_path, format):
    polars = pytest.importorskip("polars")
    results.save(tmp_path / "run")
    files = results.export(tmp_path / "out", format)
    names = [file.stem for file in files]
    assert {"hosts", "flows", "ports", "links", "runs"} <= set(names) <= set(results.tables)
    assert all(results.table(name).rows == 0 for name in set(results.tables) - set(names))
    for file in files:
        exported = getattr(polars, READERS[format])(file)
        text = polars.read_csv(tmp_path / "run" / f"{file.stem}.csv", infer_schema_length=0)
        assert exported.columns == text.columns
        assert exported.shape == text.shape
        for name in text.columns:
            have, want = exported[name], text[name]
            where = f"{name} of {file.name}"
            if have.dtype == polars.List(polars.Float64):
                want = [[float(value) for value in (one or "").split(";") if value] for one in want.to_list()]
                for one, other in zip(have.to_list(), want, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=where)
            elif have.dtype == polars.String:
                assert have.to_list() == [one or "" for one in want.to_list()], where
            else:
                want = want.cast(polars.Float64).to_list()
                have = have.cast(polars.Float64).to_list()
                as_numbers = [[np.nan if one is None else one for one in side] for side in (have, want)]
                np.testing.assert_allclose(*as_numbers, rtol=1e-6, atol=1e-6, err_msg=where)


def test_another_format_is_refused(results, tmp_path):
    with pytest.raises(ValueError, match='write "parquet" or "arrow"'):
        results.export(tmp_path, "excel")


def test_a_scenario_that_wants_a_format_has_it_in_its_directory(tmp_path):
    small = fb.preset("incast").set("output.format", "parquet")
    small.run(seeds=1, out=tmp_path / "run", progress=False)
    assert (tmp_path / "run" / "flows.parquet").read_bytes()[:4] == b"PAR1"
