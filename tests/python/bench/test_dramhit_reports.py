"""Tables and pictures of the table in memory, from figures made up here."""

from pathlib import Path
from typing import Any

import pytest

from bench.dramhit import tables as dramhit_tables
from bench.frame import plot, results

ASKED = ("put_new", "get", "absent", "put", "upsert")
FORMS = ("dramhit", "dramhit-p", "folklore")


def spread(value: float) -> dict[str, Any]:
    return {"median": value, "low": value * 0.9, "high": value * 1.1, "all": [value * 0.9, value, value * 1.1]}


def content(name: str, got: dict[str, Any]) -> dict[str, Any]:
    made = results.result(name, {"items": 1_000_000, "threads": 2, "peers": ["tbb", "boost"]}, got, rooms=())
    made["machine"]["name"] = "made-up"
    return made


def rows_of(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_operations_beside_folklore_and_the_limits() -> None:
    mops = {
        f"{who}_{what}": spread(40 if who == "dramhit" else 20) for who in ("dramhit", "folklore") for what in ASKED
    }
    mops |= {f"{what}_over_folklore": spread(2) for what in ASKED} | {"dramhit_get_lines": spread(1.26)}
    mops |= {"get_limit": spread(60), "get_lines_of_limit": spread(0.84)}
    rows = rows_of(dramhit_tables.TABLES["memory-bars"](content("dramhit-bars", {"mops": mops})))
    assert [row[0] for row in rows] == list(dramhit_tables.ASKED.values())
    assert rows[1] == [
        "get", "40.0 (36.0–44.0)", "1.26 (1.13–1.39)", "60.0 (54.0–66.0)", "0.84 (0.76–0.92)", "20.0 (18.0–22.0)",
        "2.00 (1.80–2.20)",
    ]  # fmt: skip
    assert rows[0][2:5] == ["–"] * 3


def test_operations_beside_peers() -> None:
    who = ("dramhit", "folklore", "tbb", "boost")
    mops = {f"{name}_{what}": spread(10 + i) for i, name in enumerate(who) for what in ASKED}
    mops |= {f"{what}_over_best_peer": spread(3.5) for what in ASKED}
    table = dramhit_tables.TABLES["memory-peers"](content("dramhit-peers", {"mops": mops}))
    assert "| tbb | boost | over the best peer |" in table.splitlines()[0]
    assert rows_of(table)[4][0] == "upsert" and rows_of(table)[0][4].startswith("13.0")


def test_rows_and_figures() -> None:
    runs = [{"form": "dramhit", "items": 786_000, "get_mops": spread(5)}, {"form": "folklore", "theta": 0.99}]
    table = dramhit_tables.TABLES["memory-runs"](content("dramhit-skew", {"runs": runs}))
    assert table.splitlines()[0] == "| form | items | get, M/s | theta |"
    assert rows_of(table) == [["dramhit", "786,000", "5.0 (4.5–5.5)", "–"], ["folklore", "–", "–", "0.99"]]
    flat = {"batch": 4096, "slower_percent": spread(4)}
    rows = rows_of(dramhit_tables.TABLES["memory-figures"](content("dramhit-churn", flat)))
    assert rows == [["slower percent", "4.00 (3.60–4.40)"]]


def forms(**fields: Any) -> list[dict[str, Any]]:
    """A run of each form with each value of the one field that has several."""
    ((name, values),) = fields.items()
    figures = {f"{what}_mops": spread(9) for what in ("get", "put", "upsert")}
    return [{"form": form, "items": items, name: value, **figures}
            for form in FORMS for items in (100, 1_000_000) for value in values]  # fmt: skip


MADE_UP: dict[str, tuple[str, dict[str, Any]]] = {
    "dramhit-threads": ("dramhit-p, put", {"runs": forms(threads=(1, 2))}),
    "dramhit-batches": ("folklore, upsert", {"runs": forms(batch=(1, 16))}),
    "dramhit-skew": ("dramhit, upsert", {"runs": forms(theta=(0, 1.09))}),
    "dramhit-pollution": ("folklore, get", {"runs": forms(lines=(0, 512))}),
    "dramhit-latency": (
        "dramhit, get",
        {"runs": [{"form": "dramhit", "operation": "get", "cycles_10": 900, "cycles_99": 3000}]},
    ),
    "dramhit-locks": (
        "increment, 1,024 MiB",
        {
            "runs": [
                {"mebibytes": 1024, "theta": t, "lock_cycles": spread(90), "add_cycles": spread(50)} for t in (0, 1)
            ]
        },
    ),
    "dramhit-messages": (
        "8 producers",
        {"runs": [{"producers": 8, "consumers": n, "cycles": spread(40)} for n in (1, 8)]},
    ),
    "dramhit-peers": (
        "boost",
        {"mops": {f"{who}_{what}": spread(7) for who in ("dramhit", "folklore", "tbb", "boost") for what in ASKED}},
    ),
    "dramhit-forms": ("upsert", {"runs": forms(form_number=(1,))}),
}


@pytest.mark.parametrize("name", MADE_UP)
def test_pictures(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    label, got = MADE_UP[name]
    results.write(tmp_path / f"{name}.json", content(name, got))
    (drawn,) = plot.draw_all(tmp_path, tmp_path)
    text = drawn.read_text(encoding="utf-8")
    assert drawn.name == f"made-up-{name}.svg"
    assert "made-up" in text and label in text
