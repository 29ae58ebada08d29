"""Dumps a table or a store into a file, whole before it has its name; `load` reads a table's back bit by bit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from ..checked import flag, function_of
from ..errors import InvalidArgument, InvalidType, PoolExists
from ..inspection import path_text
from ..messages import shown
from ..schema.columns import ANY, SCORE, Columns, columns_for, lines_of
from ..schema.layout import INTEGERS, is_signed
from ..store import Store
from ..table import Table, require_table
from .dump_resume import PLACE, DumpResume, opened, tidy
from .files import errors_of, give_name, look, sync_folder
from .formats import format_of, pyarrow
from .rows import rows_at_once
from .store_rows import StoreRows

_SOME_LENGTH = 1024  # bytes of an item of any length, to choose how many are read at once


@dataclass(frozen=True)
class DumpReport:
    """What a dump did."""

    target: str
    rows: int
    """In the file."""
    bytes: int
    """Of the file."""
    resumed: bool
    """It continued where another one ended."""
    seconds: float


class _Writer(Protocol):
    """A file of one format under its temporary name."""

    def write(self, keys: np.ndarray, values: np.ndarray, scores: np.ndarray | None) -> None: ...
    def finish(self) -> None: ...
    def abandon(self) -> None: ...


class _CsvWriter:
    def __init__(self, file: BinaryIO, columns: Columns, key: str | None, scores: bool, begun: bool) -> None:
        self._file, self._columns, self._signed = file, columns, is_signed(key)
        if not begun:
            file.write(f"{','.join(['key', *columns.headings, *([SCORE] if scores else [])])}\n".encode())

    def write(self, keys: np.ndarray, values: np.ndarray, scores: np.ndarray | None) -> None:
        self._file.write(lines_of(self._columns, keys, values, scores, self._signed).encode("utf-8", "surrogateescape"))

    def finish(self) -> None: ...
    def abandon(self) -> None: ...


class _ArrowWriter:
    """Parquet or Arrow IPC: keys in their type, wider ones as binary of fixed size; values as binary, text, a number, a
    list of numbers, or several columns; scores as uint64."""

    def __init__(
        self, file: BinaryIO, path: Path, form: str, columns: Columns, key: str | None, key_bytes: int, scores: bool
    ) -> None:
        self._pa = pa = pyarrow("pyarrow", path)
        self._path, self._columns = path, columns
        self._any_length = columns.value_bytes == ANY
        self._fields = self._values_fields()
        self._key = self._key_type(key, key_bytes)
        behind = [pa.field(SCORE, pa.uint64(), False)] if scores else []
        self._schema = pa.schema([pa.field("key", self._key, False), *self._fields, *behind])
        if form == "parquet":
            self._out: Any = pyarrow("pyarrow.parquet", path).ParquetWriter(file, self._schema)
        else:
            self._out = pa.ipc.new_file(file, self._schema)

    def _key_type(self, key: str | None, key_bytes: int) -> Any:
        if self._any_length:
            return self._pa.string() if key == "string" else self._strings_type()
        return self._pa.type_for_alias(key or "uint64") if key_bytes == 8 else self._pa.binary(key_bytes)

    def _strings_type(self) -> Any:
        return self._pa.binary() if self._columns.kinds[0] == "hex" else self._pa.string()

    def _strings(self, parts: np.ndarray, what: str, kind: Any) -> Any:
        """A column of byte strings of any length."""
        if kind == self._pa.binary():
            return self._pa.array(parts.tolist(), kind)
        try:
            return self._pa.array([part.decode() for part in parts], kind)
        except UnicodeDecodeError:
            raise InvalidArgument(
                f"a {what} is not UTF-8, which a text column must be: dump it as hex, or as CSV"
            ) from None

    def _values_fields(self) -> list[Any]:
        pa, kinds = self._pa, self._columns.kinds
        if self._any_length:
            return [pa.field("value", self._strings_type(), False)]
        if not kinds:
            return []
        if kinds[0] == "hex":
            return [pa.field("value", pa.binary(self._columns.value_bytes), False)]
        if kinds[0] == "text":
            return [pa.field("value", pa.string(), False)]
        types = [pa.type_for_alias(kind) for kind in kinds]
        if len(types) == 1:
            return [pa.field("value", types[0], False)]
        if len(set(kinds)) == 1:
            return [pa.field("value", pa.list_(types[0], len(types)), False)]
        return [pa.field(f"v{i}", kind, False) for i, kind in enumerate(types)]

    def write(self, keys: np.ndarray, values: np.ndarray, scores: np.ndarray | None) -> None:
        if not len(keys):
            return
        if self._any_length:
            arrays = [self._strings(keys, "key", self._key), self._strings(values, "value", self._strings_type())]
        else:
            arrays = [self._keys(keys), *self._arrays(keys, np.ascontiguousarray(values))]
            arrays += [self._pa.array(scores)] if scores is not None else []
        self._out.write_batch(self._pa.record_batch(arrays, schema=self._schema))

    def _keys(self, keys: np.ndarray) -> Any:
        if keys.ndim == 1:
            kind = np.dtype(str(self._key))
            wide = keys.view(np.int64) if kind.kind == "i" else keys
            limits = np.iinfo(kind)
            if outside := wide[(wide < limits.min) | (wide > limits.max)].tolist():
                raise InvalidArgument(
                    f"the key {outside[0]} does not fit into {kind}, the type of the keys that were loaded: dump it "
                    f"with key={'int64' if kind.kind == 'i' else 'uint64'}"
                )
            return self._pa.array(wide.astype(kind))
        data = self._pa.py_buffer(keys.tobytes())
        return self._pa.FixedSizeBinaryArray.from_buffers(self._key, len(keys), [None, data])

    def _arrays(self, keys: np.ndarray, values: np.ndarray) -> list[Any]:
        pa, columns, n = self._pa, self._columns, len(keys)
        if not self._fields:
            return []
        if columns.kinds[0] == "hex":
            data = pa.py_buffer(values.tobytes())
            return [pa.FixedSizeBinaryArray.from_buffers(self._fields[0].type, n, [None, data])]
        if columns.kinds[0] == "text":
            return [pa.array(self._texts(keys, values), pa.string())]
        rows = values.view(columns.dtype).reshape(n)
        numbers = [np.ascontiguousarray(rows[name]) for name in columns.dtype.names or ()]
        if len(self._fields) == len(numbers):
            return [pa.array(column) for column in numbers]
        flat = pa.array(values.reshape(-1).view(numbers[0].dtype))
        return [pa.FixedSizeListArray.from_arrays(flat, len(numbers))]

    def _texts(self, keys: np.ndarray, values: np.ndarray) -> list[str]:
        texts = []
        for key, row in zip(keys if keys.ndim == 1 else (k.tobytes().hex() for k in keys), values, strict=True):
            try:
                texts.append(row.tobytes().rstrip(b"\0").decode())
            except UnicodeDecodeError:
                raise InvalidArgument(
                    f"the value of key {key} is not UTF-8, which a text column must be: dump it as hex, or as CSV"
                ) from None
        return texts

    def finish(self) -> None:
        self._out.close()

    def abandon(self) -> None:
        """Before the file is closed, to which PyArrow would write later."""
        with suppress(Exception):
            self._out.close()


class _Items:
    """A table's items in batches, from where a resume file ends; with their scores, or None."""

    def __init__(self, table: Table | StoreRows, batch: int, scores: bool, at: dict[str, Any] | None) -> None:
        self._table, self._batch, self._scores = table, batch, scores
        self.cursor: int | None = at["cursor"] if at else 0  # None: all are there
        self.rows: int = at["rows"] if at else 0
        self.total, self.key_bytes = len(table), table.key_bytes

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        while self.cursor is not None:
            marks = None
            if self._scores:
                assert isinstance(self._table, Table)
                keys, values, marks, self.cursor = self._table.export_batch(self._batch, self.cursor, scores=True)
            else:
                keys, values, self.cursor = self._table.export_batch(self._batch, self.cursor)
            assert values is not None
            self.rows += len(keys)
            yield keys, values, marks


