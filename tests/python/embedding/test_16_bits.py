"""Optimizers on rows of 16 bits, to the last bit as a reference that computes in float32 and rounds each row once."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import GPUS, Make
from conftest import Machine as Where

import holdfastdb as hf
from holdfastdb import initial

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import holdfastdb.torch as hft  # noqa: E402

NO_GPU = pytest.mark.skipif(not (GPUS and torch.cuda.is_available()), reason="no GPU that PyTorch can use")
F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
KEYS, STEPS, EPS = 30, 20, 1e-10
BITS = {BF16: 8, F16: 11}
FIRST = initial.Uniform(-1, 1, seed=3)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=NO_GPU)])
def place(request: pytest.FixtureRequest) -> str:
    return request.param


class Reference:
    """Rows of 16 bits and states of 32. Each step takes the rows to float32, computes there, and rounds once."""

    def __init__(self, rows: Any, kind: str, lr: float) -> None:
        self.rows, self.kind, self.lr = rows.clone(), kind, lr
        self.states = torch.zeros(len(rows), dtype=F32, device=rows.device)

    def step(self, keys: Any, gradients: Any) -> None:
        """Gradients of float32, one for each key, which repeat; their sums are exact here."""
        sums = torch.zeros(self.rows.shape, dtype=F32, device=self.rows.device).index_add_(0, keys, gradients)
        seen = torch.unique(keys)
        rows, sums = self.rows[seen].to(F32), sums[seen]
        if self.kind == "sgd":
            # A gradient is rounded to the type of the rows; its product with the rate is exact until it is added.
            product = -torch.tensor(self.lr, dtype=F32).double() * sums.to(self.rows.dtype).double()
            new = (rows.double() + product).to(F32)
        else:
            self.states[seen] += sums.square().mean(1)
            rates = self.states[seen].sqrt().add(EPS).reciprocal().mul(self.lr)
            new = rows - sums * rates[:, None]
        self.rows[seen] = new.to(self.rows.dtype)


def exact_gradients(random: Any, count: int, columns: int) -> Any:
    """Multiples of 1/64, of which sums are exact in any order."""
    return torch.randint(-200, 200, (count, columns), generator=random).to(F32) / 64


def trained(place: str, make: Make, stored: Any, kind: str, columns: int, start: int, lr: float) -> tuple[Any, ...]:
    size = columns * stored.itemsize
    table = make(Where(place), value=start + size + 4 + 3).table
    ours = hft.Embedding(table.column(start, start + size), columns, stored=stored, dtype=F32, init=FIRST).to(place)
    optimizer = (hft.SGD if kind == "sgd" else hft.Adagrad)(ours.parameters(), lr=lr)
    rows = ours(torch.arange(KEYS, device=place)).detach()
    assert torch.equal(rows, rows.to(stored).to(F32))
    return table, ours, optimizer, Reference(rows.to(stored), kind, lr)


@pytest.mark.parametrize("stored", [F16, BF16], ids=str)
@pytest.mark.parametrize("kind", ["sgd", "adagrad"])
@pytest.mark.parametrize("columns, start", [(1, 0), (3, 0), (5, 7), (8, 16)])
@pytest.mark.parametrize("lr", [0.3, 1e-3])
def test_each_step_rounds_once(
    place: str, make: Make, stored: Any, kind: str, columns: int, start: int, lr: float
) -> None:
    """Repeated keys, two backward passes a step, columns that begin anywhere in a value of an odd size."""
    table, ours, optimizer, reference = trained(place, make, stored, kind, columns, start, lr)
    random, everything = torch.Generator().manual_seed(4), torch.arange(KEYS, device=place)
    for step in range(STEPS):
        optimizer.zero_grad()
        passes = []
        for count in (7, 40):
            keys = torch.randint(0, KEYS, (count,), generator=random).to(place)
            gradients = exact_gradients(random, count, columns).to(place)
            (ours(keys) * gradients).sum().backward()
            passes.append((keys, gradients))
        optimizer.step()
        reference.step(*(torch.cat(parts) for parts in zip(*passes, strict=True)))
        assert torch.equal(ours(everything).to(stored), reference.rows), step
    if kind == "adagrad":
        stop = start + columns * stored.itemsize
        states = table.column(stop, stop + 4).find(everything, dtype=F32)[0].view(-1)
        assert torch.equal(states, reference.states)
    rest = table.find(everything)[0].view(KEYS, -1)
    assert not rest[:, :start].any() and not rest[:, -3:].any(), "nothing else of a value is written"


@pytest.mark.parametrize("stored", [F16, BF16], ids=str)
@pytest.mark.parametrize("kind", ["sgd", "adagrad"])
@pytest.mark.parametrize("size", [1e-6, 1.0, 3e4, 1e6, 1e30], ids=str)
def test_a_step_is_that_of_float32_within_a_rounding(
    place: str, make: Make, stored: Any, kind: str, size: float
) -> None:
    """Of gradients of any size, also above what float16 holds, where the step itself is small."""
    lr = 0.5 / size if kind == "sgd" else 0.5
    if kind == "adagrad" and size > 1e18:
        pytest.skip("the square of such a gradient is infinite in float32")
    _, ours, optimizer, _ = trained(place, make, stored, kind, 6, 0, lr)
    keys = torch.arange(KEYS, device=place)
    gradients = torch.randn(KEYS, 6, generator=torch.Generator().manual_seed(5)).to(place) * size
    before = ours(keys).detach()
    (ours(keys) * gradients).sum().backward()
    optimizer.step()
    if kind == "sgd":
        exact = before - lr * gradients
        moved = lr * gradients
    else:
        moved = lr * gradients / (gradients.square().mean(1, keepdim=True).sqrt() + EPS)
        exact = before - moved
    bound = 2.0 ** -BITS[stored] * (exact.abs() + moved.abs()) + 2.0**-24
    if stored is F16 and kind == "sgd" and size < 1e-4:
        bound = bound + lr * 2.0**-25  # float16 holds so small a gradient to 2**-25
    after = ours(keys).detach()
    assert torch.isfinite(after).all()
    assert ((after - exact).abs() <= bound).all(), ((after - exact).abs() - bound).max()


@pytest.mark.parametrize("kind", ["sgd", "adagrad"])
def test_many_small_steps_count(place: str, make: Make, kind: str) -> None:
    """A step that is smaller than half of a row's last bit changes nothing, in both: rows keep no remainders."""
    _, ours, optimizer, reference = trained(place, make, BF16, kind, 4, 0, 1e-4)
    keys = torch.arange(KEYS, device=place)
    for _ in range(50):
        optimizer.zero_grad()
        ours(keys).sum().backward()
        optimizer.step()
        reference.step(keys, torch.ones(KEYS, 4, device=place))
    rows = ours(keys).to(BF16)
    assert torch.equal(rows, reference.rows)
    assert not torch.equal(rows, FIRST.rows(keys, 4, hf.libraries.TorchLibrary(torch)).to(BF16))


