"""What the bytes of a table's keys and values mean, as its loads said: kept in the table's description (docs/format.md,
"Description"), so that another layout is refused, and a dump writes keys in their type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

_NUMBER = "(?:u?int(?:8|16|32|64)|float(?:32|64))"
_TYPE = re.compile(rf"({_NUMBER})\*(\d{{1,5}})|bytes\*(\d{{1,5}})")
_MOST_BYTES = 3072
_SHOWN = 8
_GENERIC = re.compile(rf"value|text|v\d+|{_NUMBER}|[-+.\d]+")
INTEGERS = tuple(f"{sign}{bits}" for sign in ("int", "uint") for bits in (8, 16, 32, 64))
"""Types of keys of 8 bytes."""


@dataclass(frozen=True)
class Column:
    """Some bytes of every value."""

    name: str | None
    """None where the file had no names."""
    type: str
    """Numbers of one type, as "float64*1", "float32*16"; "string", padded with zeroes; "bytes*8", or "bytes" of any
    length, which may mean anything."""

    def __str__(self) -> str:
        shown = self.type.removesuffix("*1")
        return shown if self.name is None else f"{self.name} {shown}"


@dataclass(frozen=True)
class Layout:
    """The type of a table's keys, and the columns of its values in their order."""

    key: str | None = None
    """int8 to uint64; of keys of any length "string" or "bytes". None: unknown."""
    columns: tuple[Column, ...] | None = None
    """None: unknown."""
    digest: str | None = None
    """In place of names that are too long to be kept, or of columns that are too many: of the columns, as text."""

    def __str__(self) -> str:
        parts = [f"keys {self.key}"] if self.key is not None else []
        if self.columns is None and self.digest is not None:
            parts.append("columns that are too many to be kept by name")
        if self.columns is not None:
            shown = ", ".join(map(str, self.columns[:_SHOWN]))
            more = len(self.columns) - _SHOWN
            parts.append(f"columns {shown}" + (f" and {more} more" if more > 0 else ""))
        return "; ".join(parts) or "nothing known"

    def columns_differ(self, other: Layout, names: bool = True) -> bool:
        """Whether one's bytes cannot be the other's: numbers of other types or in other places, or other names."""
        if other.columns is not None and self.columns is None and self.digest is not None:
            return bool(_elements(other.columns)) and _digest(self) != _digest(other)
        if self.columns is None or other.columns is None:
            return False
        mine, theirs = _elements(self.columns), _elements(other.columns)
        if mine is not None and theirs is not None and _overlap_otherwise(mine, theirs):
            return True
        if ("string" in _types(self.columns) and bool(theirs)) or ("string" in _types(other.columns) and bool(mine)):
            return True
        return names and self._names_differ(other)

    def _names_differ(self, other: Layout) -> bool:
        assert self.columns is not None and other.columns is not None
        if self.digest is not None or other.digest is not None:
            both_named = _are_named(self.columns) or _are_named(other.columns)
            return both_named and _digest(self) != _digest(other)
        if len(self.columns) != len(other.columns) or not (_are_named(self.columns) and _are_named(other.columns)):
            return False
        return [one.name for one in self.columns] != [one.name for one in other.columns]

    def joined(self, other: Layout) -> Layout:
        """This one, with what `other`, which does not differ, knows more."""
        key = wider_key(self.key, other.key)
        if self.columns is None and self.digest is not None:
            return replace(self, key=key)
        if self.columns is None or (other.columns is not None and _knows_more(other.columns, self.columns)):
            return replace(other, key=key)
        return replace(self, key=key)

    def to_text(self) -> bytes:
        """As it is kept: at most 3072 bytes. Names that do not fit are kept as a digest."""
        columns = None if self.columns is None else [[one.name, one.type] for one in self.columns]
        made = _json({"key": self.key, "columns": columns, "digest": self.digest})
        if len(made) <= _MOST_BYTES:
            return made
        assert self.columns is not None
        bare = [[None, kind] for kind in _merged(self.columns)]
        made = _json({"key": self.key, "columns": bare, "digest": _digest(self)})
        return made if len(made) <= _MOST_BYTES else _json({"key": self.key, "columns": None, "digest": _digest(self)})


