"""Loads a file into a table: in batches, each durable before the next, and resumable from the last one acknowledged."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..checked import flag, function_of, text_of
from ..errors import Error, InvalidArgument, InvalidType, ReadOnly
from ..inspection import no_space, path_text
from ..schema.columns import ANY
from ..schema.layout import Layout, keys_conflict
from ..status import Status
from ..table import Table, require_table
from .csvs import CsvSource
from .formats import format_of
from .resume_file import ResumeFile, boot_id, facts_of
from .rows import BadRow, Source, SourceRows, rows_at_once

_BAD_KEPT = 1000
_SOME_LENGTH = 1024  # bytes of a row of any length, to choose how many are taken at once


@dataclass
class LoadReport:
    """What a load did; with `resume`, what it and those before it did together."""

    source: str
    rows: int = 0
    """Taken from the file, bad ones not counted."""
    inserted: int = 0
    updated: int = 0
    exists: int = 0
    """Kept as they were: `only_new`."""
    bad: int = 0
    """Left out: `skip_bad`."""
    bad_rows: list[BadRow] = field(default_factory=list)
    """The first thousand of them, of this call."""
    scores_left_out: bool = False
    """The file is a dump with scores: items have those of this load."""
    resumed: bool = False
    """It continued where another one ended."""
    seconds: float = 0.0


def resume_path(source: Path, table: Table) -> Path:
    """Where a load of `source` keeps its resume file by default: beside it, with the first digits of the pool's id, and
    the table's number there."""
    pool, info = facts_of(table)
    return source.with_name(f"{source.name}.{pool.pool_id[:8]}-{info.number}.resume")


def open_source(
    path: Path,
    form: str,
    value: str | None,
    columns: Sequence[str] | None,
    value_bytes: int,
    table: str,
    key_bytes: int = 8,
    heading: bool | None = None,
    skip_bad: bool = False,
) -> Source:
    """The file as rows for a table with such keys and values."""
    if form == "csv":
        return CsvSource(path, value, columns, value_bytes, table, key_bytes, heading)
    from .arrows import ArrowSource

    return ArrowSource(path, form, value, columns, value_bytes, table, key_bytes, skip_bad)


def _names_of(columns: Any) -> list[str]:
    """Names of columns, at least the key's. Raises InvalidType, InvalidArgument."""
    if not isinstance(columns, list | tuple):
        raise InvalidType(f"columns is of type {type(columns).__name__}: give a list of names")
    if not columns:
        raise InvalidArgument("columns has no name: give the key's first, and then those of the value")
    return [text_of(f"columns[{i}]", name, "key") for i, name in enumerate(columns)]


