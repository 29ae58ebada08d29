"""The demo's child processes: `load` writes until it is killed or done, `verify` reopens the pool and compares all.

Run as `python -m holdfastdb.demo.worker`, with a JSON object on standard input; `verify` prints one.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..status import Status
from ..table import Table
from .journal import Journal
from .lines import Lines
from .plan import Plan

_CHUNK = 1 << 16


def mapped_at(pool: str) -> str | None:
    """The address at which this process has the pool mapped, as /proc says."""
    name = str(Path(pool).resolve())
    with Path("/proc/self/maps").open() as maps:
        for line in maps:
            if line.rstrip("\n").endswith(name):
                return f"0x{line.split('-', 1)[0]}"
    return None


def load(task: dict[str, Any]) -> None:
    """Writes the plan's batches from `task["first"]` on, and notes each in the journal before and after."""
    plan = Plan(**task["plan"])
    pairs = Lines(plan.items) if task["lines"] else plan
    with Table.open(task["pool"], device=task["device"]) as table, Journal(Path(task["journal"])) as journal:
        Path(task["address"]).write_text(mapped_at(task["pool"]) or "")
        for batch in range(task["first"], plan.batches):
            items, versions = plan.written_by(batch)
            keys, values = pairs.rows(items, versions)
            while batch >= journal.limit:  # the process that kills this one is late
                time.sleep(0.0002)
            journal.begin(batch)
            started = time.perf_counter_ns()
            statuses = table.insert_or_assign(keys, values, unique=True)
            spent = time.perf_counter_ns() - started
            if (statuses >= Status.NO_SPACE).any():
                raise SystemExit(f"batch {batch}: the medium is full; the demo needs a few hundred MB on it")
            journal.acknowledge(batch, spent, len(keys))


def _compare_random(table: Table, plan: Plan, acknowledged: int, begun: int) -> dict[str, int]:
    """Every item of the plan against what it must be, or may be where its batch was under way."""
    result = {"lost": 0, "torn": 0, "random_items": 0, "pending_applied": 0, "pending_absent": 0}
    for first in range(0, plan.items, _CHUNK):
        items = np.arange(first, min(first + _CHUNK, plan.items))
        keys = plan.keys(items)
        values, found = table.find(keys)
        versions = np.ascontiguousarray(values[:, :8]).view(np.uint64)[:, 0]
        torn = found & (values != plan.values(keys, versions)).any(axis=1)
        seen = np.where(found, versions, 0)
        before, after = plan.versions_after(items, acknowledged), plan.versions_after(items, begun)
        pending = before != after
        result["torn"] += int(torn.sum())
        result["lost"] += int((~torn & (seen != before) & (seen != after)).sum())
        result["random_items"] += int(found.sum())
        result["pending_applied"] += int((pending & (seen == after)).sum())
        result["pending_absent"] += int((pending & (seen == before)).sum())
    return result


def _compare_lines(table: Table, plan: Plan, acknowledged: int, begun: int) -> dict[str, int]:
    """The same for lines of text."""
    lines = Lines(plan.items)
    items = np.arange(plan.items)
    before = plan.versions_after(items, acknowledged).tolist()
    after = plan.versions_after(items, begun).tolist()
    result = {"lost": 0, "torn": 0, "random_items": 0, "pending_applied": 0, "pending_absent": 0}
    for first in range(0, plan.items, _CHUNK):
        chunk = items[first : first + _CHUNK]
        keys, _ = lines.rows(chunk, np.ones(len(chunk), np.uint64))
        values, _ = table.find(keys)
        for item, value in zip(chunk.tolist(), values, strict=True):
            allowed = [lines.value(item, version) if version else None for version in (before[item], after[item])]
            result["random_items"] += value is not None
            if value not in allowed:
                result["lost" if value in (None, lines.value(item, 1)) else "torn"] += 1
            if before[item] != after[item]:
                result["pending_applied"] += value == allowed[1]
                result["pending_absent"] += value == allowed[0]
    return result


def _compare_given(table: Table, file: str | None) -> tuple[int, int]:
    """How many pairs were there before the writer, and how many of them are not as they were."""
    if file is None:
        return 0, 0
    given = np.load(file)
    values, found = table.find(given["keys"])
    return len(found), int((~found | (values != given["values"]).any(axis=1)).sum())


def verify(task: dict[str, Any]) -> dict[str, Any]:
    """Opens the pool, which recovers it, and compares every pair with what the journal says."""
    plan = Plan(**task["plan"])
    compare = _compare_lines if task["lines"] else _compare_random
    with Table.open(task["pool"], device=task["device"]) as table:
        address = mapped_at(task["pool"])
        stats = table.stats()
        report = table.check()
        given_items, given_wrong = _compare_given(table, task["given"])
        result = compare(table, plan, task["acknowledged"], task["begun"])
        return {
            **result,
            "address": address,
            "device": stats["device"],
            "was_clean": stats["was_clean"],
            "map_ms": stats["map_ms"],
            "recovery_ms": stats["recovery_ms"],
            "repaired_slots": stats["repaired_slots"],
            "finished_moves": stats["finished_moves"],
            "check_errors": list(report.errors),
            "given_items": given_items,
            "given_wrong": given_wrong,
            "unexpected_items": len(table) - given_items - result["random_items"],
        }


def main() -> None:
    task = json.load(sys.stdin)
    if task["do"] == "load":
        load(task)
    else:
        json.dump(verify(task), sys.stdout)


if __name__ == "__main__":
    main()
