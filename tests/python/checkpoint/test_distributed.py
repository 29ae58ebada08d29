"""Saves of torch.distributed.checkpoint in pools: on other numbers of ranks, ranks that die, and what is missing."""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from damaged_copies import damage_second_save

import holdfastdb as hf

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)
import torch.distributed.checkpoint as dcp  # noqa: E402

import holdfastdb.torch.distributed as hfd  # noqa: E402

RANKS = Path(__file__).with_name("distributed_ranks.py")
pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is")


class Ranks:
    """A process that starts the ranks of each run anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen([sys.executable, RANKS, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)  # fmt: skip

    def run(self, what: str, ranks: int, step: int = 0) -> list[int]:
        """The exit status of each rank."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(what, ranks, step, file=self._process.stdin, flush=True)
        return [int(status) for status in self._process.stdout.readline().split()]

    def save(self, ranks: int, step: int, what: str = "save") -> None:
        assert self.run(what, ranks, step) == [0] * ranks

    def load(self, ranks: int) -> set[str]:
        """The step that each rank loaded, and what it passed over."""
        assert self.run("load", ranks) == [0] * ranks
        return {(self.folder / f"loaded-{rank}").read_text() for rank in range(ranks)}

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[Ranks]:
    made = Ranks(tmp_path)
    yield made
    made.end()


def steps(folder: Path) -> list[int]:
    with hfd.PoolReader(folder / "{rank}.hold") as reader:
        return reader.steps()


def save(path: Path, step: int | None = None, **options: Any) -> None:
    with hfd.PoolWriter(path) as writer:
        state = {"x": torch.full((40_000,), float(step or 0)), "note": "n"}
        dcp.save(
            state, storage_writer=writer, checkpoint_id=None if step is None else str(step), no_dist=True, **options
        )


def failure(kind: type[Exception], path: Path, step: int | None = None, state: Any = None) -> str:
    """The message of the error that a load raises."""
    with hfd.PoolReader(path) as reader, pytest.raises(dcp.CheckpointException) as raised:
        dcp.load(state or {"x": torch.zeros(40_000), "note": ""}, storage_reader=reader, no_dist=True,
                 checkpoint_id=None if step is None else str(step))  # fmt: skip
    error = raised.value.failures[0][0]
    assert isinstance(error, kind), error
    return str(error)


def test_the_docstring() -> None:
    assert doctest.testmod(hfd).failed == 0


def test_two_ranks_save_and_one_and_three_load(ranks: Ranks, tmp_path: Path) -> None:
    ranks.save(2, 4)
    ranks.save(2, 5, "async")
    for number in (1, 2, 3):
        assert ranks.load(number) == {"5 ()"}
    ranks.save(3, 6)  # it goes on with another number
    ranks.save(1, 7)
    assert steps(tmp_path) == [7, 6, 5]
    assert ranks.load(2) == {"7 ()"}


@pytest.mark.parametrize("where", ["kill-writing", "kill-finishing"])
def test_a_rank_that_dies_in_a_save_leaves_the_save_before(ranks: Ranks, tmp_path: Path, where: str) -> None:
    ranks.save(2, 1)
    for again in range(3):  # each leaves a part that does not count: as many as a pool has copies
        ended = ranks.run(where, 2, 2 + again)
        assert -9 in ended and 0 not in ended
        assert steps(tmp_path) == [1]
    assert ranks.load(2) == {"1 ()"}
    ranks.save(2, 9)
    assert steps(tmp_path)[0] == 9
    assert ranks.load(1) == {"9 ()"}


