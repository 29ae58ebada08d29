"""What a source gives and a load takes: rows in batches, with the place behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..errors import InvalidArgument, InvalidType
from ..messages import shown
from ..schema.layout import Layout

_BATCH_BYTES = 16 << 20
_MOST_ROWS = 1 << 16


def rows_at_once(batch: int | None, row_bytes: int) -> int:
    """As many as asked for; else as many as make 16 MiB, and 65,536 at most."""
    if batch is None:
        return max(64, min(_MOST_ROWS, _BATCH_BYTES // row_bytes))
    if isinstance(batch, bool) or not isinstance(batch, int):
        raise InvalidType(f"batch is {shown(batch)}, of type {type(batch).__name__}: give a whole number")
    if batch < 1:
        raise InvalidArgument(f"batch is {shown(batch)}: give 1 or more")
    return batch


@dataclass(frozen=True)
class BadRow:
    """A row that could not be read."""

    place: str
    """"line 17" of a text, "row 17" of a table."""
    why: str


@dataclass(frozen=True)
class SourceRows:
    """Some rows of a source, in its order."""

    keys: np.ndarray
    """(n,) uint64; of keys wider than 8 bytes (n, key_bytes) uint8; of any length (n,) bytes objects."""
    values: np.ndarray
    """(n, value_bytes) uint8; of any length (n,) bytes objects."""
    bad: list[BadRow]
    """Those left out between them; without `skip_bad` one at most, which is the next after them."""
    place: dict[str, Any]
    """Where to continue after them, as JSON; `Source.go_on` takes it."""
    done: int
    """Of `Source.total`."""
    negative: bool = False
    """Whether a key was written as a negative number."""


class Source(Protocol):
    """A file to load from."""

    total: int
    """Bytes or rows, for a progress bar."""

    leaves_out_scores: bool
    """It is a dump with a column of scores, which is not among the rows."""

    layout: Layout
    """The types of its keys and the columns of its values, as far as it says."""

    def go_on(self, place: dict[str, Any]) -> None:
        """Continues behind rows that an earlier source of the same file gave. Raises InvalidArgument if it changed."""

    def batches(self, rows: int, skip_bad: bool) -> Iterator[SourceRows]:
        """The rest, at most so many rows at a time."""

    def close(self) -> None: ...
