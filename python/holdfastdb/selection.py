"""Which items `erase_if`, `size_if` and `export_if` mean, as Python says it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .checked import MOST, whole
from .errors import InvalidArgument, InvalidType
from .libraries import NUMPY
from .messages import shown
from .operands import TableShape
from .rows import result_rows

Where = Callable[[np.ndarray, Any], Any]
NativeWhere = Callable[[memoryview, memoryview, memoryview], None]


def key_bytes_of(name: str, key: Any, size: int) -> bytes | None:
    """A key at an end of a range, as the bytes that the table has of it."""
    if key is None:
        return None
    if isinstance(key, bytes | bytearray):
        if len(key) != size:
            raise InvalidArgument(f"{name} is {len(key)} bytes, and the table's keys have {size}")
        return bytes(key)
    if size != 8 or isinstance(key, bool) or not isinstance(key, int | np.integer):
        expected = "a whole number" if size == 8 else f"{size} bytes"
        raise InvalidType(
            f"{name} is {shown(key)}, of type {type(key).__name__}: give {expected}, or None for no limit"
        )
    if not 0 <= int(key) < 1 << 64:
        raise InvalidArgument(f"{name} is {shown(key)}: give 0 to 2**64 - 1, or None for no limit")
    return int(key).to_bytes(8, "little")


def score_range_of(score: Any, kind: str, path: str) -> tuple[int, int]:
    """A range of scores, `(low, high)` with None for no limit, as two numbers; all of them for None."""
    if score is None:
        return 0, MOST
    if not isinstance(score, tuple | list) or len(score) != 2:
        raise InvalidType(
            f"score is {shown(score)}: give a pair, the least and the greatest score, or None for no limit"
        )
    if kind == "none":
        raise InvalidArgument(
            f"{path} keeps no scores: create a table with score='step', 'time' or 'frequency' to choose by them"
        )
    low, high = score
    return (
        0 if low is None else whole("score[0]", low, 0, MOST),
        MOST if high is None else whole("score[1]", high, 0, MOST),
    )


def native_where(where: Where | None, shape: TableShape, dtype: Any) -> NativeWhere | None:
    """`where` over arrays as one over the bytes of some items."""
    if where is None:
        return None
    if not callable(where):
        raise InvalidType(f"where is of type {type(where).__name__}: give a function of keys and values")
    sizes, made = result_rows(NUMPY, 0, dtype, None, shape.value_bytes)

    def choose(keys: memoryview, values: memoryview, keep: memoryview) -> None:
        n = len(keep)
        raw = np.frombuffer(keys, np.uint8).copy()
        given = raw.view(np.uint64) if shape.key_bytes == 8 else raw.reshape(n, shape.key_bytes)
        rows = np.frombuffer(bytes(values), made).reshape(n, *sizes[1:])
        chosen = np.asarray(where(given, rows))
        if chosen.shape != (n,) or chosen.dtype != bool:
            raise InvalidArgument(
                f"where returned {chosen.dtype} of shape {chosen.shape}: give one bool for each of the {n:,} items"
            )
        np.frombuffer(keep, bool)[:] = chosen

    return choose
