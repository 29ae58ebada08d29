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
        {"trace": "random", "load": 0.5, "flush": flush, "delay_ns": 300.0, "scheme": scheme,
         **{f"{name}_ns": spread(100 * (i + 1)) for name in OPERATIONS},
         **{f"{name}_over_group": 1.5 for name in OPERATIONS}}
        for flush in ("clflush", "clwb")
        for i, scheme in enumerate(NAMES)
    ]  # fmt: skip


def lines(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_latencies() -> None:
    got = content("latency", {"rows": latency_rows()})
    rows = lines(tables.TABLES["structures-latency"](got))
    assert rows[0] == ["group hashing", *(["100 (50–200)", "1.50"] * 3)]
    assert [row[0] for row in rows] == [*NAMES.values()]
    rows = lines(tables.TABLES["structures-conditions"](got))
    assert [row[0] for row in rows] == ["RandomNum, 0.5, clflush + 300 ns", "RandomNum, 0.5, clwb + 300 ns"]
    assert rows[1][1:3] == ["100 / 100 / 100", "200 / 200 / 200"] and len(rows[1]) == 1 + len(NAMES)


def test_one_parameter() -> None:
    measured = latency_rows()[: len(NAMES)]
    shown = tables.TABLES["structures-by"](content("delay", {"rows": measured}))
    assert lines(shown)[0][:3] == ["300", "100 / 100 / 100", "200 / 200 / 200"] and "delay, ns; insert" in shown
    measured = [measured[0] | {"group_size": size} for size in (64, 128)]
    shown = tables.TABLES["structures-by"](content("groups", {"rows": measured}))
    assert [row[0] for row in lines(shown)] == ["64", "128"] and "cells of a group; insert" in shown


def test_the_picture_shows_the_default_row_of_each_scheme(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    got = content("latency", {"rows": latency_rows()})
    text = plots.PLOTS["structures-latency"](got, tmp_path / "latency.svg").read_text(encoding="utf-8")
    assert text.count("group hashing") == 1 and "path hashing" in text


def test_counts_have_dashes_where_nothing_was_counted() -> None:
    counted = {"persists": 1.0, "lines_flushed": 1.0}
    whole = counted | {"lines_written": 1.0, "lines_touched": 2.5, "simulated_misses": 1.25}
    got: list[dict[str, Any]] = [
        {"trace": trace, "load": 0.5, "scheme": scheme, "operation": name, **figures}
        for trace in ("random", "words")
        for scheme, figures in (("table", counted), ("group", whole))
        for name in OPERATIONS
    ]
    rows = lines(tables.TABLES["structures-counts"](content("counts", {"rows": got})))
    assert rows[0] == ["Table (ours)", *["1.00 / 1.00 / 1.00"] * 2, *["– / – / –"] * 3]
    assert rows[1][4:] == ["2.50 / 2.50 / 2.50", "1.25 / 1.25 / 1.25"] and len(rows) == 2


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
        {"load": 0.5, "scheme": "group", "pair_ns": [1000.0 * i for i in range(1, 11)], "refused": [*range(1, 11)]}
    ]
    rows = lines(tables.TABLES["structures-churn"](content("churn", {"rows": phases})))
    assert rows == [["0.5", "group hashing", "1,000", "10,000", "55"]]


def test_originals_have_their_own_names() -> None:
    measured: list[dict[str, Any]] = [
        {"flush": "clflush", "delay_ns": 300.0, "scheme": scheme, **{f"{name}_ns": spread(100) for name in OPERATIONS}}
        for scheme in ("group", "Theirs")
    ]
    got = results.result(
        "structures-originals", {"items": 4}, {"rows": measured, "cells": {"group": 8, "Theirs": 6}}, layers=()
    )
    rows = lines(tables.TABLES["structures-originals"](got))
    assert rows[0] == ["clflush + 300 ns", "group hashing", "0.50", *(["100 (50–200)"] * 3)]
    assert rows[1][1:3] == ["Theirs", "0.67"]


def test_durable_peers_are_listed_by_domain() -> None:
    asked = ("insert_growing", "insert", "find", "absent", "erase")
    mops = {
        domain: {
            name: {operation: spread(rate) for operation in asked} for name, rate in (("one_key", 8), ("Theirs", 4))
        }
        for domain in ("power", "process")
    }
    got = results.result("structures-durable-peers", {}, {"batch": 64, "mops": mops}, layers=())
    rows = lines(tables.TABLES["structures-durable-peers"](got))
    assert [row[:3] for row in rows[::3]] == [
        ["process", "Table, one key a call", "8.0 (4.0–16.0)"],
        ["power", "Theirs", "4.0 (2.0–8.0)"],
    ]


def test_flushed_lines_by_capacity() -> None:
    row = {"scheme": "table", "keys_a_call": 65536, "value_bytes": 8, "capacity": "growing", "lines_flushed": 1.5,
           "persists": 0.03125}  # fmt: skip
    got = content("flushed-lines", {"rows": [row, row | {"scheme": "Theirs"}]})
    rows = lines(tables.TABLES["structures-flushed-lines"](got))
    assert rows[0] == ["growing", "Table (ours)", "65,536", "8", "1.50", "0.031"]
    assert rows[1][1] == "Theirs"


def test_a_row_of_latencies_has_a_line() -> None:
    row = latency_rows()[-1] | {"trace": "fingerprint", "load": 0.75}
    for name in OPERATIONS:
        row[f"{name}_ns"] = {"median": 12345.0, "low": 12345.0, "high": 12345.0}
        row[f"{name}_over_group"] = 10.123
    assert "\n" not in results.text_of(row)


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
        "flushed-lines": {
            "rows": [
                {"scheme": "table", "capacity": "space", "keys_a_call": 65536, "value_bytes": n, "lines_flushed": 1.2}
                for n in (8, 16)
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
    folder = Path(bars.__file__).resolve().parents[1] / "bars"
    ours = [bar for bar in bars.load(folder) if bar.subject == "structures"]
    answers = [bars.answer(bar, tmp_path) for bar in ours]
    assert len(answers) >= 18
    assert [answer.why for answer in answers if answer.state == "unanswered"] == []
    below = {answer.bar.id for answer in answers if answer.state in ("missed", "limit")}
    assert below == {f"structures.erase-{scheme}" for scheme in ("linear-l", "pfht-l", "path-l")}
