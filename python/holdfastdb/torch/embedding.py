"""An embedding whose rows live in a table: any number of keys, durable, shared by whoever opens the pool."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..column import Column
from ..errors import InvalidArgument, InvalidType
from ..table import Table
from . import ops


class Embedding(torch.nn.Module):
    """Looks up rows of a table, and takes gradients off them: `torch.nn.Embedding` with SGD, for keys of 8 bytes.

    In training, forward adds rows for new keys, and backward takes `lr` times the gradients off the rows at once,
    those of repeated keys together; no optimizer sees them. When backward returns (in GPU memory: when its stream
    gets there), the update is durable. In evaluation nothing changes, and the rows of absent keys are zero.

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
    lr
        The learning rate; change it by assigning to `lr`.
    """

    def __init__(
        self,
        table: Table | Column,
        columns: int,
        *,
        stored: torch.dtype = torch.float32,
        dtype: torch.dtype | None = None,
        init: Any = 0.0,
        lr: float = 0.01,
    ) -> None:
        super().__init__()
        # A copy: that others change the table between forward and backward is no reason for autograd to stop.
        handle = ops.handle(table).clone()
        for name, kind in (("stored", stored), ("dtype", dtype or stored)):
            if not isinstance(kind, torch.dtype) or str(kind).removeprefix("torch.") not in ops.FLOATS:
                raise InvalidType(f"{name} is {kind!r}: give torch.float16, bfloat16, float32 or float64")
        ops.check_row(table, columns, stored)
        self.table = table
        self.columns = columns
        self.stored = stored
        self.dtype = dtype or stored
        self._init = ops.initial_arguments(init)
        self._handle = handle
        self.lr = lr
        # Without meaning of its own, and always zero: autograd comes by where a parameter is.
        self.anchor = torch.nn.Parameter(torch.zeros(1))

    @property
    def lr(self) -> float:
        """The learning rate."""
        return float(self._rate)

    @lr.setter
    def lr(self, rate: float) -> None:
        if not 0 <= rate < float("inf"):
            raise InvalidArgument(f"lr is {rate}: give a finite number, 0 or more")
        self._rate = torch.tensor(rate, dtype=torch.float64)  # a tensor, so that a new rate compiles nothing anew

    def forward(self, keys: Tensor) -> Tensor:
        """Keys of any shape, int64 or uint64, to rows: one axis more, of `columns` elements."""
        if not self.training:
            return torch.ops.holdfastdb.find(self._handle, keys, self.columns, self.stored, self.dtype)[0]
        return torch.ops.holdfastdb.embed(
            self.anchor, self._handle, self._rate, keys, self.columns, self.stored, self.dtype, *self._init
        )

    def extra_repr(self) -> str:
        return f"{self.table.path}, columns={self.columns}, stored={self.stored}, lr={self.lr}"
