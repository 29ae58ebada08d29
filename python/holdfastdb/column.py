"""A column of a table's values: some of their bytes, with the operations of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import InvalidArgument, InvalidType
from .messages import shown
from .operations import Operations

if TYPE_CHECKING:
    from .table import Table


class Column(Operations):
    """Bytes [start, stop) of every value of a table, made with `Table.column`.

    Its operations are those of the table, with rows of `stop - start` bytes. The other bytes of a value stay as they
    are, and are zero for a new key. A change is as durable and whole as one of all bytes. Changes of several columns of
    one value do not undo each other. `erase` removes the key, with all of its value.
    """

    def __init__(self, table: Table, start: Any, stop: Any, dtype: Any) -> None:
        for name, value in (("start", start), ("stop", stop)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise InvalidType(
                    f"{name} is {shown(value)}, of type {type(value).__name__}: give a whole number of bytes"
                )
        if table.any_length:
            raise InvalidArgument(f"values of any length, as {table.path} has them, have no columns: take whole ones")
        if not 0 <= start < stop <= table.value_bytes:
            raise InvalidArgument(
                f"the column is bytes {shown(start)} to {shown(stop)}, and {table.path} has values of "
                f"{table.value_bytes} bytes: give 0 <= start < stop <= {table.value_bytes}"
            )
        self._table, self._native = table, table._native
        self._shape = table._shape.column_of(start, stop)
        self._dtype = dtype
        self.start: int = start
        self.stop: int = stop

    @property
    def table(self) -> Table:
        """The table that it is a column of."""
        return self._table

    @property
    def path(self) -> str:
        """The table's pool."""
        return self._table.path

    @property
    def value_bytes(self) -> int:
        """Bytes of a row."""
        return self.stop - self.start

    def _note_keys(self, keys: Any) -> None:
        self._table._note_keys(keys)

    def __repr__(self) -> str:
        return f"<holdfastdb.Column of {self._table.path}: bytes {self.start} to {self.stop}>"
