"""What is open for reading only refuses each call that changes something, by every kind of object, and is unchanged."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfastdb as hf

KEYS = np.arange(4, dtype=np.uint64)
WIDE = np.zeros((4, 16), np.uint8)
ANY = [b"%d" % i for i in range(4)]
Calls = dict[str, Callable[..., Any]]


def calls_of(keys: Any, values: Any, key: Any, value: Any) -> Calls:
    """Each call of a table that changes something."""
    ops = np.full(4, hf.Op.INSERT_OR_ASSIGN, np.uint8)
    return {
        "insert": lambda table: table.insert(keys, values),
        "insert_or_assign": lambda table: table.insert_or_assign(keys, values),
        "assign": lambda table: table.assign(keys, values),
        "erase": lambda table: table.erase(keys),
        "accumulate": lambda table: table.accumulate(keys, values),
        "find_or_insert": lambda table: table.find_or_insert(keys, values),
        "insert_and_find": lambda table: table.insert_and_find(keys, values),
        "apply": lambda table: table.apply(ops, keys, values),
        "__setitem__": lambda table: table.__setitem__(key, value),
        "__delitem__": lambda table: table.__delitem__(key),
        "clear": lambda table: table.clear(),
        "reserve": lambda table: table.reserve(100_000),
        "erase_if": lambda table: table.erase_if(),
    }


FIXED = calls_of(KEYS, np.arange(4), 3, 7) | {
    "set step": lambda table: setattr(table, "step", 77),
    "find_or_insert, init": lambda table: table.find_or_insert(KEYS + 100, init=1, dtype="i8"),
    "load": lambda table: hf.load(table, Path(table.path).with_name("items.csv")),
    "_keep_layout": lambda table: table._keep_layout(table.layout),
}
COLUMN = {
    name: lambda table, name=name: getattr(table.column(0, 4), name)(KEYS, np.arange(4, dtype=np.int32))
    for name in ("insert", "insert_or_assign", "assign", "accumulate", "find_or_insert", "insert_and_find")
} | {"erase": lambda table: table.column(0, 4).erase(KEYS)}
OTHERS = ("accumulate", "erase_if")
TABLES: dict[str, tuple[dict[str, Any], Any, Any, Calls]] = {
    "fixed": ({"score": "step"}, KEYS, np.arange(4), FIXED),
    "column": ({}, KEYS, np.arange(4), COLUMN),
    "wide": ({"key": 16, "value": 16}, WIDE, WIDE, calls_of(WIDE, WIDE, bytes(16), bytes(16)) | {
        "accumulate": lambda table: table.accumulate(WIDE, np.zeros((4, 2), np.int64))
    }),
    "set": ({"value": 0}, KEYS, None, {
        "insert": lambda table: table.insert(KEYS), "erase": lambda table: table.erase(KEYS),
        "clear": lambda table: table.clear(),
    }),
    "any length": ({"key": bytes, "value": bytes}, ANY, ANY, {
        name: call for name, call in calls_of(ANY, ANY, b"3", b"x").items() if name not in OTHERS
    }),
}  # fmt: skip


def contents(table: hf.Table) -> Any:
    return sorted(table.items()), table.step, table.layout


@pytest.mark.parametrize("way", ["mode", "pool", "of a pool", "salvage"])
@pytest.mark.parametrize(("options", "keys", "values", "calls"), TABLES.values(), ids=TABLES)
def test_tables(folder: Path, options: dict[str, Any], keys: Any, values: Any, calls: Calls, way: str) -> None:
    path = folder / "items.hold"
    with hf.Table.create(path, device="cpu", **options) as table:
        table.insert(keys, values)
        before = contents(table)
    (folder / "items.csv").write_text("5,6\n")
    data = path.read_bytes()
    pool = None
    if way in ("mode", "salvage"):
        table = hf.Table.open(path, "cpu", "r", salvage=way == "salvage")
    else:
        pool = hf.Pool.open(path, "r" if way == "pool" else "r+")
        table = pool.table("table", "cpu", "r")
    for name, call in calls.items():
        with pytest.raises(hf.ReadOnly):
            call(table)
        assert contents(table) == before, name
    table.close()
    if pool is not None:
        pool.close()
    if way != "of a pool":
        assert path.read_bytes() == data
    with hf.Table.open(path, "cpu") as table:
        assert contents(table) == before


def test_pools(folder: Path) -> None:
    path = folder / "items.hold"
    with hf.Pool.create(path) as pool:
        for name in ("one", "two"):
            pool.create_table(name, device="cpu").close()
    data = path.read_bytes()
    with hf.Pool.open(path, "r") as pool:
        for call in (
            lambda: pool.create_table("three", device="cpu"),
            lambda: pool.create_table("one", device="cpu", overwrite=True),
            lambda: pool.table("one", "cpu", "r+"),
            lambda: pool.rename("one", "three"),
            lambda: pool.rename("one", "two", overwrite=True),
            lambda: pool.drop("one"),
            lambda: hf.Checkpoint(pool),
            lambda: hf.MemoryTable(capacity=8).to_table(pool, name="three"),
        ):
            with pytest.raises((hf.ReadOnly, hf.ObjectNotFound)):  # a checkpoint that is not there cannot be made
                call()
        assert [one.name for one in pool.objects] == ["one", "two"]
    assert path.read_bytes() == data


def test_checkpoints(folder: Path) -> None:
    path = folder / "state.hold"
    with hf.Checkpoint(path) as checkpoint:
        checkpoint.save({"a": KEYS}, 4).wait()
        checkpoint.export(folder / "state.safetensors")
    data = path.read_bytes()
    with hf.Checkpoint(path, mode="r") as checkpoint:
        with pytest.raises(hf.ReadOnly):
            checkpoint.save({"a": KEYS + 1}, 5)
        with pytest.raises(hf.ReadOnly):
            checkpoint.import_(folder / "state.safetensors")
        assert checkpoint.restore()[1] == 4
        with pytest.raises(ValueError, match="read-only"):
            checkpoint.restore()[0]["a"][0] = 9
    with pytest.raises(hf.InvalidArgument, match="saves nothing, so nothing drains"):
        hf.Checkpoint(path, mode="r", drain=folder / "drained.safetensors")
    assert path.read_bytes() == data


def test_embeddings(folder: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    import holdfastdb.torch as hft

    path = folder / "rows.hold"
    with hf.Table.create(path, value=8, device="cpu") as table:
        table.insert(KEYS, np.arange(4))
    with hf.Table.open(path, "cpu", "r") as table:
        embedding = hft.Embedding(table, 2)
        for call in (
            lambda: embedding(torch.arange(8)),
            lambda: embedding.import_weight(torch.zeros(4, 2)),
            lambda: torch.ops.holdfastdb.insert_or_assign(
                hft.handle(table), torch.arange(4), torch.zeros(4, 2), torch.float32
            ),
        ):
            with pytest.raises(hf.ReadOnly):
                call()
        assert len(table) == 4


READS = {
    "all", "any_length", "batches", "capacity", "check", "close", "closed", "column", "contains", "device",
    "export_batch", "export_if", "find", "get", "items", "key_bytes", "layout", "load_cache", "load_factor", "mode",
    "path", "score", "scores", "size", "size_if", "snapshot", "stats", "step", "sync", "value_bytes", "create", "open",
}  # fmt: skip
"""Public members of `Table` that change no item, besides those that make a table."""


def test_no_call_of_a_table_is_forgotten() -> None:
    members = {name for name, _ in inspect.getmembers(hf.Table) if not name.startswith("_")}
    assert members - READS == {name for name in FIXED if name.isidentifier() and not name.startswith("_")} - {"load"}
