"""Recovery after a kill: a child changes a table and dies by SIGKILL; opening it again is measured and checked."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import _bench

from bench.frame import machine
from bench.frame.results import Json
from bench.frame.running import Progress, WrongAnswer
from bench.frame.timing import rounded, spread
from bench.table.targets import Table, pool_folder

_STEP = 1 << 16


def die(order: Json) -> None:
    """In the child: makes and fills a table, or opens one and changes it, and kills itself without closing it."""
    if order["create"]:
        made = _bench.create(order["path"], capacity=order["items"], **order["table"])
        _bench.fill(made, last=order["items"], batch=_STEP, fine_batch=_STEP)
    else:
        made = _bench.open(order["path"], device=order["table"]["device"])
        _bench.drive(
            made,
            items=order["items"],
            operations=min(1000, order["items"]),
            batch=1000,
            callers=1,
            shares={"update": 1.0},
            version=order["version"],
        )
    os.kill(os.getpid(), signal.SIGKILL)


def _run_child(order: Json) -> None:
    code = "import json, sys; from bench.table.recovery import die; die(json.loads(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(order)], capture_output=True, text=True, check=False, cwd=machine.ROOT
    )
    if done.returncode != -signal.SIGKILL:
        raise RuntimeError(f"the child that was to be killed ended with {done.returncode}: {done.stderr.strip()}")


def _open_again(path: str, items: int, version: int, table: Table) -> Json:
    """Opens a pool after a kill; reads every item unless it is large, else a million of them."""
    made = _bench.open(path, device=table.device, threads=table.threads)
    stats: Json = made.stats()
    if stats["was_clean"] or stats["size"] != items:
        raise WrongAnswer(f"after a kill: {stats['size']:,} items of {items:,}, clean mark {stats['was_clean']}")
    asked = min(items, 1_000_000)
    got = _bench.drive(
        made,
        items=items,
        operations=asked,
        batch=_STEP,
        callers=1,
        shares={"read": 1.0},
        distribution="each",
        version=version,
    )
    made.close()
    if got["wrong"]:
        raise WrongAnswer(f"after a kill: {got['wrong']:,} of {asked:,} answers are wrong")
    return stats


def recovery(sizes: list[int], table: Table, repetitions: int, where: Path | None, progress: Progress) -> Json:
    """Recovery time by number of items: filled, killed, opened; then changed, killed and opened again and again."""
    by_size = []
    for items in sizes:
        runs = []
        with pool_folder(where) as folder:
            order: Json = {"path": str(folder / "table.hold"), "items": items, "table": table.options(), "version": 0}
            for repetition in range(repetitions):
                progress(f"recovery of {items:,} items, repetition {repetition + 1} of {repetitions}")
                _run_child({**order, "create": repetition == 0, "version": repetition})
                runs.append(_open_again(order["path"], items, repetition + 1, table))
        slots = runs[0]["slots"]
        recovered = spread(run["recovery_ms"] for run in runs)
        by_size.append(
            {
                "items": items,
                "slots": slots,
                "recovery_ms": recovered,
                "map_ms": spread(run["map_ms"] for run in runs),
                "nanoseconds_a_slot": rounded(recovered["median"] * 1e6 / slots),
            }
        )
    slopes = [entry["nanoseconds_a_slot"] for entry in by_size]
    return {
        "sizes": by_size,
        "domain": runs[0]["domain"],
        "threads": runs[0]["threads"],
        "largest_slope_over_smallest": rounded(max(slopes) / min(slopes)) if min(slopes) > 0 else None,
        "at_least_16m_slots": _at_least(by_size, 16 * 2**20),
    }


def _at_least(by_size: list[Json], slots: int) -> Json | None:
    """The smallest measured table that has `slots` slots or more, its recovery in seconds (not scaled down)."""
    enough = [entry for entry in by_size if entry["slots"] >= slots]
    if not enough:
        return None
    entry = min(enough, key=lambda e: e["slots"])
    return {"slots": entry["slots"], "seconds": rounded(entry["recovery_ms"]["median"] / 1e3)}
