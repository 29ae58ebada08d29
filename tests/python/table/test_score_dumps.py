"""Dumps with a column of scores, and what a load makes of one."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import installed
from test_cli import as_json, holdfast

import holdfastdb as hf

arrow = pytest.mark.skipif(not installed("pyarrow"), reason="PyArrow is not installed: pip install 'holdfastdb[arrow]'")
FORMATS = ["csv", pytest.param("parquet", marks=arrow), pytest.param("arrow", marks=arrow)]
KEYS = np.array([0, 1, 7, 2**63, 2**64 - 1], np.uint64)
SCORES = [1, 2, 2**64 - 1, 4, 5]
KINDS = [(0, None), (8, "hex"), (8, "int64"), (12, "int32,float64"), (12, "int32"), (5, "text"), (300, "hex")]


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> tuple[int, str | None]:
    return request.param


@pytest.fixture
def table(folder: Path, kind: tuple[int, str | None]) -> Iterator[hf.Table]:
    with filled(folder / "t.hold", kind[0]) as made:
        yield made


def filled(path: Path, value: int) -> hf.Table:
    """Values are text too: commas, quotes and zeroes behind."""
    table = hf.Table.create(path, value=value, score="step", capacity=100, device="cpu")
    rows = np.frombuffer((b'a,"\x00' * 400)[: len(KEYS) * value], np.uint8).reshape(len(KEYS), value)
    for i, table.step in enumerate(SCORES):
        table.insert(KEYS[i : i + 1], rows[i : i + 1] if value else None)
    return table


def by_file(path: Path, form: str) -> dict[int, int]:
    """The scores that a file says."""
    if form == "csv":
        with path.open(newline="") as file:
            return {int(row[0]): int(row[-1]) for row in list(csv.reader(file))[1:]}
    import pyarrow.feather
    import pyarrow.parquet

    found = pyarrow.parquet.read_table(path) if form == "parquet" else pyarrow.feather.read_table(path)
    assert found.schema.field(found.num_columns - 1).name == "score"
    return dict(zip(found["key"].to_pylist(), found["score"].to_pylist(), strict=True))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("batch", [2, 1000])
@pytest.mark.parametrize("said", [True, False])
def test_round_trips(
    form: str, batch: int, said: bool, table: hf.Table, kind: tuple[int, str | None], folder: Path, tmp_path: Path
) -> None:
    value, spec = kind
    path = tmp_path / f"d.{form}"
    assert hf.dump(table, path, value=spec, scores=True, batch=batch).rows == len(KEYS)
    assert by_file(path, form) == dict(zip(KEYS.tolist(), SCORES, strict=True))
    how = spec if said else None
    for score in (None, "frequency"):
        with hf.Table.create(folder / "u.hold", value=value, score=score, device="cpu", overwrite=True) as other:
            report = hf.load(other, path, value=how, batch=batch)
            assert report.scores_left_out and report.inserted == len(KEYS)
            assert dict(other.items()) == dict(table.items())
            if score:
                assert (other.scores(KEYS)[0] == 1).all()
    hf.dump(table, path, value=spec, overwrite=True)
    with hf.Table.create(folder / "u.hold", value=value, device="cpu", overwrite=True) as other:
        assert not hf.load(other, path, value=how).scores_left_out
        assert dict(other.items()) == dict(table.items())


def test_wide_keys(folder: Path, tmp_path: Path) -> None:
    with hf.Table.create(folder / "t.hold", key=16, value=4, score="frequency", device="cpu") as table:
        keys = np.arange(64, dtype=np.uint8).reshape(4, 16)
        table.insert_or_assign(keys[[0, 0, 1, 2, 3]], np.ones(5, np.int32))
        hf.dump(table, tmp_path / "d.csv", scores=True)
        assert f"{keys[0].tobytes().hex()},01000000,2\n" in (tmp_path / "d.csv").read_text()
        assert hf.load(table, tmp_path / "d.csv").updated == 4


@pytest.mark.parametrize("form", FORMATS)
def test_a_column_of_that_name_may_be_a_value(form: str, folder: Path, tmp_path: Path) -> None:
    """Where all columns make a value, none is left out; nor is one that was asked for by name."""
    path = tmp_path / f"d.{form}"
    if form == "csv":
        path.write_text("key,value,score\n3,4,5\n")
    else:
        import pyarrow.feather
        import pyarrow.parquet

        made = pyarrow.table({"key": [3], "value": [4], "score": np.array([5], np.uint64)})
        write = pyarrow.parquet.write_table if form == "parquet" else pyarrow.feather.write_feather
        write(made, str(path))
    with hf.Table.create(folder / "t.hold", value=16, device="cpu") as table:
        report = hf.load(table, path, value="int64*2")
        assert not report.scores_left_out
        assert dict(table.items()) == {3: np.array([4, 5], np.int64).tobytes()}
    with hf.Table.create(folder / "u.hold", value=8, device="cpu") as table:
        assert not hf.load(table, path, value="int64", columns=["key", "score"]).scores_left_out
        assert dict(table.items()) == {3: np.array([5], np.int64).tobytes()}


def test_tables_without_scores_are_refused(folder: Path, tmp_path: Path) -> None:
    for name, shape in (("a", {"value": 8}), ("b", {"key": bytes, "value": bytes})):
        with (
            hf.Table.create(folder / f"{name}.hold", device="cpu", **shape) as table,
            pytest.raises(hf.InvalidArgument, match="keeps no scores"),
        ):
            hf.dump(table, tmp_path / "d.csv", scores=True)
    assert not list(tmp_path.iterdir())


def test_an_interrupted_dump_goes_on_with_its_scores(folder: Path, tmp_path: Path) -> None:
    filled(folder / "t.hold", 8).close()
    path = tmp_path / "d.csv"

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with hf.Table.open(folder / "t.hold", mode="r") as table:
        for scores in (True, False, True):  # only one of the same kind is gone on with
            with pytest.raises(KeyboardInterrupt):
                hf.dump(table, path, batch=2, scores=scores, overwrite=True, progress=interrupt)
            report = hf.dump(table, path, batch=2, scores=True, resume=True, overwrite=True)
            assert report.resumed == scores
            assert by_file(path, "csv") == dict(zip(KEYS.tolist(), SCORES, strict=True))


def test_the_commands(folder: Path, tmp_path: Path) -> None:
    pool, path = folder / "t.hold", tmp_path / "d.csv"
    filled(pool, 8).close()
    assert as_json("dump", pool, path, "--scores", "--value", "int64")["rows"] == len(KEYS)
    assert path.read_text().startswith("key,int64,score\n")
    assert "scores left out" in holdfast("load", pool, path).stdout
    holdfast("create", folder / "u.hold", "--value", 8, "--device", "cpu")
    assert "keeps no scores" in holdfast("dump", folder / "u.hold", tmp_path / "e.csv", "--scores", status=2).stderr
