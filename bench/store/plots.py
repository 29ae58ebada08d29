"""Pictures of the store's pipeline (Mega-KV, figures 14 to 16)."""

from pathlib import Path

from bench.frame.figures import legend, new_figure, save
from bench.frame.results import Json
from bench.frame.studies import Draw

_COLOURS = ("#0b6e75", "#c46a1b", "#7a7f87", "#5b4a9e", "#9a8c1c", "#a03a56")
_MODES = {"direct": "direct", "staged": "staged", "owners": "each worker owns its keys"}


def pipeline(content: Json, path: Path) -> Path:
    """Requests a second by data set, kind of keys and share of reads, a bar for each way to execute them."""
    rows = content["results"]["rows"]
    modes = [mode for mode in _MODES if any(row["mode"] == mode for row in rows)]
    cases = list(dict.fromkeys((row["set"], row["distribution"], row["gets"]) for row in rows))
    figure, axes = new_figure(f"Requests to a store, {content['parameters']['threads']} threads",
                              content["machine"]["name"])  # fmt: skip
    width = 0.8 / len(modes)
    for number, mode in enumerate(modes):
        rates = {(row["set"], row["distribution"], row["gets"]): row["million_per_second"]["median"]
                 for row in rows if row["mode"] == mode}  # fmt: skip
        axes.bar([at + width * (number - (len(modes) - 1) / 2) for at in range(len(cases))],
                 [rates.get(case, 0) for case in cases], width, color=_COLOURS[number], label=_MODES[mode])  # fmt: skip
    labels = [f"{name}\n{keys[:4]}.\n{gets}%" for name, keys, gets in cases]
    axes.set_xticks(range(len(cases)), labels, fontsize=7)
    axes.set_ylabel("M requests/s")
    axes.set_xlabel("data set, keys, GET")
    legend(axes)
    return save(figure, path)


def latency(content: Json, path: Path) -> Path:
    """The time within which 99% of requests are answered, by the interval C in which they are collected; 3 C."""
    results = content["results"]
    intervals = results["intervals_us"]
    figure, axes = new_figure("99% are answered within", content["machine"]["name"])
    most = max(row["gets"] for row in results["rows"])
    rows = [row for row in results["rows"] if row["gets"] == most]
    rates = list(dict.fromkeys(row["rate"] for row in rows))
    for row in rows:
        axes.plot(intervals, row["p99_us"], "-" if row["mode"] == "direct" else "--", marker="o", markersize=4,
                  color=_COLOURS[rates.index(row["rate"])], label=f"{row['mode']}, {row['rate']:g} M/s")  # fmt: skip
    axes.plot(intervals, [3 * one for one in intervals], color="#b9bec4", linewidth=1, label="3 C")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"interval C, µs; {most}% GET, {content['parameters']['threads']} threads")
    axes.set_ylabel("µs")
    legend(axes, loc="upper left", bbox_to_anchor=(1, 1))
    return save(figure, path)


PLOTS: dict[str, Draw] = {"store-latency": latency, "store-pipeline": pipeline}
