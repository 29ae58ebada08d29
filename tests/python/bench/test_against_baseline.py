"""The comparison with the baseline: what ratios say, and what is made of pairs of runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scripts_as_modules

from bench.against import ratios, runs, sides
from bench.frame import timing


def rates(of: float, noise: float, seed: int, pairs: int = 10) -> list[float]:
    """Runs of a row whose rate is `of`, each off by a part of about `noise`."""
    return (of * np.exp(np.random.default_rng(seed).normal(0, noise, pairs))).tolist()


def compared(slow: float, noise: float, seed: int) -> ratios.Row:
    return ratios.row("find", rates(100, noise, 2 * seed), rates(100 * (1 - slow), noise, 2 * seed + 1))


def test_an_interval_holds_the_true_ratio_as_often_as_it_says() -> None:
    held = sum(one.low <= 0.97 <= one.high for one in (compared(0.03, 0.01, seed).ratio for seed in range(200)))
    assert 175 <= held <= 200  # 95%; of ten pairs, a bootstrap of the median is a little off


def test_an_interval_is_about_the_median() -> None:
    one = timing.interval([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0])
    assert (one.median, one.low, one.high) == (1, 1, 1)
    with pytest.raises(ValueError, match="each positive"):
        timing.interval([1.0, 0.0])
    with pytest.raises(ValueError, match="at least one"):
        timing.interval([])


def test_a_slowdown_of_5_percent_is_found_and_noise_is_not() -> None:
    for seed in range(50):
        assert compared(0.05, 0.005, seed).verdict == "slower"
        assert compared(0.0, 0.005, seed).verdict == "ok"


def test_a_noisy_row_is_shown_and_not_judged() -> None:
    one = compared(0.2, 0.08, 1)
    assert not one.judged and one.verdict == "not judged" and one.ratio.high < 0.97
    got = ratios.verdict([one])
    assert got.mean is None and not got.passed and got.text.startswith("not judged") and got.judged == 0
    assert "not judged" in ratios.table([one])


def test_few_pairs_are_not_judged() -> None:
    one = ratios.row("find", [100.0, 100.0], [50.0, 50.0])
    assert one.same.low == one.same.high == 1 and not one.judged
    assert "2 pairs of runs, and 10 are needed" in ratios.verdict([one]).text


def test_noise_of_the_new_side_excuses_nothing() -> None:
    one = ratios.row("find", rates(100, 0.002, 1), rates(80, 0.06, 2))
    assert one.judged and one.verdict == "slower"


def test_a_drift_is_no_disagreement() -> None:
    drifting = [100 * 0.985**i for i in range(10)]
    one = ratios.row("find", drifting, drifting)
    assert one.ratio.median == 1
    assert one.same.median == pytest.approx(1, abs=0.02)
    assert ratios.with_itself([1.0, 2.0, 4.0]) == [2.0, 0.5]


def test_many_small_losses_are_found_by_their_mean() -> None:
    rows = [ratios.row(str(i), rates(100, 0.001, i), rates(98.5, 0.001, 100 + i)) for i in range(8)]
    got = ratios.verdict(rows)
    assert not got.slower and got.mean == pytest.approx(0.985, abs=0.002)
    assert not got.passed and "geometric mean" in got.text
    assert ratios.verdict([ratios.row("find", rates(100, 0.001, 1), rates(99.5, 0.001, 2))]).passed


def test_a_row_needs_pairs() -> None:
    with pytest.raises(ValueError, match="2 runs of the baseline and 1 new"):
        ratios.row("find", [1.0, 1.0], [1.0])
    with pytest.raises(ValueError, match="two pairs at least"):
        ratios.row("find", [1.0], [1.0])


def test_the_order_of_runs_and_what_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def run_once(side: sides.Side, plan: runs.Plan, plant: float) -> runs.Rates:
        order.append(side.name)
        return {"find": float(len(order)), **({"erase": 1.0} if len(order) != 3 else {})}

    monkeypatch.setattr(runs, "run_once", run_once)
    made = {name: sides.Side(name, tmp_path, tmp_path) for name in ("base", "new")}
    plan, file = runs.Plan("cpu", 1000), tmp_path / "pairs.json"
    runs.alternate(runs.Series.begun(file, {"of": 1}), made, plan, 3, 0)
    series = runs.Series.begun(file, {"of": 1})
    runs.alternate(series, made, plan, 1, 0)
    assert order == ["base", "new", "new", "base", "base", "new", "new", "base"]
    assert series.rates("base") == {"find": [1, 4, 5, 8]} and series.rates("new") == {"find": [2, 3, 6, 7]}
    assert runs.Series.begun(file, {"of": 2}).pairs == []  # other builds, or another plan


def test_only_the_new_side_is_slowed_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str | None] = []

    def run_cpu(side: sides.Side, plan: runs.Plan, env: dict[str, str]) -> runs.Rates:
        given.append(env.get("HOLDFAST_BENCH_PLANT"))
        return {}

    monkeypatch.setattr(runs, "run_cpu", run_cpu)
    monkeypatch.setenv("HOLDFAST_BENCH_PLANT", "50")
    for name in ("base", "new"):
        runs.run_once(sides.Side(name, tmp_path, tmp_path), runs.Plan("cpu", 1000), 5)
    runs.run_once(sides.Side("new", tmp_path, tmp_path), runs.Plan("cpu", 1000), 0)
    assert given == [None, "5", None]


def test_each_side_has_the_benchmarks_where_its_commit_has_them(tmp_path: Path) -> None:
    package = tmp_path / "python" / "holdfastdb" / "__init__.py"
    package.parent.mkdir(parents=True)
    package.touch()
    assert sides.Side("base", tmp_path, tmp_path).benchmarks == "holdfastdb.bench"
    assert sides.Side("new", sides.ROOT, tmp_path).benchmarks == "bench"


def test_the_baseline_is_a_commit() -> None:
    assert len(sides.baseline()) == 40 and int(sides.baseline(), 16)


@pytest.mark.parametrize("what", ["run", "build", "pack"])
def test_a_python_that_cannot_build_says_which_can(
    what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = scripts_as_modules.load("against-baseline", monkeypatch)
    monkeypatch.setattr("sys.argv", ["against-baseline", what])
    monkeypatch.setattr(script.importlib.util, "find_spec", lambda _: None)
    if what == "pack":  # which builds nothing
        assert script.parsed().what == what
        return
    with pytest.raises(SystemExit, match="2"):
        script.parsed()
    assert "run this script by .venv/bin/python" in capsys.readouterr().err
