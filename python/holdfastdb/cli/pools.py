"""The commands on a whole pool: create, info, check, recover."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InvalidArgument, PoolCorrupt
from ..pairs import ANY
from ..pool import CheckReport, PoolInfo, inspect
from ..pool import check as check_pool
from ..table import Table
from ..transfer import dump
from .output import AsJson, Device, emit, plural, progress

PoolPath = Annotated[str, typer.Argument(metavar="POOL", help="The pool file.")]


def _first_line(info: PoolInfo, items: int | None) -> str:
    count = f"{items:,} items, " if items is not None else ""
    return f"{info.path}: pool version {info.version}, {count}{info.total_slots:,} slots, survives {info.domain}"


def _length(name: str, text: str) -> int | type[bytes]:
    if text == "bytes":
        return bytes
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(
            f"--{name} is {text!r}: give a number of bytes, or the word bytes for any length"
        ) from None


def _sizes(info: PoolInfo) -> str:
    if info.key_bytes == ANY:
        return "keys and values of any length, in slabs"
    where = "in cells" if info.cell_bytes else "inside their slots"
    scores = f", with scores of {info.score}" if info.score != "none" else ""
    return f"keys of {info.key_bytes} bytes, values of {info.value_bytes} {where}{scores}"


def create(
    pool: PoolPath,
    key: Annotated[
        str, typer.Option(help="Bytes of a key: 8, or another multiple of 8 up to 128; or bytes: any.")
    ] = "8",
    value: Annotated[str, typer.Option(help="Bytes of a value; 0: a set; or bytes: any.")] = "128",
    capacity: Annotated[int, typer.Option(help="Items to make room for; the table grows past it.")] = 1 << 20,
    levels: int = 2,
    hash_locations: int = 2,
    slots: Annotated[int, typer.Option(help="Of a bucket.")] = 8,
    device: Device = "auto",
    score: Annotated[
        str | None, typer.Option(help="Keep 8 bytes with each item, to choose by: step, time or frequency.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a pool with an empty table in it."""
    with Table.create(
        pool,
        _length("key", key),
        _length("value", value),
        capacity,
        device,
        overwrite,
        levels=levels,
        hash_locations=hash_locations,
        slots=slots,
        score=score,
    ) as table:
        stats = table.stats()
    text = f"created {pool}: {stats['slots']:,} slots, on {stats['device']} ({stats['device_reason']}), medium "
    emit(as_json, stats, text + f"{stats['medium']}, survives {stats['domain']}")


def stats(pool: PoolPath, as_json: AsJson = False) -> None:
    """Open a pool and say how its table is filled. A pool that was not closed is recovered first, in its file."""
    with open_for_reading(pool) as table:
        data = table.stats()
        any_length = table.any_length
    lines = [
        f"{pool}: {data['size']:,} items in {data['slots']:,} slots, load {data['size'] / data['slots']:.2f}",
        f"{data['cells']:,} cells, {data['free_cells']:,} of them free",
    ]
    if any_length:
        slabs, live, rounding = data["slab_bytes"], data["live_bytes"], data["rounding_bytes"]
        lines[1] = (
            f"heap of {data['heap_bytes']:,} bytes: slabs in use {slabs:,}, their live cells {live:,}, "
            f"free in them {slabs - live:,}; of the live cells, rounding {rounding:,}"
        )
    lines.append(f"opened in {data['map_ms'] + data['recovery_ms']:.1f} ms")
    emit(as_json, data, "\n".join(lines))


def info(pool: PoolPath, as_json: AsJson = False) -> None:
    """Say what a pool says of itself. Works while it is open."""
    found = inspect(pool)
    cells = "slabs of 2 MiB" if found.key_bytes == ANY else "cells"
    lines = [
        _first_line(found, None),
        f"{_sizes(found)}; medium {found.medium}",
        f"{found.levels}L-{found.hash_locations}H-{found.slots}S, top level {found.top_level}, "
        f"{found.cells:,} {cells}, {found.file_bytes:,} bytes",
        f"clean shutdown: {'yes' if found.clean else 'no'}; open: {found.owner or 'no'}; same boot: "
        f"{'yes' if found.same_boot else 'no'}",
    ]
    if found.resizing:
        lines.append("a resize is under way, or was interrupted: the next opening finishes it")
    if found.valid_copies != 2:
        lines.append(f"only {found.valid_copies} of 2 copies of the superblock is valid: the next opening mends it")
    lines += [f"  {e.offset:>16,} {e.bytes:>16,}  {e.kind}" for e in found.extents]
    emit(as_json, asdict(found), "\n".join(lines))


