"""Two ranks that train a model with an embedding under DistributedDataParallel: `ddp_ranks.py FOLDER`."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import holdfastdb as hf
import holdfastdb.torch as hft

RANKS, KEYS, COLUMNS = 2, 12, 4
FIRST = hf.initial.Uniform(-1, 1, seed=3)
OPTIONS: list[dict[str, Any]] = [
    {}, {"find_unused_parameters": True}, {"static_graph": True, "gradient_as_bucket_view": True},
]  # fmt: skip


class Model(torch.nn.Module):
    """Two embeddings and a dense layer."""

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.first, self.second, self.dense = first, second, torch.nn.Linear(2 * COLUMNS, 1)

    def forward(self, keys: Any) -> Any:
        return self.dense(torch.cat([self.first(keys), self.second(keys)], 1)).square().sum()


def batches(rank: int, steps: int) -> list[Any]:
    """Of other keys on each rank, and of other numbers of them."""
    random = torch.Generator().manual_seed(rank)
    return [torch.randint(rank, KEYS - 3 * rank, (5 + rank + step,), generator=random) for step in range(steps)]


def local(table: Any) -> Any:
    """PyTorch's embedding with the same first rows, which DDP leaves out."""
    made = torch.nn.Embedding(KEYS, COLUMNS, sparse=True)
    with torch.no_grad():
        made.weight.copy_(table(torch.arange(KEYS)))
    return made


def same_on_all(tensor: Any) -> bool:
    parts = [torch.empty_like(tensor) for _ in range(RANKS)]
    dist.all_gather(parts, tensor.contiguous())
    return all(torch.equal(part, tensor) for part in parts)


def train(model: Any, rows: list[Any], dense: list[Any], steps: list[Any], optimizer: type) -> list[float]:
    optimizers = [optimizer(rows, lr=0.1), torch.optim.SGD(dense, lr=0.1)]
    losses = []
    for keys in steps:
        for one in optimizers:
            one.zero_grad()
        loss = model(keys)
        loss.backward()
        for one in optimizers:
            one.step()
        losses.append(loss.item())
    return losses


def compare(rank: int, folder: Path, number: int, options: dict[str, Any]) -> None:
    """The same losses and rows as PyTorch's embeddings that DDP is told to leave out."""
    tables = [hf.Table.create(folder / f"{number}-{rank}-{i}.hold", value=4 * COLUMNS) for i in range(2)]
    ours = Model(*(hft.Embedding(table, COLUMNS, init=FIRST) for table in tables))
    theirs = Model(local(ours.first), local(ours.second))
    names = ["first.weight", "second.weight"]
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(theirs, names)
    losses = []
    for model, kind in ((ours, hft.SGD), (theirs, torch.optim.SGD)):
        rows = [*model.first.parameters(), *model.second.parameters()]
        wrapped = DistributedDataParallel(model, **options)
        losses.append(train(wrapped, rows, list(model.dense.parameters()), batches(rank, 4), kind))
    # Not bit by bit: where PyTorch aligns a buffer otherwise, it may add a sum's terms in another order.
    torch.testing.assert_close(torch.tensor(losses[0]), torch.tensor(losses[1]))
    assert same_on_all(ours.dense.weight.detach())
    for mine, other in ((ours.first, theirs.first), (ours.second, theirs.second)):
        torch.testing.assert_close(mine.eval()(torch.arange(KEYS)), other.weight.detach())
    assert not same_on_all(ours.first(torch.arange(KEYS))), "each rank has trained its own rows"
    for table in tables:
        table.close()


def alone(rank: int, folder: Path) -> None:
    """An embedding that is the whole model; wrapped again after other numbers of rows were trained on each rank."""
    with hf.Table.create(folder / f"alone-{rank}.hold", value=4 * COLUMNS) as table:
        embedding = hft.Embedding(table, COLUMNS, init=FIRST)
        optimizer = hft.SGD(embedding.parameters(), lr=0.5)
        for _ in range(2):
            wrapped = DistributedDataParallel(embedding)
            for step in range(3):
                optimizer.zero_grad()
                wrapped(torch.arange(rank, 2 + rank * 3)).sum().backward()
                optimizer.step()
                assert embedding.rows.grad is not None and len(embedding.rows.grad) == 2 + rank * 2, step
            optimizer.zero_grad()
        row = embedding.eval()(torch.tensor([1]))
        first = FIRST.rows(torch.tensor([1]), COLUMNS, hf.libraries.TorchLibrary(torch))
        assert torch.allclose(row, first - 3.0)


def frozen(rank: int, folder: Path) -> None:
    """An embedding that is not trained."""
    with hf.Table.create(folder / f"frozen-{rank}.hold", value=4 * COLUMNS) as table:
        model = Model(hft.Embedding(table, COLUMNS), torch.nn.Embedding(KEYS, COLUMNS))
        model.first.requires_grad_(False)
        wrapped = DistributedDataParallel(model)
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
        for keys in batches(rank, 3):
            optimizer.zero_grad()
            wrapped(keys).backward()
            optimizer.step()
        assert len(table) == 0 and same_on_all(model.second.weight.detach())


def main(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    for number, options in enumerate(OPTIONS):
        compare(rank, folder, number, options)
    alone(rank, folder)
    frozen(rank, folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    children = []
    for rank in range(RANKS):
        child = os.fork()  # PyTorch takes seconds to import, and this process has no threads
        if child == 0:
            try:
                main(rank, Path(sys.argv[1]))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        children.append(child)
    while children:
        child, status = os.wait()
        children.remove(child)
        if status != 0:  # the others would wait for it
            for other in children:
                os.kill(other, signal.SIGKILL)
            sys.exit(1)
