"""What a program is made of: batches, other calls of a table, and calls that are refused."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from typing import Any

STATUSES = ("inserted", "exists", "updated", "erased", "found", "not_found", "no_space", "not_run")
"""A status is written as its place in this tuple, whatever number the package gives it."""

CHANGES = ("insert", "insert_or_assign", "assign", "erase", "find_or_insert", "insert_and_find", "accumulate")
READS = ("find", "contains")
TAKES_VALUE = tuple(op for op in CHANGES if op != "erase")
READS_VALUE = ("find", "find_or_insert", "insert_and_find")

Answer = dict[str, Any]
"""Parts by name: `statuses` and `found` a byte a row, `values` bytes or None a row, `items` sorted, numbers, texts."""


@dataclass(frozen=True)
class Batch:
    """One call over keys. A key is its bytes, whatever its size; so is a value."""

    op: str
    """One of CHANGES or READS, `scores`, or `apply` with an operation a row in `ops`."""
    keys: list[bytes]
    values: list[bytes] | None = None
    ops: list[str] | None = None
    mask: bytes | None = None
    """A byte a row, 0 or 1."""
    element: str | None = None
    """Type of the elements, where they are combined or made by `init`."""
    combine: str = "add"
    scale: float = 1.0
    init: float | None = None
    column: tuple[int, int] | None = None
    unique: bool = False
    missing: bool = False
    form: str = "rows"
    """How the keys are given: see shim.keys_as."""

    @property
    def title(self) -> str:
        """In words, for the file and for messages."""
        words = [self.op, *([self.combine] if self.op == "accumulate" else []), f"{len(self.keys)} rows"]
        words += [f"column {self.column[0]}:{self.column[1]}"] if self.column else []
        words += [self.element] if self.element else []
        words += [name for name in ("mask", "unique", "missing", "init") if getattr(self, name) not in (None, False)]
        return ", ".join([*words, f"keys as {self.form}"])


@dataclass(frozen=True)
class Act:
    """One other call: see oracle.py for what there is and what it must answer."""

    name: str
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """In words."""
        short = {k: v for k, v in self.given.items() if not isinstance(v, list)}
        return ", ".join([self.name, *(f"{name}={value!r}" for name, value in short.items())])


@dataclass(frozen=True)
class Wrong:
    """A call that is refused."""

    name: str
    call: str
    """A method of shim.Table or a function of shim.PACKAGE."""
    args: tuple[Any, ...]
    options: dict[str, Any]
    error: str
    """Name of the class."""
    says: str
    """A pattern that is found in the message."""

    @property
    def title(self) -> str:
        """In words."""
        return f"refused: {self.name}"


Step = Batch | Act | Wrong


def encoded(part: Any) -> bytes:
    """The same bytes for the same answer, everywhere."""
    if isinstance(part, bytes):
        return b"b%d:" % len(part) + part
    if isinstance(part, list | tuple):
        return b"[" + b"".join(map(encoded, part)) + b"]"
    if isinstance(part, dict):
        return b"{" + b"".join(encoded(name) + encoded(part[name]) for name in sorted(part)) + b"}"
    if part is None or isinstance(part, bool | int | float | str):
        return repr(part).encode() + b";"
    raise TypeError(f"an answer holds {type(part).__name__}: the shim gives plain values")


def digest(part: Any) -> str:
    """16 hexadecimal digits of an answer."""
    return hashlib.sha256(encoded(part)).hexdigest()[:16]


def input_digest(step: Step) -> str:
    """8 hexadecimal digits of what a step gives; a refused call is known by its title."""
    if isinstance(step, Wrong):
        return hashlib.sha256(step.title.encode()).hexdigest()[:8]
    given = {one.name: getattr(step, one.name) for one in fields(step)}
    return digest(given)[:8]
