"""How a value of so many bytes stands in columns: as hexadecimal, as text, or as numbers; and back, bit by bit."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..checked import key_word, text_of
from ..errors import InvalidArgument
from ..messages import shown

NUMBERS = {
    name: np.dtype(name)
    for name in (
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
    )
}  # fmt: skip
HOW = "give hex, text, or types that fill a value, as float32 or int64,float64*3"
ANY = (1 << 32) - 1
"""In place of the bytes of a key or a value: any length."""
SCORE = "score"
"""The last column of a dump with scores."""
_TIMES = re.compile(r"[0-9]{1,9}")
_ODD_NAN = re.compile(r"nan\((0x[0-9a-fA-F]+)\)")


class BadCell(ValueError):
    """A cell that is not what its column wants; the message says why, without where."""


@dataclass(frozen=True)
class Columns:
    """The columns of a value: ("hex",), ("text",), number types, or none in a set."""

    kinds: tuple[str, ...]
    value_bytes: int

    @property
    def numeric(self) -> bool:
        return bool(self.kinds) and self.kinds[0] in NUMBERS

    @property
    def dtype(self) -> np.dtype:
        """Of a whole value, if it is numeric."""
        return np.dtype([(f"v{i}", NUMBERS[kind].newbyteorder("<")) for i, kind in enumerate(self.kinds)])

    @property
    def headings(self) -> list[str]:
        """The headings above the columns of a dump, by which a load reads them."""
        return ["value" if kind == "hex" else kind for kind in self.kinds]


def columns_for(spec: str | None, value_bytes: int, path: str) -> Columns:
    """The columns that a specification names: HOW says what it may be; None is "hex". Raises InvalidArgument."""
    spec = None if spec is None else text_of("value", spec, "float32")
    if value_bytes == 0:
        if spec not in (None, ""):
            raise InvalidArgument(
                f"value is {shown(spec)}, and {path} is a set, whose values have no bytes: leave it out"
            )
        return Columns((), 0)
    if value_bytes == ANY and spec not in (None, "hex", "text"):
        raise InvalidArgument(f"value is {shown(spec)}, and {path} has keys and values of any length: give hex or text")
    if spec in (None, "hex", "text"):
        return Columns((spec or "hex",), value_bytes)
    assert spec is not None
    parts: list[tuple[str, int]] = []
    for part in spec.replace(" ", "").split(","):
        name, star, times = part.partition("*")
        if name not in NUMBERS or (star and _TIMES.fullmatch(times) is None):
            raise InvalidArgument(f"value is {shown(spec)}, and {shown(part)} is no type: {HOW}")
        parts.append((name, int(times or 1)))
    if len(parts) == 1 and "*" not in spec:  # one type alone fills the value
        parts = [(parts[0][0], max(1, value_bytes // NUMBERS[parts[0][0]].itemsize))]
    total = sum(NUMBERS[name].itemsize * times for name, times in parts)
    if total != value_bytes:
        raise InvalidArgument(
            f"value is {shown(spec)}, {total} bytes, and {path} has values of {value_bytes} bytes: {HOW}"
        )
    return Columns(tuple(name for name, times in parts for _ in range(times)), value_bytes)


def require_columns(path: Path, wanted: Sequence[str], has: Sequence[str]) -> None:
    """Raises InvalidArgument, which names every column that the file has not."""
    if missing := [name for name in wanted if name not in has]:
        names = f"column {shown(missing[0])}" if len(missing) == 1 else f"columns {', '.join(map(repr, missing))}"
        raise InvalidArgument(f"{path} has no {names}: it has {', '.join(has)}")


def spec_of_headings(headings: Sequence[str]) -> str | None:
    """The specification in a dump's headings; None if another program wrote them."""
    names = [heading.strip() for heading in headings]
    if names == ["text"]:
        return "text"
    if names and all(name in NUMBERS for name in names):
        return ",".join(f"{name}*1" for name in names)
    return None


def columns_beside_scores(headings: Sequence[str], spec: str | None, value_bytes: int, path: str) -> Columns | None:
    """The columns of a value, if these are the headings of a dump whose last column has scores; else None."""
    names = [heading.strip() for heading in headings]
    if len(names) < 2 or names[0] != "key" or names[-1] != SCORE:
        return None
    spec = spec if spec is not None or not value_bytes else spec_of_headings(names[1:-1])
    columns = columns_for(spec, value_bytes, path)
    return columns if columns.headings == names[1:-1] else None


def is_of_dump(headings: Sequence[str], value_bytes: int) -> bool:
    """Whether `dump` writes this above a table with values of so many bytes. It is no row: "key" is no key but of a
    table of any length."""
    names = [heading.strip() for heading in headings]
    if not names or names[0] != "key":
        return False
    rest = names[1:-1] if names[-1] == SCORE else names[1:]
    if value_bytes == 0:
        return not rest
    numbers = value_bytes != ANY and bool(rest) and all(name in NUMBERS for name in rest)
    return rest in (["value"], ["text"]) or numbers


