"""Tables of the machine's limits and of layouts."""

from collections.abc import Callable

from bench.frame.markdown import grid, spread_text
from bench.frame.results import Json


def _layout(content: Json) -> str:
    rows = [
        [name.replace("_", " "), *(
            " / ".join(spread_text(e[kind][f"{op}_mops"]) for kind in ("slots", "together"))
            for op in ("find", "absent", "insert")
        )]
        for name, e in content["results"].items()
    ]  # fmt: skip
    return grid(["16-byte slots / keys together, M/s", "find", "absent", "insert"], rows)


def _limits(content: Json) -> str:
    memory = content["results"]["memory"]
    names = list(next(iter(memory.values())))
    rows = [[name.replace("_", " "), *(spread_text(entry[n]) for n in names)] for name, entry in memory.items()]
    return grid(["memory", *(n.replace("_mops", ", M/s").replace("_", " ") for n in names)], rows)


TABLES: dict[str, Callable[[Json], str]] = {"layout": _layout, "limits": _limits}
