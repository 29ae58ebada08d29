"""The studies of k-mer counting run, small, and what they write becomes tables."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.frame import report, results
from bench.frame.main import app
from bench.kmers import counters
from bench.kmers.generate import Reads, write_fastq

pytest.importorskip("pyarrow")


def measured(command: str, folder: Path) -> Path:
    got = CliRunner().invoke(app(), [command, "--quick", "--json", str(folder)])
    assert got.exit_code == 0, f"{got.output}\n{got.exception!r}"
    return folder / f"{command}.json"


def test_programs_beside_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_MACHINE", "here")
    content = results.read(measured("kmers", tmp_path))
    got = content["results"]
    assert got["distinct"] > 50_000
    assert set(got) >= {"holdfast", "holdfast_half", *(peer.name for peer in counters.peers())}
    assert all(
        got["holdfast"]["stages"][stage]["median"] > 0 for stage in ("reading", "splitting", "counting", "writing")
    )
    marks = (
        "<!-- figures: kmers kmers.json -->\n<!-- end -->\n<!-- figures: kmers-stages kmers.json -->\n<!-- end -->\n"
    )
    text = report.rewrite(marks, tmp_path)
    assert text.count("| `holdfast kmer count` |") == 2


@pytest.mark.skipif(shutil.which("igzip") is None, reason="igzip is not installed")
def test_gzip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_MACHINE", "here")
    content = results.read(measured("kmers-gzip", tmp_path))
    assert (
        0 < content["results"]["reading_of_library"]["median"] <= content["results"]["inflating_of_library"]["median"]
    )
    assert "ISA-L alone" in report.rewrite("<!-- figures: kmers-gzip kmers-gzip.json -->\n<!-- end -->\n", tmp_path)


def test_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_MACHINE", "here")
    monkeypatch.setattr("bench.frame.machine.cores", lambda: 1)
    got = CliRunner().invoke(
        app(), ["kmers-series", "--quick", "--ecoli", str(tmp_path / "none"), "--json", str(tmp_path)]
    )
    assert got.exit_code == 0, f"{got.output}\n{got.exception!r}"
    content = results.read(tmp_path / "kmers-series.json")
    assert [run["k"] for run in content["results"]["runs"]] == [4, 16, 32]
    assert "| generated, 16, 1 |" in report.rewrite(
        "<!-- figures: kmers-series kmers-series.json -->\n<!-- end -->\n", tmp_path
    )


def test_the_same_seed_gives_the_same_reads(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_fastq(Reads(genome=20_000), tmp_path / name)
    write_fastq(Reads(genome=20_000, seed=2), tmp_path / "c")
    data = [(tmp_path / name).read_bytes() for name in "abc"]
    assert data[0] == data[1] != data[2]
    lines = data[0].splitlines()
    assert len(lines) == 4 * (20_000 * 40 // 150) and {len(line) for line in lines[1::4]} == {150}
