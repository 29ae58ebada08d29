"""The picture of what was measured of checkpoints on a GPU."""

from pathlib import Path

from bench.checkpoint.tables import tensors_text
from bench.frame.figures import COLOURS, legend, new_figure, save
from bench.frame.results import Json
from bench.frame.studies import Draw


def rates(content: Json, path: Path) -> Path:
    """Saves and restores beside one copy of the same bytes, with the spread of repetitions."""
    results = content["results"]
    saves, restores = results["saves"], results["restores"]
    names = [f"save, {'staged' if one['staged'] else 'straight'}\n{tensors_text(one)}" for one in saves]
    names += [f"restore\n{tensors_text(one)}" for one in restores]
    ours: list[Json] = [one["save_gb_s"] for one in saves] + [one["restore_gb_s"] for one in restores]
    plain: list[Json] = [one["plain_gb_s"] for one in [*saves, *restores]]
    figure, axes = new_figure("Checkpoints of a GPU's tensors", content["machine"]["name"])
    for shift, spreads, label, colour in (
        (-0.2, ours, "Holdfast", COLOURS["holdfast"]),
        (0.2, plain, "one copy", COLOURS["tbb"]),
    ):
        errors = [[one["median"] - one["low"] for one in spreads], [one["high"] - one["median"] for one in spreads]]
        axes.bar([i + shift for i in range(len(names))], [one["median"] for one in spreads], 0.4, yerr=errors,
                 color=colour, label=label)  # fmt: skip
    axes.set_xticks(range(len(names)), names, fontsize=7)
    axes.set_ylabel("GB/s")
    legend(axes, ncol=2, loc="lower right", bbox_to_anchor=(1, 1))
    return save(figure, path)


PLOTS: dict[str, Draw] = {"checkpoint": rates}
