"""CSV files in batches of rows, each with its line; a place in the file is given in bytes, and verified by a hash."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidArgument
from ..schema.columns import (
    ANY,
    BadCell,
    Columns,
    any_negative,
    columns_beside_scores,
    columns_for,
    is_key,
    is_of_dump,
    keys_of,
    require_columns,
    rest_as_text,
    spec_of_headings,
    strings_of,
    values_of,
)
from ..schema.layout import Layout, columns_of
from .rows import BadRow, SourceRows

_MOST_BYTES = 16 << 20  # of text in a batch
_FIELD_LIMIT = (256 << 20) + 1024  # characters in a cell: the largest value of a store, in hexadecimal
_HASHED = 1 << 20
_BOM = b"\xef\xbb\xbf"


def _sha256() -> Any:
    from hashlib import sha256  # takes as long to import as a tenth of this package

    return sha256()


@contextmanager
def _long_fields() -> Iterator[None]:
    """Lets csv.reader return cells that are too long for a table, so that a row ends where it ends in the file."""
    limit = csv.field_size_limit()
    csv.field_size_limit(max(limit, _FIELD_LIMIT))
    try:
        yield
    finally:
        csv.field_size_limit(limit)


class _Lines:
    """The lines of a file for csv.reader, which takes only those that its next row needs."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._again: deque[bytes] = deque()
        self._first = True
        self.taken: list[bytes] = []
        """Since the last `row_ends`: the lines of one row."""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else self._file.readline()
        if not line:
            raise StopIteration
        self.taken.append(line)
        marked, self._first = self._first and line.startswith(_BOM), False
        return (line.removeprefix(_BOM) if marked else line).decode("utf-8", "surrogateescape")

    def row_ends(self) -> list[bytes]:
        taken, self.taken = self.taken, []
        return taken

    def only_the_first(self) -> None:
        """In a malformed row of several lines, all but the first may be separate rows."""
        self._again.extendleft(reversed(self.taken[1:]))
        del self.taken[1:]

    def skip(self, size: int, into: Any) -> None:
        """Passes over so many bytes, and hashes them."""
        while size and (block := self._file.read(min(size, _HASHED))):
            into.update(block)
            size -= len(block)
            self._first = False

    def close(self) -> None:
        self._file.close()


