"""One batch: what the caller gave is checked against the table, results are made in the caller's kind of array, and the
native table runs it. Every check comes before anything changes; each error says what, where and what to do.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import _native, arrays
from .errors import InvalidArgument, InvalidType
from .libraries import HOST, NUMPY, Library
from .status import Op

ELEMENTS = {"int32": 0, "uint32": 1, "int64": 2, "uint64": 3, "float32": 4, "float64": 5,
            "float16": 6, "bfloat16": 7}  # fmt: skip
COMBINES = {"add": 0, "min": 1, "max": 2}
_KEY_LIMIT = 1 << 64
MAIN_THREAD = threading.main_thread().ident


@dataclass(frozen=True, slots=True)
class TableShape:
    """What a batch must fit."""

    path: str
    key_bytes: int
    value_bytes: int
    device: str
    column: int = 0
    """Where a row's bytes begin in a value."""
    partial: bool = False
    """Rows are a column of the values: `value_bytes` is its size."""

    def column_of(self, start: int, stop: int) -> TableShape:
        """The shape of a column of such values."""
        return replace(self, value_bytes=stop - start, column=start, partial=True)

    @property
    def any_length(self) -> bool:
        """Whether keys and values are bytes of any length (pairs.py)."""
        return self.key_bytes == (1 << 32) - 1

    @property
    def host_only(self) -> str:
        """The path if the table takes no GPU memory, else empty."""
        return self.path if self.device == HOST else ""


@dataclass(frozen=True, slots=True)
class Operand:
    """An array that the batch reads or writes. Holds the memory while the batch runs."""

    name: str
    array: Any
    library: Library

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype_name(self) -> str:
        return self.library.dtype_name(self.array)

    @property
    def place(self) -> str:
        return self.library.place(self.array)

    @property
    def pointer(self) -> int:
        return self.library.pointer(self.array)

    @property
    def bytes(self) -> int:
        return self.shape[0] * self.library.row_bytes(self.array) if self.shape else 0

    def contiguous(self) -> Operand:
        return Operand(self.name, self.library.contiguous(self.array), self.library)

    def describe(self) -> str:
        return f"{self.name} is {self.dtype_name} of shape {self.shape}"


def _is_record(array: Any, size: int) -> bool:
    """Whether an array is NumPy's, of records of so many bytes."""
    return isinstance(array, np.ndarray) and array.dtype.names is not None and array.dtype.itemsize == size


def _keys_from_list(values: list[Any]) -> np.ndarray:
    if values and all(isinstance(v, bytes) and len(v) == 8 for v in values):
        return np.frombuffer(b"".join(values), np.uint64).copy()
    for position, value in enumerate(values):
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            raise InvalidType(
                f"keys[{position}] is {value!r}, of type {type(value).__name__}: give whole numbers from 0 to "
                "2**64 - 1, or an array of uint64 or int64"
            )
        if not 0 <= value < _KEY_LIMIT:
            raise InvalidArgument(
                f"keys[{position}] is {value}, which does not fit into 8 bytes: give whole numbers from 0 to 2**64 - 1"
            )
    return np.array(values, dtype=np.uint64)


def _wide_keys_from_list(values: list[Any], size: int) -> np.ndarray:
    for position, value in enumerate(values):
        if not isinstance(value, bytes | bytearray):
            raise InvalidType(
                f"keys[{position}] is {value!r}, of type {type(value).__name__}: give bytes, {size} of them, or an "
                f"array of shape (n, {size}) of uint8"
            )
        if len(value) != size:
            raise InvalidArgument(
                f"keys[{position}] is {len(value)} bytes, and the table's keys have {size}: pad or hash it"
            )
    return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), size).copy()


