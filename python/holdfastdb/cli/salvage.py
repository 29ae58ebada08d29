"""`holdfast recover --salvage`: what can still be read of a damaged pool, as a CSV file or as a new pool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ..errors import Error, InvalidArgument
from ..inspection import ObjectInfo
from ..pool import Pool
from ..store import Store
from ..table import Table
from ..transfer import dump
from ..transfer.formats import FORMATS
from .output import emit, plural, progress
from .targets import Target, opened, opened_store

POOL_ENDING = ".hold"


def _objects_left(target: Target) -> list[ObjectInfo]:
    """The object that is named, or all. `inspect` would refuse a file that was cut short."""
    with Pool.open(target.file, "r", salvage=True) as pool:
        return [one for one in pool.objects if target.name in (None, one.name)]


def _to_csv(as_json: bool, target: Target, out: Path) -> None:
    if any(out.suffix.lower() in endings for form, endings in FORMATS.items() if form != "csv"):
        raise InvalidArgument(f"{out} is to be a CSV file: let its name end in .csv, or of a new pool in {POOL_ENDING}")
    left = _objects_left(target)
    is_a_store = [one.type for one in left] == ["store"]
    its = opened_store(target, "r", salvage=True) if is_a_store else opened(target, mode="r", salvage=True)
    with its as items:
        report = items.check()
        left_out = items.stats().damaged_at_open if isinstance(items, Store) else items.stats()["left_out"]
        with progress("exporting", max(1, len(items))) as done:
            written = dump(items, out, format="csv", progress=done).rows
    lost = [f"{target}: {one.damage}" for one in left if one.damage]
    data: dict[str, Any] = {"path": str(target), "out": str(out), "items": written, "left_out": left_out,
                            "lost": lost, "errors": list(report.errors)}  # fmt: skip
    lines = [f"{target}: exported {plural(written, 'item')} to {out} (key, value in hexadecimal)", *lost]
    if left_out:
        lines.append(f"left out {plural(left_out, 'item' if is_a_store else 'slot')} that did not verify")
    if report.errors:
        lines += [f"{plural(len(report.errors), 'error')} in the pool:", *report.errors]
    emit(as_json, data, "\n".join(lines))
    if report.errors or left_out or lost:
        raise typer.Exit(1)


def _open_for_copy(pool: Pool, one: ObjectInfo, label: str, lost: list[str]) -> Table | Store | None:
    """Opens a table or a store, which the copy has without what does not verify. The copy has another object as it is,
    or not at all if a part of it was behind the end of the file. Adds to `lost` a line for each kind of loss."""
    its: Table | Store | None = None
    left_out, why = 0, one.damage
    try:
        if one.type == "table":
            its = table = pool.table(one.name, "cpu")
            left_out = table.stats()["left_out"]
        elif one.type == "store":
            its = store = Store(pool, name=one.name)
            left_out = store.stats().damaged_at_open
    except Error as error:
        why = why or str(error)
    if why:
        lost.append(f"{label}: {why}")
    if left_out:
        what = plural(left_out, "slot" if one.type == "table" else "item")
        lost.append(f"{label}: left out {what} that did not verify")
    return its


def _to_pool(as_json: bool, target: Target, out: Path) -> None:
    if target.name is not None:
        raise InvalidArgument(f"{out} gets all objects: give {target.file}, or for {target.name} alone a CSV file")
    lost: list[str] = []
    with Pool.open(target.file, "r", salvage=True) as pool, progress("copying", 1) as done:
        objects = {one.name: one for one in pool.objects}
        its = [_open_for_copy(pool, one, f"{target}:{one.name}", lost) for one in objects.values()]
        report = pool.snapshot(out, progress=done)
        del its
    stores = [name for name, one in objects.items() if one.type == "store" and name not in report.left_out]
    if report.damaged:
        with Pool.open(out) as copy:
            for name in stores:
                with Store(copy, name=name) as store:
                    store.drop_damaged()
    copied = len(objects) - len(report.left_out)
    lines = [
        f"{target}: {plural(copied, 'object')} of {len(objects)} saved in {out}, with {plural(report.items, 'item')}"
    ]
    if report.left_out:
        lines.append(f"not saved: {', '.join(report.left_out)}")
    data = {"path": str(target), "out": str(out), "items": report.items, "objects": copied,
            "not_saved": list(report.left_out), "lost": lost}  # fmt: skip
    emit(as_json, data, "\n".join([*lines, *lost]))
    if lost or report.left_out:
        raise typer.Exit(1)


def salvage(as_json: bool, target: Target, out: Path) -> None:
    """Writes nothing but `out`."""
    if out.exists():
        raise InvalidArgument(f"{out} exists already: name another file, or remove it")
    (_to_pool if out.suffix.lower() == POOL_ENDING else _to_csv)(as_json, target, out)
