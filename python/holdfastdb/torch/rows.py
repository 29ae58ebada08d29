"""What PyTorch sees of an embedding's rows: a parameter that has their gradients, between backward and step."""

from __future__ import annotations

import functools
import secrets
import weakref
from typing import Any, NoReturn, Self

import torch
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ..column import Column
from ..errors import InvalidType, ObjectClosed
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
        _watch_steps()
        return rows

    @property
    def kind(self) -> torch.dtype:
        """Type of the gradients."""
        return torch.float64 if self.stored is torch.float64 else torch.float32

    def shrink(self) -> None:
        """The data without the rows of gradients that are gone."""
        if self.grad is None:
            self.data = self.detach()[:0]

    def __deepcopy__(self, memo: Any) -> NoReturn:
        refuse_copies(self.table)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refuse_copies(self.table)

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


@functools.cache
def _watch_steps() -> None:
    """From the first embedding on each step of an optimizer is looked at."""
    register_optimizer_step_pre_hook(refuse_step)


def refuse_copies(table: Table | Column) -> NoReturn:
    raise InvalidType(
        f"an embedding cannot be pickled or copied: its rows are in the open table {table.path}. Pass the path "
        "instead, and open the table where the embedding is made"
    )


def refuse_step(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
    """Raises InvalidType before another optimizer than ours steps over rows, which are not in the parameter's data."""
    if hasattr(optimizer, "steps_rows"):
        return
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if isinstance(parameter, Rows):
                name = type(optimizer).__name__
                raise InvalidType(
                    f"{name} has the rows of a holdfastdb.torch.Embedding, which are in {parameter.table.path}: give "
                    "them to holdfastdb.torch.SGD or Adagrad, and the other parameters to "
                    f"{name}, [p for p in model.parameters() if not isinstance(p, holdfastdb.torch.Rows)]"
                )


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
        raise ObjectClosed("the handle names no embedding of this process: keep the embedding until backward is done")
    return rows
