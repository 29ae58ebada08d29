"""What a table holds: exports, iteration, and items chosen by ranges of keys and predicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from . import selection, strings
from ._native import Blobs
from ._native import Table as NativeTable
from .checked import MOST, flag, result_of, whole
from .errors import Error, InvalidArgument
from .libraries import NUMPY
from .operands import TableShape
from .results import ExportResult, HostResultKind, Items, ScoredExportResult, ScoredItems
from .rows import result_rows

_RESERVED = 1 << 6
_END = MOST  # the cursor behind the last item
Score: TypeAlias = tuple[int | None, int | None] | None


class Contents:
    """What `Table` does with all of its items, or with those that a condition chooses."""

    _native: NativeTable
    _shape: TableShape

    @property
    def path(self) -> str:
        """The pool file, as it was named."""
        return self._shape.path

    @overload
    def export_batch(
        self, n: int = ..., cursor: int = ..., *, values: bool = ..., dtype: Any = ..., result: HostResultKind = ...,
        scores: Literal[False] = ...,
    ) -> ExportResult: ...  # fmt: skip
    @overload
    def export_batch(
        self, n: int = ..., cursor: int = ..., *, values: bool = ..., dtype: Any = ..., result: HostResultKind = ...,
        scores: Literal[True],
    ) -> ScoredExportResult: ...  # fmt: skip
    def export_batch(
        self,
        n: int = 1 << 16,
        cursor: int = 0,
        *,
        values: bool = True,
        dtype: Any = None,
        result: HostResultKind = "numpy",
        scores: bool = False,
    ) -> Any:
        """Copies up to `n` items to host memory.

        A key that is there from the first call to the last appears exactly once, with a value that it had meanwhile,
        whatever others do to the table; one that comes or goes meanwhile may or may not appear. Changes wait while some
        thousand items are copied, and not between two calls. The table remembers the last 16 exports not yet at their
        end; after a resize, and on a GPU after inserts, with 8 bytes for each key that is left.

        Parameters
        ----------
        cursor
            0 at first, then what the call before returned.
        values
            False to leave the values out.
        dtype
            Element type of the values, as for `find`.
        result
            "arrow": keys and values of any length as Arrow arrays. "numpy": all others, and object arrays of bytes.
        scores
            Give the items' scores too, in a table that keeps them.

        Returns
        -------
        keys
            Shape (m,) of uint64, m ≤ n; of keys wider than 8 bytes (m, key_bytes) of uint8; of those of any length an
            object array of bytes.
        values
            m rows, or None.
        scores
            If asked for: shape (m,) of uint64.
        cursor
            Where to continue, or None at the end.
        """
        return exported(
            self._native.export_batch, self._shape, n, cursor, values, dtype, self._most_items(), scores, result
        )

    def _most_items(self) -> int:
        """More than there are: arrays for more would stay empty. Those whose keys the slots reserve are there, too."""
        return int(self._native.slots()) + _RESERVED

    @overload
    def export_if(
        self, n: int = ..., cursor: int = ..., *, first: Any = ..., last: Any = ...,
        where: selection.Where | None = ..., values: bool = ..., dtype: Any = ..., score: Score = ...,
        scores: Literal[False] = ...,
    ) -> ExportResult: ...  # fmt: skip
    @overload
    def export_if(
        self, n: int = ..., cursor: int = ..., *, first: Any = ..., last: Any = ...,
        where: selection.Where | None = ..., values: bool = ..., dtype: Any = ..., score: Score = ...,
        scores: Literal[True],
    ) -> ScoredExportResult: ...  # fmt: skip
    def export_if(
        self,
        n: int = 1 << 16,
        cursor: int = 0,
        *,
        first: Any = None,
        last: Any = None,
        where: selection.Where | None = None,
        values: bool = True,
        dtype: Any = None,
        score: Score = None,
        scores: bool = False,
    ) -> Any:
        """Copies up to `n` of the items that are meant, as for `erase_if`, to host memory; else as `export_batch`."""
        chosen = self._selected(first, last, score, where, dtype)

        def export(at: int, keys: int, rows: int, marks: int, most: int) -> tuple[int, int]:
            return self._native.export_if(*chosen, at, keys, rows, marks, most)

        return exported(export, self._shape, n, cursor, values, dtype, self._most_items(), scores)

    def erase_if(
        self,
        first: Any = None,
        last: Any = None,
        *,
        where: selection.Where | None = None,
        dtype: Any = None,
        score: Score = None,
    ) -> int:
        """Erases the items with keys from `first` to `last` and a score in `score`, for which `where` is true; without
        arguments, all items.

        Each erase is as durable and whole as one of `erase`, and all are durable when it returns. Other changes wait
        while some thousand items are examined and erased; searches continue.

        Parameters
        ----------
        first, last
            Keys that belong to the range, compared as unsigned numbers, wider ones than 8 bytes byte by byte; None: no
            limit.
        where
            Called as `where(keys, values)` with some items at a time; returns an array of bool. It runs on the host,
            may search the table and must not change it. What it raises comes out, and what was erased before stays
            erased.
        dtype
            Element type of the values that `where` gets, as for `find`.
        score
            The least and the greatest score, which belong to the range, None for no limit: `(None, 100)`. In a table
            that keeps scores.

        Returns
        -------
        int
            How many were erased.
        """
        return int(self._native.erase_if(*self._selected(first, last, score, where, dtype)))

    def size_if(
        self,
        first: Any = None,
        last: Any = None,
        *,
        where: selection.Where | None = None,
        dtype: Any = None,
        score: Score = None,
    ) -> int:
        """How many items are meant, as for `erase_if`."""
        return int(self._native.size_if(*self._selected(first, last, score, where, dtype)))

    @overload
    def batches(self, n: int = ..., *, dtype: Any = ..., scores: Literal[False] = ...) -> Iterator[Items]: ...
    @overload
    def batches(self, n: int = ..., *, dtype: Any = ..., scores: Literal[True]) -> Iterator[ScoredItems]: ...
    def batches(self, n: int = 1 << 16, *, dtype: Any = None, scores: bool = False) -> Iterator[Any]:
        """All items as arrays (keys, values) of up to `n`, or (keys, values, scores), with the promise and the element
        types of `export_batch`; it ends when all were given."""
        for keys, values, marks in self._pieces(n, True, dtype, scores):
            if len(keys):
                yield Items(keys, values) if marks is None else ScoredItems(keys, values, marks)

    @overload
    def items(
        self, *, dtype: Any = ..., batch: int = ..., scores: Literal[False] = ...
    ) -> Iterator[tuple[Any, Any]]: ...
    @overload
    def items(self, *, dtype: Any = ..., batch: int = ..., scores: Literal[True]) -> Iterator[tuple[Any, Any, int]]: ...
    def items(self, *, dtype: Any = None, batch: int = 1 << 12, scores: bool = False) -> Iterator[Any]:
        """Each item as (key, value), in no order; read `batch` at a time, with the promise of `export_batch`. Keys of
        8 bytes are ints, wider ones bytes; values are bytes, or rows of `dtype`. With `scores` each is (key, value,
        score)."""
        as_they_are = dtype is not None or self._shape.any_length
        for keys, values, marks in self._pieces(batch, True, dtype, scores):
            rows = values if as_they_are else (value.tobytes() for value in values)
            if marks is None:
                yield from zip(plain(keys), rows, strict=True)
            else:
                yield from zip(plain(keys), rows, marks.tolist(), strict=True)

    def __iter__(self) -> Iterator[Any]:
        """Each key, in no order: an int, or bytes if keys are wider than 8."""
        for keys, _, _ in self._pieces(1 << 14, False, None, False):
            yield from plain(keys)

    def _pieces(self, n: int, values: bool, dtype: Any, scores: bool) -> Iterator[tuple[np.ndarray, Any, Any]]:
        cursor: int | None = 0
        scores = flag("scores", scores)
        try:
            while cursor is not None:
                marks = None
                if scores:
                    keys, rows, marks, cursor = self.export_batch(n, cursor, values=values, dtype=dtype, scores=True)
                else:
                    keys, rows, cursor = self.export_batch(n, cursor, values=values, dtype=dtype)
                yield keys, rows, marks
        finally:
            if cursor:
                with suppress(Error):  # closed meanwhile
                    self._native.end_export(cursor)

    def _selected(
        self, first: Any, last: Any, score: Score, where: selection.Where | None, dtype: Any
    ) -> tuple[bytes | None, bytes | None, tuple[int, int], selection.NativeWhere | None]:
        if self._shape.any_length:
            raise InvalidArgument(
                f"items of {self.path} have keys and values of any length, which are not selected in this version: "
                "export them, choose, and erase the keys"
            )
        return (
            selection.key_bytes_of("first", first, self._shape.key_bytes),
            selection.key_bytes_of("last", last, self._shape.key_bytes),
            selection.score_range_of(score, str(self._native.score()), self.path),
            selection.native_where(where, self._shape, dtype),
        )


def plain(keys: np.ndarray) -> list[Any]:
    """Keys as Python has them: whole numbers, or bytes."""
    return keys.tolist() if keys.ndim == 1 else [row.tobytes() for row in keys]


def exported(
    export: Callable[..., tuple[int, int]],
    shape: TableShape,
    n: int,
    cursor: int,
    values: bool,
    dtype: Any,
    most: int,
    scores: bool = False,
    result: str = "numpy",
) -> Any:
    """What `export(cursor, keys, rows, scores, n)` writes to arrays of `n` items, `most` at most, by their addresses,
    or what `export(cursor, 0, 0, 0, n, keys, values)` puts into Blobs, as `export_batch` gives it."""
    values, scores = flag("values", values), flag("scores", scores)
    if shape.any_length and scores:
        raise InvalidArgument(f"{shape.path} keeps no scores: keys and values of any length have none")
    if shape.any_length and dtype is not None:
        raise InvalidArgument(f"dtype is for values of fixed length, and those of {shape.path} have any")
    as_arrow = result_of(result, shape, ("numpy", "arrow")) == "arrow"
    n, cursor = min(whole("n", n, 1, 1 << 40), most), whole("cursor", cursor, 0, _END)
    items: tuple[Any, ...]
    if shape.any_length:
        blobs, value_blobs = Blobs(), Blobs() if values else None
        _, following = export(cursor, 0, 0, 0, n, blobs, value_blobs)
        items = strings.give(blobs, as_arrow), None if value_blobs is None else strings.give(value_blobs, as_arrow)
    else:
        keys = np.empty(n, np.uint64) if shape.key_bytes == 8 else np.empty((n, shape.key_bytes), np.uint8)
        rows = np.empty(*result_rows(NUMPY, n, dtype, None, shape.value_bytes)) if values else None
        marks = np.empty(n, np.uint64) if scores else None
        made = [keys, rows, marks] if scores else [keys, rows]
        addresses = (0 if array is None else NUMPY.pointer(array) for array in (keys, rows, marks))
        count, following = export(cursor, *addresses, n)
        items = tuple(None if array is None else array[:count] for array in made)
    after = None if following == _END else following
    return ScoredExportResult._make((*items, after)) if scores else ExportResult._make((*items, after))
