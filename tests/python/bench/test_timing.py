"""C++ and Python mean the same by a median, a spread and a repetition."""

import random
import time

import _bench
import pytest

from bench.frame import timing
from bench.table import measure
from bench.table.targets import Table, pool_folder, target
from bench.table.workloads import MICRO


def test_a_median_of_an_even_number_is_between_the_middle_two() -> None:
    for spread in (timing.spread, _bench.spread):
        assert spread([4.0, 1.0, 2.0, 8.0]) == {"median": 3, "low": 1, "high": 8, "all": [4, 1, 2, 8]}
        assert spread([3.0, 9.0, 1.0])["median"] == 3
        assert spread([1234567.0])["all"] == [1234570.0]


def test_both_halves_sum_up_alike() -> None:
    drawn = random.Random(1)
    for count in (1, 2, 3, 4, 5, 9, 10, 31):
        for scale in (1e-9, 1e-3, 1.0, 1e6, 1e12):
            figures = [drawn.lognormvariate(0, 2) * scale for _ in range(count)]
            assert _bench.spread(figures) == timing.spread(figures)


def test_no_repetition_is_an_error() -> None:
    for spread in (timing.spread, _bench.spread):
        with pytest.raises(Exception, match="at least one"):
            spread([])


def test_a_ratio_is_formed_repetition_by_repetition() -> None:
    above, below = [1.0, 4.0, 9.0], [2.0, 1.0, 10.0]
    ratios = _bench.ratio_of(above, below)
    assert ratios == [0.5, 4.0, 0.9]
    assert timing.spread(ratios)["median"] == 0.9  # that of the medians is 2
    with pytest.raises(Exception, match="each repetition"):
        _bench.ratio_of(above, below[:2])


@pytest.mark.parametrize("callers", [1, 2])
def test_seconds_are_those_of_all_rounds_and_of_nothing_else(callers: int) -> None:
    load = measure.Load(items=100_000, operations=100_000, batch=1000, callers=callers)
    with pool_folder(None) as folder, target("holdfast", 100_000, Table(value_bytes=1024), folder) as made:
        begun = time.perf_counter()
        got = measure.run_once(made, MICRO["insert"], load, 1, 0)  # three rounds of 48 MiB, or two a caller
        elapsed = time.perf_counter() - begun
    assert len(got["batch_us"]) == 100
    assert got["batch_us"].sum() / 1e6 / callers <= got["seconds"] < elapsed
    assert 0 < got["cpu_seconds"] <= got["seconds"] * (callers + 1)
