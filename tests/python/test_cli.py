"""The command line, as processes of their own: output, JSON, exit status, and one message for an error."""

from __future__ import annotations

import atexit
import functools
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE_S

from holdfastdb import NoSpace, PoolCorrupt, Table

RUN = [sys.executable, "-c", "from holdfastdb.cli import main; main()"]

COMMANDS = """
import json, os, sys
from holdfastdb.cli import main
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
sys.argv[1:], folder, *files = json.loads(line)
for number, file in enumerate(["/dev/null", *files]):
    os.dup2(os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
os.chdir(folder)
main()
"""


@functools.cache
def commands() -> tuple[Path, subprocess.Popen[str]]:
    """A process that forks for each command, as imports take most of its time, and a folder for what commands print."""
    folder = tempfile.TemporaryDirectory(prefix="holdfast-test-")
    process = subprocess.Popen(
        [sys.executable, "-c", COMMANDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "COLUMNS": "120"},
    )  # fmt: skip

    def end() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    return Path(folder.name), process


def holdfast(*arguments: object, status: int = 0, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command in a process of its own; its output is no terminal."""
    files, process = commands()
    said, errors = files / "said", files / "errors"
    words = list(map(str, arguments))
    assert process.stdin is not None and process.stdout is not None
    print(json.dumps([words, str(folder or Path.cwd()), str(said), str(errors)]), file=process.stdin, flush=True)
    code = int(process.stdout.readline())
    done = subprocess.CompletedProcess(words, code, said.read_text(), errors.read_text())
    assert done.returncode == status, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout
    return done


def as_json(*arguments: object, status: int = 0) -> Any:
    return json.loads(holdfast(*arguments, "--json", status=status).stdout)


@pytest.fixture
def pool(folder: Path) -> Path:
    """Three items: text, bytes, zeroes."""
    path = folder / "x.hold"
    with Table.create(path, value=16, capacity=100, device="cpu") as table:
        table.insert([1, 2, 2**64 - 1], [b"hello".ljust(16, b"\0"), bytes(range(240, 256)), bytes(16)])
    return path


def about_table(pool: Path) -> Any:
    """What `info` says of a pool's first table."""
    return as_json("info", pool)["objects"][0]["table"]


def test_create_and_info(folder: Path) -> None:
    path = folder / "new.hold"
    made = as_json("create", path, "--value", 32, "--capacity", 5000, "--device", "cpu")
    assert made["device"] == "cpu" and made["size"] == 0 and made["slots"] >= 5000
    info = as_json("info", path)
    (one,) = info["objects"]
    assert (one["name"], one["clean"], one["damage"], info["owner"]) == ("table", True, "", "")
    about = about_table(path)
    assert (about["key_bytes"], about["value_bytes"]) == (8, 32)
    assert about["total_slots"] == made["slots"] and one["extents"]
    text = holdfast("info", path).stdout
    assert text.startswith(f"{path}: pool version 5, 1 table, {made['slots']:,} slots, survives {info['domain']}\n")
    assert "2L-2H-8S" in text and "open: no\n" in text and "8 + 32 bytes" in text
    error = holdfast("create", path, status=2)
    assert error.stderr.count("\n") == 1 and "exists already" in error.stderr
    holdfast("create", path, "--overwrite", "--value", 0)
    assert about_table(path)["value_bytes"] == 0


def test_info_while_it_is_open(pool: Path) -> None:
    with Table.open(pool, device="cpu"):
        assert f"process {os.getpid()}" in as_json("info", pool)["owner"]
        assert f"open: process {os.getpid()}" in holdfast("info", pool).stdout
        assert "is open" in holdfast("get", pool, 1, status=2).stderr


def test_put_get_del(pool: Path) -> None:
    assert holdfast("get", pool, 1).stdout == "hello\n"
    assert holdfast("get", pool, "0x1", "--hex").stdout == "68656c6c6f" + "00" * 11 + "\n"
    assert holdfast("get", pool, 2).stdout == bytes(range(240, 256)).hex() + "\n"
    assert holdfast("get", pool, 1, 77, status=1).stdout == "1: hello\n77: not found\n"
    raw = subprocess.run([*RUN, "get", str(pool), "2", "--raw"], capture_output=True, timeout=PATIENCE_S)
    assert raw.stdout == bytes(range(240, 256))
    items = as_json("get", pool, 1, 77, status=1)["items"]
    assert items == [
        {"key": 1, "found": True, "hex": "68656c6c6f" + "00" * 11, "text": "hello"},
        {"key": 77, "found": False},
    ]
    assert holdfast("put", pool, 77, "new value").stdout == "77: inserted\n"
    assert holdfast("put", pool, 77, "other").stdout == "77: updated\n"
    assert holdfast("put", pool, 77, "third", "--only-new", status=1).stdout == "77: exists\n"
    assert as_json("put", pool, "U+1F600", "ff00", "--hex") == {
        "path": str(pool), "key": 0x1F600, "status": "inserted",
    }  # fmt: skip
    assert holdfast("get", pool, "😀", "--hex").stdout == "ff" + "00" * 15 + "\n"
    assert as_json("del", pool, 77, 78, status=1)["items"] == [
        {"key": 77, "status": "erased"},
        {"key": 78, "status": "not_found"},
    ]
    with Table.open(pool) as table:
        assert sorted(table) == [1, 2, 0x1F600, 2**64 - 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["get", "POOL", "abc"], "the key 'abc' is no number"),
        (["get", "POOL", "0x1ffffffffffffffff"], "does not fit into 8 bytes"),
        (["get", "POOL", "--", str(2**64)], "does not fit into 8 bytes"),
        (["get", "POOL", "1", "--raw", "--hex"], "exclude each other"),
        (["put", "POOL", "1", "x" * 17], "17 bytes, and the table's values have 16"),
        (["put", "POOL", "1", "xyz", "--hex"], "not hexadecimal"),
        (["get", "nowhere.hold", "1"], "nowhere.hold"),
        (["info", "nowhere.hold"], "nowhere.hold"),
        (["check", "nowhere.hold"], "nowhere.hold"),
        (["check", "/"], "directory"),
        (["create", "/nowhere/x.hold"], "/nowhere"),
        (["create", "y.hold", "--value", "70000"], "65,536"),
        (["create", "y.hold", "--device", "tpu"], "tpu"),
        (["demo", "--csv", "nowhere.csv", "--path", "y.hold"], "nowhere.csv"),
        (["recover", "POOL", "--salvage", "POOL"], "exists already"),
    ],
)
def test_errors(pool: Path, arguments: list[str], message: str) -> None:
    done = holdfast(*[str(pool) if a == "POOL" else a for a in arguments], status=2, folder=pool.parent)
    assert done.stdout == "" and message in done.stderr
    assert done.stderr.startswith("holdfast: ") and len(done.stderr.splitlines()) == 1
    assert sorted(p.name for p in pool.parent.iterdir()) == ["x.hold"]


