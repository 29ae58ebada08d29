"""Pictures of what was measured on a GPU."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.frame.figures import legend, new_figure, save
from bench.frame.results import Json
from bench.frame.studies import Draw
from bench.link import LINK_BYTES

_LINES = ("#0b6e75", "#c46a1b", "#7a7f87", "#5b4a9e", "#9a8c1c", "#a03a56", "#3f7d3a", "#2d4f8a")


_SHOWN = ("find", "absent", "ycsb C", "update", "erase", "ycsb A")  # B lies between C and A, F beside A


def _legend_beside(axes: Any) -> None:
    legend(axes, loc="upper left", bbox_to_anchor=(1, 1))


def _link_line(axes: Any, value_bytes: int, upright: bool = False) -> None:
    """Where values at the speed of the link would be."""
    draw = axes.axvline if upright else axes.axhline
    draw(LINK_BYTES / value_bytes / 1e6, color="#b9bec4", linewidth=1, linestyle="--",
         label=f"{value_bytes}-byte values at link speed")  # fmt: skip


def by_skew(content: Json, path: Path) -> Path:
    """Finds by skew, a line a batch size."""
    figure, axes = new_figure("Finds by skew", content["machine"]["name"])
    runs = [run for run in content["results"]["runs"] if "theta" in run["work"]]
    for batch in dict.fromkeys(run["batch"] for run in runs):
        points = [(float(r["work"].split()[-1]), r["mops"]["median"]) for r in runs if r["batch"] == batch]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=f"batches of {batch:,}")
    axes.set_yscale("log")
    axes.set_xlabel("zipfian θ")
    axes.set_ylabel("M operations/s")
    _link_line(axes, content["parameters"].get("value_bytes", 128))
    legend(axes)
    return save(figure, path)


def latency(content: Json, path: Path) -> Path:
    """GPHash Figures 5 and 6: the latency of a batch against throughput, a line a work, a point a size; of the shortest
    keys."""
    runs = [run for run in content["results"]["runs"] if "latency_us" in run and run["work"] in _SHOWN]
    key_bytes = min(run.get("key_bytes", 8) for run in runs)
    runs = [run for run in runs if run.get("key_bytes", 8) == key_bytes]
    figure, axes = new_figure("Throughput and latency by batch size", content["machine"]["name"])
    for work, colour in zip(dict.fromkeys(run["work"] for run in runs), _LINES, strict=False):
        points = [(run["mops"]["median"], run["latency_us"]["median"]) for run in runs if run["work"] == work]
        axes.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=4, label=work)
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes = [run["batch"] for run in runs]
    axes.set_xlabel(f"M operations/s, batches of {min(sizes):,} to {max(sizes):,}, {key_bytes}-byte keys")
    axes.set_ylabel("latency of a batch, µs")
    _link_line(axes, content["parameters"].get("value_bytes", 128), upright=True)
    _legend_beside(axes)
    return save(figure, path)


def by_key_size(content: Json, path: Path) -> Path:
    """GPHash Figure 12a: throughput by the bytes of a key, batches of 4 Mi."""
    figure, axes = new_figure("Throughput by key size", content["machine"]["name"])
    runs = [run for run in content["results"]["runs"] if ", keys of " in run["work"]]
    largest = max(run["batch"] for run in runs if run["work"].startswith("update"))
    runs = [run for run in runs if run["batch"] == largest]
    for work, colour in zip(dict.fromkeys(r["work"].split(",")[0] for r in runs), _LINES, strict=False):
        points = [
            (int(run["work"].split()[-2]), run["mops"]["median"])
            for run in runs
            if run["work"].split(",")[0] == work and work not in ("contains", "absent")
        ]
        if points:
            axes.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=4, label=work)
    _link_line(axes, content["parameters"]["value_bytes"])
    axes.set_xscale("log", base=2)
    sizes = sorted({int(run["work"].split()[-2]) for run in runs})
    axes.set_xticks(sizes, [f"{size}" for size in sizes])
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"bytes of a key, batches of {largest:,}")
    axes.set_ylabel("M operations/s")
    legend(axes)
    return save(figure, path)


def by_cache(content: Json, path: Path) -> Path:
    """GPHash Figure 11: throughput by the size of the value cache, a line a policy, of the least skew and of the
    greatest."""
    runs = [run for run in content["results"]["curves"]["runs"] if run["work"].startswith("find, ")]
    figure, axes = new_figure("Finds by size and policy of the value cache", content["machine"]["name"])
    parsed = []
    for run in runs:
        _, policy, ratio, skew = (part.strip() for part in run["work"].split(","))
        parsed.append((policy, skew, float(ratio.rstrip("%")), run["mops"]["median"]))
    all_skews = sorted({skew for _, skew, _, _ in parsed})
    skews = dict.fromkeys((all_skews[0], all_skews[-1]))
    for policy, style in zip(dict.fromkeys(entry[0] for entry in parsed), ("-", "--", ":"), strict=False):
        for skew, colour in zip(skews, _LINES, strict=False):
            points = sorted((ratio, rate) for p, s, ratio, rate in parsed if (p, s) == (policy, skew))
            axes.plot(*zip(*points, strict=True), style, color=colour, marker="o", markersize=4,
                      label=f"{policy}, {skew.replace('theta', 'θ')}")  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlabel("% of values with a copy in GPU memory")
    axes.set_ylabel("M operations/s")
    _legend_beside(axes)
    return save(figure, path)


def _bars(axes: Any, groups: Sequence[str], names: Iterable[str], height: Callable[[str, str], float | None]) -> None:
    shown = list(names)
    width = 0.8 / len(shown)
    for index, (name, colour) in enumerate(zip(shown, _LINES, strict=False)):
        heights = [height(group, name) or 0 for group in groups]
        places = [x + (index - (len(shown) - 1) / 2) * width for x in range(len(groups))]
        axes.bar(places, heights, width * 0.92, label=name, color=colour)
    axes.set_xticks(range(len(groups)), groups, fontsize=8)


def _named(run: Json) -> str:
    batch = f"{run['batch'] >> 20} Mi" if run["batch"] >= 1 << 20 else f"{run['batch'] >> 10} Ki"
    return "\n".join([*run["work"].split(), batch])


def beside_rivals(content: Json, path: Path) -> Path:
    """Holdfast and its rivals, by work, in the largest and the smallest batches."""
    figure, axes = new_figure("Beside other indexes on the same medium", content["machine"]["name"])
    runs = [run for run in content["results"]["runs"] if run["work"] != "load"]
    sizes = max(run["batch"] for run in runs), min(run["batch"] for run in runs)
    rates = {(_named(r), r["by"]): r["mops"]["median"] for r in runs if r["batch"] in sizes}
    _bars(axes, list(dict.fromkeys(group for group, _ in rates)), dict.fromkeys(by for _, by in rates),
          lambda group, by: rates.get((group, by)))  # fmt: skip
    axes.tick_params(axis="x", labelsize=7)
    _link_line(axes, content["parameters"]["value_bytes"])
    axes.set_yscale("log")
    axes.set_xlabel(f"batches of {sizes[0]:,} and of {sizes[1]:,}")
    axes.set_ylabel("M operations/s")
    _legend_beside(axes)
    return save(figure, path)


def factor_analysis(content: Json, path: Path) -> Path:
    """GPHash Figure 9: one technique after another."""
    figure, axes = new_figure("What each technique adds", content["machine"]["name"])
    runs = [run for run in content["results"]["runs"] if run["work"] != "load"]
    rates = {(run["work"], run["by"]): run["mops"]["median"] for run in runs}
    _bars(axes, list(dict.fromkeys(work for work, _ in rates)), dict.fromkeys(by for _, by in rates),
          lambda work, by: rates.get((work, by)))  # fmt: skip
    _link_line(axes, content["parameters"]["value_bytes"])
    axes.set_yscale("log")
    axes.set_ylabel(f"M operations/s, batches of {runs[-1]['batch']:,}")
    _legend_beside(axes)
    return save(figure, path)


def embeddings(content: Json, path: Path) -> Path:
    """GPHash Figure 10, DLRM: the latency of a batch against lookups, a line a road and row length."""
    figure, axes = new_figure("Embedding lookups", content["machine"]["name"])
    runs = content["results"]["runs"]
    for road, dim in dict.fromkeys((run["road"], run["dim"]) for run in runs):
        points = [
            (run["mops"]["median"], run["latency_us"]["median"])
            for run in runs
            if (run["road"], run["dim"]) == (road, dim)
        ]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=f"{road}, {dim} floats")
    axes.set_xscale("log")
    axes.set_yscale("log")
    samples = [run["samples"] for run in runs]
    axes.set_xlabel(f"M lookups/s, batches of {min(samples):,} to {max(samples):,} samples")
    axes.set_ylabel("latency of a batch, µs")
    legend(axes)
    return save(figure, path)


PLOTS: dict[str, Draw] = {
    "link-batches": latency,
    "link-skew": by_skew,
    "link-keys": by_key_size,
    "link-cache": by_cache,
    "link-rivals": beside_rivals,
    "link-factors": factor_analysis,
    "dlrm": embeddings,
}
