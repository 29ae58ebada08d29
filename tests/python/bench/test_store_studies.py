"""Tables of the store, from figures made up here."""

from typing import Any

from bench.cuckoo import tables as cuckoo_tables
from bench.frame import results
from bench.store import tables


def spread(value: float) -> dict[str, Any]:
    return {"median": value, "low": value / 2, "high": value * 2, "all": [value / 2, value, value * 2]}


def test_pipeline() -> None:
    row = {"set": "a", "distribution": "zipfian", "gets": 95, "million_per_second": spread(4),
           "wait_us": {"median": spread(100), "late": spread(300)}}  # fmt: skip
    staged = row | {"mode": "staged", "cycle_us": 50}
    owners = {name: row[name] for name in ("set", "distribution", "gets", "million_per_second")} | {"mode": "owners"}
    content = results.result("store-pipeline", {}, {"rows": [row | {"mode": "direct"}, staged, owners]}, layers=())
    lines = tables.TABLES["store-pipeline"](content).splitlines()[2:]
    assert lines[0] == "| a | zipfian | 95% | direct | 4.00 (2.00–8.00) | 100 (50–200) | 300 (150–600) |"
    assert lines[1] == "| a | zipfian | 95% | staged | 4.00 (2.00–8.00) | 100 (50–200); 2.0 C | 300 (150–600); 6.0 C |"
    assert lines[2] == "| a | zipfian | 95% | owners | 4.00 (2.00–8.00) | – | – |"
    beside = tables.TABLES["store-owners"](content).splitlines()[2:]
    assert beside == ["| a | zipfian | 95% |" + " 4.0 (2.0–8.0) |" * 3 + " 1.00 |"]


def test_batches_of_the_index() -> None:
    rows = [{"rows": 65536, "search": 8.192, "search_from_host": 1, "insert": 4.096, "erase": 4.096}]
    table = cuckoo_tables.TABLES["cuckoo-batches"](results.result("cuckoo-batches", {}, {"rows": rows}, layers=()))
    assert table.splitlines()[2] == "| 65,536 | 8,192; 8 µs | 1,000; 65.5 µs | 4,096; 16 µs | 4,096; 16 µs |"


def test_latency() -> None:
    row = {"mode": "direct", "gets": 100, "rate": 8, "rows": [40, 80], "reached": [7.9, 8.0], "p50_us": [7, 12],
           "p99_us": [40, 30], "p999_us": [90, 50]}  # fmt: skip
    rows = [row | {"smallest_us": 10}, row | {"smallest_us": None}]
    content = results.result("store-latency", {}, {"intervals_us": [5, 10], "rows": rows}, layers=())
    lines = tables.TABLES["store-latency"](content).splitlines()[2:]
    assert lines[0] == "| direct | 100% | 8 | 10 | 10 | 80 | 8 | 12 | 30 | 50 |"
    assert lines[1] == "| direct | 100% | 8 | none | 10 | 80 | 8 | 12 | 30 | 50 |"


def test_gpus() -> None:
    row = {"set": "a", "distribution": "uniform", "gets": 100, "mode": "staged", "gpus": 2,
           "million_per_second": spread(4), "over_one": spread(1)}  # fmt: skip
    table = tables.TABLES["store-pipeline-gpus"](results.result("store-pipeline-gpus", {}, {"rows": [row]}, layers=()))
    assert table.splitlines()[2] == "| a | uniform | 100% | staged | 2 | 4.00 (2.00–8.00) | 1.00 (0.50–2.00) |"


def test_sets_and_rivals() -> None:
    asked = ("set_new", "set_again", "get_uniform", "get_zipfian", "get_95_zipfian", "get_one_a_call", "set_one_a_call")
    row = {"set": "b", "key_bytes": 16, "value_bytes": 64, "million_per_second": {name: spread(2) for name in asked}}
    table = tables.TABLES["store-sets"](results.result("store-sets", {}, {"rows": [row]}, layers=()))
    assert table.splitlines()[2] == "| b: 16 + 64 bytes |" + " 2.00 (1.00–4.00) |" * 7
    rows = [
        {"store": name, "million_per_second": {figure: spread(rate) for figure in ("set_new", "set_again", "get")},
         "holdfast_over_it": {figure: spread(8 / rate) for figure in ("set_new", "set_again", "get")}}
        for name, rate in (("holdfast", 8), ("lmdb", 2))
    ]  # fmt: skip
    table = tables.TABLES["store-rivals"](results.result("store-rivals", {}, {"rows": rows}, layers=()))
    assert table.splitlines()[2] == "| holdfast |" + " 8.00 (4.00–16.00) |" * 3 + " – |" * 3
    assert table.splitlines()[3] == "| lmdb |" + " 2.00 (1.00–4.00) |" * 3 + " 4.0 (2.0–8.0) |" * 3


def test_snapshots() -> None:
    waits = {"median": 0.1234, "late": 1, "high": 2.5, "count": 20}
    row = {"set": "a", "rows_in_call": 8192, "held_ms": waits, "call_ms": waits, "call_ms_without": waits}
    row |= {"million_per_second": spread(2), "million_per_second_without": spread(4), "gib_per_second": spread(1)}
    table = tables.TABLES["store-snapshots"](results.result("store-snapshots", {}, {"rows": [row]}, layers=()))
    wait = "0.123 / 1 / 2.5"
    assert table.splitlines()[2] == (
        f"| a | 8192 | {wait} | {wait} | {wait} | 2.00 (1.00–4.00) | 4.00 (2.00–8.00) | 1.0 (0.5–2.0) |"
    )
