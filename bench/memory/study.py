"""Measurements of the machine itself: the layout study of rule 8, and the limits of memory."""

import _bench

from bench.frame.results import Json
from bench.frame.running import Progress, WrongAnswer
from bench.frame.timing import spread


def layout(mebibytes: int, operations: int, repetitions: int, progress: Progress) -> Json:
    """16-byte slots against key words together, over 1, 2 and 4 candidate buckets, both alternating."""
    results: Json = {}
    fields = ("find_per_second", "absent_per_second", "insert_per_second")
    for huge in (False, True):
        for candidates in (1, 2, 4):
            runs: dict[str, list[Json]] = {"slots": [], "together": []}
            for repetition in range(repetitions):
                progress(f"layouts, {candidates} candidates, repetition {repetition + 1} of {repetitions}")
                for name, kept in runs.items():
                    got = _bench.layout(name == "together", mebibytes << 20, candidates, operations, huge)
                    if got["wrong"]:
                        raise WrongAnswer(f"layout {name}: {got['wrong']} wrong answers")
                    kept.append(got)
            entry: Json = {
                name: {field.replace("per_second", "mops"): spread(r[field] / 1e6 for r in kept) for field in fields}
                for name, kept in runs.items()
            }
            entry["together_over_slots"] = {
                field.removesuffix("_per_second"): spread(
                    t[field] / s[field] for t, s in zip(runs["together"], runs["slots"], strict=True)
                )
                for field in fields
            }
            results[f"{candidates}_candidates{'_huge_pages' if huge else ''}"] = entry
    return results


def limits(mebibytes: list[int], threads: int, operations: int, repetitions: int, progress: Progress) -> Json:
    """Random lines and sequential bytes a second, in memory of ordinary and of huge pages."""
    results: Json = {}
    for size in mebibytes:
        for huge in (False, True):
            entry: Json = {}
            for what in ("random_read", "random_update", "dependent_read"):
                progress(f"{what}, {size} MiB, huge pages: {huge}")
                count = operations if what != "dependent_read" else operations // 8
                rates = [_bench.limit(what, size << 20, count, threads, huge) / 1e6 for _ in range(repetitions)]
                entry[f"{what}_mops"] = spread(rates)
            for what in ("sequential_read", "sequential_write", "copy"):
                progress(f"{what}, {size} MiB, huge pages: {huge}")
                rates = [_bench.limit(what, size << 20, 2, threads, huge) / 1e9 for _ in range(repetitions)]
                entry[f"{what}_gb_per_second"] = spread(rates)
            results[f"{size}_mib{'_huge_pages' if huge else ''}"] = entry
    return {"threads": threads, "memory": results}
