"""The table of the index in GPU memory by the size of batches (holdfast-cuckoo-bench batches)."""

from collections.abc import Callable

from bench.frame.markdown import grid
from bench.frame.results import Json

_KINDS = ("search", "search_from_host", "insert", "erase")


def batches(content: Json) -> str:
    """A row a size: M rows a second, and how long the batch takes."""
    rows = [
        [f"{row['rows']:,}", *(f"{1000 * row[kind]:,.0f}; {row['rows'] / row[kind] / 1000:.3g} µs" for kind in _KINDS)]
        for row in content["results"]["rows"]
    ]
    return grid(["rows of a batch", "search, M/s", "search, arrays in host memory", "insert", "erase"], rows)


TABLES: dict[str, Callable[[Json], str]] = {"cuckoo-batches": batches}
