"""Tables of what was measured of the table in memory (holdfast-dramhit-bench)."""

from collections.abc import Callable, Iterable
from typing import Any

from bench.frame.markdown import grid, spread_text
from bench.frame.results import Json

ASKED = {
    "put_new": "put, new keys",
    "get": "get",
    "absent": "get, absent keys",
    "put": "put, keys that are there",
    "upsert": "upsert",
}
"""What a study asks, by the names of its figures."""
ADDED = {"upsert": "add, without answers", "upsert_zipfian": "add, without answers, zipfian 1.09"}
"""The study of published code asks these in place of `upsert`."""


def words(name: str) -> str:
    """A figure's name as a table says it: `get_mops` is "get, M/s"."""
    return name.removesuffix("_mops").replace("_", " ") + (", M/s" if name.endswith("_mops") else "")


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return spread_text(value)
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def bars(content: Json) -> str:
    """Each operation beside the memory's own rate in the same turns, and beside Folklore."""
    mops = content["results"]["mops"]

    def of(figure: str, digits: int = 1) -> str:
        return spread_text(mops[figure], digits) if figure in mops else "–"

    rows = [
        [text, of(f"dramhit_{name}"), of(f"dramhit_{name}_lines", 2), of(f"{name}_limit"),
         of(f"{name}_lines_of_limit", 2), of(f"folklore_{name}"), of(f"{name}_over_folklore", 2)]
        for name, text in ASKED.items()
    ]  # fmt: skip
    heads = [
        "M operations/s",
        "MemoryTable",
        "lines each",
        "random lines",
        "lines of these",
        "Folklore",
        "over Folklore",
    ]
    return grid(heads, rows)


def peers(content: Json) -> str:
    """Each operation on ours, Folklore and the peers."""
    mops, names = content["results"]["mops"], content["parameters"]["peers"]
    rows = [
        [text, *(spread_text(mops[f"{who}_{name}"]) for who in ("dramhit", "folklore", *names)),
         spread_text(mops[f"{name}_over_best_peer"], 2)]
        for name, text in ASKED.items()
    ]  # fmt: skip
    return grid(["M operations/s", "MemoryTable", "Folklore", *names, "over the best peer"], rows)


def originals(content: Json) -> str:
    """Each operation on ours and on the published code of other tables, of which some do not add."""
    mops, names = content["results"]["mops"], [peer["name"] for peer in content["parameters"]["peers"]]

    def figure(name: str, digits: int) -> str:
        return spread_text(mops[name], digits) if name in mops else "–"

    rows = [
        [text, *(figure(f"{who}_{name}", 1) for who in ("dramhit", *names)),
         *(figure(f"{name}_over_{peer}", 2) for peer in names)]
        for name, text in (ASKED | ADDED).items() if f"dramhit_{name}" in mops
    ]  # fmt: skip
    return grid(["M operations/s", "MemoryTable", *names, *(f"over {peer}" for peer in names)], rows)


def runs(content: Json) -> str:
    """A row a run; what only some runs have is a dash in the others."""
    return _rows(content["results"]["runs"])


def _rows(all_runs: Iterable[Json]) -> str:
    kept = list(all_runs)
    names = list(dict.fromkeys(name for run in kept for name in run))
    return grid(
        [words(name) for name in names], [[_cell(run[name]) if name in run else "–" for name in names] for run in kept]
    )


def figures(content: Json) -> str:
    """A row a figure, of a study that has no runs."""
    got = content["results"]
    rows = [[words(name), spread_text(entry, 2)] for name, entry in got.items() if isinstance(entry, dict)]
    return grid(["", "median (lowest–highest)"], rows)


TABLES: dict[str, Callable[[Json], str]] = {
    "memory-bars": bars,
    "memory-peers": peers,
    "memory-originals": originals,
    "memory-runs": runs,
    "memory-figures": figures,
}
