"""Values of a store in place: arrays copied into reservations and out of leases."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import holdfastdb as hf
from holdfastdb import StoreStatus

EXAMPLE = Path(__file__).parents[3] / "examples" / "kv_cache.py"
KEYS = [b"a", b"b", b"c"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[hf.Store]:
    with hf.Store(tmp_path / "a.hold", max_value=16 << 20) as opened:
        yield opened


def test_arrays_become_values_and_come_back(store: hf.Store) -> None:
    given = [np.arange(3, dtype=np.uint8), np.random.default_rng(1).random((300, 1000)), np.zeros(0, np.int16)]
    with store.reserve(KEYS, [array.nbytes for array in given], flags=7) as reserved:
        transfer = reserved.copy_in(given)
        assert transfer.done()
        transfer.wait()
        assert len(reserved) == 3 and reserved.has(1) and "3 of 3 rows" in repr(reserved)
        assert b"a" not in store
        assert reserved.commit(1).tolist() == [StoreStatus.INSERTED]
        assert store[b"b"] == given[1].tobytes() and b"c" not in store
        assert not reserved.has(1) and reserved.has(0)
        assert reserved.commit().tolist() == [StoreStatus.INSERTED] * 3
    assert [store[key] for key in KEYS] == [array.tobytes() for array in given]
    assert store.item(b"a").flags == 7
    with store.lease([*KEYS, b"none"]) as lease:
        assert [lease.has(row) for row in range(4)] == [True, True, True, False]
        assert lease.size(1) == given[1].nbytes and lease.value(0) == bytes(range(3))
        store.set_many(KEYS, [b"x"] * 3)
        filled = [np.full_like(array, 9) for array in given]
        lease.copy_out(filled).wait()
        assert all((one == other).all() for one, other in zip(filled, given, strict=True))
        lease.release(0)
        assert not lease.has(0) and "2 of 4 rows" in repr(lease)
        with pytest.raises(hf.InvalidArgument, match="row 0 was released before: lease its key again"):
            lease.value(0)
    assert store[b"a"] == b"x" and not store.check().errors


def test_parts_of_values(store: hf.Store) -> None:
    value = np.random.default_rng(2).integers(0, 256, 5_000_000, np.uint8)
    parts = [value[at : at + 70_000] for at in range(0, len(value), 70_000)]
    offsets = np.arange(0, len(value), 70_000)
    order = np.random.default_rng(3).permutation(len(parts))
    reserved = store.reserve([b"x", b"y"], len(value))
    reserved.copy_in([parts[i] for i in order], [1] * len(parts), offsets[order])
    reserved.abort(0)
    assert reserved.commit().tolist() == [StoreStatus.NOT_RUN, StoreStatus.INSERTED]
    assert store[b"y"] == value.tobytes() and b"x" not in store
    with store.lookup([b"y", b"x", b"y"], lease=True) as lease:
        assert len(lease) == 1
        middle = np.zeros(1000, np.uint8)
        lease.copy_out([middle], offsets=4_000_001)
        assert (middle == value[4_000_001:4_001_001]).all()
    assert store.lookup([b"y", b"x", b"y"]) == 1 and store.lookup([]) == 0


def test_torch(store: hf.Store) -> None:
    torch = pytest.importorskip("torch")
    given = torch.arange(1000, dtype=torch.bfloat16)
    with store.reserve([b"t"], given.nbytes) as reserved:
        reserved.copy_in([given])
        reserved.commit()
    filled = torch.zeros_like(given)
    with store.lease([b"t"]) as lease:
        lease.copy_out([filled])
        with pytest.raises(hf.InvalidArgument, match="cannot be written"):
            lease.copy_out([torch.zeros(2000, dtype=torch.uint8).float().requires_grad_()])
    assert torch.equal(given, filled)


def test_what_is_reserved_counts_and_ends(tmp_path: Path) -> None:
    with hf.Store(tmp_path / "a.hold", limit=16 << 20, max_value=16 << 20) as store:
        with store.reserve([b"a", b"b"], 9 << 20) as reserved:
            assert [reserved.has(0), reserved.has(1)] == [True, False]
            with pytest.raises(hf.InvalidArgument, match="reservations or leases"):
                store.close()
            assert reserved.commit(0).tolist() == [StoreStatus.INSERTED]
            with pytest.raises(hf.InvalidArgument, match="row 0 was committed before: reserve its key again"):
                reserved.commit(0)
            with pytest.raises(hf.InvalidArgument, match="row 1 of a reservation has no memory"):
                reserved.copy_in([np.zeros(1)], [1])
        store.delete(b"a")
        for _ in range(5):
            with store.reserve([b"a"], 9 << 20) as reserved:
                assert reserved.has(0)
        assert len(store) == 0


def test_arrays_that_are_too_small_are_refused(store: hf.Store) -> None:
    store.set_many([b"a", b"b"], [b"12345678", b"abcd"])
    small, whole = np.zeros(6, np.uint8), np.zeros(4, np.uint8)
    with store.lease([b"a", b"b", b"none"]) as lease:
        says = r"arrays\[1\] has 6 bytes, and the value of row 0 8: give an array of 8 bytes, or offsets to copy a part"
        with pytest.raises(hf.InvalidArgument, match=says):
            lease.copy_out([whole, small], rows=[1, 0])
        assert not whole.any() and not small.any()  # nothing was copied
        with pytest.raises(hf.InvalidArgument, match=r"arrays\[0\] has 4 bytes, and the value of row 0 8"):
            lease.copy_out([whole])
        with pytest.raises(hf.InvalidArgument, match="has 6 bytes from 0 on, and the value has 4"):
            lease.copy_out([small], rows=[1])
        with pytest.raises(hf.InvalidArgument, match="row 2"):
            lease.copy_out([small], rows=[2])
        lease.copy_out([small, whole], rows=[0, 1], offsets=[2, 0])  # a part is asked for
        assert small.tobytes() == b"345678" and whole.tobytes() == b"abcd"
        lease.copy_out([small], offsets=0)
        assert small.tobytes() == b"123456"


def test_items_of_a_reservation_have_options(store: hf.Store) -> None:
    with store.reserve(KEYS, 1, ttl=[None, 50, 5000], flags=[1, 2, 3]) as reserved:
        reserved.copy_in([np.zeros(1, np.uint8)] * 3)
        reserved.commit()
    items = [store.item(key) for key in KEYS]
    assert [item.flags for item in items] == [1, 2, 3] and items[0].expires is None
    assert 40 < items[1].expires - store.now <= 50 < items[2].expires - store.now <= 5000


def test_bad_arguments(store: hf.Store) -> None:
    with store.reserve([b"a", b"b"], 8) as reserved:
        ones = np.ones(8, np.uint8)
        for arrays, rows, offsets, error in (
            (ones, None, 0, "give a list of arrays"),
            ([3], None, 0, r"arrays\[0\] is 3"),
            ([ones] * 3, None, 0, "there are 2 rows, and arrays has 3"),
            ([ones], None, 0, "there are 2 rows, and arrays has 1: give one for each, or name their rows"),
            ([ones], [2], 0, r"rows\[0\] is 2: give 0 to 1"),
            ([ones], [-1], 0, r"rows\[0\] is -1"),
            ([ones], [0, 1], 0, "rows has 2 numbers"),
            ([ones], "0", 0, "rows is '0'"),
            ([ones], [0], [1], "part 0, of row 0, has 8 bytes from 1 on, and the value has 8"),
            ([ones], [0], 1.5, "offsets is 1.5"),
            ([np.ones(16, np.uint8)[::2]], [0], 0, r"arrays\[0\] is not contiguous"),
        ):
            with pytest.raises((hf.InvalidArgument, hf.errors.InvalidType), match=error):
                reserved.copy_in(arrays, rows, offsets)
        with pytest.raises((hf.InvalidArgument, hf.errors.InvalidType), match="stream is 'x'"):
            reserved.copy_in([ones], 0, stream="x")
        with pytest.raises(hf.InvalidArgument, match="row is 2"):
            reserved.commit(2)
    with store.reserve([], []) as reserved, pytest.raises(hf.InvalidArgument, match="there is none"):
        reserved.abort(0)
    with pytest.raises(hf.InvalidArgument, match="sizes has 1 numbers, and there are 2"):
        store.reserve([b"a", b"b"], [8])
    with pytest.raises(hf.InvalidArgument, match="values of up to"):
        store.reserve([b"a"], 1 << 30)
    store[b"r"] = b"12345678"
    read_only = np.ones(8, np.uint8)
    read_only.flags.writeable = False
    with store.lease([b"r"]) as lease:
        with pytest.raises((hf.InvalidArgument, hf.errors.InvalidType), match=r"arrays\[0\] cannot be written"):
            lease.copy_out([read_only])
        with pytest.raises((hf.InvalidArgument, hf.errors.InvalidType), match="give an array to write to"):
            lease.copy_out([[1, 2]])


def test_without_a_gpu(tmp_path: Path) -> None:
    if hf.cuda_devices()[0]:
        pytest.skip("this machine has one")
    with pytest.raises(hf.DeviceError, match=r"built without CUDA|cannot be used on a GPU|no NVIDIA"):
        hf.Store(tmp_path / "a.hold", gpu=True)
    hf.Store(tmp_path / "a.hold").close()


def test_rows_end_once(store: hf.Store) -> None:
    reserved = store.reserve([b"a", b"b", b"c"], 1)
    reserved.copy_in([np.ones(1, np.uint8)] * 3)
    assert reserved.commit(0).tolist() == [StoreStatus.INSERTED]
    reserved.abort(2)
    for row, how in ((0, "committed"), (2, "aborted")):
        for end in (reserved.commit, reserved.abort):
            with pytest.raises(hf.InvalidArgument, match=f"row {row} was {how} before: reserve its key again"):
                end(row)
    inserted = StoreStatus.INSERTED
    assert reserved.commit().tolist() == [inserted, inserted, StoreStatus.NOT_RUN]
    with pytest.raises(hf.InvalidArgument, match="all rows were committed or aborted before: reserve their keys"):
        reserved.commit()
    reserved.abort()  # of all that are left
    with store.reserve([b"d"], 1) as aborted:
        aborted.abort()
        with pytest.raises(hf.InvalidArgument, match="all rows were committed or aborted"):
            aborted.commit()
    assert store.reserve([], []).commit().tolist() == [] and b"d" not in store


def test_an_error_is_not_hidden_by_a_lease(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="the user's") as raised, hf.Store(tmp_path / "b.hold") as store:
        store[b"a"] = b"1"
        lease = store.lease([b"a"])
        raise RuntimeError("the user's")
    assert "reservations or leases" in raised.value.__notes__[0] and not store.closed
    lease.release()
    store.close()


def test_threads_fill_what_one_reserved(store: hf.Store) -> None:
    keys = [b"%d" % i for i in range(64)]
    reserved = store.reserve(keys, 100_000)

    def fill(first: int) -> None:
        for row in range(first, 64, 4):
            reserved.copy_in([np.full(100_000, row, np.uint8)], [row])
            reserved.commit(row)

    threads = [threading.Thread(target=fill, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(store[key] == bytes([row]) * 100_000 for row, key in enumerate(keys))


def test_the_example_finds_its_blocks_again() -> None:
    ended = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "first: loaded 60 blocks, computed 32",
        "after a restart: loaded 92 blocks, computed 0",
    ]
