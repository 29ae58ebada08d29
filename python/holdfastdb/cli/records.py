"""The commands on single items: get, put, del."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..errors import InvalidArgument
from ..inspection import no_space
from ..operands import ANY
from ..status import Status
from .output import (
    AsJson,
    as_hex,
    damage,
    describe_value,
    emit,
    parse_key,
    parse_string,
    parse_value,
    plain_key,
    show,
    size_of,
)
from .targets import ItemsPath, TablePath, Target, is_store, opened, opened_for_reading, opened_store

Keys = Annotated[
    list[str],
    typer.Argument(
        metavar="KEY...",
        help="128512, 0x1F600, U+1F600 or a character; wide keys in hex; those of any length as text, or 0x….",
    ),
]


def _values(target: Target, keys: list[str]) -> tuple[list[int | bytes], list[bytes | None]]:
    """The keys as they are stored, and their values."""
    if is_store(target):
        strings = [parse_key(key, ANY) for key in keys]
        with opened_store(target) as store:
            values, stats = store.get_many(strings).tolist(), store.stats()
        if None in values and stats.damaged_at_open:
            what = damage(stats.damaged_at_open, stats.damaged_pieces)
            typer.echo(f"holdfast: {target} has {what}, whose keys are not found: holdfast check names them", err=True)
        return strings, values
    with opened_for_reading(target) as table:
        wanted = [parse_key(key, size_of(table)) for key in keys]
        rows, found = table.find(wanted)
    return wanted, [bytes(row) if there else None for row, there in zip(rows, found.tolist(), strict=True)]


def get(
    target: ItemsPath,
    keys: Keys,
    is_hex: Annotated[bool, typer.Option("--hex", help="Values in hexadecimal.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="The values' bytes and nothing else.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the values of keys. Exit status 1 if one is not there. A pool that was not closed is recovered first."""
    if sum((is_hex, raw, as_json)) > 1:
        raise InvalidArgument("--hex, --raw and --json exclude each other: give one of them")
    wanted, values = _values(target, keys)
    if raw:
        sys.stdout.buffer.write(b"".join(value for value in values if value is not None))
        sys.stdout.buffer.flush()
        for key, value in zip(keys, values, strict=True):
            if value is None:
                typer.echo(f"{target}: the key {key} is not there", err=True)
    else:
        lines = []
        for key, value in zip(keys, values, strict=True):
            text = f"{key}: not found" if value is None else as_hex(value) if is_hex else show(value)
            lines.append(text if value is None or len(keys) == 1 or "\n" in text else f"{key}: {text}")
        items = [describe_value(key, value) for key, value in zip(wanted, values, strict=True)]
        emit(as_json, {"path": str(target), "items": items}, "\n".join(lines))
    if None in values:
        raise typer.Exit(1)


def put(
    target: TablePath,
    key: Annotated[
        str,
        typer.Argument(
            metavar="KEY",
            help="128512, 0x1F600, U+1F600 or a character; wide keys in hex; those of any length as text, or 0x….",
        ),
    ],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Text, padded with zeroes to the value's size.")] = "",
    is_hex: Annotated[bool, typer.Option("--hex", help="VALUE is hexadecimal.")] = False,
    only_new: Annotated[bool, typer.Option("--only-new", help="Keep the value of a key that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add a key with its value, or replace its value. Exit status 1 if --only-new found it there."""
    with opened(target) as table:
        wanted = parse_key(key, size_of(table))
        row = parse_string(value, is_hex) if table.any_length else parse_value(value, is_hex, table.value_bytes)
        statuses = (table.insert if only_new else table.insert_or_assign)([wanted], row)
    status = Status(int(statuses[0]))
    if status is Status.NO_SPACE:
        raise no_space(f"the key {key}", table.path)
    emit(
        as_json,
        {"path": str(target), "key": plain_key(wanted), "status": status.name.lower()},
        f"{key}: {_words(status)}",
    )
    if status is Status.EXISTS:
        raise typer.Exit(1)


def delete(target: TablePath, keys: Keys, as_json: AsJson = False) -> None:
    """Remove keys. Exit status 1 if one was not there."""
    with opened(target) as table:
        wanted = [parse_key(key, size_of(table)) for key in keys]
        statuses = [Status(int(status)) for status in table.erase(wanted)]
    items = [
        {"key": plain_key(key), "status": status.name.lower()} for key, status in zip(wanted, statuses, strict=True)
    ]
    lines = [f"{key}: {_words(status)}" for key, status in zip(keys, statuses, strict=True)]
    emit(as_json, {"path": str(target), "items": items}, "\n".join(lines))
    if Status.NOT_FOUND in statuses:
        raise typer.Exit(1)


def _words(status: Status) -> str:
    return status.name.lower().replace("_", " ")
