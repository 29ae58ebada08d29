"""Where an application's arrays lie: in ordinary memory by NumPy, or in GPU memory by CuPy, which has the same names.

And the two roads of a lookup: `Direct`, a table on the device that the arrays are on; `ByCpu`, for arrays in GPU
memory: the keys are copied to pinned host memory, a table on the CPU is searched there, and what it found is copied
back.
"""

import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

import numpy as np

import holdfastdb
from bench.frame import machine


def library(device: str) -> Any:
    """NumPy, or CuPy for a device `cuda` or `cuda:N`. Raises DeviceError where there is no CuPy."""
    if not device.startswith("cuda"):
        return np
    try:
        import cupy
    except ImportError as error:
        raise holdfastdb.DeviceError(
            "arrays in GPU memory are made by CuPy, which is not here: install it, or say --device cpu"
        ) from error
    if ":" in device:
        cupy.cuda.Device(int(device.split(":")[1])).use()
    return cupy


def wait(xp: Any) -> None:
    """Until all that was begun in GPU memory is done."""
    if xp is not np:
        xp.cuda.Device().synchronize()


def to_host(xp: Any, array: Any) -> np.ndarray:
    """The array in ordinary memory."""
    return array if xp is np else xp.asnumpy(array)


def _pinned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    import cupyx

    made: np.ndarray = cupyx.empty_pinned(shape, dtype)
    return made


class Road(ABC):
    """A way from keys to values, over a pool that is loaded."""

    name: str

    def __init__(self, table: holdfastdb.Table) -> None:
        self.table = table

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.table.close()

    @abstractmethod
    def find(self, keys: Any, out: Any, found: Any) -> None:
        """Puts the value of each key into a row of `out`; on a GPU it may be under way still."""


class Direct(Road):
    """A table on the arrays' own device."""

    def __init__(self, path: Path, device: str, value_cache: float = 0) -> None:
        threads = 0 if device.startswith("cuda") else machine.cores()
        gpu = holdfastdb.Gpu(value_cache=value_cache)
        super().__init__(holdfastdb.Table.open(path, device=device, threads=threads, gpu=gpu))
        self.name = f"holdfast, {value_cache:.0%} of values cached" if value_cache else "holdfast"

    def find(self, keys: Any, out: Any, found: Any) -> None:
        self.table.find(keys, out=(out, found))


class ByCpu(Road):
    """A table on the CPU, for arrays in GPU memory."""

    def __init__(self, path: Path, rows: int, row: tuple[int, ...], dtype: Any) -> None:
        super().__init__(holdfastdb.Table.open(path, device="cpu", threads=machine.cores()))
        self.name = "by the CPU"
        self._keys, self._out = _pinned((rows,), np.uint64), _pinned((rows, *row), dtype)
        self._found = _pinned((rows,), np.bool_)

    def find(self, keys: Any, out: Any, found: Any) -> None:
        n = len(keys)
        keys.get(out=self._keys[:n])
        self.table.find(self._keys[:n], out=(self._out[:n], self._found[:n]))
        out.set(self._out[:n])
        found.set(self._found[:n])


class Stopwatch:
    """Adds up the seconds spent inside `with` blocks, what was begun in GPU memory included."""

    def __init__(self, xp: Any) -> None:
        self.seconds = 0.0
        self._xp = xp
        self._from = 0.0

    def __enter__(self) -> Self:
        wait(self._xp)
        self._from = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        wait(self._xp)
        self.seconds += time.perf_counter() - self._from
