"""Options that the benchmark commands share, and what they do with a finished result."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.frame import results
from bench.frame.results import Json

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def count(text: str | int) -> int:
    """A number such as 4096, 4Ki, 16M, 1.5M."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]i?)?", str(text).strip().replace(",", "").lower())
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a number; write it like 4096, 64Ki or 16M")
    return int(float(found[1]) * _UNITS[found[2] or ""])


Count = Annotated[int, typer.Option(parser=count, metavar="N")]
Items = Annotated[int, typer.Option(parser=count, metavar="N", help="Items in the table.")]
Operations = Annotated[int | None, typer.Option(parser=count, metavar="N", help="Operations a run; default: items.")]
Batches = Annotated[str, typer.Option("--batch", metavar="N[,N…]", help="Operations a batch; several make a series.")]
Threads = Annotated[int, typer.Option(help="Threads that submit batches; 0: one a core.")]
Inside = Annotated[int, typer.Option("--table-threads", help="Threads that the table itself uses for a batch.")]
Repetitions = Annotated[int, typer.Option("--repeat", help="Repetitions; results have their median and range.")]
ValueBytes = Annotated[str, typer.Option("--value", metavar="BYTES[,…]", help="Value sizes, multiples of 8.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:N or auto.")]
ValueCache = Annotated[float, typer.Option(help="On a GPU: the part of all values with a copy in its memory, 0 to 1.")]
CachePolicy = Annotated[str, typer.Option(help="Which values these are: lfu, lru or random.")]
Where = Annotated[Path | None, typer.Option("--dir", help="Folder for the pools; default: shared memory.")]
JsonFile = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the result there; a folder: by its name; -: print.")
]
Save = Annotated[bool, typer.Option("--save", help="Write the result into bench/results/.")]
Flush = Annotated[bool, typer.Option("--flush", help="Flush as in domain `power` (emulated).")]
Unique = Annotated[bool, typer.Option("--unique", help="Promise that no key of a load repeats.")]
Quick = Annotated[bool, typer.Option("--quick", help="Small sizes, one repetition: to see that it works.")]


def counts(text: str) -> list[int]:
    """Numbers separated by commas."""
    return [count(part) for part in text.split(",")]


def result_name(base: str, distribution: str, device: str, extra: str = "") -> str:
    """The name of a result: what was measured, and how."""
    return "-".join(part for part in (base, distribution, "" if device == "cpu" else "gpu", extra) if part)


def finish(
    console: Console,
    name: str,
    parameters: Json,
    measured: Json,
    json_file: str | None,
    save: bool,
    layers: Sequence[str],
) -> None:
    """Writes the result where it was asked for."""
    content = results.result(name, parameters, measured, layers=layers)
    if json_file == "-":
        typer.echo(results.text_of(content))
        return
    paths = []
    if json_file is not None:
        path = Path(json_file)
        paths.append(path / f"{name}.json" if path.is_dir() else path)
    if save:
        paths.append(results.default_path(name))
    for path in paths:
        results.write(path, content)
        console.print(f"wrote {path}", style="dim")
