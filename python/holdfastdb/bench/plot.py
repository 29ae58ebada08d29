"""Pictures of result files: throughput against latency, load factor while loading, comparison, recovery."""

import os
from collections.abc import Iterable
from pathlib import Path

from holdfastdb.bench import dramhit_plots, link_plots
from holdfastdb.bench.figures import COLOURS, new_figure, save
from holdfastdb.bench.results import Json, read


def peers_have_huge_pages() -> bool:
    """Whether the C library was told to ask for huge pages: the peers allocate from it."""
    return "glibc.malloc.hugetlb=1" in os.environ.get("GLIBC_TUNABLES", "")


def throughput_latency(content: Json, path: Path) -> Path:
    """Median batch latency against throughput, a line a workload, a point a batch size."""
    figure, axes = new_figure("Throughput and latency by batch size", content["machine"]["name"])
    first = content["results"]["runs"][0]["value_bytes"]
    runs = [run for run in content["results"]["runs"] if run["value_bytes"] == first]
    for workload in runs[0]["workloads"]:
        points = [run["workloads"][workload]["holdfast"] for run in runs]
        throughput = [p["mops"]["median"] for p in points]
        latency = [p["latency_us"]["median"] for p in points]
        axes.plot(throughput, latency, marker="o", markersize=4, label=workload)
    run, last = runs[0], runs[-1]
    axes.set_yscale("log")
    axes.set_xlabel(f"M operations/s, batches of {run['batch']:,} to {last['batch']:,}, {first}-byte values")
    axes.set_ylabel("median latency of a batch, µs")
    axes.legend(frameon=False)
    return save(figure, path)


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
        errors = [[s["median"] - s["low"] for s in spreads], [s["high"] - s["median"] for s in spreads]]
        places = [x + (index - (len(names) - 1) / 2) * width for x in range(len(workloads))]
        axes.bar(places, heights, width * 0.92, yerr=errors, label=name, color=COLOURS.get(name), capsize=2)
    axes.set_xticks(range(len(workloads)), list(workloads))
    parameters = content["parameters"]
    axes.set_ylabel("M operations/s")
    if stores:
        axes.set_yscale("log")
    axes.set_xlabel(
        f"{parameters['items'] / 1e6:g} M items, {parameters['distribution']}, batches of {parameters['batch']:,}, "
        f"{parameters['callers']} threads"
    )
    axes.legend(frameon=False)
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


def recovering(content: Json, path: Path) -> Path:
    """Recovery time by slots."""
    sizes = content["results"]["sizes"]
    figure, axes = new_figure("Recovery after SIGKILL", content["machine"]["name"])
    slots = [entry["slots"] / 1e6 for entry in sizes]
    for name, label in (("recovery_ms", "recovery"), ("map_ms", "mapping")):
        axes.plot(slots, [entry[name]["median"] for entry in sizes], marker="o", markersize=4, label=label)
    axes.set_xlabel("M slots")
    axes.set_ylabel("ms")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return save(figure, path)


_PLOTS = {
    **link_plots.PLOTS,
    **dramhit_plots.PLOTS,
    "micro": throughput_latency,
    "ycsb": throughput_latency,
    "compare": comparison,
    "stores": comparison,
    "load-factor": loading,
    "recovery": recovering,
}


def draw_all(folder: Path, out: Path) -> Iterable[Path]:
    """A picture for each result file that has one, named <machine>-<benchmark>.svg."""
    for path in sorted(folder.rglob("*.json")):
        try:
            content = read(path)
        except ValueError:
            continue  # another program's: the kill test, the history checker
        draw = _PLOTS.get(content["benchmark"]) or _PLOTS.get(content["benchmark"].split("-")[0])
        drawn = None if draw is None else draw(content, out / f"{content['machine']['name']}-{path.stem}.svg")
        if drawn is not None:
            yield drawn
