"""Every operation against a dict, for every size of value, with keys that repeat inside a batch."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import Machine, Make, widened

from holdfastdb import Op, Status

SIZES = [0, 1, 4, 8, 12, 128, 1000, 65536]
RESERVED = np.array([0, 1, 2**63, 2**64 - 1, 2**64 - 2], np.uint64)


def draw(rng: np.random.Generator, n: int, size: int, distinct: int) -> tuple[np.ndarray, np.ndarray]:
    """n keys of `distinct` different ones, the reserved ones among them, and n values."""
    pool = np.concatenate([RESERVED, rng.integers(0, 2**64, max(0, distinct - 5), np.uint64)])
    return rng.choice(pool, n), rng.integers(0, 256, (n, size), np.uint8)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("op", [op for op in Op if op is not Op.ACCUMULATE], ids=lambda op: op.name.lower())
def test_against_a_dict(machine: Machine, make: Make, op: Op, size: int, key: int) -> None:
    rng = np.random.default_rng([op, size])
    n = 40 if size == 65536 else 400
    checked = make(machine, value=size, capacity=n, key=key)
    pool, _ = draw(rng, n, size, n // 3)
    half = rng.choice(pool, n // 2)
    checked.run(Op.INSERT, half, rng.integers(0, 256, (len(half), size), np.uint8))
    for _ in range(3):
        checked.run(op, rng.choice(pool, n), rng.integers(0, 256, (n, size), np.uint8))
        checked.run(Op.FIND, pool)
    checked.agree()


@pytest.mark.parametrize("op", [op for op in Op if op is not Op.ACCUMULATE], ids=lambda op: op.name.lower())
def test_unique_promise(machine: Machine, make: Make, op: Op, key: int) -> None:
    rng = np.random.default_rng(op)
    checked = make(machine, value=12, key=key)
    keys = np.unique(rng.integers(0, 1000, 500).astype(np.uint64))
    values = rng.integers(0, 256, (len(keys), 12), np.uint8)
    checked.run(Op.INSERT, keys[::2], values[::2], unique=True)
    checked.run(op, keys, values, unique=True)
    checked.agree()


def test_one_key_many_times(machine: Machine, make: Make, key: int) -> None:
    checked = make(machine, value=16, key=key)
    keys = np.zeros(5000, np.uint64)
    values = np.arange(5000 * 2, dtype=np.uint64).reshape(5000, 2)
    for op in (Op.INSERT_OR_ASSIGN, Op.ERASE, Op.FIND_OR_INSERT, Op.ASSIGN, Op.INSERT_AND_FIND, Op.INSERT, Op.FIND):
        checked.run(op, keys, values)
    checked.agree()


@pytest.mark.parametrize("size", [0, 8, 128])
@pytest.mark.parametrize("op", list(Op), ids=lambda op: op.name.lower())
def test_empty_batches(machine: Machine, make: Make, op: Op, size: int) -> None:
    checked = make(machine, value=size)
    checked.run(Op.INSERT, np.arange(3, dtype=np.uint64), np.ones((3, size), np.uint8))
    values = np.zeros((0, size // 4), np.uint32) if op is Op.ACCUMULATE else np.zeros((0, size), np.uint8)
    checked.run(op, np.zeros(0, np.uint64), values)
    checked.agree()


@pytest.mark.parametrize("size", [0, 8, 128])
@pytest.mark.parametrize("op", [op for op in Op if op is not Op.ACCUMULATE], ids=lambda op: op.name.lower())
def test_masks(machine: Machine, make: Make, op: Op, size: int, key: int) -> None:
    rng = np.random.default_rng([op, size, 1])
    checked = make(machine, value=size, key=key)
    keys, values = draw(rng, 300, size, 100)
    checked.run(Op.INSERT, keys[:60], values[:60])
    for mask in (
        rng.random(300) < 0.5,
        np.zeros(300, bool),
        np.ones(300, bool),
        (rng.random(300) < 0.1).view(np.uint8),
    ):
        checked.run(op, rng.permutation(keys), values, mask=mask)
    checked.agree()


def test_more_than_one_chunk(machine: Machine, make: Make, key: int) -> None:
    rng = np.random.default_rng(3)
    checked = make(machine, value=8, capacity=1000, key=key)
    n = 40_000
    keys = rng.integers(0, 20_000, n).astype(np.uint64)
    values = rng.integers(0, 2**63, (n, 1)).astype(np.uint64)
    checked.run(Op.INSERT_OR_ASSIGN, keys, values)
    checked.run(Op.FIND, keys)
    checked.run(Op.ERASE, keys[::2])
    checked.run(Op.FIND_OR_INSERT, keys, values)
    checked.agree()


@pytest.mark.parametrize("size", [0, 8, 128])
def test_clear_reserve_and_sync(machine: Machine, make: Make, size: int, key: int) -> None:
    rng = np.random.default_rng(4)
    checked = make(machine, value=size, capacity=100, key=key)
    keys, values = draw(rng, 500, size, 300)
    checked.run(Op.INSERT, keys, values)
    checked.table.sync()
    checked.table.clear()
    checked.model.items.clear()
    checked.agree()
    checked.table.reserve(5000)
    capacity = checked.table.capacity
    assert capacity >= 5000
    many = np.arange(5000, dtype=np.uint64)
    checked.run(Op.INSERT, many, rng.integers(0, 256, (5000, size), np.uint8))
    assert checked.table.capacity == capacity
    checked.agree()


@pytest.mark.parametrize("size", [0, 8, 20])
def test_export_in_pieces(machine: Machine, make: Make, size: int) -> None:
    rng = np.random.default_rng(5)
    checked = make(machine, value=size)
    keys, values = draw(rng, 800, size, 700)
    checked.run(Op.INSERT, keys, values)
    seen: dict[int, bytes] = {}
    cursor: int | None = 0
    while cursor is not None:
        some, rows, cursor = checked.table.export_batch(17, cursor)
        assert len(some) <= 17
        for key, row in zip(some.tolist(), rows, strict=True):
            assert key not in seen
            seen[key] = row.tobytes()
    assert seen == checked.model.items
    keys_only, nothing, _ = checked.table.export_batch(10_000, values=False)
    assert nothing is None and set(keys_only.tolist()) == set(seen)
    assert set(checked.table) == set(seen)


def test_the_sizes_of_a_table(machine: Machine, make: Make) -> None:
    checked = make(machine, value=8, capacity=1000)
    table = checked.table
    assert len(table) == table.size() == 0
    assert table.capacity >= 1000 and table.load_factor == 0
    checked.run(Op.INSERT, np.arange(500, dtype=np.uint64), np.zeros((500, 8), np.uint8))
    assert len(table) == 500
    assert table.load_factor == pytest.approx(500 / table.capacity)
    assert 0 in table and 499 in table and 500 not in table
    stats = table.stats()
    assert stats["size"] == 500 and stats["slots"] == table.capacity
    assert stats["device"] == table.device and stats["device_reason"]


@pytest.mark.parametrize("size", [8, 128])
def test_a_check_counts_the_slots_that_stats_count(machine: Machine, make: Make, size: int, key: int) -> None:
    table = make(machine, value=size, key=key).table
    assert table.check().slots == table.stats()["slots"] == table.capacity


@pytest.mark.parametrize(
    ("levels", "hash_locations", "slots"), [(1, 1, 8), (1, 2, 16), (1, 4, 8), (4, 2, 4), (3, 2, 5)]
)
def test_other_configurations(
    machine: Machine, make: Make, levels: int, hash_locations: int, slots: int, key: int
) -> None:
    rng = np.random.default_rng(6)
    checked = make(machine, value=16, capacity=100, levels=levels, hash_locations=hash_locations, slots=slots, key=key)
    keys, values = draw(rng, 3000, 16, 2000)
    checked.run(Op.INSERT_OR_ASSIGN, keys, values)
    checked.run(Op.ERASE, keys[:1000])
    checked.run(Op.FIND, keys)
    checked.agree()


def test_no_space_leaves_the_rest_standing(machine: Machine, make: Make, key: int) -> None:
    checked = make(machine, value=1000, capacity=16, max_bytes=1 << 20, key=key)
    keys = widened(np.arange(4000, dtype=np.uint64), key)
    values = np.random.default_rng(7).integers(0, 256, (4000, 1000), np.uint8)
    m = checked.machine
    statuses = m.get(checked.table.insert(m.put(keys), m.put(values)))
    fitted = statuses == Status.INSERTED
    assert set(statuses.tolist()) == {Status.INSERTED, Status.NO_SPACE}
    assert 500 < fitted.sum() <= (1 << 20) // 1000 + 16
    checked.model.run(Op.INSERT, keys[fitted], values[fitted])
    checked.agree()
    assert not m.get(checked.table.contains(m.put(keys[~fitted]))).any()
    checked.run(Op.ASSIGN, keys[fitted][:100], values[:100])  # inserts leave room for updates, which go to other cells
    checked.run(Op.ERASE, keys[fitted][:100])
    checked.run(Op.INSERT, keys[~fitted][:50], values[:50])
    checked.agree()
