"""The types and names of what was loaded are kept with the table: another layout is refused, and keys are dumped in
their type. What a file's schema shows is checked before anything changes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import installed
from test_cli import holdfast

import holdfastdb as hf
from holdfastdb import InvalidArgument, Pool, Table
from holdfastdb.schema.layout import INTEGERS, Column, Layout, columns_of, layout_from

pytestmark = pytest.mark.skipif(not installed("pyarrow"), reason="PyArrow is not installed")
FORMATS = ["csv", "parquet", "arrow"]


def written(path: Path, **columns: Any) -> Path:
    """A file with these columns, in the format that its name tells."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rows = pa.table(columns)
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(rows, path)
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(rows, path, row_group_size=4)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=4)
    return path


def read(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet

    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    return pa.ipc.open_file(str(path)).read_all()


def array(values: list[Any], kind: str) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.type_for_alias(kind))


def table_of(folder: Path, value: Any = 16, **options: Any) -> Table:
    return Table.create(folder / "t.hold", value=value, device="cpu", overwrite=True, **options)


# Another layout


def test_columns_of_the_same_size_and_other_types(folder: Path, tmp_path: Path) -> None:
    """The message has both layouts, and nothing has changed; in an empty table they are the layout."""
    import pyarrow as pa

    first = written(tmp_path / "a.parquet", key=[1, 2], x=[1.5, 2.5], n=[3, 4])
    lists = {"key": [1], "v": pa.array([[1.0, 2.0]], pa.list_(pa.float64(), 2))}
    others = {
        "other types": ({"key": [1], "x": [9.5], "y": array([9.5], "float32"), "m": array([9], "int32")}, "int32"),
        "other places": ({"key": [1], "n": [3], "x": [1.5]}, "columns n int64, x float64"),
        "another name": ({"key": [1], "price": [1.5], "n": [3]}, "columns price float64, n int64"),
        "lists": (lists, r"columns v float64\*2"),
        "text": ({"key": [1], "t": ["text"]}, "string"),
    }
    with table_of(folder) as table:
        hf.load(table, first)
        kept, before = table.layout, dict(table.items())
        assert kept == Layout("int64", (Column("x", "float64*1"), Column("n", "int64*1")))
        for columns, message in others.values():
            for form in ("parquet", "arrow"):
                other = written(tmp_path / f"b.{form}", **columns)
                with pytest.raises(InvalidArgument, match=message) as raised:
                    hf.load(table, other)
                assert "keys int64; columns x float64, n int64" in str(raised.value)
                assert str(other) in str(raised.value) and str(folder / "t.hold") in str(raised.value)
        with pytest.raises(InvalidArgument, match="columns x0 float32"):
            csv = written(tmp_path / "b.csv", key=[1], **{f"x{i}": [1] for i in range(4)})
            hf.load(table, csv, value="float32", heading=True)
        assert dict(table.items()) == before and table.layout == kept
        hf.load(table, first)
        assert hf.load(table, written(tmp_path / "c.parquet", key=[3], x=[0.5], n=[1])).inserted == 1
        hf.load(table, written(tmp_path / "d.parquet", key=[4], a=[0.5], b=[1]), columns=["key", "a", "b"])
        table.clear()
        hf.load(table, written(tmp_path / "e.parquet", **lists))
        assert table.layout.columns == (Column("v", "float64*2"),)


