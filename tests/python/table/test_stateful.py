"""Random programs of operations, reopenings, clears and syncs, against a dict. Hypothesis shrinks a failure."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from conftest import GPUS, Checked, Machine, shared_memory, widened
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from model import Model

from holdfastdb import Op, Table

KEYS = st.one_of(st.integers(0, 40), st.sampled_from([2**64 - 1, 2**63, 2**64 - 2]), st.integers(0, 2**64 - 1))
SIZES = st.sampled_from([0, 4, 8, 12, 128])


class Program(RuleBasedStateMachine):
    device = "cpu"

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="holdfast-test-", dir=shared_memory()))
        self.count = 0

    @initialize(
        size=SIZES,
        capacity=st.sampled_from([1, 16, 300]),
        seed=st.integers(1, 2**32),
        moves=st.booleans(),
        key=st.sampled_from([8, 16, 32, 128]),
    )
    def create(self, size: int, capacity: int, seed: int, moves: bool, key: int) -> None:
        table = Table.create(
            self.folder / "p.hold",
            key=key,
            value=size,
            capacity=capacity,
            device=self.device,
            seed=seed,
            moves=moves,
        )
        self.checked = Checked(table, Model(size), Machine(self.device))

    def values(self, n: int) -> np.ndarray:
        """Values that differ from call to call, as 4-byte words if the size allows accumulating them."""
        self.count += 1
        size = self.checked.model.value_bytes
        rows = np.empty((n, size // 4), np.uint32)
        rows[:] = (np.arange(n, dtype=np.uint32) + np.uint32(self.count << 12))[:, None]
        return rows

    @rule(op=st.sampled_from(list(Op)), keys=st.lists(KEYS, max_size=60), data=st.data())
    def batch(self, op: Op, keys: list[int], data: st.DataObject) -> None:
        array = np.array(keys, np.uint64)
        mask = None
        if data.draw(st.booleans()):
            mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys))), bool)
        options = {"op": data.draw(st.sampled_from(["add", "min", "max"]))} if op is Op.ACCUMULATE else {}
        if mask is not None:
            options["mask"] = mask
        if len(set(keys)) == len(keys):
            options["unique"] = data.draw(st.booleans())
        self.checked.run(op, array, self.values(len(keys)), **options)

    @rule(program=st.lists(st.tuples(st.sampled_from(list(Op)), KEYS), max_size=60))
    def mixed(self, program: list[tuple[Op, int]]) -> None:
        ops = np.array([op for op, _ in program], np.uint8)
        keys = widened(np.array([key for _, key in program], np.uint64), self.checked.table.key_bytes)
        values = self.values(len(program))
        expected = self.checked.model.run(ops, keys, values)
        statuses, rows = self.checked.table.apply(ops, keys, values)
        np.testing.assert_array_equal(statuses, expected.statuses)
        self.checked.same_values(expected.values, rows)

    @rule(first=st.integers(0, 2**64 - 1), n=st.integers(1, 400))
    def many(self, first: int, n: int) -> None:
        keys = np.arange(n, dtype=np.uint64) + np.uint64(first)
        self.checked.run(Op.INSERT_OR_ASSIGN, keys, self.values(n))

    @rule(op=st.sampled_from([Op.INSERT, Op.INSERT_OR_ASSIGN, Op.ASSIGN]), keys=st.lists(KEYS, max_size=40))
    def column(self, op: Op, keys: list[int]) -> None:
        """Changes of bytes 4 to 8 of each value leave the others; a new key has zeroes around them."""
        model, table = self.checked.model, self.checked.table
        if model.value_bytes < 8:
            return
        wide = widened(np.array(keys, np.uint64), table.key_bytes)
        rows = self.values(len(keys))[:, 1:2].view(np.uint8)
        getattr(table.column(4, 8), op.name.lower())(wide, rows)
        for key, row in zip(wide, rows, strict=True):
            named = int(key) if wide.ndim == 1 else key.tobytes()
            old = model.items.get(named)
            if op is Op.INSERT_OR_ASSIGN or (op is Op.INSERT) == (old is None):
                old = old or bytes(model.value_bytes)
                model.items[named] = old[:4] + row.tobytes() + old[8:]

    @rule(ends=st.lists(KEYS, min_size=2, max_size=2), erase=st.booleans())
    def selection(self, ends: list[int], erase: bool) -> None:
        model, table = self.checked.model, self.checked.table
        if table.key_bytes != 8:
            return
        first, last = sorted(ends)
        chosen = [key for key in model.items if first <= int(key) <= last]
        assert table.size_if(first, last) == len(chosen)
        if erase:
            assert table.erase_if(first, last) == len(chosen)
            for key in chosen:
                del model.items[key]

    @rule()
    def snapshot(self) -> None:
        path = self.folder / "copy.hold"
        self.checked.table.snapshot(path)
        with Table.open(path, mode="r", device="cpu") as copy:  # read-only is for the CPU alone
            assert dict(copy.items()) == self.checked.model.items
        path.unlink()

    @rule()
    def reopen(self) -> None:
        path = self.checked.table.path
        self.checked.table.close()
        self.checked.table = Table.open(path, device=self.device)

    @rule(items=st.integers(0, 3000))
    def reserve(self, items: int) -> None:
        self.checked.table.reserve(items)

    @rule()
    def clear(self) -> None:
        self.checked.table.clear()
        self.checked.model.items.clear()

    @rule()
    def sync(self) -> None:
        self.checked.table.sync()

    @rule()
    def agree(self) -> None:
        self.checked.agree()

    def teardown(self) -> None:
        try:
            if hasattr(self, "checked"):
                self.checked.agree()
                self.checked.table.close()
        finally:
            shutil.rmtree(self.folder)


@pytest.mark.parametrize("device", ["cpu", "cuda"] if GPUS else ["cpu"])
def test_random_programs(device: str) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    class OnDevice(Program):
        pass

    OnDevice.device = device
    run_state_machine_as_test(
        OnDevice,
        settings=settings(
            max_examples=100 if device == "cpu" else 60,
            stateful_step_count=25,
        ),
    )
