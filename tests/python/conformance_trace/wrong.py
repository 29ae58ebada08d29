"""Arguments that are refused: the class of the error, and a pattern in its message, which is recorded as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .steps import Wrong
from .tables import Kind

K = np.arange(4, dtype=np.uint64)
V = np.zeros((4, 16), np.uint8)
FROZEN = V.copy()
FROZEN.flags.writeable = False
ARGUMENT, TYPE = "InvalidArgument", "InvalidType"

Case = tuple[str, str, tuple[Any, ...], dict[str, Any], str, str]
"""Name, call, arguments, options, class of the error, pattern."""

OF_16_BYTES: list[Case] = [
    ("float keys", "find", (K.astype(float),), {}, TYPE, "keys is float64 of shape"),
    ("narrow keys", "find", (K.astype(np.int32),), {}, TYPE, "keys is int32"),
    ("bool keys", "find", (K > 1,), {}, TYPE, "keys is bool"),
    ("2-d keys", "find", (K.reshape(2, 2),), {}, ARGUMENT, r"shape \(2, 2\)"),
    ("7-byte keys", "find", (np.zeros((4, 7), np.uint8),), {}, ARGUMENT, r"\(4, 7\).*keys of 8 bytes"),
    ("big-endian keys", "find", (K.astype(">u8"),), {}, TYPE, "big-endian"),
    ("masked keys", "find", (np.ma.array(K),), {}, TYPE, "masked array"),
    ("object keys", "find", (K.astype(object),), {}, TYPE, "Python objects"),
    ("negative key", "find", ([1, -(2**63) - 1],), {}, ARGUMENT, r"keys\[1\] is -9"),
    ("key of 65 bits", "find", ([2**64],), {}, ARGUMENT, r"keys\[0\] is 18446744073709551616"),
    ("float in a list", "find", ([1, 1.5],), {}, TYPE, r"keys\[1\] is 1.5"),
    ("bool in a list", "find", ([True],), {}, TYPE, r"keys\[0\] is True"),
    ("text as keys", "find", ("abc",), {}, TYPE, "keys is of type str"),
    ("no keys", "find", (None,), {}, TYPE, "NoneType"),
    ("short bytes as a key", "find", ([b"abc"],), {}, TYPE, r"keys\[0\] is b'abc'"),
    ("fewer values", "insert", (K, V[:3]), {}, ARGUMENT, "values has 3 rows, but keys has 4"),
    ("short rows", "insert_or_assign", (K, V[:, :8]), {}, ARGUMENT, "values of 16 bytes"),
    ("long rows", "assign", (K, np.zeros((4, 3))), {}, ARGUMENT, "24 bytes a row"),
    ("no values", "insert", (K,), {}, TYPE, "takes a value for each key"),
    ("no values to read or insert", "find_or_insert", (K,), {}, TYPE, "takes a value for each key"),
    ("object values", "insert_and_find", (K, V.astype(object)), {}, TYPE, "Python objects"),
    ("ragged values", "insert", (K[:2], [[1], [1, 2]]), {}, ARGUMENT, "different lengths"),
    ("short bytes as a value", "insert", ([1], [b"abc"]), {}, ARGUMENT, r"values\[0\] is 3 bytes"),
    ("dict as values", "insert", ([1], {}), {}, TYPE, "values is of type dict"),
    ("short mask", "find", (K,), {"mask": [True]}, ARGUMENT, r"mask is bool of shape \(1,\)"),
    ("int mask", "erase", (K,), {"mask": [1, 0, 1, 0]}, TYPE, "mask is int64"),
    ("2-d mask", "contains", (K,), {"mask": np.ones((4, 1), bool)}, ARGUMENT, "mask is bool of shape"),
    ("unknown dtype", "find", (K,), {"dtype": "nonsense"}, TYPE, "dtype is 'nonsense'"),
    ("uneven dtype", "find", (K,), {"dtype": "S3"}, ARGUMENT, "does not divide a value of 16 bytes"),
    ("short out", "find", (K,), {"out": V[:2].copy()}, ARGUMENT, r"out is uint8 of shape \(2, 16\)"),
    ("frozen out", "find", (K,), {"out": FROZEN}, ARGUMENT, "out is read-only"),
    ("list out", "find", (K,), {"out": [0] * 4}, TYPE, "out is of type list"),
    ("three outs", "find", (K,), {"out": (V, V, V)}, ARGUMENT, "out has 3 arrays"),
    ("status out", "erase", (K,), {"out": np.zeros(4, bool)}, TYPE, "out is bool"),
    ("out over values", "find_or_insert", (K, V), {"out": V}, ARGUMENT, "out overlaps values"),
    ("bytes to add", "accumulate", (K, V), {}, TYPE, "values is uint8"),
    ("unknown sum", "accumulate", (K, V.view(np.int64)), {"op": "mul"}, ARGUMENT, "op is 'mul'"),
    ("scaled integers", "accumulate", (K, V.view(np.int64)), {"scale": 0.5}, "Invalid", "scale"),
    ("scaled minimum", "accumulate", (K, V.view(np.float64)), {"scale": 0.5, "op": "min"}, ARGUMENT, "scale"),
    ("scale of text", "accumulate", (K, V.view(np.float64)), {"scale": "1"}, TYPE, "scale is '1'"),
    ("short ops", "apply", (["find"], K), {}, ARGUMENT, r"ops is uint8 of shape \(1,\)"),
    ("no ops", "apply", (None, K), {}, TYPE, "ops is None"),
    ("unknown op", "apply", (["find", "upsert"], K[:2]), {}, ARGUMENT, "UPSERT"),
    ("code of no op", "apply", (np.full(4, 9, np.uint8), K), {}, ARGUMENT, "code 9"),
    ("wide ops", "apply", (np.zeros(4, np.int64), K), {}, TYPE, "ops is int64"),
    ("mixed without values", "apply", (["insert"], [1]), {}, TYPE, "takes a value for each key"),
    ("bytes to add, mixed", "apply", (["accumulate"], [1], V[:1]), {}, TYPE, "cannot combine"),
    ("init and values", "find_or_insert", (K, V), {"init": 1, "dtype": np.float32}, ARGUMENT, "both given"),
    ("init of no type", "find_or_insert", (K,), {"init": 1}, TYPE, "dtype="),
    ("init of text", "find_or_insert", (K,), {"init": "x", "dtype": np.float32}, TYPE, "init is 'x'"),
    ("reserve -1", "reserve", (-1,), {}, ARGUMENT, "items is -1"),
    ("reserve 2^64 - 1", "reserve", (2**64 - 1,), {}, ARGUMENT, "2.40"),
    ("export of nothing", "export_batch", (0,), {}, ARGUMENT, "n is 0"),
    ("cursor -1", "export_batch", (5, -1), {}, ARGUMENT, "cursor is -1"),
    ("range from -1", "size_if", (-1,), {}, ARGUMENT, "first is -1"),
    ("range to 1.5", "erase_if", (None, 1.5), {}, TYPE, "last is 1.5"),
    ("range of short bytes", "export_if", (), {"first": b"abc"}, ARGUMENT, "first is 3 bytes"),
    ("where is no function", "size_if", (), {"where": 5}, TYPE, "where is of type int"),
    ("score of no scores", "size_if", (), {"score": (1, 2)}, ARGUMENT, "keeps no scores"),
    ("scores of no scores", "scores", (K,), {}, ARGUMENT, "keeps no scores"),
    ("column too long", "use_column", (0, 17), {}, ARGUMENT, "values of 16 bytes"),
    ("column of nothing", "use_column", (8, 8), {}, ARGUMENT, "0 <= start < stop"),
    ("column of floats", "use_column", (0.0, 8), {}, TYPE, "start is 0.0"),
    ("column of long rows", "use_column", (0, 8, "assign", [1], np.zeros((1, 16), np.uint8)), {}, ARGUMENT, "8 bytes"),
    ("snapshot onto itself", "snapshot", ("/dev/null/no",), {}, "", "/dev/null/no"),
    ("pickled", "pickle", (), {}, TYPE, "cannot be pickled"),
]  # fmt: skip

OF_POOLS: list[Case] = [
    ("key of 4", "create_another", ("x",), {"key": 4}, ARGUMENT, "key_bytes is 4"),
    ("key of 136", "create_another", ("x",), {"key": 136}, ARGUMENT, "up to 128"),
    ("key of 20", "create_another", ("x",), {"key": 20}, ARGUMENT, "multiple of 8"),
    ("value of 65537", "create_another", ("x",), {"value": 65537}, ARGUMENT, "0 to 65536"),
    ("value of -1", "create_another", ("x",), {"value": -1}, ARGUMENT, "value is -1"),
    ("value of 8.0", "create_another", ("x",), {"value": 8.0}, TYPE, "value is 8.0"),
    ("key of any length alone", "create_another", ("x",), {"key": bytes}, ARGUMENT, "or neither is"),
    ("capacity of True", "create_another", ("x",), {"capacity": True}, TYPE, "capacity is True"),
    ("capacity of 2^62", "create_another", ("x",), {"capacity": 1 << 62}, ARGUMENT, "capacity"),
    ("too many slots", "create_another", ("x",), {"slots": 16}, ARGUMENT, "at most 32"),
    ("no slots", "create_another", ("x",), {"slots": 0}, ARGUMENT, "at least 1"),
    ("unknown score", "create_another", ("x",), {"score": "age"}, ARGUMENT, "age"),
    ("score of pairs", "create_another", ("x",), {"key": bytes, "value": bytes, "score": "step"}, ARGUMENT, "score"),
    ("bucket_cache of 1.5", "create_another", ("x",), {"bucket_cache": 1.5}, ARGUMENT, "bucket_cache is 1.5"),
    ("value_cache of text", "create_another", ("x",), {"value_cache": "all"}, TYPE, "value_cache is 'all'"),
    ("unknown cache_policy", "create_another", ("x",), {"cache_policy": "mru"}, ARGUMENT, "'lfu', 'lru' or 'random'"),
    ("device tpu", "create_another", ("x",), {"device": "tpu"}, ARGUMENT, "tpu"),
    ("device of type int", "create_another", ("x",), {"device": 0}, TYPE, "device is of type int"),
    ("heap without room", "create_another", ("x",), {"value": 4096, "capacity": 4096, "max_bytes": 4096}, ARGUMENT,
     "max_bytes"),
    ("a folder that is not there", "create_another", ("no/x.hold",), {}, "", "<folder>/no"),
    ("a pool that is there", "create_another", ("k8-v16.hold",), {}, "PoolExists", "k8-v16.hold"),
    ("a pool that is open", "open_another", ("k8-v16.hold",), {"device": "cpu"}, "ObjectInUse", "k8-v16.hold"),
    ("overwriting what is open", "create_another", ("k8-v16.hold",), {"overwrite": True}, "ObjectInUse", "k8-v16.hold"),
    ("no such pool", "open_another", ("none.hold",), {}, "PoolNotFound", "<folder>/none.hold"),
    ("no such pool to look at", "inspect_file", ("none.hold",), {}, "PoolNotFound", "<folder>/none.hold"),
    ("a folder as a pool", "open_another", ("",), {}, "", "directory"),
    ("mode w", "open_another", ("none.hold",), {"mode": "w"}, ARGUMENT, "mode is 'w'"),
]  # fmt: skip

OF_CLOSED_POOLS: list[Case] = [
    ("a search when closed", "find", (K,), {}, "TableClosed", "closed"),
    ("a change when closed", "erase", (K,), {}, "TableClosed", "closed"),
    ("other values", "open_another", ("k8-v16.hold",), {"value": 8}, "PoolMismatch", "16"),
    ("other keys", "open_another", ("k8-v16.hold",), {"key": 16}, "PoolMismatch", "8 bytes"),
    ("keys of any length", "open_another", ("k8-v16.hold",), {"key": bytes}, "PoolMismatch", "not any length"),
]

OF_PAIRS: list[Case] = [
    ("text", "insert", (["a"], [b""]), {}, TYPE, r"keys\[0\] is 'a'"),
    ("a number", "insert", ([b"a", 7], [b"", b""]), {}, TYPE, r"keys\[1\] is 7"),
    ("an array", "insert", (np.arange(3), None), {}, TYPE, "keys is an array of int64"),
    ("a long key", "insert", ([b"a", b"k" * 65537], [b"", b""]), {}, ARGUMENT, "key 1 has 65537 bytes"),
    ("a long value", "insert", ([b"a"], [b"v" * 65537]), {}, ARGUMENT, "value 0 has 65537 bytes"),
    ("few values", "insert", ([b"a", b"b"], [b"1"]), {}, ARGUMENT, "values has 1 rows"),
    ("no values", "insert", ([b"a"], None), {}, TYPE, "takes a value for each key"),
    ("a dtype", "find", ([b"a"],), {"dtype": np.float32}, ARGUMENT, "fixed length"),
    ("sums of pairs", "accumulate", ([b"a"], [b"b"]), {}, ARGUMENT, "no elements to accumulate"),
    ("init of pairs", "find_or_insert", ([b"a"],), {"init": 0}, ARGUMENT, "fixed length"),
    ("column of pairs", "use_column", (0, 8), {}, ARGUMENT, "have no columns"),
    (
        "offsets that fall",
        "find",
        ((np.zeros(3, np.uint8), np.array([0, 3, 1, 3])),),
        {},
        ARGUMENT,
        "offsets of keys fall",
    ),
    ("offsets past the end", "find", ((np.zeros(3, np.uint8), np.array([0, 9])),), {}, ARGUMENT, "goes from 0 to 9"),
]


def made(cases: list[Case]) -> Iterator[Wrong]:
    """Cases as steps."""
    for case in cases:
        yield Wrong(*case)


def refused(kind: Kind) -> Iterator[Wrong]:
    """What every table of that kind refuses, in the course of its program."""
    if kind.any_length:
        yield from made(OF_PAIRS)
        return
    short = [b"7"] if kind.key != 8 else [-(2**63) - 1]
    yield Wrong("a key that is none", "find", (short,), {}, "Invalid", r"keys\[0\]")
    keys = np.zeros((2, int(kind.key or 0)), np.uint8)
    yield Wrong("wide rows", "insert", (keys, np.zeros((2, kind.value + 1), np.uint8)), {}, ARGUMENT, "bytes")
    yield Wrong("short mask", "find", (keys,), {"mask": [True]}, ARGUMENT, "mask is bool of shape")


def while_read(kind: Kind) -> Iterator[Wrong]:
    """What a table refuses that is open for reading."""
    keys = [b"7" * (kind.key or 1)] if kind.key != 8 else [7]
    yield Wrong("erase in a table that is read", "erase", (keys,), {}, "ReadOnly", "open read-only")
    yield Wrong("clear a table that is read", "clear", (), {}, "ReadOnly", "open read-only")
    yield Wrong("reserve in a table that is read", "reserve", (10,), {}, "ReadOnly", "open read-only")


def while_closed(kind: Kind) -> Iterator[Wrong]:
    """What a table refuses that is closed."""
    keys = [b"7" * (kind.key or 1)] if kind.key != 8 else [7]
    yield Wrong("find in a closed table", "find", (keys,), {}, "TableClosed", "closed")
    yield Wrong("size of a closed table", "size", (), {}, "TableClosed", "closed")
    yield Wrong("sync of a closed table", "sync", (), {}, "TableClosed", "closed")
