"""Counts are those of counting letter by letter, and where they are installed those of jellyfish and kmc."""

from __future__ import annotations

import array
import fcntl
import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from conftest import PATIENCE_S
from kmer_oracle import fasta, fastq, gzipped, needs_gzip, sequence, slowly

import holdfastdb as hf
from holdfastdb import kmers

ECOLI = Path(os.environ.get("HOLDFAST_DATA", "/work/shared/data")) / "ecoli_k12.fna.gz"
LETTERS = 2_500_000  # of two MiB of text and more: it is read by blocks of one
SEQUENCES = [sequence(seed, size) for seed, size in enumerate([0, 3, 31, 32, 500, 3000])]


def counted(files: object, k: int, **options: object) -> dict[str, int]:
    return dict(kmers.count(files, k, **options).items())  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [4, 11, 12, 13, 21, 31, 32])
@pytest.mark.parametrize("canonical", [False, True])
def test_every_form_of_input(folder: Path, k: int, canonical: bool) -> None:
    expected = slowly(SEQUENCES, k, canonical)
    plain, windows, reads = folder / "a.fa", folder / "w.fa", folder / "r.fq"
    plain.write_text(fasta(SEQUENCES))
    windows.write_bytes(fasta(SEQUENCES, 70, "\r\n").encode())
    reads.write_text(fastq(SEQUENCES))
    for file in (plain, windows, reads):
        assert counted(file, k, canonical=canonical) == expected, file
    twice = counted([plain, reads], k, canonical=canonical, threads=3)
    assert twice == {kmer: 2 * number for kmer, number in expected.items()}


@needs_gzip
@pytest.mark.parametrize("k", [4, 12, 21])
def test_gzip_of_several_members_beside_a_plain_file(folder: Path, k: int) -> None:
    text = fasta(SEQUENCES)
    plain = folder / "a.fa"
    plain.write_text(text)
    members = gzipped(folder / "m.fa.gz", text[:700], "", text[700:701], text[701:])
    expected = slowly(SEQUENCES, k)
    assert counted(members, k) == expected
    twice = counted([plain, members], k, threads=3)
    assert twice == {kmer: 2 * number for kmer, number in expected.items()}


def test_a_genome_in_one_line_and_in_many_blocks(folder: Path) -> None:
    """More than a block of text, so that k-mers cross the ends of blocks."""
    rng = np.random.default_rng(3)
    letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, LETTERS)]
    codes = kmers.codec.CODES[letters]
    words = np.zeros(len(codes) - 20, np.uint64)
    for i in range(21):
        words = words << np.uint64(2) | codes[i : i + len(words)]
    right = np.unique(words, return_counts=True)
    text = letters.tobytes().decode()
    for name, data in (
        ("one", f">g\n{text}"),
        ("lines", fasta([text], 61)),
        ("reads", fastq([text[: LETTERS - 50_000]])),
    ):
        file = folder / name
        file.write_text(data)
        found = _sorted(kmers.count(file, 21, threads=2))
        if name == "reads":
            assert found[1].sum() == LETTERS - 50_000 - 20
        else:
            assert all(map(np.array_equal, found, right))


