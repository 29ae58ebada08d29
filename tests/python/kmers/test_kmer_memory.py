"""Counts into a pool within `memory`: the pages of the pool are part of it, and what does not fit is refused."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import holdfastdb as hf
from holdfastdb import kmers
from holdfastdb.kmers.pool_memory import bytes_of, slots_for

K = 25
LETTERS = 2_000_000  # a pool of 80 MiB
SCRIPT = """if True:
    import sys
    import holdfastdb as hf
    from holdfastdb import kmers
    file, out, mib = sys.argv[1], sys.argv[2], int(sys.argv[3])
    try:
        counts = kmers.count(file, 25, memory=mib << 20, threads=1, folder="/var/tmp", out=out)
        print(kmers.write(counts, out))
    except hf.InvalidArgument as error:
        print(error)
    print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.fixture(scope="module")
def genome(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("genome") / "a.fa"
    file.write_bytes(
        b">a\n" + np.frombuffer(b"ACGT", np.uint8)[np.random.default_rng(3).integers(0, 4, LETTERS)].tobytes()
    )
    return file


def needed(said: str) -> int:
    """MiB, as the error says it."""
    found = re.search(r"needs ([\d,]+) with ", said)
    assert found is not None, said
    return int(found[1].replace(",", ""))


def count(file: Path, out: Path, mib: int) -> tuple[str, int]:
    """What a process said that may take so much, and the most that was resident in it, in MiB."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, file, out, str(mib)], capture_output=True, text=True)
    said, peak = re.fullmatch(r"(.*)\nVmHWM:\s*(\d+) kB\n\n", done.stdout).groups()
    return said, int(peak) >> 10


@pytest.mark.parametrize("medium", ["disk", "shm"])
def test_the_pages_of_a_pool_are_part_of_the_memory(genome: Path, tmp_path: Path, folder: Path, medium: str) -> None:
    out = (tmp_path if medium == "disk" else folder) / "out.hold"
    mib = needed(count(genome, out, 1)[0]) + 30  # what any count needs, and a part of this pool
    said, peak = count(genome, out, mib)
    rows = LETTERS - K + 1
    assert f"a pool of {rows:,} k-mers: give" in said
    assert peak <= mib and not out.exists()
    least = needed(said)
    said, peak = count(genome, out, least)
    assert (said, kmers.CountFile(out).k) == (str(rows), K)
    assert peak <= least, "RssAnon, RssFile and RssShmem together"


def test_no_pool_is_larger_than_its_estimate(folder: Path) -> None:
    """Of the largest number of k-mers before the table grows again."""
    for rows in (50_000, 700_000):
        out = folder / f"{rows}.hold"
        with hf.Table.open(out, create=True, key=8, value=8, device="cpu") as table:
            first = table.stats()["slots"]
            most = int(slots_for(rows, first) * 0.9)
            table.insert(np.arange(most, dtype=np.uint64), np.arange(most, dtype=np.uint64))
            slots = table.stats()["slots"]
        assert slots == slots_for(rows, first)
        assert out.stat().st_size <= bytes_of(slots)


def test_without_a_pool_all_memory_is_the_count_s(folder: Path) -> None:
    (folder / "a.fa").write_text(">a\n" + "ACGT" * 20)
    own = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    whole = own + (1 << 30)
    for out, less in ((None, False), ("a.txt", False), ("a.hold", True)):
        counts = kmers.count(folder / "a.fa", 21, memory=whole, threads=1, out=out)
        assert (counts.stats()["memory"] < whole - (512 << 20)) == less
        assert (counts.pool_memory is not None) == less
    assert kmers.count(folder / "a.fa", 21, threads=1, out="a.hold").pool_memory is None
    with pytest.raises(hf.InvalidArgument, match=r"a\.bam has no known extension"):
        kmers.count(folder / "a.fa", 21, out="a.bam")
