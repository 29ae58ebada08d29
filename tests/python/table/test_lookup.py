"""Lookups as embeddings need them: 16-bit sums, scaled ones, converted results, missing rows, first values."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from conftest import Machine, Make

from holdfastdb import InvalidArgument, InvalidType, ObjectClosed, ReadOnly, Status, Table, initial
from holdfastdb.libraries import NUMPY

KEYS = np.array([0, 7, 2**64 - 1, 9, 7], np.uint64)
FIRST = initial.Uniform(-0.5, 0.25, seed=11)


def first_rows(keys: np.ndarray, columns: int, init: initial.Initial = FIRST) -> np.ndarray:
    return init.rows(keys, columns, NUMPY)


@pytest.mark.parametrize("stored", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("wanted", [np.float16, np.float32, np.float64])
def test_find_converts_into_the_callers_array(machine: Machine, make: Make, stored: type, wanted: type) -> None:
    m, table = machine, make(machine, value=4 * np.dtype(stored).itemsize).table
    rows = np.array([[1, -2.5, 1 / 3, 60000], [1e-7, 0, -0.0, 3e4], [1.0009765625 + 2**-12, 2, 3, 4]], stored)
    table.insert(m.put(KEYS[:3]), m.put(rows))
    out = m.put(np.full((5, 4), 77, wanted))
    values, found = table.find(m.put(KEYS), dtype=stored, out=out)
    assert values is out
    expected = np.vstack([rows, np.zeros((1, 4), stored), rows[1:2]]).astype(wanted)
    np.testing.assert_array_equal(m.get(values), expected)
    assert m.get(found).tolist() == [True, True, True, False, True]


def test_find_converts_masked_rows_to_zero(machine: Machine, make: Make) -> None:
    m, table = machine, make(machine, value=8).table
    table.insert(m.put(KEYS[:2]), m.put(np.ones((2, 2), np.float32)))
    out = m.put(np.full((2, 2), 77, np.float16))
    mask = m.put(np.array([False, True]))
    table.find(m.put(KEYS[:2]), dtype=np.float32, out=out, mask=mask)
    assert m.get(out).tolist() == [[0, 0], [1, 1]]


def test_the_same_type_is_not_copied(machine: Machine, make: Make) -> None:
    """An array of the table's type is written by the batch itself."""
    m, table = machine, make(machine, value=8).table
    table.insert(m.put(KEYS[:1]), m.put(np.array([[1.5, 2.5]], np.float32)))
    for dtype in (None, np.float32):
        out = m.put(np.zeros((1, 2), np.float32))
        values, _ = table.find(m.put(KEYS[:1]), dtype=dtype, out=out)
        assert values is out and m.get(out).tolist() == [[1.5, 2.5]]


def test_missing_rows(machine: Machine, make: Make) -> None:
    m, table = machine, make(machine, value=8).table
    keys = np.arange(1000, dtype=np.uint64)
    table.insert(m.put(keys[::3]), m.put(np.ones(len(keys[::3]))))
    mask = keys % 5 != 0
    _, found, missing = table.find(m.put(keys), missing=True)
    np.testing.assert_array_equal(m.get(missing), np.flatnonzero(keys % 3 != 0))
    np.testing.assert_array_equal(m.get(found), keys % 3 == 0)
    _, _, missing = table.find(m.put(keys), mask=m.put(mask), missing=True)
    np.testing.assert_array_equal(m.get(missing), np.flatnonzero((keys % 3 != 0) & mask))
    assert m.get(missing).dtype == np.int64
    _, _, missing = table.find(m.put(keys[:0]), missing=True)
    assert len(missing) == 0


@pytest.mark.parametrize("init", [3, 0.5, FIRST, initial.Normal(2.0, 1.0, 5), initial.Constant(-1)], ids=str)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_find_or_insert_draws_first_rows(machine: Machine, make: Make, init: Any, dtype: type) -> None:
    m = machine
    made = make(machine, value=6 * np.dtype(dtype).itemsize)
    maker = init if isinstance(init, initial.Initial) else initial.Constant(init)
    made.table.insert(m.put(KEYS[:1]), m.put(np.full((1, 6), 9, dtype)))
    values, found = made.table.find_or_insert(m.put(KEYS), init=init, dtype=dtype)
    expected = first_rows(KEYS, 6, maker).astype(dtype)
    expected[0] = 9
    np.testing.assert_array_equal(m.get(values), expected)
    assert m.get(found).tolist() == [True, False, False, False, True]
    again, found = made.table.find_or_insert(m.put(KEYS), init=init, dtype=dtype)
    np.testing.assert_array_equal(m.get(again), expected)
    assert m.get(found).all() and made.table.check().ok
    np.testing.assert_array_equal(m.get(made.table.find(m.put(KEYS), dtype=dtype)[0]), expected)


