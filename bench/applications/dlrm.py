"""Embedding lookups of a recommendation model (GPHash §4.1 and §4.5): 26 categories a sample, all tables in one pool.

Samples come from a file of the Criteo display-advertising data, or from a generator with the sizes of that data's 26
tables and zipfian categories in each. A key is the feature's number and the category; a value is a row of `dim` floats
that follows from its key, so every row that is looked up is checked.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import holdfastdb
from bench.applications.places import ByCpu, Direct, Road, Stopwatch, library
from bench.frame.results import Json
from bench.frame.running import Progress, WrongAnswer
from bench.frame.timing import rounded, spread
from bench.link import LINK_BYTES

SAMPLE = Path("/work/shared/data/criteo_sample.txt")
FEATURES = 26
#: Rows of the embedding tables of the Criteo Kaggle data, as DLRM's own scripts give them.
KAGGLE_ROWS = (
    1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194,
    27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572,
)  # fmt: skip
_FEATURE_SHIFT = 40
_MISSING = 1 << 32  # no category of 32 bits
_PRIME = 2_147_483_647  # larger than any table, so that it shares no factor with its size
_LOAD = 1 << 20


def read_criteo(path: Path) -> np.ndarray:
    """The keys of a file's samples, (n, 26): separated by tabs as Criteo gives them, or by commas below a header.

    Raises ValueError where a line is no sample.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    mark = "\t" if lines and "\t" in lines[0] else ","
    first = 1 if lines and lines[0].startswith("label") else 0
    keys = np.empty((len(lines) - first, FEATURES), np.uint64)
    for number, line in enumerate(lines[first:]):
        fields = line.split(mark)
        if len(fields) != 1 + 13 + FEATURES:
            raise ValueError(f"{path}, line {number + first + 1}: {len(fields)} fields where a sample has 40")
        for feature, text in enumerate(fields[14:]):
            try:
                category = int(text, 16) if text else _MISSING
            except ValueError:
                raise ValueError(f"{path}, line {number + first + 1}: {text!r} is no category") from None
            keys[number, feature] = feature << _FEATURE_SHIFT | category
    if len(keys) == 0:
        raise ValueError(f"{path} has no samples")
    return keys


def rows_at(xp: Any, keys: Any, dim: int) -> Any:
    """The embedding rows of keys, (n, dim) float32 in [0, 1)."""
    x = keys[:, None] * xp.uint64(0x9E3779B97F4A7C15) + xp.arange(dim, dtype=xp.uint64)[None, :]
    x = (x ^ (x >> xp.uint64(31))) * xp.uint64(0xD6E8FEB86659FD93)
    x = x ^ (x >> xp.uint64(29))
    return (x >> xp.uint64(40)).astype(xp.float32) * xp.float32(2**-24)


@dataclass(frozen=True)
class Generator:
    """Samples with tables of `rows` rows each, whose categories are zipfian with `theta`."""

    rows: tuple[int, ...]
    theta: float

    @classmethod
    def scaled(cls, scale: float, theta: float) -> "Generator":
        """With the sizes of the Kaggle data's tables, times `scale`."""
        return cls(tuple(max(1, round(rows * scale)) for rows in KAGGLE_ROWS), theta)

    def tables(self, xp: Any) -> Any:
        """All keys, in pieces of at most a million; popular categories are not neighbours."""
        for feature, rows in enumerate(self.rows):
            for first in range(0, rows, _LOAD):
                place = xp.arange(first, min(rows, first + _LOAD), dtype=xp.uint64)
                yield self._keys(xp, feature, place * xp.uint64(_PRIME) % xp.uint64(rows))

    def draw(self, xp: Any, samples: int, seed: int) -> Any:
        """The keys of samples, (samples * 26,), sample by sample."""
        random = xp.random.default_rng(seed)
        keys = xp.empty((samples, FEATURES), xp.uint64)
        for feature, rows in enumerate(self.rows):
            keys[:, feature] = self._keys(xp, feature, self._ranks(xp, random.random(samples), rows))
        return keys.reshape(-1)

    def _ranks(self, xp: Any, uniform: Any, rows: int) -> Any:
        # The inverse of the continuous distribution with density x^-theta on [1, rows + 1).
        power = 1 - self.theta
        if abs(power) < 1e-9:
            x = xp.exp(uniform * np.log(rows + 1))
        else:
            x = (uniform * ((rows + 1) ** power - 1) + 1) ** (1 / power)
        return xp.clip(x.astype(xp.int64) - 1, 0, rows - 1).astype(xp.uint64)

    @staticmethod
    def _keys(xp: Any, feature: int, ranks: Any) -> Any:
        return ranks | xp.uint64(feature << _FEATURE_SHIFT)