class _Load:
    """One load, its counts, and its resume file."""

    def __init__(self, table: Table, source: Source, path: Path, resume_file: ResumeFile, how: dict[str, Any]) -> None:
        pool, info = facts_of(table)
        self.table, self.source, self.resume_file = table, source, resume_file
        self.report = LoadReport(str(path))
        self.survives_power = pool.domain == "power"
        self.task = {"source": path.name, "pool_id": pool.pool_id, "object": info.number, **how}
        self.place: dict[str, Any] | None = None
        self.layout: Layout | None = None

    def require_layout(self, names: bool) -> None:
        """Refuses a file of another layout than that of the items that the table holds. Changes nothing."""
        held = self.table.layout if len(self.table) else Layout()
        found = self.source.layout
        if held.columns_differ(found, names) or keys_conflict(held.key, found.key):
            raise InvalidArgument(
                f"{self.report.source} has another layout than the items of {self.table.path}: the file has {found}, "
                f"and the table {held}. Load it into another table, or give the file these columns"
            )
        self.layout = held.joined(found)

    def _keep_layout(self, rows: SourceRows) -> None:
        """Before the first change that the layout is of."""
        if self.layout is None:
            return
        if rows.negative and self.layout.key is None:
            self.layout = replace(self.layout, key="int64")
        if self.layout != self.table.layout:
            self.table._keep_layout(self.layout)

    def go_on(self) -> None:
        """Takes up the counts and the place of the resume file, if there is one."""
        found = self.resume_file.read()
        if found is None:
            return
        for name, value in self.task.items():
            if found.get(name) != value:
                raise InvalidArgument(
                    f"{self.resume_file.path} is of a load with another {name.replace('_', ' ')}: load from the start, "
                    "without resume"
                )
        if not found["synced"] and not self.survives_power and found["boot_id"] != boot_id():
            raise InvalidArgument(
                f"{self.resume_file.path} is from before the machine restarted, and what was loaded then may not have "
                "reached the device: load from the start, without resume"
            )
        self.source.go_on(found["place"])
        self.place = found["place"]
        self.report = LoadReport(**{**found["counts"], "source": self.report.source, "resumed": True})

    def take(self, rows: SourceRows, only_new: bool) -> None:
        """One batch. When this returns, the resume file knows of it."""
        report = self.report
        if len(rows.keys):
            self._keep_layout(rows)
            values = rows.values if self.table.value_bytes or self.table.any_length else None
            statuses = (self.table.insert if only_new else self.table.insert_or_assign)(rows.keys, values)
            counts = np.bincount(statuses, minlength=len(Status))
            if missing := int(counts[Status.NO_SPACE]):
                raise no_space(f"{missing:,} rows of {report.source}", self.table.path)
            report.rows += len(rows.keys)
            report.inserted += int(counts[Status.INSERTED])
            report.updated += int(counts[Status.UPDATED])
            report.exists += int(counts[Status.EXISTS])
        self.place = rows.place

    def skip(self, bad: list[BadRow]) -> None:
        self.report.bad += len(bad)
        self.report.bad_rows += bad[: _BAD_KEPT - len(self.report.bad_rows)]

    def save(self, *, synced: bool = False) -> None:
        names = ("rows", "inserted", "updated", "exists", "bad")
        counts = {name: getattr(self.report, name) for name in names}
        content = {**self.task, "place": self.place, "counts": counts, "boot_id": boot_id(), "synced": synced}
        self.resume_file.write(content, lasting=synced)

    def interrupted(self) -> None:
        """Leaves the pool and a resume file that agree even after the machine restarts."""
        if self.place is None or self.table.closed or not self.report.rows + self.report.bad:
            return
        with suppress(Error, OSError):  # the previous resume file stands, and another error is reported
            self.table.sync()
            self.save(synced=True)

    def note_interrupt(self, error: BaseException) -> None:
        """Adds to the interrupt how many rows are durable, and how to continue."""
        rows, source, pool = self.report.rows, self.report.source, self.table.path
        if not rows:
            error.add_note(f"no row of {source} was acknowledged by {pool}: load it again")
            return
        error.add_note(
            f"{rows:,} rows of {source} are durable in {pool}: load it again with resume=True (--resume) to continue "
            f"behind them, as {self.resume_file.path} says"
        )