def take_keys(keys: Any, shape: TableShape) -> tuple[Operand, int]:
    """The keys as contiguous words, and how many keys there are."""
    imported = arrays.import_array("keys", keys, shape.host_only)
    if imported is None:
        wide = shape.key_bytes > 8
        if isinstance(keys, int | np.integer) or (wide and isinstance(keys, bytes | bytearray)):
            keys = [keys]
        if not isinstance(keys, list | tuple | range):
            kinds = "uint8, a list of bytes, or bytes" if wide else "uint64 or int64, a list, or an int"
            raise InvalidType(f"keys is of type {type(keys).__name__}: give an array of {kinds}")
        made = _wide_keys_from_list(list(keys), shape.key_bytes) if wide else _keys_from_list(list(keys))
        imported = made, NUMPY
    operand = Operand("keys", *imported)
    size = shape.key_bytes
    numbers = ("uint64", "int64") if size == 8 else ()
    if operand.shape == () and operand.dtype_name in (*numbers, f"bytes{size}"):
        operand = Operand("keys", operand.array.reshape(1), operand.library)
    words = len(operand.shape) == 1 and (
        operand.dtype_name in (*numbers, f"bytes{size}") or _is_record(operand.array, size)
    )
    raw = len(operand.shape) == 2 and operand.shape[1] == size and operand.dtype_name == "uint8"
    if not words and not raw:
        kind = InvalidArgument if operand.dtype_name in ("uint64", "int64", "uint8") else InvalidType
        one = "uint64 or int64 (astype converts)" if size == 8 else f"dtype V{size} or S{size}"
        raise kind(
            f"{operand.describe()}, but {shape.path} has keys of {size} bytes: give an array of shape (n,) of {one}, "
            f"or of shape (n, {size}) of uint8"
        )
    operand = operand.contiguous()
    if operand.place == HOST and operand.pointer % 8 != 0:  # a view into bytes may begin anywhere
        copy = operand.array.clone() if operand.library.name == "torch" else operand.array.copy()
        operand = Operand("keys", copy, operand.library)
    return operand, operand.shape[0]


def _values_from_plain(values: Any, shape: TableShape) -> np.ndarray:
    size = shape.value_bytes
    if isinstance(values, bytes | bytearray | memoryview):
        data = bytes(values)
        if size == 0 or len(data) % size:
            raise InvalidArgument(
                f"values is {len(data)} bytes, but {shape.path} has values of {size} bytes: "
                f"give {size} bytes a key, padded as you like"
            )
        return np.frombuffer(data, np.uint8).reshape(-1, size)
    if isinstance(values, list | tuple) and values and all(isinstance(v, bytes | bytearray) for v in values):
        for position, value in enumerate(values):
            if len(value) != size:
                raise InvalidArgument(
                    f"values[{position}] is {len(value)} bytes, but {shape.path} has values of {size} "
                    f"bytes: give {size} bytes a key, padded as you like"
                )
        return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), size)
    if not isinstance(values, list | tuple | int | float | np.generic):
        raise InvalidType(
            f"values is of type {type(values).__name__}: give an array with {size} bytes a row, a list of "
            "numbers, or bytes"
        )
    try:
        made = np.asarray(values)
    except ValueError:
        raise InvalidArgument("values is a list of rows of different lengths: give rows of one length") from None
    return made.reshape(1) if made.ndim == 0 else made


def take_values(values: Any, n: int, op_name: str, shape: TableShape) -> Operand | None:
    """The values as `n` contiguous rows of the table's size; None for a set, whose values have no bytes."""
    size = shape.value_bytes
    if values is None:
        if size == 0:
            return None
        raise InvalidType(
            f"{op_name} takes a value for each key, and {shape.path} has values of {size} bytes: give an "
            f"array with {n} rows of {size} bytes"
        )
    imported = arrays.import_array("values", values, shape.host_only)
    operand = Operand("values", *(imported or arrays._from_numpy("values", _values_from_plain(values, shape))))
    if operand.shape == ():
        operand = Operand("values", operand.array.reshape(1), operand.library)
    if operand.shape[0] != n:
        raise InvalidArgument(f"values has {operand.shape[0]} rows, but keys has {n}: give one value for each key")
    row = operand.library.row_bytes(operand.array)
    if row != size and not (n == 0 and 0 in operand.shape[1:]):
        raise InvalidArgument(
            f"{operand.describe()}, {row} bytes a row, but {shape.path} has values of {size} bytes: give rows of "
            f"{size} bytes, for example {_example_rows(size)}"
        )
    return operand.contiguous()


