"""The children of scripts/objects run, with few items, and check what they are told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = Path(__file__).resolve().parents[3] / "bench" / "objects" / "child.py"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHILD), words[0], "holdfastdb", *words[1:]]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_many_tables_are_open_at_once(folder: Path) -> None:
    done = run("many", str(folder), "64", "3", "0")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["tables"] == 64 and found["items"] == 6400 and not list(folder.iterdir())


def test_sizes_and_churn(folder: Path) -> None:
    done = run("sizes", str(folder))
    assert done.returncode == 0 and json.loads(done.stdout)["128-byte values"] <= 2, done.stderr
    done = run("churn", str(folder), "300")
    assert done.returncode == 0, done.stderr
    assert 0.9 < json.loads(done.stdout)["ratio"] < 1.3 and not list(folder.iterdir())


def test_threads_with_a_table_each(folder: Path) -> None:
    done = run("threads", str(folder), "100000")
    assert done.returncode == 0, done.stderr
    assert len(found := json.loads(done.stdout)) == 3 and min(found.values()) > 0


def test_the_first_change_is_measured_on_a_disk(folder: Path) -> None:
    done = run("first-change", str(folder), "1000", "5")
    if done.returncode == 0:
        pytest.skip(f"{folder} is on a disk")
    assert "give a folder on a disk" in done.stderr
