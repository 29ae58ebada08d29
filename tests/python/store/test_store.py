"""The store, as Python programs use it."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import PATIENCE_S

import holdfastdb as hf
from holdfastdb import StoreStatus


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.hold"


@pytest.fixture
def store(path: Path) -> Iterator[hf.Store]:
    with hf.Store(path) as opened:
        yield opened


def test_items_outlive_the_process(path: Path) -> None:
    with hf.Store(path) as store:
        store[b"a"] = b"1"
        assert store.set(b"b", b"2", flags=7, ttl=3600) is StoreStatus.INSERTED
        assert store.set(b"b", b"3", flags=8) is StoreStatus.UPDATED
        assert len(store) == 2 and b"a" in store and b"c" not in store
        assert repr(store).endswith("a.hold:store: 2 items>")
    assert store.closed and "closed" in repr(store)
    with hf.Store(path) as store:
        assert store[b"a"] == b"1"
        assert store.get(b"c") is None and store.get(b"c", b"x") == b"x"
        item = store.item(b"b")
        assert item[:2] == (b"3", 8) and item.expires is None and not item.stale
        del store[b"a"]
        with pytest.raises(KeyError):
            store[b"a"]
        with pytest.raises(KeyError):
            del store[b"a"]
        assert not store.check().errors
    assert [found.type for found in hf.inspect(path).objects] == ["store"]


def test_conditions(store: hf.Store) -> None:
    assert store.replace(b"k", b"1") is StoreStatus.NOT_FOUND
    assert store.append(b"k", b"1") is StoreStatus.NOT_FOUND
    assert store.add(b"k", b"1") is StoreStatus.INSERTED
    assert store.add(b"k", b"2") is StoreStatus.EXISTS
    assert store.replace(b"k", b"5") is StoreStatus.UPDATED
    seen = store.item(b"k")
    assert store.cas(b"k", b"6", seen.cas + 1) is StoreStatus.MISMATCH
    assert store.cas(b"k", b"6", seen.cas) is StoreStatus.UPDATED
    assert not store.delete(b"k", seen.cas)
    assert store.append(b"k", b"7") is StoreStatus.UPDATED
    assert store.prepend(b"k", b"1") is StoreStatus.UPDATED
    assert store[b"k"] == b"167"
    assert store.increment(b"k") == 168 and store.increment(b"k", 32) == 200
    assert store.decrement(b"k", 500) == 0 and store.increment(b"none") is None
    store[b"k"] = b"x"
    with pytest.raises(hf.InvalidArgument, match="no decimal number"):
        store.increment(b"k")


def test_expiry(store: hf.Store) -> None:
    store.set(b"a", b"1", ttl=0.05)
    store.set(b"b", b"2", ttl=100)
    assert abs(store.item(b"b").expires - time.time() - 100) < 5
    assert store.touch(b"b", expires=time.time() + 500)
    assert store.get_and_touch(b"b").value == b"2" and store.item(b"b").expires is None
    assert store.mark_stale(b"b") and store.item(b"b").stale
    while store.now < time.time() - 1:
        pass
    time.sleep(0.06)
    assert b"a" not in store and not store.touch(b"a", ttl=10)
    store.flush_all()
    assert len(store) == 0 and b"b" not in store
    store[b"c"] = b"3"
    assert len(store) == 1
    store.flush_all(0.02)
    time.sleep(0.03)
    assert len(store) == 0 and b"c" not in store
    assert sum(store.reclaim() for _ in range(16)) >= 1 and len(store) == 0


def test_times(store: hf.Store) -> None:
    for ttl in (0, -0.0, -1, float("nan"), float("inf"), -float("inf"), 1e20):
        for call in (store.touch, store.get_and_touch, store.mark_stale):
            with pytest.raises(
                hf.InvalidArgument, match=r"ttl is .*: give seconds from now, more than 0, up to the year"
            ):
                call(b"k", ttl=ttl)
        with pytest.raises(hf.InvalidArgument, match=r"ttl is .*without ttl and expires an item never expires"):
            store.set(b"k", b"v", ttl=ttl)
        with pytest.raises(hf.InvalidArgument, match="ttl is"):
            store.reserve([b"k"], 1, ttl=ttl)
    for expires in (0, -1, float("nan"), float("inf"), 1e15):
        with pytest.raises(hf.InvalidArgument, match=r"expires is .*: give seconds since 1970, up to"):
            store.set_many([b"k"], [b"v"], expires=expires)
    for delay in (-1, float("nan"), float("inf"), 1e20):
        with pytest.raises(hf.InvalidArgument, match=r"delay is .*: give seconds from now, 0 or more"):
            store.flush_all(delay)
    assert len(store) == 0
    before = time.time()
    store.set(b"k", b"v", ttl=1e-9)  # a millisecond
    assert store.get_and_touch(b"k") is None or store.item(b"k").expires is None
    store.set(b"k", b"v", ttl=1000)
    assert before + 999 < store.item(b"k").expires < before + 1010
    for past in (1e-5, 1, before - 5):
        store[b"k"] = b"v"
        assert store.set(b"k", b"v", expires=past) is StoreStatus.UPDATED and b"k" not in store


def test_many_keys(store: hf.Store) -> None:
    pa = pytest.importorskip("pyarrow")
    keys = [f"key {i}".encode() for i in range(1000)]
    values = [b"v" * (i % 300) for i in range(1000)]
    assert (store.set_many(keys, values, flags=3) == StoreStatus.INSERTED).all()
    assert store.get_many([*keys, b"none"]).tolist() == [*values, None]
    assert store.item(keys[5]).flags == 3
    arrow = store.get_many(pa.array(keys[:3], pa.binary()))
    assert arrow.type == pa.large_binary() and arrow.to_pylist() == values[:3]
    joined = np.frombuffer(b"".join(keys[:2]), np.uint8)
    ends = np.array([0, len(keys[0]), len(keys[0]) + len(keys[1])])
    assert store.get_many((joined, ends)).tolist() == values[:2]
    statuses = store.delete_many([keys[0], b"none", keys[0]])
    assert statuses.tolist() == [StoreStatus.ERASED, StoreStatus.NOT_FOUND, StoreStatus.NOT_FOUND]
    assert store.get_many([]).tolist() == [] and store.set_many([], []).tolist() == []


def test_each_row_has_its_options(store: hf.Store) -> None:
    keys = [b"a", b"b", b"c"]
    store.set_many(keys, keys, ttl=[None, 100, 2000], flags=np.array([1, 2, 3], np.uint32))
    items = [store.item(key) for key in keys]
    assert [item.flags for item in items] == [1, 2, 3] and items[0].expires is None
    assert 90 < items[1].expires - store.now <= 100 < items[2].expires - store.now <= 2000
    later = np.array([1.5, 1e9, 9.5]) + time.time()
    assert (store.set_many(keys, keys, expires=later, flags=7) == StoreStatus.UPDATED).all()
    items = [store.item(key) for key in keys]
    assert [item.flags for item in items] == [7] * 3
    assert all(0 <= item.expires - time < 0.002 for item, time in zip(items, later, strict=True))
    store.set_many(keys, keys, expires=[1, None, 1])  # in the past: absent
    assert store.get_many(keys).tolist() == [None, b"b", None]
    store.set_many(keys, keys, ttl=np.array([10, 20, 30]), flags=[4, 5, 6])
    items = [store.item(key) for key in keys]
    assert [(item.flags, 0 < item.expires - store.now <= 30) for item in items] == [(4, True), (5, True), (6, True)]
    assert store.set_many([], [], ttl=[], flags=[]).tolist() == [] and store.set_many([], [], ttl=5).tolist() == []


def test_counters(store: hf.Store) -> None:
    """What docs/store.md says of them."""
    assert store.increment(b"n") is None and store.decrement(b"n") is None and b"n" not in store
    store.set(b"n", b"%d" % ((1 << 64) - 1), ttl=100, flags=9)
    cas = store.item(b"n").cas
    assert store.increment(b"n", 3) == 2 and store[b"n"] == b"2"  # it wraps
    assert store.decrement(b"n", 3) == 0 and store[b"n"] == b"0"  # it does not
    item = store.item(b"n")
    assert item.flags == 9 and item.expires is not None and item.cas != cas
    store[b"n"] = b"007"
    assert store.increment(b"n") == 8 and store[b"n"] == b"8"
    for value in (b"", b"-1", b"+1", b" 1", b"1.5", b"%d" % (1 << 64), b"0" * 21):
        store[b"n"] = value
        with pytest.raises(hf.InvalidArgument, match="is no decimal number below 2\\^64"):
            store.increment(b"n")
        assert store[b"n"] == value
    with pytest.raises(hf.InvalidArgument, match="by is -1: give 0 to"):
        store.increment(b"n", -1)


def test_touch_without_a_time_ends_the_expiry(store: hf.Store) -> None:
    for call in (store.touch, store.get_and_touch, store.mark_stale):
        store.set(b"k", b"v", ttl=100)
        assert call(b"k") and (store.item(b"k").expires is None) == (call != store.mark_stale)


def test_delete_and_cas_with_an_id(store: hf.Store) -> None:
    store[b"k"] = b"v"
    cas = store.item(b"k").cas
    assert store.delete(b"none", cas) is False and store.delete(b"k", cas + 1) is False and b"k" in store
    assert store.cas(b"k", b"w", 0) is StoreStatus.MISMATCH
    assert store.delete(b"k", cas) is True and store.cas(b"k", b"w", cas) is StoreStatus.NOT_FOUND


def test_scan(store: hf.Store) -> None:
    expected = {f"key {i}".encode(): b"v" * i for i in range(500)}
    store.set_many(list(expected), list(expected.values()))
    assert {key: item.value for key, item in store.scan()} == expected
    assert sorted(store) == sorted(expected)
    for key in store:  # it may change meanwhile
        store.delete(key)
    assert len(store) == 0


def test_a_full_medium_is_described(path: Path) -> None:
    """A limit of file sizes stands in for it."""
    program = f"""