def load(
    table: Table,
    source: str | os.PathLike[str],
    *,
    value: str | None = None,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    heading: bool | None = None,
    only_new: bool = False,
    skip_bad: bool = False,
    resume: bool = False,
    resume_file: str | os.PathLike[str] | None = None,
    batch: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    on_bad: Callable[[BadRow], object] | None = None,
) -> LoadReport:
    """Loads the rows of a file into a table: keys that are there get the file's value, of equal keys the last one's.

    Each batch is durable before the next, and a resume file beside the source remembers it until the load has ended
    well. After a kill, an error or an interrupt `resume=True` continues behind the last batch in the resume file;
    the next batch may be in already, and is written again, which changes nothing unless another program changed it.

    Parameters
    ----------
    source
        A CSV file in UTF-8, its first column the key, decimal or 0x…, the rest the value. Or, with
        PyArrow, a Parquet or Arrow IPC file with the key in the column "key", or in the first.
    value
        What the value's columns are: "hex" (the default), "text" (UTF-8, padded with zeroes; several columns are kept
        as CSV), or number types that fill a value: "float32", "int64,float64*3"; in a table of any length its keys are
        too, and nothing is padded. By default what `dump` wrote is known by its heading, and Parquet and Arrow columns
        are taken as they are. The column of scores of a dump is left out: what is loaded has the score of its change.
    columns
        Names of the columns to take, the key's first.
    format
        "csv", "parquet" or "arrow"; by default as the name ends.
    heading
        Whether the first row of a CSV file is a heading. By default it is one if `dump` wrote it, or if `columns` names
        what is in it; else it is a row as all others.
    only_new
        Keep the value of a key that is there.
    skip_bad
        Leave out rows that are ragged or not what their columns want. Otherwise the first one is an error that names
        its line; the rows before it are loaded, and a load with `resume` begins with it.
    resume
        Continue where a load of the same file into the same pool ended; without a resume file, begin.
    resume_file
        Its path; by default beside the source. It replaces nothing but resume files.
    batch
        Rows at a time; by default as many as make 16 MiB, and 65,536 at most.
    progress
        Called after each batch with what is done and what there is, bytes of a CSV file or rows.
    on_bad
        Called for each row left out.

    What a Parquet or Arrow file's schema and its counts of nulls show is checked before anything changes, and all
    problems are in one error. The types of keys and columns, and the columns' names, are kept with the table
    (`Table.layout`); a file of another layout is refused as long as the table has items. Columns that are named by
    `columns` may have other names.

    Raises
    ------
    KeyboardInterrupt
        Of Ctrl-C, with a note that says how many rows are durable, and how to continue.
    InvalidArgument
        The file is not what it should be; the message has the line.
    NoSpace, MediumError, PoolExists, MissingExtra, ReadOnly, OSError
    """
    require_table(table, "load")
    if table.mode == "r":
        raise ReadOnly(f"{table.path} was opened with mode='r': open it with mode='r+' to load into it")
    path = Path(path_text(source))
    key_bytes, value_bytes = (ANY, ANY) if table.any_length else (table.key_bytes, table.value_bytes)
    rows = rows_at_once(batch, table.key_bytes + table.value_bytes or _SOME_LENGTH)
    form = format_of(path, format)
    if not path.is_file():
        raise InvalidArgument(f"{path} is not a file: give one to load")
    columns = None if columns is None else _names_of(columns)
    heading = None if heading is None else flag("heading", heading)
    only_new, skip_bad, resume = flag("only_new", only_new), flag("skip_bad", skip_bad), flag("resume", resume)
    progress, on_bad = function_of(progress), function_of(on_bad, "on_bad", "one bad row")
    begun = time.perf_counter()
    where = Path(path_text(resume_file)) if resume_file is not None else resume_path(path, table)
    if where.exists() and where.samefile(path):
        raise InvalidArgument(f"{where} is the file to be loaded: name another for how far that has come")
    how = {"format": form, "value": value, "columns": list(columns) if columns is not None else None,
           "heading": heading, "only_new": only_new}  # fmt: skip
    kept = ResumeFile(where)
    opened = open_source(path, form, value, columns, value_bytes, table.path, key_bytes, heading, skip_bad)
    one = _Load(table, opened, path, kept, how)
    try:
        one.require_layout(names=columns is None)
        if resume:
            one.go_on()
        for found in opened.batches(rows, skip_bad):
            one.take(found, only_new)
            if found.bad and not skip_bad:
                first = found.bad[0]
                raise InvalidArgument(
                    f"{path}, {first.place}: {first.why}. Rows loaded before it: {one.report.rows:,}. Correct it and "
                    "resume, or skip bad rows"
                )
            one.skip(found.bad)
            for row in found.bad if on_bad is not None else ():
                on_bad(row)
            one.save()
            if progress is not None:
                progress(found.done, opened.total)
    except BaseException as error:
        one.interrupted()
        if not isinstance(error, Exception):
            one.note_interrupt(error)
        raise
    finally:
        opened.close()
    one.resume_file.remove()
    one.report.scores_left_out = opened.leaves_out_scores
    one.report.seconds = time.perf_counter() - begun
    return one.report