@pytest.mark.parametrize("stored", [F16, BF16], ids=str)
def test_states_are_of_32_bits(place: str, make: Make, stored: Any) -> None:
    """A state that is large keeps the squares of later, small gradients, which 16 bits would drop."""
    table, ours, optimizer, _ = trained(place, make, stored, "adagrad", 2, 0, 0.1)
    keys = torch.tensor([1], device=place)
    for gradient in (16.0, *[0.25] * 8):
        optimizer.zero_grad()
        (ours(keys) * gradient).sum().backward()
        optimizer.step()
    state = table.column(4, 8).find(keys, dtype=F32)[0].item()
    assert state == 16.0**2 + 8 * 0.25**2


@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
def test_a_gradient_that_is_not_finite_is_no_large_one(place: str, make: Make, bad: float) -> None:
    """Only its own rows are lost, as in float32; `GradScaler` leaves such a step out."""
    _, ours, optimizer, reference = trained(place, make, F16, "sgd", 2, 0, 0.1)
    keys = torch.tensor([1, 2], device=place)
    gradients = torch.tensor([[bad, 1.0], [1.0, 1.0]], device=place)
    (ours(keys) * gradients).sum().backward()
    optimizer.step()
    reference.step(keys, gradients)
    rows = ours(keys).to(F16)
    assert torch.equal(rows.nan_to_num(7, 8, 9), reference.rows[keys].nan_to_num(7, 8, 9))
    assert torch.isfinite(rows[1]).all() and not torch.isfinite(rows[0, 0])
