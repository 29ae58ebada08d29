"""Damage to checkpoints."""

from __future__ import annotations

from pathlib import Path

import holdfastdb as hf


def damage_second_save(path: Path) -> None:
    """Changes a byte of the data in the copy of a pool's first object that lies last."""
    copies = [extent.offset for extent in hf.inspect(path).objects[0].extents if extent.kind == "role 1"]
    data = bytearray(path.read_bytes())
    data[max(copies) + 4096 + 5] ^= 1
    path.write_bytes(data)
