"""Reads of a generated genome: what the studies of k-mer counting count. The same seed gives the same bytes.

The genome has families of repeats, whose copies differ a little, and runs of one base and of short units. Reads come
from both strands, evenly, with substitutions.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

_BASES = np.frombuffer(b"ACGT", np.uint8)
_AT_ONCE = 100_000  # reads


@dataclass(frozen=True)
class Reads:
    """What to generate."""

    genome: int = 50_000_000
    fold: int = 40
    length: int = 150
    errors: float = 0.002
    repeated: float = 0.1
    """The part of the genome that repeats cover."""
    runs: float = 0.01
    """The part that runs of one base and of short units cover."""
    seed: int = 1

    @property
    def count(self) -> int:
        return self.genome * self.fold // self.length


def genome_of(reads: Reads) -> np.ndarray:
    """Codes 0 to 3."""
    rng = np.random.default_rng(reads.seed)
    genome = rng.integers(0, 4, reads.genome, np.uint8)
    covered = 0
    while covered < reads.genome * reads.repeated:
        family = rng.integers(0, 4, int(rng.integers(300, 6000)), np.uint8)
        for at in rng.integers(0, max(1, reads.genome - len(family)), 100):
            copy = family.copy()
            changed = rng.random(len(copy)) < 0.02
            copy[changed] = rng.integers(0, 4, int(changed.sum()), np.uint8)
            genome[at : at + len(copy)] = copy[: reads.genome - at]
            covered += len(copy)
    covered = 0
    while covered < reads.genome * reads.runs:
        unit = rng.integers(0, 4, int(rng.integers(1, 7)), np.uint8)
        run = np.resize(unit, int(rng.integers(20, 200)))
        at = int(rng.integers(0, max(1, reads.genome - len(run))))
        genome[at : at + len(run)] = run[: reads.genome - at]
        covered += len(run)
    return genome


def _sequences(reads: Reads, genome: np.ndarray, rng: np.random.Generator, n: int) -> np.ndarray:
    """Letters of `n` reads, a row each."""
    starts = rng.integers(0, len(genome) - reads.length + 1, n)
    codes = np.lib.stride_tricks.sliding_window_view(genome, reads.length)[starts]
    reverse = rng.random(n) < 0.5
    codes[reverse] = 3 - codes[reverse, ::-1]
    wrong = rng.binomial(n * reads.length, reads.errors)
    at = rng.integers(0, n * reads.length, wrong)
    flat = codes.reshape(-1)
    flat[at] = (flat[at] + rng.integers(1, 4, wrong, np.uint8)) % 4
    return _BASES[codes]


def _records(reads: Reads, genome: np.ndarray, rng: np.random.Generator, first: int, n: int) -> bytes:
    """FASTQ records, all of one length in bytes."""
    names = np.char.mod("@read%010d\n", np.arange(first, first + n)).astype("S16")
    head = np.frombuffer(names.tobytes(), np.uint8).reshape(n, 16)
    quality = np.frombuffer(b"FFFFFFFFFFFF:,", np.uint8)[rng.integers(0, 14, (n, reads.length), np.uint8)]
    gap = np.broadcast_to(np.frombuffer(b"\n+\n", np.uint8), (n, 3))
    end = np.broadcast_to(np.frombuffer(b"\n", np.uint8), (n, 1))
    return np.hstack([head, _sequences(reads, genome, rng, n), gap, quality, end]).tobytes()


def write_fastq(reads: Reads, path: Path) -> None:
    """Writes the reads; compressed if the name ends in .gz."""
    genome, rng = genome_of(reads), np.random.default_rng([reads.seed, 1])
    beside = path.with_name(path.name + ".part")
    file: BinaryIO
    with gzip.open(beside, "wb", 6) if path.suffix == ".gz" else beside.open("wb") as file:  # type: ignore[assignment]
        for first in range(0, reads.count, _AT_ONCE):
            file.write(_records(reads, genome, rng, first, min(_AT_ONCE, reads.count - first)))
    beside.rename(path)


def write_fasta(reads: Reads, path: Path, width: int = 80) -> None:
    """Writes the genome as one record in lines of `width` letters."""
    letters = _BASES[genome_of(reads)].tobytes()
    with path.open("wb") as file:
        file.write(b">generated\n")
        for at in range(0, len(letters), width):
            file.write(letters[at : at + width] + b"\n")
