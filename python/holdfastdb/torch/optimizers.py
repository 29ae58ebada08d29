"""Optimizers of embeddings: `step()` applies the gradients that backward left, durably, to rows in their tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .._native import step_adagrad
from ..batch import update_rows
from ..checked import function_of, number
from ..column import Column
from ..errors import Error, InvalidArgument, InvalidType
from ..inspection import no_space
from ..libraries import HOST, TorchLibrary, device_number
from ..messages import shown
from ..status import Status
from .rows import Rows

_TORCH = TorchLibrary(torch)
_NO_SPACE = int(Status.NO_SPACE)  # no greater one comes of a whole batch


_MOST_F16 = float(torch.finfo(torch.float16).max)


def refuse_no_space(statuses: Tensor, path: Any, what: str) -> None:
    """Raises NoSpace with the number of rows that found no space. In GPU memory it waits for the statuses."""
    if statuses.numel() == 0 or statuses.max().item() < _NO_SPACE:  # one launch, in the common case
        return
    lost = int((statuses == _NO_SPACE).sum())
    if lost:
        raise no_space(f"{lost:,} of {statuses.numel():,} rows {what}, which", path)


class _Optimizer(torch.optim.Optimizer):
    """Steps row by row over what `Embedding.parameters()` gives. Rows and state are in the pools, so `state_dict` holds
    the options of the groups alone."""

    steps_rows = True

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        try:
            super().__init__(params, defaults)
        except Error:
            raise
        except Exception as error:
            raise InvalidType(f"params is {shown(params)}: give embedding.parameters()") from error

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refuses parameters that are no embedding's, and numbers that are no rates."""
        try:
            super().add_param_group(param_group)
        except Exception as error:
            raise InvalidType(
                f"param_group is {shown(param_group)}: give {{'params': embedding.parameters()}}, of none that another "
                "group has"
            ) from error
        group = self.param_groups[-1]
        try:
            for name in self.defaults:
                if not 0 <= number(name, group[name]) < float("inf"):
                    raise InvalidArgument(f"{name} is {shown(group[name])}: give a finite number, 0 or more")
            for rows in group["params"]:
                if not isinstance(rows, Rows):
                    raise InvalidType(
                        f"a parameter of shape {tuple(rows.shape)} is of no holdfastdb.torch.Embedding: give "
                        "embedding.parameters(), and the others to an optimizer of PyTorch"
                    )
                self._check(rows)
        except BaseException:
            self.param_groups.pop()
            raise

    def _check(self, rows: Rows) -> None:
        """Raises InvalidArgument where the rows cannot be trained in this way."""

    def _apply(self, rows: Rows, gradient: Tensor, group: dict[str, Any]) -> Tensor:
        """One durable write; the statuses."""
        raise NotImplementedError

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Applies the gradients. Durable when it returns; in GPU memory, when its stream gets there.

        Raises NoSpace, with the number of rows that stay as they were, where the medium is full.
        """
        loss, closure = None, function_of(closure, "closure", "nothing, that computes the loss")
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for rows in group["params"]:
                if rows.grad is not None:
                    refuse_no_space(self._apply(rows, rows.grad, group), rows.table.path, "were not updated")
        return loss


class SGD(_Optimizer):
    """`row -= lr * gradient`, to the last bit as torch.optim.SGD with coalesced sparse gradients.

    Others may change the same rows meanwhile: no update is lost.
    """

    def __init__(self, params: Any, lr: float = 1e-3) -> None:
        super().__init__(params, {"lr": lr})

    def _apply(self, rows: Rows, gradient: Tensor, group: dict[str, Any]) -> Tensor:
        stored, unit = _in_range(gradient, rows.stored)
        return rows.table.accumulate(rows.keys, stored, scale=-float(group["lr"]) * unit, unique=True)


class Adagrad(_Optimizer):
    """Row-wise: `state += mean(gradient**2)`, then `row -= lr / (sqrt(state) + eps) * gradient`, one state a row.

    The state is the float32 that follows the row in the same value: give the embedding `table.column(0, n)` of a table
    whose values have n + 4 bytes or more. Row and state are one durable write. They are read before it: changes that
    others make to the same rows in between are lost, so train a row in one place at a time.
    """

    def __init__(self, params: Any, lr: float = 1e-2, eps: float = 1e-10) -> None:
        super().__init__(params, {"lr": lr, "eps": eps})

    def _check(self, rows: Rows) -> None:
        rows.with_state = _with_state(rows)

    def _apply(self, rows: Rows, gradient: Tensor, group: dict[str, Any]) -> Tensor:
        """For a few thousand rows in GPU memory most of the time goes by on the host: so it checks once, and launches
        little."""
        column, plain = rows.with_state, rows.stored is torch.float32  # then row and state are elements of one type
        kind = torch.float32 if plain else torch.uint8
        whole = torch.empty((len(rows.keys), column.value_bytes // kind.itemsize), dtype=kind, device=rows.keys.device)
        lr, eps = float(group["lr"]), float(group["eps"])

        def change(place: str, stream: int) -> None:
            means = gradient.square().mean(dim=1, keepdim=True)
            if plain and place != HOST and _is_as_dense(gradient, whole):
                step_adagrad(whole.data_ptr(), gradient.data_ptr(), means.data_ptr(), len(gradient), gradient.shape[1],
                             lr, eps, device_number(place), stream)  # fmt: skip
            else:
                _change(whole, rows, gradient, means, lr, eps)

        return update_rows(column._native, rows.keys, whole, change, _TORCH, column._shape)


def _in_range(gradient: Tensor, stored: torch.dtype) -> tuple[Tensor, float]:
    """The gradient in the type of the rows, in units of a power of two: 1, or more where float16 would make infinities
    of a finite gradient, whose product with the rate may be small."""
    if stored is torch.float16 and gradient.numel() != 0:
        largest = float(gradient.abs().max())
        if _MOST_F16 < largest < math.inf:
            unit = 2.0 ** math.ceil(math.log2(largest / _MOST_F16))
            return (gradient / unit).to(stored), unit
    return gradient.to(stored), 1.0


def _is_as_dense(gradient: Tensor, whole: Tensor) -> bool:
    """Whether a gradient is what `Rows.add` made: nothing has moved or converted it since."""
    return (
        gradient.dtype is torch.float32
        and gradient.device == whole.device
        and gradient.shape == (whole.shape[0], whole.shape[1] - 1)
        and gradient.is_contiguous()
    )


def _change(whole: Tensor, rows: Rows, gradient: Tensor, means: Tensor, lr: float, eps: float) -> None:
    """The step of Adagrad on rows with their states; src/gpu/adagrad.cu has it for floats in GPU memory."""
    plain = whole.dtype is torch.float32
    size = rows.columns if plain else rows.columns * rows.stored.itemsize
    row, state = whole[:, :size], whole[:, size:]
    if not plain:
        state = state.clone(memory_format=torch.contiguous_format).view(torch.float32)
    state += means
    rates = state.sqrt().add_(eps).reciprocal_().mul_(lr)
    if plain:
        row -= gradient * rates
    else:
        former = row.clone(memory_format=torch.contiguous_format).view(rows.stored)
        row.copy_((former.to(gradient.dtype) - gradient * rates).to(rows.stored).view(torch.uint8))
        whole[:, size:] = state.view(torch.uint8)


def _with_state(rows: Rows) -> Column:
    """The column of a row and the state behind it."""
    table = rows.table
    start, stop = (table.start, table.stop) if isinstance(table, Column) else (0, table.value_bytes)
    whole = table.table if isinstance(table, Column) else table
    if stop + 4 > whole.value_bytes:
        raise InvalidArgument(
            f"the rows are bytes {start} to {stop} of values of {whole.value_bytes} bytes in {table.path}, with no "
            f"space for the state: create it with value={stop + 4}, and give the embedding its column({start}, {stop})"
        )
    return whole.column(start, stop + 4)
