"""What a result was measured on: the machine's name, processor, memory and GPU, and the commit."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
"""The checkout that this lies in."""

_LOAD_BEFORE = os.getloadavg()[0]
"""Of the last minute before this program began: what else had work for the processors."""


def _cpu(what: str) -> str | None:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.partition(":")[0].strip() == what:
            return line.partition(":")[2].strip()
    return None


def _cpu_model() -> str:
    return _cpu("model name") or platform.processor() or "unknown"


def _gpu() -> str | None:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    asked = [tool, "--query-gpu=name", "--format=csv,noheader"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    names = answer.stdout.strip().splitlines()
    return names[0] if answer.returncode == 0 and names else None


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0))


def name() -> str:
    """What a result calls this machine: HOLDFAST_MACHINE, or e.g. `amd-epyc-2c`, `h200`."""
    chosen = os.environ.get("HOLDFAST_MACHINE")
    if chosen:
        return _slug(chosen)
    gpu = _gpu()
    if gpu is not None:
        return _slug(gpu.removeprefix("NVIDIA "))
    model = re.sub(r"\((R|TM)\)|CPU|Processor|@.*", " ", _cpu_model())
    return f"{_slug(model)}-{cores()}c"


def folder() -> str:
    """The folder of this machine's results. Committed are those of a machine with a GPU and of one with two cores,
    whichever processor it has; another machine's own name keeps its results apart."""
    return "gpu" if _gpu() is not None else "two-core" if cores() == 2 else name()


def describe() -> dict[str, Any]:
    """This machine, as a result file carries it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    huge = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
    return {
        "name": name(),
        "cpu": _cpu_model(),
        "cpu_kind": [_cpu(what) for what in ("cpu family", "model", "stepping")],  # several kinds have one name
        "cores": cores(),
        "load_average_before": round(_LOAD_BEFORE, 1),
        "memory_gib": round(memory / 2**30, 1),
        "kernel": platform.release(),
        "gpu": _gpu(),
        "shmem_huge_pages": _chosen(huge.read_text(encoding="utf-8")) if huge.exists() else None,
    }


def _chosen(options: str) -> str:
    found = re.search(r"\[(\w+)\]", options)
    return found.group(1) if found else options.strip()


def commit() -> tuple[str, bool]:
    """The checkout's commit, and whether it has uncommitted changes to anything but results and plots.

    Where there is no git (a copy on another machine), HOLDFAST_COMMIT names it, with `+` after it where it was changed.
    """
    given = os.environ.get("HOLDFAST_COMMIT")
    if given:
        return given.removesuffix("+"), given.endswith("+")
    folder = str(ROOT)
    head = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    if head.returncode != 0:
        return "unknown", True
    asked = ["git", "-C", folder, "status", "--porcelain", "--", ".", ":!bench/results", ":!docs"]
    state = subprocess.run(asked, capture_output=True, text=True, check=False)
    return head.stdout.strip(), bool(state.stdout.strip())
