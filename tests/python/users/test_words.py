"""scripts/words finds no word of our own where users read, and finds those that are planted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COMMANDS = "python/holdfastdb/cli"


def words(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(ROOT / "scripts" / "words"), *arguments], capture_output=True, text=True)


def test_the_tree() -> None:
    done = words()
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "text", "word"),
    [
        ("README.md", "What changes it waits in limbo.", "limbo"),
        ("README.md", "There is no room for it.", "no room"),
        ("docs/guides/cpp.md", "Changes take turns.", "turns"),
        ("docs/architecture.md", "| stripe | a word |", "stripe"),
        ("include/holdfast/table.hpp", "/// Of known keys.", "known keys"),
        ("include/holdfast/log.cuh", "  memory.tell();", "tell"),
        (f"{COMMANDS}/pools.py", 'parser.add_argument("--a", help="how far it goes")', "far"),
    ],
)
def test_planted(file: str, text: str, word: str, tmp_path: Path) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"\n{text}\n", encoding="utf-8")
    done = words(str(tmp_path))
    assert (done.returncode, done.stdout.split(": say")[0]) == (1, f"{file}:2: '{word}'")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("README.md", "A layer includes only layers above it; a striped version lock; returns, interests, nearly."),
        (f"{COMMANDS}/pools.py", 'limbo = names["rest"]  # not for users'),
        ("src/a.hpp", "// In limbo."),
    ],
)
def test_what_is_no_word_of_ours(file: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Holdfast\n")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(f"{text}\n", encoding="utf-8")
    assert words(str(tmp_path)).returncode == 0


def test_nothing_to_look_at_is_an_error(tmp_path: Path) -> None:
    assert "no README" in words(str(tmp_path)).stderr
