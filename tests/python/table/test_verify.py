"""Tables of any length that compare checksums: what meets damage notices it, and nothing else is taken for damage."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import holdfastdb as hf
from holdfastdb import InvalidArgument, Table
from holdfastdb.cli.main import app


def test_a_damaged_value_is_noticed(folder: Path, device: str) -> None:
    """With verify=True: by each call that meets it, whose other rows run; without, by `check`."""
    path = folder / "t.hold"
    keys = [b"key of row %04d" % i for i in range(500)]
    values = [b"value %04d, and more of it" % i for i in range(500)]
    with Table.create(path, bytes, bytes, capacity=1000, device=device) as made:
        made.insert(keys, values)
    content = bytearray(path.read_bytes())
    for what in (b"key of row 0007", b"value 0311,"):
        content[content.index(what) + 4] ^= 1
    path.write_bytes(content)
    sound = [key for i, key in enumerate(keys) if i not in (7, 311)]
    with Table.open(path, device=device, verify=True) as table:
        for key in (keys[7], keys[311]):
            with pytest.raises(hf.PoolCorrupt, match=r"t\.hold has damaged keys or values: 1 rows of this batch"):
                table.find([keys[0], key, b"absent"])
        found_values, found = table.find(sound)
        assert found.all() and found_values.tolist() == [v for i, v in enumerate(values) if i not in (7, 311)]
        with pytest.raises(hf.PoolCorrupt, match="the export met one"):
            dict(table.items())
        if device == "cpu":  # on a GPU batches that change something do not verify
            for call in (
                lambda: table.find_or_insert([keys[311]], [b"new"]),
                lambda: table.insert([keys[7]], [b"new"]),
                lambda: table.apply(["find", "insert"], [keys[7], b"more"], [b"", b"more"]),
            ):
                with pytest.raises(hf.PoolCorrupt, match="1 rows of this batch met one and did not run"):
                    call()
            assert table[b"more"] == b"more"
        assert not table.check().ok
    with Table.open(path, device=device) as table:
        assert table[keys[311]] != values[311]  # as documented
    for command in (["get", str(path), keys[311].decode()], ["dump", str(path), str(folder / "d.csv")]):
        answer = CliRunner().invoke(app, command)
        assert isinstance(answer.exception, hf.PoolCorrupt) and answer.stdout == ""
    assert not (folder / "d.csv").exists()


def test_verify_where_nothing_is_damaged(folder: Path, device: str) -> None:
    rng = np.random.default_rng(3)
    with Table.create(folder / "t.hold", bytes, bytes, capacity=100, device=device, verify=True) as table:
        keys = [bytes(rng.integers(0, 256, rng.integers(0, 40), np.uint8)) for _ in range(2000)]
        kept = dict(zip(keys, keys[::-1], strict=True))
        table.insert_or_assign(keys, keys[::-1])
        assert table.find(list(kept)).values.tolist() == list(kept.values())
        assert not table.contains([key + b"!" * 41 for key in keys]).any() and dict(table.items()) == kept
        assert table.check().ok and table.check().slots == table.stats()["slots"] == table.capacity
    with pytest.raises(InvalidArgument, match="no checksum"):
        Table.create(folder / "f.hold", value=8, device=device, verify=True)
    assert not (folder / "f.hold").exists()
    with Table.create(folder / "f.hold", value=8, device=device):
        pass
    with pytest.raises(InvalidArgument, match="no checksum"):
        Table.open(folder / "f.hold", device=device, verify=True)
    with pytest.raises(InvalidArgument, match="no checksum"):
        Table.open(folder / "g.hold", device, create=True, verify=True)
    assert not (folder / "g.hold").exists()
    with hf.Pool.create(folder / "p.hold") as pool:
        with pytest.raises(InvalidArgument, match=r"p\.hold:numbers has keys and values of fixed sizes"):
            pool.create_table("numbers", device=device, verify=True)
        pool.create_table("strings", bytes, bytes, device=device, verify=True).close()
        assert [one.name for one in pool.objects] == ["strings"]
        assert len(pool.table("strings", device, verify=True)) == 0


def test_verify_beside_changes(folder: Path, device: str) -> None:
    """Other threads change and erase what searches read: nothing is taken for damage."""
    keys = [b"key %d" % i for i in range(300)]
    ended, wrong = threading.Event(), []
    with Table.create(folder / "t.hold", bytes, bytes, capacity=100, device=device, threads=1, verify=True) as table:

        def change(seed: int) -> None:
            draw = random.Random(seed)
            try:
                for step in range(150):
                    some = draw.sample(keys, 60)
                    if step % 3 == 2:
                        table.erase(some)
                    else:
                        table.insert_or_assign(some, [key * draw.randrange(1, 40) for key in some])
            except hf.Error as error:
                wrong.append(error)

        def search() -> None:
            try:
                while not ended.is_set():
                    for key, value, there in zip(keys, *(one.tolist() for one in table.find(keys)), strict=True):
                        if there and value != key * (len(value) // len(key)):
                            wrong.append((key, value))
            except hf.Error as error:
                wrong.append(error)

        changes = [threading.Thread(target=change, args=(seed,)) for seed in range(2)]
        searches = [threading.Thread(target=search) for _ in range(2)]
        for thread in changes + searches:
            thread.start()
        for thread in changes:
            thread.join()
        ended.set()
        for thread in searches:
            thread.join()
        assert not wrong and table.check().ok
