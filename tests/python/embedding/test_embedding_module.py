"""An embedding as a module of PyTorch: state_dict and import, freezing, other optimizers, copies, several ranks."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfastdb as hf
from holdfastdb import initial

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import holdfastdb.torch as hft  # noqa: E402

COLUMNS, FIRST = 4, initial.Uniform(-1, 1, seed=3)
BF16, F32 = torch.bfloat16, torch.float32


@pytest.fixture
def table(tmp_path: Path) -> Iterator[hf.Table]:
    with hf.Table.create(tmp_path / "rows.hold", value=4 * COLUMNS) as made:
        yield made


class Model(torch.nn.Module):
    """Its embedding is PyTorch's or ours."""

    def __init__(self, embedding: Any) -> None:
        super().__init__()
        self.inner = torch.nn.ModuleDict({"embedding": embedding})
        self.dense = torch.nn.Linear(COLUMNS, 1)

    def forward(self, keys: Any) -> Any:
        return self.dense(self.inner["embedding"](keys))


# state_dict


def test_a_weight_is_not_dropped_without_a_word(table: hf.Table) -> None:
    theirs, ours = Model(torch.nn.Embedding(5, COLUMNS)), Model(hft.Embedding(table, COLUMNS))
    before = copy.deepcopy(ours.dense.state_dict())
    state = theirs.state_dict()
    with pytest.raises(RuntimeError, match=r"inner\.embedding\.weight.*rows\.hold.*import_weight"):
        ours.load_state_dict(state)
    found = ours.load_state_dict(state, strict=False)
    assert found.unexpected_keys == ["inner.embedding.weight"] and found.missing_keys == []
    ours.dense.load_state_dict(before)
    with pytest.raises(RuntimeError, match="import_weight"):
        ours.inner["embedding"].load_state_dict({"weight": torch.ones(5, COLUMNS)})
    assert len(table) == 0, "nothing was imported"
    ours.inner["embedding"].import_weight(state.pop("inner.embedding.weight"))
    assert ours.load_state_dict(state).unexpected_keys == []
    assert torch.equal(ours.eval()(torch.arange(5)), theirs(torch.arange(5)))
    assert ours.load_state_dict(ours.state_dict()).unexpected_keys == [], "its own state has no rows"


@pytest.mark.parametrize("stored", [torch.float16, BF16, F32, torch.float64], ids=str)
def test_a_weight_is_imported(tmp_path: Path, stored: Any) -> None:
    weight = torch.nn.Embedding(1000, COLUMNS).weight
    with hf.Table.create(tmp_path / "a.hold", value=8 + stored.itemsize * COLUMNS) as whole:
        embedding = hft.Embedding(whole.column(8, 8 + stored.itemsize * COLUMNS), COLUMNS, stored=stored, dtype=F32)
        embedding.import_weight(weight)
        assert torch.equal(embedding.eval()(torch.arange(1000)), weight.detach().to(stored).to(F32))
        assert len(whole) == 1000 and embedding.rows.grad is None
        keys = torch.tensor([-7, 3, 1 << 40])
        embedding.import_weight(weight[:3].to(torch.float64).t().contiguous().t(), keys)
        assert torch.equal(embedding(keys), weight[:3].detach().to(stored).to(F32)) and len(whole) == 1002
        assert torch.equal(embedding(torch.tensor([4])), weight[4:5].detach().to(stored).to(F32))
        embedding.import_weight(torch.empty(0, COLUMNS))
        assert len(whole) == 1002


def test_rows_that_were_imported_train(table: hf.Table) -> None:
    theirs, ours = torch.nn.Embedding(6, COLUMNS, sparse=True), hft.Embedding(table, COLUMNS)
    ours.import_weight(theirs.weight)
    optimizers = [hft.SGD(ours.parameters(), lr=0.3), torch.optim.SGD(theirs.parameters(), lr=0.3)]
    for _ in range(3):
        for module, optimizer in zip((ours, theirs), optimizers, strict=True):
            optimizer.zero_grad()
            module(torch.tensor([2, 2, 5])).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(ours.eval()(torch.arange(6)), theirs.weight.detach())


