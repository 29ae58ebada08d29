"""The recipes of the guides that a guide's own test cannot run: a nightly backup, and a restart that is rehearsed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import PATIENCE_S

import holdfastdb as hf

GUIDES = Path(__file__).parents[3] / "docs" / "guides"
NAMESPACE = ["unshare", "--map-root-user", "--mount", "true"]


def block(guide: str, language: str, part: str) -> str:
    """The code block of this language that has the text in it."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", (GUIDES / guide).read_text(), re.DOTALL | re.MULTILINE)
    (one,) = [text for text in found if part in text]
    return one


def tools(folder: Path) -> dict[str, str]:
    """An environment whose `holdfast` and `python` are those of the tests."""
    bin = folder / "bin"
    bin.mkdir(exist_ok=True)
    for name, words in (("holdfast", "-m holdfastdb "), ("python", "")):
        (bin / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (bin / name).chmod(0o755)
    return os.environ | {"PATH": f"{bin}:{os.environ['PATH']}"}


def wait_for(what: str, happened: object) -> None:
    end = time.monotonic() + PATIENCE_S
    while not happened():  # type: ignore[operator]
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.01)


WRITES = """
at = 0
while True:
    served.insert_or_assign(np.arange(at, at + 100, dtype=np.uint64), np.full(100, at, np.uint64))
    at += 100
"""


def test_a_nightly_backup_while_a_program_writes(folder: Path) -> None:
    guide = block("move-and-backup.md", "python", "back_up_when_asked")
    lines = block("move-and-backup.md", "cron", "served.pid").splitlines()
    jobs = [line.split(maxsplit=5)[5].replace(r"\%", "%").replace("/srv/items", str(folder)) for line in lines]
    environment = tools(folder) | {"LC_ALL": "C"}
    (folder / "keep.sh").write_text(block("move-and-backup.md", "sh", "set -e"))

    def cron(job: str) -> int:
        return subprocess.run(["sh", "-c", job], env=environment, cwd="/", timeout=PATIENCE_S).returncode

    program = f"import numpy as np\nimport holdfastdb as hf\n{guide}{WRITES}"
    writer = subprocess.Popen([sys.executable, "-c", program], cwd=folder)
    try:
        wait_for("the program's number", (folder / "served.pid").exists)
        assert cron(jobs[1]) != 0  # no snapshot yet: nothing is kept
        backup, items = folder / "served-backup.hold", 0

        def has_kept_more() -> bool:
            nonlocal items
            before, kept_before = backup.stat().st_ino if backup.exists() else None, items
            assert cron(jobs[0]) == 0
            wait_for("a snapshot", lambda: backup.exists() and backup.stat().st_ino != before)
            assert cron(jobs[1]) == 0
            (kept,) = folder.glob("???.hold")
            with hf.Table.open(kept, "cpu", "r") as table:
                items = len(table)
            assert items >= kept_before and items % 100 == 0
            return items > kept_before

        for _ in range(2):  # again where a busy machine lets the program write nothing between two snapshots
            wait_for("a snapshot of more", has_kept_more)
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.wait()


def test_a_sparse_copy_is_allocated(folder: Path) -> None:
    """The guide's copies, by the commands that it shows: only the sparse one is refused, until it is allocated."""
    commands = block("move-and-backup.md", "console", "items-monday.hold").replace("$ ", "").splitlines()
    whole, sparse = folder / "elsewhere.hold", folder / "sparse.hold"

    def run(command: str, status: int = 0) -> str:
        done = subprocess.run(
            ["sh", "-c", command], env=tools(folder), cwd=folder, timeout=PATIENCE_S, capture_output=True, text=True
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stderr

    at = next(i for i, command in enumerate(commands) if command.startswith("fallocate "))
    for command in commands[:at]:
        run(command)
    assert whole.stat().st_blocks * 512 >= whole.stat().st_size > sparse.stat().st_blocks * 512
    before = sparse.read_bytes()
    assert "it is a sparse copy, or made to mislead" in run(commands[at + 1], status=2)
    run(commands[at])
    assert sparse.read_bytes() == before
    run(commands[at + 1])


@pytest.mark.skipif(subprocess.run(NAMESPACE, capture_output=True).returncode != 0, reason="needs a mount namespace")
def test_a_rehearsed_restart(tmp_path: Path) -> None:
    """tmp_path: on an ordinary file system, or the medium would be another."""
    if hf.Table.create(tmp_path / "x.hold", value=8, device="cpu").stats()["medium"] != "file":
        pytest.skip("needs a file system on a disk")
    script = block("operate.md", "sh", "boot_id")
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=tools(tmp_path), capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode in (0, 1), done.stderr
    assert "refused, as after a restart" in done.stdout
    assert "was open when the machine stopped or restarted" in done.stderr
    with hf.Table.open(tmp_path / "rehearsal.hold", "cpu") as table:  # nothing restarted this machine
        assert bytes(table[1]) == b"8 bytes."
    (tmp_path / "rehearsal.hold").unlink()
    closed = script.replace("os.kill(os.getpid(), signal.SIGKILL)", "table.close()")
    done = subprocess.run(
        ["sh", "-c", closed], cwd=tmp_path, env=tools(tmp_path), capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert "refused" not in done.stdout and "8 bytes." in done.stdout, done.stdout + done.stderr
