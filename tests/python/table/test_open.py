"""Opening a pool that may not be there, `Table.open(create=True)`, and the options of creating and opening."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE_S

import holdfastdb as hf
from holdfastdb import Table, _native, opening


def test_creates_and_then_opens(folder: Path, device: str) -> None:
    path = folder / "t.hold"
    with Table.open(path, device, create=True, key=16, value=4, capacity=50_000, score="step") as made:
        assert (made.key_bytes, made.value_bytes, made.score, made.mode) == (16, 4, "step", "r+")
        assert made.capacity >= 50_000
        made.insert([b"k" * 16], [b"four"])
    with Table.open(path, device, create=True) as found:
        assert found[b"k" * 16] == b"four" and found.value_bytes == 4
    with Table.open(folder / "any.hold", device, create=True, key=bytes, value=bytes) as made:
        assert made.any_length


def test_sizes_must_agree(folder: Path) -> None:
    path = folder / "t.hold"
    Table.create(path, value=16, device="cpu").close()
    with pytest.raises(hf.PoolMismatch, match="16"):
        Table.open(path, create=True, value=8, device="cpu")
    Table.open(path, create=True, value=16, capacity=1, device="cpu").close()


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"mode": "r"}, hf.InvalidArgument, "create=True is given with mode='r'"),
    ({"capacity": -1}, hf.InvalidArgument, "capacity is -1"),
    ({"capacty": 5}, TypeError, "capacty"),
    ({"overwrite": True}, TypeError, "overwrite"),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD)
def test_refused(folder: Path, options: dict[str, Any], error: type[Exception], message: str) -> None:
    path = folder / "t.hold"
    for _ in range(2):  # whether it is there or not
        there = path.exists()
        with pytest.raises(error, match=message):
            Table.open(path, create=True, **options)
        assert path.exists() == there
        Table.create(path, device="cpu", overwrite=True).close()
    with pytest.raises(TypeError, match="capacity"):
        Table.open(path, capacity=5)  # type: ignore[call-overload]


class _Native:
    """A native table that others create, or remove, between two calls."""

    def __init__(self, says: list[Exception | str]) -> None:
        self.says = says

    def _next(self, *_: Any) -> str:
        said = self.says.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    open = create = _next


def test_a_lost_race(monkeypatch: pytest.MonkeyPatch) -> None:
    missing, there = hf.PoolNotFound("none"), hf.PoolExists("there")
    monkeypatch.setattr(opening, "NativeTable", _Native([missing, there, "opened"]))
    options: Any = None
    assert opening._open_or_create("t", options, options) == "opened"
    endless = _Native([missing, there] * 9)
    monkeypatch.setattr(opening, "NativeTable", endless)
    with pytest.raises(hf.PoolExists):
        opening._open_or_create("t", options, options)
    assert len(endless.says) == 12


def test_a_pool_whose_table_was_dropped(folder: Path) -> None:
    path = folder / "t.hold"
    for value in (8, 16):  # the new table may differ from the old one
        with pytest.raises(hf.PoolNotFound if value == 8 else hf.ObjectNotFound, match="create"):
            Table.open(path, "cpu")
        with Table.open(path, "cpu", create=True, value=value) as table:
            assert table.value_bytes == value and table.path == str(path)
            table.insert([1], [bytes(value)])
        with hf.Pool.open(path) as pool:
            pool.drop(pool.objects[0].name)
    with hf.Pool.create(folder / "empty.hold"):
        pass
    with Table.open(folder / "empty.hold", "cpu", create=True) as table:
        assert len(table) == 0


def test_a_link_to_nothing(folder: Path) -> None:
    (folder / "link.hold").symlink_to(folder / "none.hold")
    with pytest.raises(hf.Error):
        Table.open(folder / "link.hold", create=True, device="cpu")


def test_many_processes_begin_at_once(folder: Path) -> None:
    code = """
import sys, time, holdfastdb as hf
while True:
    try:
        with hf.Table.open(sys.argv[1], "cpu", create=True, value=8) as table:
            table.accumulate([1], [1])
        break
    except hf.PoolInUse:
        time.sleep(0.01)
"""
    command = [sys.executable, "-c", code, str(folder / "t.hold")]
    running = [subprocess.Popen(command) for _ in range(4)]
    assert [one.wait(PATIENCE_S) for one in running] == [0] * 4
    with Table.open(folder / "t.hold", "cpu") as table:
        assert int.from_bytes(table[1], "little") == 4


WORK: dict[str, Any] = {
    "threads": 3,
    "moves": False,
    "shared_bias": 5,
    "flush": True,
    "verify": True,
    "gpu": hf.Gpu(memory=7, bucket_cache=0.5, value_cache=0.25, value_memory=9, cache_policy="lru"),
}
CREATE = {**WORK, "levels": 3, "hash_locations": 1, "slots": 4, "seed": 11, "max_bytes": 13, "score": "time"}
OPEN = {**WORK, "key": 16, "value": 24, "salvage": True}


def members(record: Any) -> dict[str, Any]:
    """The members of a native record and of the records in it, by their paths."""
    found: dict[str, Any] = {}
    for name in (name for name in dir(record) if not name.startswith("_")):
        value = getattr(record, name)
        inner = type(value).__module__ == "holdfastdb._native"
        found |= {f"{name}.{path}": one for path, one in members(value).items()} if inner else {name: value}
    return found


@pytest.mark.parametrize(
    "made",
    [opening.create_options(16, 32, 99, "cpu", True, **CREATE), opening.open_options("cpu", "r", **OPEN)],
    ids=["create", "open"],
)
def test_every_member_is_set(made: Any) -> None:
    default = members(type(made)())
    assert [path for path, value in members(made).items() if value == default[path]] == []


def test_defaults_are_those_of_the_record() -> None:
    size = opening.default_capacity
    default = members(_native.CreateOptions())
    assert members(opening.create_options(8, 8, size, "auto", False)) == default
    assert members(opening.open_options("auto", "r+")) == members(_native.OpenOptions())


@pytest.mark.parametrize(("known", "given"), [(opening.CreateOptions, CREATE), (opening.OpenOptions, OPEN)])
def test_every_option_is_described(known: Any, given: dict[str, Any]) -> None:
    assert known.__annotations__.keys() == given.keys()
    call = hf.Table.create if known is opening.CreateOptions else hf.Table.open
    listed = set(re.findall(r"^        ([a-z_, ]+)$", call.__doc__ or "", re.MULTILINE))
    assert given.keys() <= {name for line in listed for name in line.split(", ")}
