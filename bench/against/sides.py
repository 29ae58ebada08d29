"""The two sides of a comparison: the source of each and its build, both with the same options."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "against"
PACKED = FOLDER / "baseline.tar.gz"
"""The baseline's source for a machine without the history: `scripts/against-baseline pack` makes it."""

UNNEEDED = (":!bench/results", ":!docs", ":!tests", ":!examples")


class Failed(Exception):
    """A side cannot be had; the message says why."""


def baseline() -> str:
    """The commit that bench/baseline names."""
    return (ROOT / "bench" / "baseline").read_text(encoding="utf-8").strip()


def git(*words: str) -> str:
    """What git prints. Raises Failed."""
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def pack(commit: str, to: Path = PACKED) -> Path:
    """Packs the source of a commit, without what a build does not read."""
    whole = git("rev-parse", "--verify", f"{commit}^{{commit}}")
    to.parent.mkdir(parents=True, exist_ok=True)
    git("archive", "--format=tar.gz", f"--prefix={whole}/", "-o", str(to), whole, "--", ".", *UNNEEDED)
    return to


def source_of(commit: str) -> Path:
    """The source of a commit in a folder of its own: from the history, or from what was packed."""
    folder = FOLDER / "source"
    known = [path for path in folder.glob(f"{commit}*") if (path / "CMakeLists.txt").exists()]
    if known:
        return known[0]
    try:
        packed = pack(commit, FOLDER / "side.tar.gz")
    except Failed as failed:
        if not PACKED.exists():
            raise Failed(f"{failed}; where there is no history, take {PACKED} along, which `pack` makes") from None
        packed = PACKED
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    known = list(folder.glob(f"{commit}*"))
    if not known:
        raise Failed(f"{packed} holds another commit than {commit}: pack it again")
    return known[0]


@dataclass(frozen=True)
class Side:
    """A built tree."""

    name: str
    source: Path
    build: Path

    @property
    def package(self) -> str:
        """What its Python package is called."""
        names = ("holdfastdb", "holdfast")
        return next(name for name in names if (self.source / "python" / name / "__init__.py").exists())

    @property
    def benchmarks(self) -> str:
        """The module that runs its benchmarks, from the folder of its source; older commits have it in the package."""
        return "bench" if (self.source / "bench" / "__main__.py").exists() else f"{self.package}.bench"

    def binaries(self, device: str) -> list[Path]:
        """What is measured."""
        if device == "cuda":
            return [self.build / "holdfast-link-bench"]
        python = self.build / "python"
        return sorted([*(python / self.package).glob("_*.so"), *python.glob("_*.so")])

    def identity(self, device: str) -> str:
        """12 hexadecimal digits of what is measured."""
        whole = hashlib.sha256()
        for path in self.binaries(device):
            whole.update(path.read_bytes())
        return whole.hexdigest()[:12]


def tools_first() -> dict[str, str]:
    """The environment with the tools beside this Python first, so that one build takes the same ones in each call."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def built(name: str, source: Path, device: str, jobs: int) -> Side:
    """Configures and builds a side as it ships. Raises Failed."""
    side = Side(name, source, FOLDER / f"{name}-{device}")
    options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DHOLDFAST_TESTS=OFF", "-DHOLDFAST_EXAMPLES=OFF",
               "-DHOLDFAST_BENCH=ON", "-DHOLDFAST_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}",
               f"-DGPU={'ON' if device == 'cuda' else 'OFF'}"]  # fmt: skip
    if device == "cuda":
        options.append(f"-DCMAKE_CUDA_ARCHITECTURES={os.environ.get('ARCH', 'native')}")
    # On a GPU the benchmark is a program; it needs no Python.
    targets = ["holdfast-link-bench"] if device == "cuda" else ["_native", "_native_stub", "_bench", "_bench_stub"]
    configured = side.build / "CMakeCache.txt"
    if configured.exists() and f"{source}\n" not in configured.read_text(encoding="utf-8"):
        shutil.rmtree(side.build)
    for command in (["cmake", "-S", str(source), "-B", str(side.build), *options],
                    ["cmake", "--build", str(side.build), "--parallel", str(jobs), "--target", *targets]):  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=tools_first())
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}\n{(done.stdout + done.stderr)[-4000:]}")
    return side
