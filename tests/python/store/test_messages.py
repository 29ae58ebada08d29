"""What a store says about bad input: what, where and what to do, in the words of its Python interface."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfastdb as hf

Call = Callable[[hf.Store, Path], Any]
A, U8 = b"a", np.uint8

WRONG: list[tuple[str, Call, str]] = [
    ("text", lambda s, d: s["a"], "key is 'a', of type str: encode it"),
    ("array as value", lambda s, d: s.set(A, np.arange(3)), r"of type ndarray: give bytes, such as value\.tobytes\(\)"),
    (
        "long key",
        lambda s, d: s.get(bytes(70_000)),
        "store takes keys of up to 65535 bytes, and the key has 70000: give a",
    ),
    (
        "long value",
        lambda s, d: s.set(A, bytes(2 << 20)),
        "and the value has 2097152: open the store for larger values",
    ),
    ("long row", lambda s, d: s.set_many([A, A], [A, bytes(2 << 20)]), "and the value of row 1 has 2097152"),
    ("long key row", lambda s, d: s.get_many([A, bytes(70_000)]), "and the key of row 1 has 70000"),
    ("long reserved", lambda s, d: s.reserve([A], 1 << 40), "and the value of row 0 has 1099511627776"),
    ("null", lambda s, d: s.set_many([A, None], [A, A]), r"keys\[1\] is null, and nulls are not stored"),
    ("texts", lambda s, d: s.get_many(["a"]), r"keys\[0\] is 'a', of type str: encode it"),
    (
        "numbers",
        lambda s, d: s.get_many(np.arange(3)),
        "keys is an array of int64: give a list or an object array of bytes",
    ),
    ("lengths", lambda s, d: s.set_many([A, A], [A]), "values has 1 rows, and keys 2: give one for each key"),
    (
        "list of offsets",
        lambda s, d: s.get_many((np.zeros(3, U8), [0, 3])),
        r"keys\[1\] is of type list, and keys\[0\] an array: give .* \(n \+ 1,\) offsets",
    ),
    (
        "offsets down",
        lambda s, d: s.get_many((np.zeros(3, U8), np.array([0, 2, 1, 3]))),
        "the offsets of keys decrease at row 1",
    ),
    (
        "values down",
        lambda s, d: s.set_many([A, A, A], (np.zeros(3, U8), np.array([0, 2, 1, 3]))),
        "the offsets of values decrease at row 1",
    ),
    ("objects", lambda s, d: s.get_many([A], out=np.array([1], object)), "out holds Python objects: give numbers"),
    ("row number", lambda s, d: copy_to(s.reserve([A], 8), 3), r"rows\[0\] is 3: give 0 to 0"),
    ("no path", lambda s, d: hf.Store(5), "pool is 5, of type int: give a path, or a holdfastdb.Pool"),
    ("evict", lambda s, d: hf.Store(d / "b.hold", evict=True), "cannot evict items without a limit: give one"),
    ("limit", lambda s, d: hf.Store(d / "b.hold", limit=5), "limit is 5: give 4 MiB to 1 TiB, in bytes, or 0"),
    (
        "large limit",
        lambda s, d: hf.Store(d / "b.hold", limit=1 << 50),
        "limit is 1125899906842624: give 4 MiB to 1 TiB, in bytes, or 0",
    ),
    (
        "limit later",
        lambda s, d: setattr(s, "limit", 1 << 50),
        "limit is 1125899906842624: give 4 MiB to 1 TiB, in bytes, or 0",
    ),
    ("ttls", lambda s, d: s.set_many([A, A], [A, A], ttl=[1]), "ttl has 1 numbers, and there are 2 keys: give one"),
    ("ttl row", lambda s, d: s.set_many([A, A], [A, A], ttl=[1, -1]), r"ttl\[1\] is -1: give seconds from now"),
    ("ttl array", lambda s, d: s.set_many([A, A], [A, A], ttl=np.array([1, np.nan])), r"ttl\[1\] is nan: give"),
    ("time row", lambda s, d: s.set_many([A, A], [A, A], expires=[None, 0]), r"expires\[1\] is 0: give seconds since"),
    ("text row", lambda s, d: s.set_many([A, A], [A, A], expires=[1, "2"]), r"expires\[1\] is '2', of type str"),
    ("both rows", lambda s, d: s.set_many([A], [A], ttl=[1], expires=2), "both ttl and expires are given"),
    ("flags", lambda s, d: s.set_many([A, A], [A, A], flags=[1, 1 << 32]), r"flags\[1\] is 4294967296: give 0 to"),
    (
        "max_value",
        lambda s, d: hf.Store(d / "b.hold", max_value=1 << 30),
        "max_value is 1073741824: give 1 to 134,217,728",
    ),
    (
        "expected",
        lambda s, d: hf.Store(d / "b.hold", expected_items=1 << 32),
        "expected_items is 4294967296: give 0 to",
    ),
    ("device list", lambda s, d: hf.Store(d / "b.hold", devices=1), r"devices is 1, of type int: give numbers of GPUs"),
    ("device", lambda s, d: hf.Store(d / "b.hold", index="gpu", devices=[-1]), "devices is -1: give 0 to"),
    (
        "many",
        lambda s, d: hf.Store(d / "b.hold", index="gpu", devices=range(300)),
        "devices has 300 numbers: give up to",
    ),
    ("one device twice", lambda s, d: hf.Store(d / "b.hold", index="gpu", devices=(1, 1)), "names GPU 1 twice"),
    ("no index", lambda s, d: hf.Store(d / "b.hold", devices=(0, 1)), "has devices, but its index is not on a GPU"),
    ("twice", lambda s, d: hf.Store(d / "a.hold"), "in this process: use what is open, or close it first"),
    (
        "pool's name",
        lambda s, d: twice(d),
        "b.hold:s is open in this process, and opens once at a time: close it first",
    ),
    (
        "other kind",
        lambda s, d: of_a_log(d),
        "b.hold:t is a checkpoint, not a store: open it as a checkpoint, or name a store",
    ),
    (
        "in use",
        lambda s, d: close_with(s.reserve([A], 8), s),
        "cannot be closed while it has reservations or leases: commit, abort or release them",
    ),
]


def twice(folder: Path) -> None:
    with hf.Pool.create(folder / "b.hold") as pool, hf.Store(pool, name="s"):
        hf.Store(pool, name="s")


def of_a_log(folder: Path) -> None:
    with hf.Pool.create(folder / "b.hold") as pool:
        hf.Checkpoint(pool, name="t").close()
        hf.Store(pool, name="t")


def copy_to(reserved: hf.StoreReservation, row: int) -> None:
    with reserved:
        reserved.copy_in([np.zeros(1)], [row])


def close_with(held: Any, store: hf.Store) -> None:
    with held:
        store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[hf.Store]:
    with hf.Store(tmp_path / "a.hold") as opened:
        yield opened


@pytest.mark.parametrize(("call", "says"), [one[1:] for one in WRONG], ids=[one[0] for one in WRONG])
def test_it_says(store: hf.Store, tmp_path: Path, call: Call, says: str) -> None:
    with pytest.raises(hf.Error, match=says) as raised:
        call(store, tmp_path)
    assert not re.search(r"\btable|_bytes\b|gpu = true", str(raised.value)), "words of another interface"


def test_a_closed_store_says_so(store: hf.Store) -> None:
    scan = store.scan()
    reads = (store.get, store.item, store.__contains__, store.touch, store.delete, store.increment, store.get_and_touch)
    many = (store.get_many, store.delete_many, store.lease, store.lookup)
    store.close()
    calls = [lambda call=call: call(A) for call in reads] + [lambda call=call: call([A]) for call in many]
    calls += [lambda: store.set(A, A, ttl=5), lambda: store.set_many([A], [A]), lambda: store.reserve([A], 1)]
    calls += [
        lambda: len(store),
        lambda: next(scan),
        store.flush_all,
        store.reclaim,
        store.drop_damaged,
        store.stats,
        store.sync,
    ]
    calls += [store.check, lambda: store.now, lambda: store.limit, lambda: store.domain]
    for call in calls:
        with pytest.raises(hf.ObjectClosed, match=r"a\.hold:store is closed: open it again"):
            call()
    assert store.closed and store.path.endswith("a.hold:store")
