"""Several tables in one pool: made, opened, renamed, replaced, dropped, copied and checked; and who may not."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_lifetime import in_child

import holdfastdb as hf
from holdfastdb import Pool, Table

KEYS = np.arange(1000, dtype=np.uint64)


def fill(table: Table, factor: int, n: int = 1000) -> None:
    """Gives key i the value i × factor."""
    keys = np.arange(n, dtype=np.uint64)
    assert not (table.insert_or_assign(keys, keys * np.uint64(factor)) == hf.Status.NO_SPACE).any()


def holds(table: Table, factor: int, n: int = 1000) -> bool:
    keys = np.arange(n, dtype=np.uint64)
    values, found = table.find(keys, dtype=np.uint64)
    return bool(found.all()) and len(table) == n and bool((values.reshape(-1) == keys * np.uint64(factor)).all())


def names(pool: Pool | hf.PoolInfo) -> list[str]:
    return [found.name for found in pool.objects]


def two_tables(path: Path) -> Path:
    """A pool of two tables with 1,000 items each: one, factor 1, and two, factor 2."""
    with Pool.create(path) as pool:
        for factor, name in enumerate(("one", "two"), 1):
            fill(pool.create_table(name, device="cpu"), factor)
    return path


@pytest.fixture
def path(folder: Path) -> Path:
    return two_tables(folder / "a.hold")


def test_several_tables(folder: Path, device: str) -> None:
    path = folder / "a.hold"
    with Pool.create(path) as pool:
        assert (pool.path, pool.mode, pool.closed, pool.objects) == (str(path), "r+", False, ())
        assert repr(pool) == f"<holdfastdb.Pool {path}: empty>"
        one = pool.create_table("one", device=device)
        any_length = pool.create_table("Wörter", bytes, bytes, 100, device)
        wide = pool.create_table("wide", 32, 128, capacity=5000, device=device, slots=4, score="step")
        assert (
            isinstance(one, Table) and one.path == f"{path}:one" and one.mode == "r+" and one.device[:3] == device[:3]
        )
        fill(one, 3)
        any_length.insert([b"k"], [b"v"])
        assert repr(pool) == f"<holdfastdb.Pool {path}: one, Wörter, wide>"
        assert pool.check().ok and pool.check().items == 1001 and pool.check("one").items == 1000
        one.close()
        states = {found.name: found for found in pool.objects}
        assert states["one"].clean and not states["Wörter"].clean, "closing one table marks no other"
        about = states["wide"].table
        assert about is not None and (about.key_bytes, about.value_bytes, about.slots) == (32, 128, 4)
        assert about.score == wide.score == "step" and wide.capacity >= 5000
    assert pool.closed and any_length.closed and repr(pool).endswith("closed>")
    assert all(found.clean and not found.damage for found in hf.inspect(path).objects)
    with Pool.open(path) as pool:
        assert holds(pool.table("one", device), 3)
        assert pool.table("Wörter", device).find([b"k"])[0].tolist() == [b"v"]
    assert hf.check(path).items == 1001 and hf.check(path, name="one").items == 1000


ERRORS: list[tuple[str, type[Exception], str, Callable[[Pool], Any]]] = [
    ("absent", hf.ObjectNotFound, 'no object "three"; it has the objects one and two', lambda p: p.table("three")),
    ("absent to drop", hf.ObjectNotFound, "it has the objects one and two", lambda p: p.drop("three")),
    ("absent to rename", hf.ObjectNotFound, '"three"', lambda p: p.rename("three", "four")),
    ("absent to check", hf.ObjectNotFound, '"three"', lambda p: p.check("three")),
    ("taken", hf.ObjectExists, "already", lambda p: p.create_table("one")),
    ("taken by another", hf.ObjectExists, "already", lambda p: p.rename("two", "one")),
    ("open", hf.ObjectInUse, "close it first", lambda p: (p.table("two"), p.table("two"))),
    ("open, to drop", hf.ObjectInUse, "cannot be dropped", lambda p: (p.table("two"), p.drop("two"))),
    ("open, to replace", hf.ObjectInUse, "replaced", lambda p: (p.table("one"), p.create_table("one", overwrite=True))),
    ("other sizes", hf.PoolMismatch, "a.hold:one has values of 8 bytes", lambda p: p.table("one", value=16)),
    ("empty", hf.InvalidArgument, "the name is empty", lambda p: p.create_table("")),
    ("empty to open", hf.InvalidArgument, "the name is empty", lambda p: p.table("")),
    ("empty to check", hf.InvalidArgument, "the name is empty", lambda p: p.check("")),
    ("slash", hf.InvalidArgument, "has a '/' in it", lambda p: p.create_table("x/y")),
    ("colon", hf.InvalidArgument, "has a ':' in it", lambda p: p.rename("one", "x:y")),
    ("control", hf.InvalidArgument, "1 to 63 bytes of UTF-8", lambda p: p.create_table("x\ny")),
    ("zero byte", hf.InvalidArgument, "1 to 63 bytes of UTF-8", lambda p: p.create_table("x\0y")),
    ("long", hf.InvalidArgument, "1 to 63 bytes of UTF-8", lambda p: p.create_table("ä" * 32)),
    ("no UTF-8", hf.InvalidArgument, "UTF-8", lambda p: p.create_table("\ud800")),
    ("no text", hf.InvalidType, "of type int: give a str", lambda p: p.table(3)),  # type: ignore[arg-type]
    ("bytes", hf.InvalidType, "of type bytes", lambda p: p.drop(b"one")),  # type: ignore[arg-type]
    ("mode", hf.InvalidArgument, "mode is 'w'", lambda p: p.table("one", mode="w")),
    ("key", hf.InvalidArgument, "7", lambda p: p.create_table("x", key=7)),
    ("device", hf.InvalidArgument, "tpu", lambda p: p.create_table("x", device="tpu")),
    ("option", TypeError, "slot", lambda p: p.create_table("x", slot=3)),  # type: ignore[call-arg]
    ("progress", hf.InvalidType, "progress", lambda p: p.snapshot("x", progress=3)),  # type: ignore[arg-type]
    ("snapshot of itself", hf.PoolExists, "exists already", lambda p: p.snapshot(p.path)),
    ("opened twice", hf.ObjectInUse, "is open for writing", lambda p: Pool.open(p.path)),
]  # fmt: skip


@pytest.mark.parametrize(("error", "text", "act"), [e[1:] for e in ERRORS], ids=[e[0] for e in ERRORS])
def test_errors_change_nothing(path: Path, error: type[Exception], text: str, act: Callable[[Pool], Any]) -> None:
    with Pool.open(path) as pool:
        with pytest.raises(error, match=text):
            act(pool)
        assert names(pool) == ["one", "two"]
        gc.collect()  # an error's traceback kept what it had opened
        assert pool.check().items == 2000
    with Pool.open(path) as pool:
        assert holds(pool.table("one"), 1) and holds(pool.table("two"), 2)


def test_what_is_no_pool(folder: Path, path: Path) -> None:
    with pytest.raises(hf.InvalidType, match=r"Pool\(\) makes no pool"):
        Pool()
    with pytest.raises(hf.PoolExists, match="exists already"):
        Pool.create(path)
    with pytest.raises(hf.PoolNotFound, match=r"x\.hold"):
        Pool.open(folder / "x.hold")
    with pytest.raises(hf.InvalidArgument, match="mode is 'w'"):
        Pool.open(path, mode="w")
    with pytest.raises(hf.InvalidType, match="path is of type int"):
        Pool.open(3)  # type: ignore[arg-type]
    with pytest.raises(hf.InvalidArgument, match="the objects one and two"):
        Table.open(path)
    (folder / "x.hold").write_text("no pool")
    with pytest.raises(hf.PoolCorrupt):
        Pool.open(folder / "x.hold")
    Pool.create(path, overwrite=True).close()
    with pytest.raises(hf.ObjectNotFound, match="without objects: create a table"):
        Table.open(path)


def test_renamed_replaced_and_dropped(path: Path) -> None:
    with Pool.open(path) as pool:
        one = pool.table("one")
        pool.rename("one", "uno")  # while it is open
        assert names(pool) == ["uno", "two"] and holds(one, 1)
        with pytest.raises(hf.ObjectInUse):
            pool.drop("uno")
        one.close()
        assert holds(pool.table("uno"), 1)
        gc.collect()
        replaced = pool.create_table("two", value=16, overwrite=True)
        assert len(replaced) == 0 and replaced.value_bytes == 16
        replaced.close()
        size = path.stat().st_size
        pool.drop("two")
        assert names(pool) == ["uno"] and path.stat().st_size < size
    with Table.open(path) as only:
        assert holds(only, 1) and only.path == str(path)


def test_many_read_and_nobody_writes(path: Path) -> None:
    with Pool.open(path, mode="r") as a, Pool.open(path, "r") as b:
        one = a.table("one")
        assert (a.mode, one.mode) == ("r", "r") and holds(one, 1) and holds(b.table("one"), 1)
        for act in (
            lambda: fill(one, 2),
            lambda: a.drop("two"),
            lambda: a.create_table("three"),
            lambda: a.rename("two", "x"),
            lambda: a.table("two", mode="r+"),
        ):
            with pytest.raises(hf.ReadOnly, match="read"):
                act()
        assert a.check().items == 2000
        with pytest.raises(hf.ObjectInUse):
            Pool.open(path)
    with Pool.open(path) as pool:
        reader = pool.table("one", mode="r")
        assert reader.mode == "r"
        with pytest.raises(hf.ReadOnly):
            fill(reader, 2)
        fill(pool.table("two"), 3)


def test_whichever_handle_goes_last_closes(path: Path) -> None:
    pool = Pool.open(path)
    one = pool.table("one")
    del pool
    gc.collect()
    fill(one, 5)  # the table keeps the pool open
    with pytest.raises(hf.ObjectInUse):
        Pool.open(path)
    del one
    gc.collect()
    with Pool.open(path) as pool:
        one = pool.table("one")
        assert holds(one, 5)
        del one
        gc.collect()
        one = pool.table("one")  # the handle before is gone: it opens again
        two = pool.table("two")
        pool.close()
        pool.close()
        assert one.closed and two.closed and pool.closed
        one.close()
        for act in (lambda: fill(one, 1), lambda: pool.drop("one"), lambda: pool.objects, lambda: pool.table("one")):
            with pytest.raises(hf.ObjectClosed, match="closed"):
                act()


def test_no_pickles_and_no_copies(path: Path) -> None:
    with Pool.open(path) as pool:
        for call in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=r"a pool cannot be pickled or copied.*Pass the path"):
                call(pool)


def test_a_forked_child_cannot_use_it_and_harms_nothing(path: Path) -> None:
    code = """
