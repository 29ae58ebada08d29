"""The command line on stores: what reads one, what is for tables only, and what is left of one after a power cut."""

from __future__ import annotations

import csv
import json
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

ITEMS = {b"user:17": b"Ada", b"\xff\x00": b"\x01\x02", b"large": b"x" * 3_000_000}
NAMESPACE = ["unshare", "--map-root-user", "--mount", "true"]


def fill(path: Path) -> None:
    with hf.Store(path, max_value=4 << 20) as store:
        store.set_many(list(ITEMS), list(ITEMS.values()))


def read_csv(path: Path) -> dict[bytes, bytes]:
    csv.field_size_limit(1 << 24)
    with path.open(newline="") as file:
        return {bytes.fromhex(row["key"]): bytes.fromhex(row["value"]) for row in csv.DictReader(file)}


def test_reading(folder: Path) -> None:
    pool = folder / "s.hold"
    fill(pool)
    assert holdfast("get", pool, "user:17", "0xff00", "none", status=1).stdout == (
        "user:17: Ada\n0xff00: 0102\nnone: not found\n"
    )
    assert holdfast("get", pool, "user:17", "--hex").stdout == b"Ada".hex() + "\n"
    for text in ("0xabc", "0xuser"):
        error = holdfast("get", pool, text, status=2).stderr
        assert f"the key '{text}' is not hexadecimal" in error
        assert "Text that begins with 0x is given in hexadecimal too: 0x3078..." in error
    assert holdfast("get", pool, "0x3078616263", status=1).stdout == "0x3078616263: not found\n"
    assert as_json("get", f"{pool}:store", "user:17")["items"][0]["text"] == "Ada"
    text = holdfast("stats", pool).stdout
    assert text.startswith(f"{pool}: 3 items, those that have expired included, in ") and "damaged" not in text
    assert as_json("stats", pool)["items"] == 3
    text = holdfast("info", pool).stdout
    assert f"{pool}: pool version 5, 1 store, survives " in text and "holdfast stats counts its items" in text
    text = holdfast("check", pool).stdout
    assert f"{pool}: pool version 5, 1 store, 3 items, survives " in text and "slots" not in text


@pytest.mark.parametrize(
    "arguments", [["put", "POOL", "a", "b"], ["del", "POOL:store", "a"], ["load", "POOL", "x.csv"]]
)
def test_commands_for_tables(folder: Path, arguments: list[str]) -> None:
    fill(folder / "s.hold")
    (folder / "x.csv").write_text("a,b\n")
    done = holdfast(*[one.replace("POOL", "s.hold") for one in arguments], status=2, folder=folder)
    assert "is a store, and this command is for tables" in done.stderr and len(done.stderr.splitlines()) == 1


def test_dumping(folder: Path) -> None:
    pool, out, again = folder / "s.hold", folder / "out.csv", folder / "again.hold"
    fill(pool)
    data = as_json("dump", pool, out)
    assert data["rows"] == 3 and data["left_out"] == 0
    assert read_csv(out) == ITEMS
    assert "exists already" in holdfast("dump", pool, out, status=2).stderr
    with hf.Store(pool) as store:
        del store[b"large"]  # longer than a field of CSV that load takes
        assert hf.dump(store, out, overwrite=True).rows == 2
    hf.Table.create(again, key=bytes, value=bytes, device="cpu").close()
    holdfast("load", again, out)
    assert holdfast("get", again, "user:17").stdout == "Ada\n"
    with hf.Store(pool, mode="r") as store, pytest.raises(hf.PoolExists, match="is the pool"):
        hf.dump(store, pool, format="csv")


def test_snapshots(folder: Path) -> None:
    pool, copy = folder / "s.hold", folder / "copy.hold"
    fill(pool)
    assert holdfast("snapshot", pool, copy).stdout.startswith(f"{copy}: 3 items, ")
    assert as_json("stats", copy)["items"] == 3
    done = holdfast("snapshot", f"{pool}:store", folder / "x.hold", status=2)
    assert done.stderr == f"holdfast: snapshot copies a whole pool: give {pool}\n"
    done = holdfast("snapshot", pool, pool, "--overwrite", status=2)
    assert "source and target are one file" in done.stderr
    assert as_json("stats", pool)["items"] == 3


def test_a_kill(folder: Path) -> None:
    pool = folder / "s.hold"
    killed(pool)
    assert "clean shutdown: no (killed); recovered 0 interrupted replacements in " in holdfast("check", pool).stdout
    assert holdfast("get", pool, "a").stdout == "1\n", "it is recovered first"