def test_an_import_that_finds_no_space_says_how_many(tmp_path: Path) -> None:
    with hf.Table.create(tmp_path / "a.hold", value=64, capacity=16, max_bytes=1 << 20) as small:
        with pytest.raises(hf.NoSpace, match=r"[1-9][\d,]* of 50,000 rows were not imported"):
            hft.Embedding(small, 16).import_weight(torch.ones(50_000, 16))


BAD: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "module": (lambda e: e.import_weight(torch.nn.Embedding(3, COLUMNS)), hf.InvalidType, "of type Embedding"),
    "list": (lambda e: e.import_weight([[1.0] * COLUMNS]), hf.InvalidType, "weight is of type list"),
    "columns": (lambda e: e.import_weight(torch.ones(3, 5)), hf.InvalidArgument, r"shape \(3, 5\).*\(n, 4\)"),
    "flat": (lambda e: e.import_weight(torch.ones(COLUMNS)), hf.InvalidArgument, r"shape \(4,\)"),
    "ints": (lambda e: e.import_weight(torch.ones(3, COLUMNS, dtype=torch.int64)), hf.InvalidType, "torch.int64"),
    "complex": (lambda e: e.import_weight(torch.ones(3, COLUMNS) * 1j), hf.InvalidType, "complex"),
    "sparse": (lambda e: e.import_weight(torch.eye(COLUMNS).to_sparse()), hf.InvalidType, "dense"),
    "meta": (lambda e: e.import_weight(torch.ones(3, COLUMNS, device="meta")), hf.InvalidType, "meta"),
    "freed": (lambda e: e.import_weight(torch._efficientzerotensor(3, COLUMNS)), hf.InvalidType, "no memory"),
    "few keys": (lambda e: e.import_weight(torch.ones(3, COLUMNS), torch.arange(2)), hf.InvalidArgument, "keys"),
    "narrow keys": (
        lambda e: e.import_weight(torch.ones(3, COLUMNS), torch.arange(3, dtype=torch.int32)), hf.InvalidType, "int64"
    ),
    "no keys": (lambda e: e.import_weight(torch.ones(3, COLUMNS), [1, 2, 3]), hf.InvalidType, "keys is of type list"),
}  # fmt: skip


@pytest.mark.parametrize("call, kind, words", BAD.values(), ids=BAD)
def test_bad_weights(table: hf.Table, call: Callable[[Any], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call(hft.Embedding(table, COLUMNS))
    assert len(table) == 0


# Freezing


@pytest.mark.parametrize("freeze", ["module", "model", "parameter", "flag"])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_frozen_embedding_inserts_no_rows(table: hf.Table, freeze: str, compiled: bool) -> None:
    model = Model(hft.Embedding(table, COLUMNS, init=FIRST))
    embedding = model.inner["embedding"]
    forward = torch.compile(model, backend="eager") if compiled else model
    forward(torch.tensor([1, 2])).sum().backward()
    model.zero_grad()
    if freeze == "flag":
        embedding.rows.requires_grad = False
    else:
        {"module": embedding, "model": model, "parameter": embedding.rows}[freeze].requires_grad_(False)
    keys = torch.tensor([[1, 7], [8, 2]])
    rows = (torch.compile(embedding, backend="eager") if compiled else embedding)(keys)
    forward(keys)
    assert model.training and len(table) == 2
    assert torch.equal(rows.detach(), embedding.eval()(keys)) and not rows[0, 1].any()
    model.train().requires_grad_(True)
    forward(keys)
    assert len(table) == 4
    torch._dynamo.reset()


def test_a_frozen_forward_keeps_no_gradient(table: hf.Table) -> None:
    embedding = hft.Embedding(table, COLUMNS, init=FIRST)
    before = embedding(torch.tensor([1])).detach()
    optimizer = hft.SGD(embedding.parameters(), lr=1)
    embedding.requires_grad_(False)
    (embedding(torch.tensor([1, 2])) * torch.ones(COLUMNS, requires_grad=True)).sum().backward()
    optimizer.step()
    assert embedding.rows.grad is None and len(table) == 1
    assert torch.equal(embedding.eval()(torch.tensor([1])), before)


# Optimizers of PyTorch


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adafactor", "LBFGS", "SparseAdam"])
@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"foreach": False}, {"fused": True}], ids=str)
def test_another_optimizer_names_ours(table: hf.Table, name: str, options: dict[str, Any]) -> None:
    model = Model(hft.Embedding(table, COLUMNS))
    try:
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1, **options)
    except (TypeError, RuntimeError, ValueError):
        pytest.skip("this optimizer has no such option")

    def loss() -> Any:
        model.zero_grad()
        value = model(torch.tensor([1, 2])).sum()
        value.backward()
        return value

    before = model.dense.weight.detach().clone()
    with pytest.raises(hf.InvalidType, match=rf"{name}.*holdfastdb\.torch\.SGD"):
        optimizer.step(loss)
    loss()
    with pytest.raises(hf.InvalidType, match=r"rows\.hold"):
        optimizer.step()
    assert torch.equal(before, model.dense.weight), "no parameter was changed"


