"""How much memory a pool of k-mers takes while it is written, and how many k-mers fit what a count leaves to it."""

from __future__ import annotations

_MIB = 1 << 20
_HEADER = 8 * _MIB  # the directory of the pool, and the smallest table
_PARTS = 8  # KmerOptions::into_pool: a count leaves all but one of them to the pool
_MOST_LOAD = 0.9  # of slots in use; a table of k-mers grew at 0.96 and more


def bytes_of(slots: int) -> int:
    """The bytes of memory that a pool with a table of so many slots, of 16 bytes each, has taken at most.

    A table has two levels, the upper twice as large as the lower. It grows by a level on top, and the space of the
    levels below, a third of the table in all, stays in the file. A slot has a tag of a byte, a group of 24 slots a word
    more, and while the table grows half as many again exist."""
    return _HEADER + slots * 16 * 4 // 3 + slots * 2


def slots_for(rows: int, slots: int) -> int:
    """Slots of a table that had `slots` when it was empty, and holds `rows` k-mers. It doubles when it grows."""
    while slots * _MOST_LOAD < rows:
        slots *= 2
    return slots


class PoolMemory:
    """What a count that may take `whole` bytes leaves to a pool, if it takes `counting` itself."""

    def __init__(self, whole: int, counting: int) -> None:
        self.whole, self._left = whole, whole - counting

    def fits(self, rows: int, slots: int) -> bool:
        """Whether there is memory for a pool of `rows` k-mers, whose table had `slots` when it was empty."""
        return bytes_of(slots_for(rows, slots)) <= self._left

    def least_mib(self, rows: int, slots: int) -> int:
        """What the count and a pool of `rows` k-mers need, in MiB, and 8 more: what the process takes
        before it counts differs by a few from one run to the next."""
        missing = bytes_of(slots_for(rows, slots)) - self._left
        return (self.whole + missing * _PARTS // (_PARTS - 1)) // _MIB + 8
