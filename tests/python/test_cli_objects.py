"""The command line on pools of several tables: POOL:NAME, drop, rename, and what asks for a name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_cli import about_table, as_json, holdfast

import holdfastdb as hf
from holdfastdb import Pool, PoolCorrupt, Table


def test_several_tables(folder: Path) -> None:
    pool = folder / "a.hold"
    for name, value in (("users", 16), ("items", 8)):
        made = as_json("create", f"{pool}:{name}", "--value", value, "--device", "cpu")
        assert made["path"] == f"{pool}:{name}" and made["slots"] >= 4096
    assert "already" in holdfast("create", f"{pool}:users", status=2).stderr
    holdfast("put", f"{pool}:users", 1, "hello")
    assert holdfast("get", f"{pool}:users", 1).stdout == "hello\n"
    assert holdfast("get", f"{pool}:items", 1, status=1).stdout == "1: not found\n"
    assert [one["name"] for one in as_json("info", pool)["objects"]] == ["users", "items"]
    assert [one["name"] for one in as_json("info", f"{pool}:items")["objects"]] == ["items"]
    lines = holdfast("info", pool).stdout.splitlines()
    assert ": pool version 5, 2 tables, " in lines[0] and lines[1].startswith("medium ")
    assert [line.split()[:5] for line in lines[2:]] == [
        ["name", "type", "key", "+", "value"],
        ["users", "table", "8", "+", "16"],
        ["items", "table", "8", "+", "8"],
    ]
    assert ":items: pool version 5, 1 table, " in holdfast("info", f"{pool}:items").stdout
    assert as_json("check", pool)["items"] == 1 and as_json("check", f"{pool}:items")["items"] == 0
    assert as_json("stats", f"{pool}:users")["size"] == 1
    assert as_json("recover", pool)["items"] == 1 and as_json("recover", f"{pool}:items")["items"] == 0
    out = folder / "out.csv"
    assert as_json("recover", f"{pool}:users", "--salvage", out)["items"] == 1
    assert as_json("load", f"{pool}:users", out)["updated"] == 1
    assert as_json("dump", f"{pool}:users", out, "--overwrite")["rows"] == 1
    assert as_json("snapshot", pool, folder / "copy.hold")["items"] == 1
    assert len(as_json("info", folder / "copy.hold")["objects"]) == 2
    assert holdfast("rename", f"{pool}:users", "people").stdout == f"{pool}:users is {pool}:people now\n"
    holdfast("drop", f"{pool}:items")
    assert holdfast("get", pool, 1).stdout == "hello\n", "its only table needs no name"
    holdfast("create", f"{pool}:people", "--value", 8, "--overwrite", "--device", "cpu")
    assert as_json("check", pool)["items"] == 0 and about_table(pool)["value_bytes"] == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["get", "POOL", "1"], "has the objects one and two: open it as a pool"),
        (["put", "POOL", "1"], "POOL:NAME"),
        (["load", "POOL", "x.csv"], "the objects one and two"),
        (["dump", "POOL", "x.csv"], "the objects one and two"),
        (["stats", "POOL"], "the objects one and two"),
        (["recover", "POOL", "--salvage", "x.csv"], "the objects one and two"),
        (["get", "POOL:three", "1"], 'no object "three"; it has the objects one and two'),
        (["info", "POOL:three"], 'no object "three"; it has the objects one and two'),
        (["check", "POOL:three"], 'no object "three"'),
        (["drop", "POOL:three"], 'no object "three"'),
        (["drop", "POOL"], "give POOL:NAME; it has the objects one and two"),
        (["rename", "POOL", "x"], "give POOL:NAME"),
        (["rename", "POOL:one", "two"], "already"),
        (["rename", "POOL:one", "a:b"], "has a ':' in it"),
        (["create", "POOL:"], "the name is empty"),
        (["create", "y.hold:"], "the name is empty"),
        (["create", "y.hold:one", "--device", "tpu"], "tpu"),
        (["info", "nowhere.hold:one"], "nowhere.hold"),
        (["snapshot", "POOL:one", "x.hold"], "snapshot copies a whole pool: give a.hold"),
    ],
)
def test_errors_of_several_tables(folder: Path, arguments: list[str], message: str) -> None:
    """One line, and nothing made or changed."""
    with Pool.create(folder / "a.hold") as pool:
        for name in ("one", "two"):
            pool.create_table(name, value=16, device="cpu")
    before = (folder / "a.hold").read_bytes()
    done = holdfast(*[a.replace("POOL", "a.hold") for a in arguments], status=2, folder=folder)
    assert done.stdout == "" and message in done.stderr
    assert done.stderr.startswith("holdfast: ") and len(done.stderr.splitlines()) == 1
    assert [p.name for p in folder.iterdir()] == ["a.hold"]
    assert [one.name for one in hf.inspect(folder / "a.hold").objects] == ["one", "two"]
    if arguments[0] not in ("put", "drop", "rename", "create"):  # those open it for changes
        assert (folder / "a.hold").read_bytes() == before


def test_a_colon_in_a_path(folder: Path) -> None:
    """What exists is a path, and so is what has a slash behind the colon."""
    (folder / "c:d").mkdir()
    for path in (folder / "a:b.hold", folder / "c:d" / "x.hold"):
        Table.create(path, device="cpu").close()
        assert about_table(path)["key_bytes"] == 8
        holdfast("create", f"{path}:two", "--device", "cpu")
        assert len(as_json("info", path)["objects"]) == 2
    holdfast("create", folder / "c:d" / "y.hold", "--device", "cpu")
    assert (folder / "c:d" / "y.hold").is_file()


def test_check_tells_of_each_table(folder: Path) -> None:
    """One of two is damaged: it is named, and the other is in order, by itself too."""
    path = folder / "a.hold"
    with Pool.create(path) as pool:
        for name in ("one", "two"):
            table = pool.create_table(name, value=16, capacity=1000, device="cpu")
            table.insert(np.arange(1, 501), np.ones((500, 16), np.uint8))
    levels = [e for e in hf.inspect(path).objects[1].extents if e.kind.startswith("level")]
    level = max(levels, key=lambda extent: extent.bytes)
    data = bytearray(path.read_bytes())
    slots = np.frombuffer(data, np.uint64, level.bytes // 8, level.offset).reshape(-1, 2)
    taken = np.flatnonzero(slots[:, 0])
    slots[taken[0], 1] = slots[taken[1], 1]
    path.write_bytes(data)
    report = as_json("check", path, status=1)
    assert report["items"] >= 500 and all(error.startswith(f"{path}:two") for error in report["errors"])
    assert as_json("check", f"{path}:one")["ok"] and not as_json("check", f"{path}:two", status=1)["ok"]
    with Pool.open(path) as pool:
        assert len(pool.table("one")) == 500
        with pytest.raises(PoolCorrupt, match=r"a\.hold:two"):
            pool.table("two")


def test_the_package_runs_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "holdfastdb", "load", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "holdfast load" in done.stdout and "holdfastdb[arrow]" in done.stdout


def test_keys_that_are_not_utf8_are_printed_as_they_were_given(folder: Path) -> None:
    Table.create(folder / "any.hold", bytes, bytes, device="cpu").close()
    for words, status, printed in (
        (["put", "any.hold", b"a\xffb", "x"], 0, b"a\xffb: inserted\n"),
        (["get", "any.hold", b"a\xff"], 1, b"a\xff: not found\n"),
        (["del", "any.hold", b"a\xffb"], 0, b"a\xffb: erased\n"),
    ):
        command = [sys.executable, "-m", "holdfastdb", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (status, printed, b"")
