"""PageRank over a graph whose adjacency lies in a pool (GPHash §4.1 and §4.5).

The paper runs PageRank over a hash index and does not say what its items are. Here an item is up to 32 in-neighbours
of a vertex: its key is the vertex and which of its pieces it is, its value 32 numbers of 4 bytes, the last ones filled
with the number of a vertex that has no rank. An iteration looks every piece up, in batches, and adds what the
neighbours give; ranks stay in the memory of the device. The result is compared with PageRank over the list of edges.
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

WIKI_VOTE = Path("/work/shared/data/wiki-Vote.txt")
PIECE = 32  #: neighbours a value
DAMPING = 0.85
_PIECE_SHIFT = 32


@dataclass(frozen=True)
class Graph:
    """Edges from `source` to `target`, (edges,) int32 each, of vertices 0 to `vertices` - 1."""

    vertices: int
    source: Any
    target: Any


def read_edges(xp: Any, path: Path) -> Graph:
    """A list of edges as SNAP has them: two numbers a line, comments behind #. Raises ValueError if it is none."""
    pairs = np.loadtxt(path, dtype=np.int64, comments="#", ndmin=2)
    if pairs.shape[0] == 0 or pairs.shape[1] != 2:
        raise ValueError(f"{path} is no list of edges: two numbers a line")
    names, numbers = np.unique(pairs, return_inverse=True)
    numbers = numbers.reshape(-1, 2).astype(np.int32)
    return Graph(len(names), xp.asarray(numbers[:, 0]), xp.asarray(numbers[:, 1]))


def rmat(xp: Any, scale: int, edges: int, seed: int) -> Graph:
    """R-MAT (Chakrabarti et al., SDM 2004), 0.57, 0.19, 0.19, 0.05 as Graph 500 has it: 2^scale vertices.

    Edges may repeat.
    """
    random = xp.random.default_rng(seed)
    source, target = xp.zeros(edges, xp.int32), xp.zeros(edges, xp.int32)
    for _ in range(scale):
        quarter = random.random(edges, dtype=xp.float32)
        source = 2 * source + (quarter >= xp.float32(0.76)).astype(xp.int32)
        low = ((quarter >= xp.float32(0.57)) & (quarter < xp.float32(0.76))) | (quarter >= xp.float32(0.95))
        target = 2 * target + low.astype(xp.int32)
    # Names that say nothing of the degree: an odd factor and a mask are a bijection.
    mask = (1 << scale) - 1
    scattered = [((v.astype(xp.int64) * 0x9E3779B1) & mask).astype(xp.int32) for v in (source, target)]
    return Graph(1 << scale, *scattered)


@dataclass(frozen=True)
class Pieces:
    """In-neighbours, 32 a piece: their keys, (m,), their rows, (m, 32) int32, and whose they are, (m,)."""

    keys: Any
    rows: Any
    owners: Any


def pieces_of(xp: Any, graph: Graph) -> Pieces:
    """The pieces of a graph, in the order of their owners."""
    order = xp.argsort(graph.target)
    source, target = graph.source[order], graph.target[order].astype(xp.int64)
    degree = xp.bincount(target, minlength=graph.vertices)
    counts = (degree + PIECE - 1) // PIECE
    first_edge = xp.cumsum(degree) - degree
    first_piece = xp.cumsum(counts) - counts
    place = xp.arange(len(target), dtype=xp.int64) - first_edge[target]
    piece = first_piece[target] + place // PIECE
    size = int(counts.sum())
    rows = xp.full((size, PIECE), graph.vertices, dtype=xp.int32)
    rows[piece, place % PIECE] = source
    owners = xp.empty(size, xp.int64)
    owners[piece] = target
    number = xp.arange(size, dtype=xp.int64) - first_piece[owners]
    return Pieces(((owners << _PIECE_SHIFT) | number).astype(xp.uint64), rows, owners)


def plain(xp: Any, graph: Graph, iterations: int) -> Any:
    """PageRank over the list of edges."""
    step = _Step(xp, graph)
    ranks = step.start()
    for _ in range(iterations):
        given = step.given(ranks)
        sums = xp.bincount(graph.target, weights=given[graph.source], minlength=graph.vertices)
        ranks = step.finish(ranks, sums)
    return ranks


