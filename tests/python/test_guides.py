"""Runs the commands and Python of the guides and the README; their C++ must occur in an example, line breaks aside."""

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


def squeezed(text: str) -> str:
    """Code without white space: a guide breaks lines at 80 columns, an example at 120."""
    return "".join(text.split())


def run(block: str, folder: Path) -> None:
    """Runs the commands of a block, one after another; each must succeed."""
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
    examples = [squeezed(path.read_text()) for path in (ROOT / "examples").glob("*.c*")]
    names: dict[str, object] = {}
    blocks = BLOCK.findall(guide.read_text())
    assert blocks
    for language, block in blocks:
        if language == "cpp":
            assert any(squeezed(block) in example for example in examples), f"in no example:\n{block}"
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
