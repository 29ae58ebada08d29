"""Tables of the store (holdfast-store-bench)."""

from collections.abc import Callable

from bench.frame.markdown import grid, spread_text
from bench.frame.results import Json


def pipeline(content: Json) -> str:
    """A row a data set, distribution, share of reads and mode: the rate; how long half and 99% of batches wait."""

    def waits(row: Json, figure: str) -> str:
        microseconds = spread_text(row["wait_us"][figure], 0)
        if "wait_cycles" not in row:
            return microseconds
        return f"{microseconds}; {row['wait_cycles'][figure]['median']:.1f} C"

    rows = [
        [row["set"], row["distribution"], f"{row['gets']}%", row["mode"],
         spread_text(row["million_per_second"], 2), waits(row, "median"), waits(row, "late")]
        for row in content["results"]["rows"]
    ]  # fmt: skip
    return grid(["data set", "keys", "GET", "mode", "M requests/s", "median wait, µs", "99%, µs"], rows)


TABLES: dict[str, Callable[[Json], str]] = {"store-pipeline": pipeline}
