"""Holdfast: a key-value table in one file that GPUs and CPUs share, whole after a crash at any moment.

>>> import holdfastdb as hf
>>> with hf.Table.create("items.hold", key=8, value=8) as items:
...     items.insert([1, 2], [10, 20])
array([0, 0], dtype=uint8)
"""

from . import errors, initial
from ._native import version as __version__
from .checkpoint import Checkpoint, SaveTicket
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
from .memory_table import MemoryTable
from .options import Gpu
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
from .transfer import BadRow, DumpReport, LoadReport, dump, load

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