def test_usage() -> None:
    assert "POOL" in holdfast("get", status=2).stderr
    assert "no such command" in holdfast("frobnicate", status=2).stderr
    assert holdfast("--version").stdout.startswith("holdfast ")
    commands = holdfast("--help").stdout
    for name in ("demo", "create", "info", "check", "recover", "rename", "drop", "snapshot", "get", "put", "del"):
        assert name in commands


@pytest.mark.parametrize(
    ("text", "said"), [("", "free some"), ("Unable to allocate 4 MiB", "Unable to allocate 4 MiB")]
)
def test_no_memory_for_python_is_one_line(text: str, said: str) -> None:
    script = f"""if True:
        import importlib
        cli = importlib.import_module("holdfastdb.cli.main")
        def app(**_): raise MemoryError({text!r})
        cli.app = app
        cli.main()
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"holdfast: the system has no memory for this command: {said}\n")


def killed(path: Path) -> None:
    """A pool whose writer did not close it."""
    code = """
import os, sys, numpy as np, holdfastdb as hf
table = hf.Table.create(sys.argv[1], value=16, capacity=1000, device="cpu")
table.insert(np.arange(500), np.ones((500, 16), np.uint8))
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code, str(path)], timeout=PATIENCE_S).returncode == -9


def test_check_and_recover(folder: Path) -> None:
    path = folder / "x.hold"
    killed(path)
    report = as_json("check", path)
    assert report["ok"] and report["items"] == 500 and not report["was_clean"] and report["errors"] == []
    text = holdfast("check", path).stdout.splitlines()
    assert text[0].startswith(f"{path}: pool version 5, 1 table, 500 items, ")
    assert text[1].startswith("clean shutdown: no (killed); recovered 0 slots under insertion in ")
    assert text[2:] == ["checked every slot and cell", "no error"]
    out = folder / "out.csv"
    assert as_json("recover", path, "--salvage", out)["items"] == 500
    for name in ("out.parquet", "out.PQ", "out.arrow"):
        error = holdfast("recover", path, "--salvage", folder / name, status=2).stderr
        assert f"{folder / name} is to be a CSV file: let its name end in .csv" in error
        assert not (folder / name).exists()
    lines = out.read_text().splitlines()
    assert lines[0] == "key,value" and len(lines) == 501 and f"7,{'01' * 16}" in lines
    assert out.stat().st_mode & 0o777 == 0o600
    assert not as_json("check", path)["was_clean"]
    assert not as_json("recover", path)["was_clean"]
    assert as_json("check", path)["was_clean"]
    assert holdfast("check", path).stdout.splitlines()[1] == "clean shutdown: yes"