def _example_rows(size: int) -> str:
    if size == 0:
        return "none: values=None"
    return f"shape (n, {size // 4}) of float32" if size % 4 == 0 else f"shape (n, {size}) of uint8"


def take_bytes(name: str, value: Any, n: int, kinds: tuple[str, ...], wanted: str, shape: TableShape) -> Operand | None:
    """An array of one byte for each key: a mask, or operation codes."""
    if value is None:
        return None
    imported = arrays.import_array(name, value, shape.host_only)
    if imported is None:
        if not isinstance(value, list | tuple):
            raise InvalidType(f"{name} is of type {type(value).__name__}: give {wanted}")
        made = np.asarray(value)
        imported = arrays._from_numpy(name, made if made.size else made.astype(np.uint8))
    operand = Operand(name, *imported)
    if operand.dtype_name not in kinds:
        raise InvalidType(f"{operand.describe()}: give {wanted}")
    if operand.shape != (n,):
        raise InvalidArgument(f"{operand.describe()}, but there are {n} keys: give {wanted}, of shape ({n},)")
    return operand.contiguous()


def take_ops(ops: Any, n: int, shape: TableShape) -> Operand:
    """Operation codes: an array of uint8, or a list of `Op` or of their names."""
    if isinstance(ops, list | tuple):
        try:
            ops = np.array([Op[o.upper()] if isinstance(o, str) else Op(o) for o in ops], np.uint8)
        except (KeyError, ValueError, TypeError) as error:
            raise InvalidArgument(
                f"ops has {error}, which is no operation: give members of holdfastdb.Op or their names, as 'insert'"
            ) from None
    operand = take_bytes(
        "ops", ops, n, ("uint8",), "codes of holdfastdb.Op as uint8, or a list of holdfastdb.Op", shape
    )
    if operand is None:
        raise InvalidType(
            "ops is None: give an operation for each key, codes of holdfastdb.Op as uint8 or a list of them"
        )
    if n and (highest := int(operand.array.max())) > max(Op):
        raise InvalidArgument(f"ops has the code {highest}: give codes of holdfastdb.Op, 0 to {int(max(Op))}")
    return operand


