"""The machines of the conformance suite, and pools that go away after their test.

Every test that takes `machine` runs on the CPU, and on the GPU where there is one: with NumPy arrays on the host, and
with PyTorch's and CuPy's in GPU memory where they are installed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from model import Model

import holdfastdb as hf

# Tests read what a process prints until they kill it. Unbuffered, Python writes a line in several calls, and a kill
# between two of them leaves a part of one.
os.environ.pop("PYTHONUNBUFFERED", None)

PATIENCE_S = 600
"""For what must come true, or end, however busy the machine is; pytest's own limit is longer."""

# A slow machine is no failure, and a gate repeats itself. HOLDFAST_LONG=1 draws other examples with every run.
settings.register_profile(
    "holdfast",
    deadline=None,
    derandomize=os.environ.get("HOLDFAST_LONG") != "1",
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("holdfast")

GPUS, WHY_NO_GPU = hf.cuda_devices()
no_gpu = pytest.mark.skipif(GPUS == 0, reason=f"no GPU: {WHY_NO_GPU}")


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


@dataclass(frozen=True)
class Machine:
    """Where a table works, and what kind of arrays it is given."""

    device: str
    library: str = "numpy"

    def put(self, array: np.ndarray | None) -> Any:
        """A NumPy array as this machine's kind."""
        if array is None or self.library == "numpy":
            return array
        if self.library == "cupy":
            import cupy

            return cupy.asarray(array)
        import torch

        return torch.from_numpy(np.ascontiguousarray(array)).cuda()

    def get(self, array: Any) -> np.ndarray:
        """This machine's kind of array as NumPy's; fails if it is another kind."""
        if self.library == "numpy":
            assert isinstance(array, np.ndarray)
            return array
        if self.library == "cupy":
            import cupy

            assert isinstance(array, cupy.ndarray)
            return cupy.asnumpy(array)
        import torch

        assert isinstance(array, torch.Tensor)
        return array.cpu().numpy()


MACHINES = [Machine("cpu")]
if GPUS:
    MACHINES += [Machine("cuda"), *(Machine("cuda", name) for name in ("torch", "cupy") if installed(name))]


def _name(machine: Machine) -> str:
    return machine.device if machine.library == "numpy" else f"{machine.device}-{machine.library}"


@pytest.fixture(params=MACHINES, ids=_name)
def machine(request: pytest.FixtureRequest) -> Machine:
    return request.param


@pytest.fixture(params=[8, 16, 32, 128], ids=lambda size: f"key{size}")
def key(request: pytest.FixtureRequest) -> int:
    """Bytes of a key."""
    return request.param


@pytest.fixture(params=["cpu", "cuda"] if GPUS else ["cpu"])
def device(request: pytest.FixtureRequest) -> str:
    """The machines, for tests in which the kind of array does not matter."""
    return request.param


def shared_memory() -> str | None:
    """/dev/shm, where it can be written to and is not as small as containers make it; a GPU needs it however small."""
    if not os.access("/dev/shm", os.W_OK) or (not GPUS and shutil.disk_usage("/dev/shm").free < 1 << 30):
        return None
    return "/dev/shm"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory, where pools of every machine may lie."""
    path = Path(tempfile.mkdtemp(prefix="holdfast-test-", dir=shared_memory()))
    yield path
    shutil.rmtree(path)


def widened(keys: np.ndarray, size: int) -> np.ndarray:
    """Numbers as keys of `size` bytes; those that differ below bit 40 alone have equal words but the last."""
    if size == 8 or keys.ndim == 2:
        return keys
    numbers = keys.astype(np.uint64)
    words = np.zeros((len(numbers), size // 8), np.uint64)
    words[:, 0] = numbers >> np.uint64(40)
    words[:, -1] = numbers
    return words.view(np.uint8).reshape(len(numbers), size)


@dataclass
class Checked:
    """A table beside the dict that it must agree with."""

    table: hf.Table
    model: Model
    machine: Machine

    def run(self, kind: hf.Op, keys: np.ndarray, values: np.ndarray | None = None, **options: Any) -> None:
        """The same batch on both, by the method of that name; everything that it returns must agree."""
        m, mask = self.machine, options.get("mask")
        keys = widened(keys, self.table.key_bytes)
        expected = self.model.run(kind, keys, values, mask, options.get("op", "add"))
        if mask is not None:
            options["mask"] = m.put(mask)
        method = getattr(self.table, kind.name.lower())
        got = method(m.put(keys), m.put(values), **options) if kind.takes_value else method(m.put(keys), **options)
        if kind in (hf.Op.FIND, hf.Op.FIND_OR_INSERT):
            self.same_values(expected.values, got[0])
            assert m.get(got[1]).dtype == bool
            np.testing.assert_array_equal(m.get(got[1]), expected.found)
        elif kind is hf.Op.INSERT_AND_FIND:
            self.same_values(expected.values, got[0])
            np.testing.assert_array_equal(m.get(got[1]), expected.statuses)
        elif kind is hf.Op.CONTAINS:
            assert m.get(got).dtype == bool
            np.testing.assert_array_equal(m.get(got), expected.found)
        else:
            assert m.get(got).dtype == np.uint8
            np.testing.assert_array_equal(m.get(got), expected.statuses)

    def same_values(self, expected: np.ndarray, got: Any) -> None:
        rows = np.ascontiguousarray(self.machine.get(got))
        assert rows.nbytes == expected.nbytes
        if rows.nbytes:
            np.testing.assert_array_equal(rows.reshape(len(expected), -1).view(np.uint8), expected)

    def agree(self) -> None:
        """The whole table is the whole dict, and its pool is in order."""
        items = dict(self.table.items())
        assert items == self.model.items
        assert len(self.table) == len(self.model.items)
        if self.model.items:
            size, wide = self.table.key_bytes, b"".join(key for key in self.model.items if isinstance(key, bytes))
            keys = np.array(list(self.model.items), np.uint64) if size == 8 else np.frombuffer(wide, np.uint8)
            keys = keys if size == 8 else keys.reshape(-1, size)
            values, found = self.table.find(keys)
            assert found.all()
            assert values.tobytes() == b"".join(self.model.items.values())
        report = self.table.check()
        assert report.ok, report.errors
        assert report.items == len(self.model.items)


Make = Callable[..., Checked]


@pytest.fixture
def make(folder: Path) -> Iterator[Make]:
    """Makes tables with their models; closes them at the end."""
    made: list[hf.Table] = []

    def create(machine: Machine, value: int = 8, capacity: int = 1000, **options: Any) -> Checked:
        path = folder / f"{len(made)}.hold"
        table = hf.Table.create(path, value=value, capacity=capacity, device=machine.device, **options)
        made.append(table)
        return Checked(table, Model(value), machine)

    yield create
    for table in made:
        table.close()
