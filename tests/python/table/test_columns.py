"""Columns of values: what they change, what they leave, and what they refuse."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Machine, Make

import holdfastdb as hf


@pytest.mark.parametrize("rows_at_once", [200, 20_000])
@pytest.mark.parametrize(
    ("size", "start", "stop"), [(8, 2, 6), (24, 0, 8), (24, 20, 24), (300, 100, 299), (128, 32, 64), (16, 0, 16)]
)
def test_a_column_changes_its_bytes_alone(
    make: Make, machine: Machine, size: int, start: int, stop: int, rows_at_once: int
) -> None:
    rng, n, m = np.random.default_rng(size), rows_at_once, machine
    table = make(machine, value=size, capacity=2 * n).table
    keys = np.arange(n, dtype=np.uint64)
    whole = rng.integers(0, 256, (n, size), np.uint8)
    table.insert(keys[: n // 2], whole[: n // 2])
    whole[n // 2 :] = 0
    column = table.column(start, stop)
    rows = rng.integers(0, 256, (n, stop - start), np.uint8)
    statuses = m.get(column.insert_or_assign(m.put(keys), m.put(rows)))
    assert statuses.tolist() == [hf.Status.UPDATED] * (n // 2) + [hf.Status.INSERTED] * (n // 2)
    whole[:, start:stop] = rows
    np.testing.assert_array_equal(table.find(keys)[0], whole)
    got, found = column.find(m.put(keys))
    assert m.get(found).all()
    np.testing.assert_array_equal(m.get(got), rows)
    far = n + 1000
    assert column.assign([5, far], rows[:2]).tolist() == [hf.Status.UPDATED, hf.Status.NOT_FOUND]
    assert column.insert([5, far], rows[:2]).tolist() == [hf.Status.EXISTS, hf.Status.INSERTED]
    got, found = column.find_or_insert([5, far + 1], rows[2:4])
    np.testing.assert_array_equal(got, rows[[0, 3]])
    assert found.tolist() == [True, False]
    got, statuses = column.insert_and_find([5, far + 2], rows[4:6])
    np.testing.assert_array_equal(got, rows[[0, 5]])
    assert statuses.tolist() == [hf.Status.EXISTS, hf.Status.INSERTED]
    ops = ["find", "erase", "insert", "find"]
    statuses, got = column.apply(ops, [5, 5, 5, 5], rows[4:8])
    assert statuses.tolist() == [hf.Status.FOUND, hf.Status.ERASED, hf.Status.INSERTED, hf.Status.FOUND]
    np.testing.assert_array_equal(got[[0, 3]], rows[[0, 6]])
    assert column.contains([5, far + 5]).tolist() == [True, False]
    assert column.erase([5, far + 5]).tolist() == [hf.Status.ERASED, hf.Status.NOT_FOUND]
    assert table.contains([5]).tolist() == [False]
    assert table.check().ok


def test_an_erased_key_comes_back_with_zeros_around_the_column(make: Make, machine: Machine) -> None:
    table = make(machine, value=24).table
    table.insert([1], np.full((1, 24), 7, np.uint8))
    table.column(8, 16).apply(["erase", "insert"], [1, 1], np.full((2, 8), 9, np.uint8))
    assert table.find([1])[0].tolist() == [[0] * 8 + [9] * 8 + [0] * 8]


def test_rows_of_a_column_in_another_type(make: Make, machine: Machine) -> None:
    m, table = machine, make(machine, value=24).table
    column = table.column(8, 16, np.float16)
    halves = np.arange(12, dtype=np.float16).reshape(3, 4)
    keys = m.put(np.arange(3, dtype=np.uint64))
    column.insert(keys, m.put(halves))
    out = m.put(np.zeros((3, 4), np.float32))
    column.find(keys, out=out)
    np.testing.assert_array_equal(m.get(out), halves)
    got, found, missing = column.find(m.put(np.array([1, 9], np.uint64)), missing=True)
    np.testing.assert_array_equal(m.get(got), [halves[1], [0] * 4])
    assert m.get(found).tolist() == [True, False]
    assert m.get(missing).tolist() == [1]
    got, found = column.find_or_insert(m.put(np.array([0, 9], np.uint64)), init=2)
    np.testing.assert_array_equal(m.get(got), [halves[0], [2] * 4])


def test_sums_of_a_column(make: Make, machine: Machine) -> None:
    table = make(machine, value=24).table
    table.insert([1], np.arange(6, dtype=np.float32).reshape(1, 6))
    middle = table.column(8, 16, np.float32)
    middle.accumulate([1, 1, 2], np.ones((3, 2), np.float32), scale=0.5)
    np.testing.assert_array_equal(table.find([1, 2], dtype=np.float32)[0], [[0, 1, 3, 4, 4, 5], [0, 0, 0.5, 0.5, 0, 0]])
    out = np.empty((2, 2), np.float32)
    assert middle.find([2, 1], out=out)[0] is out
    np.testing.assert_array_equal(out, [[0.5, 0.5], [3, 4]])
    middle.accumulate([1], np.array([[1, 9]], np.float32), op="max")
    assert middle.find([1])[0].tolist() == [[3, 9]]


def test_columns_in_two_threads(make: Make, machine: Machine) -> None:
    table = make(machine, value=16).table
    keys = np.arange(64, dtype=np.uint64)

    def add(start: int) -> None:
        column = table.column(start, start + 8, np.int64)
        for _ in range(200):
            column.accumulate(keys, np.ones(64, np.int64))

    threads = [threading.Thread(target=add, args=(start,)) for start in (0, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (table.find(keys, dtype=np.int64)[0] == 200).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.column(0, 17), hf.InvalidArgument, "bytes 0 to 17, and .* has values of 16 bytes"),
        (lambda t: t.column(8, 8), hf.InvalidArgument, "give 0 <= start < stop <= 16"),
        (lambda t: t.column(-1, 8), hf.InvalidArgument, "bytes -1 to 8"),
        (lambda t: t.column(0.0, 8), hf.InvalidType, "start is 0.0, of type float"),
        (lambda t: t.column(0, 8).assign([1], np.zeros((1, 16), np.uint8)), hf.InvalidArgument, "8 bytes"),
        (lambda t: t.column(0, 8, np.int64).find([1], dtype="S3"), hf.InvalidArgument, "dtype"),
        (lambda t: t.column(0, 6).accumulate([1], np.zeros((1, 3), np.int16)), hf.InvalidType, "int16"),
    ],
)
def test_bad_columns(make: Make, machine: Machine, call: Any, error: type[Exception], message: str) -> None:
    table = make(machine, value=16).table
    with pytest.raises(error, match=message):
        call(table)
    assert len(table) == 0


def test_values_of_any_length_have_no_columns(folder: Path, device: str) -> None:
    with hf.Table.create(folder / "pairs.hold", bytes, bytes, device=device) as pairs:
        with pytest.raises(
            hf.InvalidArgument, match=r"values of any length, as .*pairs\.hold has them, have no columns"
        ):
            pairs.column(0, 8)