def test_it_is_kept_with_the_table(folder: Path, tmp_path: Path) -> None:
    """Through a reopening, a new name and a snapshot; and what inspects says so."""
    source = written(tmp_path / "a.parquet", key=[1, 2], x=[1.5, 2.5])
    other = written(tmp_path / "b.parquet", key=[1], n=[3])
    with table_of(folder, 8) as table:
        hf.load(table, source)
        kept = table.layout
        table.snapshot(folder / "copy.hold")
    with Pool.open(folder / "t.hold") as pool:
        pool.rename("table", "renamed")
    for name in ("t.hold", "copy.hold"):
        assert hf.inspect(folder / name).objects[0].layout == kept
        assert "as it was loaded: keys int64; columns x float64\n" in holdfast("info", folder / name).stdout
        with Table.open(folder / name, device="cpu") as table:
            assert table.layout == kept
            with pytest.raises(InvalidArgument, match="another layout"):
                hf.load(table, other)
    assert "another layout" in holdfast("load", folder / "t.hold", other, status=2).stderr


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("spec", [None, "hex", "text", "float64,int64", "int32"])
def test_every_dump_is_loaded_again(folder: Path, tmp_path: Path, form: str, spec: str | None) -> None:
    """Into the table that it is of, and into an empty one."""
    with table_of(folder) as table:
        table.insert(np.array([-1, 2]), np.zeros((2, 16), np.uint8))
        hf.dump(table, tmp_path / f"b.{form}", value=spec)
        assert hf.load(table, tmp_path / f"b.{form}").updated == 2
        with Table.create(folder / "copy.hold", value=16, device="cpu") as copy:
            hf.load(copy, tmp_path / f"b.{form}")
            assert dict(copy.items()) == dict(table.items())


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("spec", [None, "hex", "float64,int64"])
def test_every_dump_of_what_was_loaded(folder: Path, tmp_path: Path, form: str, spec: str | None) -> None:
    """A dump that says less of its columns changes nothing of what the table knows."""
    with table_of(folder) as table:
        hf.load(table, written(tmp_path / "a.parquet", key=[-1, 2], x=[1.5, 2.5], n=[3, 4]))
        kept = table.layout
        hf.dump(table, tmp_path / f"b.{form}", value=spec)
        assert hf.load(table, tmp_path / f"b.{form}").updated == 2
        assert table.layout == kept


@pytest.mark.parametrize("types", [("float32",), ("float32", "int32")])
def test_a_layout_that_is_too_long(folder: Path, tmp_path: Path, types: tuple[str, ...]) -> None:
    """A digest is kept, of the names alone if the types can be kept."""
    names = [f"a column with quite a long name {i}" for i in range(256)]
    columns = {name: array([1], types[i % len(types)]) for i, name in enumerate(names)}
    swapped = {name: array([1], types[(i + 1) % len(types)]) for i, name in enumerate(names)}
    with table_of(folder, 1024) as table:
        hf.load(table, written(tmp_path / "a.parquet", key=[1], **columns))
        assert table.layout.digest is not None and (table.layout.columns is None) == (len(types) > 1)
        hf.dump(table, tmp_path / "dump.parquet")
    with Table.open(folder / "t.hold", device="cpu") as table:
        hf.load(table, tmp_path / "dump.parquet")
        assert table.layout.digest is not None
        hf.load(table, written(tmp_path / "b.parquet", key=[2], **columns))
        if len(types) > 1:
            with pytest.raises(InvalidArgument, match="another layout"):
                hf.load(table, written(tmp_path / "d.parquet", key=[2], **swapped))
        renamed = {("other" if name == names[7] else name): column for name, column in columns.items()}
        with pytest.raises(InvalidArgument, match="another layout"):
            hf.load(table, written(tmp_path / "c.parquet", key=[2], **renamed))
        with pytest.raises(InvalidArgument, match="another layout"):
            hf.load(table, written(tmp_path / "d.csv", key=[2], **columns), value="int32", columns=["key", *names])


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff", b"[" * 3000, b"{}", b"3", b'{"key":7,"columns":null,"digest":null}',
     b'{"key":null,"columns":[["x","float64*99999999999"]],"digest":null}',
     b'{"key":null,"columns":[[7,"float64*1"]],"digest":null}', b'{"key":null,"columns":[["x"]],"digest":null}'],
)  # fmt: skip
def test_a_description_of_somebody_elses_says_nothing(folder: Path, text: bytes) -> None:
    assert layout_from(text) == Layout()
    with table_of(folder, 8) as table:
        table._native.describe(text)
        assert table.layout == Layout() and hf.inspect(folder / "t.hold").objects[0].layout == Layout()


