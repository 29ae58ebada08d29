"""How figures look in a terminal."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table as Grid

from bench.frame.results import Json


def figure(entry: Json, digits: int = 2) -> str:
    """A spread as text: median ± half the range."""
    half = (entry["high"] - entry["low"]) / 2
    spread = f" ±{half / abs(entry['median']):.0%}" if entry["median"] and len(entry["all"]) > 1 else ""
    return f"{entry['median']:,.{digits}f}{spread}"


def print_rows(console: Console, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A plain table."""
    grid = Grid(title=title)
    for index, column in enumerate(columns):
        grid.add_column(column, justify="left" if index == 0 else "right")
    for row in rows:
        grid.add_row(*row)
    console.print(grid)
