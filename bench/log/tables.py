"""Tables of what was measured of logs on a GPU (holdfast-log-bench)."""

from collections.abc import Callable

from bench.frame.markdown import grid, spread_text
from bench.frame.results import Json


def streams(content: Json) -> str:
    """Inserts into a hierarchical log beside a kernel that only writes: a row a size of entries."""
    rows = [
        [f"{one['entry_bytes']}", spread_text(one["hierarchical_gb_s"]), spread_text(one["stream_gb_s"]),
         f"{100 * one['part_of_stream']:.0f}%"]
        for one in content["results"]["sizes"]
    ]  # fmt: skip
    return grid(["bytes an entry", "hierarchical, GB/s, tails included", "streaming kernel, GB/s", "of it"], rows)


def kinds(content: Json) -> str:
    """Inserts into both kinds of log: a row a number of threads, the conventional one at its best partitions."""
    rows = []
    for one in content["results"]["conventional"]:
        best = max(one["partitions"], key=lambda part: part["conventional_gb_s"]["median"])
        rows.append(
            [f"{one['threads']:,}", spread_text(one["hierarchical_gb_s"]), spread_text(best["conventional_gb_s"]),
             f"{best['partitions']:,}", f"{one['times_conventional']:.1f}"]
        )  # fmt: skip
    return grid(["threads", "hierarchical, GB/s", "conventional, GB/s", "partitions", "times"], rows)


TABLES: dict[str, Callable[[Json], str]] = {"log-streams": streams, "log-kinds": kinds}