def test_damage(folder: Path) -> None:
    """What matches no checksum is left out, counted and named."""
    pool = folder / "s.hold"
    fill(pool)
    data = bytearray(pool.read_bytes())
    data[data.index(b"Ada")] ^= 1
    pool.write_bytes(data)
    done = holdfast("check", pool, status=1)
    assert '1 error\nan item whose key reads "user:17" (byte ' in done.stdout
    assert "left out 1 damaged item" in holdfast("stats", pool).stdout
    hint = f"{pool} has 1 damaged item, whose keys are not found: holdfast check names them"
    assert hint in holdfast("get", pool, "user:17", status=1).stderr
    rest = {key: value for key, value in ITEMS.items() if key != b"user:17"}
    done = holdfast("recover", pool, "--salvage", folder / "rest.csv", status=1)
    assert "exported 2 items" in done.stdout and "left out 1 item that did not verify" in done.stdout
    assert read_csv(folder / "rest.csv") == rest
    done = holdfast("dump", pool, folder / "dumped.csv", status=1)
    assert "2 items of" in done.stdout and read_csv(folder / "dumped.csv") == rest
    assert done.stderr == f"holdfast: {pool}: left out 1 damaged item: holdfast check names them\n"
    done = holdfast("dump", pool, folder / "dumped.csv", "--overwrite", "--json", status=1)
    assert json.loads(done.stdout)["left_out"] == 1
    with hf.Store(pool) as store:
        assert store.stats().damaged_at_open == 1
        assert dict(store.scan()).keys() == rest.keys()
        assert store.append(b"large", b"+") is hf.StoreStatus.TOO_LARGE


def test_a_damaged_piece(folder: Path) -> None:
    """It counts as one, and nobody knows how many items it had."""
    pool = folder / "s.hold"
    with hf.Store(pool) as store:
        store.set_many([b"%d" % i for i in range(50)], [b"x"] * 50)
    heap = next(one for one in hf.inspect(pool).objects[0].extents if one.kind == "heap").offset
    data = bytearray(pool.read_bytes())
    entry = next(at for at in range(heap, heap + 4096) if data[at])
    data[entry] ^= 1
    pool.write_bytes(data)
    piece = "1 damaged piece of 2 MiB with unknown items"
    assert f"left out {piece}: " in holdfast("stats", pool).stdout
    assert as_json("stats", pool)["damaged_pieces"] == 1
    assert f": left out {piece}: " in holdfast("dump", pool, folder / "d.csv", status=1).stderr
    assert f": {piece} copied without" in holdfast("snapshot", pool, folder / "c.hold", status=1).stderr
    assert f"\ndropped {piece}\n" in holdfast("recover", pool, "--drop-damaged").stdout
    assert "damaged" not in holdfast("stats", pool).stdout


def test_expired_items(folder: Path) -> None:
    """`check` counts what `dump` writes; `stats`, which looks at no item, says that it counts others too."""
    pool = folder / "s.hold"
    with hf.Store(pool) as store:
        store[b"stays"] = b"1"
        store.set(b"goes", b"2", ttl=0.01)
    time.sleep(0.02)
    assert as_json("check", pool)["items"] == 1
    assert "2 items, those that have expired included" in holdfast("stats", pool).stdout
    assert as_json("dump", pool, folder / "d.csv")["rows"] == 1
    assert as_json("check", pool)["items"] == 1


def test_a_snapshot_of_damage(folder: Path) -> None:
    """It copies what is damaged, and says so."""
    pool, copy = folder / "s.hold", folder / "copy.hold"
    fill(pool)
    assert as_json("snapshot", pool, copy)["damaged"] == 0
    data = bytearray(pool.read_bytes())
    data[data.index(b"Ada")] ^= 1
    pool.write_bytes(data)
    done = holdfast("snapshot", pool, copy, "--overwrite", status=1)
    assert done.stdout.startswith(f"{copy}: 2 items, ")
    assert (
        done.stderr == f"holdfast: {pool}: 1 damaged item copied without repair: holdfast check names what is damaged\n"
    )
    done = holdfast("snapshot", pool, copy, "--overwrite", "--json", status=1)
    assert json.loads(done.stdout)["damaged"] == 1
    holdfast("check", copy, status=1)
    with hf.Pool.open(pool) as whole, hf.Store(whole) as store:
        assert whole.snapshot(copy, overwrite=True).damaged == 1
        store[b"user:17"] = b"again"
        assert whole.snapshot(copy, overwrite=True).damaged == 0
    holdfast("check", copy)


