"""Lookups as embeddings need them: results in another floating-point type, the rows of missing keys, first values for
new ones. Made of batches (batch.py) and the array libraries' own operations; in GPU memory nothing waits for the host,
except where the number of missing keys is asked for.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import _native, arrays, batch
from .batch import Request, Results
from .errors import InvalidArgument, InvalidType
from .initial import GREATEST, Constant, Initial, limits_of
from .libraries import HOST, Library
from .messages import shown
from .operands import Operand, TableShape, no_overlap, take_out
from .rows import result_rows, take_keys
from .status import Op, Status

FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True, slots=True)
class _Target:
    """A caller's array of another floating-point type than the table's, and the array that is read in its stead."""

    caller: Operand
    read: Operand

    def fill(self, place: str, stream: Any) -> None:
        rows = self.caller.library.converted(self.read.array, self.caller.array.dtype)
        self.caller.array[...] = rows.reshape(self.caller.shape)
        if stream is not None and place != HOST:  # the caller waits for the stream of the batch only
            arrays.order_streams(self.caller.library.stream(place), arrays.stream_handle(stream), place)


def _name_of(library: Library, dtype: Any) -> str:
    return str(dtype).removeprefix("torch.") if library.name == "torch" else str(dtype.name)


def _target(out: Any, dtype: Any, n: int, shape: TableShape) -> _Target | None:
    """How `out` is filled if it is of another floating-point type than `dtype`, that of the table; else None."""
    if out is None or dtype is None:
        return None
    array, library = arrays.import_target("out", out, shape.host_only)
    name = library.dtype_name(array)
    made, itemsize = library.dtype(dtype)
    if name == _name_of(library, made) or name not in FLOATS or _name_of(library, made) not in FLOATS:
        return None
    row, made = result_rows(library, n, dtype, None, shape.value_bytes)
    wide = (shape.value_bytes // itemsize) * int(library.dtype(name)[1])
    caller = take_out("out", array, n, wide, None, shape)
    place = caller.place
    return _Target(caller, Operand("out", library.new(row, made, place, zero=False), library))


def _require_apart(target: _Target, keys: Operand, request: Request) -> None:
    """Refuses an array that shares memory with another of the call: it is not among those that the batch checks."""
    others = [keys]
    for name, given in (("mask", request.mask), ("out", request.out_found)):
        imported = None if given is None else arrays.import_array(name, given)
        others += [] if imported is None else [Operand(name, *imported)]
    no_overlap([target.caller], others)


def find(table: _native.Table, request: Request, shape: TableShape, missing: bool) -> tuple[Results, Any]:
    """A search, and the rows of its missing keys if asked for."""
    keys = take_keys(request.keys, shape)
    target = _target(request.out_values, request.dtype, keys.n, shape)
    if target is not None:
        _require_apart(target, keys, request)
        request = replace(request, keys=keys.array, out_values=target.read.array)
    else:
        request = replace(request, keys=keys.array)
    results = batch.run(table, request, shape)
    if target is not None:
        target.fill(keys.place, request.stream)
        results = replace(results, values=target.caller.array)
    return results, keys.library.rows_where(results.statuses == int(Status.NOT_FOUND)) if missing else None


def _first_rows(init: Any, keys: Any, row: tuple[int, ...], dtype: Any, library: Library, n_name: str) -> Any:
    """A row for each of `keys`, of the table's type."""
    kind = _name_of(library, dtype)
    if isinstance(init, Initial):
        return init.made(keys, row, kind, dtype, library)
    made = init(keys)
    imported = arrays.import_array("the rows of init", made)
    if imported is None:
        raise InvalidType(f"init gave {type(made).__name__}: it is called with {n_name} and gives an array of rows")
    rows, source = imported
    given = source.dtype_name(rows)
    _check_given(rows, given, kind, source)
    if source.name == library.name and given in FLOATS:
        rows = library.converted(rows, dtype)
    return rows


