"""Checkpoints of nested states: all comes back as it was, and training goes on after kills with the same losses."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from damaged_copies import damage_second_save

import holdfastdb as hf


def test_a_nested_state_comes_back(tmp_path: Path) -> None:
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    state = {
        "a": [array, array.T[1:], (1, 2.5, -0.0, float("inf"), 1 << 80, None, True, "text", b"\0\xff")],
        1: np.float64(3.5),
        "1": np.array(7, np.int8),
        "empty": np.zeros((0, 3), np.complex64),
        "big": np.arange(5, dtype=">u4"),
        "ordered": OrderedDict(x=array),
    }
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        ticket = checkpoint.save(state, 3)
        array += 1  # it may change at once
        ticket.wait()
        assert ticket.done
    array -= 1
    for mode in ("r+", "r"):
        with hf.Checkpoint(tmp_path / "a.hold", mode=mode) as checkpoint:
            back, step = checkpoint.restore()
            assert step == 3 and checkpoint.damage == ()
            assert back["a"][2] == state["a"][2] and isinstance(back["ordered"], OrderedDict)
            assert back["a"][0] is back["ordered"]["x"], "tied arrays stay tied"
            assert back["a"][0].flags.writeable == (mode == "r+")
            for got, wanted in ((back["a"][0], array), (back["a"][1], array.T[1:]), (back["big"], state["big"])):
                np.testing.assert_array_equal(got, wanted)
            assert back[1] == 3.5 and type(back[1]) is np.float64 and back["1"] == 7 and back["1"].shape == ()
            assert back["empty"].shape == (0, 3) and back["empty"].dtype == np.complex64
            assert list(checkpoint.arrays("a/")) == ["a/0", "a/1"]
    np.testing.assert_array_equal(back["a"][0], array)  # it keeps what it maps


@pytest.mark.parametrize("bad", [object(), {"x": {1, 2}}, [lambda: 0], {(1, 2): 3}, np.array(["a"]), np.array([None])])
def test_what_is_no_data_is_refused(tmp_path: Path, bad: object) -> None:
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        with pytest.raises(hf.ObjectNotFound, match="no saved state"):
            checkpoint.restore()
        checkpoint.save({"x": 1}, 1).wait()
        with pytest.raises(hf.InvalidType, match="the state has"):
            checkpoint.save(bad, 2)
        loop: list[object] = []
        loop.append(loop)
        with pytest.raises(hf.InvalidType, match="itself"):
            checkpoint.save(loop, 2)
        assert checkpoint.restore() == ({"x": 1}, 1)


def test_a_damaged_copy_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.hold"
    with hf.Checkpoint(path) as checkpoint:
        for step in (1, 2):
            checkpoint.save({"x": np.full(10_000, step)}, step).wait()
    damage_second_save(path)
    with hf.Checkpoint(path) as checkpoint:
        state, step = checkpoint.restore()
        assert step == 1 and state["x"][0] == 1
        assert len(checkpoint.damage) == 1 and "block 0" in checkpoint.damage[0]


def test_a_disk_that_is_too_small_leaves_the_states(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
import numpy as np, holdfastdb as hf
pool, drain = sys.argv[1:]
def limit(megabytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (megabytes << 20 if megabytes else -1, -1))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with hf.Checkpoint(pool, 3, drain=drain) as checkpoint:
    for step in (1, 2, 3):
        checkpoint.save({"x": np.full(1 << 17, step)}, step).wait()
    checkpoint.wait()
    limit(8)
    for wanted in (4, 5):
        try:
            checkpoint.save({"x": np.zeros(1 << 21)}, wanted)
        except hf.NoSpace as error:
            print("save:", error)
    assert [one["step"] for one in checkpoint.saved] == [3, 2, 1]
    state, step = checkpoint.restore()
    assert step == 3 and (state["x"] == 3).all()
    checkpoint.save({"x": np.full(1 << 17, 6)}, 6).wait()  # there is room for what is as large as before
    checkpoint.wait()
    assert checkpoint.drained == 6
    limit(0)
    for step in (7, 8, 9):  # each copy gets its space
        checkpoint.save({"x": np.full(1 << 21, step)}, step).wait()
    checkpoint.wait()
    limit(8)
    checkpoint.save({"x": np.full(1 << 21, 10)}, 10).wait()
    try:
        checkpoint.wait()
    except hf.NoSpace as error:
        print("drain:", error)
    assert checkpoint.restore()[1] == 10
"""
    command = [sys.executable, "-c", code, tmp_path / "a.hold", tmp_path / "out"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split(":")[0] for line in said] == ["save", "save", "drain"], said
    assert f"{tmp_path / 'out'} cannot be written" in said[2] and "free space" in said[2]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.hold", "out"]
    with hf.Checkpoint(tmp_path / "b.hold") as checkpoint:
        checkpoint.import_(tmp_path / "out").wait()
        assert checkpoint.restore()[1] == 9, "what was drained before"