def test_parameters_are_told_apart(table: hf.Table) -> None:
    model = Model(hft.Embedding(table, COLUMNS))
    rows = [p for p in model.parameters() if isinstance(p, hft.Rows)]
    dense = [p for p in model.parameters() if not isinstance(p, hft.Rows)]
    assert len(rows) == 1 and len(dense) == 2
    optimizers = [hft.SGD(rows, lr=0.1), torch.optim.AdamW(dense, lr=0.1)]
    for _ in range(2):
        model(torch.tensor([1, 2])).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    assert len(table) == 2


# Copies


@pytest.mark.parametrize("call", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"])
def test_what_is_open_is_not_copied(table: hf.Table, tmp_path: Path, call: Callable[[Any], Any]) -> None:
    embedding = hft.Embedding(table, COLUMNS)
    with hf.Checkpoint(tmp_path / "c.hold") as checkpoint:
        ticket = checkpoint.save({"x": 1}, 1)
        objects = [(embedding, "an embedding"), (embedding.rows, "an embedding"), (checkpoint, "a checkpoint"),
                   (ticket, "the ticket of a save")]  # fmt: skip
        for thing, name in objects:
            with pytest.raises(TypeError, match=rf"^{name} cannot be pickled or copied") as raised:
                call(thing)
            assert isinstance(raised.value, hf.InvalidType)
        ticket.wait()
    if call is not copy.copy:
        model = Model(embedding)
        with pytest.raises(hf.InvalidType, match="an embedding cannot be pickled or copied"):
            call(model)


@pytest.mark.parametrize("call", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"])
def test_a_writer_and_a_reader_are_copied_while_no_pool_is_open(tmp_path: Path, call: Callable[[Any], Any]) -> None:
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    import holdfastdb.torch.distributed as hfd

    path = tmp_path / "{rank}.hold"
    with hfd.PoolWriter(path) as writer:
        call(writer)
        dcp.save({"x": torch.ones(2)}, storage_writer=writer, no_dist=True)
        with pytest.raises(hf.InvalidType, match="a PoolWriter with open pools cannot be pickled or copied"):
            call(writer)
    with hfd.PoolReader(path) as reader:
        call(reader)
        reader._shard(0)
        with pytest.raises(hf.InvalidType, match="a PoolReader with open pools cannot be pickled or copied"):
            call(reader)


# Several ranks


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")
def test_two_ranks_train_under_ddp(tmp_path: Path) -> None:
    command = [sys.executable, Path(__file__).with_name("ddp_ranks.py"), tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
