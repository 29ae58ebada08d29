"""Counts the k-mers of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import _native
from ..checked import MOST, function_of, whole
from ..errors import InvalidArgument, InvalidType
from ..inspection import path_text
from ..messages import shown
from .codec import check_k, decode
from .formats import format_of
from .pool_memory import PoolMemory

ROWS = 1 << 19
"""K-mers that are taken at once."""

Progress = Callable[[str, int, int], object]
"""Called some times a second with "reading" or "counting", what is done of it, and the whole, or 0 if not known."""

_MOST_UNSIGNED = (1 << 32) - 1


class Counts:
    """The k-mers of some files, each once, in no order, while they are being counted: they can be taken once."""

    def __init__(
        self,
        native: _native.KmerCounts,
        k: int,
        is_canonical: bool,
        progress: Progress | None,
        pool_memory: PoolMemory | None = None,
    ) -> None:
        self._native, self._progress = native, progress
        self.k, self.canonical = k, is_canonical
        self.pool_memory = pool_memory
        """What a pool that `write` makes of them may take; None: it is not bounded."""
        self._over = False

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Arrays of k-mers, as numbers, and of their counts. Raises InvalidArgument if they were all taken before."""
        if self._over:
            raise InvalidArgument("these k-mers were taken already: count again, or write them to a file and read that")
        while True:
            kmers, counts = np.empty(ROWS, np.uint64), np.empty(ROWS, np.uint64)
            n = self._native.next(kmers.ctypes.data, counts.ctypes.data, ROWS, self._progress)
            if n == 0:
                self._over = True
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
    out: str | os.PathLike[str] | None = None,
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
    out
        The file that `write` will make. The pages of a pool (.hold) are then part of `memory`, if that is given:
        `write` raises InvalidArgument, with the least memory that works, when they do not fit. Otherwise a pool takes
        25 to 55 bytes a k-mer in addition to `memory`.
    progress
        Called while files are read and while k-mers are counted.

    Raises
    ------
    InvalidArgument, InvalidType, InputError, NoSpace, SystemError
    """
    one = isinstance(files, str | os.PathLike)
    if not one and not isinstance(files, Iterable):
        raise InvalidType(f"files is of type {type(files).__name__}: give a path, or several")
    try:
        listed = [files] if one else list(files)  # type: ignore[arg-type]
    except Exception:
        raise InvalidType(f"files is {shown(files)}, which gives no paths: give a path, or several") from None
    paths = [path_text(path) for path in listed]
    if not isinstance(canonical, bool | np.bool_):
        raise InvalidType(f"canonical is {shown(canonical)}, of type {type(canonical).__name__}: give True or False")
    k = check_k(k)
    into_pool = out is not None and format_of(Path(path_text(out))) == "pool"
    memory = whole("memory", memory, 0, MOST)
    native = _native.KmerCounts.create(
        k=k,
        canonical=bool(canonical),
        min_quality=whole("min_quality", min_quality, 0, _MOST_UNSIGNED),
        lower=whole("lower", lower, 0, MOST),
        upper=MOST if upper is None else whole("upper", upper, 0, MOST),
        threads=whole("threads", threads, 0, _MOST_UNSIGNED),
        memory=memory,
        folder=path_text(folder),
        into_pool=into_pool,
    )
    native.read(paths, function_of(progress))
    bound = PoolMemory(memory, native.stats()["memory"]) if into_pool and memory else None
    return Counts(native, k, bool(canonical), progress, bound)
