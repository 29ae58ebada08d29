"""What cannot be counted is one error with file and line, and nothing stands under the final name."""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from kmer_oracle import fasta, fastq, needs_gzip, sequence

import holdfastdb as hf
from holdfastdb import kmers

GOOD = fastq([sequence(1, 100)] * 3)
ZIPPED = gzip.compress((GOOD * 2000).encode(), 1)

BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", r"line 1: the file is empty"),
    "empty gzip": (gzip.compress(b""), r"line 1: the file is empty"),
    "binary": (bytes(range(256)) * 9, r"line 1: the file begins with byte 0x00"),
    "text": (b"hello\n", r"line 1: the file begins with 'h'"),
    "binary behind a header": (b">a\nACGT\n" + bytes(range(14, 64)), r"line 3: byte 0x0e is no base, at column 1"),
    "gzip cut off": (ZIPPED[: len(ZIPPED) // 2], r"line \d+: the gzip data end too early"),
    "gzip header cut off": (ZIPPED[:5], r"line 1: the gzip data end too early"),
    "gzip and garbage": (ZIPPED + b"garbage", r"line 24001: gzip data are followed by something else"),
    "gzip and garbage behind zeros": (
        ZIPPED + b"\0" * 70_000 + b"x",
        r"line 24001: gzip data are followed by something else",
    ),
    "gzip and gzip behind zeros": (ZIPPED + b"\0" + ZIPPED, r"line 24001: gzip data are followed by something else"),
    "a blank within a line": (b">a\nACGT ACGT\n", r"line 2: byte 0x20 is no base, at column 5"),
    "gzip with an error": (ZIPPED[:300] + b"\xff\x00\xff" + ZIPPED[303:], r"line \d+: "),
    "gzip with another checksum": (ZIPPED[:-8] + b"abcd" + ZIPPED[-4:], r"line \d+: the gzip data .* checksum"),
    "unequal lengths": ((GOOD + "@x\nACGT\n+\nFFF\n").encode(), r"line 16: 3 qualities for 4 bases"),
    "no end": ((GOOD + "@x\nACGT\n").encode(), r"line 15: the FASTQ record ends too early"),
    "sequences of two lines": ((GOOD + "@x\nAC\nGT\n+\nFFFF\n").encode(), r"line 15: the third line"),
    "not a record": ((GOOD + "x\nACGT\n+\nFFFF\n").encode(), r"line 13: a FASTQ record begins with '@'"),
    "two formats": ((fasta(["ACGT"]) + GOOD).encode(), r"line 3: '@' is no base, at column 1"),
}


@pytest.mark.parametrize("case", [pytest.param(case, marks=needs_gzip) if "gzip" in case else case for case in BAD])
def test_files(folder: Path, case: str) -> None:
    data, message = BAD[case]
    file, out = folder / "bad", folder / "out.txt"
    file.write_bytes(data)
    with pytest.raises(hf.InputError, match=rf"^{file}, {message}"):
        kmers.write(kmers.count(file, 21), out)
    assert sorted(folder.iterdir()) == [file]


def test_the_first_of_several_errors_is_told(folder: Path) -> None:
    """However the threads share the blocks."""
    file = folder / "bad.fq"
    file.write_text(GOOD * 10_000 + "x\n" * 4 + GOOD * 2 + "x\n" * 4_000_000)
    for _ in range(5):
        with pytest.raises(hf.InputError, match=rf"^{file}, line 120001: "):
            kmers.count(file, 21, threads=4)


@needs_gzip
def test_an_error_in_text_comes_before_the_end_of_gzip_that_is_cut_off(folder: Path) -> None:
    """The end is found while text before it waits for a thread."""
    file = folder / "bad.fq.gz"
    text = GOOD * 2900 + "x\n" * 4 + GOOD * 800  # the error is in the second MiB, and the end in the third
    assert 1 << 20 < len(GOOD) * 2900 < 2 << 20 < len(text) < 3 << 20
    file.write_bytes(gzip.compress(text.encode(), 1)[:-8])
    for _ in range(20):
        with pytest.raises(hf.InputError, match=rf"^{file}, line 34801: a FASTQ record begins with '@'"):
            kmers.count(file, 21, threads=2)


@needs_gzip
def test_gzip_cut_off_anywhere(folder: Path) -> None:
    file = folder / "cut.fq.gz"
    whole = gzip.compress(GOOD.encode()) + gzip.compress(GOOD.encode())
    second = len(whole) // 2
    for size in [
        *range(1, 30),
        *range(second - 12, second),
        *range(second + 1, second + 30),
        *range(len(whole) - 12, len(whole)),
    ]:
        file.write_bytes(whole[:size])
        with pytest.raises(hf.InputError, match=rf"^{file}, line \d+: "):
            kmers.count(file, 21, threads=1)
    file.write_bytes(whole[:second])
    assert kmers.count(file, 21).stats()["records"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 3}, "k is 3: give 4 to 32"),
        ({"k": 33}, "k is 33: give 4 to 32"),
        ({"min_quality": 94}, "quality is 94"),
        ({"threads": -1}, "threads is -1"),
        ({"lower": 5, "upper": 4}, "lower bound"),
        ({"memory": 1 << 20}, "needs"),
        ({"memory": 1 << 60}, "of which the system has"),
        ({"memory": 1 << 64}, "memory is 18446744073709551616: give 0 to"),
        ({"upper": -1}, "upper is -1: give 0 to"),
        ({"threads": 1 << 32}, "threads is 4294967296: give 0 to"),
        ({"k": 12, "memory": 1 << 30, "threads": 20}, "needs"),
    ],
)
def test_options(folder: Path, options: dict[str, int], message: str) -> None:
    (folder / "a.fa").write_text(">a\nACGT\n")
    with pytest.raises(hf.InvalidArgument, match=message):
        kmers.count(folder / "a.fa", **options)  # type: ignore[arg-type]


