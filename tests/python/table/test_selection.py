"""Operations on selected items, and exports of a table that changes meanwhile."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Machine, Make

import holdfastdb as hf


def filled(make: Make, machine: Machine, n: int, **options: Any) -> hf.Table:
    """Keys 0 to n - 1, each with its square and its negative as a value."""
    table = make(machine, value=16, capacity=n, **options).table
    keys = np.arange(n, dtype=np.int64)
    table.insert(keys, np.stack([keys * keys, -keys], 1))
    return table


def test_a_range_of_keys(machine: Machine, make: Make) -> None:
    table = filled(make, machine, 5000)
    assert table.size_if() == 5000
    assert table.size_if(100, 199) == 100
    assert table.size_if(last=9) == 10 and table.size_if(4990) == 10
    assert table.size_if(b"\x05" + bytes(7), np.uint64(6)) == 2
    assert table.erase_if(1000, 1999) == 1000
    assert table.erase_if(1000, 1999) == 0
    assert len(table) == 4000 and 999 in table and 1000 not in table and 2000 in table
    assert table.check().ok


def test_a_predicate_over_arrays(machine: Machine, make: Make) -> None:
    table = filled(make, machine, 5000)

    def large(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        assert keys.dtype == np.uint64 and values.dtype == np.int64 and values.shape == (len(keys), 2)
        np.testing.assert_array_equal(values[:, 1], -keys.astype(np.int64))
        return values[:, 0] >= 1_000_000

    assert table.size_if(where=large, dtype=np.int64) == 4000
    assert table.erase_if(2000, where=large, dtype=np.int64) == 3000
    assert sorted(table) == list(range(2000))
    keys, values, cursor = table.export_if(last=1499, where=large, dtype=np.int64)
    assert cursor is None and sorted(keys.tolist()) == list(range(1000, 1500))
    assert values is not None and (values[:, 0] == keys.astype(np.int64) ** 2).all()
    assert table.size_if(where=lambda keys, values: values[:, 0] > 7) == 2000 - (np.arange(2000) ** 2 % 256 <= 7).sum()


def test_an_export_of_some_in_pieces(machine: Machine, make: Make) -> None:
    table = filled(make, machine, 3000)
    seen: list[int] = []
    cursor: int | None = 0
    while cursor is not None:
        keys, nothing, cursor = table.export_if(70, cursor, first=10, last=1009, values=False)
        assert nothing is None and (len(keys) == 70 or cursor is None)
        seen += keys.tolist()
    assert sorted(seen) == list(range(10, 1010))


def test_what_a_predicate_raises_comes_out(machine: Machine, make: Make) -> None:
    table = filled(make, machine, 1000)

    def fails(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        raise KeyError("who?")

    with pytest.raises(KeyError, match="who"):
        table.erase_if(where=fails)
    with pytest.raises(hf.InvalidArgument, match=r"predicate of erase_if .* changes"):
        table.erase_if(where=lambda keys, values: table.erase(keys) == 0)
    for wrong in (lambda k, v: True, lambda k, v: k, lambda k, v: k[:5] == 0):
        with pytest.raises(hf.InvalidArgument, match=r"where returned .* one bool for each of the"):
            table.size_if(where=wrong)
    assert len(table) == 1000 and table.check().ok
    assert table.erase_if(where=lambda keys, values: table.contains(keys) & (keys % 2 == 0)) == 500


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"first": -1}, hf.InvalidArgument, r"first is -1: give 0 to 2\*\*64 - 1"),
        ({"last": 1 << 64}, hf.InvalidArgument, "last is 18446744073709551616"),
        ({"first": 1.5}, hf.InvalidType, "first is 1.5, of type float: give a whole number, or None"),
        ({"first": True}, hf.InvalidType, "of type bool"),
        ({"last": b"abc"}, hf.InvalidArgument, "last is 3 bytes, and the table's keys have 8"),
        ({"where": 5}, hf.InvalidType, "where is of type int: give a function"),
        ({"where": len, "dtype": "S3"}, hf.InvalidArgument, "dtype"),
    ],
)
def test_bad_selections(make: Make, arguments: Any, error: type[Exception], message: str) -> None:
    table = filled(make, Machine("cpu"), 10)
    for method in (table.erase_if, table.size_if, table.export_if):
        with pytest.raises(error, match=message):
            method(**arguments)
    assert len(table) == 10


def test_a_read_only_or_closed_table(folder: Path) -> None:
    with hf.Table.create(folder / "a.hold", device="cpu") as table:
        table.insert([1, 2], np.arange(2))
    with pytest.raises(hf.ObjectClosed):
        table.size_if()
    with hf.Table.open(folder / "a.hold", mode="r", device="cpu") as table:
        assert table.size_if(2) == 1
        with pytest.raises(hf.ReadOnly):
            table.erase_if()


def test_ctrl_c_ends_a_long_one(make: Make) -> None:
    table = filled(make, Machine("cpu"), 100_000)
    asked = threading.Event()

    def slow(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        if not asked.is_set():
            asked.set()
            signal.raise_signal(signal.SIGINT)
        return keys >= 0

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            table.erase_if(where=slow)
    finally:
        signal.signal(signal.SIGINT, before)
    assert table.check().ok and len(table) == table.size_if()


def test_items_while_the_table_changes_and_grows(machine: Machine, make: Make) -> None:
    table = filled(make, machine, 2000)
    capacity = table.capacity
    seen: list[int] = []
    for key, _ in table.items(batch=64):
        if key < 2000:
            seen.append(key)
            more = np.arange(4, dtype=np.uint64) + np.uint64(2000 + 4 * key)
            table.insert(more, np.zeros((4, 16), np.uint8))
    assert table.capacity > capacity
    assert sorted(seen) == list(range(2000))


def test_exports_left_behind_are_forgotten(make: Make) -> None:
    table = filled(make, Machine("cpu"), 100)
    _, _, first = table.export_batch(10)
    for _ in range(100):  # each is over when its iterator goes
        assert next(iter(table)) in table
    assert first is not None
    table.export_batch(10, first)
    with pytest.raises(hf.InvalidArgument, match="no export under way"):
        table.export_batch(10, first)
