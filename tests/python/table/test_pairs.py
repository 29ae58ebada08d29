"""Keys and values of any length: every way to give and to get them, one error for what cannot be, files in and out."""

from __future__ import annotations

import importlib.util
import json
import random
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from conftest import Machine
from hypothesis import given
from typer.testing import CliRunner

import holdfastdb as hf
from holdfastdb import InvalidArgument, InvalidType, Op, Status, Table
from holdfastdb.cli.main import app
from holdfastdb.transfer import dump, load

has_arrow = pytest.mark.skipif(not importlib.util.find_spec("pyarrow"), reason="needs pyarrow")

KEYS = [b"", b"\0", b"\0\0", b"key", b"k" * 65536, bytes(range(256)), "Schlüssel".encode()]
VALUES = [b"v" * 65536, b"", b"\0", b"value", b"x" * 4096, b"\xff\xfe", b"1"]


@pytest.fixture
def table(folder: Path, device: str) -> Iterator[Table]:
    with Table.create(folder / "t.hold", bytes, bytes, capacity=100, device=device) as made:
        yield made


def test_every_operation(table: Table) -> None:
    assert table.any_length and table.key_bytes == 0
    assert (table.insert(KEYS, VALUES) == Status.INSERTED).all()
    assert (table.insert(KEYS, VALUES[::-1]) == Status.EXISTS).all()
    found_values, found = table.find([*KEYS, b"absent"])
    assert found_values.dtype == object and found_values.tolist() == [*VALUES, None]
    assert found.tolist() == [True] * len(KEYS) + [False]
    assert table.contains([b"", b"x"]).tolist() == [True, False]
    assert (table.assign([b"", b"absent"], [b"new", b"new"]) == [Status.UPDATED, Status.NOT_FOUND]).all()
    assert (table.insert_or_assign(KEYS, VALUES) == Status.UPDATED).all()
    got, there = table.find_or_insert([b"", b"fresh"], [b"a", b"b"])
    assert got.tolist() == [VALUES[0], b"b"] and there.tolist() == [True, False]
    got, statuses = table.insert_and_find([b"", b"newer"], [b"a", b"b"])
    assert got.tolist() == [VALUES[0], b"b"] and statuses.tolist() == [Status.EXISTS, Status.INSERTED]
    statuses, got = table.apply(["erase", "find", "insert"], [b"newer", b"fresh", b"third"], [b"", b"", b"3"])
    assert statuses.tolist() == [Status.ERASED, Status.FOUND, Status.INSERTED] and got.tolist() == [None, b"b", None]
    assert (table.erase([b"fresh", b"third"]) == Status.ERASED).all()
    *_, absent = table.find([b"no", b"key", b"none"], missing=True)
    assert absent.tolist() == [0, 2]
    assert dict(table.items()) == dict(zip(KEYS, VALUES, strict=True))
    assert set(table) == set(KEYS) and len(table) == len(KEYS) and b"" in table and b"nothing" not in table
    assert table.check().ok
    table.clear()
    assert dict(table.items()) == {}


def test_masks_and_repeats(table: Table) -> None:
    statuses = table.insert_or_assign([b"a", b"a", b"b"], [b"1", b"2", b"3"], mask=[True, True, False])
    assert statuses.tolist() == [Status.INSERTED, Status.UPDATED, Status.NOT_RUN]
    values, found = table.find([b"a", b"a", b"b"], mask=np.array([True, False, True]))
    assert values.tolist() == [b"2", None, None] and found.tolist() == [True, False, False]
    assert table.insert([], []).tolist() == [] and table.find([])[0].tolist() == []


def test_every_form(table: Table) -> None:
    objects = np.empty(2, object)
    objects[:] = [b"one", b"two"]
    for keys in ([b"one", b"two"], (b"one", bytearray(b"two")), objects):
        assert (table.insert_or_assign(keys, objects) <= Status.UPDATED).all()
        assert table.find(keys)[0].tolist() == [b"one", b"two"]
    assert table.find(b"one")[0].tolist() == [b"one"]