def test_a_mode_creates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.hold"
    with pytest.raises(hf.PoolNotFound, match="leave mode out to create it"):
        hf.Checkpoint(path, mode="r+")
    assert not path.exists()
    hf.Table.create(path, device="cpu").close()
    for _ in range(2):  # no pool stays open
        with pytest.raises(hf.ObjectNotFound):
            hf.Checkpoint(path, mode="r+")
    with hf.Pool.open(path) as pool:
        with pytest.raises(hf.ObjectNotFound):
            hf.Checkpoint(pool, mode="r+")
        hf.Checkpoint(pool).close()
    with hf.Checkpoint(path, mode="r+") as checkpoint:
        checkpoint.save({"a": 1}, 1)


def test_an_older_state_is_asked_for(tmp_path: Path) -> None:
    with hf.Checkpoint(tmp_path / "a.hold", copies=3) as checkpoint:
        for step in (1, 2, 3, 4):
            checkpoint.save({"x": step}, step).wait()
        for saved in checkpoint.saved:
            assert checkpoint.restore(saved["sequence"]) == ({"x": saved["step"]}, saved["step"])
        with pytest.raises(hf.ObjectNotFound, match="no save 1 any more"):
            checkpoint.restore(1)
        with pytest.raises(hf.InvalidArgument, match="sequence is 0"):
            checkpoint.restore(0)


def test_saves_bring_no_collection_about(tmp_path: Path) -> None:
    """Each leaves thousands of objects behind otherwise, and some saves wait for a collection of everything."""
    state = {str(i): np.ones(4, np.float32) for i in range(3000)}
    seen: list[int] = []

    def note(phase: str, about: dict[str, int]) -> None:
        if phase == "start" and about["generation"] == 2:
            seen.append(about["generation"])

    with hf.Checkpoint(tmp_path / "a.hold", copies=3) as checkpoint:
        gc.collect()
        gc.callbacks.append(note)
        try:
            for step in range(40):
                checkpoint.save(state, step)
        finally:
            gc.callbacks.remove(note)
    assert gc.isenabled()
    assert seen == []


def test_tensors_of_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.randn(3, 4))
    state = {
        "w": weight, "tied": weight, "t": weight.detach().t(), "b": torch.randn(5).to(torch.bfloat16),
        "f8": torch.randn(5).to(torch.float8_e4m3fn), "s": torch.tensor(2.5), "e": torch.zeros(0, 2),
        "size": weight.shape,
    }  # fmt: skip
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        checkpoint.save(state, 1).wait()
        back, _ = checkpoint.restore()
        assert back["w"] is back["tied"] and back["size"] == (3, 4)
        for name in ("w", "t", "b", "s", "e"):
            assert torch.equal(back[name], state[name]) and back[name].dtype == state[name].dtype
        assert torch.equal(back["f8"].view(torch.uint8), state["f8"].view(torch.uint8))
        with pytest.raises(hf.InvalidType, match="dense"):
            checkpoint.save(torch.eye(3).to_sparse(), 2)


def test_the_command_lists_and_drops(tmp_path: Path) -> None:
    path = str(tmp_path / "a.hold")
    with hf.Checkpoint(path, name="model") as checkpoint:
        for step in (1, 2):
            checkpoint.save({"x": np.zeros(4)}, step).wait()

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "holdfastdb", "checkpoint", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert run("list", path).splitlines()[0] == "model: step 2, 1 tensors, 128 bytes"
    assert '"step": 2' in run("list", path, "--json")
    run("drop", f"{path}:model")
    assert "no saved state" in run("list", path)
