"""Applications over a table: embedding lookups of a recommendation model, their training, and PageRank."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.applications import dlrm as embeddings
from bench.applications import pagerank as ranks
from bench.applications import training as steps
from bench.frame import code, options, text
from bench.frame.results import Json
from bench.frame.running import running
from bench.table.targets import pool_folder


def _share(run: Json) -> str:
    return "–" if run["percent_of_link"] is None else f"{run['percent_of_link']:.0f}%"


def dlrm(
    data: Annotated[Path | None, typer.Option(help="A file of Criteo samples; default: generated ones.")] = None,
    scale: Annotated[float, typer.Option(help="Generated: table sizes, of those of the Kaggle data.")] = 1.0,
    theta: Annotated[float, typer.Option(help="Generated: skew of the categories of each table.")] = 1.05,
    dim: Annotated[str, typer.Option(metavar="N[,N…]", help="Floats a row.")] = "16,32",
    batch: Annotated[
        str, typer.Option(metavar="N[,N…]", help="Samples a batch; 26 lookups each.")
    ] = "256,2Ki,16Ki,64Ki",
    device: options.Device = "cpu",
    value_cache: options.ValueCache = 0.2,
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """Embedding lookups, 26 categories a sample; on a GPU against a table on the CPU and copies both ways."""
    dims, batches = options.counts(dim), options.counts(batch)
    if quick:
        scale, dims, batches, repeat = min(scale, 0.001), [16], [64, 256], 1
    with running(json_file) as (console, progress), pool_folder(where) as folder:
        try:
            got = embeddings.dlrm(
                data, scale, theta, dims, batches, device, value_cache, repeat, folder, progress
            )  # fmt: skip
        except (FileNotFoundError, ValueError) as error:
            raise typer.BadParameter(f"no samples there: {error}", param_hint="--data") from error
        rows = [
            (run["road"], f"{run['dim']}", f"{run['samples']:,}", text.figure(run["mops"]),
             text.figure(run["latency_us"], 0), _share(run))
            for run in got["runs"]
        ]  # fmt: skip
        columns = ("", "floats", "samples a batch", "M lookups/s", "µs a batch", "of the link")
        text.print_rows(console, f"{got['items']:,} embeddings", columns, rows)
        parameters = {
            "data": None if data is None else data.name, "scale": scale, "theta": theta, "dims": dims,
            "batches": batches, "device": device, "value_cache": value_cache, "repetitions": repeat,
        }  # fmt: skip
        name = options.result_name("dlrm", "" if data is None else "sample", device)
        options.finish(console, name, parameters, got, json_file, save, code.of_table(device))


def training(
    items: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Rows in the table.")] = 4 << 20,
    dim: Annotated[int, typer.Option(help="Floats a row; its state is one more.")] = 31,
    batch: Annotated[str, typer.Option(metavar="N[,N…]", help="Rows a step.")] = "4Ki,64Ki,1Mi",
    device: options.Device = "cpu",
    repeat: options.Repetitions = 5,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """A step of row-wise Adagrad, against `find` and `accumulate` of the same rows apart. Needs PyTorch."""
    batches = options.counts(batch)
    if quick:
        items, batches, repeat = 4096, [64, 256], 1
    if dim < 1 or min(batches) < 1 or max(batches) > items:
        raise typer.BadParameter(
            f"--dim is {dim} and --batch {batch}: give 1 or more, and batches of {items:,} at most"
        )
    with running(json_file) as (console, progress), pool_folder(where) as folder:
        got = steps.training(items, dim, batches, device, repeat, folder, progress)
        rows = [
            (f"{run['batch']:,}", text.figure(run["step_mops"]), text.figure(run["apart_mops"]),
             text.figure(run["of_apart"], 2))
            for run in got["runs"]
        ]  # fmt: skip
        columns = ("rows a step", "M rows/s, step", "find and accumulate", "of it")
        text.print_rows(console, f"{items:,} rows of {dim} floats and a state", columns, rows)
        parameters = {"items": items, "dim": dim, "batches": batches, "device": device, "repetitions": repeat}
        name = options.result_name("training", "", device)
        options.finish(console, name, parameters, got, json_file, save, code.of_table(device))


def pagerank(
    data: Annotated[Path | None, typer.Option(help="A list of edges as SNAP has them; default: generated.")] = None,
    scale: Annotated[int, typer.Option(help="Generated: 2^SCALE vertices.")] = 20,
    edges: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Generated.")] = 16_000_000,
    iterations: Annotated[int, typer.Option(help="Of PageRank.")] = 10,
    batch: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Lookups a batch.")] = 1 << 20,
    device: options.Device = "cpu",
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """PageRank over a graph in a pool; on a GPU against a table on the CPU and copies both ways."""
    if quick:
        scale, edges, iterations, repeat = 10, 20_000, 4, 1
    if not 1 <= scale <= 30:
        raise typer.BadParameter(f"--scale is {scale}: give 1 to 30")
    with running(json_file) as (console, progress), pool_folder(where) as folder:
        try:
            got = ranks.pagerank(data, scale, edges, iterations, batch, device, repeat, folder, progress)
        except (FileNotFoundError, ValueError) as error:
            raise typer.BadParameter(f"no graph there: {error}", param_hint="--data") from error
        rows = [
            (run["road"], text.figure(run["iteration_ms"]), text.figure(run["lookups_ms"]),
             text.figure(run["medges"], 0), text.figure(run["mops"]), _share(run))
            for run in got["runs"]
        ]  # fmt: skip
        columns = ("", "ms an iteration", "of it lookups", "M edges/s", "M lookups/s", "of the link")
        title = f"{got['vertices']:,} vertices, {got['edges']:,} edges, {got['pieces']:,} pieces"
        text.print_rows(console, title, columns, rows)
        parameters = {
            "data": None if data is None else data.name, "scale": scale, "edges": edges, "iterations": iterations,
            "batch": batch, "device": device, "repetitions": repeat,
        }  # fmt: skip
        name = options.result_name("pagerank", "" if data is None else data.stem.lower(), device)
        options.finish(console, name, parameters, got, json_file, save, code.of_table(device))


COMMANDS: dict[str, Callable[..., None]] = {"dlrm": dlrm, "pagerank": pagerank, "training": training}
SUITE: list[tuple[str, dict[str, Any]]] = [
    ("dlrm", {"scale": 0.05, "dim": "32"}),
    ("pagerank", {"scale": 18, "edges": 4_000_000}),
]
