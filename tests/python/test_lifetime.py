"""Opening, closing, reopening; one writer or many readers; forks, pickles and copies."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import PATIENCE_S, Machine, Make

import holdfastdb as hf
from holdfastdb import Op, Status, Table

KEYS = np.arange(1000, dtype=np.uint64)


def fill(path: Path, device: str, value: int = 16) -> None:
    with Table.create(path, value=value, capacity=2000, device=device) as table:
        table.insert(KEYS, np.repeat(KEYS.astype(np.uint8)[:, None], value, axis=1))


def in_child(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs Python code in a process of its own."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\nimport holdfastdb as hf\nimport numpy as np\n" + code,
            *map(str, arguments),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


@pytest.mark.parametrize("size", [0, 8, 16, 1000])
def test_reopening(device: str, make: Make, size: int) -> None:
    rng = np.random.default_rng(size)
    checked = make(Machine(device), value=size)
    for round_ in range(3):
        keys = rng.integers(0, 500, 400).astype(np.uint64)
        checked.run(Op.INSERT_OR_ASSIGN, keys, rng.integers(0, 256, (400, size), np.uint8))
        checked.run(Op.ERASE, keys[::3])
        checked.table.close()
        assert hf.inspect(checked.table.path).objects[0].clean
        checked.table = Table.open(checked.table.path, device=device)
        assert checked.table.stats()["was_clean"], round_
        checked.agree()
    checked.table.close()


def test_pools_of_one_machine_open_on_the_other(folder: Path) -> None:
    if hf.cuda_devices()[0] == 0:
        pytest.skip(f"no GPU: {hf.cuda_devices()[1]}")
    for first, second in (("cpu", "cuda"), ("cuda", "cpu")):
        path = folder / f"{first}.hold"
        fill(path, first)
        with Table.open(path, device=second) as table:
            values, found = table.find(KEYS)
            assert found.all() and (values == KEYS.astype(np.uint8)[:, None]).all()
            assert (table.erase(KEYS[:500]) == Status.ERASED).all()
            table.insert(KEYS + np.uint64(5000), np.ones((1000, 16), np.uint8))
        with Table.open(path, device=first) as table:
            assert len(table) == 1500 and table.check().ok
            assert table.contains(KEYS).sum() == 500


def test_killed_without_closing(folder: Path, device: str) -> None:
    path = folder / "x.hold"
    code = """
import os, signal
table = hf.Table.create(sys.argv[1], value=16, capacity=10, device=sys.argv[2])
keys = np.arange(50_000, dtype=np.uint64)
table.insert(keys, np.repeat(keys[:, None], 2, axis=1))
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert in_child(code, path, device).returncode == -9
    info = hf.inspect(path).objects[0]
    assert not info.clean and info.same_boot
    report = hf.check(path)
    assert report.ok and not report.was_clean and report.items == 50_000
    assert not hf.inspect(path).objects[0].clean  # checking wrote nothing
    with pytest.raises(hf.ReadOnly, match="needs recovery"):
        Table.open(path, device="cpu", mode="r")
    with Table.open(path, device="cpu", mode="r", salvage=True) as table:  # recovers a private copy
        assert len(table) == 50_000 and len(dict(table.items())) == 50_000
        with pytest.raises(hf.ReadOnly):
            table.erase([1])
    assert not hf.inspect(path).objects[0].clean
    with Table.open(path, device=device) as table:
        values, found = table.find(np.arange(50_000, dtype=np.uint64), dtype=np.uint64)
        assert found.all() and (values[:, 1] == np.arange(50_000)).all()
        assert not table.stats()["was_clean"]
    assert hf.inspect(path).objects[0].clean


def test_recovering_in_place(folder: Path) -> None:
    path = folder / "x.hold"
    code = "t = hf.Table.create(sys.argv[1]); t.insert([1], [2]); import os; os._exit(0)"
    assert in_child(code, path).returncode == 0
    assert not hf.inspect(path).objects[0].clean
    assert hf.check(path, repair=True).items == 1
    assert hf.check(path).was_clean


def test_read_only(folder: Path) -> None:
    path = folder / "x.hold"
    fill(path, "cpu")
    before = path.read_bytes()
    with Table.open(path, mode="r") as table, Table.open(path, mode="r") as second:
        assert table.find(KEYS)[1].all() and second.contains(KEYS).all()
        assert len(dict(table.items())) == 1000 and table.check().ok and table.mode == "r"
        values = np.zeros((1000, 16), np.uint8)
        for call in (
            lambda: table.insert(KEYS, values),
            lambda: table.insert_or_assign(KEYS, values),
            lambda: table.assign(KEYS, values),
            lambda: table.erase(KEYS),
            lambda: table.find_or_insert(KEYS, values),
            lambda: table.insert_and_find(KEYS, values),
            lambda: table.accumulate(KEYS, values.view(np.int64)),
            lambda: table.apply(["erase"], [1]),
            lambda: table.clear(),
            lambda: table.reserve(10_000),
        ):
            with pytest.raises(hf.ReadOnly, match="r\\+"):
                call()
        assert table.apply(["find"], [1])[0].tolist() == [Status.FOUND]
        with pytest.raises(hf.ObjectInUse, match=r"for reading in this process: close it first, or .* mode=\"r\""):
            Table.open(path, device="cpu")
    assert path.read_bytes() == before


