"""holdfastdb.torch: optimizers of embeddings against PyTorch's, to the last bit, and what stands between them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from conftest import GPUS, Make
from conftest import Machine as Where

import holdfastdb as hf
from holdfastdb import initial

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import holdfastdb.torch as hft  # noqa: E402

NO_GPU = pytest.mark.skipif(not (GPUS and torch.cuda.is_available()), reason="no GPU that PyTorch can use")
F32 = torch.float32
KEYS, COLUMNS = 50, 9
FIRST = initial.Uniform(-1, 1, seed=3)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=NO_GPU)])
def place(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def table(place: str, make: Make) -> hf.Table:
    """Of 9 fp32 and a state."""
    return make(Where(place), value=4 * COLUMNS + 4).table


class RowWiseAdagrad(torch.optim.Optimizer):
    """In PyTorch, of coalesced sparse gradients."""

    def __init__(self, params: Any, lr: float, eps: float = 1e-10) -> None:
        super().__init__(params, {"lr": lr, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for weight in group["params"]:
                state = self.state[weight].setdefault("sum", torch.zeros(len(weight), device=weight.device))
                keys, rows = weight.grad.indices()[0], weight.grad.values()
                state[keys] += (rows * rows).mean(1)
                rates = group["lr"] / (state[keys].sqrt() + group["eps"])
                weight[keys] = weight[keys] - rates[:, None] * rows


def pair(table: hf.Table, place: str, kind: str, lr: float) -> tuple[Any, Any, Any, Any]:
    """Our embedding and PyTorch's with the same rows, and an optimizer of each."""
    ours = hft.Embedding(table.column(0, 4 * COLUMNS), COLUMNS, init=FIRST).to(place)
    theirs = torch.nn.Embedding(KEYS, COLUMNS, sparse=True, device=place)
    with torch.no_grad():
        theirs.weight.copy_(ours(torch.arange(KEYS, device=place)))
    if kind == "sgd":
        return ours, theirs, hft.SGD(ours.parameters(), lr=lr), torch.optim.SGD(theirs.parameters(), lr=lr)
    return ours, theirs, hft.Adagrad(ours.parameters(), lr=lr), RowWiseAdagrad(theirs.parameters(), lr=lr)


@pytest.mark.parametrize("kind", ["sgd", "adagrad"])
@pytest.mark.parametrize("scaled", [False, True], ids=["plain", "scaled"])
def test_to_the_last_bit_as_pytorch(table: hf.Table, place: str, kind: str, scaled: bool) -> None:
    """Repeated keys, two backward passes a step, a schedule; with GradScaler, steps that overflow too."""
    ours, theirs, mine, other = pair(table, place, kind, 0.3)
    schedules = [torch.optim.lr_scheduler.ExponentialLR(one, 0.9) for one in (mine, other)]
    scalers = [torch.amp.GradScaler(place, init_scale=2.0**12, enabled=scaled) for _ in range(2)]
    random, skipped = torch.Generator().manual_seed(4), 0
    for turn in range(20):
        mine.zero_grad()
        other.zero_grad()
        passes = []
        for _ in range(2):
            keys = torch.randint(0, KEYS, (4, 8), generator=random).to(place)
            weights = torch.randn(4, 8, COLUMNS, generator=random).to(place)
            if scaled and turn % 7 == 3:
                weights[1, 2, 3] = float("inf")
            for embedding, scaler in ((ours, scalers[0]), (theirs, scalers[1])):
                scaler.scale((embedding(keys) * weights).sum()).backward()
            passes.append(theirs.weight.grad.coalesce())  # what PyTorch adds uncoalesced has no order of its own
            other.zero_grad()
        theirs.weight.grad = (passes[0] + passes[1]).coalesce()
        before = theirs.weight.detach().clone()
        scalers[0].step(mine)
        scalers[1].step(other)
        for one in (*scalers, *schedules):
            one.update() if isinstance(one, torch.amp.GradScaler) else one.step()
        skipped += torch.equal(before, theirs.weight)
        assert torch.equal(ours(torch.arange(KEYS, device=place)), theirs.weight), turn
    assert skipped == (3 if scaled else 0)
    if kind == "adagrad":
        states = table.column(4 * COLUMNS, 4 * COLUMNS + 4).find(torch.arange(KEYS, device=place), dtype=F32)[0]
        assert torch.equal(states.view(-1), other.state[theirs.weight]["sum"])