def _shutdown_line(before: PoolInfo, report: CheckReport) -> str:
    if report.was_clean:
        return "clean shutdown: yes"
    why = "in the middle of a resize" if before.clean else "killed" if before.same_boot else "the machine restarted"
    mended = [f"{plural(report.repaired_slots, 'slot')} under insertion"]
    if report.finished_moves:
        mended.append(plural(report.finished_moves, "interrupted move"))
    if report.rehashed:
        mended.append(f"{plural(report.rehashed, 'item')} of an interrupted resize")
    return f"clean shutdown: no ({why}); recovered {', '.join(mended)} in {report.recovery_ms:.0f} ms"


def _report(as_json: bool, before: PoolInfo, report: CheckReport) -> None:
    verdict = "no error" if report.ok else plural(len(report.errors), "error")
    lines = [_first_line(before, report.items), _shutdown_line(before, report)]
    lines += [f"mended {repair}" for repair in report.repairs]
    lines += [f"checked every slot and cell: {verdict}", *report.errors]
    data = {"path": before.path, "ok": report.ok, **asdict(report)}
    emit(as_json, data, "\n".join(lines))
    if not report.ok:
        raise typer.Exit(1)


def check(pool: PoolPath, as_json: AsJson = False) -> None:
    """Verify every slot and cell; the file is not written. Exit status: 0 in order, 1 errors, 2 cannot be checked."""
    before = inspect(pool)
    try:
        report = check_pool(pool)
    except PoolCorrupt as error:  # it is a pool, and so damaged that it does not open
        text = f"{_first_line(before, None)}\nchecked until it was clear that it does not open: 1 error\n{error}"
        emit(as_json, {"path": pool, "ok": False, "errors": [str(error)]}, text)
        raise typer.Exit(1) from None
    _report(as_json, before, report)


def recover(
    pool: PoolPath,
    salvage: Annotated[
        Path | None, typer.Option(metavar="OUT.csv", help="Open even after a power cut; export what verifies.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recover a pool in its file and verify it; or export what can still be read."""
    before = inspect(pool)
    if salvage is None:
        _report(as_json, before, check_pool(pool, repair=True))
        return
    _salvage(as_json, pool, salvage)


def open_for_reading(pool: str) -> Table:
    """The pool's table, searched by the CPU; a pool that was not closed is recovered first, in its file."""
    found = inspect(pool)
    return Table.open(pool, device="cpu", mode="r" if found.clean and not found.resizing else "r+")


def snapshot(
    pool: PoolPath,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The new pool file.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a pool into a new one on any medium, whole or not at all. A pool that was not closed is recovered first."""
    with open_for_reading(pool) as table, progress("copying", 1) as done:
        report = table.snapshot(target, overwrite=overwrite, progress=done)
    rate = report.written / max(report.total_ms, 1e-3) / 1e3
    text = f"{target}: {plural(report.items, 'item')}, {report.bytes:,} bytes in {report.total_ms / 1e3:.2f} s"
    emit(as_json, {"source": pool, **asdict(report)}, f"{text} ({rate:,.0f} MB/s written)")


def _salvage(as_json: bool, pool: str, out: Path) -> None:
    if out.exists():
        raise InvalidArgument(f"{out} exists already: name another file, or remove it")
    with Table.open(pool, device="cpu", mode="r", salvage=True) as table:
        report, left_out = table.check(), table.stats()["left_out"]
        with progress("exporting", max(1, len(table))) as done:
            written = dump(table, out, format="csv", progress=done).rows
    data: dict[str, Any] = {"path": pool, "out": str(out), "items": written, "left_out": left_out,
                            "errors": list(report.errors)}  # fmt: skip
    lines = [f"{pool}: exported {plural(written, 'item')} to {out} (key, value in hexadecimal)"]
    if left_out:
        lines.append(f"left out {plural(left_out, 'slot')} that did not verify")
    if report.errors:
        lines += [f"{plural(len(report.errors), 'error')} in the pool:", *report.errors]
    emit(as_json, data, "\n".join(lines))
    if report.errors or left_out:
        raise typer.Exit(1)
