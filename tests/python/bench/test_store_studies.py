"""The table of the store's pipeline, from figures made up here."""

from typing import Any

from bench.frame import results
from bench.store import tables


def spread(value: float) -> dict[str, Any]:
    return {"median": value, "low": value / 2, "high": value * 2, "all": [value / 2, value, value * 2]}


def test_pipeline() -> None:
    row = {"set": "a", "distribution": "zipfian", "gets": 95, "million_per_second": spread(4),
           "wait_us": {"median": spread(100), "late": spread(300)}}  # fmt: skip
    staged = row | {"mode": "staged", "wait_cycles": {"median": spread(2), "late": spread(6)}}
    content = results.result("store-pipeline", {}, {"rows": [row | {"mode": "direct"}, staged]}, layers=())
    lines = tables.TABLES["store-pipeline"](content).splitlines()[2:]
    assert lines[0] == "| a | zipfian | 95% | direct | 4.00 (2.00–8.00) | 100 (50–200) | 300 (150–600) |"
    assert lines[1] == "| a | zipfian | 95% | staged | 4.00 (2.00–8.00) | 100 (50–200); 2.0 C | 300 (150–600); 6.0 C |"
