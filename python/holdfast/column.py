"""A column of a table's values: some of their bytes, as a table of its own kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import batch
from .batch import Request
from .errors import InvalidArgument, InvalidType
from .status import Op

if TYPE_CHECKING:
    from .table import Table


class Column:
    """Bytes [start, stop) of every value of a table, made with `Table.column`.

    Its operations are those of the table, with rows of `stop - start` bytes. The other bytes of a value stay as they
    are, and are zero for a new key. A change is as durable and whole as one of all bytes. Changes of several columns of
    one value do not undo each other.
    """

    def __init__(self, table: Table, start: Any, stop: Any, dtype: Any) -> None:
        for name, value in (("start", start), ("stop", stop)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise InvalidType(f"{name} is {value!r}, of type {type(value).__name__}: give a whole number of bytes")
        if not 0 <= start < stop <= table.value_bytes:
            raise InvalidArgument(
                f"the column is bytes {start} to {stop}, and {table.path} has values of {table.value_bytes} bytes: "
                f"give 0 <= start < stop <= {table.value_bytes}"
            )
        self._table, self._native = table, table._native
        self._shape = table._shape.column_of(start, stop)
        self._dtype = dtype
        self.start: int = start
        self.stop: int = stop

    def find(self, keys: Any, *, dtype: Any = None, mask: Any = None, unique: bool = False, out: Any = None) -> Any:
        """Reads the column for each key: rows, and a mask of what was there, as `Table.find`."""
        rows, found = out if isinstance(out, tuple) else (out, None)
        got = self._run(Request(Op.FIND, keys, mask=mask, dtype=dtype, unique=unique, out_values=rows, out_found=found,
                                give_values=True, give_found=True))  # fmt: skip
        return got.values, got.found

    def assign(self, keys: Any, values: Any, *, mask: Any = None, unique: bool = False, out: Any = None) -> Any:
        """Replaces the column of each key that is there. Statuses: UPDATED, NOT_FOUND, NO_SPACE or NOT_RUN."""
        return self._run(Request(Op.ASSIGN, keys, values, mask=mask, unique=unique, out_statuses=out)).statuses

    def insert(self, keys: Any, values: Any, *, mask: Any = None, unique: bool = False, out: Any = None) -> Any:
        """Adds each key that is absent, with zeros around the column, as `Table.insert`."""
        return self._run(Request(Op.INSERT, keys, values, mask=mask, unique=unique, out_statuses=out)).statuses

    def insert_or_assign(
        self, keys: Any, values: Any, *, mask: Any = None, unique: bool = False, out: Any = None
    ) -> Any:
        """Replaces the column of each key, or adds the key with zeros around it, as `Table.insert_or_assign`."""
        request = Request(Op.INSERT_OR_ASSIGN, keys, values, mask=mask, unique=unique, out_statuses=out)
        return self._run(request).statuses

    def accumulate(
        self,
        keys: Any,
        values: Any,
        *,
        op: str = "add",
        scale: float = 1.0,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
    ) -> Any:
        """Combines each row with the column that is there, element by element, as `Table.accumulate`."""
        request = Request(Op.ACCUMULATE, keys, values, mask=mask, unique=unique, out_statuses=out, combine=op,
                          scale=float(scale))  # fmt: skip
        return self._run(request).statuses

    def find_or_insert(
        self, keys: Any, values: Any, *, dtype: Any = None, mask: Any = None, unique: bool = False, out: Any = None
    ) -> Any:
        """Reads the column for each key, or adds the key with the row given, as `Table.find_or_insert`."""
        rows, found = out if isinstance(out, tuple) else (out, None)
        got = self._run(Request(Op.FIND_OR_INSERT, keys, values, mask=mask, dtype=dtype, unique=unique, out_values=rows,
                                out_found=found, give_values=True, give_found=True))  # fmt: skip
        return got.values, got.found

    def _run(self, request: Request) -> batch.Results:
        if request.dtype is None and request.give_values:
            request.dtype = self._dtype
        return batch.run(self._native, request, self._shape)

    def __repr__(self) -> str:
        return f"<holdfast.Column of {self._table.path}: bytes {self.start} to {self.stop}>"