def layout_from(text: bytes) -> Layout:
    """The stored description; empty if another version wrote it, or none is stored."""
    try:
        found = json.loads(text)
        key, columns, digest = found["key"], found["columns"], found["digest"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return Layout()
    if key not in (None, *INTEGERS, "string", "bytes") or not (digest is None or isinstance(digest, str)):
        return Layout()
    if columns is None:
        return Layout(key, None, digest)
    made = [_column_from(one) for one in columns] if isinstance(columns, list) else [None]
    whole = tuple(one for one in made if one is not None)
    return Layout(key, whole, digest) if len(whole) == len(made) else Layout(key)


def wider_key(a: str | None, b: str | None) -> str | None:
    """A type of keys that holds those of both, which do not conflict."""
    if a is None or b is None or a not in INTEGERS or b not in INTEGERS:
        return b if a is None else a
    bits, other = _bits(a), _bits(b)
    if is_signed(a) and not is_signed(b):
        other = min(64, 2 * other)
    return f"{'int' if is_signed(a) else 'uint'}{max(bits, other)}"


def keys_conflict(a: str | None, b: str | None) -> bool:
    """Whether keys of type `b` may lie outside every type of `a`'s sign."""
    if a not in INTEGERS or b not in INTEGERS:
        return False
    return b == "uint64" if is_signed(a) else is_signed(b)


def is_signed(key: str | None) -> bool:
    """Whether keys of 8 bytes are meant as numbers that may be negative."""
    return key is not None and key.startswith("int")


def _bits(kind: str) -> int:
    return int(kind.lstrip("uintfloa"))


def columns_of(names: Sequence[str | None], types: Sequence[str]) -> tuple[Column, ...]:
    """The columns of a value; numbers of one type that follow each other without names are one."""
    made = tuple(Column(name, kind) for name, kind in zip(names, types, strict=True))
    return made if _are_named(made) else tuple(Column(None, kind) for kind in _merged(made))


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def _column_from(found: Any) -> Column | None:
    if not isinstance(found, list) or len(found) != 2 or not isinstance(found[1], str):
        return None
    name, kind = found
    known = kind in ("string", "bytes") or _TYPE.fullmatch(kind) is not None
    return Column(name, kind) if known and (name is None or isinstance(name, str)) else None


def _types(columns: tuple[Column, ...]) -> list[str]:
    return [one.type for one in columns]


def _are_named(columns: tuple[Column, ...]) -> bool:
    """Whether a user named them: `dump` and PyArrow generate names."""
    return all(one.name is not None and not _GENERIC.fullmatch(one.name) for one in columns) and bool(columns)


def _elements(columns: tuple[Column, ...]) -> list[tuple[int, int, str]] | None:
    """Runs of numbers, as (first byte, byte behind, type); what may mean anything is in none. None: of any length."""
    runs: list[tuple[int, int, str]] = []
    at = 0
    for one in columns:
        found = _TYPE.fullmatch(one.type)
        if found is None:
            return [] if len(columns) == 1 else None
        if found[3] is not None:
            at += int(found[3])
            continue
        end = at + int(found[2]) * _bits(found[1]) // 8
        if runs and runs[-1][1:] == (at, found[1]):
            at = runs.pop()[0]
        runs.append((at, end, found[1]))
        at = end
    return runs


def _overlap_otherwise(a: list[tuple[int, int, str]], b: list[tuple[int, int, str]]) -> bool:
    """Whether a byte is of other numbers in one than in the other."""
    for first, end, kind in a:
        size = _bits(kind) // 8
        for other_first, other_end, other in b:
            if first < other_end and other_first < end and (kind != other or (first - other_first) % size):
                return True
    return False


def _merged(columns: tuple[Column, ...]) -> list[str]:
    """The types, those that follow each other as one."""
    made: list[str] = []
    for kind in _types(columns):
        name, star, times = kind.partition("*")
        if star and made and made[-1].partition("*")[0] == name:
            made[-1] = f"{name}*{int(made[-1].partition('*')[2]) + int(times)}"
        else:
            made.append(kind)
    return made


def _knows_more(columns: tuple[Column, ...], than: tuple[Column, ...]) -> bool:
    def known(of: tuple[Column, ...]) -> tuple[int, bool]:
        return sum(end - first for first, end, _ in _elements(of) or []) + ("string" in _types(of)), _are_named(of)

    return known(columns) > known(than)


def _digest(layout: Layout) -> str:
    if layout.digest is not None:
        return layout.digest
    text = _json({"columns": [[one.name, one.type] for one in layout.columns or ()]})
    import hashlib  # which few tables need

    return hashlib.sha256(text).hexdigest()
