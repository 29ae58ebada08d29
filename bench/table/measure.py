"""Runs workloads on targets, repetition by repetition, and sums them up. Every answer is checked while it runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _bench
import numpy as np

from bench.frame.results import Json
from bench.frame.running import Progress, WrongAnswer
from bench.frame.timing import rounded, spread
from bench.table.targets import Table, target
from bench.table.workloads import Workload


@dataclass(frozen=True)
class Load:
    """How much is run, and by whom."""

    items: int = 1_000_000
    operations: int = 1_000_000
    batch: int = 4096
    callers: int = 1
    distribution: str = "uniform"
    theta: float = 0.99
    unique: bool = False
    on_device: bool = False


def run_once(made: _bench.Target, workload: Workload, load: Load, seed: int, version: int) -> Json:
    """One run of one workload. Raises WrongAnswer."""
    got: dict[str, Any] = _bench.drive(
        made,
        items=0 if workload.loads else load.items,
        operations=load.items if workload.loads else load.operations,
        batch=load.batch,
        callers=load.callers,
        shares=workload.shares,
        distribution=workload.distribution or load.distribution,
        theta=load.theta,
        seed=seed,
        version=version,
        unique=load.unique,
        on_device=load.on_device,
    )
    if got["wrong"] != 0:
        raise WrongAnswer(f"{made.name}, {workload.name}: {got['wrong']:,} of {got['operations']:,} answers are wrong")
    return got


def _latency(batch_us: np.ndarray) -> Json:
    return {
        "mean": rounded(float(batch_us.mean())),
        "median": rounded(float(np.median(batch_us))),
        "p99": rounded(float(np.percentile(batch_us, 99))),
        "min": rounded(float(batch_us.min())),
        "max": rounded(float(batch_us.max())),
    }


def summary(runs: Sequence[Json]) -> Json:
    """Throughput and latency of the repetitions of one workload on one target."""
    kinds: Json = {}
    for kind, operations in runs[0]["counts"].items():
        kinds[kind] = {
            "operations": operations,
            "latency_us": _latency(np.concatenate([run["kind_us"][kind] for run in runs])),
        }
    return {
        "mops": spread(run["operations"] / run["seconds"] / 1e6 for run in runs),
        "mops_per_busy_core": spread(run["operations"] / run["cpu_seconds"] / 1e6 for run in runs),
        "seconds": spread(run["seconds"] for run in runs),
        "latency_us": _latency(np.concatenate([run["batch_us"] for run in runs])),
        "kinds": kinds,
        "batches": sum(len(run["batch_us"]) for run in runs),
    }


def series(
    names: Sequence[str],
    workloads: Sequence[Workload],
    load: Load,
    table: Table,
    repetitions: int,
    folder: Path,
    progress: Progress,
) -> Json:
    """Every workload on every target in turn, `repetitions` times over: {workload: {target: summary}}.

    A repetition makes a new table, loads it, and runs the workloads in order on it; after one that leaves another set
    of items behind comes a new table. Targets alternate within a repetition, so that what else runs meets all of them.
    """
    runs: dict[str, dict[str, list[Json]]] = {w.name: {name: [] for name in names} for w in workloads}
    described: Json = {}
    for repetition in range(repetitions):
        for name in names:
            progress(f"{name}, repetition {repetition + 1} of {repetitions}")
            described[name] = _one_repetition(name, workloads, load, table, repetition + 1, folder, runs)
    made: Json = {"tables": described, "workloads": {}}
    for workload in workloads:
        made["workloads"][workload.name] = {name: summary(done) for name, done in runs[workload.name].items()}
    return made


_LOADING = Workload("load", {"insert": 1.0}, "load", loads=True)


def _one_repetition(
    name: str,
    workloads: Sequence[Workload],
    load: Load,
    table: Table,
    seed: int,
    folder: Path,
    runs: dict[str, dict[str, list[Json]]],
) -> Json:
    left = list(workloads)
    described: Json = {}
    while left:
        with target(name, load.items + load.items // 16, table, folder) as made:
            loaded = next((w for w in left if w.loads), None)
            got = run_once(made, loaded or _LOADING, load, seed, 0)
            if loaded is not None:
                runs[loaded.name][name].append(got)
                left.remove(loaded)
            version = got["version"]
            made.settle()
            while left:
                workload = left.pop(0)
                got = run_once(made, workload, load, seed, version)
                runs[workload.name][name].append(got)
                version = got["version"]
                if workload.spends:
                    break
            if name == "holdfast":
                described = describe_table(made)
    return described


def describe_table(made: _bench.Target) -> Json:
    """What a result says about the table that it measured."""
    stats: Json = made.stats()
    kept = ("device", "medium", "domain", "tile", "flush_instruction", "threads", "size", "slots", "moves", "resizes")
    return {key: stats[key] for key in kept}


def ratios(summaries: Json, ours: str, peers: Sequence[str]) -> Json:
    """Our throughput over the best peer's, repetition by repetition of the same run."""
    best = [max(pair) for pair in zip(*(summaries[p]["mops"]["all"] for p in peers), strict=True)]
    return spread(mine / peer for mine, peer in zip(summaries[ours]["mops"]["all"], best, strict=True))
