"""Masks and operation codes that do not lie one after another, and results that share memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfastdb as hf
from holdfastdb import Op, Status

N = 64
KEYS = np.arange(N, dtype=np.uint64)
CHOSEN = (KEYS * 7 % 5 < 2) | (KEYS == 3)
"""Not the same read backwards, or one row later."""
CODES = np.array([(Op.FIND, Op.ERASE, Op.INSERT, Op.ASSIGN, Op.CONTAINS)[i * i % 5] for i in range(N)], np.uint8)
Layout = Callable[[np.ndarray], Any]


def apart(array: np.ndarray, step: int) -> np.ndarray:
    """The same elements, `step` from each other, with others in between."""
    wide = np.ones(step * len(array), array.dtype) if step > 0 else np.ones(-step * len(array), array.dtype)
    view = wide[::step]
    view[:] = array
    return view


def column(array: np.ndarray) -> np.ndarray:
    table = np.ones((len(array), 3), array.dtype)
    table[:, 1] = array
    return table[:, 1]


def field(array: np.ndarray) -> np.ndarray:
    records = np.ones(len(array), [("a", "u4"), ("b", array.dtype), ("c", "u2")])
    records["b"] = array
    return records["b"]


def tensor(array: np.ndarray) -> Any:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return torch.from_numpy(apart(array, 3))


LAYOUTS: dict[str, Layout] = {
    "every second": lambda array: apart(array, 2),
    "every fifth": lambda array: apart(array, 5),
    "reversed": lambda array: apart(array, -1),
    "every third, reversed": lambda array: apart(array, -3),
    "a column": column,
    "a field": field,
    "a part": lambda array: np.concatenate([np.ones(5, array.dtype), array, np.ones(5, array.dtype)])[5:-5],
    "PyTorch's": tensor,
    "read-only": lambda array: np.frombuffer(array.tobytes(), array.dtype),
}
EACH = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


def new_table(folder: Path, kind: str) -> Any:
    if kind == "memory":
        return hf.MemoryTable(capacity=4 * N)
    return hf.Table.create(folder / "items.hold", device="cpu")


@pytest.fixture(params=["durable", "memory"])
def table(request: pytest.FixtureRequest, folder: Path) -> Any:
    return new_table(folder, request.param)


@EACH
@pytest.mark.parametrize("kind", [bool, np.uint8])
def test_masks(table: Any, layout: Layout, kind: type) -> None:
    def mask() -> Any:
        made = layout(CHOSEN.astype(kind))
        assert np.array_equal(np.asarray(made).astype(bool), CHOSEN)
        return made

    def ran(statuses: Any, status: Status) -> None:
        expected = np.where(CHOSEN, status, Status.NOT_RUN)
        np.testing.assert_array_equal(np.asarray(statuses), expected)

    ran(table.insert(KEYS, KEYS + 100, mask=mask()), Status.INSERTED)
    np.testing.assert_array_equal(np.sort(np.array(list(table), np.uint64)), KEYS[CHOSEN])
    ran(table.insert_or_assign(KEYS, KEYS + 200, mask=mask()), Status.UPDATED)
    ran(table.assign(KEYS, KEYS + 300, mask=mask()), Status.UPDATED)
    ran(table.accumulate(KEYS, KEYS, mask=mask()), Status.UPDATED)
    table.insert(KEYS, KEYS)
    values, found = table.find(KEYS, mask=mask(), dtype=np.uint64)
    np.testing.assert_array_equal(found, CHOSEN)
    np.testing.assert_array_equal(values, np.where(CHOSEN, 2 * KEYS + 300, 0))
    np.testing.assert_array_equal(table.contains(KEYS, mask=mask()), CHOSEN)
    ran(table.insert_and_find(KEYS, KEYS, mask=mask()).statuses, Status.EXISTS)
    np.testing.assert_array_equal(table.find_or_insert(KEYS, KEYS, mask=mask()).found, CHOSEN)
    ran(table.erase(KEYS, mask=mask()), Status.ERASED)
    np.testing.assert_array_equal(np.sort(np.array(list(table), np.uint64)), KEYS[~CHOSEN])
    found_or_not = table.find_or_insert(KEYS, init=7, dtype=np.uint64, mask=mask())
    np.testing.assert_array_equal(found_or_not.values, np.where(CHOSEN, 7, 0))


@EACH
def test_codes(folder: Path, table: Any, layout: Layout) -> None:
    """The batch of a list of operations, which lie one after another, is what each other form must do."""
    expected = hf.Table.create(folder / "expected.hold", device="cpu")
    for one in (table, expected):
        one.insert(KEYS[::2], KEYS[::2])
    codes = layout(CODES)
    assert np.array_equal(np.asarray(codes), CODES)
    wanted = expected.apply([Op(int(code)) for code in CODES], KEYS, KEYS + 9)
    got = table.apply(codes, KEYS, KEYS + 9)
    np.testing.assert_array_equal(got.statuses, wanted.statuses)
    np.testing.assert_array_equal(got.values, wanted.values)
    assert sorted(table.items()) == sorted(expected.items())
    masked = table.apply(codes, KEYS, KEYS + 9, mask=layout(CHOSEN))
    np.testing.assert_array_equal(np.asarray(masked.statuses) == Status.NOT_RUN, ~CHOSEN)


def test_codes_and_masks_of_tables_of_any_length(folder: Path) -> None:
    table = hf.Table.create(folder / "any.hold", bytes, bytes, device="cpu")
    keys = [b"%d" % i for i in range(N)]
    table.insert(keys, keys, mask=apart(CHOSEN, -3))
    assert sorted(table) == sorted(key for key, chosen in zip(keys, CHOSEN, strict=True) if chosen)
    statuses = table.apply(apart(np.where(CHOSEN, Op.ERASE, Op.INSERT).astype(np.uint8), 5), keys, keys).statuses
    np.testing.assert_array_equal(statuses, np.where(CHOSEN, Status.ERASED, Status.INSERTED))


# Results that share memory.

Pair = Callable[[], tuple[Any, Any]]


def one_behind(rows: int, row: int, shift: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and as many bytes that begin `shift` bytes behind their begin."""
    memory = np.zeros(rows * row + rows, np.uint8)
    return memory[: rows * row].reshape(rows, row), memory[shift : shift + rows]


