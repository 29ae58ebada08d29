"""What may be given as keys, values, masks and `out`, and in which kind of array results come back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import Machine, Make

from holdfastdb import Op, Status, Table

KEYS = np.array([0, 1, 5, 2**63, 2**64 - 1], np.uint64)


@pytest.fixture
def table(device: str, make: Make) -> Table:
    """Five items of 16 bytes."""
    table = make(Machine(device), value=16).table
    table.insert(KEYS, np.arange(10, dtype=np.int64).reshape(5, 2))
    return table


@pytest.mark.parametrize(
    "keys",
    [
        KEYS.view(np.int64),
        KEYS.view(np.uint8).reshape(5, 8),
        KEYS.view("S8"),
        KEYS.view("V8"),
        KEYS.tolist(),
        tuple(KEYS.tolist()),
        list(KEYS),
        [key.tobytes() for key in KEYS],
        np.repeat(KEYS, 3)[::3],
        np.asfortranarray(KEYS.view(np.uint8).reshape(5, 8)),
        np.concatenate([np.zeros(1, np.uint8), KEYS.view(np.uint8)])[1:].reshape(5, 8),
        np.concatenate([np.zeros(1, np.uint8), KEYS.view(np.uint8)])[1:].view(np.uint64),
        memoryview(KEYS),
    ],
    ids=["int64", "bytes", "S8", "V8", "list", "tuple", "scalars", "list of bytes", "strided", "fortran", "odd address",
         "unaligned", "memoryview"],
)  # fmt: skip
def test_kinds_of_keys(table: Table, keys: Any) -> None:
    values, found = table.find(np.asarray(keys) if isinstance(keys, memoryview) else keys, dtype=np.int64)
    assert found.tolist() == [True] * 5
    assert values.ravel().tolist() == list(range(10))


def test_read_only_inputs(table: Table) -> None:
    keys, values = KEYS.copy(), np.zeros((5, 16), np.uint8)
    keys.flags.writeable = values.flags.writeable = False
    assert (table.insert(keys, values) == Status.EXISTS).all()
    assert table.contains(keys).all()


@pytest.mark.parametrize("key", [5, np.uint64(5), np.int64(5), np.array(5)])
def test_one_key(table: Table, key: Any) -> None:
    values, found = table.find(key, dtype=np.int64)
    assert values.tolist() == [[4, 5]] and found.tolist() == [True]
    assert key in table


def test_a_range_of_keys(table: Table) -> None:
    assert table.contains(range(4)).tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    "values",
    [
        np.arange(10, dtype=np.float64).reshape(5, 2),
        np.arange(20, dtype=np.float32).reshape(5, 4),
        np.arange(20, dtype=np.float32).reshape(5, 2, 2),
        np.arange(40, dtype=np.float16).reshape(5, 8),
        np.arange(5).astype(np.complex128),
        np.zeros(5, np.dtype([("a", np.int64), ("b", np.float64)])),
        np.array(["abcd", "efgh", "i", "j", ""], "U4"),
        np.array(["2026-01-01"] * 10, "M8[s]").reshape(5, 2),
        np.arange(80, dtype=np.uint8).reshape(16, 5).T,
        np.arange(160, dtype=np.uint8).reshape(5, 32)[:, ::2],
    ],
    ids=["f8", "f4", "3d", "f2", "complex", "record", "text", "dates", "transposed", "strided"],
)
def test_kinds_of_values(table: Table, values: np.ndarray) -> None:
    assert (table.assign(KEYS, values) == Status.UPDATED).all()
    rows, _ = table.find(KEYS)
    assert rows.dtype == np.uint8 and rows.shape == (5, 16)
    assert rows.tobytes() == values.tobytes()
    back, _ = table.insert_and_find(KEYS, values)
    assert back.dtype == values.dtype and back.shape == values.shape and (back == values).all()


def test_plain_values(table: Table) -> None:
    table.assign([5], b"0123456789abcdef")
    assert table.find([5])[0].tobytes() == b"0123456789abcdef"
    table.assign([1, 5], [b"a" * 16, bytearray(b"b" * 16)])
    assert table.find([1, 5])[0].tobytes() == b"a" * 16 + b"b" * 16
    table.assign([1, 5], [[1, 2], [3, 4]])
    assert table.find([1, 5], dtype=int)[0].tolist() == [[1, 2], [3, 4]]
    table.assign([1, 5], b"c" * 32)
    assert table.find([1, 5])[0].tobytes() == b"c" * 32


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [(None, (5, 16)), (np.float32, (5, 4)), ("i8", (5, 2)), (np.complex128, (5,)), ("S16", (5,)), ("f4,f4,i8", (5,))],
)
def test_dtype_of_results(table: Table, dtype: Any, shape: tuple[int, ...]) -> None:
    values, _ = table.find(KEYS, dtype=dtype)
    assert values.shape == shape
    assert values.dtype == np.dtype(dtype or np.uint8)
    _, rows, _ = table.export_batch(100, dtype=dtype)
    assert rows is not None and rows.shape == shape and rows.dtype == values.dtype


def test_missing_rows_are_zero(table: Table) -> None:
    values, found = table.find([5, 6, 7], mask=[False, True, True])
    assert not values.any() and not found.any()
    out = np.full((3, 16), 9, np.uint8)
    table.find([5, 6, 0], mask=[False, True, True], out=out)
    assert not out[:2].any() and out[2].view(np.int64).tolist() == [0, 1]


def test_out(table: Table) -> None:
    values, found = np.empty((5, 2), np.int64), np.empty(5, bool)
    got = table.find(KEYS, out=(values, found))
    assert got[0] is values and got[1] is found
    assert values.ravel().tolist() == list(range(10)) and found.all()
    values[:] = 0
    got = table.find(KEYS, out=values)
    assert got[0] is values and values[4].tolist() == [8, 9]
    statuses = np.empty(5, np.uint8)
    assert table.insert(KEYS, np.zeros((5, 2)), out=statuses) is statuses and (statuses == Status.EXISTS).all()
    assert table.contains(KEYS, out=found) is found
    values[:] = 0
    rows, statuses_again = table.insert_and_find(KEYS, np.zeros((5, 2)), out=(values, statuses))
    assert rows is values and statuses_again is statuses and values[4].tolist() == [8, 9]
    got = table.apply(["find"] * 5, KEYS, out=(statuses, values))
    assert got[0] is statuses and got[1] is values and (statuses == Status.FOUND).all()
    rows, found_again = table.find_or_insert(KEYS, np.zeros((5, 2)), out=(values, found))
    assert rows is values and found_again is found
    values[:] = 7
    table.apply(["find", "erase", "find", "find", "find"], KEYS, out=(statuses, values))
    assert values[:, 0].tolist() == [0, 0, 4, 6, 8], "rows that nothing writes are zero"


class OnlyDlpack:
    """An array of a library that this package does not know."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


