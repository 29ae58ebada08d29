"""`torch.ops.holdfastdb`: a table's operations as PyTorch custom operators, with fake kernels for tracing.

A table is named by its `handle`, a tensor on the CPU. Operators that change the table say that they change the handle,
so that a compiler neither drops nor reorders them. Keys have any shape; results have the same, and a row of `columns`
elements each. The table holds elements of type `stored`; results are converted to `dtype`, rows given to `stored`.
"""

from __future__ import annotations

import secrets
import weakref
from typing import Any

import torch
from torch import Tensor

from .. import initial, lookup
from ..batch import Request
from ..column import Column
from ..errors import InvalidArgument, InvalidType, ObjectClosed
from ..lookup import FLOATS
from ..messages import shown
from ..status import Op
from ..table import Table
from .optimizers import refuse_no_space
from .rows import rows_of

__all__ = ["FLOATS", "handle"]

_tables: weakref.WeakValueDictionary[int, Table | Column] = weakref.WeakValueDictionary()
_handles: weakref.WeakKeyDictionary[Table | Column, Tensor] = weakref.WeakKeyDictionary()


def handle(table: Table | Column) -> Tensor:
    """The tensor that names an open table, or a column of one, to the operators: shape (2,) of int64, its number in
    this process and how often they changed it. It does not keep the table open, nor the table or column alive."""
    if not isinstance(table, Table | Column):
        raise InvalidType(f"table is of type {type(table).__name__}: give a holdfastdb.Table, or a column of one")
    if table not in _handles:
        number = secrets.randbits(62)
        _tables[number] = table
        with torch.inference_mode(False):  # so that training may use it after any first caller
            _handles[table] = torch.tensor([number, 0], dtype=torch.int64)
    return _handles[table]


def _require_tensor(name: str, given: Any) -> None:
    """PyTorch takes None for a tensor, and gives it to operators as it is."""
    if not isinstance(given, Tensor):
        raise InvalidType(f"{name} is of type {type(given).__name__}: give a tensor")
    if given.is_quantized:
        raise InvalidType(f"{name} is a quantized tensor: give its dequantize()")


def _table(handle: Tensor) -> Table | Column:
    _require_tensor("handle", handle)
    if handle.shape != (2,) or handle.dtype != torch.int64 or handle.device.type != "cpu":
        raise InvalidArgument(
            f"handle is {handle.dtype} of shape {tuple(handle.shape)} on {handle.device}: give "
            "holdfastdb.torch.handle(table)"
        )
    table = _tables.get(int(handle[0]))
    if table is None:
        raise ObjectClosed("the handle names no table of this process: keep the table itself, and give handle(table)")
    return table


def _flat(keys: Tensor) -> Tensor:
    _require_tensor("keys", keys)
    if keys.dtype not in (torch.int64, torch.uint64):
        raise InvalidType(f"keys is {keys.dtype}: give int64 or uint64, keys.to(torch.int64)")
    return keys.reshape(-1)


def _rows(rows: Tensor, keys: Tensor, stored: torch.dtype) -> Tensor:
    _require_tensor("rows", rows)
    if rows.shape[: keys.dim()] != keys.shape or rows.dim() != keys.dim() + 1:
        raise InvalidArgument(
            f"rows is of shape {tuple(rows.shape)}, and keys of {tuple(keys.shape)}: give a row for each key, "
            f"{(*keys.shape, 'columns')}"
        )
    return rows.detach().reshape(keys.numel(), rows.shape[-1]).to(stored)


def check_row(table: Table | Column, columns: int, stored: torch.dtype) -> None:
    """Raises InvalidArgument unless a row fills a value of the table."""
    if columns * stored.itemsize != table.value_bytes:
        raise InvalidArgument(
            f"{columns} columns of {stored} are {columns * stored.itemsize} bytes, but {table.path} has values of "
            f"{table.value_bytes} bytes: give columns and stored as the table was filled"
        )


def _changed(handle: Tensor) -> None:
    handle[1] += 1


