"""What benchmarks say of time, in C++ (timing.hpp) as here; one statement of it, to which documents refer.

repetition  The whole work once, on a table as its study makes it. What draws it before and checks its answers after is
            not timed; nor is work to warm up, which is no repetition.
seconds     Of work by one thread, from its call until its answers are there. Of several threads: from when all have
            begun to when the last is done, summed over the rounds, each of which all begin together. Where rounds take
            less than a millisecond, as those of the table in memory, waiting at both ends of each would count: there it
            is the seconds of the thread whose own parts took longest together. Of a kernel by itself, which may take
            microseconds: by the clock of the GPU (gpu_timing.hpp), without the launch.
figure      One number a repetition: a rate is operations by seconds. A ratio is formed repetition by repetition, of
            figures of one run, which are measured in turns where both can be there at once. Of latencies the median is
            over all batches of all repetitions.
median      The middle one of the figures; of an even number of them the mean of the middle two.
spread      The median, with the lowest and the highest figure, and all of them, to six significant digits.
interval    Of ratios: the 95% interval of their median, by bootstrap.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

RESAMPLES = 10_000


def rounded(value: float) -> float:
    """Six significant digits: more than any measurement here has."""
    return float(f"{value:.6g}")


def spread(values: Iterable[float]) -> dict[str, Any]:
    """All repetitions of one figure, with median, lowest and highest. Raises ValueError if there are none."""
    kept = [rounded(float(v)) for v in values]
    if not kept:
        raise ValueError("a figure needs at least one repetition")
    return {"median": rounded(statistics.median(kept)), "low": min(kept), "high": max(kept), "all": kept}


@dataclass(frozen=True)
class Interval:
    """The median of some ratios, and the 95% interval of that median."""

    median: float
    low: float
    high: float
    all: tuple[float, ...]


def interval(ratios: Sequence[float]) -> Interval:
    """By bootstrap: the percentiles of the medians of resamples."""
    import numpy as np

    values = np.asarray(ratios, float)
    if len(values) == 0 or not np.isfinite(values).all() or (values <= 0).any():
        raise ValueError(f"ratios are {list(ratios)}: give at least one, each positive")
    drawn = np.random.default_rng(1).integers(0, len(values), (RESAMPLES, len(values)))
    medians = np.median(values[drawn], axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return Interval(float(np.median(values)), float(low), float(high), tuple(values.tolist()))