def test_one_writer_at_a_time(folder: Path) -> None:
    path = folder / "x.hold"
    fill(path, "cpu")
    with Table.open(path, device="cpu"):
        for act in (
            lambda: Table.open(path, device="cpu"),
            lambda: Table.open(path, device="cpu", create=True),
            lambda: Table.open(path, device="cpu", mode="r"),
            lambda: Table.create(path, device="cpu", overwrite=True),
            lambda: hf.Pool.open(path),
            lambda: hf.Checkpoint(path),
        ):
            with pytest.raises(hf.ObjectInUse, match=rf"^{path} is open for writing in this process: use what is open"):
                act()
        for mode in ("r", "r+"):
            child = in_child("hf.Table.open(sys.argv[1], device='cpu', mode=sys.argv[2])", path, mode)
            assert "holdfastdb.PoolInUse" in child.stderr and f"process {os.getpid()}" in child.stderr
        child = in_child("hf.Table.create(sys.argv[1], overwrite=True)", path)
        assert "holdfastdb.PoolInUse" in child.stderr
        assert str(os.getpid()) in hf.inspect(path).owner
    assert hf.inspect(path).owner == ""
    child = in_child("t = hf.Table.open(sys.argv[1], device='cpu'); print(len(t)); t.close()", path)
    assert child.stdout == "1000\n"


def test_readers_in_two_processes(folder: Path) -> None:
    path = folder / "x.hold"
    fill(path, "cpu")
    with Table.open(path, mode="r"):
        child = in_child("with hf.Table.open(sys.argv[1], mode='r') as t: print(t.contains([1, 5000]).tolist())", path)
        assert child.stdout == "[True, False]\n"


def test_use_after_close(folder: Path, device: str) -> None:
    path = folder / "x.hold"
    fill(path, device)
    table = Table.open(path, device=device)
    items = table.items(batch=10)
    next(items)
    assert not table.closed
    table.close()
    table.close()
    assert table.closed and repr(table) == f"<holdfastdb.Table {path}: closed>"
    values = np.zeros((1, 16), np.uint8)
    for call in (
        lambda: table.find([1]),
        lambda: table.insert([1], values),
        lambda: table.apply(["find"], [1]),
        lambda: len(table),
        lambda: 1 in table,
        lambda: list(table.items()),
        lambda: list(items),
        lambda: table.capacity,
        lambda: table.load_factor,
        lambda: table.stats(),
        lambda: table.check(),
        lambda: table.clear(),
        lambda: table.reserve(5),
        lambda: table.sync(),
        lambda: table.export_batch(),
    ):
        with pytest.raises(hf.ObjectClosed, match=r"is closed: open it again$"):
            call()
    assert table.path == str(path) and table.value_bytes == 16


def test_a_table_closes_when_it_is_dropped(folder: Path, device: str) -> None:
    path = folder / "x.hold"
    table = Table.create(path, device=device)
    table.insert([1], [2])
    del table
    gc.collect()
    with Table.open(path, device=device) as table:
        assert table.stats()["was_clean"] and 1 in table


def test_an_error_inside_the_block_closes_too(folder: Path, device: str) -> None:
    with pytest.raises(ZeroDivisionError), Table.create(folder / "x.hold", device=device) as table:
        1 / 0  # noqa: B018
    assert table.closed and hf.inspect(folder / "x.hold").objects[0].clean


def test_a_forked_child_cannot_use_it_and_harms_nothing(folder: Path) -> None:
    path = folder / "x.hold"
    code = """
import os, warnings
warnings.simplefilter("ignore")
table = hf.Table.create(sys.argv[1], value=8, device="cpu")
table.insert(np.arange(100), np.arange(100))
child = os.fork()
if child == 0:
    for call in (lambda: table.find([1]), lambda: table.insert([1], [2]), lambda: len(table), lambda: table.stats()):
        try:
            call()
            os._exit(1)
        except hf.ObjectClosed as error:
            if "parent" not in str(error):
                os._exit(2)
    if not table.closed or "closed" not in repr(table):
        os._exit(3)
    try:
        hf.Table.open(sys.argv[1], device="cpu")
        os._exit(4)
    except hf.PoolInUse:
        pass
    del table
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
table.insert(np.arange(100, 200), np.arange(100))
assert len(table) == 200 and table.check().ok
table.close()
"""
    child = in_child(code, path)
    assert child.returncode == 0, child.stderr
    with Table.open(path) as table:
        assert table.stats()["was_clean"] and len(table) == 200


def test_no_pickles_and_no_copies(device: str, make: Make) -> None:
    table = make(Machine(device)).table
    for call in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"cannot be pickled or copied.*Pass the path"):
            call(table)


def test_repr(folder: Path) -> None:
    with Table.create(folder / "items.hold", value=128, capacity=100, device="cpu") as table:
        table.insert(KEYS, np.zeros((1000, 128), np.uint8))
        load = f"{table.load_factor:.2f}"
        survives = table.stats()["domain"]
        assert repr(table) == (
            f"<holdfastdb.Table {folder / 'items.hold'}: 1,000 items, load {load}, on cpu, survives {survives}>"
        )


def test_inspecting(folder: Path) -> None:
    path = folder / "x.hold"
    with Table.create(path, value=128, capacity=1000, levels=4, hash_locations=2, slots=4, device="cpu"):
        info = hf.inspect(path)
        (one,) = info.objects
        assert (one.name, one.type, one.damage, one.same_boot, one.clean) == ("table", "table", "", True, True)
        assert (info.valid_copies, info.version, one.type_version) == (2, 5, 1)
        about = one.table
        assert about is not None and not about.resizing and about.created >= info.created > 0
        assert (about.levels, about.hash_locations, about.slots) == (4, 2, 4)
        assert (about.key_bytes, about.value_bytes, about.score) == (8, 128, "none")
        assert about.total_slots >= 1000 and about.cells >= 1000 and about.cell_bytes == 128
        assert info.file_bytes == path.stat().st_size
        assert {extent.kind for extent in one.extents} >= {"pages", "heap"}
        assert one.bytes == sum(extent.bytes for extent in one.extents) < info.file_bytes
    assert path.stat().st_mode & 0o777 == 0o600
