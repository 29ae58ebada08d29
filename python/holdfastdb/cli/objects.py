"""The commands that make, rename and remove the objects of a pool: create, rename, drop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from .._native import default_capacity
from ..errors import InvalidArgument
from ..messages import shown
from ..pool import Pool
from ..schema.columns import BadCell, whole
from ..table import Table
from .command import NUMBER, number
from .output import AsJson, Device, emit
from .targets import ObjectPath, TablePath, Target, require_name


def _length(name: str, text: str) -> int | type[bytes]:
    if text == "bytes":
        return bytes
    try:
        return whole(text)
    except BadCell:
        raise InvalidArgument(
            f"--{name} is {shown(text)}: give a number of bytes, or the word bytes for any length"
        ) from None


@contextmanager
def _pool_for(path: str) -> Iterator[Pool]:
    """The pool at the path, or a new one, which goes again if no table comes into it."""
    if os.path.lexists(path):
        with Pool.open(path) as pool:
            yield pool
        return
    with Pool.create(path) as pool:
        made = Path(path).stat()
        try:
            yield pool
        except BaseException:
            with suppress(FileNotFoundError):
                if os.path.samestat(Path(path).stat(), made):
                    Path(path).unlink()
            raise


def _create(target: Target, *sizes: Any, **options: Any) -> dict[str, Any]:
    if target.name is None:
        with Table.create(target.file, *sizes, **options) as table:
            return table.stats()
    with _pool_for(target.file) as pool:
        return pool.create_table(target.name, *sizes, **options).stats()


def create(
    target: TablePath,
    key: Annotated[
        str, typer.Option(help="Bytes of a key: 8, or another multiple of 8 up to 128; or bytes: any.")
    ] = "8",
    value: Annotated[str, typer.Option(help="Bytes of a value; 0: a set; or bytes: any.")] = "128",
    capacity: Annotated[
        int, typer.Option(parser=number(), metavar=NUMBER, help="Items to make space for; the table grows past it.")
    ] = default_capacity,
    levels: Annotated[int, typer.Option(parser=number(), metavar=NUMBER)] = 2,
    hash_locations: Annotated[int, typer.Option(parser=number(), metavar=NUMBER)] = 2,
    slots: Annotated[int, typer.Option(parser=number(), metavar=NUMBER, help="Of a bucket.")] = 8,
    device: Device = "auto",
    score: Annotated[
        str | None, typer.Option(help="Keep 8 bytes with each item, to choose by: step, time or frequency.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a pool, or with NAME the object.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a pool with an empty table in it; with NAME, add a table to a pool that may exist."""
    stats = _create(
        target, _length("key", key), _length("value", value), capacity, device, overwrite,
        levels=levels, hash_locations=hash_locations, slots=slots, score=score,
    )  # fmt: skip
    text = f"created {target}: {stats['slots']:,} slots, on {stats['device']} ({stats['device_reason']}), medium "
    emit(as_json, stats, text + f"{stats['medium']}, survives {stats['domain']}")


def rename(
    target: ObjectPath,
    to: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Take the place of an object of that name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give an object of a pool another name."""
    name = require_name(target)
    with Pool.open(target.file) as pool:
        pool.rename(name, to, overwrite=overwrite)
    emit(as_json, {"path": target.file, "name": name, "to": to}, f"{target} is {target.file}:{to} now")


def drop(target: ObjectPath, as_json: AsJson = False) -> None:
    """Remove an object from a pool, with all that is in it."""
    name = require_name(target)
    with Pool.open(target.file) as pool:
        pool.drop(name)
    emit(as_json, {"path": target.file, "name": name}, f"dropped {target}")
