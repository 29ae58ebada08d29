"""What is run: the benchmarks of one side, once, and the rates that they give; and runs of two sides, alternating.

On a CPU the rows of `python -m bench compare` without its peers, on a GPU those of `holdfast-link-bench table-a`. Every
answer is checked by the benchmarks themselves; one that is wrong ends all.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .sides import Failed, Side

Rates = dict[str, float]
"""By row, in M/s."""


@dataclass(frozen=True)
class Plan:
    """What a run is."""

    device: str
    items: int
    threads: int = 0
    repeat: int = 1
    """Of each row within a run, on a CPU."""
    per_core: bool = False
    """Rates a second of processor time instead, on a CPU that others use too."""


def run_cpu(side: Side, plan: Plan, env: dict[str, str]) -> Rates:
    """Two commands: single operations, and YCSB A, B and F."""
    rates: Rates = {}
    shared = ["--items", str(plan.items), "--threads", str(plan.threads), "--repeat", str(plan.repeat)]
    for command in (["micro"], ["ycsb", "--workloads", "A,B,F", "--distribution", "uniform"]):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "result.json"
            call([sys.executable, "-m", side.benchmarks, *command, *shared, "--json", str(file)], env, side.source)
            content = json.loads(file.read_text(encoding="utf-8"))
        for name, targets in content["results"]["runs"][0]["workloads"].items():
            rates[name] = targets["holdfast"]["mops_per_busy_core" if plan.per_core else "mops"]["median"]
    return rates


def run_cuda(side: Side, plan: Plan, env: dict[str, str]) -> Rates:
    """The study table-a; its result goes to standard output."""
    printed = call([str(side.build / "holdfast-link-bench"), "table-a", "--items", str(plan.items)], env)
    rates: Rates = {}
    for one in json.loads(printed)["runs"]:
        streams = "" if one["streams"] == 1 else f", {one['streams']} streams"
        # Of an even number of batches the baseline's own median is the upper of the middle two.
        rates[f"{one['work']}, {one['batch']:,} rows{streams}"] = statistics.median(one["mops"]["all"])
    return rates


def call(command: list[str], env: dict[str, str], folder: Path | None = None) -> str:
    """What a command prints. Raises Failed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=folder)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} ended with {done.returncode}\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def run_once(side: Side, plan: Plan, plant: float) -> Rates:
    """All rows of one side. `plant`: how many percent longer the new side's batches take."""
    env = {**os.environ, "PYTHONPATH": str(side.build / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("HOLDFAST_BENCH_PLANT", None)
    if plant and side.name == "new":
        env["HOLDFAST_BENCH_PLANT"] = str(plant)
    return (run_cuda if plan.device == "cuda" else run_cpu)(side, plan, env)


@dataclass
class Series:
    """Pairs of runs, kept in a file as they come, so that another call may go on."""

    file: Path
    identity: dict[str, Any]
    """What must be the same for pairs to be taken together."""
    pairs: list[dict[str, Rates]]

    @classmethod
    def begun(cls, file: Path, identity: dict[str, Any]) -> Series:
        """Those in the file, if they are of the same builds and the same plan."""
        if file.exists():
            content = json.loads(file.read_text(encoding="utf-8"))
            if content["identity"] == identity:
                return cls(file, identity, content["pairs"])
        return cls(file, identity, [])

    def add(self, pair: dict[str, Rates]) -> None:
        self.pairs.append(pair)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        draft = self.file.with_suffix(".part")
        draft.write_text(json.dumps({"identity": self.identity, "pairs": self.pairs}), encoding="utf-8")
        draft.replace(self.file)

    def rates(self, side: str) -> dict[str, list[float]]:
        """By row; those that every run has."""
        names = [name for name in self.pairs[0]["base"] if all(name in pair[s] for pair in self.pairs for s in pair)]
        return {name: [pair[side][name] for pair in self.pairs] for name in names}


def alternate(series: Series, sides: dict[str, Side], plan: Plan, pairs: int, plant: float) -> None:
    """Pairs in the order base new, new base, base new, …: so each side also follows itself."""
    for _ in range(pairs):
        number = len(series.pairs)
        order = ("base", "new") if number % 2 == 0 else ("new", "base")
        pair, start = {}, time.monotonic()
        for name in order:
            pair[name] = run_once(sides[name], plan, plant)
        series.add(pair)
        print(f"pair {number + 1}, {order[0]} first: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
