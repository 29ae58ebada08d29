"""When items of a store expire: `ttl` and `expires` of its calls, as the store takes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..checked import number
from ..errors import InvalidArgument
from ..messages import shown

LATEST = (1 << 48) - 1
"""The latest expiry, in milliseconds since 1970."""


def _given(ttl: Any, expires: Any) -> tuple[str, Any]:
    if ttl is not None and expires is not None:
        raise InvalidArgument("both ttl and expires are given: give one of them")
    return ("expires", expires) if ttl is None else ("ttl", ttl)


def _milliseconds(name: str, given: Any, begin: int) -> int:
    seconds = number(name, given)
    if not (seconds > 0 and begin + seconds * 1000 <= LATEST):
        kind = "from now, more than 0" if name.startswith("ttl") else "since 1970"
        raise InvalidArgument(
            f"{name} is {shown(given)}: give seconds {kind}, up to the year 10000; without ttl and expires an item "
            "never expires"
        )
    return begin + math.ceil(seconds * 1000)  # never too early


def expiry_of(ttl: Any, expires: Any, native: Any) -> int:
    """In milliseconds since 1970; 0: never. `native`: the store, for its time."""
    name, given = _given(ttl, expires)
    return 0 if given is None else _milliseconds(name, given, 0 if ttl is None else native.now())


def expiries_of(ttl: Any, expires: Any, size: int, native: Any) -> np.ndarray:
    """(size,) uint64 where one of them is a list or an array, which may have None; else (1,), for all rows."""
    name, given = _given(ttl, expires)
    is_array = isinstance(given, np.ndarray) and given.ndim == 1
    if not is_array and not isinstance(given, list | tuple):
        return np.array([expiry_of(ttl, expires, native)], np.uint64)
    if len(given) != size:
        raise InvalidArgument(f"{name} has {len(given)} numbers, and there are {size} keys: give one for each, or one")
    begin = 0 if ttl is None else native.now()
    if is_array and given.dtype.kind in "fiu":
        seconds = given.astype(np.float64)
        if ((seconds > 0) & (seconds <= (LATEST - begin) / 1000)).all():
            return (begin + np.ceil(seconds * 1000)).astype(np.uint64)
    rows = given.tolist() if is_array else given
    times = (0 if one is None else _milliseconds(f"{name}[{i}]", one, begin) for i, one in enumerate(rows))
    return np.fromiter(times, np.uint64, size)
