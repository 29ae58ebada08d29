"""Writes k-mers with their counts into a file that has its name only when it is whole."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from .. import _native
from .._native import least_k, most_k
from ..checked import flag
from ..errors import InvalidArgument, InvalidType, NoSpace
from ..inspection import path_text
from ..pool import Pool
from ..status import Status
from ..transfer.files import Seen, replaceable, written_whole
from ..transfer.formats import pyarrow
from .codec import decode
from .counting import Counts
from .formats import format_of
from .pool_memory import PoolMemory

_TABLE = re.compile(r"kmers-(\d{1,9})(-canonical)?", re.ASCII)
_HEADER = re.compile(rb"# holdfast k-mers k=(\d{1,9}) canonical=(true|false)\n")


class KmerSource(Protocol):
    """What has k-mers and counts: `Counts`, or `CountFile`."""

    @property
    def k(self) -> int: ...
    @property
    def canonical(self) -> bool | None: ...

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]: ...


def table_name(k: int, is_canonical: bool) -> str:
    """Of the table in a pool: a pool says nothing else of its content."""
    return f"kmers-{k}{'-canonical' if is_canonical else ''}"


def parse_table_name(name: str) -> tuple[int, bool] | None:
    found = _TABLE.fullmatch(name)
    return (int(found[1]), found[2] is not None) if found else None


def header_of(k: int, is_canonical: bool) -> bytes:
    """The first line of a text, which says what its k-mers are."""
    return f"# holdfast k-mers k={k} canonical={'true' if is_canonical else 'false'}\n".encode()


def parse_header(line: bytes) -> tuple[int, bool] | None:
    found = _HEADER.fullmatch(line)
    return (int(found[1]), found[2] == b"true") if found and least_k <= int(found[1]) <= most_k else None


def text_of(kmers: np.ndarray, counts: np.ndarray, k: int) -> bytes:
    """Lines as `jellyfish dump -c` has them."""
    kmers, counts = np.ascontiguousarray(kmers, np.uint64), np.ascontiguousarray(counts, np.uint64)
    return _native.kmer_text(kmers.ctypes.data, counts.ctypes.data, len(kmers), k)


def write(source: KmerSource, path: str | os.PathLike[str], *, overwrite: bool = False) -> int:
    """Writes all k-mers of `source`, and returns how many.

    The name's end says how: `.parquet` (columns `kmer` and `count`, both uint64; k is in the metadata of the schema),
    `.hold` (a pool with a table from the number of a k-mer to its count, of 8 bytes each), `.txt` (lines "ACGT 12",
    behind one, "# holdfast k-mers k=4 canonical=true", that says what they are).

    Raises
    ------
    PoolExists (a pool is never replaced), InvalidArgument, MissingExtra, NoSpace, MediumError, SystemError
    """
    target = Path(path_text(path))
    if not (hasattr(source, "k") and hasattr(source, "canonical")):
        raise InvalidType(f"source is of type {type(source).__name__}: give what count returned, or a CountFile")
    if source.canonical is None:
        raise InvalidArgument(
            "the file that is read does not say whether its k-mers are canonical: open it as "
            "CountFile(path, canonical=True), or canonical=False"
        )
    replaced = check_target(target, flag("overwrite", overwrite))
    writer = {"parquet": _write_parquet, "pool": _write_pool, "text": _write_text}[format_of(target)]
    with written_whole(target, "count", replaced) as partial:
        return writer(source, partial, target)


def check_target(path: Path, overwrite: bool) -> Seen | None:
    """What `write` would replace. Raises what it would raise of the name alone, before hours are spent on counting."""
    if format_of(path) == "parquet":
        pyarrow("pyarrow", path)
    return replaceable(path, "a count", overwrite)


@contextmanager
def _opened(partial: Path) -> Iterator[Any]:
    """A new file, which is on its device at the end. It is buffered: one that is not may take a part of a write, and
    PyArrow does not ask how much."""
    with partial.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _write_text(source: KmerSource, partial: Path, _: Path) -> int:
    rows = 0
    with _opened(partial) as file:
        file.write(header_of(source.k, bool(source.canonical)))
        for kmers, counts in source:
            file.write(text_of(kmers, counts, source.k))
            rows += len(kmers)
    return rows


def _write_parquet(source: KmerSource, partial: Path, target: Path) -> int:
    pa, parquet = pyarrow("pyarrow", target), pyarrow("pyarrow.parquet", target)
    about = {"holdfast.k": str(source.k), "holdfast.canonical": str(int(bool(source.canonical)))}
    fields = [pa.field("kmer", pa.uint64(), False), pa.field("count", pa.uint64(), False)]
    schema = pa.schema(fields, metadata=about)
    rows = 0
    with _opened(partial) as file:
        # K-mers have no order, so they compress to nothing less; of counts few are different.
        out = parquet.ParquetWriter(file, schema, compression="NONE", use_dictionary=["count"], write_statistics=False)
        try:
            for kmers, counts in source:
                out.write_batch(pa.record_batch([pa.array(kmers), pa.array(counts)], schema=schema))
                rows += len(kmers)
            out.close()
        except BaseException:
            with suppress(Exception):
                out.close()
            raise
    return rows


def _write_pool(source: KmerSource, partial: Path, target: Path) -> int:
    rows = 0
    with Pool.create(partial) as pool:
        with pool.create_table(table_name(source.k, bool(source.canonical)), key=8, value=8, device="cpu") as table:
            memory = source.pool_memory if isinstance(source, Counts) else None
            slots = table.stats()["slots"]
            for kmers, counts in source:
                if memory is not None and not memory.fits(rows + len(kmers), slots):
                    _refuse_large(target, memory, slots, rows + len(kmers) + sum(len(more) for more, _ in source))
                statuses = table.insert(kmers, counts)
                if (statuses == Status.EXISTS).any():
                    twice = decode(kmers[statuses == Status.EXISTS][:1], source.k)[0]
                    raise InvalidArgument(f"{target} was not written: {twice} comes twice")
                if (statuses == Status.NO_SPACE).any():
                    raise NoSpace(f"{target} has no space for more than {rows:,} k-mers: free some on its disk")
                rows += len(kmers)
    return rows


def _refuse_large(target: Path, memory: PoolMemory, slots: int, rows: int) -> NoReturn:
    """Raises that the pool would take more memory than the count leaves to it. The caller has counted all k-mers, so
    that the error can say how much it needs."""
    least, whole = memory.least_mib(rows, slots), memory.whole >> 20
    raise InvalidArgument(
        f"{target} was not written: the count may take {whole:,} MiB of memory, and needs {least:,} with a pool of "
        f"{rows:,} k-mers: give {least}M, or write Parquet, which needs no more than the count"
    )
