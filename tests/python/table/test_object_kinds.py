"""What is for one kind of object refuses every other kind, names the kind that it found, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import as_json, holdfast

import holdfastdb as hf
from holdfastdb import Checkpoint, MemoryTable, Pool, PoolMismatch

KINDS = {"table": "tabular", "checkpoint": "saved"}


@pytest.fixture
def path(folder: Path) -> Path:
    path = folder / "a.hold"
    with Pool.create(path) as pool:
        with pool.create_table("tabular", value=8, device="cpu") as table:
            table.insert([7], [1])
        with Checkpoint(pool, name="saved") as checkpoint:
            checkpoint.save({"a": np.arange(3)}, 5).wait()
    return path


def holds_all(path: Path) -> bool:
    with Pool.open(path, mode="r") as pool:
        with Checkpoint(pool, name="saved") as checkpoint:
            saved = [copy["step"] for copy in checkpoint.saved]
        with pool.table("tabular", "cpu") as table:
            return saved == [5] and table.find([7], dtype=np.int64)[0].tolist() == [1]


COMMANDS = [
    ("table", ["checkpoint", "drop", "OBJECT"]),
    ("table", ["checkpoint", "list", "OBJECT"]),
    ("table", ["checkpoint", "export", "OBJECT", "out.safetensors"]),
    ("checkpoint", ["create", "OBJECT", "--overwrite", "--device", "cpu"]),
    ("checkpoint", ["rename", "POOL:tabular", "saved", "--overwrite"]),
    ("table", ["rename", "POOL:saved", "tabular", "--overwrite"]),
    ("checkpoint", ["get", "OBJECT", "7"]),
    ("checkpoint", ["put", "OBJECT", "7", "x"]),
    ("checkpoint", ["del", "OBJECT", "7"]),
    ("checkpoint", ["stats", "OBJECT"]),
    ("checkpoint", ["load", "OBJECT", "in.csv"]),
    ("checkpoint", ["dump", "OBJECT", "out.csv"]),
    ("checkpoint", ["recover", "OBJECT", "--salvage", "out.csv"]),
]


@pytest.mark.parametrize(("kind", "command"), COMMANDS, ids=lambda p: " ".join(p) if isinstance(p, list) else p)
def test_commands_refuse_another_kind(path: Path, kind: str, command: list[str]) -> None:
    (path.parent / "in.csv").write_text("1,00\n")
    arguments = [part.replace("OBJECT", f"POOL:{KINDS[kind]}").replace("POOL", "a.hold") for part in command]
    done = holdfast(*arguments, status=2, folder=path.parent)
    assert done.stdout == "" and done.stderr.startswith("holdfast: ") and len(done.stderr.splitlines()) == 1
    assert f"a.hold:{KINDS[kind]} is a {kind}" in done.stderr
    assert not list(path.parent.glob("out*")) and holds_all(path)


@pytest.mark.parametrize("command", [["get", "1"], ["stats"], ["dump", "out.csv"]], ids=" ".join)
def test_the_only_object_is_of_another_kind(folder: Path, command: list[str]) -> None:
    with Checkpoint(folder / "only.hold") as checkpoint:
        checkpoint.save({"a": np.arange(3)}, 5).wait()
    done = holdfast(command[0], "only.hold", *command[1:], status=2, folder=folder)
    assert "only.hold is a checkpoint, not a table" in done.stderr
    with pytest.raises(PoolMismatch, match="is a checkpoint, not a table"):
        hf.Table.open(folder / "only.hold")


CALLS: list[tuple[str, Callable[[Pool], Any]]] = [
    ("saved is a checkpoint, not a table", lambda p: p.table("saved", "cpu")),
    ("saved is a checkpoint, which a table does not replace", lambda p: p.create_table("saved", overwrite=True)),
    ("saved is a checkpoint, which a table does not replace", lambda p: p.rename("tabular", "saved", overwrite=True)),
    ("tabular is a table, which a checkpoint does not replace", lambda p: p.rename("saved", "tabular", overwrite=True)),
    ("saved is a checkpoint", lambda p: MemoryTable().to_table(p, name="saved", device="cpu", overwrite=True)),
    ("tabular is a table, not a checkpoint", lambda p: Checkpoint(p, name="tabular")),
]


@pytest.mark.parametrize(("text", "call"), CALLS)
def test_calls_refuse_another_kind(path: Path, text: str, call: Callable[[Pool], Any]) -> None:
    with Pool.open(path) as pool, pytest.raises(PoolMismatch, match=text):
        call(pool)
    assert [found.name for found in hf.inspect(path).objects] == ["tabular", "saved"] and holds_all(path)


def test_what_is_for_every_kind(path: Path) -> None:
    """drop, rename and check are; `checkpoint drop` drops a checkpoint."""
    assert as_json("check", f"{path}:saved")["ok"] and hf.check(path, name="saved").ok
    holdfast("rename", f"{path}:saved", "old")
    assert holdfast("checkpoint", "drop", f"{path}:old").stdout == f"dropped {path}:old\n"
    with Checkpoint(path, name="again"):
        pass
    holdfast("drop", f"{path}:again")
    assert [found.name for found in hf.inspect(path).objects] == ["tabular"]
