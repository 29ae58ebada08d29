"""Tensors without elements in memory of their own, and results that would not reach the caller, are refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfastdb as hf

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def table(folder: Path) -> hf.Table:
    made = hf.Table.create(folder / "tensors.hold", device="cpu")
    made.insert(np.arange(4), np.arange(4) * 10)
    return made


def fake() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.zeros(4, dtype=torch.int64)


def freed() -> Any:
    made = torch.arange(4)
    made.untyped_storage().resize_(0)
    return made


def cut() -> Any:
    made = torch.arange(4)
    made.untyped_storage().resize_(16)
    return made


def masked() -> Any:
    from torch.masked import masked_tensor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return masked_tensor(torch.arange(4), torch.tensor([True, False, True, True]))


def quantized() -> Any:
    return torch.quantize_per_tensor(torch.zeros(4, 8), 1.0, 0, torch.quint8)


TENSORS: dict[str, tuple[Callable[[], Any], str]] = {
    "fake": (fake, "is a FakeTensor"),
    "freed": (freed, "no memory"),
    "cut": (cut, "has 16 bytes of memory, and its elements end at 32"),
    "masked": (masked, "is a MaskedTensor"),
    "zero": (lambda: torch._efficientzerotensor((4,), dtype=torch.int64), "no memory"),
    "quantized": (quantized, "is a tensor of torch.quint8"),
    "nested": (lambda: torch.nested.nested_tensor([torch.zeros(2)] * 4), "is a nested tensor"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("made", "why"), TENSORS.values(), ids=TENSORS)
def test_tensors_without_elements(table: hf.Table, made: Callable[[], Any], why: str) -> None:
    keys = torch.arange(4)
    for name, call in (
        ("keys", lambda given: table.find(given)),
        ("values", lambda given: table.insert_or_assign(keys, given)),
        ("mask", lambda given: table.erase(keys, mask=given)),
        ("out", lambda given: table.find(keys, out=given)),
        ("out", lambda given: table.find(keys, dtype=torch.float32, out=given)),
    ):
        with pytest.raises(hf.InvalidType, match=f"^{name} .*{why}"):
            call(made())
    assert table.find(keys, dtype=torch.int64).values.tolist() == [0, 10, 20, 30]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("made", "why"), TENSORS.values(), ids=TENSORS)
def test_keys_of_an_embedding_without_elements(folder: Path, made: Callable[[], Any], why: str) -> None:
    import holdfastdb.torch as hft

    with hf.Table.create(folder / "rows.hold", value=16, device="cpu") as table:
        embedding = hft.Embedding(table, 4)
        with pytest.raises(hf.InvalidType, match=f"^keys .*{why}"):
            embedding.import_weight(torch.ones(4, 4), made())
        if not made()._is_zerotensor():  # which PyTorch fills for an operator
            with pytest.raises(hf.InvalidType, match=f"^keys .*{why}"):
                embedding(made())
        assert len(table) == 0
        assert embedding(torch.arange(4)).shape == (4, 4)


def test_the_elements_of_a_transform(table: hf.Table) -> None:
    with pytest.raises(hf.InvalidType, match=r"keys is a tensor of shape .* has no memory"):
        torch.vmap(lambda keys: table.find(keys).found)(torch.arange(8).reshape(2, 4))


LAZY: dict[str, Callable[[], Any]] = {
    "conjugate": lambda: torch.zeros(4, dtype=torch.complex64).conj(),
    "negative": lambda: torch.zeros(4, 2, dtype=torch.complex64).conj().imag,
    "negative, converted": lambda: torch._neg_view(torch.zeros(4, dtype=torch.float64)),
}


@pytest.mark.parametrize("made", LAZY.values(), ids=LAZY)
def test_results_into_a_tensor_with_a_bit(table: hf.Table, made: Callable[[], Any]) -> None:
    for options in ({}, {"dtype": torch.float32}):
        with pytest.raises(hf.InvalidType, match="out is a tensor with the conjugate or the negative bit"):
            table.find(torch.arange(4), out=made(), **options)


def test_keys_with_a_bit_are_read_as_they_are(table: hf.Table) -> None:
    assert table.contains(torch._neg_view(-torch.arange(4))).all()


class MadeAnew:
    """An array that gives another copy to each who asks."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        return np.zeros(4)


def test_results_into_a_copy(table: hf.Table) -> None:
    outs = [MadeAnew()]
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    outs.append(pd.Series(np.zeros(4)))
    for out in outs:
        for options in ({}, {"dtype": np.float32}):
            with pytest.raises(hf.InvalidType, match=f"out is of type {type(out).__name__}: give an array to write"):
                table.find(np.arange(4), out=out, **options)