def grow_without_space(path: Path) -> int:
    """Makes a table in which a resize needed a second level and found no room for it; returns how many items it has."""

    def make(name: str, seed: int) -> Table:
        return Table.create(
            path.with_name(name), value=16, capacity=200, levels=1, hash_locations=2, slots=1, device="cpu", threads=1,
            seed=seed, overwrite=True,
        )  # fmt: skip

    def grows_twice(seed: int) -> int | None:
        """The key for which a table of this seed adds two levels in one resize."""
        with make("scout", seed) as scout:
            slots, resizes = scout.capacity, 0
            for key in range(1, 3000):
                scout.insert([key], [bytes(16)])
                stats = scout.stats()
                if (stats["resizes"], stats["slots"]) == (resizes + 1, 4 * slots) and slots >= 1024:
                    return key
                slots, resizes = stats["slots"], stats["resizes"]
        return None

    seed, last = next((seed, key) for seed in range(1, 100) if (key := grows_twice(seed)) is not None)
    path.with_name("scout").unlink()
    with make(path.name, seed) as table:
        for key in range(1, last):
            table.insert([key], [key.to_bytes(16, "little")])
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        space = path.stat().st_size + table.capacity * 2 * 16 + 8192
        resource.setrlimit(resource.RLIMIT_FSIZE, (space, hard))
        try:
            with pytest.raises(NoSpace, match="open it again"):
                table.insert([last], [bytes(16)])
            with pytest.raises(NoSpace, match="open it again"):
                table.find([1])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return last - 1


def test_an_unfinished_resize(folder: Path) -> None:
    """Salvaging and checking read all of it and leave it so; a command that reads, recovery or a snapshot ends it."""
    path = folder / "x.hold"
    items = grow_without_space(path)
    before, out = path.read_bytes(), folder / "out.csv"
    assert about_table(path)["resizing"]
    assert as_json("recover", path, "--salvage", out) == {
        "path": str(path), "out": str(out), "items": items, "left_out": 0, "lost": [], "errors": [],
    }  # fmt: skip
    saved = dict(line.split(",") for line in out.read_text().splitlines()[1:])
    assert saved == {str(key): key.to_bytes(16, "little").hex() for key in range(1, items + 1)}
    assert "clean shutdown: no (in the middle of a resize)" in holdfast("check", path).stdout
    assert as_json("check", path)["items"] == items
    assert path.read_bytes() == before
    assert holdfast("get", path, 1, "--hex").stdout == (1).to_bytes(16, "little").hex() + "\n"
    assert not about_table(path)["resizing"]
    path.write_bytes(before)
    holdfast("snapshot", path, folder / "copy.hold")
    assert as_json("check", folder / "copy.hold")["items"] == items
    assert holdfast("get", path, items, "--hex").stdout == items.to_bytes(16, "little").hex() + "\n"
    assert not about_table(path)["resizing"]
    path.write_bytes(before)
    assert as_json("recover", path)["rehashed"] > 0
    assert not about_table(path)["resizing"] and as_json("check", path)["was_clean"]


def test_a_mended_superblock_is_told(pool: Path) -> None:
    """One copy of the superblock is damaged: checking leaves it so, recovering says what it mended."""
    data = bytearray(pool.read_bytes())
    data[64] ^= 1
    pool.write_bytes(data)
    report = as_json("check", pool)
    assert report["ok"] and report["repairs"] == [] and pool.read_bytes() == data
    one = "only 1 of 2 copies of the superblock is valid: the next opening mends it"
    assert one in holdfast("check", pool).stdout.splitlines()
    again = pool.with_name("again.hold")
    again.write_bytes(data)
    (repair,) = as_json("recover", pool)["repairs"]
    assert repair.startswith("copy A of the superblock")
    assert f"mended {repair}" in holdfast("recover", again).stdout.splitlines()
    with Table.open(pool, device="cpu") as table:
        assert table.check().repairs == ()
    assert as_json("recover", pool)["repairs"] == [] and "superblock" not in holdfast("check", pool).stdout


