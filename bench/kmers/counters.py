"""The programs that count k-mers, ours and the peers, and what each says of its count."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.frame import machine
from bench.kmers.processes import Ran, holdfast, run

_MOST = "4294967295"


@dataclass(frozen=True)
class Said:
    """What a program found, to compare."""

    kmers: int
    distinct: int


@dataclass(frozen=True)
class Program:
    """How to call one; all count canonical k-mers with all cores, and write all of them."""

    name: str
    tool: str | None
    """What must be installed."""
    command: Callable[[Path, int, Path], list[str]]
    """Of the input, k, and an empty folder for what it writes."""
    said: Callable[[Ran, Path], Said]


def _cores() -> str:
    return str(machine.cores())


def _ours(*more: str) -> Callable[[Path, int, Path], list[str]]:
    return lambda file, k, folder: holdfast(
        "count", file, "-k", k, "-C", "-t", _cores(), "-o", folder / "out.parquet", "--json", *more
    )


def _we_said(ran: Ran, _: Path) -> Said:
    found = json.loads(ran.output)
    return Said(found["kmers"], found["rows"])


def _jellyfish(file: Path, k: int, folder: Path) -> list[str]:
    # Its table is as large as it needs to be from the start: more than anybody knows before.
    return [
        "jellyfish",
        "count",
        "-C",
        "-m",
        str(k),
        "-s",
        "200M",
        "-t",
        _cores(),
        "-o",
        str(folder / "out"),
        str(file),
    ]


def _jellyfish_said(_: Ran, folder: Path) -> Said:
    text = run(["jellyfish", "stats", str(folder / "out")]).output
    return Said(_number(r"Total:\s+(\d+)", text), _number(r"Distinct:\s+(\d+)", text))


def _kmc(*more: str) -> Callable[[Path, int, Path], list[str]]:
    bounds = ["-ci1", f"-cs{_MOST}", f"-cx{_MOST}"]
    return lambda file, k, folder: [
        "kmc", *more, *bounds, f"-k{k}", f"-t{_cores()}", str(file), str(folder / "out"), str(folder)
    ]  # fmt: skip


def _kmc_said(ran: Ran, _: Path) -> Said:
    distinct = _number(r"unique counted k-mers\s*:\s*(\d+)", ran.output)
    return Said(_number(r"Total no. of k-mers\s*:\s*(\d+)", ran.output), distinct)


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else -1


def ours(memory_mib: float | None = None) -> Program:
    """With as much memory as it takes, or in so much."""
    limited = [] if memory_mib is None else ["--memory", f"{memory_mib:.0f}M"]
    return Program("holdfast" if memory_mib is None else "holdfast_half", None, _ours(*limited), _we_said)


def peers() -> list[Program]:
    """Those that are installed."""
    known = [
        Program("jellyfish", "jellyfish", _jellyfish, _jellyfish_said),
        Program("kmc_memory", "kmc", _kmc("-r"), _kmc_said),
        Program("kmc", "kmc", _kmc(), _kmc_said),
    ]
    return [program for program in known if program.tool and shutil.which(program.tool)]
