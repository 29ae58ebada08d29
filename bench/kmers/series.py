"""One genome, one k, so many threads: counting by bins, and beside it sums straight on a table in memory."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import numpy as np

from bench.frame.results import Json
from bench.frame.running import Progress, WrongAnswer
from bench.frame.timing import spread
from holdfastdb import MemoryTable, kmers
from holdfastdb.kmers.codec import CODES, NO_BASE, canonical

_BATCH = 1 << 20
_STAGES = ("reading", "inflating", "splitting", "counting")


def _words(file: Path, k: int) -> np.ndarray:
    """All k-mers of a FASTA file of one record, canonical."""
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    letters = np.frombuffer(data[data.index(b"\n") :], np.uint8)
    codes = CODES[letters[letters != ord("\n")]]
    n = len(codes) - k + 1
    words, bad = np.zeros(n, np.uint64), np.zeros(n, bool)
    for i in range(k):
        words <<= np.uint64(2)
        words |= codes[i : i + n] & np.uint64(3)
        bad |= codes[i : i + n] == NO_BASE
    return canonical(words[~bad], k)


def _on_the_table(words: np.ndarray, threads: int) -> tuple[float, int]:
    """Seconds of the sums alone, and how many k-mers were different. The table grows as it must."""
    table = MemoryTable(key=8, value=8, threads=threads)
    ones = np.ones(_BATCH, np.uint64)
    begun = time.perf_counter()
    for at in range(0, len(words), _BATCH):
        some = words[at : at + _BATCH]
        table.accumulate(some, ones[: len(some)])
    return time.perf_counter() - begun, len(table)


def measure(name: str, file: Path, k: int, threads: int, repeat: int, progress: Progress) -> Json:
    """Raises WrongAnswer where both ways find another number of k-mers."""
    words = _words(file, k)
    rates, of_table, seconds = [], [], []
    cpu: dict[str, list[float]] = {stage: [] for stage in _STAGES}
    for at in range(repeat):
        progress(f"{name}, k {k}, {threads} threads: {at + 1} of {repeat}")
        begun = time.perf_counter()
        counts = kmers.count(file, k, canonical=True, threads=threads)
        distinct = sum(len(numbers) for _, numbers in counts)
        seconds.append(time.perf_counter() - begun)
        stats = counts.stats()
        rates.append(stats["kmers"] / seconds[-1] / 1e6)
        for stage in _STAGES:
            cpu[stage].append(stats[stage])
        summed, different = _on_the_table(words, threads)
        if (different, len(words)) != (distinct, stats["kmers"]):
            raise WrongAnswer(f"{name}, k {k}: {distinct} k-mers by bins, and {different} in the table")
        of_table.append(len(words) / summed / 1e6)
    return {
        "genome": name, "k": k, "threads": threads, "kmers": len(words), "distinct": distinct,
        "mkmers_s": spread(rates), "table_mkmers_s": spread(of_table), "seconds": spread(seconds),
        "stages": {stage: spread(figures) for stage, figures in cpu.items()},
    }  # fmt: skip
