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


def _is_paper(row: Json) -> bool:
    return (row["flush"], row["delay_ns"]) == ("clflush", 300)


def _names(rows: list[Json]) -> list[str]:
    """The schemes of some rows, in their order."""
    return list(dict.fromkeys(row["scheme"] for row in rows))


def latency(content: Json) -> str:
    """RandomNum at load factor 0.5, `clflush` and 300 ns: nanoseconds of each operation, and over group hashing's."""
    rows = []
    for row in content["results"]["rows"]:
        if (row["trace"], row["load"]) != ("random", 0.5) or not _is_paper(row):
            continue
        cells = [NAMES[row["scheme"]]]
        for name in OPERATIONS:
            over = row.get(f"{name}_over_group")
            cells += [_cell(row, f"{name}_ns", 0), "–" if over is None else f"{over:.2f}"]
        rows.append(cells)
    header = ["scheme"]
    for name in OPERATIONS:
        header += [f"{name}, ns", "over group"]
    return grid(header, rows)


def conditions(content: Json) -> str:
    """Medians of insert / find / erase for each trace, load factor and way of flushing: a column a scheme."""
    all_rows = content["results"]["rows"]
    names = _names(all_rows)
    kept: dict[tuple[str, float, str, float], dict[str, str]] = {}
    for row in all_rows:
        if _is_paper(row) or (row["trace"], row["load"]) == ("random", 0.5):
            medians = " / ".join(f"{row[f'{name}_ns']['median']:,.0f}" for name in OPERATIONS)
            kept.setdefault((row["trace"], row["load"], row["flush"], row["delay_ns"]), {})[row["scheme"]] = medians
    rows = [
        [f"{TRACES[trace]}, {load:g}, {flush} + {delay:g} ns", *(cells.get(name, "–") for name in names)]
        for (trace, load, flush, delay), cells in kept.items()
    ]
    return grid(["insert / find / erase, ns", *(NAMES[name] for name in names)], rows)


def by(content: Json) -> str:
    """Medians of insert / find / erase in studies that vary one parameter, the delay or the cells of a group."""
    rows = content["results"]["rows"]
    parameter, text = ("group_size", "cells of a group") if "group_size" in rows[0] else ("delay_ns", "delay, ns")
    names = _names(rows)
    kept: dict[float, dict[str, str]] = {}
    for row in rows:
        medians = " / ".join(f"{row[f'{name}_ns']['median']:,.0f}" for name in OPERATIONS)
        kept.setdefault(row[parameter], {})[row["scheme"]] = medians
    return grid(
        [f"{text}; insert / find / erase, ns", *(NAMES[name] for name in names)],
        [[f"{value:g}", *(cells.get(name, "–") for name in names)] for value, cells in kept.items()],
    )


def counts(content: Json) -> str:
    """RandomNum at load factor 0.5: what each operation does, on average; the misses are of a simulated cache."""
    figures = ("persists", "lines_flushed", "lines_written", "lines_touched", "simulated_misses")
    kept: dict[str, dict[str, Json]] = {}
    for row in content["results"]["rows"]:
        if (row["trace"], row["load"]) == ("random", 0.5):
            kept.setdefault(row["scheme"], {})[row["operation"]] = row

    def each(of: dict[str, Json], figure: str) -> str:
        return " / ".join(f"{of[name][figure]:.2f}" if figure in of[name] else "–" for name in OPERATIONS)

    rows = [[NAMES[scheme], *(each(of, figure) for figure in figures)] for scheme, of in kept.items()]
    return grid(["insert / find / erase", *(name.replace("_", " ") for name in figures)], rows)


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
    text = [
        [f"{row['load']:g}", NAMES[row["scheme"]], f"{row['pair_ns'][0]:,.0f}", f"{row['pair_ns'][-1]:,.0f}",
         f"{sum(row['refused']):,}"]
        for row in rows
    ]  # fmt: skip
    last = len(rows[0]["pair_ns"])
    return grid(["load factor", "scheme", "pair at first, ns", f"after {last} capacities, ns", "inserts refused"], text)


def originals(content: Json) -> str:
    """The published code of other tables and ours: nanoseconds of each operation."""
    results = content["results"]
    rows = [
        [f"{row['flush']} + {row['delay_ns']:g} ns", NAMES.get(row["scheme"], row["scheme"]),
         f"{content['parameters']['items'] / results['cells'][row['scheme']]:.2f}",
         *(_cell(row, f"{operation}_ns", 0) for operation in OPERATIONS)]
        for row in results["rows"]
    ]  # fmt: skip
    return grid(["emulated flush", "table", "load factor", *(f"{name}, ns" for name in OPERATIONS)], rows)


def durable_peers(content: Json) -> str:
    """Our Table, one key a call and in batches, and other persistent tables, in both domains: M operations a second."""
    results = content["results"]
    asked = ("insert_growing", "insert", "find", "absent", "erase")
    names = {"one_key": "Table, one key a call", "batches": f"Table, batches of {results['batch']:,}"}
    rows = [
        [domain, names.get(name, name), *(spread_text(rates[operation], 1) for operation in asked)]
        for domain in ("process", "power")
        for name, rates in results["mops"][domain].items()
    ]
    return grid(["domain", "table", "insert, growing", "insert, with space", "find", "absent", "erase"], rows)


def flushed_lines(content: Json) -> str:
    """Lines flushed and fences for each new key, into tables that grow and into tables with space."""
    rows = [
        [row["capacity"], NAMES.get(row["scheme"], row["scheme"]), f"{row['keys_a_call']:,}", str(row["value_bytes"]),
         f"{row['lines_flushed']:.2f}", f"{row['persists']:.3f}"]
        for row in content["results"]["rows"]
    ]  # fmt: skip
    return grid(["capacity", "table", "keys a call", "bytes of a value", "flushed lines", "fences"], rows)


TABLES: dict[str, Callable[[Json], str]] = {
    "structures-latency": latency,
    "structures-conditions": conditions,
    "structures-by": by,
    "structures-counts": counts,
    "structures-utilisation": utilisation,
    "structures-fills": fills,
    "structures-recovery": recovery,
    "structures-threads": threads,
    "structures-churn": churn,
    "structures-originals": originals,
    "structures-durable-peers": durable_peers,
    "structures-flushed-lines": flushed_lines,
}
