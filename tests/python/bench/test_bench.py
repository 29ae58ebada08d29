"""The benchmarks: their generators are right, every command runs, wrong answers and missed bars are not passed over."""

import json
import math
import re
from pathlib import Path
from typing import Any

import _bench
import numpy as np
import pytest
from typer.testing import CliRunner

from bench.frame import bars, report, results
from bench.frame.main import app
from bench.frame.running import WrongAnswer
from bench.link import plots as link_plots
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
    "command", ["micro", "ycsb", "load-factor", "recovery", "pairs", "resize", "layout", "limits", "snapshot"]
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


def test_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("HOLDFAST_MACHINE", "here")
    for command in ("micro", "load-factor", "recovery"):
        run(command, "--quick", "--json", str(tmp_path))
    run("plot", "--results", str(tmp_path), "--out", str(tmp_path / "img"))
    drawn = {path.name for path in (tmp_path / "img").glob("*.svg")}
    assert drawn == {"here-micro-uniform.svg", "here-load-factor.svg", "here-recovery.svg"}


def test_plot_of_cached_buckets(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    works = ["insert", "find, uniform, lfu, 20%", "find, zipfian, lfu, 20%", "find, zipfian, no choice, 100%"]
    runs = [{"work": work, "batch": 4096, "mops": {"median": 10.0 + i}} for i, work in enumerate(works)]
    content: results.Json = {"machine": {"name": "here"}, "results": {"runs": runs}}
    drawn = link_plots.by_ratio(content, tmp_path / "here.svg").read_text()
    assert "zipfian, lfu" in drawn and "no choice" not in drawn


# Bars and documents

BAR = """
[[bar]]
id = "{issue}.{name}"
text = "something"
comparison = "{comparison}"
target = {target}
unit = "s"
"""


def planted(folder: Path, **values: Any) -> None:
    content = {"schema": results.SCHEMA, "results": values, "dirty": False}
    (folder / "r.json").write_text(json.dumps(content), encoding="utf-8")


def bar_file(folder: Path, *entries: str) -> list[str]:
    """Entries by the issue that their id begins with."""
    bars_of = folder / "bars"
    bars_of.mkdir(exist_ok=True)
    issues = [re.search(r'id = "(\d+)', text) for text in entries]
    for issue in {found[1] if found else "1" for found in issues}:
        text = "\n".join(e for e, found in zip(entries, issues, strict=True) if (found[1] if found else "1") == issue)
        (bars_of / f"{issue}.toml").write_text(text, encoding="utf-8")
    return ["--bars", str(bars_of), "--results", str(folder)]


def entry(name: str, comparison: str, target: float, field: str | None = "results.x", issue: int = 1) -> str:
    text = BAR.format(name=name, issue=issue, comparison=comparison, target=float(target))
    return text if field is None else f'{text}file = "r.json"\nfield = "{field}"\n'


@pytest.mark.parametrize(
    ("comparison", "target", "measured", "state"),
    [
        (">=", 2, 2.0, "met"), (">=", 2, 1.999, "missed"), ("<=", 2, 2.0, "met"), ("<=", 2, 2.001, "missed"),
        ("<=", 0, 0, "met"), ("<=", 0, 1, "missed"), (">=", 2, None, "unanswered"), (">=", 2, "9", "unanswered"),
        (">=", 1, True, "unanswered"),
    ],
)  # fmt: skip
def test_bars(
    comparison: str, target: float, measured: Any, state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted(tmp_path, x=measured)
    arguments = bar_file(tmp_path, entry("a", comparison, target))
    assert bars.main([*arguments, "--json"]) == (0 if state == "met" else 1)
    assert [a["state"] for a in json.loads(capsys.readouterr().out)] == [state]


def test_bars_without_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = bar_file(tmp_path, entry("a", ">=", 1), entry("b", ">=", 1, None))
    assert bars.main(arguments) == 1  # no file
    planted(tmp_path, y=[{"z": 3}])
    assert bars.main(arguments) == 1  # no field
    assert "no field results.x" in capsys.readouterr().out
    assert bars.main(bar_file(tmp_path, entry("a", ">=", 1, "results.y[0].z"))) == 0
    assert bars.main(bar_file(tmp_path, entry("a", ">=", 1, "results.y[1].z"))) == 1
    (tmp_path / "r.json").write_text("not JSON", encoding="utf-8")
    assert bars.main(arguments) == 1
    (tmp_path / "r.json").write_text('{"schema": 99, "results": {"x": 5}}', encoding="utf-8")
    assert bars.main(arguments) == 1


def test_bars_of_one_issue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted(tmp_path, x=1)
    arguments = bar_file(tmp_path, entry("a", ">=", 1), entry("b", ">=", 2, issue=2))
    assert bars.main(arguments) == 1
    assert bars.main([*arguments, "--issue", "1"]) == 0
    assert bars.main([*arguments, "--issue", "2"]) == 1
    capsys.readouterr()
    assert bars.main([*arguments, "--issue", "7"]) == 2  # none at all is not all
    assert "no bars of issue 7" in capsys.readouterr().err


def test_wrong_bar_files_are_refused(tmp_path: Path) -> None:
    good = entry("a", ">=", 1)
    wrong = (good + good, good.replace(">=", "=="), good + "typo = 1\n", good.replace('unit = "s"', ""), "[[bar", "")
    for text in wrong:
        assert bars.main(bar_file(tmp_path, text)) == 2
    assert bars.main(["--bars", str(tmp_path / "none")]) == 2
    arguments = bar_file(tmp_path, good)
    (tmp_path / "bars" / "notes.toml").write_text(good, encoding="utf-8")
    assert bars.main(arguments) == 2


def test_the_projects_bars_are_well_formed() -> None:
    path = Path(__file__).parents[3] / "bench" / "bars"
    issues = {bar.issue for bar in bars.load(path)}
    assert issues >= {2, 3, 4, 17}


def test_report_rewrites_and_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_MACHINE", "here")
    for command in ("resize", "layout", "limits", "load-factor", "recovery", "micro", "snapshot"):
        run(command, "--quick", "--json", str(tmp_path))
    document = tmp_path / "d.md"
    kinds = {"resize": "resize", "layout": "layout", "limits": "limits", "load-factor": "load-factor",
             "moves": "load-factor", "recovery": "recovery", "series": "micro-uniform",
             "snapshot": "snapshot"}  # fmt: skip
    marks = [f"<!-- figures: {kind} {file}.json -->\nold\n<!-- end -->\n" for kind, file in kinds.items()]
    inline = "It has <!-- figure: recovery.json results.sizes[0].slots , -->0<!-- end --> slots.\n"
    document.write_text("\n".join([*marks, inline]), encoding="utf-8")
    arguments = ["--results", str(tmp_path), str(document)]
    assert report.main(["--check", *arguments]) == 1
    assert "old" in document.read_text(encoding="utf-8")
    assert report.main(arguments) == 0
    assert report.main(["--check", *arguments]) == 0
    text = document.read_text(encoding="utf-8")
    slots = results.field(results.read(tmp_path / "recovery.json"), "results.sizes[0].slots")
    assert f"-->{slots:,}<!-- end -->" in text
    assert "old" not in text
    document.write_text("<!-- figures: nonsense r.json -->\n<!-- end -->", encoding="utf-8")
    assert report.main(arguments) == 2


def test_report_takes_counts_of_test_programs_as_figures(tmp_path: Path) -> None:
    (tmp_path / "kills.json").write_text('{"schema": "holdfast.kill-test/3", "kills": 1000}', encoding="utf-8")
    document = tmp_path / "d.md"
    document.write_text("<!-- figure: kills.json kills , -->0<!-- end --> kills", encoding="utf-8")
    assert report.main(["--results", str(tmp_path), str(document)]) == 0
    assert "-->1,000<!-- end -->" in document.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"this version reads schema 1"):
        results.read(tmp_path / "kills.json")


def test_the_projects_documents_are_as_the_results_say() -> None:
    root = Path(__file__).parents[3]
    documents = [str(root / name) for name in report.DOCUMENTS if (root / name).exists()]
    assert report.main(["--check", "--results", str(root / "bench" / "results"), *documents]) == 0