def test_bytes_and_offsets(machine: Machine, folder: Path) -> None:
    """In host memory, or in that of the GPU that has the table; what is read lies in host memory."""

    def packed(rows: list[bytes], kind: str) -> tuple[Any, Any]:
        data = np.frombuffer(b"".join(rows) or b"\0", np.uint8)
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(kind)
        return machine.put(data), machine.put(offsets)

    rows = [b"first", b"", b"third", b"k" * 3000]
    values = [b"", b"2" * 60000, b"three", b"4"]
    with Table.create(folder / "t.hold", bytes, bytes, capacity=100, device=machine.device) as table:
        for kind in ("int64", "uint64") if machine.library == "numpy" else ("int64",):
            keys = packed(rows, kind)
            statuses = table.insert_or_assign(keys, packed(values, kind))
            assert (machine.get(statuses) <= Status.UPDATED).all()
            found_values, found = table.find(keys)
            assert found_values.tolist() == values and machine.get(found).all()
            mask = machine.put(np.array([True, False, True, True]))
            assert table.find(keys, mask=mask)[0].tolist() == [values[0], None, *values[2:]]
        codes = machine.put(np.array([Op.ERASE, Op.FIND, Op.INSERT_OR_ASSIGN, Op.FIND], np.uint8))
        statuses, read = table.apply(codes, keys, packed([b"", b"", b"new", b""], "int64"))
        assert machine.get(statuses).tolist() == [Status.ERASED, Status.FOUND, Status.UPDATED, Status.FOUND]
        assert read.tolist() == [None, values[1], None, values[3]]
        assert dict(table.items()) == {rows[1]: values[1], rows[2]: b"new", rows[3]: values[3]}
        with pytest.raises(InvalidArgument, match=r"goes from 0 to 9, but keys\[0\] has 3 bytes"):
            table.find((machine.put(np.zeros(3, np.uint8)), machine.put(np.array([0, 9]))))
        with pytest.raises(InvalidArgument, match="the offsets of keys fall from 3 to 1 at row 1"):
            table.contains((machine.put(np.zeros(3, np.uint8)), machine.put(np.array([0, 3, 1, 3]))))
        with pytest.raises(InvalidType, match="give all bytes"):
            table.find((machine.put(np.zeros(3, np.int64)), machine.put(np.array([0, 3]))))
        if machine.library != "numpy":
            with pytest.raises(InvalidArgument, match="give all arrays of a call in one place"):
                table.find(keys, mask=np.ones(4, bool))
        assert table.check().ok


def test_values_that_stay_on_the_gpu(machine: Machine, folder: Path) -> None:
    """Values as bytes and offsets where the keys are, which another batch takes as they come."""
    n = 300
    rows = [b"%d" % i for i in range(n)]
    values = [b"v" * (i * 37 % 2000) for i in range(n)]

    def packed(given: list[bytes]) -> tuple[Any, Any]:
        data = np.frombuffer(b"".join(given), np.uint8)
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in given])]).astype(np.int64)
        return machine.put(data), machine.put(offsets)

    with Table.create(folder / "t.hold", bytes, bytes, capacity=1000, device=machine.device) as table:
        keys = packed(rows)
        table.insert(keys, packed(values), mask=machine.put(np.arange(n) % 3 != 0))
        if machine.library == "numpy":
            with pytest.raises(InvalidArgument, match="result='device' leaves values in the memory of the GPU"):
                table.find(keys, result="device")
            return
        (data, offsets), found, missing = table.find(keys, result="device", missing=True)
        assert type(data) is type(keys[0]) and data.device == keys[0].device
        expected = [value if i % 3 else b"" for i, value in enumerate(values)]
        ends = machine.get(offsets)
        assert [machine.get(data)[a:b].tobytes() for a, b in pairwise(ends)] == expected
        assert machine.get(found).tolist() == [i % 3 != 0 for i in range(n)]
        assert machine.get(missing).tolist() == list(range(0, n, 3))
        table.erase(keys)
        assert (machine.get(table.insert(keys, (data, offsets))) == Status.INSERTED).all()
        (data, offsets), found = table.find_or_insert(keys, packed(values), result="device")
        assert machine.get(found).all() and machine.get(offsets).tolist() == ends.tolist()
        (data, offsets), found = table.find(packed([b"none"]), result="device")
        assert machine.get(offsets).tolist() == [0, 0] and len(data) == 0
    assert ends[-1] == sum(map(len, expected))


