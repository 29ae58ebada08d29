"""An embedding whose rows live in a table: any number of keys, durable, shared by whoever opens the pool."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..column import Column
from ..errors import InvalidType
from ..table import Table
from . import ops
from .rows import Rows


class Embedding(torch.nn.Module):
    """Looks up rows of a table, and keeps their gradients: `torch.nn.Embedding`, sparse, for keys of 8 bytes.

    In training, forward adds rows for new keys, and raises NoSpace where there is no space for them. Backward leaves
    gradients on the one parameter, `rows`, those of repeated keys and of several passes summed; `holdfastdb.torch.SGD`
    or `Adagrad` applies them. In evaluation nothing changes, and the rows of absent keys are zero. `state_dict` is
    empty: the rows are in the pool.

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
        for name, kind in (("stored", stored), ("dtype", dtype or stored)):
            if not isinstance(kind, torch.dtype) or str(kind).removeprefix("torch.") not in ops.FLOATS:
                raise InvalidType(f"{name} is {kind!r}: give torch.float16, bfloat16, float32 or float64")
        ops.check_row(table, columns, stored)
        self.table = table
        self.columns = columns
        self.stored = stored
        self.dtype = dtype or stored
        self._init = ops.initial_arguments(init)
        self.rows = Rows.of(table, columns, stored)
        # By themselves, so that a compiled forward does not look at `rows`, whose shape changes with every batch.
        self._handle, self._found = self.rows.handle, ops.handle(table)
        self._anchor = torch.zeros(1, requires_grad=True)  # autograd comes by where a gradient is wanted

    def forward(self, keys: Tensor) -> Tensor:
        """Keys of any shape, int64 or uint64, to rows: one axis more, of `columns` elements."""
        if not self.training:
            return torch.ops.holdfastdb.find(self._found, keys, self.columns, self.stored, self.dtype)[0]
        return torch.ops.holdfastdb.embed(
            self._anchor, self._handle, keys, self.columns, self.stored, self.dtype, *self._init
        )

    def extra_repr(self) -> str:
        return f"{self.table.path}, columns={self.columns}, stored={self.stored}"

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Nothing: the rows are in the pool."""

    def _load_from_state_dict(self, *_: Any) -> None:
        """Nothing, likewise."""