import holdfastdb as hf, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (32 << 20, 32 << 20))
store = hf.Store({str(path)!r})
try:
    for i in range(100_000):
        store[b"%d" % i] = b"v" * 100_000
except hf.NoSpace as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S)
    assert "a.hold:store has no space for the item: the pool has " in done.stdout, done.stdout + done.stderr
    assert " free. Free space there, raise a quota or limit of file sizes" in done.stdout


def test_limit_and_eviction(path: Path) -> None:
    with hf.Store(path, limit=8 << 20) as store:
        with pytest.raises(
            hf.NoSpace, match=r"a.hold:store has no memory for the item: its limit is 8,388,608 bytes. R"
        ):
            for i in range(10_000):
                store[b"%d" % i] = b"v" * 10_000
        before = len(store)
        keys = [b"n%d" % i for i in range(20)]
        with pytest.raises(hf.NoSpace, match="of 20 items") as raised:
            store.set_many(keys, [b"w" * 100_000] * 20)
        assert set(raised.value.statuses) <= {StoreStatus.NO_SPACE, StoreStatus.INSERTED}
        store.limit = 16 << 20
        store[b"more"] = b"v" * 10_000
        assert len(store) > before and store.stats().limit_bytes == 16 << 20
    with hf.Store(path, limit=8 << 20, evict=True) as store:
        for i in range(3_000):
            store[b"e%d" % i] = b"v" * 10_000
        assert store.stats().evicted > 1_000 and b"e2999" in store


