"""Tables of what pools of several objects cost, and of this tree beside the commit before them."""

from collections.abc import Callable

from holdfastdb.bench.markdown import grid
from holdfastdb.bench.results import Json


def _interval(found: Json, digits: int = 3) -> str:
    return f"{found['median']:.{digits}f} ({found['low']:.{digits}f}–{found['high']:.{digits}f})"


def against(content: Json) -> str:
    """Every row: the ratio to the baseline's rate with its 95% interval, and the baseline's to itself."""
    got = content["results"]
    rows = [
        [row["name"], _interval(row["ratio"]), f"{row['same']['low']:.3f}–{row['same']['high']:.3f}", row["verdict"]]
        for row in got["rows"]
    ]
    mean = "–" if got["geometric_mean"] is None else f"{got['geometric_mean']:.4f}"
    rows.append([f"geometric mean of {got['judged']} judged rows", mean, "", got["verdict"].split(":")[0]])
    return grid(["row", "rate, of the baseline's", "the baseline with itself", "verdict"], rows)


def objects(content: Json) -> str:
    """One row a bar of the issue, and what it is made of."""
    got = content["results"]
    first, threads, churn, many = got["first_change"], got["threads"], got["churn"], got["many"]
    rows = [
        ["first change after `sync`, medium `file`, of the baseline's time", _interval(first["of_baseline"], 2)],
        ["two threads, a table each, over one thread on one", _interval(threads["two_tables_over_one_thread"], 2)],
        ["the same over two threads on one table as large as both",
         _interval(threads["two_tables_over_one_of_their_size"], 2)],
        [f"file over its peak of live bytes, {churn['steps']:,} creates, grows and drops", f"{churn['ratio']:.3f}"],
        *([f"empty pool on disk, {name}, MiB", f"{mib:.1f}"] for name, mib in got["sizes"].items()),
        [f"{many['tables']:,} open tables beside {many['array_gb']:.0f} GB of arrays: creating one, ms",
         f"{many['create_ms_each']:.1f}"],
        ["their address space, TiB", f"{many['address_space_tib']:.1f}"],
    ]  # fmt: skip
    return grid(["", "measured"], rows)


TABLES: dict[str, Callable[[Json], str]] = {"against": against, "objects": objects}
