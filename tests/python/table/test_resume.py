"""Loads and dumps that were killed, interrupted or out of room go on where they were, or say why not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import holdfast
from test_transfer import FORMATS, items, same, write

import holdfastdb as hf
from holdfastdb import Table


def test_no_space(folder: Path, tmp_path: Path) -> None:
    """A full medium: an error, what was loaded stays, and the load goes on when there is room."""
    code = """
import resource, sys, holdfastdb as hf
with hf.Table.open(sys.argv[1], device="cpu") as table:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, resource.RLIM_INFINITY))
    try:
        hf.load(table, sys.argv[2], value="int64", batch=1000)
    except hf.NoSpace as error:
        print(error)
"""
    path = write(tmp_path / "a.csv", "".join(f"{i},{i}\n" for i in range(400_000)))
    with Table.create(folder / "t.hold", value=8, capacity=1000, device="cpu"):
        pass
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder / "t.hold"), str(path)], capture_output=True, text=True
    )
    assert re.search(
        r"rows of .*a.csv found no space in .*t.hold: the pool has [\d.]+ MiB, and its medium, of", done.stdout
    ), done.stderr
    with Table.open(folder / "t.hold", device="cpu") as table:
        assert 0 < len(table) < 400_000
        report = hf.load(table, path, value="int64", resume=True)
        assert report.resumed and report.rows == 400_000 == len(table)


HEAD = "holdfast resume file, version 2\n"


def content_of(resume_file: Path) -> dict[str, Any]:
    text = resume_file.read_text()
    assert text.startswith(HEAD), "its first line says what it is"
    return dict(json.loads(text.removeprefix(HEAD)))


def rewrite(resume_file: Path, **content: object) -> None:
    resume_file.write_text(HEAD + json.dumps(content_of(resume_file) | content))


KILLED = """
import os, sys, holdfastdb as hf
table = hf.Table.open(sys.argv[1], device="cpu", mode=sys.argv[4])
calls = []
def progress(done, total):
    calls.append(done)
    if len(calls) == int(sys.argv[3]):
        os.kill(os.getpid(), 9)
if sys.argv[4] == "r+":
    hf.load(table, sys.argv[2], batch=1000, progress=progress, resume=True)
else:
    hf.dump(table, sys.argv[2], batch=1000, progress=progress, resume=True)
