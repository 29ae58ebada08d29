"""Load factor at the first insert without a slot, what moving items costs, filling with growth, and resizing."""

from dataclasses import replace
from pathlib import Path

import _bench
import numpy as np

from bench.frame.results import Json
from bench.frame.running import Progress, WrongAnswer
from bench.frame.timing import rounded, spread
from bench.table.measure import describe_table
from bench.table.targets import Table, target

_STEP = 1 << 16


def _capacity(slots: int) -> int:
    """Items to ask room for, so that a table of about `slots` slots is made: a load factor that every table reaches."""
    return max(slots * 3 // 4, 64)


def first_resize(slots: int, table: Table, seed: int, folder: Path, value_fill: float = 0.8) -> Json:
    """Fills a table in steps, small ones from load factor `value_fill` on, until it grows for the first time."""
    with target("holdfast", _capacity(slots), table, folder) as made:
        slots = made.stats()["slots"]
        fine = max(1, slots >> 14)
        got = _bench.fill(
            made,
            last=2 * slots,
            batch=min(_STEP, max(1, slots >> 7)),
            fine_batch=fine,
            fine_from=value_fill,
            stop_at_resize=True,
            key_seed=seed,
        )
        if got["resizes"][-1] == 0:
            raise WrongAnswer(f"a table of {slots:,} slots took {got['items'][-1]:,} items without growing")
        before = len(got["items"]) - 2
        return {
            "slots": slots,
            "items": int(got["items"][before]),
            "step": fine,
            "load_factor": rounded(int(got["items"][before]) / slots),
            "moved": rounded(int(got["moves"][before]) / int(got["items"][before])),
            "stats": describe_table(made),
        }


def load_factor(slots: int, table: Table, repetitions: int, folder: Path, progress: Progress) -> Json:
    """The load factor at the first resize: by the paper's rule, with a bias against shared buckets, and with that bias
    and one item moved first (rule 26), which is the default."""
    results: Json = {}
    rules = {
        "paper": replace(table, moves=False, shared_bias=0),
        "bias": replace(table, moves=False),
        "moves": replace(table, moves=True),
    }
    for rule, made in rules.items():
        runs = []
        for repetition in range(repetitions):
            progress(f"filling until the first resize, rule '{rule}', repetition {repetition + 1} of {repetitions}")
            runs.append(first_resize(slots, made, repetition + 1, folder))
        results[rule] = {
            "load_factor": spread(run["load_factor"] for run in runs),
            "moved": spread(run["moved"] for run in runs),
            "slots": runs[0]["slots"],
            "step": runs[0]["step"],
            "table": runs[0]["stats"],
        }
    return results


def _rate(got: Json, slots: int, low: float, high: float) -> float:
    """Inserts a second, in millions, while the load factor was in [low, high)."""
    items = np.asarray(got["items"], dtype=np.float64)
    added = np.diff(items, prepend=0.0)
    chosen = (items / slots > low) & (items / slots <= high)
    return float(added[chosen].sum() / np.asarray(got["seconds"])[chosen].sum() / 1e6)


def moves_cost(slots: int, table: Table, batch: int, repetitions: int, folder: Path, progress: Progress) -> Json:
    """Insert rates with and without moves, by load factor, the two alternating.

    Up to 0.85 both run and are compared; without moves a table grows soon after. `cost_percent_below_0_9` sets inserts
    up to 0.9 with moves against inserts up to 0.85 without.
    """
    bands = ((0.0, 0.5), (0.5, 0.75), (0.75, 0.85), (0.0, 0.85), (0.85, 0.9), (0.0, 0.9), (0.9, 0.95))
    rates: dict[bool, dict[tuple[float, float], list[float]]] = {m: {b: [] for b in bands} for m in (False, True)}
    for repetition in range(repetitions):
        for moves in (False, True) if repetition % 2 == 0 else (True, False):
            progress(f"inserting with moves={moves}, repetition {repetition + 1} of {repetitions}")
            with target("holdfast", _capacity(slots), replace(table, moves=moves), folder) as made:
                slots = made.stats()["slots"]
                last = int(slots * (0.95 if moves else 0.85))
                got = _bench.fill(made, last=last, batch=batch, fine_batch=batch, key_seed=repetition + 1)
                for band in bands:
                    if band[1] <= (0.95 if moves else 0.85):
                        rates[moves][band].append(_rate(got, slots, *band))
    both = [b for b in bands if b[1] <= 0.85]
    pairs = zip(rates[True][(0.0, 0.9)], rates[False][(0.0, 0.85)], strict=True)
    same = zip(rates[True][(0.0, 0.85)], rates[False][(0.0, 0.85)], strict=True)
    return {
        "slots": slots,
        "batch": batch,
        "mops": {
            "moves": {f"{low}-{high}": spread(rates[True][(low, high)]) for low, high in bands},
            "no_moves": {f"{low}-{high}": spread(rates[False][(low, high)]) for low, high in both},
        },
        "cost_percent_below_0_85": spread(100 * (1 - a / b) for a, b in same),
        "cost_percent_below_0_9": spread(100 * (1 - a / b) for a, b in pairs),
    }


def curve(items: int, table: Table, batch: int, folder: Path, samples: int = 400) -> Json:
    """The load factor while a table that began small is loaded and grows."""
    with target("holdfast", 1024, table, folder) as made:
        got = _bench.fill(made, last=items, batch=batch, fine_batch=batch)
        stats = describe_table(made)
    kept = np.unique(np.linspace(0, len(got["items"]) - 1, min(samples, len(got["items"]))).astype(int))
    every = np.flatnonzero(np.diff(got["resizes"], prepend=0) > 0)  # the batches that grew, and those just before
    kept = np.unique(np.concatenate([kept, every, np.maximum(every - 1, 0)]))
    return {
        "items": [int(got["items"][i]) for i in kept],
        "load_factor": [rounded(int(got["items"][i]) / int(got["slots"][i])) for i in kept],
        "seconds": rounded(float(np.sum(got["seconds"]))),
        "mops": rounded(float(got["items"][-1] / np.sum(got["seconds"]) / 1e6)),
        "longest_batch_ms": rounded(float(np.max(got["seconds"]) * 1e3)),
        "table": stats,
    }


def resize(items: int, table: Table, repetitions: int, folder: Path, progress: Progress) -> Json:
    """Grows a table of `items` items once, and checks that all are still there."""
    runs = []
    for repetition in range(repetitions):
        progress(f"resizing {items:,} items, repetition {repetition + 1} of {repetitions}")
        with target("holdfast", items, table, folder) as made:
            _bench.fill(made, last=items, batch=_STEP, fine_batch=_STEP)
            before = made.stats()
            made.reserve(before["slots"] + 1)
            after = made.stats()
            grown = after["resizes"] - before["resizes"]
            check = _bench.drive(
                made, items=items, operations=items, batch=_STEP, callers=1, shares={"read": 1.0}, distribution="each"
            )
            if grown != 1 or check["wrong"] or after["size"] != items:
                raise WrongAnswer(f"resizing {items:,} items: {grown} resizes, {check['wrong']} wrong answers")
            runs.append((before, after))
    return {
        "items": items,
        "slots_before": runs[0][0]["slots"],
        "slots_after": runs[0][1]["slots"],
        "total_seconds": spread((after["last_resize_ms"] + after["last_resize_alloc_ms"]) / 1e3 for _, after in runs),
        "allocation_seconds": spread(after["last_resize_alloc_ms"] / 1e3 for _, after in runs),
        "seconds_without_allocation": spread(after["last_resize_ms"] / 1e3 for _, after in runs),
        "threads": runs[0][1]["threads"],
        "domain": runs[0][1]["domain"],
    }