def result_rows(library: Library, n: int, dtype: Any, values: Operand | None, size: int) -> tuple[tuple[int, ...], Any]:
    """The shape and element type of `n` result values: as `dtype` says, else as the values given, else bytes."""
    if dtype is None:
        if values is not None and values.library.name == library.name:
            return values.shape, values.array.dtype
        return (n, size), library.dtype("uint8")[0]
    made, itemsize = library.dtype(dtype)
    if itemsize == 0 or size % itemsize or (size == 0 and itemsize > 1):
        raise InvalidArgument(
            f"dtype is {dtype}, of {itemsize} bytes, which does not divide a value of {size} bytes: give one that does"
        )
    return ((n,) if itemsize == size else (n, size // itemsize)), made


def take_out(name: str, out: Any, n: int, row_bytes: int, kinds: tuple[str, ...] | None, shape: TableShape) -> Operand:
    """An array of the caller's for results: `n` rows, writable, in order."""
    imported = arrays.import_array(name, out, shape.host_only)
    if imported is None:
        raise InvalidType(f"{name} is of type {type(out).__name__}: give an array to write to")
    operand = Operand(name, *imported)
    if kinds is not None and operand.dtype_name not in kinds:
        raise InvalidType(f"{operand.describe()}: give an array of {' or '.join(kinds)}")
    rows = operand.shape[0] if operand.shape else -1
    row = operand.library.row_bytes(operand.array) if operand.shape else 0
    if rows != n or (n and row != row_bytes):
        raise InvalidArgument(f"{operand.describe()}, {row} bytes a row: give {n} rows of {row_bytes} bytes")
    if not operand.library.writable(operand.array):
        raise InvalidArgument(
            f"{name} is read-only (or a tensor that requires grad): give an array that can be written"
        )
    if not operand.library.is_contiguous(operand.array):
        raise InvalidArgument(
            f"{name} is not contiguous, so results cannot be written into it: give a contiguous array"
        )
    return operand


@dataclass(slots=True)
class Request:
    """A batch as the table's methods describe it."""

    op: Op
    keys: Any
    values: Any = None
    ops: Any = None
    mask: Any = None
    dtype: Any = None
    stream: Any = None
    out_values: Any = None
    out_statuses: Any = None
    out_found: Any = None
    out_scores: Any = None
    give_scores: bool = False
    give_values: bool = False
    give_found: bool = False
    combine: str = "add"
    scale: float = 1.0
    unique: bool = False
    as_arrow: bool = False
    as_device: bool = False


@dataclass(frozen=True, slots=True)
class Results:
    """What a batch gave: statuses always, the others where they were asked for."""

    statuses: Any
    values: Any = None
    found: Any = None
    scores: Any = None


def rows_where(mask: Any) -> Any:
    """The numbers of the rows where a result is true, in its library."""
    imported = arrays.import_array("mask", mask)
    assert imported is not None
    return imported[1].rows_where(imported[0])


def needs_values(request: Request, ops: Operand | None) -> tuple[bool, bool]:
    """Whether any operation takes a value, and whether any accumulates. Codes in GPU memory are copied to look."""
    if ops is None:
        return request.op.takes_value, request.op is Op.ACCUMULATE
    codes = np.asarray(ops.array.tolist() if ops.place != HOST else ops.array, np.uint8)
    used = [Op(int(code)) for code in np.unique(codes)]
    return any(op.takes_value for op in used), Op.ACCUMULATE in used


def _element(values: Operand | None, accumulates: bool, shape: TableShape) -> int:
    if values is not None and values.dtype_name in ELEMENTS:
        return ELEMENTS[values.dtype_name]
    if not accumulates or shape.value_bytes == 0:
        return ELEMENTS["uint32"]  # divides any size for which C++ asks; nothing is combined
    kind = "None" if values is None else values.dtype_name
    raise InvalidType(f"values is {kind}, which accumulate cannot combine: give an array of {', '.join(ELEMENTS)}")


def _word(library: Library) -> str:
    """The element type of scores: PyTorch does little with unsigned words."""
    return "int64" if library.name == "torch" else "uint64"


def one_place(operands: list[Operand], shape: TableShape) -> str:
    place = operands[0].place
    for operand in operands[1:]:
        if operand.place != place:
            raise InvalidArgument(
                f"{operand.name} is on {operand.place}, but keys is on {place}: give all arrays of a call in one place"
            )
    if place not in (HOST, shape.device):
        if shape.device == HOST:
            raise InvalidArgument(arrays.not_on_host("keys", place, shape.path))
        raise InvalidArgument(
            f"keys is on {place}, but {shape.path} is on {shape.device}: copy the arrays there, or open "
            f'the table with device="{place}"'
        )
    return place


def no_overlap(written: list[Operand], read: list[Operand]) -> None:
    others = list(read)
    for target in written:
        for other in others:
            if target.pointer < other.pointer + other.bytes and other.pointer < target.pointer + target.bytes:
                raise InvalidArgument(
                    f"{target.name} overlaps {other.name} in memory: give an array of its own for results"
                )
        others.append(target)


def streams_of(request: Request, operands: list[Operand], place: str, shape: TableShape) -> tuple[int, list[int]]:
    """The stream that the batch runs on, and the other current streams of the arrays' libraries."""
    if shape.device == HOST:
        if request.stream is not None:
            raise InvalidArgument(
                f"stream= is for tables on a GPU, and {shape.path} is worked on by the cpu: leave it out"
            )
        return 0, []
    if place == HOST:
        return (0 if request.stream is None else arrays.stream_handle(request.stream)), []
    current = list(dict.fromkeys(operand.library.stream(place) for operand in operands))
    chosen = current[0] if request.stream is None else arrays.stream_handle(request.stream)
    return chosen, [stream for stream in current if stream != chosen]


def run(table: _native.Table, request: Request, shape: TableShape) -> Results:
    """Checks the request, runs it, and returns its results. Interrupted, raises what the signal's handler raised, with
    the statuses so far as its attribute `statuses`."""
    for kind in ("as_arrow", "as_device"):
        if getattr(request, kind):
            raise InvalidArgument(f"{kind} is for values of any length, and {shape.path} has {shape.value_bytes} bytes")
    keys, n = take_keys(request.keys, shape)
    library, name = keys.library, request.op.name.lower()
    mask = take_bytes(
        "mask", request.mask, n, ("bool", "uint8"), "a mask of bool, true for the operations to run", shape
    )
    ops = take_ops(request.ops, n, shape) if request.ops is not None else None
    takes, accumulates = needs_values(request, ops)
    values = None
    if takes or request.values is not None:
        values = take_values(request.values, n, "apply" if ops else name, shape)
    element = _element(values, accumulates, shape)
    if request.combine not in COMBINES:
        raise InvalidArgument(f"op is {request.combine!r}: give 'add', 'min' or 'max'")

    read = [operand for operand in (keys, values, ops, mask) if operand is not None]
    place = one_place(read, shape)
    written: list[Operand] = []
    every_row = mask is None and ops is None  # is written by the batch

    def result(
        name: str, out: Any, row: tuple[int, ...], dtype: Any, kinds: tuple[str, ...] | None, size: int
    ) -> Operand:
        if out is not None:
            made = take_out(name, out, n, size, kinds, shape)
        else:
            made = Operand(name, library.new(row, dtype, place, zero=not every_row), library)
        written.append(made)
        return made

    rows = None
    if request.give_values:
        row, dtype = result_rows(library, n, request.dtype, values, shape.value_bytes)
        rows = result("out", request.out_values, row, dtype, None, shape.value_bytes)
    statuses = result("out", request.out_statuses, (n,), library.dtype("uint8")[0], ("uint8",), 1)
    found = (
        result("out", request.out_found, (n,), library.dtype("bool")[0], ("bool",), 1) if request.give_found else None
    )
    scores = (
        result("out", request.out_scores, (n,), library.dtype(_word(library))[0], ("uint64", "int64"), 8)
        if request.give_scores
        else None
    )
    one_place(read + written, shape)
    no_overlap(written, read)
    if rows is not None and request.out_values is not None and not every_row:
        rows.library.clear(rows.array)

    stream, others = streams_of(request, read + written, place, shape)
    for other in others:
        arrays.order_streams(other, stream, place)
    _, _, raised = table.run(
        size=n,
        op=int(request.op),
        ops=ops.pointer if ops else 0,
        keys=keys.pointer,
        values=values.pointer if values else 0,
        out=rows.pointer if rows else 0,
        statuses=statuses.pointer,
        found=found.pointer if found else 0,
        mask=mask.pointer if mask else 0,
        combine=COMBINES[request.combine],
        element=element,
        scale=request.scale,
        column=shape.column,
        column_bytes=shape.value_bytes if shape.partial else 0,
        unique=bool(request.unique),
        on_device=place != HOST,
        stream=stream,
        interruptible=threading.get_ident() == MAIN_THREAD,
        scores=scores.pointer if scores else 0,
    )
    for other in others:  # so that memory freed or results used there are not touched too early
        arrays.order_streams(stream, other, place)
    if raised is not None:
        raised.statuses = statuses.array
        raise raised
    return Results(
        statuses.array,
        rows.array if rows else None,
        found.array if found else None,
        scores.array if scores else None,
    )
