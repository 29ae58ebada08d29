"""First values for keys that are new, as embeddings need them: each drawn from its key and a seed alone.

The same key and seed give the same row, bit by bit, in every library, on every machine, in any batch: only whole
numbers, and single multiplications and additions of fp32, are computed.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from .checked import number
from .errors import InvalidArgument, InvalidType
from .libraries import HOST, Library
from .messages import shown

_WORD = 1 << 64
_QUANTILE_BITS = 14
_HOST_ELEMENTS = 1 << 16  # made at once: their words stay in the cache
_GPU_ELEMENTS = 1 << 24


def _signed(word: int) -> int:
    word %= _WORD
    return word - _WORD if word >> 63 else word


_GOLDEN = 0x9E3779B97F4A7C15
_MULTIPLIERS = (_signed(0xBF58476D1CE4E5B9), _signed(0x94D049BB133111EB))


def _shifted(words: Any, by: int) -> Any:
    """A shift of int64 that moves zeroes in, as of unsigned words."""
    return (words >> by) & ((1 << (64 - by)) - 1)


def _mixed(words: Any) -> Any:
    """A bijection of int64 words that makes neighbours differ in half of their bits (Steele et al., SplitMix)."""
    words = (words ^ _shifted(words, 30)) * _MULTIPLIERS[0]
    words = (words ^ _shifted(words, 27)) * _MULTIPLIERS[1]
    return words ^ _shifted(words, 31)


GREATEST = {"bfloat16": float.fromhex("0x1.FEp127")} | {
    kind: float(np.finfo(kind).max) for kind in ("float16", "float32", "float64")
}
"""Of the floating-point types."""


def limits_of(kind: str) -> tuple[int, int] | None:
    """The least and the greatest number of a type of whole numbers; None for others."""
    if kind == "bool":
        return 0, 1
    if not kind.startswith(("int", "uint")):
        return None
    info = np.iinfo(kind)
    return int(info.min), int(info.max)


class Initial(ABC):
    """How the rows of new keys begin."""

    @abstractmethod
    def fill(self, rows: Any, words: Any, library: Library, place: str) -> None:
        """Fills fp32 `rows` (n, columns) for keys of `words` (n, w) int64."""

    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """Between which all elements lie."""

    def check(self, kind: str) -> None:
        """Raises InvalidArgument where elements of this type cannot hold what it gives."""
        if limits_of(kind) is not None:
            raise InvalidArgument(
                f"init is {self}, whose elements are fractions, and dtype is {kind}: give a whole number"
            )
        low, high = self.bounds()
        if kind in GREATEST and max(-low, high) > GREATEST[kind]:
            raise InvalidArgument(
                f"init is {self}, which may give {low:g} to {high:g}, and {kind} holds {GREATEST[kind]:g} at most: "
                "give less, or another dtype"
            )

    def made(self, keys: Any, row: tuple[int, ...], kind: str, dtype: Any, library: Library) -> Any:
        """`row` elements of `dtype`, whose name is `kind`, a row for each key."""
        self.check(kind)
        return library.converted(self.rows(keys, row[1] if len(row) > 1 else 1, library), dtype).reshape(row)

    def rows(self, keys: Any, columns: int, library: Library) -> Any:
        """Shape (n, columns) of fp32, for n keys in memory of `library`."""
        place = library.place(keys)
        rows = library.new((len(keys), columns), library.dtype("float32")[0], place, zero=False)
        words = library.words(keys)
        step = max(1, (_HOST_ELEMENTS if place == HOST else _GPU_ELEMENTS) // max(1, columns))
        for at in range(0, len(keys), step):
            self.fill(rows[at : at + step], words[at : at + step], library, place)
        return rows


def _finite(name: str, value: Any) -> None:
    if not math.isfinite(number(name, value)) or abs(float(value)) > float(np.finfo(np.float32).max):
        raise InvalidArgument(f"{name} is {shown(value)}: give a finite number that fits fp32")


@dataclass(frozen=True)
class Constant(Initial):
    """Every element is `value`."""

    value: float = 0.0

    def __post_init__(self) -> None:
        number("value", self.value)
        if not abs(self.value) <= GREATEST["float64"]:  # nor is it no number
            raise InvalidArgument(f"value is {shown(self.value)}: give a finite number that fits some dtype")

    def bounds(self) -> tuple[float, float]:
        return float(self.value), float(self.value)

    def check(self, kind: str) -> None:
        if (limits := limits_of(kind)) is None:
            super().check(kind)
        elif self.value != int(self.value) or not limits[0] <= int(self.value) <= limits[1]:
            raise InvalidArgument(
                f"init is {self.value}, and {kind} holds whole numbers from {limits[0]} to {limits[1]}: give such a one"
            )

    def made(self, keys: Any, row: tuple[int, ...], kind: str, dtype: Any, library: Library) -> Any:
        if limits_of(kind) is None and kind != "float64":
            return super().made(keys, row, kind, dtype, library)
        self.check(kind)  # fp32 would round what these hold
        rows = library.new(row, dtype, library.place(keys), zero=False)
        rows[...] = float(self.value) if kind == "float64" else int(self.value)
        return rows

    def fill(self, rows: Any, words: Any, library: Library, place: str) -> None:
        rows[...] = float(self.value)


class _Drawn(Initial):
    seed: int

    def _words(self, words: Any, columns: int, library: Library, place: str) -> Any:
        """64 random bits for each element, from its key, its column and the seed."""
        state = _mixed(words[:, 0] ^ _signed(int(self.seed) * _GOLDEN + 1))
        for i in range(1, words.shape[1]):
            state = _mixed(state ^ words[:, i])
        steps = (library.count(columns, place) + 1) * _signed(_GOLDEN)
        return _mixed(state[:, None] + steps[None, :])


def _copy_from_host(target: Any, source: np.ndarray) -> None:
    if hasattr(target, "copy_"):
        import torch

        target.copy_(torch.from_numpy(source))
    elif hasattr(target, "set"):
        target.set(source)
    else:
        target[...] = source


@dataclass(frozen=True)
class Uniform(_Drawn):
    """Every element is drawn evenly from `low` to `high`, from its key and `seed`."""

    low: float
    high: float
    seed: int = 0

    def __post_init__(self) -> None:
        _finite("low", self.low)
        _finite("high", self.high)
        _check_seed(self.seed)
        if self.high < self.low:
            raise InvalidArgument(f"low is {self.low} and high is {self.high}: give the lower one first")
        _finite("high - low", self.high - self.low)

    def bounds(self) -> tuple[float, float]:
        return float(self.low), float(self.high)

    def fill(self, rows: Any, words: Any, library: Library, place: str) -> None:
        bits = _shifted(self._words(words, rows.shape[1], library, place), 40)
        rows[...] = bits
        rows *= float(np.float32(2.0**-24 * (self.high - self.low)))
        rows += float(np.float32(self.low))


@dataclass(frozen=True)
class Normal(_Drawn):
    """Every element is drawn from a normal distribution, from its key and `seed`.

    By its quantiles: 2**14 of them, and what lies between two by a straight line; nothing lies beyond 4 times `std`.
    """

    std: float = 1.0
    mean: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        _finite("std", self.std)
        _finite("mean", self.mean)
        _check_seed(self.seed)
        if self.std < 0:
            raise InvalidArgument(f"std is {self.std}: give 0 or more")

    def bounds(self) -> tuple[float, float]:
        return float(self.mean - 4 * self.std), float(self.mean + 4 * self.std)

    def fill(self, rows: Any, words: Any, library: Library, place: str) -> None:
        drawn = self._words(words, rows.shape[1], library, place)
        which = _shifted(drawn, 64 - _QUANTILE_BITS)
        least, steps = _quantiles(library, place)
        rows[...] = _shifted(drawn, 26) & 0xFFFFFF
        rows *= 2.0**-24
        rows *= steps[which]
        rows += least[which]
        rows *= float(np.float32(self.std))
        rows += float(np.float32(self.mean))


def _check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise InvalidType(f"seed is {shown(seed)}, of type {type(seed).__name__}: give a whole number")


@functools.cache
def _host_quantiles() -> tuple[np.ndarray, np.ndarray]:
    from statistics import NormalDist  # takes as long to import as half of this package

    parts = 1 << _QUANTILE_BITS
    normal = NormalDist()
    inner = [normal.inv_cdf(i / parts) for i in range(1, parts)]
    edge = normal.inv_cdf(0.5 / parts)
    edges = np.array([edge, *inner, -edge])
    return edges[:-1].astype(np.float32), np.diff(edges).astype(np.float32)


_placed: dict[tuple[str, str], tuple[Any, Any]] = {}


def _quantiles(library: Library, place: str) -> tuple[Any, Any]:
    """The lower edge of each part of the distribution, and its width; copied to a place once."""
    where = (library.name, place)
    if where not in _placed:
        made = tuple(library.new((1 << _QUANTILE_BITS,), library.dtype("float32")[0], place, zero=True) for _ in "ab")
        for target, source in zip(made, _host_quantiles(), strict=True):
            _copy_from_host(target, source)
        _placed[where] = (made[0], made[1])
    return _placed[where]
