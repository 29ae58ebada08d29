"""An embedding whose rows are in a table: any number of keys, durable, shared by all that open the pool."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Self

import torch
from torch import Tensor

from ..arrays.tensors import address_of, plain
from ..checked import MOST, whole
from ..column import Column
from ..errors import InvalidArgument, InvalidType
from ..messages import shown
from ..table import Table
from . import ops
from .optimizers import refuse_no_space
from .rows import Rows, refuse_copies

_ROWS_AT_ONCE = 1 << 18
"""Of an import: what is converted to the stored type at a time."""


class Embedding(torch.nn.Module):
    """Looks up rows of a table, and keeps their gradients: `torch.nn.Embedding`, sparse, for keys of 8 bytes.

    In training, forward adds rows for new keys, and raises NoSpace where there is no space for them. Backward leaves
    gradients on the one parameter, `rows`, those of repeated keys and of several passes summed; `holdfastdb.torch.SGD`
    or `Adagrad` applies them. In evaluation, and after `requires_grad_(False)`, nothing changes, and the rows of absent
    keys are zero. `state_dict` is empty: the rows are in the pool. `import_weight` takes those of a
    `torch.nn.Embedding`.

    `DistributedDataParallel` averages no gradients of rows: each rank trains the rows of its table.

    Parameters
    ----------
    table
        Open for writing, with values of `columns` elements; or such a column of one, whose values hold more: the state
        of an optimiser, which other columns read and change. The module keeps it alive, and does not close it.
    columns
        Elements of a row.
    stored
        Type of the elements in the table: float16, bfloat16, float32 or float64. Sums of 16 bits are taken in fp32, and
        rounded once for each key.
    dtype
        Type of the elements that forward gives; `stored` by default.
    init
        First rows: a number, or one of `holdfastdb.initial`.
    """

    def __init__(
        self,
        table: Table | Column,
        columns: int,
        *,
        stored: torch.dtype = torch.float32,
        dtype: torch.dtype | None = None,
        init: Any = 0.0,
    ) -> None:
        super().__init__()
        if not isinstance(table, Table | Column):
            raise InvalidType(f"table is of type {type(table).__name__}: give a holdfastdb.Table, or a column of one")
        for name, kind in (("stored", stored), ("dtype", stored if dtype is None else dtype)):
            if not isinstance(kind, torch.dtype) or str(kind).removeprefix("torch.") not in ops.FLOATS:
                raise InvalidType(f"{name} is {shown(kind)}: give torch.float16, bfloat16, float32 or float64")
        columns = whole("columns", columns, 1, MOST)
        ops.check_row(table, columns, stored)
        self.table = table
        self.columns = columns
        self.stored = stored
        self.dtype = stored if dtype is None else dtype
        self._init = ops.initial_arguments(init)
        self.rows = Rows.of(table, columns, stored)
        # By themselves, so that a compiled forward does not look at `rows`, whose shape changes with every batch.
        self._handle, self._found = self.rows.handle, ops.handle(table)
        self._anchor = torch.zeros(1, requires_grad=True)  # autograd comes by where a gradient is wanted

    def forward(self, keys: Tensor) -> Tensor:
        """Keys of any shape, int64 or uint64, to rows: one axis more, of `columns` elements."""
        if not isinstance(keys, Tensor):
            raise InvalidType(f"keys is of type {type(keys).__name__}: give a tensor of int64 or uint64")
        if not self.training:
            return torch.ops.holdfastdb.find(self._found, keys, self.columns, self.stored, self.dtype)[0]
        if not torch.compiler.is_compiling():  # the operator would hand its arguments to what such a tensor stands for
            keys = plain(keys, torch, "keys", argument=True)
        return torch.ops.holdfastdb.embed(
            self._anchor, self._handle, keys, self.columns, self.stored, self.dtype, *self._init
        )

    @torch.no_grad()
    def import_weight(self, weight: Tensor, keys: Tensor | None = None) -> None:
        """Writes the rows of another embedding into the table, durably, in place of rows that are there.

        Parameters
        ----------
        weight
            Of shape (n, columns), floating-point: `torch.nn.Embedding.weight`, or that of a state_dict. It is rounded
            to `stored`.
        keys
            Of shape (n,), int64 or uint64; by default row i has the key i.

        Raises
        ------
        NoSpace
            With the number of rows that were not written; the others are.
        """
        rows = _weight_of(weight, self.columns)
        if keys is None:
            keys = torch.arange(len(rows), device=rows.device)
        elif not isinstance(keys, Tensor):
            raise InvalidType(f"keys is of type {type(keys).__name__}: give a tensor of int64 or uint64")
        keys = plain(keys, torch, "keys", argument=True)
        address_of(keys, keys.is_contiguous(), "keys", argument=True)
        if keys.shape != rows.shape[:1]:
            raise InvalidArgument(
                f"keys is of shape {tuple(keys.shape)}, and weight has {len(rows):,} rows: give one each"
            )
        parts = [
            torch.ops.holdfastdb.insert_or_assign(self._found, some_keys, some_rows, self.stored)
            for some_keys, some_rows in zip(keys.split(_ROWS_AT_ONCE), rows.split(_ROWS_AT_ONCE), strict=True)
        ]
        refuse_no_space(torch.cat(parts), self.table.path, "were not imported")

    def extra_repr(self) -> str:
        return f"{self.table.path}, columns={self.columns}, stored={self.stored}"

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Of `torch.nn.Module`. With `recurse=False`, as DistributedDataParallel asks each module for what it waits for
        and averages, gives a number without meaning instead of the rows: its gradient is always zero, and those of
        rows are of other keys on each rank."""
        if recurse or not self.rows.requires_grad:
            yield from super().named_parameters(prefix, recurse, remove_duplicate)
            return
        self.rows.shrink()  # DistributedDataParallel then broadcasts it, and ranks have other numbers of rows
        yield f"{prefix}.rows" if prefix else "rows", self._anchor

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        super()._apply(fn, recurse)
        self._anchor = torch.zeros(1, device=self.rows.device, requires_grad=True)  # reduced where the module is
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Nothing: the rows are in the pool."""

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Nothing, likewise: what a state has for this module is unexpected."""
        unexpected_keys += [_Unexpected(key, self.table.path) for key in state_dict if key.startswith(prefix)]

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refuse_copies(self.table)


class _Unexpected(str):
    """A key of a state_dict that is formatted, as PyTorch's error does, with what to do about it."""

    def __new__(cls, key: str, path: str) -> Self:
        made = super().__new__(cls, key)
        made._path = path  # type: ignore[attr-defined]
        return made

    def __format__(self, form: str) -> str:
        return (
            f"{self!s}: the rows of this holdfastdb.torch.Embedding are in {self._path}; "  # type: ignore[attr-defined]
            "give a weight to its import_weight(), and take the key out of the state"
        )

    def __reduce__(self) -> Any:
        return str, (str(self),)


def _weight_of(weight: Any, columns: int) -> Tensor:
    """A weight as plain rows. Raises InvalidType and InvalidArgument for what is none."""
    if not isinstance(weight, Tensor):
        raise InvalidType(f"weight is of type {type(weight).__name__}: give a tensor, as embedding.weight")
    rows: Tensor = plain(weight, torch, "weight").detach()
    if not rows.dtype.is_floating_point:
        raise InvalidType(f"weight is of {rows.dtype}: give floating-point numbers")
    if rows.dim() != 2 or rows.shape[1] != columns:
        raise InvalidArgument(f"weight is of shape {tuple(rows.shape)}: give one of shape (n, {columns})")
    address_of(rows, rows.is_contiguous(), "weight")
    return rows
