"""What calls with several results return: named tuples, of the arrays that the calls describe."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

ResultKind: TypeAlias = Literal["numpy", "arrow", "device"]
"""Where and as what values of any length are given: `result=`."""
HostResultKind: TypeAlias = Literal["numpy", "arrow"]
"""The same, of what only comes to host memory."""


class FindResult(NamedTuple):
    """What `find` and `find_or_insert` read."""

    values: Any
    found: Any


class FindMissingResult(NamedTuple):
    """What `find(missing=True)` reads."""

    values: Any
    found: Any
    missing: Any


class FindStatusesResult(NamedTuple):
    """What `find_or_insert(statuses=True)` reads and did."""

    values: Any
    found: Any
    statuses: Any


class InsertAndFindResult(NamedTuple):
    """What `insert_and_find` reads and did."""

    values: Any
    statuses: Any


class ApplyResult(NamedTuple):
    """What `apply` did and reads."""

    statuses: Any
    values: Any


class ScoresResult(NamedTuple):
    """What `scores` reads."""

    scores: Any
    found: Any


class ExportResult(NamedTuple):
    """Some items, from `export_batch` and `export_if`."""

    keys: Any
    values: Any
    cursor: int | None


class ScoredExportResult(NamedTuple):
    """Some items with their scores."""

    keys: Any
    values: Any
    scores: np.ndarray
    cursor: int | None


class Items(NamedTuple):
    """Some items, from `batches`."""

    keys: Any
    values: Any


class ScoredItems(NamedTuple):
    """Some items with their scores, from `batches(scores=True)`."""

    keys: Any
    values: Any
    scores: np.ndarray
