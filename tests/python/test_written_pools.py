"""Whatever makes a pool, or a file of k-mers, leaves alone what it may not replace, and says why."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_cli import holdfast

import holdfastdb as hf
from holdfastdb import Pool, Table, demo, kmers
from holdfastdb.cli.objects import _pool_for

Put = Callable[[Path], Any]


def a_pool(path: Path) -> None:
    Table.create(path, value=8, device="cpu").close()


def an_open_pool(path: Path) -> Table:
    return Table.create(path, value=8, device="cpu")


def notes(path: Path) -> None:
    path.write_text("mine\n")


def create(source: Path, target: Path) -> None:
    Table.create(target, value=8, device="cpu", overwrite=True).close()


def create_pool(source: Path, target: Path) -> None:
    Pool.create(target, overwrite=True).close()


def snapshot(source: Path, target: Path) -> None:
    with Pool.open(source) as pool:
        pool.snapshot(target, overwrite=True)


def count(source: Path, target: Path) -> None:
    reads = source.with_suffix(".fa")
    reads.write_text(">a\nACGTACGT\n")
    kmers.write(kmers.count([reads], 4), target, overwrite=True)


TARGETS: dict[str, tuple[Put, str]] = {
    "an open pool": (an_open_pool, "is open|is a pool"),
    "a folder": (Path.mkdir, "folder|directory|not a file|no regular file|not a regular file"),
    "a FIFO": (lambda path: os.mkfifo(path), "FIFO|fifo|regular file|not a file"),
    "a device": (lambda path: path.symlink_to("/dev/null"), "device|regular file|not a file"),
    "notes": (notes, "is no pool"),
}


def state(path: Path) -> Any:
    return path.read_bytes() if path.is_file() else (path.is_symlink(), os.lstat(path).st_mode)


@pytest.mark.parametrize("what", TARGETS)
@pytest.mark.parametrize("write", [create, create_pool, snapshot, count])
def test_spares(write: Callable[[Path, Path], None], what: str, folder: Path) -> None:
    if write is count and what == "notes":
        pytest.skip("a count replaces files")
    source, target = folder / "source.hold", folder / "target.hold"
    a_pool(source)
    put, why = TARGETS[what]
    kept = put(target)
    before = state(target)
    with pytest.raises(hf.Error, match=why):
        write(source, target)
    assert state(target) == before
    if isinstance(kept, Table):
        kept.close()


def test_a_snapshot_replaces_not_its_source(folder: Path) -> None:
    source = folder / "source.hold"
    a_pool(source)
    (folder / "link").symlink_to(source)
    for target in (source, folder / "link"):
        with pytest.raises(hf.Error):
            snapshot(source, target)
        assert hf.check(source).ok


def test_a_count_spares_a_file_of_the_name_of_its_partial_one(folder: Path) -> None:
    partial = folder / f"c.txt.{os.getpid()}.partial"
    notes(partial)
    with pytest.raises(hf.PoolExists, match=r"\.partial exists, and is not of this count"):
        count(folder / "source", folder / "c.txt")
    assert partial.read_text() == "mine\n"


def test_a_failed_create_removes_its_own_pool_alone(folder: Path) -> None:
    path = folder / "new.hold"
    with pytest.raises(KeyError), _pool_for(str(path)):
        path.rename(folder / "moved.hold")
        notes(path)
        raise KeyError
    assert path.read_text() == "mine\n"
    path.unlink()
    with pytest.raises(KeyError), _pool_for(str(path)):
        raise KeyError
    assert not path.exists()


def test_rename_takes_the_place_of_another_if_told_so(folder: Path) -> None:
    path = folder / "a.hold"
    with Pool.create(path) as pool:
        for name in ("one", "two"):
            pool.create_table(name, value=8, device="cpu")
    assert "already" in holdfast("rename", f"{path}:one", "two", status=2).stderr
    holdfast("rename", f"{path}:one", "two", "--overwrite")
    assert [one.name for one in hf.inspect(path).objects] == ["two"]


@pytest.mark.parametrize("second", [False, True])
def test_a_demo_replaces_no_pool_but_its_own(second: bool, folder: Path) -> None:
    options = demo.Options(path=folder / "demo.hold", device="cpu", items=64, batch=8, kills=1, lines=64, own=True)
    path = demo.lines_path(options.path) if second else options.path
    a_pool(path)
    before = path.read_bytes()
    with pytest.raises(hf.PoolExists, match="no demo of yours made it"):
        demo.run(options)
    assert path.read_bytes() == before and len(list(folder.iterdir())) == 1


def test_a_demo_replaces_its_own_pools(folder: Path) -> None:
    options = demo.Options(path=folder / "demo.hold", device="cpu", items=64, batch=8, kills=1, lines=64, own=True)
    assert demo.run(options).ok and demo.run(options).ok
