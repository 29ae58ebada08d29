"""Columns of values: what they change, what they leave, and what they refuse."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from conftest import GPUS, Machine, Make

import holdfast as hf

CPU = Machine("cpu")


@pytest.mark.parametrize(("size", "start", "stop"), [(8, 2, 6), (24, 0, 8), (24, 20, 24), (300, 100, 299), (16, 0, 16)])
def test_a_column_changes_its_bytes_alone(make: Make, size: int, start: int, stop: int) -> None:
    rng = np.random.default_rng(size)
    table = make(CPU, value=size).table
    keys = np.arange(200, dtype=np.uint64)
    whole = rng.integers(0, 256, (200, size), np.uint8)
    table.insert(keys[:100], whole[:100])
    whole[100:] = 0
    column = table.column(start, stop)
    rows = rng.integers(0, 256, (200, stop - start), np.uint8)
    statuses = column.insert_or_assign(keys, rows)
    assert statuses.tolist() == [hf.Status.UPDATED] * 100 + [hf.Status.INSERTED] * 100
    whole[:, start:stop] = rows
    np.testing.assert_array_equal(table.find(keys)[0], whole)
    got, found = column.find(keys)
    assert found.all()
    np.testing.assert_array_equal(got, rows)
    assert column.assign([5, 1000], rows[:2]).tolist() == [hf.Status.UPDATED, hf.Status.NOT_FOUND]
    assert column.insert([5, 1000], rows[:2]).tolist() == [hf.Status.EXISTS, hf.Status.INSERTED]
    got, found = column.find_or_insert([5, 2000], rows[2:4])
    np.testing.assert_array_equal(got, rows[[0, 3]])
    assert found.tolist() == [True, False]
    assert table.check().ok


def test_sums_of_a_column(make: Make) -> None:
    table = make(CPU, value=24).table
    table.insert([1], np.arange(6, dtype=np.float32).reshape(1, 6))
    middle = table.column(8, 16, np.float32)
    middle.accumulate([1, 1, 2], np.ones((3, 2), np.float32), scale=0.5)
    np.testing.assert_array_equal(table.find([1, 2], dtype=np.float32)[0], [[0, 1, 3, 4, 4, 5], [0, 0, 0.5, 0.5, 0, 0]])
    out = np.empty((2, 2), np.float32)
    assert middle.find([2, 1], out=out)[0] is out
    np.testing.assert_array_equal(out, [[0.5, 0.5], [3, 4]])
    middle.accumulate([1], np.array([[1, 9]], np.float32), op="max")
    assert middle.find([1])[0].tolist() == [[3, 9]]


def test_columns_in_two_threads(make: Make) -> None:
    table = make(CPU, value=16).table
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
def test_bad_columns(make: Make, call: Any, error: type[Exception], message: str) -> None:
    table = make(CPU, value=16).table
    with pytest.raises(error, match=message):
        call(table)
    assert len(table) == 0


@pytest.mark.skipif(not GPUS, reason="no GPU")
def test_a_gpu_says_that_it_has_none(make: Make) -> None:
    table = make(Machine("cuda"), value=16).table
    with pytest.raises(hf.InvalidArgument, match="columns of values are for tables on the CPU"):
        table.column(0, 8).find([1])
