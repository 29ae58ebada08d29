"""What a user's type checker knows: `mypy --strict` accepts a program, and finds mistakes planted in it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from conftest import PATIENCE_S

import holdfastdb

PROGRAM = Path(__file__).parent / "stock.py"
PACKAGE = Path(holdfastdb.__file__).parents[1]
has_mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")

MISTAKES = [
    ("keys of text", "contains(codes)", 'contains("kelp")', "[arg-type]"),
    ("key of text", "self.codes[name]", "self.codes[name.decode()]", "[index]"),
    ("no such field", "prices.values[", "prices.value[", "[attr-defined]"),
    ("no such result", 'result="numpy"', 'result="pandas"', "[call-overload]"),
    ("misspelt option", "capacity=10_000)", "capacty=10_000)", "[call-overload]"),
    ("misspelt option of a GPU", "bucket_cache=0.5", "bucket_cash=0.5", "[call-arg]"),
    ("no such policy", 'cache_policy="lru"', 'cache_policy="mru"', "[arg-type]"),
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy-cache")


def checked(program: Path, cache: Path) -> list[str]:
    """What mypy says of the program alone."""
    beside = {} if "site-packages" in PACKAGE.parts else {"MYPYPATH": str(PACKAGE)}
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent"]
    command += ["--no-error-summary", "--hide-error-context", "--cache-dir", str(cache), program.name]
    done = subprocess.run(
        command, cwd=program.parent, env=os.environ | beside, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert bool(lines) == bool(done.returncode)
    return lines


@has_mypy
def test_the_program_is_accepted(cache: Path) -> None:
    assert checked(PROGRAM, cache) == []


@has_mypy
@pytest.mark.parametrize(("right", "wrong", "kind"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_found(right: str, wrong: str, kind: str, tmp_path: Path, cache: Path) -> None:
    text = PROGRAM.read_text()
    assert text.count(right) >= 1
    line = text[: text.index(right)].count("\n") + 1
    # A name of its own: mypy takes a file of the same name, size and second for the one in its cache.
    program = tmp_path / f"stock_{zlib.crc32(wrong.encode())}.py"
    program.write_text(text.replace(right, wrong, 1))
    said = [one for one in checked(program, cache) if ": error: " in one]
    assert said and all(one.startswith(f"{program.name}:{line}: ") for one in said), said
    assert any(one.endswith(kind) for one in said), said


def test_the_program_runs(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder)], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["1000 2 4993 247.13 [b'dulse', b'kelp']", "998"]
