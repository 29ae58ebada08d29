"""Nulls of pandas, Polars, Arrow and lists: refused with their row and column by every call, and nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfastdb as hf
from holdfastdb import kmers

pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
pl = pytest.importorskip("polars", reason="Polars is not installed")

NUMBERS = [5, None, 7]
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "object array": lambda given: np.array(given, object),
    "Arrow": lambda given: pa.array(given, pa.int64()),
    "Arrow, unsigned": lambda given: pa.array(given, pa.uint64()),
    "Arrow in pieces": lambda given: pa.chunked_array([given[:1], given[1:]], pa.int64()),
    "Arrow's dictionary": lambda given: pa.array(given, pa.int64()).dictionary_encode(),
    "pandas nullable": lambda given: pd.array(given, dtype="Int64"),
    "pandas Series": lambda given: pd.Series(given, dtype="Int64"),
    "pandas of Arrow": lambda given: pd.Series(given, dtype="int64[pyarrow]"),
    "pandas Index": lambda given: pd.Index(given, dtype="Int64"),
    "pandas objects": lambda given: pd.Series(given, dtype=object),
    "pandas categories": lambda given: pd.Series(pd.Categorical(given)),
    "Polars": lambda given: pl.Series("x", given, dtype=pl.Int64),
}
EACH = pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)


@pytest.fixture
def table(folder: Path) -> hf.Table:
    return hf.Table.create(folder / "nulls.hold", device="cpu")


@EACH
def test_keys(table: hf.Table, column: Callable[[list[Any]], Any]) -> None:
    keys, rows = column(NUMBERS), np.arange(3)
    calls: list[Callable[[], Any]] = [
        lambda: table.insert(keys, rows),
        lambda: table.insert_or_assign(keys, rows),
        lambda: table.assign(keys, rows),
        lambda: table.accumulate(keys, rows),
        lambda: table.erase(keys),
        lambda: table.find(keys),
        lambda: table.contains(keys),
        lambda: table.find_or_insert(keys, rows),
        lambda: table.find_or_insert(keys, init=1, dtype="i8"),
        lambda: table.insert_and_find(keys, rows),
        lambda: table.apply(["insert"] * 3, keys, rows),
        lambda: table.column(0, 4).insert(keys, rows.astype(np.int32)),
        lambda: hf.MemoryTable().insert(keys, rows),
    ]
    for call in calls:
        with pytest.raises(hf.InvalidArgument, match=r"^keys\[1\] is null, and nulls are not stored"):
            call()
    assert len(table) == 0


@EACH
def test_values_and_masks(table: hf.Table, column: Callable[[list[Any]], Any]) -> None:
    with pytest.raises(hf.InvalidArgument, match=r"^values\[1\] is null"):
        table.insert_or_assign([1, 2, 3], column(NUMBERS))
    with pytest.raises(hf.Error, match=r"^mask"):
        table.insert_or_assign([1, 2, 3], [1, 2, 3], mask=column(NUMBERS))
    assert len(table) == 0


@EACH
def test_without_nulls_all_are_taken(table: hf.Table, column: Callable[[list[Any]], Any]) -> None:
    given = column([5, -6, 7] if column is not COLUMNS["Arrow, unsigned"] else [5, 2**64 - 6, 7])
    if getattr(given, "dtype", None) == np.dtype(object):
        with pytest.raises(hf.InvalidType, match="keys holds Python objects"):
            table.insert(given, given)
        return
    table.insert(given, given)
    assert sorted(table.items(dtype=np.int64)) == [(5, 5), (7, 7), (2**64 - 6, -6)]


NUMPY_NAN = {
    "NumPy": np.array([1.5, np.nan, 2.5]),
    "pandas": pd.Series([1.5, None, 2.5]),
    "Polars": pl.Series([1.5, float("nan"), 2.5]),
    "Arrow": pa.array([1.5, float("nan"), 2.5]),
}


@pytest.mark.parametrize("rows", NUMPY_NAN.values(), ids=NUMPY_NAN)
def test_a_nan_is_a_number(table: hf.Table, rows: Any) -> None:
    table.insert([1, 2, 3], rows)
    assert np.isnan(table.find([2], dtype=np.float64).values[0])


REAL: dict[str, Any] = {
    "Polars": pl.Series([1.5, None, 2.5]),
    "Arrow": pa.array([1.5, None, 2.5]),
    "pandas nullable": pd.array([1.5, None, 2.5], dtype="Float64"),
    "times of pandas": pd.Series([pd.Timestamp(0), pd.NaT, pd.Timestamp(1)]),
    "times of Polars": pl.Series([pd.Timestamp(0), None, pd.Timestamp(1)]),
    "Arrow's null": pa.nulls(3),
}


@pytest.mark.parametrize("rows", REAL.values(), ids=REAL)
def test_a_null_among_other_types_is_none(table: hf.Table, rows: Any) -> None:
    with pytest.raises(hf.InvalidArgument, match=r"^values\[[01]\] is null"):
        table.insert([1, 2, 3], rows)
    assert len(table) == 0


FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": lambda given: pd.DataFrame({name: pd.array(column, dtype="Int64") for name, column in given.items()}),
    "pandas of Arrow": lambda given: pd.DataFrame(
        {name: pd.Series(column, dtype="int64[pyarrow]") for name, column in given.items()}
    ),
    "Polars": lambda given: pl.DataFrame(given, schema=dict.fromkeys(given, pl.Int64)),
    "Polars struct": lambda given: pl.DataFrame(given, schema=dict.fromkeys(given, pl.Int64)).to_struct(),
    "Arrow table": lambda given: pa.table(given),
    "Arrow batch": lambda given: pa.record_batch(given),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_name_the_column(folder: Path, frame: Callable[[dict[str, Any]], Any]) -> None:
    table = hf.Table.create(folder / "frames.hold", value=16, device="cpu")
    with pytest.raises(hf.InvalidArgument, match=r"^row 2 of column 'right' of values is null"):
        table.insert([1, 2, 3], frame({"left": [1, 2, 3], "right": [4, 5, None]}))
    assert len(table) == 0
    table.insert([1, 2, 3], frame({"left": [1, 2, 3], "right": [4, 5, 2**62 + 1]}))
    assert table.find([3], dtype=np.int64).values.tolist() == [[3, 2**62 + 1]]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "Polars", "Arrow"])
def test_a_frame_of_several_types_is_not_made_one_of_floats(folder: Path, frame: Any) -> None:
    table = hf.Table.create(folder / "frames.hold", value=16, device="cpu")
    with pytest.raises(hf.InvalidType, match=r"values has columns of several types \(whole: int64, part: float64\)"):
        table.insert([1, 2], frame({"whole": [2**62 + 1, 2], "part": [0.5, 1.5]}))
    assert len(table) == 0


NESTED: dict[str, Callable[[list[Any]], Any]] = {
    "Arrow": lambda given: pa.array(given, pa.list_(pa.int64(), 2)),
    "a part of Arrow's": lambda given: pa.array([[9, 9], *given], pa.list_(pa.int64(), 2))[1:],
    "Polars": lambda given: pl.Series(given, dtype=pl.Array(pl.Int64, 2)),
    "lists": list,
}


@pytest.mark.parametrize("column", NESTED.values(), ids=NESTED)
def test_lists_of_one_length(folder: Path, column: Callable[[list[Any]], Any]) -> None:
    table = hf.Table.create(folder / "lists.hold", value=16, device="cpu")
    for bad in ([[1, 2], [3, None]], [[1, 2], None]):
        if column is list and bad[1] is None:
            continue  # rows of different lengths
        with pytest.raises(hf.InvalidArgument, match=r"^values\[1(, 1)?\] is null"):
            table.insert([1, 2], column(bad))
    assert len(table) == 0
    table.insert([1, 2], column([[1, 2], [3, 4]]))
    assert table.find([1, 2], dtype=np.int64).values.tolist() == [[1, 2], [3, 4]]


BYTES: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "objects": lambda given: np.array(given, object),
    "Arrow": lambda given: pa.array(given, pa.binary()),
    "Arrow, large": lambda given: pa.array(given, pa.large_binary()),
    "pandas": pd.Series,
    "Polars": lambda given: pl.Series(given, dtype=pl.Binary),
}


@pytest.mark.parametrize("column", BYTES.values(), ids=BYTES)
def test_bytes_of_any_length(folder: Path, column: Callable[[list[Any]], Any]) -> None:
    table = hf.Table.create(folder / "any.hold", bytes, bytes, device="cpu")
    with pytest.raises(hf.InvalidArgument, match=r"^keys\[1\] is null"):
        table.insert(column([b"a", None]), [b"1", b"2"])
    with pytest.raises(hf.InvalidArgument, match=r"^values\[1\] is null"):
        table.insert([b"a", b"b"], column([b"1", None]))
    assert len(table) == 0
    table.insert(column([b"a", b""]), column([b"1", b"222"]))
    assert sorted(table.items()) == [(b"", b"222"), (b"a", b"1")]


@pytest.mark.parametrize("column", [list, lambda given: pa.array(given, pa.binary(16))], ids=["list", "Arrow"])
def test_wide_keys(folder: Path, column: Callable[[list[Any]], Any]) -> None:
    table = hf.Table.create(folder / "wide.hold", key=16, device="cpu")
    with pytest.raises(hf.InvalidArgument, match=r"^keys\[1\] is null"):
        table.insert(column([b"a" * 16, None]), [1, 2])
    assert len(table) == 0


def test_keys_that_became_floats_for_a_null(table: hf.Table) -> None:
    with pytest.raises(hf.InvalidArgument, match=r"keys\[1\] is null, a NaN of float64"):
        table.insert(pd.Series([1, None]), [1, 2])


@pytest.mark.parametrize("call", [hf.dump, hf.load], ids=["dump", "load"])
def test_transfers_take_tables_alone(folder: Path, table: hf.Table, call: Callable[[Any, Any], Any]) -> None:
    for given, what in (
        (table.column(0, 4), r"Column: .* takes whole values: give its table, column\.table"),
        (hf.MemoryTable(), r"MemoryTable: .* make one with to_table\(\)"),
        (None, "NoneType: give an open holdfastdb.Table"),
        (str(folder / "nulls.hold"), "str: give an open holdfastdb.Table"),
    ):
        with pytest.raises(hf.InvalidType, match=f"table is of type {what}"):
            call(given, folder / "x.csv")


@pytest.mark.parametrize("column", [COLUMNS["Arrow"], COLUMNS["pandas Series"], COLUMNS["Polars"]])
def test_kmers(column: Callable[[list[Any]], Any]) -> None:
    with pytest.raises(hf.InvalidArgument, match=r"^words\[1\] is null"):
        kmers.decode(column(NUMBERS), 4)
    assert kmers.decode(column([0, 27]), 4) == ["AAAA", "ACGT"]


def test_kmers_of_odd_arrays() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    with pytest.raises(hf.InvalidType, match="words is of type UnionArray, of which pyarrow makes no array"):
        kmers.decode(union, 4)
    with pytest.raises(hf.InvalidType, match="texts has no text"):
        kmers.encode(np.array(5))  # type: ignore[arg-type]
    with pytest.raises(hf.InvalidType, match="texts has no text"):
        kmers.encode([[1], [1, 2]])  # type: ignore[list-item]
    assert len(kmers.encode([])) == len(kmers.encode(np.empty(0, str))) == 0  # type: ignore[arg-type]
