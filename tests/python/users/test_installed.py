"""The package as it is installed: small, and without benchmarks and tests."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import holdfastdb as hf
from bench.package import installed

MOST_BYTES = 5_000_000  # with short paths for one key and a store over any index; 4 MB before them
OURS = re.compile(r"holdfastdb/|holdfastdb-[0-9.]+\.dist-info/|(\.\./)+bin/holdfast$")
NOT_FOR_USERS = re.compile(r"(^|/)(_?bench|_?tests?|conftest|test_)", re.IGNORECASE)


@pytest.fixture(scope="module")
def files() -> dict[str, Path]:
    try:
        return installed.files()
    except PackageNotFoundError:
        pytest.skip("it is not installed, but runs from a tree (PYTHONPATH)")


def test_it_is_small(files: dict[str, Path]) -> None:
    if "has no CUDA" not in hf.cuda_devices()[1]:
        pytest.skip("kernels for each kind of GPU are more than all the rest")
    sizes = {name: installed.shipped_bytes(path) for name, path in files.items()}
    largest = sorted(sizes.items(), key=lambda one: -one[1])[:5]
    assert sum(sizes.values()) <= MOST_BYTES, f"it was below with some to spare; the largest are {largest}"


def test_it_has_nothing_but_the_package(files: dict[str, Path]) -> None:
    assert "holdfastdb/__init__.py" in files and any(name.endswith(".so") for name in files)
    assert [name for name in files if not OURS.match(name) or NOT_FOR_USERS.search(name)] == []
