"""Pairs that every machine has: each Unicode code point with its name and properties, 8 bytes to 128.

A record carries its own code point and a checksum, so that a torn or misplaced one is seen without the original.
"""

from __future__ import annotations

import math
import struct
import unicodedata
import zlib
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

RECORD_BYTES = 128
_MAGIC = b"HFU1"
# magic, code point, category, width, direction, combining class, mirrored, number, upper and lower case, name; checksum
_LAYOUT = struct.Struct("<4sI2s2s3sBB1xdII2x88s")
_CHECKSUM = struct.Struct("<I")
assert _LAYOUT.size + _CHECKSUM.size == RECORD_BYTES
_ABSENT = ("Cn", "Cs", "Co")  # unassigned, surrogates, private use


@dataclass(frozen=True)
class CodePoint:
    """A Unicode code point as its record has it."""

    code_point: int
    name: str
    category: str
    east_asian_width: str
    bidirectional: str
    combining: int
    mirrored: bool
    numeric: float | None
    upper: int
    """The code point's upper case, itself if it has none of one code point."""
    lower: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _single(text: str, otherwise: int) -> int:
    return ord(text) if len(text) == 1 else otherwise


def describe(code_point: int, cases: bool) -> CodePoint:
    """What Python's `unicodedata` says; without `cases`, upper and lower case are left as the code point itself."""
    character = chr(code_point)
    return CodePoint(
        code_point,
        unicodedata.name(character, ""),
        unicodedata.category(character),
        unicodedata.east_asian_width(character),
        unicodedata.bidirectional(character),
        unicodedata.combining(character),
        bool(unicodedata.mirrored(character)),
        unicodedata.numeric(character, None),
        _single(character.upper(), code_point) if cases else code_point,
        _single(character.lower(), code_point) if cases else code_point,
    )


def encode(point: CodePoint) -> bytes:
    """The record of 128 bytes."""
    body = _LAYOUT.pack(
        _MAGIC,
        point.code_point,
        point.category.encode(),
        point.east_asian_width.encode(),
        point.bidirectional.encode(),
        point.combining,
        point.mirrored,
        math.nan if point.numeric is None else point.numeric,
        point.upper,
        point.lower,
        point.name.encode(),
    )
    return body + _CHECKSUM.pack(zlib.crc32(body))


def decode(value: bytes) -> CodePoint | None:
    """The code point of a record, or None if `value` is none, or a damaged one."""
    if len(value) != RECORD_BYTES or not value.startswith(_MAGIC):
        return None
    body = value[: _LAYOUT.size]
    if zlib.crc32(body) != _CHECKSUM.unpack(value[_LAYOUT.size :])[0]:
        return None
    _, point, category, width, direction, combining, mirrored, number, upper, lower, name = _LAYOUT.unpack(body)

    def text(field: bytes) -> str:
        return field.rstrip(b"\0").decode()

    return CodePoint(
        point,
        text(name),
        text(category),
        text(width),
        text(direction),
        combining,
        bool(mirrored),
        None if math.isnan(number) else number,
        upper,
        lower,
    )


def pairs(cases: bool) -> tuple[np.ndarray, np.ndarray]:
    """Every assigned code point, 0 included: keys (n,) uint64 and records (n, 128) uint8."""
    points = [p for p in range(0x110000) if unicodedata.category(chr(p)) not in _ABSENT]
    records = b"".join(encode(describe(p, cases)) for p in points)
    return np.array(points, np.uint64), np.frombuffer(records, np.uint8).reshape(len(points), RECORD_BYTES)


def in_words(point: CodePoint) -> str:
    """A few lines for a person."""
    name = point.name or ("<control>" if point.category == "Cc" else "<no name>")
    character = chr(point.code_point)
    lines = [f"U+{point.code_point:04X}  {character if character.isprintable() else ' '}  {name}"]
    facts = [
        f"category {point.category}",
        f"width {point.east_asian_width}",
        f"direction {point.bidirectional}" if point.bidirectional else "",
        f"combining class {point.combining}" if point.combining else "",
        "mirrored" if point.mirrored else "",
        f"number {point.numeric:g}" if point.numeric is not None else "",
        f"upper case U+{point.upper:04X} {chr(point.upper)}" if point.upper != point.code_point else "",
        f"lower case U+{point.lower:04X} {chr(point.lower)}" if point.lower != point.code_point else "",
    ]
    return "\n".join([*lines, "        " + ", ".join(fact for fact in facts if fact)])
