"""What each public call takes: arguments by the names of parameters, and which calls and classes are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hostile_world import World, more_rows, torch

from holdfastdb import opening

NOT_MADE = {
    "Column": "Table.column makes it",
    "SaveTicket": "Checkpoint.save makes it",
    "Counts": "kmers.count makes it",
    "Rows": "Embedding makes it",
    "BadRow": "a result", "CheckReport": "a result", "DumpReport": "a result", "Extent": "a result",
    "LoadReport": "a result", "ObjectInfo": "a result", "PoolInfo": "a result", "SnapshotReport": "a result",
    "TableInfo": "a result", "Status": "an enumeration", "Op": "an enumeration", "Initial": "a base class",
    "StoreStats": "a result", "StoreFound": "a result", "StoreItem": "a result", "StoreStatus": "an enumeration",
    "StoreReservation": "Store.reserve makes it", "StoreLease": "Store.lease makes it",
    "StoreTransfer": "StoreReservation.copy_in makes it",
}  # fmt: skip
"""Public classes whose constructors users do not call."""
NOT_CALLED = {
    **dict.fromkeys(("fill", "bounds", "check", "made", "rows"), ("Constant", "Uniform", "Normal")),
    **dict.fromkeys(
        ("read_metadata", "set_up_storage_reader", "set_up_storage_writer", "prepare_local_plan", "prepare_global_plan",
         "read_data", "write_data", "finish", "storage_meta"), ("PoolReader", "PoolWriter"),
    ),
    **dict.fromkeys(("of", "add", "take"), ("Rows",)),
    **dict.fromkeys(("named_parameters", "extra_repr"), ("Embedding",)),
}  # fmt: skip
"""Methods that tables and PyTorch call with arguments of their own."""
REFUSED = ("Table.__init__", "Pool.__init__", "MemoryTable.scores")
"""Calls that say what to call in their place."""
CALLBACKS = ("progress", "where", "init", "on_bad", "closure")
"""What a function raises comes out of the call that it was given to."""
DUNDERS = ("__getitem__", "__setitem__", "__delitem__", "__contains__", "__len__", "__iter__", "__repr__", "__copy__")
OPTIONS = {
    "Table.open": opening.OpenOrCreateOptions,
    "MemoryTable.to_table": opening.CreateOptions,
    "MemoryTable.from_table": dict.fromkeys(("threads", "grows", "capacity", "partitions")),
}

WORDS, BYTES = np.arange(4, dtype=np.uint64), [b"1", b"2", b"3", b"30"]
_WIDE = np.zeros((4, 16), np.uint8)
Arguments = dict[str, Callable[[World], Any]]
ARGUMENTS: Arguments = {
    "keys": lambda _: WORDS.copy(),
    "values": lambda _: np.arange(4, dtype=np.int64),
    "ops": lambda _: ["find", "erase", "insert", "contains"],
    "key": lambda _: 3,
    "value": lambda _: 7,
    "items": lambda _: 10,
    "start": lambda _: 0,
    "stop": lambda _: 4,
    "path": lambda world: world.folder / "new.hold",
    "name": lambda _: "first",
    "to": lambda _: "third",
    "table": lambda world: world.get("Table"),
    "target": lambda world: world.folder / "new.csv",
    "source": lambda world: world.file("table.csv"),
    "pool": lambda world: world.file("pool.hold"),
    "state": lambda _: {"b": np.zeros(2)},
    "step": lambda _: 9,
    "low": lambda _: -1.0,
    "high": lambda _: 1.0,
    "files": lambda world: world.file("reads.fa"),
    "texts": lambda _: ["ACGT", "TTTT"],
    "words": lambda _: np.arange(4, dtype=np.uint64),
    "k": lambda _: 4,
    "threads": lambda _: 1,
    "kmers": lambda _: ["ACGT"],
    "columns": lambda _: 2,
    "param_group": lambda world: {"params": [more_rows(world)]},
    "checkpoint_id": lambda _: "7",
    "prefixes": lambda _: "a",
    "capacity": lambda _: 64,
    "device": lambda _: "cpu",
    "arrays": lambda _: [np.zeros(8, np.uint8), np.zeros(4, np.uint8)],
    "sizes": lambda _: 16,
    "row": lambda _: 1,
}
"""By the parameter's name: used where the parameter has no default, or one that would be slow."""
OF_CALLS: dict[str, Arguments] = {
    "Table, wide": {"keys": lambda _: _WIDE.copy(), "values": lambda _: _WIDE.copy(), "key": lambda _: bytes(16),
                    "value": lambda _: b"v" * 16},
    "Table, any length": {"keys": lambda _: BYTES, "values": lambda _: BYTES, "key": lambda _: b"3",
                          "value": lambda _: b"v"},
    "Column": {"values": lambda _: np.arange(4, dtype=np.int32)},
    "Table.create": {"key": lambda _: 8, "value": lambda _: 8},
    "Table.open": {"path": lambda world: world.file("table.hold"), "capacity": None},
    "Table.accumulate": {"values": lambda _: np.arange(4, dtype=np.int64)},
    "Table, wide.accumulate": {"values": lambda _: np.zeros((4, 2), np.int64)},
    "Table.column": {"stop": lambda _: 4},
    "Pool.open": {"path": lambda world: world.file("pool.hold")},
    "Pool.create_table": {"name": lambda _: "third", "key": lambda _: 8, "value": lambda _: 8},
    "MemoryTable.to_table": {"to": lambda world: world.folder / "new.hold"},
    "MemoryTable.__init__": {"key": lambda _: 8, "value": lambda _: 8},
    "check": {"path": lambda world: world.file("table.hold"), "name": None},
    "Pool.check": {"name": None},
    "inspect": {"path": lambda world: world.file("table.hold")},
    "load": {"columns": None, "key": None, "value": None},
    "dump": {"key": None, "value": None},
    "Checkpoint.__init__": {"name": None},
    "Checkpoint.export": {"path": lambda world: world.folder / "new.safetensors"},
    "Checkpoint.import_": {"path": lambda world: world.file("state.safetensors")},
    "Checkpoint.restore": {"device": None},
    "Checkpoint.save": {},
    "Constant.__init__": {"value": None},
    "CountFile.__init__": {"path": lambda world: world.file("kmers.txt")},
    "find": {"path": lambda world: world.file("kmers.txt")},
    "CountFile.find": {"kmers": lambda _: np.arange(4, dtype=np.uint64)},
    "histogram": {"source": lambda world: world.file("kmers.txt")},
    "write": {"source": lambda world: world.get("Counts"), "path": lambda world: world.folder / "new.txt"},
    "Embedding.__init__": {"table": lambda world: world.get("Table")},
    "Embedding.forward": {"keys": lambda _: torch.arange(4)},
    "Embedding.import_weight": {"weight": lambda _: torch.zeros(4, 2), "keys": None},
    "SGD.__init__": {"params": lambda world: world.get("Embedding").parameters()},
    "Adagrad.__init__": {"params": lambda world: world.get("Embedding").parameters()},
    "PoolWriter.__init__": {"path": lambda world: world.folder / "{rank}.hold", "name": None},
    "PoolReader.__init__": {"path": lambda world: world.folder / "{rank}.hold", "name": None},
    "reverse_complement": {},
    "Store": {"keys": lambda _: BYTES, "values": lambda _: BYTES, "key": lambda _: b"3", "value": lambda _: b"40",
              "expected": lambda _: 1},
    "Store, read-only": {"keys": lambda _: BYTES, "values": lambda _: BYTES, "key": lambda _: b"3",
                         "value": lambda _: b"40", "expected": lambda _: 1},
    "Store, closed": {"keys": lambda _: BYTES, "values": lambda _: BYTES, "key": lambda _: b"3",
                      "value": lambda _: b"40", "expected": lambda _: 1},
    "Store.__init__": {"name": None},
    "Store.limit=": {"value": lambda _: 64 << 20},
}  # fmt: skip
"""By "subject.call", by "class.call", by subject: None takes the default of the signature."""


SLOW: dict[str, tuple[Any, ...]] = {
    "device": ("auto",), "threads": (0,), "capacity": (4096, 1 << 20), "k": (31,),
}  # fmt: skip
"""Defaults in place of which a case has something quicker."""
NEEDED = {"values", *SLOW}
"""Parameters that are given though the signature has None for them, or something slow."""
