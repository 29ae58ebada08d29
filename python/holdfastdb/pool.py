"""Pools by their path: what a pool says of itself, and its verification."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from . import _native
from .errors import InvalidType


@dataclass(frozen=True)
class Extent:
    """One range of a pool file."""

    kind: str
    """"level 17", "heap", "free"."""
    offset: int
    """Bytes from the start of the file."""
    bytes: int


@dataclass(frozen=True)
class PoolInfo:
    """What a pool says of itself, read without opening or locking it."""

    path: str
    medium: str
    """"shm", "file" or "dax": where the bytes live."""
    domain: str
    """"process" or "power": what a completed write survives."""
    version: int
    pool_id: str
    """Random, 32 hexadecimal digits: of this pool and no copy that Holdfast made of it."""
    key_bytes: int
    value_bytes: int
    levels: int
    """Levels, hash locations and slots a bucket: the configuration, as 2L-2H-8S."""
    hash_locations: int
    slots: int
    top_level: int
    """Level i has 2**i buckets."""
    total_slots: int
    cells: int
    """Of the value heap; 0 if values live in their slots."""
    cell_bytes: int
    score: str
    """What the last 8 bytes of each cell say: "step", "time" or "frequency"; "none" if nothing."""
    file_bytes: int
    generation: int
    """Writes of the superblock so far."""
    clean: bool
    """Closed or synced, and not changed since."""
    resizing: bool
    same_boot: bool
    """The machine has not restarted since the pool was last opened."""
    valid_copies: int
    """Of the superblock: 1 or 2."""
    owner: str
    """The process that has it open for writing, in words; empty if there is none. Advisory."""
    extents: tuple[Extent, ...]


@dataclass(frozen=True)
class CheckReport:
    """What a verification found."""

    items: int
    slots: int
    cells: int
    free_cells: int
    repaired_slots: int
    """Half-written slots that recovery cleared."""
    finished_moves: int
    """Second copies that recovery removed."""
    rehashed: int
    """Items that recovery moved to finish a resize."""
    was_clean: bool
    recovery_ms: float
    """Scan of the slots and rebuilding of what is volatile."""
    map_ms: float
    repairs: tuple[str, ...]
    """What opening mended of the superblock, as a kill leaves it; no error. Checking alone mends nothing."""
    errors: tuple[str, ...]
    """Empty: every slot and cell is in order."""

    @property
    def ok(self) -> bool:
        """Whether no error was found."""
        return not self.errors


@dataclass(frozen=True)
class SnapshotReport:
    """What a snapshot did."""

    path: str
    items: int
    """In the snapshot."""
    bytes: int
    """Of its levels and heap."""
    written: int
    """Of them; stretches of zeros need no writing."""
    held_ms: float
    """How long changes were kept waiting, once the running ones had ended."""
    total_ms: float
    """Until the snapshot was on its device under its name."""


def path_text(path: Any) -> str:
    """A path as the native module takes it. Raises InvalidType for what is no path."""
    try:
        text = os.fspath(path)
    except TypeError:
        raise InvalidType(f"path is of type {type(path).__name__}: give a str or a pathlib.Path") from None
    return os.fsdecode(text)


def report_from(found: dict[str, Any]) -> CheckReport:
    """The report that the native module gave as a dict."""
    return CheckReport(**{**found, "repairs": tuple(found["repairs"]), "errors": tuple(found["errors"])})


def inspect(path: str | os.PathLike[str]) -> PoolInfo:
    """What the pool at `path` says of itself. Needs no lock, so it works while another process has the pool open.

    Raises
    ------
    PoolNotFound, PoolCorrupt, PoolVersion
    """
    found = _native.inspect(path_text(path))
    return PoolInfo(**{**found, "extents": tuple(Extent(**extent) for extent in found["extents"])})


def check(path: str | os.PathLike[str], repair: bool = False) -> CheckReport:
    """Opens the pool as its recovery would, verifies every slot and cell, and closes it again.

    Parameters
    ----------
    repair
        False: the file is not written, and a pool that needs recovery is recovered in private memory.
        True: recovers the file itself.

    Raises
    ------
    PoolNotFound, PoolInUse, PoolCorrupt, PoolVersion, PowerLost
    """
    return report_from(_native.check(path_text(path), bool(repair)))


def cuda_devices() -> tuple[int, str]:
    """How many GPUs this build can use, and the reason if there is none."""
    count, why = _native.cuda_devices()
    return int(count), str(why)
