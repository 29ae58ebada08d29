"""The demo, small; and that its verification would notice what it claims cannot happen."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from conftest import PATIENCE_S
from test_cli import as_json, holdfast

from holdfastdb import Error, Table, demo
from holdfastdb.demo import unicode, worker
from holdfastdb.demo.journal import Journal
from holdfastdb.demo.lines import Lines
from holdfastdb.demo.plan import Plan


def test_the_demo(folder: Path, device: str) -> None:
    path = folder / "demo.hold"
    text = holdfast("demo", "--quick", "--path", path, "--device", device).stdout
    assert "nothing acknowledged was lost, nothing is torn" in text
    assert text.count("SIGKILL") == 4 and " M/s" in text  # of either part
    assert "GRINNING FACE" in holdfast("get", path, "0x1F600").stdout
    point = as_json("get", path, "U+0041")["items"][0]["code_point"]
    assert point["name"] == "LATIN CAPITAL LETTER A" and point["lower"] == 0x61 and point["category"] == "Lu"
    assert "<control>" in holdfast("get", path, 0).stdout
    example = text.split()[-1]
    assert example.endswith(".py:1") and holdfast("get", folder / "demo-lines.hold", example).stdout.strip()
    report = as_json("check", path)
    assigned = sum(unicodedata.category(chr(p)) not in ("Cn", "Cs", "Co") for p in range(0x110000))
    assert report["ok"] and report["items"] == assigned + 20_000
    assert "exists" in holdfast("demo", "--quick", "--path", path, status=2).stderr


def test_the_demo_as_json(folder: Path) -> None:
    outcome = as_json(
        "demo", "--path", folder / "d.hold", "--items", 30_000, "--kills", 3, "--lines", 0, "--device", "cpu"
    )
    assert outcome["ok"] and outcome["random_items"] == 30_000
    assert len(outcome["kills"]) == 3
    for kill in outcome["kills"]:
        assert kill["verified"]["lost"] == kill["verified"]["torn"] == kill["verified"]["given_wrong"] == 0
        assert kill["written_at"].startswith("0x") and kill["verified"]["address"].startswith("0x")
    assert outcome["rates"]["load"] > 0
    assert outcome["lines"] is None


def test_the_demo_with_a_csv_file(folder: Path) -> None:
    rows = folder / "mine.csv"
    rows.write_text('id,name,place\n1,Ada,London\n0x10,"Grace, Rear Admiral",New York\n1,Ada L.,London\n\n0,zero,ø\n')
    path = folder / "mine.hold"
    holdfast("demo", "--quick", "--csv", rows, "--path", path, "--device", "cpu")
    assert holdfast("get", path, 1).stdout == "Ada L.,London\n"
    assert holdfast("get", path, 16).stdout == '"Grace, Rear Admiral",New York\n'
    assert holdfast("get", path, 0).stdout == "zero,ø\n"
    rows.write_text("1,a\nx,b\n")
    assert "row 2: the first column is 'x'" in holdfast(
        "demo", "--quick", "--csv", rows, "--path", folder / "n.hold", status=2
    ).stderr  # fmt: skip
    assert not (folder / "n.hold").exists()


def test_records() -> None:
    for point in (0, 0x41, 0x1F600, 0x10FFFF, 0xBD, 0x0F33):
        record = unicode.encode(unicode.describe(point, cases=True))
        assert len(record) == 128
        assert unicode.decode(record) == unicode.describe(point, cases=True)
        torn = record[:64] + bytes(64)
        assert unicode.decode(torn) is None
    assert unicode.decode(bytes(128)) is None


def test_the_plan_is_what_its_batches_write() -> None:
    plan = Plan(items=1000, batch=64, value_bytes=40, seed=9)
    everything = np.arange(1000)
    versions = np.zeros(1000, np.uint64)
    for batch in range(plan.batches + 1):
        assert (plan.versions_after(everything, batch) == versions).all()
        if batch < plan.batches:
            items, new = plan.written_by(batch)
            assert len(np.unique(items)) == len(items)
            versions[items] = new
    assert len(np.unique(plan.keys(everything))) == 1000
    values = plan.values(plan.keys(everything), versions)
    assert values.shape == (1000, 40) and (values[:, :8].copy().view(np.uint64)[:, 0] == versions).all()


@pytest.mark.parametrize("harm", ["none", "lost", "stale", "torn", "extra", "given"])
def test_the_verifier_sees_harm(folder: Path, harm: str) -> None:
    plan = Plan(items=2000, batch=100, value_bytes=24, seed=5)
    given_keys, given = np.arange(50, dtype=np.uint64), np.ones((50, 24), np.uint8)
    np.savez(folder / "given.npz", keys=given_keys, values=given)
    path = folder / "x.hold"
    written = 8
    with Table.create(path, value=24, capacity=4000, device="cpu") as table:
        table.insert(given_keys, given)
        for batch in range(written):
            items, versions = plan.written_by(batch)
            keys = plan.keys(items)
            table.insert_or_assign(keys, plan.values(keys, versions))
        victim = plan.keys(np.array([8]))
        if harm == "lost":
            table.erase(victim)
        elif harm == "stale":
            table.assign(victim, plan.values(victim, np.array([1], np.uint64)))
        elif harm == "torn":
            value = plan.values(victim, plan.versions_after(np.array([8]), written))
            value[0, 16:] ^= 1
            table.assign(victim, value)
        elif harm == "extra":
            table.insert([2**40], given[:1])
        elif harm == "given":
            table.assign([7], given[:1] * 2)
    report = worker.verify(
        {
            "pool": str(path), "device": "cpu", "plan": plan.__dict__, "given": str(folder / "given.npz"),
            "lines": False, "acknowledged": written, "begun": written + 1,
        }
    )  # fmt: skip
    counts = {
        "lost": report["lost"],
        "stale": report["lost"],
        "torn": report["torn"],
        "extra": report["unexpected_items"],
        "given": report["given_wrong"],
    }
    assert report["pending_absent"] == 125 and report["pending_applied"] == 0
    if harm == "none":
        assert not any(counts.values())
    else:
        assert counts[harm] == 1


@pytest.mark.parametrize("harm", ["none", "lost", "stale", "torn", "extra"])
def test_the_verifier_of_lines_sees_harm(folder: Path, harm: str) -> None:
    plan = Plan(items=2000, batch=100, value_bytes=16, seed=0)
    lines = Lines(plan.items)
    path = folder / "x.hold"
    written = 8
    with Table.create(path, key=bytes, value=bytes, capacity=4000, device="cpu") as table:
        for batch in range(written):
            table.insert_or_assign(*lines.rows(*plan.written_by(batch)))
        (key,), (text,) = lines.rows(np.array([8]), np.array([1]))
        assert table.find([key])[0][0] == lines.value(8, 2) != text
        if harm == "lost":
            table.erase([key])
        elif harm == "stale":
            table.assign([key], [text])
        elif harm == "torn":
            table.assign([key], [lines.value(8, 2)[:-1]])
        elif harm == "extra":
            table.insert([b"nowhere.py:1"], [b"pass"])
    report = worker.verify({
        "pool": str(path), "device": "cpu", "plan": plan.__dict__, "given": None, "lines": True,
        "acknowledged": written, "begun": written + 1,
    })  # fmt: skip
    counts = {"lost": report["lost"], "torn": report["torn"], "extra": report["unexpected_items"]}
    counts["stale"] = counts["lost"]
    assert report["pending_absent"] == 125 and report["pending_applied"] == 0
    if harm == "none":
        assert not any(counts.values())
    else:
        assert counts[harm] == 1


def test_the_journal_survives_its_writer(folder: Path) -> None:
    with Journal(folder / "j", create=True) as journal, Journal(folder / "j") as seen:
        journal.begin(0)
        assert (seen.begun, seen.acknowledged) == (1, 0)
        journal.acknowledge(0, 1000, 10)
        assert (seen.acknowledged, seen.nanoseconds, seen.operations) == (1, 1000, 10)


def test_the_writer_waits_for_its_killer(folder: Path) -> None:
    plan = Plan(items=1000, batch=100, value_bytes=16, seed=3)
    path = folder / "x.hold"
    Table.create(path, value=16, capacity=2000, device="cpu").close()
    task = {
        "do": "load", "pool": str(path), "device": "cpu", "plan": plan.__dict__, "first": 0, "lines": False,
        "journal": str(folder / "j"), "address": str(folder / "address"),
    }  # fmt: skip
    with Journal(folder / "j", create=True) as journal:
        journal.limit = 4
        command = [sys.executable, "-m", "holdfastdb.demo.worker"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as child:
            assert child.stdin is not None
            child.stdin.write(json.dumps(task))
            child.stdin.close()
            deadline = time.monotonic() + PATIENCE_S
            while journal.acknowledged < 4 and child.poll() is None and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(0.1)
            assert (journal.begun, journal.acknowledged, child.poll()) == (4, 4, None)
            journal.limit = plan.batches
            assert child.wait(PATIENCE_S) == 0
        assert (journal.begun, journal.acknowledged) == (10, 10)


def test_a_failing_child_is_told(folder: Path) -> None:
    with pytest.raises(Error, match="cuda:77"):
        demo.run(demo.Options(folder / "x.hold", device="cuda:77", items=1000))
    assert json.loads(json.dumps(demo.Outcome("x").as_dict()))["ok"] is False