def test_check_finds_damage(folder: Path) -> None:
    """A second slot that claims another's cell, as no crash can leave it."""
    path = folder / "x.hold"
    with Table.create(path, value=16, capacity=1000, device="cpu") as table:
        table.insert(np.arange(1, 501), np.ones((500, 16), np.uint8))
    level = next(e for e in as_json("info", path)["objects"][0]["extents"] if e["kind"].startswith("level"))
    data = bytearray(path.read_bytes())
    slots = np.frombuffer(data, np.uint64, level["bytes"] // 8, level["offset"]).reshape(-1, 2)
    taken = np.flatnonzero(slots[:, 0])
    assert len(taken) >= 2
    slots[taken[0], 1] = slots[taken[1], 1]
    path.write_bytes(data)
    report = as_json("check", path, status=1)
    assert not report["ok"] and report["errors"]
    assert "error" in holdfast("check", path, status=1).stdout
    with pytest.raises(PoolCorrupt, match="salvage"):
        Table.open(path, device="cpu")
    before, out = path.read_bytes(), folder / "out.csv"
    saved = as_json("recover", path, "--salvage", out, status=1)
    assert (saved["items"], saved["left_out"], saved["errors"]) == (498, 2, [])
    assert len(out.read_text().splitlines()) == 499
    assert path.read_bytes() == before


def test_scores(folder: Path) -> None:
    path = folder / "scored.hold"
    assert as_json("create", path, "--value", 4, "--score", "time", "--device", "cpu")["score"] == "time"
    assert " cells, with scores of time; 2L" in holdfast("info", path).stdout
    assert about_table(path)["score"] == "time"
    holdfast("check", path)
    assert "give 'none', 'step'" in holdfast("create", folder / "other.hold", "--score", "age", status=2).stderr


def test_check_names_keys_of_any_length(folder: Path) -> None:
    """If only the value is damaged, its key is known, and a new value repairs it."""
    path = folder / "t.hold"
    with Table.create(path, bytes, bytes, device="cpu") as table:
        table.insert_or_assign([b"user:17", b"user:18"], [b"Ada Lovelace", b"Grace Hopper"])
    data = bytearray(path.read_bytes())
    data[data.index(b"Lovelace")] ^= 1
    data[data.index(b"user:18")] ^= 1
    path.write_bytes(data)
    text = holdfast("check", path, status=1).stdout
    assert 'checksum is wrong: the value of the key "user:17" is damaged; insert it again, or erase it\n' in text
    assert text.count("names a pair") == 2 and "checksum is wrong: its key cannot be read" in text
    with Table.open(path, "cpu") as table:
        table.insert_or_assign([b"user:17"], [b"again"])
    assert "user:17" not in holdfast("check", path, status=1).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "no such command 'frobnicate'; see holdfast --help"),
        (["--frobnicate"], "no such option: --frobnicate; see holdfast --help"),
        (["get", "x.hold", "5", "--jso"], "no such option: --jso"),
        (["check"], "missing argument 'POOL[:NAME]'; see holdfast check --help"),
        (["check", "x.hold", "y.hold"], "got unexpected extra argument"),
        (["create", "x.hold", "--capacity"], "option '--capacity' requires an argument"),
        (["create", "x.hold", "--levels", "one"], "invalid value for '--levels': "),
        (["kmer", "histo"], "missing argument 'COUNTS'; see holdfast kmer histo --help"),
        (["kmer", "histo", "x", "--low"], "no such option: --low"),
    ],
)
def test_a_wrong_use_is_one_line(folder: Path, arguments: list[str], said: str) -> None:
    """As every other error: no box, whatever the width of the terminal."""
    done = holdfast(*arguments, status=2, folder=folder)
    assert done.stdout == ""
    assert done.stderr.startswith(f"holdfast: {said}") and done.stderr.count("\n") == 1, done.stderr


def test_help_is_no_error(folder: Path) -> None:
    assert "Usage: holdfast check" in holdfast("check", "--help", folder=folder).stdout
    for arguments in ([], ["kmer"]):
        done = subprocess.run([*RUN, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert "Usage: " in done.stdout + done.stderr and "holdfast: " not in done.stderr