def _initial(kind: str, a: float, b: float, seed: int) -> initial.Initial:
    if kind == "constant":
        return initial.Constant(a)
    if kind == "uniform":
        return initial.Uniform(a, b, seed)
    if kind == "normal":
        return initial.Normal(a, b, seed)
    raise InvalidArgument(
        f"init is {shown(kind)}: give 'constant' (value), 'uniform' (low, high) or 'normal' (std, mean)"
    )


def initial_arguments(init: Any) -> tuple[str, float, float, int]:
    """An initialiser as the arguments init, a, b and seed of the operators."""
    if isinstance(init, int | float) and not isinstance(init, bool):
        init = initial.Constant(init)
    if isinstance(init, initial.Uniform):
        return "uniform", float(init.low), float(init.high), int(init.seed)
    if isinstance(init, initial.Normal):
        return "normal", float(init.std), float(init.mean), int(init.seed)
    if isinstance(init, initial.Constant):
        return "constant", float(init.value), 0.0, 0
    raise InvalidType(f"init is of type {type(init).__name__}: give a number, or one of holdfastdb.initial")


def _empty(keys: Tensor, columns: int, dtype: torch.dtype) -> Tensor:
    _require_tensor("keys", keys)
    return torch.empty((*keys.shape, columns), dtype=dtype, device=keys.device)


def _like(keys: Tensor, dtype: torch.dtype) -> Tensor:
    """One element for each key."""
    _require_tensor("keys", keys)
    return torch.empty(keys.shape, dtype=dtype, device=keys.device)


# Reads of a table that others change are never the same twice, so no two of them may be merged into one.
_READS = (torch.Tag.nondeterministic_seeded,)


