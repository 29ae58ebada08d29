"""holdfastdb.torch: the operators under PyTorch's own checks and its compiler, and an embedding that trains."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import GPUS, Make
from conftest import Machine as Where

import holdfastdb as hf
from holdfastdb import InvalidArgument, InvalidType, ObjectClosed, Status, Table, initial

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import holdfastdb.torch as hft  # noqa: E402

DEVICES = ["cpu", "cuda"] if GPUS and torch.cuda.is_available() else ["cpu"]
F16, BF16, F32, F64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
FIRST = initial.Uniform(-1, 1, seed=3)
DRAW = hft.ops.initial_arguments(FIRST)


@pytest.fixture(params=DEVICES)
def place(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def table(place: str, make: Make) -> Table:
    """Of rows of 4 fp32."""
    return make(Where(place), value=16).table


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    yield
    torch._dynamo.reset()


def rows_of(keys: Any, columns: int = 4, init: initial.Initial = FIRST) -> Any:
    from holdfastdb.libraries import TorchLibrary

    return init.rows(keys.reshape(-1), columns, TorchLibrary(torch)).reshape(*keys.shape, columns)


def test_an_embedding_in_a_column_of_the_values(place: str, make: Make) -> None:
    table = make(Where(place), value=24).table
    embedding = hft.Embedding(table.column(8, 24), 4, init=FIRST)
    keys = torch.tensor([3, 4, 3], device=place)
    embedding.to(place)(keys).sum().backward()
    hft.SGD(embedding.parameters(), lr=0.5).step()
    values = table.find(keys, dtype=F32)[0]
    expected = rows_of(keys) - 0.5 * torch.tensor([[2.0], [1.0], [2.0]], device=place)  # key 3 has two gradients
    assert torch.allclose(values[:, 2:], expected) and not values[:, :2].any()
    with pytest.raises(InvalidArgument, match="has values of 16 bytes"):
        hft.Embedding(table.column(8, 24), 6)


@pytest.mark.parametrize("stored", [F16, BF16, F32, F64], ids=str)
@pytest.mark.parametrize("wanted", [F16, BF16, F32, F64], ids=str)
def test_find_converts(place: str, make: Make, stored: Any, wanted: Any) -> None:
    table = make(Where(place), value=4 * stored.itemsize).table
    keys = torch.tensor([3, 4, 5], device=place)
    rows = torch.randn(2, 4, generator=torch.Generator().manual_seed(1)).to(place, stored)
    table.insert(keys[:2], rows)
    out = torch.full((3, 4), 7, dtype=wanted, device=place)
    values, found, missing = table.find(keys, dtype=stored, out=out, missing=True)
    assert values is out and torch.equal(out[:2], rows.to(wanted)) and not out[2].any()
    assert found.tolist() == [True, True, False] and missing.tolist() == [2] and missing.dtype == torch.int64
    first = torch.empty(3, 4, dtype=wanted, device=place)
    table.find_or_insert(keys, init=FIRST, dtype=stored, out=first)
    assert torch.equal(first[2], rows_of(keys)[2].to(stored).to(wanted))


def test_first_rows_are_those_of_numpy(place: str) -> None:
    keys = torch.arange(-500, 500, device=place)
    for kind in (FIRST, initial.Normal(0.02, seed=9), initial.Constant(4)):
        ours = kind.rows(keys.cpu().numpy(), 19, hf.libraries.NUMPY)
        np.testing.assert_array_equal(rows_of(keys, 19, kind).cpu().numpy(), ours)


@pytest.mark.parametrize("scale", [1.0, -0.1])
def test_sums_of_bfloat16(place: str, make: Make, scale: float) -> None:
    """One row after the other, in fp32, each sum rounded."""
    table = make(Where(place), value=14).table
    keys = torch.tensor([1, 2, 1, 1], device=place)
    rows = torch.randn(4, 7, generator=torch.Generator().manual_seed(2)).to(BF16)
    table.accumulate(keys, rows.to(place), scale=scale)
    expected = torch.zeros(7, dtype=BF16)
    for row in (0, 2, 3):
        expected = (expected.double() + np.float32(scale) * rows[row].double()).float().to(BF16)
    values, _ = table.find(keys[:1], dtype=BF16)
    assert torch.equal(values.cpu()[0], expected)


def test_the_operator_tells_what_was_added_from_what_found_no_space(place: str, make: Make) -> None:
    table = make(Where(place), value=64, capacity=16, max_bytes=1 << 20).table
    keys = torch.arange(200_000, device=place)
    rows, statuses = torch.ops.holdfastdb.find_or_insert(hft.handle(table), keys, 16, F32, F32, "constant", 1.0, 0.0, 0)
    added, lost = statuses == Status.INSERTED, statuses == Status.NO_SPACE
    assert added.any() and lost.any() and (added | lost).all() and len(table) == int(added.sum())
    assert (rows[added] == 1).all() and not rows[lost].any()


def test_the_operators_pass_pytorchs_checks(table: Table, place: str) -> None:
    handle, keys = hft.handle(table), torch.tensor([[5, 6], [7, 5]], device=place)
    rows = torch.ones(2, 2, 4, device=place)
    ops = torch.ops.holdfastdb
    table.insert(keys.view(-1)[:3], rows.view(-1, 4)[:3])  # so that a second run does as the first
    embedding, anchor = hft.Embedding(table, 4), torch.zeros(1)
    calls = [
        (ops.find, (handle, keys, 4, F32, F16)),
        (ops.contains, (handle, keys)),
        (ops.find_or_insert, (handle, keys, 4, F32, F16, *DRAW)),
        (ops.insert_or_assign, (handle, keys, rows, F32)),
        (ops.accumulate, (handle, keys, rows, F32, -0.5)),
        (ops.erase, (handle, keys + 100)),
        (ops.embed, (anchor.clone().requires_grad_(), embedding.rows.handle, keys, 4, F32, F32, *DRAW)),
        (ops.keep_gradients, (anchor, embedding.rows.handle, keys, rows)),
    ]
    assert {op._qualified_op_name for op, _ in calls} == {
        f"holdfastdb::{name}" for name in dir(ops) if name[0] != "_"
    } - {"holdfastdb::name"}
    for op, arguments in calls:
        torch.library.opcheck(op.default, arguments)
    assert table.check().ok


def test_a_compiler_keeps_every_change_in_order(table: Table, place: str) -> None:
    ops, handle = torch.ops.holdfastdb, hft.handle(table)

    def work(keys: Any, rows: Any) -> Any:
        ops.insert_or_assign(handle, keys, rows, F32)
        first = ops.find(handle, keys, 4, F32, F32)[0]
        ops.accumulate(handle, keys, rows, F32, 2.0)
        second = ops.find(handle, keys, 4, F32, F32)[0]
        statuses = ops.erase(handle, keys)
        return first, second, statuses, ops.contains(handle, keys)

    keys, rows = torch.tensor([1, 2], device=place), torch.ones(2, 4, device=place)
    for _ in range(2):
        first, second, statuses, there = torch.compile(work, fullgraph=True)(keys, rows)
        assert torch.equal(first, rows) and torch.equal(second, 3 * rows)
        assert statuses.tolist() == [Status.ERASED] * 2 and not there.any()


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("stored", [F32, BF16], ids=str)
def test_an_embedding_trains_as_pytorchs_own(place: str, make: Make, stored: Any, compiled: bool) -> None:
    """The same losses, step by step, as torch.nn.Embedding with SGD; where rows are of bf16, to its rounding."""
    table = make(Where(place), value=4 * stored.itemsize).table
    ours = hft.Embedding(table, 4, stored=stored, dtype=F32, init=FIRST).to(place)
    rows_optimizer = hft.SGD(ours.parameters(), lr=0.5)
    theirs = torch.nn.Embedding(20, 4, device=place)
    with torch.no_grad():
        theirs.weight.copy_(rows_of(torch.arange(20, device=place)).to(stored))
    optimizer = torch.optim.SGD(theirs.parameters(), lr=0.5)
    target = torch.arange(20.0, device=place).sin()

    def loss(embedding: Any, keys: Any) -> Any:
        return (embedding(keys).sum(-1) - target[keys]).square().sum()

    step = torch.compile(loss, fullgraph=True) if compiled else loss
    random, losses = torch.Generator().manual_seed(4), []
    for turn in range(30):
        if turn == 20:
            rows_optimizer.param_groups[0]["lr"] = optimizer.param_groups[0]["lr"] = 0.01
        keys = torch.randint(0, 20, (2, 3), generator=random).to(place)
        mine, other = step(ours, keys) / 20, loss(theirs, keys) / 20
        rows_optimizer.zero_grad()
        mine.backward()
        rows_optimizer.step()
        optimizer.zero_grad()
        other.backward()
        optimizer.step()
        torch.testing.assert_close(
            mine, other, rtol=1e-4 if stored is F32 else 0.2, atol=1e-5 if stored is F32 else 0.05
        )
        losses.append(float(other.detach()))
    assert sum(losses[-5:]) < sum(losses[:5]) / 2
    with torch.no_grad():
        rows, expected = ours.eval()(torch.arange(20, device=place)), theirs.weight
    torch.testing.assert_close(rows, expected, rtol=1e-4, atol=1e-5 if stored is F32 else 0.05)
    assert torch.equal(ours(torch.tensor([99], device=place)), torch.zeros(1, 4, device=place)) and 99 not in table


def test_repeated_keys_of_16_bits_are_rounded_once(place: str, make: Make) -> None:
    table = make(Where(place), value=2).table
    table.insert(torch.tensor([1], device=place), torch.tensor([[256.0]], device=place, dtype=BF16))
    embedding = hft.Embedding(table, 1, stored=BF16, dtype=F32).to(place)
    embedding(
        torch.tensor([1, 1, 1, 1], device=place)
    ).sum().backward()  # four times 1, of which none alone would count
    hft.SGD(embedding.parameters(), lr=1).step()
    assert table.find(torch.tensor([1], device=place), dtype=BF16)[0].tolist() in ([252.0], [[252.0]])


def test_changes_between_forward_and_step(table: Table, place: str) -> None:
    embedding, keys = hft.Embedding(table, 4, init=1.0).to(place), torch.tensor([1], device=place)
    optimizer = hft.SGD(embedding.parameters(), lr=1)
    loss = embedding(keys).sum()
    torch.ops.holdfastdb.insert_or_assign(hft.handle(table), keys, torch.full((1, 4), 9.0, device=place), F32)
    loss.backward()
    assert table.find(keys, dtype=F32)[0].tolist() == [[9.0] * 4]  # backward writes nothing
    optimizer.step()
    assert table.find(keys, dtype=F32)[0].tolist() == [[8.0] * 4]


def test_a_gradient_that_is_not_asked_for_changes_nothing(table: Table, place: str) -> None:
    embedding = hft.Embedding(table, 4, init=1.0).to(place)
    keys = torch.tensor([1], device=place)
    weight = torch.ones(4, device=place, requires_grad=True)
    torch.autograd.grad((embedding(keys) * weight).sum(), weight)
    embedding.requires_grad_(False)
    embedding(keys).sum().backward()
    assert embedding.rows.grad is None
    hft.SGD(embedding.parameters(), lr=1).step()
    assert table.find(keys, dtype=F32)[0].tolist() == [[1.0] * 4]


def test_bad_input(table: Table, place: str) -> None:
    ops, handle = torch.ops.holdfastdb, hft.handle(table)
    keys = torch.tensor([1, 2], device=place)
    rows = torch.ones(2, 4, device=place)
    bad: list[tuple[Any, type, str]] = [
        (lambda: ops.find(handle, keys, 3, F32, F32), InvalidArgument, "values of 16 bytes"),
        (lambda: ops.find(handle, keys.to(torch.int32), 4, F32, F32), InvalidType, "give int64 or uint64"),
        (lambda: ops.find(torch.zeros(2, dtype=torch.int64), keys, 4, F32, F32), ObjectClosed, "names no table"),
        (lambda: ops.find(torch.zeros(3), keys, 4, F32, F32), InvalidArgument, "give holdfastdb.torch.handle"),
        (lambda: ops.insert_or_assign(handle, keys, rows[:1], F32), InvalidArgument, "a row for each key"),
        (lambda: ops.accumulate(handle, keys, rows[:, :2], F32, 1.0), InvalidArgument, "give rows of 16 bytes"),
        (lambda: ops.accumulate(handle, keys, rows, F32, float("inf")), InvalidArgument, "finite"),
        (lambda: ops.find_or_insert(handle, keys, 4, F32, F32, "ones", 0.0, 0.0, 0), InvalidArgument, "'constant'"),
        (lambda: hft.handle("items.hold"), InvalidType, "give a holdfastdb.Table"),
        (lambda: hft.Embedding(table, 5), InvalidArgument, "values of 16 bytes"),
        (lambda: hft.Embedding(table, 4, stored=torch.int32), InvalidType, "give torch.float16"),
        (lambda: hft.Embedding(table, 4, init="zeros"), InvalidType, "give a number"),
        (lambda: hft.SGD(hft.Embedding(table, 4).parameters(), lr=-1), InvalidArgument, "0 or more"),
        (lambda: hft.SGD([torch.nn.Parameter(rows)]), InvalidType, "is of no holdfastdb.torch.Embedding"),
        (lambda: hft.Adagrad(hft.Embedding(table, 4).parameters()), InvalidArgument, "value=20"),
        (lambda: table.find(keys, dtype=F32, out=rows.clone().requires_grad_()), InvalidArgument, "requires grad"),
        (lambda: table.find(keys, dtype=F16, out=torch.ones(2, 8, device=place).requires_grad_()), InvalidArgument,
         "requires grad"),
        (lambda: table.find(keys, dtype=F16, out=torch.ones(8, 2, device=place).T), InvalidArgument, "not contiguous"),
        (lambda: table.find(keys, dtype=F16, out=torch.ones(2, 4, device=place)), InvalidArgument, "give 2 rows of 32"),
        (lambda: table.find(keys, dtype=F16, out=torch.ones(2, 8, device="meta")), InvalidArgument, "on device meta"),
    ]  # fmt: skip
    for call, kind, words in bad:
        with pytest.raises(kind, match=words):
            call()
    assert len(table) == 0
    table.close()
    for call in (lambda: ops.find(handle, keys, 4, F32, F32), lambda: ops.erase(handle, keys)):
        with pytest.raises(ObjectClosed):
            call()


def test_a_handle_does_not_keep_its_table(place: str, make: Make) -> None:
    made = make(Where(place), value=16)
    handle = hft.handle(made.table)
    assert hft.handle(made.table) is handle
    path = made.table.path
    made.table.close()
    with hf.Table.open(path, device=place) as again:
        assert not torch.equal(hft.handle(again)[:1], handle[:1])


def test_the_package(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    result = doctest.testmod(hft)
    assert result.attempted == 2 and result.failed == 0
    assert all((getattr(hft, name).__doc__ or "").strip() for name in hft.__all__)
