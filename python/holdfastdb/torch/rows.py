"""What PyTorch sees of an embedding's rows: a parameter that has their gradients, between backward and step."""

from __future__ import annotations

import secrets
import weakref
from typing import Self

import torch
from torch import Tensor

from ..column import Column
from ..errors import TableClosed
from ..table import Table

_known: weakref.WeakValueDictionary[int, Rows] = weakref.WeakValueDictionary()


class Rows(torch.nn.Parameter):
    """The rows that have a gradient: `grad` has one for each of `keys`, which rise, and is as dense as those of other
    parameters, so that what unscales, checks and clips gradients does so here. The rows themselves stay in the table:
    the data is zero, takes no memory, and has the shape of `grad` because PyTorch asks for it."""

    table: Table | Column
    columns: int
    stored: torch.dtype
    keys: Tensor
    handle: Tensor
    with_state: Column
    """The column of a row and its state, where an optimizer wants one."""
    grad: Tensor | None

    @classmethod
    def of(cls, table: Table | Column, columns: int, stored: torch.dtype) -> Self:
        """Without gradient. Sums of 16 bits are taken in fp32."""
        kind = torch.float64 if stored is torch.float64 else torch.float32
        rows = cls(torch.zeros(1, dtype=kind).expand(0, columns))
        rows.table, rows.columns, rows.stored = table, columns, stored
        rows.keys = torch.empty(0, dtype=torch.int64)
        number = secrets.randbits(62)
        rows.handle = torch.tensor([number, 0], dtype=torch.int64)
        _known[number] = rows
        return rows

    @property
    def kind(self) -> torch.dtype:
        """Type of the gradients."""
        return torch.float64 if self.stored is torch.float64 else torch.float32

    def add(self, keys: Tensor, gradients: Tensor) -> None:
        """Adds the gradients of a backward pass, keys in any order and repeated, to those since the last `zero_grad`:
        the pass is summed by itself first, so that the order of its sums depends on nothing else."""
        if not self.requires_grad or keys.numel() == 0:
            return
        keys, sums = _coalesced(keys.view(torch.int64), gradients.to(self.kind))
        if self.grad is not None:
            keys, sums = _coalesced(torch.cat([self.keys, keys]), torch.cat([self.grad, sums]))
        self.grad = None  # PyTorch compares its shape with that of the data
        self.data = sums.new_zeros(1).expand(sums.shape)
        self.keys, self.grad = keys, sums


def _coalesced(keys: Tensor, gradients: Tensor) -> tuple[Tensor, Tensor]:
    """Each key once, rising, and the sum of its gradients as PyTorch's `coalesce` takes it."""
    unique, places = torch.unique(keys, return_inverse=True)
    size = (unique.numel(), gradients.shape[1])
    with torch.sparse.check_sparse_tensor_invariants(False):  # places are; unsaid, some versions of PyTorch warn
        return unique, torch.sparse_coo_tensor(places[None], gradients, size).coalesce().values()


def rows_of(handle: Tensor) -> Rows:
    """The rows that `Rows.handle` names."""
    rows = _known.get(int(handle[0]))
    if rows is None:
        raise TableClosed("the handle names no embedding of this process: keep the embedding until backward is done")
    return rows
