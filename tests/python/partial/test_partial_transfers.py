"""A system that takes a part of every write, and gives a part of every read: no byte of any file is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import writers


def test_every_file_comes_whole_however_little_the_system_transfers(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("there is no C compiler")
    here, library, counts, folder = Path(__file__).parent, tmp_path / "partial.so", tmp_path / "counts", tmp_path / "in"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", here / "partial.c", "-o", library, "-ldl"], check=True)
    folder.mkdir()
    environment = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "PARTIAL_IN": str(folder),
        "PARTIAL_COUNTS": str(counts),
    }
    done = subprocess.run(
        [sys.executable, here / "writers.py", folder], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    reads, writes = map(int, counts.read_text().split())
    assert reads > 100 and writes > 100
    writers.read(folder)  # with a system that transfers what it is asked to
