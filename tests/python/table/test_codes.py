"""Operation codes of a batch are looked at in their own library: no Python object for each row."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import installed

import holdfastdb as hf
from holdfastdb.libraries import NUMPY, Library, TorchLibrary

torch_only = pytest.mark.skipif(not installed("torch"), reason="PyTorch is not installed")


def libraries() -> list[Any]:
    return ["numpy", pytest.param("torch", marks=torch_only)]


def with_codes(name: str, codes: np.ndarray) -> tuple[Library, Any]:
    if name == "numpy":
        return NUMPY, codes
    import torch

    return TorchLibrary(torch), torch.from_numpy(codes)


@pytest.mark.parametrize("name", libraries())
@pytest.mark.parametrize("codes", [[], [3], [0, 255, 0, 7, 255]])
def test_distinct_codes(name: str, codes: list[int]) -> None:
    library, array = with_codes(name, np.array(codes, np.uint8))
    assert library.distinct(array).tolist() == sorted(set(codes))


@pytest.mark.parametrize("name", libraries())
def test_no_object_for_each_row(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 400_000
    ops = np.full(n, hf.Op.CONTAINS, np.uint8)
    ops[0] = hf.Op.INSERT
    library, codes = with_codes(name, ops)
    _, keys = with_codes(name, np.arange(n, dtype=np.int64))
    if name == "torch":
        import torch

        def refuse(self: Any) -> None:
            raise AssertionError("tolist of a whole array")

        monkeypatch.setattr(torch.Tensor, "tolist", refuse)
        # As if the codes were in GPU memory, where NumPy cannot look at them.
        monkeypatch.setattr(torch.Tensor, "__array__", refuse)
    assert library.distinct(codes).tolist() == sorted({int(hf.Op.INSERT), int(hf.Op.CONTAINS)})
    with hf.Table.create(folder / "t.hold", value=8, capacity=1000, device="cpu") as table:
        table.apply(codes[:10], keys[:10], keys[:10])
        tracemalloc.start()
        statuses, _ = table.apply(codes, keys, keys)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert int(statuses[0]) == hf.Status.EXISTS and peak < 24 * n


@torch_only
def test_names_of_types_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    library = TorchLibrary(torch)
    assert library.dtype("uint8") == (torch.uint8, 1) and library.dtype("bfloat16") == (torch.bfloat16, 2)
    monkeypatch.setattr(type(NUMPY), "dtype", None)
    assert TorchLibrary(torch).dtype("uint8") == (torch.uint8, 1)