def test_a_layout_is_read_as_it_was_written() -> None:
    columns = columns_of(["a", 'ä\n"b', "\udc80"], ["float64*1", "bytes*3", "uint8*7"])
    for layout in (Layout(), Layout("uint16"), Layout("string", (Column("a", "bytes"),)), Layout(None, columns)):
        kept = layout_from(layout.to_text())
        assert kept.key == layout.key and not kept.columns_differ(layout, names="\udc80" not in str(layout))
        assert (kept.columns is None) == (layout.columns is None)


# Types of keys


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_keys_are_dumped_in_their_type(folder: Path, tmp_path: Path, kind: str, form: str) -> None:
    limits = np.iinfo(kind)
    keys = sorted({int(limits.min), 0, 1, int(limits.max)})
    with table_of(folder, 8) as table:
        hf.load(table, written(tmp_path / f"a.{form}", id=array(keys, kind), x=[1.5] * len(keys)))
    with Table.open(folder / "t.hold", device="cpu", mode="r") as table:
        hf.dump(table, tmp_path / f"b.{form}")
        hf.dump(table, tmp_path / "b.csv")
    dumped = read(tmp_path / f"b.{form}")
    assert str(dumped.schema.field("key").type) == kind and sorted(dumped["key"].to_pylist()) == keys
    lines = (tmp_path / "b.csv").read_text().splitlines()[1:]
    assert sorted(int(line.split(",")[0]) for line in lines) == keys


def test_keys_that_were_given_as_signed_numbers(folder: Path, tmp_path: Path) -> None:
    import pyarrow as pa

    csv = written(tmp_path / "a.csv", k=[7, -5], v=[1.0, 2.0])
    texts = written(tmp_path / "a.parquet", k=["7", "-5"], v=[1.0, 2.0])
    ways: dict[str, Callable[[Table], object]] = {
        "int64": lambda t: t.insert(np.array([-5, 7]), np.zeros(2)),
        "list": lambda t: t.insert_or_assign([-5, 7], np.zeros(2)),
        "one": lambda t: (t.insert(7, np.zeros(1)), t.insert(-5, np.zeros(1))),
        "of a column": lambda t: t.column(0, 4).insert(np.array([-5, 7]), np.zeros(2, np.float32)),
        "CSV": lambda t: hf.load(t, csv, value="float64", heading=True),
        "text": lambda t: hf.load(t, texts),
    }
    for way, act in ways.items():
        with table_of(folder, 8) as table:
            act(table)
            assert table.layout.key == "int64", way
            hf.dump(table, tmp_path / "b.parquet", overwrite=True)
            hf.dump(table, tmp_path / "b.csv", overwrite=True)
        assert sorted(read(tmp_path / "b.parquet")["key"].to_pylist()) == [-5, 7], way
        assert "-5," in (tmp_path / "b.csv").read_text(), way
    with table_of(folder, 8) as table:
        with pytest.raises(InvalidArgument):
            table.insert(np.array([-5, 7]), np.zeros(3))
        table.find(np.array([-5, 7]))
        table.insert([1, 2**64 - 1], np.zeros(2))
        table.insert(np.array([3], np.uint64), np.zeros(1))
        assert table.layout.key is None
        hf.dump(table, tmp_path / "c.parquet")
        hf.dump(table, tmp_path / "d.parquet", key="int64")
        assert read(tmp_path / "c.parquet").schema.field("key").type == pa.uint64()
        assert sorted(read(tmp_path / "d.parquet")["key"].to_pylist()) == [-1, 1, 3]
        holdfast_folder = folder / "t.hold"
    holdfast("dump", holdfast_folder, tmp_path / "e.csv", "--key", "int64")
    assert "-1," in (tmp_path / "e.csv").read_text()


