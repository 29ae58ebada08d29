"""A store whose file is cut short or removed closes with one error, and what was in it can be saved."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfastdb as hf


def _cut(path: Path) -> None:
    os.truncate(path, 1 << 16)


def _removed(path: Path) -> None:
    path.unlink()
    time.sleep(0.03)  # the name is looked at once in some milliseconds


@pytest.mark.parametrize("fails", [_cut, _removed])
def test_a_store_closes_with_one_error(tmp_path: Path, fails: Callable[[Path], None]) -> None:
    path = tmp_path / "a.hold"
    store = hf.Store(path)
    store[b"a"] = b"1"
    fails(path)
    with pytest.raises(hf.MediumError):
        store[b"b"] = b"2"
    assert repr(store).startswith("<holdfastdb.Store ")
    with pytest.raises(hf.MediumError):
        store.close()
    assert store.closed and repr(store).endswith(": closed>")
    store.close()
    path.unlink(missing_ok=True)
    with hf.Store(path) as again:
        assert len(again) == 0


@pytest.mark.parametrize("fails", [_cut, _removed])
def test_a_pool_closes_with_one_error(tmp_path: Path, fails: Callable[[Path], None]) -> None:
    path = tmp_path / "a.hold"
    pool = hf.Pool.create(path)
    stores = [hf.Store(pool, name=name) for name in "ab"]
    table = pool.create_table("t")
    table.insert([1], [2])
    for store in stores:
        store[b"a"] = b"1"
    fails(path)
    with pytest.raises(hf.MediumError):
        stores[0][b"b"] = b"2"
    for opened in (pool, table, *stores):
        assert repr(opened).startswith("<holdfastdb.")
    with pytest.raises(hf.MediumError):
        pool.close()
    assert all(opened.closed for opened in (pool, table, *stores))
    pool.close()


def test_a_with_block_ends_with_its_own_error(tmp_path: Path) -> None:
    path = tmp_path / "a.hold"
    with pytest.raises(hf.MediumError), hf.Store(path) as store:
        store[b"a"] = b"1"
        _cut(path)
        store[b"a"]
    assert store.closed


def test_a_removed_store_can_be_saved(tmp_path: Path) -> None:
    """By the store alone: it was opened by its path."""
    path = tmp_path / "a.hold"
    store = hf.Store(path)
    store.set_many([b"a", b"b"], [b"1", b"2"])
    _removed(path)
    with pytest.raises(hf.MediumError, match="take a snapshot to another file"):
        store[b"c"] = b"3"
    assert store.snapshot(tmp_path / "b.hold").items == 2
    for again in (False, True):
        assert hf.dump(store, tmp_path / "b.csv", overwrite=again).rows == 2
    with pytest.raises(hf.MediumError):
        store.close()
    with pytest.raises(hf.ObjectClosed):
        store.snapshot(tmp_path / "c.hold")
    with hf.Store(tmp_path / "b.hold", mode="r") as saved:
        assert dict(saved.scan()).keys() == {b"a", b"b"}


def test_a_store_copies_its_pool(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with hf.Store(tmp_path / "a.hold") as store:
        store[b"a"] = b"1"
        report = store.snapshot(tmp_path / "b.hold", threads=2, progress=lambda done, total: seen.append((done, total)))
        assert (report.items, report.damaged) == (1, 0) and report.path == str(tmp_path / "b.hold")
        assert seen and seen[-1][0] == seen[-1][1]
        with pytest.raises(hf.PoolExists):
            store.snapshot(tmp_path / "b.hold")
        store[b"b"] = b"2"
        assert store.snapshot(tmp_path / "b.hold", overwrite=True).items == 2
        with pytest.raises(hf.ObjectInUse):
            store.snapshot(store.path.partition(":")[0], overwrite=True)
    with hf.Store(tmp_path / "b.hold", mode="r") as copy:
        assert copy[b"b"] == b"2"
