"""What runs around every command: a console, a line that says what runs, and the end where an answer is wrong."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

import holdfastdb

Progress = Callable[[str], None]


class WrongAnswer(Exception):
    """A run read a value or a status that is not right; its figures count for nothing."""


@contextmanager
def running(json_file: str | None) -> Iterator[tuple[Console, Progress]]:
    """The console, and a line that says what runs; wrong answers and Holdfast's errors become exit status 1."""
    console = Console(stderr=json_file == "-")
    try:
        with console.status("starting") as status:
            yield console, lambda doing: status.update(doing)
    except WrongAnswer as error:
        Console(stderr=True).print(f"[red]wrong answers:[/] {error}")
        raise typer.Exit(1) from error
    except holdfastdb.Error as error:
        Console(stderr=True).print(f"[red]{type(error).__name__}:[/] {error}")
        raise typer.Exit(1) from error