@torch.library.custom_op("holdfastdb::find", mutates_args=(), tags=_READS)
def find(handle: Tensor, keys: Tensor, columns: int, stored: torch.dtype, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Values, zero where a key is absent, and whether it was found."""
    table = _table(handle)
    check_row(table, columns, stored)
    rows, found = _empty(keys, columns, dtype), _like(keys, torch.bool)
    table.find(_flat(keys), dtype=stored, out=(rows.view(-1, columns), found.view(-1)))
    return rows, found


@find.register_fake
def _(handle: Tensor, keys: Tensor, columns: int, stored: torch.dtype, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    return _empty(keys, columns, dtype), _like(keys, torch.bool)


@torch.library.custom_op("holdfastdb::contains", mutates_args=(), tags=_READS)
def contains(handle: Tensor, keys: Tensor) -> Tensor:
    """Whether each key is there."""
    found = _like(keys, torch.bool)
    _table(handle).contains(_flat(keys), out=found.view(-1))
    return found


@contains.register_fake
def _(handle: Tensor, keys: Tensor) -> Tensor:
    return _like(keys, torch.bool)


@torch.library.custom_op("holdfastdb::find_or_insert", mutates_args=("handle",))
def find_or_insert(
    handle: Tensor, keys: Tensor, columns: int, stored: torch.dtype, dtype: torch.dtype, init: str, a: float, b: float,
    seed: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Values, first drawn as `init` says (`initial_arguments`) where a key was absent, and statuses: FOUND, INSERTED,
    or NO_SPACE with zeroes."""
    table = _table(handle)
    check_row(table, columns, stored)
    rows = _empty(keys, columns, dtype)
    first, out = _initial(init, a, b, seed), rows.view(-1, columns)
    _, _, statuses = table.find_or_insert(_flat(keys), init=first, dtype=stored, out=out, statuses=True)
    _changed(handle)
    return rows, statuses.view(keys.shape)


@find_or_insert.register_fake
def _(
    handle: Tensor, keys: Tensor, columns: int, stored: torch.dtype, dtype: torch.dtype, init: str, a: float, b: float,
    seed: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    return _empty(keys, columns, dtype), _like(keys, torch.uint8)


@torch.library.custom_op("holdfastdb::insert_or_assign", mutates_args=("handle",))
def insert_or_assign(handle: Tensor, keys: Tensor, rows: Tensor, stored: torch.dtype) -> Tensor:
    """Statuses."""
    statuses = _like(keys, torch.uint8)
    _table(handle).insert_or_assign(_flat(keys), _rows(rows, keys, stored), out=statuses.view(-1))
    _changed(handle)
    return statuses


@insert_or_assign.register_fake
def _(handle: Tensor, keys: Tensor, rows: Tensor, stored: torch.dtype) -> Tensor:
    return _like(keys, torch.uint8)


@torch.library.custom_op("holdfastdb::accumulate", mutates_args=("handle",))
def accumulate(handle: Tensor, keys: Tensor, rows: Tensor, stored: torch.dtype, scale: float) -> Tensor:
    """Adds `scale` times each row to the value that is there, or to zero. Statuses."""
    statuses = _like(keys, torch.uint8)
    _table(handle).accumulate(_flat(keys), _rows(rows, keys, stored), scale=scale, out=statuses.view(-1))
    _changed(handle)
    return statuses


@accumulate.register_fake
def _(handle: Tensor, keys: Tensor, rows: Tensor, stored: torch.dtype, scale: float) -> Tensor:
    return _like(keys, torch.uint8)


@torch.library.custom_op("holdfastdb::erase", mutates_args=("handle",))
def erase(handle: Tensor, keys: Tensor) -> Tensor:
    """Statuses."""
    statuses = _like(keys, torch.uint8)
    _table(handle).erase(_flat(keys), out=statuses.view(-1))
    _changed(handle)
    return statuses


@erase.register_fake
def _(handle: Tensor, keys: Tensor) -> Tensor:
    return _like(keys, torch.uint8)


# The pair that trains. Both have a result that the graph needs, which orders them; autograd takes no operator that says
# that it changes an argument. The anchor is a tensor without meaning: for its gradient, always zero, backward comes.


@torch.library.custom_op("holdfastdb::embed", mutates_args=(), tags=_READS)
def embed(
    anchor: Tensor, handle: Tensor, keys: Tensor, columns: int, stored: torch.dtype, dtype: torch.dtype,
    init: str, a: float, b: float, seed: int,
) -> Tensor:  # fmt: skip
    """The values of `find_or_insert` in the table of an embedding (`Rows.handle`); NoSpace where there is no space for
    a new row. Backward keeps their gradients there. Those of `find` while the parameter requires no gradient."""
    parameter = rows_of(handle)
    table = parameter.table
    check_row(table, columns, stored)
    rows = _empty(keys, columns, dtype)
    if not parameter.requires_grad:  # asked here: a compiled forward looks at no parameter whose shape changes
        table.find(_flat(keys), dtype=stored, out=rows.view(-1, columns))
        return rows
    request = Request(Op.FIND_OR_INSERT, _flat(keys), dtype=stored, out_values=rows.view(-1, columns), give_values=True,
                      give_found=True)  # fmt: skip
    results = lookup.find_or_insert(table._native, request, table._shape, _initial(init, a, b, seed))
    refuse_no_space(results.statuses, table.path, "were not added")
    return rows


@embed.register_fake
def _(
    anchor: Tensor, handle: Tensor, keys: Tensor, columns: int, stored: torch.dtype, dtype: torch.dtype,
    init: str, a: float, b: float, seed: int,
) -> Tensor:  # fmt: skip
    return _empty(keys, columns, dtype)


@torch.library.custom_op("holdfastdb::keep_gradients", mutates_args=(), tags=_READS)
def keep_gradients(anchor: Tensor, handle: Tensor, keys: Tensor, gradients: Tensor) -> Tensor:
    """Adds a gradient for each key to those of the embedding. The gradient of the anchor."""
    rows_of(handle).add(_flat(keys), _rows(gradients, keys, gradients.dtype))
    return torch.zeros_like(anchor)


@keep_gradients.register_fake
def _(anchor: Tensor, handle: Tensor, keys: Tensor, gradients: Tensor) -> Tensor:
    return torch.empty_like(anchor)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:3])


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    anchor, handle, keys = ctx.saved_tensors
    result = None
    if ctx.needs_input_grad[0]:
        result = torch.ops.holdfastdb.keep_gradients(anchor, handle, keys, gradient)
    return result, *(None for _ in range(9))


embed.register_autograd(_backward, setup_context=_remember)