import os, warnings
warnings.simplefilter("ignore")
pool = hf.Pool.open(sys.argv[1])
table = pool.table("one")
table.insert([5000], [1])
child = os.fork()
if child == 0:
    for call in (lambda: table.find([1]), lambda: pool.create_table("x"), lambda: pool.drop("two"),
                 lambda: pool.rename("two", "x"), lambda: pool.table("two"), lambda: pool.objects, lambda: pool.check(),
                 lambda: pool.check("two"), lambda: pool.snapshot(sys.argv[1] + "x"), lambda: pool.close()):
        try:
            call()
            os._exit(1)
        except hf.ObjectClosed as error:
            if "parent" not in str(error):
                os._exit(2)
    if not pool.closed or "closed" not in repr(pool):
        os._exit(3)
    try:
        hf.Pool.open(sys.argv[1])
        os._exit(4)
    except hf.PoolInUse:
        pass
    del table, pool
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
table.insert([6000], [1])
assert pool.check().items == 2002 and pool.check().ok
pool.close()
"""
    done = in_child(code, path)
    assert done.returncode == 0, done.stderr
    assert hf.check(path).items == 2002


def test_a_killed_process_leaves_each_table_whole(path: Path) -> None:
    code = """
import os, signal
pool = hf.Pool.open(sys.argv[1])
one, two = pool.table("one", device="cpu"), pool.table("two", device="cpu")
one.insert([5000], [1])
two.insert([5000], [1])
two.sync()
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert in_child(code, path).returncode == -9
    assert [found.clean for found in hf.inspect(path).objects] == [False, True]
    with Pool.open(path, "r") as pool:
        assert len(pool.table("two")) == 1001
        with pytest.raises(hf.ReadOnly, match="was not closed"):
            pool.table("one")
    with Pool.open(path, "r", salvage=True) as pool:
        assert len(pool.table("one")) == 1001
    assert not hf.check(path, name="one").was_clean and hf.check(path, name="two").was_clean
    assert hf.check(path, repair=True, name="one").items == 1001
    assert all(found.clean for found in hf.inspect(path).objects)


