"""The machine itself: layouts of buckets, and the limits of its memory."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from bench.frame import machine, options, text
from bench.frame.running import running
from bench.memory import study


def layout(
    mebibytes: Annotated[int, typer.Option(help="Size of the array of buckets.")] = 512,
    operations: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Finds of each sort.")] = 8_000_000,
    repeat: options.Repetitions = 3,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """Rule 8: 16-byte slots against buckets with their key words together, on this CPU."""
    if quick:
        mebibytes, operations, repeat = 4, 50_000, 1
    with running(json_file) as (console, progress):
        got = study.layout(mebibytes, operations, repeat, progress)
        rows = [
            (name.replace("_", " "), *(text.figure(entry[kind][op]) for kind in ("slots", "together")
             for op in ("find_mops", "absent_mops", "insert_mops")))
            for name, entry in got.items()
        ]  # fmt: skip
        columns = ("", "slots: find", "absent", "insert", "together: find", "absent", "insert")
        text.print_rows(console, "M operations/s, one thread", columns, rows)
        parameters = {"mebibytes": mebibytes, "operations": operations, "repetitions": repeat}
        options.finish(console, "layout", parameters, got, json_file, save, layers=())


def limits(
    mebibytes: Annotated[str, typer.Option(metavar="N[,N…]", help="Sizes of the array.")] = "512,1024,4096",
    threads: options.Threads = 0,
    operations: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Lines a thread.")] = 16_000_000,
    repeat: options.Repetitions = 3,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """What this machine's memory allows: random lines and sequential bytes a second."""
    sizes = options.counts(mebibytes)
    if quick:
        sizes, operations, repeat = [4], 50_000, 1
    threads = threads or machine.cores()
    with running(json_file) as (console, progress):
        got = study.limits(sizes, threads, operations, repeat, progress)
        names = list(next(iter(got["memory"].values())))
        rows = [(name.replace("_", " "), *(text.figure(entry[n], 1) for n in names))
                for name, entry in got["memory"].items()]  # fmt: skip
        text.print_rows(console, f"{threads} threads", ("", *(n.replace("_", " ") for n in names)), rows)
        parameters = {"mebibytes": sizes, "threads": threads, "operations": operations, "repetitions": repeat}
        options.finish(console, "limits", parameters, got, json_file, save, layers=())


COMMANDS: dict[str, Callable[..., None]] = {"limits": limits, "layout": layout}
SUITE: list[tuple[str, dict[str, Any]]] = [
    ("limits", {"mebibytes": "512,4096", "repeat": 2}),
    ("layout", {"operations": 4_000_000}),
]
