"""The examples of docs/kmers.md and of the module do what they say."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE_S
from kmer_oracle import fastq, gzipped, needs_gzip, sequence

from holdfastdb import kmers

GUIDE = Path(__file__).parents[3] / "docs" / "kmers.md"


def test_the_guide(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    result = doctest.testfile(str(GUIDE), module_relative=False)
    assert result.attempted >= 9 and result.failed == 0


def test_the_example_in_cpp_is_compiled() -> None:
    example = GUIDE.read_text().split("```cpp\n")[1].split("```")[0]
    compiled = GUIDE.parents[1] / "tests" / "kmers" / "guide_test.cpp"
    assert "".join(example.split()) in "".join(compiled.read_text().split())  # line breaks aside


@needs_gzip
def test_the_commands_of_the_guide(folder: Path) -> None:
    """On files of these names, as they stand."""
    pytest.importorskip("pyarrow")
    for seed, name in enumerate(("reads_1.fq.gz", "reads_2.fq.gz")):
        gzipped(folder / name, fastq([sequence(seed, 500, "ACGT"), "ACGT" * 6]))
    block = GUIDE.read_text().split("```console\n")[1].split("```")[0]
    commands = [line.removeprefix("$ ").split("#")[0] for line in block.replace("\\\n", "").splitlines()]
    assert len(commands) >= 4
    said = []
    for command in commands:
        whole = command.replace("holdfast ", f"{sys.executable} -m holdfastdb ", 1)
        done = subprocess.run(whole, shell=True, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S)
        assert (done.returncode, done.stderr) == (0, ""), command
        said.append(done.stdout)
    # The one k-mer of the guide, and its other strand, occur twice in each record of 24 letters.
    assert said[2] == "ACGTACGTACGTACGTACGTA 4\n"
    histogram = dict(map(int, line.split()) for line in (folder / "counts.histo").read_text().splitlines())
    assert sum(n for times, n in histogram.items() if times >= 2) == len(said[3].splitlines()) > 1


def test_the_module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    result = doctest.testmod(kmers)
    assert result.attempted >= 3 and result.failed == 0


def test_everything_public_is_described() -> None:
    assert [name for name in kmers.__all__ if not (getattr(kmers, name).__doc__ or "").strip()] == []
