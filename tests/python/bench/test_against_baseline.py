"""The comparison with the baseline: what ratios say."""

from __future__ import annotations

import numpy as np
import pytest

from bench.against import ratios
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
