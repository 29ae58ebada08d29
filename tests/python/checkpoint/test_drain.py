"""States that are drained to a file while saves go on: always whole, of a durable state, and errors are told."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE_S

import holdfastdb as hf
from holdfastdb.checkpoint import drain as drain_module
from holdfastdb.checkpoint.elements import bytes_of
from holdfastdb.checkpoint.safetensors import read, write


def step_in(path: Path) -> int:
    """Of a whole file whose tensor is right."""
    loaded = read(path)
    step = int(loaded.metadata["holdfast.step"])
    assert (loaded.data.view(np.int64) == step).all()
    return step


class Held:
    """Holds every drain until it is let go, and looks whether its copy changed meanwhile."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go = threading.Semaphore(0), threading.Semaphore(0)
        monkeypatch.setattr(drain_module, "write", self._write)

    def _write(self, path: Path, replaced: Any, step: int, text: str, tensors: list[Any]) -> None:
        self.begun.release()
        assert self.go.acquire(timeout=PATIENCE_S)
        for given in tensors:
            memory = (ctypes.c_uint8 * bytes_of(given)).from_address(given[3])
            assert (np.frombuffer(memory, np.int64) == step).all(), "a save overwrote what is drained"
        write(path, replaced, step, text, tensors)


def state(step: int) -> dict[str, Any]:
    return {"x": np.full(20_000, step)}


def test_every_other_save_is_drained(tmp_path: Path) -> None:
    out = tmp_path / "out.safetensors"
    with hf.Checkpoint(tmp_path / "a.hold", 3, drain=out, every=2) as checkpoint:
        checkpoint.save(state(1), 1).wait()
        checkpoint.wait()
        assert checkpoint.drained is None and not out.exists()
        for step in (2, 3):
            checkpoint.save(state(step), step)
            checkpoint.wait()
            assert checkpoint.drained == step_in(out) == 2
        checkpoint.save(state(4), 4)
    assert checkpoint.drained == step_in(out) == 4  # closing waits
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.hold", "out.safetensors"]


def test_saves_go_on_beside_a_drain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, out = Held(monkeypatch), tmp_path / "out"
    with hf.Checkpoint(tmp_path / "a.hold", 3, drain=out) as checkpoint:
        checkpoint.save(state(1), 1).wait()
        assert held.begun.acquire(timeout=PATIENCE_S)
        for step in range(2, 7):
            checkpoint.save(state(step), step, wait=False).wait()
        held.go.release(2)
        checkpoint.wait()
        assert checkpoint.drained == step_in(out) == 6  # those between were left out


def test_of_two_copies_none_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, out = Held(monkeypatch), tmp_path / "out"
    with hf.Checkpoint(tmp_path / "a.hold", 2, drain=out, every=3) as checkpoint:
        for step in (1, 2, 3, 4):
            checkpoint.save(state(step), step).wait()
            if step == 3:
                assert held.begun.acquire(timeout=PATIENCE_S)
        try:
            with pytest.raises(hf.ObjectInUse):
                checkpoint.save(state(5), 5, wait=False)
        finally:
            held.go.release(2)
        checkpoint.save(state(5), 5).wait()
        checkpoint.wait()
        assert step_in(out) == 3


def test_an_error_is_told_once_and_draining_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    out = folder / "out"
    with hf.Checkpoint(tmp_path / "a.hold", 3, drain=out) as checkpoint:
        checkpoint.save(state(1), 1)
        checkpoint.wait()
        folder.rename(tmp_path / "gone")
        checkpoint.save(state(2), 2).wait()
        with pytest.raises(hf.InvalidArgument, match="is no folder") as raised:
            checkpoint.wait()
        assert f"the drain to {out}" in raised.value.__notes__[0]
        checkpoint.save(state(3), 3).wait()
        checkpoint._drain.wait()  # type: ignore[union-attr]
        with pytest.raises(hf.InvalidArgument, match="is no folder"):
            checkpoint.save(state(4), 4)
        assert checkpoint.restore()[1] == 3, "what was saved stands"
        (tmp_path / "gone").rename(folder)
        assert step_in(out) == 1
        checkpoint.save(state(5), 5)
        checkpoint.wait()
        assert step_in(out) == 5
        out.unlink()
        out.mkdir()
        checkpoint.save(state(6), 6)
        with pytest.raises(hf.MediumError, match="a folder"):
            checkpoint.close()
        checkpoint.close()
    with hf.Checkpoint(tmp_path / "a.hold") as checkpoint:
        assert checkpoint.restore()[1] == 6


