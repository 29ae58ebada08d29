"""k-mers counted letter by letter, to compare with; and files to count."""

from __future__ import annotations

import functools
import gzip
import random
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

import holdfastdb as hf
from holdfastdb import kmers

_OTHER = str.maketrans("ACGT", "TGCA")


def slowly(sequences: Iterable[str], k: int, canonical: bool = False) -> dict[str, int]:
    """Each k-mer of the sequences with its count."""
    counts: Counter[str] = Counter()
    for sequence in sequences:
        upper = sequence.upper()
        for at in range(len(upper) - k + 1):
            kmer = upper[at : at + k]
            if not set(kmer) <= set("ACGT"):
                continue
            counts[min(kmer, kmer[::-1].translate(_OTHER)) if canonical else kmer] += 1
    return dict(counts)


def sequence(seed: int, size: int, letters: str = "ACGTacgt" * 12 + "NRy") -> str:
    rng = random.Random(seed)
    return "".join(rng.choices(letters, k=size)) + "A" * (size // 50)


def fasta(sequences: list[str], width: int = 60, end: str = "\n") -> str:
    lines: list[str] = []
    for i, text in enumerate(sequences):
        lines += [f">record {i}", *(text[at : at + width] for at in range(0, len(text), width))]
    return end.join(lines) + end


def fastq(sequences: list[str], quality: str = "F", end: str = "\n") -> str:
    return "".join(f"@{i}{end}{text}{end}+{end}{quality * len(text)}{end}" for i, text in enumerate(sequences))


def gzipped(path: Path, *members: str) -> Path:
    path.write_bytes(b"".join(gzip.compress(member.encode()) for member in members))
    return path


@functools.cache
def _inflates() -> bool:
    """Whether this build has ISA-L; any other failure is left to the tests."""
    with tempfile.NamedTemporaryFile(suffix=".fa.gz") as file:
        gzipped(Path(file.name), ">a\nACGT\n")
        try:
            kmers.count(file.name, 4)
        except hf.InputError as error:
            return "inflates nothing" not in str(error)
    return True


needs_gzip = pytest.mark.skipif(not _inflates(), reason="this build has no ISA-L: gzip is not inflated")
