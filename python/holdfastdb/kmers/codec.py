"""k-mers as numbers of two bits a base, A 0, C 1, G 2, T 3, the first base highest; and as text."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

import numpy as np

from .._native import least_k, most_k
from ..errors import InvalidArgument

_LETTERS = np.frombuffer(b"ACGT", np.uint8)
NO_BASE = 4
CODES = np.full(256, NO_BASE, np.uint8)
"""The code of each byte, or NO_BASE."""
CODES[_LETTERS] = CODES[_LETTERS + 32] = range(4)
_TWO = np.uint64(2)


def check_k(k: int) -> int:
    k = index(k)
    if not least_k <= k <= most_k:
        raise InvalidArgument(f"k is {k}: give {least_k} to {most_k}")
    return k


def words_of(codes: np.ndarray) -> np.ndarray:
    """Numbers of rows of codes."""
    words = np.zeros(len(codes), np.uint64)
    for column in codes.T:
        words <<= _TWO
        words |= column
    return words


def encode(texts: str | Sequence[str]) -> np.ndarray:
    """The numbers of k-mers, all of one length. Raises InvalidArgument for what is none."""
    texts = [texts] if isinstance(texts, str) else list(texts)
    if not texts:
        return np.empty(0, np.uint64)
    k = check_k(len(texts[0]))
    for text in texts:
        if len(text) != k:
            raise InvalidArgument(f"{text!r} has {len(text)} letters and {texts[0]!r} {k}: give k-mers of one length")
        if not text.isascii() or (CODES[np.frombuffer(text.encode(), np.uint8)] == NO_BASE).any():
            raise InvalidArgument(f"{text!r} is no k-mer: give letters A, C, G and T")
    return words_of(CODES[np.frombuffer("".join(texts).encode(), np.uint8)].reshape(len(texts), k))


def decode(words: np.ndarray, k: int) -> list[str]:
    """The text of each number."""
    words = np.asarray(words, np.uint64)
    letters = np.empty((len(words), check_k(k)), np.uint8)
    for i in range(k):
        letters[:, i] = _LETTERS[(words >> np.uint64(2 * (k - 1 - i))) & np.uint64(3)]
    return [row.decode() for row in letters.view(f"S{k}").reshape(-1).tolist()]


def reverse_complement(words: np.ndarray, k: int) -> np.ndarray:
    """Of each k-mer."""
    words = np.array(words, np.uint64)
    result = np.zeros_like(words)
    for _ in range(check_k(k)):
        result <<= _TWO
        result |= np.uint64(3) - (words & np.uint64(3))
        words >>= _TWO
    return result


def canonical(words: np.ndarray, k: int) -> np.ndarray:
    """Of each k-mer and its reverse complement the one that is first in the alphabet."""
    return np.minimum(np.asarray(words, np.uint64), reverse_complement(words, k))
