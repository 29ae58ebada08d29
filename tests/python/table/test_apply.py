"""Mixed batches: an operation of its own for each key."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import Checked, Machine, Make

from holdfastdb import Op, Status


def apply(checked: Checked, ops: np.ndarray, keys: np.ndarray, values: np.ndarray, **options: object) -> None:
    m = checked.machine
    expected = checked.model.run(ops, keys, values, options.get("mask"), options.get("combine", "add"))
    if options.get("mask") is not None:
        options["mask"] = m.put(options["mask"])
    statuses, rows = checked.table.apply(m.put(ops), m.put(keys), m.put(values), **options)
    np.testing.assert_array_equal(m.get(statuses), expected.statuses)
    checked.same_values(expected.values, rows)


@pytest.mark.parametrize("combine", ["add", "min", "max"])
@pytest.mark.parametrize("size", [4, 8, 12, 128])
def test_array_order(machine: Machine, make: Make, size: int, combine: str) -> None:
    rng = np.random.default_rng([size, len(combine)])
    checked = make(machine, value=size, capacity=100)
    for n in (1, 7, 500, 3000):
        ops = rng.integers(0, len(Op), n).astype(np.uint8)
        keys = rng.integers(0, 1 + n // 5, n).astype(np.uint64)
        values = rng.integers(0, 2**32, (n, size // 4)).astype(np.uint32)
        apply(checked, ops, keys, values, combine=combine)
        apply(checked, ops, keys, values, combine=combine, mask=rng.random(n) < 0.7)
    checked.agree()


def test_array_order_in_a_set(machine: Machine, make: Make) -> None:
    rng = np.random.default_rng(1)
    checked = make(machine, value=0)
    ops = rng.choice([op for op in Op if op is not Op.ACCUMULATE], 2000).astype(np.uint8)
    apply(checked, ops, rng.integers(0, 300, 2000).astype(np.uint64), np.zeros((2000, 0), np.uint8))
    checked.agree()


def test_reads_among_changes_of_a_large_batch(machine: Machine, make: Make) -> None:
    """Several threads on a CPU, and phases on a GPU."""
    rng = np.random.default_rng(2)
    checked = make(machine, value=16)
    before = np.arange(1000, dtype=np.uint64)
    checked.run(Op.INSERT, before, np.full((1000, 2), 7, np.uint64))
    n = 40_000
    ops = rng.choice([Op.FIND, Op.INSERT_OR_ASSIGN, Op.ERASE, Op.CONTAINS], n, p=[0.5, 0.3, 0.1, 0.1]).astype(np.uint8)
    keys = rng.integers(0, 2000, n).astype(np.uint64)
    values = np.repeat(np.arange(10_000, 10_000 + n, dtype=np.uint64)[:, None], 2, axis=1)
    apply(checked, ops, keys, values)
    checked.agree()


def test_operations_by_name(device: str, make: Make) -> None:
    checked = make(Machine(device), value=8)
    statuses, values = checked.table.apply(["insert", Op.FIND, 5, "contains"], [1, 1, 1, 1], [5, 0, 0, 0])
    assert statuses.tolist() == [Status.INSERTED, Status.FOUND, Status.ERASED, Status.NOT_FOUND]
    assert values.dtype == np.int64 and values.tolist() == [0, 5, 0, 0]


def test_reads_and_erases_need_no_values(device: str, make: Make) -> None:
    checked = make(Machine(device), value=128)
    checked.run(Op.INSERT, np.arange(10, dtype=np.uint64), np.ones((10, 128), np.uint8))
    statuses, values = checked.table.apply(["find", "erase", "contains"], [3, 4, 99])
    assert statuses.tolist() == [Status.FOUND, Status.ERASED, Status.NOT_FOUND]
    assert values.shape == (3, 128) and values[0].all() and not values[1:].any()


def test_unique_promise(machine: Machine, make: Make) -> None:
    rng = np.random.default_rng(3)
    checked = make(machine, value=12)
    for _ in range(5):
        keys = rng.permutation(1000)[:600].astype(np.uint64)
        ops = rng.integers(0, len(Op), 600).astype(np.uint8)
        apply(checked, ops, keys, rng.integers(0, 2**32, (600, 3)).astype(np.uint32), unique=True)
    checked.agree()
