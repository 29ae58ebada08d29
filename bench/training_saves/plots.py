"""The picture of saves of a training."""

from pathlib import Path

from bench.frame import figures
from bench.frame.results import Json
from bench.frame.studies import Draw


def slower(content: Json, path: Path) -> Path:
    """How much slower steps are, by the number of steps between saves."""
    figure, axes = figures.new_figure("Steps slower with saves", content["machine"]["name"])
    every = content["results"]["every"]
    axes.plot([one["every"] for one in every], [100 * (one["slower"]["median"] - 1) for one in every], marker="o",
              markersize=4, color=figures.COLOURS["holdfast"], label="Checkpoint")  # fmt: skip
    theirs = 100 * (content["results"]["dcp"]["slower"]["median"] - 1)
    axes.plot(
        [10],
        [theirs],
        marker="s",
        markersize=5,
        linestyle="none",
        color=figures.COLOURS["libcuckoo"],
        label="async_save",
    )
    axes.set_xscale("log")
    axes.set_xlabel("steps between saves")
    axes.set_ylabel("% slower")
    figures.legend(axes)
    return figures.save(figure, path)


PLOTS: dict[str, Draw] = {"training-saves": slower}
