"""Damage to checkpoints."""

from __future__ import annotations

from pathlib import Path

import holdfastdb as hf


def damage_second_save(path: Path, name: str | None = None) -> None:
    """Changes a byte of the data in the copy that lies last, of the pool's first object or of that with the name."""
    objects = [found for found in hf.inspect(path).objects if name in (None, found.name)]
    copies = [extent.offset for extent in objects[0].extents if extent.kind == "role 1"]
    data = bytearray(path.read_bytes())
    data[max(copies) + 4096 + 5] ^= 1
    path.write_bytes(data)
