"""Reads files of k-mers with their counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..checked import whole
from ..errors import InputError, InvalidArgument, InvalidType
from ..inspection import inspect, path_text
from ..memory_table import MemoryTable
from ..messages import shown
from ..pool import Pool
from ..status import Status
from ..transfer.formats import pyarrow
from .codec import CODES, NO_BASE, check_k, decode, encode, most_of, numbers_of, texts_of, words_of
from .codec import canonical as canonical_of
from .counting import ROWS, Counts
from .formats import format_of
from .outputs import header_of, parse_header, parse_table_name

_PIECE = 1 << 21  # bytes of text
_KMERS_OF_SET = 1 << 26  # that one set holds, in about 1 GiB of memory
_MOST_DIGITS = 20
_MOST_COUNT = np.uint64((1 << 64) - 1)
_MOST_HIGH = 1 << 27  # counts of a histogram, 8 bytes each
Batches = Iterator[tuple[np.ndarray, np.ndarray]]
Numbered = Iterator[tuple[int, np.ndarray, np.ndarray]]


class CountFile:
    """A file that `write` wrote: Parquet, a pool, or text; or text that another program wrote, lines "ACGT 12".

    Parameters
    ----------
    canonical
        Whether a k-mer stands for its reverse complement too. A file that `write` wrote says so itself; text of another
        program does not, and is not searched until this is given.

    Raises
    ------
    InputError, InvalidArgument, InvalidType, MissingExtra
    """

    def __init__(self, path: str | os.PathLike[str], *, canonical: bool | None = None) -> None:
        if not (canonical is None or isinstance(canonical, bool | np.bool_)):
            raise InvalidType(
                f"canonical is {shown(canonical)}, of type {type(canonical).__name__}: give True or False"
            )
        self.path = Path(path_text(path))
        self.format = format_of(self.path)
        if not self.path.is_file():
            why = "it is no file" if self.path.exists() else "there is no such file"
            raise InputError(f"{self.path} cannot be opened: {why}; check its name")
        self._table, self._first_line = "", 1
        self.k, found = {"parquet": self._of_parquet, "pool": self._of_pool, "text": self._of_text}[self.format]()
        if None not in (canonical, found) and canonical != found:
            says = "are canonical" if found else "are not canonical"
            raise InvalidArgument(
                f"canonical is {canonical}, and {self.path} says that its k-mers {says}: leave it out"
            )
        self.canonical = bool(canonical) if found is None and canonical is not None else found

    def __iter__(self) -> Batches:
        """Arrays of k-mers, as numbers, and of their counts. Raises InputError at the first that is malformed."""
        if self.format == "parquet":
            with self._parquet() as file:
                rows = file.metadata.num_rows
            return self._distinct(self._rows_of_parquet, rows)
        if self.format == "pool":
            return self._batches_of_pool()
        return self._distinct(self._lines, self.path.stat().st_size // (self.k + 3))

    def find(self, kmers: Any) -> np.ndarray:
        """The count of each k-mer, given as a number; of canonical ones, of either strand. 0 where there is none. In a
        pool by its index, else by a scan. Raises InputError, InvalidArgument, InvalidType."""
        kmers = numbers_of("kmers", kmers, self.k)
        if self.canonical is None:
            raise InvalidArgument(
                f"{self.path} does not say whether its k-mers are canonical: give canonical=True or canonical=False "
                "(--canonical or --no-canonical)"
            )
        if self.canonical:
            kmers = canonical_of(kmers, self.k)
        if self.format == "pool":
            with Pool.open(self.path, "r") as pool, pool.table(self._table, "cpu") as table:
                counts, found = table.find(kmers, dtype=np.uint64)
                return np.where(found, counts.reshape(-1), 0).astype(np.uint64)
        wanted, inverse = np.unique(kmers, return_inverse=True)
        counts, met = np.zeros(len(wanted), np.uint64), np.zeros(len(wanted), np.int64)
        batches: Iterable[tuple[np.ndarray, np.ndarray]] = self
        if self.format == "parquet":  # repeats of `wanted` are found without a set
            batches = ((there, numbers) for _, there, numbers in self._rows_of_parquet())
        for there, numbers in batches if len(wanted) else ():
            at = np.minimum(np.searchsorted(wanted, there), len(wanted) - 1)
            hits = wanted[at] == there
            counts[at[hits]] = numbers[hits]
            met += np.bincount(at[hits], minlength=len(wanted))
        if (met > 1).any():
            raise self._unreadable(f"{decode(wanted[met > 1][:1], self.k)[0]} is there twice")
        return counts[inverse]

    def _unreadable(self, why: object) -> InputError:
        return InputError(f"{self.path} is no file of k-mers with counts: {why}")

    def _parquet(self) -> Any:
        pa, parquet = pyarrow("pyarrow", self.path), pyarrow("pyarrow.parquet", self.path)
        try:
            return parquet.ParquetFile(self.path)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from None

    def _of_parquet(self) -> tuple[int, bool | None]:
        with self._parquet() as file:
            schema = file.schema_arrow
        about, columns = schema.metadata or {}, [(field.name, str(field.type)) for field in schema][:2]
        if b"holdfast.k" not in about or columns != [("kmer", "uint64"), ("count", "uint64")]:
            raise self._unreadable("its columns are not kmer and count, of uint64, with holdfast.k in the metadata")
        is_canonical = {b"0": False, b"1": True}.get(about.get(b"holdfast.canonical", b""))
        if is_canonical is None:
            raise self._unreadable("holdfast.canonical, in the metadata, is not 0 or 1")
        try:
            return check_k(int(about[b"holdfast.k"])), is_canonical
        except ValueError as error:
            raise self._unreadable(error) from None

    def _rows_of_parquet(self) -> Numbered:
        """K-mers and counts, with the number of the first's row."""
        row = 0
        with self._parquet() as file:
            batches = file.iter_batches(ROWS, columns=["kmer", "count"])
            while True:
                try:
                    batch = next(batches, None)
                except (pyarrow("pyarrow", self.path).ArrowException, OSError) as error:
                    raise self._unreadable(error) from None
                if batch is None:
                    return
                if batch.column(0).null_count or batch.column(1).null_count:
                    raise self._unreadable("a k-mer or a count is null")
                kmers, counts = (batch.column(i).to_numpy(zero_copy_only=False) for i in (0, 1))
                self._check_numbers(kmers, counts)
                yield row, kmers, counts
                row += len(kmers)

    def _check_numbers(self, kmers: np.ndarray, counts: np.ndarray) -> None:
        if (kmers > np.uint64(most_of(self.k))).any():
            raise self._unreadable(f"a number is none of {self.k} bases")
        if (counts == 0).any():
            raise self._unreadable("a count is 0")
        if self.canonical and (odd := canonical_of(kmers, self.k) != kmers).any():
            raise self._unreadable(f"{decode(kmers[odd][:1], self.k)[0]} is not canonical, as all are said to be")

    def _of_pool(self) -> tuple[int, bool | None]:
        found = [
            (name, parsed)
            for name in (made.name for made in inspect(self.path).objects)
            if (parsed := parse_table_name(name))
        ]
        if not found:
            raise self._unreadable("the pool has no table whose name is kmers-K or kmers-K-canonical")
        if len(found) > 1:
            raise self._unreadable(f"the pool has several: {', '.join(name for name, _ in found)}; drop all but one")
        self._table, (k, is_canonical) = found[0]
        try:
            check_k(k)
        except InvalidArgument as error:
            raise self._unreadable(f"its table is {self._table}, and {error}") from None
        with Pool.open(self.path, "r") as pool, pool.table(self._table, "cpu") as table:
            if (table.key_bytes, table.value_bytes) != (8, 8):
                raise self._unreadable(f"keys and values of {self._table} have not 8 bytes each")
        return k, is_canonical

    def _batches_of_pool(self) -> Batches:
        with Pool.open(self.path, "r") as pool, pool.table(self._table, "cpu") as table:
            cursor: int | None = 0
            while cursor is not None:
                kmers, counts, cursor = table.export_batch(ROWS, cursor, dtype=np.uint64)
                if len(kmers):
                    self._check_numbers(kmers, counts.reshape(-1))
                    yield kmers, counts.reshape(-1)

    def _opened(self) -> Any:
        try:
            return self.path.open("rb")
        except OSError as error:
            raise InputError(f"{self.path} cannot be opened: {error.strerror}; check its permissions") from None

    def _of_text(self) -> tuple[int, bool | None]:
        """From the header; without one, k is that of the first line."""
        with self._opened() as file:
            first = file.readline(256)
        if first.startswith(b"#"):
            if (parsed := parse_header(first)) is None:
                like = header_of(21, True).decode().strip()
                raise InputError(f'{self.path}, line 1: a header was expected, as in "{like}"')
            self._first_line = 2
            return parsed
        k = max(first.find(b" "), first.find(b"\t"))
        with suppress(InvalidArgument):
            return check_k(k), None
        raise InputError(f'{self.path}, line 1: "ACGT 12" was expected, a k-mer and its count')

    def _distinct(self, numbered: Callable[[], Numbered], rows: int) -> Batches:
        """The batches of `numbered`, which has at most `rows` k-mers. Raises InputError at a k-mer that comes twice. It
        keeps a set of k-mers for that: of many, a part, and calls `numbered` again for each further part."""
        rows = min(rows, 4**self.k)
        parts = 1 + rows // _KMERS_OF_SET
        most = rows // parts
        for part in range(parts):
            seen = MemoryTable(8, 0, most + most // 8, threads=1)
            for first, kmers, counts in numbered():
                mine = kmers % np.uint64(parts) == np.uint64(part)
                statuses = seen.insert(kmers, np.empty((len(kmers), 0), np.uint8), mask=mine)
                self._refuse_repeats(first, kmers, statuses == Status.EXISTS)
                if part == 0:
                    yield kmers, counts

    def _refuse_repeats(self, first: int, kmers: np.ndarray, repeated: np.ndarray) -> None:
        if self.format == "text":
            self._require(~repeated, first, "a k-mer that no line before has")
        elif repeated.any():
            i = int(np.argmax(repeated))
            raise self._unreadable(f"{decode(kmers[i : i + 1], self.k)[0]} is there twice, again in row {first + i:,}")

    def _lines(self) -> Numbered:
        """K-mers and counts, with the number of the first's line."""
        line, rest = self._first_line, b""
        with self._opened() as file:
            for _ in range(1, line):
                file.readline()
            while piece := file.read(_PIECE):
                text, newline, rest = (rest + piece).rpartition(b"\n")
                if newline:
                    kmers, counts = self._parse(np.frombuffer(text + newline, np.uint8), line)
                    yield line, kmers, counts
                    line += len(kmers)
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
        between = text[begins + self.k]
        self._require((codes < NO_BASE).all(1) & ((between == ord(" ")) | (between == ord("\t"))), line, "a k-mer")
        kmers, counts = words_of(codes), np.zeros(len(ends), np.uint64)
        for i in range(int(digits.max())):
            at = np.flatnonzero(digits > i)
            values = text[begins[at] + self.k + 1 + i] - np.uint8(ord("0"))
            good = np.ones(len(ends), bool)
            good[at] = (values < 10) & (counts[at] <= (_MOST_COUNT - values) // 10)
            self._require(good, line, f"a count up to {_MOST_COUNT}")
            counts[at] = counts[at] * np.uint64(10) + values
        self._require(counts > 0, line, "a count of 1 or more")
        if self.canonical:
            self._require(canonical_of(kmers, self.k) == kmers, line, "a canonical k-mer (the header says so)")
        return kmers, counts

    def _require(self, good: np.ndarray, line: int, what: str) -> None:
        if not good.all():
            raise InputError(f'{self.path}, line {line + int(np.argmin(good))}: {what} was expected, as in "ACGT 12"')


def histogram(source: Any, high: int = 10_000) -> np.ndarray:
    """How many k-mers occur once, twice, …: `result[n]` of them n times, and the last entry, `high + 1`, more often. Of
    `Counts`, a `CountFile`, or the path of one. Raises InvalidArgument, InvalidType, InputError."""
    high = whole("high", high, 1, _MOST_HIGH)
    numbers = np.zeros(high + 2, np.uint64)
    for _, counts in source if isinstance(source, Counts | CountFile) else CountFile(source):
        numbers += np.bincount(np.minimum(counts, high + 1).astype(np.int64), minlength=high + 2).astype(np.uint64)
    return numbers


def find(path: str | os.PathLike[str], kmers: Any, *, canonical: bool | None = None) -> np.ndarray:
    """The counts of k-mers, as text or as numbers, in a file; of canonical ones, of either strand. 0: not there.
    `canonical` is as for `CountFile`. Raises InputError, InvalidArgument, InvalidType."""
    file = CountFile(path, canonical=canonical)
    texts = texts_of("kmers", kmers)
    if texts is None:
        return file.find(kmers)
    for text in texts:
        if len(text) != file.k:
            raise InvalidArgument(f"{shown(text)} has {len(text)} letters, and the k-mers of {path} {file.k}")
    return file.find(encode(texts))
