"""Outputs hold what was counted, and are read back; the commands on them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from kmer_oracle import fasta, sequence, slowly

import holdfastdb as hf
from holdfastdb import kmers

ENDINGS = ["txt", "parquet", "hold"]
TEXTS = [sequence(1, 5000), sequence(2, 3000)]


@pytest.fixture(params=ENDINGS)
def ending(request: pytest.FixtureRequest) -> str:
    if request.param == "parquet":
        pytest.importorskip("pyarrow")
    return request.param


def made(folder: Path, ending: str, k: int, canonical: bool = True) -> Path:
    (folder / "a.fa").write_text(fasta(TEXTS))
    out = folder / f"out.{ending}"
    kmers.write(kmers.count(folder / "a.fa", k, canonical=canonical), out, overwrite=True)
    return out


@pytest.mark.parametrize("k", [4, 12, 31, 32])
@pytest.mark.parametrize("canonical", [False, True])
def test_what_is_written_is_read(folder: Path, ending: str, k: int, canonical: bool) -> None:
    out, expected = made(folder, ending, k, canonical), slowly(TEXTS, k, canonical)
    file = kmers.CountFile(out)
    assert file.k == k and file.canonical == canonical
    found: dict[str, int] = {}
    for words, counts in file:
        found.update(zip(kmers.decode(words, k), counts.tolist(), strict=True))
    assert found == expected
    copy = out.with_name(f"copy.{ending}")
    assert kmers.write(file, copy) == len(expected)
    assert sorted(out.parent.iterdir()) == sorted([copy, folder / "a.fa", out])


def test_search_and_histogram(folder: Path, ending: str) -> None:
    out, expected = made(folder, ending, 11, canonical=False), slowly(TEXTS, 11)
    some = [*list(expected)[:50], "A" * 11, "ACGTACGTACG"]
    assert kmers.find(out, some).tolist() == [expected.get(kmer, 0) for kmer in some]
    assert kmers.find(out, kmers.encode(some[0])).tolist() == [expected[some[0]]]
    numbers = kmers.histogram(out, high=3)
    values = list(expected.values())
    assert numbers.tolist() == [0, *(values.count(n) for n in (1, 2, 3)), sum(n > 3 for n in values)]
    with pytest.raises(hf.InvalidArgument, match="has 3 letters"):
        kmers.find(out, ["ACG"])


def test_either_strand_of_a_canonical_count(folder: Path, ending: str) -> None:
    out, expected = made(folder, ending, 15), slowly(TEXTS, 15, canonical=True)
    kmer, number = next(iter(expected.items()))
    other = kmers.decode(kmers.reverse_complement(kmers.encode(kmer), 15), 15)[0]
    assert kmers.find(out, [kmer, other]).tolist() == [number, number]
    assert kmers.find(out, kmers.encode([kmer, other])).tolist() == [number, number]
    assert kmers.CountFile(out).find(kmers.encode([kmer, other])).tolist() == [number, number]
    assert kmers.find(out, other, canonical=True).tolist() == [number]
    with pytest.raises(hf.InvalidArgument, match="canonical is False"):
        kmers.find(out, other, canonical=False)
    done = _run("kmer", "query", out, kmer, other)
    assert done.stdout == f"{kmer} {number}\n{other} {number}\n"


def test_an_empty_result_is_read_back(folder: Path, ending: str) -> None:
    (folder / "a.fa").write_text(">a\nACG\n")
    out = folder / f"out.{ending}"
    assert kmers.write(kmers.count(folder / "a.fa", 13, canonical=True), out) == 0
    file = kmers.CountFile(out)
    assert (file.k, file.canonical, list(file)) == (13, True, [])
    assert kmers.find(out, "ACGTACGTACGTA").tolist() == [0]
    assert kmers.histogram(out, 5).sum() == 0
    assert _run("kmer", "dump", out).stdout == ""


def test_the_codec() -> None:
    assert kmers.encode("ACGT").tolist() == [0b00011011]
    assert kmers.encode([]).tolist() == []
    texts = [sequence(seed, 32, "ACGT")[:32] for seed in range(20)]
    words = kmers.encode(texts)
    assert kmers.decode(words, 32) == texts
    reverse = [text[::-1].translate(str.maketrans("ACGT", "TGCA")) for text in texts]
    assert kmers.decode(kmers.reverse_complement(words, 32), 32) == reverse
    assert kmers.decode(kmers.canonical(words, 32), 32) == [min(pair) for pair in zip(texts, reverse, strict=True)]
    for bad in ("ACGN", "ACG", "ACGÄ", ["ACGT", "ACGTA"]):
        with pytest.raises(hf.InvalidArgument):
            kmers.encode(bad)


def test_other_files_that_are_none(folder: Path) -> None:
    with pytest.raises(hf.InputError, match="no such file"):
        kmers.CountFile(folder / "none.txt")
    with hf.Table.create(folder / "other.hold"):
        pass
    with pytest.raises(hf.InputError, match="no table whose name is"):
        kmers.CountFile(folder / "other.hold")
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"a": [1]}), folder / "other.parquet")
    with pytest.raises(hf.InputError, match="its columns are not"):
        kmers.CountFile(folder / "other.parquet")
    (folder / "bad.parquet").write_text("no")
    with pytest.raises(hf.InputError, match=r"bad\.parquet is no file"):
        kmers.CountFile(folder / "bad.parquet")


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "holdfastdb", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_commands(folder: Path, ending: str) -> None:
    expected = slowly(TEXTS, 9, canonical=True)
    out = made(folder, "txt", 9).with_suffix(f".{ending}")
    if ending != "txt":
        done = _run("kmer", "count", folder / "a.fa", "-k", 9, "-C", "-o", out)
        assert (done.returncode, done.stderr) == (0, "") and f"{len(expected):,} k-mers" in done.stdout
        assert _run("kmer", "count", folder / "a.fa", "-k", 9, "-o", out).returncode == 2, "it exists already"
    lines = _run("kmer", "dump", out, "-L", 2, "-U", 3).stdout.splitlines()
    assert sorted(lines) == sorted(f"{kmer} {n}" for kmer, n in expected.items() if 2 <= n <= 3)
    counts = list(expected.values())
    histogram = [f"{n} {counts.count(n)}" for n in sorted(set(counts)) if n <= 5]
    assert _run("kmer", "histo", out, "--high", 5).stdout.splitlines()[: len(histogram)] == histogram
    kmer, number = max(expected.items(), key=lambda item: item[1])
    done = _run("kmer", "query", out, kmer.lower(), "ACACACACA")
    assert done.stdout == f"{kmer.lower()} {number}\nACACACACA {expected.get('ACACACACA', 0)}\n"
    assert done.returncode == (0 if "ACACACACA" in expected else 1)


def test_a_pool_is_a_table_for_everybody(folder: Path) -> None:
    out, expected = made(folder, "hold", 13, canonical=False), slowly(TEXTS, 13)
    kmer, number = next(iter(expected.items()))
    key = int(kmers.encode(kmer)[0])
    with hf.Table.open(out, mode="r") as table:
        values, found = table.find([key], dtype=np.uint64)
        assert found.all() and values.reshape(-1).tolist() == [number]
        assert len(table) == len(expected)
    assert _run("get", out, key, "--hex").stdout.split()[-1] == number.to_bytes(8, "little").hex()