class _Step:
    """What an iteration does besides adding up."""

    def __init__(self, xp: Any, graph: Graph) -> None:
        self._xp = xp
        self._vertices = graph.vertices
        self._out = xp.bincount(graph.source, minlength=graph.vertices).astype(xp.float64)

    def start(self) -> Any:
        return self._xp.full(self._vertices, 1 / self._vertices)

    def given(self, ranks: Any) -> Any:
        """What each vertex gives along each of its edges, and after the last vertex a zero."""
        given = self._xp.zeros(self._vertices + 1)
        given[:-1] = ranks / self._xp.maximum(self._out, 1)
        return given

    def finish(self, ranks: Any, sums: Any) -> Any:
        """The ranks after an iteration; what vertices without an edge have goes to all."""
        lost = ranks[self._out == 0].sum()
        return (1 - DAMPING) / self._vertices + DAMPING * (sums + lost / self._vertices)


def over(road: Road, graph: Graph, pieces: Pieces, iterations: int, batch: int, xp: Any) -> tuple[Any, float, float]:
    """PageRank with lookups: the ranks, seconds in all, and those of the lookups."""
    step = _Step(xp, graph)
    size = len(pieces.keys)
    out = xp.empty((min(batch, size), PIECE), xp.int32)
    found = xp.empty(len(out), xp.bool_)
    lookups, everything = Stopwatch(xp), Stopwatch(xp)
    missing = 0
    with everything:
        ranks = step.start()
        for _ in range(iterations):
            given, sums = step.given(ranks), xp.zeros(graph.vertices)
            for first in range(0, size, batch):
                n = min(batch, size - first)
                with lookups:
                    road.find(pieces.keys[first : first + n], out[:n], found[:n])
                missing = missing + (~found[:n]).sum()
                xp.add.at(sums, pieces.owners[first : first + n], given[out[:n]].sum(axis=1))
            ranks = step.finish(ranks, sums)
    if int(missing):
        raise WrongAnswer(f"{road.name}: {int(missing):,} pieces of the graph were not found")
    return ranks, everything.seconds, lookups.seconds


def _load(path: Path, pieces: Pieces, device: str, progress: Progress) -> None:
    size = len(pieces.keys)
    with holdfastdb.Table.create(path, key=8, value=4 * PIECE, capacity=size, device=device, overwrite=True) as table:
        for first in range(0, size, 1 << 20):
            progress(f"loading: {first:,} of {size:,} pieces")
            chosen = slice(first, first + (1 << 20))
            statuses = table.insert(pieces.keys[chosen], pieces.rows[chosen])
            if int((statuses != int(holdfastdb.Status.INSERTED)).sum()):
                raise WrongAnswer("a piece of the graph could not be added")


def pagerank(
    data: Path | None,
    scale: int,
    edges: int,
    iterations: int,
    batch: int,
    device: str,
    repetitions: int,
    folder: Path,
    progress: Progress,
) -> Json:
    """PageRank of a graph on each road, against PageRank over its edges."""
    xp = library(device)
    progress("making the graph" if data is None else f"reading {data}")
    graph = rmat(xp, scale, edges, 1) if data is None else read_edges(xp, data)
    progress("cutting it into pieces")
    pieces = pieces_of(xp, graph)
    path = folder / "graph.hold"
    _load(path, pieces, device, progress)
    pieces = Pieces(pieces.keys, None, pieces.owners)
    right = plain(xp, graph, iterations)
    roads: list[Any] = [lambda: Direct(path, device)]
    if xp is not np:
        roads.append(lambda: ByCpu(path, min(batch, len(pieces.keys)), (PIECE,), np.int32))
    runs: list[Json] = []
    for make in roads:
        with make() as road:
            totals, lookups = [], []
            for repetition in range(repetitions + 1):
                progress(f"{road.name}, repetition {repetition} of {repetitions}")
                ranks, total, looked = over(road, graph, pieces, iterations, batch, xp)
                if not bool(xp.allclose(ranks, right, rtol=1e-9, atol=0)):
                    raise WrongAnswer(f"{road.name}: the ranks are not those of the list of edges")
                if repetition:
                    totals.append(total / iterations)
                    lookups.append(looked / iterations)
            rate = spread(len(pieces.keys) / s / 1e6 for s in lookups)
            share = rounded(100 * rate["median"] * 1e6 * 4 * PIECE / LINK_BYTES) if xp is not np else None
            runs.append(
                {
                    "road": road.name,
                    "iteration_ms": spread(s * 1e3 for s in totals),
                    "lookups_ms": spread(s * 1e3 for s in lookups),
                    "medges": spread(len(graph.source) / s / 1e6 for s in totals),
                    "mops": rate,
                    "percent_of_link": share,
                }
            )
    size = {"vertices": graph.vertices, "edges": len(graph.source), "pieces": len(pieces.keys)}
    return {**size, "sum_of_ranks": rounded(float(right.sum())), "runs": runs}
