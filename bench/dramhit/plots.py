"""Pictures of what was measured of the table in memory, and the figures of the paper that they answer to."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench.dramhit.tables import ASKED
from bench.frame.figures import COLOURS, legend, new_figure, save
from bench.frame.results import Json

_COLOURS = {"dramhit": COLOURS["holdfast"], "dramhit-p": "#5b4a9e", "folklore": "#c46a1b"}
_STYLES = ("-", "--", ":")


def _legend(axes: Any) -> None:
    axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.4)  # with room for it above the lines
    legend(axes)


def _lines(axes: Any, runs: Iterable[Json], x: str, figures: dict[str, str]) -> None:
    """Each form's figures against `x`: a colour a form, a style a figure."""
    kept = list(runs)
    for form in dict.fromkeys(run["form"] for run in kept):
        for style, (name, text) in zip(_STYLES, figures.items(), strict=False):
            points = [(run[x], run[name]["median"]) for run in kept if run["form"] == form and name in run]
            if points:
                axes.plot(*zip(*points, strict=True), style, color=_COLOURS.get(form), marker="o", markersize=4,
                          label=f"{form}, {text}")  # fmt: skip


def _large(runs: list[Json]) -> list[Json]:
    """Of a study of two tables, the large one's."""
    items = max(run["items"] for run in runs)
    return [run for run in runs if run["items"] == items]


def by_threads(content: Json, path: Path) -> Path:
    """Figure 6: put and get by threads, in the large table."""
    runs = _large(content["results"]["runs"])
    figure, axes = new_figure("Put and get by threads", content["machine"]["name"])
    _lines(axes, runs, "threads", {"get_mops": "get", "put_mops": "put"})
    axes.set_xlabel(f"threads, {runs[0]['items'] / 1e6:g} M items")
    axes.set_ylabel("M operations/s")
    _legend(axes)
    return save(figure, path)


def by_batch(content: Json, path: Path) -> Path:
    """Figure 7: by the operations that are given at a time."""
    figure, axes = new_figure("By operations a call", content["machine"]["name"])
    _lines(axes, content["results"]["runs"], "batch", {"get_mops": "get", "upsert_mops": "upsert"})
    axes.set_xscale("log", base=2)
    axes.set_xlabel("operations a call")
    axes.set_ylabel("M operations/s")
    _legend(axes)
    return save(figure, path)


def by_skew(content: Json, path: Path) -> Path:
    """Figure 8: by skew, in the large table."""
    runs = _large(content["results"]["runs"])
    figure, axes = new_figure("By skew", content["machine"]["name"])
    _lines(axes, runs, "theta", {"get_mops": "get", "upsert_mops": "upsert"})
    axes.set_xlabel(f"zipfian θ, {runs[0]['items'] / 1e6:g} M items")
    axes.set_ylabel("M operations/s")
    _legend(axes)
    return save(figure, path)


def by_pollution(content: Json, path: Path) -> Path:
    """Figure 6c: other lines brought into the caches after each operation."""
    figure, axes = new_figure("Beside other work in the caches", content["machine"]["name"])
    _lines(axes, content["results"]["runs"], "lines", {"get_mops": "get"})
    axes.set_xscale("symlog", linthresh=4, base=2)
    axes.set_xlabel("other lines asked for after each operation; their time counts")
    axes.set_ylabel("M operations/s")
    _legend(axes)
    return save(figure, path)


def latencies(content: Json, path: Path) -> Path:
    """Figure 9: cycles from a call to its answer."""
    figure, axes = new_figure("From a call to its answer", content["machine"]["name"])
    for run in content["results"]["runs"]:
        points = [(int(name.removeprefix("cycles_")), value) for name, value in run.items() if "cycles_" in name]
        style = "-" if run["operation"] == "get" else "--"
        axes.plot(*zip(*points, strict=True), style, color=_COLOURS.get(run["form"]), marker="o", markersize=4,
                  label=f"{run['form']}, {run['operation']}")  # fmt: skip
    axes.set_xlabel("% of the operations")
    axes.set_ylabel("cycles at most")
    _legend(axes)
    return save(figure, path)