def _fill(path: Path, pieces: Any, capacity: int, dim: int, device: str, xp: Any, progress: Progress) -> int:
    """Makes the pool and puts all embeddings into it; returns how many."""
    loaded = 0
    with holdfastdb.Table.create(path, key=8, value=4 * dim, capacity=capacity, device=device, overwrite=True) as table:
        for keys in pieces:
            statuses = table.insert(keys, rows_at(xp, keys, dim))
            if int((statuses != int(holdfastdb.Status.INSERTED)).sum()):
                raise WrongAnswer("an embedding could not be added")
            loaded += len(keys)
            progress(f"loading: {loaded:,} of {capacity:,} embeddings")
    return loaded


def _measure(road: Road, keys: list[Any], dim: int, xp: Any) -> float:
    """Seconds a batch; what it found is checked beside the clock."""
    out = xp.empty((len(keys[0]), dim), xp.float32)
    found = xp.empty(len(keys[0]), xp.bool_)
    watch = Stopwatch(xp)
    for batch in keys:
        out.fill(-1)
        with watch:
            road.find(batch, out, found)
        if not bool(found.all()) or not bool((out == rows_at(xp, batch, dim)).all()):
            raise WrongAnswer(f"{road.name}: a looked-up embedding is not the one that was put")
    return watch.seconds / len(keys)


def dlrm(
    data: Path | None,
    scale: float,
    theta: float,
    dims: list[int],
    batches: list[int],
    device: str,
    value_cache: float,
    repetitions: int,
    folder: Path,
    progress: Progress,
) -> Json:
    """Lookups of batches of samples, by embedding length and batch size, on each road."""
    xp = library(device)
    runs: list[Json] = []
    items = 0
    samples = None if data is None else read_criteo(data)
    generator = Generator.scaled(scale, theta)
    for dim in dims:
        path = folder / "embeddings.hold"
        if samples is None:
            pieces, capacity = generator.tables(xp), sum(generator.rows)
        else:
            unique = np.unique(samples)
            pieces, capacity = [xp.asarray(unique)], len(unique)
        items = _fill(path, pieces, capacity, dim, device, xp, progress)
        roads: list[Any] = [lambda path=path: Direct(path, device)]
        if xp is not np:
            if value_cache:
                roads.append(lambda path=path: Direct(path, device, value_cache))
            most = max(batches) * FEATURES
            roads.append(lambda path=path, most=most, dim=dim: ByCpu(path, most, (dim,), np.float32))
        for make in roads:
            with make() as road:
                for batch in batches:
                    progress(f"{road.name}, {dim} floats a row, batches of {batch:,} samples")
                    runs.append(_one(road, samples, generator, batch, dim, repetitions, xp))
        path.unlink()
    return {"items": items, "runs": runs}


def _one(
    road: Road, samples: np.ndarray | None, generator: Generator, batch: int, dim: int, repetitions: int, xp: Any
) -> Json:  # fmt: skip
    def draw(seed: int) -> Any:
        if samples is None:
            return generator.draw(xp, batch, seed)
        chosen = np.random.default_rng(seed).integers(0, len(samples), batch)
        return xp.asarray(samples[chosen].reshape(-1))

    each = max(1, min(16, 65536 // batch))
    keys = [draw(seed) for seed in range(each)]
    if road.table.stats()["cached_value_ratio"] > 0:
        for _ in range(8):
            _measure(road, keys, dim, xp)
        road.table.load_cache()
    _measure(road, keys, dim, xp)  # warms up
    seconds = [_measure(road, [draw(1000 + r * each + i) for i in range(each)], dim, xp) for r in range(repetitions)]
    rows = batch * FEATURES
    lookups = spread(rows / s / 1e6 for s in seconds)
    return {
        "road": road.name,
        "dim": dim,
        "samples": batch,
        "mops": lookups,
        "latency_us": spread(s * 1e6 for s in seconds),
        "percent_of_link": rounded(100 * lookups["median"] * 1e6 * 4 * dim / LINK_BYTES) if xp is not np else None,
    }