@has_arrow
def test_arrow(table: Table) -> None:
    import pyarrow as pa

    for kind in (pa.binary(), pa.large_binary()):
        keys, values = pa.array([b"skipped", *KEYS], kind)[1:], pa.chunked_array([[b"-"], VALUES], kind)[1:]
        assert (table.insert_or_assign(keys, values) <= Status.UPDATED).all()
        got, found = table.find(keys, result="arrow")
        assert got.type == pa.large_binary() and got.to_pylist() == VALUES and found.all()
    assert table.find(pa.array([b"ab", b"cd"], pa.binary(2)), result="arrow")[0].to_pylist() == [None, None]
    keys, values, _ = table.export_batch(result="arrow")
    assert dict(zip(keys.to_pylist(), values.to_pylist(), strict=True)) == dict(zip(KEYS, VALUES, strict=True))
    with pytest.raises(InvalidArgument, match=r"keys\[1\] is null"):
        table.find(pa.array([b"a", None]))
    with pytest.raises(InvalidType, match="Arrow array of string: give binary"):
        table.find(pa.array(["a"]))


BAD: list[tuple[str, Any, Any, type[Exception], str]] = [
    ("text", ["a"], [b""], InvalidType, r"keys\[0\] is 'a', of type str: encode it"),
    ("number", [b"a", 7], [b"", b""], InvalidType, r"keys\[1\] is 7, of type int"),
    ("array", np.arange(3), None, InvalidType, "keys is an array of int64: give a list"),
    ("long key", [b"a", b"k" * 65537], [b"", b""], InvalidArgument, "key 1 has 65537 bytes: a key has at most 65536"),
    ("long value", [b"a"], [b"v" * 65537], InvalidArgument, "value 0 has 65537 bytes"),
    ("few values", [b"a", b"b"], [b"1"], InvalidArgument, "values has 1 rows, but keys has 2"),
    ("no values", [b"a"], None, InvalidType, "insert takes a value for each key"),
]


