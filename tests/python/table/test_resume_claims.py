"""What a resume file says of a load while the pool is synced, and in which order both come to the device."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfastdb as hf
from holdfastdb.transfer import files, resume_file

ROWS, BATCH = 50, 10


class Stop(Exception):
    pass


def said(path: Path) -> dict[str, Any]:
    """What the resume file says."""
    content: dict[str, Any] = json.loads(path.read_text().split("\n", 1)[1])
    return content


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "items.csv"
    path.write_text("key,int64\n" + "".join(f"{i},{i}\n" for i in range(ROWS)))
    return path


def interrupted_load(source: Path, table: hf.Table, resume: Path, error: type[BaseException] = Stop) -> None:
    def stop(*_: Any) -> None:
        raise error

    with pytest.raises(error):
        hf.load(table, source, batch=BATCH, resume_file=resume, progress=stop)


@pytest.fixture
def table(tmp_path: Path) -> hf.Table:
    return hf.Table.create(tmp_path / "items.hold", device="cpu")


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What happens to files and the table, in order."""
    found: list[str] = []

    def noting(name: Callable[..., str], call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*given: Any) -> Any:
            found.append(name(*given))
            return call(*given)

        return noted

    def kind(descriptor: int) -> str:
        return "fsync of the folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "fsync of a file"

    monkeypatch.setattr(os, "fsync", noting(kind, os.fsync))
    monkeypatch.setattr(resume_file, "give_name", noting(lambda *_: "name", files.give_name))
    monkeypatch.setattr(hf.Table, "sync", noting(lambda *_: "sync", hf.Table.sync))
    return found


def test_the_pool_is_synced_before_the_file_says_so(
    source: Path, table: hf.Table, tmp_path: Path, events: list[str]
) -> None:
    interrupted_load(source, table, tmp_path / "resume")
    assert events == ["name", "sync", "fsync of a file", "name", "fsync of the folder"]
    assert said(tmp_path / "resume")["synced"] is True


def test_while_the_pool_is_synced_the_file_claims_no_more(
    source: Path, table: hf.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that stops in the middle of the sync, or right behind it, finds a file that does not say synced."""
    seen: list[dict[str, Any]] = []
    sync = hf.Table.sync

    def looking(given: hf.Table) -> None:
        seen.append(said(tmp_path / "resume"))
        sync(given)
        seen.append(said(tmp_path / "resume"))

    monkeypatch.setattr(hf.Table, "sync", looking)
    interrupted_load(source, table, tmp_path / "resume", KeyboardInterrupt)
    assert [(one["synced"], one["counts"]["rows"]) for one in seen] == [(False, BATCH)] * 2


@pytest.mark.parametrize("where", ["sync", "fsync"])
def test_a_failed_sync_is_not_claimed(
    source: Path, table: hf.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(5, "Input/output error")

    if where == "sync":
        monkeypatch.setattr(hf.Table, "sync", fails)
    else:
        monkeypatch.setattr(os, "fsync", fails)
    interrupted_load(source, table, tmp_path / "resume")
    assert said(tmp_path / "resume")["synced"] is False
    monkeypatch.undo()
    if table.stats()["domain"] != "power":  # after a restart of the machine nobody goes on by such a file
        monkeypatch.setattr("holdfastdb.transfer.loading.boot_id", lambda: "another run")
        with pytest.raises(hf.InvalidArgument, match="from before the machine restarted"):
            hf.load(table, source, batch=BATCH, resume_file=tmp_path / "resume", resume=True)


def test_drafts_go_before_the_resume_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process killed between the two leaves the file, by which a later transfer finds the drafts."""
    resume, draft = tmp_path / "resume", tmp_path / "resume.1-0"
    file = resume_file.ResumeFile(resume)
    file.write({"rows": 1})
    draft.write_text("holdfast resume")
    there: list[bool] = []
    unlink = Path.unlink

    def unlinking(path: Path, *given: Any, **named: Any) -> None:
        if path == draft:
            there.append(resume.exists())
        unlink(path, *given, **named)

    monkeypatch.setattr(Path, "unlink", unlinking)
    file.remove()
    assert there == [True] and list(tmp_path.iterdir()) == []


def test_each_batch_is_acknowledged_before_the_file_has_it(
    source: Path, table: hf.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At no change of the table does the resume file count rows that the table has not."""
    claims: list[tuple[int, int]] = []
    change = hf.Table.insert_or_assign

    def looking(given: hf.Table, *args: Any, **named: Any) -> Any:
        resume = tmp_path / "resume"
        claims.append((said(resume)["counts"]["rows"] if resume.exists() else 0, len(given)))
        return change(given, *args, **named)

    monkeypatch.setattr(hf.Table, "insert_or_assign", looking)
    hf.load(table, source, batch=BATCH, resume_file=tmp_path / "resume")
    assert claims == [(n, n) for n in range(0, ROWS, BATCH)]
