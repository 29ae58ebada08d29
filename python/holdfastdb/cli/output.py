"""What the commands print: a text for a person, or one JSON object; and how keys and values are written and read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from ..checked import key_word
from ..demo import unicode
from ..errors import InvalidArgument
from ..messages import shown
from ..schema.columns import ANY, BadCell, strings_of, value_of, whole, wide_key_of
from ..table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]


def emit(as_json: bool, data: dict[str, Any], text: str) -> None:
    """Prints `data` as JSON, or `text` as it is."""
    typer.echo(json.dumps(data, ensure_ascii=False) if as_json else text)


@contextmanager
def progress(what: str, total: int) -> Iterator[Any]:
    """A progress bar on standard error, if that is a terminal; yields what is called with the number done, and
    with the total where that is known only then."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, total=None: bar.update(task, completed=done, total=total)


def plain_key(key: int | bytes) -> int | str:
    """A key as JSON has it: a wide one in hexadecimal."""
    return key.hex() if isinstance(key, bytes) else key


def parse_key(text: str, size: int = 8) -> int | bytes:
    """128512, 0x1F600, U+1F600, or one character that is no digit: its code point; -1 is 2**64 - 1. A wide key is in
    hexadecimal, one of any length is text, or hexadecimal behind 0x."""
    if size == ANY:
        if not text.startswith("0x"):
            return parse_string(text, is_hex=False)[0]
        try:
            bytes.fromhex(text.removeprefix("0x"))
        except ValueError:
            raise InvalidArgument(
                f"the key {shown(text)} is not hexadecimal: give an even number of digits behind 0x. Text that begins "
                "with 0x is given in hexadecimal too: 0x3078..."
            ) from None
        return parse_string(text.removeprefix("0x"), is_hex=True)[0]
    if size != 8:
        try:
            return wide_key_of(text, size)
        except BadCell as error:
            raise InvalidArgument(str(error)) from None
    cleaned = text.strip()
    try:
        key = whole(f"0x{cleaned[2:]}" if cleaned[:2].upper() == "U+" else cleaned)
    except BadCell:
        if len(text) != 1 or text.isdigit():
            raise InvalidArgument(
                f"the key {shown(text)} is no number: give 128512, 0x1F600, U+1F600 or a character that is no digit"
            ) from None
        key = ord(text)
    word = key_word(key)
    if word is None:
        raise InvalidArgument(f"the key {text} does not fit into 8 bytes: give -2**63 to 2**64 - 1")
    return word


def size_of(table: Table) -> int:
    """Of its keys, for `parse_key`."""
    return ANY if table.any_length else table.key_bytes


def parse_string(text: str, is_hex: bool) -> list[bytes]:
    """A byte string of any length: the text in UTF-8, or the bytes written in hexadecimal."""
    try:
        return [bytes(part) for part in strings_of([text], "hex" if is_hex else "text", "text")]
    except BadCell as error:
        raise InvalidArgument(str(error)) from None


def parse_value(text: str, is_hex: bool, size: int) -> np.ndarray:
    """One row of `size` bytes: the text in UTF-8, or the bytes written in hexadecimal, padded with zeroes."""
    try:
        data = value_of(text, "hex" if is_hex else "text", size)
    except BadCell as error:
        raise InvalidArgument(str(error)) from None
    return np.frombuffer(data, np.uint8).reshape(1, size)


def as_text(value: bytes) -> str | None:
    """The value as text without its padding, or None if it is not printable."""
    try:
        text = value.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        return None
    return text if all(c.isprintable() or c in "\t\n" for c in text) and (text or not value) else None


def as_hex(value: bytes) -> str:
    return value.hex()


def show(value: bytes) -> str:
    """For a person: the demo's record in words, text as text, anything else in hexadecimal."""
    if (point := unicode.decode(value)) is not None:
        return unicode.in_words(point)
    text = as_text(value)
    return as_hex(value) if text is None else text


def describe_value(key: int | bytes, value: bytes | None) -> dict[str, Any]:
    """One item for JSON."""
    if value is None:
        return {"key": plain_key(key), "found": False}
    item: dict[str, Any] = {"key": plain_key(key), "found": True, "hex": as_hex(value), "text": as_text(value)}
    if (point := unicode.decode(value)) is not None:
        item["code_point"] = point.as_dict()
    return item


def plural(count: int, one: str) -> str:
    """1 error, 2 errors."""
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def damage(count: int, pieces: int) -> str:
    """Of a store: 1 damaged item; 2 damaged items and 1 damaged piece of 2 MiB. `count` has both."""
    items = [plural(count - pieces, "damaged item")] if count > pieces or not count else []
    lost = [f"{plural(pieces, 'damaged piece')} of 2 MiB with unknown items"] if pieces else []
    return " and ".join([*items, *lost])


def in_columns(rows: list[list[str]], right: set[int]) -> list[str]:
    """Rows as lines, their columns below each other; those at `right` end together."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def cell(at: int, text: str) -> str:
        return text.rjust(widths[at]) if at in right else text.ljust(widths[at])

    return ["  ".join(cell(at, text) for at, text in enumerate(row) if widths[at]).rstrip() for row in rows]
