"""The command of saves of a training."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from bench.frame import options, text
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
        from bench.training_saves.run.measure import measured
        from bench.training_saves.run.model import Training
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
        code = ("src/checkpoint", "src/gpu") if device != "cpu" else ("src/checkpoint",)
        options.finish(console, name, parameters, got, json_file, save, code)


COMMANDS: dict[str, Callable[..., None]] = {"training-saves": training_saves}
