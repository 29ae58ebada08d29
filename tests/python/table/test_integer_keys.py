"""Whole numbers from -2**63 to 2**64 - 1 are the same keys in every way in and out: a negative one is key + 2**64."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import installed
from test_cli import holdfast

import holdfastdb as hf

arrow = pytest.mark.skipif(not installed("pyarrow"), reason="PyArrow is not installed: pip install 'holdfastdb[arrow]'")
EDGES = [-(2**63), -1, 0, 2**63 - 1, 2**63, 2**64 - 1]
SIGNED = [key for key in EDGES if key < 2**63]
WORDS = {0, 2**63 - 1, 2**63, 2**64 - 1}
BEYOND = [-(2**63) - 1, 2**64]


def made(path: Path, kind: str = "table") -> Any:
    return hf.MemoryTable() if kind == "memory" else hf.Table.create(path, value=8, device="cpu")


@pytest.fixture(params=["table", "memory"])
def table(request: pytest.FixtureRequest, folder: Path) -> Iterator[Any]:
    one = made(folder / "t.hold", request.param)
    yield one
    if request.param == "table":
        one.close()


WAYS: dict[str, Callable[[list[int]], Any]] = {
    "list": list,
    "tuple": tuple,
    "NumPy numbers": lambda keys: [np.int64(key) if key < 2**63 else np.uint64(key) for key in keys],
    "bytes": lambda keys: [(key % 2**64).to_bytes(8, "little") for key in keys],
    "uint64": lambda keys: np.array([key % 2**64 for key in keys], np.uint64),
    "int64": lambda keys: np.array([key % 2**64 for key in keys], np.uint64).view(np.int64),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_means_the_same_key(table: Any, way: str) -> None:
    table.insert_or_assign(WAYS[way](EDGES), np.arange(6))
    assert set(table) == WORDS and len(table) == 4
    for other in WAYS.values():
        found, there = table.find(other(EDGES), dtype=np.int64)
        assert there.all() and found.tolist() == [4, 5, 2, 3, 4, 5]
    for key in EDGES:
        assert key in table and bool(table.contains(key)[0])
    table.erase(WAYS[way]([-1]))
    assert 2**64 - 1 not in table and -1 not in table


def test_what_went_in_as_int64_comes_out_as_int64(table: Any) -> None:
    table.insert(np.array(SIGNED), np.arange(len(SIGNED)))
    keys, _, _ = table.export_batch()
    assert keys.dtype == np.uint64 and sorted(keys.view(np.int64).tolist()) == SIGNED
    assert {key for key, _ in table.items()} == {key % 2**64 for key in SIGNED}


@pytest.mark.parametrize("key", BEYOND)
def test_other_numbers_fit_nowhere(table: Any, folder: Path, key: int) -> None:
    with pytest.raises(hf.InvalidArgument, match=r"-2\*\*63 to 2\*\*64 - 1"):
        table.insert([key], [1])
    with pytest.raises(hf.InvalidArgument, match=r"-2\*\*63 to 2\*\*64 - 1"):
        assert key in table


def test_a_range_has_no_negative_end(folder: Path) -> None:
    with made(folder / "t.hold") as table, pytest.raises(hf.InvalidArgument, match="first is -1: give 0"):
        table.size_if(-1)


def loaded(folder: Path, file: Path) -> set[int]:
    with made(folder / "loaded.hold") as table:
        hf.load(table, file, value="int64")
        assert table.find([-1], dtype=np.int64)[1].all()
        return set(table)


@pytest.mark.parametrize("written", [str, hex])
def test_csv(folder: Path, written: Callable[[int], str]) -> None:
    file = folder / "keys.csv"
    file.write_text("".join(f"{written(key)},{row}\n" for row, key in enumerate(EDGES)))
    assert loaded(folder, file) == WORDS


@arrow
@pytest.mark.parametrize("kind", ["int64", "uint64", "int8", "string"])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_columns_of_files(folder: Path, kind: str, ending: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    limits = np.iinfo(kind) if kind != "string" else None
    keys = [key for key in EDGES if limits is None or limits.min <= key <= limits.max]
    column = pa.array([str(key) for key in keys] if limits is None else keys, pa.type_for_alias(kind))
    rows = pa.table({"key": column, "value": pa.array(range(len(keys)), pa.int64())})
    file = folder / f"keys.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(rows, file)
    else:
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows)
    assert loaded(folder, file) == {key % 2**64 for key in keys}


@pytest.mark.parametrize("ending", ["csv", pytest.param("parquet", marks=arrow), pytest.param("arrow", marks=arrow)])
def test_a_dump_has_the_same_keys(folder: Path, ending: str) -> None:
    file = folder / f"dump.{ending}"
    with made(folder / "t.hold") as table:
        table.insert(EDGES, np.arange(6))
        hf.dump(table, file, value="int64")
    assert loaded(folder, file) == WORDS


def got(pool: Path, key: int) -> Any:
    (item,) = json.loads(holdfast("get", "--json", pool, "--", key).stdout)["items"]
    return item


def test_the_command_line(folder: Path) -> None:
    pool = folder / "t.hold"
    made(pool).close()
    for key in SIGNED:
        holdfast("put", "--hex", pool, "--", key, f"{key % 251:016x}")
    for key in SIGNED:
        one = got(pool, key)
        assert one["key"] == key % 2**64 and one["hex"] == f"{key % 251:016x}"
    assert got(pool, 2**64 - 1)["hex"] == got(pool, -1)["hex"]
    with hf.Table.open(pool, device="cpu") as table:
        assert set(table) == WORDS
    holdfast("del", pool, "--", -1, 2**63)
    with hf.Table.open(pool, device="cpu") as table:
        assert set(table) == {0, 2**63 - 1}
    for key in BEYOND:
        assert "does not fit into 8 bytes" in holdfast("get", pool, "--", key, status=2).stderr
