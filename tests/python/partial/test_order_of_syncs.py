"""Each file is on its device before it has its name, and the name before the call returns, for every writer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def recorded(tmp_path: Path) -> list[list[str]]:
    """The lines of order.c for ordered_writers.py."""
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("there is no C compiler")
    library, log, folder = tmp_path / "order.so", tmp_path / "log", tmp_path / "in"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", HERE / "order.c", "-o", library, "-ldl"], check=True)
    folder.mkdir()
    environment = {**os.environ, "LD_PRELOAD": str(library), "ORDER_LOG": str(log)}
    done = subprocess.run(
        [sys.executable, HERE / "ordered_writers.py", folder],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [line.split(" ", 2) for line in log.read_text().splitlines()]


def faults(lines: list[list[str]], folder_inode: dict[str, str]) -> list[str]:
    """What was named before it was on its device, or was not on it, with its name, when the call returned."""
    dirty: dict[str, bool] = {}
    unsynced_names: dict[str, str] = {}
    found, named = [], set()
    for what, subject, *rest in lines:
        if what == "W":
            dirty[subject] = True
        elif what == "S":
            dirty[subject] = False
            unsynced_names = {path: inode for path, inode in unsynced_names.items() if inode != subject}
        elif what == "R":
            path = rest[0]
            if dirty.get(subject, True) and ".resume" not in path:
                found.append(f"{path} was named before it was on its device")
            unsynced_names[path] = folder_inode[str(Path(path).parent)]
            named.add(path)
        else:
            if subject not in named:
                found.append(f"{subject} was given no name")
            if subject in unsynced_names:
                found.append(f"the name of {subject} was not on its device when the call returned")
            named.discard(subject)
    return found


def test_every_file_is_on_its_device_before_its_name(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    lines = recorded(tmp_path)
    folders = {str(path): str(path.stat().st_ino) for path in (tmp_path / "in", tmp_path / "in" / "elsewhere")}
    assert sum(line[0] == "M" for line in lines) == 19
    assert faults(lines, folders) == []


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("W 1;R 1 /f/a;S 9;M /f/a", "was named before"),
        ("W 1;S 1;W 1;R 1 /f/a;S 9;M /f/a", "was named before"),
        ("W 1;S 1;S 9;R 1 /f/a;M /f/a", "was not on its device"),
        ("W 1;S 1;M /f/a", "was given no name"),
    ],
)
def test_faults_are_seen(lines: str, fault: str) -> None:
    (found,) = faults([line.split(" ", 2) for line in lines.split(";")], {"/f": "9"})
    assert fault in found
