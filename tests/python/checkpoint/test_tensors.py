"""Tensors and arrays that are no plain memory: each is saved with its values, or refused with its place."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfastdb as hf

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Iterator[hf.Checkpoint]:
    with hf.Checkpoint(tmp_path / "a.hold") as made:
        yield made


def views() -> dict[str, Any]:
    """Tensors of the same memory that differ in one property each: bits, element type, shape, strides and offset."""
    z = torch.tensor([[1 + 2j, 3 - 4j], [5 + 6j, 7 - 8j]])
    ints = z.view(torch.float32).view(torch.int32)
    return {
        "z": z, "conj": z.conj(), "real": z.real, "imag": z.imag, "neg": z.conj().imag, "transposed": z.t(),
        "adjoint": z.mH, "row": z[:1], "other row": z[1:], "flat": z.view(-1), "broadcast": z[:1].expand(2, 2),
        "conj row": z.conj()[:1], "float": z.view(torch.float32), "int": ints, "bytes": ints.view(torch.uint8),
        "neg view": torch._neg_view(z), "neg of conj": torch._neg_view(z.conj()),
    }  # fmt: skip


def test_views_of_one_memory_keep_their_own_values(checkpoint: hf.Checkpoint) -> None:
    state = views()
    checkpoint.save(state, 1).wait()
    back, _ = checkpoint.restore()
    for name, tensor in state.items():
        assert back[name].dtype == tensor.dtype, name
        assert torch.equal(back[name], tensor.resolve_conj().resolve_neg()), name


@pytest.mark.parametrize("first, second", [*itertools.permutations(["z", "conj", "neg view", "neg of conj"], 2)])
def test_bits_tell_two_tensors_apart_in_each_order(checkpoint: hf.Checkpoint, first: str, second: str) -> None:
    made = views()
    state = [made[name] for name in (first, second, first, second)]
    checkpoint.save(state, 1).wait()
    back, _ = checkpoint.restore()
    assert back[0] is back[2] and back[1] is back[3], "the same tensor is still saved once"
    assert all(torch.equal(got, given) for got, given in zip(back, state, strict=True))


def test_views_of_one_array_keep_their_own_values(checkpoint: hf.Checkpoint) -> None:
    z = np.array([[1 + 2j, 3 - 4j], [5 + 6j, 7 - 8j]])
    state = {
        "z": z, "conj": z.conj(), "real": z.real, "imag": z.imag, "transposed": z.T, "reversed": z[::-1],
        "row": z[:1], "float": z.view("<f8"), "swapped": z.view(">f8"), "int": z.view("<i8"), "bytes": z.view("u1"),
        "flags": z.view("u1") > 4, "broadcast": np.broadcast_to(z[:1], (2, 2)), "read-only": z.view(),
    }  # fmt: skip
    checkpoint.save(state, 1).wait()
    back, _ = checkpoint.restore()
    for name, array in state.items():
        np.testing.assert_array_equal(back[name], array, name)


def test_the_pool_writer_tells_bits_apart(tmp_path: Path) -> None:
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    import holdfastdb.torch.distributed as hfd

    state = {name: tensor for name, tensor in views().items() if name not in ("broadcast", "transposed", "adjoint")}
    wanted = {name: tensor.clone() for name, tensor in state.items()}
    with hfd.PoolWriter(tmp_path / "{rank}.hold") as writer:
        dcp.save(state, storage_writer=writer, checkpoint_id="1", no_dist=True)
    found = {name: torch.zeros(tensor.shape, dtype=tensor.dtype) for name, tensor in state.items()}
    with hfd.PoolReader(tmp_path / "{rank}.hold") as reader:
        dcp.load(found, storage_reader=reader, no_dist=True)
    for name, tensor in wanted.items():
        assert torch.equal(found[name], tensor.resolve_conj().resolve_neg()), name


class Wrapper(torch.Tensor):
    """Has its elements in another tensor, as many libraries make them."""

    inner: Any

    @staticmethod
    def __new__(cls: Any, inner: Any) -> Wrapper:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, called: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError("no operation of a tensor that is refused")


def fake() -> Any:
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(3)


def functional() -> Any:
    return torch._to_functional_tensor(torch.ones(3))


def shrunk(tensor: Any, bytes_left: int) -> Any:
    tensor.untyped_storage().resize_(bytes_left)
    return tensor


REFUSED: dict[str, tuple[Any, str]] = {
    "masked": (lambda: torch.masked.masked_tensor(torch.ones(3), torch.tensor([True, False, True])), "get_mask"),
    "fake": (fake, "FakeTensor"),
    "functional": (functional, "no memory"),
    "wrapper": (lambda: Wrapper(torch.ones(3)), "Wrapper"),
    "zero": (lambda: torch._efficientzerotensor(3), "no memory"),
    "freed": (lambda: shrunk(torch.ones(4, 4), 0), "no memory"),
    "short": (lambda: shrunk(torch.ones(4, 4), 63), "63 bytes of memory, and its elements end at 64"),
    "short view": (lambda: shrunk(torch.ones(4, 4)[1:, 1:].t(), 63), "63 bytes"),
    "meta": (lambda: torch.ones(3, device="meta"), "meta"),
    "sparse": (lambda: torch.eye(3).to_sparse(), "dense"),
    "csr": (lambda: torch.eye(3).to_sparse_csr(), "dense"),
    "nested": (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "nested"),
    "jagged": (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged), "nested"),
    "quantized": (lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "qint8"),
    "lazy": (lambda: torch.nn.LazyLinear(3).weight, "not initialized"),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("make, words", REFUSED.values(), ids=REFUSED)
def test_what_is_no_plain_tensor_is_refused_with_its_place(
    checkpoint: hf.Checkpoint, tmp_path: Path, make: Any, words: str
) -> None:
    checkpoint.save({"x": 1}, 1).wait()
    with pytest.raises(hf.InvalidType, match=words) as raised:
        checkpoint.save({"model": [1, {"weight": make()}]}, 2)
    assert "at model/1/weight" in str(raised.value)
    with pytest.raises(hf.InvalidType, match="at its top"):
        checkpoint.save(make(), 2)
    assert checkpoint.restore() == ({"x": 1}, 1)


def test_rows_that_are_in_a_table_are_refused(checkpoint: hf.Checkpoint, tmp_path: Path) -> None:
    import holdfastdb.torch as hft

    with hf.Table.create(tmp_path / "rows.hold", value=16) as table:
        embedding = hft.Embedding(table, 4)
        with pytest.raises(hf.InvalidType, match=r"at model/0, which are in the table .*rows\.hold"):
            checkpoint.save({"model": list(embedding.parameters())}, 1)
        checkpoint.save({"model": embedding.state_dict()}, 1).wait()


def test_tensors_of_a_transformation_are_refused(checkpoint: hf.Checkpoint) -> None:
    seen = []

    def save(tensor: Any) -> Any:
        with pytest.raises(hf.InvalidType, match="no memory"):
            checkpoint.save({"x": tensor}, 1)
        seen.append(1)
        return tensor.sum()

    torch.vmap(save)(torch.ones(2, 3))
    torch.func.grad(save)(torch.ones(3))
    assert len(seen) == 2


class Plain(torch.Tensor):
    """As libraries of images have them: more methods, the same memory."""


class Guarded(torch.Tensor):
    """Answers no question of PyTorch's functions."""

    @classmethod
    def __torch_function__(cls, called: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError(called)


@pytest.mark.parametrize("kind", [Plain, Guarded, torch.nn.Parameter, torch.nn.Buffer])
def test_subclasses_with_plain_memory_are_saved(checkpoint: hf.Checkpoint, kind: Any) -> None:
    whole = torch.arange(12.0).reshape(3, 4)
    state = {"x": kind(whole) if kind is not Guarded else whole.as_subclass(kind), "same": whole, "t": kind(whole.t())}
    checkpoint.save(state, 1).wait()
    back, _ = checkpoint.restore()
    assert type(back["x"]) is torch.Tensor and torch.equal(back["x"], whole) and torch.equal(back["t"], whole.t())
    assert back["x"] is back["same"]


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[Any]:
    """Of one process."""
    dist = pytest.importorskip("torch.distributed")
    if not dist.is_available():
        pytest.skip("this PyTorch has no torch.distributed")
    from torch.distributed.device_mesh import init_device_mesh

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


def test_a_dtensor_that_this_process_holds_whole_is_saved(checkpoint: hf.Checkpoint, mesh: Any) -> None:
    from torch.distributed.tensor import DTensor, Replicate, Shard

    whole = torch.arange(12.0).reshape(3, 4).t().requires_grad_()
    replicated, sharded = (DTensor.from_local(whole, mesh, [kind]) for kind in (Replicate(), Shard(0)))
    state = {"r": replicated, "s": sharded, "p": torch.nn.Parameter(replicated), "plain": whole}
    checkpoint.save(state, 1).wait()
    back, _ = checkpoint.restore()
    for name in state:
        assert type(back[name]) is torch.Tensor and torch.equal(back[name], whole), name
    assert back["r"] is back["plain"], "what shares memory is saved once"


def test_a_dtensor_of_which_others_hold_parts_names_the_pool_writer(checkpoint: hf.Checkpoint) -> None:
    dist = pytest.importorskip("torch.distributed")
    pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

    dist.init_process_group("fake", store=torch.testing._internal.distributed.fake_pg.FakeStore(), rank=0, world_size=4)
    try:
        mesh = init_device_mesh("cpu", (2, 2))
        whole = torch.ones(4, 4)
        checkpoint.save({"x": DTensor.from_local(whole, mesh, [Replicate(), Replicate()], run_check=False)}, 1).wait()
        assert torch.equal(checkpoint.restore()[0]["x"], whole)
        for placements in ([Shard(0), Replicate()], [Replicate(), Shard(1)], [Replicate(), Partial()]):
            part = DTensor.from_local(whole, mesh, placements, run_check=False)
            with pytest.raises(hf.InvalidType, match=r"at model/w.*PoolWriter"):
                checkpoint.save({"model": {"w": part}}, 2)
        line = init_device_mesh("cpu", (1, 4))
        state = {"x": DTensor.from_local(whole, line, [Shard(0), Replicate()], run_check=False)}
        checkpoint.save(state, 3).wait()
        assert torch.equal(checkpoint.restore()[0]["x"], whole)
        other = torch.distributed.device_mesh.DeviceMesh("cpu", [1, 2, 3])
        outside = DTensor.from_local(torch.empty(0), other, [Replicate()], run_check=False)
        with pytest.raises(hf.InvalidType, match="at x"):
            checkpoint.save({"x": outside}, 4)
    finally:
        dist.destroy_process_group()


class Measured(np.ndarray):
    """An array with a unit, as libraries of physics have them."""

    unit = "m"


@pytest.mark.parametrize(
    "array",
    [
        np.ma.masked_array([1.0, 2.0], [True, False]),
        np.ma.masked_array([1.0, 2.0]),
        np.ma.masked,
        np.ma.masked_array([1, 2], [True, False])[0],
        np.array([1.0]).view(Measured),
    ],
    ids=["masked", "no mask", "constant", "element", "unit"],
)
def test_arrays_that_hold_more_than_their_elements_are_refused(checkpoint: hf.Checkpoint, array: Any) -> None:
    with pytest.raises(hf.InvalidType, match=r"at model/0.*give") as raised:
        checkpoint.save({"model": [array]}, 1)
    assert ("mask" in str(raised.value)) == isinstance(array, np.ma.MaskedArray)


def test_arrays_of_a_file_are_saved(checkpoint: hf.Checkpoint, tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(3,))
    mapped[:] = 7
    checkpoint.save({"x": mapped}, 1).wait()
    np.testing.assert_array_equal(checkpoint.restore()[0]["x"], mapped)
