"""Scores: 8 bytes that a table keeps with each item, read back and chosen by."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from conftest import Machine

import holdfastdb as hf

KEYS = np.arange(1000, dtype=np.uint64)


@pytest.fixture(params=[0, 4, 8, 24])
def value(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def rows(n: int, value: int) -> np.ndarray | None:
    return np.full((n, value), 7, np.uint8) if value else None


def test_steps(folder: Path, value: int, device: str) -> None:
    with hf.Table.create(folder / "t.hold", value=value, score="step", device=device) as table:
        assert table.score == "step"
        assert table.step == 0
        assert table.stats()["score"] == "step"
        table.insert(KEYS, rows(1000, value))
        table.step = 2**64 - 1
        assert table.step == 2**64 - 1
        table.assign(KEYS[:10], rows(10, value))
        table.step = 5
        table.insert_or_assign(KEYS[10:20], rows(10, value))
        table.insert(KEYS[:20], rows(20, value))  # they are there: nothing changes
        table.find(KEYS)
        scores, found = table.scores(np.arange(2000, dtype=np.uint64))
        assert scores.dtype == np.uint64
        assert found[:1000].all()
        assert not found[1000:].any()
        assert (scores[:10] == 2**64 - 1).all()
        assert (scores[10:20] == 5).all()
        assert (scores[20:] == 0).all()
    with hf.Table.open(folder / "t.hold", device=device) as table:
        assert table.step == 2**64 - 1, "the largest that its changes were given"
        assert (table.scores(KEYS[10:20])[0] == 5).all()
        about = hf.inspect(folder / "t.hold").objects[0].table
        assert about is not None and about.score == "step"


def test_frequencies(folder: Path, device: str) -> None:
    with hf.Table.create(folder / "t.hold", value=8, score="frequency", device=device) as table:
        keys = np.repeat(KEYS, 3)
        table.accumulate(keys, np.ones(3000, np.int64))
        table.find_or_insert(KEYS, np.ones(1000, np.int64))
        table.erase(KEYS[5:10])
        table.insert(KEYS[5:10], np.ones(5, np.int64))
        scores, _ = table.scores(KEYS)
        assert (scores[5:10] == 1).all()
        assert (np.delete(scores, np.s_[5:10]) == 3).all()


def test_changes_of_columns(folder: Path, device: str) -> None:
    with hf.Table.create(folder / "t.hold", value=8, score="frequency", device=device) as table:
        table.insert(KEYS, KEYS)
        table.column(0, 4).assign(KEYS[:5], np.ones(5, np.int32))
        scores, _ = table.scores(KEYS)
        assert (scores == np.where(KEYS < 5, 2, 1)).all()


def test_times(folder: Path, device: str) -> None:
    with hf.Table.create(folder / "t.hold", value=4, score="time", device=device) as table:
        before = time.time_ns()
        table.insert(KEYS, np.ones(1000, np.int32))
        between = time.time_ns()
        time.sleep(0.002)
        table.assign(KEYS[:10], np.ones(10, np.int32))
        scores, _ = table.scores(KEYS)
        assert (scores[10:] >= before).all()
        assert (scores[10:] <= between).all()
        assert (scores[:10] > between).all()
        assert table.erase_if(score=(None, between)) == 990


def test_selections(folder: Path, device: str) -> None:
    with hf.Table.create(folder / "t.hold", value=8, score="step", device=device) as table:
        for step in range(10):
            table.step = step
            table.insert(KEYS[step::10], np.full(100, step))
        assert table.size_if(score=(3, 5)) == 300
        assert table.size_if(score=(None, 5)) == 600
        assert table.size_if(score=(8, None)) == 200
        assert table.size_if(score=(None, None)) == 1000
        assert table.size_if(score=(5, 3)) == 0
        assert table.size_if(0, 99, score=(3, 5)) == 30
        assert table.size_if(score=(3, 5), where=lambda _, values: values == 4, dtype=np.int64) == 100
        keys, values, scores, cursor = table.export_if(score=(9, 9), scores=True, dtype=np.int64)
        assert cursor is None
        assert sorted(keys) == list(range(9, 1000, 10))
        assert (values == 9).all()
        assert (scores == 9).all()
        keys, values, cursor = table.export_if(score=(9, 9), values=False)
        assert len(keys) == 100
        assert values is None
        assert table.erase_if(score=(0, 4)) == 500
        assert table.size() == 500
        keys, values, scores, cursor = table.export_batch(scores=True, values=False)
        assert (scores == keys % 10).all()
        assert {(key, key % 10) for key in map(int, keys)} == {(k, s) for k, _, s in table.items(scores=True, batch=77)}
        assert len(list(table.items())) == 500


def test_arguments_of_scores(folder: Path, device: str) -> None:
    with hf.Table.create(folder / "t.hold", value=8, score="step", device=device) as table:
        table.step = 3
        table.insert(KEYS, KEYS)
        out, found = np.empty(1000, np.uint64), np.empty(1000, bool)
        mask = KEYS % 2 == 0
        scores, there = table.scores(KEYS, mask=mask, out=(out, found))
        assert scores is out
        assert there is found
        assert (scores == np.where(mask, 3, 0)).all()
        assert (found == mask).all()


def test_the_machine_is_chosen_as_for_other_tables(folder: Path) -> None:
    devices = []
    for score in (None, "step", "frequency"):
        with hf.Table.create(folder / "t.hold", score=score, overwrite=True) as table:
            stats = table.stats()
            devices.append((stats["device"], stats["device_reason"]))
    assert devices[0] == devices[1] == devices[2]


def test_large_batches(folder: Path, device: str) -> None:
    """Batches and selections so large that a GPU takes them in phases, by scores, by keys and by functions."""
    n = 40_000
    keys = np.arange(n, dtype=np.uint64)
    with hf.Table.create(folder / "t.hold", value=16, score="step", device=device) as table:
        values = np.stack([keys, keys], axis=1)
        for table.step in range(1, 4):
            mine = slice((table.step - 1) * 10_000, n)
            table.insert_or_assign(keys[mine], values[mine])
        table.step = 4
        table.accumulate(keys[:100], values[:100], op="max")
        expected = np.minimum(1 + keys // 10_000, 3)
        expected[:100] = 4
        scores, found = table.scores(keys)
        assert found.all()
        np.testing.assert_array_equal(scores, expected)
        assert table.size_if(score=(2, 3)) == n - 10_000
        assert table.size_if(last=5000, score=(4, None)) == 100
        chosen, _, marks, _ = table.export_if(score=(None, 2), where=lambda k, _v: k % 2 == 0, n=n, scores=True)
        assert sorted(chosen.tolist()) == list(range(100, 20_000, 2))
        np.testing.assert_array_equal(marks, expected[chosen])
        assert table.erase_if(score=(None, 1)) == 9_900
        assert table.erase_if(score=(3, 3), where=lambda k, _v: k < 30_000) == 10_000
        left = sorted(key for key, _, _ in table.items(scores=True))
        assert left == [*range(100), *range(10_000, 20_000), *range(30_000, n)]
        assert table.check().ok


def test_gpu_arrays(folder: Path, machine: Machine) -> None:
    with hf.Table.create(folder / "t.hold", value=8, score="step", device=machine.device) as table:
        table.step = 7
        table.insert(machine.put(KEYS), machine.put(KEYS.astype(np.int64)))
        keys = np.arange(500, 1500, dtype=np.uint64)
        scores, found = table.scores(machine.put(keys))
        assert (machine.get(scores).astype(np.uint64) == np.where(keys < 1000, 7, 0)).all()
        assert (machine.get(found) == (keys < 1000)).all()


def test_wide_keys(folder: Path, device: str) -> None:
    with hf.Table.create(folder / "t.hold", key=16, value=4, score="frequency", device=device) as table:
        keys = np.random.default_rng(1).integers(0, 256, (50, 16), np.uint8)
        table.insert(keys, np.ones(50, np.int32))
        assert (table.scores(keys)[0] == 1).all()
        assert table.size_if(score=(2, None)) == 0


def test_other_tables_have_none(folder: Path) -> None:
    with hf.Table.create(folder / "t.hold", device="cpu") as table:
        assert table.score is None
        about = hf.inspect(table.path).objects[0].table
        assert about is not None and about.score == "none"
        for act in (
            lambda: table.scores(KEYS),
            lambda: table.size_if(score=(1, 2)),
            lambda: table.erase_if(score=(None, None)),
            lambda: table.export_if(scores=True),
            lambda: table.export_batch(scores=True),
            lambda: setattr(table, "step", 3),
        ):
            with pytest.raises(hf.InvalidArgument, match=r"score=|keeps no scores|knows no steps"):
                act()


def test_bad_arguments(folder: Path) -> None:
    path = folder / "t.hold"
    with pytest.raises(hf.InvalidArgument, match="give 'none', 'step', 'time' or 'frequency'"):
        hf.Table.create(path, score="age")
    with pytest.raises(hf.InvalidType, match="score is of type int"):
        hf.Table.create(path, score=1)  # type: ignore[arg-type]
    with pytest.raises(hf.InvalidArgument, match="any length"):
        hf.Table.create(path, bytes, bytes, score="step")
    assert not path.exists()
    with hf.Table.create(path, score="frequency", device="cpu") as table:
        with pytest.raises(hf.InvalidArgument, match="knows no steps"):
            table.step = 1
        with pytest.raises(hf.InvalidType, match="give a pair"):
            table.size_if(score=3)  # type: ignore[arg-type]
        with pytest.raises(hf.InvalidArgument, match=r"score\[0\] is -1"):
            table.size_if(score=(-1, 2))
        with pytest.raises(hf.InvalidArgument, match=r"score\[1\]"):
            table.size_if(score=(1, 2**64))
    with hf.Table.create(path, score="step", device="cpu", overwrite=True) as table:
        for step in (-1, 2**64):
            with pytest.raises(hf.InvalidArgument, match=f"step is {step}"):
                table.step = step
        with pytest.raises(hf.InvalidType, match="step is"):
            table.step = 1.5  # type: ignore[assignment]
    with pytest.raises(hf.ObjectClosed):
        table.step = 1
