"""Commands that load and dump are killed at many places, and resumed: nothing is lost, doubled or left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE_S
from test_transfer import FORMATS

import holdfastdb as hf
from holdfastdb import Table

ROWS = 3000
POINTS = 400 if os.environ.get("HOLDFAST_LONG") == "1" else 9
PROGRAM = Path(__file__).with_name("transfer_kills.py")


def killed(kind: str, folder: Path, file: Path, pool: Path) -> dict[str, Any]:
    """What the program of kills says; that all its commands came to the same end is looked at here."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, str(PROGRAM), kind, str(folder), str(file), str(pool), str(POINTS), "1"],
        capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    outcome: dict[str, Any] = json.loads(done.stdout)
    for end in outcome["ends"]:
        assert end["same"] and end["left"] == [], end
        if kind == "dump" and end["status"] == 2 and end["left_by_kill"] == []:
            # Killed on its way out: the file was whole, and nothing was left that a later one could know of it.
            assert "exists already" in end["said"][-1], end
            continue
        assert end["status"] in (0, None) and end["said"]["rows"] == ROWS, end
    kills = [end["kills"] for end in outcome["ends"]]
    assert min(kills) >= 1, "every place was hit"
    assert max(kills) >= 2, "and resumed ones were killed"
    return outcome


@pytest.fixture
def pool(folder: Path) -> Path:
    with Table.create(folder / "t.hold", value=8, capacity=100, device="cpu") as table:
        table.insert(np.arange(ROWS) * 7919, np.arange(ROWS))
    return folder / "t.hold"


@pytest.mark.parametrize("form", FORMATS[:2])
def test_loads(form: str, pool: Path, tmp_path: Path) -> None:
    path = tmp_path / f"a.{form}"
    with Table.open(pool, device="cpu", mode="r") as table:
        hf.dump(table, path)
    outcome = killed("load", tmp_path / "loads", path, pool)
    for end in outcome["ends"]:  # the batch that the resume file did not know of is written again
        assert end["said"]["inserted"] + end["said"]["updated"] == ROWS, end
    assert any(end["said"]["resumed"] for end in outcome["ends"] if end["status"] != 2)
    assert any(end["said"]["updated"] for end in outcome["ends"]), (
        "kills between a batch and its line in the resume file"
    )


def test_loads_of_any_length(folder: Path, tmp_path: Path) -> None:
    pool, path = folder / "t.hold", tmp_path / "a.csv"
    with Table.create(pool, bytes, bytes, device="cpu") as table:
        table.insert([b"key %d" % i for i in range(ROWS)], [b"v" * (i % 300) for i in range(ROWS)])
        hf.dump(table, path)
    killed("load", tmp_path / "loads", path, pool)


@pytest.mark.parametrize("kind", ["dump", "replace"])
@pytest.mark.parametrize("form", FORMATS[:2])
def test_dumps(form: str, kind: str, pool: Path, tmp_path: Path) -> None:
    outcome = killed(kind, tmp_path / "dumps", tmp_path / "dumps" / f"a.{form}", pool)
    assert any(end["said"]["resumed"] for end in outcome["ends"] if end["status"] != 2)
