"""The oracle's memory: what the writing process began and what was acknowledged to it, in a file mapped by both.

The writer notes a batch before and after it runs; the kernel keeps the notes when the writer is killed.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from types import TracebackType

_WORDS = ("begun", "acknowledged", "nanoseconds", "operations", "limit")


class Journal:
    """Five words: batches begun, batches acknowledged, time inside operations, operations acknowledged, and how many
    batches the writer may begin for now."""

    def __init__(self, path: Path, create: bool = False) -> None:
        if create:
            path.write_bytes(bytes(8 * len(_WORDS)))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self._words = memoryview(self._map).cast("Q")

    def begin(self, batch: int) -> None:
        """Batch number `batch` is about to run."""
        self._words[0] = batch + 1

    def acknowledge(self, batch: int, nanoseconds: int, operations: int) -> None:
        """Batch number `batch` was acknowledged."""
        self._words[1] = batch + 1
        self._words[2] += nanoseconds
        self._words[3] += operations

    @property
    def begun(self) -> int:
        return self._words[0]

    @property
    def acknowledged(self) -> int:
        return self._words[1]

    @property
    def limit(self) -> int:
        return self._words[4]

    @limit.setter
    def limit(self, batches: int) -> None:
        self._words[4] = batches

    @property
    def nanoseconds(self) -> int:
        return self._words[2]

    @property
    def operations(self) -> int:
        return self._words[3]

    def close(self) -> None:
        self._words.release()
        self._map.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
