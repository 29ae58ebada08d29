"""A GPU that a process can use no more: the table says so, and the pool keeps all that it acknowledged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import GPUS, PATIENCE_S, WHY_NO_GPU

import holdfastdb as hf

pytestmark = pytest.mark.skipif(GPUS == 0, reason=f"no GPU: {WHY_NO_GPU}")
N = 50_000

BREAKS_THE_GPU = """
import sys
import cupy, numpy as np
import holdfastdb as hf

path, n = sys.argv[1], int(sys.argv[2])
table = hf.Table.create(path, value=16, device="cuda", capacity=2 * n)
keys = np.arange(n)
table.insert(keys, np.stack([keys, 3 * keys], 1))
crash = cupy.RawKernel("extern \\"C\\" __global__ void crash() { *(volatile int*)8 = 1; }", "crash")
crash((1,), (1,), ())
for attempt in range(2):  # the first that meets the error, and one that comes later
    try:
        table.insert(keys + n, np.zeros((n, 2), np.int64))
        print("went on")
    except hf.Error as error:
        print(type(error).__name__, error)
try:
    table.close()
    print("closed")
except hf.Error as error:
    print(type(error).__name__, error)
"""


def test_a_broken_gpu_loses_nothing(folder: Path) -> None:
    pytest.importorskip("cupy", reason="CuPy breaks the GPU for this test, and is not installed")
    path = folder / "gone.hold"
    child = subprocess.run(
        [sys.executable, "-c", BREAKS_THE_GPU, str(path), str(N)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    said = child.stdout.splitlines()
    assert "went on" not in said, child.stdout
    assert all(line.startswith("DeviceError") and "new process" in line for line in said[:2]), child.stdout
    for device in ("cpu", "cuda"):
        with hf.Table.open(path, device=device) as table:
            values, found = table.find(np.arange(N), dtype=np.int64)
            assert found.all() and (values[:, 0] == np.arange(N)).all() and (values[:, 1] == 3 * np.arange(N)).all()
            assert not table.check().errors