class OnlyInterface:
    def __init__(self, array: np.ndarray) -> None:
        self.__array_interface__ = array.__array_interface__
        self._keep = array


@pytest.mark.parametrize("wrap", [OnlyDlpack, OnlyInterface])
def test_protocols(table: Table, wrap: Any) -> None:
    assert table.contains(wrap(KEYS)).tolist() == [True] * 5
    table.assign(wrap(KEYS), wrap(np.full((5, 2), 3)))
    assert (table.find(wrap(KEYS), dtype=np.int64)[0] == 3).all()


def test_torch_on_the_host(device: str, make: Make) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    table = make(Machine(device), value=16).table
    keys = torch.tensor([0, 1, 2, -1])
    statuses = table.insert(keys, torch.arange(16, dtype=torch.float32).reshape(4, 4))
    assert isinstance(statuses, torch.Tensor) and statuses.dtype == torch.uint8
    assert statuses.tolist() == [Status.INSERTED] * 4
    values, found = table.find(keys, dtype=torch.float32)
    assert values.dtype == torch.float32 and values.shape == (4, 4) and found.dtype == torch.bool
    assert values.tolist() == torch.arange(16.0).reshape(4, 4).tolist()
    assert 2**64 - 1 in table
    assert table.find(keys, dtype=np.float32)[0].dtype == torch.float32
    half, _ = table.find(keys, dtype=torch.bfloat16)
    assert half.dtype == torch.bfloat16 and half.shape == (4, 8)
    table.assign(keys, half * 2)
    assert torch.equal(table.find(keys, dtype=torch.bfloat16)[0], half * 2)
    strided = torch.arange(8)[::2][:2]
    assert table.contains(strided).tolist() == [True, True]
    out = torch.empty(4, 4, dtype=torch.float32)
    assert table.find(keys, out=out)[0] is out
    mask = torch.tensor([True, False, True, False])
    assert table.erase(keys, mask=mask).tolist() == [Status.ERASED, Status.NOT_RUN] * 2
    grown = torch.zeros(4, 4, requires_grad=True)
    assert table.insert_or_assign(keys, grown).tolist() == [0, 2, 0, 2]
    assert isinstance(table.find(keys.numpy(), dtype=torch.float32)[0], np.ndarray)
    table.accumulate(keys, torch.ones(4, 4))
    assert (table.find(keys, dtype=torch.float32)[0] == 1).all()


def test_arrays_of_two_libraries(device: str, make: Make) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    table = make(Machine(device), value=8).table
    assert isinstance(table.insert(KEYS, torch.arange(5)), np.ndarray)
    values, _ = table.find_or_insert(torch.from_numpy(KEYS.view(np.int64)), np.zeros(5, np.int64))
    assert isinstance(values, torch.Tensor)
    assert values.view(torch.int64).ravel().tolist() == [0, 1, 2, 3, 4]


def test_items(device: str, make: Make) -> None:
    checked = make(Machine(device), value=8)
    keys = np.arange(1000, dtype=np.uint64)
    checked.run(Op.INSERT, keys, keys[:, None])
    assert sorted(checked.table.items(dtype=np.uint64, batch=7)) == [(i, i) for i in range(1000)]
    assert dict(checked.table.items())[77] == (77).to_bytes(8, "little")
    assert sorted(checked.table) == list(range(1000))