"""


def kill_at(call: int, pool: Path, path: Path, mode: str) -> None:
    child = subprocess.run([sys.executable, "-c", KILLED, str(pool), str(path), str(call), mode], capture_output=True)
    assert child.returncode == -9, child.stderr


@pytest.mark.parametrize("form", FORMATS)
def test_killed_loads_go_on(form: str, folder: Path, tmp_path: Path) -> None:
    with Table.create(folder / "from.hold", value=16, capacity=10_000, device="cpu") as source:
        source.insert(range(10_000), np.arange(20_000).reshape(-1, 2))
        path = tmp_path / f"a.{form}"
        hf.dump(source, path)
        expected = items(source)
    pool = folder / "t.hold"
    with Table.create(pool, value=16, device="cpu"):
        pass
    for _ in range(2):
        kill_at(3, pool, path, "r+")
    left = next(p for p in tmp_path.iterdir() if p.suffix == ".resume")
    assert content_of(left)["counts"]["rows"] == 6000
    seen: list[int] = []
    with Table.open(pool, device="cpu") as table:
        assert len(table) == 6000
        report = hf.load(table, path, batch=1000, resume=True, progress=lambda done, total: seen.append(done))
        assert report.resumed and report.rows == report.inserted == 10_000 and len(seen) == 4
        assert items(table) == expected and table.check().ok
    assert list(tmp_path.iterdir()) == [path]


def test_a_resume_file_is_of_one_pool_one_file_and_one_run(folder: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "".join(f"{i},{i:016x}\n" for i in range(10_000)))
    pool, kept = folder / "t.hold", tmp_path / "kept"
    with Table.create(pool, value=8, device="cpu"):
        pass
    kill_at(3, pool, path, "r+")
    left = next(p for p in tmp_path.iterdir() if p.suffix == ".resume")
    left.rename(kept)
    assert content_of(kept)["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def resume(table: Table, **options: object) -> hf.LoadReport:
        return hf.load(table, path, resume=True, resume_file=kept, **options)  # type: ignore[arg-type]

    with Table.open(pool, device="cpu") as table:
        table.snapshot(folder / "s.hold")
        with pytest.raises(hf.InvalidArgument, match="another value"):
            resume(table, value="int64")
        with Table.open(folder / "s.hold", device="cpu") as other, pytest.raises(hf.InvalidArgument, match="pool id"):
            resume(other)
        kept_text = kept.read_text()
        rewrite(kept, boot_id="another")
        with pytest.raises(hf.InvalidArgument, match="machine restarted"):
            resume(table)
        for text, why in (
            ("{}", "no resume file"),
            (HEAD, "damaged"),
            (HEAD + "[]", "damaged"),
            (HEAD + "{", "damaged"),
        ):
            kept.write_text(text)
            with pytest.raises(hf.InvalidArgument, match=why):
                resume(table)
            assert kept.read_text() == text
        kept.write_text(kept_text)
        text = path.read_text()
        path.write_text("9" + text)
        with pytest.raises(hf.InvalidArgument, match="no longer begins"):
            resume(table)
        path.write_text(text + f"10000,{1:016x}\n")  # what is behind may change
        assert resume(table).rows == 10_001 == len(table)
        assert not kept.exists()


def test_a_resume_file_where_the_command_line_says(folder: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"1,{1:016x}\n2,two\n3,{3:016x}\n")
    pool, kept = folder / "t.hold", tmp_path / "kept"
    with Table.create(pool, value=8, device="cpu"):
        pass
    holdfast("load", pool, path, "--resume-file", kept, status=2)
    assert content_of(kept)["counts"]["rows"] == 1
    write(path, path.read_text().replace("two", f"{2:016x}"))
    assert "3 inserted" in (done := holdfast("load", pool, path, "--resume", "--resume-file", kept).stdout)
    assert "(resumed)" in done and not kept.exists()


def test_an_interrupted_load_goes_on_after_a_restart(folder: Path, tmp_path: Path) -> None:
    table = Table.create(folder / "t.hold", value=8, device="cpu")
    path = write(tmp_path / "a.csv", "".join(f"{i},{i:016x}\n" for i in range(10)))

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hf.load(table, path, batch=4, progress=interrupt)
    assert len(table) == 4 and hf.inspect(table.path).objects[0].clean
    left = next(p for p in tmp_path.iterdir() if p.suffix == ".resume")
    rewrite(left, boot_id="another")
    assert hf.load(table, path, resume=True).rows == 10 == len(table)
    table.close()


def test_killed_dumps_go_on(folder: Path, tmp_path: Path) -> None:
    pool, path = folder / "t.hold", tmp_path / "d.csv"
    with Table.create(pool, value=8, capacity=10_000, device="cpu") as table:
        table.insert(range(10_000), np.arange(10_000))
    for _ in range(2):
        kill_at(3, pool, path, "r")
        assert not path.exists()
    with Table.open(pool, device="cpu", mode="r") as table:
        report = hf.dump(table, path, batch=1000, resume=True)
        assert report.resumed and report.rows == 10_000
        same(folder, table, path)
    assert list(tmp_path.iterdir()) == [path]
    kill_at(1, pool, path := tmp_path / "first.csv", "r")
    rewrite(tmp_path / "first.csv.partial.resume", cursor=0, bytes=0, rows=0)  # killed before the first batch
    with Table.open(pool, device="cpu", mode="r") as table:
        assert not hf.dump(table, path, resume=True).resumed
        same(folder, table, path)
    kill_at(3, pool, tmp_path / "e.csv", "r")
    with Table.open(pool, device="cpu") as table:
        table.insert([20_000], [1])
    with Table.open(pool, device="cpu", mode="r") as table:  # changed since: from the start
        report = hf.dump(table, tmp_path / "e.csv", resume=True)
        assert not report.resumed and report.rows == 10_001
        same(folder, table, tmp_path / "e.csv")
