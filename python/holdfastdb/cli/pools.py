"""The commands on a whole pool, or one table of it: info, stats, check, recover, snapshot."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InvalidArgument, PoolCorrupt
from ..inspection import CheckReport, ObjectInfo, PoolInfo, TableInfo, inspect
from ..inspection import check as check_pool
from ..operands import ANY
from ..pool import Pool
from ..schema.layout import Layout
from ..store import Store
from .output import AsJson, damage, emit, in_columns, plural, progress
from .salvage import salvage as salvage_to
from .targets import (
    AnyPath,
    ItemsPath,
    Target,
    chosen,
    is_store,
    mode_for_reading,
    opened_for_reading,
    opened_store,
    target_of,
)

Objects = list[ObjectInfo]


def _first_line(info: PoolInfo, target: Target, objects: Objects, items: int | None = None) -> str:
    kind = next((kind for kind in ("table", "store") if all(one.type == kind for one in objects)), "object")
    counts = [plural(len(objects), kind), *([] if items is None else [plural(items, "item")])]
    if kind != "store":
        counts.append(f"{sum(one.table.total_slots for one in objects if one.table):,} slots")
    return f"{target}: pool version {info.version}, {', '.join(counts)}, survives {info.domain}"


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"


def _sizes(table: TableInfo) -> str:
    if table.key_bytes == ANY:
        return "any length"
    scores = f", {table.score}" if table.score != "none" else ""
    return f"{table.key_bytes} + {table.value_bytes} bytes{scores}"


def _row(one: ObjectInfo) -> list[str]:
    table = one.table
    of_table = [_sizes(table), f"{table.total_slots:,}"] if table else ["", ""]
    return [one.name, one.type, *of_table, one.domain, _yes(one.clean), f"{one.bytes:,}", one.damage]


_HEADINGS = ["name", "type", "key + value", "slots", "survives", "clean", "bytes", "damage"]
_NUMBERS = {3, 6}


def _shape(table: TableInfo) -> str:
    configuration = f"{table.levels}L-{table.hash_locations}H-{table.slots}S, top level {table.top_level}"
    if table.key_bytes == ANY:
        return f"keys and values of any length, in {table.cells:,} slabs of 2 MiB; {configuration}"
    where = f"{table.cells:,} cells" if table.cell_bytes else "their slots"
    scores = f", with scores of {table.score}" if table.score != "none" else ""
    return f"keys of {table.key_bytes} bytes, values of {table.value_bytes} in {where}{scores}; {configuration}"


def _details(one: ObjectInfo) -> list[str]:
    """What the row does not say."""
    lines = [f"{one.name}: {_shape(one.table)}; same boot: {_yes(one.same_boot)}"] if one.table else []
    if one.type == "store" and not one.damage:
        heap = sum(extent.bytes for extent in one.extents if extent.kind == "heap")
        lines.append(f"{one.name}: keys and values of any length, in {heap:,} bytes; holdfast stats counts its items")
    if one.layout != Layout():
        lines.append(f"{one.name}, as it was loaded: {one.layout}")
    if one.table and one.table.resizing:
        lines.append("a resize is under way, or was interrupted: the next opening finishes it")
    return lines + [f"  {e.offset:>16,} {e.bytes:>16,}  {e.kind}" for e in one.extents]


def _copies(found: PoolInfo) -> list[str]:
    if found.valid_copies == 2:
        return []
    return [f"only {found.valid_copies} of 2 copies of the superblock is valid: the next opening mends it"]


def info(target: AnyPath, as_json: AsJson = False) -> None:
    """Say what a pool and its objects say of themselves. Works while it is open."""
    found = inspect(target.file)
    objects = chosen(found, target)
    lines = [
        _first_line(found, target, objects),
        f"medium {found.medium}, {found.file_bytes:,} bytes, {found.free_bytes:,} of them free; open: "
        f"{found.owner or 'no'}",
    ]
    lines += _copies(found)
    if objects:
        lines += in_columns([_HEADINGS, *(_row(one) for one in objects)], _NUMBERS)
    if len(objects) == 1:
        lines += _details(objects[0])
    emit(as_json, asdict(replace(found, objects=tuple(objects))), "\n".join(lines))


def _store_stats(target: Target, as_json: bool) -> None:
    with opened_store(target) as store:
        stats = store.stats()
    lines = [
        f"{target}: {plural(stats.items, 'item')}, those that have expired included, in {stats.memory_bytes:,} bytes, "
        f"{stats.free_bytes:,} of them free, in whole pieces"
    ]
    if stats.damaged_at_open:
        lines.append(f"left out {damage(stats.damaged_at_open, stats.damaged_pieces)}: holdfast check names them")
    lines.append(f"opened in {stats.open_ms:.1f} ms")
    emit(as_json, asdict(stats), "\n".join(lines))


def stats(target: ItemsPath, as_json: AsJson = False) -> None:
    """Open a table or a store and say how it is filled. One that was not closed is recovered first, in its file."""
    if is_store(target):
        _store_stats(target, as_json)
        return
    with opened_for_reading(target) as table:
        data = table.stats()
        any_length = table.any_length
    lines = [
        f"{target}: {data['size']:,} items in {data['slots']:,} slots, load {data['size'] / data['slots']:.2f}",
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


def _shutdown_line(objects: Objects, report: CheckReport) -> str:
    not_closed = [one for one in objects if not one.clean]
    refused = report.was_clean and not report.ok and any(not one.same_boot for one in not_closed)
    if report.was_clean and not refused:
        return "clean shutdown: yes"
    if not not_closed:
        why = "in the middle of a resize"
    else:
        why = "killed" if all(one.same_boot for one in not_closed) else "the machine restarted"
    if refused:
        return f"clean shutdown: no ({why}); nothing was recovered"
    stores = bool(objects) and all(one.type == "store" for one in objects)
    mended = [] if stores else [f"{plural(report.repaired_slots, 'slot')} under insertion"]
    if report.finished_moves or stores:
        mended.append(plural(report.finished_moves, f"interrupted {'replacement' if stores else 'move'}"))
    if report.rehashed:
        mended.append(f"{plural(report.rehashed, 'item')} of an interrupted resize")
    return f"clean shutdown: no ({why}); recovered {', '.join(mended)} in {report.recovery_ms:.0f} ms"


def _verify(as_json: bool, target: Target, repair: bool, dropped: tuple[int, int] | None = None) -> None:
    before = inspect(target.file)
    objects = chosen(before, target)
    try:
        report = check_pool(target.file, repair, target.name)
    except PoolCorrupt as error:  # it is a pool, and so damaged that it does not open
        if repair:
            raise
        text = f"{_first_line(before, target, objects)}\nchecked until it was clear that it does not open: 1 error\n"
        emit(as_json, {"path": str(target), "ok": False, "errors": [str(error)]}, f"{text}{error}")
        raise typer.Exit(1) from None
    verdict = "no error" if report.ok else plural(len(report.errors), "error")
    lines = [_first_line(before, target, objects, report.items), _shutdown_line(objects, report)]
    lines += [f"mended {what}" for what in report.repairs] if repair else _copies(before)
    if dropped is not None:
        lines.append(f"dropped {damage(*dropped)}")
    lines += [*(f"checked {what}" for what in report.checked), verdict, *report.errors]
    data = {"path": str(target), "ok": report.ok, **asdict(report)}
    emit(as_json, data if dropped is None else {**data, "dropped": dropped[0]}, "\n".join(lines))
    if not report.ok:
        raise typer.Exit(1)


def check(target: AnyPath, as_json: AsJson = False) -> None:
    """Verify an object or all of them, without writing. Exit status: 0 in order, 1 errors, 2 cannot be checked."""
    _verify(as_json, target, repair=False)


def _drop_damaged(target: Target) -> tuple[int, int]:
    """How many items and pieces, and how many of them are pieces."""
    stores = [one.name for one in chosen(inspect(target.file), target) if one.type == "store"]
    if not stores:
        raise InvalidArgument(f"{target} is no store and has none, and --drop-damaged is for stores")
    with Pool.open(target.file) as pool:
        dropped = pieces = 0
        for name in stores:
            with Store(pool, name=name) as store:
                pieces += store.stats().damaged_pieces
                dropped += store.drop_damaged()
    return dropped, pieces


def recover(
    target: AnyPath,
    salvage: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT",
            help="Open even after a power cut or if the file was cut short; save what verifies: OUT.csv the items of a "
            "table or a store, OUT.hold a new pool with all objects.",
        ),
    ] = None,
    drop_damaged: Annotated[
        bool, typer.Option("--drop-damaged", help="Give up items of stores that do not verify: their memory is free.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Recover a pool in its file and verify it; or save what can still be read of it."""
    if salvage is not None and drop_damaged:
        raise InvalidArgument("give either --salvage, which changes nothing, or --drop-damaged")
    if salvage is None:
        _verify(as_json, target, repair=True, dropped=_drop_damaged(target) if drop_damaged else None)
    else:
        salvage_to(as_json, target, salvage)


