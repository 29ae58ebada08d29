"""`holdfast recover --salvage` of a pool that was cut short, into a new pool and into a CSV file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_cli import as_json, holdfast

import holdfastdb as hf
from holdfastdb import Pool, PoolCorrupt, Store, Table

ITEMS = 20_000
KEYS = np.arange(1, ITEMS + 1, dtype=np.uint64)


def values_of(keys: np.ndarray) -> np.ndarray:
    return np.repeat(np.asarray(keys, np.uint64)[:, None], 3, axis=1)


def key(i: int) -> bytes:
    return f"key {i}".encode()


def value(i: int) -> bytes:
    return f"value {i}".encode() * 20


@pytest.fixture
def pool(folder: Path) -> Path:
    """Small tables and a growing one before the heap of a store, and a checkpoint behind it."""
    path = folder / "x.hold"
    with Pool.create(path) as made:
        made.create_table("whole", value=24, device="cpu").insert(KEYS[:900], values_of(KEYS[:900]))
        table = made.create_table("numbers", value=24, capacity=100, device="cpu")
        table.insert(KEYS[:50], values_of(KEYS[:50]))
        with Store(made, name="words") as store:
            for i in range(1000):
                store.set(key(i), value(i))
        table.insert(KEYS[50:], values_of(KEYS[50:]))
        with hf.Checkpoint(made, name="last") as checkpoint:
            checkpoint.save({"weights": np.arange(100_000)}, step=7).wait()
    return path


def extents(path: Path, name: str, kind: str) -> list[dict]:
    (one,) = (one for one in as_json("info", path)["objects"] if one["name"] == name)
    return [extent for extent in one["extents"] if extent["kind"].startswith(kind)]


def cut(path: Path, offset: int) -> bytes:
    left = path.read_bytes()[:offset]
    path.write_bytes(left)
    return left


def test_into_a_new_pool(pool: Path) -> None:
    level = max(extents(pool, "numbers", "level"), key=lambda extent: extent["bytes"])
    assert level["offset"] < extents(pool, "last", "")[-1]["offset"]
    left = cut(pool, level["offset"] + level["bytes"] // 2 + 8)
    out = pool.with_name("saved.hold")
    for command in (["check", pool], ["info", pool], ["recover", pool], ["stats", f"{pool}:numbers"]):
        assert "holdfast recover --salvage" in holdfast(*command, status=2).stderr
    with pytest.raises(PoolCorrupt, match="cut short"):
        Pool.open(pool)
    done = as_json("recover", pool, "--salvage", out, status=1)
    assert (done["objects"], done["not_saved"]) == (3, ["last"])
    byte = len(left) // 4096 * 4096
    lost = [line for line in done["lost"] if f"the file was cut short at byte {byte}, and " in line]
    assert [line.split(": ")[0] for line in lost] == [f"{pool}:{name}" for name in ("numbers", "words", "last")]
    assert f"level {level['kind'].split()[1]}" in lost[0]
    assert pool.read_bytes() == left, "the damaged file is not written"
    assert holdfast("check", out).stdout.endswith("no error\n")
    with Pool.open(out) as saved:
        table = saved.table("numbers", "cpu")
        found, there = table.find(KEYS, dtype=np.uint64)
        assert 0 < there.sum() < ITEMS and np.array_equal(found[there], values_of(KEYS[there]))
        assert len(table) == there.sum()
        assert np.array_equal(saved.table("whole", "cpu").find(KEYS[:900], dtype=np.uint64)[0], values_of(KEYS[:900]))
        with Store(saved, name="words") as store:
            assert len(store) == 0, "all of its heap is lost"
    out.unlink()
    text = holdfast("recover", pool, "--salvage", out, status=1).stdout.splitlines()
    assert text[0].startswith(f"{pool}: 3 objects of 4 saved in {out}, with ") and text[1] == "not saved: last"
    assert text[2:] == done["lost"]
    csv = pool.with_name("numbers.csv")
    exported = as_json("recover", f"{pool}:numbers", "--salvage", csv, status=1)
    assert exported["items"] == there.sum() == len(csv.read_text().splitlines()) - 1
    assert exported["lost"] == lost[:1]
    refused = holdfast("recover", f"{pool}:last", "--salvage", pool.with_name("last.csv"), status=2).stderr
    assert f"{pool}:last is a checkpoint, " in refused
    assert (
        "gets all objects"
        in holdfast("recover", f"{pool}:numbers", "--salvage", pool.with_name("n.hold"), status=2).stderr
    )


def test_a_store_whose_items_are_cut(pool: Path) -> None:
    """An item on the page where the file ends is dropped from the new pool; those before it are there."""
    data = pool.read_bytes()
    left = cut(pool, data.index(b"value 500value 500") + 30)
    out, csv = pool.with_name("saved.hold"), pool.with_name("words.csv")
    done = as_json("recover", pool, "--salvage", out, status=1)
    assert any(line.startswith(f"{pool}:words: the file was cut short") and "heap" in line for line in done["lost"])
    assert as_json("check", f"{out}:words")["ok"]
    with Pool.open(out) as saved, Store(saved, name="words") as store:
        there = {i for i in range(1000) if store.get(key(i)) is not None}
        assert all(store.get(key(i)) == value(i) for i in there)
    assert 300 < len(there) < 1000 and 500 not in there
    assert as_json("recover", f"{pool}:words", "--salvage", csv, status=1)["items"] == len(there)
    assert pool.read_bytes() == left


def test_a_whole_pool_is_copied(pool: Path) -> None:
    out = pool.with_name("saved.hold")
    assert as_json("recover", pool, "--salvage", out) == {
        "path": str(pool), "out": str(out), "items": ITEMS + 1900, "objects": 4, "not_saved": [], "lost": [],
    }  # fmt: skip
    assert as_json("check", out)["items"] == ITEMS + 1900


def test_snapshots_name_what_they_leave_out(pool: Path) -> None:
    cut(pool, max(extent["offset"] for extent in extents(pool, "last", "")) + 4096)
    with Pool.open(pool, "r", salvage=True) as left:
        damage = {one.name: one.damage for one in left.objects}
        assert damage["numbers"] == damage["words"] == "" and "cut short" in damage["last"]
        assert left.snapshot(pool.with_name("copy.hold")).left_out == ("last",)
        with pytest.raises(PoolCorrupt, match="cut short"):
            hf.Checkpoint(left, name="last", mode="r")
        assert len(left.check("numbers").errors) == 0
    with hf.Pool.open(pool.with_name("copy.hold")) as copy:
        assert [one.name for one in copy.objects] == ["whole", "numbers", "words"]


def test_less_than_a_directory_is_refused(pool: Path) -> None:
    cut(pool, 8192)
    done = holdfast("recover", pool, "--salvage", pool.with_name("saved.hold"), status=2)
    assert "too few for a pool" in done.stderr
    assert not pool.with_name("saved.hold").exists()
    with pytest.raises(PoolCorrupt):
        Table.open(pool, "cpu", "r", salvage=True)
