"""Arrays in GPU memory: PyTorch's and CuPy's, through their own types and through the protocols; streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import GPUS, WHY_NO_GPU, Machine, Make

import holdfastdb as hf
from holdfastdb import DeviceError, InvalidArgument, InvalidType, Status, Table

pytestmark = pytest.mark.skipif(GPUS == 0, reason=f"no GPU: {WHY_NO_GPU}")
N = 20_000


class Interface:
    """Only `__cuda_array_interface__`, as a library has it that this package does not know."""

    def __init__(self, array: Any) -> None:
        self.__cuda_array_interface__ = array.__cuda_array_interface__
        self._keep = array


@pytest.fixture
def table(make: Make) -> Table:
    return make(Machine("cuda"), value=16, capacity=N).table


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def cupy() -> Any:
    return pytest.importorskip("cupy", reason="CuPy is not installed")


def test_results_come_in_the_kind_of_the_keys(table: Table, torch: Any) -> None:
    keys = torch.arange(N, device="cuda")
    values = torch.rand(N, 4, device="cuda")
    statuses = table.insert(keys, values)
    assert statuses.is_cuda and statuses.dtype == torch.uint8 and (statuses == Status.INSERTED).all()
    rows, found = table.find(keys, dtype=torch.float32)
    assert rows.device == keys.device and torch.equal(rows, values)
    assert found.dtype == torch.bool and found.all()
    on_host, found = table.find(keys.cpu(), dtype=torch.float32)
    assert on_host.device.type == "cpu" and torch.equal(on_host, values.cpu()) and found.all()
    numpy_rows, _ = table.find(np.arange(N), dtype=np.float32)
    assert (numpy_rows == values.cpu().numpy()).all()


def test_strided_tensors_and_out(table: Table, torch: Any) -> None:
    keys = torch.arange(2 * N, device="cuda")[::2]
    wide = torch.rand(4, N, device="cuda").T
    table.insert(keys, wide)
    out = torch.empty(N, 4, device="cuda")
    found = torch.empty(N, dtype=torch.bool, device="cuda")
    got = table.find(keys, out=(out, found))
    assert got[0] is out and got[1] is found
    assert torch.equal(out, wide) and found.all()


def test_a_delayed_producer_on_a_side_stream(table: Table, torch: Any) -> None:
    """The batch waits for what makes its arrays, and what uses its results waits for the batch."""
    side = torch.cuda.Stream()
    keys = torch.zeros(N, dtype=torch.int64, device="cuda")
    values = torch.zeros(N, 2, dtype=torch.int64, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        keys += torch.arange(N, device="cuda")
        values += torch.arange(N, device="cuda")[:, None] * 3
        statuses = table.insert(keys, values)
        rows, found = table.find(keys, dtype=torch.int64)
        total = rows.sum()
    side.synchronize()
    assert (statuses == Status.INSERTED).all() and found.all()
    assert total.item() == 3 * N * (N - 1)


def test_a_chosen_stream_waits_for_the_current_one(table: Table, torch: Any) -> None:
    chosen = torch.cuda.Stream()
    keys = torch.zeros(N, dtype=torch.int64, device="cuda")
    for stream in (chosen, chosen.cuda_stream):
        keys.zero_()
        torch.cuda._sleep(50_000_000)
        keys += torch.arange(N, device="cuda")
        statuses = table.insert_or_assign(keys, torch.ones(N, 2, dtype=torch.int64, device="cuda"), stream=stream)
        assert (statuses < Status.NO_SPACE).all()  # on the current stream, which waits for the chosen one
        keys += 7  # must not reach the batch
        torch.cuda.synchronize()
    assert len(table) == N
    assert table.contains(np.arange(N)).all()


def test_the_cuda_array_interface_waits_for_its_stream(table: Table, torch: Any) -> None:
    keys = torch.arange(N, device="cuda")
    torch.cuda.synchronize()
    assert (table.insert(Interface(keys), Interface(torch.ones(N, 4, device="cuda"))) == int(Status.INSERTED)).all()
    assert len(table) == N


def test_cupy_arrays(table: Table, cupy: Any) -> None:
    keys = cupy.arange(N, dtype=cupy.uint64)
    values = cupy.random.random((N, 2))
    assert bool((table.insert(keys, values) == int(Status.INSERTED)).all())
    rows, found = table.find(keys, dtype=cupy.float64)
    assert isinstance(rows, cupy.ndarray) and bool((rows == values).all()) and bool(found.all())
    with cupy.cuda.Stream(non_blocking=True) as stream:
        mine = cupy.arange(N, dtype=cupy.uint64) * 2
        rows, found = table.find(mine, stream=stream)
        assert int(found.sum()) == N // 2


def test_cupy_and_torch_together(table: Table, cupy: Any, torch: Any) -> None:
    keys = cupy.arange(N, dtype=cupy.uint64)
    statuses = table.insert(keys, torch.ones(N, 4, device="cuda"))
    assert isinstance(statuses, cupy.ndarray)
    rows, _ = table.find(torch.from_dlpack(keys.view(cupy.int64)), dtype=torch.float32)
    assert isinstance(rows, torch.Tensor) and bool((rows == 1).all())


def test_wrong_places(table: Table, torch: Any, make: Make) -> None:
    keys = torch.arange(4, device="cuda")
    with pytest.raises(InvalidArgument, match="values is on cpu, but keys is on cuda:0"):
        table.insert(keys, torch.zeros(4, 4))
    with pytest.raises(InvalidArgument, match="mask is on cpu"):
        table.find(keys, mask=np.ones(4, bool))
    with pytest.raises(InvalidArgument, match="out is on cpu"):
        table.find(keys, out=torch.zeros(4, 4))
    with pytest.raises(InvalidType, match="stream is 'x'"):
        table.find(keys, stream="x")
    host = make(Machine("cpu"), value=16).table
    for given in (keys, Interface(keys)):
        with pytest.raises(InvalidArgument, match="worked on by the cpu: copy the arrays to the host"):
            host.find(given)
    assert len(table) == len(host) == 0


def test_a_graph_captures_a_search(table: Table, torch: Any) -> None:
    keys = torch.arange(N, device="cuda")
    table.reserve(3 * N)  # updates take cells of their own
    table.insert(keys, torch.zeros(N, 4, device="cuda"))
    out = torch.empty(N, 4, device="cuda")
    found = torch.empty(N, dtype=torch.bool, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        table.find(keys, out=(out, found))
    for version in (1, 2):
        table.assign(keys, torch.full((N, 4), float(version), device="cuda"))
        graph.replay()
        torch.cuda.synchronize()
        assert found.all() and (out == version).all()
    keys += N // 2  # what the graph looks for now
    graph.replay()
    torch.cuda.synchronize()
    assert found.sum().item() == N - N // 2
    table.reserve(100 * N)
    graph.replay()
    torch.cuda.synchronize()
    assert not found.any() and not out.any()  # captured for a table that has grown since


def test_a_graph_captures_no_change(table: Table, torch: Any) -> None:
    keys = torch.arange(N, device="cuda")
    values = torch.zeros(N, 4, device="cuda")
    there = torch.empty(N, dtype=torch.bool, device="cuda")
    table.insert(keys, values)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(InvalidArgument, match="capture searches, and run changes outside of it"):
            table.assign(keys, values)
        table.contains(keys, out=there)
    graph.replay()
    torch.cuda.synchronize()
    assert there.all()
    assert not table.check().errors


def test_mixed_batch_in_gpu_memory(table: Table, torch: Any) -> None:
    ops = torch.tensor([0, 3, 5, 4], dtype=torch.uint8, device="cuda")
    keys = torch.tensor([9, 9, 9, 9], device="cuda")
    values = torch.full((4, 4), 2.5, device="cuda")
    statuses, rows = table.apply(ops, keys, values)
    assert statuses.tolist() == [Status.INSERTED, Status.FOUND, Status.ERASED, Status.NOT_FOUND]
    assert rows.dtype == torch.float32 and rows[1].tolist() == [2.5] * 4 and not rows[0].any()
    with pytest.raises(InvalidArgument, match="ops has the code 200"):
        table.apply(torch.full((1,), 200, dtype=torch.uint8, device="cuda"), keys[:1])


@pytest.mark.parametrize("policy", ["lfu", "lru", "random"])
def test_value_cache(make: Make, torch: Any, policy: str) -> None:
    made = make(Machine("cuda"), value=16, capacity=N, gpu=hf.Gpu(value_cache=0.5, cache_policy=policy))
    keys = torch.arange(N, device="cuda")
    values = torch.rand(N, 4, device="cuda")
    made.table.insert(keys, values)
    hot = keys[: N // 10]
    for _ in range(40):
        made.table.find(hot)
    made.table.load_cache()
    stats = made.table.stats()
    assert stats["cache_policy"] == policy and stats["cache_loads"] == 1
    assert stats["cached_values"] > 0 and 0.4 < stats["cached_value_ratio"] <= 0.5
    made.table.assign(hot, values[: N // 10] + 1)
    values[: N // 10] += 1
    rows, found = made.table.find(keys, dtype=torch.float32)
    assert torch.equal(rows, values) and found.all()
    assert made.table.stats()["cache_hits"] > stats["cache_hits"]
    assert not made.table.check().errors


@pytest.mark.parametrize("policy", ["lfu", "lru", "random"])
@pytest.mark.parametrize("value", [8, 16])
def test_bucket_cache(make: Make, torch: Any, policy: str, value: int) -> None:
    made = make(Machine("cuda"), value=value, capacity=N, gpu=hf.Gpu(bucket_cache=0.25, cache_policy=policy))
    keys = torch.arange(N, device="cuda")
    values = torch.rand(N, value // 4, device="cuda")
    made.table.insert(keys, values)
    hot = keys[: N // 50]
    for _ in range(40):
        made.table.find(hot)
    made.table.load_cache()
    stats = made.table.stats()
    assert stats["cache_policy"] == policy and stats["bucket_loads"] == 1
    assert 0.2 < stats["cached_ratio"] <= 0.25 and stats["bucket_hits"] > 0
    made.table.assign(hot, values[: N // 50] + 1)
    values[: N // 50] += 1
    rows, found = made.table.find(keys, dtype=torch.float32)
    assert torch.equal(rows, values) and found.all()
    assert made.table.stats()["bucket_hits"] > stats["bucket_hits"]
    assert not made.table.check().errors


def test_a_cache_of_more_memory_than_there_is(make: Make) -> None:
    with pytest.raises(DeviceError, match=r"value_memory allows 1125899906842624 bytes, but [0-9]+ bytes .* are free"):
        make(Machine("cuda"), value=16, gpu=hf.Gpu(value_cache=0.5, value_memory=1 << 50))
