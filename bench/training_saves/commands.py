"""The command, the tables and the picture of saves of a training."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from bench.frame import figures, options, text
from bench.frame.markdown import grid, spread_text
from bench.frame.results import Json
from bench.frame.running import running
from bench.table.targets import pool_folder


def training_saves(
    layers: Annotated[int, typer.Option(help="Of the transformer.")] = 24,
    width: Annotated[int, typer.Option(help="Of a layer.")] = 1024,
    words: Annotated[int, typer.Option(parser=options.count, metavar="N", help="It knows.")] = 50_304,
    batch: Annotated[int, typer.Option(help="Sequences a step.")] = 8,
    length: Annotated[int, typer.Option(help="Words a sequence.")] = 1024,
    every: Annotated[str, typer.Option(metavar="N[,N…]", help="Steps between saves.")] = "1,2,5,10,50",
    turn: Annotated[int, typer.Option(help="Steps of a turn, or as many as between two saves.")] = 20,
    device: options.Device = "cpu",
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    disk: Annotated[Path | None, typer.Option(help="Folder on an ordinary disk, for drains.")] = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """What saves cost the steps of a transformer with AdamW, beside DCP's async_save; and drains. Needs PyTorch."""
    try:
        from bench.training_saves.measure import measured
        from bench.training_saves.model import Training
    except ImportError as error:
        raise typer.BadParameter(f"PyTorch is not installed: {error}") from error
    ks = options.counts(every)
    if quick:
        layers, width, words, batch, length, repeat, turn = 2, 32, 128, 2, 16, 1, 2
    if min(*ks, turn, repeat) < 1:
        raise typer.BadParameter(f"--every is {every}, --turn {turn} and --repeat {repeat}: give 1 or more")
    with (
        running(json_file) as (console, progress),
        pool_folder(where) as folder,
        tempfile.TemporaryDirectory(prefix="holdfast-bench-", dir=disk) as drains,
    ):
        progress("the model")
        training = Training(layers, width, words, batch, length, device)
        got = measured(training, ks, turn, repeat, folder, Path(drains), progress)
        rows = [
            (f"{one['every']}", text.figure(one["without_ms"], 2), text.figure(one["with_ms"], 2),
             text.figure(one["slower"], 3), text.figure(one["durable_ms"], 1))
            for one in got["every"]
        ]  # fmt: skip
        columns = ("a save every", "ms a step without", "with", "ratio", "ms until durable")
        text.print_rows(console, f"{got['tensors']} tensors, {got['state_bytes']:,} bytes", columns, rows)
        console.print(f"durable {got['sooner']['median']:.1f} times sooner than async_save, every 10 steps")
        console.print(f"drains {got['drain']['of_disk']['median']:.0%} of the disk's rate")
        parameters = {
            "layers": layers, "width": width, "words": words, "batch": batch, "length": length, "every": ks,
            "turn": turn, "device": device, "repetitions": repeat,
        }  # fmt: skip
        name = options.result_name("training-saves", "", device)
        rooms = ("src/checkpoint", "src/gpu") if device != "cpu" else ("src/checkpoint",)
        options.finish(console, name, parameters, got, json_file, save, rooms)


def steps(content: Json) -> str:
    """A row for each number of steps between saves."""
    rows = [
        [f"{one['every']}", spread_text(one["without_ms"]), spread_text(one["with_ms"]), _more(one["slower"]),
         spread_text(one["durable_ms"])]
        for one in content["results"]["every"]
    ]  # fmt: skip
    return grid(["a save every", "ms a step, without", "with", "slower", "ms until durable"], rows)


def beside(content: Json) -> str:
    """A row for each way to save, every 10 steps."""
    results = content["results"]
    rows = [
        [name, _more(results[key]["slower"]), spread_text(results[key]["call_ms"]),
         spread_text(results[key]["durable_ms"])]
        for key, name in (("holdfast", "Checkpoint"), ("dcp", "async_save"))
    ]  # fmt: skip
    return grid(["every 10 steps", "steps slower", "ms a call", "ms until durable"], rows)


def _more(ratio: Json) -> str:
    return f"{100 * (ratio['median'] - 1):.1f}%"


def slower(content: Json, path: Path) -> Path:
    """How much slower steps are, by the number of steps between saves."""
    figure, axes = figures.new_figure("Steps slower with saves", content["machine"]["name"])
    every = content["results"]["every"]
    axes.plot([one["every"] for one in every], [100 * (one["slower"]["median"] - 1) for one in every], marker="o",
              markersize=4, color=figures.COLOURS["holdfast"], label="Checkpoint")  # fmt: skip
    theirs = 100 * (content["results"]["dcp"]["slower"]["median"] - 1)
    axes.plot(
        [10],
        [theirs],
        marker="s",
        markersize=5,
        linestyle="none",
        color=figures.COLOURS["libcuckoo"],
        label="async_save",
    )
    axes.set_xscale("log")
    axes.set_xlabel("steps between saves")
    axes.set_ylabel("% slower")
    axes.legend(frameon=False, fontsize=8)
    return figures.save(figure, path)


COMMANDS: dict[str, Callable[..., None]] = {"training-saves": training_saves}
TABLES: dict[str, Callable[[Json], str]] = {"training-saves": steps, "training-saves-beside": beside}
PLOTS: dict[str, Callable[[Json, Path], Path]] = {"training-saves": slower}
