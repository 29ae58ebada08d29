"""The commands on checkpoints: list, drop."""

from __future__ import annotations

import typer

from ..checkpoint import Checkpoint
from ..inspection import inspect
from ..pool import Pool
from .objects import drop
from .output import AsJson, emit
from .targets import TablePath, chosen

app = typer.Typer(help="States of a program, saved in a pool.", no_args_is_help=True)
app.command("drop")(drop)


@app.command("list")
def list_copies(target: TablePath, as_json: AsJson = False) -> None:
    """Say which states the checkpoints of a pool have, newest first."""
    names = [found.name for found in chosen(inspect(target.file), target) if found.type == "checkpoint"]
    found = {}
    with Pool.open(target.file, mode="r") as pool:
        for name in names:
            with Checkpoint(pool, name=name) as checkpoint:
                found[name] = checkpoint.saved
    lines = [
        f"{name}: step {copy['step']:,}, {copy['tensors']:,} tensors, {copy['bytes']:,} bytes"
        for name, copies in found.items()
        for copy in copies
    ]
    emit(as_json, {"path": target.file, "checkpoints": found}, "\n".join(lines) or f"{target} has no saved state")
