"""Tables of the store (holdfast-store-bench)."""

from collections.abc import Callable

from bench.frame.markdown import grid, spread_text
from bench.frame.results import Json


def pipeline(content: Json) -> str:
    """A row a data set, distribution, share of reads and mode: the rate; how long half and 99% of batches wait."""

    def waits(row: Json, figure: str) -> str:
        if "wait_us" not in row:
            return "–"
        wait = row["wait_us"][figure]
        cycles = f"; {wait['median'] / row['cycle_us']:.1f} C" if "cycle_us" in row else ""
        return spread_text(wait, 0) + cycles

    rows = [
        [row["set"], row["distribution"], f"{row['gets']}%", row["mode"],
         spread_text(row["million_per_second"], 2), waits(row, "median"), waits(row, "late")]
        for row in content["results"]["rows"]
    ]  # fmt: skip
    return grid(["data set", "keys", "GET", "mode", "M requests/s", "median wait, µs", "99%, µs"], rows)


def owners(content: Json) -> str:
    """A row a data set, distribution and share of reads: the pipeline in both modes, workers that own their keys, and
    the faster mode over these; M requests/s."""
    rates: dict[tuple[str, str, int], dict[str, Json]] = {}
    for row in content["results"]["rows"]:
        case = rates.setdefault((row["set"], row["distribution"], row["gets"]), {})
        case[row["mode"]] = row["million_per_second"]
    rows = []
    for (name, keys, gets), of in rates.items():
        best = max(of[mode]["median"] for mode in ("direct", "staged"))
        rows.append([name, keys, f"{gets}%", *(spread_text(of[mode], 1) for mode in ("direct", "staged", "owners")),
                     f"{best / of['owners']['median']:.2f}"])  # fmt: skip
    heads = ["data set", "keys", "GET", "direct, M/s", "staged", "owners", "pipeline over owners"]
    return grid(heads, rows)


def latency(content: Json) -> str:
    """A row a mode, share of reads and rate: the smallest interval C whose 99% are answered within 3 C; the answer
    times with it, or with the interval that has the lowest ones where no interval is that good."""
    results = content["results"]
    rows = []
    for row in results["rows"]:
        best = row["smallest_us"]
        p99 = row["p99_us"]
        at = p99.index(min(p99)) if best is None else results["intervals_us"].index(best)
        rows.append([row["mode"], f"{row['gets']}%", f"{row['rate']:g}", "none" if best is None else f"{best:g}",
                     f"{results['intervals_us'][at]:g}", str(row["rows"][at]),
                     *(f"{row[name][at]:g}" for name in ("reached", "p50_us", "p99_us", "p999_us"))])  # fmt: skip
    heads = ["mode", "GET", "offered, M/s", "smallest C, µs", "C, µs", "rows a batch", "answered, M/s",
             "median, µs", "99%", "99.9%"]  # fmt: skip
    return grid(heads, rows)


def gpus(content: Json) -> str:
    """A row a data set, distribution, share of reads, mode and number of GPUs that share the index."""
    rows = [
        [row["set"], row["distribution"], f"{row['gets']}%", row["mode"], str(row["gpus"]),
         spread_text(row["million_per_second"], 2), spread_text(row["over_one"], 2)]
        for row in content["results"]["rows"]
    ]  # fmt: skip
    return grid(["data set", "keys", "GET", "mode", "GPUs", "M requests/s", "of one GPU's"], rows)


def sets(content: Json) -> str:
    """A row a data set: batches of new items, of new values and of reads, and calls with one key; M operations/s."""
    figures = (
        "set_new",
        "set_again",
        "get_uniform",
        "get_zipfian",
        "get_95_zipfian",
        "get_one_a_call",
        "set_one_a_call",
    )
    rows = [
        [f"{row['set']}: {row['key_bytes']} + {row['value_bytes']} bytes",
         *(spread_text(row["million_per_second"][figure], 2) for figure in figures)]
        for row in content["results"]["rows"]
    ]  # fmt: skip
    return grid(["data set", *(figure.replace("_", " ") for figure in figures)], rows)


def rivals(content: Json) -> str:
    """A row a store: M operations a second of data set a, and how many times as fast ours is."""
    figures = ("set_new", "set_again", "get")
    rows = [
        [row["store"], *(spread_text(row["million_per_second"][figure], 2) for figure in figures),
         *(spread_text(row["holdfast_over_it"][figure], 1) if row["store"] != "holdfast" else "–"
           for figure in figures)]
        for row in content["results"]["rows"]
    ]  # fmt: skip
    texts = [figure.replace("_", " ") for figure in figures]
    over = [f"holdfast over it: {text}" for text in texts]
    return grid(["store", *(f"{text}, M/s" for text in texts), *over], rows)


def churn(content: Json) -> str:
    """M items replaced a second, in each of ten turns in which every item is replaced; the last over the first."""
    turns = content["results"]["turn_million_per_second"]
    rows = [[*(spread_text(turn, 2) for turn in turns), spread_text(content["results"]["end_of_beginning"], 2)]]
    return grid([*(f"turn {number}" for number in range(1, len(turns) + 1)), "last over first"], rows)


def snapshots(content: Json) -> str:
    """A row a data set and size of calls: how long snapshots keep changes waiting, and how long calls take.

    Each: half of them, 99%, all."""

    def waits(of: Json) -> str:
        return " / ".join(f"{of[figure]:.3g}" for figure in ("median", "late", "high"))

    rows = [
        [row["set"], str(row["rows_in_call"]),
         waits(row["held_ms"]), waits(row["call_ms"]), waits(row["call_ms_without"]),
         spread_text(row["million_per_second"], 2), spread_text(row["million_per_second_without"], 2),
         spread_text(row["gib_per_second"], 1)]
        for row in content["results"]["rows"]
    ]  # fmt: skip
    heads = ["data set", "rows in a call", "changes held, ms", "a call, ms", "without snapshots, ms",
             "M/s", "M/s without", "copied, GiB/s"]  # fmt: skip
    return grid(heads, rows)


TABLES: dict[str, Callable[[Json], str]] = {
    "store-churn": churn,
    "store-latency": latency,
    "store-owners": owners,
    "store-pipeline": pipeline,
    "store-pipeline-gpu-index": pipeline,
    "store-pipeline-gpus": gpus,
    "store-sets": sets,
    "store-rivals": rivals,
    "store-snapshots": snapshots,
}
