"""The commands between pools and files: load, dump."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..store import Store
from ..transfer import dump as dump_table
from ..transfer import load as load_table
from ..transfer.rows import BadRow
from .output import AsJson, Device, damage, emit, plural, progress
from .targets import ItemsPath, TablePath, is_store, opened, opened_for_reading, opened_store

_SHOWN = 20

Value = Annotated[
    str | None, typer.Option(metavar="COLUMNS", help="hex, text, or types that fill a value: float32, int64,float64*3.")
]
Format = Annotated[str | None, typer.Option(help="csv, parquet or arrow; by default as the name ends.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue after a killed or failed one; else begin.")]


class _Complaints:
    """Bad rows as lines on standard error: the first few, and then their number."""

    def __init__(self, file: Path) -> None:
        self._file, self.count = file, 0

    def __call__(self, row: BadRow) -> None:
        self.count += 1
        if self.count <= _SHOWN:
            typer.echo(f"{self._file}, {row.place}: {row.why}: left out", err=True)
        elif self.count == _SHOWN + 1:
            typer.echo(f"{self._file}: more are left out, and counted", err=True)


def load(
    target: TablePath,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV; Parquet or Arrow IPC with holdfastdb\\[arrow].")],
    value: Value = None,
    columns: Annotated[
        str | None, typer.Option(metavar="NAME[,NAME…]", help="Columns to take, the key's first; default: all.")
    ] = None,
    format: Format = None,
    heading: Annotated[
        bool | None,
        typer.Option(
            "--heading/--no-heading", help="The first row of a CSV is a heading; default: where dump wrote it."
        ),
    ] = None,
    only_new: Annotated[bool, typer.Option("--only-new", help="Keep the value of a key that is there.")] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out rows that cannot be read.")] = False,
    resume: Resume = False,
    resume_file: Annotated[Path | None, typer.Option(help="Its resume file; default: beside FILE.")] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Load the rows of a file into a pool. Exit status 1 if bad ones were left out."""
    with opened(target, device) as table, progress("loading", 1) as done:
        report = load_table(
            table,
            file,
            value=value,
            columns=columns.split(",") if columns is not None else None,
            format=format,
            heading=heading,
            only_new=only_new,
            skip_bad=skip_bad,
            resume=resume,
            resume_file=resume_file,
            progress=done,
            on_bad=_Complaints(file),
        )
    counts = [f"{report.inserted:,} inserted", f"{report.updated:,} updated"]
    if report.exists:
        counts.append(f"{report.exists:,} kept")
    if report.bad:
        counts.append(f"{plural(report.bad, 'bad row')} left out")
    if report.scores_left_out:
        counts.append("scores left out")
    text = f"{target}: {plural(report.rows, 'row')} of {file}: {', '.join(counts)} in {report.seconds:.2f} s"
    emit(as_json, {"pool": str(target), **asdict(report)}, text + (" (resumed)" if report.resumed else ""))
    if report.bad:
        raise typer.Exit(1)


def dump(
    target: ItemsPath,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV; Parquet or Arrow IPC with holdfastdb\\[arrow].")],
    value: Value = None,
    key: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Of keys, int64 or another; default: as they were loaded.")
    ] = None,
    format: Format = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Write scores too, as a last column; no load sets them.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    resume: Resume = False,
    as_json: AsJson = False,
) -> None:
    """Write a pool's items into a file; a table's is read back by load, bit by bit. A pool that was not closed is
    recovered. Of a store keys and values are written, without flags and expiry, and no load takes them: back a store up
    by snapshot. Exit status 1 if damaged items of a store were left out."""
    its = opened_store(target) if is_store(target) else opened_for_reading(target)
    with its as items, progress("dumping", max(1, len(items))) as done:
        report = dump_table(
            items, file, value=value, key=key, format=format, scores=scores, overwrite=overwrite, resume=resume,
            progress=done,
        )  # fmt: skip
        stats = items.stats() if isinstance(items, Store) else None
        left_out = stats.damaged_at_open if stats else 0
    text = f"{file}: {plural(report.rows, 'item')} of {target}, {report.bytes:,} bytes in {report.seconds:.2f} s"
    data = {"pool": str(target), **asdict(report), "left_out": left_out}
    emit(as_json, data, text + (" (resumed)" if report.resumed else ""))
    if stats and left_out:
        what = damage(left_out, stats.damaged_pieces)
        typer.echo(f"holdfast: {target}: left out {what}: holdfast check names them", err=True)
        raise typer.Exit(1)
