"""The table of this tree beside an older commit."""

from collections.abc import Callable

from bench.frame.markdown import grid, interval_text
from bench.frame.results import Json


def against(content: Json) -> str:
    """Every row: the ratio to the baseline's rate with its 95% interval, and the baseline's to itself."""
    got = content["results"]
    rows = [
        [
            row["name"],
            interval_text(row["ratio"]),
            f"{row['same']['low']:.3f}–{row['same']['high']:.3f}",
            row["verdict"],
        ]
        for row in got["rows"]
    ]
    mean = "–" if got["geometric_mean"] is None else f"{got['geometric_mean']:.4f}"
    rows.append([f"geometric mean of {got['judged']} judged rows", mean, "", got["verdict"].split(":")[0]])
    return grid(["row", "rate, of the baseline's", "the baseline with itself", "verdict"], rows)


TABLES: dict[str, Callable[[Json], str]] = {"against": against}