def test_files_in_and_out_of_one_table(path: Path, tmp_path: Path) -> None:
    """A load and a dump are of one table, by its number: a name may change meanwhile."""
    out = tmp_path / "one.csv"
    with Pool.open(path) as pool:
        three, one = pool.create_table("three"), pool.table("one")
        pool.rename("one", "uno")
        assert hf.dump(one, out, value="uint64").rows == 1000
        assert hf.load(three, out, value="uint64").inserted == 1000
        assert holds(three, 1)


def test_a_dump_resumes_on_an_unchanged_table_alone(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "one.csv"

    def stop(done: int, total: int) -> None:
        if done >= 500:
            raise KeyboardInterrupt

    def dumped(name: str, **options: Any) -> hf.DumpReport:
        with Pool.open(path, "r") as pool:
            return hf.dump(pool.table(name), out, batch=100, resume=True, **options)

    def interrupted() -> None:
        with pytest.raises(KeyboardInterrupt):
            dumped("one", progress=stop)

    def change(name: str) -> None:
        with Pool.open(path) as pool, pool.table(name) as table:
            table.insert([5000], [1])

    interrupted()
    assert not dumped("two").resumed, "another table"
    out.unlink()
    interrupted()
    change("two")
    assert dumped("one").resumed, "which is no matter to it"
    out.unlink()
    interrupted()
    change("one")
    report = dumped("one")
    assert not report.resumed and report.rows == 1001


def test_an_empty_pool_is_small(folder: Path) -> None:
    for name, sizes in (("values", (8, 128)), ("any", (bytes, bytes))):
        Table.create(folder / name, *sizes).close()
    assert (folder / "values").stat().st_size <= 2 << 20 and (folder / "any").stat().st_size <= 6 << 20
    assert (folder / "any").stat().st_mode & 0o777 == 0o600
