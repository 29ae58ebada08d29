"""Ctrl-C during a command says what has become of the work and how to go on; what only reads behaves alike on a pool
whose process was killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import PATIENCE_S
from test_cli import RUN, as_json, holdfast

import holdfastdb as hf
from holdfastdb import Checkpoint, Pool, Table

ROWS = 40_000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text("".join(f"{key},{key}\n" for key in range(ROWS)))
    return path


def interrupted(command: list[object], batch: str) -> tuple[str, int]:
    """Runs a command that is interrupted where it has come so far; what it says, and its exit status."""
    ending = (
        # A job in the background of a shell inherits SIGINT as ignored.
        "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"import holdfastdb.transfer.rows as rows\nrows._MOST_ROWS = 1000\n{batch}\n"
        "from holdfastdb.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", ending, *map(str, command)], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.stdout == ""
    return done.stderr, done.returncode


AFTER = """
from holdfastdb.transfer import {module} as module
real, calls = module.{cls}.{name}, [0]
def counted(self, *arguments, **options):
    calls[0] += 1
    if calls[0] == {when}:
        os.kill(os.getpid(), signal.SIGINT)
    return real(self, *arguments, **options)
module.{cls}.{name} = counted
"""


def test_a_load(folder: Path, source: Path) -> None:
    pool = folder / "a.hold"
    holdfast("create", pool, "--value", 8, "--device", "cpu")
    load = ["load", pool, source, "--value", "int64", "--device", "cpu"]
    said, status = interrupted(load, AFTER.format(module="loading", cls="_Load", name="take", when=1))
    assert status == 130 and len(said.splitlines()) == 1
    assert said.startswith(f"holdfast: interrupted: no row of {source} was acknowledged by {pool}: load it again")
    said, status = interrupted(load, AFTER.format(module="loading", cls="_Load", name="take", when=4))
    assert status == 130 and len(said.splitlines()) == 1
    assert said.startswith(f"holdfast: interrupted: 3,000 rows of {source} are durable in {pool}: load it again ")
    assert "--resume" in said and ".resume says" in said
    assert as_json("stats", pool)["size"] >= 3000
    report = as_json(*load, "--resume")
    assert report["resumed"] and report["rows"] == ROWS and as_json("stats", pool)["size"] == ROWS
    assert not list(source.parent.glob("*.resume*"))


def test_a_load_of_a_program(folder: Path, source: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with Table.create(folder / "a.hold", value=8, device="cpu") as table:
        with pytest.raises(KeyboardInterrupt) as raised:
            hf.load(table, source, value="int64", batch=100, progress=interrupt)
        assert "100 rows of" in raised.value.__notes__[0] and "resume=True" in raised.value.__notes__[0]
        assert hf.load(table, source, value="int64", batch=ROWS, resume=True).rows == ROWS


def test_a_dump(folder: Path, source: Path, tmp_path: Path) -> None:
    pool = folder / "a.hold"
    with Table.create(pool, value=8, device="cpu") as table:
        hf.load(table, source, value="int64")
    for form, kept in (("csv", True), ("parquet", False)):
        target = tmp_path / f"out.{form}"
        writer = {"csv": "_CsvWriter", "parquet": "_ArrowWriter"}[form]
        hook = AFTER.format(module="dumping", cls=writer, name="write", when=4)
        said, status = interrupted(["dump", pool, target], hook)
        assert status == 130 and said.startswith("holdfast: interrupted: ") and len(said.splitlines()) == 1
        assert ("--resume" in said) == kept and str(target) in said
        assert sorted(path.name for path in tmp_path.glob(f"out.{form}*")) == (
            [f"out.{form}.partial", f"out.{form}.partial.resume"] if kept else []
        )
        assert as_json("dump", pool, target, "--resume")["rows"] == ROWS


def test_any_other_command(folder: Path) -> None:
    """Says that it was interrupted, and nothing that it does not know."""
    pool = folder / "a.hold"
    holdfast("create", pool, "--device", "cpu")
    hook = "import holdfastdb.cli.pools as pools\npools.inspect = lambda path: os.kill(os.getpid(), signal.SIGINT)"
    assert interrupted(["info", pool], hook) == ("holdfast: interrupted\n", 130)


# After a kill

KILLED = """
import os, sys, numpy as np
from holdfastdb import Checkpoint, Pool
pool = Pool.open(sys.argv[1])
tables = [pool.table(name, "cpu") for name in ("one", "two")]
for table in tables:
    table.insert([1, 2], [b"a".ljust(8), b"b".ljust(8)])
