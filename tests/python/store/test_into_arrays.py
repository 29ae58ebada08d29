"""`get_many` into arrays of the caller, of the host and of a GPU."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import no_gpu

import holdfastdb as hf
from holdfastdb import StoreStatus

FOUND, NOT_FOUND, TOO_LARGE = StoreStatus.FOUND, StoreStatus.NOT_FOUND, StoreStatus.TOO_LARGE


@pytest.fixture
def store(tmp_path: Path) -> Iterator[hf.Store]:
    with hf.Store(tmp_path / "a.hold") as opened:
        yield opened


def test_rows_get_values_and_zeros(store: hf.Store) -> None:
    vectors = np.random.default_rng(1).random((3, 4), np.float32)
    store.set_many([b"a", b"b", b"c"], [row.tobytes() for row in vectors])
    store.set_many([b"short", b"long"], [vectors[0, :3].tobytes(), bytes(17)])
    out = np.full((6, 2, 2), 9, np.float32)
    found = store.get_many([b"c", b"none", b"a", b"short", b"long", b"b"], out=out)
    assert found.statuses.tolist() == [FOUND, NOT_FOUND, FOUND, FOUND, TOO_LARGE, FOUND]
    assert found.sizes.tolist() == [16, 0, 16, 12, 17, 16]
    rows = out.reshape(6, 4)
    assert (rows[[0, 2, 5]] == vectors[[2, 0, 1]]).all() and not rows[[1, 4]].any()
    assert rows[3].tolist() == [*vectors[0, :3].tolist(), 0]
    sizes, _ = store.get_many([], out=np.zeros((0, 8), np.uint8))
    assert sizes.tolist() == []


def test_torch_tensors_of_the_host(store: hf.Store) -> None:
    torch = pytest.importorskip("torch")
    store[b"a"] = torch.arange(8, dtype=torch.int64).numpy().tobytes()
    out = torch.ones(2, 8, dtype=torch.int64)
    assert store.get_many([b"a", b"b"], out=out).statuses.tolist() == [FOUND, NOT_FOUND]
    assert out[0].tolist() == list(range(8)) and not out[1].any()


def test_bad_arrays(store: hf.Store) -> None:
    read_only = np.ones((1, 8), np.uint8)
    read_only.flags.writeable = False
    bad: tuple[tuple[Any, str], ...] = (
        (np.zeros((2, 8), np.uint8), "out has 2 rows, and keys 1: give one for each key"),
        (np.zeros((), np.uint8), "out has 0 rows"),
        (np.zeros((1, 16), np.uint8)[:, ::2], "out is not contiguous"),
        (read_only, "out cannot be written"),
        ([[1, 2]], "give an array to write to"),
    )
    for out, error in bad:
        with pytest.raises((hf.InvalidArgument, hf.errors.InvalidType), match=error):
            store.get_many([b"a"], out=out)
    with pytest.raises((hf.InvalidArgument, hf.errors.InvalidType), match="stream is 'x'"):
        store.get_many([b"a"], out=np.zeros((1, 8), np.uint8), stream="x")
    with pytest.raises(hf.InvalidArgument, match="stream is given without out"):
        store.get_many([b"a"], stream=0)


@no_gpu
def test_arrays_of_a_gpu(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    values = torch.rand(20_000, 32, device="cuda")
    keys = [b"%d" % i for i in range(20_000)]
    path = Path(f"/dev/shm/{tmp_path.name}.hold")
    try:
        with hf.Store(path, gpu=True) as store:
            store.set_many(keys, [row.tobytes() for row in values.cpu().numpy()])
            out = torch.ones(20_001, 32, device="cuda")
            torch.cuda._sleep(50_000_000)
            out *= 2  # before the values come
            found = store.get_many([*keys, b"none"], out=out)
            assert torch.equal(out[:-1], values) and not out[-1].any()
            assert (found.statuses[:-1] == FOUND).all() and found.statuses[-1] == NOT_FOUND
            side = torch.cuda.Stream()
            store.get_many(keys[::-1], out=out[1:], stream=side)
            assert torch.equal(out[1:].flip(0), values)
    finally:
        path.unlink(missing_ok=True)
    with hf.Store(tmp_path / "a.hold") as store, pytest.raises(hf.InvalidArgument, match="opened without one"):
        store.get_many([b"a"], out=values[:1])
