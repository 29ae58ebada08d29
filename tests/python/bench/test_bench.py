"""The benchmarks: their generators are right, every command runs, wrong answers are not passed over."""

import math
from pathlib import Path
from typing import Any

import _bench
import numpy as np
import pytest
from typer.testing import CliRunner

from bench.frame import report, results
from bench.frame.main import app
from bench.frame.running import WrongAnswer
from bench.table import measure, trace
from bench.table.targets import Table, pool_folder, target
from bench.table.workloads import MICRO, YCSB

APP = app()


def run(*arguments: str, status: int = 0) -> None:
    got = CliRunner().invoke(APP, list(arguments))
    assert got.exit_code == status, f"{got.output}\n{got.exception!r}"


# Generators


def test_keys_are_distinct_and_absent_ones_are_absent() -> None:
    keys = _bench.keys(0, 300_000, 5)
    assert len(np.unique(keys)) == len(keys)
    assert len(np.intersect1d(keys, _bench.keys(300_000, 300_000, 5))) == 0
    assert len(np.intersect1d(keys, _bench.keys(1 << 60, 300_000, 5))) == 0
    # Scrambled: each of the 64 bits is set in about half of the keys.
    ones = np.array([((keys >> np.uint64(bit)) & np.uint64(1)).mean() for bit in range(64)])
    assert np.abs(ones - 0.5).max() < 0.01


@pytest.mark.parametrize("items", [1, 2, 3, 777, 4096, 100_003])
def test_each_draws_every_item_once(items: int) -> None:
    assert np.array_equal(np.sort(_bench.draw("each", items, items)), np.arange(items))


@pytest.mark.parametrize("theta", [0.0, 0.5, 0.99, 1.2])
def test_zeta(theta: float) -> None:
    for n in (1, 2, 1000, 250_000):
        expected = math.fsum(i**-theta for i in range(1, n + 1))
        assert _bench.zeta(n, theta) == pytest.approx(expected, rel=1e-10)


def test_zipfian_probabilities() -> None:
    items, draws, theta = 10_000, 2_000_000, 0.99
    counts = np.bincount(_bench.draw("zipfian", items, draws, theta, 11), minlength=items)
    assert len(counts) == items
    zeta = sum(i**-theta for i in range(1, items + 1))
    by_rank = counts[[_bench.popular_item(rank, items) for rank in range(items)]]
    # The first two ranks are exact in Gray et al.'s generator; the next are approximated, their sums closely.
    for rank in (0, 1):
        p = (rank + 1) ** -theta / zeta
        assert abs(by_rank[rank] - draws * p) < 5 * math.sqrt(draws * p * (1 - p))
    for ranks in (10, 100, 1000):
        p = sum((r + 1) ** -theta for r in range(ranks)) / zeta
        assert by_rank[:ranks].sum() / draws == pytest.approx(p, abs=0.02)


def test_uniform_is_uniform() -> None:
    counts = np.bincount(_bench.draw("uniform", 100, 1_000_000), minlength=100)
    chi_squared = float(((counts - 10_000.0) ** 2 / 10_000.0).sum())
    assert chi_squared < 99 + 5 * math.sqrt(2 * 99)


def test_latest_favours_new_items() -> None:
    drawn = _bench.draw("latest", 1000, 100_000)
    assert drawn.max() == 999
    assert (drawn == 999).mean() == pytest.approx(1 / _bench.zeta(1000, 0.99), abs=0.01)
    assert np.median(drawn) > 900


def test_bad_workloads_are_refused() -> None:
    with pytest.raises(Exception, match="distribution"):
        _bench.draw("normal", 10, 10)
    with pool_folder(None) as folder, target("holdfast", 1000, Table(), folder) as made:
        asked: dict[str, Any] = {"items": 10, "operations": 10, "batch": 10, "callers": 1}
        with pytest.raises(Exception, match="add up"):
            _bench.drive(made, **asked, shares={"read": 0.5})
        with pytest.raises(Exception, match="no operation"):
            _bench.drive(made, **asked, shares={"scan": 1.0})
        with pytest.raises(Exception, match="load the table first"):
            _bench.drive(made, **{**asked, "items": 0}, shares={"read": 1.0})
        with pytest.raises(Exception, match="at least 1"):
            _bench.drive(made, **{**asked, "batch": 0}, shares={"read": 1.0})


