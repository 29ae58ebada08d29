"""Snapshots from Python and by the command: while searches run, interrupted, killed, refused."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE_S, Machine, Make
from test_cli import RUN, as_json, holdfast, killed

import holdfastdb as hf
from holdfastdb import Table

KEYS = np.arange(50_000, dtype=np.uint64)


def rows(version: int) -> np.ndarray:
    return np.repeat((KEYS * 1000 + version)[:, None], 8, axis=1)


def test_a_snapshot_is_the_table(machine: Machine, make: Make, tmp_path: Path) -> None:
    """From every machine, with arrays of every kind, to an ordinary file, opened on every machine."""
    checked = make(machine, value=64, capacity=100)
    checked.run(hf.Op.INSERT, KEYS[:5000], rows(1)[:5000].view(np.uint8))
    checked.run(hf.Op.ERASE, KEYS[100:900])
    seen: list[tuple[int, int]] = []
    report = checked.table.snapshot(tmp_path / "s.hold", progress=lambda done, total: seen.append((done, total)))
    assert report.items == 4200 == len(checked.table)
    assert seen[0] == (0, report.bytes) and seen[-1] == (report.bytes, report.bytes)
    assert 0 < report.written <= report.bytes and 0 < report.held_ms <= report.total_ms
    assert [p.name for p in tmp_path.iterdir()] == ["s.hold"]
    assert (tmp_path / "s.hold").stat().st_mode & 0o777 == 0o600
    info = hf.inspect(tmp_path / "s.hold")
    assert info.objects[0].clean and info.pool_id != hf.inspect(checked.table.path).pool_id
    assert hf.check(tmp_path / "s.hold").ok
    with Table.open(tmp_path / "s.hold", device="cpu") as copy:
        assert dict(copy.items()) == checked.model.items
    beside = Path(checked.table.path).with_suffix(".copy")
    checked.table.snapshot(beside)
    with Table.open(beside, device=machine.device) as copy:
        assert dict(copy.items()) == checked.model.items and copy.check().ok
    checked.agree()


def test_between_two_batches(device: str, make: Make, tmp_path: Path) -> None:
    """Writers and readers go on; each snapshot holds one version of everything."""
    table = make(Machine(device), value=64, capacity=len(KEYS)).table
    table.insert(KEYS, rows(0))
    stop = threading.Event()

    def write() -> int:
        version = 0
        while not (stop.is_set() and version):
            version += 1
            table.insert_or_assign(KEYS, rows(version))
        return version

    def read() -> int:
        count = 0
        while not (stop.is_set() and count):
            values, found = table.find(KEYS[:1000], dtype=np.uint64)
            assert found.all() and (values == values[:, :1]).all()
            count += 1
        return count

    with ThreadPoolExecutor(2) as pool:
        writer, reader = pool.submit(write), pool.submit(read)
        try:
            for number in range(4):
                table.snapshot(tmp_path / f"{number}.hold")
        finally:
            stop.set()
        assert writer.result() > 0 and reader.result() > 0
    last = 0
    for number in range(4):
        with Table.open(tmp_path / f"{number}.hold", device="cpu", mode="r") as copy:
            values, found = copy.find(KEYS, dtype=np.uint64)
            versions = values - KEYS[:, None] * np.uint64(1000)
            assert found.all() and (versions == versions[0, 0]).all()
            assert versions[0, 0] >= last
            last = int(versions[0, 0])


def test_searches_in_its_progress(device: str, make: Make, tmp_path: Path) -> None:
    checked = make(Machine(device), value=8)
    table = checked.table
    table.insert(KEYS[:100], KEYS[:100])
    found: list[bool] = []
    table.snapshot(tmp_path / "s.hold", progress=lambda *_: found.append(7 in table and len(table) == 100))
    assert found and all(found)


def test_what_progress_raises_ends_it(device: str, make: Make, tmp_path: Path) -> None:
    table = make(Machine(device), value=8).table
    table.insert([1], [2])

    def fail(done: int, total: int) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        table.snapshot(tmp_path / "s.hold", progress=fail)
    assert list(tmp_path.iterdir()) == []
    table.insert([3], [4])
    assert len(table) == 2


def test_refusals(device: str, make: Make, tmp_path: Path) -> None:
    table = make(Machine(device), value=8).table
    there = tmp_path / "there"
    there.write_text("precious")
    with pytest.raises(hf.PoolExists, match="exists already"):
        table.snapshot(there)
    with pytest.raises(hf.ObjectInUse, match="source and target are one file"):
        table.snapshot(table.path, overwrite=True)
    with pytest.raises(hf.MediumError, match="folder"):
        table.snapshot(tmp_path / "no" / "s.hold")
    with pytest.raises(hf.InvalidType, match="progress"):
        table.snapshot(tmp_path / "s.hold", progress=3)  # type: ignore[arg-type]
    with pytest.raises(hf.InvalidType, match="path"):
        table.snapshot(3)  # type: ignore[arg-type]
    assert there.read_text() == "precious" and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(hf.PoolExists, match="is no pool"):
        table.snapshot(there, overwrite=True)
    assert there.read_text() == "precious"
    there.write_text("")
    table.snapshot(there, overwrite=True)
    assert hf.check(there).ok
    table.close()
    with pytest.raises(hf.ObjectClosed):
        table.snapshot(tmp_path / "s.hold")


def test_the_command(folder: Path, tmp_path: Path) -> None:
    killed(folder / "x.hold")
    done = holdfast("snapshot", folder / "x.hold", tmp_path / "s.hold")
    assert "500 items" in done.stdout and done.stderr == ""
    assert as_json("check", tmp_path / "s.hold")["items"] == 500
    assert as_json("info", folder / "x.hold")["objects"][0]["clean"]
    error = holdfast("snapshot", folder / "x.hold", tmp_path / "s.hold", status=2).stderr
    assert error.startswith("holdfast: ") and error.count("\n") == 1 and "exists already" in error
    report = as_json("snapshot", folder / "x.hold", tmp_path / "s.hold", "--overwrite")
    assert report["items"] == 500 and report["path"] == str(tmp_path / "s.hold")
    with Table.open(folder / "x.hold", device="cpu"):
        assert "is open" in holdfast("snapshot", folder / "x.hold", tmp_path / "t.hold", status=2).stderr
    assert [p.name for p in tmp_path.iterdir()] == ["s.hold"]


@pytest.mark.parametrize("kind", ["slots", "cells", "scores", "wide", "any"])
def test_is_as_small_as_its_items(kind: str, folder: Path, tmp_path: Path) -> None:
    """Of 60,000 items 10 are left: by `Table.snapshot`, `Pool.snapshot` of a closed table, and the command."""
    key: int | type[bytes] = {"wide": 32, "any": bytes}.get(kind, 8)
    value: int | type[bytes] = {"slots": 8, "any": bytes}.get(kind, 24)
    options: dict[str, Any] = {"score": "step"} if kind == "scores" else {}
    numbers = np.arange(60_000, dtype=np.uint64)
    if kind == "any":
        keys: Any = [b"key %d" % i for i in numbers]
        values: Any = [b"v" * (i % 50) for i in range(len(keys))]
    else:
        keys = numbers if key == 8 else np.repeat(numbers[:, None], 4, axis=1).view(np.uint8)
        values = np.repeat(numbers[:, None], 1 if value == 8 else 3, axis=1)
    source, copies = folder / "x.hold", [tmp_path / name for name in ("table", "pool", "command")]
    with Table.create(source, key=key, value=value, device="cpu", **options) as table:
        if options:
            table.step = 5
        table.insert(keys, values)
        table.erase(keys[10:])
        items = dict(table.items())
        assert table.snapshot(copies[0]).items == len(items) == 10
    with hf.Pool.open(source) as pool:
        pool.snapshot(copies[1])
    holdfast("snapshot", source, copies[2])
    assert source.stat().st_size > (5_000_000 if kind == "any" else 1_500_000)
    for copy in copies:
        assert copy.stat().st_size < (5_000_000 if kind == "any" else 600_000)
        with Table.open(copy, device="cpu") as small:
            assert dict(small.items()) == items and small.check().ok
            if options:
                assert small.step == 5 and (small.scores(keys[:10])[0] == 5).all()
            small.insert(keys, values)  # it grows as any other
            assert len(small) == len(keys) and small.check().ok


INTERRUPTED = """
import os, signal, sys
import numpy as np
import holdfastdb as hf
signal.signal(signal.SIGINT, signal.default_int_handler)
table = hf.Table.create(sys.argv[1], value=64, capacity=100_000, device="cpu")
table.insert(np.arange(100_000), np.ones((100_000, 64), np.uint8))
try:
    table.snapshot(sys.argv[2], progress=lambda done, total: os.kill(os.getpid(), getattr(signal, sys.argv[3])))
