"""Export and import of safetensors: all comes back, other programs read it, and what is damaged is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damaged_copies import damage_second_save

import holdfastdb as hf
from holdfastdb.checkpoint.elements import NUMPY

STATE: dict[Any, Any] = {
    "model": {"weight": np.arange(24, dtype=np.float32).reshape(4, 6), "half": np.ones(3, np.float16)},
    "list": [np.array(7, np.int8), np.float64(2.5), (1, None, b"\0", "text", float("inf"))],
    1: np.zeros((0, 3)),
    "flags": np.array([True, False, True]),
}


def written(path: Path, header: Any, data: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def tensor(begin: int, end: int, dtype: Any = "U8", shape: Any = None) -> dict[str, Any]:
    return {"dtype": dtype, "shape": [end - begin] if shape is None else shape, "data_offsets": [begin, end]}


def test_a_state_goes_through_a_file(tmp_path: Path) -> None:
    out = tmp_path / "a.safetensors"
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        checkpoint.save(STATE, 7).wait()
        assert checkpoint.export(out) == 7
        with pytest.raises(hf.PoolExists, match="exists already"):
            checkpoint.export(out)
        checkpoint.save({"x": 1}, 8).wait()
        assert checkpoint.export(tmp_path / "b.safetensors") == 8
        assert out.stat().st_mode & 0o777 == 0o600
        with hf.Checkpoint(tmp_path / "b.hold") as other:
            other.import_(out).wait()
            back, step = other.restore()
            assert step == 7 and back["list"][2] == STATE["list"][2] and type(back["list"][1]) is np.float64
            assert back["model"]["weight"].dtype == np.float32 and back[1].shape == (0, 3)
            np.testing.assert_array_equal(back["model"]["weight"], STATE["model"]["weight"])
            np.testing.assert_array_equal(back["flags"], STATE["flags"])
            other.import_(tmp_path / "b.safetensors", 9).wait()
            assert other.restore() == ({"x": 1}, 9)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.hold", "a.safetensors", "b.hold", "b.safetensors"]


@pytest.mark.parametrize("most", [None, 5000])
def test_many_tensors_come_whole_however_little_the_system_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int | None
) -> None:
    state = {str(i): np.full(i % 10, i, np.uint16) for i in range(3000)}
    if most is not None:
        monkeypatch.setattr(os, "writev", lambda descriptor, parts: os.write(descriptor, b"".join(parts)[:most]))
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        checkpoint.save(state, 1).wait()
        checkpoint.export(tmp_path / "out")
        checkpoint.import_(tmp_path / "out", 2).wait()
        back, step = checkpoint.restore()
    assert step == 2 and back.keys() == state.keys()
    assert all(np.array_equal(back[name], array) for name, array in state.items())


def test_all_elements_are_aligned_and_come_back(tmp_path: Path) -> None:
    state = {name: np.arange(5).astype(code) for name, code in NUMPY.items() if name != "C128"}
    out = tmp_path / "a.safetensors"
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        checkpoint.save(state, 1).wait()
        checkpoint.export(out)
        checkpoint.import_(out).wait()
        back, _ = checkpoint.restore()
        checkpoint.save({"x": np.zeros(2, np.complex128)}, 2).wait()
        with pytest.raises(hf.InvalidArgument, match="C128, which x has"):
            checkpoint.export(out, overwrite=True)
        checkpoint.save({"__metadata__": np.zeros(2)}, 3).wait()
        with pytest.raises(hf.InvalidArgument, match="of the name __metadata__"):
            checkpoint.export(out, overwrite=True)
    for name, array in state.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)
    raw = out.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    assert length % 8 == 0
    header = json.loads(raw[8 : 8 + length])
    for name, array in state.items():
        assert header[name]["data_offsets"][0] % array.itemsize == 0


def test_the_package_reads_and_writes_the_same(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    out, theirs = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        checkpoint.save(STATE, 7).wait()
        checkpoint.export(out)
        found = numpy.load_file(out)
        assert found.keys() == checkpoint.arrays("").keys()
        for name, array in checkpoint.arrays("").items():
            assert found[name].dtype == array.dtype and found[name].shape == array.shape
            np.testing.assert_array_equal(found[name], array)
        numpy.save_file(found, theirs, {"format": "np"})
        checkpoint.import_(theirs).wait()
        back, step = checkpoint.restore()
        assert step == 0 and back.keys() == found.keys()
        np.testing.assert_array_equal(back["model/weight"], STATE["model"]["weight"])


def test_a_file_from_elsewhere_becomes_a_dict(tmp_path: Path) -> None:
    header = {"b": tensor(8, 12, "BF16", [2]), "a": tensor(0, 8, "F32", [1, 2]), "e": tensor(12, 12)}
    path = written(tmp_path / "a", header, np.array([1, 2], np.float32).tobytes() + b"\x80\x3f\x00\x40")
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        with pytest.raises(hf.InvalidArgument, match="BF16, which b has"):
            checkpoint.import_(path)
        with pytest.raises(hf.InvalidArgument, match="kind is 'cupy'"):
            checkpoint.import_(path, kind="cupy")
        torch = pytest.importorskip("torch")
        checkpoint.import_(path, kind="torch").wait()
        back, step = checkpoint.restore()
        assert step == 0 and back["b"].dtype == torch.bfloat16 and back["b"].tolist() == [1, 2]
        assert back["a"].tolist() == [[1, 2]] and back["e"].shape == (0,)


BAD: dict[str, tuple[Any, bytes, str]] = {
    "no JSON": (b"{", b"", "Expecting"),
    "no object": ([1], b"", "no JSON object"),
    "no UTF-8": (b'{"\xff": 1}', b"", "utf-8"),
    "nested": (b"[" * 100_000, b"", "recursion"),
    "twice": (b'{"a": 1, "a": 2}', b"", "a name twice"),
    "metadata": ({"__metadata__": {"x": 1}}, b"", "metadata"),
    "entry": ({"x": 1}, b"", "lacks dtype"),
    "field": ({"x": tensor(0, 1) | {"y": 1}}, b"x", "or has more"),
    "element": ({"x": tensor(0, 1, "F6_E2M3")}, b"x", "elements 'F6_E2M3', which a checkpoint does not know"),
    "element type": ({"x": tensor(0, 1, ["U8"])}, b"x", r"elements \['U8'\]"),
    "shape": ({"x": tensor(0, 1, "U8", [-1])}, b"x", r"the shape \[-1\]"),
    "bool shape": ({"x": tensor(0, 1, "U8", [True])}, b"x", r"the shape \[True\]"),
    "offsets": ({"x": tensor(-1, 0)}, b"x", "the offsets"),
    "reversed": ({"x": tensor(1, 0)}, b"x", "the shape"),
    "size": ({"x": tensor(0, 2, "U8", [1])}, b"xx", "is 1 bytes, and has the offsets"),
    "huge": ({"x": tensor(0, 8, "F32", [1 << 62, 1 << 62])}, b"x" * 8, "strides overflow 64 bits"),
    "overlap": ({"x": tensor(0, 2), "y": tensor(1, 3)}, b"xyz", "'y' begins at 1, and the one before ends at 2"),
    "hole": ({"x": tensor(0, 1), "y": tensor(2, 3)}, b"xyz", "'y' begins at 2, and the one before ends at 1"),
    "out of range": ({"x": tensor(0, 4)}, b"xyz", "3 bytes of data, and its tensors 4"),
    "too much": ({"x": tensor(0, 2)}, b"xyz", "3 bytes of data, and its tensors 2"),
    "tree": ({"__metadata__": {"holdfast.state": '["numpy", "y"]', "holdfast.step": "1"}}, b"", "'y'"),
    "step": ({"__metadata__": {"holdfast.state": "1", "holdfast.step": "-1"}}, b"", "its step is '-1'"),
}  # fmt: skip


@pytest.mark.parametrize("header, data, message", BAD.values(), ids=BAD)
def test_a_damaged_file_is_refused(tmp_path: Path, header: Any, data: bytes, message: str) -> None:
    path = written(tmp_path / "bad", header, data)
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        checkpoint.save({"x": 1}, 1).wait()
        with pytest.raises(hf.InputError, match=message) as raised:
            checkpoint.import_(path)
        assert str(path) in str(raised.value)
        assert checkpoint.restore() == ({"x": 1}, 1)


def test_each_cut_is_refused(tmp_path: Path) -> None:
    whole = written(tmp_path / "a", {"x": tensor(0, 3)}, b"xyz").read_bytes()
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        for size in range(len(whole)):
            (tmp_path / "cut").write_bytes(whole[:size])
            with pytest.raises(hf.InputError, match="no whole safetensors file"):
                checkpoint.import_(tmp_path / "cut")
        (tmp_path / "cut").write_bytes(b"\xff" * 8 + whole[8:])
        with pytest.raises(hf.InputError, match="its header would have 18,446,744,073,709,551,615"):
            checkpoint.import_(tmp_path / "cut")
        for other in (tmp_path / "nothing", tmp_path):
            with pytest.raises(hf.InputError, match="cannot be read"):
                checkpoint.import_(other)
        assert checkpoint.saved == []


def test_an_export_replaces_only_what_it_may(tmp_path: Path) -> None:
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        with pytest.raises(hf.ObjectNotFound):
            checkpoint.export(tmp_path / "out")
        checkpoint.save(STATE, 1).wait()
        with pytest.raises(hf.PoolExists, match="is a pool"):
            checkpoint.export(tmp_path / "a.hold", overwrite=True)
        with pytest.raises(hf.MediumError, match="a folder"):
            checkpoint.export(tmp_path, overwrite=True)
        with pytest.raises(hf.InvalidArgument, match="is no folder"):
            checkpoint.export(tmp_path / "no" / "out")
        (tmp_path / "out").write_text("mine")
        (tmp_path / f"out.{os.getpid()}.partial").write_text("not ours")
        with pytest.raises(hf.PoolExists, match="not of this export"):
            checkpoint.export(tmp_path / "out", overwrite=True)
        assert (tmp_path / "out").read_text() == "mine"
        assert (tmp_path / f"out.{os.getpid()}.partial").read_text() == "not ours"


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    code = """
import resource, sys, signal
import numpy as np, holdfastdb as hf
with hf.Checkpoint(sys.argv[1]) as checkpoint:
    checkpoint.save({"x": np.zeros(1 << 20)}, 1).wait()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, -1))
    try:
        checkpoint.export(sys.argv[2], overwrite=True)
    except hf.NoSpace as error:
        print(error)
"""
    out = tmp_path / "out"
    out.write_text("before")
    command = [sys.executable, "-c", code, tmp_path / "a.hold", out]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"{out} cannot be written") and "free space" in said
    assert out.read_text() == "before"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.hold", "out"]


def test_the_command_exports(tmp_path: Path) -> None:
    pool, out = tmp_path / "a.hold", tmp_path / "out.safetensors"
    with hf.Pool.create(pool) as both:
        for name in ("dense", "other"):
            with hf.Checkpoint(both, name=name) as checkpoint:
                checkpoint.save(STATE, 1).wait()
                checkpoint.save(STATE, 2).wait()

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "holdfastdb", "checkpoint", "export", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert "give POOL:NAME of one" in run(pool, out).stderr and not out.exists()
    assert run(f"{pool}:dense", out).stdout.startswith(f"{out}: step 2 of dense")
    assert run(f"{pool}:dense", out).returncode == 2
    damage_second_save(pool)
    reported = run(f"{pool}:dense", out, "--overwrite", "--json")
    assert reported.returncode == 1
    assert json.loads(reported.stdout)["step"] == 1 and "has damage, and an older state was taken" in reported.stderr