SHIFTS = [0, 1, 8 * N - N, 8 * N - 1]
SCORED = [0, 8 * N - 1]


@pytest.mark.parametrize("shift", SHIFTS)
def test_results_of_one_call_do_not_overlap(table: Any, shift: int) -> None:
    table.insert(KEYS, KEYS)
    calls: list[tuple[type, bool, Callable[[Any], Any]]] = [
        (np.bool_, False, lambda out: table.find(KEYS, out=out)),
        (np.bool_, False, lambda out: table.find(KEYS, out=out, missing=True)),
        (np.bool_, False, lambda out: table.find_or_insert(KEYS, KEYS, out=out)),
        (np.bool_, False, lambda out: table.find_or_insert(KEYS, init=1, dtype=np.int64, out=out)),
        (np.uint8, False, lambda out: table.insert_and_find(KEYS, KEYS, out=out)),
        (np.uint8, True, lambda out: table.apply(CODES, KEYS, KEYS, out=out)),
        (np.bool_, False, lambda out: table.find(KEYS, dtype=np.float32, out=out)),
    ]
    for kind, swapped, call in calls:
        rows, flags = one_behind(N, 8, shift)
        pair = (rows, flags.view(kind))
        if call is calls[-1][2]:
            memory = np.zeros(N * 17, np.uint8)
            pair = (memory[: 16 * N].view(np.float64).reshape(N, 2), memory[shift : shift + N].view(kind))
        with pytest.raises(hf.InvalidArgument, match="out overlaps out in memory"):
            call(pair[::-1] if swapped else pair)
    assert sorted(table.items(dtype=np.uint64)) == [(key, key) for key in KEYS.tolist()]


@pytest.mark.parametrize("shift", SCORED)
def test_scores_and_found_do_not_overlap(folder: Path, shift: int) -> None:
    table = hf.Table.create(folder / "scored.hold", score="step", device="cpu")
    rows, flags = one_behind(N, 8, shift)
    with pytest.raises(hf.InvalidArgument, match="out overlaps out in memory"):
        table.scores(KEYS, out=(rows.view(np.uint64).reshape(N), flags.view(bool)))


def test_converted_results_do_not_overlap_what_is_read(table: Any) -> None:
    """They are written once the batch has run, when keys, mask and values may still be the caller's."""
    table.insert(KEYS, KEYS)
    memory = np.zeros(16 * N, np.uint8)
    out, keys, mask = memory.view(np.float64).reshape(N, 2), memory[8 * N :].view(np.uint64), memory[:N].view(bool)
    keys[:] = KEYS
    with pytest.raises(hf.InvalidArgument, match="out overlaps keys"):
        table.find(keys, dtype=np.float32, out=out)
    with pytest.raises(hf.InvalidArgument, match="out overlaps mask"):
        table.find(KEYS, dtype=np.float32, out=out, mask=mask)
    with pytest.raises(hf.InvalidArgument, match="out overlaps keys"):
        table.find_or_insert(keys, init=1, dtype=np.float32, out=out)
    np.testing.assert_array_equal(keys, KEYS)


def test_results_beside_each_other_are_written(table: Any) -> None:
    table.insert(KEYS, KEYS + 5)
    rows, flags = one_behind(N, 8, 8 * N)
    table.find(KEYS, out=(rows, flags.view(bool)))
    np.testing.assert_array_equal(rows.view(np.uint64).reshape(N), KEYS + 5)
    assert flags.all()
