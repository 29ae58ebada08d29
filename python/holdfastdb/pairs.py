"""Batches over keys and values of any length: lists of bytes, Arrow's binary arrays, or bytes and offsets in, which may
lie in GPU memory; object arrays of bytes and None, or Arrow's, or bytes and offsets in GPU memory, out.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _native, arrays, batch
from .batch import Operand, Request, Results, TableShape
from .errors import InvalidArgument, InvalidType
from .libraries import HOST, NUMPY, Library
from .status import Op

ANY = (1 << 32) - 1
"""In place of a length: any, up to 65536."""

_KINDS = (
    "a list or an object array of bytes, an Arrow array of binary or large_binary, bytes, or a tuple of two arrays: "
    "all bytes as uint8, and (n + 1,) offsets as int64 or uint64"
)


@dataclass(frozen=True, slots=True)
class Strings:
    """Byte strings one after another, and where each begins and the last ends. Holds the memory."""

    offsets: Operand
    address: int
    memory: Any

    @property
    def n(self) -> int:
        return self.offsets.shape[0] - 1

    @property
    def pointers(self) -> tuple[int, int]:
        return self.address, self.offsets.pointer


def _is_arrow(given: Any) -> bool:
    return type(given).__module__.split(".")[0] == "pyarrow" and hasattr(given, "null_count")


def _from_arrow(name: str, given: Any) -> Strings:
    import pyarrow as pa

    if isinstance(given, pa.ChunkedArray):
        given = given.combine_chunks()
        if isinstance(given, pa.ChunkedArray):  # as older versions give it
            given = pa.concat_arrays(given.chunks) if given.num_chunks else pa.array([], given.type)
    if pa.types.is_fixed_size_binary(given.type):
        given = given.cast(pa.binary())
    wide = pa.types.is_large_binary(given.type)
    if not wide and not pa.types.is_binary(given.type):
        raise InvalidType(f"{name} is an Arrow array of {given.type}: give binary or large_binary (cast converts)")
    if given.null_count:
        row = given.is_null().to_pylist().index(True)
        raise InvalidArgument(f"{name}[{row}] is null: give bytes for each row, empty ones if you like")
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
        return None
    data, offsets = Operand(name, *imported[0]).contiguous(), Operand(f"{name}[1]", *imported[1]).contiguous()
    if data.dtype_name != "uint8" or len(data.shape) != 1:
        raise InvalidType(f"{name}[0] is {data.dtype_name} of shape {data.shape}: give all bytes, (m,) of uint8")
    if offsets.dtype_name not in ("int64", "uint64") or len(offsets.shape) != 1 or offsets.shape[0] == 0:
        raise InvalidType(
            f"{offsets.describe()}: give where each begins and the last ends, (n + 1,) of int64 or uint64"
        )
    batch.one_place([data, offsets], shape)
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
    if isinstance(given, np.ndarray) and given.dtype == object and given.ndim == 1:
        given = given.tolist()
    if not isinstance(given, list | tuple):
        what = f"an array of {given.dtype}" if isinstance(given, np.ndarray) else f"of type {type(given).__name__}"
        raise InvalidType(f"{name} is {what}: give {_KINDS}")
    for row, one in enumerate(given):
        if not isinstance(one, bytes | bytearray):
            what = "encode it" if isinstance(one, str) else f"give {_KINDS}"
            raise InvalidType(f"{name}[{row}] is {one!r}, of type {type(one).__name__}: {what}")
    offsets = np.zeros(len(given) + 1, np.uint64)
    np.cumsum(np.fromiter(map(len, given), np.uint64, len(given)), out=offsets[1:])
    data = np.frombuffer(b"".join(given) or b"\0", np.uint8)
    return on_host(name, offsets, NUMPY.pointer(data), data)


def give(blobs: _native.Blobs, as_arrow: bool) -> Any:
    """Results as the caller wants them."""
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


def _give_on_gpu(blobs: _native.DeviceBlobs, library: Library, place: str) -> tuple[Any, Any]:
    """All bytes, and (n + 1,) offsets, of which those of a row without bytes are the same."""

    def array(address: int, n: int, kind: str) -> Any:
        if address == 0 or n == 0:
            return library.new((n,), library.dtype("uint8" if kind == "|u1" else "int64")[0], place, zero=True)
        return arrays.adopt(_GpuMemory(blobs, address, n, kind), library, place)

    return array(blobs.bytes_at(), blobs.total_bytes(), "|u1"), array(blobs.offsets_at(), len(blobs) + 1, "<i8")


def _refuse(request: Request, shape: TableShape) -> None:
    given = {"dtype": request.dtype, "out": request.out_values}
    for name, value in given.items():
        if value is not None:
            raise InvalidArgument(f"{name} is for values of fixed length, and those of {shape.path} have any")
    if request.as_arrow and request.as_device:
        raise InvalidArgument("as_arrow and as_device are both given: Arrow's arrays lie in host memory")
    if request.op is Op.ACCUMULATE or request.scale != 1.0:
        raise InvalidArgument(f"values of {shape.path} have any length, and no elements to accumulate: assign them")


def run(table: _native.Table, request: Request, shape: TableShape) -> Results:
    """As `batch.run`."""
    _refuse(request, shape)
    keys = take("keys", request.keys, shape)
    n = keys.n
    kinds = "a mask of bool, true for the operations to run"
    mask = batch.take_bytes("mask", request.mask, n, ("bool", "uint8"), kinds, shape)
    ops = batch.take_ops(request.ops, n, shape) if request.ops is not None else None
    takes, accumulates = batch.needs_values(request, ops)
    if accumulates:
        raise InvalidArgument(f"values of {shape.path} have any length, and no elements to accumulate: assign them")
    values = None
    if takes or request.values is not None:
        if request.values is None:
            raise InvalidType(f"{request.op.name.lower()} takes a value for each key: give {_KINDS}")
        values = take("values", request.values, shape)
        if values.n != n:
            raise InvalidArgument(f"values has {values.n} rows, but keys has {n}: give one value for each key")

    read = [one for one in (keys.offsets, values.offsets if values else None, ops, mask) if one is not None]
    place = batch.one_place(read, shape)
    library = keys.offsets.library
    written: list[Operand] = []

    def result(out: Any, kind: str) -> Operand:
        if out is not None:
            written.append(batch.take_out("out", out, n, 1, (kind,), shape))
        else:
            written.append(Operand("out", library.new((n,), library.dtype(kind)[0], place, zero=True), library))
        return written[-1]

    statuses = result(request.out_statuses, "uint8")
    found = result(request.out_found, "bool") if request.give_found else None
    batch.one_place(read + written, shape)
    batch.no_overlap(written, read)
    stream, others = batch.streams_of(request, read + written, place, shape)
    for other in others:
        arrays.order_streams(other, stream, place)
    if request.as_device and place == HOST:
        raise InvalidArgument(
            "as_device leaves values in the memory of the GPU that has the keys, and they are in host memory: give "
            "keys as (data, offsets) in that of the table's GPU"
        )
    blobs = _native.Blobs() if request.give_values and not request.as_device else None
    left = _native.DeviceBlobs() if request.give_values and request.as_device else None
    address, offsets = keys.pointers
    value_address, value_offsets = values.pointers if values is not None else (0, 0)
    _, raised = table.run_pairs(
        size=n,
        op=int(request.op),
        ops=ops.pointer if ops else 0,
        keys=address,
        key_offsets=offsets,
        values=value_address,
        value_offsets=value_offsets,
        blobs=blobs,
        device_blobs=left,
        statuses=statuses.pointer,
        found=found.pointer if found else 0,
        mask=mask.pointer if mask else 0,
        unique=bool(request.unique),
        on_device=place != HOST,
        stream=stream,
        interruptible=threading.get_ident() == batch.MAIN_THREAD,
    )
    if raised is not None:
        raised.statuses = statuses.array
        raise raised
    made = give(blobs, request.as_arrow) if blobs is not None else None
    if left is not None:
        made = _give_on_gpu(left, library, place)
    return Results(statuses.array, made, found.array if found else None)
