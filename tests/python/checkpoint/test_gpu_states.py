"""Checkpoints of arrays in GPU memory. What decides where an array is saved from and restored to needs no GPU."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import GPUS, WHY_NO_GPU, no_gpu
from damaged_copies import damage_second_save

import holdfastdb as hf
from holdfastdb.checkpoint.gpu import Placed, place_of
from holdfastdb.checkpoint.tree import Flat, names_on_gpu, rebuild


class OnGpu:
    """As CuPy's arrays look to a checkpoint; its memory is the host's."""

    def __init__(self, array: np.ndarray, gpu: int = 0) -> None:
        self.array = array
        self.device = nullcontext()
        self.device.id = gpu  # type: ignore[attr-defined]
        self.data = SimpleNamespace(ptr=array.ctypes.data)
        self.dtype, self.shape, self.strides, self.size = array.dtype, array.shape, array.strides, array.size


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(ndarray=OnGpu, asnumpy=lambda a: a.array, ascontiguousarray=lambda a: a)
    monkeypatch.setitem(sys.modules, "cupy", fake)


def test_arrays_of_one_gpu_stay_there(cupy: None) -> None:
    first, second = OnGpu(np.arange(4.0)), OnGpu(np.arange(6), gpu=1)
    state = {"host": np.ones(3), "a": first, "again": first, "other": second, "list": [OnGpu(np.zeros(0))]}
    flat = Flat(state, gpus=2)
    assert flat.place == "cuda:0"
    assert [flat.tensors[i][0] for i in flat.on_gpu] == ["a", "list/0"], "tied once, and those of GPU 1 on the host"
    assert flat.tensors[flat.on_gpu[0]][3] == first.data.ptr
    assert names_on_gpu(flat.text) == {"a", "other", "list/0"}
    without = Flat(state)
    assert without.place is None and without.on_gpu == []
    assert names_on_gpu(without.text) == {"a", "other", "list/0"}
    assert rebuild(flat.text, lambda kind, name: (kind, name))["again"] == ("numpy", "a")


def test_names_on_gpu_of_what_was_not_written_here() -> None:
    plain = ["dict", ["a", ["bytes", "cuda"]], [1, ["tuple", 1, None, ["scalar", "x"]]]]
    assert names_on_gpu(json.dumps(plain)) == set()
    for text in ("", "[[", "[]", '["dict", 1]'):
        with pytest.raises(hf.PoolCorrupt, match="not written by"):
            names_on_gpu(text)


def test_where_a_state_can_be_restored(tmp_path: Path) -> None:
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        checkpoint.save({"x": np.arange(3)}, 1).wait()
        assert checkpoint.restore(device="cpu")[0]["x"].tolist() == [0, 1, 2]
        for bad in ("gpu", 0, "cuda:", "cuda:-1", "cuda:x"):
            with pytest.raises(hf.InvalidArgument, match="device is"):
                checkpoint.restore(device=bad)
        with pytest.raises(hf.DeviceError, match="cannot be restored to GPU 77"):
            checkpoint.restore(device="cuda:77")
        if GPUS == 0:
            with pytest.raises(hf.DeviceError, match="leave out device="):
                checkpoint.restore(device="cuda")


def test_arrays_that_a_restore_is_given_are_filled(tmp_path: Path) -> None:
    state = {"x": np.arange(70_000), "one": np.float32(2.5), "none": np.zeros((0, 2)), "n": 3, "y": [np.ones(5, "f2")]}
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        checkpoint.save(state, 1).wait()
        state["x"] += 1
        checkpoint.save(state, 2).wait()

    def restored() -> tuple[Any, Any]:
        with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
            placed = Placed("cpu")
            saved = checkpoint._native.restore_to(placed.make)
            with pytest.raises(ZeroDivisionError):
                checkpoint._native.restore_to(lambda text, tensors: 1 // 0)
            with pytest.raises(hf.ObjectNotFound):
                checkpoint._native.restore_to(placed.make, 0, 9)
            return rebuild(saved.text, placed.array_of), saved

    back, saved = restored()
    assert saved.step == 2 and saved.damage == []
    np.testing.assert_array_equal(back["x"], state["x"])
    assert back["one"] == 2.5 and type(back["one"]) is np.float32 and back["none"].shape == (0, 2) and back["n"] == 3
    del saved  # it keeps the pool open
    damage_second_save(tmp_path / "a.hold")
    back, saved = restored()
    assert saved.step == 1 and len(saved.damage) == 1
    np.testing.assert_array_equal(back["x"], state["x"] - 1)


@no_gpu
def test_torch_tensors_are_saved_from_the_gpu_and_come_back(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    weights = torch.randn(3000, 700, device="cuda")
    state = {
        "w": weights, "tied": weights, "t": weights.t(), "step": torch.tensor(4.0), "rng": torch.get_rng_state(),
        "b": torch.randn(7, device="cuda").to(torch.bfloat16), "none": torch.empty(0, 3, device="cuda"), "lr": 0.1,
        "half": weights[::2, ::3], "flags": torch.arange(9, device="cuda") % 2 == 0,
    }  # fmt: skip
    for stage in (True, False):
        for stream in (torch.cuda.current_stream(), torch.cuda.Stream()):
            with torch.cuda.stream(stream), hf.Checkpoint(tmp_path / f"{stage}.hold", copies=3) as checkpoint:
                weights.normal_()
                expected = {name: value.cpu() for name, value in state.items() if name != "lr"}
                ticket = checkpoint.save(state, 5, stage=stage)
                weights.zero_()  # at once, on the stream
                ticket.wait()
                back, step = checkpoint.restore(device="cuda")
                assert step == 5 and back["lr"] == 0.1 and back["w"] is back["tied"]
                on_host, _ = checkpoint.restore()
                for name, value in expected.items():
                    wanted_on = "cpu" if name in ("step", "rng") else "cuda"
                    assert back[name].device.type == wanted_on and on_host[name].device.type == "cpu", name
                    assert back[name].dtype == value.dtype and torch.equal(back[name].cpu(), value), name
                    assert torch.equal(on_host[name], value), name


@no_gpu
@pytest.mark.alone
def test_a_state_for_which_gpu_memory_has_no_space_twice(folder: Path) -> None:
    """Staging it is refused, and nothing is lost; saving it without, or with room again, works."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    runtime = cupy.cuda.runtime
    array = cupy.full(64 << 20, 1, dtype=cupy.float32)
    with hf.Checkpoint(folder / "a.hold", copies=3) as checkpoint:  # what a GPU cannot map, a save does not stage
        checkpoint.save({"a": array[:1000]}, 1).wait()
        checkpoint.save({"a": array}, 2, stage=False).wait()
        taken = []
        try:
            for size in (1 << 30, 64 << 20):  # all but 128 MiB and what is too little for a piece
                while runtime.memGetInfo()[0] > size + (128 << 20):
                    taken.append(runtime.malloc(size))
            with pytest.raises(hf.DeviceError, match=r"stages 268435456 bytes .* save with stage=false"):
                checkpoint.save({"a": array}, 3)
            assert checkpoint.restore()[1] == 2
            array.fill(4)
            checkpoint.save({"a": array}, 4, stage=False).wait()
        finally:
            for address in taken:
                runtime.free(address)
        array.fill(5)
        checkpoint.save({"a": array}, 5).wait()
        back, step = checkpoint.restore()
        assert step == 5 and (back["a"] == 5).all()
        assert checkpoint.saved[1]["step"] == 4


@no_gpu
def test_cupy_arrays_are_saved_from_the_gpu_and_come_back(tmp_path: Path) -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    array = cupy.arange(600_000, dtype=cupy.float32).reshape(600, 1000)
    expected = cupy.asnumpy(array)
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint, cupy.cuda.Stream(non_blocking=True):
        for stage in (True, False):
            ticket = checkpoint.save({"a": array, "part": array[::2].T, "host": np.ones(2)}, 1, stage=stage)
            array.fill(-1)
            ticket.wait()
            back, _ = checkpoint.restore(device="cuda")
            assert isinstance(back["a"], cupy.ndarray) and isinstance(back["host"], np.ndarray)
            np.testing.assert_array_equal(cupy.asnumpy(back["a"]), expected)
            np.testing.assert_array_equal(cupy.asnumpy(back["part"]), expected[::2].T)
            np.testing.assert_array_equal(checkpoint.restore()[0]["a"], expected)
            array[...] = cupy.asarray(expected)


def test_the_machine_says_why_it_has_no_gpu() -> None:
    assert (GPUS == 0) == bool(WHY_NO_GPU)
    if GPUS:
        assert place_of("cuda:0") == "cuda:0"
