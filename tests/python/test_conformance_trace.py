"""The conformance trace: every public operation, replayed on every machine against a recording and a dict."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from conformance_trace import replay, shim, tables
from conformance_trace.replay import Difference, Trace
from conformance_trace.shim import Machine
from conformance_trace.steps import Answer, Step, Wrong

SEEDS = int(os.environ.get("HOLDFAST_TRACE_SEEDS", "1"))
"""Programs of each table; 8 are recorded, and what goes beyond is judged by the dict alone."""


@pytest.fixture(scope="module")
def recording() -> dict[str, Any]:
    return replay.read_recording()


@pytest.mark.parametrize("trace", replay.traces(SEEDS), ids=lambda trace: trace.name.replace(" ", "-"))
@pytest.mark.parametrize("on", shim.machines(), ids=lambda machine: machine.name)
def test_as_recorded(trace: Trace, on: Machine, folder: Path, recording: dict[str, Any]) -> None:
    if not shim.able(trace.kind, on):
        pytest.skip("bfloat16 needs PyTorch")
    replay.compare(trace, on, folder, recording)


def test_a_recording_has_all_that_it_should(recording: dict[str, Any]) -> None:
    assert set(recording["traces"]) == {trace.name for trace in replay.traces(replay.RECORDED_SEEDS)}


SMALL = Trace(next(kind for kind in tables.KINDS if kind.name == "k8-v8"))


def test_one_wrong_status_is_found(folder: Path, recording: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shim.Table.batch

    def altered(table: shim.Table, batch: Any) -> Answer:
        answer = whole(table, batch)
        if batch.op == "erase" and len(batch.keys) > 9:
            answer["statuses"] = answer["statuses"][:9] + b"\x01" + answer["statuses"][10:]
        return answer

    monkeypatch.setattr(shim.Table, "batch", altered)
    with pytest.raises(
        Difference, match=r"k8-v8 0 on cpu, step \d+ \(erase.*statuses, row 9: expected '\w+', got 'exists'"
    ):
        replay.compare(SMALL, Machine("cpu"), folder, recording)


def test_one_wrong_byte_is_found(folder: Path, recording: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shim.Table.rows

    def altered(table: shim.Table, got: Any, n: int) -> list[bytes | None]:
        rows = whole(table, got, n)
        return [*rows[:-1], bytes(len(rows[-1] or b""))]

    monkeypatch.setattr(shim.Table, "rows", altered)
    with pytest.raises(Difference, match=r"values, row \d+: expected b'.*', got b'\\x00.*\(key b'"):
        replay.compare(SMALL, Machine("cpu"), folder, recording)


def test_another_message_is_found(folder: Path, recording: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shim.message_of
    monkeypatch.setattr(shim, "message_of", lambda error, at: whole(error, at) + "!")
    with pytest.raises(Difference, match=r"expected as recorded\n.*refused: float keys.*\ngot\n.*!"):
        replay.compare(Trace(replay.WRONG), Machine("cpu"), folder, recording)


def test_an_answer_and_an_oracle_that_are_wrong_alike_are_found(
    folder: Path, recording: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def alike(step: Step, expected: Answer, got: Answer) -> bool:
        if "statuses" in got and not isinstance(step, Wrong):
            got["statuses"] = bytes(len(got["statuses"]))
        return True

    monkeypatch.setattr(replay, "agrees", alike)
    with pytest.raises(Difference, match="expected as recorded"):
        replay.compare(SMALL, Machine("cpu"), folder, recording)
