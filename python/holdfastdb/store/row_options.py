"""Options of the rows of a batch: one for all, or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ..checked import MOST, whole
from ..errors import InvalidArgument, InvalidType
from ..libraries import NUMPY
from ..messages import shown
from .times import expiries_of

Seconds: TypeAlias = float | Sequence[float | None] | np.ndarray | None
"""`ttl` or `expires`: of all rows, or one of each."""
Flags: TypeAlias = int | Sequence[int] | np.ndarray


class RowOptions:
    """Flags and expiries, as the native store takes them. They belong to this object: keep it until the call ends."""

    def __init__(self, native: Any, size: int, ttl: Any, expires: Any, flags: Any) -> None:
        alike = isinstance(flags, int | np.integer)
        its_flags = numbers_of("flags", flags, 1 if alike else size, (1 << 32) - 1)
        times = expiries_of(ttl, expires, size, native)
        if len(its_flags) != len(times):
            its_flags, times = (np.ascontiguousarray(np.broadcast_to(one, size)) for one in (its_flags, times))
        self._flags, self._times = its_flags, times

    @property
    def given(self) -> tuple[int, int, int]:
        """Their number, 1 or that of the rows, and the addresses of flags and expiries."""
        return len(self._flags), NUMPY.pointer(self._flags), NUMPY.pointer(self._times)


def numbers_of(name: str, given: Any, size: int, most: int = MOST) -> np.ndarray:
    """Whole numbers, `size` of them, or one for all, as uint64."""
    if isinstance(given, int | np.integer):
        return np.full(size, whole(name, given, 0, most), np.uint64)
    is_array = isinstance(given, np.ndarray) and given.ndim == 1
    if not is_array and not isinstance(given, list | tuple):
        raise InvalidType(f"{name} is {shown(given)}, of type {type(given).__name__}: give a list of whole numbers")
    if len(given) != size:
        raise InvalidArgument(f"{name} has {len(given)} numbers, and there are {size} to give: give one for each")
    given = given.tolist() if is_array else given
    numbers = (whole(f"{name}[{i}]", one, 0, most) for i, one in enumerate(given))
    return np.fromiter(numbers, np.uint64, size)
