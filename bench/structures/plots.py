"""The picture of the schemes' latencies."""

from pathlib import Path

from bench.frame.figures import legend, new_figure, save
from bench.frame.results import Json
from bench.frame.studies import Draw
from bench.structures.tables import NAMES, OPERATIONS

COLOURS = ("#0b6e75", "#c46a1b", "#7a7f87")


def latencies(content: Json, path: Path) -> Path:
    """Each operation of each scheme: RandomNum, load factor 0.5, `clflush` and 300 ns, with the spread of runs."""
    rows = [
        row
        for row in content["results"]["rows"]
        if (row["trace"], row["load"], row["flush"], row["delay_ns"]) == ("random", 0.5, "clflush", 300)
    ]
    figure, axes = new_figure("One operation a call, emulated persistent memory", content["machine"]["name"])
    for number, operation in enumerate(OPERATIONS):
        spreads = [row[f"{operation}_ns"] for row in rows]
        errors = [[one["median"] - one["low"] for one in spreads], [one["high"] - one["median"] for one in spreads]]
        axes.bar([i + 0.27 * (number - 1) for i in range(len(rows))], [one["median"] for one in spreads], 0.27,
                 yerr=errors, color=COLOURS[number], label=operation)  # fmt: skip
    axes.set_xticks(range(len(rows)), [NAMES[row["scheme"]].replace(", ", ",\n") for row in rows], fontsize=7)
    axes.set_ylabel("ns")
    legend(axes, ncol=3, loc="lower right", bbox_to_anchor=(1, 1))
    return save(figure, path)


PLOTS: dict[str, Draw] = {"structures-latency": latencies}
