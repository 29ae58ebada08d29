"""Rows of bytes as arrays, and back: NumPy's, or PyTorch's in host or GPU memory."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Machine:
    """What executes the batches, and what kind of arrays it is given."""

    device: str
    library: str = "numpy"

    @property
    def name(self) -> str:
        return self.device if self.library == "numpy" else f"{self.device}-{self.library}"

    def put(self, array: np.ndarray) -> Any:
        if self.library == "numpy":
            return array
        return self.tensor(array)

    def tensor(self, array: np.ndarray) -> Any:
        """PyTorch's."""
        import torch

        tensor = torch.from_numpy(np.ascontiguousarray(array))
        return tensor.cuda() if self.device == "cuda" else tensor

    def get(self, array: Any) -> np.ndarray:
        if isinstance(array, np.ndarray):
            return array
        import torch

        if array.dtype == torch.bfloat16:
            array = array.view(torch.uint8)
        return array.cpu().numpy()


def has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def packed(rows: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return np.frombuffer(b"".join(rows) or b"\0", np.uint8).copy(), ends


def matrix(rows: list[bytes], size: int) -> np.ndarray:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), size).copy()


def split(array: np.ndarray, n: int) -> list[bytes | None]:
    """The bytes of each of `n` rows."""
    data = np.ascontiguousarray(array).tobytes()
    size = len(data) // n if n else 0
    return [data[i * size : (i + 1) * size] for i in range(n)]


def odd_key(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A predicate over items, as oracle.marked has it."""
    return (keys.view(np.uint8).reshape(len(keys), -1)[:, 0] & 1) == 1


def odd_value(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Another."""
    return (values.view(np.uint8).reshape(len(keys), -1)[:, 0] & 1) == 1