# From text.


def is_plain(text: str) -> bool:
    """Whether Python's numbers are those of other programs: it takes 1_0 for ten, and digits of every alphabet."""
    return text.isascii() and "_" not in text


def whole(text: str) -> int:
    """A whole number in decimal or as 0x…. Raises BadCell."""
    if is_plain(text):
        for base in (10, 0):
            try:
                return int(text, base)
            except ValueError:
                pass
    raise BadCell(f"{shown(text)} is no whole number")


def key_of(text: str) -> int:
    """The 8 bytes of a key, a whole number from -2**63 to 2**64 - 1. Raises BadCell."""
    word = key_word(whole(text))
    if word is None:
        raise BadCell(f"the key {text.strip()} is not from -2**63 to 2**64 - 1")
    return word


def wide_key_of(text: str, size: int) -> bytes:
    """A key of so many bytes, in hexadecimal. Raises BadCell."""
    try:
        key = bytes.fromhex(text.strip().removeprefix("0x"))
    except ValueError:
        raise BadCell(f"the key {shown(text)} is not hexadecimal: give {2 * size} digits") from None
    if len(key) != size:
        raise BadCell(
            f"the key {shown(text)} is {len(key)} bytes, and the table's keys have {size}: give {2 * size} digits"
        )
    return key


def is_key(text: str, size: int = 8) -> bool:
    """Whether the text could be a key of so many bytes, and not a heading. Above keys of any length there is one."""
    if size == ANY:
        return False
    try:
        whole(text) if size == 8 else wide_key_of(text, size)
    except BadCell:
        return False
    return True


def value_of(text: str, kind: str, size: int) -> bytes:
    """The bytes of a value written as "text" (UTF-8) or in "hex", padded with zeroes to `size`. Raises BadCell."""
    try:
        data = bytes.fromhex(text.removeprefix("0x")) if kind == "hex" else text.encode("utf-8", "surrogateescape")
    except ValueError:
        raise BadCell(f"the value {shown(text)} is not hexadecimal: give an even number of digits, as 00ff") from None
    if len(data) > size:
        raise BadCell(f"the value is {len(data)} bytes, and the table's values have {size}: give {size} or fewer")
    return data.ljust(size, b"\0")


def rest_as_text(cells: Sequence[str]) -> str:
    """Several cells as one text, as they stand in a CSV file."""
    if len(cells) == 1:
        return cells[0]
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


def number_of(text: str, kind: str) -> Any:
    """One number of a type, as NumPy has it. Floats may be nan(0x…), which keeps every bit. Raises BadCell."""
    dtype = NUMBERS[kind]
    if dtype.kind in "iu":
        number = whole(text)
        limits = np.iinfo(dtype)
        if not limits.min <= number <= limits.max:
            raise BadCell(f"{text.strip()} does not fit into {kind}")
        return dtype.type(number)
    if odd := _ODD_NAN.fullmatch(text.strip()):
        bits = int(odd[1], 16)
        if bits >= 1 << (8 * dtype.itemsize):
            raise BadCell(f"{text.strip()} does not fit into {kind}")
        return np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]
    try:
        value = float(text if is_plain(text) else "")
    except ValueError:
        raise BadCell(f"{shown(text)} is no {kind}") from None
    with np.errstate(over="ignore"):
        made = dtype.type(value)
    if np.isinf(made) and "inf" not in text.lower():
        raise BadCell(f"{text.strip()} does not fit into {kind}")
    return made


def numbers_of(cells: Sequence[str], kind: str) -> np.ndarray:
    """A column of numbers. Raises BadCell, without saying where."""
    dtype = NUMBERS[kind]
    try:
        if not is_plain("".join(cells)):
            raise ValueError
        if dtype.kind in "iu":
            return np.array([int(cell) for cell in cells], dtype)
        with np.errstate(over="ignore"):
            made = np.array([float(cell) for cell in cells], np.float64).astype(dtype)
        if not np.isinf(made).any():
            return made
    except (ValueError, OverflowError):
        pass
    # By their bytes: a float that is no number would lose some on the way through Python's.
    return np.frombuffer(b"".join(number_of(cell, kind).tobytes() for cell in cells), dtype)


def keys_of(cells: Sequence[str], size: int = 8) -> np.ndarray:
    """A column of keys: (n,) uint64; of wider ones, (n, size) uint8. Raises BadCell, without saying where."""
    if size != 8:
        keys = b"".join(wide_key_of(cell, size) for cell in cells)
        return np.frombuffer(keys, np.uint8).reshape(len(cells), size)
    try:
        if is_plain("".join(cells)):
            return np.array([int(cell) for cell in cells], np.uint64)
    except (ValueError, OverflowError):
        pass
    return np.array([key_of(cell) for cell in cells], np.uint64)


