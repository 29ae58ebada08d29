"""Whatever writes a file beside pools replaces nothing that is not of its kind, and says of which file an error is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_cli import holdfast

import holdfastdb as hf
from holdfastdb import Table


@pytest.fixture
def table(folder: Path) -> Iterator[Table]:
    with Table.create(folder / "t.hold", value=8, capacity=1000, device="cpu") as made:
        made.insert(range(100), [[i] for i in range(100)])
        made.sync()
        yield made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text("".join(f"{i},{i:016x}\n" for i in range(1000, 1010)))
    return path


def a_pool(path: Path) -> None:
    Table.create(path, value=8, device="cpu").close()


def notes(path: Path) -> None:
    path.write_text("mine: more than a line of a resume file has, and another\n")


OTHERS: list[tuple[str, Callable[[Path], object], type[hf.Error], str]] = [
    ("a pool", a_pool, hf.PoolExists, "is a pool"),
    ("a folder", Path.mkdir, hf.MediumError, "is a folder"),
    ("a FIFO", lambda path: os.mkfifo(path), hf.MediumError, "is a FIFO"),
    ("a device", lambda path: path.symlink_to("/dev/null"), hf.MediumError, "is a device"),
]
ids = pytest.mark.parametrize(("make", "error", "match"), [other[1:] for other in OTHERS], ids=[o[0] for o in OTHERS])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def state(path: Path) -> Any:
    return path.read_bytes() if path.is_file() else (path.is_symlink(), path.is_dir(), path.exists())


@ids
def test_a_dump_replaces_no(
    make: Callable[[Path], object], error: type[hf.Error], match: str, table: Table, tmp_path: Path
) -> None:
    for name in ("d.csv", "d.csv.partial", "d.csv.partial.resume"):
        make(tmp_path / name)
        before = state(tmp_path / name)
        with pytest.raises(error, match=match):
            hf.dump(table, tmp_path / "d.csv", overwrite=True)
        assert state(tmp_path / name) == before and names(tmp_path) == [name]
        subprocess.run(["rm", "-r", tmp_path / name], check=True)


def test_a_dump_replaces_not_the_pool_that_it_is_of(table: Table, tmp_path: Path) -> None:
    table.close()
    pool = Path(table.path)
    (tmp_path / "link").symlink_to(pool)
    before = pool.read_bytes()
    for target in (pool, tmp_path / "link"):
        error = holdfast("dump", pool, target, "--overwrite", "--format", "csv", status=2).stderr
        assert error == f"holdfast: {target} is the pool that is to be dumped: name another file\n"
    assert pool.read_bytes() == before and hf.check(pool).items == 100


def test_a_dump_spares_a_file_that_only_has_the_name_of_a_partial_one(table: Table, tmp_path: Path) -> None:
    notes(tmp_path / "d.csv.partial")
    with pytest.raises(hf.PoolExists, match=r"d\.csv\.partial exists, and no resume file"):
        hf.dump(table, tmp_path / "d.csv", resume=True)
    notes(tmp_path / "d.csv.partial.resume")
    with pytest.raises(hf.InvalidArgument, match="is no resume file"):
        hf.dump(table, tmp_path / "d.csv")
    for name in ("d.csv.partial", "d.csv.partial.resume"):
        assert (tmp_path / name).read_text().startswith("mine")


def test_a_dump_spares_what_came_meanwhile(table: Table, tmp_path: Path) -> None:
    target = tmp_path / "d.csv"

    def intrude(done: int, total: int) -> None:
        target.unlink(missing_ok=True)
        notes(target)

    for there in (False, True):
        if there:
            target.write_text("key,value\n")
        with pytest.raises(hf.PoolExists, match="was made or replaced by another process"):
            hf.dump(table, target, overwrite=True, progress=intrude)
        assert target.read_text().startswith("mine") and names(tmp_path) == ["d.csv"]
        target.unlink()


def test_two_dumps_to_one_file(table: Table, tmp_path: Path) -> None:
    target = tmp_path / "d.csv"
    refused: list[str] = []

    def another(done: int, total: int) -> None:
        with pytest.raises(hf.PoolInUse, match=r"d\.csv is being written by another dump") as raised:
            hf.dump(table, target, overwrite=True)
        refused.append(str(raised.value))

    assert hf.dump(table, target, progress=another).rows == 100 and refused
    assert len(target.read_text().splitlines()) == 101 and names(tmp_path) == ["d.csv"]


def test_a_dump_follows_a_link_and_replaces_what_it_leads_to(table: Table, tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    hf.dump(table, tmp_path / "link.csv", overwrite=True)
    assert (tmp_path / "link.csv").is_symlink() and len((tmp_path / "real.csv").read_text().splitlines()) == 101
    assert names(tmp_path) == ["link.csv", "real.csv"]


@ids
def test_a_resume_file_replaces_no(
    make: Callable[[Path], object], error: type[hf.Error], match: str, table: Table, source: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    make(kept)
    before = state(kept)
    for resume in (False, True):
        with pytest.raises(error, match=match):
            hf.load(table, source, resume_file=kept, resume=resume)
    assert state(kept) == before and len(table) == 100 and names(tmp_path) == ["in.csv", "kept"]


def test_a_resume_file_is_nobody_elses(table: Table, source: Path, tmp_path: Path) -> None:
    pool, text = Path(table.path), source.read_text()
    with pytest.raises(hf.PoolExists, match="is a pool"):
        hf.load(table, source, resume_file=pool)
    with pytest.raises(hf.InvalidArgument, match="is the file to be loaded"):
        hf.load(table, source, resume_file=source)
    notes(tmp_path / "notes")
    for resume in (False, True):
        with pytest.raises(hf.InvalidArgument, match="is no resume file"):
            hf.load(table, source, resume_file=tmp_path / "notes", resume=resume)
    table.close()
    assert "is no resume file" in holdfast("load", pool, source, "--resume-file", tmp_path / "notes", status=2).stderr
    assert source.read_text() == text and (tmp_path / "notes").read_text().startswith("mine")
    assert hf.check(pool).items == 100


def test_a_load_spares_what_took_the_place_of_its_resume_file(table: Table, source: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"

    def intrude(done: int, total: int) -> None:
        kept.unlink()
        notes(kept)

    with pytest.raises(hf.PoolExists, match="kept was made or replaced by another process"):
        hf.load(table, source, resume_file=kept, batch=3, progress=intrude)
    assert kept.read_text().startswith("mine") and names(tmp_path) == ["in.csv", "kept"]
    kept.unlink()
    hf.load(table, source, resume_file=kept, batch=100, progress=lambda *_: intrude(0, 0))
    assert kept.read_text().startswith("mine"), "at the end it removes its own alone"


def test_errors_say_which_file(table: Table, source: Path, tmp_path: Path) -> None:
    """Of a missing folder, and of a medium that is full (a limit on file sizes looks the same to the writer)."""
    with pytest.raises(hf.MediumError, match=r"no/d\.csv cannot be written: its folder does not exist"):
        hf.dump(table, tmp_path / "no" / "d.csv")
    with pytest.raises(hf.MediumError, match=r"no/kept cannot be written: its folder does not exist"):
        hf.load(table, source, resume_file=tmp_path / "no" / "kept")
    table.close()
    code = """
import resource, signal, sys, holdfastdb as hf
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with hf.Table.open(sys.argv[1], device="cpu", mode="r") as table:
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
    try:
        hf.dump(table, sys.argv[2])
    except hf.NoSpace as error:
        print(error)
"""
    target = tmp_path / "d.csv"
    done = subprocess.run([sys.executable, "-c", code, table.path, target], capture_output=True, text=True)
    assert done.stdout.startswith(f"{target} cannot be written: File too large; free space there"), done.stderr
    assert names(tmp_path) == ["in.csv"]


def test_a_full_medium_is_named(table: Table, tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this machine has no /dev/full")
    from holdfastdb.transfer.files import errors_of

    with pytest.raises(hf.NoSpace, match=r"d\.csv cannot be written: No space left on device; free space"):
        with errors_of(tmp_path / "d.csv"), full.open("wb", buffering=0) as file:
            file.write(b"x")
