"""The guides and the README do what they say: commands and Python run as they stand, lines of C++ are an example's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE_S

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
BLOCK = re.compile(r"^```(python|console|cpp)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def in_one_piece(piece: list[str], whole: list[str]) -> bool:
    return any(whole[at : at + len(piece)] == piece for at in range(len(whole)))


def run(block: str, folder: Path) -> None:
    """The commands of a block, one after another; each must succeed."""
    tool = folder / "bin" / "holdfast"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m holdfastdb "$@"\n')
    tool.chmod(0o755)
    environment = os.environ | {"PATH": f"{tool.parent}:{os.environ['PATH']}"}
    for line in block.splitlines():
        assert line.startswith("$ "), f"not a command: {line}"
        done = subprocess.run(
            line[2:], shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"


def test_there_are_guides() -> None:
    assert len(GUIDES) >= 6


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_a_guide(guide: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    examples = [lines_of(path.read_text()) for path in (ROOT / "examples").glob("*.c*")]
    names: dict[str, object] = {}
    blocks = BLOCK.findall(guide.read_text())
    assert blocks
    for language, block in blocks:
        if language == "cpp":
            assert any(in_one_piece(lines_of(block), example) for example in examples), f"in no example:\n{block}"
        elif language == "console":
            run(block, folder)
        else:
            if "import torch" in block:
                pytest.importorskip("torch")
            exec(compile(block, str(guide), "exec"), names)


def test_the_readme(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    python = [block for language, block in BLOCK.findall((ROOT / "README.md").read_text()) if language == "python"]
    assert len(python) >= 2
    for block in python:
        exec(compile(block, "README.md", "exec"), names)
    assert names["found"].all()  # type: ignore[attr-defined]
