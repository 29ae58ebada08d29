"""The studies of k-mer counting: whole programs beside each other, gzip, and counting by k and by threads."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.frame import machine, options
from bench.frame.results import Json
from bench.frame.running import Progress, WrongAnswer, running
from bench.frame.timing import spread
from bench.kmers import counters, series, tables
from bench.kmers.generate import Reads, write_fasta, write_fastq
from bench.kmers.processes import Ran, holdfast, run

LAYERS = ("src/kmers",)
ECOLI = Path("/work/shared/data/ecoli_k12.fna.gz")
_QUICK = 50_000  # bases of a genome


def _least_mib() -> int:
    """Less than this no count takes, however small: each thread has buffers of its own."""
    return 280 + 20 * machine.cores()


Genome = Annotated[int, typer.Option(parser=options.count, metavar="N", help="Bases of the generated genome.")]
Where = Annotated[Path | None, typer.Option("--dir", help="Folder on disk, for input and output; default: /tmp.")]


@contextmanager
def _folder(where: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="holdfast-kmers-", dir=where or Path("/tmp")) as folder:
        yield Path(folder)


def _once(program: counters.Program, file: Path, k: int, folder: Path) -> tuple[Ran, counters.Said]:
    """One run, whose files are removed."""
    work = folder / "work"
    work.mkdir()
    try:
        ran = run(program.command(file, k, work))
        return ran, program.said(ran, work)
    finally:
        shutil.rmtree(work)


def _read_once(file: Path) -> None:
    """So that all programs find it in the system's cache."""
    with file.open("rb") as data:
        while data.read(1 << 24):
            pass


def compare(file: Path, k: int, repeat: int, folder: Path, progress: Progress) -> Json:
    """Rounds of all programs, one after the other. Raises WrongAnswer where their counts differ."""
    progress("a first count, for its peak of memory")
    _read_once(file)
    first, found = _once(counters.ours(), file, k, folder)
    half = max(first.peak_mib / 2, _least_mib())
    programs = [counters.ours(), counters.ours(half), *counters.peers()]
    runs: dict[str, list[Ran]] = {program.name: [] for program in programs}
    for at in range(repeat):
        for program in programs:
            progress(f"round {at + 1} of {repeat}: {program.name}")
            _read_once(file)
            ran, said = _once(program, file, k, folder)
            if said != found:
                raise WrongAnswer(f"{program.name} counted {said}, and holdfast {found}")
            runs[program.name].append(ran)
    return {"kmers": found.kmers, "distinct": found.distinct, **_figures(runs, found.distinct, half)}


def _figures(runs: Mapping[str, list[Ran]], distinct: int, half_mib: float) -> Json:
    ours = runs["holdfast"]
    figures: Json = {
        name: {
            "seconds": spread(ran.seconds for ran in rans),
            "cpu_seconds": spread(ran.cpu_seconds for ran in rans),
            "peak_mib": spread(ran.peak_mib for ran in rans),
            "peak_bytes_a_kmer": spread(ran.peak_mib * 2**20 / distinct for ran in rans),
            "over_holdfast": spread(theirs.seconds / us.seconds for theirs, us in zip(rans, ours, strict=True)),
        }
        for name, rans in runs.items()
    }
    for name in ("holdfast", "holdfast_half"):
        said = [json.loads(ran.output) for ran in runs[name]]
        figures[name]["stages"] = {stage: spread(one[stage] for one in said) for stage in tables.STAGES}
    half = runs["holdfast_half"]
    figures["half_memory"] = {
        "given_mib": half_mib,
        "peak_over_given": spread(ran.peak_mib / half_mib for ran in half),
        "of_speed": spread(us.seconds / less.seconds for us, less in zip(ours, half, strict=True)),
    }
    return figures