def any_negative(cells: Sequence[str], size: int) -> bool:
    """Whether a column of whole keys has a negative one."""
    return size == 8 and any(cell.lstrip().startswith("-") for cell in cells)


def values_of(columns: Columns, cells: Sequence[Sequence[str]], rows: int) -> np.ndarray:
    """Values (rows, value_bytes) uint8 of the columns' cells. Raises BadCell, without saying where."""
    size = columns.value_bytes
    if columns.numeric:
        made = np.empty(rows, columns.dtype)
        for name, kind, column in zip(columns.dtype.names or (), columns.kinds, cells, strict=True):
            made[name] = numbers_of(column, kind)
        return made.view(np.uint8).reshape(rows, size)
    if not columns.kinds:
        return np.empty((rows, 0), np.uint8)
    kind = columns.kinds[0]
    texts = cells[0] if len(cells) == 1 else [rest_as_text(row) for row in zip(*cells, strict=True)]
    return np.frombuffer(b"".join(value_of(text, kind, size) for text in texts), np.uint8).reshape(rows, size)


def strings_of(cells: Sequence[str], kind: str, what: str) -> np.ndarray:
    """A column of byte strings of any length: (n,) of bytes objects. Raises BadCell, without saying where."""
    made = np.empty(len(cells), object)
    for i, cell in enumerate(cells):
        if kind == "text":
            made[i] = cell.encode("utf-8", "surrogateescape")
        else:
            try:
                made[i] = bytes.fromhex(cell.strip().removeprefix("0x"))
            except ValueError:
                raise BadCell(
                    f"the {what} {shown(cell)} is not hexadecimal: give an even number of digits, as 00ff, or text"
                ) from None
        must_fit(made[i], what)
    return made


def must_fit(data: bytes, what: str) -> None:
    """Raises BadCell for a byte string that is too long for a table of any length."""
    if len(data) > 65536:
        raise BadCell(f"the {what} is {len(data)} bytes: a {what} has at most 65536")


# To text.


def float_text(value: Any) -> str:
    """A float as text that gives back every bit."""
    dtype = value.dtype
    if value != value:
        bits = int(value.view(f"u{dtype.itemsize}"))
        canonical = int(np.array(np.nan, dtype).view(f"u{dtype.itemsize}"))
        return "nan" if bits == canonical else f"nan(0x{bits:x})"
    short = str(value)
    return short if dtype.type(float(short)) == value else repr(float(value))


def number_texts(column: np.ndarray) -> list[str]:
    """A column of numbers as text."""
    if column.dtype.kind in "iu":
        return [str(number) for number in column.tolist()]
    if column.dtype == np.float64 and not np.isnan(column).any():
        return [repr(number) for number in column.tolist()]
    return [float_text(number) for number in column]


def lines_of(
    columns: Columns, keys: np.ndarray, values: np.ndarray, scores: np.ndarray | None = None, signed: bool = False
) -> str:
    """The lines of a CSV file for items. Text is always quoted; keys wider than 8 bytes are in hexadecimal, others are
    numbers, `signed` or not."""
    if columns.value_bytes == ANY:
        return _string_lines(columns.kinds[0], keys.tolist(), values.tolist())
    keys = keys.view(np.int64) if signed else keys
    names = keys.tolist() if keys.ndim == 1 else [row.tobytes().hex() for row in keys]
    ends = ["\n"] * len(names) if scores is None else [f",{score}\n" for score in scores.tolist()]
    if columns.numeric:
        rows = np.ascontiguousarray(values).view(columns.dtype).reshape(len(names))
        texts = [number_texts(rows[name]) for name in columns.dtype.names or ()]
        numbers = (",".join(row) for row in zip(map(str, names), *texts, strict=True))
        return "".join(f"{row}{end}" for row, end in zip(numbers, ends, strict=True))
    if not columns.kinds:
        return "".join(f"{key}{end}" for key, end in zip(names, ends, strict=True))
    size, data = columns.value_bytes, values.tobytes()
    if columns.kinds[0] == "hex":
        digits = data.hex()
        cells = [digits[at : at + 2 * size] for at in range(0, len(digits), 2 * size)]
    else:
        cells = [f'"{_quoted(data[at : at + size].rstrip(_ZERO))}"' for at in range(0, len(data), size)]
    return "".join(f"{key},{cell}{end}" for key, cell, end in zip(names, cells, ends, strict=True))


_ZERO = b"\0"


def _quoted(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape").replace('"', '""')


def _string_lines(kind: str, keys: list[bytes], values: list[bytes]) -> str:
    if kind == "hex":
        return "".join(f"{key.hex()},{value.hex()}\n" for key, value in zip(keys, values, strict=True))
    return "".join(f'"{_quoted(key)}","{_quoted(value)}"\n' for key, value in zip(keys, values, strict=True))
