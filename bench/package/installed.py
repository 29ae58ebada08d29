"""What an installed package has, and what an import of it takes beyond NumPy's own."""

import importlib.metadata
import subprocess
import sys
import tempfile
from pathlib import Path

NAME = "holdfastdb"

_IMPORT = """
import time
import numpy
begun = time.perf_counter(), time.process_time()
import holdfastdb
print(time.perf_counter() - begun[0], time.process_time() - begun[1])
"""


def files() -> dict[str, Path]:
    """What its wheel brought, by the names in its record. Raises PackageNotFoundError where it is not installed."""
    listed = importlib.metadata.distribution(NAME).files or []
    return {str(one): Path(str(one.locate())) for one in listed if one.suffix != ".pyc"}


def shipped_bytes(path: Path) -> int:
    """Of a file; of a compiled module without what a debugger reads, which a build with assertions keeps."""
    if path.suffix != ".so":
        return path.stat().st_size
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.run(["strip", "-o", stripped.name, str(path)], check=True)
        return Path(stripped.name).stat().st_size


def import_ms(repetitions: int) -> tuple[list[float], list[float]]:
    """Of processes of their own, after NumPy: on the clock, and of the processor. The first reads the files; it is left
    out."""
    times = []
    for _ in range(repetitions + 1):
        done = subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True)
        times.append([1e3 * float(word) for word in done.stdout.split()])
    return [one[0] for one in times[1:]], [one[1] for one in times[1:]]
