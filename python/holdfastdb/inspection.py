"""What a pool and its objects say of themselves, and what their verification and snapshots report."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _native
from .checked import flag
from .errors import Error, InvalidArgument, InvalidType, NoSpace
from .messages import shown
from .schema.layout import Layout, layout_from


@dataclass(frozen=True)
class Extent:
    """One range of a pool file."""

    kind: str
    """"pages", "level 17", "heap"."""
    offset: int
    """Bytes from the start of the file."""
    bytes: int


@dataclass(frozen=True)
class TableInfo:
    """What a table in a pool is like."""

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
    """Of the value heap, or slabs of 2 MiB; 0 if values live in their slots."""
    cell_bytes: int
    max_bytes: int
    """That the heap may have; 0: not declared."""
    created: int
    """Seconds since 1970."""
    score: str
    """What the last 8 bytes of each cell say: "step", "time" or "frequency"; "none" if nothing."""
    resizing: bool
    """A resize was not finished."""


@dataclass(frozen=True)
class ObjectInfo:
    """What an object in a pool says of itself."""

    name: str
    number: int
    type: str
    """The name of its kind: "table"; "unknown" where this version does not know it."""
    type_version: int
    domain: str
    """"process" or "power": what writes survived when it was last changed; "none" if it cannot be read."""
    clean: bool
    """Closed or synced, and not changed since."""
    same_boot: bool
    """The machine has not restarted since the object was last changed."""
    generation: int
    """Grows when the object is changed after a sync, and when it is synced or closed."""
    damage: str
    """Why it cannot be opened; empty if it can, judged by its pages."""
    bytes: int
    """Of its extents."""
    extents: tuple[Extent, ...]
    table: TableInfo | None
    """Of a table without damage."""
    layout: Layout
    """What the bytes of its keys and values mean, as far as loads have said so."""


@dataclass(frozen=True)
class PoolInfo:
    """What a pool says of itself, read without opening or locking it."""

    path: str
    medium: str
    """"shm", "file" or "dax": where the bytes live."""
    domain: str
    """"process" or "power": what a completed write by a CPU survives."""
    version: int
    pool_id: str
    """Random, 32 hexadecimal digits: of this pool and no copy that Holdfast made of it."""
    created: int
    """Seconds since 1970."""
    file_bytes: int
    free_bytes: int
    """Of the file, between extents."""
    generation: int
    """Commits to the directory so far."""
    valid_copies: int
    """Of the superblock: 1 or 2."""
    owner: str
    """The process that has it open for writing, in words; empty if there is none. Advisory."""
    objects: tuple[ObjectInfo, ...]


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
    checked: tuple[str, ...]
    """What was verified: "every slot and cell"; of a pool a line an object, with its name."""
    errors: tuple[str, ...]
    """Empty: all that was verified is in order."""

    @property
    def ok(self) -> bool:
        """Whether no error was found."""
        return not self.errors


@dataclass(frozen=True)
class SnapshotReport:
    """What a snapshot did."""

    path: str
    items: int
    """Of the tables and stores that were open; the others are in the snapshot too, uncounted."""
    damaged: int
    """Items of these stores that did not verify when they were opened. They are in the snapshot as they are."""
    bytes: int
    """Of all extents."""
    written: int
    """Of them; ranges of zeros need no writing."""
    held_ms: float
    """How long changes were kept waiting, once the running ones had ended."""
    total_ms: float
    """Until the snapshot was on its device under its name."""
    left_out: tuple[str, ...] = ()
    """Names of objects that are not in the snapshot: the file was cut short, and they were not open (`Pool.open` with
    salvage)."""


_MOST_PATH, _MOST_NAME = 4095, 255


def path_text(path: Any) -> str:
    """A path as the native module takes it. Raises InvalidType for what is no path, InvalidArgument for no UTF-8."""
    try:
        text = os.fsdecode(path)
    except UnicodeError:
        text = str(os.fspath(path))
    except Exception:
        raise InvalidType(f"path is of type {type(path).__name__}: give a str or a pathlib.Path") from None
    if not text or "\0" in text:
        what = "has a zero byte in it" if text else "is empty"
        raise InvalidArgument(f"the path {what}: give the name of a file")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"the path {text!a} is not UTF-8: rename the file, or its folder") from None
    _require_length(text)
    return text


def _require_length(path: str) -> None:
    """Raises InvalidArgument for a path that no file can have."""
    data = path.encode()
    if len(data) > _MOST_PATH or max(map(len, data.split(b"/"))) > _MOST_NAME:
        raise InvalidArgument(
            f"the path {shown(path)} has {len(data):,} bytes: give one of {_MOST_PATH:,} at most, and {_MOST_NAME} for "
            "each folder and the file"
        )


def report_from(found: dict[str, Any]) -> CheckReport:
    """The report that the native module gave as a dict."""
    lists = {name: tuple(found[name]) for name in ("repairs", "checked", "errors")}
    return CheckReport(**{**found, **lists})


def objects_from(found: Iterable[dict[str, Any]]) -> tuple[ObjectInfo, ...]:
    """The objects that the native module gave as dicts."""

    def object_of(item: dict[str, Any]) -> ObjectInfo:
        extents = tuple(Extent(**extent) for extent in item["extents"])
        table = TableInfo(**item["table"]) if item["table"] is not None else None
        layout = layout_from(item["description"])
        facts = {name: value for name, value in item.items() if name != "description"}
        return ObjectInfo(**{**facts, "extents": extents, "table": table, "layout": layout})

    return tuple(object_of(item) for item in found)


def inspect(path: str | os.PathLike[str]) -> PoolInfo:
    """What the pool at `path` says of itself. Needs no lock, so it works while another process has the pool open.

    Raises
    ------
    PoolNotFound, PoolCorrupt, PoolVersion
    """
    found = _native.inspect(path_text(path))
    return PoolInfo(**{**found, "objects": objects_from(found["objects"])})


def check(path: str | os.PathLike[str], repair: bool = False, name: str | None = None) -> CheckReport:
    """Opens the pool as its recovery would, verifies its objects as `Pool.check` does, and closes it again.

    Parameters
    ----------
    repair
        False: the file is not written, and a table that needs recovery is recovered in private memory.
        True: recovers the file itself.
    name
        Of the one table to verify; None: all. The report of several has sums.

    Raises
    ------
    PoolNotFound, PoolInUse, ObjectInUse, PoolCorrupt, PoolVersion, PowerLost, ObjectNotFound
    """
    return report_from(_native.check(path_text(path), flag("repair", repair), "" if name is None else name_of(name)))


def name_of(name: Any) -> str:
    """The name of an object, as the native module takes it. Raises InvalidType for what is no str."""
    if not isinstance(name, str):
        raise InvalidType(f"the object's name is {shown(name)}, of type {type(name).__name__}: give a str")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"the name {shown(name)} cannot be written in UTF-8: give another") from None
    if not name or "\0" in name:
        what = "has a zero byte in it" if name else "is empty"
        raise InvalidArgument(f"the name {what}: give 1 to 63 bytes of UTF-8 without '/', ':' and control characters")
    return name


def cuda_devices() -> tuple[int, str]:
    """How many GPUs this build can use, and the reason if there is none."""
    count, why = _native.cuda_devices()
    return int(count), str(why)


def no_space(what: str, path: str) -> NoSpace:
    """The error for rows that found no space in the table with this `path`, which may be "POOL:NAME", or in memory."""
    pool, name = (path, "") if Path(path).exists() else (path.rpartition(":")[0], path.rpartition(":")[2])
    try:
        file, medium = Path(pool).stat(), os.statvfs(pool)
    except OSError:
        return NoSpace(f"{what} found no space in {path}: give it a larger capacity, or let it grow")
    if limit := _full_heap(pool, name):
        return NoSpace(
            f"{what} found no space in {path}: its values have all of the max_bytes={limit:,} it was created with. "
            "Erase keys, or create a table with a larger max_bytes and load a dump of this one into it"
        )
    return NoSpace(
        f"{what} found no space in {path}: {_space(file, medium)}. Free space there, raise a quota or limit of file "
        "sizes that is less, or erase keys; or copy the pool to a larger medium with `holdfast snapshot`. Then run it "
        "again; all other rows stand"
    )


def store_no_space(what: str, pool: str, path: str, limit: int, evicts: bool) -> NoSpace:
    """The error for items of a store that has all the memory that `limit` allows; 0: all that its medium gave."""
    if limit:
        less = "delete items" if evicts else "delete items, or open it with evict=True"
        return NoSpace(f"{path} has no memory for {what}: its limit is {limit:,} bytes. Raise the limit, or {less}")
    try:
        space = f": {_space(Path(pool).stat(), os.statvfs(pool))}"
    except OSError:
        space = ""
    return NoSpace(
        f"{path} has no space for {what}{space}. Free space there, raise a quota or limit of file sizes that is less, "
        "or delete items; if there is space, the system has no memory for the index: free some"
    )


def _space(file: os.stat_result, medium: os.statvfs_result) -> str:
    free, size = medium.f_bavail * medium.f_frsize, medium.f_blocks * medium.f_frsize
    return f"the pool has {_size(file.st_size)}, and its medium, of {_size(size)}, has {_size(free)} free"


def _full_heap(pool: str, name: str) -> int:
    """The most that the table's values may take, if they do."""
    with suppress(Error):
        for found in _native.inspect(pool)["objects"]:
            table = found["table"]
            if table is None or name not in ("", found["name"]) or not table["max_bytes"]:
                continue
            if (table["cells"] + 1) * table["cell_bytes"] > table["max_bytes"]:
                return int(table["max_bytes"])
    return 0


def _size(count: int) -> str:
    """In units of 2**10, with three digits."""
    amount, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1000 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{amount:.3g} {units[0]}"
