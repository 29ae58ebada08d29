"""Computes what the killed process writes from a number, so that every process can compute it.

Batch b adds items b·B to (b+1)·B - 1 at version 1, and gives every fourth item of batch b - 1 the version b + 1. So the
number of acknowledged batches determines what every item must be, and the pending batch what else it may be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_ODD = np.uint64(0x9E37_79B9_7F4A_7C15)
_TOP = np.uint64(1 << 63)


def _mixed(words: np.ndarray) -> np.ndarray:
    """A one-to-one scramble of 64-bit words (Steele and others, "Fast splittable generators", 2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    scrambled: np.ndarray = words ^ (words >> np.uint64(31))
    return scrambled


@dataclass(frozen=True)
class Plan:
    """`items` random pairs, written `batch` at a time, with values of `value_bytes` (at least 16)."""

    items: int
    batch: int
    value_bytes: int
    seed: int

    @property
    def batches(self) -> int:
        return -(-self.items // self.batch)

    def keys(self, items: np.ndarray) -> np.ndarray:
        """All different, and none below 2**63: code points and most keys of a CSV file are not among them."""
        return _mixed((items.astype(np.uint64) + np.uint64(self.seed)) * _ODD) | _TOP

    def values(self, keys: np.ndarray, versions: np.ndarray) -> np.ndarray:
        """(n, value_bytes) uint8. The first word is the version; every other depends on the key, the version and its
        place, so that a torn value is not the value of any version."""
        words = np.empty((len(keys), -(-self.value_bytes // 8)), np.uint64)
        words[:, 0] = versions
        base = _mixed(keys + versions.astype(np.uint64) * _ODD)
        np.multiply(base[:, None], 2 * np.arange(1, words.shape[1], dtype=np.uint64) + np.uint64(1), out=words[:, 1:])
        return words.view(np.uint8)[:, : self.value_bytes]

    def rows(self, items: np.ndarray, versions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Keys and values of items at versions."""
        keys = self.keys(items)
        return keys, self.values(keys, versions)

    def written_by(self, batch: int) -> tuple[np.ndarray, np.ndarray]:
        """The items and versions of one batch."""
        added = np.arange(batch * self.batch, min((batch + 1) * self.batch, self.items))
        changed = np.arange((batch - 1) * self.batch, batch * self.batch, 4) if batch else np.arange(0)
        versions = np.concatenate([np.ones(len(added), np.uint64), np.full(len(changed), batch + 1, np.uint64)])
        return np.concatenate([added, changed]), versions

    def versions_after(self, items: np.ndarray, batches: int) -> np.ndarray:
        """The version of each item when `batches` batches are written; 0 where it is not there yet."""
        own = items // self.batch
        changed = (items % self.batch % 4 == 0) & (own + 1 < batches)
        return np.where(own < batches, np.where(changed, own + 2, 1), 0).astype(np.uint64)