def test_bad_targets_are_refused(tmp_path: Path) -> None:
    pool = tmp_path / "a.hold"
    with pytest.raises(hf.InvalidArgument, match="is no folder"):
        hf.Checkpoint(pool, drain=tmp_path / "no" / "out")
    with pytest.raises(hf.PoolExists, match="is a pool"):
        hf.Checkpoint(pool, drain=pool)
    with pytest.raises(hf.InvalidArgument, match="every"):
        hf.Checkpoint(pool, drain=tmp_path / "out", every=0)
    with pytest.raises(hf.InvalidArgument, match="saves nothing"):
        hf.Checkpoint(pool, mode="r", drain=tmp_path / "out")
    hf.Checkpoint(pool).close()  # it was closed


def test_a_damaged_state_is_not_drained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, pool = tmp_path / "out", tmp_path / "a.hold"
    with hf.Checkpoint(pool, 3, drain=out, every=2) as checkpoint:
        real = checkpoint._native.restore

        class Damaging:
            def restore(self, wanted: list[str]) -> Any:
                data = bytearray(pool.read_bytes())
                at = data.index(np.full(64, 2).tobytes())
                with pool.open("r+b") as file:
                    file.seek(at)
                    file.write(b"\xff")
                return real(wanted)

        checkpoint._drain._native = Damaging()  # type: ignore[union-attr,assignment]
        for step in (1, 2):
            checkpoint.save(state(step), step).wait()
        with pytest.raises(hf.PoolCorrupt, match="was not written, for the newest state is damaged"):
            checkpoint.wait()
    assert not out.exists()


SAVE = """
import sys, numpy as np, holdfastdb as hf
with hf.Checkpoint(sys.argv[1], 3, drain=sys.argv[2]) as checkpoint:
    try:
        step = checkpoint.restore()[1]
    except hf.ObjectNotFound:
        step = 0
    while True:
        step += 1
        checkpoint.save({"x": np.full(200_000, step)}, step)
        if checkpoint.drained is not None:
            print(checkpoint.drained, flush=True)
"""


def test_kills_leave_a_whole_file(tmp_path: Path) -> None:
    out, left = tmp_path / "out", 0
    (tmp_path / "out.1.partial").write_text("not a drain's")
    for kill in range(1, 101):
        if kill > 15 and left:
            break  # whether a kill is in a drain is chance
        drained = 0
        with subprocess.Popen(
            [sys.executable, "-c", SAVE, tmp_path / "a.hold", out], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            for _ in range(min(kill, 15)):
                drained = int(child.stdout.readline())
            os.kill(child.pid, signal.SIGKILL)
        assert step_in(out) >= drained
        partial = [file for file in tmp_path.glob("out.*.partial") if file.name != "out.1.partial"]
        assert len(partial) <= 1, "what a killed drain left goes when the next begins"
        left += len(partial)
    assert left > 0, "no kill was in a drain"
    assert (tmp_path / "out.1.partial").read_text() == "not a drain's"


def test_a_forked_child_waits_for_no_thread_of_the_parent(tmp_path: Path) -> None:
    code = """
import sys, os, signal, numpy as np, holdfastdb as hf
pool = hf.Pool.create(sys.argv[1])
checkpoint = hf.Checkpoint(pool, 3, drain=sys.argv[2])
state = {"x": np.full(1_000, 7)}
for step in range(40):
    ticket = checkpoint.save(state, step)
    if step % 2:  # its thread is at its beginning, or there is none
        checkpoint.wait()
    if (child := os.fork()) == 0:
        signal.alarm(60)
        try:
            checkpoint.save(state, step)
        except hf.ObjectClosed as error:
            checkpoint.close()
            os._exit("parent" not in str(error))
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0, step
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "a.hold", tmp_path / "out"], check=True, timeout=PATIENCE_S)


def test_a_program_that_ends_has_drained(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = """
import sys, os, numpy as np, holdfastdb as hf
checkpoint = hf.Checkpoint(sys.argv[1], 3, drain=sys.argv[2])
checkpoint.save({"x": np.full(1_000_000, 7)}, 7)
if (child := os.fork()) == 0:
    try:
        checkpoint.close()
    except hf.ObjectClosed:  # it is the parent's; what matters is that no call waits for a thread that is not there
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "a.hold", out], check=True, timeout=PATIENCE_S)
    assert step_in(out) == 7
