"""Pictures of what was measured of k-mer counting."""

from collections.abc import Callable
from pathlib import Path

from bench.frame.figures import COLOURS, legend, new_figure, save
from bench.frame.results import Json

_NAMES = {"holdfast": "holdfast", "holdfast_half": "holdfast,\nhalf the memory", "jellyfish": "jellyfish",
          "kmc_memory": "kmc -r", "kmc": "kmc"}  # fmt: skip


def programs(content: Json, path: Path) -> Path | None:
    """Seconds a program; Figure 12's genomes are in `series`."""
    got = content["results"]
    if "holdfast" not in got:
        return None
    names = [name for name in _NAMES if name in got]
    figure, axes = new_figure(f"Counting {got['kmers'] / 1e9:.1f} G k-mers", content["machine"]["name"])
    values = [got[name]["seconds"]["median"] for name in names]
    colours = [COLOURS["holdfast"] if name.startswith("holdfast") else COLOURS["tbb"] for name in names]
    axes.bar([_NAMES[name] for name in names], values, color=colours)
    axes.set_ylabel("seconds, whole process")
    return save(figure, path)


def series(content: Json, path: Path) -> Path:
    """Figure 12: by k, with the most threads."""
    runs = content["results"]["runs"]
    threads = max(run["threads"] for run in runs)
    figure, axes = new_figure(f"Counting by k, {threads} threads", content["machine"]["name"])
    for style, genome in zip("-:", dict.fromkeys(run["genome"] for run in runs), strict=False):
        chosen = [run for run in runs if run["genome"] == genome and run["threads"] == threads]
        for field, text, colour in (("mkmers_s", "by bins", COLOURS["holdfast"]),
                                    ("table_mkmers_s", "sums on MemoryTable", "#c46a1b")):  # fmt: skip
            axes.plot([run["k"] for run in chosen], [run[field]["median"] for run in chosen], style, color=colour,
                      marker="o", markersize=4, label=f"{genome}, {text}")  # fmt: skip
    axes.set_xlabel("k")
    axes.set_ylabel("M k-mers/s")
    axes.set_ylim(bottom=0)
    legend(axes)
    return save(figure, path)


PLOTS: dict[str, Callable[[Json, Path], Path | None]] = {"kmers": programs, "kmers-series": series}