def locks(content: Json, path: Path) -> Path:
    """Figure 2: a lock or an atomic increment of a line, by skew."""
    figure, axes = new_figure("A line that threads change", content["machine"]["name"])
    runs = content["results"]["runs"]
    for style, size in zip(_STYLES, dict.fromkeys(run["mebibytes"] for run in runs), strict=False):
        for (name, text), colour in zip({"lock_cycles": "lock", "add_cycles": "increment"}.items(),
                                        (COLOURS["holdfast"], "#c46a1b"), strict=True):  # fmt: skip
            points = [(run["theta"], run[name]["median"]) for run in runs if run["mebibytes"] == size]
            axes.plot(*zip(*points, strict=True), style, color=colour, marker="o", markersize=4,
                      label=f"{text}, {size:,} MiB")  # fmt: skip
    axes.set_xlabel("zipfian θ")
    axes.set_ylabel("cycles a change")
    _legend(axes)
    return save(figure, path)


def messages(content: Json, path: Path) -> Path | None:
    """Figure 5: cycles a delegated message; none of one number of partitions."""
    runs = content["results"]["runs"]
    if len({run["consumers"] for run in runs}) == 1:
        return None
    figure, axes = new_figure("A delegated message", content["machine"]["name"])
    for producers in dict.fromkeys(run["producers"] for run in runs):
        points = [(run["consumers"], run["cycles"]["median"]) for run in runs if run["producers"] == producers]
        axes.plot(
            *zip(*points, strict=True), marker="o", markersize=4, label=f"{producers} producer{'s'[: producers > 1]}"
        )
    axes.set_xlabel("partitions")
    axes.set_ylabel("cycles a message")
    _legend(axes)
    return save(figure, path)


def beside_peers(content: Json, path: Path) -> Path:
    """Each operation on ours, Folklore and the peers, as bars."""
    figure, axes = new_figure("MemoryTable and its peers", content["machine"]["name"])
    mops, names = content["results"]["mops"], ["dramhit", "folklore", *content["parameters"]["peers"]]
    width = 0.8 / len(names)
    for index, name in enumerate(names):
        heights = [mops[f"{name}_{asked}"]["median"] for asked in ASKED]
        places = [x + (index - (len(names) - 1) / 2) * width for x in range(len(ASKED))]
        axes.bar(places, heights, width * 0.92, label="MemoryTable" if name == "dramhit" else name,
                 color=_COLOURS.get(name))  # fmt: skip
    axes.set_xticks(range(len(ASKED)), list(ASKED.values()), fontsize=8)
    axes.set_xlabel(f"{content['parameters']['items'] / 1e6:g} M items, {content['parameters']['threads']} threads")
    axes.set_ylabel("M operations/s")
    _legend(axes)
    return save(figure, path)


def forms(content: Json, path: Path) -> Path:
    """What prefetch, partitions and SIMD each add, in the large table."""
    runs = _large(content["results"]["runs"])
    figure, axes = new_figure("Prefetch, partitions, SIMD", content["machine"]["name"])
    names = [run["form"].replace("@", "\n") for run in runs]
    for shift, (name, colour) in zip((-0.2, 0.2), {"get_mops": COLOURS["holdfast"], "upsert_mops": "#c46a1b"}.items(),
                                     strict=True):  # fmt: skip
        heights = [run[name]["median"] for run in runs]
        axes.bar([x + shift for x in range(len(runs))], heights, 0.37, color=colour, label=name.removesuffix("_mops"))
    axes.set_xticks(range(len(runs)), names, fontsize=7)
    axes.set_xlabel(f"{runs[0]['items'] / 1e6:g} M items; without a name after it, the best instructions")
    axes.set_ylabel("M operations/s")
    _legend(axes)
    return save(figure, path)


PLOTS: dict[str, Callable[[Json, Path], Path | None]] = {
    "dramhit-threads": by_threads,
    "dramhit-batches": by_batch,
    "dramhit-skew": by_skew,
    "dramhit-pollution": by_pollution,
    "dramhit-latency": latencies,
    "dramhit-locks": locks,
    "dramhit-messages": messages,
    "dramhit-peers": beside_peers,
    "dramhit-forms": forms,
}