# Runners


@pytest.mark.parametrize("name", ["holdfast", *_bench.peers()])
@pytest.mark.parametrize("callers", [1, 3])
def test_every_workload_is_right_on_every_target(name: str, callers: int) -> None:
    load = measure.Load(items=10_000, operations=9_999, batch=300, callers=callers, distribution="zipfian")
    with pool_folder(None) as folder:
        got = measure.series([name], [*MICRO.values(), *YCSB.values()], load, Table(), 1, folder, lambda _: None)
    counted = {w: sum(k["operations"] for k in t[name]["kinds"].values()) for w, t in got["workloads"].items()}
    assert counted == {w: 10_000 if w in ("insert", "LOAD") else 9_999 for w in counted}
    kinds = {w: set(t[name]["kinds"]) for w, t in got["workloads"].items()}
    assert kinds["A"] == {"read", "update"}
    assert kinds["D"] == {"read", "insert"}
    assert kinds["F"] == {"read", "rmw"}


@pytest.mark.parametrize("value_bytes", [8, 16, 128, 1024])
def test_value_sizes(value_bytes: int) -> None:
    load = measure.Load(items=3000, operations=3000, batch=256, callers=2)
    with pool_folder(None) as folder:
        table = Table(value_bytes=value_bytes)
        measure.series(["holdfast"], [*MICRO.values(), YCSB["A"]], load, table, 1, folder, lambda _: None)


def test_wrong_answers_are_seen() -> None:
    with pool_folder(None) as folder, target("holdfast", 10_000, Table(), folder) as made:
        load = measure.Load(items=5000, operations=5000, batch=512)
        measure.run_once(made, MICRO["insert"], load, 1, 0)
        measure.run_once(made, MICRO["find"], load, 1, 0)
        with pytest.raises(WrongAnswer, match="5,000 of 5,000"):
            measure.run_once(made, MICRO["insert"], load, 1, 0)  # they are there already
        version = measure.run_once(made, MICRO["update"], load, 1, 40)["version"]
        assert version == 40 + 10
        with pytest.raises(WrongAnswer):
            measure.run_once(made, MICRO["find"], load, 1, 0)  # values newer than any that was put
        measure.run_once(made, MICRO["find"], load, 1, version)
        with pytest.raises(WrongAnswer):
            measure.run_once(made, MICRO["find"], measure.Load(items=20_000, operations=5000), 1, version)


def test_wrong_answers_end_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    real = _bench.drive
    monkeypatch.setattr(_bench, "drive", lambda *a, **k: {**real(*a, **k), "wrong": 1})
    got = CliRunner().invoke(APP, ["micro", "--quick"])
    assert got.exit_code == 1


# Commands


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOLDFAST_MACHINE", "here")
    return tmp_path / "result.json"


@pytest.mark.parametrize(
    "command",
    ["micro", "ycsb", "load-factor", "recovery", "pairs", "python-keys", "resize", "layout", "limits", "snapshot"],
)
def test_command_writes_a_result(command: str, written: Path) -> None:
    run(command, "--quick", "--json", str(written))
    content = results.read(written)
    assert content["machine"]["name"] == "here"
    assert content["machine"]["cores"] >= 1
    assert len(content["commit"]) >= 7
    assert content["benchmark"].startswith(command)
    assert content["results"]


def test_field() -> None:
    runs = [{"work": "find, hot", "batch": 4096, "mops": 1.5}, {"work": "find", "batch": 4096, "mops": 2.5}]
    content = {"runs": runs, "sizes": [1, 2]}
    assert results.field(content, "runs[1].mops") == 2.5
    assert results.field(content, "sizes[-1]") == 2
    assert results.field(content, "runs[work='find, hot' batch=4096].mops") == 1.5
    for path in (
        "runs[batch=4096].mops",
        "runs[work='erase'].mops",
        "runs[speed=1].mops",
        "runs[7].mops",
        "sizes.mops",
    ):
        with pytest.raises(KeyError, match="no field"):
            results.field(content, path)


