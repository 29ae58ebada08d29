"""Files into tables and back, bit by bit: every kind of column, bad rows with their lines, kills, and refusals."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import installed
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cli import as_json, holdfast

import holdfastdb as hf
from holdfastdb import Table
from holdfastdb.schema.columns import NUMBERS

arrow = pytest.mark.skipif(not installed("pyarrow"), reason="PyArrow is not installed: pip install 'holdfastdb[arrow]'")
FORMATS = ["csv", pytest.param("parquet", marks=arrow), pytest.param("arrow", marks=arrow)]


@pytest.fixture
def table(folder: Path) -> Iterator[Table]:
    with Table.create(folder / "t.hold", value=8, capacity=1000, device="cpu") as made:
        yield made


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def items(table: Table) -> dict[int, bytes]:
    return dict(table.items())


def same(folder: Path, table: Table, path: Path, **options: object) -> None:
    """Loads a dump into another table, which then holds the same bytes."""
    copy = folder / "copy.hold"
    with Table.create(copy, value=table.value_bytes, capacity=100, device="cpu", overwrite=True) as other:
        report = hf.load(other, path, **options)  # type: ignore[arg-type]
        assert report.inserted == report.rows == len(table)
        assert items(other) == items(table)


# Round trips

KEYS = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**63, 2**64 - 1]))
SPECS = ["hex", *NUMBERS, "int8,uint16,float32*2,int32*1,uint8"]


def size_of(spec: str, data: st.DataObject) -> int:
    if spec == "hex":
        return data.draw(st.integers(1, 40))
    if "," in spec:
        return 16
    return NUMBERS[spec].itemsize * data.draw(st.integers(1, 5))


def fresh(folder: Path) -> Path:
    """An empty folder in it, for one example. In memory: each example syncs several files."""
    return Path(tempfile.mkdtemp(dir=folder))


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=40)
@given(data=st.data())
def test_round_trip(form: str, data: st.DataObject, folder: Path) -> None:
    """Random bytes of any kind: signalling and negative not-a-numbers among the floats, key 0, the largest one."""
    spec = data.draw(st.sampled_from(SPECS))
    size = size_of(spec, data)
    held = data.draw(st.dictionaries(KEYS, st.binary(min_size=size, max_size=size), max_size=30))
    round_trip(fresh(folder), form, spec, size, held, data.draw(st.integers(1, 40)))


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=40)
@given(data=st.data())
def test_round_trip_of_text(form: str, data: st.DataObject, folder: Path) -> None:
    """Quotes, line ends, commas, byte order marks; in CSV any bytes at all."""
    texts = st.text(
        st.one_of(st.sampled_from('",\r\n;\0 \ufeffé'), st.characters(exclude_categories=["Cs"])), max_size=10
    )
    rows = texts.map(lambda t: t.encode())
    if form == "csv":
        rows = st.one_of(rows, st.binary(max_size=40))
    held = data.draw(st.dictionaries(KEYS, rows.map(lambda b: b.ljust(40, b"\0")), max_size=20))
    round_trip(fresh(folder), form, "text", 40, held, data.draw(st.integers(1, 40)))


def round_trip(folder: Path, form: str, spec: str, size: int, held: dict[int, bytes], batch: int) -> None:
    path = folder / f"dump.{form}"
    with Table.create(folder / "t.hold", value=size, capacity=100, device="cpu") as table:
        if held:
            table.insert(list(held), list(held.values()))
        report = hf.dump(table, path, value=spec, batch=batch)
        assert report.rows == len(held) and report.bytes == path.stat().st_size
        assert path.stat().st_mode & 0o777 == 0o600
        same(folder, table, path, batch=batch)  # the file says what its columns are
        same(folder, table, path, value=None if form != "csv" else spec, batch=7)
    assert {p.name for p in folder.iterdir()} == {path.name, "t.hold", "copy.hold"}


@pytest.mark.parametrize("form", FORMATS)
def test_a_set(form: str, folder: Path) -> None:
    with Table.create(folder / "t.hold", value=0, device="cpu") as table:
        table.insert(range(5000))
        hf.dump(table, folder / f"d.{form}", batch=999)
        same(folder, table, folder / f"d.{form}")
        with pytest.raises(hf.InvalidArgument, match="is a set"):
            hf.dump(table, folder / f"e.{form}", value="int64")


def test_large_values_and_floats(folder: Path) -> None:
    with Table.create(folder / "t.hold", value=65536, capacity=8, device="cpu") as table:
        table.insert([1, 2], [bytes(range(256)) * 256, b"\xff" * 65536])
        for spec in ("hex", "text", "float32"):
            hf.dump(table, folder / f"{spec}.csv", value=spec)
            same(folder, table, folder / f"{spec}.csv")


# What CSV files may look like


def test_numbers(table: Table, tmp_path: Path) -> None:
    report = hf.load(
        table, write(tmp_path / "a.csv", "id,price\n7,-5\n0x10, 0x20\n007,6\n\n"), value="int64", heading=True
    )
    assert (report.rows, report.inserted, report.updated, report.bad) == (3, 2, 1, 0)
    assert table.find([7, 16], dtype=np.int64)[0].tolist() == [6, 32]
    assert list(tmp_path.iterdir()) == [tmp_path / "a.csv"]
    report = hf.load(table, write(tmp_path / "b.csv", "7,1\r\n8,2\r\n"), value="int64", only_new=True)
    assert (report.inserted, report.exists) == (1, 1)
    assert table.find([7, 8], dtype=np.int64)[0].tolist() == [6, 2]


def test_a_heading_is_one_if_dump_wrote_it_or_it_was_asked_for(table: Table, folder: Path, tmp_path: Path) -> None:
    """A first row that is none is an error, as any other, and no heading that is silently left out."""
    mistyped = write(tmp_path / "a.csv", "1O,1\n11,2\n")
    with pytest.raises(hf.InvalidArgument, match=r"line 1: '1O' is no whole number .*heading=True"):
        hf.load(table, mistyped, value="int64")
    report = hf.load(table, mistyped, value="int64", skip_bad=True)
    assert report.rows == 1 and [bad.place for bad in report.bad_rows] == ["line 1"]
    assert hf.load(table, mistyped, value="int64", heading=True).bad == 0
    assert hf.load(table, write(tmp_path / "b.csv", "12,3\n13,4\n"), value="int64", heading=True).rows == 1
    assert 12 not in table and 13 in table
    with pytest.raises(hf.InvalidArgument, match="line 1: 'key'"):
        hf.load(table, write(tmp_path / "c.csv", "key,int64\n14,3\n"), value="int64", heading=False)
    with Table.create(folder / "any.hold", bytes, bytes, device="cpu") as words:
        plain = write(tmp_path / "d.csv", "one,eins\ntwo,zwei\n")
        assert hf.load(words, plain, value="text").rows == 2
        assert words.find([b"one", b"two"])[0].tolist() == [b"eins", b"zwei"]
        hf.dump(words, tmp_path / "e.csv", value="text")
        assert hf.load(words, tmp_path / "e.csv", value="text").updated == 2 and len(words) == 2


def test_columns_by_name(table: Table, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b"\xef\xbb\xbfname,x,id,y\nfoo,1.5,3,2.5\n")
    hf.load(table, path, value="float32", columns=["id", "y", "x"])
    assert table.find([3], dtype=np.float32)[0].tolist() == [[2.5, 1.5]]
    with pytest.raises(hf.InvalidArgument, match=r"no column 'z': it has name, x, id, y"):
        hf.load(table, path, columns=["id", "z"])
    with pytest.raises(hf.InvalidArgument, match="no heading"):
        hf.load(table, write(tmp_path / "b.csv", "1,2\n"), columns=["id", "z"])


def test_the_rest_as_text(folder: Path, tmp_path: Path) -> None:
    with Table.create(folder / "t.hold", value=32, device="cpu") as table:
        hf.load(table, write(tmp_path / "a.csv", 'id,a,b\n1,x,"y,z"\n2,é,\n'), value="text", heading=True)
        assert items(table) == {1: b'x,"y,z"'.ljust(32, b"\0"), 2: "é,".encode().ljust(32, b"\0")}


def test_what_salvage_writes_is_loaded(table: Table, folder: Path, tmp_path: Path) -> None:
    table.insert([1, 2**64 - 1], [[1], [2]])
    table.sync()
    table.close()
    holdfast("recover", table.path, "--salvage", tmp_path / "s.csv")
    with Table.open(table.path, device="cpu", mode="r") as opened:
        same(folder, opened, tmp_path / "s.csv")


# Bad rows

BAD = [
    ("1,2,3", "3 columns, and the first row has 2"),
    ("1", "1 column, and the first row has 2"),
    ("x,2", "'x' is no whole number"),
    (f"{-(2**63) - 1},2", "the key -9223372036854775809 is not from -2"),
    (f"{2**64},2", "not from -2"),
    ("1,x", "'x' is no whole number"),
    (f"1,{2**63}", "does not fit into int64"),
    ('1,"2', ""),
    ('"1"3,2', ""),
]


def test_a_batch_of_very_many_digits(table: Table, tmp_path: Path) -> None:
    with pytest.raises(hf.InvalidArgument, match=r"batch is .*: give 1 or more"):
        hf.dump(table, tmp_path / "a.csv", batch=-(10**5000))


@pytest.mark.parametrize(("row", "why"), BAD)
@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_bad_rows(table: Table, tmp_path: Path, row: str, why: str, batch: int) -> None:
    """One error with its line, nothing lost; corrected, it goes on there; or it is left out."""
    lines = ["key,int64", *(f"{i},{i * 2}" for i in range(10, 20)), "", row, *(f"{i},{i * 2}" for i in range(20, 30))]
    path = write(tmp_path / "a.csv", "\n".join(lines))
    with pytest.raises(hf.InvalidArgument, match="line 13: ") as error:
        hf.load(table, path, value="int64", batch=batch)
    assert why in str(error.value) and "Rows loaded before it: 10." in str(error.value)
    assert sorted(items(table)) == list(range(10, 20))
    with pytest.raises(hf.InvalidArgument, match="line 13: "):
        hf.load(table, path, value="int64", batch=batch, resume=True)
    lines[12] = "77,78"
    write(path, "\n".join(lines))
    report = hf.load(table, path, value="int64", batch=batch, resume=True)
    assert report.resumed and (report.rows, report.inserted) == (21, 21)
    assert sorted(items(table)) == [*range(10, 30), 77]
    assert list(tmp_path.iterdir()) == [path]
    lines[12] = row
    reported: list[str] = []
    write(path, "\n".join(lines))
    report = hf.load(table, path, value="int64", batch=batch, skip_bad=True, on_bad=lambda b: reported.append(b.place))
    assert reported == ["line 13"] and report.bad == 1 and report.bad_rows[0].place == "line 13"
    assert (report.rows, report.updated) == (20, 20)


def test_many_bad_rows_of_many_lines(folder: Path, tmp_path: Path) -> None:
    with Table.create(folder / "t.hold", value=16, device="cpu") as table:
        path = write(tmp_path / "a.csv", '1,"a\nb"\n2,c,d\n3,"e\nf\ng"\n4,h,i\nx,"j\nk"\n6,l\n')
        report = hf.load(table, path, value="text", skip_bad=True)
        assert [b.place for b in report.bad_rows] == ["line 3", "line 7", "line 8"]
        assert {k: v.rstrip(b"\0") for k, v in items(table).items()} == {1: b"a\nb", 3: b"e\nf\ng", 6: b"l"}


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1,2\n", {"value": "int32,int8"}, "5 bytes, and .* has values of 8 bytes"),
        ("1,2\n", {"value": "int128"}, "'int128' is no type"),
        ("1,2\n", {"value": "int64*"}, "is no type"),
        ("1,2,3\n", {"value": "int64"}, "2 columns beside the key, and the values take 1"),
        ("1,2\n", {"value": "int32"}, "1 columns beside the key, and the values take 2"),
        ("1,2\n", {}, "line 1: the value '2' is not hexadecimal"),
        ("1," + "00" * 9 + "\n", {}, "the value is 9 bytes"),
        ("1,2\n", {"format": "xml"}, "format is 'xml'"),
        ("1,2\n", {"batch": 0}, "batch is 0"),
    ],
)
def test_refused(table: Table, tmp_path: Path, text: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(hf.InvalidArgument, match=message):
        hf.load(table, write(tmp_path / "a.csv", text), **options)  # type: ignore[arg-type]
    assert len(table) == 0 and [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_other_refusals(table: Table, tmp_path: Path) -> None:
    for name in ("nowhere.csv", ""):
        with pytest.raises(hf.InvalidArgument, match="is not a file"):
            hf.load(table, tmp_path / name, format="csv")
    with pytest.raises(hf.InvalidArgument, match="has no known extension"):
        hf.load(table, tmp_path / "a.xyz")
    with pytest.raises(hf.PoolExists, match="exists already"):
        hf.dump(table, write(tmp_path / "a.csv", "precious"))
    assert (tmp_path / "a.csv").read_text() == "precious"
    table.insert([1], [2])
    table.sync()
    table.close()
    with Table.open(table.path, device="cpu", mode="r") as opened, pytest.raises(hf.ReadOnly):
        hf.load(opened, write(tmp_path / "b.csv", "1,2\n"), value="int64")


# Parquet and Arrow


@arrow
def test_columns_of_other_kinds(folder: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def written(**columns: object) -> Path:
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        return tmp_path / "a.parquet"

    with Table.create(folder / "t.hold", value=8, device="cpu") as table:
        hf.load(table, written(key=pa.array([-1, 2], pa.int64()), a=pa.array([1, 2], pa.int32()), b=[3, 4]),
                value="int32")  # fmt: skip
        assert table.find([2**64 - 1, 2], dtype=np.int32)[0].tolist() == [[1, 3], [2, 4]]
        table.clear()  # as long as it has items, it takes only their columns
        hf.load(table, written(a=[1.5], key=["0x10"]))
        assert table.find([16], dtype=np.float64)[0].tolist() == [1.5]
        table.clear()
        hf.load(table, written(id=[5], name=["é"]))
        assert items(table)[5] == "é".encode().ljust(8, b"\0")
        hf.load(table, written(id=[6], name=pa.array(["x"]).dictionary_encode()))
        assert items(table)[6] == b"x".ljust(8, b"\0")
        hf.load(table, written(id=[7], name=["00ff"]), value="hex")
        assert items(table)[7] == b"\0\xff".ljust(8, b"\0")
        for columns, message in (
            ({"key": [1.5], "v": [1]}, "keys are whole numbers"),
            ({"key": [1], "v": [True]}, "which no value holds"),
            ({"key": [1], "v": [1], "w": [1]}, "16 bytes a row"),
            ({"key": [1], "v": ["a"], "w": [1]}, "of any length"),
            ({"key": [1, None], "v": [1, 2]}, "column 'key' has 1 null"),
            ({"key": [1, 2], "v": ["a", "b" * 9]}, "row 2: the value is 9 bytes"),
            ({"key": ["1", "x"], "v": [1, 2]}, "row 2: 'x' is no whole number"),
        ):
            table.clear()
            with pytest.raises(hf.InvalidArgument, match=message):
                hf.load(table, written(**columns))
        report = hf.load(table, written(key=[30, None, 31], v=[1, 2, None]), skip_bad=True)
        assert [b.place for b in report.bad_rows] == ["row 2", "row 3"] and report.inserted == 1
        with pytest.raises(hf.InvalidArgument, match="cannot be read as parquet"):
            hf.load(table, write(tmp_path / "b.parquet", "key,value\n1,2\n"))
        with pytest.raises(hf.InvalidArgument, match="cannot be read as arrow"):
            hf.load(table, write(tmp_path / "b.arrow", "key,value\n1,2\n"))


@arrow
def test_arrow_streams_and_lists(folder: Path, tmp_path: Path) -> None:
    import pyarrow as pa

    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(12, dtype=np.float32)), 2)
    batch = pa.record_batch({"key": pa.array(range(6)), "v": lists})
    with pa.ipc.new_stream(tmp_path / "a.arrow", batch.schema) as out:
        out.write_batch(batch.slice(1, 3))
        out.write_batch(batch.slice(4))
    with Table.create(folder / "t.hold", value=8, device="cpu") as table:
        assert hf.load(table, tmp_path / "a.arrow", batch=2).inserted == 5
        values, found = table.find(range(6), dtype=np.float32)
        assert found.tolist() == [False] + [True] * 5 and values[1:].ravel().tolist() == list(range(2, 12))


@arrow
def test_text_that_is_none(folder: Path, tmp_path: Path) -> None:
    with Table.create(folder / "t.hold", value=8, device="cpu") as table:
        table.insert([9], [b"\xff" * 8])
        with pytest.raises(hf.InvalidArgument, match="key 9 is not UTF-8"):
            hf.dump(table, tmp_path / "a.parquet", value="text")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_without_pyarrow(form: str, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(hf.MissingExtra, match=r"holdfastdb\[arrow\]"):
        hf.dump(table, tmp_path / f"a.{form}")
    with pytest.raises(hf.Error, match=r"holdfastdb\[arrow\]"):
        hf.load(table, write(tmp_path / f"b.{form}", ""))
    assert not (tmp_path / f"a.{form}").exists()


# The commands


def test_the_commands(folder: Path, tmp_path: Path) -> None:
    pool = folder / "t.hold"
    holdfast("create", pool, "--value", 8, "--device", "cpu")
    path = write(tmp_path / "a.csv", "id,x\n1,10\n2,twenty\n3,30\n")
    error = holdfast("load", pool, path, "--value", "int64", "--heading", status=2).stderr
    assert error == (
        f"holdfast: {path}, line 3: 'twenty' is no whole number. Rows loaded before it: 1. Correct it and resume, or "
        "skip bad rows\n"
    )
    done = holdfast("load", pool, path, "--value", "int64", "--heading", "--skip-bad", "--resume", status=1)
    assert f"{path}, line 3: 'twenty' is no whole number: left out" in done.stderr
    assert "2 rows" in done.stdout and "1 bad row left out" in done.stdout and "(resumed)" in done.stdout
    report = as_json("dump", pool, tmp_path / "d.csv", "--value", "int64")
    assert report["rows"] == 2 and sorted((tmp_path / "d.csv").read_text().split()) == ["1,10", "3,30", "key,int64"]
    assert "exists already" in holdfast("dump", pool, tmp_path / "d.csv", status=2).stderr
    holdfast("dump", pool, tmp_path / "d.csv", "--overwrite")
    assert as_json("load", pool, tmp_path / "d.csv")["updated"] == 2
    assert as_json("load", pool, path, "--columns", "id,x", "--value", "int64", "--only-new", "--skip-bad", status=1)[
        "exists"
    ] == 2  # fmt: skip
    assert {p.name for p in tmp_path.iterdir()} == {"a.csv", "d.csv"}
