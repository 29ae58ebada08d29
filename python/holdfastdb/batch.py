"""One batch over a source of keys and a source of values, each rows of fixed length or byte strings: what the caller
gave is checked against the table, results are made in the caller's kind of array, and the native table runs it. Every
check comes before anything changes; each error says what, where and what to do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from . import _native, arrays, rows, strings
from .checked import flag, one_of, result_of
from .errors import InvalidArgument, InvalidType
from .libraries import HOST, Library
from .operands import Operand, TableShape, no_overlap, one_place, streams_of, take_bytes, take_ops, take_out
from .status import Op
from .strings import Strings

COMBINES = {"add": 0, "min": 1, "max": 2}
MAIN_THREAD = threading.main_thread().ident

Source: TypeAlias = Operand | Strings
"""Keys or values of a batch, one for each of its operations."""


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
    result: Any = "numpy"
    note_keys: Callable[[Any], None] | None = None
    """Called with the keys as they were given, before a batch that may change something."""


@dataclass(frozen=True, slots=True)
class Results:
    """What a batch gave: statuses always, the others where they were asked for."""

    statuses: Any
    values: Any = None
    found: Any = None
    scores: Any = None


@dataclass(slots=True)
class _Given:
    """What a batch reads."""

    keys: Source
    values: Source | None
    ops: Operand | None
    mask: Operand | None
    element: int | None
    """Code of the type that accumulate combines; None where no operation accumulates."""
    operands: list[Operand]
    """All arrays of it, the keys first."""

    @property
    def every_row(self) -> bool:
        """Whether the batch writes every row of what it gives."""
        return self.mask is None and self.ops is None


@dataclass(slots=True)
class _Made:
    """What a batch writes."""

    statuses: Operand
    found: Operand | None = None
    scores: Operand | None = None
    rows: Operand | None = None
    blobs: _native.Blobs | None = None
    gpu_blobs: _native.DeviceBlobs | None = None


def rows_where(mask: Any) -> Any:
    """The numbers of the rows where a result is true, in its library."""
    imported = arrays.import_array("mask", mask)
    assert imported is not None
    return imported[1].rows_where(imported[0])


def _needs_values(request: Request, ops: Operand | None) -> tuple[bool, bool]:
    """Whether any operation takes a value, and whether any accumulates. Of codes in GPU memory those that occur, each
    once, are copied to the host."""
    if ops is None:
        return request.op.takes_value, request.op is Op.ACCUMULATE
    used = [Op(int(code)) for code in ops.library.distinct(ops.array)]
    return any(op.takes_value for op in used), Op.ACCUMULATE in used


def _refuse(request: Request, accumulates: bool, shape: TableShape) -> None:
    """Rejects options that keys and values of the table's kind do not support."""
    result_of(request.result, shape)
    if not shape.any_length:
        return
    for name, value in (("dtype", request.dtype), ("out", request.out_values)):
        if value is not None:
            raise InvalidArgument(f"{name} is for values of fixed length, and those of {shape.path} have any")
    if accumulates or request.scale != 1.0:
        raise InvalidArgument(f"values of {shape.path} have any length, and no elements to accumulate: assign them")


def _take_values(request: Request, n: int, op_name: str, shape: TableShape) -> Source | None:
    if not shape.any_length:
        return rows.take_values(request.values, n, op_name, shape)
    if request.values is None:
        raise InvalidType(f"{op_name} takes a value for each key: give {strings.KINDS}")
    values = strings.take("values", request.values, shape)
    if values.n != n:
        raise InvalidArgument(f"values has {values.n} rows, but keys has {n}: give one value for each key")
    return values


def _take(request: Request, shape: TableShape) -> _Given:
    """What the batch reads, checked but for its places."""
    keys: Source = (
        strings.take("keys", request.keys, shape) if shape.any_length else rows.take_keys(request.keys, shape)
    )
    n = keys.n
    mask = take_bytes(
        "mask", request.mask, n, ("bool", "uint8"), "a mask of bool, true for the operations to run", shape
    )
    ops = take_ops(request.ops, n, shape) if request.ops is not None else None
    takes, accumulates = _needs_values(request, ops)
    _refuse(request, accumulates, shape)
    values = None
    if takes or request.values is not None:
        values = _take_values(request, n, "apply" if ops else request.op.name.lower(), shape)
    element = rows.element_of(values, shape) if accumulates and not isinstance(values, Strings) else None
    one_of("op", request.combine, tuple(COMBINES))
    operands = list(keys.operands)
    for one in (values, ops, mask):
        if one is not None:
            operands += one.operands
    return _Given(keys, values, ops, mask, element, operands)


