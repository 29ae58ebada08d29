"""Pictures of the store's index in GPU memory (Mega-KV, figure 8)."""

from pathlib import Path

from bench.frame.figures import legend, new_figure, save
from bench.frame.results import Json
from bench.frame.studies import Draw

_LINES = {"search": "search, present", "search_from_host": "search, arrays in host memory", "insert": "insert",
          "erase": "erase"}  # fmt: skip
_LOADS = (("search_present_at_", "search, present"), ("search_absent_at_", "search, absent"), ("insert_to_", "insert"))


def by_size(content: Json, path: Path) -> Path:
    """Rows a second by the size of batches."""
    results = content["results"]
    figure, axes = new_figure(f"Index in GPU memory at load {results['load']}", content["machine"]["name"])
    for name, label in _LINES.items():
        axes.plot([row["rows"] for row in results["rows"]], [row[name] for row in results["rows"]], marker="o",
                  markersize=4, label=label)  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("rows of a batch")
    axes.set_ylabel("G rows/s")
    legend(axes)
    return save(figure, path)


def by_load(content: Json, path: Path) -> Path:
    """Rows a second by the load factor at which, or up to which, they are executed; searches run during changes."""
    results = content["results"]
    rates = next(run for run in results["runs"] if run["kernels"] == "searches beside changes")["rates"]
    figure, axes = new_figure(f"Index in GPU memory, batches of {results['batch']:,}", content["machine"]["name"])
    for prefix, label in _LOADS:
        points = [(int(name.removeprefix(prefix)) / 100, rate["giga_per_second"]["median"])
                  for name, rate in rates.items() if name.startswith(prefix) and "giga_per_second" in rate]  # fmt: skip
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=label)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("load factor")
    axes.set_ylabel("G rows/s")
    legend(axes)
    return save(figure, path)


PLOTS: dict[str, Draw] = {"cuckoo-batches": by_size, "cuckoo-gpu": by_load}
