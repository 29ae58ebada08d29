"""The tables that programs are drawn for: every kind of key, value and score, in several shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Kind:
    """What a table is made with. `key` is None where keys and values have any length."""

    name: str
    key: int | None = 8
    value: int = 8
    shape: tuple[int, int, int] = (2, 2, 8)
    """Levels, hash locations, slots."""
    score: str | None = None
    element: str = "bytes"
    """Of what values are made; sums are taken of integers in a table of bytes."""
    column: tuple[int, int] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def any_length(self) -> bool:
        """Whether keys and values have any length."""
        return self.key is None


S4, S1, S3, S3_5 = (4, 2, 4), (1, 4, 8), (3, 2, 4), (3, 2, 5)

KINDS = [
    Kind("k8-v0", value=0),
    Kind("k8-v4", value=4),
    Kind("k8-v8", value=8, column=(2, 6)),
    Kind("k8-v12", value=12, column=(4, 8)),
    Kind("k8-v128", value=128, column=(32, 64)),
    Kind("k16-v0", key=16, value=0, options={"threads": 1}),
    Kind("k16-v8", key=16, value=8, column=(0, 4)),
    Kind("k32-v12", key=32, value=12, column=(4, 12)),
    Kind("k128-v128", key=128, value=128, column=(0, 128)),
    Kind("k8-v8-4L", value=8, shape=S4),
    Kind("k8-v128-4L", value=128, shape=S4, column=(0, 16), options={"moves": False}),
    Kind("k8-v8-1L", value=8, shape=S1, options={"shared_bias": 0}),
    Kind("k32-v4-1L", key=32, value=4, shape=S1),
    Kind("k8-v12-3L", value=12, shape=S3, options={"flush": True}),
    Kind("k16-v128-3L", key=16, value=128, shape=S3_5, column=(64, 72), options={"flush": True}),
    Kind("k8-float32", value=128, element="float32", column=(16, 32)),
    Kind("k8-float64", value=8, element="float64"),
    Kind("k16-float16", key=16, value=12, element="float16", column=(2, 6)),
    Kind("k8-bfloat16", value=4, element="bfloat16"),
    Kind("k8-v8-step", value=8, score="step", column=(0, 4)),
    Kind("k32-v128-step-4L", key=32, value=128, shape=S4, score="step"),
    Kind("k8-v0-frequency", value=0, score="frequency"),
    Kind("k8-v12-frequency-1L", value=12, shape=S1, score="frequency", column=(0, 4)),
    Kind("k8-v4-time", value=4, score="time"),
    Kind("k16-v8-time-3L", key=16, value=8, shape=S3, score="time"),
    Kind("k8-v128-caches", value=128, column=(0, 64), options={"bucket_cache": 0.25, "value_cache": 0.5}),
    Kind("k32-v8-caches", key=32, value=8, options={"bucket_cache": 0.0, "cache_policy": "lru"}),
    Kind("pairs", key=None),
    Kind("pairs-4L", key=None, shape=S4, options={"threads": 1}),
    Kind("pairs-1L", key=None, shape=S1, options={"flush": True}),
]
