"""k-mers as numbers of two bits a base, A 0, C 1, G 2, T 3, the first base highest; and as text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any, TypeVar

import numpy as np

from .._native import least_k, most_k
from ..arrays import frames
from ..checked import whole
from ..errors import InvalidArgument, InvalidType, NoSpace
from ..messages import shown

_LETTERS = np.frombuffer(b"ACGT", np.uint8)
NO_BASE = 4
CODES = np.full(256, NO_BASE, np.uint8)
"""The code of each byte, or NO_BASE."""
CODES[_LETTERS] = CODES[_LETTERS + 32] = range(4)
_TWO = np.uint64(2)


Read = TypeVar("Read")


def _within_memory(read: Callable[..., Read]) -> Callable[..., Read]:
    """For what reads an argument by its name: raises NoSpace where its elements do not fit into memory."""

    @functools.wraps(read)
    def reads(name: str, *given: Any) -> Read:
        try:
            return read(name, *given)
        except (MemoryError, OverflowError):
            raise NoSpace(f"{name} has more elements than fit into memory: give fewer at a time") from None

    return reads


def check_k(k: int) -> int:
    return whole("k", k, least_k, most_k)


@_within_memory
def numbers_of(name: str, given: Any, k: int) -> np.ndarray:
    """K-mers given as numbers, as an array of shape (n,) of uint64. Raises InvalidType for what are no whole numbers,
    InvalidArgument for numbers of no k-mer and for other shapes."""
    made = _array_of(name, given)
    if made.ndim != 1:
        raise InvalidArgument(f"{name} has the shape {made.shape}: give an array of shape (n,)")
    if made.dtype.kind not in "iu":
        if len(made) == 0:
            return np.empty(0, np.uint64)
        if made.dtype.kind != "O":
            raise InvalidType(f"{name} is of {made.dtype}: give whole numbers, an array of uint64 for one")
        made = np.array([whole(f"{name}[{i}]", value, 0, most_of(k)) for i, value in enumerate(made)], np.uint64)
    words = np.ascontiguousarray(made, np.uint64)
    wrong = (made < 0) | (words > np.uint64(most_of(k)))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidArgument(f"{name}[{i}] is {made[i]}: give 0 to {most_of(k):,}, the numbers of {k} bases")
    return words


def most_of(k: int) -> int:
    """The largest number of a k-mer."""
    return (1 << 2 * k) - 1


def _array_of(name: str, given: Any) -> np.ndarray:
    """An array as it is; a list as one of objects, for NumPy would make floats of whole numbers beyond 2^63."""
    if isinstance(given, list | tuple | range):
        return np.fromiter(given, object, len(given))
    if (column := frames.array_of(name, given)) is not None:
        return column
    if isinstance(given, np.ma.MaskedArray) or not hasattr(given, "__array__"):
        raise InvalidType(f"{name} is of type {type(given).__name__}: give an array, or a list")
    try:
        return np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidType(f"{name} is of type {type(given).__name__}, which is no array in memory ({error})") from None


def words_of(codes: np.ndarray) -> np.ndarray:
    """Numbers of rows of codes."""
    words = np.zeros(len(codes), np.uint64)
    for column in codes.T:
        words <<= _TWO
        words |= column
    return words


@_within_memory
def texts_of(name: str, given: Any) -> list[str] | None:
    """K-mers given as text; None for others."""
    if isinstance(given, str):
        return [given]
    if hasattr(given, "__array__"):
        made = _array_of(name, given)
        given = made.tolist() if made.ndim == 1 and made.dtype.kind in "OU" else []
    elif not isinstance(given, Iterable) or isinstance(given, bytes | bytearray | memoryview):
        raise InvalidType(f"{name} is of type {type(given).__name__}: give text, or an array, or a list")
    given = list(given)
    if not any(isinstance(text, str) for text in given):
        return None
    for i, text in enumerate(given):
        if not isinstance(text, str):
            raise InvalidType(
                f"{name}[{i}] is {shown(text)}, of type {type(text).__name__}, and others are text: give text"
            )
    return given


def _is_empty(given: Sized) -> bool:
    try:
        return len(given) == 0
    except TypeError:  # an array of 0 dimensions
        return False


def encode(texts: str | Sequence[str]) -> np.ndarray:
    """The numbers of k-mers, all of one length. Raises InvalidArgument, InvalidType."""
    given = texts_of("texts", texts)
    if given is None:
        if isinstance(texts, Sized) and not _is_empty(texts):
            raise InvalidType("texts has no text: give a str, or several")
        return np.empty(0, np.uint64)
    k = len(given[0])
    if not least_k <= k <= most_k:
        raise InvalidArgument(f"{shown(given[0])} has {k} letters: give k-mers of {least_k} to {most_k}")
    for text in given:
        if len(text) != k:
            raise InvalidArgument(
                f"{shown(text)} has {len(text)} letters and {shown(given[0])} {k}: give k-mers of one length"
            )
        if not text.isascii() or (CODES[np.frombuffer(text.encode(), np.uint8)] == NO_BASE).any():
            raise InvalidArgument(f"{shown(text)} is no k-mer: give letters A, C, G and T")
    return words_of(CODES[np.frombuffer("".join(given).encode(), np.uint8)].reshape(len(given), k))


def decode(words: Any, k: int) -> list[str]:
    """The text of each number. Raises InvalidArgument, InvalidType."""
    k = check_k(k)
    words = numbers_of("words", words, k)
    letters = np.empty((len(words), k), np.uint8)
    for i in range(k):
        letters[:, i] = _LETTERS[(words >> np.uint64(2 * (k - 1 - i))) & np.uint64(3)]
    return [row.decode() for row in letters.view(f"S{k}").reshape(-1).tolist()]


def reverse_complement(words: Any, k: int) -> np.ndarray:
    """Of each k-mer. Raises as `decode` does."""
    k = check_k(k)
    words = ~numbers_of("words", words, k)
    for bits, mask in ((2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):  # the bases of a byte, then bytes
        shift, low = np.uint64(bits), np.uint64(mask)
        words = ((words >> shift) & low) | ((words & low) << shift)
    return words.byteswap() >> np.uint64(64 - 2 * k)


def canonical(words: Any, k: int) -> np.ndarray:
    """Of each k-mer and its reverse complement the one that is first in the alphabet. Raises as `decode` does."""
    words = numbers_of("words", words, check_k(k))
    return np.minimum(words, reverse_complement(words, k))
