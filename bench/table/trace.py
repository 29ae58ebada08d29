"""A cache trace: the popularity of keys and the sizes of values of a real cache (`kvcache_reg`, as CacheBench has it), asked of
a table as a look-aside cache: what a batch of gets misses is set. Every value found is checked.

Cells are of one size in this version: a value that is larger than a cell is not cached, and counted apart."""  # noqa: E501

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import holdfastdb as hf
from bench.frame.results import Json
from bench.frame.running import Progress, WrongAnswer
from bench.frame.timing import rounded, spread

FOLDER = Path("/work/shared/data/kvcache_reg")


def _mix(x: np.ndarray) -> np.ndarray:
    """A bijection of 64-bit words."""
    for _ in range(2):
        x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return x ^ (x >> np.uint64(32))


@dataclass(frozen=True)
class Trace:
    """Groups of keys of one popularity, and how often a value has which size."""

    group_of: np.ndarray  #: cumulative weights of the groups
    first: np.ndarray  #: the first key of each group
    count: np.ndarray  #: its keys
    one_hits: float  #: the share of gets of keys that nobody asks for again
    sizes: np.ndarray
    size_of: np.ndarray  #: cumulative weights of the sizes

    @property
    def keys(self) -> int:
        """Keys that are asked for again and again."""
        return int(self.count.sum())

    def draw(self, rng: np.random.Generator, n: int, fresh: int) -> np.ndarray:
        """The numbers of the keys of `n` gets; from `fresh` on, none was drawn before."""
        group = np.searchsorted(self.group_of, rng.random(n) * self.group_of[-1], side="right")
        numbers = self.first[group] + (rng.random(n) * self.count[group]).astype(np.uint64)
        alone = np.flatnonzero(rng.random(n) < self.one_hits)
        numbers[alone] = np.uint64(self.keys + fresh) + np.arange(len(alone), dtype=np.uint64)
        return numbers

    def bytes_of(self, numbers: np.ndarray) -> np.ndarray:
        """The size of each key's value, always the same."""
        at = _mix(numbers + np.uint64(1)).astype(np.float64) / 2.0**64 * self.size_of[-1]
        return self.sizes[np.minimum(np.searchsorted(self.size_of, at, side="right"), len(self.sizes) - 1)]


def read(folder: Path) -> Trace:
    """The trace's distributions. Raises FileNotFoundError, and ValueError where a file is none of them."""
    config, popularity, sizes = (
        json.loads((folder / name).read_text(encoding="utf-8")) for name in ("config.json", "pop.json", "sizes.json")
    )
    try:
        count = np.array(popularity["popularityBuckets"], np.uint64)
        lone = config["test_config"]["loneGetRatio"]
        return Trace(
            np.cumsum(np.array(popularity["popularityWeights"], np.float64)),
            np.concatenate([[np.uint64(0)], np.cumsum(count)[:-1]]).astype(np.uint64),
            count,
            float(lone) / (float(lone) + float(config["test_config"]["getRatio"])),
            np.array(sizes["valSizeRange"], np.int64),
            np.cumsum(np.array(sizes["valSizeRangeProbability"], np.float64)),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"{folder} is no trace of CacheBench: {error!r}") from error


def _rows(numbers: np.ndarray, cell: int) -> np.ndarray:
    """Values that say whose they are, at both ends."""
    rows = np.zeros((len(numbers), cell // 8), np.uint64)
    rows[:, 0] = rows[:, -1] = _mix(numbers)
    return rows


def _repetition(trace: Trace, cell: int, gets: int, batch: int, seed: int, folder: Path, progress: Progress) -> Json:
    rng = np.random.default_rng(seed)
    hits = misses = too_large = fresh = value_bytes = 0
    get_s = set_s = 0.0
    with hf.Table.create(
        folder / "trace.hold", value=cell, capacity=trace.keys // 8, device="cpu", overwrite=True
    ) as t:
        out = np.empty((batch, cell // 8), np.uint64)
        for done in range(0, gets, batch):
            if done % (batch << 6) == 0:
                progress(f"{done:,} of {gets:,} gets")
            numbers = trace.draw(rng, batch, fresh)
            fresh += batch
            keys, sizes = _mix(numbers), trace.bytes_of(numbers)
            begun = time.perf_counter()
            rows, found = t.find(keys, dtype=np.uint64, out=out)
            got = time.perf_counter()
            fits = sizes <= cell
            if (found & ~fits).any() or (rows[found][:, [0, -1]] != keys[found, None]).any():
                raise WrongAnswer("the cache trace: a value found is not its key's")
            missed = np.unique(numbers[~found & fits])
            new = _rows(missed, cell)
            start = time.perf_counter()
            t.insert(_mix(missed), new)
            set_s += time.perf_counter() - start
            get_s += got - begun
            hits += int(found.sum())
            misses += int((~found & fits).sum())
            too_large += int((~fits).sum())
            value_bytes += int(trace.bytes_of(missed).sum())
        stats, items = t.stats(), len(t)
        if items and not t.check().ok:
            raise WrongAnswer("the cache trace: the table is damaged")
    return {
        "get_mops": gets / get_s / 1e6,
        "together_mops": (gets + items) / (get_s + set_s) / 1e6,
        "hit_percent": 100 * hits / gets,
        "too_large_percent": 100 * too_large / gets,
        "items": items,
        "bytes_of_values": value_bytes,
        "bytes_of_cells": items * cell,
        "resizes": stats["resizes"],
    }


def cache(folder: Path, cell: int, gets: int, batch: int, repetitions: int, where: Path, progress: Progress) -> Json:
    """The trace, asked of a table with cells of `cell` bytes."""
    trace = read(folder)
    runs = [_repetition(trace, cell, gets, batch, seed + 1, where, progress) for seed in range(repetitions)]
    one = runs[-1]
    return {
        "keys": trace.keys,
        **{name: spread(run[name] for run in runs) for name in
           ("get_mops", "together_mops", "hit_percent", "too_large_percent")},
        "items": one["items"],
        "resizes": one["resizes"],
        "percent_of_cells_used": rounded(100 * one["bytes_of_values"] / max(1, one["bytes_of_cells"])),
    }  # fmt: skip