def _make(request: Request, given: _Given, place: str, shape: TableShape) -> _Made:
    """Arrays for what the batch writes: the caller's, checked, or new ones."""
    n, library, zero = given.keys.n, given.keys.library, not given.every_row
    callers: list[Operand] = []

    def result(out: Any, size: tuple[int, ...], dtype: Any, kinds: tuple[str, ...] | None, row_bytes: int) -> Operand:
        if out is None:
            return Operand("out", library.new(size, dtype, place, zero), library)
        callers.append(take_out("out", out, n, row_bytes, kinds, shape))
        return callers[-1]

    values = None
    if request.give_values and not shape.any_length:
        like = given.values if isinstance(given.values, Operand) else None
        size, dtype = rows.result_rows(library, n, request.dtype, like, shape.value_bytes)
        values = result(request.out_values, size, dtype, None, shape.value_bytes)
    made = _Made(result(request.out_statuses, (n,), library.dtype("uint8")[0], ("uint8",), 1), rows=values)
    if request.give_found:
        made.found = result(request.out_found, (n,), library.dtype("bool")[0], ("bool",), 1)
    if request.give_scores:
        made.scores = result(request.out_scores, (n,), library.dtype(_word(library))[0], ("uint64", "int64"), 8)
    if request.result == "device" and place == HOST:
        raise InvalidArgument(
            "result='device' leaves values in the memory of the GPU that has the keys, and they are in host memory: "
            "give keys as (data, offsets) in that of the table's GPU"
        )
    if callers:  # what is new is there, and by itself
        one_place(given.operands + callers, shape)
        no_overlap(callers, given.operands)
        given.operands += callers
    if request.give_values and shape.any_length:
        if request.result == "device":
            made.gpu_blobs = _native.DeviceBlobs()
        else:
            made.blobs = _native.Blobs()
    return made


def _word(library: Library) -> str:
    """The element type of scores: PyTorch does little with unsigned words."""
    return "int64" if library.name == "torch" else "uint64"


def _locate(record: _native.Batch, place: str, stream: int, shape: TableShape) -> None:
    """Sets which bytes of the values the batch is about, and where its arrays are."""
    if shape.partial:
        record.set_column(shape.column, shape.value_bytes)
    if place != HOST:
        record.set_device(stream)


def _record(request: Request, given: _Given, made: _Made, shape: TableShape) -> _native.Batch:
    """The batch as the native table runs it."""
    keys, values = given.keys, given.values
    record = _native.Batch(int(request.op), keys.n, keys.pointer, made.statuses.pointer)
    if values is not None:
        record.values = values.pointer
    if given.ops is not None:
        record.ops = given.ops.pointer
    if given.mask is not None:
        record.mask = given.mask.pointer
    if made.rows is not None:
        record.out = made.rows.pointer
    if made.found is not None:
        record.found = made.found.pointer
    if made.scores is not None:
        record.scores = made.scores.pointer
    record.unique = flag("unique", request.unique)
    if given.element is not None:
        record.set_accumulate(COMBINES[request.combine], given.element, request.scale)
    if shape.any_length:
        record.set_variable(keys.offsets_at, values.offsets_at if values else 0, made.blobs, made.gpu_blobs)
    return record


def run(table: _native.Table, request: Request, shape: TableShape) -> Results:
    """Checks the request, runs it, and returns its results. Interrupted, raises what the signal's handler raised, or
    ObjectClosed where it closed the table, with the statuses so far as its attribute `statuses`."""
    given = _take(request, shape)
    keys, ops = given.keys, given.ops
    place = one_place(given.operands, shape)
    made = _make(request, given, place, shape)
    stream, others = streams_of(request.stream, given.operands, place, shape)
    record = _record(request, given, made, shape)
    _locate(record, place, stream, shape)
    if made.rows and request.out_values is not None and not given.every_row:
        made.rows.library.clear(made.rows.array)
    for other in others:
        arrays.order_streams(other, stream, place)
    if request.note_keys is not None and keys.n and (ops is not None or request.op.changes):
        request.note_keys(request.keys)
    raised = table.run(record, threading.get_ident() == MAIN_THREAD)
    for other in others:  # so that memory freed or results used there are not touched too early
        arrays.order_streams(stream, other, place)
    if raised is not None:
        raised.statuses = made.statuses.array
        raise raised
    return Results(
        made.statuses.array,
        _values_of(request, made, keys.library, place),
        made.found.array if made.found else None,
        made.scores.array if made.scores else None,
    )


def update_rows(
    table: _native.Table, keys: Any, rows: Any, change: Callable[[str, int], None], library: Library, shape: TableShape
) -> Any:
    """Reads the rows of contiguous distinct keys into `rows`, zeroes where a key is absent, has `change` change them,
    which gets the place and its stream, and writes them back. Returns the statuses. For callers that make the arrays
    themselves: nothing but their place is checked."""
    place = one_place([Operand("keys", keys, library), Operand("values", rows, library)], shape)
    n, at, stream = len(keys), library.pointer(rows), library.stream(place)
    statuses = library.new((n,), library.dtype("uint8")[0], place, zero=False)

    def run_on_rows(op: Op, out: int, values: int) -> None:
        record = _native.Batch(int(op), n, library.pointer(keys), library.pointer(statuses))
        record.out, record.values, record.unique = out, values, True
        _locate(record, place, stream, shape)
        raised = table.run(record, threading.get_ident() == MAIN_THREAD)
        if raised is not None:
            raised.statuses = statuses
            raise raised

    run_on_rows(Op.FIND, at, 0)
    change(place, stream)
    run_on_rows(Op.INSERT_OR_ASSIGN, 0, at)
    return statuses


def _values_of(request: Request, made: _Made, library: Library, place: str) -> Any:
    """What the batch read, if anything was asked for."""
    if made.rows is not None:
        return made.rows.array
    if made.blobs is not None:
        return strings.give(made.blobs, request.result == "arrow")
    return strings.give_on_gpu(made.gpu_blobs, library, place) if made.gpu_blobs is not None else None
