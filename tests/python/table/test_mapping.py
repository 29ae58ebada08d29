"""A table as a mapping: one key at a time."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfastdb as hf


@pytest.fixture(params=["table", "memory"])
def table(request: pytest.FixtureRequest, folder: Path) -> Iterator[Any]:
    memory = request.param == "memory"
    one = hf.MemoryTable(value=8) if memory else hf.Table.create(folder / "t.hold", value=8, device="cpu")
    yield one
    if not memory:
        one.close()


def test_reads_and_writes(table: Any) -> None:
    table[1] = b"holdfast"
    table[np.uint64(2)] = 7
    table[-1] = np.array([1, 2], np.uint32)
    table[3] = np.arange(4, dtype=np.uint16)
    assert table[1] == b"holdfast" and table[2] == (7).to_bytes(8, "little")
    assert table[2**64 - 1] == np.array([1, 2], np.uint32).tobytes() and len(table) == 4
    table[1] = b"replaced"
    assert table[1] == b"replaced" and table.get(1) == b"replaced"
    del table[1]
    assert table.get(1) is None and table.get(1, 5) == 5 and 1 not in table


def test_the_short_path_agrees_with_batches(table: Any) -> None:
    short = table._native
    assert short.put_one(5, b"holdfast") == hf.Status.INSERTED and short.put_one(5, b"replaced") == hf.Status.UPDATED
    assert short.find_one(5) == b"replaced" == bytes(table.find([5])[0][0]) and short.has_one(5) is True
    assert short.find_one((5).to_bytes(8, "little")) == b"replaced"
    assert short.erase_one(5) == hf.Status.ERASED and short.erase_one(5) == hf.Status.NOT_FOUND
    assert short.find_one(5) is None and short.has_one(5) is False
    for key in (-1, 2**64, True, 1.0, None, "5", b"short", np.uint64(5), bytearray(8)):
        assert short.find_one(key) is short.has_one(key) is short.erase_one(key) is NotImplemented
        assert short.put_one(key, b"holdfast") is NotImplemented
    for value in (None, b"short", 7, bytearray(8), np.zeros(8, np.uint8)):
        assert short.put_one(5, value) is NotImplemented
    assert len(table) == 0


@pytest.mark.parametrize("n", [1, 7, 1000, 1 << 16])
def test_batches_give_every_item_once(table: Any, n: int) -> None:
    assert list(table.batches(n)) == []
    table.insert(range(1000), np.arange(1000))
    given = list(table.batches(n, dtype=np.int64))
    assert all(0 < len(keys) == len(values) <= n for keys, values in given)
    keys = np.concatenate([keys for keys, _ in given])
    np.testing.assert_array_equal(np.sort(keys), np.arange(1000))
    np.testing.assert_array_equal(keys, np.concatenate([values for _, values in given]))
    for _ in range(40):  # what is left in the middle holds nothing
        next(table.batches(n))
    with pytest.raises(hf.InvalidArgument, match="n is 0"):
        next(table.batches(0))


def test_absent_keys(table: Any) -> None:
    with pytest.raises(KeyError, match="5"):
        table[5]
    with pytest.raises(KeyError, match="5"):
        del table[5]


@pytest.mark.parametrize("key", [[1], np.array([1]), range(2), "1", True, 1.0, slice(2), (1, 2), None])
def test_only_one_key(table: Any, key: Any) -> None:
    with pytest.raises(hf.InvalidType, match=r"find\(keys\)"):
        table[key]
    with pytest.raises(hf.InvalidType, match=r"find\(keys\)"):
        table.get(key)
    with pytest.raises(hf.InvalidType, match=r"insert_or_assign\(keys, values\)"):
        table[key] = 1
    with pytest.raises(hf.InvalidType, match=r"erase\(keys\)"):
        del table[key]


@pytest.mark.parametrize("value", [b"short", None, np.zeros(2), [[1], [1, 2]]])
def test_wrong_values(table: Any, value: Any) -> None:
    with pytest.raises((hf.InvalidArgument, hf.InvalidType)):
        table[1] = value
    assert len(table) == 0


def test_no_space() -> None:
    table = hf.MemoryTable(capacity=8, grows=False)
    assert hf.Status.NO_SPACE in table.insert(range(200_000), np.arange(200_000))
    with pytest.raises(hf.NoSpace, match="found no space in the table in memory"):
        for key in range(200_000, 400_000):
            table[key] = key


def test_a_full_pool(folder: Path) -> None:
    """The error says which pool, how full it and its medium are, and what to do."""
    keys = np.arange(4000, dtype=np.uint64)
    with hf.Table.create(folder / "t.hold", value=1000, capacity=16, max_bytes=1 << 20, device="cpu") as table:
        table.insert(keys, np.zeros((4000, 1000), np.uint8))
        with pytest.raises(
            hf.NoSpace, match=r"the key 9000 found no space in .*t\.hold: .* max_bytes=1,048,576 .*load a dump"
        ):
            table[9000] = bytes(1000)
    code = """
import resource, sys, holdfastdb as hf
with hf.Table.create(sys.argv[1], value=1000, device="cpu") as table:
    resource.setrlimit(resource.RLIMIT_FSIZE, (32 << 20, resource.RLIM_INFINITY))
    for key in range(100_000):
        table[key] = bytes(1000)
"""
    full = subprocess.run([sys.executable, "-c", code, folder / "f.hold"], capture_output=True, text=True)
    said = r"NoSpace: the key [1-9]\d+ found no space in .*f\.hold: the pool has [\d.]+ MiB, and its medium, .* free"
    assert re.search(said, full.stderr), full.stderr
    put = [sys.executable, "-m", "holdfastdb", "put", folder / "t.hold", "9000", "x"]
    failed = subprocess.run(put, capture_output=True, text=True)
    assert failed.returncode == 2 and "the key 9000 found no space in" in failed.stderr, failed


def test_sets_wide_keys_and_any_length(folder: Path) -> None:
    with hf.Table.create(folder / "set.hold", value=0, device="cpu") as seen:
        seen[4] = None
        assert seen[4] == b"" and seen.get(5) is None
    with hf.Table.create(folder / "wide.hold", key=16, value=8, device="cpu") as wide:
        wide[b"k" * 16] = 1
        assert wide[b"k" * 16] == (1).to_bytes(8, "little")
    with hf.Table.create(folder / "any.hold", bytes, bytes, device="cpu") as texts:
        texts[b"name"] = b"a value"
        texts[b"none"] = b""
        assert texts[b"name"] == b"a value" and texts.get(b"none", 1) == b"" and texts.get(b"x", 1) == 1
        del texts[b"name"]
        with pytest.raises(KeyError):
            texts[b"name"]
