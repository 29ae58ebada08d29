"""The compiled modules beside other people's: they show nothing but what Python asks for."""

import shutil
import subprocess
import sys

import _bench
import pytest

from holdfastdb import _native


@pytest.mark.parametrize("module", (_native, _bench), ids=lambda module: module.__name__)
def test_nothing_else_is_shown(module: object) -> None:
    """A copy of libstdc++ that showed itself took pyarrow's place of it, and ended the process."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("binutils are not there")
    path = module.__file__  # type: ignore[attr-defined]
    listed = subprocess.run([nm, "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    shown = [line.split()[-1] for line in listed.splitlines()]
    assert shown == [f"PyInit_{module.__name__.rsplit('.', 1)[-1]}"]  # type: ignore[attr-defined]


def test_pyarrow_works_after_holdfast() -> None:
    pytest.importorskip("pyarrow")
    code = """
import holdfastdb, _bench, pyarrow.parquet
try:
    pyarrow.parquet.ParquetFile("/nowhere")
except OSError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
