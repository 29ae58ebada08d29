"""The tables of saves of a training, from its committed results."""

from collections.abc import Callable

from bench.frame.markdown import grid, spread_text
from bench.frame.results import Json


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


TABLES: dict[str, Callable[[Json], str]] = {"training-saves": steps, "training-saves-beside": beside}