def test_the_end_of_damage(folder: Path) -> None:
    """A damaged item ends with its key, or by `recover --drop-damaged`; then `check` finds nothing."""
    pool = folder / "s.hold"
    fill(pool)

    def damage(text: bytes, byte: int = 0) -> None:
        data = bytearray(pool.read_bytes())
        data[data.index(text) + byte] ^= 1
        pool.write_bytes(data)

    damage(b"Ada")
    with hf.Store(pool) as store:
        store[b"user:17"] = b"Grace"
    assert "\nno error\n" in holdfast("check", pool).stdout
    damage(b"Grace")
    with hf.Store(pool) as store:
        assert store.delete(b"user:17") is False
    holdfast("check", pool)
    damage(b"\xff\x00\x00\x00\x00\x00\x00\x00\x01\x02")  # the key itself
    holdfast("check", pool, status=1)
    refused = holdfast("recover", pool, "--drop-damaged", "--salvage", "x.csv", status=2)
    assert "give either --salvage" in refused.stderr
    text = holdfast("recover", pool, "--drop-damaged").stdout
    assert "\ndropped 1 damaged item\n" in text and "\nno error\n" in text
    assert as_json("recover", f"{pool}:store", "--drop-damaged")["dropped"] == 0
    holdfast("check", pool)
    with hf.Store(pool) as store:
        assert dict(store.scan()).keys() == {b"large"}
    with hf.Table.create(folder / "t.hold", 8, 8, 10):
        pass
    assert "is no store and has none" in holdfast("recover", folder / "t.hold", "--drop-damaged", status=2).stderr


def test_damage_while_it_is_open(folder: Path) -> None:
    """Reads return it; changes that depend on it are refused."""
    pool = folder / "s.hold"
    with hf.Store(pool) as store:
        store[b"number"] = b"1234567"
        at = pool.read_bytes().index(b"1234567")
        with pool.open("r+b") as file:
            file.seek(at)
            file.write(b"3")
        assert store[b"number"] == b"3234567"
        for change in (store.increment, store.decrement):
            with pytest.raises(hf.PoolCorrupt, match='the item of the key "number" does not match its checksum'):
                change(b"number")
        with pytest.raises(hf.PoolCorrupt, match="set the key again, or erase it"):
            store.append(b"number", b"+")
        assert 'the item of the key "number" (byte ' in store.check().errors[0]
        store[b"number"] = b"1"
        assert store.increment(b"number") == 2 and store.check().ok


def killed(path: Path) -> None:
    """Leaves a store that was not closed."""
    program = (
        f"import holdfastdb, os; store = holdfastdb.Store({str(path)!r}); store[b'a'] = b'1'; os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=PATIENCE_S)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.skipif(subprocess.run(NAMESPACE, capture_output=True).returncode != 0, reason="needs a mount namespace")
def test_a_restart(tmp_path: Path) -> None:
    """tmp_path: on an ordinary file system, or the medium would be another. The machine's boot id is another one."""
    pool, boot = tmp_path / "s.hold", tmp_path / "boot"
    killed(pool)
    if hf.inspect(pool).medium != "file":
        pytest.skip("needs a file system on a disk")
    boot.write_text("01234567-89ab-cdef-0123-456789abcdef\n")

    def after_a_restart(*arguments: object) -> subprocess.CompletedProcess[str]:
        script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'
        command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, boot, *RUN, *arguments]
        return subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE_S, env=dict(os.environ)
        )

    assert "run `holdfast recover --salvage` on it" in after_a_restart("get", pool, "a").stderr
    before = pool.read_bytes()
    with hf.Pool.create(tmp_path / "p.hold") as two:
        two.create_table("t").close()
    killed_in = f"import holdfastdb as hf, os; p = hf.Pool.open({str(tmp_path / 'p.hold')!r}); "
    killed_in += "s = hf.Store(p, name='s'); s[b'a'] = b'1'; os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", killed_in], timeout=PATIENCE_S)
    assert "\nclean shutdown: no (the machine restarted)" in after_a_restart("check", tmp_path / "p.hold").stdout
    text = after_a_restart("recover", tmp_path / "p.hold").stdout
    assert "clean shutdown: no (the machine restarted); nothing was recovered\n" in text and "1 error" in text, text
    done = after_a_restart("recover", pool, "--salvage", tmp_path / "out.csv")
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_csv(tmp_path / "out.csv") == {b"a": b"1"}
    assert pool.read_bytes() == before
