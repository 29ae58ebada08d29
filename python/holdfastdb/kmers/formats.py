"""The formats of files with k-mers and their counts, by the ends of their names."""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidArgument

_ENDINGS = {"parquet": (".parquet", ".pq"), "pool": (".hold",), "text": (".txt",)}


def format_of(path: Path) -> str:
    """parquet, pool or text, as the name ends. Raises InvalidArgument."""
    for name, endings in _ENDINGS.items():
        if path.suffix.lower() in endings:
            return name
    raise InvalidArgument(f"{path} has no known extension: let it end in .parquet, .hold or .txt")