def test_keys_of_another_type(folder: Path, tmp_path: Path) -> None:
    """A wider type of the same sign is taken; where a key might not fit, the file is refused."""

    def file(kind: str, *keys: int) -> Path:
        return written(tmp_path / f"{kind}.parquet", key=array(list(keys), kind), v=[1.5] * len(keys))

    with table_of(folder, 8) as table:
        hf.load(table, file("int32", -1))
        hf.load(table, file("uint32", 2**32 - 1))
        assert table.layout.key == "int64"
        hf.load(table, file("int8", -3))
        assert table.layout.key == "int64"
        with pytest.raises(InvalidArgument, match=r"the file has keys uint64; .* and the table keys int64"):
            hf.load(table, file("uint64", 1))
    with table_of(folder, 8) as table:
        hf.load(table, file("uint16", 1))
        with pytest.raises(InvalidArgument, match=r"the file has keys int64; .* and the table keys uint16"):
            hf.load(table, file("int64", 1))
        table.insert(np.array([70000], np.uint64), np.zeros(1))
        with pytest.raises(InvalidArgument, match=r"70000 does not fit into uint16.*key=uint64"):
            hf.dump(table, tmp_path / "x.parquet")
        hf.dump(table, tmp_path / "x.parquet", key="uint64")
        for wrong, error in (("int128", InvalidArgument), ("", InvalidArgument), (7, hf.InvalidType)):
            with pytest.raises(error, match="key is"):
                hf.dump(table, tmp_path / "y.parquet", key=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_keys_of_any_length(folder: Path, tmp_path: Path, form: str) -> None:
    for kind, keys in (("string", ["ä", "b"]), ("binary", [b"\xff", b"b"])):
        with table_of(folder, bytes, key=bytes) as table:
            hf.load(table, written(tmp_path / f"a.{form}", key=array(keys, kind), v=[b"\xff", b""]))
            hf.dump(table, tmp_path / f"b.{form}", overwrite=True)
            with pytest.raises(InvalidArgument, match="no numbers of 8 bytes"):
                hf.dump(table, tmp_path / f"c.{form}", key="int64")
        dumped = read(tmp_path / f"b.{form}")
        assert sorted(dumped["key"].to_pylist()) == sorted(keys) and str(dumped.schema.field("value").type) == "binary"


# What a schema shows


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_all_problems_at_once_before_anything_changes(folder: Path, tmp_path: Path, form: str) -> None:
    import datetime

    import pyarrow as pa

    lists = pa.array([[1.0, 2.0]] * 9 + [[1.0, None]], pa.list_(pa.float32(), 2))
    numbers = [*range(9), None]
    columns = {"key": [float(i) for i in range(10)], "when": [datetime.date(2026, 1, 1)] * 10, "b": [True] * 10,
               "n": numbers, "v": lists}  # fmt: skip
    file = written(tmp_path / f"a.{form}", **columns)
    with table_of(folder) as table:
        with pytest.raises(InvalidArgument) as raised:
            hf.load(table, file)
        message = str(raised.value)
        assert str(file) in message and "nothing was loaded" in message
        wanted = ["'key' is of type double", "'when' is of type date32", "'b' is of type bool", "'n' has 1 null"]
        assert all(text in message for text in wanted)
        with pytest.raises(InvalidArgument, match="no columns 'x', 'y'"):
            hf.load(table, file, columns=["key", "x", "n", "y"])
        assert len(table) == 0 and table.layout == Layout()
        good = written(tmp_path / f"b.{form}", key=range(10), n=numbers, m=[1] * 10)
        with pytest.raises(InvalidArgument, match=r"column 'n' has 1 null, .*--skip-bad"):
            hf.load(table, good, batch=2)
        assert len(table) == 0, "the rows before it, too, as the file shows that there is one"
        assert hf.load(table, good, skip_bad=True).inserted == 9
    with table_of(folder, 8) as table:
        file = written(tmp_path / f"c.{form}", key=range(10), v=lists)
        with pytest.raises(InvalidArgument, match="null"):
            hf.load(table, file, batch=2)


def test_columns_of_a_csv_file(folder: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", key=[1], n=[2])
    with table_of(folder, 8) as table, pytest.raises(InvalidArgument, match="no columns 'x', 'y': it has key, n"):
        hf.load(table, file, value="int64", columns=["key", "x", "y"])


def test_nulls_of_a_column_whose_name_has_a_dot(folder: Path, tmp_path: Path) -> None:
    """Parquet names the numbers of a list's column with one."""
    file = written(tmp_path / "a.parquet", key=[1, 2], a=[1, 2], **{"a.list": [1, None]})
    with table_of(folder, 8) as table:
        assert hf.load(table, file, columns=["key", "a"]).inserted == 2