@pytest.mark.skipif(not _bench.peers(), reason="no peer is installed")
def test_compare(written: Path) -> None:
    run("compare", "--quick", "--json", str(written))
    content = results.read(written)
    targets = content["results"]["workloads"]["find"]
    best = max(targets[peer]["mops"]["median"] for peer in _bench.peers())
    ratio = results.field(content, "results.ratio_to_best_peer.find.median")
    assert ratio == pytest.approx(targets["holdfast"]["mops"]["median"] / best, rel=1e-4)


@pytest.mark.skipif(not _bench.stores(), reason="neither RocksDB nor LMDB is installed")
def test_stores(written: Path) -> None:
    run("stores", "--quick", "--json", str(written))
    content = results.read(written)
    for workload in ("LOAD", "A", "C"):
        targets = content["results"]["workloads"][workload]
        assert set(targets) == {"holdfast", *_bench.stores()}
        best = max(targets[store]["mops"]["median"] for store in _bench.stores())
        ratio = results.field(content, f"results.ratio_to_best_peer.{workload}.median")
        assert ratio == pytest.approx(targets["holdfast"]["mops"]["median"] / best, rel=1e-4)
    rewritten = report.rewrite("<!-- figures: stores result.json -->\n<!-- end -->", written.parent)
    assert "ratio to the better peer" in rewritten


def test_cache_trace_of_made_up_distributions(written: Path, tmp_path: Path) -> None:
    data = tmp_path / "made-up"
    data.mkdir()
    (data / "config.json").write_text('{"test_config": {"getRatio": 0.9, "loneGetRatio": 0.1}}')
    (data / "pop.json").write_text('{"popularityWeights": [50, 50], "popularityBuckets": [10, 1000]}')
    (data / "sizes.json").write_text('{"valSizeRange": [40, 64, 4000], "valSizeRangeProbability": [50, 30, 20]}')
    run("cache-trace", "--quick", "--data", str(data), "--value", "64", "--json", str(written))
    got = results.read(written)["results"]
    assert got["keys"] == 1010
    assert 5 < got["too_large_percent"]["median"] < 60
    assert got["hit_percent"]["median"] > 30
    assert 0 < got["percent_of_cells_used"] <= 100
    (data / "pop.json").write_text("{}")
    run("cache-trace", "--quick", "--data", str(data), status=2)


@pytest.mark.skipif(not trace.FOLDER.is_dir(), reason=f"the trace's data is not here: {trace.FOLDER}")
def test_cache_trace(written: Path) -> None:
    run("cache-trace", "--quick", "--json", str(written))
    got = results.read(written)["results"]
    assert got["keys"] > 10_000_000
    assert 10 < got["hit_percent"]["median"] < 90


def test_load_factors(written: Path) -> None:
    run("load-factor", "--quick", "--json", str(written))
    got = results.read(written)["results"]
    paper, moves = got["paper"]["load_factor"]["median"], got["moves"]["load_factor"]["median"]
    assert 0.75 < paper < moves <= 1
    assert got["paper"]["moved"]["median"] == 0 < got["moves"]["moved"]["median"]
    assert max(got["while_loading"]["load_factor"]) > 0.9


def test_batch_series_and_text(written: Path) -> None:
    got = CliRunner().invoke(APP, ["ycsb", "--quick", "--batch", "64,1Ki", "--json", str(written)])
    assert got.exit_code == 0, got.output
    assert "[READ-MODIFY-WRITE], AverageLatency(us), " in got.output
    assert [r["batch"] for r in results.read(written)["results"]["runs"]] == [64, 1024]


def test_bad_options_are_refused() -> None:
    for arguments in (["ycsb", "--items", "many"], ["ycsb", "--workloads", "Z"], ["micro", "--batch", "4k,x"]):
        assert CliRunner().invoke(APP, arguments).exit_code == 2
