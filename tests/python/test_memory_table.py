"""The table in memory answers as the durable one does: against a dict, bad input, and the ways between them."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE_S, Machine, widened
from model import Model

import holdfastdb as hf
from holdfastdb import Op, Status

CPU = Machine("cpu")
RESERVED = np.array([0, 1, 2**63, 2**64 - 1, 2**64 - 2], np.uint64)


class Checked:
    """A table in memory beside the dict that it must agree with."""

    def __init__(self, value: int, **options: Any) -> None:
        self.table = hf.MemoryTable(value=value, **options)
        self.model = Model(value)

    def run(self, kind: hf.Op, keys: np.ndarray, values: np.ndarray | None = None, **options: Any) -> None:
        keys = widened(keys, self.table.key_bytes)
        expected = self.model.run(kind, keys, values, options.get("mask"), options.get("op", "add"))
        method = getattr(self.table, kind.name.lower())
        got = method(keys, values, **options) if kind.takes_value else method(keys, **options)
        if kind in (Op.FIND, Op.FIND_OR_INSERT, Op.INSERT_AND_FIND):
            np.testing.assert_array_equal(got[0].reshape(len(keys), -1).view(np.uint8).ravel(), expected.values.ravel())
            np.testing.assert_array_equal(
                got[1], expected.found if kind is not Op.INSERT_AND_FIND else expected.statuses
            )
        elif kind is Op.CONTAINS:
            np.testing.assert_array_equal(got, expected.found)
        else:
            np.testing.assert_array_equal(got, expected.statuses)

    def agree(self) -> None:
        assert dict(self.table.items(batch=97)) == self.model.items
        assert len(self.table) == len(self.model.items)


@pytest.fixture(params=[8, 16, 64], ids=lambda size: f"key{size}")
def wide(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=[0, 2], ids=["shared", "partitioned"])
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., Checked]]:
    def create(value: int, **options: Any) -> Checked:
        if request.param and (options.get("key", 8) > 8 or value > 8):
            pytest.skip("partitions are for items of 16 bytes")
        return Checked(value, partitions=request.param, **options)

    yield create


def draw(rng: np.random.Generator, n: int, size: int, distinct: int) -> tuple[np.ndarray, np.ndarray]:
    pool = np.concatenate([RESERVED, rng.integers(0, 2**64, distinct, np.uint64)])
    return rng.choice(pool, n), rng.integers(0, 256, (n, size), np.uint8)


@pytest.mark.parametrize("size", [0, 1, 4, 8, 12, 64])
@pytest.mark.parametrize("op", [op for op in Op if op is not Op.ACCUMULATE], ids=lambda op: op.name.lower())
def test_against_a_dict(make: Callable[..., Checked], op: Op, size: int, wide: int) -> None:
    rng = np.random.default_rng([op, size])
    checked = make(size, key=wide, capacity=400)
    pool, _ = draw(rng, 400, size, 130)
    half = rng.choice(pool, 200)
    checked.run(Op.INSERT, half, rng.integers(0, 256, (200, size), np.uint8))
    for _ in range(3):
        keys, values = rng.choice(pool, 400), rng.integers(0, 256, (400, size), np.uint8)
        checked.run(op, keys, values, mask=rng.random(400) < 0.8)
        checked.run(op, np.unique(keys), values[: len(np.unique(keys))], unique=True)
        checked.run(Op.FIND, pool)
    checked.agree()


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64", "float16"])
@pytest.mark.parametrize("combine", ["add", "min", "max"])
def test_accumulate(make: Callable[..., Checked], dtype: str, combine: str) -> None:
    rng = np.random.default_rng(5)
    checked = make(8)
    elements = 8 // np.dtype(dtype).itemsize
    for _ in range(2):
        keys = rng.choice(RESERVED, 300)
        values = rng.integers(0, 50, (300, elements)).astype(dtype)
        checked.run(Op.ACCUMULATE, keys, values, op=combine)
    checked.agree()


def test_mixed_batches_and_more_than_one_thread(make: Callable[..., Checked]) -> None:
    rng = np.random.default_rng(6)
    checked = make(8)
    for _ in range(3):
        n = 30_000
        ops = rng.integers(0, 9, n).astype(np.uint8)
        keys, values = rng.integers(0, 9000, n).astype(np.uint64), rng.integers(0, 2**63, n).astype(np.uint64)
        expected = checked.model.run(ops, keys, values.reshape(n, 1))
        statuses, rows = checked.table.apply(ops, keys, values)
        np.testing.assert_array_equal(statuses, expected.statuses)
        np.testing.assert_array_equal(rows.view(np.uint8).reshape(n, 8), expected.values)
    checked.agree()
    checked.table.clear()
    checked.model.items.clear()
    checked.agree()


def test_mixed_batches_that_change_nothing(make: Callable[..., Checked]) -> None:
    """A row that only asks for its key reads no value, whatever others do."""
    rng = np.random.default_rng(8)
    checked = make(8)
    keys = np.arange(40_000, dtype=np.uint64)
    checked.table.insert(keys[::2], 3 * keys[::2] + 1)
    ops = rng.choice(np.array([Op.FIND, Op.CONTAINS], np.uint8), len(keys))
    for order in (np.arange(len(keys)), rng.permutation(len(keys))):
        statuses, rows = checked.table.apply(ops[order], keys[order], dtype=np.uint64)
        there = keys[order] % 2 == 0
        np.testing.assert_array_equal(statuses, np.where(there, Status.FOUND, Status.NOT_FOUND))
        read = there & (ops[order] == Op.FIND)
        np.testing.assert_array_equal(rows, np.where(read, 3 * keys[order] + 1, 0))


def test_to_a_durable_table_and_back(folder: Path, wide: int) -> None:
    rng = np.random.default_rng(7)
    memory = hf.MemoryTable(wide, 24)
    keys = widened(np.unique(np.concatenate([RESERVED, rng.integers(0, 2**64, 70_000, np.uint64)])), wide)
    values = rng.integers(0, 256, (len(keys), 24), np.uint8)
    memory.insert(keys, values)
    with memory.to_table(folder / "made.hold", device="cpu") as durable:
        found, there = durable.find(keys)
        assert there.all() and (found == values).all() and len(durable) == len(keys)
        again = hf.MemoryTable.from_table(durable)
    found, there = again.find(keys)
    assert there.all() and (found == values).all() and len(again) == len(keys)


def test_what_does_not_fit_is_an_error_and_not_a_loss(folder: Path) -> None:
    keys = np.arange(20_000, dtype=np.uint64)
    with hf.Table.create(folder / "large.hold", device="cpu") as durable:
        durable.insert(keys, keys)
        with pytest.raises(hf.NoSpace, match=r"of 20,000 items .* no space"):
            hf.MemoryTable.from_table(durable, capacity=100, grows=False)
    with hf.Table.create(folder / "text.hold", bytes, bytes, device="cpu") as text:
        with pytest.raises(hf.InvalidArgument, match="any length"):
            hf.MemoryTable.from_table(text)


def test_to_an_object_of_a_pool(folder: Path) -> None:
    memory = hf.MemoryTable()
    memory.insert([3, 2**64 - 1], [30, 10])
    with hf.Pool.create(folder / "several.hold") as pool:
        with memory.to_table(pool, name="first", device="cpu") as first:
            assert first.path.endswith(":first") and len(first) == 2
        with memory.to_table(pool, name="second", device="cpu") as second:
            again = hf.MemoryTable.from_table(second)
        with pytest.raises(hf.ObjectExists):
            memory.to_table(pool, name="first")
        with pytest.raises(hf.InvalidArgument, match="name"):
            memory.to_table(pool)
        assert [made.name for made in pool.objects] == ["first", "second"]
    with pytest.raises(hf.InvalidArgument, match="name"):
        memory.to_table(folder / "else.hold", name="first")
    np.testing.assert_array_equal(again.find([2**64 - 1, 3], dtype=np.uint64)[0], [10, 30])


@pytest.mark.parametrize("into", ["path", "pool"])
@pytest.mark.parametrize("overwrite", [False, True], ids=["new", "overwrite"])
def test_to_table_leaves_what_was_there_if_it_fails(
    folder: Path, into: str, overwrite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = np.arange(70_000, dtype=np.uint64)
    memory = hf.MemoryTable(value=16)
    memory.insert(keys, np.stack([keys, keys], 1))
    path = folder / "x.hold"
    pool = hf.Pool.create(path) if into == "pool" else None

    def old() -> hf.Table:
        return pool.create_table("t", device="cpu") if pool else hf.Table.create(path, device="cpu")

    def carry(**options: Any) -> hf.Table:
        given: dict[str, Any] = {"device": "cpu", "overwrite": overwrite, **options}
        return memory.to_table(pool, name="t", **given) if pool else memory.to_table(path, **given)

    def as_before() -> None:
        if pool:
            assert [found.name for found in pool.objects] == ["t"] * overwrite
        else:
            assert [found.name for found in folder.iterdir()] == ["x.hold"] * overwrite
        if overwrite:
            with pool.table("t", device="cpu") if pool else hf.Table.open(path, device="cpu") as there:
                assert list(there) == [7]

    if overwrite:
        with old() as there:
            there.insert([7], [8])
            with pytest.raises(hf.ObjectInUse):
                carry()
        as_before()
    with pytest.raises(hf.InvalidArgument, match="slots"):
        carry(slots=99)
    as_before()
    with pytest.raises(hf.NoSpace):  # not all of the values' cells
        carry(max_bytes=1 << 16, capacity=10)
    as_before()

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("holdfastdb.memory_table._all_fit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            carry()
    as_before()
    with carry(threads=1) as made:
        assert made.path == (f"{path}:t" if pool else str(path)) and made.stats()["threads"] == 1
        rows, found = made.find(keys, dtype=np.uint64)
        assert found.all() and (rows[:, 1] == keys).all() and len(made) == len(keys)
    if pool:
        pool.close()
    if not overwrite:
        with pytest.raises(hf.PoolExists):
            memory.to_table(path)


@pytest.mark.parametrize("size", [8, 16, 32, 64])
def test_growth_while_others_read(size: int) -> None:
    """And write: each value that is read is whole."""
    table = hf.MemoryTable(value=size, capacity=1000)
    columns = np.arange(size // 8, dtype=np.uint64) * np.uint64(1 << 40)
    keys, changing = np.arange(5000, dtype=np.uint64), np.arange(100, dtype=np.uint64)
    table.insert(keys, keys[:, None] * 3 + columns)
    stop, wrong = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            values, found = table.find(keys, dtype=np.uint64)
            values = values.reshape(len(keys), -1) - columns
            if not found.all() or not (values[100:] == keys[100:, None] * 3).all():
                wrong.append("a value is another's")
            if not (values == values[:, :1]).all():
                wrong.append("a value is not whole")

    def change() -> None:
        for version in itertools.count():
            if stop.is_set():
                return
            table.assign(changing, np.broadcast_to(np.uint64(version) + columns, (100, len(columns))).copy())

    threads = [threading.Thread(target=read), threading.Thread(target=change)]
    for thread in threads:
        thread.start()
    more = np.arange(5000, 2_000_000 if size == 8 else 200_000, dtype=np.uint64)
    table.insert(more, more[:, None] * 3 + columns)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong and len(table) == 5000 + len(more) and table.stats()["growths"] > 3


def test_bad_input() -> None:
    table = hf.MemoryTable()
    with pytest.raises(hf.InvalidArgument, match="key_bytes"):
        hf.MemoryTable(key=12)
    with pytest.raises(hf.InvalidArgument, match="0 to 64"):
        hf.MemoryTable(value=65)
    with pytest.raises(hf.NoSpace, match="smaller capacity"):
        hf.MemoryTable(capacity=1 << 39)
    with pytest.raises(hf.InvalidArgument, match="at most 2\\^40"):
        hf.MemoryTable(capacity=1 << 60)
    with pytest.raises(hf.InvalidArgument, match="values of 8 bytes"):
        table.insert([1, 2], np.zeros((2, 3), np.uint8))
    with pytest.raises(hf.InvalidType):
        table.insert([1.5], [1])
    with pytest.raises(hf.InvalidArgument, match="rows"):
        table.insert([1, 2], np.zeros(3, np.uint64))
    with pytest.raises(hf.InvalidArgument, match="keeps no scores"):
        table.scores([1])
    with pytest.raises(hf.InvalidArgument, match="partitions"):
        hf.MemoryTable(value=64, partitions=2)
    with pytest.raises(hf.InvalidArgument, match="key is 4294967296"):
        hf.MemoryTable(key=1 << 32)
    with pytest.raises(hf.InvalidArgument, match="items is"):
        table.reserve(1 << 63)
    with pytest.raises(hf.InvalidArgument, match="batch is 0"):
        list(table.items(batch=0))
    with pytest.raises(hf.InvalidType, match=r"give an open holdfastdb\.Table"):
        hf.MemoryTable.from_table("x.hold")  # type: ignore[arg-type]
    with pytest.raises(hf.InvalidArgument, match="value is given"):
        table.to_table("/dev/shm/never-made.hold", value=16)
    with pytest.raises(hf.InvalidType, match="no option 'foo'"):
        table.to_table("/dev/shm/never-made.hold", foo=1)
    with pytest.raises(hf.InvalidArgument, match="threads is 1025: give 0 to 1,024"):
        hf.MemoryTable(threads=1025)
    with pytest.raises(hf.InvalidArgument, match="ops has 99, which is no operation"):
        table.apply([hf.Op.INSERT, 99], [1, 2], [1, 2])
    assert len(table) == 0
    np.testing.assert_array_equal(table.insert([1], [2]), [Status.INSERTED])
    keys, _, cursor = table.export_batch(1 << 40)
    assert keys.tolist() == [1] and cursor is None


def test_a_forked_child_goes_on_with_it() -> None:
    code = """
