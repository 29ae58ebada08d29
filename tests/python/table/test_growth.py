"""Tables that grow far past what they were made for."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import Machine, Make

from holdfastdb import Op, Status, Table


@pytest.mark.parametrize("size", [0, 8, 40])
def test_from_16_to_200_000(machine: Machine, make: Make, size: int) -> None:
    rng = np.random.default_rng(size)
    checked = make(machine, value=size, capacity=16)
    keys = np.unique(rng.integers(0, 2**64, 200_000, np.uint64))
    rng.shuffle(keys)
    keys[7] = 0
    values = rng.integers(0, 256, (len(keys), size), np.uint8)
    m, first = machine, checked.table.capacity
    for begin in range(0, len(keys), 30_000):
        part = slice(begin, begin + 30_000)
        statuses = m.get(checked.table.insert(m.put(keys[part]), m.put(values[part])))
        assert (statuses == Status.INSERTED).all()
    assert len(checked.table) == len(keys)
    assert checked.table.capacity > 1000 * first / 16
    assert checked.table.stats()["resizes"] >= 5
    got, found = checked.table.find(m.put(keys))
    assert m.get(found).all()
    assert (m.get(got) == values).all()
    assert not m.get(checked.table.contains(m.put(keys + np.uint64(1)))).all()
    report = checked.table.check()
    assert report.ok and report.items == len(keys)


def test_growth_survives_reopening(device: str, make: Make) -> None:
    checked = make(Machine(device), value=16, capacity=16)
    keys = np.arange(50_000, dtype=np.uint64)
    checked.run(Op.INSERT, keys, np.repeat(keys[:, None], 2, axis=1))
    capacity = checked.table.capacity
    checked.table.close()
    with Table.open(checked.table.path, device=device) as again:
        assert again.capacity == capacity and len(again) == 50_000
        checked.table = again
        checked.agree()


def test_space_is_used_again(device: str, make: Make) -> None:
    """Filling and erasing over and over does not make the table grow without end."""
    checked = make(Machine(device), value=100, capacity=4000)
    rng = np.random.default_rng(1)
    sizes = []
    for round_ in range(30):
        keys = rng.integers(0, 2**64, 2000, np.uint64)
        statuses = checked.table.insert(keys, np.full((2000, 100), round_, np.uint8))
        assert (statuses == Status.INSERTED).all()
        assert (checked.table.erase(keys) == Status.ERASED).all()
        sizes.append(checked.table.stats()["cells"])
    assert sizes[-1] <= 2 * 4000  # of 60,000 values; which cells are still retired when more are wanted is chance
    assert len(checked.table) == 0
    checked.agree()
