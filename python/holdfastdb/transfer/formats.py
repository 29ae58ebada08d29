"""Which format a file has, and PyArrow where it is needed."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ..checked import one_of
from ..errors import InvalidArgument, MissingExtra

FORMATS = {
    "csv": (".csv", ".txt"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".ipc", ".feather"),
}


def format_of(path: Path, given: str | None) -> str:
    """csv, parquet or arrow: as given, else as the name ends. Raises InvalidArgument."""
    if given is not None:
        return one_of("format", given, tuple(FORMATS))
    for name, endings in FORMATS.items():
        if path.suffix.lower() in endings:
            return name
    raise InvalidArgument(f"{path} has no known extension: let it end in .csv, .parquet or .arrow, or give the format")


def pyarrow(module: str, path: Path) -> Any:
    """A module of PyArrow. Raises MissingExtra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{path}: Parquet and Arrow need PyArrow, which is not here ({error}): pip install 'holdfastdb[arrow]', or "
            "use CSV"
        ) from None
