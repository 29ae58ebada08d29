"""Reads files of k-mers with their counts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, InvalidArgument
from ..inspection import inspect, path_text
from ..pool import Pool
from ..transfer.formats import pyarrow
from .codec import CODES, NO_BASE, check_k, encode, words_of
from .codec import canonical as canonical_of
from .counting import ROWS
from .outputs import format_of, parse_table_name

_PIECE = 1 << 21  # bytes of text
_MOST_DIGITS = 20
Batches = Iterator[tuple[np.ndarray, np.ndarray]]


class CountFile:
    """A file that `write` wrote: Parquet, a pool, or text, which does not say whether its k-mers are canonical."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path_text(path))
        self.format = format_of(self.path)
        if not self.path.exists():
            raise InputError(f"{self.path} cannot be opened: there is no such file; check its name")
        self._table = ""
        self.k, self.canonical = {"parquet": self._of_parquet, "pool": self._of_pool, "text": self._of_text}[
            self.format
        ]()

    def __iter__(self) -> Batches:
        """Arrays of k-mers, as numbers, and of their counts."""
        if self.format == "parquet":
            return self._batches_of_parquet()
        return self._batches_of_pool() if self.format == "pool" else self._batches_of_text()

    def find(self, kmers: np.ndarray) -> np.ndarray:
        """The count of each k-mer, given as a number; 0 where there is none. In a pool by its index, else by a scan."""
        kmers = np.ascontiguousarray(kmers, np.uint64)
        if self.format == "pool":
            with Pool.open(self.path, "r") as pool, pool.table(self._table, "cpu") as table:
                counts, found = table.find(kmers, dtype=np.uint64)
                return np.where(found, counts.reshape(-1), 0).astype(np.uint64)
        wanted, inverse = np.unique(kmers, return_inverse=True)
        counts = np.zeros(len(wanted), np.uint64)
        for there, numbers in self if len(wanted) else ():
            at = np.minimum(np.searchsorted(wanted, there), len(wanted) - 1)
            hits = wanted[at] == there
            counts[at[hits]] = numbers[hits]
        return counts[inverse]

    def _unreadable(self, why: object) -> InputError:
        return InputError(f"{self.path} is no file of k-mers with counts: {why}")

    def _parquet(self) -> Any:
        pa, parquet = pyarrow("pyarrow", self.path), pyarrow("pyarrow.parquet", self.path)
        try:
            return parquet.ParquetFile(self.path)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from None

    def _of_parquet(self) -> tuple[int, bool]:
        with self._parquet() as file:
            about = file.schema_arrow.metadata or {}
            names = file.schema_arrow.names
        if b"holdfast.k" not in about or names[:2] != ["kmer", "count"]:
            raise self._unreadable("its columns are not kmer and count, with holdfast.k in the schema's metadata")
        try:
            return check_k(int(about[b"holdfast.k"])), about.get(b"holdfast.canonical") == b"1"
        except ValueError as error:
            raise self._unreadable(error) from None

    def _batches_of_parquet(self) -> Batches:
        with self._parquet() as file:
            batches = file.iter_batches(ROWS, columns=["kmer", "count"])
            while True:
                try:
                    batch = next(batches, None)
                except (pyarrow("pyarrow", self.path).ArrowException, OSError) as error:
                    raise self._unreadable(error) from None
                if batch is None:
                    return
                yield batch.column(0).to_numpy(zero_copy_only=False), batch.column(1).to_numpy(zero_copy_only=False)

    def _of_pool(self) -> tuple[int, bool]:
        for found in inspect(self.path).objects:
            if (parsed := parse_table_name(found.name)) is not None:
                self._table = found.name
                return check_k(parsed[0]), parsed[1]
        raise self._unreadable("the pool has no table whose name is kmers-K or kmers-K-canonical")

    def _batches_of_pool(self) -> Batches:
        with Pool.open(self.path, "r") as pool, pool.table(self._table, "cpu") as table:
            cursor: int | None = 0
            while cursor is not None:
                kmers, counts, cursor = table.export_batch(ROWS, cursor, dtype=np.uint64)
                if len(kmers):
                    yield kmers, counts.reshape(-1)

    def _of_text(self) -> tuple[int, bool]:
        with self.path.open("rb") as file:
            first = file.readline(256)
        k = first.find(b" ")
        with suppress(InvalidArgument):
            return check_k(k), False
        raise InputError(f'{self.path}, line 1: "ACGT 12" was expected, a k-mer and its count')

    def _batches_of_text(self) -> Batches:
        line, rest = 1, b""
        with self.path.open("rb") as file:
            while piece := file.read(_PIECE):
                text, newline, rest = (rest + piece).rpartition(b"\n")
                if newline:
                    kmers, counts = self._parse(np.frombuffer(text + newline, np.uint8), line)
                    line += len(kmers)
                    yield kmers, counts
                self._require(np.array([len(rest) <= self.k + 1 + _MOST_DIGITS]), line, "a k-mer and its count")
        if rest:
            raise InputError(f"{self.path}, line {line}: the line has no end: the file was cut off")

    def _parse(self, text: np.ndarray, line: int) -> tuple[np.ndarray, np.ndarray]:
        """Whole lines, of which the first is number `line`."""
        ends = np.flatnonzero(text == ord("\n"))
        begins = np.concatenate(([0], ends[:-1] + 1))
        digits = ends - begins - (self.k + 1)
        self._require((digits > 0) & (digits <= _MOST_DIGITS), line, "a k-mer and its count")
        codes = CODES[text[begins[:, None] + np.arange(self.k)]]
        self._require((codes < NO_BASE).all(1) & (text[begins + self.k] == ord(" ")), line, "a k-mer")
        counts = np.zeros(len(ends), np.uint64)
        for i in range(int(digits.max())):
            at = np.flatnonzero(digits > i)
            values = text[begins[at] + self.k + 1 + i] - np.uint8(ord("0"))
            good = np.ones(len(ends), bool)
            good[at] = values < 10
            self._require(good, line, "a count")
            counts[at] = counts[at] * np.uint64(10) + values
        return words_of(codes), counts

    def _require(self, good: np.ndarray, line: int, what: str) -> None:
        if not good.all():
            raise InputError(f'{self.path}, line {line + int(np.argmin(good))}: {what} was expected, as in "ACGT 12"')


def histogram(source: Any, high: int = 10_000) -> np.ndarray:
    """How many k-mers occur once, twice, …: `result[n]` of them n times, and the last entry, `high + 1`, more often. Of
    `Counts`, a `CountFile`, or the path of one."""
    if high < 1:
        raise InvalidArgument(f"high is {high}: give 1 or more")
    numbers = np.zeros(high + 2, np.uint64)
    for _, counts in source if hasattr(source, "k") else CountFile(source):
        numbers += np.bincount(np.minimum(counts, high + 1).astype(np.int64), minlength=high + 2).astype(np.uint64)
    return numbers


def find(path: str | os.PathLike[str], kmers: Any) -> np.ndarray:
    """The counts of k-mers, as text or as numbers, in a file; of canonical ones, of either strand. 0: not there."""
    file = CountFile(path)
    texts = [kmers] if isinstance(kmers, str) else kmers
    if len(texts) and isinstance(texts[0], str):
        for text in texts:
            if len(text) != file.k:
                raise InvalidArgument(f"{text!r} has {len(text)} letters, and the k-mers of {path} {file.k}")
        words = encode(texts)
    else:
        words = np.asarray(texts, np.uint64)
    return file.find(canonical_of(words, file.k) if file.canonical else words)