def snapshot(
    pool: Annotated[str, typer.Argument(metavar="POOL", help="The pool file.")],
    copy: Annotated[str, typer.Argument(metavar="TARGET", help="The new pool file.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a pool that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a pool, with all of its objects, into a new one on any medium, whole or not at all. Tables and stores that
    were not closed are recovered first. In the copy a table is as small as its items; a store is not. Exit status 1
    if the copy has damaged items of a store."""
    if (target := target_of(pool)).name is not None and Path(target.file).exists():
        raise InvalidArgument(f"snapshot copies a whole pool: give {target.file}")
    objects = list(inspect(pool).objects)
    with Pool.open(pool, mode_for_reading(pool, objects)) as whole, progress("copying", 1) as done:
        tables = [whole.table(one.name, device="cpu") for one in objects if one.table]
        stores = [Store(whole, name=one.name) for one in objects if one.type == "store" and not one.damage]
        report = whole.snapshot(copy, overwrite=overwrite, progress=done)
        pieces = sum(store.stats().damaged_pieces for store in stores)
        del tables, stores
    rate = report.written / max(report.total_ms, 1e-3) / 1e3
    text = f"{copy}: {plural(report.items, 'item')}, {report.bytes:,} bytes in {report.total_ms / 1e3:.2f} s"
    emit(as_json, {"source": pool, **asdict(report)}, f"{text} ({rate:,.0f} MB/s written)")
    if report.damaged:
        what = damage(report.damaged, pieces)
        typer.echo(f"holdfast: {pool}: {what} copied without repair: holdfast check names what is damaged", err=True)
        raise typer.Exit(1)
