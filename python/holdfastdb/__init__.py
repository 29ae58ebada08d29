"""Holdfast: a key-value table in one file that GPUs and CPUs share, whole after a crash at any moment.

>>> import holdfastdb as hf
>>> with hf.Table.create("items.hold", key=8, value=8) as items:
...     items.insert([1, 2], [10, 20])
array([0, 0], dtype=uint8)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import errors, initial
from ._native import version as __version__
from .column import Column
from .errors import *  # noqa: F403
from .inspection import (
    CheckReport,
    Extent,
    ObjectInfo,
    PoolInfo,
    SnapshotReport,
    TableInfo,
    check,
    cuda_devices,
    inspect,
)
from .opening import Gpu
from .pool import Pool
from .results import (
    ApplyResult,
    ExportResult,
    FindMissingResult,
    FindResult,
    FindStatusesResult,
    InsertAndFindResult,
    Items,
    ScoredExportResult,
    ScoredItems,
    ScoresResult,
)
from .status import Op, Status
from .table import Table

if TYPE_CHECKING:
    from .checkpoint import Checkpoint, SaveTicket
    from .memory_table import MemoryTable
    from .store import (
        Store,
        StoreFound,
        StoreItem,
        StoreLease,
        StoreReservation,
        StoreStats,
        StoreStatus,
        StoreTransfer,
    )
    from .transfer import BadRow, DumpReport, LoadReport, dump, load
else:
    # They take two fifths of the time of an import, and few programs need them: imported when they are first asked for.
    _HOMES = {
        "checkpoint": ("Checkpoint", "SaveTicket"),
        "memory_table": ("MemoryTable",),
        "store": (
            "Store",
            "StoreFound",
            "StoreItem",
            "StoreLease",
            "StoreReservation",
            "StoreStats",
            "StoreStatus",
            "StoreTransfer",
        ),
        "transfer": ("BadRow", "DumpReport", "LoadReport", "dump", "load"),
    }

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name == home or name in names:
                module = import_module(f".{home}", __name__)
                found = module if name == home else getattr(module, name)
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOMES, *__all__})


__all__ = [
    "ApplyResult",
    "ExportResult",
    "FindMissingResult",
    "FindResult",
    "FindStatusesResult",
    "InsertAndFindResult",
    "Items",
    "ScoredExportResult",
    "ScoredItems",
    "ScoresResult",
    "BadRow",
    "CheckReport",
    "Checkpoint",
    "Column",
    "DumpReport",
    "Extent",
    "Gpu",
    "LoadReport",
    "MemoryTable",
    "ObjectInfo",
    "Op",
    "Pool",
    "PoolInfo",
    "SaveTicket",
    "SnapshotReport",
    "Status",
    "Store",
    "StoreFound",
    "StoreItem",
    "StoreLease",
    "StoreReservation",
    "StoreStats",
    "StoreStatus",
    "StoreTransfer",
    "Table",
    "TableInfo",
    "__version__",
    "check",
    "cuda_devices",
    "dump",
    "initial",
    "inspect",
    "load",
    *errors.__all__,
]
