"""Counts the k-mers of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from .. import _native
from ..errors import InvalidArgument
from ..inspection import path_text
from .codec import check_k, decode

ROWS = 1 << 19
"""K-mers that are taken at once."""

Progress = Callable[[str, int, int], object]
"""Called some times a second with "reading" or "counting", what is done of it, and the whole, or 0 if not known."""

_MOST_UNSIGNED, _MOST = (1 << 32) - 1, (1 << 64) - 1


class Counts:
    """The k-mers of some files, each once, in no order, while they are being counted: they can be taken once."""

    def __init__(self, native: _native.KmerCounts, k: int, is_canonical: bool, progress: Progress | None) -> None:
        self._native, self._progress = native, progress
        self.k, self.canonical = k, is_canonical

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Arrays of k-mers, as numbers, and of their counts."""
        while True:
            kmers, counts = np.empty(ROWS, np.uint64), np.empty(ROWS, np.uint64)
            n = self._native.next(kmers.ctypes.data, counts.ctypes.data, ROWS, self._progress)
            if n == 0:
                return
            yield kmers[:n], counts[:n]

    def items(self) -> Iterator[tuple[str, int]]:
        """Each k-mer, as text, with its count."""
        for kmers, counts in self:
            yield from zip(decode(kmers, self.k), counts.tolist(), strict=True)

    def stats(self) -> dict[str, Any]:
        """Figures of the input, of the count so far, and of where the time went: seconds summed over threads, of who
        takes the k-mers (`writing`), and as a clock on the wall shows them (`read_seconds`, `count_seconds`)."""
        return self._native.stats()


def count(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    k: int = 31,
    *,
    canonical: bool = False,
    min_quality: int = 0,
    lower: int = 1,
    upper: int | None = None,
    threads: int = 0,
    memory: int = 0,
    folder: str | os.PathLike[str] = ".",
    progress: Progress | None = None,
) -> Counts:
    """Reads the files, and gives what takes their k-mers, which are counted meanwhile.

    Parameters
    ----------
    files
        FASTA or FASTQ (of four lines a record), plain or gzip; "-" is standard input. One, or several.
    k
        Bases of a k-mer, 4 to 32. A letter other than ACGTacgt ends a k-mer.
    canonical
        Count a k-mer and its reverse complement as one: the one that is first in the alphabet.
    min_quality
        A base of FASTQ with a lower quality (Phred, offset 33) ends a k-mer.
    lower, upper
        Leave out k-mers with smaller or larger counts.
    threads
        0: all processors.
    memory
        Bytes that the process may take in all; 0: three quarters of what is free. What does not fit goes to a file in
        `folder`, which has no name and goes with the process; of k up to 12 all must fit.
    progress
        Called while files are read and while k-mers are counted.

    Raises
    ------
    InvalidArgument, InputError, NoSpace, SystemError
    """
    one = isinstance(files, str | os.PathLike)
    paths = [path_text(path) for path in ([files] if one else files)]  # type: ignore[union-attr]
    k = check_k(k)
    numbers: dict[str, Any] = {"min_quality": min_quality, "threads": threads, "memory": memory, "lower": lower}
    for name, value in {**numbers, "upper": _MOST if upper is None else upper}.items():
        numbers[name] = index(value)
        most = _MOST_UNSIGNED if name in ("min_quality", "threads") else _MOST
        if not 0 <= numbers[name] <= most:
            raise InvalidArgument(f"{name} is {value}: give 0 to {most}")
    native = _native.KmerCounts.create(k=k, canonical=bool(canonical), folder=str(Path(folder)), **numbers)
    native.read(paths, progress)
    return Counts(native, k, canonical, progress)
