"""Keys and values of any length, as byte strings: lists of bytes, Arrow's binary arrays, or bytes and offsets in, which
may lie in GPU memory; object arrays of bytes and None, or Arrow's, or bytes and offsets in GPU memory, out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _native, arrays
from .arrays import frames
from .errors import InvalidArgument, InvalidType
from .libraries import NUMPY, Library
from .messages import shown
from .operands import Operand, TableShape, one_place

KINDS = (
    "a list or an object array of bytes, an Arrow array of binary or large_binary, bytes, or a tuple of two arrays: "
    "all bytes as uint8, and (n + 1,) offsets as int64 or uint64"
)


@dataclass(slots=True)
class Strings:
    """Byte strings one after another, and where each begins and the last ends. Holds the memory."""

    offsets: Operand
    pointer: int
    """Of all bytes."""
    memory: Any

    @property
    def n(self) -> int:
        return self.offsets.n - 1

    @property
    def offsets_at(self) -> int:
        return self.offsets.pointer

    @property
    def library(self) -> Library:
        return self.operands[0].library

    @property
    def operands(self) -> list[Operand]:
        """The caller's arrays, first that of all bytes, or else what was made of the strings that were given."""
        return [self.memory, self.offsets] if isinstance(self.memory, Operand) else [self.offsets]


def _is_arrow(given: Any) -> bool:
    return type(given).__module__.split(".")[0] == "pyarrow" and hasattr(given, "null_count")


def _from_arrow(name: str, given: Any) -> Strings:
    import pyarrow as pa

    given = frames.whole_array(given, pa)
    if pa.types.is_fixed_size_binary(given.type):
        given = given.cast(pa.binary())
    wide = pa.types.is_large_binary(given.type)
    if not wide and not pa.types.is_binary(given.type):
        raise InvalidType(f"{name} is an Arrow array of {given.type}: give binary or large_binary (cast converts)")
    if given.null_count:
        row = given.is_null().to_pylist().index(True)
        frames.refuse_null(f"{name}[{row}]")
    _, offsets, data = given.buffers()
    if len(given) == 0 or offsets is None:
        return on_host(name, np.zeros(1, np.uint64), 0, given)
    begins = np.frombuffer(offsets, np.int64 if wide else np.int32)[given.offset : given.offset + len(given) + 1]
    return on_host(name, begins.astype(np.uint64), data.address if data is not None else 0, given)


def on_host(name: str, offsets: np.ndarray, address: int, memory: Any) -> Strings:
    """Byte strings in host memory."""
    return Strings(Operand(name, offsets, NUMPY), address, memory)


def _from_arrays(name: str, given: tuple[Any, Any], shape: TableShape) -> Strings | None:
    """All bytes, and where each string begins; None if these are no two arrays."""
    if any(isinstance(one, bytes | bytearray | str) for one in given):
        return None
    imported = [arrays.import_array(name, one, shape.host_only) for one in given]
    if imported[0] is None or imported[1] is None:
        if imported[0] is imported[1]:
            return None
        other = 0 if imported[0] is None else 1
        raise InvalidType(
            f"{name}[{other}] is of type {type(given[other]).__name__}, and {name}[{1 - other}] an array: give {KINDS}"
        )
    data, offsets = Operand(name, *imported[0]).contiguous(), Operand(f"{name}[1]", *imported[1]).contiguous()
    if data.dtype_name != "uint8" or len(data.shape) != 1:
        raise InvalidType(f"{name}[0] is {data.dtype_name} of shape {data.shape}: give all bytes, (m,) of uint8")
    if offsets.dtype_name not in ("int64", "uint64") or len(offsets.shape) != 1 or offsets.shape[0] == 0:
        raise InvalidType(
            f"{offsets.describe()}: give where each begins and the last ends, (n + 1,) of int64 or uint64"
        )
    one_place([data, offsets], shape)
    first, last = int(offsets.array[0]), int(offsets.array[-1])
    if first < 0 or last > data.shape[0] or first > last:
        raise InvalidArgument(
            f"{offsets.name} goes from {first} to {last}, but {name}[0] has {data.shape[0]} bytes: give offsets "
            "into them"
        )
    return Strings(offsets, data.pointer, data)


def take(name: str, given: Any, shape: TableShape) -> Strings:
    """What the caller gave for keys or values."""
    if isinstance(given, Strings):
        return given
    if isinstance(given, tuple) and len(given) == 2:
        strings = _from_arrays(name, given, shape)
        if strings is not None:
            return strings
    if _is_arrow(given):
        return _from_arrow(name, given)
    if isinstance(given, bytes | bytearray):
        given = [given]
    given = given if (column := frames.objects_of(given)) is None else column
    if isinstance(given, np.ndarray) and given.dtype == object and given.ndim == 1:
        given = given.tolist()
    if not isinstance(given, list | tuple):
        what = f"an array of {given.dtype}" if isinstance(given, np.ndarray) else f"of type {type(given).__name__}"
        raise InvalidType(f"{name} is {what}: give {KINDS}")
    for row, one in enumerate(given):
        if not isinstance(one, bytes | bytearray):
            if frames.is_null(one):
                frames.refuse_null(f"{name}[{row}]")
            what = "encode it" if isinstance(one, str) else f"give {KINDS}"
            raise InvalidType(f"{name}[{row}] is {shown(one)}, of type {type(one).__name__}: {what}")
    offsets = np.zeros(len(given) + 1, np.uint64)
    np.cumsum(np.fromiter(map(len, given), np.uint64, len(given)), out=offsets[1:])
    data = np.frombuffer(b"".join(given) or b"\0", np.uint8)
    return on_host(name, offsets, NUMPY.pointer(data), data)


def give(blobs: _native.Blobs, as_arrow: bool) -> Any:
    """What was read into host memory, as the caller wants it."""
    if as_arrow:
        return _to_arrow(blobs)
    made = np.empty(len(blobs), object)
    made[:] = blobs.to_list()
    return made


def _to_arrow(blobs: _native.Blobs) -> Any:
    import pyarrow as pa

    n = len(blobs)
    offsets, data = np.zeros(n + 1, np.uint64), np.empty(max(1, blobs.total_bytes()), np.uint8)
    blobs.pack(NUMPY.pointer(offsets), NUMPY.pointer(data))
    present = np.zeros(n, bool)
    if n:
        blobs.present(NUMPY.pointer(present))
    valid = pa.py_buffer(np.packbits(present, bitorder="little"))
    buffers = [valid, pa.py_buffer(offsets.view(np.int64)), pa.py_buffer(data)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), n, buffers)


class _GpuMemory:
    """A piece of what a batch has left in GPU memory, as array libraries take it. Holds the memory."""

    def __init__(self, blobs: _native.DeviceBlobs, address: int, n: int, kind: str) -> None:
        self.blobs = blobs
        self.__cuda_array_interface__ = {
            "shape": (n,), "typestr": kind, "data": (address, False), "strides": None, "version": 3,
        }  # fmt: skip


def give_on_gpu(blobs: _native.DeviceBlobs, library: Library, place: str) -> tuple[Any, Any]:
    """All bytes, and (n + 1,) offsets, of which those of a row without bytes are the same."""

    def array(address: int, n: int, kind: str) -> Any:
        if address == 0 or n == 0:
            return library.new((n,), library.dtype("uint8" if kind == "|u1" else "int64")[0], place, zero=True)
        return arrays.adopt(_GpuMemory(blobs, address, n, kind), library, place)

    return array(blobs.bytes_at(), blobs.total_bytes(), "|u1"), array(blobs.offsets_at(), len(blobs) + 1, "<i8")
