"""The command demo."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .. import demo
from ..errors import InvalidArgument
from .command import NUMBER, number
from .output import AsJson, Device, emit

_NAME = "demo.hold"
_OURS = "holdfast-"


def _default_path() -> Path:
    """In shared memory, which is everybody's, a name says whose it is."""
    return demo.SHARED_MEMORY / f"{_OURS}{_NAME}" if os.access(demo.SHARED_MEMORY, os.W_OK) else Path(_NAME)


def _link_here(pool: Path) -> Path:
    """A link in this folder, so that `holdfast get demo.hold …` works; the pool itself if that cannot be."""
    here = Path(pool.name.removeprefix(_OURS))
    if here.absolute() == pool.absolute():
        return here
    if here.is_symlink() and here.readlink() == pool:
        return here
    if here.exists() or here.is_symlink():
        return pool
    try:
        here.symlink_to(pool)
    except OSError:
        return pool
    return here


def run_demo(
    path: Annotated[
        Path | None, typer.Option(help="The pool; by default /dev/shm/holdfast-demo.hold, with a link demo.hold here.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your pairs: a whole number, the key, then the value's columns.")
    ] = None,
    device: Device = "auto",
    items: Annotated[
        int, typer.Option(parser=number(8), metavar=NUMBER, help="Random pairs that the killed process writes.")
    ] = 1_000_000,
    kills: Annotated[int, typer.Option(parser=number(1), metavar=NUMBER, help="How often it is killed.")] = 5,
    lines: Annotated[
        int,
        typer.Option(
            parser=number(0),
            metavar="NUMBER",
            help="Lines of Python's library that it writes into a second pool; 0, and with --csv: none.",
        ),
    ] = 300_000,
    quick: Annotated[bool, typer.Option("--quick", help="20,000 random pairs, 5,000 lines and 2 kills.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files of any program.")] = False,
    as_json: AsJson = False,
) -> None:
    """Load a table, kill it in the middle of writes, reopen it elsewhere, verify. Exit status 1: something is lost."""
    if csv is not None and not csv.is_file():
        raise InvalidArgument(f"{csv} is not a file: give a CSV file")
    pool = path or _default_path()
    options = demo.Options(
        path=pool,
        csv=csv,
        device=device,
        items=20_000 if quick else items,
        batch=512 if quick else 8192,
        kills=2 if quick else kills,
        lines=0 if csv is not None else min(lines, 5_000) if quick else lines,
        overwrite=overwrite,
        own=path is None,
    )
    with Console(stderr=True).status("working") as status:  # shows on a terminal only

        def say(line: str) -> None:
            status.update("working")
            if not as_json:
                typer.echo(line)

        outcome = demo.run(options, say)
    shown = _link_here(pool) if path is None else pool
    example = "0x1F600" if csv is None else "KEY"
    hint = f"look one up: holdfast get {shown} {example}   all of it: holdfast check {shown}"
    if outcome.lines is not None:
        second = demo.lines_path(pool)
        hint += f"\na line: holdfast get {_link_here(second) if path is None else second} {outcome.lines.example}"
    emit(as_json, outcome.as_dict(), hint)
    if not outcome.ok:
        raise typer.Exit(1)
