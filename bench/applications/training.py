"""A step of row-wise Adagrad over rows in a table, against a search and a sum of the same rows, each by itself."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import holdfastdb
from bench.frame.results import Json
from bench.frame.running import Progress, WrongAnswer
from bench.frame.timing import rounded, spread

_LOAD = 1 << 20
_FIRST = 1.0
_GRADIENT = 0.5


def training(
    items: int, dim: int, batches: list[int], device: str, repetitions: int, folder: Path, progress: Progress
) -> Json:
    """By batch size. The rate of both apart: rows by the seconds of a search and a sum of as many rows."""
    import torch

    path, place = folder / "training.hold", "cpu" if device == "cpu" else device
    runs: list[Json] = []
    with holdfastdb.Table.create(path, value=4 * dim + 4, capacity=items, device=device) as table:
        rows = table.column(0, 4 * dim)
        progress(f"{items:,} rows of {dim} floats")
        for start in range(0, items, _LOAD):
            keys = torch.arange(start, min(start + _LOAD, items), device=place)
            rows.insert_or_assign(keys, torch.full((len(keys), dim), _FIRST, device=place), unique=True)
        for batch in batches:
            progress(f"batches of {batch:,} rows")
            runs.append(_one(table, items, dim, batch, place, repetitions))
    path.unlink()
    return {"items": items, "dim": dim, "runs": runs}


def _one(table: holdfastdb.Table, items: int, dim: int, batch: int, place: str, repetitions: int) -> Json:
    """Keys are distinct and rise in all three, as they are in a gradient; the three take turns within a repetition."""
    import torch

    import holdfastdb.torch as hft

    column = table.column(0, 4 * dim)
    embedding = hft.Embedding(column, dim)
    optimizer = hft.Adagrad(embedding.parameters(), lr=0.01)
    random = torch.Generator().manual_seed(batch)
    gradients = torch.full((batch, dim), _GRADIENT, device=place)
    out = torch.empty((batch, dim), device=place)
    each = max(1, min(64, (1 << 20) // batch))
    taken: dict[str, list[float]] = {"step": [], "find": [], "accumulate": []}
    for repetition in range(repetitions + 1):  # the first warms up
        seconds = dict.fromkeys(taken, 0.0)
        # Drawn before: to shuffle millions of numbers empties the processor's caches, and the step comes first.
        drawn = [torch.randperm(items, generator=random)[:batch].sort().values.to(place) for _ in range(each)]
        for keys in drawn:
            optimizer.zero_grad()
            embedding.rows.add(keys, gradients)
            before = table.find(keys, dtype=torch.float32)[0]
            seconds["step"] += _seconds(optimizer.step, place)
            _check(table, keys, before, dim)
            find = partial(column.find, keys, dtype=torch.float32, unique=True, out=out)
            seconds["find"] += _seconds(find, place)
            add = partial(column.accumulate, keys, gradients, scale=-0.01, unique=True)
            seconds["accumulate"] += _seconds(add, place)
        if repetition:
            for name, took in seconds.items():
                taken[name].append(took / each)
    apart = [find + add for find, add in zip(taken["find"], taken["accumulate"], strict=True)]
    return {
        "batch": batch,
        "step_mops": spread(batch / s / 1e6 for s in taken["step"]),
        "apart_mops": spread(batch / s / 1e6 for s in apart),
        "of_apart": spread(rounded(a / s) for a, s in zip(apart, taken["step"], strict=True)),
    }


def _seconds(work: Callable[[], Any], place: str) -> float:
    import torch

    def wait() -> None:
        if place != "cpu":
            torch.cuda.synchronize()

    wait()
    begun = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - begun


def _check(table: holdfastdb.Table, keys: Any, before: Any, dim: int) -> None:
    """Every row and state of a step."""
    import torch

    after = table.find(keys, dtype=torch.float32)[0]
    state = before[:, dim:] + _GRADIENT**2
    expected = torch.cat([before[:, :dim] - 0.01 * _GRADIENT / state.sqrt(), state], dim=1)
    if not torch.allclose(after, expected, rtol=1e-5, atol=1e-6):
        raise WrongAnswer("a row or its state is not what a step makes of it")