def kmers(
    genome: Genome = 50_000_000,
    k: int = 31,
    repeat: options.Repetitions = 3,
    where: Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """Whole processes that count the k-mers of reads, 40-fold: ours, jellyfish and kmc, with their peaks of memory."""
    genome, repeat = (_QUICK, 1) if quick else (genome, repeat)
    reads = Reads(genome=genome)
    with running(json_file) as (console, progress), _folder(where) as folder:
        progress("generating reads")
        file = folder / "reads.fq"
        write_fastq(reads, file)
        got = compare(file, k, repeat, folder, progress)
        for name, figures in got.items():
            if isinstance(figures, dict) and "seconds" in figures:
                console.print(
                    f"{name:>14}: {figures['seconds']['median']:8.2f} s, "
                    f"{figures['peak_bytes_a_kmer']['median']:6.1f} bytes a k-mer, "
                    f"{figures['over_holdfast']['median']:6.2f} times holdfast"
                )
        parameters = {"genome": genome, "fold": reads.fold, "length": reads.length, "errors": reads.errors, "k": k,
                      "fastq_bytes": file.stat().st_size, "repetitions": repeat}  # fmt: skip
        options.finish(console, "kmers", parameters, got, json_file, save, LAYERS)


def kmers_gzip(
    genome: Genome = 4_000_000,
    k: int = 31,
    repeat: options.Repetitions = 15,
    where: Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """Reading gzip: inflated bytes a second, of what one thread of ISA-L does alone (its program igzip)."""
    genome, repeat = (_QUICK, 1) if quick else (genome, repeat)
    with running(json_file) as (console, progress), _folder(where) as folder:
        if shutil.which("igzip") is None:
            raise WrongAnswer("igzip is not installed (Debian: isal)")
        progress("generating reads")
        file = folder / "reads.fq.gz"
        write_fastq(Reads(genome=genome), file)
        alone, reading, inflating = [], [], []
        for at in range(repeat):
            progress(f"round {at + 1} of {repeat}")
            _read_once(file)
            library = run(["igzip", "-dc", str(file)], discard=True)
            out = folder / "out.parquet"
            found = json.loads(run(holdfast("count", file, "-k", k, "-C", "-o", out, "--json", "--overwrite")).output)
            megabytes = found["text_bytes"] / 1e6
            alone.append(megabytes / library.seconds)
            reading.append(megabytes / found["read_seconds"])
            inflating.append(megabytes / found["inflating"])
        got = {
            "library_mb_s": spread(alone),
            "reading_mb_s": spread(reading),
            "inflating_mb_s": spread(inflating),
            "reading_of_library": spread(ours / theirs for ours, theirs in zip(reading, alone, strict=True)),
            "inflating_of_library": spread(ours / theirs for ours, theirs in zip(inflating, alone, strict=True)),
        }
        for name, figures in got.items():
            console.print(f"{name:>20}: {figures['median']:.2f}")
        parameters = {"genome": genome, "k": k, "gzip_bytes": file.stat().st_size, "repetitions": repeat}
        options.finish(console, "kmers-gzip", parameters, got, json_file, save, LAYERS)


def kmers_series(
    genome: Genome = 20_000_000,
    ecoli: Annotated[Path, typer.Option(help="Of E. coli, FASTA; left out if it is not there.")] = ECOLI,
    repeat: options.Repetitions = 3,
    where: Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """Counting by k and by threads, with where the time goes, and beside it sums straight on a MemoryTable (Figure 12).
    The paper's two genomes, and CHTKC, are not to be had."""
    genome, repeat = (_QUICK, 1) if quick else (genome, repeat)
    with running(json_file) as (console, progress), _folder(where) as folder:
        files = {"ecoli": ecoli} if ecoli.exists() else {}
        progress("generating a genome")
        files["generated"] = folder / "genome.fa"
        write_fasta(Reads(genome=genome), files["generated"])
        ks = (4, 16, 32) if quick else (4, 8, 12, 13, 16, 20, 24, 28, 32)
        threads = sorted({1, machine.cores()})
        runs = [
            series.measure(name, file, k, n, repeat, progress)
            for name, file in files.items()
            for k in ks
            for n in threads
        ]
        for one in runs:
            console.print(
                f"{one['genome']:>10} k {one['k']:2} threads {one['threads']}: {one['mkmers_s']['median']:8.1f} M/s, "
                f"on the table {one['table_mkmers_s']['median']:8.1f} M/s"
            )
        parameters = {"genome": genome, "repetitions": repeat}
        options.finish(
            console, "kmers-series", parameters, {"runs": runs}, json_file, save, (*LAYERS, "src/structures")
        )


COMMANDS: dict[str, Callable[..., None]] = {
    "kmers": kmers,
    "kmers-gzip": kmers_gzip,
    "kmers-series": kmers_series,
}
# `kmers` and `kmers-series` take half an hour and more beside jellyfish: by their own commands.
SUITE: list[tuple[str, Mapping[str, Any]]] = [("kmers-gzip", {})] if shutil.which("igzip") else []
