"""Seeded numbers, keys and values. NumPy's own generators may change between versions; these do not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15
SPECIAL = (0, 2**64 - 1, 1, 2**63, 2**64 - 2, 2**32, 2**32 - 1, 255, 256, 2**63 - 1)
"""Reserved keys (0 and 2^64 - 1) and their neighbours: the numbers 0 to 9 of the keys."""


def mixed(numbers: np.ndarray) -> np.ndarray:
    """SplitMix64 of each number: a permutation of the 64-bit numbers."""
    x = numbers.astype(np.uint64)
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Draw:
    """A stream of numbers that depends on its name alone."""

    def __init__(self, name: str) -> None:
        self._at = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")

    def words(self, n: int) -> np.ndarray:
        """`n` numbers of 64 bits."""
        with np.errstate(over="ignore"):
            at = np.uint64(self._at) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        self._at = (self._at + n * GOLDEN) % 2**64
        return mixed(at)

    def below(self, limit: int, n: int) -> np.ndarray:
        """`n` numbers from 0 to `limit` - 1."""
        return (self.words(n) >> np.uint64(11)) % np.uint64(limit)

    def one(self, limit: int) -> int:
        """A number from 0 to `limit` - 1."""
        return int(self.below(limit, 1)[0])

    def chance(self, percent: int) -> bool:
        """True `percent` times of a hundred."""
        return self.one(100) < percent

    def choice(self, given: Sequence) -> object:
        """One of them."""
        return given[self.one(len(given))]

    def bits(self, n: int, percent: int) -> bytes:
        """`n` bytes, each 1 with that chance, else 0."""
        return (self.below(100, n) < np.uint64(percent)).astype(np.uint8).tobytes()


def rows_of(array: np.ndarray, size: int) -> list[bytes]:
    """The bytes of an array in pieces of `size`."""
    data = array.tobytes()
    return [data[i : i + size] for i in range(0, len(data), size)]


def fixed_keys(numbers: np.ndarray, size: int) -> list[bytes]:
    """Numbers as keys of `size` bytes; different ones for different numbers."""
    words = mixed(numbers)
    special = numbers < np.uint64(len(SPECIAL))
    words[special] = np.array(SPECIAL, np.uint64)[numbers[special].astype(np.int64)]
    if size == 8:
        return rows_of(words, 8)
    wide = np.zeros((len(words), size // 8), np.uint64)
    wide[special] = words[special, None]  # all bits zero, all bits set
    plain = ~special
    wide[plain, -1] = words[plain]  # keys that differ in their last word alone, and others
    wide[plain, 0] = np.where(words[plain] & np.uint64(1), mixed(words[plain]), words[plain] >> np.uint64(60))
    return rows_of(wide, size)


SHORT_KEYS = (b"", b"\0", b"\0\0", b"\xff" * 8, b"k" * 65536, b"\0" * 8, b"key", b"\xff", b"\x01", b"a" * 4096)


def any_keys(numbers: np.ndarray) -> list[bytes]:
    """Numbers as keys of any length."""
    made = []
    for number, word in zip(numbers.tolist(), mixed(numbers).tolist(), strict=True):
        if number < len(SHORT_KEYS):
            made.append(SHORT_KEYS[number])
            continue
        length = 8 + (word % 600 if word >> 60 == 0 else word % 40)
        made.append((number.to_bytes(8, "big") * (length // 8 + 1))[:length])
    return made


def fixed_values(draw: Draw, n: int, size: int, element: str) -> list[bytes]:
    """Any bytes; or, of floating-point elements, whole numbers of -4 to 4 but 0, whose sums are exact."""
    if size == 0:
        return [b""] * n
    if not element.endswith(("float16", "float32", "float64")):
        words = draw.words(n * ((size + 7) // 8)).view(np.uint8).reshape(n, (size + 7) // 8 * 8)
        return rows_of(np.ascontiguousarray(words[:, :size]), size)
    width = 2 if element.endswith("16") else int(element[-2:]) // 8
    numbers = draw.below(8, n * (size // width)).astype(np.int64) - 4
    numbers[numbers >= 0] += 1
    return rows_of(as_element(numbers.astype(np.float32), element), size)


def as_element(numbers: np.ndarray, element: str) -> np.ndarray:
    """float32 or float64 as that type, rounded to nearest; bfloat16 as its 16 bits."""
    if element != "bfloat16":
        return numbers.astype(element)
    bits = numbers.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)


def any_values(draw: Draw, n: int) -> list[bytes]:
    """Values of any length, none at all among them."""
    made = []
    for kind, word in zip(draw.below(64, n).tolist(), draw.words(n).tolist(), strict=True):
        length = 0 if kind < 6 else word % 3000 if kind < 12 else 65536 if kind == 63 and word % 16 == 0 else word % 60
        made.append((word.to_bytes(8, "little") * (length // 8 + 1))[:length])
    return made