@pytest.mark.parametrize("kind", ["sgd", "adagrad"])
def test_unscaled_and_clipped_gradients(table: hf.Table, place: str, kind: str) -> None:
    ours, theirs, mine, other = pair(table, place, kind, 1.0)
    scaler = torch.amp.GradScaler(place, init_scale=1024.0)
    keys = torch.tensor([1, 7, 1], device=place)
    scaler.scale(ours(keys).sum()).backward()
    theirs(keys).sum().backward()
    scaler.unscale_(mine)
    norm = torch.nn.utils.clip_grad_norm_(ours.parameters(), 0.5)
    torch.testing.assert_close(norm, torch.tensor((COLUMNS * 5.0) ** 0.5, device=place))
    scaler.step(mine)
    theirs.weight.grad = theirs.weight.grad.coalesce() * (0.5 / (norm + 1e-6))
    other.step()
    torch.testing.assert_close(ours(torch.arange(KEYS, device=place)), theirs.weight, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["sgd", "adagrad"])
def test_what_state_dicts_hold(table: hf.Table, place: str, kind: str) -> None:
    ours, _, mine, _ = pair(table, place, kind, 0.25)
    ours(torch.tensor([3], device=place)).sum().backward()
    mine.step()
    saved = mine.state_dict()
    assert saved["state"] == {} and saved["param_groups"][0]["lr"] == 0.25 and ours.state_dict() == {}
    mine.param_groups[0]["lr"] = 9.0
    mine.load_state_dict(saved)
    ours.load_state_dict({})
    assert mine.param_groups[0]["lr"] == 0.25


def test_adagrad_of_16_bits(place: str, make: Make) -> None:
    """A step of the rate, whatever the gradient: rows of an odd number of bytes beside their state."""
    table = make(Where(place), value=2 * 3 + 4).table
    ours = hft.Embedding(table.column(0, 6), 3, stored=torch.bfloat16, dtype=F32, init=1.0).to(place)
    keys = torch.tensor([5, 5], device=place)
    ours(keys).sum().backward()
    hft.Adagrad(ours.parameters(), lr=0.5).step()
    assert ours(keys[:1]).tolist() == [[0.5] * 3]
    assert table.column(6, 10).find(keys[:1], dtype=F32)[0].view(-1).tolist() == [4.0]


def test_a_full_medium_is_no_row_of_zeroes(place: str, make: Make) -> None:
    table = make(Where(place), value=64, capacity=16, max_bytes=1 << 20).table
    embedding = hft.Embedding(table, 16, init=1.0).to(place)
    with pytest.raises(hf.NoSpace, match=r"[1-9][\d,]* of 200,000 rows were not added"):
        embedding(torch.arange(200_000, device=place))


@pytest.mark.parametrize("kind", ["sgd", "adagrad"])
def test_a_step_that_finds_no_space_says_so(place: str, make: Make, kind: str) -> None:
    table = make(Where(place), value=4 * COLUMNS + 4, capacity=16, max_bytes=1 << 20).table
    _, _, optimizer, _ = pair(table, place, kind, 0.5)
    keys = torch.arange(200_000, device=place)  # which are not there, as if erased since the forward
    optimizer.param_groups[0]["params"][0].add(keys, torch.ones(200_000, COLUMNS, device=place))
    with pytest.raises(hf.NoSpace, match=r"[1-9][\d,]* of 200,000 rows were not updated"):
        optimizer.step()


class Counted(TorchDispatchMode):
    """How often which operation of PyTorch is called."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    def __torch_dispatch__(self, called: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls[str(called)] += 1
        return called(*args, **(kwargs or {}))


def test_a_step_of_adagrad_is_few_operations(table: hf.Table, place: str) -> None:
    """In GPU memory most are launches, which small steps wait for; and the host waits once."""
    ours, _, mine, _ = pair(table, place, "adagrad", 0.25)
    ours(torch.arange(KEYS, device=place)).sum().backward()
    with Counted() as counted:
        mine.step()
    assert counted.calls["aten._local_scalar_dense.default"] == 1
    assert sum(counted.calls.values()) <= (17 if place == "cpu" else 10), counted.calls


def test_a_gradient_in_another_order_of_memory(table: hf.Table, place: str) -> None:
    ours, theirs, mine, other = pair(table, place, "adagrad", 0.25)
    keys, weights = torch.arange(KEYS, device=place), torch.randn(KEYS, COLUMNS).to(place)
    for embedding in (ours, theirs):
        (embedding(keys) * weights).sum().backward()
    ours.rows.grad = ours.rows.grad.t().contiguous().t()
    theirs.weight.grad = theirs.weight.grad.coalesce()
    mine.step()
    other.step()
    torch.testing.assert_close(ours(keys), theirs.weight)


def test_a_step_looks_where_its_arrays_are(make: Make) -> None:
    table = make(Where("cpu"), value=4 * COLUMNS + 4).table
    ours, _, mine, _ = pair(table, "cpu", "adagrad", 0.25)
    ours(torch.arange(KEYS)).sum().backward()
    ours.rows.keys = ours.rows.keys.to("meta")
    with pytest.raises(hf.InvalidArgument, match="keys is on meta"):
        mine.step()
