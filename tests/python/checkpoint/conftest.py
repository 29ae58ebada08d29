"""Damage to checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import holdfastdb as hf


def _damage(path: Path) -> None:
    copies = [extent.offset for extent in hf.inspect(path).objects[0].extents if extent.kind == "role 1"]
    data = bytearray(path.read_bytes())
    data[max(copies) + 4096 + 5] ^= 1
    path.write_bytes(data)


@pytest.fixture
def damaged() -> Callable[[Path], None]:
    """Changes a byte of the data in the copy of a pool's first object that lies last: of the second save."""
    return _damage
