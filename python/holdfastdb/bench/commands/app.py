"""The command-line program itself, and what runs around every command."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

import holdfastdb
from holdfastdb.bench import measure

app = typer.Typer(
    help="Benchmarks. Every answer is checked while they run; wrong ones end a command with status 1.",
    no_args_is_help=True,
)


@contextmanager
def running(json_file: str | None) -> Iterator[tuple[Console, measure.Progress]]:
    """The console, and a line that says what runs; wrong answers and Holdfast's errors become exit status 1."""
    console = Console(stderr=json_file == "-")
    try:
        with console.status("starting") as status:
            yield console, lambda doing: status.update(doing)
    except measure.WrongAnswer as error:
        Console(stderr=True).print(f"[red]wrong answers:[/] {error}")
        raise typer.Exit(1) from error
    except holdfastdb.Error as error:
        Console(stderr=True).print(f"[red]{type(error).__name__}:[/] {error}")
        raise typer.Exit(1) from error
