"""Everything that can be given wrongly, once: one error that says what, where and what to do; the table is unharmed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Machine, Make

import holdfastdb as hf
from holdfastdb import InvalidArgument, InvalidType, Table

K = np.arange(4, dtype=np.uint64)
V = np.zeros((4, 16), np.uint8)


class FakeGpuArray:
    """Says that it is in GPU memory."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **options: Any) -> Any:
        raise AssertionError("must not be asked for")


def frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


Call = Callable[[Table], Any]
WRONG: list[tuple[str, Call, type[Exception], str]] = [
    ("float keys", lambda t: t.find(K.astype(float)), InvalidType, "keys is float64 of shape .* give an array"),
    ("narrow keys", lambda t: t.find(K.astype(np.int32)), InvalidType, "keys is int32 of shape .*astype"),
    ("bool keys", lambda t: t.find(K > 1), InvalidType, "keys is bool"),
    ("2-d keys", lambda t: t.find(K.reshape(2, 2)), InvalidArgument, r"keys is uint64 of shape \(2, 2\)"),
    ("byte keys", lambda t: t.find(np.zeros((4, 7), np.uint8)), InvalidArgument, r"shape \(4, 7\).*keys of 8 bytes"),
    ("big-endian keys", lambda t: t.find(K.astype(">u8")), InvalidType, "keys is big-endian.*astype"),
    ("masked keys", lambda t: t.find(np.ma.array(K)), InvalidType, "keys is a masked array.*mask="),
    ("object keys", lambda t: t.find(K.astype(object)), InvalidType, "keys holds Python objects"),
    ("key below -2^63", lambda t: t.find([1, -(2**63) - 1]), InvalidArgument, r"keys\[1\] is -9.*from -2\*\*63"),
    ("huge key", lambda t: t.find([2**64]), InvalidArgument, r"keys\[0\] is 18446744073709551616"),
    ("float in list", lambda t: t.find([1, 1.5]), InvalidType, r"keys\[1\] is 1.5, of type float"),
    ("bool in list", lambda t: t.find([True]), InvalidType, r"keys\[0\] is True"),
    ("text", lambda t: t.find("abc"), InvalidType, "keys is of type str"),
    ("nothing", lambda t: t.find(None), InvalidType, "keys is of type NoneType"),
    ("short bytes", lambda t: t.find([b"abc"]), InvalidType, r"keys\[0\] is b'abc'"),
    ("fewer values", lambda t: t.insert(K, V[:3]), InvalidArgument, "values has 3 rows, but keys has 4"),
    ("short rows", lambda t: t.insert(K, V[:, :8]), InvalidArgument, "8 bytes a row, but .* has values of 16 bytes"),
    ("long rows", lambda t: t.insert(K, np.zeros((4, 3))), InvalidArgument, "24 bytes a row.*give rows of 16 bytes"),
    ("no values", lambda t: t.insert(K), InvalidType, "insert takes a value for each key.*16 bytes"),
    ("object values", lambda t: t.insert(K, V.astype(object)), InvalidType, "values holds Python objects"),
    ("ragged values", lambda t: t.insert(K[:2], [[1], [1, 2]]), InvalidArgument, "different lengths"),
    ("short bytes value", lambda t: t.insert([1], [b"abc"]), InvalidArgument, r"values\[0\] is 3 bytes"),
    ("odd bytes value", lambda t: t.insert([1], b"abc"), InvalidArgument, "values is 3 bytes, but .* 16 bytes"),
    ("dict values", lambda t: t.insert([1], {}), InvalidType, "values is of type dict"),
    ("short mask", lambda t: t.find(K, mask=[True]), InvalidArgument, r"mask is bool of shape \(1,\).*4 keys"),
    ("int mask", lambda t: t.find(K, mask=[1, 0, 1, 0]), InvalidType, "mask is int64.*bool"),
    ("2-d mask", lambda t: t.find(K, mask=np.ones((4, 1), bool)), InvalidArgument, "mask is bool of shape"),
    ("text mask", lambda t: t.find(K, mask="yes"), InvalidType, "mask is of type str"),
    ("unknown dtype", lambda t: t.find(K, dtype="nonsense"), InvalidType, "dtype is 'nonsense'"),
    ("object dtype", lambda t: t.find(K, dtype=object), InvalidType, "dtype is object"),
    ("wide dtype", lambda t: t.find(K, dtype="S32"), InvalidArgument, "32 bytes, which does not divide .* 16 bytes"),
    ("uneven dtype", lambda t: t.find(K, dtype="S3"), InvalidArgument, "does not divide a value of 16 bytes"),
    ("short out", lambda t: t.find(K, out=V[:2].copy()), InvalidArgument, r"out is uint8 of shape \(2, 16\)"),
    ("narrow out", lambda t: t.find(K, out=np.zeros((4, 8), np.uint8)), InvalidArgument, "give 4 rows of 16 bytes"),
    ("frozen out", lambda t: t.find(K, out=frozen(V.copy())), InvalidArgument, "out is read-only"),
    ("strided out", lambda t: t.find(K, out=np.zeros((4, 32), np.uint8)[:, ::2]), InvalidArgument, "not contiguous"),
    ("list out", lambda t: t.find(K, out=[0] * 4), InvalidType, "out is of type list"),
    ("three outs", lambda t: t.find(K, out=(V, V, V)), InvalidArgument, "out has 3 arrays"),
    ("found out", lambda t: t.find(K, out=(None, K)), InvalidType, "out is uint64.*bool"),
    ("status out", lambda t: t.erase(K, out=np.zeros(4, bool)), InvalidType, "out is bool.*uint8"),
    ("out over keys", lambda t: t.erase(K, out=K.view(np.uint8)[:4]), InvalidArgument, "out overlaps keys"),
    ("out over values", lambda t: t.find_or_insert(K, V, out=V), InvalidArgument, "out overlaps values"),
    ("stream", lambda t: t.find(K, stream="x") if t.device != "cpu" else t.find(K, stream=1), hf.Error, "stream"),
    ("element type", lambda t: t.accumulate(K, V), InvalidType, "values is uint8, which accumulate cannot combine"),
    ("combine", lambda t: t.accumulate(K, V.view(np.int64), op="mul"), InvalidArgument, "op is 'mul'.*'add'"),
    ("scaled integers", lambda t: t.accumulate(K, V.view(np.int64), scale=0.5), hf.Error, "scale"),
    ("scaled min", lambda t: t.accumulate(K, V.view(float), scale=0.5, op="min"), InvalidArgument, "scale"),
    ("scale of text", lambda t: t.accumulate(K, V.view(float), scale="1"), InvalidType, "scale is '1'"),
    ("init and values", lambda t: t.find_or_insert(K, V, init=1, dtype="f4"), InvalidArgument, "both given"),
    ("init of no type", lambda t: t.find_or_insert(K, init=1), InvalidType, "dtype="),
    ("init of text", lambda t: t.find_or_insert(K, init="x", dtype="f4"), InvalidType, "init is 'x'"),
    ("short ops", lambda t: t.apply(["find"], K), InvalidArgument, r"ops is uint8 of shape \(1,\)"),
    ("no ops", lambda t: t.apply(None, K), InvalidType, "ops is None"),
    ("unknown op", lambda t: t.apply(["find", "upsert"], K[:2]), InvalidArgument, "ops has 'UPSERT'"),
    ("code 9", lambda t: t.apply(np.full(4, 9, np.uint8), K), InvalidArgument, "ops has the code 9"),
    ("wide ops", lambda t: t.apply(np.zeros(4, np.int64), K), InvalidType, "ops is int64"),
    ("apply without values", lambda t: t.apply(["insert"], [1]), InvalidType, "apply takes a value for each key"),
    ("apply bytes", lambda t: t.apply(["accumulate"], [1], V[:1]), InvalidType, "accumulate cannot combine"),
    ("reserve", lambda t: t.reserve(-1), InvalidArgument, "items is -1"),
    ("reserve 2^64", lambda t: t.reserve(2**64 - 1), InvalidArgument, "give 0 to 1,099,511,627,776"),
    ("export 0", lambda t: t.export_batch(0), InvalidArgument, "n is 0: give 1 to"),
    ("cursor -1", lambda t: t.export_batch(5, -1), InvalidArgument, "cursor is -1"),
    ("two keys in", lambda t: K in t, InvalidArgument, "asks for one key, and got 4"),
    ("sparse", lambda t: t.find(_torch().zeros(4).to_sparse()), InvalidType, "keys is a torch.sparse_coo tensor"),
    ("meta", lambda t: t.find(_torch().zeros(4, device="meta")), InvalidArgument, "keys is on device meta"),
    ("out wants grad", lambda t: t.find(K, out=_torch().zeros(4, 4, requires_grad=True)), InvalidArgument, "grad"),
]  # fmt: skip


