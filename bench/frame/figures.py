"""How a picture begins and ends: size, colours, a title with the machine; the same SVG for the same data."""

from pathlib import Path
from typing import Any

COLOURS = {"holdfast": "#0b6e75", "libcuckoo": "#c46a1b", "tbb": "#7a7f87", "rocksdb": "#c46a1b", "lmdb": "#7a7f87"}


def new_figure(title: str, machine: str) -> tuple[Any, Any]:
    """A figure and its axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.hashsalt": "holdfast", "font.size": 10, "axes.spines.top": False,
                            "axes.spines.right": False, "svg.fonttype": "none"})  # fmt: skip
    figure, axes = pyplot.subplots(figsize=(7.2, 4.2), layout="constrained")
    axes.set_title(f"{title} ({machine})", loc="left", fontsize=11)
    axes.grid(True, axis="y", color="#e4e6e8", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def legend(axes: Any, **place: Any) -> None:
    """Names lines and bars, where it hides least of them."""
    axes.legend(frameon=False, fontsize=8, handlelength=3, **place)


def save(figure: Any, path: Path) -> Path:
    """Writes the figure, and forgets it. An axis has small ticks only where it shows fewer than two others."""
    from matplotlib import pyplot, ticker

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            if sum(low <= tick <= high for tick in axis.get_majorticklocs()) >= 2:
                axis.set_minor_locator(ticker.NullLocator())
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return path