checkpoint = Checkpoint(pool, name="saved")
checkpoint.save({"x": np.arange(5)}, 7).wait()
os.kill(os.getpid(), 9)
"""

READERS: dict[str, list[str]] = {
    "get": ["get", "POOL:one", "1"],
    "stats": ["stats", "POOL:one"],
    "dump": ["dump", "POOL:one", "OUT/x.csv"],
    "snapshot": ["snapshot", "POOL", "OUT/x.hold"],
    "checkpoint list": ["checkpoint", "list", "POOL:saved"],
    "checkpoint export": ["checkpoint", "export", "POOL:saved", "OUT/x.safetensors"],
}


@pytest.fixture(scope="module")
def left_by_a_kill(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A pool of two tables that were open when their process was killed, and of a checkpoint, which is always whole."""
    path = tmp_path_factory.mktemp("killed") / "a.hold"
    with Pool.create(path) as pool:
        for name in ("one", "two"):
            pool.create_table(name, value=8, device="cpu")
        with Checkpoint(pool, name="saved"):
            pass
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [found.name for found in hf.inspect(path).objects if found.clean] == ["saved"]
    return path.read_bytes()


@pytest.fixture
def killed(folder: Path, left_by_a_kill: bytes) -> Path:
    path = folder / "a.hold"
    path.write_bytes(left_by_a_kill)
    return path


def arguments_of(reader: str, pool: Path, out: Path) -> list[str]:
    return [part.replace("POOL", str(pool)).replace("OUT", str(out)) for part in READERS[reader]]


@pytest.mark.parametrize("reader", READERS)
def test_readers_recover_what_was_killed(killed: Path, tmp_path: Path, reader: str) -> None:
    arguments = arguments_of(reader, killed, tmp_path)
    holdfast(*arguments)
    read = {"get": ["one"], "stats": ["one"], "dump": ["one"], "snapshot": ["one", "two"]}.get(reader, [])
    assert [found.name for found in hf.inspect(killed).objects if found.clean] == [*read, "saved"]
    holdfast(*arguments, *(["--overwrite"] if len(arguments) > 2 and "OUT" in READERS[reader][-1] else []))


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/usr/bin/setpriv").exists(), reason="root may write every file")
@pytest.mark.parametrize("reader", ["get", "snapshot"])
def test_readers_that_may_not_write(killed: Path, reader: str) -> None:
    """One message, the same of each; and a pool that was closed needs no right to write."""
    out = killed.parent / "out"
    out.mkdir(mode=0o777)
    out.chmod(0o777)
    killed.parent.chmod(0o755)
    killed.chmod(0o444)
    user = ["setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all"] if os.geteuid() == 0 else []
    command = [*user, *RUN, *arguments_of(reader, killed, out)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    before = killed.read_bytes()
    done = subprocess.run(command, capture_output=True, text=True, cwd=out, env=environment)
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"holdfast: {killed} was not closed (one") and "`holdfast recover`" in done.stderr
    assert killed.read_bytes() == before and not list(out.glob("x.*"))
    killed.chmod(0o644)
    holdfast("recover", killed)
    killed.chmod(0o444)
    done = subprocess.run(command, capture_output=True, text=True, cwd=out, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_table_that_is_open_elsewhere(folder: Path) -> None:
    """It has not been closed either: every reader names the process that has it."""
    path = folder / "b.hold"
    with Table.create(path, value=8, device="cpu") as table:
        table.insert([1], [b"a".ljust(8)])
        for command in (["get", path, 1], ["stats", path], ["dump", path, folder / "x.csv"]):
            begun = time.monotonic()
            assert "is open for writing by process" in holdfast(*command, status=2).stderr
            assert time.monotonic() - begun < PATIENCE_S / 10
