"""accumulate: add, min and max over every element type, repeated keys combined."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import Machine, Make

from holdfastdb import Op, Status

ELEMENTS = [np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64]


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Any integers, so that sums wrap; floats that are whole and small, so that sums are exact in any order."""
    if np.issubdtype(dtype, np.floating):
        return rng.integers(-1000, 1000, shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("combine", ["add", "min", "max"])
@pytest.mark.parametrize("dtype", ELEMENTS, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("elements", [1, 2, 16])
def test_against_a_dict(machine: Machine, make: Make, dtype: type, combine: str, elements: int) -> None:
    rng = np.random.default_rng([elements, len(combine), np.dtype(dtype).num])
    checked = make(machine, value=elements * np.dtype(dtype).itemsize, capacity=50)
    for n in (1, 300, 1000):
        keys = rng.choice(np.array([0, 1, 2, 2**64 - 1, *range(50, 150)], np.uint64), n)
        checked.run(Op.ACCUMULATE, keys, draw(rng, (n, elements), dtype), op=combine)
        checked.run(Op.ACCUMULATE, keys, draw(rng, (n, elements), dtype), op=combine, mask=rng.random(n) < 0.5)
    checked.agree()


@pytest.mark.parametrize(
    ("dtype", "start", "step", "expected"),
    [
        (np.int32, 2**31 - 1, 1, -(2**31)),
        (np.uint32, 2**32 - 1, 2, 1),
        (np.int64, 2**63 - 1, 1, -(2**63)),
        (np.uint64, 2**64 - 1, 2, 1),
    ],
)
def test_integers_wrap(device: str, make: Make, dtype: type, start: int, step: int, expected: int) -> None:
    checked = make(Machine(device), value=np.dtype(dtype).itemsize)
    checked.table.insert([5], np.array([start], dtype))
    assert checked.table.accumulate([5], np.array([step], dtype)).tolist() == [Status.UPDATED]
    values, _ = checked.table.find([5], dtype=dtype)
    assert values.tolist() == [expected]


def test_floats_keep_signs_and_infinities(device: str, make: Make) -> None:
    checked = make(Machine(device), value=8)
    keys = np.arange(3, dtype=np.uint64)
    checked.table.insert(keys, np.array([-1.5, np.inf, 1e308]))
    checked.table.accumulate(keys, np.array([0.25, 1.0, 1e308]))
    values, _ = checked.table.find(keys, dtype=np.float64)
    assert values.tolist() == [-1.25, np.inf, np.inf]
    checked.table.accumulate(keys, np.array([-np.inf, -2.0, 3.0]), op="min")
    values, _ = checked.table.find(keys, dtype=np.float64)
    assert values.tolist() == [-np.inf, -2.0, 3.0]


def test_a_counter(machine: Machine, make: Make) -> None:
    checked = make(machine, value=8, capacity=16)
    words = np.random.default_rng(1).zipf(1.5, 50_000).astype(np.uint64)
    m = machine
    checked.table.accumulate(m.put(words), m.put(np.ones(len(words), np.uint64)))
    distinct, counts = np.unique(words, return_counts=True)
    values, found = checked.table.find(m.put(distinct), dtype=np.uint64)
    assert m.get(found).all()
    np.testing.assert_array_equal(m.get(values), counts.astype(np.uint64))
    assert len(checked.table) == len(distinct)
