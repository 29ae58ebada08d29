"""Tables from files and files from tables: CSV always, Parquet and Arrow where PyArrow is installed."""

from .dumping import DumpReport, dump
from .loading import LoadReport, load
from .rows import BadRow

__all__ = ["BadRow", "DumpReport", "LoadReport", "dump", "load"]