def _check_given(rows: Any, given: str, kind: str, source: Library) -> None:
    """Raises InvalidArgument where elements of type `kind` cannot hold a function's result. In GPU memory numbers
    are not checked: floating-point numbers that are too large become infinite there."""
    limits, own = limits_of(kind), limits_of(given)
    numbers = (given in FLOATS or own is not None) and (kind in FLOATS or limits is not None)
    if given in (kind, "uint8") or not numbers:  # the same, or bytes of rows, whatever they mean
        return
    if (given in FLOATS) != (kind in FLOATS):
        raise InvalidArgument(f"init gave rows of {given}, and dtype is {kind}: give rows of {kind}")
    if source.place(rows) != HOST or 0 in rows.shape:
        return
    least, greatest = limits or (-GREATEST[kind], GREATEST[kind])
    for number in (rows.min().item(), rows.max().item()):
        if math.isfinite(number) and not least <= number <= greatest:
            raise InvalidArgument(
                f"init gave {number}, and {kind} holds {least:.6g} to {greatest:.6g}: give less, or another dtype"
            )


def _initial(init: Any) -> Any:
    if isinstance(init, int | float) and not isinstance(init, bool):
        return Constant(init)
    if isinstance(init, Initial) or callable(init):
        return init
    raise InvalidType(
        f"init is {shown(init)}, of type {type(init).__name__}: give a number, holdfastdb.initial.Uniform or another "
        "of that module, or a function of keys that gives rows"
    )


def find_or_insert(table: _native.Table, request: Request, shape: TableShape, init: Any) -> Results:
    """Reads, or adds rows made by `init`. On the host they are made for the missing keys; in GPU memory for all keys,
    since no caller there waits to know which are missing."""
    init = _initial(init)
    if request.values is not None:
        raise InvalidArgument("values and init are both given: give the rows, or how to make them")
    keys = take_keys(request.keys, shape)
    library, n = keys.library, keys.n
    if request.dtype is None and request.out_values is not None:
        array, kind = arrays.import_target("out", request.out_values, shape.host_only)
        request = replace(request, dtype=kind.dtype_name(array))
    if request.dtype is None:
        raise InvalidType("init needs to know what values are made of: give dtype=, as np.float32 or torch.float16")
    target = _target(request.out_values, request.dtype, n, shape)
    if target is not None:
        _require_apart(target, keys, request)
        request = replace(request, out_values=target.read.array)
    row, dtype = result_rows(library, n, request.dtype, None, shape.value_bytes)
    request = replace(request, keys=keys.array, dtype=dtype)
    if keys.place == HOST:
        results = _find_then_insert(table, request, shape, init, row, keys)
    else:
        rows = _first_rows(init, keys.array, row, dtype, library, "keys")
        results = batch.run(table, replace(request, values=rows), shape)
    if target is not None:
        target.fill(keys.place, request.stream)
        results = replace(results, values=target.caller.array)
    return results


def _find_then_insert(
    table: _native.Table, request: Request, shape: TableShape, init: Any, row: tuple[int, ...], keys: Operand
) -> Results:
    """Looks for all keys, and then inserts the missing ones, unless another caller has done so."""
    results = batch.run(table, replace(request, op=Op.FIND), shape)
    library, n = keys.library, keys.n
    missing = library.rows_where(results.statuses == int(Status.NOT_FOUND))
    wanted = keys.array[missing]
    rows = _first_rows(init, wanted, (len(missing), *row[1:]), request.dtype, library, "the missing keys")
    rest = replace(request, keys=wanted, values=rows, mask=None, out_values=None, out_statuses=None, out_found=None)
    try:
        added = batch.run(table, rest, shape)
    except BaseException as error:
        if hasattr(error, "statuses"):
            results.statuses[missing] = error.statuses
            error.statuses = results.statuses
        raise
    where = np.asarray(missing)
    if len(where) == 0:
        return results
    results.statuses[missing] = added.statuses
    for target, source in ((results.values, added.values), (results.found, added.found)):
        _host_bytes(target, n)[where] = _host_bytes(source, len(where))
    return results


def _host_bytes(array: Any, n: int) -> np.ndarray:
    """The bytes of a contiguous host array of n > 0 rows, whatever its library and type: shape (n, row bytes)."""
    if not isinstance(array, np.ndarray):
        array = array.view(sys.modules["torch"].uint8).numpy()
    return array.view(np.uint8).reshape(n, array.nbytes // n)
