"""The columns of a Parquet or Arrow IPC file against a table: which are taken, what the schema says that no row can
mend, and what the bytes of a value mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InvalidArgument
from .columns import ANY, SCORE, Columns, require_columns
from .layout import Layout, columns_of

_TAKEN = "give integers, floats, lists of them of one length, binary or text"


class ArrowSchema:
    """The schema of a file and the columns that are taken of it."""

    _pa: Any
    _path: Path
    _table: str
    _size: int
    """Bytes of a value, or ANY."""
    _key_bytes: int
    _columns: Columns | None
    """As they were asked for."""
    _schema: Any
    _key: str
    _values: list[str]

    def _choose(self, names: Sequence[str] | None) -> None:
        has = list(self._schema.names)
        if len(set(has)) != len(has):
            raise InvalidArgument(f"{self._path} has two columns of one name: rename one")
        if names is not None:
            require_columns(self._path, names, has)
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
        if self._problems_of_types():
            self._values = chosen
        return self._values is not chosen

    def _refusal(self, problems: list[str]) -> InvalidArgument:
        """One error that lists all problems: they are mended together, before anything is loaded."""
        if len(problems) == 1:
            return InvalidArgument(f"{self._path}{problems[0]}")
        listed = "; ".join(problem.removeprefix(":").strip() for problem in problems)
        return InvalidArgument(f"{self._path} has {len(problems)} problems, and nothing was loaded: {listed}")

    def _unfit(self, name: str, what: str) -> str:
        return f": column {name!r} is of type {self._schema.field(name).type}, {what}"

    def _problems_of_types(self) -> list[str]:
        """What the schema says that no row can mend: the widths of the columns must make a value."""
        types = self._pa.types
        if self._key_bytes == ANY:
            return self._problems_of_strings()
        problems: list[str] = []
        key = plain(types, self._schema.field(self._key).type)
        text = types.is_string(key) or types.is_large_string(key)
        if self._key_bytes != 8:
            binary = types.is_binary(key) or types.is_large_binary(key) or types.is_fixed_size_binary(key)
            if not (text or binary):
                what = f"and keys have {self._key_bytes} bytes: give binary of that size, or text in hexadecimal"
                problems.append(self._unfit(self._key, what))
        elif not (types.is_integer(key) or text):
            what = "and keys are whole numbers: give integers, or text in decimal or 0x…"
            problems.append(self._unfit(self._key, what))
        if self._is_cast():
            return problems
        total, known = 0, True
        for name in self._values:
            width = self._width(plain(types, self._schema.field(name).type), name)
            if width is None and not self._is_bytes(name):
                problems.append(self._unfit(name, f"which no value holds: {_TAKEN}"))
                known = False
            elif width is None and len(self._values) > 1:
                what = "of any length, and only a single column can be: name the columns to take"
                problems.append(self._unfit(name, what))
                known = False
            total += self._size if width is None else width
        padded = len(self._values) == 1 and self._is_bytes(self._values[0]) and total <= self._size
        if known and total != self._size and not padded:
            problems.append(
                f" has {total} bytes a row beside the key, and {self._table} has values of {self._size}: name the "
                "columns to take, or load it into another table"
            )
        return problems

    def _problems_of_strings(self) -> list[str]:
        """A key and a value of any length are a column each, of binary or of text."""
        problems = []
        if len(self._values) != 1:
            problems.append(
                f" has {len(self._values)} columns beside the key, and {self._table} has values of any length, which "
                "are one: name the columns to take"
            )
        for name in (self._key, *self._values):
            if not self._is_bytes(name):
                problems.append(self._unfit(name, f"and {self._table} has byte strings: give binary or text"))
        return problems

    def _layout(self) -> Layout:
        """The types of the key and of the columns, as they are in a value."""
        types, key = self._pa.types, plain(self._pa.types, self._schema.field(self._key).type)
        kept = None
        if self._key_bytes == ANY:
            kept = "string" if types.is_string(key) or types.is_large_string(key) else "bytes"
        elif types.is_integer(key):
            kept = str(key)
        kinds = [self._kind(number, name) for number, name in enumerate(self._values)]
        return Layout(kept, columns_of(self._values, kinds))

    def _kind(self, number: int, name: str) -> str:
        """The type of a column in a value, as a layout has it."""
        types, kind = self._pa.types, plain(self._pa.types, self._schema.field(name).type)
        if self._columns is not None and self._is_cast():
            return f"{self._columns.kinds[number]}*1"
        if types.is_fixed_size_binary(kind):
            return f"bytes*{kind.byte_width}"
        if self._is_bytes(name):
            as_hex = self._columns is not None and self._columns.kinds == ("hex",)
            text = types.is_string(kind) or types.is_large_string(kind)
            return "string" if text and not as_hex else "bytes"
        times = kind.list_size if types.is_fixed_size_list(kind) else 1
        number_type = kind.value_type if types.is_fixed_size_list(kind) else kind
        sign = {"halffloat": "float16", "float": "float32", "double": "float64"}
        return f"{sign.get(str(number_type), str(number_type))}*{times}"

    def _is_cast(self) -> bool:
        """Whether every column becomes a number of the type that was asked for."""
        if self._columns is None or not self._columns.numeric or len(self._columns.kinds) != len(self._values):
            return False
        kinds = [plain(self._pa.types, self._schema.field(name).type) for name in self._values]
        return all(self._is_number(kind) for kind in kinds)

    def _is_bytes(self, name: str) -> bool:
        types, kind = self._pa.types, plain(self._pa.types, self._schema.field(name).type)
        return any(test(kind) for test in (types.is_binary, types.is_large_binary, types.is_fixed_size_binary,
                                           types.is_string, types.is_large_string))  # fmt: skip

    def _is_number(self, kind: Any) -> bool:
        types = self._pa.types
        return bool(types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind))

    def _width(self, kind: Any, name: str) -> int | None:
        """Bytes of a column in a value; None for text and binary, which are padded, and for what no value holds."""
        types = self._pa.types
        if types.is_fixed_size_binary(kind):
            return int(kind.byte_width)
        if self._is_bytes(name):
            return None
        if types.is_fixed_size_list(kind) and self._is_number(kind.value_type):
            return int(kind.list_size * kind.value_type.bit_width // 8)
        return int(kind.bit_width // 8) if self._is_number(kind) else None


def plain(types: Any, kind: Any) -> Any:
    return kind.value_type if types.is_dictionary(kind) else kind