@pytest.mark.parametrize(("keys", "values", "error", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_input(table: Table, keys: Any, values: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        table.insert(keys, values)
    assert len(table) == 0


def test_results_lie_apart_from_what_is_read(table: Table) -> None:
    data, offsets = np.frombuffer(b"abc", np.uint8).copy(), np.array([0, 1, 2, 3])
    with pytest.raises(InvalidArgument, match="out overlaps keys in memory"):
        table.insert((data, offsets), [b"", b"", b""], out=data)
    values = np.zeros(3, np.uint8), np.zeros(4, np.int64)
    with pytest.raises(InvalidArgument, match="out overlaps values in memory"):
        table.insert((data, offsets), values, out=values[0])
    assert len(table) == 0 and data.tobytes() == b"abc"


def test_what_needs_fixed_lengths(table: Table, folder: Path) -> None:
    with pytest.raises(InvalidArgument, match="dtype is for values of fixed length"):
        table.find([b"a"], dtype=np.float32)
    with pytest.raises(InvalidArgument, match="no elements to accumulate"):
        table.accumulate([b"a"], [b"b"])
    with pytest.raises(InvalidArgument, match="init makes values of fixed length"):
        table.find_or_insert([b"a"], init=0)
    with pytest.raises(InvalidArgument, match="not selected in this version"):
        table.erase_if(b"a", b"b")
    with pytest.raises(InvalidArgument, match="not selected in this version"):
        table.export_if(first=b"a", last=b"b")
    with pytest.raises(InvalidArgument, match="keeps no scores"):
        table.export_batch(scores=True)
    with pytest.raises(InvalidArgument, match="both are of any length, or neither is"):
        Table.create(folder / "half.hold", key=bytes, value=8)
    with (
        Table.create(folder / "fixed.hold") as fixed,
        pytest.raises(InvalidArgument, match="result='arrow' is for values of"),
    ):
        fixed.find([1], result="arrow")
    with pytest.raises(InvalidArgument, match="result is 'pandas': give 'numpy', 'arrow' or 'device'"):
        table.find([b"a"], result="pandas")
    with pytest.raises(InvalidArgument, match="result is 'device': give 'numpy' or 'arrow'"):
        table.export_batch(result="device")
    with pytest.raises(InvalidType, match="of type bool: give 'numpy'"):
        table.find([b"a"], result=True)


def test_results_have_names(table: Table) -> None:
    table.insert_or_assign(KEYS, VALUES)
    found = table.find(KEYS)
    assert found.values.tolist() == VALUES and found.found.all()
    assert table.find([*KEYS, b"no"], missing=True).missing.tolist() == [len(KEYS)]
    assert table.find_or_insert(KEYS, VALUES).found.all()
    assert (table.find_or_insert(KEYS, VALUES, statuses=True).statuses == Status.FOUND).all()
    assert (table.insert_and_find(KEYS, VALUES).statuses == Status.EXISTS).all()
    assert (table.apply(["find"] * len(KEYS), KEYS).statuses == Status.FOUND).all()
    exported = table.export_batch()
    assert exported.cursor is None and dict(zip(exported.keys, exported.values, strict=True)) == dict(table.items())
    assert [sorted(items.keys) for items in table.batches()] == [sorted(KEYS)]


def test_the_pool_knows(folder: Path) -> None:
    path = folder / "t.hold"
    Table.create(path, bytes, bytes, device="cpu").close()
    about = hf.inspect(path).objects[0].table
    assert about is not None and about.key_bytes == about.value_bytes == 2**32 - 1
    with pytest.raises(hf.PoolMismatch, match="keys of any length, not 8 bytes"):
        Table.open(path, key=8)
    with Table.open(path, key=bytes, value=bytes, device="cpu") as table:
        assert table.any_length and table.device == "cpu"
    Table.create(folder / "fixed.hold", device="cpu").close()
    with pytest.raises(hf.PoolMismatch, match="keys of 8 bytes, not any length"):
        Table.open(folder / "fixed.hold", key=bytes)


def test_grows_reopens_and_snapshots(folder: Path) -> None:
    numbers = random.Random(1)
    items = {str(i).encode() * (1 + i % 9): numbers.randbytes(numbers.randrange(3000)) for i in range(4000)}
    keys, values = list(items), list(items.values())
    with Table.create(folder / "t.hold", bytes, bytes, capacity=10, device="cpu") as table:
        table.insert(keys, values)
        table.erase(keys[::3])
        table.snapshot(folder / "s.hold")
        stats = table.stats()
        assert stats["resizes"] > 3 and stats["heap_growths"] > 0
        assert stats["heap_bytes"] >= stats["slab_bytes"] >= stats["live_bytes"] > stats["rounding_bytes"] > 0
        exact = sum(len(k) + len(v) + 16 for i, (k, v) in enumerate(items.items()) if i % 3)
        assert 0 <= stats["live_bytes"] - stats["rounding_bytes"] - exact < 8 * len(table)
    for name in ("t.hold", "s.hold"):
        with Table.open(folder / name, device="cpu") as table:
            got, found = table.find(keys)
            assert found.tolist() == [i % 3 != 0 for i in range(len(keys))]
            assert all(value == got[i] for i, value in enumerate(values) if i % 3)
            assert table.check().ok


PART = st.one_of(st.binary(max_size=12), st.binary(min_size=60, max_size=300))


@given(
    batches=st.lists(
        st.tuples(st.sampled_from([o for o in Op if o is not Op.ACCUMULATE]), st.lists(st.tuples(PART, PART))),
        max_size=12,
    )
)
def test_does_what_a_dict_does(folder: Path, batches: Any) -> None:
    path = Path(tempfile.mkdtemp(dir=folder)) / "t.hold"
    model: dict[bytes, bytes] = {}
    with Table.create(path, bytes, bytes, capacity=4, device="cpu") as table:
        for op, rows in batches:
            keys, values = [k for k, _ in rows], [v for _, v in rows]
            statuses, got = table.apply([op] * len(rows), keys, values)
            for i, (key, value) in enumerate(rows):
                there = key in model
                if (op in (Op.INSERT, Op.FIND_OR_INSERT, Op.INSERT_AND_FIND) and not there) or (
                    op is Op.INSERT_OR_ASSIGN or (op is Op.ASSIGN and there)
                ):
                    model[key] = value
                elif op is Op.ERASE:
                    model.pop(key, None)
                assert got[i] == (model.get(key) if op.reads_value else None)
                assert (statuses[i] in (Status.EXISTS, Status.UPDATED, Status.ERASED, Status.FOUND)) == there
    with Table.open(path, device="cpu") as table:
        assert dict(table.items()) == model
        assert table.check().ok


FORMATS = ["csv", *(["parquet", "arrow"] if importlib.util.find_spec("pyarrow") else [])]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("value", ["hex", "text"])
def test_dump_and_load(folder: Path, table: Table, form: str, value: str) -> None:
    texts = [b"", b'a "quoted", key', "日本".encode(), b"long " * 1000, b"two\nlines"]
    keys = texts if value == "text" else [*texts, *KEYS[1:3], KEYS[5]]
    table.insert(keys, keys[::-1])
    items = dict(table.items())
    assert dump(table, folder / f"out.{form}", value=value).rows == len(keys)
    with Table.create(folder / "b.hold", bytes, bytes, device="cpu") as other:
        assert load(other, folder / f"out.{form}").inserted == len(keys)
        assert dict(other.items()) == items


def test_the_command_line(folder: Path) -> None:
    pool = str(folder / "t.hold")
    run = CliRunner().invoke
    assert run(app, ["create", pool, "--key", "bytes", "--value", "bytes", "--device", "cpu"]).exit_code == 0
    assert run(app, ["put", pool, "naïve", "its value"]).exit_code == 0
    assert run(app, ["put", pool, "0x00ff", "00", "--hex"]).exit_code == 0
    assert run(app, ["get", pool, "naïve"]).stdout == "its value\n"
    assert json.loads(run(app, ["get", pool, "0x00ff", "--json"]).stdout)["items"][0]["hex"] == "00"
    assert "keys and values of any length" in run(app, ["info", pool]).stdout
    stats = run(app, ["stats", pool]).stdout
    assert "2 items" in stats and "slabs in use" in stats and "rounding" in stats
    assert run(app, ["check", pool]).exit_code == 0
    assert run(app, ["del", pool, "naïve"]).exit_code == 0
    (folder / "in.csv").write_text("key,text\na,b\nc\n")
    result = run(app, ["load", pool, str(folder / "in.csv"), "--skip-bad"])
    assert result.exit_code == 1 and "line 3" in result.output
    assert run(app, ["get", pool, "a"]).stdout == "b\n"
    wrong = run(app, ["create", str(folder / "x.hold"), "--key", "words"])
    assert isinstance(wrong.exception, InvalidArgument) and "the word bytes for any length" in str(wrong.exception)