def test_find_or_insert_into_arrays(machine: Machine, make: Make) -> None:
    m, table = machine, make(machine, value=12).table
    out, there = m.put(np.full((5, 6), 5, np.float32)), m.put(np.ones(5, bool))
    mask = m.put(np.array([True, True, False, True, True]))
    values, found = table.find_or_insert(m.put(KEYS), init=FIRST, dtype=np.float16, out=(out, there), mask=mask)
    assert values is out and found is there
    expected = first_rows(KEYS, 6).astype(np.float16).astype(np.float32)
    expected[2] = 0
    np.testing.assert_array_equal(m.get(out), expected)
    assert m.get(there).tolist() == [False, False, False, False, True] and len(table) == 3
    half = m.put(np.zeros((5, 6), np.float16))
    table.find_or_insert(m.put(KEYS), init=0, out=half)  # whose type says what values are
    np.testing.assert_array_equal(m.get(half)[:2], expected[:2].astype(np.float16))


def test_find_or_insert_tells_what_was_added_from_what_found_no_space(machine: Machine, make: Make) -> None:
    m = machine
    for with_init in (False, True):
        table = make(machine, value=1000, capacity=16, max_bytes=1 << 20).table
        keys = np.arange(3000, dtype=np.uint64)
        table.insert(m.put(keys[:10]), m.put(np.full((10, 250), 2, np.float32)))
        given = (
            {"init": 3, "dtype": np.float32} if with_init else {"values": m.put(np.full((3000, 250), 3, np.float32))}
        )
        values, found, statuses = (m.get(one) for one in table.find_or_insert(m.put(keys), statuses=True, **given))
        assert set(statuses.tolist()) == {Status.FOUND, Status.INSERTED, Status.NO_SPACE}
        np.testing.assert_array_equal(found, statuses == Status.FOUND)
        assert found[:10].all() and not found[10:].any() and len(table) == (statuses != Status.NO_SPACE).sum()
        expected = np.select([statuses == Status.FOUND, statuses == Status.INSERTED], [2, 3], 0)
        np.testing.assert_array_equal(values.reshape(3000, 250)[:, 0], expected)


HELD = [  # of elements, what they hold
    (np.uint64, 2**64 - 1), (np.uint64, 2**53 + 1), (np.int64, -(2**63)), (np.uint8, 255), (np.int16, -7),
    (np.float64, 0.1), (np.float64, 1e300), (np.float16, 65504), (np.float32, 3e38),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "number"), HELD)