def test_in_a_pool_with_others(path: Path) -> None:
    with hf.Pool.create(path) as pool:
        pool.create_table("t").close()
        with hf.Store(pool, name="s") as store:
            store[b"a"] = b"1"
            copy = path.with_name("b.hold")
            pool.snapshot(copy)
        assert pool.check("s").items == 1
    with hf.Store(copy, name="s", mode="r") as store:
        assert store[b"a"] == b"1"
        with pytest.raises(hf.ReadOnly):
            store[b"a"] = b"2"


def test_bad_input(path: Path, store: hf.Store) -> None:
    with pytest.raises(TypeError, match="key is 'a', of type str: encode it"):
        store["a"]
    with pytest.raises(TypeError, match="value is 1, of type int: give bytes"):
        store[b"a"] = 1
    with pytest.raises(
        hf.InvalidArgument, match="keys of up to 65535 bytes, and the key has 65536: give a shorter key"
    ):
        store[b"k" * 65_536]
    with pytest.raises(hf.InvalidArgument, match="and the value has 1048577: open the store for larger"):
        store[b"k"] = b"v" * ((1 << 20) + 1)
    with pytest.raises(hf.InvalidArgument, match="both ttl and expires"):
        store.set(b"k", b"v", ttl=1, expires=2)
    with pytest.raises(hf.InvalidArgument, match="ttl is nan"):
        store.set(b"k", b"v", ttl=float("nan"))
    with pytest.raises(hf.InvalidArgument, match="give one for each key"):
        store.set_many([b"a"], [])
    with pytest.raises(hf.ObjectInUse):
        hf.Store(path)
    with pytest.raises(hf.InvalidArgument, match="give 4 MiB to 1 TiB"):
        hf.Store(path.with_name("c.hold"), limit=5)
    with pytest.raises(hf.InvalidArgument, match="without a limit"):
        hf.Store(path.with_name("d.hold"), evict=True)
    with pytest.raises(hf.PoolNotFound):
        hf.Store(path.with_name("e.hold"), mode="r")
    store.close()
    store.close()
    with pytest.raises(hf.ObjectClosed, match="open it again"):
        store[b"a"]


def test_threads(store: hf.Store) -> None:
    store[b"n"] = b"0"

    def count() -> None:
        for _ in range(500):
            store.increment(b"n")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store[b"n"] == b"2000"


def test_where_the_index_is(path: Path) -> None:
    for index in ("auto", "cpu"):
        with hf.Store(path, index=index) as store:
            store[b"a"] = b"1"
            assert store.stats().index == "cpu" and store.stats().index_failure == ""
    with pytest.raises(hf.InvalidArgument, match="index is 'tpu': give 'auto', 'cpu' or 'gpu'"):
        hf.Store(path, index="tpu")
    if hf.cuda_devices()[0]:
        with hf.Store(path, index="gpu") as store:
            assert store[b"a"] == b"1" and store.stats().index == "gpu"
    else:
        with pytest.raises(hf.DeviceError, match=r"cannot have its index on a GPU: .*(without CUDA|no NVIDIA GPU)"):
            hf.Store(path, index="gpu")
