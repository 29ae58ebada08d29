"""A part of `scripts/hostile`, always the same: every public call and command with hostile arguments, in children."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hostile_calls
import hostile_children
import hostile_commands
import hostile_values
import pytest

import holdfastdb as hf

ROOT = Path(__file__).resolve().parents[3]


def test_a_part_of_the_campaign() -> None:
    campaign = [sys.executable, ROOT / "scripts" / "hostile", "--sample", "800"]
    done = subprocess.run(campaign, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_at_least_forty_values() -> None:
    assert len(hostile_values.VALUES) >= 40 and len(hostile_values.ODD_TEXTS) >= 40
    for call in hostile_calls.every_call():
        assert set(call.given) <= {*call.parameters, "path"}, call.name


def test_every_command_has_its_arguments() -> None:
    assert hostile_commands.commands().keys() == hostile_commands.GIVEN.keys()


class Planted:
    """A case that does what none may do."""

    def __init__(self, what: str) -> None:
        self.what = what

    def run(self, folder: Path) -> str:
        import os
        import signal

        if self.what == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.what == "exit":
            os._exit(3)
        if self.what == "raw":
            raise KeyError("x")
        return "done"

    def __str__(self) -> str:
        return self.what


def test_a_crash_is_the_fault_of_its_case() -> None:
    words = ["done", "crash", "done", "exit", "raw", "done"]
    found = hostile_children.run([Planted(word) for word in words])
    assert found.cases == len(words) and found.outcomes == {"done": 3}
    assert [(fault["case"], fault["fault"]) for fault in found.faults] == [
        ("crash", "the process ended with signal 11"),
        ("exit", "the process ended with status 3"),
        ("raw", "KeyError: 'x'"),
    ]


def test_a_call_that_does_not_end_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    monkeypatch.setattr(hostile_children, "PATIENCE_S", 0.5)
    monkeypatch.setattr(Planted, "run", lambda self, _: signal.pause() if self.what == "wait" else "done")
    found = hostile_children.run([Planted("wait"), Planted("done")])
    assert [fault["fault"] for fault in found.faults] == ["no end within 0.5 s"] and found.outcomes == {"done": 1}


@pytest.mark.parametrize(
    "error",
    [
        TypeError("__init__(): incompatible function arguments"),
        ValueError("x"),
        hf.InvalidType("'int' object is not iterable"),
        hf.InvalidArgument(""),
        MemoryError(),
        RecursionError(),
    ],
    ids=repr,
)
def test_what_must_not_come_out(error: Exception) -> None:
    with pytest.raises(hostile_children.Fault):
        hostile_children.outcome_of(error)
    assert hostile_children.outcome_of(hf.InvalidType("keys is of type str: give an array")) == "InvalidType"
