"""The table of what pools of several objects cost."""

from collections.abc import Callable

from bench.frame.markdown import grid, interval_text
from bench.frame.results import Json


def objects(content: Json) -> str:
    """One row a bar of the issue, and what it is made of."""
    got = content["results"]
    first, threads, churn, many = got["first_change"], got["threads"], got["churn"], got["many"]
    rows = [
        ["first change after `sync`, medium `file`, of the baseline's time", interval_text(first["of_baseline"], 2)],
        ["two threads, a table each, over one thread on one", interval_text(threads["two_tables_over_one_thread"], 2)],
        ["the same over two threads on one table as large as both",
         interval_text(threads["two_tables_over_one_of_their_size"], 2)],
        [f"file over its peak of live bytes, {churn['steps']:,} creates, grows and drops", f"{churn['ratio']:.3f}"],
        *([f"empty pool on disk, {name}, MiB", f"{mib:.1f}"] for name, mib in got["sizes"].items()),
        [f"{many['tables']:,} open tables beside {many['array_gb']:.0f} GB of arrays: creating one, ms",
         f"{many['create_ms_each']:.1f}"],
        ["their address space, TiB", f"{many['address_space_tib']:.1f}"],
    ]  # fmt: skip
    return grid(["", "measured"], rows)


TABLES: dict[str, Callable[[Json], str]] = {"objects": objects}
