"""What hostile calls work on: a folder with files of every kind, and an object of each public class."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import holdfastdb as hf
from holdfastdb import kmers

try:
    import torch

    import holdfastdb.torch as hft
    import holdfastdb.torch.distributed as hfd
except ImportError:
    torch = hft = hfd = None  # type: ignore[assignment]

TEMPLATE = Path(tempfile.gettempdir()) / "holdfast-hostile-template"
"""Set by who runs cases: a folder that `World.prepare` has filled."""


class World:
    """A folder with files of every kind, and objects that are made when a call asks for them."""

    def __init__(self, template: Path, folder: Path) -> None:
        self._template, self.folder = template, folder
        self._made: dict[str, Any] = {}

    @staticmethod
    def prepare(template: Path) -> None:
        """Files that every case begins with: opened ones are copied first."""
        template.mkdir()
        keys = np.arange(8, dtype=np.uint64)
        for name, shape, rows, given in (
            ("table", {"score": "step"}, keys, keys),
            ("wide", {"key": 16, "value": 16}, np.zeros((8, 16), np.uint8), keys.repeat(2).reshape(8, 2)),
            ("any", {"key": bytes, "value": bytes}, [b"%d" % i for i in range(8)], [b"x"] * 8),
        ):
            if name == "wide":
                rows[:, 0] = keys
            with hf.Table.create(template / f"{name}.hold", capacity=64, device="cpu", **shape) as table:
                table.insert(rows, given)
        with hf.Pool.create(template / "pool.hold") as pool:
            for name in ("first", "second"):
                with pool.create_table(name, capacity=64, device="cpu") as table:
                    table.insert(keys, keys)
            with hf.Checkpoint(pool) as checkpoint:
                checkpoint.save({"a": np.arange(3.0), "n": 1}, 5).wait()
                checkpoint.export(template / "state.safetensors")
        with hf.Store(template / "store.hold") as store:
            store.set_many([b"%d" % i for i in range(8)], [b"%d" % i for i in range(8)])
        with hf.Table.open(template / "table.hold", device="cpu") as table:
            hf.dump(table, template / "table.csv")
        (template / "reads.fa").write_text(">a\nACGTACGTACGTTTGA\n")
        kmers.write(kmers.count(template / "reads.fa", k=4, threads=1), template / "kmers.txt")
        if torch is not None:
            _save_distributed(template / "{rank}.hold")

    def file(self, name: str) -> Path:
        """A copy of one of them."""
        if not (self.folder / name).exists():
            shutil.copy(self._template / name, self.folder / name)
        return self.folder / name

    def get(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = MAKE[name](self)
        return self._made[name]

    def unharmed(self) -> None:
        """The tables that a case used work, and have no error."""
        for made in list(self._made.values()):
            if isinstance(made, hf.Table | hf.Store) and not made.closed:
                report = made.check()
                assert report.ok, report.errors
        for made in list(self._made.values()):
            if isinstance(made, hf.StoreReservation | hf.StoreLease):
                made.__exit__(None, None, None)
        for made in list(self._made.values()):
            if hasattr(made, "close"):
                made.close()
        self._made.clear()


def _save_distributed(path: Path) -> None:
    import torch.distributed.checkpoint as dcp

    with warnings.catch_warnings(), hfd.PoolWriter(path) as writer:
        warnings.simplefilter("ignore")
        dcp.save({"weight": torch.ones(2)}, storage_writer=writer, checkpoint_id="7", no_dist=True)


def _closed(kind: str) -> Callable[[World], Any]:
    def make(world: World) -> Any:
        world.get(kind).close()
        return world.get(kind)

    return make


def _table(name: str, **how: Any) -> Callable[[World], hf.Table]:
    return lambda world: hf.Table.open(world.file(f"{name}.hold"), "cpu", **how)


def _embedding(world: World) -> Any:
    made = hf.Table.create(world.folder / "embedding.hold", value=12, capacity=64, device="cpu")
    world._made["embedding table"] = made
    return hft.Embedding(made.column(0, 8), 2)


def _rows(world: World) -> Any:
    embedding = world.get("Embedding")
    embedding(torch.arange(4)).sum().backward()
    return embedding.rows


def more_rows(world: World) -> Any:
    """A parameter that no optimizer has yet."""
    return hft.Embedding(world.get("Embedding").table.table.column(0, 4), 1).rows


def _blocks(world: World) -> hf.Store:
    store = world.get("Store")
    store.set_many([b"block", b"2"], [bytes(16)] * 2)
    return store


MAKE: dict[str, Callable[[World], Any]] = {
    "Table": _table("table"),
    "Table, wide": _table("wide"),
    "Table, any length": _table("any"),
    "Table, read-only": _table("table", mode="r"),
    "Table, closed": _closed("Table"),
    "Column": lambda world: world.get("Table").column(0, 4),
    "MemoryTable": lambda _: hf.MemoryTable(capacity=64),
    "Pool": lambda world: hf.Pool.open(world.file("pool.hold")),
    "Pool, closed": _closed("Pool"),
    "Checkpoint": lambda world: hf.Checkpoint(world.file("pool.hold")),
    "Checkpoint, closed": _closed("Checkpoint"),
    "Store": lambda world: hf.Store(world.file("store.hold")),
    "Store, read-only": lambda world: hf.Store(world.file("store.hold"), mode="r"),
    "Store, closed": _closed("Store"),
    "StoreReservation": lambda world: world.get("Store").reserve([b"3", b"30"], 16),
    "StoreLease": lambda world: _blocks(world).lease([b"block", b"2", b"none"]),
    "StoreTransfer": lambda world: world.get("StoreReservation").copy_in([np.zeros(8, np.uint8)] * 2),
    "SaveTicket": lambda world: world.get("Checkpoint").save({"a": 1}, 6),
    "Counts": lambda world: kmers.count(world.file("reads.fa"), k=4, threads=1),
    "CountFile": lambda world: kmers.CountFile(world.file("kmers.txt")),
    "Embedding": _embedding,
    "Rows": _rows,
    "SGD": lambda world: hft.SGD(world.get("Embedding").parameters()),
    "Adagrad": lambda world: hft.Adagrad(world.get("Embedding").parameters()),
    "PoolWriter": lambda world: hfd.PoolWriter(world.folder / "{rank}.hold"),
    "PoolReader": lambda world: hfd.PoolReader(world.file("0.hold").with_name("{rank}.hold")),
}
VARIANTS = {
    "Table": ("Table", "Table, wide", "Table, any length", "Table, read-only", "Table, closed"),
    "Pool": ("Pool", "Pool, closed"),
    "Checkpoint": ("Checkpoint", "Checkpoint, closed"),
    "Store": ("Store", "Store, read-only", "Store, closed"),
}
PLAIN_SUBJECTS = (None, *(name for name in MAKE if "," not in name))
"""On these a call as it is meant returns."""
