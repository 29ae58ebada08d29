"""The commands on checkpoints: list, export, drop."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from ..checkpoint import Checkpoint
from ..errors import InvalidArgument, PoolMismatch
from ..inspection import ObjectInfo, inspect
from ..pool import Pool
from .output import AsJson, emit
from .targets import Target, chosen, mode_for_reading, require_name, target_of

PathOfCheckpoint = Annotated[
    Target, typer.Argument(parser=target_of, metavar="POOL[:NAME]", help="The pool file, and the checkpoint in it.")
]

app = typer.Typer(help="States of a program, saved in a pool.", no_args_is_help=True)


def _checkpoints(target: Target) -> list[ObjectInfo]:
    """The checkpoint that is named, or all of the pool. Raises ObjectNotFound, and PoolMismatch for another object."""
    found = chosen(inspect(target.file), target)
    if target.name is not None:
        _require_checkpoint(target, found)
    return [one for one in found if one.type == "checkpoint"]


def _require_checkpoint(target: Target, objects: Iterable[ObjectInfo]) -> None:
    for one in objects:
        if one.name == target.name and one.type != "checkpoint":
            raise PoolMismatch(
                f"{target} is a {one.type}, not a checkpoint: name a checkpoint (holdfast info {target.file} lists the "
                "objects)"
            )


@app.command("list")
def list_copies(target: PathOfCheckpoint, as_json: AsJson = False) -> None:
    """Say which states the checkpoints of a pool have, newest first."""
    chosen_ones = _checkpoints(target)
    found = {}
    with Pool.open(target.file, mode_for_reading(target.file, chosen_ones)) as pool:
        for name in (one.name for one in chosen_ones):
            with Checkpoint(pool, name=name) as checkpoint:
                found[name] = checkpoint.saved
    lines = [
        f"{name}: step {copy['step']:,}, {copy['tensors']:,} tensors, {copy['bytes']:,} bytes"
        for name, copies in found.items()
        for copy in copies
    ]
    emit(as_json, {"path": target.file, "checkpoints": found}, "\n".join(lines) or f"{target} has no saved state")


@app.command("drop")
def drop(target: PathOfCheckpoint, as_json: AsJson = False) -> None:
    """Remove a checkpoint from a pool, with all of its states. Other objects: holdfast drop."""
    name = require_name(target)
    with Pool.open(target.file) as pool:
        _require_checkpoint(target, pool.objects)
        pool.drop(name)
    emit(as_json, {"path": target.file, "name": name}, f"dropped {target}")


@app.command("export")
def export(
    target: PathOfCheckpoint,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A safetensors file.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the newest state of a checkpoint as a safetensors file. OUT has its name when it is whole. Exit status 1 if
    that state is damaged, and an older one was taken."""
    chosen_ones = _checkpoints(target)
    names = [one.name for one in chosen_ones]
    if len(names) != 1:
        what = "no checkpoint" if not names else f"the checkpoints {', '.join(names)}"
        raise InvalidArgument(f"{target} has {what}: give POOL:NAME of one")
    mode = mode_for_reading(target.file, chosen_ones)
    with Pool.open(target.file, mode) as pool, Checkpoint(pool, name=names[0]) as checkpoint:
        step, damage = checkpoint.export(out, overwrite=overwrite), checkpoint.damage
    for what in damage:
        typer.echo(f"holdfast: {target} has damage, and an older state was taken: {what}", err=True)
    data = {"out": str(out), "checkpoint": names[0], "step": step, "damage": damage}
    emit(as_json, data, f"{out}: step {step:,} of {names[0]}, {out.stat().st_size:,} bytes")
    if damage:
        raise typer.Exit(1)
