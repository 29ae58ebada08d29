"""Parquet and Arrow IPC files, by PyArrow, in batches of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidArgument
from .columns import ANY, NUMBERS, SCORE, BadCell, Columns, columns_for, key_of, must_fit, value_of, wide_key_of
from .formats import pyarrow
from .rows import BadRow, Rows

_TAKEN = "give integers, floats, lists of them of one length, binary or text"


class ArrowSource:
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
            self._check_types()
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

    def _choose(self, names: Sequence[str] | None) -> None:
        has = list(self._schema.names)
        if len(set(has)) != len(has):
            raise InvalidArgument(f"{self._path} has two columns of one name: rename one")
        if names is not None:
            if missing := [name for name in names if name not in has]:
                raise InvalidArgument(f"{self._path} has no column {missing[0]!r}: it has {', '.join(has)}")
            self._key, self._values = names[0], list(names[1:])
            return
        if not has:
            raise InvalidArgument(f"{self._path} has no columns: give a file with a key")
        self._key = "key" if "key" in has else has[0]
        self._values = [name for name in has if name != self._key]

    def _fits_without_scores(self) -> bool:
        """Whether these are the columns of a dump with scores, whose others make a value. Then those are chosen."""
        chosen, types = self._values, self._pa.types
        if self._key != "key" or not chosen or chosen[-1] != SCORE:
            return False
        numbered = [f"v{i}" for i in range(len(chosen) - 1)]
        if not types.is_uint64(self._schema.field(SCORE).type) or chosen[:-1] not in ([], ["value"], numbered):
            return False
        self._values = chosen[:-1]
        try:
            self._check_types()
        except InvalidArgument:
            self._values = chosen
        return self._values is not chosen

    def _refuse(self, name: str, what: str) -> InvalidArgument:
        return InvalidArgument(f"{self._path}: column {name!r} is of type {self._schema.field(name).type}, {what}")

    def _check_types(self) -> None:
        """The widths of the columns must make a value; refuses types before a row is read."""
        types = self._pa.types
        if self._key_bytes == ANY:
            self._check_strings()
            return
        key = _plain(types, self._schema.field(self._key).type)
        text = types.is_string(key) or types.is_large_string(key)
        if self._key_bytes != 8:
            binary = types.is_binary(key) or types.is_large_binary(key) or types.is_fixed_size_binary(key)
            if not (text or binary):
                what = f"and keys have {self._key_bytes} bytes: give binary of that size, or text in hexadecimal"
                raise self._refuse(self._key, what)
        elif not (types.is_integer(key) or text):
            raise self._refuse(self._key, "and keys are whole numbers: give integers, or text in decimal or 0x…")
        if self._is_cast():
            return
        total = 0
        for name in self._values:
            width = self._width(_plain(types, self._schema.field(name).type), name)
            if width is None and len(self._values) > 1:
                raise self._refuse(name, "of any length, and only a single column can be: name the columns to take")
            total += self._size if width is None else width
        padded = len(self._values) == 1 and self._is_bytes(self._values[0]) and total <= self._size
        if total != self._size and not padded:
            raise InvalidArgument(
                f"{self._path} has {total} bytes a row beside the key, and {self._table} has values of {self._size}: "
                "name the columns to take, or load it into another table"
            )

    def _check_strings(self) -> None:
        """A key and a value of any length are a column each, of binary or of text."""
        if len(self._values) != 1:
            raise InvalidArgument(
                f"{self._path} has {len(self._values)} columns beside the key, and {self._table} has values of any "
                "length, which are one: name the columns to take"
            )
        for name in (self._key, *self._values):
            if not self._is_bytes(name):
                raise self._refuse(name, f"and {self._table} has byte strings: give binary or text")

    def _is_cast(self) -> bool:
        """Whether every column becomes a number of the type that was asked for."""
        if self._columns is None or not self._columns.numeric or len(self._columns.kinds) != len(self._values):
            return False
        kinds = [_plain(self._pa.types, self._schema.field(name).type) for name in self._values]
        return all(self._is_number(kind) for kind in kinds)

    def _is_bytes(self, name: str) -> bool:
        types, kind = self._pa.types, _plain(self._pa.types, self._schema.field(name).type)
        return any(test(kind) for test in (types.is_binary, types.is_large_binary, types.is_fixed_size_binary,
                                           types.is_string, types.is_large_string))  # fmt: skip

    def _is_number(self, kind: Any) -> bool:
        types = self._pa.types
        return bool(types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind))

    def _width(self, kind: Any, name: str) -> int | None:
        """Bytes of a column in a value; None for text and binary, which are padded."""
        types = self._pa.types
        if types.is_fixed_size_binary(kind):
            return int(kind.byte_width)
        if self._is_bytes(name):
            return None
        if types.is_fixed_size_list(kind) and self._is_number(kind.value_type):
            return int(kind.list_size * kind.value_type.bit_width // 8)
        if self._is_number(kind):
            return int(kind.bit_width // 8)
        raise self._refuse(name, f"which no value holds: {_TAKEN}")

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
        whole = (
            self._file
            if isinstance(self._file, list)
            else map(self._file.get_batch, range(self._file.num_record_batches))
        )
        for batch in whole:
            for start in range(0, batch.num_rows, rows):
                yield at + start, batch.slice(start, rows)
            at += batch.num_rows

    def batches(self, rows: int, skip_bad: bool) -> Iterator[Rows]:
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

    def _rows(self, batch: Any, first: int, skip_bad: bool) -> Rows:
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
        return Rows(keys[good], values[good], bad, place, self._row)

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
            raise self._refuse(name, f"and cannot be had as {kind}: {error}") from None

    def close(self) -> None:
        with suppress(Exception):
            self._close.close()


def _plain(types: Any, kind: Any) -> Any:
    return kind.value_type if types.is_dictionary(kind) else kind


def _fitting(data: bytes, size: int) -> bytes:
    if len(data) > size:
        raise BadCell(f"the value is {len(data)} bytes, and the table's values have {size}: give {size} or fewer")
    return data
