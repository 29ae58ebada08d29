"""Whole processes: their time on the wall and on processors, and their peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from bench.frame.running import WrongAnswer


@dataclass(frozen=True)
class Ran:
    """What one process took, and said."""

    seconds: float
    cpu_seconds: float
    peak_mib: float
    output: str


def run(command: Sequence[str], *, discard: bool = False) -> Ran:
    """Runs a command to its end; `discard` its output. Raises WrongAnswer where it fails."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL if discard else said, stderr=complained)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        output, errors = _text(said), _text(complained)
    if process.returncode != 0:
        raise WrongAnswer(f"{' '.join(command)} ended with {process.returncode}: {errors.strip()}")
    return Ran(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def holdfast(*arguments: object) -> list[str]:
    """The command line of this interpreter's package."""
    return [sys.executable, "-m", "holdfastdb", "kmer", *map(str, arguments)]