class CsvSource:
    """Rows of a CSV file: a key, and the columns of its value."""

    def __init__(
        self,
        path: Path,
        value: str | None,
        names: Sequence[str] | None,
        value_bytes: int,
        table: str,
        key_bytes: int = 8,
        heading: bool | None = None,
    ) -> None:
        self.total = path.stat().st_size
        self._path, self._key_bytes = path, key_bytes
        self._lines = _Lines(path)
        self._hash = _sha256()
        self._bytes = 0  # hashed
        self._line = 0  # the last one of them
        head = self._heading()
        self._expected = len(head)
        if heading is None:  # names are asked for above columns that have some
            heading = is_of_dump(head, value_bytes) or (names is not None and not is_key(head[0] if head else "0"))
        headed = bool(head) and heading
        beside = columns_beside_scores(head, value, value_bytes, table) if headed and names is None else None
        self.leaves_out_scores = beside is not None
        if value is None and headed and not names and value_bytes:
            value = spec_of_headings(head[1:])
        self._columns: Columns = beside or columns_for(value, value_bytes, table)
        self._chosen = self._choose(head if headed else None, names)
        self.layout = self._layout(head if headed else None)
        if not headed:
            self._lines.close()
            self._lines = _Lines(path)
            self._hash, self._bytes, self._line = _sha256(), 0, 0

    def _heading(self) -> list[str]:
        """The first row that is not blank."""
        reader = csv.reader(self._lines, strict=True)
        try:
            with _long_fields():
                row = next((row for row in reader if any(row)), [])
        except csv.Error as error:
            raise InvalidArgument(f"{self._path}, line 1: {error}: is it a CSV file?") from None
        taken = b"".join(self._lines.row_ends())
        self._advance(taken, taken.count(b"\n"))
        return row

    def _advance(self, taken: bytes | memoryview, lines: int) -> None:
        self._hash.update(taken)
        self._bytes += len(taken)
        self._line += lines

    def _choose(self, head: list[str] | None, names: Sequence[str] | None) -> list[int]:
        """The places of the key and of the value's columns."""
        if names is None:
            chosen = list(range(self._expected or 1 + len(self._columns.kinds)))
            if self.leaves_out_scores:
                chosen.pop()
        else:
            if head is None:
                raise InvalidArgument(f"{self._path} has no heading, so its columns have no names: leave columns out")
            require_columns(self._path, names, head)
            chosen = [head.index(name) for name in names]
        given, wanted = len(chosen) - 1, len(self._columns.kinds)
        if given != wanted and not (self._columns.kinds == ("text",) and given > 1):
            raise InvalidArgument(
                f"{self._path} has {given} columns beside the key, and the values take {wanted} "
                f"({', '.join(self._columns.kinds[:3]) or 'a set'}{', …' if wanted > 3 else ''}): say with value what "
                "they are, or name the columns"
            )
        return chosen

    def _layout(self, head: list[str] | None) -> Layout:
        kinds, numeric = self._columns.kinds, self._columns.numeric
        named = numeric and head is not None
        names = [head[at].strip() for at in self._chosen[1:]] if named and head is not None else [None] * len(kinds)
        types = {"text": "string", "hex": "bytes"}
        return Layout(None, columns_of(names, [f"{kind}*1" if numeric else types[kind] for kind in kinds]))

    def go_on(self, place: dict[str, Any]) -> None:
        """Continues behind the rows that an earlier source of the same file gave."""
        self._lines.close()
        self._lines = _Lines(self._path)
        self._hash, self._bytes, self._line = _sha256(), place["bytes"], place["line"]
        self._lines.skip(self._bytes, self._hash)
        if self._hash.hexdigest() != place["sha256"]:
            raise InvalidArgument(
                f"{self._path} no longer begins with the {self._bytes:,} bytes that were loaded: load it from the start"
            )

    def _place(self) -> dict[str, Any]:
        return {"bytes": self._bytes, "line": self._line, "sha256": self._hash.hexdigest()}

    def batches(self, rows: int, skip_bad: bool) -> Iterator[SourceRows]:
        """The rest of the file."""
        while True:
            with _long_fields():
                batch = self._batch(rows, skip_bad)
            if batch is None:
                return
            if batch.bad and batch.bad[0].place == "line 1":
                first = batch.bad[0]
                batch.bad[0] = BadRow(first.place, f"{first.why} (is it a heading? Say so: heading=True, --heading)")
            yield batch
            if batch.bad and not skip_bad:
                return

    def _batch(self, most: int, skip_bad: bool) -> SourceRows | None:
        """The next rows; None at the end."""
        reader = csv.reader(self._lines, strict=True)
        cells: list[list[str]] = []
        lines: list[int] = []  # where each row begins
        starts: list[int] = []  # and at which byte of `raw`
        raw = bytearray()
        bad: list[BadRow] = []
        line = self._line + 1
        first_bad: tuple[int, int] | None = None  # byte of `raw`, and line
        while len(cells) < most and len(raw) < _MOST_BYTES:
            row: list[str] | None = None
            why = ""
            try:
                row = next(reader)
                why = self._ragged(row)
            except StopIteration:
                break
            except csv.Error as error:
                why = str(error)
                if "field limit" in why:  # it does not say where the row ends, and what is inside may look like rows
                    raise InvalidArgument(
                        f"{self._path}, line {line}: a field has more than {csv.field_size_limit():,} characters: "
                        "remove it, or close its quotation mark"
                    ) from None
                self._lines.only_the_first()
            taken = self._lines.row_ends()
            if why:
                bad.append(BadRow(f"line {line}", why))
                if not skip_bad:
                    first_bad = len(raw), line
                    break
            elif row:
                cells.append(row)
                lines.append(line)
                starts.append(len(raw))
            raw += b"".join(taken)
            line += len(taken)
        if not raw and not bad:
            return None
        (keys, values), good, worse = self._read(cells, lines, skip_bad)
        negative = any_negative([row[self._chosen[0]] for row in good], self._key_bytes)
        if worse and not skip_bad:
            at = lines.index(int(worse[0].place.removeprefix("line ")))
            first_bad, bad = (starts[at], lines[at]), worse
        elif worse:
            bad = sorted([*bad, *worse], key=lambda b: int(b.place.removeprefix("line ")))
        end, next_line = first_bad or (len(raw), line)
        self._advance(memoryview(raw)[:end], next_line - 1 - self._line)
        return SourceRows(keys, values, bad, self._place(), self._bytes, negative)

    def _ragged(self, row: list[str]) -> str:
        expected = self._expected or len(self._chosen)
        if not row or len(row) == expected:
            return ""
        return f"{len(row)} column{'s' if len(row) != 1 else ''}, and the first row has {expected}"

    def _read(
        self, cells: list[list[str]], lines: list[int], skip_bad: bool
    ) -> tuple[tuple[np.ndarray, np.ndarray], list[list[str]], list[BadRow]]:
        """Keys and values of the rows that can be read, and these rows; those before the first bad one, unless bad
        ones are skipped."""
        try:
            return self._convert(cells), cells, []
        except BadCell:
            pass  # reading the rows one by one finds which one it was
        bad: list[BadRow] = []
        good: list[list[str]] = []
        for row, line in zip(cells, lines, strict=True):
            try:
                self._convert([row])
                good.append(row)
            except BadCell as error:
                bad.append(BadRow(f"line {line}", str(error)))
                if not skip_bad:
                    break
        return self._convert(good), good, bad

    def _convert(self, cells: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
        picked = [[row[i] for row in cells] for i in self._chosen]
        if self._key_bytes == ANY:
            kind = self._columns.kinds[0]
            texts = picked[1] if len(picked) == 2 else [rest_as_text(row) for row in zip(*picked[1:], strict=True)]
            return strings_of(picked[0], kind, "key"), strings_of(texts, kind, "value")
        return keys_of(picked[0], self._key_bytes), values_of(self._columns, picked[1:], len(cells))

    def close(self) -> None:
        self._lines.close()
