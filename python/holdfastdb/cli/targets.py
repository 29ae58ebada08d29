"""What a command is about: a pool, or one of its objects, as POOL or POOL:NAME."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer

from ..errors import InvalidArgument, ObjectNotFound, PoolMismatch, ReadOnly
from ..inspection import ObjectInfo, PoolInfo, inspect
from ..operands import ANY
from ..pool import Pool
from ..store import Store
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
ItemsPath = Annotated[
    Target,
    typer.Argument(parser=target_of, metavar="POOL[:NAME]", help="The pool file, and the table or the store in it."),
]
AnyPath = Annotated[
    Target, typer.Argument(parser=target_of, metavar="POOL[:NAME]", help="The pool file, and an object in it.")
]
ObjectPath = Annotated[
    Target, typer.Argument(parser=target_of, metavar="POOL:NAME", help="The pool file, and the object in it.")
]


_NAMES_IN_MESSAGES = 8


def names_in(info: PoolInfo) -> str:
    """ "no object", "the objects a and b", or "the objects a, b, ... and 12 more", as the native module says it."""
    names = [found.name for found in info.objects]
    if len(names) < 2:
        return f"the object {names[0]}" if names else "no object"
    shown, left = names[:_NAMES_IN_MESSAGES], len(names) - _NAMES_IN_MESSAGES
    last = f"{left} more" if left > 0 else shown.pop()
    return f"the objects {', '.join(shown)} and {last}"


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


def mode_for_reading(file: str, objects: list[ObjectInfo]) -> str:
    """How every command that only reads opens a pool: what was not closed is recovered first, in its file. Raises
    ReadOnly where the file cannot be written for that."""
    unfinished = [one.name for one in objects if not one.clean or (one.table and one.table.resizing)]
    if not unfinished:
        return "r"
    if not os.access(file, os.W_OK):
        raise ReadOnly(
            f"{file} was not closed ({', '.join(unfinished)}) and needs recovery, which writes the file, and you may "
            "not write it: run `holdfast recover` on it as its owner, or read a copy"
        )
    return "r+"


def is_store(target: Target) -> bool:
    """The object that is named, or the only one, is a store."""
    return [one.type for one in chosen(inspect(target.file), target)] == ["store"]


@contextmanager
def opened(
    target: Target, device: str = "cpu", mode: str = "r+", salvage: bool = False, verify: bool = False
) -> Iterator[Table]:
    """The table that is named, or the only one; closed at the end, with its pool."""
    try:
        if target.name is None:
            pool, table = None, Table.open(target.file, device, mode, salvage=salvage, verify=verify)
        else:
            pool = Pool.open(target.file, mode, salvage)
            table = pool.table(target.name, device, verify=verify)
    except PoolMismatch:
        if salvage or not is_store(target):
            raise
        raise PoolMismatch(
            f"{target} is a store, and this command is for tables: holdfast get, stats, check, dump and recover read a "
            "store; change it with holdfastdb.Store in Python"
        ) from None
    with table if pool is None else pool:
        yield table


@contextmanager
def opened_store(target: Target, mode: str | None = None, salvage: bool = False) -> Iterator[Store]:
    """The same for a store that is only read, by default as `mode_for_reading` says."""
    mode = mode or mode_for_reading(target.file, chosen(inspect(target.file), target))
    with Pool.open(target.file, mode, salvage) as pool, Store(pool, name=target.name) as store:
        yield store


@contextmanager
def opened_for_reading(target: Target) -> Iterator[Table]:
    """The same for what only reads, on the CPU; a table that was not closed is recovered first, in its file. Keys and
    values of any length are compared with their checksums."""
    objects = chosen(inspect(target.file), target)
    verify = len(objects) == 1 and objects[0].table is not None and objects[0].table.value_bytes == ANY
    with opened(target, mode=mode_for_reading(target.file, objects), verify=verify) as table:
        yield table
