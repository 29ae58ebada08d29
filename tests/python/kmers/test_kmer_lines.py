"""Lines that end in every way, padding, and what has no k-mer, which is worth a warning."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from pathlib import Path

import pytest
from kmer_oracle import fasta, fastq, needs_gzip, sequence, slowly

from holdfastdb import kmers

SEQUENCES = [sequence(seed, size) for seed, size in enumerate([3, 31, 32, 500, 3000])]
ENDS = ["\n", "\r\n", "\r", " \n", "\t \r\n", " \r", "\t\t\r"]


def counted(files: object, k: int) -> dict[str, int]:
    return dict(kmers.count(files, k).items())  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [4, 21])
@pytest.mark.parametrize("end", ENDS, ids=repr)
def test_ends_of_lines(folder: Path, end: str, k: int) -> None:
    expected = slowly(SEQUENCES, k)
    for name, text in (("a.fa", fasta(SEQUENCES, 60, end)), ("a.fq", fastq(SEQUENCES, end=end))):
        for whole in (text, text.removesuffix(end)):
            (folder / name).write_bytes(whole.encode())
            counts = kmers.count(folder / name, k)
            assert dict(counts.items()) == expected, name
            assert counts.stats()["records"] == len(SEQUENCES)


def test_returns_alone_in_several_blocks(folder: Path) -> None:
    """Files of more than two MiB, read by several threads."""
    text = sequence(3, 2_500_000, "ACGT")
    for name, data in (
        ("one", f">g\r{text}"),
        ("lines", fasta([text], 61, "\r")),
        ("blanks", fasta([text], 61, " \r\n")),
    ):
        (folder / name).write_bytes(data.encode())
        counts = kmers.count(folder / name, 21, threads=2)
        assert sum(int(numbers.sum()) for _, numbers in counts) == len(text) - 20, name
        assert counts.stats()["bases"] == len(text)


@needs_gzip
@pytest.mark.parametrize("size", [1, 7, 8, 65_535, 65_536, 200_000])
def test_zeros_behind_gzip(folder: Path, size: int) -> None:
    file = folder / "a.fa.gz"
    file.write_bytes(
        gzip.compress(fasta(SEQUENCES[:2]).encode()) + gzip.compress(fasta(SEQUENCES[2:]).encode()) + bytes(size)
    )
    assert counted(file, 11) == slowly(SEQUENCES, 11)


@pytest.mark.parametrize("threads", [1, 3])
def test_records_and_files_without_kmers_are_counted(folder: Path, threads: int) -> None:
    """Also records of several blocks, of which the first ones have none, or only the last."""
    gap, many = "N" * 1_200_000, "A" * 30
    records = ["", "ACGT", gap, gap + many, many + gap, gap * 2 + many + gap, gap + "ACGT" + gap, many, "N" * 40]
    (folder / "a.fa").write_text(fasta(records, 5000))
    (folder / "a.fq").write_text(fastq([*records[:2], many, "N" * 40]))
    (folder / "none.fa").write_text(fasta(["ACGT", gap * 2]))
    (folder / "none.fq").write_text(fastq(["ACGT"] * 3))
    files = [folder / name for name in ("a.fa", "none.fa", "a.fq", "none.fq")]
    stats = kmers.count(files, 21, threads=threads).stats()
    assert stats["records"] == 9 + 2 + 4 + 3
    assert stats["records_without_kmers"] == 5 + 2 + 3 + 3
    assert stats["files_without_kmers"] == [str(folder / "none.fa"), str(folder / "none.fq")]
    (folder / "low.fq").write_text(fastq([many], quality="#"))
    assert kmers.count(folder / "low.fq", 21, min_quality=3).stats()["records_without_kmers"] == 1
    assert kmers.count(folder / "low.fq", 21, min_quality=2).stats()["records_without_kmers"] == 0


def test_records_without_kmers_of_generated_files(folder: Path) -> None:
    rng = random.Random(7)
    for round_ in range(12):
        k = rng.randint(4, 32)
        texts = [sequence(rng.random(), rng.choice([0, k - 1, k, k + 1, 300]), "ACGTACGTN") for _ in range(40)]
        expected = sum(not slowly([text], k) for text in texts)
        for name, data in (("a.fa", fasta(texts, rng.randint(1, 90), rng.choice(ENDS))), ("a.fq", fastq(texts))):
            (folder / name).write_bytes(data.encode())
            stats = kmers.count(folder / name, k).stats()
            assert (stats["records"], stats["records_without_kmers"]) == (40, expected), (round_, name)


def test_the_command_warns(folder: Path) -> None:
    (folder / "a.fa").write_text(fasta(["ACGTACGTAC", "ACG", "AC"]))
    (folder / "b.fa").write_text(fasta(["ACG"]))

    def count(*files: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "holdfastdb",
            "kmer",
            "count",
            *files,
            "-k",
            "5",
            "-o",
            "out.txt",
            "--overwrite",
        ]
        return subprocess.run(command, capture_output=True, text=True, cwd=folder)

    done = count("a.fa")
    assert done.returncode == 0 and done.stderr == "holdfast: 2 of 3 records have no k-mer of 5 bases\n"
    done = count("a.fa", "b.fa")
    assert done.stderr == (
        "holdfast: b.fa has no k-mer: no 5 bases without a gap\nholdfast: 3 of 4 records have no k-mer of 5 bases\n"
    )