def test_names(folder: Path) -> None:
    (folder / "a.fa").write_text(">a\nACGT\n")
    with pytest.raises(hf.InputError, match="cannot be opened: No such file"):
        kmers.count([folder / "a.fa", folder / "none.fa"])
    with pytest.raises(hf.InputError, match="Is a directory"):
        kmers.count(folder)
    with pytest.raises(hf.InvalidArgument, match="no file to count"):
        kmers.count([])
    for name, error in (("out.csv", hf.InvalidArgument), ("no/out.txt", hf.InvalidArgument), ("a.txt", hf.PoolExists)):
        (folder / "a.txt").touch()
        with pytest.raises(error):
            kmers.write(kmers.count(folder / "a.fa", 4), folder / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_said_first(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o500)
    done = _run("count", folder / "none.fa", "-o", closed / "out.txt")
    assert done.returncode == 2 and f"{closed} cannot be written" in done.stderr


def test_what_is_replaced(folder: Path) -> None:
    file, text, pool = folder / "a.fa", folder / "out.txt", folder / "out.hold"
    file.write_text(">a\nACGT\n")
    for _ in range(2):
        kmers.write(kmers.count(file, 4), text, overwrite=True)
    kmers.write(kmers.count(file, 4), pool, overwrite=True)
    for target in (text, pool):
        before = target.read_bytes()
        with pytest.raises(hf.PoolExists, match=str(target)):
            kmers.write(kmers.count(file, 5), target, overwrite=target == pool)
        assert target.read_bytes() == before
    assert sorted(folder.iterdir()) == [file, pool, text]


def _run(*arguments: object, prepare: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "holdfastdb", "kmer", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=prepare)


@pytest.mark.parametrize("ending", ["txt", "parquet", "hold"])
def test_a_file_that_finds_no_space(folder: Path, ending: str) -> None:
    """A limit on the size of files fails like a full disk."""
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    file, out = folder / "a.fa", folder / f"out.{ending}"
    file.write_text(fasta([sequence(1, 900_000)]))

    def limit() -> None:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = _run("count", file, "-o", out, prepare=limit)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("holdfast: ") and done.stderr.count("\n") == 1, done.stderr
    assert sorted(folder.iterdir()) == [file]


def test_memory_that_is_not_there(folder: Path) -> None:
    file = folder / "a.fa"
    file.write_text(fasta([sequence(1, 16_000_000, "ACGT")]))  # bins of 16 MiB and more

    script = (
        "import holdfastdb as hf\nfrom holdfastdb import kmers\nimport resource\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20), used + (16 << 20)))\n"
        f"try: list(kmers.count({str(file)!r}, 31, threads=1))\n"
        "except (hf.NoSpace, hf.SystemError) as error: print(type(error).__name__)\n"
        "else: print('nothing')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() in ("NoSpace", "SystemError"), done.stdout + done.stderr


@pytest.mark.parametrize("spare", [1, 4, 8, 12, 16, 20, 24])
def test_the_command_says_one_line_where_there_is_no_memory(folder: Path, spare: int) -> None:
    """Whether the library, Python or NumPy asks for it: `spare` is in MiB."""
    file, out = folder / "a.fa", folder / "out.txt"
    file.write_text(fasta([sequence(1, 4_000_000, "ACGT")]))
    (folder / "small.fa").write_text(">a\n" + "ACGT" * 20)
    script = f"""if True:
        import resource, sys
        from holdfastdb.cli import main
        def count(file):
            sys.argv[1:] = ["kmer", "count", file, "-k", "31", "--threads", "1", "-o", {str(out)!r}, "--overwrite"]
            try: main()
            except SystemExit as exit: return exit.code
        count({str(folder / "small.fa")!r})  # imports what is needed
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + ({spare} << 20),) * 2)
        sys.exit(count({str(file)!r}))
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("holdfast: ") and "memory" in done.stderr
    assert out.read_text().count("\n") == 5  # as it was: a header, and of "ACGT" * 20 so many different k-mers


def test_the_command_says_one_line(folder: Path) -> None:
    file = folder / "bad.fq"
    file.write_text(GOOD + "x\n")
    done = _run("count", file, "-o", folder / "out.txt")
    assert done.returncode == 2
    assert done.stderr == f"holdfast: {file}, line 13: a FASTQ record begins with '@', and this line with 'x'\n"
    assert os.listdir(folder) == ["bad.fq"]  # noqa: PTH208
