"""Parquet and Arrow IPC files, by PyArrow, in batches of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidArgument
from ..schema.arrow import ArrowSchema
from ..schema.columns import (
    ANY,
    NUMBERS,
    BadCell,
    Columns,
    any_negative,
    columns_for,
    key_of,
    must_fit,
    value_of,
    wide_key_of,
)
from .formats import pyarrow
from .rows import BadRow, SourceRows


class ArrowSource(ArrowSchema):
    """Rows of a Parquet or Arrow IPC file: a key, and the columns of its value."""

    def __init__(
        self,
        path: Path,
        form: str,
        value: str | None,
        names: Sequence[str] | None,
        value_bytes: int,
        table: str,
        key_bytes: int = 8,
        skip_bad: bool = False,
    ) -> None:
        self._pa = pyarrow("pyarrow", path)
        self._path, self._form, self._table, self._size = path, form, table, value_bytes
        self._key_bytes = key_bytes
        self._columns: Columns | None = columns_for(value, value_bytes, table) if value is not None else None
        self._close: Any = None
        try:
            self._open()
        except (self._pa.ArrowException, OSError, ValueError) as error:
            raise InvalidArgument(f"{path} cannot be read as {form}: {error}") from None
        try:
            self._choose(names)
            self.leaves_out_scores = names is None and self._fits_without_scores()
            problems = self._problems_of_types() + ([] if skip_bad else self._problems_of_nulls())
            if problems:
                raise self._refusal(problems)
            self.layout = self._layout()
        except BaseException:
            self.close()
            raise
        self._row = 0

    def _open(self) -> None:
        if self._form == "parquet":
            self._file: Any = pyarrow("pyarrow.parquet", self._path).ParquetFile(str(self._path))
            self._close = self._file
            self._schema = self._file.schema_arrow
            self.total = self._file.metadata.num_rows
            return
        memory = self._pa.memory_map(str(self._path))
        self._close = memory
        try:
            self._file = self._pa.ipc.open_file(memory)
        except self._pa.ArrowInvalid:  # a stream, without the index at the end
            memory.seek(0)
            self._file = list(self._pa.ipc.open_stream(memory))  # of mapped memory, so nothing is read yet
            memory.seek(0)
            self._schema = self._pa.ipc.open_stream(memory).schema
            self.total = sum(batch.num_rows for batch in self._file)
            return
        self._schema = self._file.schema
        self.total = sum(self._file.get_batch(i).num_rows for i in range(self._file.num_record_batches))

    def _problems_of_nulls(self) -> list[str]:
        """Of columns with nulls, as far as Parquet's statistics and Arrow's batches say so before they are read."""
        return [
            f": column {name!r} has {nulls:,} null{'s' if nulls != 1 else ''}, and a table holds none: leave such rows "
            "out (skip_bad, --skip-bad), or fill them"
            for name in (self._key, *self._values)
            if (nulls := self._nulls(name))
        ]

    def _nulls(self, name: str) -> int:
        """As far as they are known."""
        if self._form != "parquet":
            batches = self._file if isinstance(self._file, list) else map(self._file.get_batch, self._batch_numbers())
            return sum(batch.column(name).null_count for batch in batches)
        metadata, known = self._file.metadata, 0
        others = set(self._schema.names) - {name}
        paths = [metadata.schema.column(at).path for at in range(metadata.num_columns)]
        parts = [at for at, path in enumerate(paths) if _is_part(path, name) and path not in others]
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            for statistics in (group.column(at).statistics for at in parts):
                if statistics is not None and statistics.has_null_count:
                    known += int(statistics.null_count)
        return known

    def _batch_numbers(self) -> range:
        return range(self._file.num_record_batches)

    def go_on(self, place: dict[str, Any]) -> None:
        """Continues behind the rows that an earlier source of the same file gave."""
        if place["file"] != self._identity():
            raise InvalidArgument(
                f"{self._path} was changed since {place['row']:,} rows of it were loaded: load it from the start"
            )
        self._row = place["row"]

    def _identity(self) -> list[int]:
        status = self._path.stat()
        return [status.st_size, status.st_mtime_ns]

    def _record_batches(self, rows: int) -> Iterator[tuple[int, Any]]:
        """Record batches with the number of their first row; those wholly before the place are not read."""
        at = 0
        if self._form == "parquet":
            groups = self._file.metadata.num_row_groups
            first = 0
            while first < groups and at + self._file.metadata.row_group(first).num_rows <= self._row:
                at += self._file.metadata.row_group(first).num_rows
                first += 1
            names = [self._key, *self._values]
            for batch in self._file.iter_batches(batch_size=rows, row_groups=range(first, groups), columns=names):
                yield at, batch
                at += batch.num_rows
            return
        whole = self._file if isinstance(self._file, list) else map(self._file.get_batch, self._batch_numbers())
        for batch in whole:
            for start in range(0, batch.num_rows, rows):
                yield at + start, batch.slice(start, rows)
            at += batch.num_rows

    def batches(self, rows: int, skip_bad: bool) -> Iterator[SourceRows]:
        """The rest of the file."""
        found = self._record_batches(rows)
        while True:
            try:
                following = next(found, None)
            except (self._pa.ArrowException, OSError) as error:
                raise InvalidArgument(f"{self._path}, after row {self._row}: {error}") from None
            if following is None:
                return
            first, batch = following
            if first + batch.num_rows <= self._row:
                continue
            skipped = max(0, self._row - first)
            yield self._rows(batch.slice(skipped), first + skipped, skip_bad)

    def _rows(self, batch: Any, first: int, skip_bad: bool) -> SourceRows:
        n = batch.num_rows
        why: dict[int, str] = {}
        for name in [self._key, *self._values]:
            column = batch.column(name)
            if column.null_count:
                for i in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
                    why.setdefault(i, f"the column {name!r} is null")
        if self._key_bytes == ANY:
            keys = self._strings(batch.column(self._key), "key", why)
            values = self._strings(batch.column(self._values[0]), "value", why)
        else:
            keys = self._keys(batch.column(self._key), why)
            values = self._bytes(batch, n, why)
        good = np.ones(n, bool)
        good[list(why)] = False
        bad = [BadRow(f"row {first + i + 1}", why[i]) for i in sorted(why)]
        end = n
        if bad and not skip_bad:
            end = min(why)
            good[end:] = False
            bad = bad[:1]
        self._row = first + end
        place = {"row": self._row, "file": self._identity()}
        return SourceRows(
            keys[good], values[good], bad, place, self._row, self._any_negative(batch.column(self._key), good)
        )

    def _any_negative(self, column: Any, good: np.ndarray) -> bool:
        """Of keys that are text; integers have a type that says so."""
        column = self._decoded(column)
        if self._key_bytes != 8 or self._pa.types.is_integer(column.type):
            return False
        return any_negative([cell for cell, taken in zip(column.to_pylist(), good.tolist(), strict=True) if taken], 8)

    def _strings(self, column: Any, what: str, why: dict[int, str]) -> np.ndarray:
        """Byte strings of any length; text as its UTF-8."""
        made = np.empty(len(column), object)
        for i, cell in enumerate(self._decoded(column).to_pylist()):
            made[i] = cell.encode() if isinstance(cell, str) else cell if cell is not None else b""
            try:
                must_fit(made[i], what)
            except BadCell as error:
                why.setdefault(i, str(error))
        return made

    def _keys(self, column: Any, why: dict[int, str]) -> np.ndarray:
        column = self._decoded(column)
        if self._key_bytes != 8:
            return self._wide_keys(column, why)
        if self._pa.types.is_integer(column.type):
            # A negative key is the same 8 bytes as key + 2**64.
            numbers = self._filled(column, 0).to_numpy(zero_copy_only=False)
            wide = numbers.astype(np.int64) if numbers.dtype.kind == "i" else numbers
            return wide.astype(np.uint64)
        keys = np.zeros(len(column), np.uint64)
        for i, text in enumerate(column.to_pylist()):
            if i not in why:
                try:
                    keys[i] = key_of(text)
                except BadCell as error:
                    why[i] = str(error)
        return keys

    def _wide_keys(self, column: Any, why: dict[int, str]) -> np.ndarray:
        size = self._key_bytes
        keys = []
        for i, cell in enumerate(column.to_pylist()):
            key = b""
            if i not in why:
                try:
                    key = wide_key_of(cell, size) if isinstance(cell, str) else cell
                    if len(key) != size:
                        raise BadCell(f"the key is {len(key)} bytes, and the table's keys have {size}")
                except BadCell as error:
                    why[i] = str(error)
                    key = b""
            keys.append(key.ljust(size, b"\0"))
        return np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), size)

    def _bytes(self, batch: Any, n: int, why: dict[int, str]) -> np.ndarray:
        blocks = []
        for number, name in enumerate(self._values):
            column = self._decoded(batch.column(name))
            if self._is_bytes(name):
                blocks.append(self._padded(column, why))
                continue
            width = self._width(column.type, name) or 0
            if self._pa.types.is_fixed_size_list(column.type):
                column = self._filled_lists(column, why)
            elif self._columns is not None and self._is_cast():
                column = self._cast(column, name, self._columns.kinds[number])
                width = NUMBERS[self._columns.kinds[number]].itemsize
            numbers = np.ascontiguousarray(self._filled(column, 0).to_numpy(zero_copy_only=False))
            blocks.append(numbers.view(np.uint8).reshape(n, width))
        return np.hstack(blocks) if blocks else np.empty((n, 0), np.uint8)

    def _padded(self, column: Any, why: dict[int, str]) -> np.ndarray:
        """Text or binary, one value each, padded with zeroes."""
        if self._pa.types.is_fixed_size_binary(column.type) and not column.null_count:
            width, n = column.type.byte_width, len(column)
            found = np.frombuffer(column.buffers()[1], np.uint8, n * width, column.offset * width).reshape(n, width)
            return np.pad(found, ((0, 0), (0, self._size - width)))
        kind = "hex" if self._columns is not None and self._columns.kinds == ("hex",) else "text"
        rows = []
        for i, cell in enumerate(column.to_pylist()):
            data = b""
            if cell is not None and i not in why:
                try:
                    data = value_of(cell, kind, self._size) if isinstance(cell, str) else _fitting(cell, self._size)
                except BadCell as error:
                    why[i] = str(error)
            rows.append(data.ljust(self._size, b"\0"))
        return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), self._size)

    def _filled(self, column: Any, value: Any) -> Any:
        return column.fill_null(value) if column.null_count else column

    def _filled_lists(self, column: Any, why: dict[int, str]) -> Any:
        """The numbers of lists one after the other; a null inside a list makes its row bad."""
        size = column.type.list_size
        numbers = column.values.slice(column.offset * size, len(column) * size)
        if numbers.null_count:
            for i in np.flatnonzero(numbers.is_null().to_numpy(zero_copy_only=False)).tolist():
                why.setdefault(i // size, "a number of its list is null")
        return numbers

    def _decoded(self, column: Any) -> Any:
        return column.dictionary_decode() if self._pa.types.is_dictionary(column.type) else column

    def _cast(self, column: Any, name: str, kind: str) -> Any:
        try:
            return column.cast(self._pa.type_for_alias(kind))
        except self._pa.ArrowException as error:
            raise self._refusal([self._unfit(name, f"and cannot be had as {kind}: {error}")]) from None

    def close(self) -> None:
        with suppress(Exception):
            self._close.close()


def _fitting(data: bytes, size: int) -> bytes:
    if len(data) > size:
        raise BadCell(f"the value is {len(data)} bytes, and the table's values have {size}: give {size} or fewer")
    return data


def _is_part(path: str, name: str) -> bool:
    """Whether a column of a Parquet file, by its path, is the column of that name, or of the numbers in its lists."""
    return path == name or path.startswith(f"{name}.")