def _torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.parametrize(("call", "error", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_wrong_arguments(device: str, make: Make, call: Call, error: type[Exception], message: str) -> None:
    checked = make(Machine(device), value=16)
    checked.run(hf.Op.INSERT, K, np.arange(8, dtype=np.int64).reshape(4, 2))
    with pytest.raises(error, match=message) as raised:
        call(checked.table)
    assert isinstance(raised.value, hf.Error)
    assert isinstance(raised.value, ValueError | TypeError)
    assert "::" not in str(raised.value), "an error speaks the language of its reader"
    checked.agree()


def test_values_for_a_set(device: str, make: Make) -> None:
    table = make(Machine(device), value=0).table
    with pytest.raises(InvalidArgument, match="values of 0 bytes: give rows of 0 bytes, for example none"):
        table.insert(K, V)
    with pytest.raises(InvalidArgument, match="does not divide a value of 0 bytes"):
        table.find(K, dtype=np.int32)
    assert len(table) == 0


def test_gpu_arrays_on_a_cpu_table(make: Make) -> None:
    table = make(Machine("cpu")).table
    with pytest.raises(hf.Error, match="GPU"):
        table.find(FakeGpuArray())


CREATE: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("key", {"key": 4}, InvalidArgument, "key_bytes is 4.*8 bytes"),
    ("wide key", {"key": 136}, InvalidArgument, "key_bytes is 136.*up to 128"),
    ("odd key", {"key": 20}, InvalidArgument, "key_bytes is 20.*multiple of 8"),
    ("value", {"value": 65537}, InvalidArgument, "value is 65537: give 0 to 65,536"),
    ("negative value", {"value": -1}, InvalidArgument, "value is -1: give 0 to 65,536"),
    ("float value", {"value": 8.0}, InvalidType, "value is 8.0, of type float"),
    ("bool capacity", {"capacity": True}, InvalidType, "capacity is True"),
    ("capacity", {"capacity": 1 << 62}, InvalidArgument, "capacity"),
    ("slots", {"slots": 16}, InvalidArgument, "levels × hash_locations × slots is 2 × 2 × 16.*at most 32"),
    ("no slots", {"slots": 0}, InvalidArgument, "at least 1"),
    (
        "value_cache",
        {"gpu": hf.Gpu(value_cache=1.5)},
        InvalidArgument,
        "value_cache is 1.5.*: give the part of all values, 0",
    ),
    ("negative value_cache", {"gpu": hf.Gpu(value_cache=-0.1)}, InvalidArgument, "value_cache is -0.1"),
    (
        "value_cache of text",
        {"gpu": hf.Gpu(value_cache="all")},
        InvalidType,
        "value_cache is 'all', of type str: give a number",
    ),
    (
        "bucket_cache",
        {"gpu": hf.Gpu(bucket_cache=1.5)},
        InvalidArgument,
        "bucket_cache is 1.5.*: give the part of all buckets, 0",
    ),
    (
        "bucket_cache of text",
        {"gpu": hf.Gpu(bucket_cache="all")},
        InvalidType,
        "bucket_cache is 'all', of type str: give a number",
    ),
    ("value_memory", {"gpu": hf.Gpu(value_memory=-1)}, InvalidArgument, "value_memory is -1: give 0 to"),
    (
        "cache_policy",
        {"gpu": hf.Gpu(cache_policy="mru")},
        InvalidArgument,
        "cache_policy is 'mru': give 'lfu', 'lru' or 'random'",
    ),
    (
        "no cache_policy",
        {"gpu": hf.Gpu(cache_policy=None)},
        InvalidType,
        "cache_policy is of type NoneType: give 'lfu'",
    ),
    ("memory of a GPU", {"gpu": hf.Gpu(memory=1.5)}, InvalidType, "memory is 1.5, of type float: give a whole number"),
    ("gpu", {"gpu": {"value_cache": 0.5}}, InvalidType, r"gpu is of type dict: give holdfastdb.Gpu\("),
    ("device", {"device": "tpu"}, InvalidArgument, 'device is "tpu".*"cpu"'),
    ("device type", {"device": 0}, InvalidType, "device is of type int"),
    ("no such GPU", {"device": "cuda:99"}, hf.DeviceError, "cuda:99"),
]


@pytest.mark.parametrize(("options", "error", "message"), [c[1:] for c in CREATE], ids=[c[0] for c in CREATE])
def test_wrong_options(folder: Path, options: dict[str, Any], error: type[Exception], message: str) -> None:
    path = folder / "x.hold"
    with pytest.raises(error, match=message):
        Table.create(path, **options)
    assert not path.exists()


def test_paths(folder: Path) -> None:
    with pytest.raises(InvalidType, match="path is of type int: give a str"):
        Table.open(5)
    with pytest.raises(hf.PoolNotFound, match=re.escape(str(folder / "no.hold"))) as raised:
        Table.open(folder / "no.hold")
    assert isinstance(raised.value, FileNotFoundError)
    with pytest.raises(hf.Error, match="directory"):
        Table.open(folder)
    with pytest.raises(hf.Error):
        Table.create(folder / "no" / "such" / "folder.hold")
    (folder / "text").write_text("not a pool" * 10_000)
    for call in (Table.open, hf.inspect, hf.check):
        with pytest.raises(hf.PoolCorrupt, match="text"):
            call(folder / "text")


def test_modes_and_sizes(folder: Path) -> None:
    path = folder / "x.hold"
    Table.create(path, value=16).close()
    with pytest.raises(hf.PoolExists, match=r"x\.hold") as raised:
        Table.create(path)
    assert isinstance(raised.value, FileExistsError)
    with pytest.raises(InvalidArgument, match=r"mode is 'w'.*'r'"):
        Table.open(path, mode="w")
    with pytest.raises(hf.PoolMismatch, match="16"):
        Table.open(path, value=8)
    with pytest.raises(hf.PoolMismatch, match="16"):
        Table.open(path, value=0)
    with Table.open(path, key=8, value=16) as table:
        assert table.value_bytes == 16 and table.key_bytes == 8
    with Table.create(path, value=4, overwrite=True) as table:
        assert table.value_bytes == 4


def test_a_table_is_not_made_by_its_class() -> None:
    with pytest.raises(InvalidType, match=r"Table\.create"):
        Table()


@pytest.mark.parametrize("call", [Table.open, hf.Pool.open, hf.Pool.create, hf.inspect, hf.check])
def test_a_path_that_is_not_utf8_is_named(call: Callable[..., Any]) -> None:
    with pytest.raises(hf.InvalidArgument, match=r"the path '/tmp/q\\udcff.hold' is not UTF-8: rename the file"):
        call(b"/tmp/q\xff.hold")