def dump(
    table: Table | Store,
    target: str | os.PathLike[str],
    *,
    value: str | None = None,
    key: str | None = None,
    format: str | None = None,
    scores: bool = False,
    overwrite: bool = False,
    resume: bool = False,
    batch: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> DumpReport:
    """Writes every item of a table into a file that only its owner may read; `load` reads it back bit by bit. Of a
    store it writes keys and values, without flags, expiry and CAS ids, and no item that has expired.

    The file is written as `target` with .partial behind its name, and renamed when it is on its device; an error
    removes it. Items that change meanwhile may or may not be in it: for a consistent one, dump a snapshot.

    Parameters
    ----------
    target
        Of CSV; or, with PyArrow, of Parquet or Arrow IPC. Items are in no order.
    value
        How values are written: "hex" (the default; in Parquet and Arrow binary), "text" (UTF-8, without the zeroes that
        pad it), or number types that fill a value: "float32", "int64,float64*3".
    key
        The type of keys of 8 bytes, int8 to uint64. By default the one of `table.layout`: that of the files that were
        loaded, or int64 where keys were given as such; else uint64. A negative key is the same 8 bytes as key + 2**64.
    format
        "csv", "parquet" or "arrow"; by default as the name ends.
    scores
        Write the items' scores too, of a table that keeps them: a last column "score". `load` leaves it out: what it
        writes gets the score of that change.
    overwrite
        Replace an existing file, but no pool.
    resume
        Continue where a dump to the same CSV file was killed or interrupted, if the table is open with mode="r" and was
        not changed since; else begin. Other formats begin, unless only the end was missing: the file has its name.
    batch
        Rows at a time; by default as many as make 16 MiB, and 65,536 at most.
    progress
        Called after each batch with the items written and those there are.

    Raises
    ------
    PoolExists, PoolInUse (another dump writes the file), InvalidArgument, MissingExtra, NoSpace, MediumError, OSError
    """
    if not isinstance(table, Store):
        require_table(table, "dump")
    return _dump(
        StoreRows(table) if isinstance(table, Store) else table, target, value, key, format, scores, overwrite, resume,
        batch, progress,
    )  # fmt: skip


def _dump(
    table: Table | StoreRows,
    target: str | os.PathLike[str],
    value: str | None,
    key: str | None,
    format: str | None,
    scores: bool,
    overwrite: bool,
    resume: bool,
    batch: int | None,
    progress: Callable[[int, int], object] | None,
) -> DumpReport:
    path = Path(path_text(target))
    form = format_of(path, format)
    columns = columns_for(value, ANY if table.any_length else table.value_bytes, table.path)
    key = _key_of(table, key)
    scores, overwrite, resume = flag("scores", scores), flag("overwrite", overwrite), flag("resume", resume)
    progress = function_of(progress)
    if scores and table.score is None:
        raise InvalidArgument(f"{table.path} keeps no scores: dump it without them")
    if form != "csv":
        pyarrow("pyarrow", path)
    if path.exists() and Path(table._pool_path).exists() and path.samefile(table._pool_path):
        raise PoolExists(f"{path} is the pool that is to be dumped: name another file")
    replaced = look(path, "a dump")
    begun = time.perf_counter()
    going_on = DumpResume(path, table, {"format": form, "value": value, "key": key, "scores": scores})
    if resume and (done := going_on.ended()) is not None:
        tidy(going_on)
        return DumpReport(str(path), done["rows"], done["bytes"], True, time.perf_counter() - begun)
    if not overwrite and (replaced is not None or path.is_symlink()):
        raise PoolExists(f"{path} exists already: name another file, or overwrite it")
    at = going_on.place() if resume and form == "csv" else None
    items = _Items(table, rows_at_once(batch, table.key_bytes + table.value_bytes or _SOME_LENGTH), scores, at)
    with opened(going_on) as file:
        try:
            size = _write(
                file, items, columns, going_on, at, path=path, form=form, key=key, scores=scores, progress=progress
            )
            going_on.whole(file, items.rows, replaced)
            give_name(going_on.partial, path, replaced)
        except BaseException as error:
            if isinstance(error, Exception) or form != "csv" or not going_on.possible:  # an interrupted one continues
                going_on.partial.unlink(missing_ok=True)
                going_on.resume_file.remove()
                if not isinstance(error, Exception):
                    error.add_note(f"{path} was not written, and nothing is left of it: dump it again")
            else:
                error.add_note(
                    f"a part of {path} is kept as {going_on.partial}: dump it again with resume=True (--resume) to go "
                    "on behind it"
                )
            raise
        sync_folder(path)
        going_on.resume_file.remove()
    return DumpReport(str(path), items.rows, size, at is not None, time.perf_counter() - begun)


def _key_of(table: Table | StoreRows, key: str | None) -> str | None:
    """The type in which keys are written: as asked for, or as the table's layout says. Raises InvalidArgument."""
    if key is None:
        return table.layout.key
    if not isinstance(key, str):
        raise InvalidType(f"key is {shown(key)}, of type {type(key).__name__}: give a str, as 'int64'")
    if key not in INTEGERS:
        raise InvalidArgument(f"key is {shown(key)}: give {', '.join(INTEGERS)}")
    if table.any_length or table.key_bytes != 8:
        raise InvalidArgument(f"key is {shown(key)}, and keys of {table.path} are no numbers of 8 bytes: leave it out")
    return key


def _write(
    file: BinaryIO,
    items: _Items,
    columns: Columns,
    going_on: DumpResume,
    at: dict[str, Any] | None,
    *,
    path: Path,
    form: str,
    key: str | None,
    scores: bool,
    progress: Callable[[int, int], object] | None,
) -> int:
    """Writes the items, and puts them on their device; returns the bytes of the file. Errors are about `path`."""
    with errors_of(path):
        going_on.begin(at is None, file)
        os.ftruncate(file.fileno(), at["bytes"] if at else 0)
        file.seek(0, os.SEEK_END)
        writer: _Writer = (
            _CsvWriter(file, columns, key, scores, at is not None)
            if form == "csv"
            else _ArrowWriter(file, path, form, columns, key, items.key_bytes, scores)
        )
    try:
        for keys, values, marks in items:
            with errors_of(path):
                writer.write(keys, values, marks)
                if form == "csv" and items.cursor is not None:
                    file.flush()
                    going_on.save(file, items.cursor & PLACE, items.rows)
            if progress is not None:
                progress(items.rows, items.total)
        with errors_of(path):
            writer.finish()
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        writer.abandon()
        raise
    return file.tell()
