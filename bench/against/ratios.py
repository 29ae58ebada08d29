"""What alternating runs say: of each row the ratio of the new rate to the baseline's, its interval, and a verdict.

A row is judged only with ten pairs or more, and if the baseline against itself stays within 2%. It passes unless its
whole 95% interval lies below 0.97; all judged rows together pass if the geometric mean of their ratios is 0.99 or more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bench.frame.timing import Interval, interval

LEAST_MEAN = 0.99
LEAST_ROW = 0.97
QUIET = 0.02
"""How far from 1 the interval of the baseline against itself may reach."""
LEAST_PAIRS = 10


def with_itself(base: Sequence[float]) -> list[float]:
    """Ratios of the baseline's neighbouring runs. Each second one is turned over, so that a drift cancels."""
    return [b / a if i % 2 == 0 else a / b for i, (a, b) in enumerate(pairwise(base))]


@dataclass(frozen=True)
class Row:
    """One benchmark."""

    name: str
    base: tuple[float, ...]
    """Rates of the baseline's runs, in M/s, pair by pair."""
    new: tuple[float, ...]
    ratio: Interval
    same: Interval
    """The baseline against itself."""

    @property
    def judged(self) -> bool:
        """Whether there are pairs enough, and the machine was quiet enough."""
        return len(self.base) >= LEAST_PAIRS and self.same.low >= 1 - QUIET and self.same.high <= 1 + QUIET

    @property
    def slower(self) -> bool:
        """Whether the whole interval lies below the bound."""
        return self.judged and self.ratio.high < LEAST_ROW

    @property
    def verdict(self) -> str:
        return "slower" if self.slower else "ok" if self.judged else "not judged"


def row(name: str, base: Sequence[float], new: Sequence[float]) -> Row:
    """The rates of pairs of runs, summed up."""
    if len(base) != len(new) or len(base) < 2:
        raise ValueError(f"{name} has {len(base)} runs of the baseline and {len(new)} new ones: two pairs at least")
    ratios = [b / a for a, b in zip(base, new, strict=True)]
    return Row(name, tuple(base), tuple(new), interval(ratios), interval(with_itself(base)))


@dataclass(frozen=True)
class Verdict:
    """Of all rows."""

    mean: float | None
    """Geometric mean of the judged rows' ratios; None if no row was judged."""
    mean_of_all: float
    slower: tuple[str, ...]
    judged: int
    pairs: int

    @property
    def text(self) -> str:
        if self.mean is None:
            if self.pairs < LEAST_PAIRS:
                return f"not judged: {self.pairs} pairs of runs, and {LEAST_PAIRS} are needed"
            return "not judged: no row of the baseline agrees with itself within 2%: run more, on a quieter machine"
        if self.slower:
            return f"slower: {', '.join(self.slower)}"
        return "ok" if self.mean >= LEAST_MEAN else f"slower: the geometric mean is below {LEAST_MEAN}"

    @property
    def passed(self) -> bool:
        return self.text == "ok"


def verdict(rows: Sequence[Row]) -> Verdict:
    """Applies the bars."""

    def mean(chosen: Sequence[Row]) -> float:
        return math.exp(sum(math.log(one.ratio.median) for one in chosen) / len(chosen))

    judged = [one for one in rows if one.judged]
    slower = tuple(one.name for one in rows if one.slower)
    return Verdict(mean(judged) if judged else None, mean(rows), slower, len(judged), len(rows[0].base))


def table(rows: Sequence[Row]) -> str:
    """For a terminal."""
    width = max(len(one.name) for one in rows)
    head = f"{'':{width}}  {'base M/s':>9} {'new M/s':>9}   ratio  95% interval     base with itself"
    lines = [
        f"{one.name:{width}}  {np.median(one.base):9.2f} {np.median(one.new):9.2f}  {one.ratio.median:6.3f}  "
        f"{one.ratio.low:.3f} to {one.ratio.high:.3f}   {one.same.low:.3f} to {one.same.high:.3f}  {one.verdict}"
        for one in rows
    ]
    return "\n".join([head, *lines])
