"""What a command is about: a pool, or one of its objects, as POOL or POOL:NAME."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer

from ..errors import InvalidArgument, ObjectNotFound
from ..inspection import ObjectInfo, PoolInfo, inspect
from ..pool import Pool
from ..table import Table


@dataclass(frozen=True)
class Target:
    """A pool file, and the name of an object in it or None."""

    text: str
    file: str
    name: str | None

    def __str__(self) -> str:
        return self.text


def target_of(text: str) -> Target:
    """POOL or POOL:NAME. What exists as a file is a path, and so is what has a "/" behind its last colon."""
    file, colon, name = text.rpartition(":")
    if not colon or "/" in name or os.path.lexists(text):
        return Target(text, text, None)
    return Target(text, file, name)


TablePath = Annotated[
    Target, typer.Argument(parser=target_of, metavar="POOL[:NAME]", help="The pool file, and the table in it.")
]
ObjectPath = Annotated[
    Target, typer.Argument(parser=target_of, metavar="POOL:NAME", help="The pool file, and the object in it.")
]


def names_in(info: PoolInfo) -> str:
    return ", ".join(found.name for found in info.objects) or "no object"


def chosen(info: PoolInfo, target: Target) -> list[ObjectInfo]:
    """The object that is named, or all. Raises ObjectNotFound."""
    found = [one for one in info.objects if target.name in (None, one.name)]
    if target.name is not None and not found:
        raise ObjectNotFound(f'{target.file} has no object "{target.name}"; it has {names_in(info)}')
    return found


def require_name(target: Target) -> str:
    if target.name is None:
        raise InvalidArgument(f"{target} names no object: give POOL:NAME; it has {names_in(inspect(target.file))}")
    return target.name


def mode_for_reading(objects: list[ObjectInfo]) -> str:
    """What is not clean must be recovered, which changes the file."""
    finished = all(one.clean and not (one.table and one.table.resizing) for one in objects)
    return "r" if finished else "r+"


@contextmanager
def opened(target: Target, device: str = "cpu", mode: str = "r+", salvage: bool = False) -> Iterator[Table]:
    """The table that is named, or the only one; closed at the end, with its pool."""
    if target.name is None:
        with Table.open(target.file, device, mode, salvage=salvage) as table:
            yield table
    else:
        with Pool.open(target.file, mode, salvage) as pool:
            yield pool.table(target.name, device)


@contextmanager
def opened_for_reading(target: Target) -> Iterator[Table]:
    """The same, searched by the CPU; a table that was not closed is recovered first, in its file."""
    with opened(target, mode=mode_for_reading(chosen(inspect(target.file), target))) as table:
        yield table