@needs_gzip
def test_gzip_of_many_members_and_flushes(folder: Path) -> None:
    """More than is read at once, so that headers and trailers are cut anywhere; the last member is empty."""
    rng = random.Random(1)
    text = fasta([sequence(seed, 50_000) for seed in range(40)]).encode()
    parts, at = [], 0
    while at < len(text):
        size = rng.choice([1, 10, 1000, 60_000])
        deflate = zlib.compressobj(1, zlib.DEFLATED, 31)
        data = deflate.compress(text[at : at + size // 2]) + deflate.flush(zlib.Z_SYNC_FLUSH)
        parts.append(data + deflate.compress(text[at + size // 2 : at + size]) + deflate.flush())
        at += size
    parts.append(gzip.compress(b""))
    (folder / "a.fa").write_bytes(text)
    (folder / "a.fa.gz").write_bytes(b"".join(parts))
    with (folder / "named.fa.gz").open("wb") as raw, gzip.GzipFile("a name", "wb", 6, raw) as file:
        file.write(text)
    assert (folder / "a.fa.gz").stat().st_size > 3 << 18
    right = _sorted(kmers.count(folder / "a.fa", 16))
    for name in ("a.fa.gz", "named.fa.gz"):
        assert all(map(np.array_equal, _sorted(kmers.count(folder / name, 16)), right)), name


@needs_gzip
def test_a_named_pipe_is_opened_once(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    data = gzip.compress(fastq(SEQUENCES * 300).encode())
    failed: list[BaseException] = []

    def write() -> None:
        try:
            pipe.write_bytes(data)
        except BaseException as error:
            failed.append(error)

    for _ in range(5):
        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        found = counted(pipe, 15, threads=2)
        writer.join()
        assert not failed
        assert found == {kmer: 300 * number for kmer, number in slowly(SEQUENCES, 15).items()}


def test_who_waits_for_standard_input_may_be_interrupted(folder: Path) -> None:
    command = [sys.executable, "-m", "holdfastdb", "kmer", "count", "-", "-o", str(folder / "out.txt")]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job has it ignored
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(b">a\nACGT")
    process.stdin.flush()
    while not all_is_read(process.pid):  # it has read what there is
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE_S)
    assert process.returncode != 0
    process.stdin.close()
    assert list(folder.iterdir()) == []


def all_is_read(pid: int) -> bool:
    """Of standard input."""
    with Path(f"/proc/{pid}/fd/0").open("rb") as pipe:
        waiting = array.array("i", [0])
        fcntl.ioctl(pipe, termios.FIONREAD, waiting)
    return waiting[0] == 0


def test_arrays_stay_as_they_are(folder: Path) -> None:
    (folder / "a.fa").write_text(fasta([sequence(1, 1_500_000, "ACGT")]))
    batches = list(kmers.count(folder / "a.fa", np.int64(25)))  # type: ignore[arg-type]
    assert len(batches) > 1
    words = np.concatenate([words for words, _ in batches])
    assert len(np.unique(words)) == len(words)


@pytest.mark.parametrize("zipped", [False, pytest.param(True, marks=needs_gzip)])
def test_standard_input(folder: Path, zipped: bool) -> None:
    out = folder / "out.txt"
    data = gzip.compress(fastq(SEQUENCES).encode()) if zipped else fasta(SEQUENCES).encode()
    command = [sys.executable, "-m", "holdfastdb", "kmer", "count", "-", "-k", "15", "-o", str(out)]
    subprocess.run(command, input=data, check=True, capture_output=True)
    lines = [line.split() for line in out.read_text().splitlines()[1:]]
    assert {kmer: int(number) for kmer, number in lines} == slowly(SEQUENCES, 15)


def test_low_qualities_end_kmers(folder: Path) -> None:
    text = sequence(9, 400, "ACGT")
    quality = "".join("!5?I"[i * i % 4] if i % 11 == 0 else "I" for i in range(len(text)))
    (folder / "r.fq").write_text(f"@a\n{text}\n+\n{quality}\n")
    for least in (0, 1, 20, 21, 30, 31):
        masked = "".join(c if ord(q) >= 33 + least else "N" for c, q in zip(text, quality, strict=True))
        assert counted(folder / "r.fq", 7, min_quality=least) == slowly([masked], 7)


@pytest.mark.parametrize("k", [6, 14])
def test_bounds(folder: Path, k: int) -> None:
    file = folder / "a.fa"
    file.write_text(fasta([sequence(1, 20_000, "AC" * 9 + "GT")]))
    all_of_them = counted(file, k)
    inside = {kmer: number for kmer, number in all_of_them.items() if 3 <= number <= 9}
    assert inside and inside != all_of_them
    counts = kmers.count(file, k, lower=3, upper=9)
    assert dict(counts.items()) == inside
    assert counts.stats()["distinct"] == len(all_of_them)


def test_less_memory_than_bins_need(folder: Path) -> None:
    rng = np.random.default_rng(1)
    letters = np.frombuffer(b"ACGT\n", np.uint8)[rng.integers(0, 4, (400_000, 121), np.uint8)]
    letters[:, -1] = ord("\n")
    file = folder / "a.fa"
    file.write_bytes(b">a\n" + letters.tobytes())
    for memory in (_least_memory(file) + (16 << 20), 0):
        counts = kmers.count(file, 27, canonical=True, memory=memory, folder=folder, threads=2)
        rows = sum(len(numbers) for _, numbers in counts)
        assert counts.stats()["kmers"] == 400_000 * 120 - 26
        assert rows == counts.stats()["distinct"] > 45_000_000
        assert (counts.stats()["spilled_bytes"] > 0) == (memory > 0)
    assert sorted(folder.iterdir()) == [file]


def _least_memory(file: Path) -> int:
    """What the error says that it needs, with two threads."""
    with pytest.raises(hf.InvalidArgument, match="needs") as caught:
        kmers.count(file, 27, memory=1 << 20, threads=2)
    return int(str(caught.value).split("needs ")[1].split()[0]) << 20


def test_progress_and_who_stops_it(folder: Path) -> None:
    file = folder / "a.fa"
    file.write_text(fasta([sequence(1, 3_000_000, "ACGT")]))
    seen: list[tuple[str, int, int]] = []
    counts = kmers.count([file] * 20, 25, progress=lambda *state: seen.append(state))
    assert sum(len(numbers) for _, numbers in counts) > 2_900_000
    assert {stage for stage, _, _ in seen} == {"reading", "counting"}
    assert all(done <= whole for _, done, whole in seen)

    def stop(*_: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        kmers.count([file] * 20, 25, progress=stop)


@pytest.fixture(scope="module")
def genome(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sixteenth of it; HOLDFAST_LONG=1: all (scripts/proof)."""
    plain = tmp_path_factory.mktemp("genome") / "ecoli.fa"
    text = gzip.decompress(ECOLI.read_bytes())
    plain.write_bytes(text if os.environ.get("HOLDFAST_LONG") == "1" else text[: len(text) // 16])
    return plain


@needs_gzip
@pytest.mark.skipif(not ECOLI.exists(), reason=f"{ECOLI} is not here")
@pytest.mark.parametrize(("k", "canonical"), [(4, True), (12, False), (21, True), (31, False), (32, True)])
def test_a_genome_against_peers(genome: Path, folder: Path, k: int, canonical: bool) -> None:
    peers = {"jellyfish": _of_jellyfish, "kmc": _of_kmc}
    there = [count for name, count in peers.items() if shutil.which(name) is not None]
    if not there:
        pytest.skip("neither jellyfish nor kmc is installed")
    words, counts = _sorted(kmers.count(genome, k, canonical=canonical))
    for count in there:
        listing = folder / "theirs.txt"
        count(genome, k, canonical, folder, listing)
        their_words, their_counts = _sorted(kmers.CountFile(listing))
        assert np.array_equal(words, their_words) and np.array_equal(counts, their_counts), count


def _sorted(source: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    batches = list(source)
    words, counts = (np.concatenate([batch[i] for batch in batches]) for i in (0, 1))
    order = np.argsort(words)
    return words[order], counts[order]


def _of_jellyfish(genome: Path, k: int, canonical: bool, folder: Path, listing: Path) -> None:
    strands = ["-C"] if canonical else []
    # By one thread: two take 90 s instead of 2 for k = 12 (jellyfish 2.3.0).
    _run(["jellyfish", "count", *strands, "-m", str(k), "-s", "10M", "-t", "1", "-o", str(folder / "j"), str(genome)])
    _run(["jellyfish", "dump", "-c", "-o", str(listing), str(folder / "j")])


def _of_kmc(genome: Path, k: int, canonical: bool, folder: Path, listing: Path) -> None:
    strands = [] if canonical else ["-b"]
    bounds = ["-ci1", "-cs4294967295", "-cx4294967295"]
    _run(["kmc", *strands, *bounds, f"-k{k}", "-fm", str(genome), str(folder / "kmc"), str(folder)])
    _run(["kmc_tools", "transform", str(folder / "kmc"), "dump", str(listing)])
    listing.write_bytes(listing.read_bytes().replace(b"\t", b" "))


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)
