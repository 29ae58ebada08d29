"""Tables and the picture of group hashing and the schemes beside it, from figures made up here."""

from pathlib import Path
from typing import Any

import pytest

from bench.frame import bars, results
from bench.structures import plots, tables
from bench.structures.tables import NAMES, OPERATIONS


def spread(value: float) -> dict[str, Any]:
    return {"median": value, "low": value / 2, "high": value * 2, "all": [value / 2, value, value * 2]}


def content(study: str, got: dict[str, Any]) -> dict[str, Any]:
    return results.result(f"structures-{study}", {}, got, layers=())


def latency_rows() -> list[dict[str, Any]]:
    return [
        {"trace": "random", "load": 0.5, "flush": flush, "delay_ns": 300.0, "scheme": scheme, "cells": 8, "refused": 0,
         **{f"{name}_ns": spread(100 * (i + 1)) for name in OPERATIONS},
         **{f"{name}_over_group": spread(1.5) for name in OPERATIONS}}
        for flush in ("clflush", "clwb")
        for i, scheme in enumerate(NAMES)
    ]  # fmt: skip


def lines(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_latencies() -> None:
    got = content("latency", {"rows": latency_rows()})
    rows = lines(tables.TABLES["structures-latency"](got))
    assert rows[0] == ["RandomNum", "0.5", "clflush + 300 ns", "group hashing", *(["100 (50–200)"] * 3)]
    assert [row[3] for row in rows] == [*NAMES.values(), *NAMES.values()]
    rows = lines(tables.TABLES["structures-by"](got))
    assert rows[1][:2] == ["300", "Table (ours)"]
    for row in got["results"]["rows"]:
        row["group_size"] = 64
    assert lines(tables.TABLES["structures-by"](got))[0][:2] == ["64", "group hashing"]


def test_the_picture_shows_the_default_row_of_each_scheme(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    got = content("latency", {"rows": latency_rows()})
    text = plots.PLOTS["structures-latency"](got, tmp_path / "latency.svg").read_text(encoding="utf-8")
    assert text.count("group hashing") == 1 and "path hashing" in text


def test_counts_have_dashes_where_nothing_was_counted() -> None:
    row = {
        "trace": "words",
        "load": 0.75,
        "scheme": "table",
        "operation": "erase",
        "persists": 1.0,
        "lines_flushed": 1.0,
    }
    whole = row | {"scheme": "group", "lines_written": 1.0, "lines_touched": 2.5, "simulated_misses": 1.25}
    rows = lines(tables.TABLES["structures-counts"](content("counts", {"rows": [row, whole]})))
    assert rows[0] == ["Bag-of-Words", "0.75", "Table (ours)", "erase", "1.00", "1.00", "–", "–", "–"]
    assert rows[1][4:] == ["1.00", "1.00", "1.00", "2.50", "1.25"]


def test_utilisation() -> None:
    size = {"bits": 23, "group_size": 256, "simulated": spread(0.76), "simulated_two_hashes": spread(0.9)}
    got = content("utilisation", {"sizes": [size], "traces": [{"trace": "random", "scheme": "path", "load": 0.95}]})
    rows = lines(tables.TABLES["structures-utilisation"](got))
    assert rows == [["2^23", "256", "–", "0.760 (0.380–1.520)", "0.900 (0.450–1.800)"]]
    assert lines(tables.TABLES["structures-fills"](got)) == [["RandomNum", "path hashing, no log", "–", "0.950"]]


def test_recovery_threads_and_churn() -> None:
    size = {"item_bytes": 16, "bits": 23, "mib": 128, "load_s": spread(8.0), "recovery_ms": spread(4.0),
            "of_load": spread(0.0005)}  # fmt: skip
    got = content("recovery", {"by_item": [{"item_bytes": 16, "sizes": [size]}]})
    rows = lines(tables.TABLES["structures-recovery"](got))
    assert rows == [["16 bytes, 128 MiB", "8.00 (4.00–16.00)", "4.00 (2.00–8.00)", "0.050 (0.025–0.100)"]]
    row = {"scheme": "group", "threads": 2, **{f"{name}_mops": spread(2) for name in OPERATIONS}}
    rows = lines(tables.TABLES["structures-threads"](content("threads", {"rows": [row]})))
    assert rows == [["group hashing", "2", *(["2.00 (1.00–4.00)"] * 3)]]
    phases = [
        {"load": 0.5, "scheme": "group", "capacities": i, "pair_ns": 1000.0 * i, "refused": i} for i in range(1, 11)
    ]
    rows = lines(tables.TABLES["structures-churn"](content("churn", {"rows": phases})))
    assert rows == [["0.5", "group hashing", "1,000", "10,000", "55"]]


def test_every_bar_finds_its_figure(tmp_path: Path) -> None:
    """Each field of the bars is where the studies put it."""
    size = {"bits": 23, "group_size": 256, "measured": spread(0.76), "apart": 0.0}
    made = {
        "latency": {"rows": latency_rows()},
        "counts": {
            "rows": [
                {"trace": "random", "load": 0.5, "scheme": "group", "operation": name, "persists": 1.0}
                for name in OPERATIONS
            ]
        },
        "utilisation": {"sizes": [size]},
        "recovery": {
            "by_item": [
                {
                    "item_bytes": 16,
                    "time_per_cell_largest_over_least": 1.1,
                    "sizes": [{"bits": bits, "of_load": spread(0.001)} for bits in (23, 24, 25, 26)],
                }
            ]
        },
        "threads": {
            "rows": [
                {"scheme": "group", "threads": n, **{f"{name}_over_one": spread(1.9) for name in OPERATIONS}}
                for n in (1, 2)
            ]
        },
    }
    for study, got in made.items():
        results.write(tmp_path / "two-core" / f"structures-{study}.json", content(study, got))
    folder = Path(bars.__file__).resolve().parents[1] / "bars" / "unmeasured"
    ours = [bar for bar in bars.load(folder) if bar.subject == "structures"]
    answers = [bars.answer(bar, tmp_path) for bar in ours]
    assert len(answers) >= 18
    assert [answer.why for answer in answers if answer.state == "unanswered"] == []
    missed = {answer.bar.id for answer in answers if answer.state == "missed"}
    assert missed == {f"structures.erase-{scheme}" for scheme in ("linear-l", "pfht-l", "path-l")}
