"""Tables and pictures of what a table does a second, and of what it costs besides."""

from collections.abc import Callable
from pathlib import Path

from bench.frame.figures import COLOURS, legend, new_figure, save
from bench.frame.markdown import grid, spread_text
from bench.frame.results import Json
from bench.frame.studies import Draw


def _compare(content: Json, digits: int = 1) -> str:
    workloads, ratio = content["results"]["workloads"], content["results"]["ratio_to_best_peer"]
    names = list(next(iter(workloads.values())))
    rows = [
        [workload, *(spread_text(targets[name]["mops"], digits) for name in names), spread_text(ratio[workload], 2)]
        for workload, targets in workloads.items()
    ]
    return grid(["M operations/s", *names, "ratio to the better peer"], rows)


def _series(content: Json) -> str:
    rows = []
    for run in content["results"]["runs"]:
        for workload, targets in run["workloads"].items():
            got = targets["holdfast"]
            latency = got["latency_us"]
            rows.append([
                workload, f"{run['value_bytes']}", f"{run['batch']:,}", spread_text(got["mops"]),
                f"{latency['median']:,.0f}", f"{latency['p99']:,.0f}",
            ])  # fmt: skip
    columns = ["workload", "value bytes", "batch", "M operations/s", "batch p50, µs", "p99, µs"]
    return grid(columns, rows)


def _load_factor(content: Json) -> str:
    names = {
        "paper": "the paper's rule",
        "bias": "with a bias against shared buckets",
        "moves": "with one item moved (default)",
    }
    rows = [
        [text, f"{e['slots']:,}", spread_text(e["load_factor"], 4), spread_text(e["moved"], 4)]
        for text, e in ((text, content["results"][name]) for name, text in names.items())
    ]
    return grid(["rule", "slots", "load factor at the first resize", "items moved, of all"], rows)


def _moves(content: Json) -> str:
    cost = content["results"]["cost_of_moves"]
    rows = [
        [band.replace("-", " to "), spread_text(entry), spread_text(cost["mops"]["no_moves"][band]) if band in
         cost["mops"]["no_moves"] else "–"]
        for band, entry in cost["mops"]["moves"].items()
    ]  # fmt: skip
    return grid(["load factor", "inserts with moves, M/s", "without, M/s"], rows)


def _recovery(content: Json) -> str:
    rows = [
        [f"{e['items']:,}", f"{e['slots']:,}", spread_text(e["recovery_ms"]), spread_text(e["map_ms"], 2),
         f"{e['nanoseconds_a_slot']:.2f}"]
        for e in content["results"]["sizes"]
    ]  # fmt: skip
    return grid(["items", "slots", "recovery, ms", "mapping, ms", "ns a slot"], rows)


def _resize(content: Json) -> str:
    got = content["results"]
    fields = ("seconds_without_allocation", "allocation_seconds", "total_seconds")
    rows = [[f"{got['items']:,}", f"{got['slots_before']:,} to {got['slots_after']:,}",
             *(spread_text(got[name], 3) for name in fields)]]  # fmt: skip
    return grid(["items", "slots", "seconds without allocation", "allocation", "together"], rows)


def _snapshot(content: Json) -> str:
    got = content["results"]
    disk = max(got["disk_mb_per_second"].items(), key=lambda way: way[1]["median"])
    rows = [
        ["snapshot, MB/s", spread_text(got["snapshot_mb_per_second"])],
        [f"the same bytes, plainly in order ({disk[0].replace('_', ' ')}), MB/s", spread_text(disk[1])],
        ["bytes that do not compress, MB/s", spread_text(got["disk_incompressible_mb_per_second"])],
        ["snapshot, of the disk's rate, %", spread_text(got["percent_of_disk"])],
        ["snapshot beside searches, MB/s", spread_text(got["beside_searches_mb_per_second"])],
        ["searches beside a snapshot, of their rate otherwise", spread_text(got["searches_ratio"], 2)],
    ]
    return grid([f"{got['size']['written'] / 1e6:,.0f} MB written", ""], rows)


def _cache_trace(content: Json) -> str:
    got = content["results"]
    names = {"get_mops": "gets, M/s", "together_mops": "gets and sets, M/s", "hit_percent": "gets that hit, %",
             "too_large_percent": "gets of values too large for a cell, %"}  # fmt: skip
    rows = [[text, spread_text(got[name])] for name, text in names.items()]
    rows.append(["items at the end", f"{got['items']:,}"])
    rows.append(["bytes of cells that values use, %", f"{got['percent_of_cells_used']:.1f}"])
    return grid([f"{got['keys']:,} keys, batches of {content['parameters']['batch']:,}", ""], rows)


def _errors(spreads: list[Json]) -> list[list[float]]:
    return [[one["median"] - one["low"] for one in spreads], [one["high"] - one["median"] for one in spreads]]


def comparison(content: Json, path: Path) -> Path:
    """Throughput of Holdfast and its peers, bars by workload."""
    workloads = content["results"]["workloads"]
    names = list(next(iter(workloads.values())))
    stores = content["benchmark"].startswith("stores")
    title = "Holdfast and durable stores, none synced" if stores else "Holdfast (durable) and volatile peers"
    figure, axes = new_figure(title, content["machine"]["name"])
    width = 0.8 / len(names)
    for index, name in enumerate(names):
        spreads = [targets[name]["mops"] for targets in workloads.values()]
        heights = [s["median"] for s in spreads]
        places = [x + (index - (len(names) - 1) / 2) * width for x in range(len(workloads))]
        axes.bar(places, heights, width * 0.92, yerr=_errors(spreads), label=name, color=COLOURS.get(name), capsize=2)
    axes.set_xticks(range(len(workloads)), list(workloads))
    parameters = content["parameters"]
    axes.set_ylabel("M operations/s")
    if stores:
        axes.set_yscale("log")
    axes.set_xlabel(
        f"{parameters['items'] / 1e6:g} M items, {parameters['distribution']}, batches of {parameters['batch']:,}, "
        f"{parameters['callers']} threads"
    )
    legend(axes)
    return save(figure, path)


def loading(content: Json, path: Path) -> Path:
    """The load factor while a table grows."""
    curve = content["results"]["while_loading"]
    figure, axes = new_figure("Load factor while loading", content["machine"]["name"])
    axes.plot([n / 1e6 for n in curve["items"]], curve["load_factor"], color=COLOURS["holdfast"], linewidth=1.2)
    axes.set_xlabel("M items")
    axes.set_ylabel("items / slots")
    axes.set_ylim(0, 1)
    return save(figure, path)


TABLES: dict[str, Callable[[Json], str]] = {
    "compare": _compare,
    "stores": lambda content: _compare(content, 2),
    "series": _series,
    "load-factor": _load_factor,
    "moves": _moves,
    "recovery": _recovery,
    "resize": _resize,
    "snapshot": _snapshot,
    "cache-trace": _cache_trace,
}
PLOTS: dict[str, Draw] = {
    "compare": comparison,
    "stores": comparison,
    "load-factor": loading,
}
