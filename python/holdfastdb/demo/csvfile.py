"""Pairs from a CSV file: the first column is the key, a whole number; the rest of the row, as text, is the value."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ..errors import InvalidArgument
from ..schema.columns import BadCell, is_key, key_of, rest_as_text

_MOST_BYTES = 65536


def pairs(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Keys (n,) uint64 and values (n, value_bytes) uint8: UTF-8, zero-padded to the longest row.

    A first row whose first column is no number is a heading. Of rows with one key, the last counts. Keys may be decimal
    or 0x…, from -2**63 to 2**64 - 1.
    """
    found: dict[int, bytes] = {}
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            for number, row in enumerate(csv.reader(file), start=1):
                if not row or not any(row):
                    continue
                if not is_key(row[0]):
                    if number == 1:
                        continue
                    raise InvalidArgument(
                        f"{path}, row {number}: the first column is {row[0]!r}: give a whole number, the key"
                    )
                try:
                    key = key_of(row[0])
                except BadCell as error:
                    raise InvalidArgument(f"{path}, row {number}: {error}") from None
                value = rest_as_text(row[1:]).encode()
                if len(value) > _MOST_BYTES:
                    raise InvalidArgument(
                        f"{path}, row {number}: {len(value)} bytes of value, and a table holds at most {_MOST_BYTES}"
                    )
                found[key] = value
        except (UnicodeDecodeError, csv.Error) as error:
            raise InvalidArgument(f"{path} is not a CSV file in UTF-8: {error}") from None
    if not found:
        raise InvalidArgument(f"{path} has no row with a key: give rows of a whole number and text")
    size = max(16, (max(map(len, found.values())) + 7) // 8 * 8)
    rows = b"".join(value.ljust(size, b"\0") for value in found.values())
    return np.array(list(found), np.uint64), np.frombuffer(rows, np.uint8).reshape(len(found), size)