import os, sys
import numpy as np
import holdfastdb as hf
keys = np.arange(100_000, dtype=np.uint64)
table, parts = hf.MemoryTable(threads=4), hf.MemoryTable(partitions=2)
for one in (table, parts):
    one.insert(keys, keys)
child = os.fork()
if child == 0:
    table.insert(keys + 100_000, keys)
    if not table.contains(keys).all() or len(table) != 200_000 or not parts.contains(keys).all():
        os._exit(1)
    for change in (lambda: parts.insert([1], [2]), parts.clear):
        try:
            change()
            os._exit(2)
        except hf.ObjectClosed as error:
            if "child" not in str(error):
                os._exit(3)
    del parts, one
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert table.contains(keys).all() and len(table) == 100_000 and parts.erase(keys).all()
"""
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert child.returncode == 0, child.stderr


def test_growth_is_an_option() -> None:
    table = hf.MemoryTable(capacity=1000, grows=False)
    keys = np.arange(2 * table.capacity, dtype=np.uint64)
    statuses = table.insert(keys, keys)
    assert set(statuses) == {Status.INSERTED, Status.NO_SPACE}
    assert len(table) == (statuses == Status.INSERTED).sum()
    assert len(table) <= table.capacity, "all slots count"
    np.testing.assert_array_equal(table.contains(keys), statuses == Status.INSERTED)
