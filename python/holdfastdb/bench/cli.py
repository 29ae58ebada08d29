"""`holdfast bench`: all commands, and the two that use the others: `plot` and `all`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from holdfastdb import _bench
from holdfastdb.bench import machine, options, plot, trace
from holdfastdb.bench.commands.app import app
from holdfastdb.bench.commands.applications import dlrm, pagerank
from holdfastdb.bench.commands.memory import layout, limits
from holdfastdb.bench.commands.tables import load_factor, pairs, recovery, resize, snapshot
from holdfastdb.bench.commands.workloads import cache_trace, compare, micro, stores, ycsb

__all__ = ["app"]


@app.command("plot")
def plot_command(
    results_folder: Annotated[Path | None, typer.Option("--results", help="Folder with result files.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the pictures; default: docs/img.")] = None,
) -> None:
    """Draws every plot that the result files allow, as SVG."""
    root = machine.root() or Path.cwd()
    for path in plot.draw_all(results_folder or root / "bench" / "results", out or root / "docs" / "img"):
        typer.echo(path)


@app.command("all")
def everything(
    quick: options.Quick = False,
    json_folder: Annotated[Path | None, typer.Option("--json", help="Folder; default: the committed results.")] = None,
) -> None:
    """Every benchmark of the CPU, at sizes that two cores finish in a quarter of an hour; then the plots."""
    target = str(json_folder) if json_folder else None
    if json_folder:
        json_folder.mkdir(parents=True, exist_ok=True)
    save = json_folder is None

    def step(command: Callable[..., None], **given: object) -> None:
        command(json_file=target, save=save, quick=quick, **given)

    step(limits, mebibytes="512,4096", repeat=2)
    step(layout, operations=4_000_000)
    step(compare, items=16_000_000)
    step(micro, items=4_000_000, batch="64,512,4096,32Ki,256Ki,1Mi", repeat=2)
    step(ycsb, items=4_000_000, repeat=2, value="8,128")
    step(ycsb, items=4_000_000, repeat=2, distribution="uniform")
    if _bench.stores():
        step(stores)
    if trace.FOLDER.is_dir():
        step(cache_trace)
    step(load_factor)
    step(recovery)
    step(pairs)
    step(resize)
    step(snapshot)
    step(dlrm, scale=0.05, dim="32")
    step(pagerank, scale=18, edges=4_000_000)
    if save:
        plot_command()
