"""scripts/words finds no replaced word in documents, comments and messages, and finds those that are planted."""

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
        ("README.md", "There is no room for it.", "room"),
        ("CONTRIBUTING.md", "Nobody reads it.", "Nobody"),
        ("docs/guides/cpp.md", "Changes take turns.", "turns"),
        ("docs/internals/pool.md", "The search goes on.", "goes on"),
        ("docs/architecture.md", "| stripe | a word |", "stripe"),
        ("include/holdfast/table.hpp", "/// Of known keys.", "known keys"),
        ("src/pool/a.cpp", '  throw NoSpace("no room");', "room"),
        ("src/gpu/a.cuh", "/// A stretch of memory.", "stretch"),
        ("python/holdfastdb/pool.py", "limbo = 1  # a purse of it", "purse"),
        (f"{COMMANDS}/pools.py", 'parser.add_argument("--a", help="how far it goes; far")', "far"),
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
        ("README.md", "Layers above it; a striped version lock; returns, interests, nearly; the rest; `room`."),
        ("README.md", "```\nstripe = room\n```\n[text](limbo.md) <!-- figure: a/room.json x -->"),
        (f"{COMMANDS}/pools.py", 'limbo = names["x"]'),
        ("src/pool/a.hpp", '#include "pool/room.hpp"\nint room = 0;  // `room`, so far'),
        ("tests/a.hpp", "// In limbo."),
    ],
)
def test_what_is_no_word_of_ours(file: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Holdfast\n")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(f"{text}\n", encoding="utf-8")
    assert words(str(tmp_path)).returncode == 0


def names_of(root: Path, file: str, text: str) -> subprocess.CompletedProcess[str]:
    (root / file).parent.mkdir(parents=True)
    (root / file).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    return words("--names", str(root))


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("src/a.hpp", "int has_room, BatchRoom;\n", {"has_room", "BatchRoom"}),
        ("tests/a_test.cpp", "TEST(A, IsLetGo) { tell_all(kKeeper); }\n", {"IsLetGo", "tell_all", "kKeeper"}),
        ("bench/a.py", "known_keys = stripe_of(2)\n", {"known_keys", "stripe_of"}),
        ("src/limbo.hpp", "int a;\n", {"limbo"}),
    ],
)
def test_names_that_return_are_found(file: str, text: str, found: set[str], tmp_path: Path) -> None:
    done = names_of(tmp_path, file, text)
    assert done.returncode == 1
    assert {line.split()[1] for line in done.stdout.splitlines()} == found


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("src/a.hpp", 'int broom, mushroom_;  // In a room,\nauto text = "stripe";\n'),
        ("python/a.py", 'unknown_keys = file.tell()  # limbo\n"""A purse."""\n'),
        ("docs/internals/pool.md", "`room`\n"),
    ],
)
def test_other_names_are_not(file: str, text: str, tmp_path: Path) -> None:
    assert names_of(tmp_path, file, text).returncode == 0


def test_nothing_to_look_at_is_an_error(tmp_path: Path) -> None:
    assert "no README" in words(str(tmp_path)).stderr