except KeyboardInterrupt:
    assert os.listdir(os.path.dirname(sys.argv[2])) == []
    table.insert([1 << 60], np.zeros((1, 64), np.uint8))
    assert len(table) == 100_001 and table.check().ok
    print("interrupted")
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_interrupted_or_killed(name: str, folder: Path, tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(folder / "x.hold"), str(tmp_path / "s.hold"), name],
        capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert child.returncode == (0 if name == "SIGINT" else -9), child.stderr
    assert child.stdout == ("interrupted\n" if name == "SIGINT" else "")
    assert not (tmp_path / "s.hold").exists()
    assert hf.check(folder / "x.hold", repair=True).ok


def test_interrupting_the_command(folder: Path, tmp_path: Path) -> None:
    """Ctrl-C while it copies: the whole snapshot or none, and no traceback."""
    with Table.create(folder / "x.hold", value=1000, capacity=100_000, device="cpu") as table:
        table.insert(np.arange(100_000), np.full((100_000, 1000), 1, np.uint8))
    command = [*RUN, "snapshot", str(folder / "x.hold"), str(tmp_path / "s")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        while child.poll() is None and not any(tmp_path.iterdir()):
            time.sleep(0.001)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=PATIENCE_S)
    left = [p.name for p in tmp_path.iterdir()]
    assert left in ([], ["s"]), left
    # A signal that comes when all is done meets an interpreter that is closing down, which may say so.
    assert "Traceback" not in errors or left
    if left:
        assert hf.check(tmp_path / "s").items == 100_000