def test_a_pool_that_is_missing_or_another(ranks: Ranks, tmp_path: Path) -> None:
    path = tmp_path / "{rank}.hold"
    assert "0.hold" in failure(hf.PoolNotFound, path)
    ranks.save(2, 1)
    ranks.save(2, 2)
    other = tmp_path / "1.hold"
    kept = other.read_bytes()
    other.unlink()
    message = failure(hf.PoolMismatch, path)
    assert "the pool of rank 1 of 2" in message and "step 2" in message
    other.write_bytes((tmp_path / "0.hold").read_bytes())
    assert "another save, or of another rank" in failure(hf.PoolMismatch, path)
    other.unlink()
    with hf.Pool.create(other), pytest.raises(hf.ObjectInUse):
        steps(tmp_path)
    assert "rank 1 of 2" in failure(hf.PoolMismatch, path)
    other.write_bytes(kept)
    assert steps(tmp_path) == [2, 1]


def test_a_damaged_part_gives_way_to_the_step_before(tmp_path: Path) -> None:
    path = tmp_path / "{rank}.hold"
    save(path, 1)
    save(path, 2)
    damage_second_save(tmp_path / "0.hold", "dcp")
    assert "damaged" in failure(hf.PoolCorrupt, path)
    state = {"x": torch.zeros(40_000), "note": ""}
    with hfd.PoolReader(path) as reader:
        dcp.load(state, storage_reader=reader, checkpoint_id="1", no_dist=True)
        assert reader.step == 1 and state["x"][7] == 1


def test_what_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "{rank}.hold"
    for wrong in (tmp_path / "a.hold", ""):
        for kind in (hfd.PoolWriter, hfd.PoolReader):
            with pytest.raises(hf.InvalidArgument, match=r"rank|the path is empty"):
                kind(wrong)
    with pytest.raises(hf.InvalidArgument, match="copies is 2"):
        hfd.PoolWriter(path, copies=2)
    with hfd.PoolWriter(path) as writer:
        with pytest.raises(hf.InvalidArgument, match="give the step"):
            dcp.save({}, storage_writer=writer, checkpoint_id="/tmp/x", no_dist=True)
        for step in ("9" * 5000, 10**5000, -1):
            with pytest.raises(hf.InvalidArgument, match="checkpoint_id is") as refused:
                writer.reset(step)  # as dcp.save calls it, which prints a number first
            assert len(str(refused.value)) < 300
        with pytest.raises(hf.InvalidArgument, match="use_collectives"):
            dcp.save({}, storage_writer=writer, no_dist=True, use_collectives=False)
        with pytest.raises(dcp.CheckpointException, match="dense"):
            dcp.save({"x": torch.zeros(3).to_sparse()}, storage_writer=writer, no_dist=True)
    assert steps(tmp_path) == []
    assert "no distributed save" in failure(hf.ObjectNotFound, path)
    save(path)
    save(path)
    save(path, 7)
    assert steps(tmp_path) == [7, 2, 1]
    assert "no save of step 3: it has 7, 2, 1" in failure(hf.ObjectNotFound, path, 3)
    message = failure(Exception, path, state={"x": torch.zeros(3), "note": ""})
    assert "3" in message
    planner = dcp.DefaultSavePlanner(enable_plan_caching=True)
    with hfd.PoolWriter(path) as writer:
        dcp.save({"y": torch.zeros(3)}, storage_writer=writer, planner=planner, no_dist=True)
        with pytest.raises(dcp.CheckpointException, match="enable_plan_caching"):
            dcp.save({"y": torch.zeros(3)}, storage_writer=writer, planner=planner, no_dist=True)
    assert steps(tmp_path)[0] == 8


def test_a_pool_with_tables_beside(tmp_path: Path) -> None:
    with hf.Pool.create(tmp_path / "0.hold") as pool:
        pool.create_table("users").close()
        with hfd.PoolWriter(pool) as writer:
            dcp.save({"x": torch.ones(3)}, storage_writer=writer, no_dist=True)
            dcp.save({"x": torch.ones(3)}, storage_writer=writer, no_dist=True)
        assert [one.name for one in pool.objects] == ["users", "dcp.index", "dcp"]
    assert steps(tmp_path) == [2, 1]
