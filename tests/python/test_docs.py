"""The examples of docs/python.md and of the package's docstring do what they say."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE_S

import holdfastdb

GUIDE = Path(__file__).parents[2] / "docs" / "python.md"
FLAGS = doctest.ELLIPSIS


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_the_guide(here: None) -> None:
    text = GUIDE.read_text()
    assert text.count("```python") >= 6
    examples = doctest.DocTestParser().get_doctest(text, {}, "python.md", str(GUIDE), 0)
    assert len(examples.examples) > 20
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(examples)
    assert runner.summarize(verbose=False).failed == 0
    for path in ("items.hold", "items-monday.hold", "counts.hold", "seen.hold", "tokens.hold"):
        assert Path(path).exists()


def test_the_table_in_memory(here: None) -> None:
    result = doctest.testfile(str(GUIDE.parent / "memory_table.md"), module_relative=False, optionflags=FLAGS)
    assert result.attempted >= 4 and result.failed == 0
    example = (GUIDE.parent / "memory_table.md").read_text().split("```cpp\n")[1].split("```")[0]
    compiled = GUIDE.parents[1] / "tests" / "structures" / "dramhit_guide_test.cpp"
    assert "".join(example.split()) in "".join(compiled.read_text().split())  # line breaks aside


def test_the_store(here: None) -> None:
    result = doctest.testfile(str(GUIDE.parent / "store.md"), module_relative=False, optionflags=FLAGS)
    assert result.attempted >= 12 and result.failed == 0
    example = (GUIDE.parent / "store.md").read_text().split("```cpp\n")[1].split("```")[0]
    compiled = GUIDE.parents[1] / "tests" / "store" / "guide_test.cpp"
    assert "".join(example.split()) in "".join(compiled.read_text().split())  # line breaks aside


def test_the_package(here: None) -> None:
    result = doctest.testmod(holdfastdb, optionflags=FLAGS)
    assert result.attempted >= 2 and result.failed == 0


@pytest.mark.parametrize("example", sorted((GUIDE.parents[1] / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_the_examples(example: Path, folder: Path) -> None:
    where = folder if example.stem in ("files", "words") else folder / "example.hold"
    done = subprocess.run(
        [sys.executable, str(example), str(where)], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout and not done.stderr


def test_everything_public_is_described() -> None:
    missing = [name for name in holdfastdb.__all__ if not (getattr(holdfastdb, name).__doc__ or "").strip()]
    assert missing == []
    methods = [name for name in vars(holdfastdb.Table) if not name.startswith("_")]
    assert [name for name in methods if not (getattr(holdfastdb.Table, name).__doc__ or "").strip()] == []
