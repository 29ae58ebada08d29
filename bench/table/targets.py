"""What is measured: a Holdfast table in a pool of its own, or a peer."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import _bench


@dataclass(frozen=True)
class Table:
    """How the Holdfast table under measurement is made."""

    value_bytes: int = 8
    device: str = "cpu"
    threads: int = 1
    moves: bool = True
    shared_bias: int = 2
    flush: bool = False
    levels: int = 2
    hash_locations: int = 2
    slots: int = 8
    value_cache: float = 0
    cache_policy: str = "lfu"

    def options(self) -> dict[str, Any]:
        return asdict(self)


@contextlib.contextmanager
def pool_folder(where: Path | None) -> Iterator[Path]:
    """A fresh folder for pools, removed at the end: below `where`, or in shared memory where there is some."""
    base = where or (Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix="holdfast-bench-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def target(name: str, capacity: int, table: Table, folder: Path) -> Iterator[_bench.Target]:
    """An empty table, peer or store with room for `capacity` items."""
    path = folder / (f"{name}.hold" if name == "holdfast" else name)
    if name == "holdfast":
        made = _bench.create(str(path), capacity=capacity, **table.options())
    elif name in ("lmdb", "rocksdb"):
        store = {"lmdb": _bench.lmdb, "rocksdb": _bench.rocksdb}[name]
        made = store(str(path), capacity, table.value_bytes)
    else:
        made = {"libcuckoo": _bench.libcuckoo, "tbb": _bench.tbb}[name](capacity)
    try:
        yield made
    finally:
        made.close()
        del made
        path.unlink(missing_ok=True) if path.is_file() else shutil.rmtree(path, ignore_errors=True)


def peers_have_huge_pages() -> bool:
    """Whether the C library was told to ask for huge pages: the peers allocate from it."""
    return "glibc.malloc.hugetlb=1" in os.environ.get("GLIBC_TUNABLES", "")
