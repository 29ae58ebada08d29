"""The demo's second part: keys and values of any length: the lines of Python's library, by file."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import numpy as np

_MOST_BYTES = 65536


class Lines:
    """The first `limit` lines that are not empty, in the order of their files; every process finds the same ones."""

    def __init__(self, limit: int) -> None:
        self._keys: list[bytes] = []
        self._texts: list[bytes] = []
        folder = Path(sysconfig.get_path("stdlib"))
        for file in sorted(folder.rglob("*.py")):
            name = file.relative_to(folder).as_posix()
            if name.startswith("site-packages/") or not file.is_file():
                continue
            for number, line in enumerate(file.read_bytes().splitlines(), start=1):
                if len(self._keys) == limit:
                    return
                if line and len(line) < _MOST_BYTES // 2:
                    self._keys.append(f"{name}:{number}".encode())
                    self._texts.append(line)

    def __len__(self) -> int:
        return len(self._keys)

    def rows(self, items: np.ndarray, versions: np.ndarray) -> tuple[list[bytes], list[bytes]]:
        """Keys, such as `abc.py:12`, and values: the line at version 1, later with a note of the version."""
        keys = [self._keys[item] for item in items.tolist()]
        return keys, [self.value(*row) for row in zip(items.tolist(), versions.tolist(), strict=True)]

    def value(self, item: int, version: int) -> bytes:
        """The value that an item has at a version."""
        text = self._texts[item]
        return text if version == 1 else b"%s  # version %d of %s" % (text, version, self._keys[item])
