"""Tables of documents show the right field of a result, from figures made up here."""

from typing import Any

from bench.dramhit import tables as dramhit_tables
from bench.frame import results
from bench.link import tables as link_tables

LINK_MOPS = 55.5e9 / 128 / 1e6  # 128-byte values at the speed of the link


def spread(value: float) -> dict[str, Any]:
    return {"median": value, "low": value * 0.9, "high": value * 1.1, "all": [value * 0.9, value, value * 1.1]}


def run(work: str, batch: int, mops: float, **more: Any) -> dict[str, Any]:
    return {"work": work, "batch": batch, "streams": 1, "mops": spread(mops), **more}


def content(name: str, got: dict[str, Any]) -> dict[str, Any]:
    return results.result(name, {"items": 1000, "value_bytes": 128, "peers": ["tbb", "boost"]}, got, layers=())


def rows_of(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_shares_of_the_link() -> None:
    assert link_tables.share(run("find", 4096, LINK_MOPS), 128) == "100%"
    assert link_tables.share(run("find zipfian", 4096, 2 * LINK_MOPS), 128) == "200%"
    assert link_tables.share(run("erase", 4096, LINK_MOPS), 128) == "50%"  # a line of slots each
    assert link_tables.share(run("absent", 4096, 9000), 128) == "–"
    assert link_tables.share(run("contains, keys of 8 bytes", 4096, 9000), 128) == "–"


def test_latency_stands_beside_throughput() -> None:
    runs = [run("find", 4096, 40, latency_us=spread(102)), run("find", 8192, 50)]
    rows = rows_of(link_tables.TABLES["link"](content("link-batches", {"runs": runs})))
    assert [row[-1] for row in rows] == ["102", "–"]
    bare = link_tables.TABLES["link"](content("link", {"runs": [run("find", 4096, 40)]}))
    assert "µs" not in bare


def test_columns_beside_whole_values() -> None:
    runs = [run("insert", 4096, 250), run("find, 128 of 128 bytes", 4096, 200), run("find, 32 of 128 bytes", 4096, 300),
            run("assign, 128 of 128 bytes", 4096, 100)]  # fmt: skip
    rows = rows_of(link_tables.TABLES["columns"](content("link-columns", {"runs": runs})))
    assert [row[:2] for row in rows] == [["find", "4,096"], ["assign", "4,096"]]
    assert [row[-1] for row in rows] == ["1.50", "–"]
    assert rows[0][2].startswith("200") and rows[0][3].startswith("300") and rows[1][3] == "–"


def test_selections_beside_their_limits() -> None:
    runs = [
        run("insert", 64, 250),
        run("size_if by key", 1000, 1000, chosen=100, link_bytes=0, memory_bytes=16000),
        run("erase_if by value", 1000, LINK_MOPS, chosen=100, link_bytes=128000, memory_bytes=0),
        run("size_if by a Selection, on the host", 1000, 10, chosen=100, link_bytes=0, memory_bytes=0),
    ]
    got = {"runs": runs, "memory_bytes_a_second": 32e9}
    rows = rows_of(link_tables.TABLES["select"](content("link-select", got)))
    assert [row[0] for row in rows] == [one["work"] for one in runs[1:]]
    assert [row[1] for row in rows] == ["100"] * 3
    assert [row[-1] for row in rows] == ["50% of GPU memory", "100% of the link", "–"]
    assert rows[2][3] == "0.10"  # ms


def test_works_are_rows_and_sizes_columns() -> None:
    runs = [
        run("find", batch, batch / 10, by=by) for by in ("keys of 8 bytes", "keys of 32 bytes") for batch in (64, 4096)
    ]
    runs.append(run("erase", 64, 5, by="keys of 8 bytes"))
    table = link_tables.TABLES["by-batch"](content("link-batches", {"runs": runs}))
    assert table.splitlines()[0].count("|") == 4
    assert rows_of(table) == [
        ["find, keys of 8 bytes", "6.4", "410"],
        ["erase, keys of 8 bytes", "5.0", "–"],
        ["find, keys of 32 bytes", "6.4", "410"],
    ]
    keys = [run(f"find, keys of {n} bytes", 64, n) for n in (8, 128)]
    assert rows_of(link_tables.TABLES["by-key"](content("link-keys", {"runs": keys}))) == [
        ["find, batch 64", "8.0", "128"]
    ]
    parts = [run(f"{work}, uniform, lfu, {part}%", 64, part) for part in (5, 20) for work in ("contains", "find")]
    parts.append(run("update, uniform, 20%", 64, 1))
    table = link_tables.TABLES["buckets"](content("link-buckets", {"runs": parts}))
    assert rows_of(table) == [["5%, lfu", "5.0", "5.0"], ["20%, lfu", "20.0", "20.0"]]
    sizes = [{"most_value_bytes": n, "runs": [run("insert", 64, n)]} for n in (8, 400)]
    sizes[1]["runs"].append(run("find", 64, 10) | {"value_bytes": 1086})
    assert rows_of(link_tables.TABLES["pairs"](content("link-pairs", {"pairs": sizes}))) == [
        ["values up to 8 bytes, batch 64", "8.0", "–"],
        ["values up to 400 bytes, batch 64", "400", "10.0 (20%)"],
    ]


def test_rivals_are_compared_with_the_best() -> None:
    runs = [
        run("load", 4096, 1, by="Holdfast"),
        *(run("find", 4096, mops, by=by) for by, mops in (("Holdfast", 90), ("a", 10), ("b", 30))),
        run("erase", 64, 8, by="Holdfast"),
    ]
    rows = rows_of(link_tables.TABLES["rivals"](content("link-rivals", {"runs": runs})))
    assert [row[0] for row in rows] == ["find", "erase"]
    assert rows[0][-1] == "3.0"
    assert rows[1][3:] == ["–", "–", "–"]


def test_factors_are_rows() -> None:
    runs = [run(work, 4096, 10 * n, by=by) for n, by in enumerate(("bare", "+ more"), 1) for work in ("find", "update")]
    rows = rows_of(link_tables.TABLES["factors"](content("link-factors", {"runs": runs})))
    assert [row[0] for row in rows] == ["bare", "+ more"]
    assert rows[1][1] == "20.0, 5%"


ASKED = ("put_new", "get", "absent", "put", "upsert")


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


def test_operations_beside_published_code() -> None:
    asked = ("put_new", "get")
    mops = {f"{name}_{what}": spread(10 + i) for i, name in enumerate(("dramhit", "Theirs")) for what in asked}
    mops["dramhit_upsert_zipfian"] = spread(20)
    mops |= {f"{what}_over_Theirs": spread(1.5) for what in asked}
    made = results.result("dramhit-originals", {"peers": [{"name": "Theirs"}]}, {"mops": mops}, layers=())
    table = dramhit_tables.TABLES["memory-originals"](made)
    assert table.splitlines()[0] == "| M operations/s | MemoryTable | Theirs | over Theirs |"
    assert rows_of(table)[1] == ["get", "10.0 (9.0–11.0)", "11.0 (9.9–12.1)", "1.50 (1.35–1.65)"]
    assert rows_of(table)[2] == ["add, without answers, zipfian 1.09", "20.0 (18.0–22.0)", "–", "–"]


def test_rows_and_figures() -> None:
    runs = [{"form": "dramhit", "items": 786_000, "get_mops": spread(5)}, {"form": "folklore", "theta": 0.99}]
    table = dramhit_tables.TABLES["memory-runs"](content("dramhit-skew", {"runs": runs}))
    assert table.splitlines()[0] == "| form | items | get, M/s | theta |"
    assert rows_of(table) == [["dramhit", "786,000", "5.0 (4.5–5.5)", "–"], ["folklore", "–", "–", "0.99"]]
    flat = {"batch": 4096, "slower_percent": spread(4)}
    rows = rows_of(dramhit_tables.TABLES["memory-figures"](content("dramhit-churn", flat)))
    assert rows == [["slower percent", "4.00 (3.60–4.40)"]]