def test_init_is_the_number(device: str, make: Make, dtype: type, number: float) -> None:
    table = make(Machine(device), value=8).table
    expected = np.full((5, 8 // np.dtype(dtype).itemsize), number, dtype).reshape(5, -1)
    for init in (number, initial.Constant(number)):
        got, _ = table.find_or_insert(KEYS, init=init, dtype=dtype)
        np.testing.assert_array_equal(got.reshape(5, -1), expected)


NOT_HELD: list[tuple[type, Any, str]] = [
    (np.uint64, 2**64, "uint64 holds whole numbers from 0 to 18446744073709551615"),
    (np.uint64, -1, "uint64 holds whole numbers"),
    (np.uint64, 1.5, "init is 1.5, and uint64 holds whole numbers"),
    (np.uint8, 300.7, "init is 300.7, and uint8 holds whole numbers from 0 to 255"),
    (np.uint8, initial.Constant(256), "uint8 holds whole numbers from 0 to 255"),
    (np.int32, initial.Uniform(0, 10), "fractions, and dtype is int32"),
    (np.int32, initial.Normal(), "fractions, and dtype is int32"),
    (np.float16, 70000, "float16 holds 65504 at most"),
    (np.float16, initial.Uniform(0, 1e5), "float16 holds 65504 at most"),
    (np.float16, initial.Normal(3e4), "float16 holds 65504 at most"),
    (np.float32, 1e39, "float32 holds 3.40282e[+]38 at most"),
    (np.float64, 10**400, "a finite number"),
    (np.uint64, lambda keys: np.full(len(keys), 1.5), "init gave rows of float64, and dtype is uint64"),
    (np.float64, lambda keys: np.ones(len(keys), np.int64), "init gave rows of int64, and dtype is float64"),
    (np.uint64, lambda keys: np.arange(len(keys)) - 2, "init gave -2, and uint64 holds 0 to"),
    (np.float16, lambda keys: np.full((len(keys), 4), 7e4), "init gave 70000.0, and float16 holds"),
]


@pytest.mark.parametrize(("dtype", "init", "text"), NOT_HELD)
def test_init_that_its_type_cannot_hold(device: str, make: Make, dtype: type, init: Any, text: str) -> None:
    table = make(Machine(device), value=8).table
    with pytest.raises(InvalidArgument, match=text):
        table.find_or_insert(KEYS, init=init, dtype=dtype)
    assert len(table) == 0


def test_a_function_makes_first_rows(machine: Machine, make: Make) -> None:
    m, table = machine, make(machine, value=8).table
    asked: list[int] = []

    def make_rows(keys: Any) -> Any:
        asked.append(len(keys))
        return m.put(np.stack([m.get(keys).astype(np.uint64) % 10, np.ones(len(keys))], 1).astype(np.float64))

    table.insert(m.put(KEYS[:1]), m.put(np.zeros((1, 2), np.float32)))
    values, _ = table.find_or_insert(m.put(KEYS), init=make_rows, dtype=np.float32)
    assert m.get(values).tolist() == [[0, 0], [7, 1], [5, 1], [9, 1], [7, 1]]
    assert asked == [4 if m.library == "numpy" else 5]  # in GPU memory, for all: nothing waits for the host


def test_first_rows_depend_on_key_and_seed_alone() -> None:
    keys = np.random.default_rng(1).integers(0, 2**63, 5000).astype(np.uint64)
    for kind in (initial.Uniform(-2, 3, 4), initial.Normal(1.5, -1, 4)):
        rows = first_rows(keys, 33, kind)
        order = np.random.default_rng(2).permutation(len(keys))[:100]
        np.testing.assert_array_equal(first_rows(keys[order], 33, kind), rows[order])
        np.testing.assert_array_equal(first_rows(keys[:9], 5, kind), rows[:9, :5])
        other = first_rows(keys, 33, type(kind)(*[*vars(kind).values()][:2], seed=5))
        assert (other != rows).mean() > 0.99
        assert len(np.unique(rows)) > 0.9 * min(rows.size, 1 << 17)
    uniform, normal = first_rows(keys, 33, initial.Uniform(-2, 3)), first_rows(keys, 33, initial.Normal(1.5, -1))
    # 165,000 draws: these bounds are more than ten standard errors wide, and the draws are always the same.
    assert uniform.min() >= -2 and uniform.max() <= 3 and abs(uniform.mean() - 0.5) < 0.05
    assert abs(uniform.std() - 5 / 12**0.5) < 0.02
    assert abs(normal.mean() + 1) < 0.05 and abs(normal.std() - 1.5) < 0.03 and np.abs(normal + 1).max() <= 6.1
    assert abs((normal < -1 - 1.5).mean() - 0.1587) < 0.01


def test_scaled_sums(machine: Machine, make: Make) -> None:
    for dtype in (np.float16, np.float32, np.float64):
        for columns in (1, 3, 8):
            m, table = machine, make(machine, value=columns * np.dtype(dtype).itemsize).table
            gradients = np.arange(5 * columns, dtype=dtype).reshape(5, columns)
            statuses = table.accumulate(m.put(KEYS), m.put(gradients), scale=-0.25)
            assert m.get(statuses).tolist() == [Status.INSERTED] * 4 + [Status.UPDATED]
            expected = -0.25 * gradients.astype(np.float64)
            expected[1] = expected[4] = expected[1] + expected[4]
            values, _ = table.find(m.put(KEYS), dtype=dtype)
            np.testing.assert_array_equal(m.get(values).reshape(5, columns), expected.astype(dtype))


def test_sums_of_16_bits_are_rounded_to_even(device: str, make: Make) -> None:
    table = make(Machine(device), value=8).table
    table.insert([1], np.array([[2048, 2050, 65504, 1]], np.float16))
    table.accumulate([1], np.array([[1, 1, 32, 2**-11]], np.float16))
    assert table.find([1], dtype=np.float16)[0].tolist() == [[2048, 2052, np.inf, 1]]
    table.accumulate([1], np.array([[3, 0, 0, 0]], np.float16), scale=0.5)  # 1.5: the product is not rounded
    assert table.find([1], dtype=np.float16)[0][0, 0] == 2050


def test_find_or_insert_from_many_threads(device: str, make: Make) -> None:
    """Whoever comes first, all see the same rows, and each key is inserted once."""
    table = make(Machine(device), value=16, capacity=16).table
    keys = np.random.default_rng(3).integers(0, 3000, (4, 20, 400)).astype(np.uint64)
    inserted, wrong = [0] * 4, []

    def work(number: int) -> None:
        for batch in keys[number]:
            values, found = table.find_or_insert(batch, init=FIRST, dtype=np.float32)
            inserted[number] += int((~found).sum())
            if not np.array_equal(values, first_rows(batch, 4)):
                wrong.append(batch)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and sum(inserted) == len(table) == len(np.unique(keys))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda t: t.find(KEYS, dtype=np.float32, out=np.zeros((5, 3), np.float16)), InvalidArgument, "5 rows of 4"),
        (lambda t: t.find(KEYS, dtype=np.float32, out=np.zeros((4, 2), np.float16)), InvalidArgument, "give 5 rows"),
        (lambda t: t.find(KEYS, dtype=np.float32, out=np.zeros((5, 4), np.float16)[:, ::2]), InvalidArgument,
         "not contiguous"),
        (lambda t: t.find(KEYS, dtype=np.float32, out=np.zeros((5, 2), np.int16)), InvalidArgument, "give 5 rows of 8"),
        (lambda t: t.find_or_insert(KEYS, init=0.5), InvalidType, "give dtype="),
        (lambda t: t.find_or_insert(KEYS, init="zeros", dtype=np.float32), InvalidType, "give a number"),
        (lambda t: t.find_or_insert(KEYS, np.zeros((5, 2), np.float32), init=0), InvalidArgument, "both given"),
        (lambda t: t.find_or_insert(KEYS, init=lambda keys: None, dtype=np.float32), InvalidType, "gives an array"),
        (lambda t: t.find_or_insert(KEYS, init=lambda keys: np.zeros((len(keys), 3)), dtype=np.float32),
         InvalidArgument, "12 bytes a row"),
        (lambda t: t.find_or_insert(KEYS, init=0, dtype=np.dtype("V3")), InvalidArgument, "does not divide"),
        (lambda t: t.accumulate(KEYS, np.zeros((5, 2), np.int32), scale=2), InvalidArgument, "leave it at 1"),
        (lambda t: t.accumulate(KEYS, np.zeros((5, 2), np.float32), op="max", scale=2), InvalidArgument, "leave it at"),
        (lambda t: t.accumulate(KEYS, np.zeros((5, 2), np.float32), scale=np.nan), InvalidArgument, "finite"),
        (lambda t: t.accumulate(KEYS, np.zeros((5, 2), np.float32), scale="2"), InvalidType, "give a number"),
        (lambda t: initial.Uniform(1, 0), InvalidArgument, "lower one first"),
        (lambda t: initial.Uniform(0, np.inf), InvalidArgument, "finite"),
        (lambda t: initial.Normal(-1), InvalidArgument, "0 or more"),
        (lambda t: initial.Normal(1, seed=0.5), InvalidType, "whole number"),
        (lambda t: initial.Constant("1"), InvalidType, "give a number"),
    ],
)  # fmt: skip
def test_bad_input(make: Make, call: Any, kind: type, words: str) -> None:
    made = make(Machine("cpu"), value=8)
    with pytest.raises(kind, match=words):
        call(made.table)
    assert len(made.table) == 0 and made.table.check().ok


def test_a_closed_or_read_only_table(make: Make) -> None:
    table = make(Machine("cpu"), value=8).table
    table.find_or_insert(KEYS, init=0, dtype=np.float32)
    table.close()
    with pytest.raises(ObjectClosed):
        table.find_or_insert(KEYS, init=0, dtype=np.float32)
    with Table.open(table.path, device="cpu", mode="r") as reader, pytest.raises(ReadOnly):
        reader.find_or_insert(KEYS, init=0, dtype=np.float32)
