"""The commands on k-mers: kmer count, histo, dump, query."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .. import kmers
from ..errors import InvalidArgument
from ..kmers.outputs import check_target, text_of
from ..messages import shown
from ..schema.columns import is_plain
from .command import NUMBER, number
from .output import AsJson, emit, plural, progress

app = typer.Typer(help="Count the k-mers of FASTA and FASTQ files.", no_args_is_help=True)

CountsPath = Annotated[Path, typer.Argument(metavar="COUNTS", help="What count wrote: .parquet, .hold or .txt.")]
Lower = Annotated[
    int, typer.Option("-L", "--lower", parser=number(), metavar=NUMBER, help="Leave out k-mers with smaller counts.")
]
Upper = Annotated[
    int | None,
    typer.Option("-U", "--upper", parser=number(), metavar=NUMBER, help="Leave out k-mers with larger counts."),
]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_STEPS = 1000
_MOST_WARNINGS = 10  # files


def _bytes(text: str) -> int:
    """4G, 512M, or a number of bytes."""
    cleaned = text.strip().upper().removesuffix("B").removesuffix("I")
    digits = cleaned.rstrip("KMGT")
    try:
        if not is_plain(digits):
            raise ValueError
        return int(float(digits) * _UNITS[cleaned[len(digits) :]])
    except (KeyError, ValueError, OverflowError):
        raise InvalidArgument(f"--memory is {shown(text)}: give a number of bytes, as in 4G or 512M") from None


def _stages(done: Any) -> Callable[[str, int, int], None]:
    """Both stages in one bar, each a half; what has no known end stands still."""

    def show(stage: str, part: int, whole: int) -> None:
        first = 0 if stage == "reading" else _STEPS
        done(first + (min(part, whole) * _STEPS // whole if whole else 0), 2 * _STEPS)

    return show


def _warn_of_none(stats: dict[str, Any], k: int) -> None:
    """Says what was read and has no k-mer: its lines may be cut too short, or be of another kind."""
    for file in stats["files_without_kmers"][:_MOST_WARNINGS]:
        typer.echo(f"holdfast: {file} has no k-mer: no {k} bases without a gap", err=True)
    if (bare := stats["records_without_kmers"]) != 0:
        what = plural(stats["records"], "record")
        typer.echo(f"holdfast: {bare:,} of {what} {'has' if bare == 1 else 'have'} no k-mer of {k} bases", err=True)


@app.command("count")
def count(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="FASTA or FASTQ, plain or gzip; - is standard input.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="OUT.parquet, OUT.hold (a pool) or OUT.txt.")],
    k: Annotated[int, typer.Option("-k", parser=number(), metavar=NUMBER, help="Bases of a k-mer, 4 to 32.")] = 31,
    canonical: Annotated[
        bool, typer.Option("-C", "--canonical", help="A k-mer and its reverse complement are one.")
    ] = False,
    min_quality: Annotated[
        int,
        typer.Option(
            parser=number(0, 93), metavar=NUMBER, help="Bases of FASTQ with a lower Phred quality end a k-mer."
        ),
    ] = 0,
    lower: Lower = 1,
    upper: Upper = None,
    threads: Annotated[
        int, typer.Option("-t", "--threads", parser=number(0), metavar=NUMBER, help="0: all processors.")
    ] = 0,
    memory: Annotated[
        str | None,
        typer.Option(
            help="What the process may take, a pool's pages included, as in 4G; default: 3/4 of what is free."
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="For what memory does not hold; default: that of OUT.", file_okay=False)
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Count the k-mers of files. OUT has its name when it is whole."""
    check_target(out, overwrite)
    begun = time.perf_counter()
    with progress("counting k-mers", 2 * _STEPS) as done:
        counts = kmers.count(
            files, k, canonical=canonical, min_quality=min_quality, lower=lower, upper=upper, threads=threads,
            memory=_bytes(memory) if memory is not None else 0, folder=folder or out.parent, out=out,
            progress=_stages(done),
        )  # fmt: skip
        rows = kmers.write(counts, out, overwrite=overwrite)
    stats, seconds = counts.stats(), time.perf_counter() - begun
    _warn_of_none(stats, k)
    data = {"out": str(out), "k": k, "canonical": canonical, "rows": rows, "seconds": seconds, **stats}
    left = f", {plural(stats['distinct'] - rows, 'k-mer')} left out" if rows != stats["distinct"] else ""
    text = f"{out}: {plural(rows, 'k-mer')} of {plural(stats['kmers'], 'occurrence')}{left}, "
    emit(as_json, data, f"{text}from {plural(stats['records'], 'record')} in {seconds:.2f} s")


@app.command("histo")
def histo(
    counts: CountsPath,
    high: Annotated[
        int, typer.Option(parser=number(1), metavar=NUMBER, help="What occurs more often is one line behind this.")
    ] = 10_000,
) -> None:
    """Print how many k-mers occur once, twice, …: what GenomeScope reads."""
    numbers = kmers.histogram(counts, high)
    for n in np.flatnonzero(numbers):
        typer.echo(f"{n} {numbers[n]}")


@app.command("dump")
def dump(counts: CountsPath, lower: Lower = 1, upper: Upper = None) -> None:
    """Print each k-mer with its count, as `jellyfish dump -c` does."""
    file = kmers.CountFile(counts)
    for words, numbers in file:
        kept = numbers >= lower if upper is None else (numbers >= lower) & (numbers <= upper)
        sys.stdout.buffer.write(text_of(words[kept], numbers[kept], file.k))
    sys.stdout.buffer.flush()


@app.command("query")
def query(
    counts: CountsPath,
    wanted: Annotated[list[str], typer.Argument(metavar="KMER...", help="Of a canonical count, of either strand.")],
    canonical: Annotated[
        bool | None, typer.Option("--canonical/--no-canonical", help="Of text that another program wrote: what it has.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the counts of k-mers. Exit status 1 if one is not there."""
    found = kmers.find(counts, [text.upper() for text in wanted], canonical=canonical).tolist()
    text = "\n".join(f"{kmer} {number}" for kmer, number in zip(wanted, found, strict=True))
    emit(as_json, dict(zip(wanted, found, strict=True)), text)
    if 0 in found:
        raise typer.Exit(1)
