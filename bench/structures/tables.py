"""Tables of group hashing and the schemes that it is compared with (holdfast-structures-bench)."""

from collections.abc import Callable

from bench.frame.markdown import grid, spread_text
from bench.frame.results import Json

NAMES = {
    "group": "group hashing",
    "table": "Table (ours)",
    "linear": "linear probing, no log",
    "linear-l": "linear probing",
    "pfht": "PFHT, no log",
    "pfht-l": "PFHT",
    "path": "path hashing, no log",
    "path-l": "path hashing",
}
"""A scheme in a document, by its name in a result."""
TRACES = {"random": "RandomNum", "words": "Bag-of-Words", "fingerprint": "Fingerprint"}
OPERATIONS = ("insert", "find", "erase")


def _cell(row: Json, figure: str, digits: int) -> str:
    return spread_text(row[figure], digits) if figure in row else "–"


def latency(content: Json) -> str:
    """A row a trace, load factor, way of flushing and scheme: nanoseconds of each operation."""
    rows = [
        [TRACES[row["trace"]], f"{row['load']:g}", f"{row['flush']} + {row['delay_ns']:g} ns", NAMES[row["scheme"]],
         *(_cell(row, f"{operation}_ns", 0) for operation in OPERATIONS)]
        for row in content["results"]["rows"]
    ]  # fmt: skip
    return grid(["trace", "load factor", "emulated flush", "scheme", *(f"{name}, ns" for name in OPERATIONS)], rows)


def by(content: Json) -> str:
    """The same of studies that vary one parameter: the delay, or the cells of a group."""
    rows = content["results"]["rows"]
    parameter, text = ("group_size", "cells of a group") if "group_size" in rows[0] else ("delay_ns", "delay, ns")
    return grid(
        [text, "scheme", *(f"{name}, ns" for name in OPERATIONS)],
        [
            [f"{row[parameter]:g}", NAMES[row["scheme"]], *(_cell(row, f"{name}_ns", 0) for name in OPERATIONS)]
            for row in rows
        ],
    )


def counts(content: Json) -> str:
    """What each operation does, on average; the misses are of a simulated cache."""
    figures = ("persists", "lines_flushed", "lines_written", "lines_touched", "simulated_misses")
    rows = [
        [TRACES[row["trace"]], f"{row['load']:g}", NAMES[row["scheme"]], row["operation"],
         *(f"{row[name]:.2f}" if name in row else "–" for name in figures)]
        for row in content["results"]["rows"]
    ]  # fmt: skip
    return grid(["trace", "load factor", "scheme", "operation", *(name.replace("_", " ") for name in figures)], rows)


def utilisation(content: Json) -> str:
    """The load factor at the first failure, by size and group size: measured, simulated, with two hash functions."""
    rows = [
        [f"2^{row['bits']}", str(row["group_size"]), _cell(row, "measured", 3), _cell(row, "simulated", 3),
         _cell(row, "simulated_two_hashes", 3)]
        for row in content["results"]["sizes"]
    ]  # fmt: skip
    return grid(["cells", "of a group", "measured", "simulated", "two hashes, simulated"], rows)


def fills(content: Json) -> str:
    """The load factor at the first failure with the keys of each trace."""
    rows = [
        [TRACES[row["trace"]], NAMES[row["scheme"]], str(row.get("group_size", "–")), f"{row['load']:.3f}"]
        for row in content["results"]["traces"]
    ]
    return grid(["trace", "scheme", "cells of a group", "load factor"], rows)


def recovery(content: Json) -> str:
    """Opening a killed table beside loading it."""
    rows = [
        [f"{size['item_bytes']} bytes, {size['mib']} MiB", _cell(size, "load_s", 2), _cell(size, "recovery_ms", 2),
         spread_text({**size["of_load"], **{k: 100 * size["of_load"][k] for k in ("median", "low", "high")}}, 3)]
        for item in content["results"]["by_item"]
        for size in item["sizes"]
    ]  # fmt: skip
    return grid(["items, table", "load, s", "recovery, ms", "of the load, %"], rows)


def threads(content: Json) -> str:
    """Millions of operations a second by threads."""
    rows = [
        [NAMES[row["scheme"]], str(row["threads"]), *(_cell(row, f"{name}_mops", 2) for name in OPERATIONS)]
        for row in content["results"]["rows"]
    ]
    return grid(["scheme", "threads", *(f"{name}, M/s" for name in OPERATIONS)], rows)


def churn(content: Json) -> str:
    """An erase and an insert together, in the first and the last of the phases."""
    rows = content["results"]["rows"]
    last = max(row["capacities"] for row in rows)
    kept = {(row["load"], row["scheme"], row["capacities"]): row for row in rows}
    text = [
        [f"{load:g}", NAMES[scheme], f"{row['pair_ns']:,.0f}", f"{kept[load, scheme, last]['pair_ns']:,.0f}",
         str(sum(kept[load, scheme, i]["refused"] for i in range(1, last + 1)))]
        for (load, scheme, phase), row in kept.items()
        if phase == 1
    ]  # fmt: skip
    return grid(["load factor", "scheme", "pair at first, ns", f"after {last} capacities, ns", "inserts refused"], text)


TABLES: dict[str, Callable[[Json], str]] = {
    "structures-latency": latency,
    "structures-by": by,
    "structures-counts": counts,
    "structures-utilisation": utilisation,
    "structures-fills": fills,
    "structures-recovery": recovery,
    "structures-threads": threads,
    "structures-churn": churn,
}
