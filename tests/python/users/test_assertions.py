"""scripts/lint/assertions finds folders with too few assertions, and loops that do not say why they end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def assertions(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "lint" / "assertions"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def in_pool(root: Path, text: str) -> subprocess.CompletedProcess[str]:
    (root / "src" / "pool").mkdir(parents=True)
    (root / "src" / "pool" / "a.cpp").write_text(text)
    return assertions(str(root))


def test_the_tree() -> None:
    done = assertions()
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("count", [2, 3, 4])
def test_three_in_a_thousand_lines(tmp_path: Path, count: int) -> None:
    lines = ["  // HOLDFAST_ASSERT(in a comment)"] * (1000 - count) + ["  HOLDFAST_ASSERT(a < b);"] * count
    done = in_pool(tmp_path, "\n".join(lines) + "\n")
    assert done.returncode == (count < 3)
    assert ("src/pool: 2 assertions in 1000 lines: at least 3" in done.stdout) == (count < 3)


@pytest.mark.parametrize(
    ("loop", "is_wrong"),
    [
        ("for (;;) {", True),
        ("for (unsigned i = 0;; ++i) {", True),
        ("while (true) {", True),
        ("// It sends.\nwhile (1) {", True),
        ("for (;;) {  // ends: with the file", False),
        ("// ends: with the file\nfor (;; ++at) {", False),
        ("for (; a < b;) {", False),
        ("// for (;;) {", False),
    ],
)
def test_loops(tmp_path: Path, loop: str, is_wrong: bool) -> None:
    done = in_pool(tmp_path, f"HOLDFAST_ASSERT(true);\n{loop}\n")
    assert (done.returncode, "a loop without a condition" in done.stdout) == (int(is_wrong), is_wrong)


def test_nothing_to_look_at_is_an_error(tmp_path: Path) -> None:
    assert "has none of the folders" in assertions(str(tmp_path)).stderr
