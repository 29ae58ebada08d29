"""examples/training.py: rows and network of one pool, killed at any moment, go on with the same losses, bit by bit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

RUNS = Path(__file__).with_name("training_runs.py")
LAST, KILLS = 60, 7


@contextmanager
def runs_in(pool: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, RUNS, pool, str(LAST)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def run(process: subprocess.Popen[str], kill: tuple[int, float] | None = None) -> tuple[int, list[str]]:
    """Exit status and what it printed. Killed so many seconds after so many losses."""
    assert process.stdin is not None and process.stdout is not None
    print(file=process.stdin, flush=True)
    number, lines, losses = 0, [], 0
    for line in process.stdout:
        first, *rest = line.split()
        if first == "ended":
            return int(rest[0]), lines
        if first == "process":
            number = int(rest[0])
        else:
            lines.append(line)
            losses += first.isdigit()
        if kill is not None and losses == kill[0]:
            time.sleep(kill[1])
            os.kill(number, signal.SIGKILL)
            kill = None
    raise AssertionError("the runs ended")


def losses_of(lines: list[str]) -> list[tuple[int, str]]:
    return [(int(line.split()[0]), line.split()[1]) for line in lines if line.split()[0].isdigit() and "0x" in line]


def test_kills_change_no_loss(tmp_path: Path) -> None:
    with runs_in(tmp_path / "whole.hold") as process:
        status, lines = run(process)
    assert status == 0
    whole = dict(losses_of(lines))
    assert sorted(whole) == list(range(1, LAST + 1))
    draw = random.Random(1)
    seen: set[int] = set()
    undone = 0
    with runs_in(tmp_path / "killed.hold") as process:
        for _ in range(KILLS):
            status, lines = run(process, (draw.randint(0, 9), draw.random() * 0.01))
            assert status == -signal.SIGKILL
            for step, loss in losses_of(lines):
                assert loss == whole[step], f"step {step}"
                seen.add(step)
            undone += any("goes on" in line and not line.endswith(", 0 rows undone\n") for line in lines)
        status, lines = run(process)
        assert status == 0 and lines[-1].startswith("600 rows")
        for step, loss in losses_of(lines):
            assert loss == whole[step], f"step {step}"
            seen.add(step)
    assert seen == set(whole) and undone > 0, "no kill came where rows were newer than the save"
